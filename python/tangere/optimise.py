"""Least squares and first-order methods of the library on functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._errors import Error

Array = NDArray[np.float64]

_TRANSFORMS = ("none", "log", "inertia")  # tg_transform
_LOSSES = ("square", "huber", "cauchy")  # tg_loss
_METHODS = ("adam", "adamw", "lbfgs", "descent")  # tg_method
_EFFICIENT = {"square": 1.0, "huber": 1.345, "cauchy": 2.385}  # widths of 95 % efficiency for normal residuals


class Iteration(NamedTuple):
    """The state after an iteration: cost (priors included), largest relative step and slope, damping, x (n)."""

    iteration: int
    evaluations: int
    cost: float
    step: float
    slope: float
    damping: float
    x: Array


@dataclass(frozen=True)
class Optimum:
    """The end of a run: x (n), cost, first_cost, iterations, evaluations, stop, history."""

    x: Array
    stop: str
    iterations: int
    evaluations: int
    first_cost: float
    cost: float
    slope: float
    history: list[Iteration]

    @property
    def converged(self) -> bool:
        """Whether the run ended at a minimum, not at its limit of iterations or by the callback."""
        return self.stop not in {"limit of iterations", "stopped by the callback"}


def _choice(name: str, value: str, known: Sequence[str]) -> int:
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}")
    return known.index(value)


def _vector(name: str, value: ArrayLike | None, n: int) -> Array | None:
    if value is None:
        return None
    array = np.asarray(value, np.float64)
    if array.shape not in {(n,), ()}:
        raise ValueError(f"{name}: expected shape {(n,)}, got {array.shape}")
    return np.ascontiguousarray(np.broadcast_to(array, (n,)))


def _unknowns(
    n: int,
    transform: Sequence[str] | str | None,
    bounds: tuple[ArrayLike | None, ArrayLike | None] | None,
    prior: tuple[ArrayLike, ArrayLike] | None,
    tie: tuple[ArrayLike, ArrayLike] | None,
) -> tuple:
    kinds = None
    if transform is not None:
        words = [transform] * n if isinstance(transform, str) else list(transform)
        if len(words) != n:
            raise ValueError(f"transform: expected {n} words, got {len(words)}")
        kinds = np.array([_choice("transform", word, _TRANSFORMS) for word in words], np.intc)
    low, high = bounds or (None, None)
    mean, spread = prior or (None, None)
    leader, factor = tie or (None, None)
    return (
        kinds,
        _vector("bounds[0]", low, n),
        _vector("bounds[1]", high, n),
        _vector("prior[0]", mean, n),
        _vector("prior[1]", spread, n),
        None if leader is None else np.ascontiguousarray(leader, np.intc),
        _vector("tie[1]", factor, n),
    )


class _Watch:
    """Keeps the history and the last refusal, and hands iterations on."""

    def __init__(self, progress: Callable[[Iteration], Any] | None) -> None:
        self.history: list[Iteration] = []
        self.refusal: Error | None = None
        self._progress = progress

    def __call__(self, *numbers: Any) -> bool:
        self.history.append(Iteration(*numbers))
        return self._progress is None or self._progress(self.history[-1]) is not False

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with refusals of the library as False: a point of infinite cost."""

        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Error as refusal:
                self.refusal = refusal
                return False

        return guarded

    def run(self, call: Callable[[], tuple]) -> tuple:
        try:
            return call()
        except Error as failure:
            if self.refusal is not None and "cannot be computed" in str(failure):
                raise Error(f"{failure}: {self.refusal}", failure.status) from self.refusal
            raise


def least_squares(
    residuals: Callable[..., Any],
    x0: ArrayLike,
    rows: int | Sequence[int],
    *,
    locals: Sequence[int] | None = None,
    transform: Sequence[str] | str | None = None,
    bounds: tuple[ArrayLike | None, ArrayLike | None] | None = None,
    prior: tuple[ArrayLike, ArrayLike] | None = None,
    tie: tuple[ArrayLike, ArrayLike] | None = None,
    loss: str = "square",
    width: float | None = None,
    iterations: int = 100,
    damping: float = 1e-4,
    tolerance: float = 1e-10,
    decrease: float = 0.0,
    progress: Callable[[Iteration], Any] | None = None,
) -> Optimum:
    """Minimises 1/2 sum loss(r(x)) + 1/2 sum ((x - prior) / spread)^2: Gauss-Newton with damping.

    residuals(x, r, J): writes r (rows) and, unless J is None, the derivatives J (flat, row-major: rows x n). With
    several groups (rows and locals are lists) the last sum(locals) unknowns belong to one group each, and J has one
    matrix per group, rows[g] x (shared + locals[g]), one after the other. If it raises a `tangere.Error`, the point x
    is rejected. transform: "none", "log" or "inertia" (ten consecutive numbers: mass, com, inertia) for each unknown;
    bounds: (lower, upper); prior: (means, standard deviations, infinite: none); tie: (leader or -1, factor) of each;
    loss: "square", "huber", "cauchy" with width in units of r. decrease: stop after a full step with a smaller
    predicted decrease of the cost. progress(iteration) may return False to stop.
    """
    x = np.array(x0, np.float64)
    n = len(x)
    count = np.atleast_1d(np.asarray(rows, np.intc))
    each = None if locals is None else np.ascontiguousarray(locals, np.intc)
    if each is not None and each.shape != count.shape:
        raise ValueError(f"locals: expected {len(count)} numbers, got {len(each)}")
    watch = _Watch(progress)
    unknowns = _unknowns(n, transform, bounds, prior, tie)
    kind = _choice("loss", loss, _LOSSES)
    result = watch.run(
        lambda: _core.least_squares(
            watch.guard(residuals),
            watch,
            x,
            unknowns,
            n if each is None else n - int(each.sum()),
            count,
            each,
            kind,
            _EFFICIENT[loss] if width is None else width,
            iterations,
            damping,
            tolerance,
            decrease,
        )
    )
    return Optimum(x, *result, watch.history)


def minimise(
    cost: Callable[..., Any],
    x0: ArrayLike,
    *,
    method: str = "lbfgs",
    transform: Sequence[str] | str | None = None,
    bounds: tuple[ArrayLike | None, ArrayLike | None] | None = None,
    prior: tuple[ArrayLike, ArrayLike] | None = None,
    tie: tuple[ArrayLike, ArrayLike] | None = None,
    iterations: int = 1000,
    rate: float = 0.01,
    betas: tuple[float, float] = (0.9, 0.999),
    decay: float = 0.01,
    memory: int = 10,
    tolerance: float = 1e-10,
    clip: float | None = None,
    progress: Callable[[Iteration], Any] | None = None,
) -> Optimum:
    """Minimises cost(x, g), which returns f and, unless g is None, writes its derivatives into g (n).

    method: "adam", "adamw", "lbfgs" or "descent" (gradient descent with a line search). clip: longer gradients (of the
    transformed unknowns) are shortened to this length; not with "lbfgs". The others are as in `least_squares`.
    """
    x = np.array(x0, np.float64)
    watch = _Watch(progress)
    unknowns = _unknowns(len(x), transform, bounds, prior, tie)
    kind = _choice("method", method, _METHODS)
    result = watch.run(
        lambda: _core.minimise(
            watch.guard(cost), watch, x, unknowns, kind, iterations, rate, *betas, decay, memory, tolerance, clip or 0.0
        )
    )
    return Optimum(x, *result, watch.history)
