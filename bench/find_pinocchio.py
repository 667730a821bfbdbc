#!/usr/bin/env python3
"""Prints the folder that has include/pinocchio/ of the pip package `pin`."""

import pathlib
import sys

try:
    import pinocchio
except ImportError:
    sys.exit(f"{sys.executable} has no Pinocchio; pip install pin==4.1.0")

for folder in pathlib.Path(pinocchio.__file__).parents:
    if (folder / "include" / "pinocchio" / "config.hpp").is_file():
        print(folder)
        break
else:
    sys.exit(f"no headers above {pinocchio.__file__}")
