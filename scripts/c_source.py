"""What the checks share: the project's root, its C files, and C text without comments and strings."""

import argparse
import re
from pathlib import Path

SUFFIXES = (".c", ".h", ".def", ".cpp", ".hpp")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def root_argument(description):
    """The folder to check: the first argument, by default the project that holds this script."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    return parser.parse_args().root


def c_files(*folders):
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def blank(text):
    """text with comments and the inside of literals replaced by spaces; every line keeps its number."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def comments(text):
    """(line, comment) of every comment."""
    for match in TOKEN.finditer(text):
        if match.group().startswith("/"):
            yield line_of(text, match.start()), match.group()


def quoted_includes(text):
    """(line, path) of every #include "path" that is not itself in a comment."""
    code = TOKEN.sub(lambda m: m.group() if m.group()[0] in "\"'" else re.sub(r"[^\n]", " ", m.group()), text)
    for match in INCLUDE.finditer(code):
        yield line_of(code, match.start(1)), match.group(1)


def finish(problems, success):
    """Prints the problems, one per line as file:line: text, or the success; returns the exit code."""
    for problem in problems:
        print(problem)
    if not problems:
        print(success)
    return 1 if problems else 0
