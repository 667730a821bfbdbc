"""Differentiate one step of a sliding cube through its contact with the floor.

The same in C: 03_gradient.c.
"""

import numpy as np
import tangere as tg

m = tg.load("cube")
# of two coefficients the larger one counts, so the cube's own is made small
m.params["geom.cube.friction[0]"] = 0.1
m.params["geom.floor.friction[0]"] = 0.4
sim = tg.Sim(m)
sim.reset("rest")
sim.v = [1, 0, 0, 0, 0, 0]
for _ in range(10):
    sim.step()

# friction takes mu g dt of the speed per step, so d vx / d mu = -g dt
J = sim.jacobian(params="geom.floor.friction[0]")
slope = J.dv_dparams[0, 0]
print(f"d vx / d mu: {slope:.6f}, -g dt: {-9.81 * sim.dt:.6f}")
print(f"they agree: {np.isclose(slope, -9.81 * sim.dt, atol=1e-9)}")

# every derivative says what it is: "exact", "one-sided" or "regularised"
print(f"label: {J.label.kind}")
