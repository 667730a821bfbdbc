"""The documentation: its Python runs, its C compiles and runs, its links lead somewhere."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md")) + sorted(ROOT.glob("*.md"))
COMMAND = Path(os.environ.get("TANGERE_COMMAND", ROOT / "build" / "tangere")).resolve()
GUIDE = (ROOT / "docs" / "guide.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_python_of_the_guide(monkeypatch):
    monkeypatch.chdir(ROOT)
    code = "\n".join(blocks(GUIDE, "python"))
    assert code.count("assert") > 3
    exec(compile(code, "docs/guide.md", "exec"), {"__name__": "guide"})


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_c_of_the_guide(tmp_path):
    source, program = tmp_path / "guide.c", tmp_path / "guide"
    source.write_text("\n".join(blocks(GUIDE, "c")))
    warnings = ["-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *warnings, f"-I{ROOT / 'include'}", "-c", source, "-o", tmp_path / "guide.o"], check=True)
    library = COMMAND.parent / "libtangere.a"
    subprocess.run(["cc", tmp_path / "guide.o", library, "-lexpat", "-lqhull_r", "-lm", "-o", program], check=True)
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "vertical force on the trunk: " in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = page if name == "" else page.parent / name
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            assert heading in [anchor(h) for h in headings], target
