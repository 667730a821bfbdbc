#!/usr/bin/env python3
"""Writes docs/api.md from the comments of include/tangere/*.h; with --check, says whether it is up to date.

A function is described by the comment above it, the one behind it, the type defined just above it, or the text of its
section. One that has none of these is an error.

usage: gen_api_doc.py [--check] [root]
"""

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass, field

from c_source import TOKEN

# the headers in the order of the stages; those of later stages follow by name
ORDER = [
    "base",
    "algebra",
    "model",
    "scene",
    "read",
    "dynamics",
    "collision",
    "contact",
    "step",
    "batch",
    "check",
    "control",
]

HEAD = """\
# The C interface

<!-- Made by scripts/gen_api_doc.py from include/tangere: change it there. -->

`#include "tangere/tangere.h"` brings in everything below. The [guide](guide.md) says how the parts work together, and
[parameters.md](parameters.md) lists the fields of the parameter vector.
"""

SECTION = re.compile(r"^---- (.+?) ----\s*", re.DOTALL)
FUNCTION = re.compile(r"^TG_API\b[^;(]*?\b(tg_\w+)\(", re.MULTILINE)
TYPE = re.compile(r"^\} (tg_\w+);|^typedef (?:struct|enum) \w+ (tg_\w+);", re.MULTILINE)
NAME = re.compile(r"\b(?:tg_|TG_)\w+(?:\(\))?")


@dataclass
class Item:
    """Code, and the comment above it."""

    comment: str
    code: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join(self.code)

    def functions(self) -> list[str]:
        return FUNCTION.findall(self.text())

    def types(self) -> list[str]:
        return [first or second for first, second in TYPE.findall(self.text())]


@dataclass
class Section:
    title: str
    text: str
    items: list[Item] = field(default_factory=list)


@dataclass
class Header:
    name: str
    sections: list[Section]


# ---- reading ----


def comment_text(comment: str) -> str:
    """The text of a block comment, without its stars; relative indentation stays."""
    lines = comment.removeprefix("/*").removesuffix("*/").split("\n")
    return "\n".join(re.sub(r"^ \* ?", "", line).rstrip() for line in lines).strip()


def chunks(text: str) -> list[tuple[str, str]]:
    """(kind, text) of comments that start a line, lines of code, and empty lines, in order."""
    found = []
    at = 0
    while at < len(text):
        comment = TOKEN.match(text, at)
        end = text.find("\n", at) + 1 or len(text)
        if comment and comment.group().startswith("/*") and text[comment.end() : comment.end() + 1] == "\n":
            found.append(("comment", comment.group()))
            at = comment.end() + 1
        else:
            line = text[at : end - 1] if text[end - 1 : end] == "\n" else text[at:end]
            found.append(("code" if line.strip() else "empty", line))
            at = end
    return found


def without_directives(text: str) -> str:
    """The header without #if ... #endif around its macros, guards, includes and extern "C"."""
    lines = []
    continued = False
    for line in text.split("\n"):
        skip = continued or line.startswith("#") or line.startswith('extern "C"') or line == "}"
        continued = skip and line.endswith("\\")
        keep_version = line.startswith("#define TG_VERSION_")
        if not skip or keep_version:
            lines.append(line)
    return "\n".join(lines)


def read_header(path: pathlib.Path) -> Header:
    parts = chunks(without_directives(path.read_text()))
    sections = [Section("", "")]
    item = None
    comment = ""
    for kind, text in parts:
        if kind == "comment":
            words = comment_text(text)
            title = SECTION.match(words)
            if title:
                sections.append(Section(title[1], words[title.end() :].strip()))
                item, comment = None, ""
            elif not sections[-1].items and len(sections) == 1 and not sections[0].text:
                sections[0].text = words
            else:
                item, comment = None, words
        elif kind == "code":
            if item is None:
                item = Item(comment)
                sections[-1].items.append(item)
                comment = ""
            item.code.append(text)
        elif item is not None and "{" in item.text() and item.text().count("{") > item.text().count("}"):
            item.code.append("")  # an empty line inside a struct
        else:
            item = None
    return Header(path.name, sections)


def headers(root: pathlib.Path) -> list[Header]:
    paths = [path for path in (root / "include" / "tangere").glob("*.h") if path.stem != "tangere"]

    def place(path):
        return (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem)

    return [read_header(path) for path in sorted(paths, key=place)]


# ---- what is missing ----


def undocumented(header: Header) -> list[str]:
    """Functions without a word of their own, in a section without text."""
    missing = []
    for section in header.sections:
        type_above = False
        for item in section.items:
            lines = item.text().split("\n")
            behind = {name for line in lines if "/*" in line for name in FUNCTION.findall(line)}
            described = item.comment or section.text or type_above
            missing += [name for name in item.functions() if not described and name not in behind]
            type_above = bool(item.types())
    return missing


# ---- writing ----


def escape(text: str) -> str:
    """Words of a comment as Markdown: names as code, nothing by accident emphasised or a tag."""
    parts = re.split(r"(`[^`]*`|\"[^\"\n]*\")", text)
    for i, part in enumerate(parts):
        if part.startswith('"') and re.search(r"[*_<#\[]", part):
            parts[i] = f"`{part}`"
        elif not part.startswith(("`", '"')):
            plain = part.replace("\\", "\\\\").replace("*", "\\*").replace("<", "&lt;").replace("|", "\\|")
            parts[i] = NAME.sub(lambda match: f"`{match.group()}`", plain)
    return "".join(parts)


def prose(text: str) -> str:
    """Paragraphs; indented lines, and lines with columns, stay as they stand."""
    blocks = []
    for line in text.split("\n"):
        kind = "code" if line.startswith("  ") else "text" if line else "empty"
        if blocks and blocks[-1][0] == kind and kind != "empty":
            blocks[-1][1].append(line)
        else:
            blocks.append((kind, [line]))
    out = []
    for kind, lines in blocks:
        if kind == "text":
            out.append(escape("\n".join(lines)))
        elif kind == "code":
            width = min(len(line) - len(line.lstrip()) for line in lines)
            out.append("```text\n" + "\n".join(line[width:] for line in lines) + "\n```")
    return "\n\n".join(out)


def write_item(item: Item) -> list[str]:
    names = item.functions() or item.types()
    lines = []
    if names:
        lines += ["#### " + ", ".join(f"`{name}`" for name in names), ""]
    if item.comment:
        lines += [prose(item.comment), ""]
    return [*lines, "```c", *(line.replace("TG_API ", "", 1) for line in item.code), "```", ""]


def write_header(header: Header) -> list[str]:
    lines = [f"## tangere/{header.name}", ""]
    for section in header.sections:
        if section.title:
            lines += [f"### {section.title[0].upper()}{section.title[1:]}", ""]
        if section.text:
            lines += [prose(section.text), ""]
        for item in section.items:
            lines += write_item(item)
    return lines


def document(all_headers: list[Header]) -> str:
    lines = [HEAD]
    for header in all_headers:
        count = sum(len(item.functions()) for section in header.sections for item in section.items)
        anchor = re.sub(r"[^\w]", "", f"tangere{header.name}")
        lines.append(f"- [tangere/{header.name}](#{anchor}): {count} functions")
    lines.append("")
    for header in all_headers:
        lines += write_header(header)
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the document is out of date")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "api.md"
    found = headers(arguments.root)
    missing = [
        f"include/tangere/{header.name}: {name} has no comment" for header in found for name in undocumented(header)
    ]
    if missing:
        sys.exit("\n".join(missing))
    text = document(found)
    if not arguments.check:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)
        return
    if not page.exists() or page.read_text() != text:
        sys.exit(f"{page}: out of date; run scripts/gen_api_doc.py")


if __name__ == "__main__":
    main()
