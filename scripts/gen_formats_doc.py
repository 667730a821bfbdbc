#!/usr/bin/env python3
"""Writes docs/formats.md from the tables of the MJCF and URDF readers; with --check, says whether it is up to date.

The tables are C (src/read/mjcf/table.c, src/read/urdf/table.c): they are compiled with scripts/print_formats.c, which
prints them.

usage: gen_formats_doc.py [--check] [root]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HEAD = """\
# What is read of MJCF and URDF

<!-- Made by scripts/gen_formats_doc.py from src/read/mjcf/table.c and src/read/urdf/table.c: change it there. -->

These are the tables that the readers themselves work with: a file is checked against them, read through them, and the
report of a model is made from them. An element or attribute that is not listed is unknown; in MJCF it is refused, in
URDF it is noted.

| word | meaning |
| --- | --- |
| honoured | it is in the model |
| approximated | it is in the model in another sense, which the note says; the report has a line for it |
| ignored physics | it would change the motion and is not there; the report has a line, `strict` refuses the file |
| noted | it is left out without effect on the motion; the report has a line for it |
| no effect | it does not concern the motion, and no report speaks of it |
| refused | the model would be another one without it: the file is refused |

A value that says nothing (`density="0"`, `integrator="Euler"`) is not reported. Contacts, limits, equalities and
friction are rigid.

## Beyond the tables

- **Meshes** are read from STL (binary and text), OBJ and MSH files, and from the attributes `vertex` and `face`.
  Vertices with the same coordinates are made one. A mesh collides as its convex hull. Where the hull of a mesh that
  collides adds more than 1e-4 of the hull's volume, the report names the volume that it adds; it also says when the
  surface is not closed. Polygons of an OBJ file are cut into triangles, and of its groups the first is weighed, as in
  MuJoCo; the report says when something has no mass thereby. A build with assimp (`-DTANGERE_ASSIMP=ON`) reads other
  formats, COLLADA among them.
- **Height fields** are read from MuJoCo's binary format, from PNG images (not interlaced ones), and from the attribute
  `elevation`.
- **Mass and inertia.** A body with a joint, or one that is fixed to it, needs a mass and moments of at least 1e-15, and
  a `fullinertia` moments of at least 1e-14, as in MuJoCo. Negative ones are refused, also where MuJoCo makes them
  zero.
- **Pairs.** A model can have 2^28 pairs of geoms that could collide.
- **`replicate`** and **`attach`** (with the asset `model`) are worked out before anything is read, as MuJoCo does:
  names get the suffix or the prefix, and so does what refers to them in `contact`, `tendon`, `equality` and `actuator`.
  An attached file keeps its compiler settings and classes; its meshes, keyframes and custom numbers come along; the
  options of the main file count. A model has at most 2,000,000 elements, copies included.
- **A geom of a primitive type that names a mesh** is fitted to it: to the box of the mesh's inertia, or (compiler
  `fitaabb`) to the box around it.
- **Custom numbers** set any [parameter](parameters.md) that MJCF has no place for:
  `<custom><numeric name="tangere:geom.floor.restitution" data="0.5"/></custom>`.
- **Slack laws of tendons**, and actuators that drive a rest length, are custom texts:
  `<custom><text name="tangere:tendon.NAME.law" data="all"/></custom>` (`two-sided`, `spring` or `all`) and
  `<text name="tangere:actuator.NAME.drives" data="rest"/>` (`force` or `rest`); NAME may be `*`, all of them.
- **Two geoms that do not collide**, while others of their bodies do, are a custom tuple:
  `<custom><tuple name="tangere:exclude.why"><element objtype="geom" objname="a"/><element objtype="geom" objname="b"/>
  </tuple></custom>`.
"""

TITLES = {
    "MJCF": (
        "## MJCF",
        "Elements of `worldbody` stand in `body`, `frame` and `replicate` as well. A `default` class has the elements\n"
        "that it gives values to, with the attributes listed for them; classes stand inside each other.",
    ),
    "URDF": ("## URDF", "The elements `option` and `size` of the `mujoco` extension are those of MJCF."),
    "SRDF": ("## SRDF", "Read when the load option `srdf` names a file."),
}


def print_tables(root):
    """The lines of the tables, from the compiled sources."""
    sources = [
        root / "scripts" / "print_formats.c",
        *(root / "src" / "read" / format / "table.c" for format in ("mjcf", "urdf")),
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "print_formats"
        compiler = os.environ.get("CC", "cc")
        command = [compiler, "-std=c17", f"-I{root / 'src'}", f"-I{root / 'include'}", "-o", program, *sources]
        subprocess.run(command, check=True)
        text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def element_rows(lines):
    """(format, path of the element, [(attribute, handling, note)]) in the order of the tables."""
    path, rows = [], []
    for form, depth, element, attribute, handling, note in lines:
        if attribute == "":
            path[int(depth) :] = [element]
            rows.append((form, "/".join(path[1:]) or element, []))
        rows[-1][2].append((attribute, handling, note))
    return rows


def groups(entries):
    """Attributes with the same handling and note on one line, honoured first."""
    found = {}
    for attribute, handling, note in entries:
        found.setdefault((handling, note), []).append(attribute)
    order = ["honoured", "approximated", "ignored physics", "noted", "refused", "no effect"]
    return sorted(found.items(), key=lambda item: order.index(item[0][0]))


def table_lines(path, entries):
    own, *attributes = entries
    lines = []
    if own[1] != "honoured" or own[2] or not attributes:
        lines.append(f"| `{path}` | | {own[1]} | {own[2]} |")
    if own[1] != "honoured":  # its attributes share its fate
        return lines
    for (handling, note), names in groups(attributes):
        shown = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
        lines.append(f"| `{path}` | {shown} | {handling} | {note} |")
    return lines


def sensors(rows):
    """All sensors are handled alike: one line for them."""
    inside = [path for form, path, _ in rows if form == "MJCF" and path.startswith("sensor/") and path.count("/") == 1]
    return ", ".join(f"`{path.split('/')[1]}`" for path in dict.fromkeys(inside))


def document(lines):
    rows = element_rows(lines)
    text, before = [HEAD], None
    for form, path, entries in rows:
        if form != before:
            title, words = TITLES[form]
            text += ["", title, "", words, "", "| element | attributes | | note |", "| --- | --- | --- | --- |"]
            before = form
        if form == "MJCF" and path.startswith(("sensor/", "default/")):
            continue
        text += table_lines(path, entries)
        if form == "MJCF" and path == "sensor":
            text.append(f"| `sensor/*` | {sensors(rows)} | noted | sensors are not evaluated |")
    return "\n".join(text).replace("\n\n\n", "\n\n") + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the document is out of date")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "formats.md"
    text = document(print_tables(arguments.root))
    if not arguments.check:
        page.write_text(text)
        return
    if not page.exists() or page.read_text() != text:
        sys.exit(f"{page}: out of date; run scripts/gen_formats_doc.py")


if __name__ == "__main__":
    main()
