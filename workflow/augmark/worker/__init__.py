"""What runs inside a library's environment: standard library, numpy, pyperf, threadpoolctl."""
