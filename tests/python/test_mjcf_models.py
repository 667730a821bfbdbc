"""Parts of MJCF that make a model from copies, from other files, or smaller, against MuJoCo."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import pytest
import tangere as tg
from mujoco_compare import check, compare, compare_bodies, load_both, load_both_files, moving, table, world

# ---- replicate ----

ROD = '<body name="b" pos="0 0 1"><joint name="j"/><geom name="g" size=".1"/><site name="s" pos="0 0 .1"/></body>'
OTHER = (
    '<geom name="floor" type="plane" size="1 1 1"/><body name="o"><joint name="oj"/><geom name="og" size=".1"/>'
    '<site name="os"/></body>'
)


def rods(attributes: str = 'count="3" sep="-" offset="1 0 0" euler="0 0 30"', after: str = "") -> str:
    return world(f"{OTHER}<replicate {attributes}>{ROD}</replicate>", after=after)


REPLICATE = {
    "bodies": rods(),
    "no separator": rods('count="2" offset="0 1 0"'),
    "once": rods('count="1" sep="_"'),
    "never": rods('count="0"'),
    "twelve": rods('count="12" offset="0.1 0.2 0.3" euler="10 20 30"'),
    "radian": rods('count="5" offset="0.1 0.2 0.3" euler="0.1 0.2 0.3"').replace(
        "<worldbody>", '<compiler angle="radian" eulerseq="zyx"/><worldbody>'
    ),
    "inside and outside of a pair": rods(
        after='<contact><pair name="p" geom1="floor" geom2="g"/><exclude name="x" body1="o" body2="b"/>'
        '<exclude body1="world" body2="b"/></contact>'
    ),
    "actuators": rods(
        after='<actuator><motor name="m" joint="j"/><motor name="n" joint="oj"/><position joint="j" kp="3"/>'
        '<motor site="s" gear="1 2 3 4 5 6"/></actuator>'
    ),
    "tendons": rods(
        after='<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed><fixed name="u"><joint joint="j" coef="1"/>'
        '<joint joint="oj" coef="2"/></fixed><spatial name="v"><site site="os"/><site site="s"/></spatial></tendon>'
        '<actuator><motor tendon="t"/><motor tendon="u"/></actuator>'
    ),
    "equalities": rods(
        after='<equality><joint name="f" joint1="j"/><weld name="w" body1="b"/>'
        '<connect name="c" body1="b" anchor="0 0 1"/></equality>'
    ),
    "keys": rods(after='<keyframe><key name="k" qpos="1 2 3 4" qvel="5 6 7 8"/><key/></keyframe>'),
    "nested": world(
        f'<replicate count="2" offset="1 0 0"><replicate count="3" offset="0 1 0" sep="_">{ROD}</replicate>'
        '<geom name="own" size="0.2"/></replicate>',
        after='<actuator><motor name="m" joint="j"/></actuator><contact><exclude name="e" body1="b" body2="world"/>'
        "</contact>",
    ),
    "in a body": moving(
        '<geom size="1"/><replicate count="2" offset="1 0 0"><geom name="y" size="2" pos="0 0 1"/><site name="s"/>'
        '</replicate><geom name="last" size="1"/>'
    ),
    "in a frame, with a class": world(
        '<frame pos="1 2 3" euler="0 0 90"><replicate count="2" offset="1 0 0" childclass="c"><frame pos="0 0 1">'
        '<geom name="y"/></frame><body><geom class="d"/><freejoint/></body></replicate></frame>',
        '<default><default class="c"><geom size="3"/></default><default class="d"><geom size="1"/></default></default>',
    ),
    "bodies in bodies": world(
        '<replicate count="2" offset="1 0 0"><body name="a"><freejoint name="f"/><geom size="1"/>'
        '<replicate count="2" offset="0 0 1"><body name="c"><joint name="cj" type="slide"/><geom size="1"/></body>'
        "</replicate></body></replicate>",
        after='<equality><joint joint1="cj"/></equality>',
    ),
    "two": world(
        f'<replicate count="2" offset="1 0 0">{ROD}</replicate><replicate count="2" offset="0 1 0"><body name="q">'
        '<joint name="qj"/><geom size="0.1"/></body></replicate>',
        after='<actuator><motor joint="qj"/><motor joint="j"/></actuator>',
    ),
}


@pytest.mark.parametrize("name", REPLICATE)
def test_replicate(name: str) -> None:
    compare(*load_both(REPLICATE[name]))


def test_what_a_replicate_loses_is_reported() -> None:
    text = rods(after='<equality><joint name="e" joint1="j" joint2="oj"/><joint name="f" joint1="j"/></equality>')
    m, mj = load_both(text)
    compare(m, mj)
    assert m.names("equality") == ["f-0", "f-1", "f-2"]
    lost = [e for e in m.report if e.kind == tg.ReportKind.IGNORED_PHYSICS]
    assert [e.element for e in lost] == ["joint 'e'"]
    with pytest.raises(tg.Error, match="replicate"):
        tg.load_string(text, strict=True)


def test_copies_are_reported_once() -> None:
    text = rods('count="100"').replace('name="g"', 'name="g" solref="0.1 1"')
    assert len([e for e in tg.load_string(text).report if e.attribute == "solref"]) == 1
    text = rods('count="100"').replace('<joint name="j"/>', '<joint name="j" stiffness="1 2"/>')
    ignored = [e for e in tg.load_string(text).report if e.kind == tg.ReportKind.IGNORED_PHYSICS]
    assert len(ignored) == 1


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<body><freejoint/><geom size="0.1"/></body>', "40000 geoms make 8e\\+08 pairs that could collide"),
        ('<body><geom size="0.1"/><geom size="0.2"/></body>', ""),
        ('<body><freejoint/><geom mass="1" size="0.1" contype="0" conaffinity="0"/></body>', ""),
    ],
)
def test_pairs_are_bounded(inside: str, message: str) -> None:
    text = world(f'<replicate count="40000" offset="1 0 0">{inside}</replicate>')
    start = time.perf_counter()
    if message:
        with pytest.raises(tg.Error, match=f"<string>:1: {message}"):
            tg.load_string(text)
    else:
        assert tg.load_string(text).ncandidate == 0
    assert time.perf_counter() - start < 20


BAD_REPLICATE = {
    "no count": ("", "attribute 'count' is missing"),
    "negative": ('count="-1"', "must not be negative, got -1"),
    "huge": ('count="2147483647"', "elements"),
    "beyond integers": ('count="2147483648"', "integer"),
    "unknown class": ('count="2" childclass="zzz"', "zzz"),
}


@pytest.mark.parametrize("name", BAD_REPLICATE)
def test_bad_replicate(name: str) -> None:
    attributes, message = BAD_REPLICATE[name]
    with pytest.raises(Exception, match=rf"<string>:1: (replicate|frame).*{message}"):
        tg.load_string(rods(attributes))


@pytest.mark.parametrize("element", ['<joint name="x"/>', "<freejoint/>", '<frame><joint name="x"/></frame>'])
def test_joints_are_not_replicated(element: str) -> None:
    text = moving(f'<geom size="1"/><replicate count="2">{element}</replicate>')
    with pytest.raises(tg.Error, match="cannot stand in a replicate"):
        tg.load_string(text)


def test_nested_counts_are_bounded() -> None:
    text = '<replicate count="2000">' * 3 + ROD + "</replicate>" * 3
    with pytest.raises(ValueError, match=r"<string>:1: replicate.*elements"):
        tg.load_string(world(text))


# ---- attach ----

CHILD = """
<mujoco model="kid">
  <compiler angle="radian" meshdir="mesh" eulerseq="zyx"/>
  <option timestep="0.004" gravity="0 0 -1"/>
  <default>
    <geom density="500" friction="0.4"/>
    <default class="c"><geom size="0.2"/><joint damping="3"/><motor gear="7"/></default>
    <default class="slider"><joint type="slide" axis="1 0 0"/></default>
  </default>
  <asset>
    <mesh name="mm" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
    <mesh file="tet.obj"/>
    <hfield name="hh" nrow="2" ncol="2" size="1 1 1 1"/>
  </asset>
  <worldbody>
    <geom name="kgeom" size="0.1"/>
    <site name="ks" pos="1 1 1"/>
    <frame pos="0 0 5" childclass="c">
      <body name="arm" pos="0 0 0.5" euler="0.1 0.2 0.3">
        <joint name="j1"/>
        <geom name="g1"/>
        <geom type="mesh" mesh="tet"/>
        <body name="hand" pos="0.3 0 0">
          <joint name="j2" ref="0.5"/>
          <geom name="g2"/>
          <site name="tip"/>
          <replicate count="2" offset="0 0.1 0">
            <body name="finger"><joint name="fj" class="slider"/><geom/></body>
          </replicate>
        </body>
      </body>
    </frame>
    <frame name="fr" pos="9 0 0" euler="0 0 1">
      <body name="box"><joint name="bj" type="ball"/><geom name="bg" size="0.1"/></body>
      <geom name="frg" size="0.1"/>
    </frame>
  </worldbody>
  <contact>
    <exclude name="ex" body1="arm" body2="hand"/>
    <pair name="pp" geom1="kgeom" geom2="g1"/>
  </contact>
  <tendon>
    <fixed name="tt"><joint joint="j1" coef="1"/><joint joint="j2" coef="1"/></fixed>
    <fixed name="uu"><joint joint="j1" coef="1"/></fixed>
  </tendon>
  <equality>
    <joint name="eq" joint1="j1" joint2="j2"/>
    <weld name="ew" body1="box"/>
    <tendon name="et" tendon1="tt" tendon2="uu"/>
  </equality>
  <actuator>
    <motor name="a1" joint="j1" class="c"/>
    <position name="a2" joint="j2" kp="3"/>
    <general name="a3" joint="j1" dyntype="integrator"/>
    <general name="a4" joint="fj" dyntype="integrator"/>
    <motor name="a5" tendon="tt"/>
  </actuator>
  <keyframe>
    <key name="home" time="2" qpos="0.1 0.2 0.3 0.4 1 0 0 0" qvel="1 2 3 4 5 6 7" ctrl="1 2 3 4 5 6" act="7 8 9"/>
    <key name="e"/>
  </keyframe>
</mujoco>
"""
TET = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def parent(attach: str, after: str = "", before: str = "", outside: str = "") -> str:
    return world(
        f'<geom name="floor" type="plane" size="1 1 1"/><body name="o" pos="0 0 7" euler="0 0 20"><joint name="oj"/>'
        f'<geom name="og" size=".1"/>{attach}</body>{outside}',
        f'{before}<asset><model name="kid" file="sub/child.xml"/></asset>',
        after,
    )


ARM = '<attach model="kid" body="arm" prefix="p_"/>'
OWN_KEY = '<keyframe><key name="mine" qpos="1 2 3 4 5" ctrl="7"/></keyframe>'
ATTACH = {
    "body": parent(ARM),
    "body in a frame": parent(f'<frame pos="1 0 0" euler="0 0 90">{ARM}</frame>'),
    "classes around do not count": parent(
        f'<frame childclass="mine">{ARM}<geom/></frame>',
        before='<default><geom density="3"/><default class="mine"><geom size="0.7"/></default></default>',
    ),
    "a body inside": parent('<attach model="kid" body="hand" prefix="p_"/>'),
    "all of it": parent('<attach model="kid" prefix="p_"/>'),
    "frame": parent('<attach model="kid" frame="fr" prefix="p_"/>'),
    "in the world": parent("", outside='<attach model="kid" prefix="w_"/>'),
    "twice": parent(ARM + '<attach model="kid" body="arm" prefix="q_"/>'),
    "whole and in part": parent('<attach model="kid" prefix="p_"/><attach model="kid" body="box" prefix="q_"/>'),
    "empty prefix": parent('<attach model="kid" body="arm" prefix=""/>'),
    "keys and actuators of its own": parent(ARM, OWN_KEY + '<actuator><motor name="own" joint="oj"/></actuator>'),
    "what refers to the attached": parent(
        ARM,
        '<actuator><motor name="own" joint="p_j1"/></actuator><equality><joint joint1="oj" joint2="p_j2"/></equality>'
        '<contact><exclude body1="o" body2="p_arm"/></contact>',
    ),
    "in a replicate": parent(f'<replicate count="2" offset="1 0 0">{ARM}</replicate>'),
    "not at all": parent(""),
    "of the same file": parent(
        '<body name="z"><joint name="zj"/><geom name="zg" size="0.1"/></body>'
        '<frame pos="1 0 0"><attach body="z" prefix="s_"/></frame>',
        '<actuator><motor name="own" joint="zj"/></actuator><contact><pair geom1="zg" geom2="og"/></contact>',
    ),
    "frame of the same file": parent(
        '<frame name="q1" pos="1 0 0"><geom name="zz" size="1"/></frame><attach frame="q1" prefix="s_"/>'
    ),
    "options stay": parent(ARM, before='<option timestep="0.003"/>'),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub" / "mesh").mkdir(parents=True)
    (tmp_path / "sub" / "child.xml").write_text(CHILD)
    (tmp_path / "sub" / "mesh" / "tet.obj").write_text(TET)
    return tmp_path


@pytest.mark.parametrize("name", ATTACH)
def test_attach(folder, name: str) -> None:
    (folder / "m.xml").write_text(ATTACH[name])
    compare(*load_both_files(folder / "m.xml"))


MIDDLE = (
    '<mujoco model="middle"><asset><model file="sub/child.xml"/></asset><worldbody><body name="mid" pos="0 0 1">'
    '<joint name="mj"/><geom size="0.1"/><attach model="kid" body="arm" prefix="k_"/></body></worldbody>'
    '<actuator><motor name="ma" joint="mj"/></actuator></mujoco>'
)
TWO_MIDDLES = (
    '<mujoco><asset><model name="middle" file="middle.xml"/></asset><worldbody>'
    '<attach model="middle" body="mid" prefix="a_"/><attach model="middle" body="mid" prefix="b_"/></worldbody>'
    "</mujoco>"
)


def test_attach_of_attach(folder) -> None:
    (folder / "middle.xml").write_text(MIDDLE)
    (folder / "m.xml").write_text(TWO_MIDDLES)
    keys = CHILD.index("<keyframe>")
    (folder / "sub" / "child.xml").write_text(CHILD[:keys] + "</mujoco>")
    compare(*load_both_files(folder / "m.xml"))


def test_keys_of_attach_of_attach(folder) -> None:
    """MuJoCo gives them the same names and refuses them."""
    (folder / "middle.xml").write_text(MIDDLE)
    (folder / "m.xml").write_text(TWO_MIDDLES)
    m = tg.load(folder / "m.xml")
    assert m.names("key") == ["a_k_home", "a_k_e", "b_k_home", "b_k_e"]
    half, home = m.nq // 2, [0, 0.1, 0.2, 0.3, 0.4]
    rest = m.default_q()[:half].tolist()
    assert [m.key(i)[1].tolist() for i in range(4)] == [home + rest, rest + rest, rest + home, rest + rest]


def test_nothing_attaches_what_stands_around_it(folder) -> None:
    (folder / "m.xml").write_text(parent('<attach body="o" prefix="p"/>'))
    with pytest.raises(tg.Error, match=r"m\.xml:1: attach.*before it"):
        tg.load(folder / "m.xml")


def test_options_of_an_attached_file_are_noted(folder) -> None:
    (folder / "m.xml").write_text(ATTACH["body"])
    noted = {e.attribute for e in tg.load(folder / "m.xml").report if e.element == "option"}
    assert {"timestep", "gravity"} <= noted


def test_custom_numbers_of_an_attached_file(folder) -> None:
    custom = (
        '<custom><numeric name="tangere:geom.g1.restitution" data="0.3"/>'
        '<numeric name="tangere:geom.kgeom.restitution" data="0.4"/></custom></mujoco>'
    )
    (folder / "sub" / "child.xml").write_text(CHILD.replace("</mujoco>", custom))
    (folder / "m.xml").write_text(ATTACH["twice"])
    m = tg.load(folder / "m.xml")
    assert [m.params[f"geom.{prefix}_g1.restitution"] for prefix in "pq"] == [0.3, 0.3]


BAD_ATTACH = {
    "no prefix": ('<attach model="kid" body="arm"/>', "attribute 'prefix' is missing"),
    "no such model": ('<attach model="zzz" prefix="p"/>', 'no model "zzz"'),
    "no such body": ('<attach model="kid" body="zzz" prefix="p"/>', 'no body "zzz"'),
    "no such frame": ('<attach model="kid" frame="zzz" prefix="p"/>', 'no frame "zzz"'),
    "neither model nor body": ('<attach prefix="p"/>', "'body' or 'frame' is missing"),
    "what comes later": ('<attach body="z" prefix="p"/><body name="z"><geom size="1"/></body>', "before it"),
    "same name twice": (
        '<attach model="kid" body="arm" prefix="p"/><attach model="kid" body="box" prefix="p"/>',
        "used twice",
    ),
}


@pytest.mark.parametrize("name", BAD_ATTACH)
def test_bad_attach(folder, name: str) -> None:
    attach, message = BAD_ATTACH[name]
    (folder / "m.xml").write_text(parent(attach))
    with pytest.raises(ValueError, match="Error"):
        mujoco.MjModel.from_xml_path(str(folder / "m.xml"))
    with pytest.raises(Exception, match=rf"\.xml:\d+: .*{message}"):
        tg.load(folder / "m.xml")


def test_a_model_does_not_contain_itself(folder) -> None:
    (folder / "m.xml").write_text(
        '<mujoco><asset><model name="m" file="m.xml"/></asset><worldbody><body name="b"><geom size="1"/></body>'
        '<attach model="m" body="b" prefix="x"/></worldbody></mujoco>'
    )
    with pytest.raises(tg.Error, match=r"m\.xml:1: model 'm'.*contain itself"):
        tg.load(folder / "m.xml")


def test_a_broken_child_names_its_own_line(folder) -> None:
    (folder / "sub" / "child.xml").write_text(CHILD.replace('ref="0.5"', 'ref="half"'))
    (folder / "m.xml").write_text(ATTACH["body"])
    with pytest.raises(tg.Error, match=r"child\.xml:24: joint 'p_j2'.*half"):
        tg.load(folder / "m.xml")


# ---- shapes that are fitted to a mesh ----

WEDGE = 'vertex="0 0 0  2 0 0  0 1 0  0 0 0.4  2 0 0.3  0 1 0.5"'
ELL = (
    'vertex="0 0 0  2 0 0  2 1 0  1 1 0  1 2 0  0 2 0  0 0 1  2 0 1  2 1 1  1 1 1  1 2 1  0 2 1" '
    'face="0 2 1  0 3 2  0 4 3  0 5 4  6 7 8  6 8 9  6 9 10  6 10 11  0 1 7  0 7 6  1 2 8  1 8 7  2 3 9  2 9 8  '
    '3 4 10  3 10 9  4 5 11  4 11 10  5 0 6  5 6 11"'
)
BRICK = (
    'vertex="-1 -2 -3  1 -2 -3  -1 2 -3  1 2 -3  -1 -2 3  1 -2 3  -1 2 3  1 2 3" refpos="0.5 0.2 0.1" '
    'refquat="1 0.2 0.3 0.4"'
)
FITTED = [
    (kind, mesh, aabb)
    for kind in ("sphere", "capsule", "cylinder", "ellipsoid", "box")
    for mesh in (WEDGE, ELL, ELL + ' inertia="exact" scale="1 2 -3"', ELL + ' inertia="shell"', BRICK)
    for aabb in (False, True)
]


def same_axes(a: np.ndarray, b: np.ndarray, kind: str) -> bool:
    """Whether two orientations of a shape are the same up to its symmetries."""
    A, B = np.zeros(9), np.zeros(9)
    mujoco.mju_quat2Mat(A, a)
    mujoco.mju_quat2Mat(B, b)
    turn = np.abs(A.reshape(3, 3).T @ B.reshape(3, 3))
    if kind == "sphere":
        return True
    if kind in ("capsule", "cylinder"):
        return abs(turn[2, 2] - 1) < 1e-9
    return np.abs(turn - np.eye(3)).max() < 1e-5


@pytest.mark.parametrize(("kind", "mesh", "aabb"), FITTED)
def test_fit(kind: str, mesh: str, aabb: bool) -> None:
    text = moving(
        f'<geom name="g" type="{kind}" mesh="m" fitscale="0.9" pos="1 2 3" euler="10 20 30" density="3"/>',
        before=f'<compiler fitaabb="{str(aabb).lower()}"/><asset><mesh name="m" {mesh}/></asset>',
    )
    m, mj = load_both(text)
    check("size", table(m, "geom.size", 1), mj.geom_size, 1e-6)
    check("pos", table(m, "geom.pos", 1), mj.geom_pos, 1e-6)
    assert same_axes(np.asarray(m.params["geom.g.quat"]), mj.geom_quat[0], kind)
    assert m.geom_type[0] == mj.geom_type[0]
    assert m.nmesh == mj.nmesh == 1
    check("mass", m.params["body.b.mass"], mj.body_mass[1], 1e-6)


@pytest.mark.parametrize(
    "geom",
    [
        '<geom type="plane" mesh="m" size="1 1 1"/>',
        '<geom type="capsule" mesh="m" fromto="0 0 0 1 1 1" size="1"/>',
        '<geom type="mesh" mesh="m" shellinertia="true"/>',
        '<geom type="box" mesh="m" fitscale="0"/>',
        '<geom type="box" mesh="zzz"/>',
    ],
)
def test_bad_fit(geom: str) -> None:
    text = world(f"<body>{geom}</body>", f'<asset><mesh name="m" {WEDGE}/></asset>')
    with pytest.raises(ValueError, match="Error"):
        mujoco.MjModel.from_xml_string(text)
    with pytest.raises(Exception, match="<string>:1: geom"):
        tg.load_string(text)


# ---- polygons and groups of OBJ files ----


def polygon(n: int, seed: int, concave: bool = False) -> str:
    """A closed prism over a polygon that is not flat, around no special point."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n) / n
    radius = np.where(np.arange(n) % 2, 0.4, 1.0) if concave else np.ones(n)
    ring = np.c_[radius * np.cos(angle), radius * np.sin(angle), 0.1 * rng.normal(size=n)] + rng.normal(size=3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    points = np.vstack([ring, ring + np.array([0, 0, 1])]) @ (turn * np.sign(np.linalg.det(turn)))
    faces = [range(n, 2 * n), range(n - 1, -1, -1)] + [(i, (i + 1) % n, n + (i + 1) % n, n + i) for i in range(n)]
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in points]
    return "\n".join(lines + ["f " + " ".join(str(i + 1) for i in face) for face in faces])


def weigh(folder, text: str, kind: str = "legacy") -> tg.Model:
    file = folder / f"{len(list(folder.glob('*.obj')))}.obj"  # MuJoCo remembers a file by its name and time
    file.write_text(text)
    (folder / "m.xml").write_text(
        moving(
            '<geom type="mesh" mesh="m" density="7"/>',
            before=f'<asset><mesh name="m" file="{file.name}" inertia="{kind}"/></asset>',
        )
    )
    m, mj = load_both_files(folder / "m.xml")
    check("mass", m.params["body.b.mass"], mj.body_mass[1], 1e-9)
    check("com", m.params["body.b.com"], mj.body_ipos[1], 1e-9)
    compare_bodies(m, mj)
    return m


@pytest.mark.parametrize("concave", [False, True])
@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 12, 40, 100, 101])
def test_polygons(tmp_path, n: int, concave: bool) -> None:
    for seed in range(5):
        weigh(tmp_path, polygon(n, seed, concave))


CUBE = "\n".join(f"v {x} {y} {z}" for z in (0, 1) for y in (0, 1) for x in (0, 1)) + "\n"
CUBE_FACES = "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
LARGER = CUBE.replace("1", "2")
LARGER_FACES = "\n".join("f " + " ".join(str(int(i) + 8) for i in f.split()[1:]) for f in CUBE_FACES.splitlines())


@pytest.mark.parametrize("kind", ["legacy", "exact", "shell", "convex"])
def test_groups(tmp_path, kind: str) -> None:
    """MuJoCo weighs the first group, and the hull is of all vertices."""
    m = weigh(tmp_path, f"g first\n{CUBE}{CUBE_FACES}o second\n{LARGER}{LARGER_FACES}\n", kind)
    noted = [e for e in m.report if "several groups" in e.note]
    assert [e.element for e in noted] == ([] if kind == "convex" else ["mesh 'm'"])
    m = weigh(tmp_path, f"o empty\ng only\n{CUBE}{CUBE_FACES}g\ng none\n", kind)
    assert not [e for e in m.report if "several groups" in e.note]


def test_a_face_may_come_before_its_vertices(tmp_path) -> None:
    m = weigh(tmp_path, CUBE_FACES + CUBE)
    check("mass", m.params["body.b.mass"], 7.0, 1e-12)


def test_polygons_that_are_lost_are_noted(tmp_path) -> None:
    m = weigh(tmp_path, polygon(101, 1))
    (entry,) = [e for e in m.report if "polygons" in e.note]
    assert entry.element == "mesh 'm'"
    assert entry.note.startswith("2 polygons of it could not be cut")
    assert not [e for e in weigh(tmp_path, polygon(9, 1)).report if "polygons" in e.note]


# ---- actuators that are plugins ----


def test_plugin_actuators_keep_their_place() -> None:
    text = moving(
        '<geom size="0.1"/>',
        before='<extension><plugin plugin="mujoco.pid"><instance name="i">'
        '<config key="kp" value="1"/></instance></plugin></extension>',
        after='<actuator><motor name="m" joint="j"/><plugin name="p" joint="j" plugin="mujoco.pid" instance="i" '
        'ctrlrange="-1 2" actdim="0"/><motor name="n" joint="j" gear="2"/></actuator>',
    )
    m = tg.load_string(text)
    assert m.names("actuator") == ["m", "p", "n"]
    assert m.params["actuator.p.ctrl_range"].tolist() == [-1, 2]
    force = [m.actuation([0.0], [0.0], None, u).force[0] for u in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    assert force == [1, 0, 2]
    (lost,) = [e for e in m.report if e.kind == tg.ReportKind.IGNORED_PHYSICS and e.element == "plugin 'p'"]
    assert "exerts no force" in lost.note
    with pytest.raises(tg.Error, match=r"plugin 'p'.*ignored physics"):
        tg.load_string(text, strict=True)


# ---- what a compiler throws away ----

MESHES = "<asset>" + "".join(f'<mesh name="m{i}" {WEDGE}/>' for i in range(4)) + "</asset>"
LOOKS = 'contype="0" conaffinity="0"'
DISCARD = {
    "geoms and meshes": moving(
        f'<geom name="v" type="mesh" mesh="m0" {LOOKS}/><geom name="c" type="mesh" mesh="m1"/>'
        f'<geom name="s" size="1" pos="1 0 0" {LOOKS}/><geom name="f" type="mesh" mesh="m3" pos="0 0 3"/>'
        f'<geom name="w" type="mesh" mesh="m2" {LOOKS} pos="0 0 7"/>',
        before=MESHES,
    ),
    "mass stays": moving(f'<geom size="0.1" {LOOKS}/><geom size="0.2" pos="1 0 0"/>'),
    "a pair keeps its geoms": moving(
        f'<geom name="a" size="0.1" {LOOKS}/><geom name="z" size="0.1" {LOOKS}/>',
        after='<contact><pair geom1="a" geom2="x"/></contact>',
    ).replace("<worldbody>", f'<worldbody><geom name="x" size="1" {LOOKS}/><geom name="y" size="1" {LOOKS}/>'),
    "a tendon keeps its geom": moving(
        f'<geom name="a" size="0.1" {LOOKS}/><geom name="z" size="0.1" {LOOKS}/><site name="s" pos="1 0 0"/>',
        after='<tendon><spatial><site site="s"/><geom geom="a"/><site site="t"/></spatial></tendon>',
    ).replace("<worldbody>", '<worldbody><site name="t" pos="-1 0 0"/>'),
    "a sensor keeps its geom": moving(
        f'<geom name="a" size="0.1" {LOOKS}/><geom name="z" size="0.1" {LOOKS}/>',
        after='<sensor><framepos objtype="geom" objname="a"/></sensor>',
    ),
    "nothing": moving('<geom size="0.1"/>'),
    "all": moving(f'<geom size="0.1" {LOOKS}/>'),
}


@pytest.mark.parametrize("name", DISCARD)
def test_discardvisual(name: str) -> None:
    text = DISCARD[name].replace("<mujoco>", '<mujoco><compiler discardvisual="true"/>')
    m, mj = load_both(text)
    if mj.ntendon:  # wrapping is not built: the path is straight
        compare_bodies(m, mj)
        assert m.names("geom") == ["a"]
    else:
        compare(m, mj)


STATIC = (
    '<body name="s" pos="1 0 0" euler="0 0 30"><geom name="gs" type="box" size=".2 .1 .3"/><site name="ss"/>'
    '<frame pos="0 0 1"><body name="t" pos="0 1 0" euler="20 0 0"><geom name="gt" size=".1"/>'
    '<body name="mv" pos="0 0 1"><joint name="mj"/><geom name="gm" size="1"/><site name="sm"/></body></body></frame>'
    '<body name="i"><inertial pos="0 0 1" mass="2" diaginertia="1 2 2.5" euler="10 20 30"/></body></body>'
)
FUSE = {
    "into a body": moving('<geom name="gb" size=".1"/>' + STATIC + '<geom name="gl" size=".1" pos="1 1 1"/>'),
    "into the world": world('<geom name="floor" size="1"/>' + STATIC + '<geom name="gl" size=".1"/>'),
    "into a body with an inertial": moving(
        '<inertial pos="0.1 0 0" mass="3" diaginertia="1 1 1"/><geom name="gb" size=".1"/>' + STATIC
    ),
    "without mass around it": moving(STATIC),
    "an exclude keeps it": moving(STATIC, after='<contact><exclude body1="t" body2="mv"/></contact>'),
    "an equality keeps it": moving(STATIC, after='<equality><weld body1="s" body2="mv"/></equality>'),
    "a sensor keeps it": moving(STATIC, after='<sensor><framepos objtype="body" objname="i"/></sensor>'),
    "a force sensor keeps it": moving(STATIC, after='<sensor><force site="ss"/></sensor>'),
    "a gyro does not": moving(STATIC, after='<sensor><gyro site="ss"/></sensor>'),
    "a camera keeps it": moving(STATIC + '<camera mode="targetbody" target="t"/>'),
    "fuse false": moving(STATIC.replace('name="s"', 'name="s" fuse="false"', 1)),
    "classes": moving(
        '<geom size="0.1"/><body childclass="c"><geom/><body><geom class="d"/></body></body>',
        before='<default><default class="c"><geom size="3"/></default><default class="d"><geom size="1"/></default>'
        "</default>",
    ),
    "bounds": moving(STATIC, before='<compiler boundmass="1" boundinertia="0.5"/>'),
    "with discarded geoms": moving(
        STATIC.replace('name="gs"', f'name="gs" {LOOKS}'), before='<compiler discardvisual="true"/>'
    ),
    "sites move along": moving(
        STATIC,
        after='<tendon><spatial stiffness="3"><site site="ss"/><site site="sm"/></spatial></tendon>',
    ),
    "replicated": world(
        '<replicate count="3" offset="1 0 0"><body name="q" pos="0 0 1"><freejoint/><geom size="0.1"/>'
        '<body pos="0 0 1"><geom size="0.2"/></body></body></replicate>'
    ),
}


@pytest.mark.parametrize("name", FUSE)
def test_fusestatic(name: str) -> None:
    text = FUSE[name].replace("<mujoco>", '<mujoco><compiler fusestatic="true"/>')
    compare(*load_both(text))


@pytest.mark.parametrize("name", FUSE)
def test_without_fusestatic(name: str) -> None:
    compare(*load_both(FUSE[name]))


# ---- meshes that are not convex ----


def hull_notes(text: str) -> list[str]:
    return [e.note for e in tg.load_string(text).report if "hull" in e.note]


def test_the_volume_that_a_hull_adds() -> None:
    """An L of three unit cubes; its hull is 3.5."""
    text = moving('<geom type="mesh" mesh="m"/>', before=f'<asset>\n<mesh name="m" {ELL}/></asset>')
    (entry,) = [e for e in tg.load_string(text).report if "hull" in e.note]
    assert (entry.kind, entry.line, entry.element) == (tg.ReportKind.APPROXIMATED, 2, "mesh 'm'")
    assert "adds 0.5 m^3 to its 3 m^3 (16.7 %)" in entry.note
    assert "adds 4 m^3 to its 24 m^3" in hull_notes(text.replace('name="m"', 'name="m" scale="2 2 -2"'))[0]


def test_no_hull_is_spoken_of() -> None:
    geom = '<geom type="mesh" mesh="m"/>'
    assert hull_notes(moving(geom, before=f'<asset><mesh name="m" {WEDGE}/></asset>')) == []
    assert hull_notes(moving(geom, before=f'<asset><mesh name="m" {BRICK}/></asset>')) == []
    looks = moving(f'<geom type="mesh" mesh="m" {LOOKS}/>', before=f'<asset><mesh name="m" {ELL}/></asset>')
    assert hull_notes(looks) == []


def test_a_surface_that_is_not_closed() -> None:
    faces = 'face="0 2 1  0 1 3  0 3 2"'
    text = moving(
        '<geom type="mesh" mesh="m" mass="1"/>',
        before=f'<asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1" {faces}/></asset>',
    )
    assert "0.1667 m^3; its surface is not closed" in hull_notes(text)[0]
