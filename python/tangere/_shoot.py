"""Shooting: rollouts from segments of logs, the predicted measurements, and their derivatives.

A segment starts at a row of a log and runs for T steps; the rows behind its start are compared with it. One segment per
log is whole-trajectory shooting, one per row with T = 1 the one-step loss, overlapping ones are windows. Segments of
like length run together in a `tangere.Batch`; with wrenches, which batches do not take, each is a separate rollout.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._manifold import Manifold, hat, quat_conjugate, quat_exp, quat_log, quat_multiply, right_jacobian_inverse
from tangere.batch import Batch
from tangere.logs import Log
from tangere.model import Model
from tangere.rollout import rollout

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

_ROOM = 512  # segments of a batch: bounds the memory of tapes (some 10 kB per step)
_STRETCH = 1.15  # segments up to that much shorter than the longest of a batch run along with it


@dataclass
class Segment:
    log: int
    row: int  # of the start
    rows: Ints  # compared
    steps: int
    q: Array
    v: Array


@dataclass
class Layout:
    """The unknowns x: shared first (parameters, wrenches, frame), then those of each segment (q0, v0, offset)."""

    positions: NDArray[np.intc]  # k parameters of the model that change
    factors: Array  # (nparam, k): parameter values are base + factors^T x
    base: Array  # (k)
    wrenches: list[tuple[int, int]]  # (body, axis)
    frame: bool
    q_dofs: list[int]
    v_dofs: list[int]
    offset: bool

    @property
    def nparam(self) -> int:
        return len(self.factors)

    @property
    def shared(self) -> int:
        return self.nparam + len(self.wrenches) + 6 * self.frame

    @property
    def local(self) -> int:
        return len(self.q_dofs) + len(self.v_dofs) + self.offset


def make_segments(m: Model, logs: Sequence[Log], dt: float, horizon: int | None, stride: int | None) -> list[Segment]:
    """One per log (horizon None), or windows of a number of rows after their start."""
    manifold, found = Manifold(m), []
    for i, log in enumerate(logs):
        last = len(log) - 1
        length = last if horizon is None else horizon
        step = last if horizon is None else (stride or max(1, horizon // 2))
        for row in range(0, max(1, last - length + 1), step):
            end = min(row + length, last)
            start = start_of(manifold, m, log, row)
            if start is None:
                if horizon is None:
                    raise Error(
                        f"{log.name}: the start is not measured (q, and v or a second row of q); give it as Log.start",
                        "value out of domain",
                    )
                continue
            first = row if horizon is None else row + 1
            steps = max(1, int(np.ceil((log.time[end] - log.time[row]) / dt - 1e-6)))
            found.append(Segment(i, row, np.arange(first, end + 1), steps, *start))
    if not found:
        raise Error("logs: no segment has a start", "value out of domain")
    return found


def start_of(manifold: Manifold, m: Model, log: Log, row: int) -> tuple[Array, Array] | None:
    """q and v at a row: measured, or v by differences with the next row that was."""
    if row == 0 and log.start is not None:
        return np.asarray(log.start[0], np.float64), np.asarray(log.start[1], np.float64)
    q = log.channels.get("q")
    if q is None:
        q = _joints(m, log, "")
    if q is None or not np.isfinite(q[row]).all():
        return None
    v = log.channels.get("v")
    if v is None:
        v = _joints(m, log, ".v")
    if v is not None and np.isfinite(v[row]).all():
        return q[row], v[row]
    later = np.flatnonzero(np.isfinite(q[row + 1 :]).all(axis=1))
    if len(later) == 0:
        return None
    after = row + 1 + int(later[0])
    return q[row], manifold.difference(q[row], q[after]) / (log.time[after] - log.time[row])


def _joints(m: Model, log: Log, ending: str) -> Array | None:
    names = [f"joint.{name or f'#{j}'}{ending}" for j, name in enumerate(m.names("joint"))]
    if m.nq != m.nv or any(name not in log.channels for name in names):
        return None
    return np.stack([log.channels[name] for name in names], axis=1)


class Shooter:
    """Residuals of all segments as a function of x, whitened by the noise of their channels."""

    def __init__(  # noqa: PLR0917
        self,
        m: Model,
        logs: Sequence[Log],
        segments: Sequence[Segment],
        layout: Layout,
        dt: float,
        channels: Sequence[str],
        threads: int | None,
        options: dict[str, Any],
        forces: Array | None = None,
    ) -> None:
        self.model, self.logs, self.segments, self.layout, self.dt = m.copy(), logs, segments, layout, dt
        self.manifold = Manifold(m)
        self.options, self.threads = options, threads or len(os.sched_getaffinity(0))
        self.single = bool(layout.wrenches) or any(log.wrench is not None for log in logs)
        self._channels = channels
        self._q = np.stack([s.q for s in segments])
        self._v = np.stack([s.v for s in segments])
        self._act = np.stack([self._start_act(logs[s.log], s.row) for s in segments])
        self._buckets = self._pack()
        self._batches: dict[int, Batch] = {}
        self._lay_out()
        self.sigma = np.ones(len(self.kinds))
        self.exact: float | None = None
        self._last: tuple[tuple[bytes, bytes], Array, Array] | None = None

    def _start_act(self, log: Log, row: int) -> Array:
        return np.zeros(self.model.na) if log.act is None else log.act[row]

    # ---- what runs together ----

    def _pack(self) -> list[tuple[int, Ints]]:
        """(steps, segments) of each batch."""
        steps = np.array([s.steps for s in self.segments])
        order, buckets = np.argsort(-steps, kind="stable"), []
        while len(order):
            longest = steps[order[0]]
            alike = order[steps[order] * _STRETCH >= longest][:_ROOM]
            buckets.append((int(longest), np.sort(alike)))
            order = order[len(alike) :]
        return buckets

    # ---- rows and residuals ----

    def _lay_out(self) -> None:
        """Which row of which log is compared with which segment, channel by channel, and where its residuals go."""
        self.kinds: list[str] = []  # what has a standard deviation of its own: "q:position", ...
        self.kind_of_residual: list[Ints] = []
        pieces: list[dict[str, Any]] = []
        seg = np.concatenate([np.full(len(s.rows), i) for i, s in enumerate(self.segments)])
        row = np.concatenate([s.rows for s in self.segments])
        log = np.array([s.log for s in self.segments])[seg]
        time = np.concatenate([self.logs[s.log].time[s.rows] - self.logs[s.log].time[s.row] for s in self.segments])
        for name in self._channels:
            has = np.array([name in one.channels for one in self.logs])[log]
            if not has.any():
                continue
            values = np.stack([self.logs[a].channels[name][b] for a, b in zip(log[has], row[has], strict=True)])
            seen = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
            index = np.flatnonzero(has)[seen]
            units = self._units(name)
            for unit in units:
                if f"{name}:{unit}" not in self.kinds:
                    self.kinds.append(f"{name}:{unit}")
            kind = np.array([self.kinds.index(f"{name}:{unit}") for unit in units])
            chol = None
            if all(name in self.logs[a].covariance for a in np.unique(log[index])):
                cov = np.stack([self.logs[a].covariance[name][b] for a, b in zip(log[index], row[index], strict=True)])
                chol = np.linalg.inv(np.linalg.cholesky(cov))
            pieces.append(
                {
                    "name": name,
                    "seg": seg[index],
                    "time": time[index],
                    "row": row[index],
                    "log": log[index],
                    "values": values[seen],
                    "kind": kind,
                    "whiten": chol,
                }
            )
        if not pieces:
            raise Error(f"logs: none has the channels {', '.join(self._channels)}", "value out of domain")
        # residuals of one segment stand together: local unknowns belong to segments
        sizes = np.concatenate([np.full(len(p["seg"]), len(p["kind"])) for p in pieces])
        owner = np.concatenate([p["seg"] for p in pieces])
        order = np.argsort(owner, kind="stable")
        first = np.empty(len(order), int)
        first[order] = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
        at = 0
        for p in pieces:
            n = len(p["seg"])
            p["place"] = first[at : at + n, None] + np.arange(len(p["kind"]))
            at += n
        self.pieces = pieces
        self.count = int(sizes.sum())
        self.rows_of_segment = np.bincount(owner, weights=sizes, minlength=len(self.segments)).astype(np.intc)
        self.kind, self.log_of = np.empty(self.count, int), np.empty(self.count, int)
        self.time_of, self.given = np.empty(self.count), np.zeros(self.count, bool)
        for p in pieces:
            self.kind[p["place"]] = p["kind"]
            self.log_of[p["place"]] = p["log"][:, None]
            self.time_of[p["place"]] = np.array(
                [self.logs[a].time[b] for a, b in zip(p["log"], p["row"], strict=True)]
            )[:, None]
            self.given[p["place"]] = p["whiten"] is not None

    def _units(self, name: str) -> list[str]:
        if name in {"q", "v", "a"}:
            return list(self.manifold.unit)
        if name.startswith("body."):
            return ["position"] * 3 + ["rotation"] * 3
        return ["position"] * 3 if name.startswith("site.") else ["joint"]

    # ---- the unknowns ----

    def split(self, x: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Values of parameters (k), wrench (nbody, 6), frame (6), q0, v0 (segments, ...), offsets (segments)."""
        lay, n = self.layout, len(self.segments)
        shared, local = x[: lay.shared], x[lay.shared :].reshape(n, lay.local)
        values = lay.base + lay.factors.T @ shared[: lay.nparam]
        wrench = np.zeros((self.model.nbody, 6))
        for (body, axis), value in zip(lay.wrenches, shared[lay.nparam :], strict=False):
            wrench[body, axis] = value
        frame = shared[lay.shared - 6 :] if lay.frame else np.zeros(6)
        nq, nv = len(lay.q_dofs), len(lay.v_dofs)
        dq, dv = np.zeros((2, n, self.model.nv))
        dq[:, lay.q_dofs] = local[:, :nq]
        dv[:, lay.v_dofs] = local[:, nq : nq + nv]
        offsets = local[:, -1] if lay.offset else np.zeros(n)
        return values, wrench, frame, dq, dv, offsets

    # ---- rollouts ----

    def run(self, x: Array, derivatives: bool) -> tuple[list, tuple]:
        """(segments, q, v, dq, dv) of every bucket; dq, dv (n, D, T + 1, nv), or None."""
        parts = self.split(x)
        return [self._run(bucket, i, parts, derivatives) for i, bucket in enumerate(self._buckets)], parts

    def _acting(self, what: str, log: Log, segment: Segment, steps: int, offset: float) -> Array | None:
        values = getattr(log, what)
        if values is None:
            return None
        t = log.time[segment.row] + offset + self.dt * np.arange(steps)
        row = np.clip(np.searchsorted(log.time, t + 1e-9, side="right") - 1, 0, len(log) - 1)
        return values[row]

    def _directions(self, chosen: Ints, dq: Array) -> tuple[Array, Array, Array]:
        """Changes of q0, v0 (n, D, nv) and of the k parameters (n, D, k) along each unknown."""
        lay, n, nv = self.layout, len(chosen), self.model.nv
        width = lay.shared + len(lay.q_dofs) + len(lay.v_dofs)
        q0, v0 = np.zeros((2, n, width, nv))
        params = np.zeros((n, width, len(lay.positions)))
        params[:, : lay.nparam] = lay.factors
        first = lay.shared
        if lay.q_dofs:
            slope = self.manifold.add_slope(dq[chosen])
            q0[:, first : first + len(lay.q_dofs)] = np.swapaxes(slope[:, :, lay.q_dofs], 1, 2)
        first += len(lay.q_dofs)
        for i, dof in enumerate(lay.v_dofs):
            v0[:, first + i, dof] = 1
        return q0, v0, params

    def _run(self, bucket: tuple[int, Ints], i: int, parts: tuple, derivatives: bool) -> tuple:
        values, _, _, dq, dv, offsets = parts
        steps, chosen = bucket
        q0 = self.manifold.add(self._q[chosen], dq[chosen])
        v0 = self._v[chosen] + dv[chosen]
        if self.single:
            return self._run_single(steps, chosen, q0, v0, parts, derivatives)
        batch = self._batches.get(i)
        if batch is None:
            batch = self._batches[i] = Batch(self.model, len(chosen), self.dt, self.threads, **self.options)
        if len(values):
            batch.params(self.layout.positions)[...] = values
        batch.reset(states=(q0, v0, self._act[chosen]))
        u, tau = (self._all(what, chosen, steps, offsets) for what in ("u", "tau"))
        r = batch.rollout(steps if u is None else u, tau, derivatives=derivatives)
        if not derivatives:
            return chosen, r.q, r.v, None, None
        along = self._directions(chosen, dq)
        width = along[0].shape[1]
        if width == 0:
            return (
                chosen,
                r.q,
                r.v,
                np.zeros((len(chosen), 0, steps + 1, self.model.nv)),
                np.zeros((len(chosen), 0, steps + 1, self.model.nv)),
            )
        # q0, v0, then act0, controls, tau, wrench and dt, which do not change, then the parameters
        given = (along[0], along[1], *[None] * 5, along[2] if len(values) else None)
        change = r._forward(width, given, (len(chosen), width))
        return chosen, r.q, r.v, change.q, change.v

    def _all(self, what: str, chosen: Ints, steps: int, offsets: Array) -> Array | None:
        rows = [
            self._acting(what, self.logs[self.segments[i].log], self.segments[i], steps, offsets[i]) for i in chosen
        ]
        if all(row is None for row in rows):
            return None
        size = self.model.nu if what == "u" else self.model.nv
        return np.ascontiguousarray(np.stack([np.zeros((steps, size)) if row is None else row for row in rows]))

    def _run_single(self, steps: int, chosen: Ints, q0: Array, v0: Array, parts: tuple, derivatives: bool) -> tuple:  # noqa: PLR0917
        values, wrench, _, dq, _, offsets = parts
        m, lay = self.model, self.layout
        if len(values):
            m.params[lay.positions] = values
        along = self._directions(chosen, dq) if derivatives else None

        def one(j: int) -> tuple:
            i = chosen[j]
            segment = self.segments[i]
            log = self.logs[segment.log]
            u, tau, push = (self._acting(w, log, segment, steps, offsets[i]) for w in ("u", "tau", "wrench"))
            push = np.broadcast_to(wrench, (steps, m.nbody, 6)) + (0 if push is None else push)
            r = rollout(
                m,
                q0[j],
                v0[j],
                np.zeros((steps, m.nu)) if u is None else u,
                self.dt,
                act0=self._act[i],
                tau=tau,
                wrench=push,
                tape=derivatives,
                **self.options,
            )
            if along is None:
                return r.q, r.v, None, None
            width = along[0].shape[1]
            params = np.zeros((width, m.nparams))
            params[:, lay.positions] = along[2][j]
            pushes = np.zeros((width, steps, m.nbody, 6))
            for k, (body, axis) in enumerate(lay.wrenches):
                pushes[lay.nparam + k, :, body, axis] = 1
            change = r.jvp(q0=along[0][j], v0=along[1][j], params=params, wrench=pushes)
            return r.q, r.v, change.q, change.v

        with ThreadPoolExecutor(self.threads) as pool:
            done = list(pool.map(one, range(len(chosen))))
        q, v, sq, sv = zip(*done, strict=True)
        return (
            chosen,
            np.stack(q),
            np.stack(v),
            np.stack(sq) if derivatives else None,
            np.stack(sv) if derivatives else None,
        )

    # ---- residuals ----

    def residuals(self, x: Array, derivatives: bool) -> tuple[Array, Array | None]:
        """r (count), and J (count, shared + local) by the shared unknowns and those of the residual's segment.

        The last result with J is cached: the optimiser starts at a point already evaluated, and the end point is
        evaluated again for the statistics.
        """
        key = (x.tobytes(), self.sigma.tobytes())
        if self._last is not None and self._last[0] == key:
            return self._last[1].copy(), self._last[2].copy() if derivatives else None
        r, J = self._residuals(x, derivatives)
        if J is not None:
            self._last = (key, r.copy(), J.copy())
        return r, J

    def _residuals(self, x: Array, derivatives: bool) -> tuple[Array, Array | None]:
        lay = self.layout
        buckets, parts = self.run(x, derivatives)
        r = np.full(self.count, np.nan)
        J = np.zeros((self.count, lay.shared + lay.local)) if derivatives else None
        for chosen, q, v, dq, dv in buckets:
            where = np.full(len(self.segments), -1)
            where[chosen] = np.arange(len(chosen))
            for p in self.pieces:
                mine = np.flatnonzero(where[p["seg"]] >= 0)
                if len(mine):
                    self._compare(p, mine, where[p["seg"][mine]], (q, v, dq, dv), parts, r, J)
        return r, J

    def _compare(  # noqa: PLR0917
        self, p: dict[str, Any], mine: Ints, env: Ints, states: tuple, parts: tuple, r: Array, J: Array | None
    ) -> None:
        q, v, dq, dv = states
        frame, offsets = parts[2], parts[5]
        seg = p["seg"][mine]
        t = (p["time"][mine] + offsets[seg]) / self.dt
        k = np.clip(np.floor(t + 1e-6).astype(int), 0, q.shape[1] - 2)
        share = t - k
        share = np.where(np.abs(share - np.round(share)) < 1e-6, np.round(share), share)
        e, by_q, by_v, by_frame, by_time = self._miss(p, mine, (env, k, share), (q, v), frame, J is not None)
        white = p["whiten"]
        scale = self.sigma[p["kind"]]
        place = p["place"][mine]
        whitened = e / scale if white is None else np.einsum("rij,rj->ri", white[mine], e)
        r[place] = whitened
        if J is None:
            return
        rows = np.zeros((len(mine), e.shape[1], J.shape[1]))
        width = dq.shape[1]
        at = np.r_[0 : self.layout.shared - 6 * self.layout.frame, self.layout.shared : width]
        columns = at
        for by, change in ((by_q, dq), (by_v, dv)):
            for matrix, step in by:
                rows[:, :, columns] += np.einsum("rij,rdj->rid", matrix, change[env, :, step][:, at])
        if self.layout.frame:
            rows[:, :, self.layout.shared - 6 : self.layout.shared] = by_frame
        if self.layout.offset:
            rows[:, :, -1] = by_time
        rows = rows / scale[:, None] if white is None else white[mine] @ rows
        J[place] = rows

    def _miss(  # noqa: PLR0917
        self, p: dict[str, Any], mine: Ints, at: tuple, states: tuple, frame: Array, slopes: bool
    ) -> tuple[Array, list, list, Array | None, Array]:
        """Prediction less measurement (rows, dim); lists of (matrix (rows, dim, nv), step) by q and by v; by the frame
        (rows, dim, 6); by time (rows, dim).
        """
        name, values = p["name"], p["values"][mine]
        env, k, share = at
        q, v = states
        if name == "v" or name.endswith(".v"):
            now = v[env, k] + share[:, None] * (v[env, k + 1] - v[env, k])
            slope = (v[env, k + 1] - v[env, k]) / self.dt
            pick = np.eye(v.shape[2]) if name == "v" else np.eye(v.shape[2])[[self._dof(name[:-2])]]
            mats = [(pick * (1 - share)[:, None, None], k), (pick * share[:, None, None], k + 1)]
            return (
                now @ pick.T - values.reshape(len(mine), -1),
                [],
                mats,
                np.zeros((len(mine), len(pick), 6)),
                slope @ pick.T,
            )
        if name == "a":
            first = np.where(share > 0, k, np.maximum(k - 1, 0))
            unit = np.broadcast_to(np.eye(v.shape[2]) / self.dt, (len(mine), v.shape[2], v.shape[2]))
            now = (v[env, first + 1] - v[env, first]) / self.dt
            return (
                now - values,
                [],
                [(-unit, first), (unit, first + 1)],
                np.zeros((len(mine), v.shape[2], 6)),
                np.zeros_like(now),
            )
        point, by_a, by_b, way = self.manifold.between(q[env, k], q[env, k + 1], share)
        if name == "q":
            e, slope, by_frame = self._miss_q(values, point, frame)
        elif name.startswith("joint."):
            dof = self._dof(name)
            place = next(a for a, b in self.manifold.plain if b == dof)
            e = (point[:, place] - values.reshape(-1))[:, None]
            slope = np.broadcast_to(np.eye(v.shape[2])[[dof]], (len(mine), 1, v.shape[2]))
            by_frame = np.zeros((len(mine), 1, 6))
        else:
            e, slope, by_frame = self._miss_pose(name, values, point, frame, slopes)
        if not slopes:
            return e, [], [], None, e
        by_time = np.einsum("rij,rj->ri", slope, way) / self.dt
        return e, [(slope @ by_a, k), (slope @ by_b, k + 1)], [], by_frame, by_time

    def _miss_q(self, values: Array, point: Array, frame: Array) -> tuple[Array, Array, Array]:
        """Of configurations; free joints are seen through the frame: p' = exp(phi) p + t, R' = exp(phi) R."""
        by_frame = np.zeros((len(values), self.manifold.nv, 6))
        turn = None
        if self.layout.frame:
            point = point.copy()
            turn, R = quat_exp(frame[3:]), self._matrix(frame[3:])
            left = self._left(frame[3:])
            for a, b in self.manifold.free:
                moved = point[:, a : a + 3] @ R.T
                point[:, a : a + 3] = moved + frame[:3]
                point[:, a + 3 : a + 7] = quat_multiply(np.broadcast_to(turn, (len(point), 4)), point[:, a + 3 : a + 7])
                by_frame[:, b : b + 3, :3] = np.eye(3)
                by_frame[:, b : b + 3, 3:] = -hat(moved) @ left
                by_frame[:, b + 3 : b + 6, 3:] = np.swapaxes(_rotation(point[:, a + 3 : a + 7]), 1, 2) @ left
        e = self.manifold.difference(values, point)
        slope = self.manifold.difference_slope(e)
        if turn is not None:
            by_frame = slope @ by_frame
            slope = slope.copy()
            for _, b in self.manifold.free:
                slope[:, b : b + 3, b : b + 3] = self._matrix(frame[3:])
        return e, slope, by_frame

    @staticmethod
    def _matrix(w: Array) -> Array:
        return _rotation(quat_exp(w))

    @staticmethod
    def _left(w: Array) -> Array:
        return np.linalg.inv(right_jacobian_inverse(-w))

    def _miss_pose(
        self, name: str, values: Array, point: Array, frame: Array, slopes: bool
    ) -> tuple[Array, Array, Array]:
        kind, _, label = name.partition(".")
        m = self.model
        dim = 6 if kind == "body" else 3
        e, slope = np.zeros((len(point), dim)), np.zeros((len(point), dim, m.nv))
        by_frame = np.zeros((len(point), dim, 6))
        for i, q in enumerate(point):
            pose = m.body_pose(label, q) if kind == "body" else m.site_pose(label, q)
            e[i, :3] = pose[0] - values[i, :3]
            if slopes:
                J = m.body_jacobian(label, q) if kind == "body" else m.site_jacobian(label, q)
                slope[i, :3] = J[:3]
            if kind == "body":
                turn = np.asarray(pose[1])
                measured = values[i, 3:]
                e[i, 3:] = quat_log(quat_multiply(quat_conjugate(measured), turn))
                if slopes:
                    slope[i, 3:] = right_jacobian_inverse(e[i, 3:]) @ _rotation(turn).T @ J[3:]
        if self.layout.frame:
            raise Error(f"frame: not with the channel '{name}'; measure q", "not supported")
        return e, slope, by_frame

    def _dof(self, name: str) -> int:
        return int(self.model.joint_dof[self.model.index("joint", name.split(".", 1)[1])])

    # ---- after a fit ----

    def labels(self, x: Array) -> tuple[int, int]:
        """The number of steps with exact labels, and of all steps; uses separate rollouts with a label per step."""
        (values, wrench, _, dq, dv, offsets), m = self.split(x), self.model
        if len(values):
            m.params[self.layout.positions] = values
        q0, v0 = self.manifold.add(self._q, dq), self._v + dv

        def one(i: int) -> tuple[int, int]:
            s = self.segments[i]
            u, tau, push = (self._acting(w, self.logs[s.log], s, s.steps, offsets[i]) for w in ("u", "tau", "wrench"))
            push = np.broadcast_to(wrench, (s.steps, m.nbody, 6)) + (0 if push is None else push)
            r = rollout(
                m,
                q0[i],
                v0[i],
                np.zeros((s.steps, m.nu)) if u is None else u,
                self.dt,
                act0=self._act[i],
                tau=tau,
                wrench=push,
                **self.options,
            )
            return sum(label.kind == "exact" for label in r.labels), len(r)

        some = range(0, len(self.segments), max(1, len(self.segments) // 200))  # a sample of the windows
        with ThreadPoolExecutor(self.threads) as pool:
            done = list(pool.map(one, some))
        return sum(a for a, _ in done), sum(b for _, b in done)

    def close(self) -> None:
        for batch in self._batches.values():
            batch.close()
        self._batches = {}


def _rotation(quat: Array) -> Array:
    w, v = quat[..., :1, None], quat[..., 1:]
    k = hat(v)
    return np.eye(3) + 2 * w * k + 2 * k @ k
