"""Control: LQR, and planners of a receding horizon for any model and cost. See docs/control.md.

>>> import tangere as tg
>>> m = tg.load("pendulum")
>>> cost = tg.control.Cost(q=[3.14159], weight_q=1.0, weight_v=0.1, weight_u=0.001)
>>> planner = tg.control.Planner(m, cost, "ilqr", horizon=100)
>>> sim = tg.Sim(m)
>>> loop = tg.control.run(planner, sim, controls=500)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._errors import unknown_name
from tangere._names import told
from tangere.model import Model
from tangere.sim import _settings

Array = NDArray[np.float64]

METHODS = ("random", "cem", "mppi", "ilqr", "ilqg")  # in the order of the library

Function = Callable[[NDArray[np.intc], Array, Array, Array, Array], ArrayLike]
Gradient = Callable[[NDArray[np.intc], Array, Array, Array, Array], Sequence[ArrayLike | None]]


class LinearGain(NamedTuple):
    """The result of `lqr`: u = -K x, cost to go 1/2 x' P x."""

    K: Array
    P: Array


def _matrix(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.ascontiguousarray(value, np.float64)
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def lqr(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None = None) -> LinearGain:
    """The discrete linear-quadratic regulator: u = -K x minimises the sum of 1/2 x'Qx + x'Nu + 1/2 u'Ru.

    x+ = A x + B u: `Model.linearise` gives A and B. Raises an error if there is no stabilising gain.
    """
    n, nu = np.shape(B) if np.ndim(B) == 2 else (0, 0)
    given = (
        _matrix("A", A, (n, n)), _matrix("B", B, (n, nu)), _matrix("Q", Q, (n, n)), _matrix("R", R, (nu, nu)),
        None if N is None else _matrix("N", N, (n, nu)),
    )  # fmt: skip
    K, P = np.empty((nu, n)), np.empty((n, n))
    _core.lqr(n, nu, *given, K, P)
    return LinearGain(K, P)


def _site(m: Model, name: str | int) -> int:
    if not isinstance(name, str):
        return int(name)
    known = m.names("site")
    if name not in known:
        raise unknown_name("site", name, known)
    return known.index(name)


@dataclass(frozen=True)
class Cost:
    """The cost of a plan: a sum over its rows, at the start of each, and over the state at the end.

    Quadratic: 1/2 weight (x - reference)^2 of q (in the tangent space: weights nv), v, act, u, of the positions of
    `sites` (names; site_target, weight_site (n, 3)), of the position and velocity of the centre of mass (com,
    com_velocity (3)). Weights are numbers or arrays; None: zero. References: None is zero, of q the model's
    reference configuration; one for all rows, or one per row and one for the end, (horizon + 1, ...). last_...: weights
    at the end, in place of the others.

    function(row, q, v, act, u): a cost that is added, of n states at once: row (n), q (n, nq), v (n, nv), act (n, na),
    u (n, nu; zero at the end, where row is the horizon) -> (n). gradient: the same arguments -> (gq, gv, gact, gu),
    (n, nv) and so on, None for zero; ilqr and ilqg need it. Infinity: never to be chosen; NaN is refused.
    """

    q: ArrayLike | None = None
    v: ArrayLike | None = None
    act: ArrayLike | None = None
    u: ArrayLike | None = None
    weight_q: ArrayLike | None = None
    weight_v: ArrayLike | None = None
    weight_act: ArrayLike | None = None
    weight_u: ArrayLike | None = None
    sites: Sequence[str | int] = ()
    site_target: ArrayLike | None = None
    weight_site: ArrayLike | None = None
    com: ArrayLike | None = None
    com_velocity: ArrayLike | None = None
    weight_com: ArrayLike | None = None
    weight_com_velocity: ArrayLike | None = None
    last_q: ArrayLike | None = None
    last_v: ArrayLike | None = None
    last_act: ArrayLike | None = None
    last_site: ArrayLike | None = None
    last_com: ArrayLike | None = None
    last_com_velocity: ArrayLike | None = None
    function: Function | None = None
    gradient: Gradient | None = None

    def _sizes(self, m: Model) -> dict[str, tuple[int, ...]]:
        """The shapes of references, without the row."""
        sites = (len(self.sites), 3)
        return {
            "q": (m.nq,), "v": (m.nv,), "act": (m.na,), "u": (m.nu,), "site_target": sites, "com": (3,),
            "com_velocity": (3,),
        }  # fmt: skip

    def _arrays(self, m: Model, rows: int) -> tuple:
        """As `_core.Planner` takes it."""
        references = {name: getattr(self, name) for name in self._sizes(m)}
        moving = any(x is not None and np.ndim(x) > len(self._sizes(m)[k]) for k, x in references.items())
        given: dict[str, Array | None] = {}
        for name, shape in self._sizes(m).items():
            value = references[name]
            whole = (rows + 1, *shape) if moving else shape
            try:
                given[name] = None if value is None else np.ascontiguousarray(
                    np.broadcast_to(np.asarray(value, np.float64), whole)
                )  # fmt: skip
            except ValueError:
                raise ValueError(
                    f"cost.{name}: expected shape {shape} or {(rows + 1, *shape)}, got {np.shape(value)}"
                ) from None
        sites = (len(self.sites), 3)
        shapes = {
            "q": (m.nv,),
            "v": (m.nv,),
            "act": (m.na,),
            "u": (m.nu,),
            "site": sites,
            "com": (3,),
            "com_velocity": (3,),
        }

        def weight(name: str) -> Array | None:
            value, shape = getattr(self, name), shapes[name.split("_", 1)[1]]
            if value is None:
                return None
            try:
                return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.float64), shape))
            except ValueError:
                raise ValueError(f"cost.{name}: expected a number or shape {shape}, got {np.shape(value)}") from None

        index = np.array([_site(m, name) for name in self.sites], np.intc)
        w = {f.name: weight(f.name) for f in fields(self) if f.name.startswith(("weight_", "last_"))}
        return (
            moving, index, given["q"], given["v"], given["act"], given["u"], w["weight_q"], w["weight_v"],
            w["weight_act"], w["weight_u"], given["site_target"], w["weight_site"], given["com"],
            given["com_velocity"], w["weight_com"], w["weight_com_velocity"], w["last_q"], w["last_v"], w["last_act"],
            w["last_site"], w["last_com"], w["last_com_velocity"],
        )  # fmt: skip


class Plan(NamedTuple):
    """A plan: u (horizon, nu); the states it leads through, q, v, act (horizon + 1, ...); gains of ilqr and ilqg
    (horizon, nu, 2 nv + na), else None: u + gains (x (-) state) may be applied between plans.

    cost, first_cost: of the plan, and of the previous one (infinite: it diverged); rollouts: all; blown: those that
    diverged and ended early with infinite cost; share: effective share of samples (sampling), last length (ilqr), last
    KL divergence (ilqg); stop: why it ended; seconds: the time it took.
    """

    u: Array
    q: Array
    v: Array
    act: Array
    gains: Array | None
    cost: float
    first_cost: float
    iterations: int
    rollouts: int
    blown: int
    share: float
    stop: str
    seconds: float


class Planner:
    """Plans controls for the next `horizon` rows of `hold` steps each.

    method: "random", "cem", "mppi", "ilqr" or "ilqg". bounds: (lower, upper) of the controls; None: the ranges of the
    actuators. noise: standard deviations of controls; None: a quarter of the bounded range. seed: with it a plan is
    bitwise the same for any number of threads. speed: a rollout that is faster counts as diverged. The others are those
    of `tg_planner_def` in docs/api.md; options those of `tangere.Sim` (backward="smoothed" chooses smoothed A and B).

    `u` (horizon, nu) is the plan from which the next one starts; it can be written to. A planner is for one thread.
    """

    @told()
    def __init__(  # noqa: PLR0917  (as in Sim)
        self,
        model: Model,
        cost: Cost,
        method: str = "mppi",
        horizon: int = 20,
        hold: int = 1,
        dt: float | None = None,
        *,
        threads: int | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        iterations: int = 5,
        samples: int = 64,
        seed: int = 0,
        noise: ArrayLike | None = None,
        speed: float = np.inf,
        correlation: float = 0.0,
        elite: float = 0.1,
        smoothing: float = 0.0,
        floor: float = 0.01,
        temperature: float = 0.2,
        absolute: bool = False,
        importance: bool = False,
        regularisation: float = 1e-6,
        searches: int = 10,
        tolerance: float = 1e-6,
        kl: float = 1.0,
        u: ArrayLike | None = None,
        solver: str = "newton",
        **options: Any,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method: expected one of {', '.join(map(repr, METHODS))}, got {method!r}")
        self._model, self._rows, self._hold, self.method = model, int(horizon), int(hold), method

        def controls(name: str, value: ArrayLike | None) -> Array | None:
            try:
                return None if value is None else np.ascontiguousarray(np.broadcast_to(np.float64(value), (model.nu,)))
            except ValueError:
                raise ValueError(f"{name}: expected {model.nu} numbers, got shape {np.shape(value)}") from None

        lower, upper = bounds or (None, None)
        settings = _settings(model, dt, solver, **options)
        self.dt = settings[1]
        self._cost = cost
        numbers = (speed, correlation, elite, smoothing, floor, temperature, regularisation, tolerance, kl)
        self._core = _core.Planner(
            settings, cost._arrays(model, self._rows), None if cost.function is None else self._ask,
            controls("bounds[0]", lower), controls("bounds[1]", upper), controls("noise", noise),
            METHODS.index(method), self._rows, self._hold, threads or 0, iterations, samples, seed, searches, numbers,
            absolute, importance,
        )  # fmt: skip
        self.u = np.zeros((self._rows, model.nu)) if u is None else np.array(
            np.broadcast_to(np.asarray(u, np.float64), (self._rows, model.nu))
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<tangere.control.Planner {self.method!r} of {self._model.name!r}: {self._rows} rows of {self._hold} "
            f"steps of {self.dt:g} s>"
        )

    def _ask(  # noqa: PLR0917  (as the library calls it)
        self, row: Any, q: Array, v: Array, act: Array, u: Array, value: Array, gradient: tuple[Array, ...] | None
    ) -> bool:
        """What the library calls."""
        cost = self._cost
        if cost.function is None:  # it was there, and is no longer
            value[:] = 0
            return True
        value[:] = cost.function(row, q, v, act, u)
        if gradient is None:
            return True
        if cost.gradient is None:
            return False
        for to, given in zip(gradient, cost.gradient(row, q, v, act, u), strict=True):
            if given is not None:
                to[:] = given
        return True

    @property
    def model(self) -> Model:
        """The model that plans are made with."""
        return self._model

    @property
    def horizon(self) -> int:
        """Rows of a plan."""
        return self._rows

    @property
    def hold(self) -> int:
        """Steps per row."""
        return self._hold

    @property
    def cost(self) -> Cost:
        """The cost; another one may be assigned between plans."""
        return self._cost

    @cost.setter
    def cost(self, cost: Cost) -> None:
        if cost.function is not None and self._cost.function is None:
            raise ValueError("cost.function: the planner was made without one")
        self._core.set_cost(cost._arrays(self._model, self._rows))
        self._cost = cost

    def aim(self, **changes: Any) -> None:
        """The same cost with some fields changed: references that have moved on."""
        self.cost = replace(self._cost, **changes)

    def plan(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None = None,
        *,
        cache: NDArray[np.void] | None = None,
    ) -> Plan:
        """A plan from this state, starting from `u`, which is then the new plan."""
        m = self._model
        start = time.perf_counter()
        u = np.ascontiguousarray(self.u, np.float64)
        stop, iterations, first, cost, rollouts, blown, share = self._core.plan(
            _matrix("q", q, (m.nq,)), _matrix("v", v, (m.nv,)),
            np.zeros(m.na) if act is None else _matrix("act", act, (m.na,)), cache, u,
        )  # fmt: skip
        self.u = u
        seconds = time.perf_counter() - start
        states = self._core.states()
        return Plan(u.copy(), *states, cost, first, iterations, rollouts, blown, share, stop, seconds)

    def shift(self) -> None:
        """The first row of the plan is done: the others move up, the last one is repeated."""
        self._core.shift(self.u)

    def reset(self, u: ArrayLike | None = None) -> None:
        """As a new planner: random numbers from the start, no feedback left, the plan u (None: zeros)."""
        self._core.reset()
        self.u = np.zeros_like(self.u) if u is None else np.array(np.broadcast_to(np.float64(u), self.u.shape))


class Plant(Protocol):
    """The plant of `run`: a `tangere.Sim`, or anything else with these attributes."""

    @property
    def q(self) -> Array:
        """Configuration (nq)."""

    @property
    def v(self) -> Array:
        """Velocity (nv)."""

    @property
    def act(self) -> Array:
        """Activations (na)."""

    def step(self, u: Array) -> Any:
        """Applies controls (nu) for one step."""


@dataclass(frozen=True)
class Loop:
    """A closed loop: time (n + 1), q, v, act (n + 1, ...) at each control; u (n, nu); cost, seconds (n) of each
    plan; rollouts, blown: all of them.
    """

    time: Array
    q: Array
    v: Array
    act: Array
    u: Array
    cost: Array
    seconds: Array
    rollouts: int
    blown: int

    @property
    def rate(self) -> float:
        """Plans per second, by the median."""
        return float(1 / np.median(self.seconds))


def run(
    planner: Planner,
    plant: Plant,
    controls: int,
    *,
    before: Callable[[int, Planner], Any] | None = None,
    step: Callable[[int, int, Array], Any] | None = None,
    progress: Callable[[int, int, Plan], Any] | None = None,
) -> Loop:
    """A closed loop of a number of controls: plan from the plant's state, apply the first row for `hold` steps, repeat.

    plant: a `tangere.Sim`, or anything with q, v, act and step(u). before(k, planner): called before plan k, to move
    references on (`Planner.aim`). step(k, i, u): takes step i of control k in place of plant.step(u).
    progress(k, controls, plan) may return False to stop.
    """
    states, us, costs, seconds, rollouts, blown = [], [], [], [], 0, 0

    def keep() -> None:
        states.append((np.array(plant.q), np.array(plant.v), np.array(plant.act)))

    keep()
    for k in range(controls):
        if before is not None:
            before(k, planner)
        plan = planner.plan(plant.q, plant.v, plant.act, cache=getattr(plant, "cache", None))
        u = plan.u[0].copy()
        for i in range(planner.hold):
            if step is None:
                plant.step(u)
            else:
                step(k, i, u)
        planner.shift()
        keep()
        us.append(u)
        costs.append(plan.cost)
        seconds.append(plan.seconds)
        rollouts += plan.rollouts
        blown += plan.blown
        if progress is not None and progress(k, controls, plan) is False:
            break
    q, v, act = (np.array(x) for x in zip(*states, strict=True))
    t = planner.dt * planner.hold * np.arange(len(states))
    return Loop(t, q, v, act, np.array(us), np.array(costs), np.array(seconds), rollouts, blown)


__all__ = [
    "METHODS", "Cost", "LinearGain", "Loop", "Plan", "Planner", "lqr", "run",
]  # fmt: skip
