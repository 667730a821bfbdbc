"""Bias against spread: how far a box is pushed by a finger, from gaps of 0 to 20 cm, and what derivatives say of it.

The objective is x, where the box is at the end; the input one number, how hard the finger pushes. Derivatives of the
steps as they are (exact, toi), smoothed at three reaches, and the mean of exact ones over perturbed starts
(randomised). Slopes of x over a wide change of the push are what a descent can use.

    python examples/gradients/reach.py [picture.png]
"""

import sys
from typing import Any

import numpy as np
import tangere as tg

SCENE = """<mujoco><option timestep="0.005"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.3"/>
<body name="finger" pos="-0.13 0 0.1"><joint name="finger" type="slide" axis="1 0 0" damping="20"/>
    <geom name="finger" type="sphere" size="0.03" mass="0.5" friction="0.31"/></body>
<body name="box" pos="0 0 0.1"><freejoint/>
    <geom name="box" type="box" size="0.1 0.1 0.1" mass="1" friction="0.32"/></body>
</worldbody><actuator><motor joint="finger"/></actuator></mujoco>"""
STEPS, PUSH, WIDE, SAMPLES, SPREAD = 100, 5.0, 2.5, 100, 0.02  # steps; N; N; starts, their spread (m)
REACHES = (0.03, 0.1, 0.3)  # m
GAPS = np.r_[0.0, 0.002, 0.005, np.arange(0.01, 0.201, 0.01)]


def rollout(m: Any, gap: Any, push: Any = PUSH, tape: Any = True, **options: Any) -> Any:
    q = m.default_q()
    q[0] -= gap
    return tg.rollout(m, q, np.zeros(m.nv), np.full((1, 1), push), steps=STEPS, hold=STEPS, tape=tape, **options)


def slope(m: Any, gap: Any, **options: Any) -> Any:
    """Of where the box ends, by the push."""
    r = rollout(m, gap, **options)
    return r.vjp(gq=np.eye(m.nv)[1], at=-1).u.sum()


def wide(m: Any, gap: Any) -> Any:
    """The same by a difference over +- WIDE."""
    return (rollout(m, gap, PUSH + WIDE, False).q[-1, 1] - rollout(m, gap, PUSH - WIDE, False).q[-1, 1]) / (2 * WIDE)


def study() -> Any:
    """Slopes by gap: a dict of arrays; of "randomised" also the standard deviation of one sample."""
    m, rng = tg.load_string(SCENE), np.random.default_rng(0)
    out = {"over a wide change": [wide(m, g) for g in GAPS], "exact": [slope(m, g) for g in GAPS]}
    out["toi"] = [slope(m, g, backward="toi") for g in GAPS]
    out["exact, impact within"] = [slope(m, g, impact="within") for g in GAPS]
    for reach in REACHES:
        out[f"smoothed, reach {100 * reach:g} cm"] = [
            slope(m, g, backward="smoothed", smooth_reach=reach) for g in GAPS
        ]
    draws = [[slope(m, abs(g + SPREAD * rng.standard_normal())) for _ in range(SAMPLES)] for g in GAPS]
    out["randomised"], out["spread of one"] = np.mean(draws, axis=1), np.std(draws, axis=1)
    return {name: np.array(values) for name, values in out.items()}


def draw(found: Any, path: Any) -> Any:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    styles = {
        "over a wide change": "k--",
        "exact": "k.-",
        "toi": "x:",
        "exact, impact within": "o-",
        "randomised": "s-",
    }
    for name, values in found.items():
        if name == "spread of one":
            continue
        line = axes.plot(100 * GAPS, 1e3 * values, styles.get(name, "-"), label=name, markersize=4)[0]
        if name == "randomised":
            low, high = values - found["spread of one"], values + found["spread of one"]
            axes.fill_between(100 * GAPS, 1e3 * low, 1e3 * high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set(xlabel="gap between finger and box, cm", ylabel="d(where the box ends) / d(push), mm/N")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    found = study()
    print("gap, cm: " + ", ".join(found))
    for i, gap in enumerate(GAPS):
        print(f"{100 * gap:5.1f}: " + ", ".join(f"{1e3 * values[i]:8.3f}" for values in found.values()))
    if len(sys.argv) > 1:
        draw(found, sys.argv[1])
