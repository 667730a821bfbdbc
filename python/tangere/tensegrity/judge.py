"""How far the centre of mass of the engine is from that of the data over whole trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.batch import Batch
from tangere.model import Model
from tangere.tensegrity.data import Data
from tangere.tensegrity.robot import com, path_length

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    """time (T); error (n, T): distance of the centres of mass, m; length (n): of the data's path, m; failed: rollouts
    that blew up (their errors are NaN from there on)."""

    time: Array
    error: Array
    length: Array
    failed: int

    @property
    def last(self) -> Array:
        """The error at the end of each trajectory, m."""
        return self.error[:, -1]

    @property
    def relative(self) -> Array:
        """Error at the end by the length of the path (n)."""
        return self.error[:, -1] / self.length

    def text(self) -> str:
        """The result in one line."""
        last = self.last
        return (
            f"centre of mass off by {last.mean():.3g} +- {last.std():.2g} m at the end (worst at any time "
            f"{np.nanmax(self.error):.3g} m), mean path {self.length.mean():.2f} m"
        )


def predict(m: Model, data: Data, dt: float, split: str = "test", **options: Any) -> tuple[Array, int]:
    """q (n, T, nq) at the data's times from its first states and its controls; how many rollouts failed."""
    chosen = data.part(split)
    interval = data.time[1] - data.time[0]
    every = max(1, round(interval / dt))
    rows = len(data.time) - 1
    with Batch(m, len(chosen), dt, on_error="keep", **options) as batch:
        batch.reset(states=(data.q[chosen, 0], data.v[chosen, 0], data.act[chosen, 0]))
        u = np.ascontiguousarray(np.repeat(data.u[chosen, :rows], every, axis=1))
        r = batch.rollout(u, derivatives=False)
        return np.asarray(r.q)[:, ::every], len({i for i, *_ in batch.errors})


def judge(m: Model, data: Data, dt: float, split: str = "test", **options: Any) -> Judgement:
    """Whole trajectories of one split, predicted from their starts."""
    q, failed = predict(m, data, dt, split, **options)
    truth = com(m, data.q[data.part(split)])
    found = np.full_like(truth, np.nan)
    good = np.isfinite(q).all(axis=-1)
    found[good] = com(m, q[good])
    return Judgement(data.time, np.linalg.norm(found - truth, axis=-1), path_length(truth), failed)
