"""Configurations as arrays of many rows: differences, interpolation, and their derivatives.

Quaternions are (w, x, y, z), body to world; tangents of rotations are in the body frame, as those of the library.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tangere.enums import JointType
from tangere.model import Model

Array = NDArray[np.float64]


def hat(w: Array) -> Array:
    """[w]x of (..., 3)."""
    out = np.zeros((*w.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    return out - np.swapaxes(out, -1, -2)


def quat_multiply(a: Array, b: Array) -> Array:
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, v], axis=-1)


def quat_conjugate(a: Array) -> Array:
    return a * np.array([1.0, -1.0, -1.0, -1.0])


def quat_exp(w: Array) -> Array:
    """The rotation by the vector w (..., 3)."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * w], axis=-1)


def quat_log(a: Array) -> Array:
    """The shortest rotation vector (..., 3) of unit quaternions."""
    a = np.where(a[..., :1] < 0, -a, a)
    s = np.linalg.norm(a[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(s, a[..., :1])
    small = s < 1e-8  # angle / s is 2 there to rounding
    return np.where(small, 2.0, angle / np.where(small, 1.0, s)) * a[..., 1:]


def quat_matrix(a: Array) -> Array:
    w, v = a[..., :1, None], a[..., 1:]
    k = hat(v)
    return np.eye(3) + 2 * w * k + 2 * k @ k


def right_jacobian(w: Array) -> Array:
    """Jr of (..., 3): exp(w + dw) = exp(w) exp(Jr dw)."""
    t = np.linalg.norm(w, axis=-1)[..., None, None]
    small = t < 1e-4  # there the series to t^2 is exact to rounding
    s = np.where(small, 1.0, t)
    a = np.where(small, 0.5 - t**2 / 24, (1 - np.cos(s)) / s**2)
    b = np.where(small, 1 / 6 - t**2 / 120, (s - np.sin(s)) / s**3)
    k = hat(w)
    return np.eye(3) - a * k + b * (k @ k)


def right_jacobian_inverse(w: Array) -> Array:
    t = np.linalg.norm(w, axis=-1)[..., None, None]
    small = t < 1e-4
    s = np.where(small, 1.0, t)
    b = np.where(small, 1 / 12 + t**2 / 720, 1 / s**2 - (1 + np.cos(s)) / (2 * s * np.where(small, 1.0, np.sin(s))))
    k = hat(w)
    return np.eye(3) + 0.5 * k + b * (k @ k)


class Manifold:
    """Where positions and rotations of a model are in q (nq) and in tangents (nv)."""

    def __init__(self, m: Model) -> None:
        self.nq, self.nv = m.nq, m.nv
        self.rotations: list[tuple[int, int]] = []  # first place in q, first place in v
        self.plain: list[tuple[int, int]] = []
        self.free: list[tuple[int, int]] = []
        self.unit = np.array(["joint"] * m.nv, dtype=object)
        for kind, q, v in zip(m.joint_type, m.joint_q, m.joint_dof, strict=True):
            if kind == JointType.FREE:
                self.free.append((int(q), int(v)))
                self.plain.extend((int(q) + i, int(v) + i) for i in range(3))
                self.rotations.append((int(q) + 3, int(v) + 3))
                self.unit[v : v + 3], self.unit[v + 3 : v + 6] = "position", "rotation"
            elif kind == JointType.BALL:
                self.rotations.append((int(q), int(v)))
                self.unit[v : v + 3] = "rotation"
            else:
                self.plain.append((int(q), int(v)))
        self._q = np.array([q for q, _ in self.plain], int)
        self._v = np.array([v for _, v in self.plain], int)

    def difference(self, a: Array, b: Array) -> Array:
        """b (-) a, (..., nv)."""
        out = np.empty((*np.broadcast_shapes(a.shape[:-1], b.shape[:-1]), self.nv))
        out[..., self._v] = b[..., self._q] - a[..., self._q]
        for q, v in self.rotations:
            out[..., v : v + 3] = quat_log(quat_multiply(quat_conjugate(a[..., q : q + 4]), b[..., q : q + 4]))
        return out

    def add(self, a: Array, d: Array) -> Array:
        """a (+) d, (..., nq)."""
        out = np.empty((*np.broadcast_shapes(a.shape[:-1], d.shape[:-1]), self.nq))
        out[..., self._q] = a[..., self._q] + d[..., self._v]
        for q, v in self.rotations:
            turned = quat_multiply(a[..., q : q + 4], quat_exp(d[..., v : v + 3]))
            out[..., q : q + 4] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
        return out

    def add_slope(self, d: Array) -> Array:
        """d(a (+) d) / dd, (..., nv, nv)."""
        return self._blocks(d, right_jacobian)

    def difference_slope(self, e: Array) -> Array:
        """d(b (-) a) / db where b (-) a = e, (..., nv, nv)."""
        return self._blocks(e, right_jacobian_inverse)

    def _blocks(self, d: Array, block: object) -> Array:
        out = np.zeros((*d.shape[:-1], self.nv, self.nv))
        out[..., range(self.nv), range(self.nv)] = 1.0
        for _, v in self.rotations:
            out[..., v : v + 3, v : v + 3] = block(d[..., v : v + 3])  # type: ignore[operator]
        return out

    def between(self, a: Array, b: Array, share: Array) -> tuple[Array, Array, Array, Array]:
        """The point at a fraction of the geodesic from a to b (rows each), its derivatives by a and b (rows, nv, nv),
        and the difference b (-) a (rows, nv).

        R(s) = R_a exp(s w), w = log(R_a^T R_b): dR(s) = exp(-s w) da + s Jr(s w) (Jr(w)^-1 db - Jl(w)^-1 da).
        """
        way = self.difference(a, b)
        s = share[:, None]
        point = self.add(a, s * way)
        by_a, by_b = np.zeros((2, len(a), self.nv, self.nv))
        by_a[:, self._v, self._v], by_b[:, self._v, self._v] = 1 - s, s
        for _, v in self.rotations:
            w = way[:, v : v + 3]
            out, back = right_jacobian(s * w), right_jacobian_inverse(w)
            turn = np.swapaxes(quat_matrix(quat_exp(s * w)), -1, -2)
            by_b[:, v : v + 3, v : v + 3] = s[..., None] * out @ back
            by_a[:, v : v + 3, v : v + 3] = turn - s[..., None] * out @ np.swapaxes(back, -1, -2)
        return point, by_a, by_b, way
