"""Recurrent training from low-frequency data: tuples (X_t, controls over 100 ms) -> X_{t + 100 ms}.

The loss is the weighted sum of squares of the state at the end of a tuple; weights are 1 / (1 mm), 1 / (1 mrad) of q
and 1 / (1 cm/s), 1 / (1 crad/s) of v (WEIGHTS). Progressive training is Algorithm 1 of the paper with Gauss-Newton in
place of Adam: a ladder of time steps with implicit cables, 100 ms as one step per tuple, then 50, 25, ... ms, then
explicit steps of 1 ms. The ladder is left as soon as its coarse rungs are done and explicit steps are stable.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._fit import fit
from tangere.model import Model
from tangere.sim import Sim
from tangere.tensegrity.data import Data
from tangere.tensegrity.noise import standard_errors, tuples_of
from tangere.tensegrity.robot import STEP, TUPLE, body_unknowns, scale

Array = NDArray[np.float64]

LADDER = (0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125, 0.0015625, 0.001)  # s: halved until MuJoCo's step, as published
COARSE = 0.01  # s: the rungs above take 15 steps per tuple together; one at 1 ms takes 100
WEIGHTS = {"q": 1e-3, "v": 1e-2}
RUNG = 5  # iterations of Gauss-Newton on a rung: the next one starts from its result, not from its optimum
COARSELY = 0.01  # relative step that ends a rung: implicit steps of 12.5 ms are off by more (docs/tensegrity.md)
LAST = 30  # iterations of the last rung

VARIANTS = {
    "progressive": "a ladder of time steps with implicit cables, then explicit steps of 1 ms",
    "implicit": "the ladder of implicit steps down to 1 ms, and no explicit steps",
    "feed-forward": "one implicit step of 100 ms per tuple",
    "explicit": "explicit steps of 1 ms from the start: refused where these are not stable",
    "dense": "data at 1 kHz, one explicit step per tuple",
}


@dataclass(frozen=True)
class Rung:
    dt: float
    implicit: bool
    factors: Array
    iterations: int
    cost: float


@dataclass(frozen=True)
class Training:
    """factors: of the values in the model's file; errors: their standard errors; dt, implicit: of the engine that was
    trained and that predicts; cpu: s of processor time."""

    variant: str
    factors: Array
    errors: Array
    dt: float
    implicit: bool
    cpu: float
    rungs: list[Rung] = field(default_factory=list)

    def model(self, data: Data) -> Model:
        """The model of the data with the fitted factors."""
        m = data.model()
        scale(m, body_unknowns(m), self.factors)
        return m


def stable_dt(m: Model) -> float:
    """The longest explicit step that the cables bear, s."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may be too long is what is asked
        return Sim(m, dt=STEP, implicit_tendons=False).stable_dt


def _rungs(variant: str) -> list[tuple[float, bool]]:
    """(dt, implicit) in order."""
    ladder = [(dt, True) for dt in LADDER]
    plans = {
        "progressive": [*ladder, (STEP, False)],
        "implicit": ladder,
        "feed-forward": [(TUPLE, True)],
        "explicit": [(STEP, False)],
        "dense": [(STEP, False)],
    }
    if variant not in plans:
        raise Error(f"variant: expected one of {', '.join(VARIANTS)}, got '{variant}'", "unknown name")
    return plans[variant]


def identify(
    data: Data,
    start: Sequence[float],
    variant: str = "progressive",
    *,
    trajectories: int | None = None,
    logs: list[dict[str, Any]] | None = None,
    noise: Any = WEIGHTS,
    threads: int | None = None,
    **options: Any,
) -> Training:
    """Factors of stiffness, damping and mass from the training trajectories of hanging data (or from `logs`).

    start: the three factors to start from; trajectories: how many of them are used; noise and options as in `fit`.
    noise None: that of the data is estimated, and standard errors are those of data with noise in all states (noise.py;
    at 1 kHz those of `fit`, which takes residuals as independent).
    """
    began = time.process_time()
    rate = 1 / STEP if variant == "dense" else 1 / TUPLE
    if abs((data.time[1] - data.time[0]) * rate - 1) > 1e-6:
        raise Error(
            f"{data.name}: row 1, 'time' = {data.time[1]:g} s: variant '{variant}' needs {rate:g} Hz",
            "value out of domain",
        )
    logs = data.logs("train", trajectories) if logs is None else logs
    m = data.model()
    groups = body_unknowns(m)
    found, rungs = np.array(start, np.float64), []
    plan = _rungs(variant)
    scale(m, groups, found)
    result = None
    for k, (dt, implicit) in enumerate(plan):
        if implicit and not plan[-1][1] and dt < COARSE and stable_dt(m) > STEP:
            continue
        if not implicit and variant != "dense" and stable_dt(m) < dt:
            raise Error(
                f"variant '{variant}': explicit steps of {dt:g} s are unstable at factors {found.tolist()}: the "
                f"largest stable dt is {stable_dt(m):.3g} s; 'progressive' starts with implicit steps",
                "value out of domain",
            )
        last = k == len(plan) - 1
        result = fit(
            m, logs, groups, horizon=1, stride=1, dt=dt, channels=["q", "v"], noise=noise, threads=threads,
            iterations=LAST if last else RUNG, tolerance=1e-8 if last else COARSELY, implicit_tendons=implicit,
            **options,
        )  # fmt: skip
        found = np.array(result.values)
        rungs.append(Rung(dt, implicit, found.copy(), result.optimum.iterations, result.optimum.cost))
        scale(m, groups, found)
    dt, implicit = plan[-1]
    errors = np.array(result.errors)  # type: ignore[union-attr]
    if noise is None and variant != "dense":
        pairs = tuples_of(data.model(), logs, groups, found, dt, threads, implicit_tendons=implicit)
        errors = standard_errors(pairs)[0]
    return Training(variant, found, errors, dt, implicit, time.process_time() - began, rungs)
