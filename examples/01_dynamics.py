"""Load a robot, look at its dynamics, and check one derivative against differences.

The same in C: 01_dynamics.c.
"""

import sys
from pathlib import Path

import numpy as np
import tangere as tg

path = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "models" / "quadruped.xml"
m = tg.load(path)
print(f"{m.name}: nq {m.nq}, nv {m.nv}, nu {m.nu}, {m.nbody} bodies, {m.mass:.6f} kg, {m.nparams} parameters")

# a random state, and what it takes to hold it there without acceleration
q, v = m.random_state(seed=1)
a = np.zeros(m.nv)
tau = m.rnea(q, v, a)
print(f"largest generalised force to keep the velocity: {np.abs(tau).max():.6f}")

# the mass matrix M: kinetic energy is v M v / 2; forward dynamics undoes inverse dynamics (and adds springs, dampers)
M = m.mass_matrix(q)
print(f"v M v / 2 = {v @ M @ v / 2:.6f} J, kinetic energy = {m.energy(q, v).kinetic:.6f} J")
back = m.forward_dynamics(q, v, tau - m.passive(q, v))
print(f"acceleration after forward dynamics: {np.abs(back - a).max() < 1e-6}")

# d tau / d q in the tangent space (nv columns), against central differences on the manifold
dq = m.rnea_derivatives(q, v, a).dq
h = 1e-5
difference = np.empty_like(dq)
for i in range(m.nv):
    step = np.zeros(m.nv)
    step[i] = h
    plus, minus = m.rnea(m.integrate(q, step), v, a), m.rnea(m.integrate(q, -step), v, a)
    difference[:, i] = (plus - minus) / (2 * h)
error = np.abs(dq - difference).max() / max(1.0, np.abs(difference).max())
print(f"derivative of rnea by q agrees with differences: {error < 1e-6}")

# what can be set can be differentiated: the force by the mass of every body
by_mass = m.rnea_param_derivatives(q, v, a, "body.*.mass")
names = m.param_names("body.*.mass")
column = int(np.abs(by_mass).max(axis=0).argmax())
print(f"the most influential mass is {names[column]}")
