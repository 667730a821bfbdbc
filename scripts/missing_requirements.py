"""Exit code 1 unless the running Python has every name==version line of the given requirement files."""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def is_installed(requirement):
    name, _, wanted = requirement.partition("==")
    try:
        return version(name).partition("+")[0] == wanted  # "2.13.0+cpu" is 2.13.0
    except PackageNotFoundError:
        return False


lines = [line.strip() for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
missing = [line for line in lines if line and not line.startswith("#") and not is_installed(line)]
print(" ".join(missing))
sys.exit(1 if missing else 0)
