"""The gradient of where a sliding cube comes to rest, by one backward pass over 400 steps.

The same in C: 04_rollout.c.
"""

import numpy as np
import tangere as tg

MU = 0.4
m = tg.load("cube")
# of two coefficients the larger one counts, so the cube's own is made small
m.params["geom.cube.friction[0]"] = 0.1
m.params["geom.floor.friction[0]"] = MU
rest, v0, steps = m.key("rest").q, 1.0, 400

r = tg.rollout(m, rest, [v0, 0, 0, 0, 0, 0], steps)
print(f"it slides {r.q[-1, 0]:.4f} m")

# a cost of the last state alone: x
gq = np.zeros((steps + 1, m.nv))
gq[-1, 0] = 1
gradient = r.vjp(gq=gq)
mu = m.params.index("geom.floor.friction[0]")[0]
print(f"d x / d v0: {gradient.v[0]:.4f}")
print(f"d x / d mu: {gradient.params[mu]:.4f}")

# the continuous motion has x = v0^2 / (2 mu g): the step length changes it by a few thousandths
print(f"near v0 / (mu g): {abs(gradient.v[0] - v0 / (MU * 9.81)) < 0.01}")
print(f"near -v0^2 / (2 mu^2 g): {abs(gradient.params[mu] + v0**2 / (2 * MU**2 * 9.81)) < 0.01}")
