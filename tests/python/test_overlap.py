"""Geoms that overlap in the reference pose, and excludes of two geoms."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import tangere as tg
from mujoco_compare import check

KINDS = ("body", "joint", "geom", "site", "tendon", "actuator", "equality", "pair", "key", "mesh", "hfield")
# fore and hand overlap by 0.05 m with fore/box and hand/ball; fore/tip and hand/ball are apart; upper is on its own;
# the base sinks into the floor; a pair declares that the two pads, which overlap, collide
ARM = """
<mujoco model="arm">
  <option timestep="0.004" gravity="0 0 -3"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <geom name="pad" type="box" size="0.1 0.1 0.1" pos="3 0 1"/>
    <body name="base" pos="0 0 0.09">
      <freejoint name="root"/>
      <geom name="foot" size="0.1"/>
      <body name="upper" pos="0 0 0.3"><joint name="j1" axis="0 1 0" ref="0.3" damping="0.2"/>
        <geom name="rod" type="capsule" size="0.03" fromto="0 0 0 0.2 0 0" solref="0.01 1"/>
        <site name="s1" pos="0.1 0 0"/>
        <body name="fore" pos="0.5 0 0"><joint name="j2" axis="0 1 0" range="-1 1" limited="true"/>
          <geom name="box" type="box" size="0.2 0.05 0.05"/><geom name="tip" size="0.01" pos="0 0 0.5"/>
          <body name="wrist" pos="0.15 0 0"><joint name="j3" axis="1 0 0"/>
            <geom mass="0.1" size="0.02" pos="0 0 0.3"/>
            <body name="hand" pos="0.15 0 0"><joint name="j4" axis="0 0 1"/>
              <geom name="ball" size="0.15"/><site name="s2"/>
              <geom size="0.11" pos="-0.2 0 0"/>
            </body>
          </body>
        </body>
      </body>
      <body name="block" pos="3 0 1.1"><joint name="j5" type="slide"/><geom name="brick" type="box" size="0.1 0.1 0.1"/>
      </body>
    </body>
  </worldbody>
  <contact><pair name="kept" geom1="pad" geom2="brick" friction="0.3 0.3 0.01 0.001 0.001"/>
    <exclude name="ab" body1="base" body2="fore"/></contact>
  <tendon><spatial name="t" stiffness="3"><site site="s1"/><site site="s2"/></spatial></tendon>
  <equality><joint name="e" joint1="j3" joint2="j4" polycoef="0 0.5 0 0 0"/></equality>
  <actuator><position name="p" joint="j1" kp="20" timeconst="0.1"/><motor name="m" tendon="t"/></actuator>
  <keyframe><key name="k" time="2" qpos="0 0 1 1 0 0 0 .1 .2 .3 .4 .5" act="0.7" ctrl="0.1 0.2"/></keyframe>
</mujoco>
"""


def pairs(m: tg.Model, depth: float = 1e-6) -> set[tuple[int, int]]:
    c = m.collide(m.default_q())
    return {(int(a), int(b)) for a, b, d in zip(c.geom1, c.geom2, c.distance, strict=True) if d < -depth}


def deepest(m: tg.Model) -> dict[tuple[int, int], float]:
    c = m.collide(m.default_q())
    out: dict[tuple[int, int], float] = {}
    for a, b, d in zip(c.geom1, c.geom2, c.distance, strict=True):
        out[int(a), int(b)] = max(out.get((int(a), int(b)), 0.0), -d)
    return out


def same_but_pairs(a: tg.Model, b: tg.Model) -> None:
    assert np.array_equal(np.asarray(a.params), np.asarray(b.params))
    assert (a.name, a.timestep, a.nq, a.nv, a.nu, a.na) == (b.name, b.timestep, b.nq, b.nv, b.nu, b.na)
    assert a.param_names() == b.param_names()
    for kind in KINDS:
        assert a.names(kind) == b.names(kind)
    for name in a._structure():
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for key in range(a.nkey):
        for x, y in zip(a.key(key), b.key(key), strict=True):
            assert np.array_equal(x, y)
    q, v = a.random_state(1)
    assert np.array_equal(a.mass_matrix(q), b.mass_matrix(q))
    assert np.array_equal(a.passive(q, v), b.passive(q, v))


@pytest.fixture
def plain() -> tg.Model:
    return tg.load_string(ARM)


@pytest.fixture
def apart() -> tg.Model:
    return tg.load_string(ARM, exclude_overlaps=True)


def test_only_the_pairs_that_overlap_go(plain: tg.Model, apart: tg.Model) -> None:
    box, ball, floor, foot, pad, brick = (
        plain.index("geom", n) for n in ("box", "ball", "floor", "foot", "pad", "brick")
    )
    unnamed = ball + 1  # the second geom of the hand
    assert pairs(plain) == {(box, ball), (box, unnamed), (floor, foot), (pad, brick)}
    assert pairs(apart) == {(floor, foot), (pad, brick)}
    assert apart.nexclude == plain.nexclude + 2
    assert apart.ncandidate == plain.ncandidate - 2  # the tip and the ball, of the same bodies, still may
    same_but_pairs(plain, apart)


def test_the_report_names_pairs_and_depths(plain: tg.Model, apart: tg.Model) -> None:
    assert apart.report[: len(plain.report)] == plain.report
    lines = apart.report[len(plain.report) :]
    assert [e.element for e in lines] == [
        "geom 'floor' and geom 'foot'",
        "geom 'pad' and geom 'brick'",
        "geom 'box' and geom 'ball'",
        f"geom 'box' and geom #{plain.index('geom', 'ball') + 1} of body 'hand'",
    ]
    assert all(e.kind == tg.ReportKind.NOTED for e in lines)
    ends = ["plane or a height field", "a pair declares it", "do not collide", "do not collide"]
    for e, pair, end in zip(lines, sorted(deepest(plain)), ends, strict=True):
        assert e.note.startswith(f"overlap by {deepest(plain)[pair]:.4g} m in the reference pose: ")
        assert e.note.endswith(end)


def test_nothing_overlaps() -> None:
    text = (
        '<mujoco><worldbody><geom size="1"/><body pos="0 0 2"><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    )
    m = tg.load_string(text, exclude_overlaps=True)  # they touch
    assert (m.nexclude, m.ncandidate) == (0, 1)
    same_but_pairs(tg.load_string(text), m)
    assert tg.load_string("<mujoco/>", exclude_overlaps=True).nexclude == 0


def test_save_and_load(apart: tg.Model, tmp_path) -> None:
    path = tmp_path / "arm.xml"
    apart.save(path)
    again = tg.load(path)
    same_but_pairs(apart, again)
    assert (again.nexclude, again.ncandidate) == (apart.nexclude, apart.ncandidate)
    assert pairs(again) == pairs(apart)
    assert again.to_mjcf() == apart.to_mjcf()
    mujoco.MjModel.from_xml_path(str(path))  # which reads past the excludes of geoms


def test_current_parameters_are_kept(plain: tg.Model) -> None:
    plain.params["geom.ball.friction"] = [0.1, 0.2, 0.3]
    m = plain.exclude_overlaps()
    check("friction", m.params["geom.ball.friction"], [0.1, 0.2, 0.3])
    assert m.nexclude == plain.nexclude + 2


def test_in_a_scene(apart: tg.Model) -> None:
    scene = tg.Scene()
    scene.add(apart, prefix="a_")
    scene.add(apart, prefix="b_", pos=[10, 0, 0])
    m = scene.build()
    assert m.nexclude == 2 * apart.nexclude
    a, b = m.index("geom", "a_box"), m.index("geom", "b_ball")
    touching = pairs(m)
    assert (a, m.index("geom", "a_ball")) not in touching
    assert (m.index("geom", "b_box"), b) not in touching
    assert tg.load_string(m.to_mjcf()).to_mjcf() == m.to_mjcf()


def test_attached(apart: tg.Model, tmp_path) -> None:
    apart.save(tmp_path / "arm.xml")
    text = (
        '<mujoco><asset><model name="arm" file="arm.xml"/></asset><worldbody>'
        '<attach model="arm" body="base" prefix="x_"/>'
        '<frame pos="9 0 0"><attach model="arm" body="base" prefix="y_"/></frame></worldbody></mujoco>'
    )
    (tmp_path / "two.xml").write_text(text)
    m = tg.load(tmp_path / "two.xml")
    assert m.nexclude == 2 * apart.nexclude
    for prefix in ("x_", "y_"):
        assert (m.index("geom", prefix + "box"), m.index("geom", prefix + "ball")) not in pairs(m)


TUPLE = '<custom><tuple name="tangere:exclude{}">{}</tuple></custom>'
GEOM = '<element objtype="geom" objname="{}"/>'


def with_tuple(name: str, inside: str) -> str:
    return ARM.replace("</mujoco>", TUPLE.format(name, inside) + "</mujoco>")


def test_a_tuple_is_an_exclude() -> None:
    m = tg.load_string(with_tuple(".why", GEOM.format("box") + GEOM.format("ball")))
    assert m.names("exclude") == ["ab", "why"]
    assert (m.index("geom", "box"), m.index("geom", "ball")) not in pairs(m)
    assert tg.load_string(with_tuple("#7", GEOM.format("box") + GEOM.format("tip"))).names("exclude") == ["ab", ""]


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("", "a tuple of two geoms"),
        (GEOM.format("box"), "a tuple of two geoms"),
        (3 * GEOM.format("box"), "a tuple of two geoms"),
        (GEOM.format("box") + '<element objtype="site" objname="s1"/>', "a tuple of two geoms"),
        (GEOM.format("box") + GEOM.format("nobody"), 'no geom "nobody"'),
    ],
)
def test_tuples_that_are_none(inside: str, message: str) -> None:
    with pytest.raises(Exception, match=rf"<string>:\d+: .*{message}"):
        tg.load_string(with_tuple(".x", inside))
