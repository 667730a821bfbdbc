"""The command `tangere` of an installed package: runs the program that the package carries."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> int:
    """Replaces this process by the program; it finds this interpreter and the package's models."""
    here = pathlib.Path(__file__).parent
    program = here / "bin" / "tangere"
    if not program.exists():
        print(f"tangere: error: the program is not in this package ({program})", file=sys.stderr)
        return 1
    environment = dict(os.environ)
    environment.setdefault("TANGERE_PYTHON", sys.executable)
    environment.setdefault("TANGERE_MODELS", str(here / "models"))
    return os.execve(program, ["tangere", *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
