"""Standard errors of a recurrent fit whose data have noise in all states.

The residual of a tuple has the noise of its end and that of its start, which the engine has carried on:

    e_t = Phi_t n_t - n_(t+1),     Phi_t = d X_(t + 100 ms) / d X_t.

So residuals of one tuple depend on each other, and those of neighbours share n_(t+1). `fit` takes all residuals as
independent. With its weights W and J = d e / d factors, the estimate moves by -(J^T W J)^-1 J^T W e, and

    J^T W e = sum_t G_t n_t,     G_t = J_t^T W Phi_t - J_(t-1)^T W,
    covariance = (J^T W J)^-1 (sum_t G_t N G_t^T) (J^T W J)^-1.

N, the covariance of n, is diagonal with one variance per kind of number (positions, rotations, velocities, rates). The
mean squares of the residuals of each kind are linear in these four variances, and give them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._shoot import Layout, Shooter, make_segments
from tangere.logs import logs_of
from tangere.model import Model

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tuples:
    """Of S tuples with n numbers per state: e (S, n), by_factor (S, n, factors), by_start (S, n, n); kind (n): which
    variance a number has; follows (S): whether a tuple starts where the one before it ends."""

    e: Array
    by_factor: Array
    by_start: Array
    kind: NDArray[np.intp]
    follows: NDArray[np.bool_]


def layout_of(m: Model, groups: list[dict[str, float]], starts: bool = False) -> Layout:
    """Factors of groups of parameters as unknowns; starts: the states at the starts, too."""
    values = [np.array([*group.values()]) for group in groups]
    factors = np.zeros((len(groups), sum(map(len, values))))
    for i, first in enumerate(np.cumsum([0, *map(len, values)])[:-1]):
        factors[i, first : first + len(values[i])] = values[i]
    positions = np.concatenate([m.params.index(name) for group in groups for name in group]).astype(np.intc)
    dofs = list(range(m.nv)) if starts else []
    return Layout(positions, factors, np.zeros(len(positions)), [], False, dofs, dofs, False)


def tuples_of(  # noqa: PLR0917
    m: Model,
    logs: list[dict[str, Any]],
    groups: list[dict[str, float]],
    factors: Array,
    dt: float,
    threads: int | None = None,
    **options: Any,
) -> Tuples:
    """Residuals of all tuples of logs of q and v, and their derivatives."""
    many = logs_of(m, logs)
    segments = make_segments(m, many, dt, 1, 1)
    shooter = Shooter(m, many, segments, layout_of(m, groups, True), dt, ["q", "v"], threads, options)
    S, n, k = len(segments), 2 * m.nv, len(factors)
    e, J = shooter.residuals(np.concatenate([factors, np.zeros(S * n)]), True)
    kind = shooter.kind[:n].copy()
    shooter.close()
    follows = [False] + [a.log == b.log and a.row + 1 == b.row for a, b in pairwise(segments)]
    J = J.reshape(S, n, k + n)  # type: ignore[union-attr]
    return Tuples(e.reshape(S, n), J[..., :k], J[..., k:], kind, np.array(follows))


def standard_errors(t: Tuples) -> tuple[Array, Array]:
    """Of the factors; and the standard deviation of the noise of each kind of number."""
    kinds = np.arange(t.kind.max() + 1)
    of = (t.kind == kinds[:, None]).astype(np.float64)  # (kinds, n)
    square = of @ (t.e**2).mean(axis=0) / of.sum(axis=1)
    mix = of @ (t.by_start**2).mean(axis=0) @ of.T / of.sum(axis=1)[:, None] + np.eye(len(kinds))
    variance = np.maximum(np.linalg.solve(mix, square), 0)
    weighted = t.by_factor / square[t.kind][:, None]
    inverse = np.linalg.inv(np.einsum("sni,snj->ij", weighted, t.by_factor))
    G = np.einsum("sni,snm->sim", weighted, t.by_start)
    before = np.swapaxes(weighted, 1, 2)
    G[1:] -= np.where(t.follows[1:, None, None], before[:-1], 0)
    ends = before[np.append(~t.follows[1:], True)]  # no tuple starts there
    moved = np.einsum("sim,sjm,m->ij", G, G, variance[t.kind])
    moved += np.einsum("sim,sjm,m->ij", ends, ends, variance[t.kind])
    return np.sqrt(np.diag(inverse @ moved @ inverse)), np.sqrt(variance)
