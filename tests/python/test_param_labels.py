"""Labels for what was asked: by parameter where they differ."""

import numpy as np
import pytest
import tangere as tg

CUBE = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="{floor}"/>
<body name="cube" pos="0 0 {z}"><freejoint/>
    <geom name="cube" type="box" size="0.1 0.1 0.1" mass="1" friction="{cube}"/></body>
</worldbody><custom><numeric name="tangere:geom.cube.restitution" data="{e}"/></custom></mujoco>"""
NAMES = ["geom.cube.friction[0]", "geom.floor.friction[0]", "body.cube.mass", "geom.cube.restitution"]


def step(v, floor=0.3, cube=0.3, z=0.1, e=0.0, **options):
    sim = tg.Sim(tg.load_string(CUBE.format(floor=floor, cube=cube, z=z, e=e)), **options)
    sim.v = np.r_[v, np.zeros(3)]
    sim.step()
    return sim.jacobian(params=NAMES)


def test_equal_coefficients_have_two_sides():
    j = step([1, 0, 0])
    assert j.label.kind == "exact"
    assert j.param_labels == ["one-sided", "one-sided", "exact", "exact"]
    assert step([1, 0, 0], cube=0.31).param_labels == ["exact"] * 4
    assert step([0, 0, 0]).param_labels[:2] == ["exact", "exact"]  # nothing slides


def test_restitution_at_its_bound():
    falls = {"v": [0, 0, -1], "z": 0.1005, "cube": 0.31}
    assert step(**falls).param_labels[3] == "one-sided"
    assert step(**falls, impact="within").param_labels[3] == "one-sided"
    assert step(**falls, e=0.5).param_labels[3] == "exact"
    assert step([0, 0, -1], z=0.2, cube=0.31).param_labels[3] == "exact"  # nothing meets


def test_a_gate_within_reach():
    """Slower than rest_speed by less than gravity adds in a step: the step before or after is on the other side."""
    for speed, wanted in ((0.025, "one-sided"), (0.015, "one-sided"), (0.5, "exact"), (0.001, "exact")):
        j = step([0, 0, -speed], z=0.1, cube=0.31, e=0.5, rest_speed=0.02)
        assert j.label.kind == "exact"
        assert j.param_labels[3] == wanted, speed
        assert (j.dv_dparams[2, 3] != 0) == (speed > 0.02)


def test_friction_of_a_rod_that_jams():
    """Painleve's rod: above mu = (1 + 3 c^2) / (3 s c), c the cosine of its angle, friction draws its tip in."""
    angle = np.arctan(2.0)
    for mu, wanted in ((1.2, "exact"), (1.3, "exact"), (1.36, "one-sided"), (2.0, "one-sided")):
        m = tg.load_string(f"""<mujoco><option timestep="0.001"/><worldbody>
            <geom name="floor" type="plane" size="5 5 0.1" friction="{mu}"/>
            <body name="rod" pos="0 0 {np.sin(angle)}"><joint type="slide" axis="1 0 0"/>
            <joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>
            <inertial pos="0 0 0" mass="1" diaginertia="1 {1 / 3} 1"/>
            <geom name="tip" type="sphere" size="1e-6" pos="{-np.cos(angle)} 0 {-np.sin(angle)}" friction="0.1"/>
            </body></worldbody></mujoco>""")
        labels = []
        for speed in (1.0, -1.0):
            sim = tg.Sim(m)
            sim.v = [speed, 0, 0]
            sim.step()
            labels.append(sim.jacobian(params=["geom.floor.friction[0]"]).param_labels[0])
        assert wanted in labels, mu
        assert "exact" in labels, mu  # pulled the other way it does not jam


def test_labels_of_rollouts():
    m = tg.load_string(CUBE.format(floor=0.3, cube=0.3, z=0.1, e=0.0))
    slides = tg.rollout(m, m.default_q(), [1.0, 0, 0, 0, 0, 0], 20)
    assert slides.param_labels(NAMES) == ["one-sided", "one-sided", "exact", "exact"]
    rests = tg.rollout(m, m.default_q(), np.zeros(6), 5)
    assert rests.param_labels(NAMES[:3]) == ["exact"] * 3


def test_parameters_that_cannot_matter():
    m = tg.load_string(CUBE.format(floor=1.0, cube=0.3, z=0.1, e=0.5))
    assert m.masked(NAMES) == {"geom.cube.friction[0]": "geom.floor.friction[0]"}
    assert m.masked("geom.floor.*") == {"geom.floor.restitution": "geom.cube.restitution"}
    masked = tg.check(m, states=3, params=NAMES).masked
    assert masked == {"geom.cube.friction[0]": "geom.floor.friction[0]"}
    assert "geom.cube.friction[0] cannot matter" in repr(tg.check(m, states=3, params=NAMES))
    m.params["geom.cube.friction"] = [2.0, 0.005, 0.0001]
    assert tg.check(m, states=3, params=NAMES).masked == {"geom.floor.friction[0]": "geom.cube.friction[0]"}
    m.params["geom.floor.friction"] = [2.0, 0.005, 0.0001]
    assert tg.check(m, states=3, params=NAMES).masked == {}  # equal: either may count


ROD = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1"/>
<body name="rod" pos="0 0 0.4"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
    <joint name="pitch" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
    <geom name="tip" type="sphere" size="0.1" pos="0.1 0 -0.3" friction="{mu}"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("law", ["ncp", "ccp", "lcp-box", "lcp-diamond"])
def test_friction_across_the_plane_of_a_planar_body(law):
    """Nothing moves across the plane until a parameter tilts the body's joints: then friction acts there, against the
    slip on either side. The derivative is the mean of two slopes."""
    m = tg.load_string(ROD.format(mu=2.0))
    names = ["joint.pitch.axis[2]", "body.rod.quat[1]", "body.rod.quat[2]", "joint.pitch.axis[0]", "body.rod.mass"]

    def step(name=None, h=0.0):
        sim = tg.Sim(m, law=law, tolerance=1e-12)
        kept = m.params[name] if name else 0
        if name:
            m.params[name] = kept + h
        sim.v = [0.4, 0.1, 1.0]  # about the tip: it sticks, and turns
        sim.step()
        if name:
            m.params[name] = kept
        return sim

    sim = step()
    j = sim.jacobian(params=names)
    assert list(sim.info.contacts.mode) == [tg.ContactMode.STICKING]
    assert j.label.kind == "exact"
    for k, name in enumerate(names):
        h, middle = 1e-7, sim.v.copy()
        left, right = (middle - step(name, -h).v) / h, (step(name, h).v - middle) / h
        kink = np.abs(right - left).max()
        assert np.abs((right + left) / 2 - j.dv_dparams[:, k]).max() < 1e-3 * max(1, kink), name
        assert j.param_labels[k] == ("one-sided" if kink > 1e-3 else "exact"), (name, kink)
    assert "one-sided" in j.param_labels
    assert j.param_labels[2] == j.param_labels[4] == "exact"
