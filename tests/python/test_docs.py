"""The documentation: its Python runs, its C compiles and runs, its links lead somewhere."""

import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
import tangere
from support import ROOT
from tangere import viewer

PAGES = sorted((ROOT / "docs").glob("*.md")) + sorted(ROOT.glob("*.md"))
COMMAND = Path(os.environ.get("TANGERE_COMMAND", ROOT / "build" / "tangere")).resolve()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
SIMULATE = (ROOT / "docs" / "simulate.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


NEEDED = {
    "batch.md": ("torch", "jax"),
    "qcqp.md": ("torch", "jax"),
    "cartesian.md": ("torch",),
    "view.md": ("matplotlib",),
}
WITH_PYTHON = [page for page in PAGES if blocks(page.read_text(), "python")]

# plots without a screen
BEFORE = {
    "view.md": """
import matplotlib
matplotlib.use("Agg")
""",
}


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_of_the_pages(monkeypatch, page):
    """Every block of Python runs, page by page, in the order in which it stands there."""
    for module in NEEDED.get(page.name, ()):
        pytest.importorskip(module)
    monkeypatch.chdir(ROOT)
    # a browser is not opened: the arguments must be those of the function
    monkeypatch.setattr(tangere, "view", lambda *args, **options: signature(viewer.view).bind(*args, **options))
    code = "\n".join(blocks(page.read_text(), "python"))
    exec(compile(BEFORE.get(page.name, "") + code, page.name, "exec"), {"__name__": "page"})


def test_pages_check_what_they_say():
    for page in WITH_PYTHON:
        if page.name not in {"README.md", "view.md", "control.md"}:
            assert any("assert" in block for block in blocks(page.read_text(), "python")), page


def test_every_block_has_a_language_that_is_tested():
    """Python and C run, CMake is built by the test of the installation; text is not code."""
    for page in PAGES:
        if page.name != "api.md":  # its C is the declarations of the headers
            languages = set(re.findall(r"^```(\S+)", page.read_text(), re.MULTILINE))
            assert languages <= {"python", "c", "cmake", "text"}, page


def test_python_reference():
    """Every public name has a docstring, and the page is that of the installed package."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "python_doc.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_names_of_all_modules_have_docstrings():
    missing, seen = [], 0
    for found in pkgutil.walk_packages(tangere.__path__, "tangere."):
        if "._" in found.name:
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:  # an extra that is not installed
            continue
        own = {k: x for k, x in vars(module).items() if getattr(x, "__module__", "") == found.name and callable(x)}
        for name, thing in own.items():
            parts = {f"{name}.{k}": x for k, x in vars(thing).items()} if isinstance(thing, type) else {}
            members = {k: x for k, x in parts.items() if isinstance(x, property | classmethod) or inspect.isfunction(x)}
            for label, part in {name: thing, **members}.items():
                seen += 1
                if "_" not in (label[0], label.split(".")[-1][0]) and not inspect.getdoc(part):
                    missing.append(f"{found.name}.{label}")
    assert seen > 500
    assert missing == []


def test_end_to_end_tables():
    if not (Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared")) / "robots" / "atlas").exists():
        pytest.skip("the robots are not here")
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "end_to_end.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_of_the_tutorials():
    """Seven tutorials, each a program in both languages, which test_examples and ctest run."""
    names = re.findall(r"^<!-- example: (\w+) -->$", (ROOT / "docs" / "tutorials.md").read_text(), re.MULTILINE)
    assert len(names) == 7
    for name in names:
        for suffix in ("py", "c"):
            assert (ROOT / "examples" / f"{name}.{suffix}").is_file()


def test_site(tmp_path):
    """The site is built without a warning, and every link of its pages leads somewhere."""
    pytest.importorskip("material", reason="make site installs it")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "site.py"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    html = ROOT / "build" / "site" / "html"
    pages = list(html.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if "://" not in target and not target.startswith(("mailto:", "data:")) and page.name != "404.html":
                assert (page.parent / target).exists(), f"{page.relative_to(html)}: {target}"


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
