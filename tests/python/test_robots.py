"""Robots that are dropped or moved by random controls, for a second each; `make robots` takes the full time."""

import numpy as np
import pytest
import tangere as tg
from robots import Loops, complaints, robots, simulate
from support import ROBOTS, path_of

pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="no folder with robots")
CASSIE = "agility_cassie/scene.xml"


@pytest.mark.parametrize("name", robots())
@pytest.mark.parametrize(("dt", "random"), [(0.002, False), (0.001, True)], ids=["2ms-zero", "1ms-random"])
def test_robot(name, dt, random):
    run = simulate(name, dt, 1.0, random)
    assert complaints(run) == []
    assert run.steps == round(1.0 / dt)


def test_loops_of_cassie_close_without_projection():
    """From the keyframe whose loops are open by 1.5 mm."""
    m = tg.load(path_of(CASSIE))
    sim, loops = tg.Sim(m, dt=0.001), Loops(CASSIE)
    sim.reset("stand")
    q = sim.q.copy()
    q[2] += 2
    sim.q = q
    assert loops.gap(sim.q) > 1e-3
    for _ in range(300):
        sim.step()
    assert loops.gap(sim.q) < 1e-6
    assert np.isfinite(sim.v).all()
