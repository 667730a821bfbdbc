"""Inverse problems: goals that are reached, poses in contact, torques that hold them, pushes that show parameters."""

import numpy as np
import pytest
import tangere as tg
from support import ARM
from tangere.inverse import _Inputs, _Problem

CUBE = """<mujoco><option timestep="0.002"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
<geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.5"/>
<site name="top" pos="0 0 0.05"/></body></worldbody></mujoco>"""
PLANAR = np.array([1, 1, 0, 0, 0, 1]) * 1e9


@pytest.fixture
def m():
    return tg.load_string(CUBE)


def target():
    return {"q": np.r_[0.4, 0.05, 0.05, np.cos(0.1), 0, 0, np.sin(0.1)], "dofs": [0, 1, 5]}


@pytest.mark.parametrize("unknown", ["v0", "impulse"])
@pytest.mark.parametrize("derivatives", ["exact", "differences"])
def test_a_cube_goes_where_it_should(m, unknown, derivatives):
    s = tg.solve(
        m,
        target(),
        unknown,
        steps=250,
        guess={unknown: [1.5, 0, 0, 0, 0, 0]},
        derivatives=derivatives,
        bounds={unknown: (-PLANAR, PLANAR)},
        tolerance=1e-8,
    )
    assert np.abs(s.residual).max() < 1e-6
    assert s.iterations <= 8
    final = tg.rollout(
        m,
        m.default_q(),
        s["v0"] if unknown == "v0" else np.zeros(6),
        250,
        tau=None if unknown == "v0" else np.vstack([s["impulse"] / 0.002, np.zeros((249, 6))]),
    )
    assert abs(final.q[-1, 0] - 0.4) < 1e-6


@pytest.mark.parametrize("unknown", ["q0", "v0", "impulse", "u", "tau", "wrench:b", "params:joint.*.damping", "all"])
def test_forward_and_reverse_sweeps_agree(unknown):
    """Jacobians by directions and by rows, gradients by one sweep, and differences."""
    arm = tg.load_string(ARM)
    unknown = ["q0", "v0", "params:body.b.pos", "wrench:a"] if unknown == "all" else unknown
    rng = np.random.default_rng(0)
    given = {"q0": np.array([0.5, -0.3]), "v0": np.array([0.2, 0.1]), "controls": rng.normal(size=(20, 1))}
    inputs = _Inputs(arm, unknown, given, 20, 0.005)
    x = inputs.start + 0.01 * rng.normal(size=len(inputs.start))
    goal = {"site:tip": [0.1, 0, -0.8], "q": [0.4, -0.2], "v": [0, 0.1]}
    problem = _Problem(inputs, goal, "exact", {}, -1)
    r, miss, by_q, by_v, direct = problem._linear(x)
    change = r.jvp(**inputs.directions(x))
    forward = by_q @ change.q[:, -1].T + by_v @ change.v[:, -1].T + direct
    reverse = np.stack([inputs.gradient(x, r, a, b, -1) for a, b in zip(by_q, by_v, strict=True)]) + direct
    size = np.abs(forward).max()
    assert size > 1e-4
    assert np.abs(forward - reverse).max() <= 1e-10 * size
    assert np.abs(problem.jacobian(x)[1] - forward).max() <= 1e-10 * size
    assert np.abs(problem.gradient(x)[1] - forward.T @ miss).max() <= 1e-10 * np.abs(forward.T @ miss).max()
    assert np.abs(_Problem(inputs, goal, "differences", {}, -1).jacobian(x)[1] - forward).max() < 1e-6 * size


def test_lengths_that_reach_a_point():
    arm = tg.load_string(ARM)
    s = tg.solve(arm, {"site:tip": [0.1, 0, -0.7]}, "params:body.b.pos", q0=[0.3, -0.2], steps=10)
    assert np.abs(s.residual).max() < 1e-9
    assert np.array_equal(arm.params["body.b.pos"], [0, 0, -0.5])


def test_further_starts(m):
    """All six numbers free: the cube may hop, and a search from 0.5 m/s stalls."""
    goal = {"q": np.r_[0.5, 0, 0.05, np.cos(np.pi / 36), 0, 0, np.sin(np.pi / 36)]}

    def go(starts):
        guess = {"v0": [0.5, 0, 0, 0, 0, 0]}
        return tg.solve(m, goal, "v0", steps=250, guess=guess, tolerance=1e-7, iterations=30, starts=starts)

    one, many = go(1), go(12)
    assert one.searches == 1
    assert np.linalg.norm(one.residual) > 1e-3
    assert np.linalg.norm(many.residual) < 1e-6
    assert 1 < many.searches <= 12
    assert np.array_equal(many["v0"], go(12)["v0"])
    with pytest.raises(ValueError, match="starts"):
        go(0)


def test_from_rest_only_smoothed_derivatives_find_the_way(m):
    def go(way):
        return tg.solve(m, target(), "v0", steps=250, derivatives=way, iterations=40, bounds={"v0": (-PLANAR, PLANAR)})

    assert np.linalg.norm(go("exact").residual) > 0.3
    assert np.linalg.norm(go("smoothed").residual) < 1e-2


def test_sites_wrenches_parameters_and_refusals(m):
    s = tg.solve(
        m,
        {"site:top": [0.5, 0, 0.1]},
        "wrench:cube",
        steps=100,
        v0=[1, 0, 0, 0, 0, 0],
        bounds={"wrench:cube": (-np.array([50, 50, 0, 0, 0, 0]), np.array([50, 50, 0, 0, 0, 0]))},
    )
    assert np.abs(s.residual).max() < 1e-8
    f = tg.solve(
        m,
        {"q": np.r_[0.3, 0, 0.05, 1, 0, 0, 0], "dofs": [0]},
        "params:geom.cube.friction[0]",
        steps=250,
        v0=[2, 0, 0, 0, 0, 0],
    )
    assert abs(f.residual[0]) < 1e-8
    low = tg.solve(
        m,
        {"q": np.r_[0.3, 0, 0.05, 1, 0, 0, 0], "dofs": [0]},
        "params:geom.cube.friction[0]",
        steps=250,
        v0=[2, 0, 0, 0, 0, 0],
        method="lbfgs",
        iterations=60,
    )
    assert abs(low.residual[0]) < 1e-4
    with pytest.raises(ValueError, match="unknown: 'speed'"):
        tg.solve(m, target(), "speed", steps=5)
    with pytest.raises(ValueError, match="target: 'place'"):
        tg.solve(m, {"place": 1}, "v0", steps=5)
    with pytest.raises(ValueError, match="steps"):
        tg.solve(m, target(), "v0")


def test_quadruped_stands_and_is_held():
    m = tg.load("models/quadruped.xml")
    feet = [i for i in range(m.ngeom) if m.names("geom")[i] and "foot" in m.names("geom")[i]]
    floor = next(i for i in range(m.ngeom) if m.geom_body[i] == 0)
    assert len(feet) == 4
    p = tg.pose(m, m.key("home").q, [(foot, floor) for foot in feet])
    assert max(abs(g) for g in p.gaps.values()) < 1e-10
    assert p.com < 1e-9
    for foot in feet:
        assert abs(m.gap(foot, floor, p.q).value) < 1e-10
    h = tg.inverse_contact_dynamics(m, p.q, tolerance=1e-8)
    assert h.speed < 1e-8
    assert h.iterations <= 5
    assert np.all(h.tau[:6] == 0)
    _, v, _ = tg.step(m, p.q, np.zeros(m.nv), tau=h.tau)
    assert np.abs(v).max() < 1e-8
    other = tg.inverse_contact_dynamics(m, p.q, derivatives="differences", tolerance=1e-6)
    assert other.speed < 1e-6


def test_poses_and_torques_that_cannot_be():
    m = tg.load("models/quadruped.xml")
    feet = [i for i in range(m.ngeom) if m.names("geom")[i] and "foot" in m.names("geom")[i]]
    floor = next(i for i in range(m.ngeom) if m.geom_body[i] == 0)
    with pytest.raises(tg.Error, match="no such pose"):
        tg.pose(m, m.key("home").q, [(foot, floor) for foot in feet], fixed=range(m.nv), com=(0.5, 0))
    q = m.key("home").q.copy()
    q[2] += 1  # in the air
    with pytest.raises(tg.Error, match=r"no torques hold the pose: .* m/s is left"):
        tg.inverse_contact_dynamics(m, q)


def test_a_push_that_shows_mass_and_friction(m):
    best = tg.excite(
        m,
        ["geom.cube.friction[0]", "body.cube.mass"],
        push="cube",
        limit=[8, 0, 0, 0, 0, 0],
        pieces=3,
        steps=100,
        v0=[1.5, 0, 0, 0, 0, 0],
        every=5,
        noise=1e-3,
        rounds=4,
        candidates=8,
        allowed=lambda r: r.v[:, 0].min() > 0.05,
    )
    assert np.isfinite(best.errors).all()
    assert np.abs(best.wrench[:, 1, 0]).max() <= 8
    again = tg.excite(
        m,
        ["geom.cube.friction[0]", "body.cube.mass"],
        push="cube",
        limit=[8, 0, 0, 0, 0, 0],
        pieces=3,
        steps=100,
        v0=[1.5, 0, 0, 0, 0, 0],
        every=5,
        noise=1e-3,
        rounds=4,
        candidates=8,
        allowed=lambda r: r.v[:, 0].min() > 0.05,
    )
    assert np.array_equal(best.numbers, again.numbers)
    with pytest.raises(tg.Error, match="observable"):
        tg.excite(m, ["geom.cube.restitution"], push="cube", limit=[8, 0, 0, 0, 0, 0], steps=20, rounds=1, candidates=2)
