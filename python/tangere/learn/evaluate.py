"""Predictions of a trained model: relative errors, energies and learned coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

import tangere
from tangere.learn import runs, tasks

if TYPE_CHECKING:
    from tangere.learn.train import Training

LONG = 50  # steps of Fig. 4 and 5
# two-sided 95 % quantile of Student's t for 99 degrees of freedom (100 test chunks)
STUDENT = 1.984217


def relative_errors(predicted: NDArray[np.float64], true: NDArray[np.float64]) -> NDArray[np.float64]:
    """|z_predicted - z_true| / |z_true| over positions and velocities of a state: [samples, states]."""
    shape = (*true.shape[:2], -1)
    off = np.linalg.norm((predicted - true).reshape(shape), axis=-1)
    return off / np.linalg.norm(true.reshape(shape), axis=-1)


def _step(model: Any, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """One step; NaN for samples that the library refuses (a model that diverged leaves its domain)."""
    try:
        return model.rollout(x, v, 1)[:, 1]
    except tangere.Error:
        if len(x) == 1:
            return torch.full((1, 2, *x.shape[1:]), float("nan"))
        return torch.cat([_step(model, x[i : i + 1], v[i : i + 1]) for i in range(len(x))])


def _predict(model: Any, first: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """States of the model, as far as it goes: a sample whose states are not finite stays NaN from there on."""
    x, v = (torch.tensor(first[:, k], dtype=torch.float32) for k in range(2))
    states = [first]
    with torch.no_grad():
        for _ in range(steps):
            good = torch.isfinite(torch.stack([x, v], 1)).flatten(1).all(1)
            new = torch.full((len(x), 2, *x.shape[1:]), float("nan"))
            if good.any():
                new[good] = _step(model, x[good], v[good])
            x, v = new[:, 0], new[:, 1]
            states.append(new.double().numpy())
    return np.stack(states, 1)


def _numbers(a: NDArray[np.float64]) -> list[float | None]:
    """JSON has no NaN: None says that a prediction had left the numbers."""
    return [float(x) if np.isfinite(x) else None for x in a]


def evaluate(training: Training, data: runs.Data) -> dict[str, Any]:
    """The result of a run, with the weights of the best validation loss."""
    from tangere.learn.train import learned  # noqa: PLC0415

    config, model = training.config, training.model
    counter = model.counter
    of_training = (counter.problems, counter.regularised)
    last = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(training.best["state"])
    truth = tasks.task(config.task).system(threads=1, eps=config.truth_eps)
    first = data.test[:, 0]
    true = truth.rollout(first[:, 0], first[:, 1], LONG).states
    predicted = _predict(model, first, LONG)
    errors = relative_errors(predicted, true)
    sums = errors[:, : tasks.CHUNK].sum(1)
    energy = truth.energy(np.nan_to_num(predicted[:, :, 0]), np.nan_to_num(predicted[:, :, 1])).sum(-1)
    energy[~np.isfinite(predicted).all((2, 3, 4))] = np.nan
    true_energy = truth.energy(first[:, 0], first[:, 1]).sum(-1)
    size = np.maximum(np.abs(true_energy), truth.energy(first[:, 0], first[:, 1])[:, 0])
    drift = np.abs(energy - true_energy[:, None]).max(1) / size
    found = learned(model)
    model.load_state_dict(last)
    s = truth.slices()
    return {
        "task": config.task,
        "model": config.model,
        "error": _statistics(sums),
        "errors": _numbers(sums),
        "curve": _numbers(errors.mean(0)),
        "energy": [_numbers(row) for row in energy[:5]],
        "true energy": _numbers(true_energy[:5]),
        "energy drift": {"median": _finite(np.median(drift)), "largest": _finite(drift.max())},
        "learned": found,
        "truth": {name: truth.params[s[name]].tolist() for name in ("mass", "lambda", "mu", "e", "eps")},
        "counts": data.counts.tolist(),
        "chunks": len(data.train),
        "colliding": data.colliding,
        "validation": training.best["loss"],
        "best epoch": training.best["epoch"],
        "epochs": training.epoch,
        "iterations": training.iterations,
        "problems": of_training[0],
        "regularised": of_training[1],
        "cpu seconds per iteration": training.time_per_iteration(),
        "wall seconds": training.seconds["wall"],
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _statistics(sums: NDArray[np.float64]) -> dict[str, float | None]:
    """Mean and half of the 95 % interval of its estimate."""
    half = STUDENT * sums.std(ddof=1) / np.sqrt(len(sums))
    return {"mean": _finite(sums.mean()), "half": _finite(half), "median": _finite(np.median(sums))}
