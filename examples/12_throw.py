"""Throws of a spinning disk: one that leaves the floor vertically, one that hits a mark after one bounce.

The disk (0.1 kg, radius 0.1 m, friction 0.2, restitution 0.8) starts at (0.25, 0.65). `12_throw.py FILE.png` draws it.
The same in C: 12_throw.c.
"""

import sys
from typing import Any

import numpy as np
from tangere import learn

STEPS = 150
# derivatives with the time of impact: when the disk bounces depends on the throw, as a step's derivative does not see
system = learn.task("BD1").system(threads=1, toi=True)
AXES = np.array([[0.0, 0], [1, 0], [0, 1]])
TURN = np.array([[0.0, 0], [0, 1], [-1, 0]])  # velocities of the points per rad/s


def throw(velocity: Any, spin: Any) -> Any:
    """Rollout, and the states at which the vertical velocity has changed its sign: bounce, apex, bounce."""
    r = system.rollout(np.array([0.25, 0.65]) + AXES, np.array(velocity) + spin * TURN, STEPS)
    down = r.v[:, 0, 1] < 0
    turns = np.flatnonzero(down[1:] != down[:-1]) + 1
    return r, turns[~down[turns] | (turns > turns[~down[turns]].min(initial=STEPS))]


def spin_gradient(r: Any, bar: Any) -> Any:
    g = r.vjp(bar)
    return np.r_[g.v.sum(0), (g.v * TURN).sum()]


def vertical(spin: Any) -> Any:
    """|vx| after the bounce and how far the disk moves sideways until the apex."""
    r, turns = throw((0.6, 0.4), spin)
    after, apex = turns[0] + 1, turns[1] - 1
    vx, moved = r.v[after, 0, 0], r.x[after, 0, 0] - r.x[apex, 0, 0]
    bar = np.zeros_like(r.states)
    bar[after, 1, 0, 0] = np.sign(vx)
    bar[after, 0, 0, 0] += np.sign(moved)
    bar[apex, 0, 0, 0] -= np.sign(moved)
    return abs(vx) + abs(moved), spin_gradient(r, bar)[2], r


def hit(unknowns: Any) -> Any:
    """Distance from the mark (0.75, 0.1) at the last state before the second bounce."""
    r, turns = throw(unknowns[:2], unknowns[2])
    last = turns[2] - 1 if len(turns) > 2 else STEPS
    off = r.x[last, 0] - [0.75, 0.1]
    bar = np.zeros_like(r.states)
    bar[last, 0, 0] = np.sign(off) / 2
    return np.abs(off).mean(), spin_gradient(r, bar), r


def draw(path: Any, rolls: Any) -> Any:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 3, figsize=(12, 4))
    for axis, (name, r) in zip(axes, list(rolls.items())[:2], strict=False):
        axis.plot(r.x[:, 0, 0], r.x[:, 0, 1], ".-", markersize=2)
        axis.set(title=name, xlim=(0, 1), ylim=(0, 1), aspect="equal")
    for name, curve in rolls["curves"].items():
        axes[2].semilogy(np.maximum(curve, 1e-16), label=name)
    axes[2].set(title="loss", xlabel="iteration")
    axes[2].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


for spin in (0.0, 6.0, 12.0):
    print(f"vertical: spin {spin:4.1f} rad/s, loss {vertical(spin)[0]:.6f}")
# the loss is |a + b spin| until the disk slides: Newton's step on it is loss / slope
spin, curve, loss, roll = 0.0, [], np.inf, None
for _ in range(20):
    loss, slope, roll = vertical(spin)
    curve.append(loss)
    if loss < 1e-12 or slope == 0:
        break
    spin -= loss / slope
print(f"vertical: spin {spin:.6f} rad/s, loss {loss:.1e}, found: {abs(spin - 12) < 1e-3}")

# Adam; the number of steps until the second bounce changes, so the loss jumps by what the disk moves in a step
unknowns, m, s, losses = np.zeros(3), np.zeros(3), np.zeros(3), []
best: Any = (np.inf, None, None)
for k in range(1, 1001):
    loss, gradient, roll_hit = hit(unknowns)
    losses.append(loss)
    if loss < best[0]:
        best = loss, unknowns.copy(), roll_hit
    if loss < 1e-3:
        break
    m, s = 0.9 * m + 0.1 * gradient, 0.999 * s + 0.001 * gradient**2
    rate = 0.1 * 0.5 * (1 + np.cos(np.pi * k / 1000))
    unknowns -= rate * (m / (1 - 0.9**k)) / (np.sqrt(s / (1 - 0.999**k)) + 1e-8)
print(
    f"hit: loss {best[0]:.2e} after {len(losses)} iterations, v {np.round(best[1][:2], 4)} m/s, spin {best[1][2]:.3f}"
)
print(f"hit: below 1e-3: {best[0] < 1e-3}")
if len(sys.argv) > 1:
    draw(sys.argv[1], {"vertical": roll, "hit": best[2], "curves": {"vertical": curve, "hit": losses}})
