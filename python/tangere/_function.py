"""Steps and rollouts as functions of their arguments, used by `tangere.torch` and `tangere.jax`."""

from __future__ import annotations

import os
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tangere import _core
from tangere.batch import Batch
from tangere.model import Model
from tangere.sim import Sim

INPUTS = ("q", "v", "act", "u", "tau", "params")


class Sizes(NamedTuple):
    """Of the arrays of one call.

    rows: shapes of inputs of one environment, by name; given, inputs: shapes of all inputs, and how many numbers each
    has; shapes, states: shapes of q, v, act that come out, and how many numbers each has.
    """

    rows: dict[str, tuple[int, ...]]
    given: tuple[tuple[int, ...], ...]
    inputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    states: tuple[int, ...]


class Function:
    """A `_core.Function` with the sizes of its arrays, and its free tapes."""

    def __init__(self, settings: tuple, threads: int, index: np.ndarray) -> None:
        self.model: Model = settings[0]
        self.core = _core.Function(settings, threads, index)
        self.k = len(index)
        m = self.model
        self.widths = {"q": m.nq, "v": m.nv, "act": m.na, "u": m.nu, "tau": m.nv, "params": self.k}
        self._idle: dict[tuple[int, int], list] = {}
        self._sizes: tuple[tuple[int, int] | None, Any] = (None, None)  # of the last call

    def take_tape(self, count: int, steps: int) -> Any:
        idle = self._idle.get((count, steps))
        return idle.pop() if idle else self.core.tape(count, steps, False)

    def give_back(self, count: int, steps: int, tape: Any) -> None:
        """For the next rollout of the same size; two are kept."""
        idle = self._idle.setdefault((count, steps), [])
        if len(idle) < 2:
            idle.append(tape)

    def sizes(self, count: int, steps: int) -> Sizes:
        key, known = self._sizes
        if key == (count, steps):
            return known
        rows = {name: self.row(name, steps) for name in INPUTS}
        given, shapes = tuple((count, *rows[name]) for name in INPUTS), tuple(self.states(count, steps))
        made = Sizes(rows, given, tuple(map(prod, given)), shapes, tuple(map(prod, shapes)))
        self._sizes = ((count, steps), made)
        return made

    def row(self, name: str, steps: int) -> tuple[int, ...]:
        """The shape of an input of one environment."""
        return (steps, self.widths[name]) if steps > 0 and name in {"u", "tau"} else (self.widths[name],)

    def shape(self, name: str, count: int, steps: int) -> tuple[int, ...]:
        """Of an input of all."""
        return (count, *self.row(name, steps))

    def states(self, count: int, steps: int) -> list[tuple[int, ...]]:
        """Shapes of q, v, act that come out."""
        inner = (steps + 1,) if steps > 0 else ()
        return [(count, *inner, self.widths[name]) for name in ("q", "v", "act")]


def function_of(owner: Sim | Batch, index: np.ndarray, key: Any = None) -> Function:
    """The function that belongs to a simulation or a batch and these parameters; made once. key: tells several
    apart.
    """
    if not isinstance(owner, (Sim, Batch)):
        raise TypeError(f"expected a tangere.Sim or a tangere.Batch, got {type(owner).__name__}")
    if isinstance(owner, Batch) and owner._core.closed:
        owner._core.errors()  # refuses: it is closed
    known = owner.__dict__.setdefault("_functions", {})
    name = (index.tobytes() if len(index) > 0 else b"", key)
    if name not in known:
        threads = owner.threads if isinstance(owner, Batch) else len(os.sched_getaffinity(0))
        known[name] = Function(owner._settings, threads, index)
    return known[name]


def named(owner: Sim | Batch, params: Any) -> np.ndarray:
    """Positions of the parameters that an array `params` stands for: those a batch has named, or the whole vector."""
    if isinstance(owner, Batch):
        if len(owner._index) == 0:
            raise ValueError("params: the batch has named none; batch.params(names) does")
        return owner._index
    return np.arange(owner.model.nparams, dtype=np.intc)
