"""Inputs that make parameters observable: D-optimal pushes and joint motions, by the sensitivities of rollouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._fit_unknowns import dofs_of, of_params
from tangere._manifold import Manifold
from tangere.model import Model
from tangere.rollout import Rollout, rollout

Array = NDArray[np.float64]


@dataclass
class Excitation:
    """An input: wrench (steps, nbody, 6), u (steps, nu), v0 (nv), and its predicted results: errors (standard errors of
    params, in their order; infinite: not observable), information (of the parameters, with the unknown initial states
    eliminated), names, numbers (of the family), tried: the number of inputs tried.
    """

    names: list[str]
    errors: Array
    information: Array
    wrench: Array
    u: Array
    v0: Array
    numbers: Array
    tried: int
    rollout: Any

    def error(self, name: str) -> float:
        """The expected standard error of a parameter."""
        return float(self.errors[self.names.index(name)])


class _Family:
    """Inputs by a few numbers in [-1, 1]: piecewise constant pushes on a body, sines at joints, an initial velocity."""

    def __init__(  # noqa: PLR0917
        self, m: Model, steps: int, dt: float, push: Any, limit: Any, pieces: int, sines: Any, start: Any
    ) -> None:
        self.m, self.steps, self.dt, self.pieces = m, steps, dt, pieces
        self.body = None if push is None else m.index("body", push)
        self.limit = np.zeros(6)
        given = np.atleast_1d(np.asarray(limit, np.float64))
        self.limit[: len(given) if len(given) > 1 else 3] = given if len(given) > 1 else given[0]
        self.axes = np.flatnonzero(self.limit)
        self.sines = dict(sines or {})  # {actuator: (amplitude, highest frequency)}
        self.start = np.zeros(m.nv) if start is None else np.broadcast_to(np.asarray(start, np.float64), (m.nv,))
        self.dofs = np.flatnonzero(self.start)
        self.count = (len(self.axes) * pieces if self.body is not None else 0) + 3 * len(self.sines) + len(self.dofs)
        if self.count == 0:
            raise ValueError("excite: give push=BODY, sines={ACTUATOR: (amplitude, Hz)} or start=speeds")

    def inputs(self, z: Array) -> tuple[Array, Array, Array]:
        m, at = self.m, 0
        wrench, u, v0 = np.zeros((self.steps, m.nbody, 6)), np.zeros((self.steps, m.nu)), np.zeros(m.nv)
        if self.body is not None:
            table = z[: len(self.axes) * self.pieces].reshape(self.pieces, len(self.axes)) * self.limit[self.axes]
            piece = np.minimum(np.arange(self.steps) * self.pieces // self.steps, self.pieces - 1)
            wrench[:, self.body, self.axes] = table[piece]
            at = table.size
        t = self.dt * np.arange(self.steps)
        for name, (amplitude, highest) in self.sines.items():
            a, f, phase = z[at : at + 3]
            at += 3
            u[:, m.index("actuator", name)] = amplitude * a * np.sin(math.pi * (1 + f) * highest * t + math.pi * phase)
        v0[self.dofs] = z[at : at + len(self.dofs)] * self.start[self.dofs]
        return wrench, u, v0


def excite(
    model: Model,
    params: Any,
    *,
    push: str | None = None,
    limit: ArrayLike = 5.0,
    pieces: int = 4,
    sines: Mapping[str, tuple[float, float]] | None = None,
    start: ArrayLike | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    steps: int = 100,
    dt: float | None = None,
    every: int = 1,
    noise: Any = 1e-3,
    measured: Sequence[int] | None = None,
    initial: Any = None,
    allowed: Callable[[Rollout], bool] | None = None,
    rounds: int = 12,
    candidates: int = 24,
    seed: int = 0,
    also: Sequence[ArrayLike] = (),
    **options: Any,
) -> Excitation:
    """The input of a family that determines params best: the largest determinant of their information matrix.

    params: as in `fit`. The family: push: a body pushed at its centre of mass by a sequence of `pieces` constant
    wrenches, each entry within +- limit (N for a number: the three forces; or six numbers); sines: {actuator:
    (amplitude, highest Hz)}; start: largest initial speeds (nv). Measured is q of every `every`-th state (tangent
    entries `measured`, default all), with standard deviation noise. initial: unknown parts of the initial state, as in
    `fit`. allowed: a function of the rollout that may refuse an input (too fast, too far). `also`: further inputs
    (numbers in [-1, 1]) to try. The search uses the cross-entropy method: rounds of candidates around the best; the
    same seed gives the same result.
    """
    dt = model.timestep if dt is None else float(dt)
    family = _Family(model, steps, dt, push, limit, pieces, sines, start)
    judge = _Judge(model, params, family, q0, v0, every, noise, measured, initial, options, allowed)
    rng = np.random.default_rng(seed)
    mean, width, best, tried = np.zeros(family.count), np.full(family.count, 0.6), None, 0
    given = [np.asarray(z, np.float64) for z in also]
    for turn in range(rounds):
        draws = [np.clip(mean + width * rng.normal(size=family.count), -1, 1) for _ in range(candidates)]
        scored = []
        for z in (given if turn == 0 else []) + draws:
            tried += 1
            value = judge(z)
            if value is not None:
                scored.append((value, z))
        if best is not None:
            scored.append(best)
        if not scored:
            continue
        scored.sort(key=lambda pair: -pair[0])
        best = scored[0]
        elite = np.array([z for _, z in scored[: max(2, candidates // 4)]])
        mean, width = elite.mean(axis=0), np.maximum(elite.std(axis=0), 0.02)
    if best is None or not np.isfinite(best[0]):
        raise Error(f"none of {tried} inputs makes {', '.join(judge.names)} observable", "not solved")
    return judge.result(best[1], tried)


class _Judge:
    """The information that an input gives about the parameters."""

    def __init__(  # noqa: PLR0917
        self,
        m: Model,
        params: Any,
        family: _Family,
        q0: Any,
        v0: Any,
        every: int,
        noise: Any,
        measured: Sequence[int] | None,
        initial: Any,
        options: dict[str, Any],
        allowed: Any,
    ) -> None:
        self.m, self.family, self.every, self.options, self.allowed = m.copy(), family, every, options, allowed
        self.unknowns = of_params(m, params, None)
        self.names = [u.name for u in self.unknowns]
        self.q0 = m.default_q() if q0 is None else np.asarray(q0, np.float64)
        self.v0 = np.zeros(m.nv) if v0 is None else np.asarray(v0, np.float64)
        self.rows = list(range(m.nv)) if measured is None else list(measured)
        self.sigma = np.broadcast_to(np.asarray(noise, np.float64), (len(self.rows),))
        self.q_dofs, self.v_dofs = dofs_of(m, initial)
        values = np.asarray(m.params)
        self.size = np.array([abs(values[m.params.index(u.entries[0][0])[0]]) or 1.0 for u in self.unknowns])
        self.manifold = Manifold(m)

    def run(self, z: Array) -> Rollout:
        wrench, u, v0 = self.family.inputs(z)
        return rollout(self.m, self.q0, self.v0 + v0, u, self.family.dt, wrench=wrench, **self.options)

    def information(self, r: Rollout) -> Array:
        m, k = self.m, len(self.unknowns)
        params = np.zeros((k, m.nparams))
        for i, u in enumerate(self.unknowns):
            for name, factor in u.entries:
                params[i, m.params.index(name)] = factor
        locals_ = len(self.q_dofs) + len(self.v_dofs)
        q0, v0 = np.zeros((2, k + locals_, m.nv))
        for i, dof in enumerate(self.q_dofs):
            q0[k + i, dof] = 1
        for i, dof in enumerate(self.v_dofs):
            v0[k + len(self.q_dofs) + i, dof] = 1
        change = r.jvp(q0=q0, v0=v0, params=np.vstack([params, np.zeros((locals_, m.nparams))]))
        J = (change.q[:, :: self.every, self.rows] / self.sigma).reshape(k + locals_, -1).T
        shared, local = J[:, :k], J[:, k:]
        if locals_:
            u, s, _ = np.linalg.svd(local, full_matrices=False)
            u = u[:, s > 1e-9 * s.max(initial=1e-300)]
            shared = shared - u @ (u.T @ shared)
        return shared.T @ shared

    def __call__(self, z: Array) -> float | None:
        """log det of the information about relative changes; None: refused."""
        try:
            r = self.run(z)
        except Error:
            return None
        if self.allowed is not None and not self.allowed(r):
            return None
        scaled = self.information(r) * np.outer(self.size, self.size)
        sign, value = np.linalg.slogdet(scaled)
        return float(value) if sign > 0 else -np.inf

    def result(self, z: Array, tried: int) -> Excitation:
        r = self.run(z)
        info = self.information(r)
        wrench, u, v0 = self.family.inputs(z)
        return Excitation(self.names, errors_of(info, self.size), info, wrench, u, self.v0 + v0, z, tried, r)


def errors_of(information: Array, size: Array) -> Array:
    """Standard errors from an information matrix; infinite for unobservable parameters."""
    scaled = information * np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    seen = values > 1e-14 * values.max(initial=1e-300)
    out = np.sqrt(((vectors[:, seen] ** 2) / values[seen]).sum(axis=1)) * size
    out[(np.abs(vectors[:, ~seen]) > 1e-3).any(axis=1)] = np.inf
    return out
