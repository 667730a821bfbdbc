#!/usr/bin/env python3
"""Makes the pictures of docs/gradients-in-practice.md from the scripts in examples/gradients: docs/pictures/*.png."""

import importlib.util
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "pictures"


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "gradients" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save(figure, name: str) -> None:
    figure.savefig(OUT / name, dpi=100)
    plt.close(figure)
    print(f"wrote docs/pictures/{name}")


def impact(dt: float = 1e-2) -> None:
    """Sum of squares of the two cubes' places by the speed of the first."""
    cubes = example("two_cubes")
    m = tg.load_string(cubes.SCENE.format(dt=dt))
    speeds = np.linspace(1.6, 2.4, 401)
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for kind, style in (("end", "-"), ("within", "-")):
        data = cubes.places(cubes.run(m, cubes.TRUE, dt, kind))
        cost = []
        for speed in speeds:
            p = cubes.TRUE.copy()
            p[3] = speed
            cost.append(((cubes.places(cubes.run(m, p, dt, kind)) - data) ** 2).sum())
        axes.semilogy(speeds, cost, style, label=f'impact="{kind}"')
    axes.set(xlabel="speed of the first cube, m/s (true: 2)", ylabel="sum of squares, m^2")
    axes.legend()
    axes.grid(alpha=0.3)
    save(figure, "impact.png")


def leg() -> None:
    lift = example("lift_leg")
    _, heights = lift.main()
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    axes.plot(lift.DT * np.arange(len(heights)), 1e3 * np.array(heights), label="after iLQR")
    axes.axhline(0, color="k", linewidth=1, linestyle="--", label="the guess: standing still")
    axes.axhline(1e3 * lift.HEIGHT, color="0.6", linewidth=1, label="5 cm")
    axes.set(xlabel="time, s", ylabel="height of the foot above its start, mm")
    axes.legend()
    axes.grid(alpha=0.3)
    save(figure, "leg.png")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    impact()
    leg()
    reach = example("reach")
    reach.draw(reach.study(), OUT / "reach.png")
    print("wrote docs/pictures/reach.png")


if __name__ == "__main__":
    main()
