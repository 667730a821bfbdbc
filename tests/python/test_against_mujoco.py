"""Every model that loads, against MuJoCo and against the states stored beside the robots."""

from functools import cache

import mujoco
import numpy as np
import pytest
import tangere as tg
from support import (
    NOT_YET,
    ROBOTS,
    ZOO,
    error,
    expected,
    model_files,
    mujoco_data,
    mujoco_mass_matrix,
    mujoco_model,
    own_files,
    path_of,
    robot_files,
)

STATES = 20
FILES = [*model_files(), "zoo"]


@cache
def ours(name: str) -> tg.Model:
    return tg.load_string(ZOO) if name == "zoo" else tg.load(path_of(name))


@cache
def theirs(name: str) -> mujoco.MjModel:
    return mujoco_model(ZOO if name == "zoo" else path_of(name))


@cache
def reference() -> dict:
    with np.load(ROBOTS / "reference_states.npz") as file:
        return dict(file)


def test_there_are_models():
    assert len(own_files()) >= 5


@pytest.mark.skipif(not ROBOTS.is_dir(), reason="no folder with robots")
def test_robots_that_must_load():
    loaded = {name for name in robot_files() if name not in NOT_YET}
    assert {name for name in robot_files() if name.split("/")[0] in ("gymnasium", "mujoco_humanoid")} <= loaded
    assert set(robot_files()) >= NOT_YET


@pytest.mark.parametrize("name", sorted(NOT_YET & set(robot_files())))
def test_robots_not_taken_yet_are_refused(name):
    with pytest.raises((tg.Error, OSError)):
        tg.load(path_of(name))


# ---- sizes and names ----


@pytest.mark.parametrize("name", [name for name in FILES if name in expected()])
def test_expected_sizes(name):
    m, e = ours(name), expected()[name]
    sizes = ("nq", "nv", "nu", "na", "nbody", "ngeom", "nmesh", "ntendon", "nexclude", "npair")
    assert {key: getattr(m, key) for key in sizes} == {key: e[key] for key in sizes}
    assert (m.njoint, m.nequality) == (e["njnt"], e["neq"])
    assert m.names("key") == e["keyframes"]
    assert m.timestep == e["timestep"]
    assert m.mass == pytest.approx(e["total_mass"], rel=1e-11)
    collides = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    assert collides.sum() == e["ncollision_geom"]
    assert m.ncandidate == e["ncandidate_pairs"]
    assert sorted(set(m.geom_condim[collides].tolist())) == e["condims"]


@pytest.mark.parametrize("name", FILES)
def test_names(name):
    m, mj = ours(name), theirs(name)
    kinds = {
        "body": mujoco.mjtObj.mjOBJ_BODY,
        "joint": mujoco.mjtObj.mjOBJ_JOINT,
        "geom": mujoco.mjtObj.mjOBJ_GEOM,
        "site": mujoco.mjtObj.mjOBJ_SITE,
        "tendon": mujoco.mjtObj.mjOBJ_TENDON,
        "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
        "equality": mujoco.mjtObj.mjOBJ_EQUALITY,
        "key": mujoco.mjtObj.mjOBJ_KEY,
    }
    counts = {
        "body": mj.nbody,
        "joint": mj.njnt,
        "geom": mj.ngeom,
        "site": mj.nsite,
        "tendon": mj.ntendon,
        "actuator": mj.nu,
        "equality": mj.neq,
        "key": mj.nkey,
    }
    if name.endswith(".urdf"):
        del kinds["site"]  # a merged link leaves a site here, and nothing in MuJoCo
    for kind, obj in kinds.items():
        assert m.names(kind) == [mujoco.mj_id2name(mj, obj, i) or "" for i in range(counts[kind])], kind


@pytest.mark.parametrize("name", FILES)
def test_structure(name):
    m, mj = ours(name), theirs(name)
    np.testing.assert_array_equal(m.body_parent, mj.body_parentid)
    np.testing.assert_array_equal(m.body_ndof, mj.body_dofnum)
    np.testing.assert_array_equal(m.joint_type, mj.jnt_type)
    np.testing.assert_array_equal(m.joint_body, mj.jnt_bodyid)
    np.testing.assert_array_equal(m.joint_q, mj.jnt_qposadr)
    np.testing.assert_array_equal(m.joint_dof, mj.jnt_dofadr)
    np.testing.assert_array_equal(m.joint_limited, mj.jnt_limited)
    np.testing.assert_array_equal(m.geom_type, mj.geom_type)
    np.testing.assert_array_equal(m.geom_body, mj.geom_bodyid)
    np.testing.assert_array_equal(m.geom_condim, mj.geom_condim)
    if not name.endswith(".urdf"):
        np.testing.assert_array_equal(m.site_body, mj.site_bodyid)
    np.testing.assert_array_equal(m.actuator_target, mj.actuator_trnid[:, 0])
    assert error(m.default_q(), mj.qpos0) < 1e-14


@pytest.mark.parametrize("name", FILES)
def test_parameters(name):
    m, mj = ours(name), theirs(name)
    assert error(m.params["body.*.mass"], mj.body_mass[1:]) < 1e-12
    assert error(m.params["body.*.com"], mj.body_ipos[1:].ravel()) < 1e-12
    assert error(m.params["geom.*.friction"], mj.geom_friction.ravel()) < 1e-14 if m.ngeom else True
    assert error(m.params["gravity"], mj.opt.gravity) == 0
    if m.njoint:
        first = m.joint_dof
        assert error(m.params["joint.*.armature"], mj.dof_armature[first]) < 1e-14
        assert error(m.params["joint.*.damping"], mj.dof_damping[first]) < 1e-14
        assert error(m.params["joint.*.frictionloss"], mj.dof_frictionloss[first]) < 1e-14
        assert error(m.params["joint.*.stiffness"], mj.jnt_stiffness) < 1e-14


@pytest.mark.parametrize("name", [name for name in FILES if theirs(name).nkey])
def test_keys(name):
    m, mj = ours(name), theirs(name)
    for i in range(m.nkey):
        key = m.key(i)
        assert key.time == mj.key_time[i]
        assert error(key.q, mj.key_qpos[i]) < 1e-14
        for actual, reference_value in ((key.v, mj.key_qvel), (key.act, mj.key_act), (key.ctrl, mj.key_ctrl)):
            np.testing.assert_array_equal(actual, reference_value[i])


# ---- kinematics and dynamics ----


def check_acceleration(m, state, M, qacc):
    """The residual of the equation of motion, and the acceleration as far as the condition of M allows."""
    q, v, tau = state
    a = m.forward_dynamics(q, v, tau)
    bias = m.bias(q, v)
    residual = m.mass_matrix(q) @ a + bias - m.passive(q, v) - tau
    assert np.abs(residual).max() <= 1e-11 * max(np.abs(tau).max(), np.abs(bias).max())
    assert error(a, qacc) <= 1e-14 * np.linalg.cond(M)


@pytest.mark.parametrize("name", [name for name in FILES if expected().get(name, {}).get("reference_states")])
def test_reference_states(name):
    m = ours(name)
    key = expected()[name]["reference_states"].removesuffix(".xml")
    ref = {field: reference()[f"{key}/{field}"] for field in ("q", "v", "tau", "xpos", "M", "bias", "passive", "qacc")}
    for i in range(STATES):
        q, v, tau = ref["q"][i], ref["v"][i], ref["tau"][i]
        assert error(m.body_poses(q).position, ref["xpos"][i]) < 1e-10
        assert error(m.mass_matrix(q), ref["M"][i]) < 1e-10
        assert error(m.bias(q, v), ref["bias"][i]) < 1e-10
        assert error(m.passive(q, v), ref["passive"][i]) < 1e-10
        check_acceleration(m, (q, v, tau), ref["M"][i], ref["qacc"][i])


@pytest.mark.parametrize("name", FILES)
def test_random_states(name):
    m, mj = ours(name), theirs(name)
    # MuJoCo moves the frame of a mesh geom to the mesh's centre of mass and principal axes
    primitive = m.geom_type != tg.GeomType.MESH
    for seed in range(STATES):
        q, v = m.random_state(seed)
        tau = 10 * np.diag(m.mass_matrix(q)) * np.random.default_rng(seed).standard_normal(m.nv)
        d = mujoco_data(mj, q, v, tau=tau, actuators=False)
        M = mujoco_mass_matrix(mj, d)
        poses = m.body_poses(q)
        assert error(poses.position, d.xpos) < 1e-10
        assert np.abs(np.abs(np.sum(poses.quaternion * d.xquat, axis=1)) - 1).max() < 1e-12
        if mj.nsite:
            assert error(m.site_poses(q).position, d.site_xpos) < 1e-10
        if primitive.any():
            assert error(m.geom_poses(q).position[primitive], d.geom_xpos[primitive]) < 1e-10
        assert error(m.mass_matrix(q), M) < 1e-10
        assert error(m.bias(q, v), d.qfrc_bias) < 1e-10
        assert error(m.passive(q, v), d.qfrc_passive) < 1e-10
        check_acceleration(m, (q, v, tau), M, d.qacc_smooth)


@pytest.mark.parametrize("name", FILES)
def test_jacobians_momentum_energy(name):
    m, mj = ours(name), theirs(name)
    mj.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    moving = np.flatnonzero(m.body_tree >= 0)
    mass = np.append(0, m.params["body.*.mass"])  # the world first
    total = mass[moving].sum()
    for seed in range(5):
        q, v = m.random_state(seed)
        d = mujoco_data(mj, q, v)
        for body in moving:
            J = np.zeros((6, m.nv))
            mujoco.mj_jacBody(mj, d, J[:3], J[3:], body)
            assert error(m.body_jacobian(body, q), J) < 1e-10
            assert error(m.body_velocity(body, q, v), J @ v) < 1e-10
        com = sum(mass[b] * d.xipos[b] for b in moving) / total
        assert error(m.com(q), com) < 1e-10
        linear = total * (m.com_jacobian(q) @ v)
        assert error(m.momentum(q, v)[:3], linear) < 1e-10
        # MuJoCo's potential energy has the fixed bodies as well, which are a constant
        assert error(m.energy(q, v).kinetic, d.energy[1]) < 1e-10
    potential = []
    for seed in (1, 2):
        q, v = m.random_state(seed)
        potential.append((m.energy(q, v).potential, mujoco_data(mj, q, v).energy[0]))
    (a1, b1), (a2, b2) = potential
    assert abs((a1 - a2) - (b1 - b2)) <= 1e-10 * max(abs(b1), abs(b2))


# ---- actuators ----


@pytest.mark.parametrize("name", [name for name in FILES if theirs(name).nu])
def test_actuation(name):
    m, mj = ours(name), theirs(name)
    rng = np.random.default_rng(0)
    for seed in range(STATES):
        q, v = m.random_state(seed)
        u = 1.5 * rng.standard_normal(m.nu)
        act = 1.5 * rng.standard_normal(m.na)
        d = mujoco_data(mj, q, v, act=act, u=u)
        force, rate = m.actuation(q, v, act, u)
        assert error(force, d.qfrc_actuator) < 1e-10
        if m.na:
            assert error(rate, d.act_dot) < 1e-12
