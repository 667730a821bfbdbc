"""Recorded trajectories, from CSV, .npz or arrays. Bad data is refused by file, row and column."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._manifold import Manifold
from tangere.enums import JointType
from tangere.model import Model

Array = NDArray[np.float64]

_UNIT = 1e-4  # how far from 1 a quaternion may be: files are written with some six digits
_FREE = ("x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz")
_BODY = ("x", "y", "z", "qw", "qx", "qy", "qz")
_IDLE = (  # what `tangere sim --out` writes beside the states
    "kinetic",
    "potential",
    "contacts",
    "iterations",
    "residual",
    "penetration",
    "work",
    "solved",
)


@dataclass
class Log:
    """One recorded trajectory, checked: time (T), measured channels, and inputs.

    channels: "q" (T, nq), "v" (T, nv), "a" (T, nv), "joint.NAME", "joint.NAME.v" (T), "site.NAME" (T, 3), "body.NAME"
    (T, 7: position, quaternion w x y z). u (T, nu), tau (T, nv), wrench (T, nbody, 6): each row acts from its time on.
    act (T, na): activations of the actuators, with which a window starts (without: zero). NaN in a channel: not
    measured there (only with missing="skip"). noise: standard deviations of this log's channels, in place of those of
    `fit`; covariance: {"q": (T, nv, nv)} of single rows.
    """

    name: str
    time: Array
    channels: dict[str, Array]
    u: Array | None = None
    tau: Array | None = None
    wrench: Array | None = None
    act: Array | None = None
    start: tuple[Array, Array] | None = None
    noise: dict[str, Any] = field(default_factory=dict)
    covariance: dict[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.time)


def read_log(
    m: Model,
    given: Any,
    *,
    rate: float | None = None,
    columns: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
    missing: str = "refuse",
    check_rate: bool = True,
) -> Log:
    """A log from a path (.csv, .npz), a dict of arrays, or a `Log`.

    rate (Hz): if there is no time column. columns: {name in the file: name here}. ignore: columns to leave out.
    missing: with "skip", NaN and empty cells count as not measured. check_rate: velocities are compared with
    differences of positions.

    Columns of a CSV file: time (s); q[i], v[i], a[i], u[i], tau[i], act[i] as `tangere sim --out` writes them;
    joint.NAME, joint.NAME.v; site.NAME.x, .y, .z; body.NAME.x, .y, .z, .qw, .qx, .qy, .qz; for a model with one free
    joint also x y z qw qx qy qz vx vy vz wx wy wz (velocity in world axes, angular velocity in body axes).
    """
    if missing not in {"refuse", "skip"}:
        raise ValueError(f"missing: expected 'refuse' or 'skip', got {missing!r}")
    if isinstance(given, Log):
        log = replace(given, channels=dict(given.channels))  # the caller's own stays as it is
        where = _Where(log.name, 0)
    else:
        if isinstance(given, Mapping):
            name, arrays, where = "log", dict(given), _Where("log", 0)
            name = str(arrays.pop("name", name))
            where = _Where(name, 0)
        elif isinstance(given, str | os.PathLike):
            name = os.fspath(given)
            arrays, where = _read_file(name)
        else:
            raise TypeError(f"logs: expected a path, a dict of arrays or a Log, got {type(given).__name__}")
        log = _gather(m, name, arrays, where, rate, dict(columns or {}), tuple(ignore))
    _check(m, log, where, missing, rate)
    if check_rate:
        _check_rate(m, log, where)
    return log


@dataclass
class _Where:
    """Names the location of a number: lines of a file are counted after its heading."""

    name: str
    first_line: int  # of the first row; 0: rows of an array
    columns: dict[tuple[str, int], str] = field(default_factory=dict)  # the file's own names of what was read

    def cell(self, what: str, i: int, size: int) -> str:
        """The column of number i of a channel of `size` numbers."""
        if (what, i) in self.columns:
            return self.columns[what, i]
        if what.startswith(("site.", "body.")):
            return f"{what}.{_BODY[i]}"
        return f"{what}[{i}]" if size > 1 else what

    def at(self, row: int | None = None, column: str | None = None) -> str:
        parts = [self.name]
        if row is not None:
            parts.append(f"line {self.first_line + row}" if self.first_line else f"row {row}")
        if column is not None:
            parts.append(f"column '{column}'" if self.first_line else f"'{column}'")
        return ", ".join(parts)

    def heading(self) -> str:
        """The line with the names of columns."""
        return f"{self.name}, line {self.first_line - 1}" if self.first_line else self.name

    def refuse(self, row: int | None, column: str | None, text: str) -> Error:
        return Error(f"{self.at(row, column)}: {text}", "value out of domain")


# ---- files ----


def _read_file(path: str) -> tuple[dict[str, Any], _Where]:
    where = _Where(path, 0)
    if not os.path.exists(path):
        raise Error(f"{path}: there is no such file", "file cannot be read")
    if os.path.getsize(path) == 0:
        raise Error(f"{path}: the file is empty", "file cannot be read")
    if path.endswith(".npz"):
        try:
            with np.load(path, allow_pickle=False) as data:
                return {name: np.asarray(data[name]) for name in data.files}, where
        except (ValueError, OSError, EOFError) as refusal:
            raise Error(f"{path}: not an .npz file: {refusal}", "file cannot be read") from None
    return _read_csv(path)


def _read_csv(path: str) -> tuple[dict[str, Any], _Where]:
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None:
        raise Error(f"{path}: the file has no heading", "file cannot be read")
    heading = [word.strip().strip('"') for word in re.split("[,;\t]", lines[first])]
    where = _Where(path, first + 2)
    if all(_is_number(word) for word in heading):
        raise Error(f"{path}, line {first + 1}: expected names of columns, got numbers", "file cannot be read")
    twice = {word for word in heading if heading.count(word) > 1}
    if twice:
        raise Error(f"{path}, line {first + 1}: column '{sorted(twice)[0]}' is there twice", "file cannot be read")
    rows = []
    for number, line in enumerate(lines[first + 1 :], first + 2):
        if not line.strip() and number == len(lines):
            continue
        cells = re.split("[,;\t]", line)
        if len(cells) != len(heading):
            raise Error(
                f"{path}, line {number}: expected {len(heading)} columns, got {len(cells)}", "file cannot be read"
            )
        try:
            rows.append([float(cell) if cell.strip() else np.nan for cell in cells])
        except ValueError:
            bad = next(i for i, cell in enumerate(cells) if cell.strip() and not _is_number(cell))
            raise Error(
                f"{path}, line {number}, column '{heading[bad]}': '{cells[bad].strip()}' is not a number",
                "file cannot be read",
            ) from None
    if not rows:
        raise Error(f"{path}: there are no rows behind the heading", "file cannot be read")
    table = np.array(rows)
    return {name: table[:, i] for i, name in enumerate(heading)}, where


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


# ---- columns ----


class _Names:
    """The columns of a model's logs, and where each is stored."""

    def __init__(self, m: Model) -> None:
        self.sizes = {"q": m.nq, "v": m.nv, "a": m.nv, "u": m.nu, "tau": m.nv, "act": m.na}
        self.places: dict[str, tuple[str, int]] = {"time": ("time", 0), "t": ("time", 0)}
        self.shapes: dict[str, int] = {}
        for what, size in self.sizes.items():
            self.places.update({f"{what}[{i}]": (what, i) for i in range(size)})
            self.shapes[what] = size
        for joint, name in enumerate(m.names("joint")):
            if m.joint_type[joint] in {JointType.HINGE, JointType.SLIDE}:
                label = name or f"#{joint}"
                for what in (f"joint.{label}", f"joint.{label}.v"):
                    self.places[what] = (what, 0)
                    self.shapes[what] = 1
        for kind, parts in (("site", _BODY[:3]), ("body", _BODY)):
            for i, name in enumerate(m.names(kind)):
                what = f"{kind}.{name or f'#{i}'}"
                self.shapes[what] = len(parts)
                self.places.update({f"{what}.{part}": (what, k) for k, part in enumerate(parts)})
        free = [j for j in range(m.njoint) if m.joint_type[j] == JointType.FREE]
        self.short: dict[str, tuple[str, int]] = {}
        if len(free) == 1 and m.nq == 7:
            self.short = {part: ("q", i) if i < 7 else ("v", i - 7) for i, part in enumerate(_FREE)}

    def place(self, column: str) -> tuple[str, int] | None:
        return self.places.get(column) or self.short.get(column)

    def unknown(self, where: _Where, column: str) -> Error:
        known = [*self.places, *self.short]
        close = difflib.get_close_matches(column, known, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "; leave it out with ignore=[...]"
        return Error(f"{where.at(None, column)}: unknown column{hint}", "unknown name")


def _gather(  # noqa: PLR0917
    m: Model, name: str, arrays: dict[str, Any], where: _Where, rate: float | None, columns: dict, ignore: tuple
) -> Log:
    names, found = _Names(m), {}
    for column in columns:
        if column not in arrays:
            raise Error(f"{where.name}: there is no column '{column}' to rename", "unknown name")
    for given, values in arrays.items():
        column = columns.get(given, given)
        if given in ignore or column in ignore or column.partition("[")[0] in _IDLE:
            continue
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise Error(f"{where.at(None, given)}: expected numbers, got {array.dtype}", "value out of domain")
        array = array.astype(np.float64)
        if array.ndim == 1 and names.place(column) is not None:
            what, i = names.place(column)  # type: ignore[misc]
            found.setdefault(what, {})[i] = (given, array)
            where.columns[what, i] = given
        elif column in names.shapes or column in {"time", "wrench"}:
            found[column] = array
        else:
            raise names.unknown(where, given)
    whole = {what: _whole(names, where, what, parts) for what, parts in found.items()}
    return _to_log(m, name, whole, where, rate)


def _whole(names: _Names, where: _Where, what: str, parts: Any) -> Array:
    if isinstance(parts, np.ndarray):
        return parts
    size = 1 if what == "time" else names.shapes[what]
    absent = [i for i in range(size) if i not in parts]
    if absent and what != "time":
        known = {place: column for column, place in {**names.places, **names.short}.items() if place[0] == what}
        if any(column in names.short for column, _ in parts.values()):
            known.update({place: column for column, place in names.short.items()})
        lost = [known[what, i] for i in absent]
        raise Error(
            f"{where.heading()}: missing column{'s' if len(lost) > 1 else ''} {', '.join(map(repr, lost))}",
            "value out of domain",
        )
    table = np.stack([parts[i][1] for i in range(size)], axis=1)
    return table[:, 0] if size == 1 else table


def _to_log(m: Model, name: str, whole: dict[str, Array], where: _Where, rate: float | None) -> Log:
    acting = {what: whole.pop(what, None) for what in ("u", "tau", "wrench", "act")}
    time = whole.pop("time", None)
    rows = {what: len(values) for what, values in whole.items()}
    if not rows:
        raise Error(
            f"{where.name}: nothing was measured: there is no column of q, v, a, joints, sites or bodies",
            "value out of domain",
        )
    if time is None:
        if rate is None:
            raise Error(f"{where.name}: there is no column 'time'; give rate=... in Hz", "value out of domain")
        if not rate > 0:
            raise Error(f"rate = {rate:g} must be positive", "value out of domain")
        time = np.arange(next(iter(rows.values()))) / rate
    rows.update({what: len(values) for what, values in acting.items() if values is not None})
    for what, count in rows.items():
        if count != len(time):
            raise Error(f"{where.at(None, what)}: {count} rows, but {len(time)} times", "value out of domain")
    shapes = {"u": (m.nu,), "tau": (m.nv,), "wrench": (m.nbody, 6), "act": (m.na,)}
    sizes = {**_Names(m).shapes}
    for what, values in {**whole, **acting}.items():
        if values is None:
            continue
        expected = shapes.get(what, (sizes.get(what, 1),) if sizes.get(what, 1) > 1 else ())
        tail = values.shape[1:]
        if tail != expected and not (expected == () and tail == (1,)) and not (expected == (1,) and tail == ()):
            raise Error(
                f"{where.at(None, what)}: expected shape (rows, {', '.join(map(str, expected))}), got {values.shape}",
                "value out of domain",
            )
        if what in {"u", "tau", "act"} and values.ndim == 1:
            acting[what] = values[:, None]
    channels = {
        what: values[:, None]
        if values.ndim == 1 and what in {"q", "v", "a"}
        else values[:, 0]
        if values.ndim == 2 and sizes.get(what) == 1 and what not in {"q", "v", "a"}
        else values
        for what, values in whole.items()
    }
    return Log(name, np.asarray(time, np.float64), channels, **acting)


# ---- checks ----


def _check(m: Model, log: Log, where: _Where, missing: str, rate: float | None) -> None:
    time = log.time
    if len(time) < 2:
        raise Error(f"{where.name}: {len(time)} row; a trajectory has two or more", "value out of domain")
    for row in np.flatnonzero(~np.isfinite(time))[:1]:
        raise where.refuse(int(row), where.cell("time", 0, 1), f"{time[row]:g} is not a time")
    for row in np.flatnonzero(np.diff(time) <= 0)[:1]:
        raise where.refuse(int(row) + 1, where.cell("time", 0, 1), f"{time[row + 1]:g} s is not after {time[row]:g} s")
    if rate is not None:
        steps = np.diff(time) * rate
        off = np.abs(steps - np.round(steps)) > 0.05  # rows may be missing, not in between
        if off.any() or np.median(steps) > 1.5:
            row = int(np.flatnonzero(off)[0]) if off.any() else 0
            raise where.refuse(
                row + 1,
                where.cell("time", 0, 1),
                f"{steps[row]:.3g} periods of {rate:g} Hz after the row before: is the rate right?",
            )
    for what, values in {**log.channels, "u": log.u, "tau": log.tau, "wrench": log.wrench, "act": log.act}.items():
        if values is None:
            continue
        flat = values.reshape(len(time), -1)
        bad = ~np.isfinite(flat)
        if missing == "skip" and what in log.channels:
            bad = np.isinf(flat)
        for row, i in np.argwhere(bad)[:1]:
            raise where.refuse(
                int(row),
                where.cell(what, int(i), flat.shape[1]),
                f"{flat[row, i]:g} is not a number (missing='skip' takes NaN as not measured)",
            )
    _check_quaternions(m, log, where)


def _check_quaternions(m: Model, log: Log, where: _Where) -> None:
    places = [("q", q) for q, _ in Manifold(m).rotations] if "q" in log.channels else []
    places += [(what, 3) for what in log.channels if what.startswith("body.")]
    for what, q in places:
        values = log.channels[what]
        size = np.linalg.norm(values[:, q : q + 4], axis=1)
        for row in np.flatnonzero(np.abs(size - 1) > _UNIT)[:1]:
            label = where.cell(what, q, values.shape[1])
            raise where.refuse(int(row), label, f"the quaternion from here on has the length {size[row]:.6g}, not 1")
        values = values.copy()
        values[:, q : q + 4] /= size[:, None]
        log.channels[what] = values


def _check_rate(m: Model, log: Log, where: _Where) -> None:
    """Velocities against differences of positions: off by a factor means another rate or another unit."""
    if "q" not in log.channels or "v" not in log.channels:
        return
    manifold = Manifold(m)
    q, v = log.channels["q"], log.channels["v"]
    seen = np.isfinite(q).all(1) & np.isfinite(v).all(1)
    rows, q, v, time = np.flatnonzero(seen), q[seen], v[seen], log.time[seen]
    if len(q) < 5:
        return
    speed = manifold.difference(q[:-1], q[1:]) / np.diff(time)[:, None]
    mean = 0.5 * (v[:-1] + v[1:])
    for unit in ("position", "joint"):
        chosen = manifold.unit == unit
        a, b = speed[:, chosen].ravel(), mean[:, chosen].ravel()
        if not chosen.any() or a @ a == 0 or b @ b == 0 or a @ b < 0.7 * np.sqrt((a @ a) * (b @ b)):
            continue  # not alike: noise, or nothing moves
        ratio = (a @ b) / (b @ b)
        if not 0.7 < ratio < 1.4:
            fastest = np.unravel_index(np.argmax(np.abs(speed * chosen)), speed.shape)
            raise where.refuse(
                int(rows[fastest[0] + 1]),
                where.cell("v", int(fastest[1]), v.shape[1]),
                f"differences of positions are {ratio:.3g} times the velocities, here and elsewhere: is the rate "
                "right? (check_rate=False passes over this)",
            )


def logs_of(m: Model, given: Any, **options: Any) -> list[Log]:
    """Logs from one or many arguments of `read_log`."""
    many = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if len(many) == 0:
        raise Error("logs: there is none", "value out of domain")
    return [read_log(m, one, **options) for one in many]


def as_array(value: ArrayLike) -> Array:
    """The value as an array of float64."""
    return np.asarray(value, np.float64)
