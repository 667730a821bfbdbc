"""tangere.plot, and the plots of the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import tangere as tg
from support import ROOT

mpl.use("Agg")
import matplotlib.pyplot as plt

MODEL = ROOT / "models" / "quadruped.xml"


@pytest.fixture
def rolled() -> tg.Rollout:
    m = tg.load(MODEL)
    key = m.key("home")
    q = key.q.copy()
    q[2] += 0.01
    yield tg.rollout(m, q, key.v, np.tile(key.ctrl, (60, 1)))
    plt.close("all")


def test_trajectory(rolled: tg.Rollout) -> None:
    ax = tg.plot.trajectory(rolled)
    assert len(ax.lines) == rolled.q.shape[1]
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), rolled.q[:, 2])
    assert ax.lines[2].get_label() == "root.z"
    ax = tg.plot.trajectory({"q": rolled.q, "v": rolled.v}, "v", ["front_left_knee"], model=rolled._model)
    assert len(ax.lines) == 1
    np.testing.assert_array_equal(
        ax.lines[0].get_ydata(), rolled.v[:, tg.plot.names_of(rolled._model, "v").index("front_left_knee")]
    )
    with pytest.raises(ValueError, match="what"):
        tg.plot.trajectory(rolled, "w")


def test_contacts(rolled: tg.Rollout) -> None:
    upper, lower = tg.plot.contacts(rolled)
    contacts = rolled.contacts[-1]
    force = np.einsum("ij,ij->i", contacts.force, contacts.normal).sum()
    assert upper.lines[0].get_ydata()[-1] == pytest.approx(force)
    assert force > 10
    assert [label.get_text() for label in lower.get_yticklabels()] == [
        f"floor | {side}_foot" for side in ("front_left", "front_right", "hind_left", "hind_right")
    ]


def test_energy_and_residual(rolled: tg.Rollout) -> None:
    ax = tg.plot.energy(rolled)
    kinetic = [rolled._model.energy(q, v).kinetic for q, v in zip(rolled.q, rolled.v, strict=True)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), kinetic)
    ax = tg.plot.residual(rolled)
    assert ax.get_yscale() == "log"
    with pytest.raises(tg.Error, match="residual"):
        tg.plot.residual(rolled.q, model=rolled._model)


def test_jacobian() -> None:
    m = tg.load(MODEL)
    sim = tg.Sim(m)
    sim.reset("home")
    sim.step(u=m.key("home").ctrl)
    j = sim.jacobian()
    ax = tg.plot.jacobian(j, "dv_dq", model=m)
    image = ax.images[0].get_array()
    assert image.shape == j.dv_dq.shape
    assert (np.sign(image) == np.sign(j.dv_dq)).all()
    assert ax.get_yticklabels()[0].get_text() == "root.vx"
    assert tg.plot.jacobian(np.eye(3)).images[0].get_array().shape == (3, 3)
    plt.close("all")


@pytest.mark.parametrize("words", [["sim", "--time", "0.1"], ["grad", "--params", "body.*.mass"]])
def test_command_plots(words: list[str], tmp_path: Path) -> None:
    out = tmp_path / "plot.png"
    command = os.environ.get("TANGERE_COMMAND", str(ROOT / "build" / "tangere"))
    done = subprocess.run(
        [command, words[0], str(MODEL), "--key", "home", *words[1:], "--plot", str(out)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "TANGERE_PYTHON": sys.executable, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert list(tmp_path.glob("*.npz")) == []  # what was written on the way is gone
