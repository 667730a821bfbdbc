"""SUPERball rolls over the ground and over hills, with cables that pull and never push.

The derivatives of how far it comes by stiffness and rest length of a cable come from the rollout over the ground. The
same over the ground in C: 14_roll.c.
"""

from pathlib import Path

import numpy as np
import tangere as tg

path = Path(__file__).resolve().parent.parent / "models" / "superball.xml"
steps, dt = 200, 0.005


def start(m: tg.Model) -> np.ndarray:
    """All rods at 1.5 m/s along x."""
    v = np.zeros(m.nv)
    v[0::6] = 1.5
    return v


# over the ground, with derivatives
m = tg.load(path)
roll = tg.rollout(m, tg.Sim(m).q, start(m), steps, dt=dt, implicit_tendons=True)
weight = np.zeros((steps + 1, m.nv))
weight[-1, 0::6] = 1 / 6
gradient = roll.vjp(gq=weight)
print(f"{steps * dt:.1f} s: {(roll.q[-1, 0::7] - roll.q[0, 0::7]).mean():.4f} m, every step solved: "
      f"{roll.residual.max() <= 1e-8}")  # fmt: skip
for name in ("stiffness", "length"):
    print(f"by the {name} of cable 3: {gradient.params[m.params.index(f'tendon.c3.{name}')[0]]:.4g}")

# over hills, with cables that only pull
hills = 0.5 + 0.5 * np.sin(np.linspace(0, 6 * np.pi, 40))[:, None] * np.cos(np.linspace(0, 6 * np.pi, 40))[None, :]
asset = (
    '<asset><hfield name="hills" nrow="40" ncol="40" size="6 6 0.15 0.1" elevation="'
    + " ".join(f"{x:.4f}" for x in hills.ravel())
    + '"/></asset><custom><text name="tangere:tendon.*.law" data="all"/></custom>'
)
text = path.read_text().replace("<worldbody>", asset + "<worldbody>")
text = text.replace('type="plane" size="40 40 1"', 'type="hfield" hfield="hills"')
m = tg.load_string(text)
sim = tg.Sim(m, dt=dt, implicit_tendons=True)
q = sim.q.copy()
q[2::7] += 0.2
sim.q, sim.v = q, start(m)
solved = True
for i in range(400):
    sim.step()
    solved = solved and sim.info.status == tg.StepStatus.SOLVED
    if (i + 1) % 100 == 0:
        print(f"hills, {sim.time:.1f} s: {sim.q[0::7].mean():.3f} m, height {sim.q[2::7].mean():.3f} m")
print(f"every step solved: {solved}")
