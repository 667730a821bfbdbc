"""Throws of a disk that are planned with a learned model and then made in the true one (the paper's Fig. 8).

The disk of BD1 starts at (0.25, 0.65). `hit`: velocity and spin such that it lands on a mark at its second bounce.
`vertical`: a spin such that it rises vertically after its first bounce; 12 rad/s in the true system.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tangere import cartesian_torch
from tangere.learn import runs, tasks, train

START = (0.25, 0.65)
MARK = (0.75, 0.1)
THROWN = (0.6, 0.4)  # velocity of `vertical`
RATE, DECAY = 0.1, 1e-4  # of AdamW, as published; the rate falls to 0 with half a cosine
MOST = 300  # steps of a throw: 3 s, three times what two bounces take

Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def true_step() -> Step:
    """A step of the true system BD1."""
    system = tasks.task("BD1").system(threads=1)
    return lambda x, v: cartesian_torch.step(system, x, v)


def learned_step(model: Any) -> Step:
    """A step of a learned model."""

    def step(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        state = model.rollout(x[None].float(), v[None].float(), 1)[0, 1].double()
        return state[0], state[1]

    return step


def throw(step: Step, velocity: Tensor, spin: Tensor, turns: int) -> tuple[list[tuple[Tensor, Tensor]], list[int]]:
    """States until the vertical velocity has changed its sign so often (bounce, apex, bounce), and where it did.

    A throw upwards begins with an apex that does not count.
    """
    axes = torch.tensor([[0.0, 0], [1, 0], [0, 1]], dtype=torch.float64)
    turn = torch.tensor([[0.0, 0], [0, 1], [-1, 0]], dtype=torch.float64)  # velocities of the points per rad/s
    states = [(torch.tensor(START, dtype=torch.float64) + axes, velocity + spin * turn)]
    at: list[int] = []
    down = bool(velocity[1] <= 0)
    first = down
    while len(at) < turns and len(states) <= MOST:
        states.append(step(*states[-1]))
        now = bool(states[-1][1][0, 1] <= 0)
        if now != down and first:
            at.append(len(states) - 1)
        first, down = first or now, now
    return states, at + [len(states) - 1] * (turns - len(at))


def hit(step: Step, unknowns: Tensor) -> Tensor:
    """Mean of |x - 0.75| and |y - 0.1| at the last state before the second bounce."""
    states, at = throw(step, unknowns[:2], unknowns[2], 3)
    return (states[at[2] - 1][0][0] - torch.tensor(MARK, dtype=torch.float64)).abs().mean()


def vertical(step: Step, unknowns: Tensor) -> Tensor:
    """|vx| one step after the first bounce, and how far the disk moves sideways from there to its apex."""
    states, at = throw(step, torch.tensor(THROWN, dtype=torch.float64), unknowns[0], 2)
    (x, v), apex = states[min(at[0] + 1, len(states) - 1)], states[at[1] - 1][0]
    return v[0, 0].abs() + (x[0, 0] - apex[0, 0]).abs()


THROWS: dict[str, tuple[Callable[[Step, Tensor], Tensor], int]] = {"hit": (hit, 3), "vertical": (vertical, 1)}


def plan(name: str, step: Step, iterations: int) -> tuple[list[float], list[float]]:
    """The best unknowns from 0, and the losses on the way. The derivative is that of the steps."""
    loss_of, count = THROWS[name]
    unknowns = torch.zeros(count, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.AdamW([unknowns], lr=RATE, weight_decay=DECAY)
    best, losses = (math.inf, [0.0] * count), []
    for k in range(iterations):
        for group in optimiser.param_groups:
            group["lr"] = RATE * 0.5 * (1 + math.cos(math.pi * k / iterations))
        optimiser.zero_grad()
        loss = loss_of(step, unknowns)
        losses.append(float(loss.detach()))
        if losses[-1] < best[0]:
            best = (losses[-1], unknowns.detach().tolist())
        loss.backward()
        optimiser.step()
    return best[1], losses


def compare(folder: Path, iterations: int = 1000) -> dict[str, Any]:
    """Both throws, planned with the model of a run and with the true one, each made in the true one."""
    config = runs.read_config(folder)
    if config.task != "BD1" or config.model not in runs.CONTACT_MODELS:
        raise ValueError(f"{folder}: throws need a run of BD1 with a contact model, not {config.task} {config.model}")
    torch.set_num_threads(1)
    truth = true_step()
    model = train.load_model(folder).requires_grad_(False)
    out: dict[str, Any] = {"iterations": iterations}
    for name, (loss_of, _) in THROWS.items():
        out[name] = {}
        for label, step in (("learned", learned_step(model)), ("true", truth)):
            unknowns, losses = plan(name, step, iterations)
            with torch.no_grad():
                made = float(loss_of(truth, torch.tensor(unknowns, dtype=torch.float64)))
            out[name][label] = {"unknowns": unknowns, "planned": min(losses), "made": made, "losses": losses}
    runs.write_json(folder / "throws.json", out)
    return out


def lines(result: dict[str, Any]) -> list[str]:
    """The results as lines of text."""
    out = []
    for name in THROWS:
        for label, r in result[name].items():
            unknowns = ", ".join(f"{u:.4f}" for u in r["unknowns"])
            out.append(
                f"{name}, {label} model: {unknowns}; loss {r['losses'][0]:.4f} -> {r['planned']:.2e},"
                f" in the true system {r['made']:.2e}"
            )
    return out
