"""Trajectories of SUPERball in MuJoCo: hanging with random controls, and rolling to rest.

A file (.npz) has n trajectories of T rows: time (T), q (n, T, nq), v (n, T, nv), act, u (n, T, 24), split (n): "train",
"validation" or "test", rate (Hz), and `about`: JSON with seed, surroundings, the reading of the parameters, the version
of MuJoCo and the model as MJCF. Row k of u acts from time k to time k + 1.
"""

from __future__ import annotations

import json
import os
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere.model import Model, load_string
from tangere.tensegrity.robot import REACH, READINGS, SPEEDS, STEP, TUPLE, hang_text, roll_text, rolling_start

Array = NDArray[np.float64]

COUNTS = {"train": 10, "validation": 2, "test": 10}  # as published
SECONDS = 5.0  # as published
_RATES = {"10hz": TUPLE, "1khz": STEP}
_FIELDS = ("q", "v", "act", "u")


@dataclass(frozen=True)
class Data:
    """Trajectories of one file. `logs(split)` gives them as `tangere.fit` takes them."""

    name: str
    text: str  # MJCF
    about: dict[str, Any]
    time: Array
    q: Array
    v: Array
    act: Array
    u: Array
    split: NDArray[np.str_]

    def model(self) -> Model:
        """The model with which the data were made."""
        return load_string(self.text)

    def part(self, split: str) -> NDArray[np.intp]:
        """Trajectories of a split: their indices."""
        found = np.flatnonzero(self.split == split)
        if len(found) == 0:
            raise Error(f"{self.name}: no trajectory is marked '{split}'", "value out of domain")
        return found

    def logs(self, split: str, most: int | None = None) -> list[dict[str, Any]]:
        """Trajectories of a split as logs for `tangere.fit`, at most `most`."""
        return [
            {"name": f"{self.name}, trajectory {i}", "time": self.time, "q": self.q[i], "v": self.v[i],
             "act": self.act[i], "u": self.u[i]}
            for i in self.part(split)[:most]
        ]  # fmt: skip


def record(text: str, kind: str, seed: tuple[int, ...], seconds: float = SECONDS) -> dict[str, Array]:
    """One trajectory of MuJoCo at 1 kHz: q, v, act, u (rows, ...). kind: "hang": controls that are uniform in +-100 and
    held for 0.1 s; "roll": no controls, a rolling start. Refused if the robot blows up.
    """
    import mujoco  # noqa: PLC0415  (an extra)

    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    rng = np.random.default_rng(seed)
    if kind == "roll":
        d.qvel[:] = rolling_start(d.qpos, rng)
    rows, hold = round(seconds / STEP), round(TUPLE / STEP)
    kept = {"q": np.empty((rows + 1, m.nq)), "v": np.empty((rows + 1, m.nv)), "act": np.empty((rows + 1, m.na)),
            "u": np.zeros((rows + 1, m.nu))}  # fmt: skip
    for row in range(rows + 1):
        if row % hold == 0 and kind == "hang":
            d.ctrl[:] = rng.uniform(-REACH, REACH, m.nu)
        for name, value in (("q", d.qpos), ("v", d.qvel), ("act", d.act), ("u", d.ctrl)):
            kept[name][row] = value
        if row < rows:
            mujoco.mj_step(m, d)
        if any(d.warning[w].number for w in _bad(mujoco)):
            raise Error(f"seed {seed}: MuJoCo's robot blew up in row {row} ({row * STEP:g} s)", "value out of domain")
    return kept


def _bad(mujoco: Any) -> tuple[int, ...]:
    kinds = mujoco.mjtWarning
    return (int(kinds.mjWARN_BADQPOS), int(kinds.mjWARN_BADQVEL), int(kinds.mjWARN_BADQACC))


def write(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    reading: str = "C",
    seconds: float = SECONDS,
    counts: dict[str, int] | None = None,
    kinds: tuple[str, ...] = ("hang", "roll"),
    rates: tuple[str, ...] = tuple(_RATES),
    progress: Callable[[int, int, float], Any] | None = None,
) -> list[Path]:
    """Files hang_10hz.npz, hang_1khz.npz, roll_10hz.npz, roll_1khz.npz in a folder. Trajectory i of a seed is the same
    whatever else is recorded. progress(done, total, seconds).
    """
    import mujoco  # noqa: PLC0415  (an extra)

    counts = dict(COUNTS if counts is None else counts)
    if not seconds > 0 or abs(seconds / TUPLE - round(seconds / TUPLE)) > 1e-9:
        raise Error(f"seconds = {seconds:g} must be a multiple of {TUPLE:g}", "value out of domain")
    split = np.array([name for name, count in counts.items() for _ in range(count)])
    files, began, done = [], clock.monotonic(), 0
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        text = hang_text(reading) if kind == "hang" else roll_text(reading)
        runs = []
        for i in range(len(split)):
            runs.append(record(text, kind, (seed, ("hang", "roll").index(kind), i), seconds))
            done += 1
            if progress is not None:
                progress(done, len(split) * len(kinds), clock.monotonic() - began)
        about = {
            "surroundings": kind, "seed": seed, "reading": reading, **READINGS[reading], "mujoco": mujoco.__version__,
            "controls": "uniform in +-100, held for 0.1 s" if kind == "hang" else "none",
            "start": "at rest" if kind == "hang" else f"rolling, any direction, {SPEEDS[0]:g} to {SPEEDS[1]:g} m/s",
            "mjcf": text,
        }  # fmt: skip
        for rate in rates:
            every = round(_RATES[rate] / STEP)
            arrays = {name: np.stack([run[name][::every] for run in runs]) for name in _FIELDS}
            files.append(folder / f"{kind}_{rate}.npz")
            np.savez(
                files[-1], time=_RATES[rate] * np.arange(arrays["q"].shape[1]), split=split, rate=1 / _RATES[rate],
                about=json.dumps(about), **arrays,
            )  # fmt: skip
    return files


def read(path: str | os.PathLike[str], rate: float | None = None) -> Data:
    """A file that `write` made, checked; rate (Hz): refused if it has another one."""
    name = os.fspath(path)
    try:
        with np.load(name, allow_pickle=False) as file:
            arrays = {key: np.asarray(file[key]) for key in file.files}
    except OSError as refusal:
        raise Error(f"{name}: {refusal.strerror or 'not an .npz file'}", "file cannot be read") from None
    except ValueError:
        raise Error(f"{name}: not an .npz file", "file cannot be read") from None
    for key in ("time", "split", "rate", "about", *_FIELDS):
        if key not in arrays:
            raise Error(f"{name}: missing array '{key}'", "value out of domain")
    about = json.loads(str(arrays["about"]))
    text = about.pop("mjcf")
    _check(name, load_string(text), arrays, rate)
    return Data(name, text, about, arrays["time"], *(arrays[key] for key in _FIELDS), arrays["split"])


def _check(name: str, m: Model, arrays: dict[str, Any], rate: float | None) -> None:
    n, rows = len(arrays["split"]), len(arrays["time"])
    for key, size in zip(_FIELDS, (m.nq, m.nv, m.na, m.nu), strict=True):
        shape = arrays[key].shape
        if shape[:2] != (n, rows) or len(shape) != 3:
            raise Error(f"{name}: '{key}': expected shape {(n, rows, size)}, got {shape}", "value out of domain")
        if shape[2] != size:
            raise Error(f"{name}: '{key}': expected {size} columns, got {shape[2]}", "value out of domain")
        bad = np.argwhere(~np.isfinite(arrays[key]) | (np.abs(arrays[key]) > 1e10))  # MuJoCo's bound of a bad state
        if len(bad):
            i, row, column = bad[0]
            value = arrays[key][i, row, column]
            raise Error(
                f"{name}: trajectory {i}, row {row}, '{key}[{column}]' = {value:g}: the robot blew up",
                "value out of domain",
            )
    found = float(arrays["rate"])
    steps = np.diff(arrays["time"])
    off = np.flatnonzero(np.abs(steps * found - 1) > 1e-6)
    if len(off):
        raise Error(
            f"{name}: row {off[0] + 1}, 'time': {steps[off[0]]:g} s after the row before, but the rate is {found:g} Hz",
            "value out of domain",
        )
    if rate is not None and abs(found / rate - 1) > 1e-6:
        raise Error(f"{name}: 'rate' = {found:g} Hz, expected {rate:g} Hz", "value out of domain")
