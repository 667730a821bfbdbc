"""Model-predictive control: a quadruped lifts two feet while iLQR plans through its contacts.

Plans are 15 rows of 10 ms; A and B come from the exact steps, smoothed where contacts are made and broken. The same
in C: 15_mpc.c.
"""

import numpy as np
import tangere as tg

m = tg.load("quadruped")
home = m.key("home")
feet = ["front_left_foot", "hind_right_foot"]
stand = np.array([[0.19, 0.13, 0.025], [-0.19, -0.13, 0.025]])
raised = stand + np.array([0, 0, 0.06])

cost = tg.control.Cost(
    q=home.q, weight_q=[20] * 6 + [1] * 12, weight_v=0.02, u=home.ctrl, weight_u=0.05,
    sites=feet, site_target=stand, weight_site=[0, 0, 400],
)  # fmt: skip
planner = tg.control.Planner(
    m, cost, "ilqr", horizon=15, hold=5, iterations=2, u=home.ctrl, backward="smoothed", smooth_speed=0.1
)
sim = tg.Sim(m)
sim.reset("home")


def lift(k: int, planner: tg.control.Planner) -> None:
    """A diagonal pair of feet is up between 0.1 and 0.4 s."""
    planner.aim(site_target=raised if 10 <= k < 40 else stand)


loop = tg.control.run(planner, sim, 60, before=lift)
height = np.array([[m.site_pose(foot, q)[0][2] for foot in feet] for q in loop.q])
tilt = 2 * np.arccos(np.clip(np.abs(loop.q[:, 3]), 0, 1))
print(f"highest: {100 * height.max(axis=0)[0]:.1f} and {100 * height.max(axis=0)[1]:.1f} cm")
print(f"both feet were lifted by 3 cm: {bool((height.max(axis=0) > 0.055).all())}")
print(f"it stays upright: {bool(np.degrees(tilt.max()) < 15)}")
print(f"no rollout blew up: {loop.blown == 0}")
