"""What a user writes, for mypy --strict and pyright (`make types`): it must pass, but for the lines that are marked."""

import numpy as np
import tangere as tg

m = tg.load("quadruped")
sim = tg.Sim(m, dt=0.001, solver="newton", tolerance=1e-9, cold=True)
sim.reset("home")
sim.step(u=m.key("home").ctrl)
residual: float = sim.info.residual
force = sim.info.contacts.force
print(residual, force.sum(), sim.info.status == tg.StepStatus.SOLVED)

J = sim.jacobian(params="body.trunk.mass")
kind: str = J.label.kind
r = tg.rollout(m, sim.q, sim.v, np.zeros((10, m.nu)), impact="within")
batch = tg.Batch(m, 4, threads=1, project=True)
batch.step()
mass: float = m.mass
pose = m.body_pose("trunk", sim.q)
print(kind, r, mass, pose.position[0], batch.q.shape)

# misspelt and mistyped options are seen
tg.Sim(m, solvr="ipm")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
tg.Sim(m, cold="yes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
tg.Sim(m, backward="smooth")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
tg.laod("quadruped")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
sim.step(ctrl=np.zeros(m.nu))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
sim.ctrl = np.zeros(m.nu)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
