"""Scenes: against MuJoCo's own attaching, and by what parts do on their own."""

import warnings

import mujoco
import numpy as np
import pytest
import tangere as tg
from support import ROOT, ZOO, error, model_files, mujoco_data, mujoco_mass_matrix, mujoco_model, path_of

QUADRUPED = ROOT / "models" / "quadruped.xml"
ARM = ROOT / "models" / "arm.xml"
TURN = np.array([0.6, 0.0, -0.48, 0.64])
ROBOTS = ["models/arm.xml", "models/cable_toy.xml", "unitree_go1/go1.xml", "agility_cassie/cassie.xml",
          "gymnasium/ant.xml", "kuka_iiwa_14/iiwa14.xml"]  # fmt: skip


def robots() -> list[str]:
    known = model_files()
    return [name for name in ROBOTS if name in known]


def attached(parts) -> mujoco.MjModel:
    """The scene as MuJoCo makes it: parts are (file or text, pos, quat, prefix)."""
    mujoco.set_mju_user_warning(lambda _: None)
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = 0.003, [0.1, 0.2, -9]
    for part, pos, quat, prefix in parts:
        child = mujoco.MjSpec.from_string(part) if isinstance(part, str) else mujoco.MjSpec.from_file(str(part))
        spec.attach(child, prefix=prefix, frame=spec.worldbody.add_frame(pos=pos, quat=quat))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the options of the parts do not count
        model = spec.compile()
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return model


def scene_of(parts) -> tg.Model:
    scene = tg.Scene(timestep=0.003, gravity=(0.1, 0.2, -9))
    for part, pos, quat, prefix in parts:
        scene.add(tg.load_string(part) if isinstance(part, str) else part, pos=pos, quat=quat, prefix=prefix)
    return scene.build()


def assert_agrees(m: tg.Model, model: mujoco.MjModel) -> None:
    counts = {"body": model.nbody, "joint": model.njnt, "site": model.nsite, "tendon": model.ntendon,
              "actuator": model.nu}  # fmt: skip
    for kind, count in counts.items():
        obj = kind.upper()
        names = [mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{obj}"), i) or "" for i in range(count)]
        assert m.names(kind) == names
    assert m.timestep == model.opt.timestep
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q, v = m.random_state(seed=seed)
        act, u = rng.normal(size=m.na), rng.normal(size=m.nu)
        data = mujoco_data(model, q, v, act=act, u=u)
        assert error(m.mass_matrix(q), mujoco_mass_matrix(model, data)) < 1e-10
        assert error(m.bias(q, v), data.qfrc_bias) < 1e-10
        assert error(m.passive(q, v), data.qfrc_passive) < 1e-10
        assert error(m.actuation(q, v, act, u).force, data.qfrc_actuator) < 1e-10
        poses = m.body_poses(q)
        assert error(poses.position[1:], data.xpos[1:]) < 1e-12


@pytest.mark.parametrize("name", robots())
def test_two_of_a_kind(name):
    path = path_of(name)
    parts = [(path, (0, 1, 0.5), (1, 0, 0, 0), "left/"), (path, (0.3, -1, 0), TURN, "right/")]
    assert_agrees(scene_of(parts), attached(parts))


def test_different_robots():
    parts = [
        (ARM, (1, 0, 0), TURN, "a/"),
        (ZOO, (0, 0, 0), (1, 0, 0, 0), ""),
        (QUADRUPED, (0, 2, 0), (1, 0, 0, 0), "q_"),
    ]
    assert_agrees(scene_of(parts), attached(parts))


def test_parts_do_not_feel_each_other():
    part = tg.load(QUADRUPED)
    scene = tg.Scene()
    for i in range(4):
        scene.add(part, prefix=f"r{i}", pos=(i, 0, 0))
    m = scene.build()
    q, _ = part.random_state(seed=2)
    M = m.mass_matrix(np.tile(q, 4))
    n = part.nv
    for i in range(4):
        block = slice(i * n, (i + 1) * n)
        assert np.array_equal(M[block, block], part.mass_matrix(q))
        M[block, block] = 0
    assert not M.any()
    assert m.ntree == 4


def test_the_current_parameters_of_a_model_are_taken():
    part = tg.load(QUADRUPED)
    part.params["body.trunk.mass"] = 12.5
    part.params["geom.*.restitution"] = 0.3
    scene = tg.Scene()
    scene.add(part, prefix="r")
    m = scene.build()
    assert m.params["body.r/trunk.mass"] == 12.5
    assert np.all(m.params["geom.r/*.restitution"] == 0.3)


def test_prefix():
    part = tg.load(ARM)
    first = part.names("body")[1]
    for prefix, expected in (
        ("", first),
        ("x", f"x/{first}"),
        ("x/", f"x/{first}"),
        ("x_", f"x_{first}"),
        ("é", f"é/{first}"),
    ):
        scene = tg.Scene()
        scene.add(part, prefix=prefix)
        assert scene.build().names("body")[1] == expected


def test_primitives():
    scene = tg.Scene(name="toys")
    scene.floor(friction=0.7, restitution=0.2)
    scene.box((0.1, 0.2, 0.3), pos=(0, 0, 1), quat=TURN, mass=2, name="crate", friction=(0.5, 0.01, 0.001))
    scene.sphere(0.1, pos=(1, 0, 1), density=500, name="ball")
    scene.capsule(0.05, 0.2, fixed=True, name="post")
    scene.cylinder(0.1, 0.1, pos=(2, 0, 1))
    scene.ellipsoid((0.1, 0.2, 0.3), pos=(3, 0, 1), condim=6, contype=2, conaffinity=3)
    m = scene.build()
    text = f"""<mujoco model="toys"><worldbody>
      <geom name="floor" type="plane" size="0 0 1" friction="0.7"/>
      <body name="crate" pos="0 0 1" quat="{" ".join(map(str, TURN))}"><freejoint name="crate"/>
        <geom name="crate" type="box" size="0.1 0.2 0.3" mass="2" friction="0.5 0.01 0.001"/></body>
      <body name="ball" pos="1 0 1"><freejoint name="ball"/><geom name="ball" size="0.1" density="500"/></body>
      <body name="post"><geom name="post" type="capsule" size="0.05 0.2"/></body>
      <body pos="2 0 1"><freejoint/><geom type="cylinder" size="0.1 0.1"/></body>
      <body pos="3 0 1"><freejoint/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" condim="6" contype="2" conaffinity="3"/></body>
      </worldbody></mujoco>"""
    same = tg.load_string(text)
    same.params["geom.floor.restitution"] = 0.2
    for kind in ("body", "joint", "geom"):
        assert m.names(kind) == same.names(kind)
    assert error(m.params, same.params) < 1e-15
    assert np.array_equal(m.geom_type, same.geom_type)
    assert list(m.geom_condim) == list(same.geom_condim)
    assert list(m.geom_contype) == list(same.geom_contype)


def test_height_field():
    rows, columns = 5, 7
    x, y = np.linspace(-2, 2, columns), np.linspace(-1, 1, rows)
    heights = 0.3 * x[None, :] - 0.2 * y[:, None] + 1
    scene = tg.Scene()
    scene.hfield(heights, (2, 1), pos=(0, 0, 0.5), base=0.05, name="slope", friction=0.4)
    m = scene.build()
    assert m.nhfield == 1
    low, high = heights.min(), heights.max()
    assert np.allclose(m.params["hfield.slope.size"], [2, 1, high - low, 0.05], rtol=0, atol=1e-15)
    assert np.allclose(m.params["geom.slope.pos"], [0, 0, 0.5 + low], rtol=0, atol=1e-15)
    # MuJoCo sees the same surface: a ray down at a corner of the grid
    model = mujoco_model(m.to_mjcf())
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geom = np.zeros(1, np.int32)
    for i, j in ((1, 1), (3, 2), (2, 5)):
        start = np.array([x[j] + 1e-6, y[i] + 1e-6, 5.0])
        distance = mujoco.mj_ray(model, data, start, np.array([0.0, 0, -1]), None, 1, -1, geom)
        assert distance == pytest.approx(5 - 0.5 - heights[i, j], abs=1e-5)
    tg.load_string(m.to_mjcf())


def test_flat_height_field():
    scene = tg.Scene()
    scene.hfield(np.full((2, 2), 0.3), (1, 1), name="flat")
    m = scene.build()
    assert np.allclose(m.params["geom.flat.pos"], [0, 0, 0.3])
    tg.load_string(m.to_mjcf())


def test_a_scene_is_saved_and_grows(tmp_path):
    scene = tg.Scene()
    scene.add(QUADRUPED, prefix="a")
    one = scene.build()
    scene.add(QUADRUPED, prefix="b", pos=(0, 1, 0))
    scene.floor()
    two = scene.build()
    assert two.nv == 2 * one.nv
    two.save(tmp_path / "scene.xml")
    back = tg.load(tmp_path / "scene.xml")
    assert np.array_equal(back.params, two.params)
    assert back.names("geom") == two.names("geom")


def test_keyframes():
    part = tg.load(ARM)
    text = part.to_mjcf().replace(
        "</mujoco>", f'<keyframe><key name="pose" qpos="{" ".join(["0.1"] * part.nq)}"/></keyframe></mujoco>'
    )
    scene = tg.Scene()
    for prefix in ("a", "b"):
        scene.add(tg.load_string(text), prefix=prefix)
    m = scene.build()
    keys = m.names("key")
    assert {"a/pose", "b/pose", "pose"} <= set(keys)
    both = m.key("pose").q
    assert np.all(both == 0.1)
    assert np.array_equal(m.key("b/pose").q[part.nq :], both[part.nq :])
    assert not np.array_equal(m.key("b/pose").q[: part.nq], both[: part.nq])


def test_refusals(tmp_path):
    scene = tg.Scene()
    with pytest.raises(FileNotFoundError):
        scene.add(tmp_path / "no.xml")
    with pytest.raises(tg.Error, match="quaternion of norm 2"):
        scene.add(ARM, quat=(2, 0, 0, 0))
    with pytest.raises(TypeError, match="strict"):
        scene.add(tg.load(ARM), strict=True)
    with pytest.raises(TypeError, match="colour"):
        scene.box((1, 1, 1), colour="red")
    with pytest.raises((ValueError, TypeError), match="size"):
        scene.box((1, 1))
    with pytest.raises(ValueError, match="heights"):
        scene.hfield([1, 2, 3], (1, 1))
    with pytest.raises(ValueError, match="size"):
        scene.hfield(np.zeros((2, 2)), (1, 1, 1))
    scene.add(ARM)
    scene.add(ARM)
    with pytest.raises(tg.Error, match=r"name is used twice.*arm\.xml and .*arm\.xml.*prefix"):
        scene.build()
    small = tg.Scene()
    small.sphere(0.1, name="ball", mass=0)
    with pytest.raises(tg.Error, match="ball"):
        small.build()
