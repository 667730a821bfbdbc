"""Every public header compiles alone, twice included, as C17 and as C++17, without a warning."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("include", type=Path)
    arguments = parser.parse_args()

    headers = sorted(path.relative_to(arguments.include) for path in arguments.include.rglob("*.h"))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            for compiler, standard, suffix in ((arguments.cc, "c17", "c"), (arguments.cxx, "c++17", "cpp")):
                source = Path(folder) / f"one.{suffix}"
                source.write_text(f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n')
                command = [compiler, f"-std={standard}", *WARNINGS, "-fsyntax-only", f"-I{arguments.include}", source]
                result = subprocess.run(command, check=False, capture_output=True, text=True)
                if result.returncode != 0:
                    failures += 1
                    print(f"{header} as {standard}:\n{result.stderr}")
    print(f"{len(headers)} headers, {failures} failures")
    return 1 if failures or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
