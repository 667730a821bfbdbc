"""All runs of the report, in order; a finished run is skipped, an unfinished one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tangere.learn.evaluate import ratios
from tangere.learn.runs import BASELINES, Config
from tangere.learn.train import Training

TASKS = ("BP5-e", "BP5", "CP3-e", "CP3", "BD5", "Gyro-e", "Gyro")
ROPES = ("Rope-50", "Rope-100", "Rope-200")
ROPE_EPOCHS = 100  # the published checkpoints of Rope-200 are of epochs 8 to 14
SAMPLES = (25, 50, 100, 200, 400)  # of Fig. 6, beside 800
SMALL_TASKS = ("BP5-e", "CP3-e", "Gyro")


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
    """A tenth of the data with as many iterations as at full size: 80 chunks are one batch."""
    for task in SMALL_TASKS:
        yield Config(task, "CM-CLNN", trajectories=80, epochs=4000, every=20)


def folder_of(root: Path, config: Config) -> Path:
    return root / config.task / config.folder_name()


def train_one(config: Config, folder: Path, threads: int = 1) -> dict[str, Any]:
    """The result of a run: read where it is finished, otherwise trained."""
    path = folder / "result.json"
    training = Training(config, folder, threads)
    if path.exists():
        from tangere.learn.runs import open_folder  # noqa: PLC0415

        open_folder(folder, training.config)
        print(f"{folder}: finished before")
        return json.loads(path.read_text())
    return training.run()


def run_all(root: Path, small_only: bool = False) -> None:
    for config in small() if small_only else full():
        try:
            print("\n".join(summary(train_one(config, folder_of(root, config)))), flush=True)
        except RuntimeError as error:  # a run that diverged is said, and marked in the report; the others go on
            folder_of(root, config).joinpath("failed.txt").write_text(f"{error}\n")
            print(f"tangere learn: {error}", flush=True)


def summary(result: dict[str, Any]) -> list[str]:
    """Lines that say what a run found."""
    error, found, truth = result["error"], result["learned"], result["truth"]
    mean, half = error["mean"], error["half"]
    said = "left the numbers" if mean is None else f"{mean:.3e} +- {half:.1e}"
    lines = [f"{result['task']} {result['model']}: sum of relative errors of 5 states {said}"]
    if "mu" in found and len(found["mu"]) == 1:
        lines.append(f"  mu {found['mu'][0]:.4f} (true {truth['mu'][0]:g}), e {found['e'][0]:.4f} (true {truth['e'][0]:g})")
    elif "mu" in found:
        off = [
            f"  coefficient {i} in {n} chunks: mu {found['mu'][i]:.3f} ({truth['mu'][i]:g}), e {found['e'][i]:.3f} ({truth['e'][i]:g})"
            for i, n in enumerate(result["counts"])
        ]
        lines += off
    if len(found.get("mass", ())) > 1:
        got, true = ratios(result)
        lines.append("  mass ratios " + ", ".join(f"{a:.4f} ({b:g})" for a, b in zip(got, true, strict=True)))
    spent = result["cpu seconds per iteration"]
    lines.append(
        f"  {result['iterations']} iterations, best epoch {result['best epoch']}, {1e3 * sum(spent.values()):.0f} ms each"
        f" (network {1e3 * spent['network']:.0f}, contact {1e3 * spent['contact']:.1f}, rest {1e3 * spent['rest']:.1f}),"
        f" {result['wall seconds'] / 60:.1f} min in all"
    )
    lines.append(f"  {result['problems']} contact problems, {result['regularised']} derivatives with a ridge")
    return lines
