"""Find the friction of a floor from how a cube slid on it: Gauss-Newton with sensitivities in forward mode.

The same in C: 05_identify.c.
"""

import numpy as np
import tangere as tg

NAME = "geom.floor.friction[0]"
m = tg.load("cube")
# of two coefficients the larger one counts, so the cube's own is made small
m.params["geom.cube.friction[0]"] = 0.1
start, v0, steps = m.key("rest").q, [2, 0, 0, 0, 0, 0], 150

# what was measured: positions of a cube on a floor with another coefficient
m.params[NAME] = 0.4
measured = tg.rollout(m, start, v0, steps, tape=False).q[:, 0]

m.params[NAME] = 0.8
for i in range(8):
    r = tg.rollout(m, start, v0, steps)
    error = r.q[:, 0] - measured
    print(f"iteration {i}: mu {m.params[NAME]:.6f}, largest error {1e3 * np.abs(error).max():.4f} mm")
    if np.abs(error).max() < 1e-9:
        break
    slope = r.sensitivity(NAME).q[0, :, 0]
    m.params[NAME] -= slope @ error / (slope @ slope)
print(f"found: {abs(m.params[NAME] - 0.4) < 1e-8}")
