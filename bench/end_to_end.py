"""Writes docs/end-to-end.md: Tables 1 to 3 of Le Lidec et al., End-to-End and Highly-Efficient Differentiable
Simulation for Robotics, with this library in them.

Times come from bench/results/gradients_*.md (`make bench`), sizes of the robots from their files in
$TANGERE_SHARED/robots (../shared/robots). With --check, says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "end-to-end.md"
ROBOTS = {
    "half-cheetah": "gymnasium/half_cheetah.xml",
    "humanoid": "mujoco_humanoid/humanoid.xml",
    "UR5e": "universal_robots_ur5e/scene.xml",
    "Go1": "unitree_go1/scene.xml",
    "H1": "unitree_h1/scene.xml",
    "Atlas": "atlas/scene.xml",
}
# Table 2 of the paper: dofs, geometries, collision pairs, vertices per mesh
PAPER_SIZES = {
    "half-cheetah": ("12", "9", "27", "none"),
    "humanoid": ("27", "20", "161", "none"),
    "UR5e": ("7", "9", "26", "200"),
    "Go1": ("18", "39", "494", "none"),
    "H1": ("25", "25", "255", "700"),
    "Atlas": ("36", "89", "3399", "none"),
}
HEAD = """\
# Tables 1 to 3 of the end-to-end paper

<!-- Made by bench/end_to_end.py: change it there. -->

Le Lidec et al., *End-to-End and Highly-Efficient Differentiable Simulation for Robotics*, compare engines in three
tables. These are the same tables with this library. The paper's figures are quoted. They were measured on another
machine (one core of an Apple M3) along other trajectories, so compare only ratios within one source.

## Table 1: engines

| engine | contact model | derivative of contact | derivative of collision |
| --- | --- | --- | --- |
| MuJoCo MJX | convex relaxation (CCP) | automatic differentiation | primitives; meshes of up to about 20 vertices |
| Nimble | LCP | implicit | meshes and primitives |
| Dojo | NCP | implicit | none |
| the paper's | NCP | implicit | meshes and primitives |
| **Tangere** | NCP | implicit, each with a label | meshes, primitives and height fields; poses and sizes |

All rows except the last are the paper's.
"""


def shared() -> Path:
    return Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared")) / "robots"


def vertices(m: tg.Model) -> str:
    """Vertices of the hulls of the colliding meshes: fewest to most."""
    colliding = (m.geom_mesh >= 0) & ((m.geom_contype | m.geom_conaffinity) != 0)
    counts = sorted({len(np.asarray(points)) for points in hulls(m, np.unique(m.geom_mesh[colliding]))})
    return "none" if not counts else f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else str(counts[0])


def hulls(m: tg.Model, meshes: np.ndarray) -> list[np.ndarray]:
    found = re.findall(r'<mesh name="([^"]*)"[^>]* vertex="([^"]*)"', m.to_mjcf())
    points = [np.array(text.split(), dtype=float).reshape(-1, 3) for _, text in found]
    return [points[i] for i in meshes]


def sizes() -> list[str]:
    lines = [
        "## Table 2: robots",
        "",
        "Each cell gives the paper's figure and that of the file used here: `nv`, geoms that may collide, pairs",
        "after the filters of the file, vertices of the colliding meshes.",
        "",
        "| robot | dofs | geometries | collision pairs | vertices per mesh |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, file in ROBOTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = tg.load(shared() / file)
        geoms = int(np.count_nonzero((m.geom_contype | m.geom_conaffinity) != 0))
        ours = (str(m.nv), str(geoms), str(m.ncandidate), vertices(m))
        lines.append(
            f"| {name} | " + " | ".join(f"{a} / {b}" for a, b in zip(PAPER_SIZES[name], ours, strict=True)) + " |"
        )
    lines += [
        "",
        "The paper uses other model files: its UR5 has 7 dofs, its half-cheetah 12.",
        "",
    ]
    return lines


def times() -> list[str]:
    results = sorted((ROOT / "bench" / "results").glob("gradients_*_*.md"))
    text = next(t for t in (p.read_text() for p in results) if "Beside the paper" in t)
    first = next(line for line in text.splitlines() if line.startswith("- Date"))
    table = text[text.index("## Beside the paper") :].split("\n\n")[1].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:] if line.startswith("|")]
    lines = [
        "## Table 3: times",
        "",
        "Mean and standard deviation over the states of a trajectory, in us, for one step: the paper's / ours.",
        f"Ours: {first.removeprefix('- Date: ')}",
        "Simulation is one step; Jacobian is d(v+) / d(q, v, tau) in the paper, d(q+, v+) / d(q, v, tau) here;",
        "differences are central, of each engine's own step.",
        "",
        "| robot | simulation | Jacobian | own differences | MuJoCo, simulation | MuJoCo, differences |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    lines += [
        "",
        "For MJX on an Nvidia A100 the paper reports: half-cheetah 1.0 +- 0.0 (simulation) and 3.7 +- 0.0 (gradient),",
        "humanoid 2.3 +- 0.0 and 103.2 +- 0.3; the other robots have geometry that MJX does not support. On the CPU",
        "of this table MJX takes 65 and 228 us (half-cheetah), 1,491 and 65,700 us (humanoid), per environment of a",
        "batch of 256, in single precision (bench/results/batch_amd_epyc.md). For Nimble the paper reports 1 ms",
        "(half-cheetah) and 16 ms (Atlas) per gradient; Nimble was not measured here.",
        "",
    ]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = "\n".join([HEAD, *sizes(), *times()])
    if not arguments.check:
        PAGE.write_text(text)
        return 0
    fresh = PAGE.exists() and PAGE.read_text() == text
    print(f"{PAGE.name} is {'up to date' if fresh else 'out of date: bench/end_to_end.py writes it'}")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main())
