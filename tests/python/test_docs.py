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
SIMULATE = (ROOT / "docs" / "simulate.md").read_text()
IDENTIFY = (ROOT / "docs" / "identify.md").read_text()
BATCH = (ROOT / "docs" / "batch.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("text", [GUIDE, SIMULATE, IDENTIFY], ids=["guide", "simulate", "identify"])
def test_python_of_the_pages(monkeypatch, text):
    monkeypatch.chdir(ROOT)
    code = "\n".join(blocks(text, "python"))
    assert code.count("assert") > 3
    exec(compile(code, "page.md", "exec"), {"__name__": "page"})


def test_python_of_the_batch_page(monkeypatch):
    pytest.importorskip("torch", reason="pip install 'tangere[torch]'")
    pytest.importorskip("jax", reason="pip install 'tangere[jax]'")
    test_python_of_the_pages(monkeypatch, BATCH)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("text", "shown"),
    [(GUIDE, "vertical force on the trunk: "), (SIMULATE, "front_left_foot: ")],
    ids=["guide", "simulate"],
)
def test_c_of_the_pages(tmp_path, text, shown):
    source, program = tmp_path / "page.c", tmp_path / "page"
    source.write_text("\n".join(blocks(text, "c")))
    warnings = ["-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *warnings, f"-I{ROOT / 'include'}", "-c", source, "-o", tmp_path / "page.o"], check=True)
    library = COMMAND.parent / "libtangere.a"
    subprocess.run(["cc", tmp_path / "page.o", library, "-lexpat", "-lqhull_r", "-lm", "-o", program], check=True)
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


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
