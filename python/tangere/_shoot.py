"""Shooting: rollouts from segments of logs, the predicted measurements, and their derivatives.

A segment starts at a row of a log and runs for T steps; the rows behind its start are compared with it. One segment per
log is whole-trajectory shooting, one per row with T = 1 the one-step loss, overlapping ones are windows. Segments of
like length run together in a `tangere.Batch`; with wrenches, whose directions in every step would fill the memory of a
batch, each is a separate rollout. Derivatives of residuals are forward sweeps, one direction per unknown (`residuals`);
the gradient of their sum of squares is one reverse sweep, whatever the number of unknowns (`gradient`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._manifold import Manifold
from tangere._measure import Measure, Slopes
from tangere.batch import Batch
from tangere.logs import Log
from tangere.model import Model
from tangere.rollout import Rollout, RolloutChange, rollout

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


def velocity_is_measured(m: Model, log: Log, row: int) -> bool:
    """Whether start_of has v from the log."""
    if row == 0 and log.start is not None:
        return True
    v = log.channels.get("v")
    v = _joints(m, log, ".v") if v is None else v
    return v is not None and bool(np.isfinite(v[row]).all())


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
        self.measure = Measure(self.model, self.manifold, dt, layout.frame, layout.positions, layout.factors)
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
            units = self.measure.units(name)
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

    def _acting(self, what: str, log: Log, segment: Segment, steps: int, offset: float) -> Array | None:
        values = getattr(log, what)
        if values is None:
            return None
        t = log.time[segment.row] + offset + self.dt * np.arange(steps)
        row = np.clip(np.searchsorted(log.time, t + 1e-9, side="right") - 1, 0, len(log) - 1)
        return values[row]

    def _all(self, what: str, chosen: Ints, steps: int, offsets: Array) -> Array | None:
        rows = [
            self._acting(what, self.logs[self.segments[i].log], self.segments[i], steps, offsets[i]) for i in chosen
        ]
        if all(row is None for row in rows):
            return None
        size = self.model.nu if what == "u" else self.model.nv
        return np.ascontiguousarray(np.stack([np.zeros((steps, size)) if row is None else row for row in rows]))

    def _start(self, chosen: Ints, parts: tuple) -> tuple[Array, Array]:
        dq, dv = parts[3], parts[4]
        return self.manifold.add(self._q[chosen], dq[chosen]), self._v[chosen] + dv[chosen]

    def _roll(self, i: int, parts: tuple, tape: bool) -> tuple[Array, Array, Any]:
        """q, v (n, T + 1, ...) of bucket i, and its rollouts: a batch, or a list."""
        values, _, _, _, _, offsets = parts
        steps, chosen = self._buckets[i]
        if self.single:
            return self._roll_single(i, parts, tape)
        batch = self._batches.get(i)
        if batch is None:
            batch = self._batches[i] = Batch(self.model, len(chosen), self.dt, self.threads, **self.options)
        if len(values):
            batch.params(self.layout.positions)[...] = values
        batch.reset(states=(*self._start(chosen, parts), self._act[chosen]))
        u, tau = (self._all(what, chosen, steps, offsets) for what in ("u", "tau"))
        r = batch.rollout(steps if u is None else u, tau, derivatives=tape)
        return r.q, r.v, r

    def _roll_single(self, i: int, parts: tuple, tape: bool) -> tuple[Array, Array, list[Rollout]]:
        _, wrench, _, _, _, offsets = parts
        (steps, chosen), m = self._buckets[i], self.model
        q0, v0 = self._start(chosen, parts)

        def one(j: int) -> Rollout:
            segment = self.segments[chosen[j]]
            log, offset = self.logs[segment.log], offsets[chosen[j]]
            u, tau, push = (self._acting(w, log, segment, steps, offset) for w in ("u", "tau", "wrench"))
            push = np.broadcast_to(wrench, (steps, m.nbody, 6)) + (0 if push is None else push)
            u = np.zeros((steps, m.nu)) if u is None else u
            act = self._act[chosen[j]]
            return rollout(m, q0[j], v0[j], u, self.dt, act0=act, tau=tau, wrench=push, tape=tape, **self.options)

        rolls = self._pool(one, len(chosen))
        return np.stack([r.q for r in rolls]), np.stack([r.v for r in rolls]), rolls

    def _pool(self, work: Callable[[int], Any], count: int) -> list:
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, range(count)))

    # ---- derivatives of rollouts ----

    def _forward(self, i: int, rolls: Any, parts: tuple) -> tuple[Array, Array]:
        """Changes of q, v (n, D, T + 1, nv) along parameters, wrenches, frame (zero), q0 and v0."""
        lay, (steps, chosen), nv = self.layout, self._buckets[i], self.model.nv
        width, first = lay.shared + len(lay.q_dofs) + len(lay.v_dofs), lay.shared
        if width == 0:
            return np.zeros((len(chosen), 0, steps + 1, nv)), np.zeros((len(chosen), 0, steps + 1, nv))
        q0, v0 = np.zeros((2, len(chosen), width, nv))
        params = np.zeros((len(chosen), width, len(lay.positions)))
        params[:, : lay.nparam] = lay.factors
        if lay.q_dofs:
            slope = self.manifold.add_slope(parts[3][chosen])
            q0[:, first : first + len(lay.q_dofs)] = np.swapaxes(slope[:, :, lay.q_dofs], 1, 2)
        for k, dof in enumerate(lay.v_dofs):
            v0[:, first + len(lay.q_dofs) + k, dof] = 1
        if not self.single:
            # q0, v0, then act0, controls, tau, wrench and dt, which do not change, then the parameters
            given = (q0, v0, *[None] * 5, params if len(lay.positions) else None)
            change = rolls._forward(width, given, (len(chosen), width))
            return change.q, change.v
        pushes = np.zeros((width, steps, self.model.nbody, 6))
        for k, (body, axis) in enumerate(lay.wrenches):
            pushes[lay.nparam + k, :, body, axis] = 1

        def one(j: int) -> RolloutChange:
            all_params = np.zeros((width, self.model.nparams))
            all_params[:, lay.positions] = params[j]
            return rolls[j].jvp(q0=q0[j], v0=v0[j], params=all_params, wrench=pushes)

        changes = self._pool(one, len(chosen))
        return np.stack([c.q for c in changes]), np.stack([c.v for c in changes])

    def _backward(self, i: int, rolls: Any, parts: tuple, pulls: tuple[Array, Array], g: Array) -> None:
        """Adds to g (as x) the gradient of a function of the states with gradients pulls: one reverse sweep each."""
        lay, (_, chosen) = self.layout, self._buckets[i]
        if self.single:
            all_ = self._pool(lambda j: rolls[j].vjp(gq=pulls[0][j], gv=pulls[1][j]), len(chosen))
            q0, v0 = np.stack([one.q for one in all_]), np.stack([one.v for one in all_])
            params = sum(one.params[lay.positions] for one in all_)
            wrench = sum(one.wrench.sum(axis=0) for one in all_)
            for k, (body, axis) in enumerate(lay.wrenches):
                g[lay.nparam + k] += wrench[body, axis]
        else:
            back = rolls.vjp(*pulls)
            q0, v0, params = back.q, back.v, back.params.sum(axis=0)
        if lay.nparam:
            g[: lay.nparam] += lay.factors @ params
        local, nq = g[lay.shared :].reshape(len(self.segments), lay.local), len(lay.q_dofs)
        if nq:
            slope = self.manifold.add_slope(parts[3][chosen])
            local[chosen, :nq] += np.einsum("nvi,nv->ni", slope[:, :, lay.q_dofs], q0)
        local[chosen, nq : nq + len(lay.v_dofs)] += v0[:, lay.v_dofs]

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
        lay, parts = self.layout, self._set(x)
        r = np.full(self.count, np.nan)
        J = np.zeros((self.count, lay.shared + lay.local)) if derivatives else None
        for i in range(len(self._buckets)):
            q, v, rolls = self._roll(i, parts, derivatives)
            dq, dv = self._forward(i, rolls, parts) if derivatives else (None, None)
            for p, mine, env in self._rows_of(i):
                e, by = self._compare(p, mine, env, (q, v), parts, derivatives)
                r[p["place"][mine]] = e
                if J is not None:
                    J[p["place"][mine]] = self._slopes(by, env, dq, dv)
        return r, J

    def gradient(self, x: Array, loss: Callable[[Array], tuple[Array, Array]]) -> tuple[float, Array]:
        """Half the sum of loss(r), and its gradient (as x), by one reverse sweep per rollout.

        loss: values and weights w of residuals, such that the gradient is J^T (w r).
        """
        lay, parts, total = self.layout, self._set(x), 0.0
        g = np.zeros(len(x))
        local = g[lay.shared :].reshape(len(self.segments), lay.local)
        for i in range(len(self._buckets)):
            q, v, rolls = self._roll(i, parts, True)
            pulls = (np.zeros_like(v), np.zeros_like(v))
            for p, mine, env in self._rows_of(i):
                e, by = self._compare(p, mine, env, (q, v), parts, True)
                values, weights = loss(e)
                total += float(values.sum())
                pull = weights * e
                for part, into in ((by.q, pulls[0]), (by.v, pulls[1])):
                    for matrix, step in part:
                        np.add.at(into, (env, step), np.einsum("rij,ri->rj", matrix, pull))
                if by.params is not None:
                    g[: lay.nparam] += np.einsum("rij,ri->j", by.params, pull)
                if lay.frame:
                    g[lay.shared - 6 : lay.shared] += np.einsum("rij,ri->j", by.frame, pull)
                if lay.offset:
                    np.add.at(local[:, -1], p["seg"][mine], (by.time * pull).sum(axis=1))
            self._backward(i, rolls, parts, pulls, g)
        return 0.5 * total, g

    def _set(self, x: Array) -> tuple:
        """The parts of x; the model gets its parameters."""
        parts = self.split(x)
        if len(parts[0]):
            self.model.params[self.layout.positions] = parts[0]
        return parts

    def _rows_of(self, i: int) -> Iterator[tuple[dict[str, Any], Ints, Ints]]:
        """Pieces, those of their rows that bucket i predicts, and the rollouts that do."""
        chosen = self._buckets[i][1]
        where = np.full(len(self.segments), -1)
        where[chosen] = np.arange(len(chosen))
        for p in self.pieces:
            mine = np.flatnonzero(where[p["seg"]] >= 0)
            if len(mine):
                yield p, mine, where[p["seg"][mine]]

    def _compare(  # noqa: PLR0917
        self, p: dict[str, Any], mine: Ints, env: Ints, states: tuple[Array, Array], parts: tuple, slopes: bool
    ) -> tuple[Array, Slopes]:
        """Whitened differences (rows, dim) and their derivatives."""
        offsets = parts[5]
        t = (p["time"][mine] + offsets[p["seg"][mine]]) / self.dt
        k = np.clip(np.floor(t + 1e-6).astype(int), 0, states[0].shape[1] - 2)
        share = t - k
        share = np.where(np.abs(share - np.round(share)) < 1e-6, np.round(share), share)
        e, by = self.measure.difference(p["name"], p["values"][mine], (env, k, share), states, parts[2], slopes)
        white = 1 / self.sigma[p["kind"]] if p["whiten"] is None else p["whiten"][mine]
        return (white * e if white.ndim == 1 else np.einsum("rij,rj->ri", white, e)), by.scaled(white)

    def _slopes(self, by: Slopes, env: Ints, dq: Array, dv: Array) -> Array:
        """Rows of J (rows, dim, shared + local)."""
        lay = self.layout
        rows = np.zeros((*by.time.shape, lay.shared + lay.local))
        at = np.r_[0 : lay.shared - 6 * lay.frame, lay.shared : dq.shape[1]]
        for part, change in ((by.q, dq), (by.v, dv)):
            for matrix, step in part:
                rows[:, :, at] += np.einsum("rij,rdj->rid", matrix, change[env, :, step][:, at])
        if by.params is not None:
            rows[:, :, : lay.nparam] += by.params
        if lay.frame:
            rows[:, :, lay.shared - 6 : lay.shared] = by.frame
        if lay.offset:
            rows[:, :, -1] = by.time
        return rows

    # ---- after a fit ----

    def labels(self, x: Array) -> tuple[int, int]:
        """The number of steps with exact labels, and of all steps; uses separate rollouts with a label per step."""
        (_, wrench, _, dq, dv, offsets), m = self._set(x), self.model
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
