#!/usr/bin/env python3
"""Prints the folder of the pip package `mujoco`, which has include/mujoco/ and the library, and the library's file."""

import pathlib
import sys

try:
    import mujoco
except ImportError:
    sys.exit(f"{sys.executable} has no MuJoCo; pip install mujoco==3.17.0")

folder = pathlib.Path(mujoco.__file__).parent
libraries = sorted(folder.glob("libmujoco.so.*"))
if not libraries or not (folder / "include" / "mujoco" / "mujoco.h").is_file():
    sys.exit(f"no library or no headers in {folder}")
print(f"{folder};{libraries[-1]}")
