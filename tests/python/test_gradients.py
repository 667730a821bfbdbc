"""Derivatives of steps and rollouts in Python: shapes, agreement, differences, refusals."""

import numpy as np
import pytest
import tangere as tg

BLOCK = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.4"/>
<body name="block" pos="0 0 0.1"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1" mass="1" friction="0.5"/>
</body></worldbody></mujoco>"""


@pytest.fixture
def sliding():
    sim = tg.Sim(tg.load_string(BLOCK))
    sim.v = [1, 0.3, 0, 0, 0, 4]
    sim.step()
    return sim


def test_shapes(sliding):
    J = sliding.jacobian(params=["geom.*.friction", "body.block.mass"])
    assert J.dq_dq.shape == J.dv_dv.shape == J.dv_dtau.shape == (6, 6)
    assert J.dq_du.shape == (6, 0)
    assert J.dact_dq.shape == (0, 6)
    assert J.dv_ddt.shape == (0,)
    assert sliding.jacobian(dt=True).dv_ddt.shape == (6,)
    assert J.dv_dparams.shape == (6, 7)
    assert J.dforce_dq.shape == (0, 3, 6)
    assert J.label.kind == "exact"
    assert J.margin == J.label.margin > 0


def test_mass_does_not_count(sliding):
    sliding.reset()
    sliding.v = [1, 0, 0, 0, 0, 0]
    sliding.step()
    J = sliding.jacobian(params=["body.block.mass", "geom.box.friction"])
    assert abs(J.dv_dparams[:, 0]).max() < 1e-13
    assert abs(J.dv_dparams[0, 1]) > 1e-3


def test_modes_agree(sliding):
    rng = np.random.default_rng(1)
    gq, gv, q, v, tau = rng.standard_normal((5, 6))
    params = rng.standard_normal(sliding.model.nparams)
    J = sliding.jacobian(params="*", dt=True)
    g = sliding.vjp(gq, gv)
    change = sliding.jvp(q, v, tau=tau, params=params, dt=1e-3)
    expected_v = J.dv_dq @ q + J.dv_dv @ v + J.dv_dtau @ tau + J.dv_dparams @ params + 1e-3 * J.dv_ddt
    expected_q = J.dq_dq @ q + J.dq_dv @ v + J.dq_dtau @ tau + J.dq_dparams @ params + 1e-3 * J.dq_ddt
    np.testing.assert_allclose(change.v, expected_v, rtol=0, atol=1e-10)
    np.testing.assert_allclose(change.q, expected_q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(g.v, gq @ J.dq_dv + gv @ J.dv_dv, rtol=0, atol=1e-10)
    np.testing.assert_allclose(g.params, gq @ J.dq_dparams + gv @ J.dv_dparams, rtol=0, atol=1e-10)
    assert g.wrench.shape == (2, 6)
    np.testing.assert_allclose(g.wrench[1, :3], g.tau[:3], rtol=0, atol=1e-12)


def test_contacts(sliding):
    rng = np.random.default_rng(2)
    contacts = len(sliding.info.contacts.force)
    assert contacts == 4
    J = sliding.jacobian(params="body.block.mass", contacts=True)
    assert J.dforce_dv.shape == J.dpoint_dq.shape == (4, 3, 6)
    assert J.dforce_dparams.shape == (4, 3, 1)
    # the block weighs on its patch: d(normal forces) / d mass = g
    assert J.dforce_dparams[:, 2, 0].sum() == pytest.approx(9.81, abs=1e-9)
    gforce, gpoint = rng.standard_normal((2, contacts, 3))
    g = sliding.vjp(gforce=gforce, gpoint=gpoint)
    expected = np.einsum("ci,cik->k", gforce, J.dforce_dq) + np.einsum("ci,cik->k", gpoint, J.dpoint_dq)
    np.testing.assert_allclose(g.q, expected, rtol=1e-10, atol=1e-8)
    with pytest.raises(ValueError, match="gforce"):
        sliding.vjp(gforce=np.zeros((3, 3)))


def differences(m, field, read, h=1e-6):
    """d read(model) / d field, the field last, by central differences."""
    value, columns = np.array(m.params[field]), []
    for unit in np.eye(value.size):
        ends = []
        for sign in (1, -1):
            moved = m.copy()
            moved.params[field] = value + sign * h * unit.reshape(value.shape)
            ends.append(read(moved))
        columns.append((ends[0] - ends[1]) / (2 * h))
    return np.stack(columns, -1)


PARAMETERS = ["geom.box.friction", "body.block.mass", "body.block.com", "geom.box.size", "geom.floor.pos", "gravity"]


@pytest.mark.parametrize("field", PARAMETERS)
@pytest.mark.parametrize("v", [[1, 0.3, 0, 0, 0, 4], [1e-3, 5e-4, 0, 0, 0, 2e-3]], ids=["slides", "sticks"])
def test_contact_forces_and_points_by_parameters(field, v):
    m = tg.load_string(BLOCK)
    sim = tg.Sim(m)
    sim.v = v
    sim.step()
    J = sim.jacobian(params=field, contacts=True)
    force, point = (
        differences(m, field, lambda moved, name=name: getattr(tg.step(moved, m.default_q(), v)[2].contacts, name))
        for name in ("force", "point")
    )
    size = max(1, abs(force).max())
    np.testing.assert_allclose(J.dforce_dparams, force, rtol=0, atol=1e-6 * size)
    np.testing.assert_allclose(J.dpoint_dparams, point, rtol=0, atol=1e-6)


def test_frames(sliding):
    F = sliding.frame_jacobian(body="block")
    J = sliding.jacobian()
    assert F.label == J.label
    np.testing.assert_allclose(F.dpose_dv[:3], J.dq_dv[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(F.dtwist_dtau[:3], J.dv_dtau[:3], rtol=0, atol=1e-12)
    state, h = sliding.save(), 1e-6
    sliding.restore(state)
    base = state.q.copy(), state.v.copy()

    def twist(v):
        sliding.q, sliding.v = base[0], v
        sliding.step()
        return sliding.model.body_velocity("block", sliding.q, sliding.v)

    moved = np.array([twist(base[1] + h * e) - twist(base[1] - h * e) for e in np.eye(6)]).T / (2 * h)
    sliding.q, sliding.v = base
    sliding.step()
    np.testing.assert_allclose(sliding.frame_jacobian(body="block").dtwist_dv, moved, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="body and site"):
        sliding.frame_jacobian()


TABLE = """<mujoco><option timestep="0.002"/><worldbody>
<body name="room" pos="0 0 0.2"><body name="table" pos="0 0 0.3" euler="2 1 0"><geom type="box" size="1 1 0.1"/></body>
</body>
<body pos="0.1 0 0.6988"><freejoint/><geom size="0.1" mass="1"/></body>
<body name="arm" pos="0.5 0 0.8"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/></body>
</worldbody><equality><connect body1="arm" body2="table" anchor="0.2 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("field", ["body.table.pos", "body.table.quat", "body.room.pos", "body.room.quat"])
def test_bodies_that_cannot_move(field):
    m, v = tg.load_string(TABLE), [0.3, 0.2, -0.4, 0.1, 0, 0, 0.2]
    sim = tg.Sim(m)
    sim.v = v
    sim.step()
    J = sim.jacobian(params=field).dv_dparams
    F = differences(m, field, lambda moved: tg.step(moved, m.default_q(), v)[1])
    assert abs(J[:6]).max() > 1
    assert abs(J[6:]).max() > 1
    np.testing.assert_allclose(J, F, rtol=0, atol=1e-6 * abs(F).max())


def wall(rows, columns, rng):
    """Boxes on each other like bricks, no two the same."""
    bodies = ""
    for i in range(rows):
        for j in range(columns):
            x, y = 0.21 * j + 0.1 * (i % 2) + rng.uniform(-0.004, 0.004), rng.uniform(-0.01, 0.01)
            bodies += f'<body name="b{i}{j}" pos="{x} {y} {0.1 + 0.2 * i}"><freejoint/>'
            bodies += f'<geom type="box" size="0.1 0.1 0.1" friction="2" mass="{rng.uniform(0.8, 1.2)}"/></body>'
    floor = '<geom name="floor" type="plane" size="5 5 1"/>'
    return f'<mujoco><option timestep="0.001"/><worldbody>{floor}{bodies}</worldbody></mujoco>'


def test_island_without_matrix():
    """A wall of 600 rows whose uppermost bricks are tipped over, against differences."""
    rng = np.random.default_rng(4)
    m = tg.load_string(wall(6, 5, rng))
    sim = tg.Sim(m, tolerance=1e-12)
    for _ in range(20):
        sim.step()
    before, v, values = sim.save(), sim.v.copy(), np.array(m.params)
    tau, chosen = np.zeros(m.nv), m.params.index(["body.b*.mass", "gravity"])
    tau[6 * 25 + 4 :: 6] = 1.5

    def next_v(dv=0, dtau=0, dparams=0):
        sim.params = values + dparams
        sim.restore(before)
        sim.v = v + dv
        sim.step(tau=tau + dtau)
        assert sim.info.status == 0
        return sim.v.copy()

    next_v()
    assert sim.info.contacts.point.shape[0] > 150
    gv = rng.standard_normal(m.nv)
    g = sim.vjp(gv=gv)
    assert g.label.kind == "exact"
    for name, gradient, h in (("dv", g.v, 1e-7), ("dtau", g.tau, 1e-4), ("dparams", g.params, 1e-5)):
        for _ in range(3):
            d = rng.standard_normal(len(gradient))
            if name == "dparams":
                d[np.setdiff1d(np.arange(len(d)), chosen)] = 0
            F = gv @ (next_v(**{name: h * d}) - next_v(**{name: -h * d})) / (2 * h)
            assert gradient @ d == pytest.approx(F, rel=1e-5)
            assert abs(F) > 1e-4


def test_needs_a_step(sliding):
    sliding.reset()
    for call in (sliding.jacobian, sliding.vjp, sliding.jvp):
        with pytest.raises(tg.Error, match="no step"):
            call()
    sliding.step()
    with pytest.raises(ValueError, match="gq"):
        sliding.vjp(np.zeros(7))


def test_stopping_distance():
    m = tg.load_string(BLOCK)
    r = tg.rollout(m, m.default_q(), [1, 0, 0, 0, 0, 0], 210, 1e-3)
    gq = np.zeros((211, 6))
    gq[-1, 0] = 1
    g = r.vjp(gq)
    assert r.q.shape == (211, 7)
    assert r.q[-1, 0] == pytest.approx(0.10143707, abs=1e-9)
    assert g.params[m.params.index("geom.box.friction")[0]] == pytest.approx(-0.20312586, abs=1e-9)
    assert g.v[0] == pytest.approx(0.203, abs=1e-9)
    assert g.tau.shape == (210, 6)
    assert g.u.shape == (210, 0)


def test_rollout_with_controls():
    m = tg.load_string("""<mujoco><option timestep="0.01"/><worldbody><body><joint name="j" damping="0.1"/>
        <geom size="0.1" pos="0 0 -0.5"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>""")
    rng = np.random.default_rng(2)
    u, weights = rng.standard_normal((30, 1)), rng.standard_normal((31, 1))

    def cost(controls):
        return (weights * tg.rollout(m, [0.3], [0.0], controls).q).sum()

    g = tg.rollout(m, [0.3], [0.0], u).vjp(weights)
    for i in (0, 7, 28):
        up, down = u.copy(), u.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        assert g.u[i, 0] == pytest.approx((cost(up) - cost(down)) / 2e-5, abs=1e-8)


def test_rollout_keeps_its_parameters():
    m = tg.load_string(BLOCK)
    r = tg.rollout(m, m.default_q(), [1, 0, 0, 0, 0, 0], 3)
    before = r.vjp(gq=np.ones(6), at=-1)
    m.params["body.block.mass"] = 2.0
    after = r.vjp(gq=np.ones(6), at=-1)
    assert np.array_equal(before.params, after.params)
    assert np.any(before.params != 0)
    with pytest.raises(ValueError, match="controls"):
        tg.rollout(m, m.default_q(), np.zeros(6), np.zeros((3, 2)))


BALL = """<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody>
        <geom type="plane" size="5 5 0.1"/>
        <body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/><geom name="ball" size="0.1" mass="1"/></body></worldbody>
        <custom><numeric name="tangere:geom.ball.restitution" data="0.5"/></custom></mujoco>"""


def test_rollout_forward_mode():
    m = tg.load_string(BLOCK)
    v0 = [1, 0.2, 0, 0, 0, 0.5]
    rng = np.random.default_rng(3)
    for checkpoints in (False, True):
        r = tg.rollout(m, m.default_q(), v0, 40, 1e-3, checkpoints=checkpoints)
        gq, gv = rng.standard_normal(r.v.shape), rng.standard_normal(r.v.shape)
        g = r.vjp(gq, gv)
        dv, tau = rng.standard_normal(6), rng.standard_normal((40, 6))
        dp = rng.standard_normal(m.nparams)
        change = r.jvp(v0=dv, tau=tau, dt=0.01, params=dp)
        forward = (gq * change.q).sum() + (gv * change.v).sum()
        assert forward == pytest.approx(g.v @ dv + (g.tau * tau).sum() + 0.01 * g.dt + g.params @ dp, rel=1e-9)
        s = r.sensitivity(["body.block.mass", "gravity"])
        assert s.v.shape == (4, 41, 6)
        by_mass = (gq * s.q[0]).sum() + (gv * s.v[0]).sum()
        assert by_mass == pytest.approx(g.params[m.params.index("body.block.mass")[0]], abs=1e-9)
        assert s.v[3, -1, 0] == pytest.approx(r.jvp(params=np.eye(m.nparams)[m.params.index("gravity")[2]]).v[-1, 0])
        assert s.label.kind == "exact"


def test_time_of_impact():
    m = tg.load_string(BALL)
    gq = np.zeros((1001, 1))
    gq[-1] = 1
    for backward, slope in (("exact", 1.0), ("toi", -0.5)):
        r = tg.rollout(m, [1.001], [-2.0], 1000, backward=backward, checkpoints=True)
        assert r.vjp(gq).q[0] == pytest.approx(slope, abs=1e-9)
        assert r.jvp(q0=[1.0]).q[-1, 0] == pytest.approx(slope, abs=1e-9)
    with pytest.raises(ValueError, match="backward"):
        tg.rollout(m, [1.0], [0.0], 1, backward="smooth")


def test_smoothed():
    m = tg.load_string(BALL)
    sim = tg.Sim(m, backward="smoothed", smooth_speed=0.02)
    sim.q, sim.v = [0.002], [-2 + 0.02]
    sim.step()
    g = sim.vjp(gv=[1.0])
    assert g.v[0] == pytest.approx((1 + 5**-0.5) / 2)  # an open contact acts already
    assert g.label.kind == "regularised"
    assert sim.jacobian().dv_dv[0, 0] == pytest.approx(g.v[0])
