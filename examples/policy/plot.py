"""Draws the learning curves of train.py: python examples/policy/plot.py docs/policy.csv docs/policy.svg"""

import csv
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

COLOURS = {"exact": "tab:blue", "smoothed": "tab:orange", "toi": "black", "evolution": "tab:red"}


def main(source: str, target: str) -> None:
    with Path(source).open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for method, colour in COLOURS.items():
        seeds = sorted({row["seed"] for row in rows if row["method"] == method})
        for seed in seeds:
            curve = [row for row in rows if row["method"] == method and row["seed"] == seed]
            x, y = [int(row["steps"]) / 1e6 for row in curve], [float(row["return"]) for row in curve]
            axes.plot(
                x,
                y,
                color=colour,
                label=method if seed == seeds[0] else None,
                marker=".",
                linestyle="--" if method == "toi" else "-",
            )
    still = next(float(row["return"]) for row in rows if row["method"] == "nothing")
    axes.axhline(still, color="gray", linestyle=":", label="doing nothing")
    axes.set(xlabel="simulated steps (millions)", ylabel="mean return of 64 fresh starts")
    axes.legend()
    mpl.rcParams["svg.hashsalt"] = "tangere"  # the same file from the same numbers
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
