"""Rollouts: what goes in, what they tell, their matrices."""

from pathlib import Path

import numpy as np
import pytest
import tangere as tg

ROOT = Path(__file__).resolve().parents[2]
STEPS = 40


@pytest.fixture(scope="module")
def quadruped():
    return tg.load(ROOT / "models" / "quadruped.xml")


def walk(m, **more):
    rng = np.random.default_rng(1)
    key = m.key("home")
    u = key.ctrl + 0.05 * rng.standard_normal((STEPS, m.nu))
    return tg.rollout(m, key.q, 0.1 * rng.standard_normal(m.nv), u, 1e-3, **more)


def test_without_tape(quadruped):
    taped, bare = walk(quadruped), walk(quadruped, tape=False)
    assert taped.q.tobytes() == bare.q.tobytes()
    for call in (bare.vjp, lambda: bare.labels, lambda: bare.contacts[0], lambda: bare.sensitivity("gravity[2]")):
        with pytest.raises(tg.Error, match="records nothing"):
            call()


def test_what_steps_tell(quadruped):
    m = quadruped
    r = walk(m)
    sim = tg.Sim(m, dt=1e-3)
    sim.q, sim.v = r.q[0], r.v[0]
    rng = np.random.default_rng(1)
    u = m.key("home").ctrl + 0.05 * rng.standard_normal((STEPS, m.nu))
    labels = r.labels
    for k in range(STEPS):
        sim.step(u=u[k])
        info, contacts = sim.info, r.contacts[k]
        assert info.ncontact == r.info.ncontact[k]
        assert info.residual == r.info.residual[k] == r.residual[k]
        assert np.array_equal(info.contacts.force, contacts.force)
        assert sim.jacobian().label == labels[k]
        assert np.array_equal(sim.jacobian().dv_dq, r.step_jacobian(k).dv_dq)
    assert len(r.contacts[3:5]) == 2


def test_wrenches_and_held_controls(quadruped):
    m, rng = quadruped, np.random.default_rng(2)
    key = m.key("home")
    rows = 8
    u = key.ctrl + 0.05 * rng.standard_normal((rows, m.nu))
    wrench, tau = rng.standard_normal((rows, m.nbody, 6)), 0.1 * rng.standard_normal((rows, m.nv))
    r = tg.rollout(m, key.q, np.zeros(m.nv), u, 1e-3, wrench=wrench, tau=tau, hold=5)
    sim = tg.Sim(m, dt=1e-3)
    sim.q = key.q
    for k in range(rows * 5):
        sim.step(u=u[k // 5], tau=tau[k // 5], wrench=wrench[k // 5])
    assert np.allclose(sim.q, r.q[-1], atol=1e-12)
    weight = rng.standard_normal(m.nv)
    g = r.vjp(gq=weight, at=-1)
    for name, direction in (("controls", u), ("wrench", wrench), ("tau", tau)):
        d = rng.standard_normal(direction.shape)
        along = weight @ r.jvp(**{name: d}).q[-1]
        assert along == pytest.approx((d * {"controls": g.u, "wrench": g.wrench, "tau": g.tau}[name]).sum(), rel=1e-9)
        assert along != 0
    assert len(tg.rollout(m, key.q, np.zeros(m.nv), u, 1e-3, hold=5, steps=37)) == 37
    with pytest.raises(ValueError, match="rows of controls"):
        tg.rollout(m, key.q, np.zeros(m.nv), u, 1e-3, hold=5, steps=30)


def test_jacobian_in_both_modes(quadruped):
    m = quadruped
    r = walk(m)
    tied = {"body.*.mass": 1.0}
    wrt = ["q0", "v0", "params:geom.*.friction[0]", "params:body.trunk.pos", tied, "dt"]
    j = r.jacobian(of="v", at=[10, -1], wrt=wrt)
    assert j.matrix.shape == (2, m.nv, j.columns["dt"].stop)
    g = [r.vjp(gv=row, at=-1) for row in np.eye(m.nv)]
    assert np.allclose(j.matrix[1][:, j.columns["v0"]], [x.v for x in g], rtol=0, atol=1e-10)
    masses = m.params.index("body.*.mass")
    by_mass = np.array([x.params[masses].sum() for x in g])
    assert np.allclose(j.matrix[1][:, j.columns[str(tied)]][:, 0], by_mass, rtol=0, atol=1e-10)
    assert np.any(by_mass != 0)
    by_u = r.jacobian(of="body:trunk", at=-1, wrt="u").matrix
    assert by_u.shape == (1, 3, STEPS * m.nu)
    d = np.random.default_rng(3).standard_normal((STEPS, m.nu))
    moved = m.body_jacobian("trunk", r.q[-1])[:3] @ r.jvp(controls=d).q[-1]
    assert np.allclose(by_u[0] @ d.ravel(), moved, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="wrt"):
        r.jacobian(wrt="mass")
    with pytest.raises(ValueError, match="of:"):
        r.jacobian(of="velocity")


def test_many_directions_at_once(quadruped):
    m = quadruped
    r = walk(m)
    all_at_once = r.jvp(v0=np.eye(m.nv))
    assert all_at_once.q.shape == (m.nv, STEPS + 1, m.nv)
    assert np.array_equal(all_at_once.q[3], r.jvp(v0=np.eye(m.nv)[3]).q)
    with pytest.raises(ValueError, match="differ"):
        r.jvp(v0=np.eye(m.nv), params=np.zeros((2, m.nparams)))


def test_parameters_stay(quadruped):
    m = quadruped.copy()
    sim = tg.Sim(m)
    sim.reset("home")
    sim.step()
    m.params["body.trunk.mass"] = m.params["body.trunk.mass"]  # nothing changes
    assert sim.jacobian().label is not None
    r = walk(m)
    before = r.sensitivity("body.trunk.mass").q
    m.params["body.trunk.mass"] *= 1.5
    assert np.array_equal(before, r.sensitivity("body.trunk.mass").q)


def test_linearise(quadruped):
    m, rng = quadruped, np.random.default_rng(4)
    key = m.key("home")
    sim = tg.Sim(m)
    sim.reset("home")
    for _ in range(300):
        sim.step(u=key.ctrl)
    one = m.linearise(sim.q, sim.v, key.ctrl, steps=3)
    dx, du, h = rng.standard_normal(2 * m.nv), rng.standard_normal(m.nu), 1e-7

    def end(scale):
        q = m.integrate(sim.q, scale * dx[: m.nv])
        r = tg.rollout(m, q, sim.v + scale * dx[m.nv :], (key.ctrl + scale * du)[None], hold=3, tape=False)
        return r.q[-1], r.v[-1]

    (q0, v0), (up, vu), (down, vd) = end(0), end(h), end(-h)
    assert np.allclose(one.c, np.r_[m.difference(sim.q, q0), v0 - sim.v], atol=1e-12)
    change = np.r_[m.difference(down, up), vu - vd] / (2 * h)
    expected = one.A @ dx + one.B @ du
    assert np.allclose(change, expected, atol=1e-5 * np.abs(expected).max())


def test_static_control(quadruped):
    m = quadruped
    sim = tg.Sim(m)
    sim.reset("home")
    for _ in range(2000):
        sim.step(u=m.key("home").ctrl)
    u = m.static_control(sim.q)
    r = tg.rollout(m, sim.q, np.zeros(m.nv), u[None], hold=500, tape=False)
    assert np.abs(r.v[-1]).max() < 1e-5
    q = sim.q.copy()
    q[2] += 1
    with pytest.raises(tg.Error, match="no controls"):
        m.static_control(q)


def test_wrench_matrices(quadruped):
    m = quadruped
    sim = tg.Sim(m)
    sim.reset("home")
    for _ in range(100):
        sim.step(u=m.key("home").ctrl)
    j = sim.jacobian(wrench=True)
    for row in (2, 7):
        assert np.allclose(j.dv_dwrench[row], sim.vjp(gv=np.eye(m.nv)[row]).wrench, atol=1e-13)
        assert np.allclose(j.dq_dwrench[row], sim.vjp(gq=np.eye(m.nv)[row]).wrench, atol=1e-13)
    assert np.abs(j.dv_dwrench).max() > 0
