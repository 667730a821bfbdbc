#!/usr/bin/env python3
"""Makes the pictures of README.md and of the docs, docs/pictures/*.png. Needs the extras view and plot, chromium."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "pictures"
SIZE = (900, 560)


def quadruped(push: float) -> tg.Rollout:
    """It stands, and is pushed sideways: two feet slide and lift, two carry it."""
    m = tg.load(ROOT / "models" / "quadruped.xml")
    key = m.key("home")
    steps = round(0.6 / m.timestep)
    wrench = np.zeros((steps, m.nbody, 6))
    wrench[round(0.4 / m.timestep) :, m.index("body", "trunk"), 1] = push
    return tg.rollout(m, key.q, key.v, np.tile(key.ctrl, (steps, 1)), wrench=wrench)


def save(axes, name: str) -> None:
    figure = np.ravel(axes)[0].figure
    figure.savefig(OUT / name, dpi=100)
    plt.close(figure)
    print(f"wrote docs/pictures/{name}")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    shown = ("contact points", "contact forces", "friction cones")
    tg.view(
        quadruped(60.0), png=str(OUT / "quadruped.png"), at=0.49, size=SIZE, camera=(-55.0, 14.0, 1.35), overlays=shown
    )
    print("wrote docs/pictures/quadruped.png")
    tg.view(
        quadruped(0.0), png=str(OUT / "gradient.png"), size=SIZE, camera=(-55.0, 14.0, 1.35), gradient="com.x@50",
        overlays=("contact points", "gradient"),
    )  # fmt: skip
    print("wrote docs/pictures/gradient.png")
    r = quadruped(60.0)
    save(tg.plot.contacts(r), "contacts.png")
    sim = tg.Sim(r._model)
    sim.reset("home")
    sim.step(u=r._model.key("home").ctrl)
    save(tg.plot.jacobian(sim.jacobian(), "dv_dq", model=r._model), "jacobian.png")


if __name__ == "__main__":
    main()
