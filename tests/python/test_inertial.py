"""Which masses and inertias a file may have: as MuJoCo, with the same numbers where both take them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import tangere as tg
from mujoco_compare import compare

COMPILERS = (
    "",
    'boundmass="0.1"',
    'boundinertia="0.1"',
    'boundmass="0.1" boundinertia="0.1"',
    'balanceinertia="true"',
    'inertiafromgeom="true"',
    'inertiafromgeom="false"',
    'settotalmass="3"',
)
JOINTS = (
    "",
    "<joint/>",
    '<joint type="slide"/>',
    '<joint type="ball"/>',
    "<freejoint/>",
    '<joint armature="0.1"/>',
    '<joint axis="1 0 0"/><joint axis="0 1 0"/>',
)
MASSES = ("0", "1e-16", "1e-15", "1e-14", "1e-10", "1")
INERTIAS = (
    "",
    'diaginertia="0 0 0"',
    'diaginertia="1 1 1"',
    'diaginertia="1e-16 1e-16 1e-16"',
    'diaginertia="1e-15 1e-15 1e-15"',
    'diaginertia="1e-10 1e-10 1e-10"',
    'diaginertia="0 1 1"',
    'diaginertia="1 2 3"',
    'diaginertia="1 2 3.0000001"',
    'diaginertia="1 2 4"',
    'fullinertia="0 0 0 0 0 0"',
    'fullinertia="1 1 1 0 0 0"',
    'fullinertia="1 1 1 2 0 0"',
    'fullinertia="1 2 4 0 0 0"',
    'fullinertia="1 1 1 0.5 0.2 0.1"',
)
GEOMS = (
    "",
    '<geom size="0.1"/>',
    '<geom size="0.1" mass="0"/>',
    '<geom size="0.1" density="0"/>',
    '<geom size="1e-6"/>',
    '<geom size="0.1" mass="1e-20"/>',
    '<geom size="0.1" mass="1e-15"/>',
    '<geom size="0.1" mass="1e-14"/>',
    '<geom size="0.1" mass="1" group="3"/>',
)
SOLID = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
CHILDREN = ("", f"<body>{SOLID}</body>", f"<body><joint/>{SOLID}</body>", f"<body><body>{SOLID}</body></body>")


def agree(text: str) -> bool:
    """Whether both took it."""
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        theirs = None
    try:
        ours = tg.load_string(text)
    except tg.Error:
        ours = None
    assert (ours is None) == (theirs is None), f"{'refused' if ours is None else 'taken'}: {text}"
    if ours is not None:
        compare(ours, theirs)
    return ours is not None


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("joint", JOINTS)
def test_cases(compiler: str, joint: str) -> None:
    mujoco.set_mju_user_warning(lambda _: None)
    rng = np.random.default_rng(7)
    taken = []
    for geom in GEOMS:
        for child in CHILDREN:
            inside = [f"{joint}{geom}{child}"]
            for mass in rng.choice(MASSES, 2):
                inertial = f'<inertial pos="0.1 0 0" mass="{mass}" {rng.choice(INERTIAS)}/>'
                inside.append(f"{joint}{inertial}{geom}{child}")
            taken += [
                agree(f"<mujoco><compiler {compiler}/><worldbody><body>{x}</body></worldbody></mujoco>") for x in inside
            ]
    assert any(taken)
    assert joint == "" or not all(taken) or "boundinertia" in compiler


@pytest.mark.parametrize("attributes", ['mass="-1" diaginertia="1 1 1"', 'mass="1" diaginertia="-1 1 1"'])
def test_negative_is_refused_always(attributes: str) -> None:
    """MuJoCo makes it zero where something else has mass."""
    body = f'<body><joint/><inertial pos="0 0 0" {attributes}/><body>{SOLID}</body></body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    mujoco.MjModel.from_xml_string(text)
    with pytest.raises(tg.Error, match=r"<string>:1: inertial: .*must not be negative, got -1"):
        tg.load_string(text)


def test_a_body_without_mass_survives_a_file() -> None:
    """A builder or a URDF may have it, since what hangs on it has mass; MJCF may not."""
    robot = (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint>'
        '<joint name="k" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint></robot>'
    )
    m = tg.load_string(robot)
    assert m.params["body.b.mass"] == 0
    text = m.to_mjcf()
    again = tg.load_string(text)
    assert np.array_equal(np.asarray(again.params), np.asarray(m.params))
    assert again.to_mjcf() == text
    mujoco.MjModel.from_xml_string(text)
