"""Drop a robot on the floor, let its servos hold a pose, and look at the contact forces.

The same in C: 02_drop.c.
"""

import sys
from pathlib import Path

import numpy as np
import tangere as tg

path = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "models" / "quadruped.xml"
m = tg.load(path)
home = m.key("home")

# 0.3 m above the pose of the keyframe, at rest
sim = tg.Sim(m, dt=0.001)
sim.reset("home")
q = sim.q.copy()
q[2] += 0.3
sim.q = q

# every step comes with a certificate: how far the laws of contact and friction are from holding
worst = 0.0
for i in range(3000):
    sim.step(u=home.ctrl)
    worst = max(worst, sim.info.residual)
    if (i + 1) % 500 == 0:
        print(f"{sim.time:.1f} s: height {sim.q[2]:.4f} m, {sim.info.ncontact} contacts")
print(f"every step solved to 1e-8 m/s: {worst <= 1e-8}")

# it stands: the floor carries its weight, and every foot sticks
contacts = sim.info.contacts
weight = m.mass * np.linalg.norm(m.params["gravity"])
print(f"vertical force {contacts.force[:, 2].sum():.3f} N, weight {weight:.3f} N")
for k in range(sim.info.ncontact):
    name, mode = m.names("geom")[contacts.geom2[k]], tg.ContactMode(contacts.mode[k]).name.lower()
    print(f"{name}: {contacts.force[k, 2]:.3f} N, {mode}")
