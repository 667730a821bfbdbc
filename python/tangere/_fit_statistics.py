"""Standard errors, rank, and directions that the data do not show, from the sensitivities at the end of a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tangere._fit_result import Direction

if TYPE_CHECKING:
    from tangere._fit import Task

Array = NDArray[np.float64]

# a direction counts as unobservable when its information is that of rounding: singular values of derivatives that are
# good to some 1e-8 cannot be told from zero below this share of the largest
RANK = 1e-7
_BLIND = 100.0  # standard error in units of the parameter's own size from which a direction counts as not seen at all
_WEAK = 0.5  # standard error in units of the parameter's own size from which it is called weak
_ALIKE = 0.95  # correlations from here on are named


def loss_of(loss: str, width: float, r: Array) -> tuple[Array, Array]:
    s = np.abs(r)
    if loss == "huber":
        return np.where(s > width, 2 * width * s - width**2, r**2), np.where(
            s > width, width / np.maximum(s, 1e-300), 1
        )
    if loss == "cauchy":
        return width**2 * np.log1p((r / width) ** 2), 1 / (1 + (r / width) ** 2)
    return r**2, np.ones_like(r)


def statistics_of(fit: Task, loss: str, width: float) -> dict[str, Any]:
    r, J = fit.shooter.residuals(fit.x, True)
    _, weights = loss_of(loss, width, r)
    S, scores, _, hidden = fit.information(weights, J, r)
    ns = len(S)
    x = fit.x[:ns]
    own = np.abs(x)
    wide = np.where(np.isfinite(fit.upper[:ns] - fit.lower[:ns]), fit.upper[:ns] - fit.lower[:ns], 1.0)
    size = np.where(own > 1e-12, own, wide)
    freedom = max(1, len(r) - ns - fit.layout.local * len(fit.shooter.segments) + hidden)
    variance = max(float(weights @ r**2) / freedom, 1.0 if fit.known else 1e-300)
    if fit.known and variance > 1.5:
        fit.notes.append(
            f"the residuals are {math.sqrt(variance):.3g} times the noise given: the model is wrong somewhere, "
            "or this is not the best minimum; standard errors are scaled by it"
        )
    scaled = S * np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled) if ns else (np.empty(0), np.empty((0, 0)))
    values = np.maximum(values, 0.0)
    largest = values.max(initial=0.0)
    seen = (values > RANK**2 * largest) & (values > variance / _BLIND**2)
    inverse = (vectors[:, seen] / values[seen]) @ vectors[:, seen].T * np.outer(size, size)
    covariance = variance * inverse
    blind = vectors[:, ~seen]
    errors = np.sqrt(np.diag(covariance)).copy()
    errors[(np.abs(blind) > 1e-3).any(axis=1)] = np.nan
    clustered = None
    if len(fit.logs) >= 10 and ns:
        spread = len(fit.logs) / (len(fit.logs) - 1) * inverse @ (scores.T @ scores) @ inverse
        clustered = np.sqrt(np.diag(spread))
        clustered[np.isnan(errors)] = np.nan
    names = fit.names
    unobservable = [_direction(names, _sparse(blind, k) * size, math.inf) for k in range(blind.shape[1])]
    trust = errors if clustered is None else np.fmax(errors, clustered)
    weak = []
    for i in range(ns):
        # of a size of its own: the value, or where that is near zero or bounded the width of its bounds
        scale = max(own[i], wide[i] if np.isfinite(fit.upper[i] - fit.lower[i]) else own[i], 1e-12)
        scale = own[i] if not np.isfinite(fit.upper[i] - fit.lower[i]) else min(scale, wide[i])
        if (np.isfinite(trust[i]) and trust[i] > _WEAK * max(min(own[i], scale), 1e-12) and own[i] > 0) or (
            np.isfinite(trust[i]) and own[i] <= 1e-12 and np.isfinite(fit.upper[i]) and trust[i] > 0.02 * wide[i]
        ):
            weak.append(Direction({names[i]: 1.0}, float(trust[i])))
    deviation = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    alike = [
        (names[i], names[j], float(correlation[i, j]))
        for i in range(ns)
        for j in range(i)
        if abs(correlation[i, j]) > _ALIKE and np.isfinite(errors[i]) and np.isfinite(errors[j])
    ]
    covariance = covariance.copy()
    covariance[np.isnan(errors)] = covariance[:, np.isnan(errors)] = np.nan
    by_kind = {}
    for i, kind in enumerate(fit.shooter.kinds):
        mine = fit.shooter.kind == i
        if mine.any():
            scale = 1.0 if fit.shooter.given[mine].all() else fit.shooter.sigma[i]
            by_kind[kind] = float(np.sqrt(np.mean(r[mine] ** 2)) * scale)
    if hidden:
        fit.notes.append(
            f"{hidden} numbers of initial states or offsets are not seen by the data (kept at their start)"
        )
    return {
        "errors": errors,
        "covariance": covariance,
        "clustered": clustered,
        "rank": int(seen.sum()),
        "unobservable": unobservable,
        "weak": weak,
        "correlations": alike,
        "singular": np.sqrt(values[::-1]),
        "residuals": by_kind,
        "r": r,
    }


def _sparse(blind: Array, k: int) -> Array:
    """Column k of a basis of the same space with few entries: Gauss-Jordan with pivots among the largest."""
    if blind.shape[1] == 1:
        return blind[:, 0]
    work = blind.T.copy()
    for i in range(len(work)):
        j, pivot = divmod(int(np.argmax(np.abs(work[i:]))), work.shape[1])
        work[[i, i + j]] = work[[i + j, i]]
        work[i] /= work[i, pivot]
        for other in range(len(work)):
            if other != i:
                work[other] -= work[other, pivot] * work[i]
    return work[k]


def _direction(names: Sequence[str], change: Array, deviation: float) -> Direction:
    largest = change[np.argmax(np.abs(change))]
    change = change / largest
    return Direction({n: float(c) for n, c in zip(names, change, strict=True) if abs(c) > 1e-3}, deviation)
