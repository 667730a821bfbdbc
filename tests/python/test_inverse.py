"""Inverse problems: goals that are reached, poses in contact, torques that hold them, pushes that show parameters."""

import numpy as np
import pytest
import tangere as tg

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
