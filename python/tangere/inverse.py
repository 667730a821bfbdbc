"""Inverse problems: inputs that reach a goal; torques that hold a pose. Poses in contact are in _pose.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._fit_statistics import RANK
from tangere._manifold import Manifold
from tangere._measure import FOUR_POINTS, moves_frames
from tangere._pose import PoseResult, pose
from tangere.enums import JointType
from tangere.model import Model
from tangere.optimise import Iteration, Optimum, least_squares, minimise
from tangere.rollout import Rollout, rollout

__all__ = ["Holding", "NotHeldError", "PoseResult", "Solution", "inverse_contact_dynamics", "pose", "solve"]

Array = NDArray[np.float64]
Goal = Callable[[Array, Array], tuple[Array, Array, Array]]

_STEP = 1e-6  # of central differences: the cube root of rounding, near enough


@dataclass
class Solution:
    """The solution: x by unknown (`solution["v0"]`), the residual at the target, the rollout, the optimiser's result
    (optimum), errors: |residual| after each iteration, and searches: how many were started.
    """

    values: dict[str, Array]
    residual: Array
    rollout: Any
    optimum: Optimum
    errors: list[float]
    seconds: float
    searches: int = 1

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    @property
    def solved(self) -> bool:
        """Whether the optimisation ended at a minimum, not at a limit."""
        return bool(self.optimum.converged)

    @property
    def iterations(self) -> int:
        """Iterations of the optimisation."""
        return self.optimum.iterations


# ---- goals ----


def _goal(m: Model, target: Any) -> Goal:
    """From (q, v) to the residual and its derivatives by q (tangent) and v."""
    if callable(target):
        return target
    manifold = Manifold(m)
    parts = dict(target)
    dofs = parts.pop("dofs", None)
    for name in parts:
        if name not in {"q", "v"} and name.partition(":")[0] not in {"site", "body"}:
            raise ValueError(f"target: {name!r}: expected 'q', 'v', 'site:NAME', 'body:NAME' or 'dofs'")
    if not parts:
        raise ValueError("target: there is none")

    def goal(q: Array, v: Array) -> tuple[Array, Array, Array]:
        r, by_q, by_v = [], [], []
        zero, one = np.zeros((m.nv, m.nv)), np.eye(m.nv)
        pick = list(range(m.nv)) if dofs is None else list(dofs)
        for name, given in parts.items():
            value = np.asarray(given, np.float64)
            kind, _, label = name.partition(":")
            if kind == "q":
                e = manifold.difference(value, q)
                r.append(e[pick])
                by_q.append(manifold.difference_slope(e)[pick])
                by_v.append(zero[pick])
            elif kind == "v":
                r.append((v - value)[pick])
                by_q.append(zero[pick])
                by_v.append(one[pick])
            else:
                pose = m.site_pose(label, q) if kind == "site" else m.body_pose(label, q)
                J = m.site_jacobian(label, q) if kind == "site" else m.body_jacobian(label, q)
                r.append(pose[0] - value[:3])
                by_q.append(J[:3])
                by_v.append(np.zeros((3, m.nv)))
        return np.concatenate(r), np.vstack(by_q), np.vstack(by_v)

    return goal


# ---- unknowns of a rollout ----


class _Inputs:
    """The unknowns as one vector x, and a rollout as a function of it."""

    def __init__(self, m: Model, unknown: Any, given: dict[str, Any], steps: int, dt: float) -> None:
        self.m, self.steps, self.dt, self.given = m.copy(), steps, dt, given
        self.names = [unknown] if isinstance(unknown, str) else list(unknown)
        self.manifold = Manifold(m)
        self.parts: dict[str, slice] = {}
        start, end = [], 0
        for name in self.names:
            first = self._first(name)
            self.parts[name] = slice(end, end + len(first))
            end += len(first)
            start.append(first)
        self.start = np.concatenate(start)

    def _first(self, name: str) -> Array:
        m = self.m
        if name in {"q0", "v0", "impulse"}:
            return np.zeros(m.nv) if name != "v0" else np.array(self.given["v0"], np.float64)
        if name == "u":
            u = self.given.get("controls")
            return np.zeros(self.steps * m.nu) if u is None else np.asarray(u, np.float64).ravel().copy()
        if name == "tau":
            return np.zeros(self.steps * m.nv)
        kind, _, what = name.partition(":")
        if kind == "wrench" and what:
            m.index("body", what)
            return np.zeros(6)
        if kind == "params" and what:
            return np.asarray(m.params)[m.params.index(what)].copy()
        raise ValueError(
            f"unknown: {name!r}: expected 'q0' (a change in the tangent space), 'v0', 'impulse', 'u', 'tau', "
            "'wrench:BODY' or 'params:PATTERN'"
        )

    def run(self, x: Array, options: dict[str, Any], tape: bool) -> Rollout:
        m, n = self.m, self.steps
        q0, v0 = self.given["q0"], self.given["v0"]
        u = np.zeros((n, m.nu)) if self.given.get("controls") is None else np.asarray(self.given["controls"])
        tau, wrench = np.zeros((n, m.nv)), np.zeros((n, m.nbody, 6))
        for name, where in self.parts.items():
            kind, _, what = name.partition(":")
            if name == "q0":
                q0 = self.manifold.add(np.asarray(q0), x[where])
            elif name == "v0":
                v0 = x[where]
            elif name == "impulse":
                tau[0] += x[where] / self.dt
            elif name == "u":
                u = x[where].reshape(n, m.nu)
            elif name == "tau":
                tau += x[where].reshape(n, m.nv)
            elif kind == "wrench":
                wrench[:, m.index("body", what)] += x[where]
            else:
                m.params[m.params.index(what)] = x[where]
        return rollout(m, q0, v0, u, self.dt, tau=tau, wrench=wrench, tape=tape, **options)

    def directions(self, x: Array) -> dict[str, Array]:
        """Changes of the inputs of the rollout along each entry of x."""
        m, n, count = self.m, self.steps, len(x)
        out: dict[str, Array] = {}
        for name, where in self.parts.items():
            kind, _, what = name.partition(":")
            size = where.stop - where.start
            rows = np.arange(where.start, where.stop)
            if name == "q0":
                out["q0"] = np.zeros((count, m.nv))
                out["q0"][rows] = self.manifold.add_slope(x[where]).T
            elif name == "v0":
                out["v0"] = np.zeros((count, m.nv))
                out["v0"][rows] = np.eye(m.nv)
            elif name in {"impulse", "tau"}:
                tau = out.setdefault("tau", np.zeros((count, n, m.nv)))
                if name == "impulse":
                    tau[rows, 0] = np.eye(m.nv) / self.dt
                else:
                    tau[rows] = np.eye(size).reshape(size, n, m.nv)
            elif name == "u":
                out["controls"] = np.zeros((count, n, m.nu))
                out["controls"][rows] = np.eye(size).reshape(size, n, m.nu)
            elif kind == "wrench":
                push = out.setdefault("wrench", np.zeros((count, n, m.nbody, 6)))
                for i in range(6):
                    push[rows[i], :, m.index("body", what), i] = 1
            else:
                params = out.setdefault("params", np.zeros((count, m.nparams)))
                params[rows, m.params.index(what)] = 1
        return out

    def gradient(self, x: Array, r: Rollout, gq: Array, gv: Array, at: int) -> Array:
        """J^T g of a function of the state `at`: one reverse sweep."""
        back, g = r.vjp(gq=gq, gv=gv, at=at), np.zeros(len(x))
        for name, where in self.parts.items():
            kind, _, what = name.partition(":")
            if name == "q0":
                g[where] = self.manifold.add_slope(x[where]).T @ back.q
            elif name == "v0":
                g[where] = back.v
            elif name == "impulse":
                g[where] = back.tau[0] / self.dt
            elif name in {"u", "tau"}:
                g[where] = (back.u if name == "u" else back.tau).ravel()
            elif kind == "wrench":
                g[where] = back.wrench[:, self.m.index("body", what)].sum(axis=0)
            else:
                g[where] = back.params[self.m.params.index(what)]
        return g

    def direct(self, goal: Goal, q: Array, v: Array, count: int) -> Array:
        """Derivatives of a goal by the unknown parameters at a given state: lengths of links, places of sites."""
        out = np.zeros((count, len(self.start)))
        for name, where in self.parts.items():
            if name.startswith("params:"):
                for column, i in enumerate(self.m.params.index(name.partition(":")[2]), where.start):
                    if not moves_frames(self.m._param_names(np.array([i], np.intc))[0]):
                        continue
                    base = float(self.m.params[int(i)])
                    for share, factor in FOUR_POINTS:
                        self.m.params[int(i)] = base + share
                        out[:, column] += factor * goal(q, v)[0]
                    self.m.params[int(i)] = base
        return out


class _Problem:
    """A goal as a function of x: the miss, its Jacobian, and the gradient of half its square."""

    def __init__(self, inputs: _Inputs, target: Any, derivatives: str, options: dict[str, Any], at: int) -> None:
        self._inputs, self._derivatives, self._options, self._at = inputs, derivatives, options, at
        self._goal = _goal(inputs.m, target)
        self._frames = not callable(target) and any(":" in name for name in target)
        self.rows = len(self.miss(inputs.start))

    def miss(self, x: Array) -> Array:
        r = self._inputs.run(x, self._options, False)
        return self._goal(r.q[self._at], r.v[self._at])[0]

    def jacobian(self, x: Array) -> tuple[Array, Array]:
        """Forward sweeps, one direction per unknown; reverse ones, one per row, where those are far fewer."""
        if self._derivatives == "differences":
            return self.miss(x), _differences(self.miss, x)
        r, miss, by_q, by_v, direct = self._linear(x)
        if len(x) <= 2 * self.rows:
            change = r.jvp(**self._inputs.directions(x))
            return miss, by_q @ change.q[:, self._at].T + by_v @ change.v[:, self._at].T + direct
        rows = [self._inputs.gradient(x, r, gq, gv, self._at) for gq, gv in zip(by_q, by_v, strict=True)]
        return miss, np.stack(rows) + direct

    def gradient(self, x: Array) -> tuple[Array, Array]:
        if self._derivatives == "differences":
            miss, J = self.jacobian(x)
            return miss, J.T @ miss
        r, miss, by_q, by_v, direct = self._linear(x)
        return miss, self._inputs.gradient(x, r, by_q.T @ miss, by_v.T @ miss, self._at) + direct.T @ miss

    def _linear(self, x: Array) -> tuple[Rollout, Array, Array, Array, Array]:
        r = self._inputs.run(x, self._options, True)
        q, v = r.q[self._at], r.v[self._at]
        miss, by_q, by_v = self._goal(q, v)
        direct = self._inputs.direct(self._goal, q, v, len(miss)) if self._frames else np.zeros((len(miss), len(x)))
        return r, miss, by_q, by_v, direct


def solve(
    model: Model,
    target: Any,
    unknown: Any = "v0",
    *,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    steps: int | None = None,
    dt: float | None = None,
    at: int = -1,
    guess: Mapping[str, ArrayLike] | None = None,
    bounds: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    method: str = "gn",
    derivatives: str = "exact",
    iterations: int | None = None,
    tolerance: float = 1e-12,
    rate: float = 0.01,
    starts: int = 1,
    seed: int = 0,
    progress: Callable[[Iteration], Any] | None = None,
    **options: Any,
) -> Solution:
    """Finds unknowns for which a function of the trajectory is zero, or smallest in the least-squares sense.

    target: {"q": q (nq), "v": v (nv), "site:NAME": point, "body:NAME": point, "dofs": which entries of q and v to
    compare}, of the state `at` (-1: the last); or a function of (q, v) that returns (residual, its derivative by q in
    the tangent space, by v). unknown: one or several of "q0" (a change in the tangent space), "v0", "impulse"
    (generalised, in the first step), "u" and "tau" (every step), "wrench:BODY" (constant), "params:PATTERN". guess:
    initial values, by unknown. bounds: by unknown, (lower, upper).

    method: "gn" (Gauss-Newton with damping), "descent", "lbfgs", "adam". derivatives: "exact", "toi", "smoothed"
    (options smooth_speed, smooth_reach), or "differences": central ones, for comparison. Jacobians take one forward
    sweep per unknown, or one reverse sweep per row of the target where those are far fewer; gradients take one.

    Contact makes the problem neither smooth nor convex: a search may stall before the target. starts: at most so many
    searches, until |residual| <= tolerance; each further one starts where, by the linear model at the guess, the miss
    has changed at random by about its own length. The best one counts.
    """
    began = time.monotonic()
    if derivatives not in {"exact", "toi", "smoothed", "differences"}:
        raise ValueError(f"derivatives: expected 'exact', 'toi', 'smoothed' or 'differences', got {derivatives!r}")
    if steps is None and controls is None:
        raise ValueError("steps: how many? (or give controls)")
    count = int(steps) if steps is not None else len(np.asarray(controls))
    given = {
        "q0": model.default_q() if q0 is None else np.asarray(q0, np.float64),
        "v0": np.zeros(model.nv) if v0 is None else np.asarray(v0, np.float64),
        "controls": controls,
    }
    inputs = _Inputs(model, unknown, given, count, model.timestep if dt is None else float(dt))
    x = inputs.start
    for name, value in (guess or {}).items():
        if name not in inputs.parts:
            raise ValueError(f"guess: {name!r} is not unknown; expected {', '.join(inputs.parts)}")
        x[inputs.parts[name]] = np.ravel(np.asarray(value, np.float64))
    limits = _limits(inputs, bounds)
    if starts < 1:
        raise ValueError(f"starts: expected 1 or more, got {starts}")
    sim = {**options, "backward": derivatives} if derivatives in {"toi", "smoothed"} else dict(options)
    problem = _Problem(inputs, target, derivatives, sim, at)
    optimum, failure, searches = None, None, 0
    for begin in _guesses(problem, x, limits, starts, seed):
        searches += 1
        try:
            one = _search(problem, begin, method, limits, iterations, tolerance, rate, progress)
        except Error as refusal:
            failure = refusal
            continue
        if optimum is None or one.cost < optimum.cost:
            optimum = one
        if one.stop in {"goal reached", "stopped by the callback"}:
            break
    if optimum is None:
        raise failure  # type: ignore[misc]
    final = inputs.run(optimum.x, sim, True)
    miss = problem.miss(optimum.x)
    values = {name: optimum.x[where].copy() for name, where in inputs.parts.items()}
    errors = [float(np.sqrt(2 * h.cost)) for h in optimum.history]
    return Solution(values, miss, final, optimum, errors, time.monotonic() - began, searches)


def _guesses(problem: _Problem, x: Array, limits: tuple[Array, Array], starts: int, seed: int) -> Iterator[Array]:
    """x, then x + P a: a is a random change of the miss, of about its length; P is the inverse of the Jacobian with the
    least change of the unknowns, each in units of its effect on the miss.
    """
    yield x
    if starts == 1:
        return
    rng = np.random.default_rng(seed)
    miss, J = problem.jacobian(x)
    effect = np.linalg.norm(J, axis=0)
    free = (effect > RANK * effect.max(initial=0)) & (limits[0] < limits[1])
    unit = np.where(free, 1 / np.where(free, effect, 1), 0)
    inverse = unit[:, None] * np.linalg.pinv(J * unit, rcond=RANK)
    for _ in range(starts - 1):
        change = rng.normal(size=len(miss)) * np.linalg.norm(miss) / np.sqrt(len(miss))
        yield np.clip(x + inverse @ change, *limits)


def _limits(inputs: _Inputs, bounds: Mapping[str, Any] | None) -> tuple[Array, Array]:
    low, high = np.full(len(inputs.start), -np.inf), np.full(len(inputs.start), np.inf)
    for name, (a, b) in (bounds or {}).items():
        if name not in inputs.parts:
            raise ValueError(f"bounds: {name!r} is not unknown; expected {', '.join(inputs.parts)}")
        low[inputs.parts[name]], high[inputs.parts[name]] = a, b
    return low, high


def _differences(function: Callable[[Array], Array], x: Array) -> Array:
    columns = []
    for i in range(len(x)):
        h = _STEP * max(1.0, abs(x[i]))
        step = np.eye(1, len(x), i)[0] * h
        columns.append((function(x + step) - function(x - step)) / (2 * h))
    return np.stack(columns, axis=1)


def _search(  # noqa: PLR0917
    problem: _Problem,
    x: Array,
    method: str,
    limits: tuple[Array, Array],
    iterations: int | None,
    tolerance: float,
    rate: float,
    progress: Any,
) -> Optimum:
    def watch(now: Iteration) -> Any:
        go_on = None if progress is None else progress(now)
        return False if np.sqrt(2 * now.cost) <= tolerance else go_on

    if method == "gn":

        def residuals(point: Array, r: Array, J: Array | None) -> None:
            if J is None:
                r[:] = problem.miss(point)
            else:
                r[:], slope = problem.jacobian(point)
                J[:] = slope.ravel()

        best = least_squares(
            residuals,
            x,
            problem.rows,
            bounds=limits,
            iterations=100 if iterations is None else iterations,
            damping=1e-8,
            tolerance=1e-14,
            progress=watch,
        )
    else:

        def cost(point: Array, g: Array | None) -> float:
            if g is None:
                miss = problem.miss(point)
            else:
                miss, g[:] = problem.gradient(point)
            return 0.5 * float(miss @ miss)

        best = minimise(
            cost,
            x,
            method=method,
            bounds=limits,
            iterations=1000 if iterations is None else iterations,
            rate=rate,
            tolerance=1e-14,
            progress=watch,
        )
    if best.cost > 0 and np.sqrt(2 * best.cost) <= tolerance:
        return Optimum(
            best.x,
            "goal reached",
            best.iterations,
            best.evaluations,
            best.first_cost,
            best.cost,
            best.slope,
            best.history,
        )
    return best


# ---- torques that hold a pose ----


@dataclass
class Holding:
    """Torques that hold a pose: tau (nv), zero at dofs that are not driven; speed: |v+| with them (m/s, rad/s);
    speeds: after each iteration; iterations; rollout: the step.
    """

    tau: Array
    speed: float
    speeds: list[float]
    iterations: int
    rollout: Any


class NotHeldError(Error):
    """No torques hold the pose. best: the best torques that were found."""

    def __init__(self, message: str, best: Holding) -> None:
        super().__init__(message, "not solved")
        self.best = best


def inverse_contact_dynamics(
    model: Model,
    q: ArrayLike,
    *,
    driven: Sequence[int] | None = None,
    guess: ArrayLike | None = None,
    u: ArrayLike | None = None,
    act: ArrayLike | None = None,
    dt: float | None = None,
    tolerance: float = 1e-6,
    iterations: int = 50,
    derivatives: str = "exact",
    **options: Any,
) -> Holding:
    """Torques tau at driven dofs (None: all hinges and slides) for which v+ = 0 from rest at q, supported by the
    contacts.

    Gauss-Newton on v+(tau), with the exact derivatives of a step or central differences. guess: initial torques (nv;
    None: those that balance gravity without contact). u: controls in addition to tau. tolerance: of the largest entry
    of v+. Raises `NotHeldError` with the remaining velocity if there are no such torques.
    """
    q = np.asarray(q, np.float64)
    chosen = _driven(model) if driven is None else [int(i) for i in driven]
    at_rest = np.zeros(model.nv)
    full = np.asarray(model.rnea(q, at_rest, at_rest) if guess is None else guess, np.float64)
    row = np.zeros((1, model.nu)) if u is None else np.asarray(u, np.float64)[None]

    def step(x: Array, tape: bool) -> Rollout:
        tau = np.zeros((1, model.nv))
        tau[0, chosen] = x
        return rollout(model, q, at_rest, row, dt, act0=act, tau=tau, tape=tape, **options)

    def value(x: Array, want: bool) -> tuple[Array, Array | None]:
        if not want:
            return step(x, False).v[1], None
        if derivatives == "differences":
            return step(x, False).v[1], _differences(lambda p: step(p, False).v[1], x)
        r = step(x, True)
        return r.v[1], r.step_jacobian(0).dv_dtau[:, chosen]

    speeds: list[float] = []

    def watch(now: Iteration) -> Any:
        speeds.append(float(np.abs(step(now.x, False).v[1]).max(initial=0.0)))
        return False if speeds[-1] <= tolerance else None

    def residuals(x: Array, r: Array, J: Array | None) -> None:
        miss, slope = value(x, J is not None)
        r[:] = miss
        if J is not None:
            J[:] = slope.ravel()  # type: ignore[union-attr]

    best = least_squares(
        residuals, full[chosen], model.nv, iterations=iterations, damping=1e-9, tolerance=1e-15, progress=watch
    )
    tau = np.zeros(model.nv)
    tau[chosen] = best.x
    final = step(best.x, True)
    speed = float(np.abs(final.v[1]).max(initial=0.0))
    holding = Holding(tau, speed, speeds, best.iterations, final)
    if speed > tolerance:
        raise NotHeldError(
            f"no torques hold the pose: {speed:.3g} m/s is left after {best.iterations} iterations", holding
        )
    return holding


def _driven(m: Model) -> list[int]:
    return [int(m.joint_dof[j]) for j in range(m.njoint) if m.joint_type[j] in {JointType.HINGE, JointType.SLIDE}]
