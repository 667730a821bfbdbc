"""Contact solvers beside Pinocchio's on the same problems: Go1 on four point contacts, cold, 1e-9, solver part alone.

    solvers_pinocchio.py MODEL.xml BENCH_SOLVERS [--problems N] [--repeat N]

States: joints +-0.05 rad around the standing pose, joint velocities +-0.3, base +-0.1, torques +-5 N m around those
that hold, mu 0.7, dt 2 ms. Pinocchio makes G and g; its ADMM and PGS solve them as a dense operator made anew for every
solve, timed without making it; the smallest of N runs, less the time of an empty call of the binding. The same problems
go to `bench_solvers` in a file. Residuals of both are recomputed from G and g.
"""

import argparse
import pathlib
import struct
import subprocess
import tempfile
import time

import numpy as np
import pinocchio as pin

MU, DT = 0.7, 2e-3
FEET = ("FL", "FR", "RL", "RR")


def write_problem(file, G, g):
    """One record of bench/problems.h: rows n, t1, t2 per contact."""
    contacts = len(g) // 3
    order = np.concatenate([[3 * c + 2, 3 * c, 3 * c + 1] for c in range(contacts)])
    G, g = G[np.ix_(order, order)], g[order]
    file.write(b"TGP1" + struct.pack("<iii", len(g), contacts, 0))
    for _ in range(contacts):
        file.write(struct.pack("<iidd", 0, 3, MU, MU))
    file.write(G[np.tril_indices(len(g))].astype("<f8").tobytes() + g.astype("<f8").tobytes())


def residual(G, g, x):
    """Largest violation of separation and of friction's direction, m/s; rows t1, t2, n."""
    s = G @ x + g
    worst = 0.0
    for c in range(len(g) // 3):
        slip, force = s[3 * c : 3 * c + 2], x[3 * c : 3 * c + 3]
        work = abs(force @ s[3 * c : 3 * c + 3] + MU * force[2] * np.linalg.norm(slip))
        worst = max(worst, -s[3 * c + 2], work / max(force[2], 1e-3))
    return worst


def problems(path, count, seed=1):
    model = pin.buildModelFromMJCF(path)
    data = model.createData()
    rng = np.random.default_rng(seed)
    stand = np.r_[0, 0, 0.27, 0, 0, 0, 1, np.tile([0, 0.9, -1.8], 4)]
    frames = [model.getFrameId(foot) for foot in FEET]
    for _ in range(count):
        q, v = stand.copy(), np.empty(model.nv)
        q[7:] += rng.uniform(-0.05, 0.05, 12)
        v[:6], v[6:] = rng.uniform(-0.1, 0.1, 6), rng.uniform(-0.3, 0.3, 12)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = np.vstack([pin.getFrameJacobian(model, data, f, pin.LOCAL_WORLD_ALIGNED)[:3] for f in frames])
        weight = pin.computeGeneralizedGravity(model, data, q)
        load = np.tile([0, 0, weight[2] / 4], 4)
        tau = weight - J.T @ load
        tau[:6] = 0
        tau[6:] += rng.uniform(-5, 5, 12)
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        free = v + DT * np.linalg.solve(M, tau - pin.nonLinearEffects(model, data, q, v))
        yield model, J @ np.linalg.solve(M, J.T), J @ free


def time_of(call, repeat):
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def run_pinocchio(name, all_problems, repeat):
    solver_type, result_type, settings = {
        "admm": (pin.ADMMConstraintSolver, pin.ADMMSolverResult, pin.ADMMSolverSettings()),
        "pgs": (pin.PGSConstraintSolver, pin.PGSSolverResult, pin.PGSSolverSettings()),
    }[name]
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-9
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0
    settings.max_iterations = 1000
    times, iterations, worst = [], [], []
    for model, G, g in all_problems:
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for _ in range(len(g) // 3):
            contact = pin.PointContactConstraintModel(model)
            contact.setFriction(MU)
            models.append(pin.ConstraintModel(contact))
            datas.append(models[len(models) - 1].createData())
        best = np.inf
        for _ in range(repeat):
            delassus, solver, result = pin.DelassusOperatorDense(G), solver_type(len(g)), result_type()
            start = time.perf_counter()
            solver.solve(delassus, g, models, datas, settings, result)
            best = min(best, time.perf_counter() - start)
        empty = time_of(lambda: settings.checkValidity(), 5)  # noqa: PLW0108
        times.append(1e6 * (best - empty))
        iterations.append(result.iterations)
        worst.append(residual(G, g, np.asarray(result.retrieveConstraintImpulses())))
    return np.median(times), np.mean(iterations), np.max(worst)


def run_ours(program, name, all_problems, repeat):
    with tempfile.NamedTemporaryFile(suffix=".tgp") as file:
        for _, G, g in all_problems:
            write_problem(file, G, g)
        file.flush()
        words = [
            program,
            "--solver",
            name,
            "--tolerance",
            "1e-9",
            "--cold",
            "--plain",
            "--repeat",
            str(repeat),
            file.name,
        ]
        table = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    cells = [cell.strip() for cell in table.strip().splitlines()[-1].strip("|").split("|")]
    return float(cells[9]), float(cells[7]), float(cells[4])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    all_problems = list(problems(given.model, given.problems))
    print("| solver | ours, us | iterations | worst | Pinocchio, us | iterations | worst | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in ("admm", "pgs"):
        a = run_ours(given.program, name, all_problems, given.repeat)
        b = run_pinocchio(name, all_problems, given.repeat)
        cells = [f"{x[0]:.2f} | {x[1]:.1f} | {x[2]:.1e}" for x in (a, b)]
        print(f"| {name} | {cells[0]} | {cells[1]} | {a[0] / b[0]:.2f} |")


if __name__ == "__main__":
    main()
