"""Training: AdamW, L1 loss of chunks of 5 states, the checkpoint with the best validation loss, bitwise resume."""

from __future__ import annotations

import io
import math
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from torch import Tensor, nn

from tangere.learn import baselines, models, runs, tasks
from tangere.learn.runs import Config

FORMAT = 2  # of checkpoints; 1 had p of e = p / 6 + 1/2
SAVE_SECONDS = 30.0  # between checkpoints: what a crash may cost
SAY_SECONDS = 10.0  # between lines of progress


class DivergedError(RuntimeError):
    """A loss or a gradient is not finite."""


def build(config: Config, threads: int = 1) -> nn.Module:
    """A model with the weights of its seed."""
    system = tasks.task(config.task).system(threads=threads)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if config.model in runs.CONTACT_MODELS:
            kind = config.model.partition("-")[2]
            return models.ContactModel(system, kind, config.model_eps, published=config.as_published)
        kinds = {
            "MLP-CD-CLNN": baselines.MlpModel,
            "IN-CP-CLNN": baselines.InteractionClnn,
            "IN-CP-SP": baselines.InteractionModel,
        }
        return kinds[config.model](system)


def l1(model: Any, chunks: Tensor) -> Tensor:
    """Mean |predicted - true| of all states, the first (which is given) included, as published."""
    return (model.rollout(chunks[:, 0, 0], chunks[:, 0, 1], chunks.shape[1] - 1) - chunks).abs().mean()


def parameter_groups(model: nn.Module, config: Config) -> list[dict[str, Any]]:
    """Weights of networks, and properties, which have a rate of their own."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    own = [p for name, p in named if name.startswith("properties.")]
    weights = [p for name, p in named if not name.startswith("properties.")]
    groups = [(weights, config.rate), (own, config.rate_of_properties)]
    return [{"params": params, "lr": rate, "first": rate} for params, rate in groups if params]


def as_pairs(chunks: Tensor) -> Tensor:
    """Chunks of 5 states as 4 pairs each."""
    return torch.stack([chunks[:, :-1], chunks[:, 1:]], 2).flatten(0, 1)


def learned(model: Any) -> dict[str, list[float] | float]:
    """Masses, moments, mu, e and eps that a model has now."""
    properties = getattr(model, "properties", None)
    if properties is None:
        return {}
    with torch.no_grad():
        p = properties()
        out: dict[str, Any] = {"mass": properties.masses().tolist()}
        if properties.rigid:
            out["lambda"] = properties.moments().tolist()
        if isinstance(model, models.ContactModel):
            out |= {"mu": properties.mu().tolist(), "e": properties.e().tolist(), "eps": float(p[-1])}
    return out


class Training:
    """One run. `run` continues from the checkpoint of its folder, if there is one."""

    def __init__(self, config: Config, folder: Path | str, threads: int = 1, out: TextIO | None = None):
        self.config, self.folder, self.threads = config.checked(), Path(folder), threads
        self.out = sys.stdout if out is None else out
        self.model: Any = build(self.config, threads)
        self.optimiser = torch.optim.AdamW(parameter_groups(self.model, self.config), weight_decay=config.decay)
        self.epoch, self.iterations = 0, 0
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, Any] = {"epoch": -1, "loss": math.inf, "state": None}
        self.seconds = {"network": 0.0, "contact": 0.0, "rest": 0.0, "wall": 0.0}

    # -- checkpoints --

    def _save(self) -> None:
        counter = self.model.counter
        content = {
            "format": FORMAT,
            "config": asdict(self.config),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "epoch": self.epoch,
            "iterations": self.iterations,
            "history": self.history,
            "best": self.best,
            "seconds": self.seconds,
            "problems": counter.problems,
            "regularised": counter.regularised,
            "contact_seconds": counter.seconds,
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        runs.write_whole(self.folder / "checkpoint.pt", buffer.getvalue())
        runs.write_log(self.folder / "log.csv", self.history)

    def load(self, path: Path) -> None:
        """Continues from a checkpoint of the same configuration."""
        found = read_checkpoint(path)
        for name in ("task", "model"):
            there = found["config"].get(name)
            if there != getattr(self.config, name):
                raise ValueError(f"{path}: checkpoint of {name} {there}, not of {getattr(self.config, name)}")
        for name, value in asdict(self.config).items():
            if found["config"].get(name) != value:
                raise ValueError(
                    f"{path}: checkpoint of another run: {name} is {found['config'].get(name)}, not {value}"
                )
        try:
            self.model.load_state_dict(found["model"])
            self.optimiser.load_state_dict(found["optimiser"])
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"{path}: checkpoint of another layout: {str(error).splitlines()[-1].strip()}") from None
        self.epoch, self.iterations, self.history = found["epoch"], found["iterations"], found["history"]
        self.best, self.seconds = found["best"], found["seconds"]
        counter = self.model.counter
        counter.problems, counter.regularised = found["problems"], found["regularised"]
        counter.seconds = found["contact_seconds"]

    # -- one epoch --

    def _check(self, loss: Tensor, iteration: int) -> None:
        """NaN is never hidden: the run stops and names what is not finite, and where."""
        at = f"{self.config.task} {self.config.model}: epoch {self.epoch + 1}, iteration {iteration + 1}"
        if not torch.isfinite(loss):
            raise DivergedError(f"{at}: the loss is {float(loss.detach())}")
        for name, p in self.model.named_parameters():
            if p.grad is not None and not torch.isfinite(p.grad).all():
                bad = int((~torch.isfinite(p.grad)).sum())
                raise DivergedError(f"{at}: {bad} of {p.grad.numel()} gradients of '{name}' are not finite")

    def _step(self, part: float) -> None:
        """A step of AdamW; `part` of all iterations are done. The rate is a function of it: resume needs nothing."""
        for group in self.optimiser.param_groups:
            group["lr"] = group["first"] * self.config.decayed(part)
        self.optimiser.step()
        if hasattr(self.model, "properties"):
            self.model.properties.project()

    def _train_epoch(self, chunks: Tensor) -> float:
        order = np.random.default_rng([self.config.seed, 11, self.epoch]).permutation(len(chunks))
        counter, total = self.model.counter, 0.0
        batches = -(-len(order) // self.config.batch)
        for k, first in enumerate(range(0, len(order), self.config.batch)):
            rows = torch.from_numpy(order[first : first + self.config.batch])
            start, before = time.process_time(), counter.seconds
            self.optimiser.zero_grad()
            loss = l1(self.model, chunks[rows])
            loss.backward()
            spent, contact = time.process_time() - start, counter.seconds - before
            self._check(loss, k)
            self._step(self.iterations / (batches * self.config.epochs))
            self.seconds["network"] += spent - contact
            self.seconds["contact"] += contact
            self.seconds["rest"] += time.process_time() - start - spent
            self.iterations += 1
            total += float(loss.detach()) * len(rows)
        return total / len(order)

    def _validate(self, chunks: Tensor, train_loss: float) -> None:
        start, counter = time.process_time(), self.model.counter
        kept = (counter.problems, counter.regularised, counter.seconds)
        with torch.no_grad():
            loss = float(l1(self.model, chunks))
        counter.problems, counter.regularised, counter.seconds = kept  # of training only
        if not math.isfinite(loss):
            raise DivergedError(
                f"{self.config.task} {self.config.model}: epoch {self.epoch}: validation loss is {loss}"
            )
        if loss < self.best["loss"]:
            state = {name: value.clone() for name, value in self.model.state_dict().items()}
            self.best = {"epoch": self.epoch, "loss": loss, "state": state}
        self.seconds["rest"] += time.process_time() - start
        row = {"epoch": self.epoch, "train": train_loss, "validation": loss, "regularised": counter.regularised}
        row |= {f"{name}_s": round(value, 3) for name, value in self.seconds.items()}
        now = learned(self.model)
        if "mu" in now:
            row |= {"mu": now["mu"][0], "e": now["e"][0]}
        self.history.append(row)

    def _say(self, left: float) -> None:
        row = self.history[-1] if self.history else {}
        parts = [f"{self.config.task} {self.config.model} epoch {self.epoch}/{self.config.epochs}"]
        parts += [f"{name} {row[name]:.3e}" for name in ("train", "validation") if name in row]
        parts += [f"{name} {row[name]:.4f}" for name in ("mu", "e") if name in row]
        parts.append(f"{left / 60:.1f} min left")
        print(", ".join(parts), file=self.out, flush=True)

    def run(self) -> dict[str, Any]:
        """Trains to the end; returns and writes the result (evaluate.py)."""
        torch.set_num_threads(1)  # two threads on a loaded machine were ten times slower than one
        there = runs.open_folder(self.folder, self.config)
        with runs.alone(self.folder):
            return self._run(there)

    def _run(self, there: bool) -> dict[str, Any]:
        from tangere.learn.evaluate import evaluate  # noqa: PLC0415

        checkpoint = self.folder / "checkpoint.pt"
        if there and checkpoint.exists():
            self.load(checkpoint)
            print(f"{self.folder}: goes on after epoch {self.epoch}", file=self.out, flush=True)
        about = runs.machine(self.threads) | {"torch": torch.__version__, "torch threads": 1}
        runs.write_json(self.folder / "machine.json", about)
        print(f"torch has 1 thread, the contact law {self.threads}", file=self.out, flush=True)
        data = runs.load_data(self.config)
        train, validation = (torch.tensor(a, dtype=torch.float32) for a in (data.train, data.validation))
        train = as_pairs(train) if self.model.pairs else train
        start, saved, said, first = time.monotonic(), time.monotonic(), time.monotonic(), self.epoch
        wall = self.seconds["wall"]
        while self.epoch < self.config.epochs:
            loss = self._train_epoch(train)
            self.epoch += 1
            now = time.monotonic()
            self.seconds["wall"] = wall + now - start
            if self.epoch % self.config.every == 0 or self.epoch == self.config.epochs:
                self._validate(validation, loss)
            if now - said > SAY_SECONDS:
                self._say((now - start) / (self.epoch - first) * (self.config.epochs - self.epoch))
                said = now
            if now - saved > SAVE_SECONDS:
                self._save()
                saved = now
        self._save()
        result = evaluate(self, data)
        runs.write_json(self.folder / "result.json", result)
        return result

    def time_per_iteration(self) -> dict[str, float]:
        """Processor time in s"""
        n = max(1, self.iterations)
        return {name: value / n for name, value in self.seconds.items() if name != "wall"}


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint; refuses other files by name."""
    try:
        found = torch.load(path, weights_only=True)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except Exception as error:
        raise ValueError(f"{path}: not a checkpoint: {str(error).splitlines()[0][:200]}") from None
    if not isinstance(found, dict) or "format" not in found or "config" not in found:
        raise ValueError(f"{path}: not a checkpoint of tangere learn")
    if found["format"] != FORMAT:
        raise ValueError(f"{path}: checkpoint of format {found['format']}, this version has {FORMAT}; train again")
    return found


def load_model(folder: Path | str) -> Any:
    """The model of a run's best validation loss."""
    folder = Path(folder)
    found = read_checkpoint(folder / "checkpoint.pt")
    config = Config(**found["config"])
    model = build(config)
    state = found["best"]["state"] or found["model"]
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"{folder}: checkpoint of another layout: {str(error).splitlines()[-1].strip()}") from None
    return model
