"""One iteration of iLQR on the quadruped: ours beside the same with finite differences of MuJoCo.

    .venv/bin/python bench/ilqr_mujoco.py

Horizon 30 of 10 ms, the cost of examples/control/quadruped.py. Ours: a plan with one iteration (derivatives, backward
pass, line search), processor time on one thread. MuJoCo's: its own derivative (mjd_transitionFD, forward differences,
1e-6) along the plan, the backward pass of the same recursion in NumPy (LAPACK), and one rollout of its own. The states
are those of a trot in closed loop. Runs are interleaved; medians are printed.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import mujoco
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LANDED = 20  # controls until the robot, dropped from 1 cm, stands and trots


def _example():
    spec = importlib.util.spec_from_file_location("quadruped", ROOT / "examples" / "control" / "quadruped.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def derivatives(m: mujoco.MjModel, d: mujoco.MjData, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple:
    """A (T, 2 nv, 2 nv), B (T, 2 nv, nu) along states q, v (T + 1, ...)."""
    n = 2 * m.nv + m.na
    A, B = np.empty((len(u), n, n)), np.empty((len(u), n, m.nu))
    for k in range(len(u)):
        d.qpos[:], d.qvel[:], d.ctrl[:] = q[k], v[k], u[k]
        mujoco.mjd_transitionFD(m, d, 1e-6, False, A[k], B[k], None, None)
    return A, B


def backward(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, g: np.ndarray) -> tuple:
    """The recursion of docs/control.md with constant Hessians of the cost; no bounds."""
    T, n = len(A), Q.shape[0]
    V, Vx = Q.copy(), g.copy()
    k, K = np.empty((T, R.shape[0])), np.empty((T, R.shape[0], n))
    for i in reversed(range(T)):
        VA, VB = V @ A[i], V @ B[i]
        Qx, Qu = g + A[i].T @ Vx, B[i].T @ Vx
        Quu, Qux = R + B[i].T @ VB, B[i].T @ VA
        solved = np.linalg.solve(Quu, np.column_stack([Qu, Qux]))
        k[i], K[i] = -solved[:, 0], -solved[:, 1:]
        Vx = Qx + K[i].T @ Qu
        V = Q + A[i].T @ VA + K[i].T @ Qux
        V = 0.5 * (V + V.T)
    return k, K


def rollout(m: mujoco.MjModel, d: mujoco.MjData, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> None:
    d.qpos[:], d.qvel[:] = q, v
    for row in u:
        d.ctrl[:] = row
        mujoco.mj_step(m, d)


def main() -> None:
    example = _example()
    run = example.Run(0)
    mj = mujoco.MjModel.from_xml_path(str(ROOT / "models" / "quadruped.xml"))
    mj.opt.timestep = example.DT
    data = mujoco.MjData(mj)
    n = 2 * mj.nv
    Q, R, g = np.eye(n), 0.02 * np.eye(mj.nu), np.ones(n)
    parts = []

    for k in range(120):
        run._aim(k, run.planner)
        t = [time.process_time()]
        plan = run.planner.plan(run.sim.q, run.sim.v, run.sim.act, cache=run.sim.cache)
        t.append(time.process_time())
        A, B = derivatives(mj, data, plan.q, plan.v, plan.u)
        t.append(time.process_time())
        backward(A, B, Q, R, g)
        t.append(time.process_time())
        rollout(mj, data, plan.q[0], plan.v[0], plan.u)
        t.append(time.process_time())
        run._step(k, 0, plan.u[0])
        run.planner.shift()
        if k >= LANDED:
            parts.append(np.diff(t))
    mine, *theirs = np.median(parts, axis=0)
    theirs = np.array(theirs)
    print(f"ours: {1e3 * mine:.2f} ms per iteration ({1 / mine:.0f} Hz)")
    print(
        f"MuJoCo: {1e3 * theirs.sum():.2f} ms per iteration: derivatives {1e3 * theirs[0]:.2f}, backward pass in NumPy "
        f"{1e3 * theirs[1]:.2f}, one rollout {1e3 * theirs[2]:.2f}"
    )
    print(f"ratio {theirs.sum() / mine:.1f}; of MuJoCo's derivatives alone {theirs[0] / mine:.1f}")


if __name__ == "__main__":
    main()
