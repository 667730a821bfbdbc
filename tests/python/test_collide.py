"""Contacts of a model and distances of shapes: the interface, and every robot against MuJoCo along falls.

MuJoCo finds the depth of two convex shapes that have no closed form by an iteration that may stop on a direction which
is not the one of least depth. Where the distances differ, both are judged by the support functions h of the shapes: the
depth along n is h1(n) + h2(-n), the depth of the pair is its minimum over n, and a result is consistent if its depth is
that along its own normal. Ours must be consistent and the minimum; MuJoCo's must be one of the two not.
"""

from collections import defaultdict

import mujoco
import numpy as np
import pytest
import tangere as tg
from support import ROBOTS, ZOO, central, error, robot_files

TOUCHING = 1e-9  # m: pairs closer to contact than this may be on either side
TOLERANCE = 1e-6  # m
STORED = 1e-7  # m: MuJoCo keeps vertices of meshes in single precision

PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = (int(tg.GeomType[t]) for t in (
    "PLANE", "SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "BOX", "MESH"))  # fmt: skip


# ---- MuJoCo ----


def load_mujoco(name: str) -> mujoco.MjModel:
    mujoco.set_mju_user_warning(lambda _: None)
    return mujoco.MjModel.from_xml_path(str(ROBOTS / name))


def collide_mujoco(mj: mujoco.MjModel, q: np.ndarray) -> mujoco.MjData:
    data = mujoco.MjData(mj)
    data.qpos = q
    mujoco.mj_kinematics(mj, data)
    mujoco.mj_comPos(mj, data)
    mujoco.mj_collision(mj, data)
    return data


def fall(mj: mujoco.MjModel, seed: int) -> list[np.ndarray]:
    """Configurations of a simulated fall, every 20 steps; the first one starts at rest, all others with a push."""
    data = mujoco.MjData(mj)
    mujoco.mj_resetData(mj, data)
    if mj.nkey and seed % 2:
        mujoco.mj_resetDataKeyframe(mj, data, mj.nkey - 1)
    data.ctrl[:] = 0
    data.qvel += 0.5 * seed * np.random.default_rng(seed).normal(size=mj.nv)
    states = []
    for step in range(800):
        mujoco.mj_step(mj, data)
        if step % 20 == 0:
            states.append(data.qpos.copy())
    return states


def support(mj: mujoco.MjModel, data: mujoco.MjData, geom: int, n: np.ndarray) -> float:
    """max of n . x over the geom."""
    R, size, kind = data.geom_xmat[geom].reshape(3, 3), mj.geom_size[geom], int(mj.geom_type[geom])
    local = R.T @ n
    if kind == MESH:
        mesh = mj.geom_dataid[geom]
        first = mj.mesh_vertadr[mesh]
        extent = (mj.mesh_vert[first : first + mj.mesh_vertnum[mesh]] @ local).max()
    else:
        extent = {
            SPHERE: lambda: size[0],
            CAPSULE: lambda: size[0] + abs(local[2]) * size[1],
            ELLIPSOID: lambda: np.linalg.norm(size * local),
            CYLINDER: lambda: size[0] * np.hypot(*local[:2]) + abs(local[2]) * size[1],
            BOX: lambda: np.abs(local) @ size,
        }[kind]()
    return float(data.geom_xpos[geom] @ n + extent)


# ---- comparison ----


def deepest(geom1, geom2, distance, normal) -> dict:
    """Distance and normal (from the lower geom to the higher) of the deepest point of each pair that overlaps."""
    out = {}
    for g, h, d, n in zip(geom1, geom2, distance, normal, strict=True):
        pair = (int(min(g, h)), int(max(g, h)))
        if d < 0 and (pair not in out or d < out[pair][0]):
            out[pair] = (float(d), n if g < h else -n)
    return out


def least_depth(depth, start: list[np.ndarray]) -> float:
    """The least of depth(n) that a random search finds from some directions."""
    random, best = np.random.default_rng(0), np.inf
    for direction in start:
        n, least = direction, depth(direction)
        for step in 10.0 ** -np.arange(0.5, 7, 0.5):
            for _ in range(40):
                other = n + step * random.normal(size=3)
                other /= np.linalg.norm(other)
                if (found := depth(other)) < least:
                    n, least = other, found
        best = min(best, least)
    return best


def mujoco_is_wrong(mj, data, pair, ours, theirs) -> bool:
    if min(mj.geom_type[list(pair)]) == PLANE:
        return False

    def depth(n):
        return support(mj, data, pair[0], n) + support(mj, data, pair[1], -n)

    def consistent(result):
        return abs(depth(result[1]) + result[0]) < STORED

    if not consistent(ours) or -ours[0] > least_depth(depth, [ours[1], theirs[1]]) + STORED:
        return False
    return not consistent(theirs) or -theirs[0] > -ours[0] + STORED


class Comparison:
    """Counts by types of geoms."""

    def __init__(self, name: str) -> None:
        self.m, self.mj = tg.load(ROBOTS / name), load_mujoco(name)
        self.count, self.wrong, self.worst = defaultdict(int), defaultdict(int), defaultdict(float)

    def add(self, q: np.ndarray) -> None:
        data = collide_mujoco(self.mj, q)
        c, d = self.m.collide(data.qpos), data.contact
        ours = deepest(c.geom1, c.geom2, c.distance, c.normal)
        theirs = deepest(d.geom1, d.geom2, d.dist, d.frame[:, :3])
        for pair in ours.keys() | theirs.keys():
            kinds = " ".join(tg.GeomType(int(self.m.geom_type[g])).name.lower() for g in pair)
            if pair not in ours or pair not in theirs:
                one = ours.get(pair) or theirs.get(pair)
                assert abs(one[0]) < TOUCHING, (kinds, pair, ours.get(pair), theirs.get(pair), q.tolist())
                continue
            self.count[kinds] += 1
            difference = abs(ours[pair][0] - theirs[pair][0])
            if difference > TOLERANCE:
                assert mujoco_is_wrong(self.mj, data, pair, ours[pair], theirs[pair]), (kinds, pair, q.tolist())
                self.wrong[kinds] += 1
            else:
                self.worst[kinds] = max(self.worst[kinds], difference)

    def report(self, name: str) -> None:
        print(f"\n{name}")
        for kinds, count in sorted(self.count.items()):
            note = f"; {self.wrong[kinds]} where MuJoCo's depth is not the least" if self.wrong[kinds] else ""
            print(f"  {kinds:20} {count:5} pairs that overlap, largest difference {self.worst[kinds]:.1e} m{note}")


FALLING = [name for name in robot_files() if name.endswith("scene.xml") or name.endswith("scene_mesh.xml")]
FALLING += [name for name in robot_files() if name.startswith(("gymnasium", "mujoco_humanoid"))]


@pytest.mark.parametrize("name", FALLING)
def test_same_contacts_as_mujoco_along_falls(name):
    comparison = Comparison(name)
    for seed in range(4):
        for q in fall(comparison.mj, seed):
            comparison.add(q)
    comparison.report(name)
    assert comparison.m.nparams  # the robot was read
    if name not in ("gymnasium/inverted_double_pendulum.xml", "kuka_iiwa_14/scene.xml"):  # these fall on nothing
        assert sum(comparison.count.values()) > 0


@pytest.mark.parametrize("name", FALLING)
def test_same_contacts_as_mujoco_at_random_states(name):
    comparison = Comparison(name)
    for seed in range(60):
        comparison.add(comparison.m.random_state(seed).q)
    comparison.report(name)


# ---- Model.collide ----

STACK = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="lower" pos="0 0 0.099"><freejoint/><geom name="lower" type="box" size="0.2 0.2 0.1"/></body>
    <body name="upper" pos="0 0 0.296"><freejoint/><geom name="upper" type="box" size="0.1 0.1 0.1"/></body>
  </worldbody>
</mujoco>
"""


def test_stack():
    m = tg.load_string(STACK)
    c = m.collide(m.default_q())
    assert isinstance(c, tg.Contacts)
    assert c.geom1.tolist() == [0] * 4 + [1] * 4
    assert c.geom2.tolist() == [1] * 4 + [2] * 4
    assert c.point.shape == c.normal.shape == (8, 3)
    assert np.allclose(c.normal, [0, 0, 1], atol=1e-15)
    assert np.allclose(c.distance, [-0.001] * 4 + [-0.003] * 4, atol=1e-15)
    assert np.allclose(c.point[:, 2], [-0.0005] * 4 + [0.1975] * 4, atol=1e-15)
    assert {tuple(np.round(p, 9)) for p in c.point[4:, :2]} == {(a, b) for a in (-0.1, 0.1) for b in (-0.1, 0.1)}
    assert len(set(c.id.tolist())) == 8
    assert (c.geom1.dtype, c.distance.dtype, c.id.dtype) == (np.intc, np.float64, np.uint64)


def test_margin_and_parameters():
    m = tg.load_string(STACK)
    q = m.default_q()
    q[9] = 0.305
    assert set(m.collide(q).geom1.tolist()) == {0}
    near = m.collide(q, margin=0.01)
    assert set(near.geom1.tolist()) == {0, 1}
    assert np.allclose(near.distance[4:], 0.006, atol=1e-15)
    m.params["geom.upper.margin"] = 0.01
    assert set(m.collide(q).geom1.tolist()) == {0, 1}
    m.params["geom.upper.margin"] = 0
    m.params["geom.upper.size"] = [0.1, 0.1, 0.11]
    assert np.allclose(m.collide(q).distance[4:], -0.004, atol=1e-15)


def test_more_contacts_than_usual():
    balls = "".join(f'<body pos="{0.15 * i} 0 0.09"><freejoint/><geom size="0.1"/></body>' for i in range(90))
    m = tg.load_string(f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{balls}</worldbody></mujoco>')
    c = m.collide(m.default_q())
    assert c.distance.shape == (90 + 89,)
    d = m.collide_derivatives(m.default_q())
    assert d.point.shape == (179, 3, m.nv)
    assert all(np.array_equal(a, b) for a, b in zip(c, d.contacts, strict=True))


def test_no_contact():
    m = tg.load_string(STACK)
    q = m.default_q()
    q[2], q[9] = 10, 20
    assert [a.shape for a in m.collide(q)] == [(0,), (0,), (0, 3), (0, 3), (0,), (0,), (0,)]
    assert [a.shape for a in m.collide_derivatives(q)[1:]] == [(0, 3, 12), (0, 3, 12), (0, 12)]


@pytest.mark.parametrize("call", ["collide", "collide_derivatives"])
def test_refusals(call):
    m = tg.load_string(STACK)
    collide, q = getattr(m, call), m.default_q()
    with pytest.raises(tg.Error, match="margin"):
        collide(q, np.nan)
    with pytest.raises(ValueError, match=r"q: expected shape \(14,\)"):
        collide(q[1:])
    with pytest.raises(TypeError):
        collide(q, "wide")
    q[0] = np.nan
    with pytest.raises(tg.Error, match="q"):
        collide(q)


def test_derivatives_against_differences():
    m = tg.load_string(ZOO)
    compared = 0
    for seed in range(10):
        q = m.random_state(seed).q
        contacts, point, normal, distance = m.collide_derivatives(q, 2.0)
        for i, name in enumerate(contacts.id):

            def row(step, q=q, name=name):
                c = m.collide(m.integrate(q, step), 2.0)
                found = np.flatnonzero(c.id == name)
                if not found.size:
                    return np.full(7, np.nan)
                return np.concatenate([c.point[found[0]], c.normal[found[0]], [c.distance[found[0]]]])

            J = np.vstack([point[i], normal[i], distance[i : i + 1]])
            F = np.column_stack([central(lambda t, e=e, row=row: row(t * e), 1e-4) for e in np.eye(m.nv)])
            if not np.isnan(F).any():
                compared += 1
                assert error(J, F, floor=1.0) < TOLERANCE
    assert compared >= 10


# ---- distance ----

SHAPES = [
    tg.Shape("sphere", 0.3),
    tg.Shape("capsule", (0.2, 0.3)),
    tg.Shape("cylinder", (0.3, 0.2)),
    tg.Shape("ellipsoid", (0.3, 0.2, 0.4)),
    tg.Shape("box", (0.3, 0.2, 0.1)),
    tg.hull(np.random.default_rng(1).normal(size=(20, 3)) * 0.2),
]


@pytest.mark.parametrize("first", SHAPES, ids=repr)
@pytest.mark.parametrize("second", SHAPES, ids=repr)
def test_distance(first, second):
    random = np.random.default_rng(2)
    for _ in range(20):
        pose = [random.normal(size=7) * ([0.5] * 3 + [1] * 4) for _ in range(2)]
        for p in pose:
            p[3:] /= np.linalg.norm(p[3:])
        found = tg.distance(first, pose[0], second, pose[1])
        mirrored = tg.distance(second, pose[1], first, pose[0])
        assert mirrored.distance == pytest.approx(found.distance, abs=1e-10)
        pose[1][:3] -= found.distance * found.normal  # now they touch
        assert tg.distance(first, pose[0], second, pose[1]).distance == pytest.approx(0, abs=1e-9)


def test_distance_by_hand():
    box = tg.Shape("box", (1, 1, 0.5))
    found = tg.distance(tg.Shape(tg.GeomType.SPHERE, [0.1]), (0, 0, 1), box, (0, 0, 0))
    assert found.distance == pytest.approx(0.4, abs=1e-15)
    assert found.normal.tolist() == pytest.approx([0, 0, -1])
    assert found.point.tolist() == pytest.approx([0, 0, 0.7])
    cube = tg.hull([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], scale=(1, 1, 0.5))
    quarter = (2.5, 0, 0, np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    assert tg.distance(box, (0, 0, 0), cube, quarter).distance == pytest.approx(0.5, abs=1e-14)
    assert tg.distance(tg.Shape("plane"), (0, 0, 0.2), box, (5, 5, 1)).distance == pytest.approx(0.3, abs=1e-15)
    field = tg.Shape("hfield", (2, 2, 1, 0.1), elevation=np.full((5, 6), 0.5))
    assert tg.distance(field, (0, 0, 0), box, (0, 0, 1.2)).distance == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tg.Shape("bax", 1), "'box'"),
        (lambda: tg.Shape("box", 1), "box takes 3 numbers"),
        (lambda: tg.Shape("mesh"), "vertices"),
        (lambda: tg.Shape("box", (1, 1, 1), vertices=[(0, 0, 0)]), "vertices"),
        (lambda: tg.Shape("hfield", (1, 1, 1, 1)), "elevation"),
        (lambda: tg.Shape("hfield", (1, 1, 1, 1), elevation=np.zeros((2, 2, 2))), "elevation"),
        (lambda: tg.hull([1, 2, 3]), r"\(n, 3\)"),
        (lambda: tg.hull(np.zeros((0, 3))), "at least one point"),
        (lambda: tg.hull([(0, 0, np.nan)]), "nan"),
        (lambda: tg.distance(SHAPES[0], (0, 0), SHAPES[0], (0, 0, 0)), "pose1"),
        (lambda: tg.distance(SHAPES[0], (0, 0, 0), SHAPES[0], (0, 0, np.inf)), "pose of the second shape"),
        (lambda: tg.distance(tg.Shape("sphere", -1), (0, 0, 0), SHAPES[0], (0, 0, 0)), "size"),
        (lambda: tg.distance(tg.Shape("plane"), (0, 0, 0), tg.Shape("plane"), (0, 0, 0)), "plane"),
    ],
)
def test_shapes_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
