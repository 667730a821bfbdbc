"""Every pair of shapes at random poses, beside Coal and MuJoCo.

The signed distance of two convex shapes is the largest separation along any direction n from the first to the second,
s(n) = -(h1(n) + h2(-n)), h their support functions. So a claimed distance can be judged without a third engine: it is
right if it is the separation along its own normal, and if no other direction, those of the peers among them, has a
larger one.
"""

from dataclasses import dataclass, field

import coal
import mujoco
import numpy as np
import tangere as tg

POSES = 1000
DIFFERS = 1e-6  # m: beyond it a peer's answer is not within its own precision of the truth

TYPES = ("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
SIZES = {
    "sphere": (0.2,),
    "capsule": (0.1, 0.2),
    "ellipsoid": (0.25, 0.15, 0.1),
    "cylinder": (0.15, 0.2),
    "box": (0.2, 0.15, 0.1),
}
VERTICES = 0.15 * np.random.default_rng(4).normal(size=(24, 3)).astype(np.float32).astype(float)
PAIRS = [(a, b) for i, a in enumerate(TYPES) for b in TYPES[i:] if b != "plane"]


# ---- one shape in three engines ----


def make_own(kind: str) -> tg.Shape:
    if kind == "mesh":
        return tg.hull(VERTICES)
    return tg.Shape(kind, SIZES[kind]) if kind in SIZES else tg.Shape(kind)


def make_coal(kind: str) -> coal.CollisionGeometry:
    if kind == "mesh":
        points = coal.StdVec_Vec3s()
        points.extend([v.reshape(3, 1) for v in VERTICES])
        return coal.Convex.convexHull(points, True, "")
    s = SIZES.get(kind, ())
    return {
        "plane": lambda: coal.Halfspace(np.array([0.0, 0, 1]), 0.0),
        "sphere": lambda: coal.Sphere(*s),
        "capsule": lambda: coal.Capsule(s[0], 2 * s[1]),
        "ellipsoid": lambda: coal.Ellipsoid(*s),
        "cylinder": lambda: coal.Cylinder(s[0], 2 * s[1]),
        "box": lambda: coal.Box(*(2 * x for x in s)),
    }[kind]()


def xml_of(kind: str) -> str:
    size = " ".join(map(str, SIZES.get(kind, (0, 0, 1))))
    shape = 'type="mesh" mesh="hull"' if kind == "mesh" else f'type="{kind}" size="{size}"'
    return f"<geom {shape}/>" if kind == "plane" else f'<body mocap="true"><geom {shape}/></body>'


def make_mujoco(pair: tuple[str, str]) -> mujoco.MjModel:
    vertices = " ".join(f"{x:.9g}" for x in VERTICES.ravel())
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="hull" vertex="{vertices}"/></asset>'
        f"<worldbody>{''.join(map(xml_of, pair))}</worldbody></mujoco>"
    )


def support(kind: str, d: np.ndarray) -> float:
    """max of d . x over the shape at the origin, |d| = 1."""
    s = SIZES.get(kind, ())
    match kind:
        case "plane":
            return 0.0 if d[2] > 1 - 1e-14 else np.inf
        case "mesh":
            return float((VERTICES @ d).max())
        case "sphere":
            return s[0]
        case "capsule":
            return s[0] + s[1] * abs(d[2])
        case "ellipsoid":
            return float(np.linalg.norm(np.array(s) * d))
        case "cylinder":
            return s[0] * float(np.hypot(d[0], d[1])) + s[1] * abs(d[2])
        case _:
            return float(np.abs(d) @ np.array(s))


# ---- poses ----


def rotation(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def random_poses(pair: tuple[str, str], count: int = POSES):
    """Touching, deep, apart, and turned by multiples of 90 degrees about the axes, in turn."""
    random = np.random.default_rng(sum(map(ord, "".join(pair))))
    first, second = (make_own(k) for k in pair)
    straight = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]], float)
    straight /= np.linalg.norm(straight, axis=1, keepdims=True)
    for k in range(count):
        poses = random.normal(size=(2, 7)) * ([0.3] * 3 + [1] * 4)
        if k % 4 == 3:
            poses[:, 3:] = straight[random.integers(5, size=2)]
            poses[:, :3] = np.round(poses[:, :3], 1)
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        wanted = (0.0, -0.08 * random.random(), 0.3 * random.random(), 0.02 * random.normal())[k % 4]
        for _ in range(2):
            found = tg.distance(first, poses[0], second, poses[1])
            poses[1, :3] += (wanted - found.distance) * found.normal
        yield poses


# ---- comparison ----


@dataclass
class PairErrors:
    """Largest errors over all poses (m); peers: where they agree, and the share of poses (%) at which they do not."""

    pair: tuple[str, str]
    separation: float = 0  # |s(n) - distance|
    touching: float = 0  # |distance| after moving by the separation vector
    mirrored: float = 0  # of swapped shapes
    beaten: float = 0  # by how much the separation along a peer's normal exceeds the distance
    peer: dict = field(default_factory=lambda: {"coal": 0.0, "mujoco": 0.0})
    peer_normal: dict = field(default_factory=lambda: {"coal": 0.0, "mujoco": 0.0})  # rad, where the normal is unique
    peer_differs: dict = field(default_factory=lambda: {"coal": 0.0, "mujoco": 0.0})


class Comparison:
    def __init__(self, pair: tuple[str, str]) -> None:
        self.pair = pair
        self.own = [make_own(k) for k in pair]
        self.coal = [make_coal(k) for k in pair]
        self.request = coal.DistanceRequest()
        self.request.enable_signed_distance = True
        self.mj = make_mujoco(pair)
        self.data = mujoco.MjData(self.mj)
        self.errors = PairErrors(pair)

    def separation(self, R, x, n: np.ndarray) -> float:
        first = support(self.pair[0], R[0].T @ n)
        second = support(self.pair[1], R[1].T @ -n)
        return float(n @ (x[1] - x[0])) - first - second

    def by_coal(self, R, x) -> tuple[float, np.ndarray]:
        result = coal.DistanceResult()
        places = [coal.Transform3s(R[i], x[i]) for i in range(2)]
        distance = coal.distance(self.coal[0], places[0], self.coal[1], places[1], self.request, result)
        return distance, np.array(result.normal)

    def by_mujoco(self, R, x) -> tuple[float, np.ndarray]:
        for g in range(2):
            shift, turn = np.zeros(3), np.eye(3)
            if self.mj.geom_dataid[g] >= 0:  # MuJoCo keeps a mesh in its principal axes
                shift, turn = self.mj.mesh_pos[0], rotation(self.mj.mesh_quat[0])
            self.data.geom_xpos[g] = x[g] + R[g] @ shift
            self.data.geom_xmat[g] = (R[g] @ turn).ravel()
        ends = np.zeros(6)
        distance = mujoco.mj_geomDistance(self.mj, self.data, 0, 1, 10.0, ends)
        n = ends[3:] - ends[:3]
        length = np.linalg.norm(n)
        return distance, n * np.sign(distance) / length if length > 1e-7 else np.zeros(3)

    def judge(self, name: str, ours, theirs, R, x) -> None:
        e, (distance, n) = self.errors, theirs
        known = np.linalg.norm(n) > 0.5
        if known and self.pair[0] != "plane":  # which has one direction only
            e.beaten = max(e.beaten, self.separation(R, x, n / np.linalg.norm(n)) - ours.distance)
        difference = abs(distance - ours.distance)
        if difference > DIFFERS:
            e.peer_differs[name] += 1
            return
        e.peer[name] = max(e.peer[name], difference)
        if known and ours.distance > 1e-3:  # the direction between nearest points is unique
            e.peer_normal[name] = max(e.peer_normal[name], float(np.linalg.norm(n - ours.normal)))

    def add(self, poses: np.ndarray) -> None:
        e, (a, b) = self.errors, self.own
        R, x = [rotation(p[3:]) for p in poses], poses[:, :3].copy()
        ours = tg.distance(a, poses[0], b, poses[1])
        e.separation = max(e.separation, abs(self.separation(R, x, ours.normal) - ours.distance))
        swapped = tg.distance(b, poses[1], a, poses[0])
        e.mirrored = max(e.mirrored, abs(swapped.distance - ours.distance))
        moved = poses[1].copy()
        moved[:3] -= ours.distance * ours.normal
        e.touching = max(e.touching, abs(tg.distance(a, poses[0], b, moved).distance))
        self.judge("coal", ours, self.by_coal(R, x), R, x)
        self.judge("mujoco", ours, self.by_mujoco(R, x), R, x)


def compare(pair: tuple[str, str], count: int = POSES) -> PairErrors:
    comparison = Comparison(pair)
    for poses in random_poses(pair, count):
        comparison.add(poses)
    for name in comparison.errors.peer_differs:
        comparison.errors.peer_differs[name] *= 100 / count
    return comparison.errors


def bound(error: float) -> str:
    """The next power of ten that is not smaller: figures that do not depend on the last digits of a machine."""
    return "0" if error <= 0 else f"1e{max(-16, int(np.ceil(np.log10(error))))}"


HEADER = (
    "| pair | s(n) - distance | after moving | swapped | beaten by | Coal | MuJoCo | Coal differs | MuJoCo differs |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def row(e: PairErrors) -> str:
    own = [bound(x) for x in (e.separation, e.touching, e.mirrored, e.beaten)]
    peers = [bound(e.peer[name]) for name in ("coal", "mujoco")]
    share = [f"{e.peer_differs[name]:.0f} %" for name in ("coal", "mujoco")]
    return "| " + " | ".join([", ".join(e.pair), *own, *peers, *share]) + " |"
