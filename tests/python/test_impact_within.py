"""Impacts within the step: the analytic bounce and its derivatives, at any dt."""

import numpy as np
import pytest
import tangere as tg

GRAVITY = 9.81


def ball(gravity, dt, e):
    return tg.load_string(f"""<mujoco><option timestep="{dt}" gravity="0 0 {-gravity}"/><worldbody>
        <geom type="plane" size="5 5 0.1"/>
        <body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/><geom name="ball" size="0.1" mass="1"/></body></worldbody>
        <custom><numeric name="tangere:geom.ball.restitution" data="{e}"/></custom></mujoco>""")


def bounce(x, v, e, gravity, dt, end):
    """Height and speed at the end, as a step's points have them, of the parabola on which they lie; bounces."""
    t, v, bounces = 0, v - gravity * dt / 2, 0
    while True:
        fall = (v + (v * v + 2 * gravity * x) ** 0.5) / gravity if gravity > 0 else (-x / v if v.real < 0 else np.inf)
        if (t + fall).real > end or bounces > 9:
            rest = end - t
            return x + v * rest - gravity * rest**2 / 2, v - gravity * rest + gravity * dt / 2, bounces
        t, v, x, bounces = t + fall, -(v - gravity * fall) * e, 0 * x, bounces + 1


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("e", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("gravity", [0.0, GRAVITY])
def test_bounces_are_analytic(gravity, e, dt):
    m, seen = ball(gravity, dt, e), set()
    at = m.params.index("geom.ball.restitution")[0]
    for x0, v0, end in [(0.5003, -2.0, 0.3), (3.0007, -1.0, 0.9), (3.0007, -1.0, 1.5), (3.0007, -1.0, 3.1)]:
        steps = round(end / dt)
        x, v, bounces = bounce(complex(x0), complex(v0), complex(e), gravity, dt, steps * dt)
        if bounces > 5 or bounces * (1 - e) > 1.5:  # what is left is about to rest
            continue
        seen.add(bounces)
        r = tg.rollout(m, [x0], [v0], steps, impact="within")
        assert r.q[-1, 0] == pytest.approx(x.real, abs=1e-9)
        assert r.v[-1, 0] == pytest.approx(v.real, abs=1e-9)
        gq, gv = r.vjp(gq=[1.0], at=-1), r.vjp(gv=[1.0], at=-1)
        mine = [(gq.q[0], gv.q[0]), (gq.v[0], gv.v[0]), (gq.params[at], gv.params[at])]
        for k, derivative in enumerate(mine):
            h = 1e-30j * np.eye(3)[k]
            moved = bounce(x0 + h[0], v0 + h[1], e + h[2], gravity, dt, steps * dt)
            assert derivative == pytest.approx((moved[0].imag / 1e-30, moved[1].imag / 1e-30), abs=1e-9)
        assert gq.label.kind == "exact"
        j = r.jvp(v0=[1.0])
        assert j.q[-1, 0] == pytest.approx(gq.v[0], rel=1e-10)
    assert max(seen) >= (1 if gravity == 0 else 1 if e < 0.5 else 2)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_known_derivative_without_gravity(e):
    r = tg.rollout(ball(0.0, 1e-2, e), [0.5003], [-2.0], 60, impact="within")
    assert r.vjp(gq=[1.0], at=-1).q[0] == pytest.approx(-e, abs=1e-12)


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 1e-2])
def test_energy_is_kept(dt):
    r = tg.rollout(ball(GRAVITY, dt, 1.0), [1.0], [0.0], round(91 / dt), impact="within", tape=False)
    assert (np.diff(np.sign(r.v[:, 0])) > 0).sum() >= 100
    top = r.q[-1, 0] + (r.v[-1, 0] - GRAVITY * dt / 2) ** 2 / (2 * GRAVITY)
    assert top == pytest.approx(1 + GRAVITY * dt**2 / 8, abs=1e-9)


def test_continuous_in_restitution():
    """Half a millimetre above the floor at 1 m/s: today's law jumps at e = 0, this one does not."""
    for e in (0.0, 1e-6):
        r = tg.rollout(ball(0.0, 1e-3, e), [0.0005], [-1.0], 1, impact="within")
        assert r.v[-1, 0] == pytest.approx(e, abs=1e-12)
        assert r.q[-1, 0] == pytest.approx(0.5e-3 * e, abs=1e-15)
    r = tg.rollout(ball(0.0, 1e-3, 0.0), [0.0005], [-1.0], 1, impact="within")
    both = {"geom.*.restitution": 1.0}  # of two equal coefficients either may count
    assert r.sensitivity([both]).v[0, -1, 0] == pytest.approx(1.0)


def test_refusals():
    m = ball(0.0, 1e-3, 0.5)
    with pytest.raises(ValueError, match="impact"):
        tg.Sim(m, impact="later")
    with pytest.raises(tg.Error, match="Newton"):
        tg.Sim(m, impact="within", restitution="poisson").step()
