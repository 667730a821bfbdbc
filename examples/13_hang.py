"""SUPERball hangs by one rod: 24 cables hold five rods, and a control shortens a cable.

Steps of 10 ms, ten times as long as explicit cables allow. The same in C: 13_hang.c.
"""

import warnings

import numpy as np
import tangere as tg

m = tg.load("superball")

# a spring and a damper on the rod's own joint hold it, a metre higher than in the file: the others are off the floor
m.params["body.rod3.pos[2]"] += 1.0
m.params["joint.free3.stiffness"] = 1e5
m.params["joint.free3.damping"] = 1e4

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that the file's own step of 1 ms is short enough is what is looked at here
    explicit = tg.Sim(m, implicit_tendons=False).stable_dt
sim = tg.Sim(m, dt=0.01, implicit_tendons=True)
longer = sim.stable_dt > 0.01
print(f"largest stable step: {1e3 * explicit:.3f} ms explicit, more than 10 ms with implicit_tendons: {longer}")

u = np.zeros(m.nu)
u[0] = -1.0  # 100 N, after a while
q = sim.q.copy()
q[2::7] += 1.0
sim.q = q
before, solved = sim.q[23], True
for i in range(1000):
    sim.step(u=u)
    solved = solved and sim.info.status == tg.StepStatus.SOLVED
    if (i + 1) % 200 == 0:
        print(f"{sim.time:.0f} s: activation {sim.act[0]:.3f}, rod 0 at height {sim.q[2]:.4f} m")
print(f"every step solved: {solved}")
print(f"it hangs off the floor: {sim.info.ncontact == 0}")
print(f"the rod is held within 2 cm: {abs(sim.q[23] - before) < 0.02}")
