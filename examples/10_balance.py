"""Balance a pendulum upside down: linearise a step, solve the Riccati equation, close the loop.

The same in C: 10_balance.c.
"""

import numpy as np
import tangere as tg

m = tg.load("pendulum")
upright = np.array([np.pi])

# A, B of one step about the upright state, where no torque is needed
sim = tg.Sim(m)
sim.q = upright
sim.step()
J = sim.jacobian()
A = np.array([[J.dq_dq[0, 0], J.dq_dv[0, 0]], [J.dv_dq[0, 0], J.dv_dv[0, 0]]])
B = np.array([J.dq_du[0, 0], J.dv_du[0, 0]])

# P = Q + A' P A - A' P B (R + B' P B)^-1 B' P A, by iteration
P, K = np.eye(2), np.zeros(2)
for _ in range(5000):
    K = P @ B @ A / (1 + B @ P @ B)
    P = np.eye(2) + A.T @ P @ A - np.outer(A.T @ P @ B, K)
print(f"gains: {K[0]:.3f} {K[1]:.3f}")

# from 0.15 rad off, with the torque of the motor bounded by its range
sim.reset()
sim.q = upright + 0.15
for _ in range(2000):
    sim.step(u=[-K @ [sim.q[0] - np.pi, sim.v[0]]])
print(f"after {sim.time:.0f} s: {abs(sim.q[0] - np.pi):.1e} rad off")
print(f"it stands: {abs(sim.q[0] - np.pi) < 1e-3}")
