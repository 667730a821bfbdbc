"""All runs of the report, in order; a finished run is skipped, an unfinished one continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tangere._errors import Error
from tangere.learn.runs import BASELINES, Config, open_folder, ratios
from tangere.learn.train import Training

TASKS = ("BP5-e", "BP5", "CP3-e", "CP3", "BD5", "Gyro-e", "Gyro")
ROPES = ("Rope-50", "Rope-100", "Rope-200")
ROPE_EPOCHS = 100  # the published checkpoints of Rope-200 are of epochs 8 to 14
SAMPLES = (25, 50, 100, 200, 400)  # of Fig. 6, beside 800
SMALL_TASKS = ("BP5-e", "CP3-e", "Gyro")
# how far mu and e of a small run may be off: ten times what is asked of a run at full size
SMALL_BARS = {"BP5-e": (0.01, 0.01), "CP3-e": (0.02, 0.02), "Gyro": (0.01, 0.02)}


def _size(task: str) -> dict[str, Any]:
    return {"epochs": ROPE_EPOCHS} if task.startswith("Rope") else {}


def full() -> Iterator[Config]:
    """CM on all tasks (Table 2, Fig. 3 to 5), baselines, CMr, Fig. 6, the rest."""
    everything = (*TASKS, *ROPES)
    for model in ("CM-CLNN", "CM-CHNN"):
        for task in everything:
            yield Config(task, model, **_size(task))
    for model in BASELINES:
        for task in everything:
            # 4 pairs per chunk: 16 iterations per epoch, each a quarter of a chunk's
            yield Config(task, model, **_size(task), every=10)
    for model in ("CMr-CLNN", "CMr-CHNN"):
        for task in (*TASKS, "Rope-200"):
            yield Config(task, model, **_size(task))
    for count in SAMPLES:
        epochs = 1000 * 4 // max(1, -(-count // 200))  # as many iterations as with 800
        for model in ("CM-CLNN", "MLP-CD-CLNN", "IN-CP-SP"):
            yield Config("BP5", model, trajectories=count, epochs=epochs, every=10)
    for task in ("BP5-e", "CP3-e", "CP3"):
        for noise in (0.01, 0.05):
            yield Config(task, "CM-CLNN", noise=noise)
    for task in ("CP3", "Gyro"):
        for eps in (0.1, 0.001, -1.0):
            yield Config(task, "CMr-CLNN", eps=eps)
    for task in ("BP5-e", "CP3-e", "CP3", "Gyro"):
        yield Config(task, "CM-CLNN", law="lcp")
    yield Config("BD1", "CM-CLNN")


def small() -> Iterator[Config]:
    """A tenth of the data and an eighth of the iterations of full size: 80 chunks are one batch."""
    for task in SMALL_TASKS:
        yield Config(task, "CM-CLNN", trajectories=80, epochs=500, every=5)


def folder_of(root: Path, config: Config) -> Path:
    """The folder of a run."""
    return root / config.task / config.folder_name()


def train_one(config: Config, folder: Path, threads: int = 1) -> dict[str, Any]:
    """The result of a run: read where it is finished, otherwise trained."""
    path = folder / "result.json"
    training = Training(config, folder, threads)
    if path.exists():
        open_folder(folder, training.config)
        print(f"{folder}: finished before")
        return json.loads(path.read_text())
    return training.run()


def _try(config: Config, folder: Path) -> list[str]:
    """A run that diverges is reported, and marked in the report; the others continue."""
    try:
        return summary(train_one(config, folder))
    except (RuntimeError, Error) as error:
        (folder / "failed.txt").write_text(f"{error}\n")
        return [f"tangere learn: {error}"]


def below_bars(result: dict[str, Any]) -> list[str]:
    """The results that a small run failed to reach."""
    out = []
    for name, bar in zip(("mu", "e"), SMALL_BARS[result["task"]], strict=True):
        got, true = result["learned"][name][0], result["truth"][name][0]
        if not abs(got - true) <= bar:
            out.append(f"{result['task']}: {name} is {got:.4f}, should be within {bar:g} of {true:g}")
    return out


def check_small(root: Path) -> list[str]:
    """Bars that the small runs of a folder do not meet; a run without a result is one."""
    out: list[str] = []
    for config in small():
        path = folder_of(root, config) / "result.json"
        out += below_bars(json.loads(path.read_text())) if path.exists() else [f"{config.task}: no result"]
    return out


def run_all(root: Path, small_only: bool = False, jobs: int = 1) -> None:
    """Runs in order, `jobs` at a time, each a process with one thread."""
    configs = list(small() if small_only else full())
    folders = [folder_of(root, config) for config in configs]
    if jobs == 1:
        for lines in map(_try, configs, folders):
            print("\n".join(lines), flush=True)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for lines in pool.map(_try, configs, folders):
            print("\n".join(lines), flush=True)


def summary(result: dict[str, Any]) -> list[str]:
    """Lines with the results of a run."""
    error, found, truth = result["error"], result["learned"], result["truth"]
    mean, half = error["mean"], error["half"]
    said = "left the numbers" if mean is None else f"{mean:.3e} +- {half:.1e}"
    lines = [f"{result['task']} {result['model']}: sum of relative errors of 5 states {said}"]
    if "mu" in found and len(found["mu"]) == 1:
        lines.append(
            f"  mu {found['mu'][0]:.4f} (true {truth['mu'][0]:g}), e {found['e'][0]:.4f} (true {truth['e'][0]:g})"
        )
    elif "mu" in found:
        rows = zip(result["counts"], found["mu"], truth["mu"], found["e"], truth["e"], strict=True)
        for i, (chunks, mu, true_mu, e, true_e) in enumerate(rows):
            lines.append(f"  coefficient {i} in {chunks} chunks: mu {mu:.3f} ({true_mu:g}), e {e:.3f} ({true_e:g})")
    if len(found.get("mass", ())) > 1:
        got, true = ratios(result)
        lines.append("  mass ratios " + ", ".join(f"{a:.4f} ({b:g})" for a, b in zip(got, true, strict=True)))
    spent = result["cpu seconds per iteration"]
    parts = ", ".join(f"{name} {1e3 * seconds:.1f}" for name, seconds in spent.items())
    lines.append(
        f"  {result['iterations']} iterations, best epoch {result['best epoch']},"
        f" {1e3 * sum(spent.values()):.0f} ms each ({parts}), {result['wall seconds'] / 60:.1f} min in all"
    )
    lines.append(f"  {result['problems']} contact problems, {result['regularised']} derivatives with redundant rows")
    return lines
