"""The example that trains a policy: every method takes a few updates, and first-order ones move the return."""

import csv
import subprocess
import sys

import pytest
from support import ROOT

pytest.importorskip("torch", reason="pip install 'tangere[torch]'")
TRAIN = ROOT / "examples" / "policy" / "train.py"


@pytest.mark.parametrize(("method", "updates"), [("exact", 5), ("smoothed", 1), ("toi", 1), ("evolution", 5)])
def test_few_updates(tmp_path, method, updates):
    out = tmp_path / "curve.csv"
    done = subprocess.run(
        [sys.executable, TRAIN, "--method", method, "--updates", str(updates), "--quiet", "--out", out],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert f"{method} seed 0: return" in done.stdout
    with out.open() as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == method]
    first, last = rows[0], rows[-1]
    assert int(last["steps"]) == updates * 64 * 24 * 8
    assert first["return"] != last["return"]


def test_kept_curves_hold_what_the_page_says():
    """Three seeds; exact gradients at least double the return, and beat doing nothing."""
    with (ROOT / "docs" / "policy.csv").open() as file:
        rows = list(csv.DictReader(file))
    still = next(float(row["return"]) for row in rows if row["method"] == "nothing")
    for seed in ("11", "12", "13"):
        curve = [float(row["return"]) for row in rows if row["method"] == "exact" and row["seed"] == seed]
        assert curve[-1] >= 2 * curve[0]
        assert curve[-1] > still
