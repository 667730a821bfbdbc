"""Mass, forces, and what cannot be told apart (staggered projections, Fig. 4b and 6)."""

import numpy as np
import tangere as tg
from paper import Experiment, arguments

ONE = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
  <geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.2"/></body></worldbody></mujoco>"""
TWO = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
  <geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.2"/></body>
<body name="known" pos="2.5 0 0.05"><freejoint/>
  <geom name="known" type="box" size="0.05 0.05 0.05" mass="1" friction="0.15"/></body>
</worldbody><custom><numeric name="tangere:geom.cube.restitution" data="0.5"/></custom></mujoco>"""
MU, MASS, E = "geom.cube.friction[0]", "body.cube.mass", "geom.cube.restitution"
NOISE = {"q:position": 1e-3, "q:rotation": 1e-2}
PUSH = 5.0


def pushed(seed=0, force=PUSH, speed=1.0, noise=1e-3):
    """A cube under a constant push, or none: 1 s at 100 Hz, made by pgs at 1 ms."""
    m = tg.load_string(ONE)
    wrench = np.zeros((1000, m.nbody, 6))
    wrench[:, m.index("body", "cube"), 0] = force
    v0 = np.r_[speed, np.zeros(5)]
    r = tg.rollout(m, m.default_q(), v0, np.zeros((1000, 0)), 0.001, wrench=wrench, solver="pgs", tape=False)
    q = r.q[::10].copy()
    q[:, :3] += noise * np.random.default_rng(seed).normal(size=(len(q), 3))
    return m, tg.Log(
        "push",
        0.01 * np.arange(len(q)),
        {"q": q},
        wrench=wrench[np.minimum(10 * np.arange(len(q)), 999)],
        start=(m.default_q(), v0),
    )


def fit(m, log, params, start, **more):
    m = m.copy()
    for name, value in start.items():
        m.params[name] = value
    return tg.fit(m, [log], params, initial=["q[0]", "v[0]"], dt=0.005, noise=NOISE, **more)


def collision(seed=0):
    """At 4 m/s, 2.4 m from face to face: long enough before and after to see friction to 0.3 % with noise of 1 mm."""
    m = tg.load_string(TWO)
    v0 = np.r_[4.0, np.zeros(11)]
    r = tg.rollout(m, m.default_q(), v0, 1600, 0.001, solver="pgs", impact="within", tape=False)
    q = r.q[::10].copy()
    rng = np.random.default_rng(seed)
    for first in (0, 7):
        q[:, first : first + 3] += 1e-3 * rng.normal(size=(len(q), 3))
    return m, tg.Log("collision", 0.01 * np.arange(len(q)), {"q": q}, start=(m.default_q(), v0))


def fit_collision(seed):
    m, hit = collision(seed)
    m.params[MU], m.params[MASS], m.params[E] = 0.25, 1.5, 0.3
    return tg.fit(m, [hit], [MU, MASS, E], initial=["q[0]", "v[0]"], dt=0.0025, noise=NOISE, impact="within")


def main(small=False):
    told = Experiment(
        "mass",
        "Mass, forces and what cannot be told apart",
        "mass converges to the truth (Fig. 4b); with mu it is ambiguous, until a known cube is hit (Fig. 6)",
    )
    found = {}
    m, log = pushed()
    histories = {}
    for guess in (0.4, 2.5, 5.0):
        f = fit(m, log, [MASS], {MASS: guess})
        histories[guess] = [h.x[0] for h in f.history]
        told.row(
            f"mass with a known push of 5 N, from {guess:g} kg: estimate, iterations",
            "1 kg, 1 %",
            f"{f[MASS]:.4f} +- {f.error(MASS):.4f}, {f.optimum.iterations}",
        )
        found["mass"] = max(found.get("mass", 1.0), f[MASS], key=lambda mass: abs(mass - 1))
    m0, quiet = pushed(force=0.0, speed=3.0)
    f = fit(m0, quiet, [MASS], {MASS: 2.5})
    found["blind"] = [d.change for d in f.unobservable]
    told.row("mass without the push: not observable", "named", "; ".join(map(str, f.unobservable)) or "NOT NAMED")
    f = fit(m, log, [MU, MASS], {MU: 0.2, MASS: 1.0})
    direction = f.unobservable[0].change if f.unobservable else {}
    found["direction"] = direction.get(MU, np.nan) / direction.get(MASS, np.nan)
    told.row("mu and mass: dmu / dm of what is not seen", "-F / (m^2 g) = -0.5097", f"{found['direction']:.4f}")
    seeds = 2 if small else 20
    hits = [fit_collision(seed) for seed in range(seeds)]
    truth = np.array([0.2, 1.0, 0.5])
    found["collision"] = np.array([[f[MU], f[MASS], f[E]] for f in hits]) / truth - 1
    for k, name in enumerate((MU, MASS, E)):
        f, off = hits[0], 100 * found["collision"][:, k]
        told.row(f"after a collision: {name}", truth[k], f"{f[name]:.4f} +- {f.error(name):.4f}")
        told.row(
            f"    {seeds} seeds: mean and spread of the error, largest",
            "1 %",
            f"{off.mean():+.2f} %, {off.std(ddof=1):.2f} %, {np.abs(off).max():.2f} %",
        )
    unpushed = tg.Log("unknown push", log.time, log.channels, start=log.start)
    f = fit(m, unpushed, ["wrench:cube[0]"], {})
    found["force"] = f["wrench:cube[0]"]
    told.row("an external force (N)", 5, f"{f['wrench:cube[0]']:.4f} +- {f.error('wrench:cube[0]'):.4f}")
    moving, seen = pushed(force=0.0, speed=2.0)
    lost = tg.Log("unknown start", seen.time, seen.channels, start=(moving.default_q(), np.r_[1.0, np.zeros(5)]))
    f = fit(moving, lost, [MU], {})
    found["speed"] = f.initial[0][1][0]
    told.row("an initial speed (m/s), from a guess of 1", 2, f"{f.initial[0][1][0]:.4f}")
    good = int((np.abs(found["collision"]) < 0.01).all(axis=1).sum())
    told.words(
        f"mass within {100 * abs(found['mass'] - 1):.2f} % from every start; without a push it is named as not "
        f"observable; with mu one direction is not, dmu / dm = {found['direction']:.4f}; after a collision all three "
        f"are within 1 % in {good} of {seeds} runs."
    )

    def draw(figure):
        left, right = figure.subplots(1, 2)
        for guess, values in histories.items():
            left.plot(values, ".-", label=f"from {guess:g} kg")
        left.axhline(1, color="#999", linewidth=0.8)
        left.set(xlabel="iteration", ylabel="mass (kg)", title="known push of 5 N")
        left.legend(fontsize="x-small")
        history = np.array([h.x[:3] for h in hits[0].history]) / truth
        for k, label in enumerate(("friction", "mass", "restitution")):
            right.plot(history[:, k], ".-", label=label)
        right.axhline(1, color="#999", linewidth=0.8)
        right.set(xlabel="iteration", ylabel="estimate over truth", title="after a collision")
        right.legend(fontsize="x-small")

    told.figure(draw)
    told.done()
    return found


if __name__ == "__main__":
    main(arguments().small)
