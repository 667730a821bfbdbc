"""Identification: parameters, initial states, forces and time offsets from recorded trajectories, with error bars."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error, unknown_name
from tangere._fit_result import FitResult
from tangere._fit_statistics import RANK, loss_of, statistics_of
from tangere._fit_unknowns import Unknown, by_name, dofs_of, of_params
from tangere._shoot import Layout, Segment, Shooter, make_segments, velocity_is_measured
from tangere.logs import Log, logs_of
from tangere.model import Model
from tangere.optimise import Iteration, Optimum, least_squares, minimise

Array = NDArray[np.float64]

_ENOUGH = 1e-4  # decrease of half the sum of squares, in variances: 0.014 standard errors


class Task:
    """One fit: its unknowns, its residuals and its results."""

    def __init__(self, m: Model, logs: list[Log], unknowns: list[Unknown], options: dict[str, Any]) -> None:
        self.m, self.logs, self.unknowns = m, logs, unknowns
        self.dt = options["dt"] or m.timestep
        self.notes: list[str] = []
        self.layout = self._layout(options)
        segments = make_segments(m, logs, self.dt, options["horizon"], options["stride"])
        self._note_windows(len(segments), options["horizon"], options["stride"])
        self._note_velocities(segments)
        channels = options["channels"] or sorted({name for log in logs for name in log.channels})
        for name in channels:
            if not any(name in log.channels for log in logs):
                known = sorted({one for log in logs for one in log.channels})
                raise unknown_name("channel", name, known)
        self.shooter = Shooter(m, logs, segments, self.layout, self.dt, channels, options["threads"], options["sim"])
        self.names = [u.name for u in unknowns] + ([f"frame[{i}]" for i in range(6)] if self.layout.frame else [])
        self.x = np.concatenate([self._start(options), np.zeros(len(segments) * self.layout.local)])
        self._bounds(options)
        self.known = self._noise(options["noise"])

    def _note_windows(self, count: int, horizon: int | None, stride: int | None) -> None:
        if horizon is not None:
            step = stride or max(1, horizon // 2)
            left = sum(len(range(0, max(1, len(log) - horizon), step)) for log in self.logs) - count
            if left:
                self.notes.append(f"{left} windows are left out: the state at their first row is not measured")

    def _note_velocities(self, segments: list[Segment]) -> None:
        """Of starts whose velocity is neither measured nor unknown: differences are that of half a row later."""
        if len(self.layout.v_dofs) == self.m.nv:
            return
        count = sum(not velocity_is_measured(self.m, self.logs[s.log], s.row) for s in segments)
        if count:
            self.notes.append(
                f"the velocity at the start of {count} of {len(segments)} trajectories or windows is not measured: it "
                "is the difference of the first rows, which is off by half a row's acceleration; give v, Log.start, "
                'or initial="v"'
            )

    def _layout(self, options: dict[str, Any]) -> Layout:
        m = self.m
        params = [u for u in self.unknowns if u.kind == "param"]
        names = [name for u in params for name, _ in u.entries]
        positions = np.concatenate([m.params.index(name) for name in names]) if names else np.empty(0, np.intc)
        factors = np.zeros((len(params), len(names)))
        at = 0
        for i, u in enumerate(params):
            for _, factor in u.entries:
                factors[i, at] = factor
                at += 1
        q_dofs, v_dofs = dofs_of(m, options["initial"])
        wrenches = [(int(u.entries[0][0]), int(u.entries[0][1])) for u in self.unknowns if u.kind == "wrench"]
        return Layout(
            positions.astype(np.intc),
            factors,
            np.zeros(len(names)),
            wrenches,
            bool(options["frame"]),
            q_dofs,
            v_dofs,
            bool(options["time_offset"]),
        )

    def _start(self, options: dict[str, Any]) -> Array:
        given = by_name(options["start"], self.unknowns, "start")
        values = np.asarray(self.m.params)
        x = []
        for i, u in enumerate(self.unknowns):
            if u.kind == "param":
                first, factor = u.entries[0]
                base = values[self.m.params.index(first)[0]] / factor
            else:
                base = 0.0
            x.append(float(given.get(i, base)))
        return np.array(x + [0.0] * (6 * self.layout.frame))

    def _bounds(self, options: dict[str, Any]) -> None:
        n, ns = len(self.x), len(self.unknowns)
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        self.transform = ["none"] * n
        for i, u in enumerate(self.unknowns):
            self.lower[i], self.upper[i], self.transform[i] = u.lower, u.upper, u.transform
        for i, (low, high) in by_name(options["bounds"], self.unknowns, "bounds").items():
            if not low <= high:
                raise Error(f"bounds of '{self.names[i]}': {low:g} is above {high:g}", "value out of domain")
            self.lower[i], self.upper[i] = max(low, self.lower[i]), min(high, self.upper[i])
        for i, word in by_name(options["transform"], self.unknowns, "transform").items():
            self.transform[i] = word
        for i in range(ns):
            if self.transform[i] == "inertia" or "inertia" in self.transform[max(0, i - 9) : i]:
                self.lower[i], self.upper[i] = -np.inf, np.inf
            elif not self.lower[i] <= self.x[i] <= self.upper[i]:
                raise Error(
                    f"'{self.names[i]}' starts at {self.x[i]:g}, outside of its bounds {self.lower[i]:g} to "
                    f"{self.upper[i]:g}",
                    "value out of domain",
                )
            if self.transform[i] == "log" and self.x[i] <= 0:
                self.transform[i] = "none"  # starts at 0: only its bound keeps it from being negative
        self.mean, self.spread = np.zeros(n), np.full(n, np.inf)
        for i, (mean, spread) in by_name(options["prior"], self.unknowns, "prior").items():
            self.mean[i], self.spread[i] = mean, spread
        self._local_priors(options["initial_spread"], options["offset_spread"])

    def _local_priors(self, spread: Any, offset: float | None) -> None:
        """Standard deviations of the measured starts: (q0, v0), numbers or arrays (nv)."""
        lay, n = self.layout, len(self.shooter.segments)
        if lay.local == 0:
            return
        table = np.full((n, lay.local), np.inf)
        if spread is not None:
            q, v = (np.broadcast_to(np.asarray(one, np.float64), (self.m.nv,)) for one in spread)
            table[:, : len(lay.q_dofs)] = q[lay.q_dofs]
            table[:, len(lay.q_dofs) : len(lay.q_dofs) + len(lay.v_dofs)] = v[lay.v_dofs]
        if lay.offset and offset is not None:
            table[:, -1] = offset
        self.spread[lay.shared :] = table.ravel()

    def _noise(self, noise: Any) -> bool:
        """Standard deviations of channels: given, or 1 to start with. True: none is estimated."""
        kinds = self.shooter.kinds
        if noise is None:
            return bool(self.shooter.given.all())
        table = {"": noise} if not isinstance(noise, Mapping) else dict(noise)
        used: set[str] = set()
        for i, kind in enumerate(kinds):
            channel = kind.partition(":")[0]
            key = next((k for k in (kind, channel, "") if k in table), None)
            if key is None:
                raise Error(f"noise: there is none for '{kind}'; give all or none", "value out of domain")
            used.add(key)
            if not float(table[key]) > 0:
                raise Error(f"noise of '{key or kind}' = {table[key]} must be positive", "value out of domain")
            self.shooter.sigma[i] = float(table[key])
        for key in table:
            if key not in used:
                raise unknown_name("channel in noise:", key, kinds)
        return True

    # ---- the core's functions ----

    def residuals(self, x: Array, r: Array, J: Array | None) -> None:
        found, slopes = self.shooter.residuals(x, J is not None)
        if not np.isfinite(found).all():
            raise Error("a rollout is not finite", "value out of domain")
        r[:] = found
        if J is not None:
            J[:] = slopes.ravel()  # type: ignore[union-attr]

    def cost(self, loss: str, width: float) -> Callable[[Array, Array | None], float]:
        """The same cost with its gradient, for first-order methods: one reverse sweep for all unknowns."""

        def value(x: Array, g: Array | None) -> float:
            if g is None:
                total = 0.5 * float(loss_of(loss, width, self.shooter.residuals(x, False)[0])[0].sum())
            else:
                total, g[:] = self.shooter.gradient(x, lambda r: loss_of(loss, width, r))
            if not math.isfinite(total):
                raise Error("a rollout is not finite", "value out of domain")
            return total

        return value

    # ---- before, between and after ----

    def leave_flat_start(self) -> None:
        """Where the data do not depend on an unknown at its start, others are tried; the best is where to begin."""
        r, J = self.shooter.residuals(self.x, True)
        size = np.linalg.norm(J[:, : len(self.unknowns)], axis=0) * np.maximum(
            np.abs(self.x[: len(self.unknowns)]), 1e-3
        )
        flat = [
            i
            for i, u in enumerate(self.unknowns)
            if u.kind == "param" and size[i] <= 1e-6 * np.linalg.norm(r) and np.linalg.norm(r) > 0
        ]
        for i in flat:
            cost, best, base = float(r @ r), self.x[i], self.x[i]
            ways = [base * f for f in (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 2, 4, 8)] if base != 0 else [0.01, 0.1, 1.0]
            costs = []
            for value in ways:
                x = self.x.copy()
                x[i] = min(max(value, self.lower[i]), self.upper[i])
                try:
                    tried, _ = self.shooter.residuals(x, False)
                except Error:
                    continue
                costs.append(float(tried @ tried))
                if costs[-1] < cost * (1 - 1e-9):
                    cost, best = costs[-1], x[i]
            hint = self.masked_by(self.m, i)
            if best != base:
                self.notes.append(
                    f"at the start the data do not depend on {self.names[i]} = {base:g} (its derivative is "
                    f"0{hint}); the fit began at {best:g} instead, the best of {len(ways)} values tried"
                )
                self.x[i] = best
            elif costs and max(abs(c - float(r @ r)) for c in costs) <= 1e-9 * float(r @ r):
                self.notes.append(
                    f"the data do not depend on {self.names[i]}, at its start {base:g} or at {len(ways)} other values"
                    + hint
                )
            else:
                self.notes.append(
                    f"at the start the data do not depend on {self.names[i]} = {base:g} (its derivative is "
                    f"0{hint}), and none of the other values tried is better"
                )

    def masked_by(self, m: Model, i: int) -> str:
        """Of an unknown that cannot matter to m: what counts in its place."""
        names = [name for name, _ in self.unknowns[i].entries] if self.unknowns[i].kind == "param" else []
        masked = m.masked(names) if names else {}
        single = m.params.index(names) if names else []
        if not masked or len(masked) < len(single):
            return ""
        return f"; in every contact of its geom another counts ({next(iter(masked.values()))})"

    def estimate_noise(self) -> float:
        """New standard deviations from residuals; returns the largest relative change."""
        r, _ = self.shooter.residuals(self.x, False)
        freedom = max(1.0, (len(r) - len(self.x)) / len(r))
        change = 0.0
        for i in range(len(self.shooter.kinds)):
            mine = (self.shooter.kind == i) & ~self.shooter.given
            if not mine.any():
                continue
            scale = math.sqrt(float(r[mine] @ r[mine]) / (mine.sum() * min(freedom, 1.0))) or 1.0
            self.shooter.sigma[i] *= scale
            change = max(change, abs(math.log(scale)))
        return change

    def information(self, weights: Array, J: Array, r: Array) -> tuple[Array, Array, Array, int]:
        """Information about the shared unknowns with local ones unknown; the scores of each log; J with local ones
        projected out; how many local directions are not seen.
        """
        lay, ns = self.layout, self.layout.shared
        A = J * np.sqrt(weights)[:, None]
        b = r * np.sqrt(weights)
        hidden = 0
        if lay.local:
            A, b = A.copy(), b.copy()
            priors = 1 / self.spread[lay.shared :].reshape(-1, lay.local)
            end = 0
            out = []
            for i, count in enumerate(self.shooter.rows_of_segment):
                rows = slice(end, end + count)
                end += count
                extra = np.diag(priors[i])[priors[i] > 0]
                local = np.vstack([A[rows, ns:], extra])
                shared = np.vstack([A[rows, :ns], np.zeros((len(extra), ns))])
                u, s, _ = np.linalg.svd(local, full_matrices=False)
                scale = np.linalg.norm(local, axis=0).max(initial=0)
                keep = s > RANK * max(scale, 1e-300)
                hidden += int((~keep).sum()) + lay.local - len(s)
                u = u[:, keep]
                left = shared - u @ (u.T @ shared)
                A[rows, :ns] = left[:count]
                out.append(left)  # what falls into the rows of the priors is part of the information, too
            S = sum(block.T @ block for block in out)
        else:
            S = A[:, :ns].T @ A[:, :ns]
        for i in range(ns):
            if np.isfinite(self.spread[i]):
                S[i, i] += 1 / self.spread[i] ** 2
        scores = np.zeros((len(self.logs), ns))
        np.add.at(scores, self.shooter.log_of, A[:, :ns] * b[:, None])
        return S, scores, A[:, :ns], hidden

    def close(self) -> None:
        self.shooter.close()


class _Teller:
    """Progress with the time left, in a terminal."""

    def __init__(self, wanted: Any, iterations: int) -> None:
        self._call = wanted if callable(wanted) else None
        self._show = wanted is True and sys.stderr.isatty()
        self._start, self._most = time.monotonic(), iterations

    def __call__(self, now: Iteration) -> Any:
        if self._show:
            spent = time.monotonic() - self._start
            left = spent / max(1, now.iteration) * (self._most - now.iteration)
            sys.stderr.write(
                f"\riteration {now.iteration}, cost {now.cost:.6g}, step {now.step:.2g}, "
                f"{spent:.0f} s, at most {left:.0f} s left   "
            )
            sys.stderr.flush()
        return self._call(now) if self._call is not None else None

    def close(self) -> None:
        if self._show:
            sys.stderr.write("\r" + " " * 78 + "\r")


def fit(
    model: Model,
    logs: Any,
    params: Any = (),
    *,
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    tie: Sequence[Sequence[str]] | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    transform: Mapping[str, str] | None = None,
    initial: Any = None,
    initial_spread: tuple[Any, Any] | None = None,
    time_offset: bool = False,
    offset_spread: float | None = None,
    frame: bool = False,
    horizon: int | None = None,
    stride: int | None = None,
    channels: Sequence[str] | None = None,
    noise: Any = None,
    robust: str | None = None,
    width: float | None = None,
    method: str = "gn",
    iterations: int | None = None,
    rate: float = 0.01,
    clip: float | None = None,
    tolerance: float = 1e-8,
    dt: float | None = None,
    threads: int | None = None,
    progress: Any = None,
    log_options: Mapping[str, Any] | None = None,
    rounds: int = 3,
    **options: Any,
) -> FitResult:
    """Estimates parameters of a model from recorded trajectories, with standard errors and unobservable directions.

    logs: one or many of: paths (.csv, .npz), dicts of arrays, `Log`s; log_options: those of `read_log` (rate, columns,
    ignore, missing). params: names or patterns ("geom.cube.friction[0]", "body.*.mass"), "inertia:BODY" (its ten
    numbers, always physically possible), "wrench:BODY[i]" (a constant force 0-2 or torque 3-5 at its centre of mass,
    world axes), or dicts {name: factor} that tie several into one number. tie: lists of names that share one value.
    start, bounds, prior (mean, standard deviation), transform ("none", "log"): by name.

    horizon: None: whole trajectories; 1: each row predicted from the previous row; N: windows of N rows, every `stride`
    rows (N / 2). initial: unknown parts of each segment's initial state: True, "q", "v", or a list of "q[i]", "v[i]"
    (tangent numbers); initial_spread: (q, v) standard deviations of the measured start. time_offset: one unknown per
    log, s. frame: poses are measured in an unknown frame, the same for all logs (position, rotation vector).

    channels: the channels to compare (default: all). noise: standard deviations, a number or by channel ("q", or
    "q:position", "q:rotation", "q:joint"); None: estimated from the residuals, which are then weighted by it. robust:
    "huber" or "cauchy"; width: in standard deviations. method: "gn", "adam", "adamw", "lbfgs", "descent"; clip: with
    "adam", "adamw", "descent": longer gradients (of the transformed unknowns) are shortened to this length. options:
    those of `Sim` (solver, impact, ...). progress: True: a line in the terminal; a function of `Iteration`.
    """
    began = time.monotonic()
    if method not in {"gn", "adam", "adamw", "lbfgs", "descent"}:
        raise ValueError(f"method: expected 'gn', 'adam', 'adamw', 'lbfgs' or 'descent', got {method!r}")
    if clip is not None and method in {"gn", "lbfgs"}:
        raise ValueError(f"clip: only with method 'adam', 'adamw' or 'descent', not {method!r}")
    if horizon is not None and horizon < 1:
        raise Error(f"horizon = {horizon} must be at least 1", "value out of domain")
    loss = robust or "square"
    if loss not in {"square", "huber", "cauchy"}:
        raise ValueError(f"robust: expected 'huber' or 'cauchy', got {robust!r}")
    width = {"square": 1.0, "huber": 1.345, "cauchy": 2.385}[loss] if width is None else width
    many = logs_of(model, logs, **dict(log_options or {}))
    unknowns = of_params(model, params, tie)
    task = Task(
        model,
        many,
        unknowns,
        {
            "dt": dt,
            "horizon": horizon,
            "stride": stride,
            "channels": channels,
            "threads": threads,
            "sim": options,
            "initial": initial,
            "frame": frame,
            "time_offset": time_offset,
            "start": start,
            "bounds": bounds,
            "transform": transform,
            "prior": prior,
            "initial_spread": initial_spread,
            "offset_spread": offset_spread,
            "noise": noise,
        },
    )
    if len(task.x) == 0:
        raise Error("params: nothing is unknown", "invalid argument")
    first = task.x[: task.layout.shared].copy()
    most = iterations if iterations is not None else 100 if method == "gn" else 1000
    teller = _Teller(progress, most)
    try:
        if not task.known:
            task.estimate_noise()
        task.leave_flat_start()
        steps = {"rate": rate, "clip": clip} if method != "gn" else {}
        again = 1 if task.known else rounds
        optimum, used = _optimise(task, method, loss, width, most, steps, tolerance, teller, again)
        found = statistics_of(task, loss, width)
        exact, taken = task.shooter.labels(task.x)
        result = _result(task, optimum, found, first, exact / max(1, taken), method, used, time.monotonic() - began)
    finally:
        teller.close()
        task.close()
    return result


def _optimise(  # noqa: PLR0917
    task: Task,
    method: str,
    loss: str,
    width: float,
    iterations: int,
    steps: dict[str, Any],
    tolerance: float,
    teller: _Teller,
    rounds: int,
) -> tuple[Optimum, int]:
    """Minimises, with the noise estimated in between; the histories are joined."""
    shared = {
        "transform": task.transform,
        "bounds": (task.lower, task.upper),
        "prior": (task.mean, task.spread),
        "iterations": iterations,
        "progress": teller,
        "tolerance": tolerance,
    }
    local = task.layout.local
    history: list[Iteration] = []
    evaluations = done = 0
    while True:
        if method == "gn":
            rows = task.shooter.rows_of_segment if local else task.shooter.count
            each = [local] * len(task.shooter.segments) if local else None
            best = least_squares(
                task.residuals, task.x, rows, locals=each, loss=loss, width=width, decrease=_ENOUGH, **shared
            )
        else:
            best = minimise(task.cost(loss, width), task.x, method=method, **steps, **shared)
        task.x = best.x
        history += best.history if not history else best.history[1:]
        evaluations += best.evaluations
        done += 1
        if done >= rounds or best.stop == "stopped by the callback" or task.estimate_noise() < 0.05:
            break
    return Optimum(
        best.x, best.stop, len(history) - 1, evaluations, history[0].cost, best.cost, best.slope, history
    ), done


def _curves(task: Task) -> dict[str, tuple[Array, Array, Array]]:
    """Time, data and prediction of the first log: prediction = data + residual, for numbers that add up."""
    r, shooter, found = task.shooter.residuals(task.x, False)[0], task.shooter, {}
    for p in shooter.pieces:
        mine = p["log"] == 0
        if not mine.any() or p["whiten"] is not None or p["name"].startswith("body."):
            continue
        data = p["values"][mine].reshape(mine.sum(), -1)
        plain = (
            [(a, b) for a, b in shooter.manifold.plain] if p["name"] == "q" else [(i, i) for i in range(data.shape[1])]
        )
        e = r[p["place"][mine]] * shooter.sigma[p["kind"]]
        data = data[:, [a for a, _ in plain]]
        found[p["name"]] = (task.logs[0].time[p["row"][mine]], data, data + e[:, [b for _, b in plain]])
    return found


def _result(  # noqa: PLR0917
    task: Task,
    optimum: Optimum,
    found: dict[str, Any],
    first: Array,
    exact: float,
    method: str,
    rounds: int,
    seconds: float,
) -> FitResult:
    lay, m = task.layout, task.m.copy()
    values, _, _, dq, dv, offsets = task.shooter.split(task.x)
    if len(values):
        m.params[lay.positions] = values
    manifold = task.shooter.manifold
    q0, v0 = manifold.add(task.shooter._q, dq), task.shooter._v + dv
    x = task.x[: lay.shared]
    for i in range(len(task.unknowns)):
        for bound, word in ((task.lower[i], "lower"), (task.upper[i], "upper")):
            if np.isfinite(bound) and x[i] == bound:
                task.notes.append(
                    f"{task.names[i]} ended at its {word} bound {bound:g}: its standard error does not allow for that"
                )
        if masker := task.masked_by(m, i):
            task.notes.append(f"{task.names[i]} ended at {x[i]:g}, where it cannot matter{masker}")
    if not optimum.converged or optimum.stop == "no step lowers the cost":
        task.notes.append(f"the search ended before a minimum: {optimum.stop}")
    shooter = task.shooter
    return FitResult(
        names=task.names,
        values=x.copy(),
        errors=found["errors"],
        covariance=found["covariance"],
        clustered=found["clustered"],
        start=first,
        rank=found["rank"],
        unobservable=found["unobservable"],
        weak=found["weak"],
        correlations=found["correlations"],
        singular=found["singular"],
        optimum=optimum,
        residuals=found["residuals"],
        exact=exact,
        notes=task.notes,
        initial=[(q0[i], v0[i], float(offsets[i])) for i in range(len(q0))],
        model=m,
        seconds=seconds,
        method=method,
        rounds=rounds,
        samples=shooter.count,
        fit_rows={
            "r": found["r"],
            "kind": shooter.kind,
            "kinds": shooter.kinds,
            "log": shooter.log_of,
            "time": shooter.time_of,
            "sigma": shooter.sigma.copy(),
            "logs": [log.name for log in task.logs],
            "curves": _curves(task),
        },
    )
