"""URDF: one construct a case, against MuJoCo's URDF compiler and against Pinocchio; options, meshes, refusals, report.

Pinocchio keeps every link as a frame, so it judges where merged links are as well. Its free flyer has linear velocity
in body axes: v_pin = S v with S = diag(R^T, 1), and S' v = (-w x R^T v; 0).
"""

from __future__ import annotations

import struct

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import tangere as tg
from support import ROBOTS, error, expected, mujoco_data, mujoco_mass_matrix, mujoco_model

ATLAS = ROBOTS / "atlas"
TOLERANCE = 1e-10
SEEDS = range(8)

needs_robots = pytest.mark.skipif(not ATLAS.is_dir(), reason="no folder with robots")


# ---- how a case is written ----


def inertial(mass=1.0, xyz="0.03 -0.02 0.05", rpy="0.1 0.2 -0.3", moments="0.02 0.03 0.04 0.002 -0.001 0.003"):
    xx, yy, zz, xy, xz, yz = moments.split()
    return (
        f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/></inertial>'
    )


def link(name, inside=None):
    return f'<link name="{name}">{inertial() if inside is None else inside}</link>'


def joint(name, kind, parent, child, inside=""):
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.2 0.5"/>'
        f'<parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


def robot(*parts):
    return f'<robot name="case">{"".join(parts)}</robot>'


def box(size="0.2 0.3 0.4", origin='<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>', name=""):
    return f'<collision{name}>{origin}<geometry><box size="{size}"/></geometry></collision>'


def shape(text, origin='<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'):
    return f"<collision>{origin}<geometry>{text}</geometry></collision>"


AXIS = '<axis xyz="0.3 -1 2"/>'
LIMIT = '<limit lower="-0.7" upper="0.9" effort="30" velocity="2"/>'
ARM = (
    link("base")
    + link("upper")
    + link("lower", inertial(2.0))
    + link("hand", inertial(0.5))
    + joint("grip", "fixed", "lower", "hand")
)
CHAIN = (
    ARM + joint("shoulder", "revolute", "base", "upper", AXIS + LIMIT) + joint("elbow", "continuous", "upper", "lower")
)


def with_joint(kind, inside=AXIS + LIMIT):
    """Base, a link on the joint, and a pendulum on that."""
    return robot(
        link("base"),
        link("a"),
        link("b", inertial(2.0)),
        joint("j", kind, "base", "a", inside),
        joint("k", "continuous", "a", "b"),
    )


def with_compiler(attributes, *parts):
    return robot(f"<mujoco><compiler {attributes}/></mujoco>", *parts)


VISUAL = '<visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual>'
PLAIN = link("w") + joint("j", "revolute", "w", "a", AXIS + LIMIT)
HINGED = PLAIN + joint("f", "fixed", "a", "b") + link("b", inertial(0.3))

# What MuJoCo reads the same way. (PLAIN where mass comes from geoms though there are inertials: MuJoCo then drops the
# mass of a link that it merges and that has no geoms; here merging changes no mass, test_merging_changes_no_mass.)
CASES = {
    "revolute": with_joint("revolute"),
    "continuous": with_joint("continuous", AXIS),
    "prismatic": with_joint("prismatic"),
    "default axis": with_joint("revolute", LIMIT),
    "fixed": with_joint("fixed", ""),
    "planar": with_joint("planar", AXIS),
    "planar about z": with_joint("planar", '<axis xyz="0 0 1"/>'),
    "planar about -z": with_joint("planar", '<axis xyz="0 0 -1"/>'),
    "planar about x": with_joint("planar", ""),
    "spherical": with_joint("spherical", ""),
    "floating": robot(
        link("world", ""),
        link("a"),
        link("b"),
        joint("j", "floating", "world", "a"),
        joint("k", "revolute", "a", "b", LIMIT),
    ),
    "floating behind a fixed root": with_joint("floating", ""),
    "damping and friction": with_joint("revolute", AXIS + LIMIT + '<dynamics damping="0.7" friction="0.3"/>'),
    "damped slide": with_joint("prismatic", LIMIT + '<dynamics damping="5"/>'),
    "damped plane": with_joint("planar", AXIS + '<dynamics damping="0.7" friction="0.3"/>'),
    "damped ball": with_joint("spherical", '<dynamics damping="0.7" friction="0.3"/>'),
    "effort of continuous": with_joint("continuous", '<limit effort="5" velocity="1"/>'),
    "negative effort": with_joint("continuous", '<limit effort="-5" velocity="1"/>'),
    "no effort": with_joint("revolute", '<limit effort="0" velocity="0" lower="-1" upper="2"/>'),
    "lower is upper": with_joint("revolute", '<limit effort="1" velocity="0" lower="0" upper="0"/>'),
    "revolute without limit": with_joint("revolute", AXIS),
    "children in the order of the joints": robot(
        *(link(n, inertial(m)) for n, m in zip("dcba", (1, 2, 3, 4), strict=True)),
        link("base"),
        joint("x", "revolute", "base", "b", LIMIT),
        joint("y", "prismatic", "base", "a", LIMIT),
        joint("z", "continuous", "base", "d"),
        joint("w", "revolute", "b", "c", LIMIT),
    ),
    "merged link with children of its own": robot(
        *(link(n, inertial(m)) for n, m in zip(["base", "a", "b", "c", "b1", "b2", "a1"], range(1, 8), strict=True)),
        joint("ja", "revolute", "base", "a", LIMIT),
        joint("jb", "fixed", "base", "b"),
        joint("jc", "revolute", "base", "c", LIMIT),
        joint("jb1", "continuous", "b", "b1"),
        joint("jb2", "prismatic", "b", "b2", LIMIT),
        joint("ja1", "revolute", "a", "a1", LIMIT),
    ),
    "chain of fixed joints": robot(
        HINGED,
        link("a"),
        link("c", inertial(0.2) + box()),
        link("d", inertial(0.7)),
        joint("g", "fixed", "b", "c"),
        joint("h", "fixed", "c", "d"),
    ),
    "world at the root": robot(
        link("world", ""),
        link("base"),
        link("a"),
        joint("g", "fixed", "world", "base"),
        joint("j", "revolute", "base", "a", AXIS + LIMIT),
    ),
    "world with shapes": robot(link("world", box()), link("a"), joint("j", "revolute", "world", "a", AXIS + LIMIT)),
    "parents after children": robot(joint("j", "revolute", "w", "a", LIMIT), link("a"), link("w")),
    "inertial without origin": robot(
        HINGED,
        link("a", inertial(2).replace('<origin xyz="0.03 -0.02 0.05" rpy="0.1 0.2 -0.3"/>', "")),
    ),
    "inertial at a place only": robot(
        HINGED, link("a", inertial().replace(' rpy="0.1 0.2 -0.3"', "")).replace("0.03 -0.02", "0.3 -0.2")
    ),
    "massless link in between": robot(
        HINGED,
        link("a", ""),
        link("c", inertial(3)),
        joint("g", "fixed", "b", "c"),
        "<link name='d'/>",
        joint("h", "fixed", "c", "d"),
    ),
    "boxes, spheres, cylinders, capsules": robot(
        HINGED,
        link(
            "a",
            inertial()
            + box()
            + shape('<sphere radius="0.2"/>')
            + shape('<cylinder radius="0.1" length="0.6"/>')
            + shape('<capsule radius="0.1" length="0.6"/>', ""),
        ),
    ),
    "shapes of merged links": robot(
        link("w", inertial() + box()),
        joint("j", "revolute", "w", "a", LIMIT),
        link("a", inertial() + box()),
        link("b", inertial() + shape('<sphere radius="0.2"/>')),
        joint("f", "fixed", "a", "b"),
    ),
    "named shapes": robot(HINGED, link("a", inertial() + box(name=' name="one"') + box(name=' name="two"'))),
    "gravity and time step": robot('<mujoco><option gravity="1 2 -3" timestep="0.01"/></mujoco>', HINGED, link("a")),
    "gravity off": robot('<mujoco><option><flag gravity="disable"/></option></mujoco>', HINGED, link("a")),
    "keyframes": robot('<mujoco><size nkey="2"/></mujoco>', HINGED, link("a")),
    "fusestatic": with_compiler('fusestatic="false"', CHAIN),
    "boundmass": with_compiler('boundmass="3" inertiafromgeom="false"', HINGED, link("a")),
    "boundmass of nothing": with_compiler('boundmass="3" boundinertia="0.1"', HINGED, link("a", "")),
    "boundinertia": with_compiler('boundinertia="0.035"', HINGED, link("a")),
    "balanceinertia": with_compiler('balanceinertia="true"', HINGED, link("a", inertial(moments="1 1 5 0 0 0"))),
    "settotalmass": with_compiler('settotalmass="9"', HINGED, link("a")),
    "inertiafromgeom true": with_compiler(
        'inertiafromgeom="true"', PLAIN, link("a", inertial() + box() + shape('<sphere radius="0.2"/>'))
    ),
    "inertiafromgeom auto": with_compiler(
        'inertiafromgeom="auto"', HINGED, link("a", box() + shape('<capsule radius="0.1" length="0.6"/>'))
    ),
    "inertiafromgeom false": with_compiler('inertiafromgeom="false"', HINGED, link("a", inertial() + box())),
    "inertiagrouprange": with_compiler(
        'inertiafromgeom="true" inertiagrouprange="1 2"', PLAIN, link("a", inertial() + box())
    ),
    "angles stay radians": with_compiler('angle="degree" eulerseq="zyx"', CHAIN),
    "materials": robot(
        '<material name="red"><color rgba="1 0 0 1"/></material>',
        HINGED,
        link("a", inertial() + VISUAL + box()),
    ),
    "wild elements": robot(
        '<gazebo reference="a"><kp>1</kp></gazebo>',
        '<transmission name="t"><type>x</type><joint name="j"/></transmission>',
        HINGED,
        link("a"),
    ),
}


def mujoco_twin(text):
    model = mujoco_model(text)
    data = mujoco.MjData(model)
    return model, data


def quat_matrix(quat):
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, np.asarray(quat, float))
    return R.reshape(3, 3)


@pytest.mark.parametrize("name", CASES)
def test_structure_is_that_of_mujoco(name):
    m, mj = tg.load_string(CASES[name]), mujoco_model(CASES[name])
    assert (m.nq, m.nv, m.nbody, m.njoint, m.ngeom, m.nkey) == (mj.nq, mj.nv, mj.nbody, mj.njnt, mj.ngeom, mj.nkey)
    assert m.names("body") == [mj.body(i).name for i in range(mj.nbody)]
    assert m.names("joint") == [mj.joint(i).name for i in range(mj.njnt)]
    assert m.names("geom") == [mj.geom(i).name for i in range(mj.ngeom)]
    assert m.body_parent.tolist() == mj.body_parentid.tolist()
    assert m.geom_body.tolist() == mj.geom_bodyid.tolist()
    assert m.timestep == mj.opt.timestep
    limited = mj.jnt_limited.astype(bool)
    assert m.joint_limited.astype(bool).tolist() == limited.tolist()
    for j in np.flatnonzero(limited):
        assert m.params[f"joint.#{j}.range"] == pytest.approx(mj.jnt_range[j])
    for j in np.flatnonzero(mj.jnt_actfrclimited):
        assert m.params[f"joint.#{j}.force_range"] == pytest.approx(mj.jnt_actfrcrange[j])
    for j in range(m.njoint):
        assert m.params[f"joint.#{j}.frictionloss"] == mj.dof_frictionloss[mj.jnt_dofadr[j]]
    for i in range(m.ngeom):
        used = {tg.GeomType.SPHERE: 1, tg.GeomType.BOX: 3}.get(m.geom_type[i], 2)
        assert m.params[f"geom.#{i}.size"][:used] == pytest.approx(mj.geom_size[i][:used])


@pytest.mark.parametrize("name", CASES)
def test_dynamics_is_that_of_mujoco(name):
    m, mj = tg.load_string(CASES[name]), mujoco_model(CASES[name])
    assert m.params["body.*.mass"] == pytest.approx(mj.body_mass[1:], rel=1e-12)
    for seed in SEEDS:
        q, v = m.random_state(seed)
        data = mujoco_data(mj, q, v)
        pos, quat = m.body_poses(q)
        assert error(pos, data.xpos, 1) < TOLERANCE
        assert error([quat_matrix(x) for x in quat], data.xmat.reshape(-1, 3, 3)) < TOLERANCE
        if m.ngeom > 0:
            pos, quat = m.geom_poses(q)
            assert error(pos, data.geom_xpos, 1) < TOLERANCE
            assert error([quat_matrix(x) for x in quat], data.geom_xmat.reshape(-1, 3, 3)) < TOLERANCE
        assert error(m.mass_matrix(q), mujoco_mass_matrix(mj, data)) < TOLERANCE
        assert error(m.bias(q, v), data.qfrc_bias, 1) < TOLERANCE
        assert error(m.passive(q, v), data.qfrc_passive, 1) < TOLERANCE


# ---- Pinocchio ----


class PinocchioTwin:
    """The same text in Pinocchio; states move over by joint names."""

    def __init__(self, m, text, floating_base=False):
        self.m = m
        self.pin = (
            pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if floating_base else pin.buildModelFromXML(text)
        )
        self.data = self.pin.createData()
        self.names = {name: j for j, name in enumerate(m.names("joint"))}
        self.S = np.zeros((self.pin.nv, m.nv))

    def state(self, q, v):
        """q and v of Pinocchio, S, and S' v."""
        q_pin, rate = pin.neutral(self.pin), np.zeros(self.pin.nv)
        S = np.zeros((self.pin.nv, self.m.nv))
        for j in range(1, self.pin.njoints):
            name, part = self.pin.names[j], self.pin.joints[j]
            i, k = part.idx_q, part.idx_v
            name = name if name in self.names else f"{self.m.names('body')[1]}_free_joint"
            ours = self.names[name]
            x, d = self.m.joint_q[ours], self.m.joint_dof[ours]
            if self.m.joint_type[ours] == tg.JointType.FREE:
                T = self.m.integrate(self.m.default_q(), np.zeros(self.m.nv))[x : x + 7]
                R0, p0 = quat_matrix(T[3:]), T[:3]
                place = self.pin.jointPlacements[j]
                assert np.allclose(place.translation, p0)
                assert np.allclose(place.rotation, R0)
                R = quat_matrix(q[x + 3 : x + 7])
                pose = place.inverse() * pin.SE3(R, q[x : x + 3])
                q_pin[i : i + 7] = pin.SE3ToXYZQUAT(pose)
                S[k : k + 3, d : d + 3], S[k + 3 : k + 6, d + 3 : d + 6] = R.T, np.eye(3)
                rate[k : k + 3] = -np.cross(v[d + 3 : d + 6], R.T @ v[d : d + 3])
            elif part.nq == 2:
                q_pin[i : i + 2] = np.cos(q[x]), np.sin(q[x])
                S[k, d] = 1
            else:
                q_pin[i], S[k, d] = q[x], 1
        return q_pin, S @ v, S, rate

    def check(self, seeds=SEEDS):
        m, sites = self.m, self.m.names("site")
        bodies = m.names("body")
        gravity = np.array(m.params["gravity"])
        self.pin.gravity.linear = gravity
        for seed in seeds:
            q, v = m.random_state(seed)
            q_pin, v_pin, S, rate = self.state(q, v)
            pin.framesForwardKinematics(self.pin, self.data, q_pin)
            seen = 0
            for frame, pose in zip(self.pin.frames, self.data.oMf, strict=True):
                if frame.type != pin.FrameType.BODY or frame.name == "world":
                    continue
                pos, quat = m.body_pose(frame.name, q) if frame.name in bodies else m.site_pose(frame.name, q)
                assert frame.name in bodies or frame.name in sites
                assert error(pos, pose.translation, 1) < TOLERANCE
                assert error(quat_matrix(quat), pose.rotation) < TOLERANCE
                seen += 1
            assert seen == len(sites) + len(bodies) - 1
            M = pin.crba(self.pin, self.data, q_pin)
            M = np.triu(M) + np.triu(M, 1).T
            bias = pin.rnea(self.pin, self.data, q_pin, v_pin, rate)
            assert error(m.mass_matrix(q), S.T @ M @ S) < TOLERANCE
            assert error(m.bias(q, v), S.T @ bias, 1) < TOLERANCE


PINOCCHIO = [
    "revolute",
    "prismatic",
    "fixed",
    "children in the order of the joints",
    "merged link with children of its own",
    "chain of fixed joints",
    "inertial without origin",
    "massless link in between",
    "damping and friction",
    "boxes, spheres, cylinders, capsules",
    "wild elements",
    "shapes of merged links",
    "floating",
    "world at the root",
]


ROOT_IS_WORLD = ("floating", "world at the root")  # nothing there to give a free joint to


@pytest.mark.parametrize("keep_fixed", [False, True])
@pytest.mark.parametrize(
    ("name", "floating_base"),
    [(name, floating) for name in PINOCCHIO for floating in (False, True) if not (floating and name in ROOT_IS_WORLD)],
)
def test_pinocchio(name, keep_fixed, floating_base):
    text = CASES[name].replace("capsule radius", "cylinder radius")
    m = tg.load_string(text, keep_fixed=keep_fixed, floating_base=floating_base)
    assert (m.nsite > 0) != keep_fixed or "fixed" not in text
    PinocchioTwin(m, text, floating_base).check()


@pytest.mark.parametrize("name", ["continuous", "effort of continuous", "fusestatic"])
def test_pinocchio_continuous(name):
    text = CASES[name]
    PinocchioTwin(tg.load_string(text), text).check()


def test_pinocchio_planar():
    """Pinocchio's planar joint moves in x and y and turns about z, whatever the axis; velocities in the moved frame."""
    text = robot(link("base"), link("a"), joint("j", "planar", "base", "a", '<axis xyz="0 0 1"/>'))
    m = tg.load_string(text)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    for seed in SEEDS:
        q, v = m.random_state(seed)
        c, s = np.cos(q[2]), np.sin(q[2])
        R = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        rate = np.array([-s * v[0] + c * v[1], -c * v[0] - s * v[1], 0]) * v[2]
        q_pin = np.array([q[0], q[1], c, s])
        M = pin.crba(model, data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.rnea(model, data, q_pin, R @ v, rate)
        assert error(m.mass_matrix(q), R.T @ M @ R) < TOLERANCE
        assert error(m.bias(q, v), R.T @ bias) < TOLERANCE


# ---- Atlas ----


@needs_robots
@pytest.mark.parametrize("name", ["atlas_relative.urdf", "atlas_floating.urdf"])
def test_atlas_against_mujoco(name):
    m, e, mj = tg.load(ATLAS / name), expected()[f"atlas/{name}"], mujoco_model(ATLAS / name)
    keys = ("nq", "nv", "nu", "na", "nbody", "ngeom", "nmesh", "nexclude", "npair")
    assert {key: getattr(m, key) for key in keys} == {key: e[key] for key in keys}
    assert m.mass == pytest.approx(e["total_mass"], rel=1e-11)
    assert m.names("body") == [mj.body(i).name for i in range(mj.nbody)]
    assert m.names("joint") == [mj.joint(i).name for i in range(mj.njnt)]
    assert m.names("mesh") == [mj.mesh(i).name for i in range(mj.nmesh)]
    for seed in range(20):
        q, v = m.random_state(seed)
        data = mujoco_data(mj, q, v)
        assert error(m.body_poses(q)[0], data.xpos) < TOLERANCE
        assert error(m.mass_matrix(q), mujoco_mass_matrix(mj, data)) < TOLERANCE
        assert error(m.bias(q, v), data.qfrc_bias) < TOLERANCE
        assert error(m.passive(q, v), data.qfrc_passive, 1) < TOLERANCE


@needs_robots
@pytest.mark.parametrize("name", ["convex_hull", "minimal_contact", "relative"])
@pytest.mark.parametrize("keep_fixed", [False, True])
@pytest.mark.parametrize("floating_base", [False, True])
def test_atlas_against_pinocchio(name, keep_fixed, floating_base):
    path = ATLAS / f"atlas_{name}.urdf"
    m = tg.load(path, keep_fixed=keep_fixed, floating_base=floating_base)
    PinocchioTwin(m, path.read_text(), floating_base).check(range(3))
    if floating_base or keep_fixed:
        assert m.mass == pytest.approx(175.117964, rel=1e-9)


@needs_robots
def test_atlas_in_its_package(tmp_path):
    (tmp_path / "Atlas").mkdir()
    (tmp_path / "Atlas" / "urdf").symlink_to(ATLAS)
    m = tg.load(ATLAS / "atlas_convex_hull.urdf", package_path=[tmp_path], floating_base=True)
    assert (m.nmesh, m.ngeom) == (21, 42)
    radius = np.array([m.params[f"geom.#{i}.size"][0] for i in range(m.ngeom) if m.geom_type[i] == tg.GeomType.SPHERE])
    assert len(radius) == 12
    assert (radius == 0).all()
    assert not [entry for entry in m.report if "no package" in entry.note]
    loose = tg.load(ATLAS / "atlas_convex_hull.urdf", floating_base=True)
    assert loose.nmesh == 21
    assert [entry for entry in loose.report if "no package 'Atlas'" in entry.note]


# ---- fixed joints, the base ----


def test_merged_links_are_sites():
    m = tg.load_string(robot(CHAIN))
    assert m.names("body") == ["world", "upper", "lower"]
    assert sorted(m.names("site")) == ["base", "hand"]
    kept = tg.load_string(robot(CHAIN), keep_fixed=True)
    assert kept.names("body") == ["world", "base", "upper", "lower", "hand"]
    assert kept.nsite == 0
    q, _v = m.random_state(1)
    assert error(m.mass_matrix(q), kept.mass_matrix(q)) < TOLERANCE
    assert m.site_pose("hand", q)[0] == pytest.approx(kept.body_pose("hand", q)[0])
    assert kept.mass == pytest.approx(m.mass + 1)


@pytest.mark.parametrize("rule", ["true", "auto", "false"])
def test_merging_changes_no_mass(rule):
    text = with_compiler(f'inertiafromgeom="{rule}"', HINGED, link("a", inertial() + box()))
    m, kept = tg.load_string(text), tg.load_string(text, keep_fixed=True)
    for seed in SEEDS:
        q, _ = m.random_state(seed)
        assert error(m.mass_matrix(q), kept.mass_matrix(q)) < TOLERANCE


def test_floating_base():
    m = tg.load_string(robot(CHAIN), floating_base=True)
    assert m.names("joint") == ["base_free_joint", "shoulder", "elbow"]
    assert m.names("body") == ["world", "base", "upper", "lower"]
    assert m.mass == pytest.approx(4.5)


def test_floating_base_on_a_world_link():
    text = CASES["world at the root"]
    m = tg.load_string(text, floating_base=True)
    assert m.names("body") == ["world", "base", "a"]
    assert m.nq == 8
    assert m.default_q()[:3] == pytest.approx([0.1, -0.2, 0.3])
    assert any("takes the place of this fixed" in entry.note for entry in m.report)
    assert tg.load_string(CASES["floating"], floating_base=True).nq == 8
    with pytest.raises(tg.Error, match=r"<string>:1: link 'world': floating_base: the root link is the world"):
        tg.load_string(CASES["world with shapes"], floating_base=True)


def test_root_is_noted_to_be_fixed():
    m = tg.load_string(robot(CHAIN))
    assert [entry.element for entry in m.report if "floating_base frees it" in entry.note] == ["link 'base'"]


# ---- limits, mimic ----


def test_a_missing_bound_is_zero():
    m = tg.load_string(with_joint("revolute", '<limit upper="1" effort="1" velocity="1"/>'))
    assert m.joint_limited[0]
    assert m.params["joint.j.range"] == pytest.approx([0, 1])
    m = tg.load_string(with_joint("prismatic", '<limit lower="-2" effort="1" velocity="1"/>'))
    assert m.params["joint.j.range"] == pytest.approx([-2, 0])


def test_continuous_has_no_bounds():
    m = tg.load_string(with_joint("continuous", LIMIT))
    assert not m.joint_limited[0]
    assert any("of this type has no bounds" in entry.note for entry in m.report)


MIMICS = robot(
    *(link(n) for n in ["base", "a", "b", "c", "d"]),
    joint("j", "revolute", "base", "a", LIMIT),
    joint("k", "revolute", "base", "b", LIMIT + '<mimic joint="j" multiplier="-2" offset="0.3"/>'),
    joint("l", "prismatic", "b", "c", LIMIT + '<mimic joint="k"/>'),
    joint("x", "fixed", "base", "d"),
)


def test_mimic_is_an_equality():
    m = tg.load_string(MIMICS)
    assert m.names("equality") == ["k", "l"]
    assert m.params["equality.k.data"] == pytest.approx([0.3, -2] + [0] * 9)
    assert m.params["equality.l.data"] == pytest.approx([0, 1] + [0] * 9)
    fixed = tg.load_string(MIMICS.replace('mimic joint="j"', 'mimic joint="x"'))
    assert fixed.params["equality.k.data"] == pytest.approx([0.3, 0] + [0] * 9)


# ---- meshes ----

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def stl():
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *TETRAHEDRON[list(f)].ravel(), 0) for f in FACES)
    return bytes(80) + struct.pack("<I", len(FACES)) + triangles


def meshed(*filenames, scale="", compiler='inertiafromgeom="true"'):
    shapes = "".join(f'<collision><geometry><mesh filename="{f}" {scale}/></geometry></collision>' for f in filenames)
    return with_compiler(compiler, PLAIN, link("a", inertial() + shapes))


@pytest.fixture
def package(tmp_path):
    """pkg/{urdf, meshes}: a package as they are."""
    for folder in ("ws/pkg/urdf", "ws/pkg/meshes/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/pkg/meshes/t.stl").write_bytes(stl())
    (tmp_path / "ws/pkg/meshes/deep/t.STL").write_bytes(stl())
    return tmp_path / "ws" / "pkg"


def write(folder, text, name="r.urdf"):
    (folder / name).write_text(text)
    return folder / name


def test_meshes_of_packages(package, monkeypatch, tmp_path):
    text = meshed("package://pkg/meshes/t.stl")
    inside = write(package / "urdf", text)
    assert tg.load(inside).nmesh == 1  # in the folders above the file
    monkeypatch.chdir(package / "urdf")
    assert tg.load("r.urdf").nmesh == 1
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outside = write(elsewhere, text)
    with pytest.raises(OSError, match="there is no such file; give the folder of the package"):
        tg.load(outside)
    assert tg.load(outside, missing_meshes="ignore").nmesh == 0
    for path in (package.parent, [package.parent], [tmp_path, str(package) + "/"]):
        assert tg.load(outside, package_path=path).nmesh == 1
    for variable in ("TANGERE_PACKAGE_PATH", "ROS_PACKAGE_PATH"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, f"/nowhere::{package.parent}:{tmp_path}")
            assert tg.load(outside).nmesh == 1
    with monkeypatch.context() as patch:
        patch.setenv("ROS_PACKAGE_PATH", str(package))
        assert tg.load(write(elsewhere, text.replace("package://", "model://"))).nmesh == 1


def test_relative_and_absolute_paths(package):
    folder = package / "urdf"
    for name in ("../meshes/t.stl", package / "meshes/t.stl", f"file://{package}/meshes/t.stl"):
        assert tg.load(write(folder, meshed(name))).nmesh == 1
    assert tg.load_string(meshed("meshes/t.stl"), dir=package).nmesh == 1
    assert tg.load_string(meshed("meshes/t.stl"), package_path=package).nmesh == 1


def test_meshdir_and_strippath(package):
    settings = 'inertiafromgeom="true" meshdir="../meshes" strippath="true"'
    assert tg.load(write(package / "urdf", meshed("anywhere/t.stl", compiler=settings))).nmesh == 1
    settings = 'inertiafromgeom="true" meshdir="../meshes"'
    assert tg.load(write(package / "urdf", meshed("deep/t.STL", compiler=settings))).nmesh == 1


def test_one_mesh_a_file_and_scale(package):
    m = tg.load(write(package, meshed("meshes/t.stl", "meshes/t.stl", "meshes/deep/t.STL")))
    assert m.names("mesh") == ["t", "t1"]
    assert m.geom_mesh.tolist() == [0, 0, 1]


@pytest.mark.parametrize("scale", ["1 1 1", "2 3 0.5", "-1 1 1", "0.5 -2 -1", "-1 -1 -1"])
def test_scale(package, scale):
    path = write(package, meshed("meshes/t.stl", scale=f'scale="{scale}"'))
    m, mj = tg.load(path), mujoco_model(path)
    # a tetrahedron, about its centre: sum of x x^T over the corners, volume / 20
    corners = TETRAHEDRON.astype(float) * [float(x) for x in scale.split()]
    volume = abs(np.linalg.det(corners[1:] - corners[0])) / 6
    second = 1000 * volume / 20 * sum(np.outer(x, x) for x in corners - corners.mean(0))
    inertia = np.trace(second) * np.eye(3) - second
    assert m.params["body.a.mass"] == pytest.approx(1000 * volume, rel=1e-14)
    assert error(m.params["body.a.com"], corners.mean(0)) < 1e-14
    assert error(m.params["body.a.inertia"], inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]) < 1e-14
    for seed in SEEDS:
        q, v = m.random_state(seed)
        data = mujoco_data(mj, q, v)
        # MuJoCo finds the axes of a mesh to 1e-8
        assert error(m.mass_matrix(q), mujoco_mass_matrix(mj, data)) < 1e-8
        assert error(m.bias(q, v), data.qfrc_bias) < 1e-8


def test_missing_meshes(package):
    missing = meshed("package://other/meshes/t2.stl", "nowhere.obj", "meshes/t.dae")
    with pytest.raises(OSError, match=r"t2\.stl.*missing_meshes=\"ignore\""):
        tg.load(write(package, missing))
    with pytest.raises(tg.Error, match=r"t\.dae.*only STL, OBJ and MSH.*missing_meshes"):
        tg.load(write(package, meshed("meshes/t.dae")))
    with pytest.warns(tg.ModelWarning, match=r"r\.urdf: physics that is left out: 3, the first is mesh filename"):
        m = tg.load(write(package, missing), missing_meshes="ignore")
    ignored = [entry for entry in m.report if entry.kind == tg.ReportKind.IGNORED_PHYSICS]
    assert (m.ngeom, len(ignored)) == (0, 3)
    assert "give the folder of the package as package_path" in ignored[0].note
    assert f"{package}/other/meshes/t2.stl" in ignored[0].note
    assert "nowhere.obj" in ignored[1].note
    assert "only STL, OBJ and MSH" in ignored[2].note
    with pytest.raises(OSError, match=r"r\.urdf:1: mesh: filename=.*looked for .*other/meshes/t2\.stl"):
        tg.load(package / "r.urdf", strict=True)
    with pytest.raises(tg.Error, match="ignored physics"):
        tg.load(package / "r.urdf", strict=True, missing_meshes="ignore")
    with pytest.raises(ValueError, match="missing_meshes: expected 'error' or 'ignore', got 'warn'"):
        tg.load(package / "r.urdf", missing_meshes="warn")
    looks = robot(
        HINGED, link("a", inertial() + '<visual><geometry><mesh filename="package://no/no.dae"/></geometry></visual>')
    )
    assert tg.load_string(looks, strict=True).ngeom == 0


def test_broken_mesh_is_refused(package):
    (package / "meshes/t.stl").write_bytes(stl()[:100])
    with pytest.raises(tg.Error, match=r"r\.urdf:1: mesh"):
        tg.load(write(package, meshed("meshes/t.stl")))


# ---- SRDF ----


def srdf(tmp_path, *pairs):
    lines = "".join(f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>' for a, b in pairs)
    return write(tmp_path, f'<robot name="case"><group name="g"/>{lines}</robot>', "r.srdf")


SHAPED = robot(
    *(link(n, inertial() + box()) for n in ["base", "a", "b", "c", "tool"]),
    joint("j", "revolute", "base", "a", LIMIT),
    joint("k", "revolute", "a", "b", LIMIT),
    joint("l", "revolute", "b", "c", LIMIT),
    joint("f", "fixed", "c", "tool"),
)


def test_srdf_excludes(tmp_path):
    m = tg.load_string(SHAPED, srdf=srdf(tmp_path, ("a", "c"), ("tool", "a"), ("c", "a"), ("c", "tool"), ("no", "a")))
    assert (m.nexclude, m.npair) == (1, 0)
    assert any("there is no such link" in entry.note and entry.file.endswith("r.srdf") for entry in m.report)
    kept = tg.load_string(SHAPED, keep_fixed=True, srdf=srdf(tmp_path, ("a", "c"), ("tool", "a"), ("c", "tool")))
    assert (kept.nexclude, kept.npair) == (3, 0)


def test_srdf_excludes_links_of_a_merged_body(tmp_path):
    """Only a and tool are disabled: c, merged with tool, still meets a."""
    m = tg.load_string(SHAPED, srdf=srdf(tmp_path, ("a", "tool")))
    assert (m.nexclude, m.npair) == (1, 1)
    # neighbours do not meet anyway
    m = tg.load_string(SHAPED, srdf=srdf(tmp_path, ("b", "tool")))
    assert (m.nexclude, m.npair) == (1, 0)


def test_srdf_that_is_none(tmp_path):
    with pytest.raises(OSError, match="cannot be opened"):
        tg.load_string(SHAPED, srdf=tmp_path / "nowhere.srdf")
    with pytest.raises(tg.Error, match=r"r\.srdf:1: .*root element of an SRDF"):
        tg.load_string(SHAPED, srdf=write(tmp_path, "<semantic/>", "r.srdf"))
    with pytest.raises(tg.Error, match=r"r\.srdf:1: disable_collisions: attribute 'link2' is missing"):
        tg.load_string(SHAPED, srdf=write(tmp_path, '<robot><disable_collisions link1="a"/></robot>', "r.srdf"))


# ---- what is not there ----


def test_weightless_by_urdf():
    text = robot(HINGED, link("a", box()))
    m = tg.load_string(text)
    assert m.mass == pytest.approx(0.3)
    assert any("by URDF it weighs nothing" in entry.note for entry in m.report)
    assert tg.load_string(with_compiler('inertiafromgeom="auto"', HINGED, link("a", box()))).mass == pytest.approx(24.3)


UNKNOWN = {
    "element": ("<self_collision_checking/>", "unknown element"),
    "shape": (shape("<cone radius='1'/>"), "unknown element"),
    "attribute": ('<collision mu="1"><geometry><sphere radius="1"/></geometry></collision>', "unknown attribute"),
    "bullet": ('<contact><lateral_friction value="0.5"/></contact>', "friction stays"),
    "empty box": (box("0 1 1"), "a shape of size 0"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_is_reported_and_refused_when_strict(name):
    inside, note = UNKNOWN[name]
    text = robot(HINGED, "\n", link("a", inertial() + "\n" + inside))
    entries = [entry for entry in tg.load_string(text).report if entry.kind == tg.ReportKind.IGNORED_PHYSICS]
    assert len(entries) == 1
    assert note in entries[0].note
    assert entries[0].line == 3
    with pytest.raises(tg.Error, match=rf"<string>:3: .*ignored physics: .*{note}"):
        tg.load_string(text, strict=True)


def test_friction_of_gazebo_is_told():
    text = robot('<gazebo reference="a"><mu1>0.2</mu1></gazebo>', HINGED, link("a"))
    assert any(e.element == "mu1" and e.kind == tg.ReportKind.IGNORED_PHYSICS for e in tg.load_string(text).report)


REFUSALS = {
    "no link": (robot(), "robot 'case': there is no link"),
    "unknown type": (with_joint("ball"), "joint 'j': attribute 'type'=\"ball\": a joint is revolute"),
    "no type": (with_joint("revolute").replace(' type="revolute"', ""), "joint 'j': attribute 'type' is missing"),
    "no name": (robot(link("a").replace(' name="a"', "")), "link: attribute 'name' is missing"),
    "unknown parent": (robot(link("a"), joint("j", "fixed", "no", "a")), "joint 'j': parent: there is no link \"no\""),
    "unknown child": (robot(link("a"), joint("j", "fixed", "a", "no")), "joint 'j': child: there is no link \"no\""),
    "no parent": (
        with_joint("revolute").replace('<parent link="base"/>', ""),
        "joint 'j': element 'parent' is missing",
    ),
    "two roots": (robot(link("a"), link("b")), "link 'b': a second root"),
    "cycle": (
        robot(link("a"), link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
        "link 'a': every link has a parent",
    ),
    "cycle beside a root": (
        robot(link("r"), link("a"), link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
        "joint 'k': link \"a\" is in a cycle",
    ),
    "own parent": (robot(link("a"), joint("j", "fixed", "a", "a")), "joint 'j': link \"a\" is its own parent"),
    "two parents": (
        robot(link("a"), link("b"), link("c"), joint("j", "fixed", "a", "c"), joint("k", "fixed", "b", "c")),
        "joint 'k': link \"c\" has two parents; the other joint is 'j'",
    ),
    "link twice": (robot(link("a"), link("a")), "link 'a': name is used twice"),
    "joint twice": (
        robot(link("a"), link("b"), link("c"), joint("j", "fixed", "a", "b"), joint("j", "fixed", "a", "c")),
        "joint 'j': name is used twice",
    ),
    "inverted limits": (
        with_joint("revolute", '<limit lower="1" upper="-1"/>'),
        "joint 'j': limit: lower = 1 is above upper = -1",
    ),
    "zero axis": (with_joint("prismatic", '<axis xyz="0 0 0"/>'), "joint 'j': axis: is zero"),
    "words for numbers": (
        with_joint("revolute", '<axis xyz="a b c"/>'),
        "axis: attribute 'xyz'=\"a b c\": a number is expected",
    ),
    "two numbers": (with_joint("revolute", '<axis xyz="0 1"/>'), "axis: attribute 'xyz'=\"0 1\" has 2 of 3 numbers"),
    "NaN": (robot(HINGED, link("a", inertial("nan"))), "mass: attribute 'value': numbers must be finite"),
    "negative mass": (robot(HINGED, link("a", inertial("-1"))), "inertial: mass must not be negative, got -1"),
    "no mass": (robot(HINGED, link("a", "<inertial><inertia/></inertial>")), "inertial: element 'mass' is missing"),
    "no inertia": (
        robot(HINGED, link("a", '<inertial><mass value="1"/></inertial>')),
        "inertial: element 'inertia' is missing",
    ),
    "negative moments": (
        robot(HINGED, link("a", inertial(moments="1 1 -1 0 0 0"))),
        "moments of inertia must not be negative",
    ),
    "unbalanced moments": (
        robot(HINGED, link("a", inertial(moments="1 1 5 0 0 0"))),
        'balanceinertia="true" would mend that',
    ),
    "two inertials": (robot(HINGED, link("a", inertial() * 2)), "inertial: only one 'inertial' is allowed here"),
    "negative radius": (
        robot(HINGED, link("a", inertial() + shape('<sphere radius="-1"/>'))),
        "sphere: sizes must not be negative, got -1",
    ),
    "no radius": (robot(HINGED, link("a", inertial() + shape("<sphere/>"))), "sphere: attribute 'radius' is missing"),
    "no geometry": (robot(HINGED, link("a", inertial() + "<collision/>")), "link 'a': collision without a shape"),
    "empty geometry": (
        robot(HINGED, link("a", inertial() + shape(""))),
        "collision without a shape: element 'geometry' is empty",
    ),
    "massless moving link": (
        robot(link("w"), link("a", ""), joint("j", "revolute", "w", "a", LIMIT)),
        "link 'a': joint 'j' moves this link, but it and all that hangs on it weigh nothing: give it an inertial",
    ),
    "mimic of nobody": (
        MIMICS.replace('mimic joint="j"', 'mimic joint="no"'),
        "joint 'k': mimic: there is no joint \"no\"",
    ),
    "mimic of itself": (
        MIMICS.replace('mimic joint="j"', 'mimic joint="k"'),
        "joint 'k': mimic: the joint follows itself",
    ),
    "ring of mimics": (MIMICS.replace('mimic joint="j"', 'mimic joint="l"'), "mimic: the joint follows itself"),
    "mimic of a plane": (
        MIMICS.replace('"j" type="revolute"', '"j" type="planar"'),
        "joint 'k': mimic: joint \"j\" has more than one degree",
    ),
    "mimicking plane": (
        MIMICS.replace('"k" type="revolute"', '"k" type="planar"'),
        "joint 'k': mimic: only a revolute",
    ),
    "floating on a moving link": (
        robot(CHAIN, link("x"), joint("y", "floating", "upper", "x")),
        "joint 'y': a floating joint on link 'upper', which moves",
    ),
    "world that is not the root": (
        robot(link("a"), link("world"), joint("j", "fixed", "a", "world")),
        "link 'world': only the root link can be the world",
    ),
    "negative damping": (with_joint("revolute", '<dynamics damping="-1"/>'), "joint.j.damping"),
    "xacro": (
        robot("<xacro:macro name='m'/>", link("a")).replace("<robot", "<robot xmlns:xacro='x'"),
        "xacro:macro 'm': this file is a xacro",
    ),
    "unknown word": (
        with_compiler('fusestatic="maybe"', CHAIN),
        "compiler: attribute 'fusestatic': unknown word \"maybe\"",
    ),
    "zero scale": (meshed("t.stl", scale='scale="0 1 1"'), "attribute 'scale': number 1 is zero"),
    "two compilers": (
        robot("<mujoco><compiler/><compiler/></mujoco>", CHAIN),
        "compiler: only one 'compiler' is allowed",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("strict", [False, True])
def test_refusals(name, strict, tmp_path):
    text, message = REFUSALS[name]
    (tmp_path / "t.stl").write_bytes(stl())
    with pytest.raises(tg.Error) as refused:
        tg.load_string(text, dir=tmp_path, strict=strict)
    assert message in str(refused.value)
    assert str(refused.value).startswith("<string>:1: ")


def test_strict_takes_a_plain_robot():
    m = tg.load_string(MIMICS, strict=True)
    assert {entry.kind for entry in m.report} <= {tg.ReportKind.HONOURED, tg.ReportKind.NOTED}


def test_counted_lines_name_the_first_place():
    m = tg.load_string(robot("\n", CHAIN.replace("<joint", "\n<joint")))
    (entry,) = [e for e in m.report if e.element == "joint" and e.attribute == "type"]
    assert (entry.kind, entry.line, entry.note) == (tg.ReportKind.HONOURED, 3, "3 in all")
