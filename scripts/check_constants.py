#!/usr/bin/env python3
"""Counts the constants of the solver and of what it stands on: src/contact, src/solve, src/step and src/math.

A constant is a number in the code other than 0, 1, 2 and 0.5, and a name that is given a number: `static const double
x = ...`, `#define X ...`, a member `X = ...` of an enum. A name and the number it is given are one constant. Every one
of them is a decision that somebody has to justify, so their number only goes down: the check fails above CEILING.
Whoever lowers the count lowers CEILING with it.
It was 1,124 before forward mode along parameters, impacts within the step, smoothing that reaches and energy balance,
1,240 before the convex contact law, and 1,256 before quadratic programs with derivatives
and the solver admm, 1,299 before other contact laws, staggered projections, explicit laws and given contacts, 1,319
before dimensions, entries and places in the parameter vector had names (math/vec3.h, TG_PARAM_OF).
"""

import re
import sys
from collections import Counter

from c_source import blank, c_files, finish, root_argument

FOLDERS = ("contact", "solve", "step", "math")
CEILING = 450

NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F.]+(?:[pP][-+]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[uUlLfF]*\b")
PLAIN = {0.0, 0.5, 1.0, 2.0}
NAMED = (
    re.compile(r"^(?:[ \t]*static[ \t]+)?const[ \t]+(?:\w+[ \t]+)+(\w+)[ \t]*=([^;{]*);", re.MULTILINE),
    re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n\\]|\\\n)*)", re.MULTILINE),
)
ENUM = re.compile(r"\benum\b[^{;()]*\{([^}]*)\}")
MEMBER = re.compile(r"(\w+)\s*=([^,]*)")


def value(text):
    return float.fromhex(text) if text[:2] in ("0x", "0X") else float(text)


def numbers(code):
    """The numbers that count."""
    return [n.group(1) for n in NUMBER.finditer(code) if value(n.group(1)) not in PLAIN]


def names(code):
    """The expressions of named constants: those with a number in them."""
    found = [match.group(2) for pattern in NAMED for match in pattern.finditer(code)]
    found += [member.group(2) for enum in ENUM.finditer(code) for member in MEMBER.finditer(enum.group(1))]
    return [expression for expression in found if NUMBER.search(expression)]


def count(text):
    """(names, numbers outside of them: real ones, integers)"""
    code = blank(text)
    named = names(code)
    others = Counter(numbers(code)) - Counter(n for expression in named for n in numbers(expression))
    real = sum(times for number, times in others.items() if re.search(r"^(?!0[xX]).*[.eE]", number))
    return len(named), real, others.total() - real


def main():
    root = root_argument(__doc__)
    total = 0
    for folder in FOLDERS:
        counts = [count(path.read_text()) for path in c_files(root / "src" / folder)]
        named, real, integer = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
        print(f"src/{folder}: {named} named constants, {real} other real numbers, {integer} other integers")
        total += named + real + integer
    problems = [f"{total} constants: at most {CEILING} (CEILING in check_constants.py)"] if total > CEILING else []
    return finish(problems, f"constants: {total}, at most {CEILING}")


if __name__ == "__main__":
    sys.exit(main())
