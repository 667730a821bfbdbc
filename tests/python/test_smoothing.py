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


RAILS = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
<body><joint type="slide" axis="1 0 0"/><geom size="0.05" mass="1" friction="{mu}"/></body>
<body pos="0 0.15 0"><joint type="slide" axis="1 {tilt} 0"/><geom size="0.05" mass="1" friction="0.1"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_what_can_hardly_meet_hardly_acts(mu):
    """Two balls on parallel rails, 5 cm apart: along their normal nothing moves but by the tilt of a rail. The impulse
    that would move it by smooth_speed was 1 / tilt^2, its friction held one ball by the other, and gaps acted by
    0.4 / tilt."""
    changes = []
    for tilt in (1e-9, 1e-6, 1e-3, 1e-2):
        sim = tg.Sim(tg.load_string(RAILS.format(mu=mu, tilt=tilt)), backward="smoothed", smooth_reach=0.1)
        sim.v = [0.3, -0.2]
        sim.step()
        j = sim.jacobian()
        changes.append(j.dv_dv)
        assert np.abs(j.dv_dq).max() < 1 + 100 * tilt
        # of the relative velocity along the rails no larger share is transmitted than along the normal, (3 / 4)^2
        assert 0 < j.dv_dv[0, 1] < 0.5 * 0.75**2
    np.testing.assert_allclose(changes[1:], np.broadcast_to(changes[0], (3, 2, 2)), rtol=0, atol=1e-3)


def test_chains_grow_by_a_bounded_factor_where_legs_pass_each_other():
    """The planar walker's legs are within reach across the plane in which they move."""
    m, ratios = tg.load(ROOT / "models" / "planar_walker.xml"), []
    for seed in range(720, 728):
        v = 0.5 * np.random.default_rng(seed).normal(size=m.nv)
        exact = max(1.0, growth(m, v, 80, 0, dt=5e-3))
        ratios += [growth(m, v, 80, 0, dt=5e-3, backward="smoothed", smooth_reach=far) / exact for far in (0.05, 0.1)]
    assert max(ratios) < 1.1, sorted(ratios)[-5:]


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


def heap(rng, steps=(1e-3, 2e-3, 5e-3, 1e-2)):
    """One to four bodies of random shapes on a plane, friction 0 to 3 (the larger of two counts)."""
    body = (
        '<body pos="{}" euler="{}"><freejoint/><geom type="{type}" size="{}" friction="{mu:.3f}" mass="{kg}"/></body>'
    )
    bodies = []
    for i in range(rng.integers(1, 5)):
        kind, size = rng.choice(["box", "box", "capsule", "cylinder", "ellipsoid"]), rng.uniform(0.03, 0.12, 3)
        size = size[:2] if kind in ("capsule", "cylinder") else size
        turn, at = rng.uniform(-180, 180, 3), rng.uniform(-0.12, 0.12, 2)
        numbers = (" ".join(f"{x:.6g}" for x in given) for given in ([*at, 0.15 + 0.17 * i], turn, size))
        bodies.append(body.format(*numbers, type=kind, mu=rng.uniform(0, 3), kg=rng.uniform(0.2, 5)))
    return (
        f'<mujoco><option timestep="{rng.choice(steps)}"/><worldbody>'
        f'<geom type="plane" size="5 5 0.1" friction="{rng.uniform(0, 3):.3f}"/>{"".join(bodies)}</worldbody></mujoco>'
    )


def thrown(rng, m):
    return np.concatenate([[*rng.normal(size=2), -1, *4 * rng.normal(size=3)] for _ in range(m.nv // 6)])


def test_chains_of_heaps_grow_by_a_bounded_factor():
    """docs/gradients.md: per step at most 10 % more than the exact chain, or than 1."""
    ratios = []
    for seed in range(460, 475):
        rng = np.random.default_rng(seed)
        m = tg.load_string(heap(rng, (2e-3, 5e-3)))
        v, steps = thrown(rng, m), round(0.3 / m.timestep)
        options = {
            "smooth_speed": rng.choice([0.01, 0.05, 0.2]),
            "smooth_width": rng.choice([0, 1e-4, 1e-3, 1e-2]),
            "smooth_reach": rng.choice([0, 0.1]),
        }
        ratios.append(growth(m, v, steps, backward="smoothed", **options) / max(1.0, growth(m, v, steps)))
    assert max(ratios) < 1.1, sorted(ratios)[-5:]


def gain_and_bound(m, sim, q):
    """The largest |dv+| / |dv| of the last step, by kinetic energy, and sqrt(1 + sum of mu^2 G_tt / G_NN)."""
    root, total, contacts = np.linalg.cholesky(m.mass_matrix(q)), 0.0, sim.info.contacts
    mu = m.params["geom.*.friction"].reshape(m.ngeom, -1)[:, 0]
    for one, two, point, normal in zip(contacts.geom1, contacts.geom2, contacts.point, contacts.normal, strict=True):
        turn = [m.body_jacobian(int(m.geom_body[g]), q, frame="world") for g in (one, two)]
        twist = turn[1] - turn[0]
        half = np.linalg.solve(root, (twist[:3] - np.cross(point, twist[3:], axisb=0, axisc=0)).T)
        G, across = half.T @ half, np.linalg.svd(normal[None])[2][1:]
        total += max(mu[one], mu[two]) ** 2 * np.linalg.eigvalsh(across @ G @ across.T)[-1] / (normal @ G @ normal)
    gain = np.linalg.norm(root.T @ (sim.jacobian().dv_dtau / m.timestep) @ root, 2)
    return gain, np.sqrt(1 + total)


@pytest.mark.parametrize("first", [400, 420, 440])
def test_no_step_has_a_larger_gain_than_its_sliding_contacts(first):
    """docs/gradients.md: friction that bears what presses it does not make a step explode, at any mu, speed, width."""
    worst, looked = 0.0, 0
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        m = tg.load_string(heap(rng))
        options = {
            "smooth_speed": rng.choice([0.002, 0.01, 0.05, 0.2]),
            "smooth_width": rng.choice([0, 1e-4, 1e-3, 1e-2]),
            "smooth_reach": rng.choice([0, 0.1]),
        }
        sim = tg.Sim(m, backward="smoothed", **options)
        sim.v = thrown(rng, m)
        for step in range(round(0.6 / m.timestep)):
            q = sim.q
            sim.step()
            if step % max(1, round(0.005 / m.timestep)) == 0 and len(sim.info.contacts) > 0:
                gain, bound = gain_and_bound(m, sim, q)
                worst, looked = max(worst, gain / bound), looked + 1
    assert looked > 300
    assert worst < 1.001


def test_widths_that_grow_without_bound_are_refused():
    m = tg.load_string(BOX.format(dt=0.001, euler="0 0 0"))
    with pytest.raises(tg.Error, match="smooth_width = 1e-06 must be 0 or in"):
        tg.Sim(m, backward="smoothed", smooth_width=1e-6)


def test_a_reach_needs_smoothed_derivatives():
    """It would have no effect: an exact derivative of 0 is not what it asks for."""
    m = tg.load_string(BOX.format(dt=0.001, euler="0 0 0"))
    with pytest.raises(tg.Error, match=r"smooth_reach = .* belongs to backward = smoothed"):
        tg.rollout(m, m.default_q(), np.zeros(m.nv), 3, smooth_reach=0.1)
