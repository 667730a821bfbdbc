"""States that the tests of torch and JAX share: a sliding cube, a standing quadruped, a standing humanoid."""

import numpy as np
import tangere as tg
from support import ROOT

CASES = ("sliding cube", "standing quadruped", "humanoid")


def case(name):
    """(sim, q, v, u): a state in contact, quaternions of unit length."""
    file, key = {
        "sliding cube": ("cube", "rest"),
        "standing quadruped": ("quadruped", "home"),
        "humanoid": ("humanoid36", "stand"),
    }[name]
    m = tg.load(ROOT / "models" / f"{file}.xml")
    sim = tg.Sim(m)
    sim.reset(key)
    if name == "sliding cube":
        sim.v = [1.0, 0.3, 0, 0, 0, 0.5]
    u = np.array(m.key(key).ctrl)
    rng = np.random.default_rng(0)
    for _ in range(200):
        q, v, cold = sim.q.copy(), sim.v.copy(), tg.Sim(m)
        cold.restore(tg.SimState(0.0, q, v, sim.act, cold.cache))
        cold.step(u)
        label = cold.jacobian().label
        if sim.time > 0.05 and cold.info.ncontact > 0 and label.kind == "exact" and label.margin > 1e-3:
            return sim, q, v, u
        u = u + 0.02 * rng.normal(size=m.nu)
        sim.step(u)
    raise AssertionError(f"{name}: no state at which the step is smooth")


def slightly_off(m, q):
    """Quaternions whose length is not one."""
    q = q.copy()
    q[3:7] *= 1.02
    return q
