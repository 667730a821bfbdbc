"""Configurations in which chosen geoms touch: damped Gauss-Newton on the manifold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._manifold import Manifold
from tangere.enums import JointType
from tangere.model import Model
from tangere.optimise import least_squares

Array = NDArray[np.float64]


@dataclass
class PoseResult:
    """A configuration: q (nq); gaps by pair (m); com: distance of the centre of mass from its target (m); sites:
    largest error (m); open: smallest gap of all other pairs (m); iterations.
    """

    q: Array
    gaps: dict[tuple[Any, Any], float]
    com: float
    sites: float
    open: float
    iterations: int


class _Pose:
    def __init__(  # noqa: PLR0917
        self,
        m: Model,
        q: Array,
        touch: Sequence[tuple[Any, Any]],
        sites: Mapping[str, ArrayLike],
        com: Any,
        fixed: Sequence[int],
    ) -> None:
        self.m, self.q, self.manifold = m, q, Manifold(m)
        self.touch = [tuple(sorted(m.index("geom", g) for g in pair)) for pair in touch]
        self.sites = {name: np.asarray(point, np.float64) for name, point in sites.items()}
        self.com, self.fixed = com, list(fixed)
        self.open: list[tuple[int, int]] = []
        self.clearance = 1e-3  # what other pairs keep: the reach in which a step looks for contacts

    def contacts(self, q: Array, pairs: Sequence[tuple[int, int]]) -> tuple[Array, Array, Array, Array]:
        """gap, its slope, the point and its slope of each pair."""
        contacts, points, _, slopes = self.m.collide_derivatives(q, 10.0)
        out = []
        for pair in pairs:
            mine = np.flatnonzero((contacts.geom1 == pair[0]) & (contacts.geom2 == pair[1]))
            if mine.size == 0:
                raise Error(
                    f"geoms {pair[0]} and {pair[1]} do not collide, or are more than 10 m apart", "value out of domain"
                )
            at = mine[np.argmin(contacts.gap[mine])]
            out.append((contacts.gap[at], slopes[at], contacts.point[at], points[at]))
        if not out:
            return np.zeros(0), np.zeros((0, self.m.nv)), np.zeros((0, 3)), np.zeros((0, 3, self.m.nv))
        gap, slope, point, moves = zip(*out, strict=True)
        return np.array(gap), np.array(slope), np.array(point), np.array(moves)

    def centre(self, q: Array) -> tuple[Array, Array]:
        return np.asarray(self.m.com(q)), np.asarray(self.m.com_jacobian(q))

    def support(self, q: Array, points: Array, moves: Array) -> tuple[Array, Array]:
        """How far the centre of mass is from being over the support (m), and the slope.

        One contact: its place; two: the line through them, and not beyond its ends; three and more, or com="centre":
        the mean of the contacts, or for "inside" the displacement into the polygon.
        """
        c, slope = self.centre(q)
        flat, J = points[:, :2], moves[:, :2]
        if not isinstance(self.com, str):
            goal = np.asarray(self.com, np.float64)
            return c[:2] - goal, slope[:2]
        if len(points) == 1 or self.com == "centre" or (len(points) > 2 and self.com != "inside"):
            return c[:2] - flat.mean(axis=0), slope[:2] - J.mean(axis=0)
        if len(points) == 2:
            # distance to the line a + s (b - a): cross(b - a, c - a) / |b - a|; beyond the ends: s < 0 or s > 1
            a, b = flat
            way, to = b - a, c[:2] - a
            dway, dto = J[1] - J[0], slope[:2] - J[0]
            length = np.linalg.norm(way)
            off = (way[0] * to[1] - way[1] * to[0]) / length
            doff = (dway[0] * to[1] + way[0] * dto[1] - dway[1] * to[0] - way[1] * dto[0]) / length
            doff = doff - off * (way @ dway) / length**2
            share = way @ to / length**2
            dshare = (dway.T @ to + way @ dto) / length**2 - 2 * share * (way @ dway) / length**2
            beyond = min(share, 0.0) + max(share - 1, 0.0)
            return np.array([off, beyond * length]), np.array([doff, dshare * length * (beyond != 0)])
        return self._inside(c[:2], slope[:2], flat, J)

    @staticmethod
    def _inside(c: Array, dc: Array, flat: Array, J: Array) -> tuple[Array, Array]:
        """For each pair of contacts that is an edge of the hull, how far c is outside of it."""
        n = len(flat)
        middle = flat.mean(axis=0)
        order = np.argsort(np.arctan2(*(flat - middle).T[::-1]))
        r, s = np.zeros(n), np.zeros((n, dc.shape[1]))
        for k in range(n):
            i, j = order[k], order[(k + 1) % n]
            way, to = flat[j] - flat[i], c - flat[i]
            dway, dto = J[j] - J[i], dc - J[i]
            length = np.linalg.norm(way)
            if length < 1e-9:
                continue
            left = (way[0] * to[1] - way[1] * to[0]) / length  # positive: inside
            if left < 0:
                dleft = (dway[0] * to[1] + way[0] * dto[1] - dway[1] * to[0] - way[1] * dto[0]) / length
                r[k], s[k] = left, dleft - left * (way @ dway) / length**2
        return r, s

    def residuals(self, x: Array) -> tuple[Array, Array]:
        q = self.manifold.add(self.q, x)
        chart = self.manifold.add_slope(x)
        gap, slope, points, moves = self.contacts(q, self.touch)
        r, s = [gap], [slope]
        if self.com is not None and len(points):
            a, b = self.support(q, points, moves)
            r.append(a)
            s.append(b)
        for name, goal in self.sites.items():
            r.append(np.asarray(self.m.site_pose(name, q)[0]) - goal[:3])
            s.append(self.m.site_jacobian(name, q)[:3])
        if self.open:
            gap, slope, _, _ = self.contacts(q, self.open)
            low = np.minimum(gap - 2 * self.clearance, 0.0)
            r.append(low)
            s.append(slope * (low < 0)[:, None])
        return np.concatenate(r), np.vstack(s) @ chart

    def closed(self, q: Array) -> list[tuple[int, int]]:
        """Other pairs whose gap is below the clearance."""
        contacts = self.m.collide(q, self.clearance)
        found = {
            (int(a), int(b))
            for a, b, g in zip(contacts.geom1, contacts.geom2, contacts.gap, strict=True)
            if g < self.clearance
        }
        return sorted(found - set(self.touch) - set(self.open))


def pose(
    model: Model,
    q: ArrayLike,
    touch: Sequence[tuple[Any, Any]] = (),
    *,
    sites: Mapping[str, ArrayLike] | None = None,
    com: Any = "support",
    fixed: Sequence[int] = (),
    limits: bool = True,
    open: bool = True,
    iterations: int = 200,
    tolerance: float = 1e-11,
) -> PoseResult:
    """A configuration near q in which chosen pairs of geoms touch: damped Gauss-Newton on the manifold.

    touch: pairs of geoms (names or numbers) whose gap (distance less margins, as in a step) should be 0. com:
    "support": the centre of mass is over the contact, over the line of two contacts, or over the mean of more;
    "inside": anywhere in their polygon; "centre": always over their mean; (x, y): over that point; None: anywhere.
    sites: {name: point}. fixed: entries of v (tangent) that must not change. limits: joints stay within their ranges.
    open: all other pairs stay separated by a millimetre.
    """
    q = np.asarray(q, np.float64)
    task = _Pose(model, q, touch, sites or {}, com, fixed)
    low, high = (
        _joint_limits(model, task.manifold, q) if limits else (np.full(model.nv, -np.inf), np.full(model.nv, np.inf))
    )
    low[list(fixed)] = high[list(fixed)] = 0.0
    x, done = np.clip(np.zeros(model.nv), low, high), 0

    def values(point: Array, r: Array, J: Array | None) -> None:
        miss, slope = task.residuals(point)
        r[:] = miss
        if J is not None:
            J[:] = slope.ravel()

    for _ in range(20):  # each round adds pairs that must stay open
        rows = len(task.residuals(x)[0])
        best = least_squares(values, x, rows, bounds=(low, high), iterations=iterations, damping=1e-6, tolerance=1e-15)
        x, done = best.x, done + best.iterations
        more = task.closed(task.manifold.add(q, x)) if open else []
        if not more:
            break
        task.open += more
    found = task.manifold.add(q, x)
    gap, _, points, moves = task.contacts(found, task.touch)
    miss = float(np.linalg.norm(task.support(found, points, moves)[0])) if com is not None and len(points) else 0.0
    far = max(
        (float(np.linalg.norm(np.asarray(model.site_pose(n, found)[0]) - p[:3])) for n, p in task.sites.items()),
        default=0.0,
    )
    worst = max([*np.abs(gap), miss, far, 0.0])
    if worst > max(tolerance, 1e-9) or (open and task.closed(found)):
        raise Error(
            f"no such pose near q: gaps up to {np.abs(gap).max(initial=0):.3g} m, centre of mass off by {miss:.3g} m, "
            f"sites by {far:.3g} m, {len(task.closed(found))} other pairs touch",
            "not solved",
        )
    others = model.collide(found, 0.05)
    rest = [
        float(g)
        for a, b, g in zip(others.geom1, others.geom2, others.gap, strict=True)
        if (int(a), int(b)) not in task.touch
    ]
    return PoseResult(
        found, {pair: float(g) for pair, g in zip(touch, gap, strict=True)}, miss, far, min(rest, default=np.inf), done
    )


def _joint_limits(m: Model, manifold: Manifold, q: Array) -> tuple[Array, Array]:
    low, high = np.full(m.nv, -np.inf), np.full(m.nv, np.inf)
    for j in range(m.njoint):
        if m.joint_limited[j] and m.joint_type[j] in {JointType.HINGE, JointType.SLIDE}:
            a, b = m.params[f"joint.#{j}.range"]
            margin = m.params[f"joint.#{j}.margin"]
            at = q[m.joint_q[j]]
            low[m.joint_dof[j]], high[m.joint_dof[j]] = a + max(margin, 0) - at, b - max(margin, 0) - at
    return low, high
