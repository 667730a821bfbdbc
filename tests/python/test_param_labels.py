"""Labels for what was asked: by parameter where they differ."""

import numpy as np
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
