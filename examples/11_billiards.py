"""Billiards: from where, and how fast, must the cue ball start for the last ball to be at the goal after 1,023 steps?

Plain gradient descent, three times: with the derivative of the step, with that of the motion (`toi`: the time of impact
is differentiated, too), and with DiffTaichi's step, re-created here. `11_billiards.py FILE.png` draws curves and
solutions. The same in C: 11_billiards.c (without DiffTaichi's step).
"""

import sys
from typing import Any

import numpy as np
from tangere import learn

STEPS, RATE, ITERATIONS = 1023, 0.01, 200
RADIUS, DT, E = learn.BILLIARDS_RADIUS, 0.003, 0.8
GOAL = np.array(learn.BILLIARDS_GOAL)
START = np.array([0.1, 0.5, 0.3, 0.0])  # x, y, vx, vy of the cue ball


def rack(cue: Any) -> Any:
    x, v = learn.billiards_start()
    x[0], v[0] = cue[:2], cue[2:]
    return x, v


def ours(system: Any) -> Any:
    def evaluate(cue: Any) -> Any:
        r = system.rollout(*rack(cue), STEPS)
        off = r.x[-1, -1] - GOAL
        bar = np.zeros_like(r.states)
        bar[-1, 0, -1] = 2 * off
        g = r.vjp(bar)
        return off @ off, np.r_[g.x[0], g.v[0]]

    return evaluate


FIRST, SECOND = np.triu_indices(11, 1)


def quiet_steps(x: Any, v: Any, left: Any) -> Any:
    """Steps in which no two balls can come near: balls move straight."""
    gap = np.linalg.norm(x[FIRST] - x[SECOND], axis=1) - 2 * RADIUS
    speed = np.linalg.norm(v[FIRST] - v[SECOND], axis=1) + 1e-12
    return int(np.clip((gap / (speed * DT)).min() - 2, 0, left))


def taichi(cue: Any) -> Any:
    """DiffTaichi's step with its derivative along the four unknowns.

    Pairs that approach and overlap at the predicted position exchange impulses; balls move on from the time of impact.
    """
    x, v = rack(cue)
    dx, dv = np.zeros((11, 2, 4)), np.zeros((11, 2, 4))
    dx[0, :, :2] = dv[0, :, 2:] = np.eye(2)
    done = 0
    while done < STEPS:
        skip = quiet_steps(x, v, STEPS - done)
        if skip > 0:
            x, dx, done = x + skip * DT * v, dx + skip * DT * dv, done + skip
            continue
        impulse, dimpulse, shift, dshift = (
            np.zeros((11, 2)),
            np.zeros((11, 2, 4)),
            np.zeros((11, 2)),
            np.zeros((11, 2, 4)),
        )
        near = np.linalg.norm((x + DT * v)[FIRST] - (x + DT * v)[SECOND], axis=1) < 2 * RADIUS
        for i, j in zip(FIRST[near], SECOND[near], strict=True):
            d, dd = x[i] + DT * v[i] - x[j] - DT * v[j], dx[i] + DT * dv[i] - dx[j] - DT * dv[j]
            u, du = v[i] - v[j], dv[i] - dv[j]
            length = np.sqrt(d @ d)
            n = d / (length + 1e-6)
            dlength = d @ dd / length
            dn = (dd - n[:, None] * dlength) / (length + 1e-6)
            speed, dspeed = n @ u, n @ du + u @ dn
            if speed >= 0:
                continue
            p, dp = -0.5 * (1 + E) * speed * n, -0.5 * (1 + E) * (n[:, None] * dspeed + speed * dn)
            slow = min(-1e-3, speed)
            toi = (length - 2 * RADIUS) / slow
            dtoi = dlength / slow - (toi / slow * dspeed if speed < -1e-3 else 0)
            late, dlate = (toi - DT, dtoi) if toi < DT else (0.0, 0 * dtoi)
            for ball, sign in ((i, 1), (j, -1)):
                impulse[ball] += sign * p
                dimpulse[ball] += sign * dp
                shift[ball] += sign * late * p
                dshift[ball] += sign * (late * dp + p[:, None] * dlate)
        v, dv = v + impulse, dv + dimpulse
        x, dx, done = x + DT * v + shift, dx + DT * dv + dshift, done + 1
    off = x[-1] - GOAL
    return off @ off, 2 * off @ dx[-1]


def descend(evaluate: Any) -> Any:
    cue, losses, best = START.copy(), [], (np.inf, START)
    for _ in range(ITERATIONS):
        loss, gradient = evaluate(cue)
        losses.append(loss)
        best = min(best, (loss, cue.copy()), key=lambda b: b[0])
        cue -= RATE * gradient
    return losses, best[1]


def draw(path: Any, results: Any) -> Any:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415
    from matplotlib.patches import Circle  # noqa: PLC0415

    figure, (table, curve) = plt.subplots(1, 2, figsize=(11, 4.5))
    for k, (name, (losses, cue)) in enumerate(results.items()):
        curve.semilogy(losses, label=name, color=f"C{k}")
        table.add_patch(Circle(cue[:2], RADIUS, fill=False, color=f"C{k}", label=name))
        table.arrow(*cue[:2], *(0.3 * cue[2:]), color=f"C{k}", width=0.002)
    for ball in rack(START)[0]:
        table.add_patch(Circle(ball, RADIUS, fill=False, color="grey"))
    table.plot(*GOAL, "kx")
    table.set(xlim=(-0.1, 1), ylim=(0.3, 0.85), aspect="equal", title="cue ball: start (grey) and solutions")
    table.legend(fontsize=7, loc="upper left")
    curve.set(xlabel="iteration", ylabel="loss (m²)", title="gradient descent, rate 0.01")
    curve.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


task = learn.task("billiards")
methods = {
    "derivative of the step": ours(task.system(threads=1)),
    "time of impact": ours(task.system(threads=1, toi=True)),
    "DiffTaichi's step": taichi,
}
results = {}
for name, method in methods.items():
    results[name] = losses, cue = descend(method)
    print(f"{name:23}: first loss {losses[0]:.8f}, best {min(losses):.2e}, cue {np.round(cue, 4)}")
swapped = methods["time of impact"](results["DiffTaichi's step"][1])[0], taichi(results["time of impact"][1])[0]
print(f"DiffTaichi's solution in our step: {swapped[0]:.2e}; ours in DiffTaichi's: {swapped[1]:.2e}")
print(f"the time of impact leads below 1e-4: {min(results['time of impact'][0]) < 1e-4}")
if len(sys.argv) > 1:
    draw(sys.argv[1], results)
