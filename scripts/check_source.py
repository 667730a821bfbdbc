#!/usr/bin/env python3
"""What may not stand in the source.

In the library (src/ without src/cli): calls that print, end the process, read the environment, or take memory past the
allocator. Everywhere: leftovers (TODO and its kin, #if 0, code in comments), lines of more than 120 columns.
"""

import re
import sys

from c_source import blank, c_files, comments, finish, line_of, root_argument

CALL = re.compile(
    r"\b("
    r"v?f?printf|v?dprintf|puts|fputs|putc|fputc|putchar|perror|vsprintf|sprintf|"
    r"exit|_Exit|quick_exit|abort|assert|atexit|signal|raise|longjmp|system|getenv|setlocale|"
    r"malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|alloca|strdup|strndup|asprintf|free"
    r")\s*\("
)
ALLOWED = {
    "src/base/arena.c": {"aligned_alloc", "free"},  # where tg_alloc and tg_free meet the C library
    "src/paths/choose.c": {"getenv"},  # TANGERE_CPU
    "src/read/urdf/path.c": {"getenv"},  # the search path of package://, as ROS has it
}

COLUMNS = 120

MARKER = re.compile(r"\b(TODO|FIXME|XXX|HACK|TBD)\b")
DISABLED = re.compile(r"^[ \t]*#[ \t]*if[ \t]+(0|false)\b", re.MULTILINE)
# a comment of one line that is nothing but a statement
STATEMENT = re.compile(
    r"^(//|/\*)\s*("
    r"[\w\->.\[\]*]+\s*([-+*/|&^]|<<|>>)?=[^=].*;|"  # x = y;
    r"(\w+\s+)+\**\w+\s*(=.*)?;|"  # double x;
    r"[\w\->.]+\(.*\);|"  # f(x);
    r"(if|for|while|switch)\s*\(.*[;{)]|"
    r"return\b.*;|break;|continue;|#\s*(if|include|define)\b.*|[{}]+"
    r")\s*(\*/)?$",
    re.DOTALL,
)


def check_calls(path, text, root):
    name = path.relative_to(root).as_posix()
    allowed = ALLOWED.get(name, set())
    code = blank(text)
    for match in CALL.finditer(code):
        is_member = code[: match.start()].rstrip().endswith(("->", ".", "(*"))
        if match.group(1) not in allowed and not is_member:
            yield f"{name}:{line_of(code, match.start())}: the library may not call {match.group(1)}"


def check_leftovers(path, text, root):
    name = path.relative_to(root).as_posix()
    for match in DISABLED.finditer(blank(text)):
        yield f"{name}:{line_of(text, match.start())}: {match.group().strip()}"
    for line, comment in comments(text):
        marker = MARKER.search(comment)
        if marker:
            yield f"{name}:{line}: {marker.group()} in a comment"
        if "\n" not in comment and STATEMENT.match(comment):
            yield f"{name}:{line}: code in a comment: {comment}"


def check_columns(path, text, root):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS:
            yield f"{path.relative_to(root).as_posix()}:{number}: {len(line)} columns, at most {COLUMNS}"


def main():
    root = root_argument(__doc__)
    problems = []
    folders = [root / name for name in ("include", "src", "tests", "python", "bench", "examples", "models")]
    files = c_files(*folders)
    for path in files:
        text = path.read_text()
        if path.is_relative_to(root / "src") and not path.is_relative_to(root / "src" / "cli"):
            problems += check_calls(path, text, root)
        problems += check_leftovers(path, text, root)
        problems += check_columns(path, text, root)
    return finish(problems, f"source: {len(files)} files, no forbidden call, no leftovers, no long lines")


if __name__ == "__main__":
    sys.exit(main())
