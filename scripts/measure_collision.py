#!/usr/bin/env python3
"""Measures every pair of shapes beside Coal and MuJoCo and writes the matrix into docs/collision.md.

Needs a Python with tangere, coal and mujoco; about ten seconds. The test tests/python/test_collide_pairs.py compares
the page with what it measures.

usage: measure_collision.py [root]
"""

import importlib
import pathlib
import sys

BEGIN, END = "<!-- Made by scripts/measure_collision.py. -->", "<!-- end -->"


def main() -> None:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    sys.path.insert(0, str(root / "tests" / "python"))
    pairs = importlib.import_module("collision_pairs")

    page = root / "docs" / "collision.md"
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    rows = "\n".join(pairs.row(pairs.compare(pair)) for pair in pairs.PAIRS)
    page.write_text(f"{before}{BEGIN}\n\n{pairs.HEADER}\n{rows}\n\n{END}{after}")


if __name__ == "__main__":
    main()
