"""Chooses the extension that was built for this processor; TANGERE_CPU names another: baseline, avx2."""

import importlib
import os
import sys


def _has_avx2() -> bool:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    except OSError:
        return False
    return {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe"} <= flags


def _choose() -> str:
    asked = os.environ.get("TANGERE_CPU", "")
    if asked not in {"", "baseline", "avx2"}:
        raise ImportError(f"TANGERE_CPU={asked}: expected baseline or avx2")
    return asked or ("avx2" if _has_avx2() else "baseline")


path = _choose()
module = importlib.import_module(f"tangere._core_{path}")
module.path = path
sys.modules[__name__] = module
