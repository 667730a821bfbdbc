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


CART = """<mujoco><option timestep="0.004"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.4"/>
<body name="cart" pos="0 0 0.12"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="2" friction="0.5"/>
    <site name="tip" pos="0.2 0 0.05"/>
    <body name="arm" pos="0 0 0.06"><joint name="j" axis="0 1 0" damping="0.1" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0.2" size="0.02" mass="0.3"/></body></body>
<body name="ball" pos="0.45 0.02 0.08"><freejoint/><geom name="ball" size="0.08" mass="0.4" friction="0.6"/></body>
</worldbody><actuator><general joint="j" dyntype="filter" dynprm="0.05" gainprm="3"/><motor joint="j"/></actuator>
<custom><numeric name="tangere:geom.ball.restitution" data="0.6"/></custom></mujoco>"""
TIED = {"body.*.mass": 1.0, "geom.ball.restitution": -0.5}
INPUTS = ["q0", "v0", "act0", "u", "tau", "wrench", "dt", "params:*", TIED]


@pytest.mark.parametrize("pushed", [True, False])
@pytest.mark.parametrize("options", [{}, {"impact": "within"}, {"backward": "smoothed", "smooth_reach": 0.1}], ids=str)
def test_all_inputs_in_both_modes(options, pushed):
    """Every kind of input by itself, which takes either mode, and all together; also wrenches where there were none."""
    m, rng = tg.load_string(CART), np.random.default_rng(0)
    rows, at = 4, [9, -1]
    given = {"wrench": 0.5 * rng.normal(size=(rows, m.nbody, 6)), "tau": 0.1 * rng.normal(size=(rows, m.nv))}
    v0 = np.eye(m.nv)[0] * 4
    u = rng.normal(size=(rows, m.nu))
    r = tg.rollout(m, m.default_q(), v0, u, hold=5, **(given if pushed else {}), **options)
    for of in ("q", "v", "act", "site:tip", "body:ball"):
        all_of_them = r.jacobian(of=of, at=at, wrt=INPUTS)
        outputs = [r._outputs(of, range(len(r.v))[i]) for i in at]
        end = 0
        for name in INPUTS:
            part = [(str(name), *r._inputs(name))]
            forward, backward = r._by_columns(part, part[0][1], outputs)[0], r._by_rows(part, outputs)[0]
            whole = all_of_them.matrix[:, :, all_of_them.columns[str(name)]]
            size = max(1.0, np.abs(forward).max())
            assert np.abs(forward - backward).max() <= 1e-10 * size, (of, name)
            assert np.abs(forward - whole).max() <= 1e-10 * size, (of, name)
            assert np.abs(forward).max() > 0 or of == "act" or name == "act0"
            end += part[0][1]
        assert all_of_them.matrix.shape[2] == end


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, r: r.jacobian(of=3), "of: 3: expected 'q'"),
        (lambda m, r: r.jacobian(at=len(r) + 1), "at = 41: there are 41, 0 to 40"),
        (lambda m, r: r.jacobian(at=1.5), "at: expected a whole number, got 1.5"),
        (lambda m, r: r.jacobian(at=[]), "at: expected the index of a state"),
        (lambda m, r: r.jacobian(wrt=["v0", "v0"]), "wrt: v0 is there twice"),
        (lambda m, r: r.jacobian(wrt="body.trunk.mass"), "did you mean 'params:body.trunk.mass'"),
        (lambda m, r: r.jacobian(wrt=None), "wrt: None: expected one of q0"),
        (lambda m, r: r.sensitivity([1.5]), "params: expected names, .*got 1.5"),
        (lambda m, r: r.sensitivity(None), "params: expected names, .*got None"),
        (lambda m, r: r.sensitivity([{"gravity[2]": "x"}]), "factor of 'gravity.2.': expected a number"),
        (lambda m, r: r.sensitivity([{"gravity[2]": np.nan}]), r"in.params\[\d+\] = nan: must be finite"),
        (lambda m, r: r.jvp(controls=np.full((STEPS, m.nu), np.nan)), r"in.u\[0\] = nan: must be finite"),
        (lambda m, r: r.jvp(v0=np.full(m.nv, np.inf)), r"in.v\[0\] = inf: must be finite"),
        (lambda m, r: r.jvp(u=np.zeros((STEPS, m.nu))), "no argument 'u'; use controls"),
        (lambda m, r: r.vjp(gq=np.ones(m.nv), at=99), "at = 99: there are 41"),
        (lambda m, r: r.step_jacobian(STEPS), "step = 40: there are 40, 0 to 39"),
        (lambda m, r: r.contacts[STEPS], "step = 40: there are 40"),
        (lambda m, r: tg.rollout(m, r.q[0], r.v[0], 8, hold=2.5), "hold: expected a whole number, got 2.5"),
        (lambda m, r: tg.rollout(m, r.q[0], r.v[0], r.controls, steps="40"), "steps: expected a whole number"),
        (lambda m, r: tg.rollout(m, r.q[0], r.v[0], 8, tape=None), "tape: expected True or False, got None"),
        (lambda m, r: tg.rollout(m, r.q[0], r.v[0], 8, wrench="x"), "wrench: expected real numbers"),
        (lambda m, r: m.linearise(r.q[0], steps=1.5), "steps: expected a whole number, got 1.5"),
        (lambda m, r: m.linearise(r.q[0], hold=3), "linearise: no option 'hold'"),
        (lambda m, r: m.static_control(r.q[0], tolerance="x"), "tolerance: expected a number, got 'x'"),
    ],
)
def test_mistakes(quadruped, call, message):
    r = walk(quadruped)
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call(quadruped, r)


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
    assert one.label == tg.rollout(m, sim.q, sim.v, key.ctrl[None], hold=3).vjp(gv=np.ones(m.nv), at=-1).label
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
