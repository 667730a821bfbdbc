"""Forward mode, reverse mode and matrices agree with all options of derivatives, over steps and rollouts, with and
without checkpoints."""

from pathlib import Path

import numpy as np
import pytest
import tangere as tg

ROOT = Path(__file__).resolve().parents[2]
THROWN = """<mujoco><option timestep="0.002"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.4"/>
<body name="cube" pos="0 0 0.16" euler="20 10 5"><freejoint/>
    <geom name="cube" type="box" size="0.1 0.1 0.1" mass="1" friction="0.5"/></body>
<body name="ball" pos="0.25 0 0.13"><freejoint/><geom name="ball" size="0.1" mass="0.6" friction="0.3"/></body>
</worldbody><custom><numeric name="tangere:geom.cube.restitution" data="0.4"/>
<numeric name="tangere:geom.ball.restitution" data="0.5"/></custom></mujoco>"""
OPTIONS = (
    {},
    {"impact": "within"},
    {"backward": "toi"},
    {"backward": "smoothed"},
    {"backward": "smoothed", "smooth_reach": 0.2},
    {"backward": "smoothed", "smooth_reach": 0.2, "impact": "within"},
    {"reach": 0.01, "push_rate": 0.2},
    {"cold": True, "impact": "within"},
)


def thrown(**options):
    m = tg.load_string(THROWN)
    v = np.r_[1.0, 0.2, -1.5, 1, 2, -1, -0.5, 0, -1, 0, 3, 0]
    return m, (m.default_q(), v, 60), options


def quadruped(**options):
    m = tg.load(ROOT / "models" / "quadruped.xml")
    key = m.key("home")
    q = np.array(key.q)
    q[2] += 0.02
    return m, (q, 0.1 * np.random.default_rng(1).standard_normal(m.nv), np.tile(key.ctrl, (50, 1))), options


def close(a, b, size):
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= 1e-10 * size


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("scene", [thrown, quadruped])
def test_modes_agree(scene, options):
    m, start, given = scene(**options)
    rng = np.random.default_rng(2)
    r = tg.rollout(m, *start, **given)
    kept = tg.rollout(m, *start, checkpoints=True, **given)
    assert np.array_equal(r.q, kept.q)
    names = ["body.*.mass", "geom.*.friction", "geom.*.restitution", "geom.*.pos", "gravity"]
    chosen = rng.permutation(m._chosen(names))[:7]
    # chain of matrices
    A, P = np.eye(2 * m.nv), np.zeros((2 * m.nv, len(chosen)))
    impacts = 0
    for step in range(len(r)):
        j = r.step_jacobian(step, params=chosen)
        one = np.block([[j.dq_dq, j.dq_dv], [j.dv_dq, j.dv_dv]])
        A, P = one @ A, one @ P + np.vstack([j.dq_dparams, j.dv_dparams])
        impacts += not np.allclose(m.integrate(r.q[step], r.dt * r.v[step + 1]), r.q[step + 1], rtol=0, atol=1e-9)
    size = max(1.0, np.abs(A).max(), np.abs(P).max())
    for one in (r, kept):
        change = one.jvp(q0=np.eye(m.nv)[:2], v0=np.zeros((2, m.nv)))
        close(np.hstack([change.q[:, -1], change.v[:, -1]]), A[:, :2].T, size)
        change = one.jvp(v0=np.eye(m.nv))
        close(np.hstack([change.q[:, -1], change.v[:, -1]]), A[:, m.nv :].T, size)
        change = one.sensitivity(chosen)
        close(np.hstack([change.q[:, -1], change.v[:, -1]]), P.T, size)
        out = rng.standard_normal(2 * m.nv)
        g = one.vjp(gq=out[: m.nv], gv=out[m.nv :], at=-1)
        close(np.r_[g.q, g.v], out @ A, size)
        close(g.params[chosen], out @ P, size)
    assert np.abs(P).max() > 1e-6
    if options.get("impact") == "within" and scene is thrown:
        assert impacts > 0
