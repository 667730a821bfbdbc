"""Residual by iteration of the first-order solvers on recorded problems, as a picture.

    solver_curves.py BENCH_SOLVERS OUT.png FILE.tgp ...

Every solver starts cold and is stopped after 5, 10, 20, ... iterations (sweeps of pgs, iterations of ADMM of admm and
staggered); the lines are the median and the 90th percentile of the residual of the unrelaxed law over all problems.
"""

import subprocess
import sys

import numpy as np
from matplotlib.figure import Figure

SWEEPS = (5, 10, 20, 50, 100, 200, 500, 1000)
SOLVERS = ("pgs", "admm", "staggered")


def residuals(program, solver, sweeps, files):
    words = [program, "--solver", solver, "--sweeps", str(sweeps), "--repeat", "1", "--tolerance", "1e-10"]
    words += ["--cold", "--plain", "--residuals", *files]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return np.array([float(line) for line in out.split()])


def main():
    program, path, *files = sys.argv[1:]
    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    print("| solver | " + " | ".join(f"{n}" for n in SWEEPS) + " |")
    print("| --- " * (len(SWEEPS) + 1) + "|")
    for i, solver in enumerate(SOLVERS):
        found = [residuals(program, solver, n, files) for n in SWEEPS]
        middle, most = ([np.percentile(f, q) for f in found] for q in (50, 90))
        axes.loglog(SWEEPS, np.maximum(middle, 1e-17), "o-", color=f"C{i}", label=f"{solver}, median")
        axes.loglog(SWEEPS, np.maximum(most, 1e-17), "o--", color=f"C{i}", label=f"{solver}, 90 %")
        print(f"| {solver} | " + " | ".join(f"{a:.0e}, {b:.0e}" for a, b in zip(middle, most, strict=True)) + " |")
    axes.set(xlabel="iterations", ylabel="residual, m/s", title=f"{len(found[0])} recorded problems, cold")
    axes.legend(fontsize="x-small")
    figure.savefig(path, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
