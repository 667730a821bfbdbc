"""The result of a fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import unknown_name
from tangere.model import Model
from tangere.optimise import Iteration, Optimum

Array = NDArray[np.float64]


@dataclass
class Direction:
    """A combination of unknowns that the data do not determine, or hardly: {name: change}, the largest being 1;
    deviation: standard error along it, in units of that change (infinite: unobservable).
    """

    change: dict[str, float]
    deviation: float

    def __str__(self) -> str:
        return ", ".join(f"{name} {change:+.4g}" for name, change in self.change.items())


@dataclass
class FitResult:
    """The result of `tangere.fit`.

    names, values, errors (standard errors; NaN where unobservable), covariance: of the shared unknowns; clustered:
    standard errors that allow residuals of one log to be dependent (sandwich; None with fewer than 10 logs); start:
    values at the beginning; rank; unobservable, weak: `Direction`s; correlations: (name, name, value) of size above
    0.95; singular: singular values of the scaled sensitivities; history: one `Iteration` each; residuals: rms by
    channel, in its unit; exact: share of steps whose derivatives have exact labels; notes: warnings;
    initial: per segment (q0, v0, offset); model: a copy with the fitted parameters.
    """

    names: list[str]
    values: Array
    errors: Array
    covariance: Array
    clustered: Array | None
    start: Array
    rank: int
    unobservable: list[Direction]
    weak: list[Direction]
    correlations: list[tuple[str, str, float]]
    singular: Array
    optimum: Optimum
    residuals: dict[str, float]
    exact: float
    notes: list[str]
    initial: list[tuple[Array, Array, float]]
    model: Model
    seconds: float
    method: str
    rounds: int
    samples: int
    fit_rows: dict[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise unknown_name("unknown", name, self.names)
        return float(self.values[self.names.index(name)])

    def error(self, name: str) -> float:
        """Standard error of one unknown."""
        self[name]
        return float(self.errors[self.names.index(name)])

    def interval(self, name: str, level: float = 1.96) -> tuple[float, float]:
        """Value -/+ level standard errors."""
        value, error = self[name], self.error(name)
        return value - level * error, value + level * error

    @property
    def history(self) -> list[Iteration]:
        """The iterations of the optimisation."""
        return self.optimum.history

    @property
    def converged(self) -> bool:
        """Whether the optimisation ended at a minimum, not at a limit."""
        return self.optimum.converged

    def summary(self) -> str:
        """The result as text."""
        lines = [
            f"{self.method}: {self.optimum.iterations} iterations, {self.optimum.evaluations} evaluations, "
            f"{self.seconds:.2f} s: {self.optimum.stop}; cost {self.optimum.first_cost:.6g} to {self.optimum.cost:.6g}",
            f"{'':32}{'start':>12}{'estimate':>14}{'std error':>12}"
            + ("{:>12}".format("clustered") if self.clustered is not None else ""),
        ]
        for i, name in enumerate(self.names):
            extra = f"{self.clustered[i]:12.3g}" if self.clustered is not None else ""
            lines.append(f"{name:32}{self.start[i]:12.6g}{self.values[i]:14.6g}{self.errors[i]:12.3g}{extra}")
        lines.append(
            f"rank {self.rank} of {len(self.names)}; {self.samples} residuals; "
            f"{100 * self.exact:.1f} % of steps have exact derivatives"
        )
        lines += [f"rms of {name}: {value:.4g}" for name, value in self.residuals.items()]
        lines += [f"UNOBSERVABLE: {direction}" for direction in self.unobservable]
        lines += [
            f"hardly observable: {direction} (+- {direction.deviation:.3g} times that)" for direction in self.weak
        ]
        lines += [f"correlated: {a}, {b}: {c:+.3f}" for a, b, c in self.correlations]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    __str__ = summary

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "converged": self.converged,
            "stop": self.optimum.stop,
            "iterations": self.optimum.iterations,
            "evaluations": self.optimum.evaluations,
            "seconds": self.seconds,
            "method": self.method,
            "first_cost": self.optimum.first_cost,
            "cost": self.optimum.cost,
            "params": {
                name: {"value": float(v), "error": _number(e), "start": float(s)}
                for name, v, e, s in zip(self.names, self.values, self.errors, self.start, strict=True)
            },
            "covariance": [[_number(c) for c in row] for row in self.covariance],
            "clustered": None if self.clustered is None else [_number(c) for c in self.clustered],
            "rank": self.rank,
            "unobservable": [d.change for d in self.unobservable],
            "weak": [{"change": d.change, "deviation": _number(d.deviation)} for d in self.weak],
            "correlations": self.correlations,
            "residuals": self.residuals,
            "exact": self.exact,
            "notes": self.notes,
            "history": [
                {"cost": h.cost, "step": h.step, "x": [float(v) for v in h.x[: len(self.names)]]} for h in self.history
            ],
        }

    def write(self, path: Any) -> None:
        """Writes the model with the fitted parameters to a file."""
        self.model.save(path)

    def report(self, path: Any) -> None:
        """Writes one HTML page with tables and plots that needs no network; needs matplotlib (extra `plot`)."""
        from tangere._fit_report import write_report  # noqa: PLC0415  (which imports matplotlib)

        write_report(self, path)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
