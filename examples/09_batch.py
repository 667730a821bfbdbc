"""64 cubes on 64 floors, each with its own friction, over all processors: how far does each slide?

The same in C: 09_batch.c.
"""

import numpy as np
import tangere as tg

m = tg.load("cube")
# of two coefficients the larger one counts, so the cube's own is made small
m.params["geom.cube.friction[0]"] = 0.1
n, steps = 64, 600
b = tg.Batch(m, n)
b.reset(key="rest")
b.v[:, 0] = 1
friction = b.params(["geom.floor.friction[0]"])
friction[:, 0] = np.linspace(0.2, 0.8, n)
for _ in range(steps):
    b.step()

# v0^2 / (2 mu g), but for the step length
expected = 1 / (2 * friction[:, 0] * 9.81)
print(f"from {b.q[:, 0].min():.4f} m to {b.q[:, 0].max():.4f} m")
print(f"as expected: {np.abs(b.q[:, 0] - expected).max() < 2e-3}")
