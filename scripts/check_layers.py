#!/usr/bin/env python3
"""Includes go one way: base < math < model < {dynamics, collision} < contact < step < batch < {control, cli}.

A file of a stage may include its own stage and the stages below it, be it src/<stage>/x.h or the public
tangere/<stage>.h. A public header that is not named after a stage counts as all the stages that it includes.
"""

import sys

from c_source import c_files, finish, quoted_includes, root_argument

BELOW = {
    "base": set(),
    "math": {"base"},
    "model": {"base", "math"},
    "dynamics": {"base", "math", "model"},
    "collision": {"base", "math", "model"},
    "contact": {"base", "math", "model", "dynamics", "collision"},
    "step": {"base", "math", "model", "dynamics", "collision", "contact"},
    "batch": {"base", "math", "model", "dynamics", "collision", "contact", "step"},
    "cartesian": {"base", "math", "contact"},
    "control": {"base", "math", "model", "dynamics", "collision", "contact", "step", "batch"},
    "cli": {"base", "math", "model", "dynamics", "collision", "contact", "step", "batch", "control"},
}


def stages_of(include, root, seen=()):
    """The stages that an include brings in; None if the path is not one of ours."""
    folder, _, name = include.partition("/")
    if folder in BELOW:
        return {folder}
    header = root / "include" / include
    if folder != "tangere" or not header.is_file():
        return None
    stage = name.removesuffix(".h")
    if stage in BELOW:
        return {stage}
    found = {"base"}
    for _, inner in quoted_includes(header.read_text()):
        if inner not in seen:
            found |= stages_of(inner, root, (*seen, include)) or set()
    return found


def check_file(path, stage, root):
    for line, include in quoted_includes(path.read_text()):
        where = f"{path.relative_to(root)}:{line}"
        stages = stages_of(include, root)
        if stages is None:
            yield f'{where}: "{include}" is neither "<stage>/x.h" nor "tangere/x.h"'
            continue
        for above in sorted(stages - BELOW[stage] - {stage}):
            yield f'{where}: {stage} may not include {above} ("{include}")'


def main():
    root = root_argument(__doc__)
    problems = []
    files = 0
    for path in c_files(root / "src"):
        stage = path.relative_to(root / "src").parts[0]
        if stage not in BELOW:
            problems.append(f"{path.relative_to(root)}: src/{stage} is not a stage")
            continue
        problems += check_file(path, stage, root)
        files += 1
    for path in c_files(root / "include"):
        if path.stem in BELOW:
            problems += check_file(path, path.stem, root)
        files += 1
    return finish(problems, f"layers: {files} files, no upward include")


if __name__ == "__main__":
    sys.exit(main())
