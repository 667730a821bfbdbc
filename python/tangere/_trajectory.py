"""Trajectories as viewers and plots take them: a rollout, a log, or arrays."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere.model import Model
from tangere.rollout import Rollout
from tangere.sim import StepContacts, step

Array = NDArray[np.float64]


class Trajectory(NamedTuple):
    """n states: time (n), s; q (n, nq), v (n, nv), act (n, na); u (n, nu): controls of the step from each of them;
    dt: of the steps, s; rollout: None where there was none; rest: other columns of a log, by name."""

    model: Model
    time: Array
    q: Array
    v: Array
    act: Array
    u: Array
    dt: float
    rollout: Rollout | None
    rest: dict[str, Array]

    def contacts(self, i: int) -> StepContacts | None:
        """Contacts of the step from state i; for the last state of a rollout, of the step to it. Without a rollout, the
        step is computed.
        """
        if self.rollout is not None:
            return self.rollout.contacts[min(i, len(self.rollout) - 1)] if len(self.rollout) else None
        return step(self.model, self.q[i], self.v[i], self.act[i], self.u[i], dt=self.dt)[2].contacts

    def frames(self, fps: float) -> NDArray[np.intp]:
        """The states nearest to multiples of 1 / fps."""
        length = self.time[-1] - self.time[0]
        wanted = self.time[0] + np.arange(int(length * fps + 1e-9) + 1) / fps
        return np.unique(np.searchsorted(self.time, wanted - 1e-9 * max(length, 1)).clip(0, len(self.time) - 1))


def _columns(path: str) -> dict[str, Array]:
    """Arrays of a log: .npz as it is; .csv with columns like q[0], q[1]."""
    if path.endswith(".npz"):
        with np.load(path) as file:
            return {name: np.asarray(file[name], dtype=np.float64) for name in file.files}
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise Error(f"{path}: there are no rows", "value out of domain")
    try:
        numbers = np.array([[float(x) for x in row] for row in rows[1:]])
    except ValueError as bad:
        raise Error(f"{path}: {bad}", "value out of domain") from None
    names = rows[0]
    if numbers.shape != (len(rows) - 1, len(names)):
        raise Error(f"{path}: rows differ in length", "value out of domain")
    found: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        found.setdefault(re.sub(r"\[\d+\]$", "", name), []).append(i)
    return {name: numbers[:, at] if "[" in names[at[0]] else numbers[:, at[0]] for name, at in found.items()}


def _array(what: str, value: Any, rows: int, width: int) -> Array:
    if value is None:
        return np.zeros((rows, width))
    array = np.asarray(value, dtype=np.float64)
    if width == 0:
        return np.zeros((rows, 0))
    if array.shape != (rows, width):
        raise ValueError(f"{what}: expected shape {(rows, width)}, got {array.shape}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise Error(f"{what}[{row}, {column}] is {array[row, column]}", "value out of domain")
    return array


def _of_columns(m: Model, given: Mapping[str, Any], dt: float | None) -> Trajectory:
    if "q" not in given:
        raise Error(f"trajectory: there is no 'q', only {', '.join(sorted(given)) or 'nothing'}", "value out of domain")
    q = np.asarray(given["q"], dtype=np.float64)
    rows = len(q)
    q = _array("q", q, rows, m.nq)
    if rows == 0:
        raise Error("trajectory: there are no states", "value out of domain")
    time = given.get("time")
    time = np.arange(rows) * (m.timestep if dt is None else dt) if time is None else np.asarray(time, dtype=np.float64)
    if time.shape != (rows,) or not (np.diff(time) > 0).all():
        raise Error("trajectory: time must be one number per state, and grow", "value out of domain")
    step_time = dt if dt is not None else float(np.median(np.diff(time))) if rows > 1 else m.timestep
    u = _array("u", given.get("u"), rows, m.nu)
    u = np.concatenate([u[1:], u[-1:]])  # a log has the controls of the step that led to a state
    parts = [_array(name, given.get(name), rows, n) for name, n in (("v", m.nv), ("act", m.na))]
    rest = {k: np.asarray(x) for k, x in given.items() if k not in {"time", "q", "v", "act", "u"}}
    return Trajectory(m, time, q, *parts, u, min(step_time, 1.0), None, rest)


def _of_rollout(r: Rollout, dt: float | None) -> Trajectory:
    step_time = r.dt if dt is None else dt
    m = r._model
    rest = {
        "residual": np.concatenate([[0], r.info.residual]),
        "penetration": np.concatenate([[0], r.info.penetration]),
    }
    u = np.zeros((len(r.q), m.nu))
    rows = np.minimum(np.arange(len(r.q)) // r.hold, len(r.controls) - 1)
    u[:] = r.controls[rows] if len(r.controls) else 0
    return Trajectory(m, np.arange(len(r.q)) * step_time, r.q, r.v, r.act, u, step_time, r, rest)


def trajectory_of(m: Model | None, given: Any, dt: float | None = None) -> Trajectory:
    """A `Rollout`, the path of a log (.npz, .csv), a mapping with q, v, act, u and time, or an array q (n, nq).

    dt: time between states where none is known (the model's). u of a log is that of the step that led to the state, as
    `tangere sim --out` writes it.
    """
    if isinstance(given, Rollout):
        return _of_rollout(given, dt)
    if m is None:
        raise ValueError("a log or arrays need their model: model=...")
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        if not path.endswith((".npz", ".csv")):
            raise Error(f"{path}: expected a trajectory in a .npz or .csv file", "value out of domain")
        if not Path(path).exists():
            raise FileNotFoundError(2, f"there is no trajectory '{path}'")
        return _of_columns(m, _columns(path), dt)
    if isinstance(given, Mapping):
        return _of_columns(m, given, dt)
    return _of_columns(m, {"q": np.atleast_2d(np.asarray(given, dtype=np.float64))}, dt)
