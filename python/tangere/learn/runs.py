"""A run: its configuration, its data, and its folder. Needs no torch.

A folder has config.json, machine.json, log.csv, checkpoint.pt and, at the end, result.json. Every file is written
beside its place and then renamed: a full disk or a crash leaves the last one intact.
"""

from __future__ import annotations

import csv
import difflib
import fcntl
import io
import json
import math
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tangere
from tangere.cartesian import System
from tangere.learn import tasks

CONTACT_MODELS = ("CM-CLNN", "CM-CHNN", "CMr-CLNN", "CMr-CHNN")
BASELINES = ("MLP-CD-CLNN", "IN-CP-CLNN", "IN-CP-SP")
MODELS = CONTACT_MODELS + BASELINES
EVALUATED = 100  # chunks of validation and test, as published
CMR_EPS = 0.01  # as published


def model_name(name: str) -> str:
    """The model that is meant; `CD` of the paper's names may be written."""
    plain = {m.lower(): m for m in MODELS}
    key = name.lower()
    key = key if key in plain else key.replace("-cd-", "-")
    if key in plain:
        return plain[key]
    near = difflib.get_close_matches(key, plain, 1, 0.4)
    meant = f"did you mean '{plain[near[0]]}'? " if near else ""
    raise ValueError(f"unknown model {name!r}: {meant}there are {', '.join(MODELS)}")


@dataclass(frozen=True)
class Config:
    """The configuration of a run. Two runs with equal configurations are equal bit for bit on one machine."""

    task: str
    model: str
    seed: int = 0  # of data, weights and the order of batches
    trajectories: int = 800
    epochs: int = 1000
    batch: int = 200
    rate: float = 1e-3  # of the networks' weights
    property_rate: float = 1e-2  # of masses, moments, mu, e and eps
    schedule: str = "cosine"  # rates fall to 0 with half a cosine; or constant
    decay: float = 1e-4  # of AdamW, on all parameters
    eps: float | None = None  # of CMr: None is 0.01, negative is learned
    noise: float = 0.0  # standard deviation added to the training chunks
    law: str = "ccp"  # of the data
    # one seed for all splits: validation and test are the same chunks; CMr has its own truth; one constant rate
    as_published: bool = False
    every: int = 1  # epochs per validation
    data: str | None = None  # training chunks from a file

    def checked(self) -> Config:
        """The configuration itself; refuses invalid values by name."""
        for field, least in (("trajectories", 1), ("epochs", 1), ("batch", 1), ("every", 1), ("seed", 0)):
            if getattr(self, field) < least:
                raise ValueError(f"--{field} is {getattr(self, field)}, must be at least {least}")
        for field in ("rate", "property_rate", "decay", "noise"):
            value = getattr(self, field)
            if not np.isfinite(value) or value < 0 or (field.endswith("rate") and value == 0):
                raise ValueError(f"--{field.replace('_', '-')} is {value}, must be positive and finite")
        if self.schedule not in ("cosine", "constant"):
            raise ValueError(f"--schedule is {self.schedule!r}, must be cosine or constant")
        if self.law not in ("ccp", "lcp"):
            raise ValueError(f"--law is {self.law!r}, must be ccp or lcp")
        config = replace(self, task=tasks.task(self.task).name, model=model_name(self.model))
        if config.task == "billiards":
            raise ValueError(
                "billiards is not learned: tasks are BP5-e, BP5, BD5, BD1, CP3-e, CP3, Gyro-e, Gyro, Rope-N"
            )
        if self.noise > 0 and config.task.partition("-")[0] not in ("BP5", "CP3"):
            raise ValueError(
                f"--noise is defined for BP5-e, BP5, CP3-e and CP3, not {config.task}: others would leave constraints"
            )
        if self.eps is not None and not config.model.startswith("CMr"):
            raise ValueError(f"--eps belongs to CMr-CLNN and CMr-CHNN, not to {config.model}")
        return config

    @property
    def truth_eps(self) -> float:
        """Truth is that of CM. CMr's own only as published."""
        own = self.as_published and self.model.startswith("CMr")
        return self.model_eps or 0.0 if own else 0.0

    @property
    def model_eps(self) -> float | None:
        """0 of CM, a number of CMr; None: learned"""
        if not self.model.startswith("CMr"):
            return 0.0
        return CMR_EPS if self.eps is None else None if self.eps < 0 else self.eps

    @property
    def rate_of_properties(self) -> float:
        """Learning rate of masses, moments and coefficients."""
        return self.rate if self.as_published else self.property_rate

    def decayed(self, part: float) -> float:
        """The rate, relative to the first, when a part of all iterations is done."""
        if self.as_published or self.schedule == "constant":
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * part))

    def folder_name(self) -> str:
        """MODEL, and what differs from the defaults that matter for a table."""
        parts = [self.model]
        if self.eps is not None:
            parts.append("eps" + ("learned" if self.eps < 0 else f"{self.eps:g}"))
        parts += [f"noise{self.noise:g}"] if self.noise else []
        parts += [self.law] if self.law != "ccp" else []
        parts += [f"n{self.trajectories}"] if self.trajectories != 800 else []
        parts += ["published"] if self.as_published else []
        parts += [f"seed{self.seed}"] if self.seed else []
        return "_".join(parts)


# ---- data ----


def _noisy(task: str, states: NDArray[np.float64], sd: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise on positions and velocities; of pendulums on angles and rates, so that links keep their lengths."""
    if task.startswith("BP5"):
        return states + sd * rng.standard_normal(states.shape)
    link = np.diff(states, axis=-2, prepend=0.0)
    length = np.array(tasks.PENDULUM)
    u, du = link[..., 0, :, :], link[..., 1, :, :]
    angle = np.arctan2(u[..., 0], -u[..., 1])
    rate = (np.cos(angle) * du[..., 0] + np.sin(angle) * du[..., 1]) / length
    x, v = tasks.chain_state(
        angle + sd * rng.standard_normal(angle.shape), rate + sd * rng.standard_normal(rate.shape), length
    )
    return np.stack([x, v], -3)


def read_chunks(path: str, task: str, system: System) -> dict[str, Any]:
    """Chunks that `tangere learn data` wrote, if they are of this task and layout."""
    try:
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{path}: not a file of chunks: {error}") from None
    missing = [name for name in ("task", "states", "contacts", "dt") if name not in found]
    if missing:
        raise ValueError(f"{path}: has no '{missing[0]}'; `tangere learn data {task} --out FILE.npz` writes chunks")
    if str(found["task"]) != task:
        raise ValueError(f"{path}: chunks of task {found['task']}, not of {task}")
    expected = (tasks.CHUNK, 2, *system.shape)
    states = found["states"]
    if states.ndim != 5 or states.shape[1:] != expected:
        raise ValueError(f"{path}: states have shape {list(states.shape)}, expected [chunks, {str(expected)[1:-1]}]")
    if not np.isfinite(states).all():
        at = [int(i) for i in np.argwhere(~np.isfinite(states))[0]]
        raise ValueError(f"{path}: states{at} is {states[tuple(at)]}")
    if float(found["dt"]) != system.dt:
        raise ValueError(f"{path}: dt is {float(found['dt'])} s, that of {task} is {system.dt} s")
    return found


@dataclass
class Data:
    train: NDArray[np.float64]  # [chunks, 5, 2, points, dim]
    validation: NDArray[np.float64]
    test: NDArray[np.float64]
    counts: NDArray[np.int64]  # training chunks in which a coefficient matters, [types]
    colliding: int


def type_counts(system: System, states: NDArray[np.float64]) -> NDArray[np.int64]:
    """In how many chunks a contact of each type is active (states after the first)."""
    counts = np.zeros(system.size.types, np.int64)
    after = states[:, 1:]
    touching = system.touching(after[:, :, 0])
    for i in range(len(after)):
        seen: set[int] = set()
        for j in np.flatnonzero(touching[i]):
            problem = system.problem(after[i, j, 0], after[i, j, 1])
            seen.update(system.contact_type[problem.slot].tolist())
        counts[list(seen)] += 1
    return counts


def load_data(config: Config) -> Data:
    """Training, validation and test chunks. Different seeds, unless as published."""
    t = tasks.task(config.task)
    system = t.system(threads=1)
    seeds = (config.seed,) * 3 if config.as_published else tuple(3 * config.seed + k for k in range(3))
    options = {"eps": config.truth_eps, "threads": 1}
    if config.data is None:
        first = tasks.chunks(config.task, config.trajectories, seeds[0], law=config.law, **options)
    else:
        first = read_chunks(config.data, config.task, system)
    others = [tasks.chunks(config.task, EVALUATED, seed, **options)["states"] for seed in seeds[1:]]
    train = np.asarray(first["states"], float)
    colliding = int((np.asarray(first["contacts"]) > 0).any(1).sum())
    counts = type_counts(system, train) if system.size.types > 1 else np.array([colliding])
    if config.noise > 0:
        train = _noisy(config.task, train, config.noise, np.random.default_rng([config.seed, 7]))
    return Data(train, others[0], others[1], counts, colliding)


# ---- folders ----


def write_whole(path: Path, content: bytes) -> None:
    """Writes atomically: to a temporary file, then renames it."""
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        kept = f"; the {path.name} that was there is intact" if path.exists() else ""
        raise OSError(f"{path}: cannot be written: {error.strerror or error}{kept}") from error


def write_json(path: Path, content: Any) -> None:
    """Writes a JSON file as a whole."""
    write_whole(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def write_log(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows as a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["epoch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())


def machine(threads: int) -> dict[str, Any]:
    """The processor and versions on which a run was made."""
    name = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    return {
        "processor": name,
        "processors": os.cpu_count(),
        "load at start": round(os.getloadavg()[0], 2),
        "threads": threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tangere": tangere.__version__,
    }


def read_config(folder: Path) -> Config:
    """The configuration of a run's folder."""
    path = folder / "config.json"
    try:
        found = json.loads(path.read_text())
        return Config(**{f.name: found[f.name] for f in fields(Config)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not the configuration of a run: {error}") from None


def open_folder(folder: Path, config: Config) -> bool:
    """Makes the folder, or finds that of a run with the same configuration (True)."""
    if (folder / "config.json").exists():
        there = asdict(read_config(folder))
        for name, value in asdict(config).items():
            if there[name] != value:
                what = "a run" if name not in ("task", "model") else f"a run of another {name}"
                raise ValueError(
                    f"{folder}: {what} is there: its {name} is {there[name]}, not {value}; name another --out"
                )
        return True
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", asdict(config))
    return False


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Two processes that train in one folder would overwrite each other's checkpoints: the second is refused."""
    with open(folder / "config.json", "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{folder}: another process trains this run") from None
        yield


# ---- results ----


def ratios(result: dict[str, Any]) -> tuple[list[float], list[float]]:
    """m_i / m_1 as learned and true."""
    m, t = result["learned"].get("mass", []), result["truth"]["mass"]
    return [a / m[0] for a in m[1:]], [a / t[0] for a in t[1:]]
