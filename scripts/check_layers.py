#!/usr/bin/env python3
"""Includes go one way: base < math < model < {dynamics, collision, read} < solve < contact < step < {batch, check} <
control < cli; cartesian uses base, math and solve.

A file of a stage may include its own stage and the stages below it, be it src/<stage>/x.h or the public
tangere/<stage>.h (tangere/tangere.h is all of them). Nor may it declare for itself what it may not include: a
function, or a struct, that a stage above or beside it defines.
"""

import re
import sys

from c_source import blank, c_files, finish, line_of, quoted_includes, root_argument

# from the bottom to the top; stages of one row do not know each other
ORDER = (
    ("base",),
    ("math",),
    ("model",),
    ("dynamics", "collision", "read"),
    ("solve",),
    ("contact",),
    ("step",),
    ("batch", "check"),
    ("control",),
    ("cli",),
)
BELOW = {stage: {low for row in ORDER[:i] for low in row} for i, row in enumerate(ORDER) for stage in row}
BELOW["solve"] = {"base", "math"}  # the contact problem as numbers: it knows no model
BELOW["cartesian"] = {"base", "math", "solve"}
BELOW["paths"] = set()  # chooses among whole libraries; it includes none of it
BELOW["cli"].add("cartesian")  # it includes the header of all headers

# public headers that are named otherwise than their stage
STAGE_OF = {"algebra": "math", "scene": "model", "qcqp": "solve"}

# A workspace is one block, made by the highest stage. It has a pointer to the part of each stage, into which the stages
# below cannot look.
DECLARED = {"src/dynamics/work.h": {"tg_space", "tg_rows", "tg_step_work"}}

# "tg_status tg_f(" at the beginning of a line; "struct tg_s" anywhere, which declares it unless "{" follows.
FUNCTION = re.compile(r"^(?!typedef|return|else)[A-Za-z_][\w \t*]*?[ \t*\n](tg_\w+)[ \t]*\(", re.MULTILINE)
STRUCT = re.compile(r"\b(?:struct|union|enum)\s+(tg_\w+)\s*(\{?)")


def stage_of_header(name):
    """The stage of a public header; None for the one that includes them all."""
    stem = name.removesuffix(".h")
    return STAGE_OF.get(stem, stem if stem in BELOW else None)


def stages_of(include, root, seen=()):
    """The stages that an include brings in; None if the path is not one of ours."""
    folder, _, name = include.partition("/")
    if folder in BELOW:
        return {folder}
    header = root / "include" / include
    if folder != "tangere" or not header.is_file():
        return None
    stage = stage_of_header(name)
    if stage is not None:
        return {stage}
    found = {"base"}
    for _, inner in quoted_includes(header.read_text()):
        if inner not in seen:
            found |= stages_of(inner, root, (*seen, include)) or set()
    return found


def check_includes(path, stage, root):
    for line, include in quoted_includes(path.read_text()):
        where = f"{path.relative_to(root)}:{line}"
        stages = stages_of(include, root)
        if stages is None:
            yield f'{where}: "{include}" is neither "<stage>/x.h" nor "tangere/x.h"'
            continue
        for above in sorted(stages - BELOW[stage] - {stage}):
            yield f'{where}: {stage} may not include {above} ("{include}")'


def has_body(code, opening):
    """Whether the function whose parameters open here is defined: `{` follows them, not `;`."""
    depth = 0
    for i in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return code[i + 1 :].lstrip().startswith("{")
    return False


def names_of(text):
    """(line, name, whether it is defined here) of functions and structs."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda m: re.sub(r"[^\n]", " ", m.group()), blank(text), flags=re.M)
    for match in FUNCTION.finditer(code):
        yield line_of(code, match.start(1)), match.group(1), has_body(code, match.end() - 1)
    for match in STRUCT.finditer(code):
        yield line_of(code, match.start(1)), match.group(1), match.group(2) == "{"


def check_declarations(files, root):
    """files: (path, stage). A name that only stages above or beside a file define may not be declared in it."""
    declared, homes = [], {}
    for path, stage in files:
        for line, name, defined in names_of(path.read_text()):
            if defined:
                homes.setdefault(name, set()).add(stage)
            else:
                declared.append((path, stage, line, name))
    for path, stage, line, name in declared:
        home = homes.get(name, set())
        file = path.relative_to(root).as_posix()
        if home and not home & (BELOW[stage] | {stage}) and name not in DECLARED.get(file, ()):
            yield f"{file}:{line}: {stage} may not declare {name} of {', '.join(sorted(home))}"


def main():
    root = root_argument(__doc__)
    problems, files = [], []
    for path in c_files(root / "src"):
        stage = path.relative_to(root / "src").parts[0]
        if stage in BELOW:
            files.append((path, stage))
        else:
            problems.append(f"{path.relative_to(root)}: src/{stage} is not a stage")
    headers = [(path, stage_of_header(path.name)) for path in c_files(root / "include")]
    files += [(path, stage) for path, stage in headers if stage is not None]
    for path, stage in files:
        problems += check_includes(path, stage, root)
    problems += check_declarations(files, root)
    return finish(problems, f"layers: {len(files)} files, no upward include or declaration")


if __name__ == "__main__":
    sys.exit(main())
