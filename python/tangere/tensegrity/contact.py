"""Contact parameters from the rolling robot, after stiffness, damping and mass of the hanging one.

The derivatives are exact, but the loss has jumps: a contact that comes one step earlier moves the end of its tuple. So
the search has several starts and a robust loss: a tuple whose contacts come at another step is an outlier, not
information. It has three stages:

1. a grid around the given start is ranked by the loss without derivatives;
2. a few iterations of Gauss-Newton from each of its best points, with one-sided differences: with two or three unknowns
   they take less time than exact derivatives, and this stage ends at steps of 1 %;
3. Gauss-Newton with exact derivatives from the best result.

The explicit laws ("compliant", "impulse") have central differences in the third stage: their forward mode is one
reverse pass per row, and where friction is below its bound it leaves out how the effective mass of a contact changes
with q.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._fit import fit
from tangere._fit_statistics import loss_of
from tangere._shoot import Shooter, make_segments
from tangere.logs import logs_of
from tangere.model import Model
from tangere.optimise import least_squares
from tangere.rollout import rollout
from tangere.tensegrity.checker import Checker, follow
from tangere.tensegrity.noise import layout_of
from tangere.tensegrity.robot import STEP, TUPLE, contact_unknowns, rolling_start, scale
from tangere.tensegrity.train import COARSELY, WEIGHTS

Array = NDArray[np.float64]

GRID = (1 / 3, 1.0, 3.0)  # factors of the start: half and one and a half of a value are within reach of 1
WIDTH = 2.385  # of the robust loss, in units of WEIGHTS: as in `fit`
DIFFERENCE = 1e-4  # relative step of differences: rounding gives 1e-12, curvature 1e-4 (central: 1e-8)
BEST = 3  # starts of the grid that go on
FEW = 5  # iterations from each of them: only the best result is searched on
MANY = 30  # iterations from the best result
FINELY = 1e-4  # relative step that ends it: one sixtieth of the standard errors from two rolls of MuJoCo


@dataclass(frozen=True)
class ContactTraining:
    """factors: of the model's values, in the order of `parts`; errors: standard errors; tried: (start, loss) of the
    grid, best first; cpu: s of processor time."""

    parts: tuple[str, ...]
    factors: Array
    errors: Array
    cost: float
    tried: list[tuple[tuple[float, ...], float]]
    cpu: float


def own_rolls(m: Model, count: int, seed: int, seconds: float = 5.0, **options: Any) -> list[dict[str, Any]]:
    """Rolls of our own engine at 10 Hz, as logs: the law of the data is that of the fit."""
    every, logs = round(TUPLE / STEP), []
    for i in range(count):
        q = m.default_q()
        v = rolling_start(q, np.random.default_rng((seed, i)))
        r = rollout(m, q, v, np.zeros((round(seconds / STEP), m.nu)), STEP, tape=False, **options)
        kept = np.asarray(r.q)[::every], np.asarray(r.v)[::every]
        rows = len(kept[0])
        logs.append(
            {"name": f"roll {i}", "time": TUPLE * np.arange(rows), "q": kept[0], "v": kept[1],
             "act": np.zeros((rows, m.na)), "u": np.zeros((rows, m.nu))}
        )  # fmt: skip
    return logs


def identify_contact(
    m: Model,
    logs: list[dict[str, Any]],
    parts: tuple[str, ...] = ("slide", "roll"),
    start: Sequence[float] = (1.0, 1.0),
    *,
    grid: Sequence[float] = GRID,
    threads: int | None = None,
    checker: Checker | None = None,
    **options: Any,
) -> ContactTraining:
    """Factors of the values that `m` has, from rolls at 10 Hz. options: those of the step.

    checker: MuJoCo's contacts in place of our collision detection, for ("slide", "roll"); all derivatives are then
    differences, because the contacts of a step follow from the state before it.
    """
    if checker is not None and parts != ("slide", "roll"):
        raise Error(f"checker: parts = {parts} must be ('slide', 'roll')", "not supported")
    began = time.process_time()
    m = m.copy()
    groups = contact_unknowns(m, parts)
    common: dict[str, Any] = {
        "horizon": 1, "stride": 1, "dt": STEP, "channels": ["q", "v"], "noise": WEIGHTS, "threads": threads, **options,
    }  # fmt: skip

    loss = _Loss(m, logs, groups, threads, options, checker)
    explicit = checker is not None or options.get("law") in {"compliant", "impulse"}

    starts = [tuple(np.array(start) * f) for f in itertools.product(grid, repeat=len(parts))]
    tried = sorted(((at, loss(at)) for at in starts), key=lambda one: one[1])
    near = [loss.search(at, FEW, COARSELY) for at, _ in tried[:BEST]]
    factors, cost = min(near, key=lambda one: one[1])
    if explicit:
        loss.central = True
        factors, cost = loss.search(factors, MANY, FINELY)
        errors = loss.errors(factors)
    else:
        scale(m, groups, factors)
        found = fit(m, logs, groups, iterations=MANY, tolerance=FINELY, robust="cauchy", **common)
        factors, errors, cost = np.array(found.values), np.array(found.errors), float(found.optimum.cost)
    loss.close()
    return ContactTraining(parts, factors, errors, cost, tried, time.process_time() - began)


class _Loss:
    """The robust loss without exact derivatives; infinite where the robot blows up.

    central: differences have two sides; else they are from the point itself, whose residuals are known.
    """

    def __init__(  # noqa: PLR0917
        self,
        m: Model,
        logs: Any,
        groups: list[dict[str, float]],
        threads: int | None,
        options: Any,
        checker: Checker | None = None,
    ) -> None:
        self._model, self._logs, self._checker = m, logs_of(m, logs), checker
        layout = layout_of(m, groups)
        segments = make_segments(m, self._logs, STEP, 1, 1)
        self._shooter = Shooter(m, self._logs, segments, layout, STEP, ["q", "v"], threads, options)
        for i, kind in enumerate(self._shooter.kinds):
            self._shooter.sigma[i] = WEIGHTS[kind.partition(":")[0]]
        self._known: dict[bytes, Array] = {}  # residuals of points: the optimiser returns to those it accepts
        self.central = False

    def __call__(self, at: Sequence[float]) -> float:
        try:
            r = self._at(np.array(at, np.float64))
        except Error:
            return np.inf
        return float(loss_of("cauchy", WIDTH, r)[0].sum()) if np.isfinite(r).all() else np.inf

    def _at(self, x: Array) -> Array:
        key = x.tobytes()
        if key not in self._known:
            self._known[key] = self._side(x)
        return self._known[key]

    def _residuals(self, x: Array, r: Array, J: Array | None) -> None:
        r[:] = self._at(x)
        if not np.isfinite(r).all():
            raise Error("a rollout is not finite", "value out of domain")
        if J is None:
            return
        slopes = J.reshape(len(r), len(x))
        for i, size in enumerate(DIFFERENCE * x):
            step = size * np.eye(len(x))[i]
            other, width = (self._side(x - step), 2 * size) if self.central else (r, size)
            slopes[:, i] = (self._side(x + step) - other) / width

    def _side(self, x: Array) -> Array:
        return self._shooter.residuals(x, False)[0] if self._checker is None else self._checked(x)

    def _checked(self, x: Array) -> Array:
        """The same with MuJoCo's contacts, step by step."""
        out, every = [], round(TUPLE / STEP)
        for s in self._shooter.segments:
            seen = self._logs[s.log].channels
            q, v = follow(self._model, s.q, s.v, every, self._checker, slide=x[0], roll=x[1], every=every)
            out.append(self._shooter.manifold.difference(seen["q"][s.rows], q[-1:]) / WEIGHTS["q"])
            out.append((v[-1:] - seen["v"][s.rows]) / WEIGHTS["v"])
        return np.concatenate(out).ravel()

    def search(self, at: Sequence[float], iterations: int, tolerance: float) -> tuple[Array, float]:
        """Gauss-Newton with differences: factors and cost."""
        best = least_squares(
            self._residuals, np.array(at, np.float64), self._shooter.count, transform="log", loss="cauchy",
            width=WIDTH, iterations=iterations, tolerance=tolerance,
        )  # fmt: skip
        return best.x, float(best.cost)

    def errors(self, x: Array) -> Array:
        """Standard errors of factors."""
        r, J = np.empty(self._shooter.count), np.empty(self._shooter.count * len(x))
        self._residuals(x, r, J)
        slopes, weights = J.reshape(len(r), len(x)), loss_of("cauchy", WIDTH, r)[1]
        spread = np.linalg.pinv(slopes.T @ (weights[:, None] * slopes)) * (weights @ r**2) / max(1, len(r) - len(x))
        return np.sqrt(np.diag(spread))

    def close(self) -> None:
        self._shooter.close()
