"""How the libraries in this process were built, as they say themselves: read when the last row is done.

Nothing is imported for it: a library that no row needed is none of the record's. Facts are texts; one that a
library does not tell is None.
"""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from augmark.worker.status import without_folders

Facts = dict[str, str | None]


def library_facts() -> dict[str, Facts]:
    """Name -> facts, of each of ``READERS`` whose module is loaded."""
    found = {}
    for name, (module_name, read) in READERS.items():
        module = sys.modules.get(module_name)
        if module is not None:
            found[name] = {fact: _told(value) for fact, value in _guarded(read, module)}
    return found


def _guarded(read: Callable[[Any], Iterable[tuple[str, Any]]], module: Any) -> Iterator[tuple[str, Any]]:
    """What a reader tells until it fails, and why it did: another release may tell it otherwise."""
    try:
        yield from read(module)
    except Exception as error:
        yield "unread", f"{type(error).__name__}: {error}"


def _told(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    # Folders in a build report are those of whoever built it.
    return without_folders(text).strip() or None


def _python(_module: Any) -> Iterator[tuple[str, Any]]:
    asked = sysconfig.get_config_var("CONFIG_ARGS") or ""
    yield "implementation", f"{platform.python_implementation()} {platform.python_version()}"
    yield "compiler", platform.python_compiler()
    # Profile-guided and link-time optimisation: up to a third of what the interpreter itself takes.
    yield "optimised", re.findall(r"--enable-optimizations|--with-lto(?:=\w+)?", asked) or "no"
    yield "optimisation_flags", re.findall(r"(?<!\S)-O\S+", sysconfig.get_config_var("OPT") or "")


def _numpy(numpy: Any) -> Iterator[tuple[str, Any]]:
    yield "version", numpy.__version__
    shown = numpy.show_config(mode="dicts")
    blas = shown["Build Dependencies"]["blas"]
    yield "blas", f"{blas.get('name')} {blas.get('version')}"
    yield "blas_configuration", blas.get("openblas configuration")
    simd = shown["SIMD Extensions"]
    yield "simd_baseline", simd.get("baseline")
    yield "simd_found", simd.get("found")


# Fact -> the line of ``cv2.getBuildInformation()`` that tells it.
_OPENCV_LINES = {
    "cpu_baseline": "Baseline",
    "cpu_dispatch": "Dispatched code generation",
    "configuration": "Configuration",
    "compiler": "C++ Compiler",
    "parallel_framework": "Parallel framework",
    "ipp": "Intel IPP",
    "hal": "Custom HAL",
    "lapack": "Lapack",
    "jpeg": "JPEG",
    "png": "PNG",
    "opencl": "OpenCL",
}


def _opencv(cv2: Any) -> Iterator[tuple[str, Any]]:
    yield "version", cv2.__version__
    pairs = (line.partition(":") for line in cv2.getBuildInformation().splitlines())
    lines: dict[str, str] = {}
    for key, _, value in pairs:
        lines.setdefault(key.strip(), value.strip())
    for fact, key in _OPENCV_LINES.items():
        yield fact, lines.get(key)
    yield "cpu_features", cv2.getCPUFeaturesLine()
    yield "optimised", bool(cv2.useOptimized())
    yield "ipp_in_use", bool(cv2.ipp.useIPP())


def _torch(torch: Any) -> Iterator[tuple[str, Any]]:
    yield "version", torch.__version__
    yield "git_version", torch.version.git_version
    lines = [line.strip().removeprefix("- ") for line in torch.__config__.show().splitlines()[1:]]
    settings = [line for line in lines if line.startswith("Build settings:")]
    yield "built_with", "; ".join(line for line in lines if line and line not in settings)
    for name in ("BLAS_INFO", "LAPACK_INFO", "CUDA_VERSION", "CUDNN_VERSION"):
        match = re.search(rf"\b{name}=([^,]*)", " ".join(settings))
        yield name.lower(), match[1] if match else None
    parallel = re.search(r"ATen parallel backend: (.*)", torch.__config__.parallel_info())
    yield "parallel_backend", parallel[1] if parallel else None
    yield "cpu_capability", torch.backends.cpu.get_cpu_capability()
    yield "mkldnn", bool(torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled)
    yield "mkl", bool(torch.backends.mkl.is_available())
    yield "cudnn_benchmark", bool(torch.backends.cudnn.benchmark)
    yield "deterministic", bool(torch.are_deterministic_algorithms_enabled())
    yield "float32_matmul_precision", torch.get_float32_matmul_precision()
    yield "default_dtype", str(torch.get_default_dtype())
    yield "interop_threads", str(torch.get_num_interop_threads())


def _torchvision(torchvision: Any) -> Iterator[tuple[str, Any]]:
    yield "version", torchvision.__version__
    yield "git_version", torchvision.version.git_version
    yield "compiled_operators", bool(torchvision.extension._has_ops())
    yield "image_backend", torchvision.get_image_backend()


def _pillow(imaging: Any) -> Iterator[tuple[str, Any]]:
    yield "version", imaging.PILLOW_VERSION
    yield "libjpeg_turbo", imaging.libjpeg_turbo_version if imaging.HAVE_LIBJPEGTURBO else None
    yield "jpeg", imaging.jpeglib_version
    yield "mozjpeg", bool(getattr(imaging, "HAVE_MOZJPEG", False))
    yield "zlib_ng", imaging.zlib_ng_version if imaging.HAVE_ZLIBNG else None
    yield "zlib", imaging.zlib_version


def _thread_pools(threadpoolctl: Any) -> Iterator[tuple[str, Any]]:
    """OpenMP and BLAS libraries in this process: which, of which release, for which processor."""
    named: dict[str, list[Mapping[str, Any]]] = {}
    for pool in threadpoolctl.threadpool_info():
        named.setdefault(pool["prefix"], []).append(pool)
    for prefix, pools in sorted(named.items()):
        yield prefix, ", ".join(sorted(_pool_words(pool) for pool in pools))


def _pool_words(pool: Mapping[str, Any]) -> str:
    facts = (pool.get(name) for name in ("internal_api", "version", "threading_layer", "architecture"))
    return " ".join(str(fact) for fact in facts if fact)


READERS: dict[str, tuple[str, Callable[[Any], Iterable[tuple[str, Any]]]]] = {
    "python": ("sys", _python),
    "numpy": ("numpy", _numpy),
    "opencv": ("cv2", _opencv),
    "torch": ("torch", _torch),
    "torchvision": ("torchvision", _torchvision),
    "pillow": ("PIL._imaging", _pillow),
    "thread_pools": ("threadpoolctl", _thread_pools),
}
