"""One model from several files: two quadrupeds on a floor, and a crate that falls on one of them.

The same in C: 08_scene.c.
"""

from pathlib import Path

import tangere as tg

QUADRUPED = Path(__file__).resolve().parent.parent / "models" / "quadruped.xml"
scene = tg.Scene(timestep=0.002)
scene.add(QUADRUPED, pos=(0, 1, 0), prefix="left")
scene.add(QUADRUPED, pos=(0, -1, 0), prefix="right")
scene.box((0.15, 0.15, 0.1), pos=(0, 1, 0.8), mass=2, name="crate")
m = scene.build()
print(f"{m.nbody} bodies, {m.nv} dofs, {m.nu} actuators")

sim = tg.Sim(m)
sim.reset("home")  # both have this keyframe
u = m.key("home").ctrl
for _ in range(500):
    sim.step(u=u)
left, right = (m.body_pose(f"{side}/trunk", sim.q).position[2] for side in ("left", "right"))
crate = m.body_pose("crate", sim.q).position[2]
print(f"trunks at {left:.3f} m and {right:.3f} m, the crate at {crate:.3f} m")
print(f"the crate lies on a trunk: {crate > left}")
