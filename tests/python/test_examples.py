"""The Python examples run, from any folder, and say nothing on standard error."""

import subprocess
import sys

import pytest
from support import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
STUDIES = sorted((ROOT / "examples" / "gradients").glob("*.py"))  # Python only: they need an optimiser of their own


def test_there_are_examples():
    assert EXAMPLES
    assert STUDIES


@pytest.mark.parametrize("path", EXAMPLES + STUDIES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_its_twin_in_c(path):
    assert path.with_suffix(".c").is_file()
