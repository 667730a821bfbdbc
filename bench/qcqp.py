"""Times the QCQP layer beside diffqcqp and cvxpylayers, forward and backward, by number of contacts.

    python bench/qcqp.py [--peer FOLDER] [--write]

FOLDER has Solver.cpp and Solver.hpp of quentinll/diffqcqp (its folder qcqplib); they are compiled with qcqp_peer.cpp
and the static library of build/release, all with -O3 -march=native. Without it nothing is written. cvxpylayers is timed
up to 32 contacts, forward and backward of one problem, after a first call that compiles it. --write:
bench/results/qcqp.csv and docs/pictures/qcqp.svg.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parents[1]
SIZES = (1, 2, 4, 8, 16, 32, 64, 100, 200)
COLUMNS = ("contacts", "forward", "forward_trusted", "backward", "diffqcqp_forward", "diffqcqp_backward")
LAYER_MOST = 32  # contacts: beyond, one call takes seconds


def problem(blocks: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    n = 2 * blocks
    A = r.normal(size=(n, n))
    G = A @ A.T / n + 1e-3 * np.eye(n)
    return (G + G.T) / 2, r.normal(size=n), np.ones(blocks), r.uniform(0.1, 1, blocks)


def peer_rows(folder: Path) -> list[list[float]]:
    library = ROOT / "build/release/libtangere.a"
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "qcqp_peer"
        subprocess.run(
            [
                *("g++", "-O3", "-march=native", "-DNDEBUG", "-DTG_STATIC", "-I/usr/include/eigen3"),
                *(f"-I{ROOT / 'include'}", f"-I{folder}", ROOT / "bench/qcqp_peer.cpp", folder / "Solver.cpp", library),
                *("-lexpat", "-lqhull_r", "-lpthread", "-lm", "-o", program),
            ],
            check=True,
        )
        out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return [[float(word) for word in line.split()] for line in out.splitlines()]


def layer_row(blocks: int, rounds: int = 5) -> tuple[float, float, float]:
    """cvxpylayers: forward and backward (us), and how far its x is from ours."""
    import cvxpy as cp  # noqa: PLC0415
    import torch  # noqa: PLC0415
    from cvxpylayers.torch import CvxpyLayer  # noqa: PLC0415

    n = 2 * blocks
    x, root, q, radius = cp.Variable(n), cp.Parameter((n, n)), cp.Parameter(n), cp.Parameter(blocks)
    balls = [cp.norm(x[2 * i : 2 * i + 2]) <= radius[i] for i in range(blocks)]
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ x) + q @ x), balls)
    layer = CvxpyLayer(program, parameters=[root, q, radius], variables=[x])
    forward, backward, apart = np.inf, np.inf, 0.0
    for k in range(rounds):
        G, g, mu, l = problem(blocks, k)  # noqa: E741
        data = [torch.tensor(a, requires_grad=True) for a in (np.linalg.cholesky(G).T.copy(), g, mu * l)]
        start = time.perf_counter()
        (y,) = layer(*data)
        middle = time.perf_counter()
        y.sum().backward()
        end = time.perf_counter()
        forward, backward = min(forward, middle - start), min(backward, end - middle)
        apart = max(apart, np.abs(y.detach().numpy() - tg.qcqp(G, g, mu, l).x).max())
    return 1e6 * forward, 1e6 * backward, apart


def picture(rows: list[list[float]], layers: dict[int, tuple[float, float, float]]) -> None:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    a = np.array([row[:6] for row in rows])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, name, mine, theirs, k in ((axes[0], "forward", 1, 4, 0), (axes[1], "backward", 3, 5, 1)):
        axis.loglog(a[:, 0], a[:, mine], "o-", label="tangere")
        axis.loglog(a[:, 0], a[:, theirs], "s-", label="diffqcqp (C++)")
        axis.loglog(list(layers), [v[k] for v in layers.values()], "^-", label="cvxpylayers")
        axis.set(title=name, xlabel="contacts")
        axis.grid(which="both", alpha=0.2)
    axes[0].set_ylabel("microseconds per problem")
    axes[0].legend()
    figure.savefig(ROOT / "docs/pictures/qcqp.svg", metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    rows = peer_rows(args.peer) if args.peer else []
    layers = {}
    try:
        layers = {blocks: layer_row(blocks) for blocks in SIZES if blocks <= LAYER_MOST}
    except ImportError as missing:
        print(f"cvxpylayers is left out: {missing}", file=sys.stderr)
    lines = [
        ",".join((*COLUMNS, "x_apart", "gradient_apart", "cvxpylayers_forward", "cvxpylayers_backward", "x_apart"))
    ]
    for row in rows:
        extra = layers.get(int(row[0]), ("", "", ""))
        lines.append(",".join(str(v) for v in (int(row[0]), *row[1:], *extra)))
        f, b = row[1] / row[4], row[3] / row[5]
        text = (
            f"{int(row[0]):4d} contacts: forward {row[1]:9.1f} us, {f:.3f} of diffqcqp; backward {row[3]:8.1f}, {b:.3f}"
        )
        if extra[0] != "":
            text += f"; cvxpylayers {extra[0] / row[1]:6.0f} and {extra[1] / row[3]:6.0f} times as long"
        print(text)
    if args.write and rows:
        (ROOT / "bench/results/qcqp.csv").write_text("\n".join(lines) + "\n")
        picture(rows, layers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
