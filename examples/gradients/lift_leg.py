"""iLQR lifts a leg of a standing quadruped by 5 cm, from the guess of standing still.

The foot is held by the ground: its exact derivative upwards is zero. The smoothed one (backward="smoothed") lets
contacts open.
"""

from pathlib import Path
from typing import Any

import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parents[2]
HOLD, ROWS, DT = 10, 30, 1e-3  # steps a row of controls is held, rows, s
LEG, HEIGHT, AIM = "front_left", 0.05, 0.055  # m; the cost weighs the height against the rest: it aims higher
OPTIONS: Any = {"backward": "smoothed", "smooth_speed": 0.05}


def rotation(quat: Any) -> Any:
    w, x, y, z = quat
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def foot(m: Any, q: Any) -> Any:
    """Height of the foot, and its derivative by q (nv)."""
    where, jacobian = m.body_pose(f"{LEG}_shank", q), m.body_jacobian(f"{LEG}_shank", q)
    arm = rotation(where.quaternion) @ m.params[f"geom.{LEG}_foot.pos"]
    return where.position[2] + arm[2], jacobian[2] + np.cross(arm, [0, 0, 1]) @ jacobian[3:]


class Task:
    """The foot at its height at the end; the trunk where it was; controls near those of standing."""

    def __init__(self, m: Any, q0: Any, u0: Any) -> None:
        self.m, self.q0, self.u0 = m, q0, u0
        self.goal = foot(m, q0)[0] + AIM
        self.stay = np.zeros(m.nv)
        self.stay[:6] = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0

    def cost(self, r: Any, u: Any) -> Any:
        height = foot(self.m, r.q[-1])[0] - self.goal
        moved = [self.stay @ self.m.difference(self.q0, q) ** 2 for q in r.q[HOLD::HOLD]]
        return 200 * height**2 + 0.05 * sum(moved) + 1e-4 * ((u - self.u0) ** 2).sum() + 1e-3 * (r.v[-1] ** 2).sum()

    def state(self, r: Any, k: Any) -> Any:
        """Gradient and Hessian (Gauss-Newton) by the state after row k."""
        m, q = self.m, r.q[(k + 1) * HOLD]
        gradient, hessian = np.zeros(2 * m.nv), np.zeros((2 * m.nv, 2 * m.nv))
        gradient[: m.nv] = 0.1 * self.stay * m.difference(self.q0, q)
        hessian[: m.nv, : m.nv] = 0.1 * np.diag(self.stay)
        if k == ROWS - 1:
            height, slope = foot(m, q)
            gradient[: m.nv] += 400 * (height - self.goal) * slope
            hessian[: m.nv, : m.nv] += 400 * np.outer(slope, slope)
            gradient[m.nv :] += 2e-3 * r.v[-1]
            hessian[m.nv :, m.nv :] += 2e-3 * np.eye(m.nv)
        return gradient, hessian


def linear(m: Any, r: Any) -> Any:
    """A, B of every row of controls."""
    out = []
    for k in range(ROWS):
        A, B = np.eye(2 * m.nv), np.zeros((2 * m.nv, m.nu))
        for step in range(k * HOLD, (k + 1) * HOLD):
            j = r.step_jacobian(step)
            one = np.block([[j.dq_dq, j.dq_dv], [j.dv_dq, j.dv_dv]])
            A, B = one @ A, one @ B + np.vstack([j.dq_du, j.dv_du])
        out.append((A, B))
    return out


def backward(task: Any, r: Any, u: Any, lines: Any, damping: Any) -> Any:
    """Steps and feedback of every row."""
    m = task.m
    g, H = np.zeros(2 * m.nv), np.zeros((2 * m.nv, 2 * m.nv))
    rows = []
    for k in reversed(range(ROWS)):
        gradient, hessian = task.state(r, k)
        g, H = g + gradient, H + hessian
        A, B = lines[k]
        gu, Hu = 2e-4 * (u[k] - task.u0) + B.T @ g, 2e-4 * np.eye(m.nu) + B.T @ H @ B + damping * np.eye(m.nu)
        Hux = B.T @ H @ A
        step, gain = -np.linalg.solve(Hu, gu), -np.linalg.solve(Hu, Hux)
        g = A.T @ g + Hux.T @ step
        H = A.T @ H @ A + Hux.T @ gain
        H = (H + H.T) / 2
        rows.append((step, gain))
    return rows[::-1]


def forward(task: Any, r: Any, u: Any, rows: Any, share: Any) -> Any:
    """The rollout along a share of the step, with feedback."""
    m = task.m
    q, v, new = r.q[0], r.v[0], u.copy()
    for k, (step, gain) in enumerate(rows):
        dx = np.concatenate([m.difference(r.q[k * HOLD], q), v - r.v[k * HOLD]])
        new[k] = u[k] + share * step + gain @ dx
        part = tg.rollout(m, q, v, new[k][None], DT, hold=HOLD, tape=False)
        q, v = part.q[-1], part.v[-1]
    return new


def main(iterations: Any = 40) -> Any:
    """How far the foot was lifted, and the height of the foot after every step."""
    m = tg.load(ROOT / "models" / "quadruped.xml")
    sim = tg.Sim(m, dt=DT)
    sim.reset("home")
    for _ in range(1000):
        sim.step(u=m.key("home").ctrl)
    u0, q0 = m.key("home").ctrl, sim.q
    task, u = Task(m, q0, u0), np.tile(u0, (ROWS, 1))
    r = tg.rollout(m, q0, np.zeros(m.nv), u, DT, hold=HOLD, **OPTIONS)
    cost, damping = task.cost(r, u), 1e-3
    start = foot(m, q0)[0]
    for iteration in range(iterations):
        rows = backward(task, r, u, linear(m, r), damping)
        for share in 0.5 ** np.arange(8):
            new = forward(task, r, u, rows, share)
            tried = tg.rollout(m, q0, np.zeros(m.nv), new, DT, hold=HOLD, **OPTIONS)
            if task.cost(tried, new) < cost:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
            continue
        u, r, cost, damping = new, tried, task.cost(tried, new), max(damping / 3, 1e-6)
        lifted = foot(m, r.q[-1])[0] - start
        print(f"{iteration}: cost {cost:.5f}, foot {1e3 * lifted:.1f} mm", flush=True)
        if lifted >= HEIGHT:
            break
    return foot(m, r.q[-1])[0] - start, [foot(m, q)[0] - start for q in r.q]


if __name__ == "__main__":
    lifted, _ = main()
    assert lifted >= HEIGHT, lifted
    print(f"lifted by {1e3 * lifted:.1f} mm")
