"""The smooth part of a step, without contacts, limits, friction loss and equalities, against MuJoCo's Euler step."""

from functools import cache
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
import tangere as tg
from support import ZOO, error, model_files, mujoco_mass_matrix, mujoco_model, path_of

STATES = 10
FILES = [*model_files(), "zoo"]
FAR = 1e6
FREE = int(tg.JointType.FREE)


def without_equalities(m: tg.Model, folder) -> tg.Model:
    root = ElementTree.fromstring(m.to_mjcf())
    for element in root.findall("equality"):
        root.remove(element)
    bare = tg.load_string(ElementTree.tostring(root, encoding="unicode"), dir=folder)
    assert (bare.nequality, bare.nq, bare.nv, bare.nu, bare.nbody) == (0, m.nq, m.nv, m.nu, m.nbody)
    for name in ("body.*.mass", "body.*.com", "body.*.inertia", "joint.*.armature", "joint.*.damping"):
        np.testing.assert_array_equal(bare.params[name], m.params[name])
    return bare


@cache
def ours(name: str) -> tg.Model:
    """The model with nothing that could hold it: no dry friction, limits far away, small geoms, floors below all."""
    m = tg.load_string(ZOO) if name == "zoo" else tg.load(path_of(name))
    if m.nequality:
        m = without_equalities(m, path_of(name).parent)
    for kind, count in (("joint", m.njoint), ("tendon", m.ntendon)):
        if count:
            m.params[f"{kind}.*.frictionloss"] = 0
            m.params[f"{kind}.*.range"] = np.tile([-FAR, FAR], count)
    for i, kind in enumerate(m.geom_type):
        if kind == tg.GeomType.PLANE:
            m.params[f"geom.#{i}.pos"] = np.array([0, 0, -FAR])
        else:
            m.params[f"geom.#{i}.size"] = 1e-4 * np.asarray(m.params[f"geom.#{i}.size"])
    return m


@cache
def theirs(name: str) -> mujoco.MjModel:
    mj = mujoco_model(ZOO if name == "zoo" else path_of(name))
    mj.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    mj.opt.density = mj.opt.viscosity = 0
    return mj


def controls(m: tg.Model, rng: np.random.Generator) -> dict:
    return {
        "u": rng.normal(size=m.nu),
        "tau": rng.normal(size=m.nv),
        "wrench": np.vstack([np.zeros(6), rng.normal(size=(m.nbody - 1, 6))]),
    }


def mujoco_step(mj: mujoco.MjModel, q, v, act, control: dict) -> mujoco.MjData:
    data = mujoco.MjData(mj)
    data.qpos, data.qvel, data.ctrl, data.qfrc_applied = q, v, control["u"], control["tau"]
    data.xfrc_applied = control["wrench"]
    if mj.na:
        data.act = act
    mujoco.mj_step(mj, data)
    return data


@pytest.mark.parametrize("name", FILES)
def test_one_step(name):
    m, mj = ours(name), theirs(name)
    compared = 0
    for seed in range(3 * STATES):
        rng = np.random.default_rng(seed)
        q, v = m.random_state(seed)
        act, control = rng.uniform(-0.5, 0.5, m.na), controls(m, rng)
        q1, v1, info = tg.step(m, q, v, act, dt=mj.opt.timestep, implicit_actuators=False, **control)
        if info.ncontact:  # two links on their way into each other
            continue
        assert info.rows == 0
        compared += 1
        data = mujoco_step(mj, q, v, act, control)
        start = mujoco.MjData(mj)
        start.qpos = q
        mujoco.mj_forward(mj, start)
        condition = np.linalg.cond(mujoco_mass_matrix(mj, start)) if m.nv else 1
        assert error(q1, data.qpos) <= 1e-12
        assert error(v1, data.qvel) <= max(1e-12, 1e-14 * condition)
        assert error(info.act, data.act) <= 1e-12
    assert compared >= STATES


@pytest.mark.parametrize("name", ["zoo", "models/quadruped.xml"])
def test_explicit_damping(name):
    """Damping on v: MuJoCo's Euler step with eulerdamp disabled."""
    m, mj = ours(name), theirs(name)
    off = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    mj.opt.disableflags |= off
    try:
        for seed in range(STATES):
            rng = np.random.default_rng(seed)
            q, v = m.random_state(seed)
            act, control = rng.uniform(-0.5, 0.5, m.na), controls(m, rng)
            data = mujoco_step(mj, q, v, act, control)
            _, v1, _ = tg.step(
                m, q, v, act, dt=mj.opt.timestep, implicit_damping=False, implicit_actuators=False, **control
            )
            _, other, _ = tg.step(m, q, v, act, dt=mj.opt.timestep, implicit_actuators=False, **control)
            assert error(v1, data.qvel) <= 1e-11
            assert error(other, data.qvel) > 1e-6
    finally:
        mj.opt.disableflags &= ~off


SERVO = """<mujoco><option integrator="{}"/><worldbody><body><joint name="j"/><geom size="0.1" mass="0.1"/></body>
</worldbody><actuator><position joint="j" kp="10" kv="5"/></actuator></mujoco>"""


@pytest.mark.parametrize(("integrator", "implicit"), [("Euler", False), ("implicitfast", True), ("implicit", True)])
def test_the_file_chooses_how_actuators_damp(integrator, implicit, tmp_path):
    m = tg.load_string(SERVO.format(integrator))
    m.save(tmp_path / "saved.xml")
    scene = tg.Scene()
    scene.add(m)
    for made in (m, tg.load(tmp_path / "saved.xml"), scene.build()):
        chosen = tg.step(made, [0.1], [1.0], u=[0.5], dt=0.01)[1]
        given = [tg.step(made, [0.1], [1.0], u=[0.5], dt=0.01, implicit_actuators=i)[1] for i in (False, True)]
        assert chosen == given[implicit]
        assert given[0] != given[1]
