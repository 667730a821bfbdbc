"""The experiments of the papers, in their small versions."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

SHARED = Path(os.environ.get("TANGERE_SHARED", "../shared"))
FOLDER = Path(__file__).parents[2] / "examples" / "papers"


@pytest.fixture
def experiment(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    import paper  # noqa: PLC0415

    monkeypatch.setattr(paper, "OUT", tmp_path)
    yield __import__
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_friction(experiment):
    found = experiment("friction").main(small=True)
    for mu in (0.01, 0.05, 0.5, 1.0, 2.0):
        value, iterations, notes = found[mu]
        assert abs(value / 0.2 - 1) < 0.01
        assert iterations <= 8
        assert any("derivative is 0" in note for note in notes) == (mu == 2.0)
    assert found["inside"] >= 4
    assert -0.013 < found["bias"] < -0.009
    assert abs(found["flat"] / 0.2 - 1) < 0.01


def test_mass(experiment):
    found = experiment("mass").main(small=True)
    assert abs(found["mass"] - 1) < 0.01
    assert found["blind"] == [{"body.cube.mass": 1.0}]
    assert abs(found["direction"] + 0.5097) < 1e-3
    assert np.abs(found["collision"]).max() < 0.01
    assert abs(found["force"] / 5 - 1) < 0.01
    assert abs(found["speed"] / 2 - 1) < 0.01


def test_pyramid(experiment):
    """The bias of pyramids in 16 directions, by hand: 0.707 (box) and 1.414 (diamond) at 45 degrees."""
    module = experiment("pyramid")
    angles, found = module.main(small=True)
    for law, values in found.items():
        assert np.allclose(values, [module.expected(law, angle) for angle in angles], atol=1e-6), law
    assert np.isclose(found["lcp-box"][2], np.sqrt(0.5))
    assert np.isclose(found["lcp-diamond"][1], np.cos(np.pi / 8))
    assert np.isclose(found["lcp-diamond"][2], np.sqrt(2))


def test_static_and_kinetic(experiment):
    static, kinetic = experiment("static_kinetic").main(small=True)
    assert abs(static / 0.18 - 1) < 0.02
    assert abs(kinetic / 0.13 - 1) < 0.02


def test_initial_conditions(experiment):
    found = experiment("initial_conditions").main(small=True)
    for unknown in ("v0", "impulse"):
        for way in ("exact", "differences"):
            assert found[unknown, way][1] < 1e-6
            assert found[unknown, way][0] <= 8
    assert found["rest", "exact"][1] > 0.3
    assert found["rest", "smoothed"][1] < 1e-3


def test_excitation(experiment):
    best, both, _, found = experiment("excitation").main(small=True)
    assert np.isinf(both).all()
    assert np.isfinite(best.errors).all()
    assert np.abs(found.mean(axis=0) - [0.2, 1.0]).max() < 5 * best.errors.max()


def test_film(experiment):
    pytest.importorskip("cv2")
    mu, angle = experiment("cube_video").main(small=True)
    assert abs(mu / 0.13 - 1) < 0.03
    assert abs(angle - np.degrees(np.arctan(0.18))) < 0.5


def test_real_throws(experiment):
    """Ten throws to fit, ten others to judge; not worse than the quoted values."""
    if not SHARED.joinpath("data/cube_tosses").exists():
        pytest.skip("there is no shared/data/cube_tosses")
    results, best = experiment("cube_tosses").main(small=True)
    quoted = results["quoted (mu 0.18, e 0.125)"]
    assert 5 < quoted[0] < 25
    assert results[best][0] / 12 + results[best][1] / 16 < 1.05 * (quoted[0] / 12 + quoted[1] / 16)  # as in the study


def test_contact_inverse_dynamics(experiment):
    if not SHARED.joinpath("robots/unitree_go1/scene.xml").exists():
        pytest.skip("there is no shared/robots")
    found = experiment("contact_inverse_dynamics").main(small=True)
    assert len(found) == 4
    for gap, com, iterations, speed in found.values():
        assert gap < 1e-10
        assert com < 1e-9
        assert iterations <= 15  # about ten; a handstand takes 8 to 12, by the last digits of steps
        assert speed < 1e-5


def test_one_page_of_all(experiment, monkeypatch, tmp_path):
    """Tables, figures and words of the experiments that ran; those that did not are named."""
    run_all = experiment("run_all")
    monkeypatch.setattr(run_all, "OUT", tmp_path)
    experiment("pyramid").main(small=True)
    page = run_all.section("pyramid")
    assert "<b>Ours:</b> the cone has no bias" in page
    assert "lcp-diamond, 45 degrees: estimate over mu</td><td>1.4142</td><td>1.4142" in page
    assert "did not finish" in run_all.section("mass")
