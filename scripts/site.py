"""Builds the documentation as a site in build/site/html, with mkdocs-material; a warning is an error.

The pages are those of docs/, README.md, CHANGELOG.md, CONTRIBUTING.md and the results in bench/results. Links between
them are rewritten to where the pages are on the site; a link to a source file becomes its name. A line

    <!-- example: 05_identify -->

becomes the two programs of that example, in Python and in C.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "site" / "pages"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)

# files of the project and where they are on the site
PLACES = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "bench/README.md": "bench/README.md",
    "bench/results": "bench/results/index.md",
}
CSS = """\
.md-typeset table:not([class]) { font-size: .68rem; }
.md-typeset table:not([class]) th { min-width: 3rem; }
.md-typeset table:not([class]) td { white-space: normal; }
"""


def place_of(source: str) -> str | None:
    """Where a file of the project is on the site; None: it is not there."""
    if source in PLACES:
        return PLACES[source]
    if re.fullmatch(r"docs/(pictures/)?[^/]+\.(md|png|svg|csv)", source):
        return source.removeprefix("docs/")
    if re.fullmatch(r"bench/results/[^/]+\.md", source):
        return source
    return None


def examples(text: str) -> str:
    """The programs of examples in place of the lines that name them."""

    def program(name: str) -> str:
        parts = []
        for language, suffix in (("Python", "py"), ("C", "c")):
            code = (ROOT / "examples" / f"{name}.{suffix}").read_text().rstrip()
            body = "\n".join(f"    {line}".rstrip() for line in code.splitlines())
            tag = "python" if suffix == "py" else "c"
            parts.append(f'=== "{language}"\n\n    ```{tag}\n{body}\n    ```\n')
        return "\n".join(parts)

    return re.sub(r"^<!-- example: (\w+) -->$", lambda match: program(match.group(1)), text, flags=re.MULTILINE)


def relink(text: str, source: str, place: str) -> str:
    """Links of a page for where it is on the site."""

    def link(match: re.Match[str]) -> str:
        bang, label, target = match.groups()
        name, _, anchor = target.partition("#")
        if "://" in target or name == "":
            return match.group()
        file = os.path.normpath(os.path.join(os.path.dirname(source), name))
        to = place_of(file)
        if to is None:
            return f"`{file}`" if label.strip("`./") in {file, ""} else f"{label} (`{file}`)"
        there = os.path.relpath(to, os.path.dirname(place) or ".")
        return f"{bang}[{label}]({there}{'#' if anchor else ''}{anchor})"

    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[last : fence.start()]), fence.group()]
        last = fence.end()
    return "".join([*parts, LINK.sub(link, text[last:])])


def collect() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    sources = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md"]
    sources += sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))
    sources += sorted(str(p.relative_to(ROOT)) for p in (ROOT / "bench" / "results").glob("*.md"))
    for source in sources:
        place = place_of(source)
        assert place is not None, source
        target = PAGES / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(relink(examples((ROOT / source).read_text()), source, place))
    for file in [
        *(ROOT / "docs").glob("*.svg"),
        *(ROOT / "docs").glob("*.csv"),
        *(ROOT / "docs" / "pictures").glob("*.*"),
    ]:
        target = PAGES / file.relative_to(ROOT / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    results = sorted((ROOT / "bench" / "results").glob("*.md"))
    lines = ["# Results", "", "Files of `bench/results`, as the programs wrote them.", ""]
    for file in results:
        title = next((line[2:] for line in file.read_text().splitlines() if line.startswith("# ")), file.stem)
        lines.append(f"- [{title}]({file.name}) (`{file.name}`)")
    (PAGES / "bench" / "results" / "index.md").write_text("\n".join(lines) + "\n")
    (PAGES / "site.css").write_text(CSS)


def main() -> int:
    collect()
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--quiet"],
        cwd=ROOT,
        env=environment,
        check=False,
    )
    if done.returncode == 0:
        print(f"site: {ROOT / 'build' / 'site' / 'html' / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
