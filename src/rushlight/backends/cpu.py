"""What the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The widest vector instructions that kernels use here: "AVX512", "AVX2" or "DEFAULT"."""
    import os

    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        flags = []
    lowered = os.environ.get("RUSHLIGHT_ISA", "avx512")
    if lowered == "avx512" and {"avx512f", "avx512bw", "avx512dq", "avx512vl"}.issubset(flags):
        return "AVX512"
    return "AVX2" if lowered != "portable" and {"avx2", "fma"}.issubset(flags) else "DEFAULT"
