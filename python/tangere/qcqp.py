"""Quadratic programs of contact with derivatives, batched over threads.

    minimise 1/2 x'Gx + g'x    subject to x >= 0, or to |x_i| <= mu_i l_i in blocks of one to five rows

>>> import numpy as np, tangere as tg
>>> s = tg.qcqp(np.eye(2), [-3.0, -4.0], mu=[0.5], l=[2.0])
>>> s.x
array([0.6, 0.8])
>>> s.jacobian().dg  # d x / d g
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tangere._core import Qcqp

__all__ = ["QcqpGradient", "QcqpJacobian", "QcqpSolution", "qcqp"]

STATUS = ("solved", "partial", "unbounded")
LABEL = ("exact", "one-sided", "regularised")
_INFO, _LABEL = 7, 4


class Workspaces:
    """Workspaces by size, each used by one call at a time."""

    def __init__(self) -> None:
        self._idle: dict[tuple[Any, ...], list[Qcqp]] = {}
        self._lock = threading.Lock()

    def borrow(self, key: tuple[Any, ...]) -> Qcqp:
        """An idle workspace for problems of this size, or a new one."""
        with self._lock:
            idle = self._idle.get(key)
            if idle:
                return idle.pop()
        nonnegative, sizes, threads, tolerance, semidefinite = key
        return Qcqp(nonnegative, np.array(sizes, np.intc), threads, tolerance, semidefinite)

    def give_back(self, key: tuple[Any, ...], workspace: Qcqp) -> None:
        """Makes a workspace available again."""
        with self._lock:
            self._idle.setdefault(key, []).append(workspace)
            if len(self._idle) > 32:  # sizes that were met first are forgotten
                self._idle.pop(next(iter(self._idle)))


_workspaces = Workspaces()


class QcqpGradient(NamedTuple):
    """Gradients with respect to the data, and their labels ("exact", "one-sided", "regularised"), by problem."""

    G: np.ndarray
    g: np.ndarray
    mu: np.ndarray | None
    l: np.ndarray | None  # noqa: E741
    label: Any


class QcqpJacobian(NamedTuple):
    """d x / d data: G (..., n, n, n) for symmetric changes, g (..., n, n), mu and l (..., n, blocks); labels."""

    G: np.ndarray
    g: np.ndarray
    mu: np.ndarray | None
    l: np.ndarray | None  # noqa: E741
    label: Any


def numbers(value: ArrayLike, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """value as contiguous float64 of that shape."""
    try:
        a = np.ascontiguousarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"qcqp: {name} must be numbers: {error}") from None
    if a.shape != shape:
        raise ValueError(f"qcqp: {name} has shape {a.shape}; must be {shape}")
    return a


class Problem:
    """Data of one call, checked, flattened to [count, ...]."""

    def __init__(  # noqa: PLR0917  (as tangere.qcqp.qcqp)
        self,
        G: ArrayLike,
        g: ArrayLike,
        mu: ArrayLike | None,
        l: ArrayLike | None,  # noqa: E741
        sizes: int | Sequence[int],
        threads: int,
        tolerance: float,
        semidefinite: bool,
    ) -> None:
        a = np.asarray(g, np.float64)
        if a.ndim < 1:
            raise ValueError("qcqp: g has no dimension; must be (..., n)")
        self.batch, n = a.shape[:-1], a.shape[-1]
        if (mu is None) != (l is None):
            raise ValueError(f"qcqp: {'mu' if mu is None else 'l'} is missing: balls need both")
        self.nonnegative = mu is None
        self.sizes = self._sizes(n, sizes)
        blocks = len(self.sizes)
        if sum(self.sizes) != n or blocks < 1:
            raise ValueError(f"qcqp: g has {n} rows, but the blocks have {sum(self.sizes)}")
        self.count = int(np.prod(self.batch, dtype=np.int64))
        self.n, self.blocks = n, blocks
        self.G, self.g = numbers(G, "G", (*self.batch, n, n)), numbers(g, "g", (*self.batch, n))
        self.mu = None if mu is None else numbers(mu, "mu", (*self.batch, blocks))
        self.l = None if l is None else numbers(l, "l", (*self.batch, blocks))
        self.key = (self.nonnegative, self.sizes, int(threads), float(tolerance), bool(semidefinite))

    def _sizes(self, n: int, sizes: int | Sequence[int]) -> tuple[int, ...]:
        if self.nonnegative:
            return (1,) * n
        if isinstance(sizes, (int, np.integer)):
            if sizes < 1 or n % sizes != 0:
                raise ValueError(f"qcqp: {n} rows are not blocks of sizes = {sizes}")
            return (int(sizes),) * (n // int(sizes))
        return tuple(int(s) for s in sizes)

    def data(self) -> tuple[Any, ...]:
        """The arguments of the extension that describe the problems."""
        return self.count, self.G, self.g, self.mu, self.l

    def run(self, method: str, *rest: Any) -> None:
        """Calls a method of a workspace with the problems."""
        workspace = _workspaces.borrow(self.key)
        try:
            getattr(workspace, method)(*self.data(), *rest)
        finally:
            _workspaces.give_back(self.key, workspace)

    def solve(self, warm: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
        """Solutions x, and one row of information for each."""
        x, info = np.empty((*self.batch, self.n)), np.empty((self.count, _INFO))
        self.run("solve", None if warm is None else numbers(warm, "warm", x.shape), x, info)
        return x, info

    def empty(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Arrays as the data."""
        balls = None if self.nonnegative else np.empty((*self.batch, self.blocks))
        return (
            np.empty((*self.batch, self.n, self.n)),
            np.empty((*self.batch, self.n)),
            balls,
            None if balls is None else np.empty_like(balls),
        )

    def vjp(self, x: np.ndarray, dx: np.ndarray, wanted: Sequence[bool] = (True,) * 4) -> tuple[list[Any], np.ndarray]:
        """Gradients with respect to the data, and labels; None for those not wanted."""
        out = [a if w else None for a, w in zip(self.empty(), wanted, strict=True)]
        label = np.empty((self.count, _LABEL))
        self.run("vjp", x, *out, dx, label)
        return out, label

    def jvp(self, x: np.ndarray, change: Sequence[np.ndarray | None]) -> tuple[np.ndarray, np.ndarray]:
        """The change of x along a change of the data, and labels."""
        dx, label = np.empty((*self.batch, self.n)), np.empty((self.count, _LABEL))
        self.run("jvp", x, *change, dx, label)
        return dx, label


def labels_of(batch: tuple[int, ...], rows: np.ndarray) -> Any:
    """Names of labels, in the shape of the batch."""
    names = np.array(LABEL, object)[rows[:, 0].astype(int)].reshape(batch)
    return names if batch else names.item()


class QcqpSolution:
    """Solutions x (..., n), with for each: `status` ("solved", "partial", "unbounded"), `residual` (in
    units of g), `value`, `newton` and `interior` (factorisations), `redundant` (dimension of the null space in which x
    was chosen), `least_norm` (x is unique or the solution of least norm).
    """

    def __init__(self, problem: Problem, x: np.ndarray, info: np.ndarray) -> None:
        self._problem, self.x = problem, x
        shape = problem.batch
        status = np.array(STATUS, object)[info[:, 0].astype(int)].reshape(shape)
        self.status = status if shape else status.item()
        self.newton, self.interior, self.redundant = (info[:, k].astype(int).reshape(shape) for k in (1, 2, 3))
        self.least_norm = info[:, 4].astype(bool).reshape(shape)
        self.residual, self.value = info[:, 5].reshape(shape), info[:, 6].reshape(shape)

    def __repr__(self) -> str:
        count, n = int(np.prod(self._problem.batch)), self.x.shape[-1]
        state = "solved" if self.solved else "not all solved"
        worst = float(np.max(self.residual, initial=0.0))
        return f"<tangere.QcqpSolution of {count} problems of {n} unknowns: {state}, largest residual {worst:.2g}>"

    @property
    def solved(self) -> bool:
        """Whether every problem of the batch is solved."""
        return bool(np.all(np.asarray(self.status) == "solved"))

    def vjp(self, dx: ArrayLike) -> QcqpGradient:
        """Gradients with respect to the data from dx (..., n), the gradient with respect to x."""
        p = self._problem
        out, label = p.vjp(self.x, numbers(dx, "dx", self.x.shape))
        return QcqpGradient(*out, labels_of(p.batch, label))

    def jvp(
        self,
        G: ArrayLike | None = None,
        g: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        l: ArrayLike | None = None,  # noqa: E741
    ) -> np.ndarray:
        """The change of x (..., n) along a change of the data; the symmetric part of G is used."""
        p = self._problem
        shapes = {"G": p.G.shape, "g": p.g.shape, "mu": (*p.batch, p.blocks), "l": (*p.batch, p.blocks)}
        given = {"G": G, "g": g, "mu": mu, "l": l}
        change = [None if a is None else numbers(a, f"d{k}", shapes[k]) for k, a in given.items()]
        return p.jvp(self.x, change)[0]

    def jacobian(self) -> QcqpJacobian:
        """Matrices of derivatives of x with respect to G, g, mu and l, problem by problem."""
        p = self._problem
        n, blocks, label = p.n, p.blocks, np.empty((p.count, _LABEL))
        balls = [None if p.nonnegative else np.empty((*p.batch, n, blocks)) for _ in range(2)]
        out = [np.empty((*p.batch, n, n, n)), np.empty((*p.batch, n, n)), *balls]
        p.run("jacobians", self.x, *out, label)
        return QcqpJacobian(*out, labels_of(p.batch, label))


def qcqp(
    G: ArrayLike,
    g: ArrayLike,
    mu: ArrayLike | None = None,
    l: ArrayLike | None = None,  # noqa: E741
    *,
    sizes: int | Sequence[int] = 2,
    warm: ArrayLike | None = None,
    threads: int = 0,
    tolerance: float = 1e-8,
    semidefinite: bool = False,
) -> QcqpSolution:
    """Minimises 1/2 x'Gx + g'x over x >= 0, or, with mu and l (..., blocks), over |x_i| <= mu_i l_i.

    G (..., n, n) is symmetric and positive semidefinite, g (..., n). sizes: rows of a ball, or of each. warm: initial
    values. threads: 0: all processors; results do not depend on it. semidefinite: G is known to be positive
    semidefinite and is not checked.
    """
    problem = Problem(G, g, mu, l, sizes, threads, tolerance, semidefinite)
    return QcqpSolution(problem, *problem.solve(warm))
