"""tangere grad and tangere check: summaries, files, JSON, wrong usage."""

import json
import re

import numpy as np
import pytest
import tangere as tg
from support import path_of
from test_cli import output, refusal

CUBE = path_of("models/cube.xml")
QUADRUPED = path_of("models/quadruped.xml")


def test_grad_writes_the_matrices(tmp_path):
    path = tmp_path / "out.npz"
    text = output("grad", QUADRUPED, "--key", "home", "--params", "body.*.mass", "--out", path)
    assert "label exact" in text
    assert "dv_dparams" in text
    m = tg.load(QUADRUPED)
    sim = tg.Sim(m)
    sim.reset("home")
    sim.step(u=m.key("home").ctrl)
    J = sim.jacobian(params="body.*.mass")
    with np.load(path) as arrays:
        for name in ("dq_dq", "dv_dv", "dv_du", "dv_dparams"):
            np.testing.assert_allclose(arrays[name], getattr(J, name), rtol=0, atol=1e-9)


def test_grad_writes_csv(tmp_path):
    path = tmp_path / "out.csv"
    output("grad", CUBE, "--out", path)
    lines = path.read_text().splitlines()
    assert lines[0] == "matrix,row,column,value"
    assert any(line.startswith("dv_dtau,5,5,") for line in lines)


def test_grad_refuses(tmp_path):
    assert "no known kind" in refusal(2, "grad", CUBE, "--out", tmp_path / "out.txt")
    assert "frictoin" in refusal(1, "grad", CUBE, "--params", "geom.*.frictoin")


@pytest.mark.parametrize("model", [CUBE, QUADRUPED])
def test_check_passes(model):
    result = json.loads(output("check", model, "--samples", "30", "--json"))
    assert result["passed"] is True
    assert result["states"] == 30
    assert result["compared"] > 500
    assert result["switched"] < 0.05 * result["compared"]
    assert result["disagreement"] < 1e-10
    for group in ("q", "v", "tau", "dt", "params"):
        assert result[group]["error"] <= 1e-6
        assert result[group]["largest"] > 1e-3
        assert result[group]["entry"]
    assert result["sticking"] > 0


def test_check_says_what_it_did():
    text = output("check", CUBE, "--samples", "10", "--params", "geom.*.size")
    assert "10 states" in text
    assert re.search(r"params .*geom\.\S+\.size\[\d\]: ", text)
    assert text.endswith("passed\n")
