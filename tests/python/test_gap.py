"""Gaps as the step sees them: distance less margins."""

import numpy as np
import pytest
import tangere as tg

SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 0.1" margin="0.003"/>
<body name="ball" pos="0 0 0.3"><freejoint/><geom name="ball" size="0.1" mass="1" margin="0.002"/></body>
<body name="box" pos="1 0 0.4"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1" mass="1"/></body>
</worldbody></mujoco>"""


def test_gap_is_distance_less_margins():
    m = tg.load_string(SCENE)
    q = m.default_q()
    gap = m.gap("ball", "floor", q)
    assert gap.value == pytest.approx(0.2 - 0.005)
    assert gap.derivative == pytest.approx(np.eye(12)[2])
    contacts = m.collide(q, 1.0)
    margins = np.array([0.003, 0.002, 0.0])
    assert np.allclose(contacts.distance - contacts.gap, margins[contacts.geom1] + margins[contacts.geom2])


def test_derivative_against_differences():
    m, rng = tg.load_string(SCENE), np.random.default_rng(1)
    for _ in range(20):
        q = m.integrate(m.default_q(), 0.3 * rng.standard_normal(12))
        d, h = rng.standard_normal(12), 1e-6
        value = [m.gap("ball", "box", m.integrate(q, s * h * d)).value for s in (1, -1)]
        assert (value[0] - value[1]) / (2 * h) == pytest.approx(m.gap("ball", "box", q).derivative @ d, abs=1e-6)


def test_a_body_posed_at_gap_zero_stays():
    m = tg.load_string(SCENE)
    q = m.default_q()
    q[2] -= m.gap("ball", "floor", q).value
    sim = tg.Sim(m)
    sim.q = q
    sim.step()
    assert sim.v[2] == pytest.approx(0, abs=1e-12)
    contacts = sim.info.contacts
    assert contacts.gap[contacts.geom2 == 1] == pytest.approx(0, abs=1e-12)
    q[2] -= 0.005  # at distance zero: pushed out
    sim.q, sim.v = q, np.zeros(12)
    sim.step()
    assert sim.v[2] == pytest.approx(0.05)


def test_refusals():
    m = tg.load_string(SCENE)
    with pytest.raises(tg.Error, match=r"'ball'.*never collide"):
        m.gap("ball", "ball", m.default_q())
    with pytest.raises(IndexError, match="geom 9: the model has 3"):
        m.gap("ball", 9, m.default_q())
    with pytest.raises(tg.UnknownNameError):
        m.gap("ball", "wall", m.default_q())


def test_any_order_any_distance_many_geoms():
    """A wall after the ball in the file, kilometres away, among more pairs than a workspace lists."""
    balls = "".join(f'<body pos="{i} 0 1"><freejoint/><geom name="{i}" size="0.1"/></body>' for i in range(150))
    m = tg.load_string(
        f"""<mujoco><worldbody>{balls}<geom name="wall" type="plane" size="1 1 .1" pos="3000 0 0" zaxis="-1 0 0"/>
        </worldbody></mujoco>"""
    )
    q = m.default_q()
    for pair in (("7", "wall"), ("wall", "7")):
        gap = m.gap(*pair, q)
        assert gap.value == pytest.approx(3000 - 7 - 0.1)
        assert gap.derivative == pytest.approx(-np.eye(m.nv)[7 * 6])
    assert m.gap("3", "140", q).value == pytest.approx(137 - 0.2)
