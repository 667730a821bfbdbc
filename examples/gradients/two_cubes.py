"""Two cubes collide: friction, mass, restitution and the initial velocity from where they went.

Gauss-Newton with the rollout's own sensitivities, steps of 5 and 10 ms. With impact="end" the step of the impact jumps
as the parameters move, and most starts end in local minima; with impact="within" they do not.
"""

from typing import Any

import numpy as np
import tangere as tg

SCENE = """<mujoco><option timestep="{dt}"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.001"/>
<body name="a" pos="0 0 0.05"><freejoint/>
    <geom name="a" type="box" size="0.05 0.05 0.05" mass="1" friction="0.2"/></body>
<body name="b" pos="0.3 0 0.05"><freejoint/>
    <geom name="b" type="box" size="0.05 0.05 0.05" mass="1" friction="0.19"/></body>
</worldbody><custom><numeric name="tangere:geom.a.restitution" data="0.5"/></custom></mujoco>"""
TRUE = np.array([0.2, 1.0, 0.5, 2.0, 0.1])  # friction, mass, restitution, velocity of the first cube along x and y
LOW, HIGH = np.array([0.02, 0.05, 0.0, -9, -9]), np.array([3.0, 20.0, 1.0, 9, 9])
PARAMETERS = [{"geom.a.friction[0]": 1.0, "geom.b.friction[0]": 1.0}, "body.a.mass", "geom.a.restitution"]
SEEN = [0, 1, 2, 6, 7, 8]  # positions of the two


def run(m: Any, p: Any, dt: Any, impact: Any) -> Any:
    m.params["geom.a.friction[0]"], m.params["geom.b.friction[0]"] = p[0], p[0] - 0.01
    m.params["body.a.mass"], m.params["geom.a.restitution"] = p[1], p[2]
    return tg.rollout(m, m.default_q(), np.r_[p[3:], np.zeros(10)], round(0.4 / dt), dt, impact=impact)


def places(r: Any) -> Any:
    return r.q[1:, [0, 1, 2, 7, 8, 9]].ravel()


def slopes(r: Any) -> Any:
    changes = r.sensitivity(PARAMETERS), r.jvp(v0=np.eye(12)[:2])
    return np.array([q[1:, SEEN].ravel() for change in changes for q in change.q]).T


def fit(m: Any, start: Any, data: Any, dt: Any, impact: Any, *, iterations: Any = 100) -> Any:
    """Levenberg and Marquardt's, friction and mass by their logarithms."""
    p, damping, positive = start, 1e-3, np.arange(5) < 2
    r = run(m, p, dt, impact)
    e = places(r) - data
    for _ in range(iterations):
        J = slopes(r) * np.where(positive, p, 1.0)
        while damping < 1e12:
            z = -np.linalg.solve(J.T @ J + damping * np.diag(np.diag(J.T @ J) + 1e-6), J.T @ e)
            z *= min(1, 0.7 / np.abs(z).max())
            q = np.clip(np.where(positive, p * np.exp(z), p + z), LOW, HIGH)
            tried = run(m, q, dt, impact)
            miss = places(tried) - data
            if miss @ miss < e @ e:
                break
            damping *= 4
        else:
            break
        step, p, r, e, damping = np.abs(q - p).max(), q, tried, miss, max(damping / 8, 1e-12)
        if e @ e < 1e-22 or step < 1e-13:
            break
    return p


def start_of(seed: Any) -> Any:
    rng = np.random.default_rng(seed)
    return np.array([rng.uniform(*range_) for range_ in ((0.05, 0.6), (0.5, 2), (0.1, 0.9), (1.5, 2.5), (-0.2, 0.3))])


def found(dt: Any, impact: Any, starts: Any = 5) -> Any:
    m = tg.load_string(SCENE.format(dt=dt))
    data = places(run(m, TRUE, dt, impact))
    return sum(np.abs(fit(m, start_of(seed), data, dt, impact) - TRUE).max() < 1e-6 for seed in range(starts))


if __name__ == "__main__":
    for dt in (5e-3, 1e-2):
        counts = {impact: found(dt, impact) for impact in ("end", "within")}
        print(
            f"dt {1e3 * dt:g} ms: found from {counts['end']} of 5 starts with impacts at the end of a step, "
            f"from {counts['within']} within"
        )
        assert counts["within"] == 5
