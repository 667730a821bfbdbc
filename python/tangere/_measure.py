"""Measurements: what the channels of a log would read in given states, and the derivatives of that."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._manifold import (
    Manifold,
    hat,
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_matrix,
    quat_multiply,
    right_jacobian_inverse,
)
from tangere.model import Model

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


_KINEMATIC = ("body.*.pos", "body.*.quat", "joint.*.pos", "joint.*.axis", "joint.*.ref", "site.*.pos", "site.*.quat")
_STEP = 1e-4  # of central differences of fourth order: their error, step^4 / 30, is below rounding
FOUR_POINTS = [(a * _STEP, b / (12 * _STEP)) for a, b in ((-2, 1), (-1, -8), (1, 8), (2, -1))]  # steps, factors


def moves_frames(param: str) -> bool:
    """Whether frames depend on a parameter at given q."""
    return any(fnmatchcase(param.partition("[")[0], pattern) for pattern in _KINEMATIC)


@dataclass
class Slopes:
    """Derivatives of differences (rows, dim): by states as lists of (matrix (rows, dim, nv), step (rows)), by
    parameters at given states (rows, dim, unknowns; None: no dependence), by the frame (rows, dim, 6), by time.
    """

    q: list[tuple[Array, Ints]]
    v: list[tuple[Array, Ints]]
    time: Array
    frame: Array | None = None
    params: Array | None = None

    def scaled(self, white: Array) -> Slopes:
        """Of differences times white: (dim), or matrices (rows, dim, dim)."""

        def of(matrix: Array) -> Array:
            return white[:, None] * matrix if white.ndim == 1 else white @ matrix

        return Slopes(
            [(of(matrix), step) for matrix, step in self.q],
            [(of(matrix), step) for matrix, step in self.v],
            of(self.time[:, :, None])[:, :, 0],
            None if self.frame is None else of(self.frame),
            None if self.params is None else of(self.params),
        )


class Measure:
    """Predicted less measured values of a channel, at times between the steps of rollouts.

    framed: poses are measured in a frame that is unknown: p' = exp(phi) p + t, R' = exp(phi) R. positions, factors: the
    unknown parameters of the model, and what each unknown adds to them; sites and bodies may depend on them directly.
    """

    def __init__(  # noqa: PLR0917
        self, m: Model, manifold: Manifold, dt: float, framed: bool, positions: NDArray[np.intc], factors: Array
    ) -> None:
        self._model, self._manifold, self._dt, self._framed = m, manifold, dt, framed
        names = m._param_names(positions) if len(positions) else []
        moves = np.array([moves_frames(name) for name in names], bool)
        self._positions, self._factors = positions, factors
        self._moving = [i for i, row in enumerate(factors) if (row[moves] != 0).any()]  # unknowns that move frames

    def units(self, name: str) -> list[str]:
        """What each number of a channel is: "position", "rotation" or "joint"."""
        if name in {"q", "v", "a"}:
            return list(self._manifold.unit)
        if name.startswith("body."):
            return ["position"] * 3 + ["rotation"] * 3
        return ["position"] * 3 if name.startswith("site.") else ["joint"]

    def difference(  # noqa: PLR0917
        self,
        name: str,
        values: Array,
        at: tuple[Ints, Ints, Array],
        states: tuple[Array, Array],
        frame: Array,
        slopes: bool,
    ) -> tuple[Array, Slopes]:
        """Prediction less measurement (rows, dim), and its derivatives.

        at: the rollout, the step before and the share of the next of each row; states: q, v (rollouts, T + 1, ...).
        """
        env, k, share = at
        q, v = states
        rows, nv = len(values), v.shape[2]
        none = np.zeros((rows, 1, 6))
        if name == "v" or name.endswith(".v"):
            now = v[env, k] + share[:, None] * (v[env, k + 1] - v[env, k])
            slope = (v[env, k + 1] - v[env, k]) / self._dt
            pick = np.eye(nv) if name == "v" else np.eye(nv)[[self._dof(name[:-2])]]
            by_v = [(pick * (1 - share)[:, None, None], k), (pick * share[:, None, None], k + 1)]
            return now @ pick.T - values.reshape(rows, -1), Slopes([], by_v, slope @ pick.T, none.repeat(len(pick), 1))
        if name == "a":
            first = np.where(share > 0, k, np.maximum(k - 1, 0))
            unit = np.broadcast_to(np.eye(nv) / self._dt, (rows, nv, nv))
            now = (v[env, first + 1] - v[env, first]) / self._dt
            by_v = [(-unit, first), (unit, first + 1)]
            return now - values, Slopes([], by_v, np.zeros_like(now), none.repeat(nv, 1))
        point, by_a, by_b, way = self._manifold.between(q[env, k], q[env, k + 1], share)
        by_frame = by_params = None
        if name == "q":
            e, slope, by_frame = self._of_q(values, point, frame)
        elif name.startswith("joint."):
            dof = self._dof(name)
            place = next(a for a, b in self._manifold.plain if b == dof)
            e = (point[:, place] - values.reshape(-1))[:, None]
            slope, by_frame = np.broadcast_to(np.eye(nv)[[dof]], (rows, 1, nv)), none
        else:
            e, slope, by_params = self._of_pose(name, values, point, slopes)
        if not slopes:
            return e, Slopes([], [], e)
        by_time = np.einsum("rij,rj->ri", slope, way) / self._dt
        return e, Slopes([(slope @ by_a, k), (slope @ by_b, k + 1)], [], by_time, by_frame, by_params)

    def _of_q(self, values: Array, point: Array, frame: Array) -> tuple[Array, Array, Array]:
        """Of configurations; free joints are seen through the frame: p' = exp(phi) p + t, R' = exp(phi) R."""
        by_frame = np.zeros((len(values), self._manifold.nv, 6))
        turn = None
        if self._framed:
            point = point.copy()
            turn = quat_exp(frame[3:])
            R = quat_matrix(turn)
            left = self._left(frame[3:])
            for a, b in self._manifold.free:
                moved = point[:, a : a + 3] @ R.T
                point[:, a : a + 3] = moved + frame[:3]
                point[:, a + 3 : a + 7] = quat_multiply(np.broadcast_to(turn, (len(point), 4)), point[:, a + 3 : a + 7])
                by_frame[:, b : b + 3, :3] = np.eye(3)
                by_frame[:, b : b + 3, 3:] = -hat(moved) @ left
                by_frame[:, b + 3 : b + 6, 3:] = np.swapaxes(quat_matrix(point[:, a + 3 : a + 7]), 1, 2) @ left
        e = self._manifold.difference(values, point)
        slope = self._manifold.difference_slope(e)
        if turn is not None:
            by_frame = slope @ by_frame
            slope = slope.copy()
            for _, b in self._manifold.free:
                slope[:, b : b + 3, b : b + 3] = quat_matrix(turn)
        return e, slope, by_frame

    @staticmethod
    def _left(w: Array) -> Array:
        return np.linalg.inv(right_jacobian_inverse(-w))

    def _of_pose(self, name: str, values: Array, point: Array, slopes: bool) -> tuple[Array, Array, Array | None]:
        """Of a site (position) or a body (position, rotation): differences, by q, by the unknown parameters."""
        if self._framed:
            raise Error(f"frame: not with the channel '{name}'; measure q", "not supported")
        kind, _, label = name.partition(".")
        m, e = self._model, self._poses(name, values, point)
        if not slopes:
            return e, np.empty(0), None
        slope = np.zeros((*e.shape, m.nv))
        for i, q in enumerate(point):
            J = m.body_jacobian(label, q) if kind == "body" else m.site_jacobian(label, q)
            slope[i, :3] = J[:3]
            if kind == "body":
                turn = np.asarray(m.body_pose(label, q)[1])
                slope[i, 3:] = right_jacobian_inverse(e[i, 3:]) @ quat_matrix(turn).T @ J[3:]
        return e, slope, self._by_params(name, values, point)

    def _poses(self, name: str, values: Array, point: Array) -> Array:
        kind, _, label = name.partition(".")
        poses = [self._model.body_pose(label, q) if kind == "body" else self._model.site_pose(label, q) for q in point]
        e = np.array([pose[0] for pose in poses]) - values[:, :3]
        if kind != "body":
            return e
        turns = np.array([pose[1] for pose in poses])
        return np.hstack([e, quat_log(quat_multiply(quat_conjugate(values[:, 3:]), turns))])

    def _by_params(self, name: str, values: Array, point: Array) -> Array | None:
        """Lengths of links, places of sites: frames depend on them at given q, too. By central differences."""
        if not self._moving:
            return None
        m = self._model
        base = np.asarray(m.params)[self._positions].copy()
        out = np.zeros((len(point), 6 if name.startswith("body.") else 3, len(self._factors)))
        for i in self._moving:
            for share, factor in FOUR_POINTS:
                m.params[self._positions] = base + share * self._factors[i]
                out[:, :, i] += factor * self._poses(name, values, point)
        m.params[self._positions] = base
        return out

    def _dof(self, name: str) -> int:
        return int(self._model.joint_dof[self._model.index("joint", name.split(".", 1)[1])])
