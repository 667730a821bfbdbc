"""Smoothed derivatives: how far they reach, and how fast chains of them may grow."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import tangere as tg

ROOT = Path(__file__).resolve().parents[2]
BOX = """<mujoco><option timestep="{dt}"/><worldbody><geom type="plane" size="5 5 0.1" friction="0.3"/>
<body pos="0 0 0.25" euler="{euler}"><freejoint/>
    <geom type="box" size="0.1 0.1 0.1" mass="1" friction="0.31"/></body></worldbody></mujoco>"""


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "gradients" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reach_does_not_change_the_steps():
    reach = example("reach")
    m = tg.load_string(reach.SCENE)
    plain = reach.rollout(m, 0.05)
    for far in (0.03, 0.3):
        r = reach.rollout(m, 0.05, backward="smoothed", smooth_reach=far)
        np.testing.assert_allclose(r.q, plain.q, rtol=0, atol=1e-12)


def test_reach_is_how_far_the_derivative_sees():
    """A finger 2 mm, 2 cm, 20 cm from a box that it does not meet in 0.1 s."""
    reach = example("reach")
    m = tg.load_string(reach.SCENE)

    def slope(gap, far):
        q = m.default_q()
        q[0] -= gap
        r = tg.rollout(m, q, np.zeros(m.nv), np.zeros((20, 1)), backward="smoothed", smooth_reach=far)
        return r.vjp(gq=np.eye(m.nv)[1], at=-1).u.sum()

    for gap in (0.002, 0.02, 0.2):
        assert slope(gap, 0.0) == 0
        assert slope(gap, 1.5 * gap) > 1e-5
        # rows that are near have the tail of the central path
        assert slope(gap, 0.9 * gap) < 0.02 * slope(gap, 1.5 * gap)
    weights = [slope(0.02, 0.02 * far) for far in (1.001, 1.01, 1.1, 2.0)]
    assert np.all(np.diff(weights) > 0)
    assert weights[0] < 0.05 * weights[-1]  # falls to zero towards the reach


def test_pushing_from_afar_has_the_right_sign():
    """Exact derivatives of impacts at the end of steps have the wrong one from 3 cm on, and zero from 12 cm on."""
    reach = example("reach")
    m = tg.load_string(reach.SCENE)
    for gap in (0.01, 0.05, 0.1, 0.15, 0.2):
        smoothed = reach.slope(m, gap, backward="smoothed", smooth_reach=0.3)
        assert 5e-4 < smoothed < 2 * max(reach.wide(m, gap), 1e-3)
    assert reach.slope(m, 0.05) < 0
    assert 0.5 < reach.slope(m, 0.05, impact="within") / reach.wide(m, 0.05) < 1.5


def growth(m, v, steps, key=None, **options):
    """Spectral radius of the chain of steps, per step."""
    sim, chain = tg.Sim(m, **options), np.eye(2 * m.nv)
    u = np.zeros(m.nu) if key is None else m.key(key).ctrl
    if key is not None:
        sim.reset(key)
    sim.v = v
    for _ in range(steps):
        sim.step(u=u)
        j = sim.jacobian()
        chain = np.block([[j.dq_dq, j.dq_dv], [j.dv_dq, j.dv_dv]]) @ chain
    return np.abs(np.linalg.eigvals(chain)).max() ** (1 / steps)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_chains_of_thrown_bodies_grow_by_a_bounded_factor(dt):
    """docs/gradients.md: per step at most 3 % more than the exact chain, or than 1."""
    ratios = []
    for seed in range(100, 108):
        rng = np.random.default_rng(seed)
        m = tg.load_string(BOX.format(dt=dt, euler=" ".join(f"{x:.3f}" for x in rng.uniform(-60, 60, 3))))
        v = np.r_[rng.normal(size=3), 3 * rng.normal(size=3)]
        exact = max(1.0, growth(m, v, round(0.4 / dt)))
        ratios += [
            growth(m, v, round(0.4 / dt), backward="smoothed", **options) / exact
            for options in ({}, {"smooth_width": 1e-4}, {"smooth_speed": 0.05}, {"smooth_reach": 0.1})
        ]
    assert max(ratios) < 1.03, sorted(ratios)[-5:]


@pytest.mark.parametrize("name", ["quadruped", "planar_walker", "humanoid36"])
def test_chains_of_robots_grow_by_a_bounded_factor(name):
    """docs/gradients.md: per step at most 10 % more than the exact chain, or than 1."""
    m, dt, ratios = tg.load(ROOT / "models" / f"{name}.xml"), 5e-3, []
    for seed in range(200, 206):
        v = 0.5 * np.random.default_rng(seed).normal(size=m.nv)
        exact = max(1.0, growth(m, v, 80, 0, dt=dt))
        ratios += [
            growth(m, v, 80, 0, dt=dt, backward="smoothed", **options) / exact
            for options in ({}, {"smooth_width": 1e-4}, {"smooth_speed": 0.05}, {"smooth_reach": 0.1})
        ]
    assert max(ratios) < 1.1, sorted(ratios)[-5:]


def test_widths_that_grow_without_bound_are_refused():
    m = tg.load_string(BOX.format(dt=0.001, euler="0 0 0"))
    with pytest.raises(tg.Error, match="smooth_width = 1e-06 must be 0 or in"):
        tg.Sim(m, backward="smoothed", smooth_width=1e-6)


def test_a_reach_needs_smoothed_derivatives():
    """It would have no effect: an exact derivative of 0 is not what it asks for."""
    m = tg.load_string(BOX.format(dt=0.001, euler="0 0 0"))
    with pytest.raises(tg.Error, match=r"smooth_reach = .* belongs to backward = smoothed"):
        tg.rollout(m, m.default_q(), np.zeros(m.nv), 3, smooth_reach=0.1)
