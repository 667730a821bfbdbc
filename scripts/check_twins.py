#!/usr/bin/env python3
"""Every x_deriv.c of a stage has its x.c, and both have tests: tests/<stage>/test_x.c and test_x_deriv.c."""

import sys

from c_source import finish, root_argument


def main():
    root = root_argument(__doc__)
    problems = []
    twins = sorted((root / "src").rglob("*_deriv.c"))
    for derivative in twins:
        stage = derivative.relative_to(root / "src").parts[0]
        name = derivative.stem.removesuffix("_deriv")
        needed = [
            derivative.with_name(f"{name}.c"),
            root / "tests" / stage / f"test_{name}.c",
            root / "tests" / stage / f"test_{name}_deriv.c",
        ]
        problems += [
            f"{derivative.relative_to(root)}: {path.relative_to(root)} is missing"
            for path in needed
            if not path.is_file()
        ]
    return finish(problems, f"twins: {len(twins)} derivative files, each with its twin and tests")


if __name__ == "__main__":
    sys.exit(main())
