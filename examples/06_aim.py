"""An inverse problem: how fast must a cube be pushed to come to rest half a metre away? Newton's method on a rollout.

The same in C: 06_aim.c.
"""

import numpy as np
import tangere as tg

TARGET = 0.5
m = tg.load("cube")
# of two coefficients the larger one counts, so the cube's own is made small
m.params["geom.cube.friction[0]"] = 0.1
m.params["geom.floor.friction[0]"] = 0.4
start, steps, speed = m.key("rest").q, 400, 1.0
last = np.zeros((steps + 1, m.nv))
last[-1, 0] = 1

error = np.inf
for i in range(10):
    r = tg.rollout(m, start, [speed, 0, 0, 0, 0, 0], steps)
    error = r.q[-1, 0] - TARGET
    print(f"iteration {i}: {speed:.6f} m/s, {1e3 * error:+.4f} mm from the target")
    if abs(error) < 1e-9:
        break
    speed -= error / r.vjp(gq=last).v[0]
print(f"at the target: {abs(error) < 1e-9}")
