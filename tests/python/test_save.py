"""Writing MJCF: what is read back is what was written, and MuJoCo reads it as the same model."""

import mujoco
import numpy as np
import pytest
import tangere as tg
from support import ROOT, ZOO, error, model_files, mujoco_data, mujoco_mass_matrix, mujoco_model, path_of

ELEMENTS = (
    "body",
    "joint",
    "geom",
    "site",
    "tendon",
    "actuator",
    "equality",
    "pair",
    "exclude",
    "key",
    "mesh",
    "hfield",
)
ROUNDING = 1e-13
PRINCIPAL_AXES = 1e-11  # MuJoCo finds those of a mesh's inertia no better than 1e-12

# What the other models do not have: equalities of all forms, pairs, meshes, height fields, limits, two trees.
PARTS = """
<mujoco model="parts">
  <asset>
    <mesh name="tetra" vertex="0 0 0  0.3 0 0  0 0.2 0  0 0 0.25" scale="0.5 -1 1"/>
    <mesh name="flat" vertex="0 0 0  0.3 0 0  0 0.2 0  0.3 0.2 0" face="0 1 2 1 3 2" inertia="shell"/>
    <hfield name="hills" nrow="3" ncol="4" size="1 2 0.2 0.1" elevation="0 1 2 0  0.3 0.5 3 2  0 2 1 0.7"/>
  </asset>
  <worldbody>
    <geom name="ground" type="hfield" hfield="hills" pos="0.1 0 0"/>
    <geom name="wall" type="plane" pos="-3 0 0" euler="0 90 0" size="1 1 0.1" friction="0.5 0.01 0.002" priority="2"/>
    <site name="hook" pos="0 0 2"/>
    <body name="a" pos="0 0 1" euler="10 20 30">
      <freejoint/>
      <geom name="lump" type="mesh" mesh="tetra" pos="0.1 0 0" euler="0 30 0"/>
      <geom type="mesh" mesh="flat" contype="0" conaffinity="0" mass="0"/>
      <geom name="core" size="0.2" condim="6" margin="0.01" gap="0.002" group="3"/>
      <site name="top" pos="0.1 0.1 0.2" axisangle="1 1 0 40"/>
    </body>
    <body name="b" pos="0.5 0 1.1">
      <joint name="swing" axis="0 2 1" range="-90 45" frictionloss="0.1" ref="10" springref="-20" stiffness="3"/>
      <joint name="rail" type="slide" axis="1 0 0" armature="0.3" margin="0.02"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.05"/>
      <site name="end" pos="0.1 0.2 0.3"/>
      <body name="c" pos="0.1 0.2 0.3">
        <joint name="cup" type="ball" range="0 50" damping="0.2"/>
        <geom name="box" type="box" size="0.1 0.2 0.05" contype="2" conaffinity="5"/>
      </body>
    </body>
  </worldbody>
  <contact>
    <pair name="touch" geom1="box" geom2="core" condim="4" friction="0.3 0.3 0.02 0.001 0.001" margin="0.03"
          gap="0.01"/>
    <exclude name="apart" body1="a" body2="b"/>
  </contact>
  <tendon>
    <fixed name="sum" range="-0.5 2" limited="true" margin="0.1" frictionloss="0.2">
      <joint joint="swing" coef="1.5"/><joint joint="rail" coef="-2"/>
    </fixed>
    <spatial name="rope" springlength="0.1 0.4" stiffness="50" damping="2">
      <site site="hook"/><site site="top"/><pulley divisor="2"/><site site="top"/><site site="end"/>
    </spatial>
  </tendon>
  <equality>
    <connect name="pin" body1="a" body2="b" anchor="0.1 0.2 0.3"/>
    <connect name="ring" site1="top" site2="end"/>
    <connect body1="c" anchor="0 0.1 0" active="false"/>
    <weld name="glue" body1="a" body2="c" anchor="0.1 0 0" torquescale="0.7"/>
    <weld name="jig" body1="b" relpose="0.1 0.2 0.3 0.5 -0.5 0.5 0.5"/>
    <weld site1="hook" site2="top"/>
    <joint name="gear" joint1="swing" joint2="rail" polycoef="0.1 2 0.3 0 -1"/>
    <joint joint1="rail" polycoef="0.05"/>
    <tendon tendon1="sum" tendon2="rope" polycoef="0 0.5"/>
  </equality>
  <actuator>
    <position joint="swing" kp="20" dampratio="0.8" ctrlrange="-2 2"/>
    <intvelocity name="speed" joint="rail" kp="3" actrange="-1 1" forcerange="-4 5"/>
    <damper joint="rail" kv="2" ctrlrange="0 3"/>
    <cylinder tendon="sum" area="0.2" timeconst="0.1" bias="1 2 3"/>
    <general site="top" gear="1 2 3 0.1 0.2 0.3" actearly="true" dyntype="filterexact" dynprm="0.2"/>
    <motor joint="cup" gear="1 2 3"/>
  </actuator>
  <keyframe>
    <key name="first" time="1.5" qpos="1 2 3 0.5 0.5 0.5 0.5 0.1 0.2 1 0 0 0" ctrl="1 2 3 4 5 6"/>
    <key qvel="1 2 3 4 5 6 7 8 9 10 11" act="0.1 0.2 0.3"/>
  </keyframe>
</mujoco>
"""


def assert_same(a: tg.Model, b: tg.Model) -> None:
    """The same structure, names, parameters and keyframes."""
    assert repr(a) == repr(b)
    assert a.timestep == b.timestep
    for kind in ELEMENTS:
        assert a.names(kind) == b.names(kind)
    x, y = a._structure(), b._structure()
    for name, values in x.items():
        assert np.array_equal(values, y[name]), name
    assert a.param_slices() == b.param_slices()
    different = np.flatnonzero(np.asarray(a.params) != np.asarray(b.params))
    assert different.size == 0, a._param_names(different)
    for key in range(a.nkey):
        assert all(np.array_equal(p, q) for p, q in zip(a.key(key), b.key(key), strict=True))


def round_trip(m: tg.Model) -> str:
    text = m.to_mjcf()
    back = tg.load_string(text, strict=True)
    assert_same(m, back)
    assert back.to_mjcf() == text
    return text


def assert_same_in_mujoco(m: tg.Model, a: mujoco.MjModel, b: mujoco.MjModel, tolerance: float = ROUNDING) -> None:
    """Everything that the dynamics use, at a random state."""
    assert a.opt.timestep == b.opt.timestep
    assert np.array_equal(a.opt.gravity, b.opt.gravity)
    rng = np.random.default_rng(5)
    q, v = m.random_state(seed=11)
    act, u = rng.normal(size=m.na), rng.normal(size=m.nu)
    x, y = mujoco_data(a, q, v, act=act, u=u), mujoco_data(b, q, v, act=act, u=u)
    assert error(mujoco_mass_matrix(a, x), mujoco_mass_matrix(b, y)) < tolerance
    for field in ("qfrc_bias", "qfrc_passive", "qfrc_actuator", "act_dot", "ten_length", "xpos", "site_xpos"):
        assert error(getattr(x, field), getattr(y, field)) < tolerance, field
    for field in ("key_time", "key_qpos", "key_qvel", "key_act", "key_ctrl", "qpos0", "qpos_spring", "jnt_range",
                  "dof_frictionloss", "geom_friction", "geom_margin", "geom_gap", "actuator_ctrlrange",
                  "actuator_forcerange", "actuator_actrange", "tendon_range", "pair_friction",
                  "pair_margin"):  # fmt: skip
        assert error(getattr(a, field), getattr(b, field)) < tolerance, field
    for field in ("geom_contype", "geom_conaffinity", "geom_condim", "geom_priority", "geom_group", "jnt_limited",
                  "tendon_limited", "actuator_ctrllimited", "actuator_forcelimited", "eq_type", "eq_obj1id",
                  "eq_obj2id", "eq_active0", "pair_geom1", "pair_geom2", "pair_dim", "exclude_signature"):  # fmt: skip
        assert np.array_equal(getattr(a, field), getattr(b, field)), field


@pytest.mark.parametrize("name", model_files())
def test_files(name):
    path = path_of(name)
    m = tg.load(path)
    again = mujoco_model(round_trip(m))
    if path.suffix == ".xml":
        assert_same_in_mujoco(m, again, mujoco_model(path))


@pytest.mark.parametrize("text", [ZOO, PARTS], ids=["zoo", "parts"])
def test_constructs(text):
    m = tg.load_string(text)
    a, b = mujoco_model(round_trip(m)), mujoco_model(text)
    assert_same_in_mujoco(m, a, b, PRINCIPAL_AXES)
    # constraints on: equalities, limits and contacts at a state
    q, v = m.random_state(seed=3)
    out = []
    for model in (a, b):
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data = mujoco.MjData(model)
        data.qpos, data.qvel = q, v
        mujoco.mj_forward(model, data)
        out.append(data)
    x, y = out
    assert x.nefc == y.nefc
    assert x.ncon == y.ncon
    # a weld of two sites is written as one of their bodies: its three rows of rotation are turned, else the same
    sites = (b.eq_type == int(mujoco.mjtEq.mjEQ_WELD)) & (b.eq_objtype == int(mujoco.mjtObj.mjOBJ_SITE))
    turned = np.zeros(y.nefc, bool)
    for equality in np.flatnonzero(sites):
        rows = np.flatnonzero((y.efc_id == equality) & (y.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)))[3:]
        turned[rows] = True
        assert np.linalg.norm(x.efc_pos[rows]) == pytest.approx(np.linalg.norm(y.efc_pos[rows]), rel=1e-12)
    assert error(x.efc_pos[~turned], y.efc_pos[~turned]) < 1e-12
    J, K = (d.efc_J.reshape(d.nefc, m.nv)[~turned] for d in (x, y))
    assert error(J, K) < 1e-12


def test_what_mjcf_has_no_place_for(zoo):
    zoo.params["geom.floor.restitution"] = 0.5
    zoo.params["geom.bone.kinetic"] = 0.8
    zoo.params["geom.bone.slip_speed"] = 0.02
    zoo.params["geom.floor.compliance"] = 1e-5
    text = round_trip(zoo)
    assert '<numeric name="tangere:geom.floor.restitution" data="0.5"/>' in text
    assert '<numeric name="tangere:geom.bone.kinetic" data="0.8"/>' in text
    assert '<numeric name="tangere:geom.bone.slip_speed" data="0.02"/>' in text
    assert '<numeric name="tangere:geom.floor.compliance" data="1e-05"/>' in text
    assert text.count("<numeric") == 4
    mujoco_model(text)


@pytest.mark.parametrize("name", ["models/quadruped.xml", "models/humanoid36.xml", "models/cable_toy.xml"])
@pytest.mark.parametrize("seed", range(3))
def test_current_parameters_are_written(name, seed):
    m = tg.load(ROOT / name)
    rng = np.random.default_rng(seed)
    for pattern in ("body.*.mass", "body.*.inertia", "joint.*.damping", "joint.*.armature", "joint.*.stiffness",
                    "tendon.*.stiffness", "tendon.*.rest", "actuator.*.gain", "geom.*.friction",
                    "gravity"):  # fmt: skip
        try:
            index = m.params.index(pattern)
        except tg.Error:
            continue
        scale = np.exp(rng.normal()) if pattern == "body.*.inertia" else np.exp(0.3 * rng.normal(size=index.size))
        if pattern == "tendon.*.rest":
            scale = np.repeat(scale[::2], 2)
        m.params[pattern] = np.asarray(m.params[pattern]) * scale
    model = mujoco_model(round_trip(m))
    q, v = m.random_state(seed=seed)
    data = mujoco_data(model, q, v, actuators=False)
    assert error(mujoco_mass_matrix(model, data), m.mass_matrix(q)) < 1e-12
    assert error(data.qfrc_bias, m.bias(q, v)) < 1e-12
    assert error(data.qfrc_passive, m.passive(q, v)) < 1e-12


def test_save(tmp_path, zoo):
    path = tmp_path / "new.xml"
    zoo.save(path)
    assert path.read_text(encoding="utf-8") == zoo.to_mjcf()
    assert_same(zoo, tg.load(path))
    with pytest.raises(FileNotFoundError):
        zoo.save(tmp_path / "no" / "such" / "folder.xml")


def test_names_of_any_kind():
    text = """<mujoco model="&lt;a&gt; &amp; b"><worldbody>
      <body name="h&#252;&quot;gel/&#9;x.y"><joint name="'"/><geom name="#" size="1"/></body>
    </worldbody></mujoco>"""
    m = tg.load_string(text)
    m.params["geom.#.restitution"] = 0.25
    text = round_trip(m)
    model = mujoco_model(text)
    assert model.body(1).name == m.names("body")[1] == 'hü"gel/\tx.y'


def test_labels_are_no_names():
    text = """<mujoco><worldbody><body><joint name="#0"/><geom size="1"/></body></worldbody>
      <actuator><motor joint="#0"/></actuator></mujoco>"""
    m = tg.load_string(text)
    assert m.names("joint") == [""]
    assert 'joint="#0"' in round_trip(m)
