#!/usr/bin/env python3
"""Writes docs/parameters.md from src/model/params.def; with --check, says whether it is up to date.

usage: gen_parameters_doc.py [--check] [root]
"""

import argparse
import pathlib
import re
import sys

ENTRY = re.compile(r'^X\((\w+), (\w+), (\w*), (\d+), (\w+), "((?:[^"\\]|\\.)*)"\)$')

DOMAINS = {
    "FINITE": "finite",
    "NONNEGATIVE": "not negative",
    "POSITIVE": "positive",
    "FRACTION": "above 0, at most 1",
    "UNIT_INTERVAL": "0 .. 1",
    "QUATERNION": "w x y z, norm within 1e-3 of 1",
    "AXIS": "of a hinge or slide: not zero",
    "INERTIA": "positive semidefinite, principal moments A + B >= C",
    "RANGE": "where the limit is on: first below second",
    "ORDERED": "first not above second",
    "GEOM_SIZE": "positive; sphere, plane: not negative; mesh: not zero",
    "COEF": "finite; the divisor of a pulley: positive",
    "TAU": "with a filter: positive",
    "EQUALITY": "finite; weld: numbers 6 .. 9 a quaternion, number 10 not negative",
    "HFIELD_SIZE": "positive; depth of the base: not negative",
}

HEAD = """\
# Parameters

<!-- Made by scripts/gen_parameters_doc.py from src/model/params.def: change it there. -->

Every run-time number of a model is in one flat vector, and has a name: `element.name.field`, as in `body.trunk.mass`
or `geom.floor.friction[0]`. An element without a name is `#` and its index (`geom.#12.size`). Gradients have the
layout of the vector. Patterns with `*` and `?` select several numbers at once: `body.*.mass`, `geom.foot?.friction[0]`.

`tg_param_find` and `tg_param_match` look names up, `tg_params_create` makes a vector that can be changed, and
`tg_params_changed` validates it: a number outside its domain is refused with its name and value. All numbers must be
finite. Quaternions and axes are kept as they were written and normalised on use. The fields below stand in the order
of the vector; each is an array over its elements.
"""


def read_entries(path):
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.startswith("X("):
            continue
        match = ENTRY.match(line)
        if match is None:
            sys.exit(f"{path}:{number}: not an entry: {line}")
        if match[5] not in DOMAINS:
            sys.exit(f"{path}:{number}: domain {match[5]} has no words in {pathlib.Path(__file__).name}")
        entries.append(match.groups())
    return entries


def table_row(field, size, domain, text):
    numbers = size if size != "0" else "1 per path item"
    return f"| `{field}` | {numbers} | {text} | {DOMAINS[domain]} |"


def document(entries):
    lines = [HEAD]
    before = None
    for kind, element, field, size, domain, text in entries:
        title = "the model as a whole: no element in the name" if kind == "ELEMENT_COUNT" else element
        if title != before:
            lines += [
                "" if before else None,
                f"## {title}",
                "",
                "| field | numbers | meaning | must be |",
                "| --- | --- | --- | --- |",
            ]
            before = title
        lines.append(table_row(field or element, size, domain, text))
    return "\n".join(line for line in lines if line is not None) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the document is out of date")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "parameters.md"
    text = document(read_entries(arguments.root / "src" / "model" / "params.def"))
    if not arguments.check:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)
        return
    if not page.exists() or page.read_text() != text:
        sys.exit(f"{page}: out of date; run scripts/gen_parameters_doc.py")


if __name__ == "__main__":
    main()
