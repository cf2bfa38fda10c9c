"""augmark: measure augmentation libraries, from a dataset tarball to the tables of a paper."""

__version__ = "0.1.0"
