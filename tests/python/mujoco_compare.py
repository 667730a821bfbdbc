"""Everything that a model of ours and one of MuJoCo keep, compared."""

from __future__ import annotations

import mujoco
import numpy as np
import tangere as tg
from support import error, mujoco_data, mujoco_mass_matrix

KINDS = {
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "equality": mujoco.mjtObj.mjOBJ_EQUALITY,
    "pair": mujoco.mjtObj.mjOBJ_PAIR,
    "exclude": mujoco.mjtObj.mjOBJ_EXCLUDE,
    "key": mujoco.mjtObj.mjOBJ_KEY,
    "mesh": mujoco.mjtObj.mjOBJ_MESH,
    "hfield": mujoco.mjtObj.mjOBJ_HFIELD,
}
SIZES = {
    "nq": "nq", "nv": "nv", "nu": "nu", "na": "na", "nbody": "nbody", "njoint": "njnt", "ngeom": "ngeom",
    "nsite": "nsite", "ntendon": "ntendon", "nequality": "neq", "npair": "npair", "nexclude": "nexclude",
    "nkey": "nkey", "nmesh": "nmesh", "nhfield": "nhfield",
}  # fmt: skip
# MuJoCo finds the principal axes of a mesh to about 1e-8
MESH_TOLERANCE = 1e-7
MESH, HFIELD = int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_HFIELD)


def table(m: tg.Model, field: str, count: int) -> np.ndarray:
    """A field of all elements of a kind: one row an element."""
    kind, name = field.split(".")
    rows = [s for s in m.param_slices() if s.name.startswith(kind + ".") and s.name.endswith("." + name)]
    values = np.asarray(m.params)
    out = np.array([values[s.offset : s.offset + s.size] for s in rows])
    assert len(out) == count
    return out


def same_sign(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quaternions a, each with the sign that b has."""
    return a * np.where((a * b).sum(-1, keepdims=True) < 0, -1, 1)


def body_inertias(mj: mujoco.MjModel) -> np.ndarray:
    """xx yy zz xy xz yz about the centre of mass, axes of the body."""
    out = []
    for quat, moments in zip(mj.body_iquat, mj.body_inertia, strict=True):
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, quat)
        full = R.reshape(3, 3) @ np.diag(moments) @ R.reshape(3, 3).T
        out.append(full[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    return np.array(out)


def check(name: str, actual, wanted, tolerance: float = 1e-12, floor: float = 1e-3) -> None:
    actual, wanted = np.asarray(actual, float), np.asarray(wanted, float)
    assert actual.shape == wanted.shape, name
    assert error(actual, wanted, floor) <= tolerance, f"{name}: {actual} instead of {wanted}"


def compare_bodies(m: tg.Model, mj: mujoco.MjModel) -> None:
    check("mass", table(m, "body.mass", mj.nbody)[1:, 0], mj.body_mass[1:])
    check("pos", table(m, "body.pos", mj.nbody), mj.body_pos)
    check("quat", same_sign(table(m, "body.quat", mj.nbody), mj.body_quat), mj.body_quat)
    massive = mj.body_mass > 0
    massive[0] = False
    check("com", table(m, "body.com", mj.nbody)[massive], mj.body_ipos[massive])
    tolerance = MESH_TOLERANCE if mj.nmesh else 1e-10
    check("inertia", table(m, "body.inertia", mj.nbody)[1:], body_inertias(mj)[1:], tolerance, floor=1e-6)


def compare_joints(m: tg.Model, mj: mujoco.MjModel) -> None:
    n, dof, q = mj.njnt, mj.jnt_dofadr, mj.jnt_qposadr
    free = mj.jnt_type == 0
    scalar = mj.jnt_type >= 2
    assert [int(t) for t in m.joint_type] == [int(t) for t in mj.jnt_type]
    assert [bool(x) for x in m.joint_limited] == [bool(x) for x in mj.jnt_limited]
    check("pos", table(m, "joint.pos", n)[~free], mj.jnt_pos[~free])
    check("axis", table(m, "joint.axis", n)[scalar], mj.jnt_axis[scalar])
    check("ref", table(m, "joint.ref", n)[scalar, 0], mj.qpos0[q[scalar]])
    check("springref", table(m, "joint.springref", n)[scalar, 0], mj.qpos_spring[q[scalar]])
    check("stiffness", table(m, "joint.stiffness", n)[:, 0], mj.jnt_stiffness, 1e-9)
    check("frictionloss", table(m, "joint.frictionloss", n)[:, 0], mj.dof_frictionloss[dof])
    check("range", table(m, "joint.range", n), mj.jnt_range)
    check("margin", table(m, "joint.margin", n)[:, 0], mj.jnt_margin)
    check("force_range", table(m, "joint.force_range", n), mj.jnt_actfrcrange)


def compare_geoms(m: tg.Model, mj: mujoco.MjModel) -> None:
    n = mj.ngeom
    plain = (mj.geom_type != MESH) & (mj.geom_type != HFIELD)
    for field in ("type", "contype", "conaffinity", "condim", "priority", "group"):
        assert list(getattr(m, f"geom_{field}")) == list(getattr(mj, f"geom_{field}")), field
    assert list(m.geom_body) == list(mj.geom_bodyid)
    check("friction", table(m, "geom.friction", n), mj.geom_friction)
    check("margin", table(m, "geom.margin", n)[:, 0], mj.geom_margin)
    pos, quat = table(m, "geom.pos", n), table(m, "geom.quat", n)
    check("pos", pos[plain], mj.geom_pos[plain])
    check("quat", same_sign(quat, mj.geom_quat)[plain], mj.geom_quat[plain])
    check("size", table(m, "geom.size", n)[plain], mj.geom_size[plain])
    for i in np.flatnonzero(mj.geom_type == MESH):  # MuJoCo moves a mesh to its centre of mass
        R, mesh = np.zeros(9), mj.geom_dataid[i]
        mujoco.mju_quat2Mat(R, quat[i])
        check("mesh pos", pos[i] + R.reshape(3, 3) @ mj.mesh_pos[mesh], mj.geom_pos[i], 1e-9)


def compare_actuators(m: tg.Model, mj: mujoco.MjModel) -> None:
    n = mj.nu
    gain, bias = mj.actuator_gainprm[:, :3].copy(), mj.actuator_biasprm[:, :3].copy()
    gain[mj.actuator_gaintype == int(mujoco.mjtGain.mjGAIN_FIXED), 1:] = 0
    bias[mj.actuator_biastype == int(mujoco.mjtBias.mjBIAS_NONE)] = 0
    check("gear", table(m, "actuator.gear", n), mj.actuator_gear)
    check("gain", table(m, "actuator.gain", n), gain)
    check("bias", table(m, "actuator.bias", n), bias, 1e-9)
    for ours, theirs in (("ctrl", "ctrl"), ("force", "force"), ("act", "act")):
        check(ours, table(m, f"actuator.{ours}_range", n), getattr(mj, f"actuator_{theirs}range"))
        limited = getattr(mj, f"actuator_{theirs}limited")
        assert [bool(x) for x in getattr(m, f"actuator_{ours}_limited")] == [bool(x) for x in limited]
    filtered = mj.actuator_dyntype >= int(mujoco.mjtDyn.mjDYN_FILTER)
    assert [int(x) for x in m.actuator_dynamics] == [int(x) for x in mj.actuator_dyntype]
    check("tau", table(m, "actuator.tau", n)[filtered, 0], mj.actuator_dynprm[filtered, 0])


def compare_rest(m: tg.Model, mj: mujoco.MjModel) -> None:
    if mj.nsite:
        check("site pos", table(m, "site.pos", mj.nsite), mj.site_pos)
        check("site quat", same_sign(table(m, "site.quat", mj.nsite), mj.site_quat), mj.site_quat)
    if mj.ntendon:
        check("rest", table(m, "tendon.rest", mj.ntendon), mj.tendon_lengthspring)
        check("range", table(m, "tendon.range", mj.ntendon), mj.tendon_range)
        for field in ("stiffness", "frictionloss", "margin"):
            check(field, table(m, f"tendon.{field}", mj.ntendon)[:, 0], getattr(mj, f"tendon_{field}"))
    if mj.npair:
        check("pair", table(m, "pair.friction", mj.npair), mj.pair_friction[:, [0, 2, 3]])
        check("pair margin", table(m, "pair.margin", mj.npair)[:, 0], mj.pair_margin)
    for key in range(mj.nkey):
        time, q, v, act, ctrl = m.key(key)
        assert time == mj.key_time[key]
        check("key q", q, mj.key_qpos[key])
        check("key v", v, mj.key_qvel[key])
        check("key act", act, mj.key_act[key])
        check("key ctrl", ctrl, mj.key_ctrl[key])


def compare_motion(m: tg.Model, mj: mujoco.MjModel) -> None:
    """Mass matrix and forces at a random state: what no parameter shows by itself."""
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    q, v = m.random_state(3)
    data = mujoco_data(mj, q, v, actuators=False)
    M = mujoco_mass_matrix(mj, data)
    heavy = max(1.0, float(np.abs(M).max()))  # forces that cancel leave rounding of their size
    check("mass matrix", m.mass_matrix(q), M, MESH_TOLERANCE if mj.nmesh else 1e-10)
    check("bias", m.bias(q, v) / heavy, data.qfrc_bias / heavy, MESH_TOLERANCE if mj.nmesh else 1e-10, floor=1.0)
    check("passive", m.passive(q, v), data.qfrc_passive, 1e-10, floor=1.0)


def compare(m: tg.Model, mj: mujoco.MjModel) -> None:
    assert {a: getattr(m, a) for a in SIZES} == {a: getattr(mj, b) for a, b in SIZES.items()}
    for kind, code in KINDS.items():
        names = m.names(kind)
        assert names == [mujoco.mj_id2name(mj, code, i) or "" for i in range(len(names))], kind
    assert m.timestep == mj.opt.timestep
    off = mj.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    check("gravity", np.asarray(m.params["gravity"]), 0 * mj.opt.gravity if off else mj.opt.gravity)
    check("q0", m.default_q(), mj.qpos0)
    compare_bodies(m, mj)
    if mj.njnt:
        compare_joints(m, mj)
        compare_motion(m, mj)
    if mj.ngeom:
        compare_geoms(m, mj)
    if mj.nu:
        compare_actuators(m, mj)
    compare_rest(m, mj)


def load_both(text: str) -> tuple[tg.Model, mujoco.MjModel]:
    mujoco.set_mju_user_warning(lambda _: None)
    return tg.load_string(text), mujoco.MjModel.from_xml_string(text)


def load_both_files(path) -> tuple[tg.Model, mujoco.MjModel]:
    mujoco.set_mju_user_warning(lambda _: None)
    return tg.load(path), mujoco.MjModel.from_xml_path(str(path))


# ---- small files ----


def world(inside: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{inside}</worldbody>{after}</mujoco>"


def moving(
    inside: str, attributes: str = "", before: str = "", after: str = "", joint: str = '<joint name="j"/>'
) -> str:
    """A body with a hinge."""
    return world(f'<body name="b" {attributes}>{joint}{inside}</body>', before, after)
