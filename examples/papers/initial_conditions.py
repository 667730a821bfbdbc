"""Initial velocity and impulse that bring a cube to a target (end-to-end differentiable simulation, Fig. 3).

Cube of 0.1 m and 1 kg, mu 0.5, 500 steps of 1 ms; the target is 0.5 m ahead and turned by 10 degrees.
"""

import numpy as np
import tangere as tg
from paper import Experiment, arguments

SCENE = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
  <geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.5"/></body></worldbody></mujoco>"""
DOFS = (0, 1, 5)  # where it goes and how it is turned about the vertical


def target(dofs):
    half = np.radians(10) / 2
    return {"q": np.r_[0.5, 0, 0.05, np.cos(half), 0, 0, np.sin(half)], "dofs": dofs}


def run(unknown, derivatives, method="gn", speed=1.0, iterations=50, planar=True, **more):  # noqa: PLR0917
    """planar: the three other numbers of the unknown stay 0; otherwise the whole pose is wanted."""
    m = tg.load_string(SCENE)
    guess, most = np.zeros(6), np.zeros(6)
    guess[0] = speed
    most[list(DOFS)] = np.inf
    bounds = {unknown: (-most, most)} if planar else None
    return tg.solve(
        m,
        target(DOFS if planar else range(6)),
        unknown,
        steps=500,
        guess={unknown: guess},
        derivatives=derivatives,
        method=method,
        iterations=iterations,
        tolerance=1e-9,
        bounds=bounds,
        **more,
    )


def main(small=False):
    told = Experiment(
        "initial_conditions",
        "Initial conditions that reach a target",
        "Gauss-Newton with implicit gradients is precise; gradient descent needs more; differences rise",
    )
    found, curves = {}, {}
    ways = ("exact", "differences") if small else ("exact", "toi", "smoothed", "differences")
    for unknown in ("v0", "impulse"):
        for way in ways:
            s = run(unknown, way)
            miss = float(np.linalg.norm(s.residual))
            found[unknown, way] = (s.iterations, miss, s.seconds)
            curves[f"{unknown}, {way}"] = s.errors
            told.row(
                f"{unknown}, Gauss-Newton, {way}: iterations, miss, s",
                "",
                f"{s.iterations}, {miss:.1e}, {s.seconds:.2f}",
            )
    if not small:
        for unknown in ("v0", "impulse"):
            s = run(unknown, "exact", planar=False)
            told.row(
                f"{unknown}, all six numbers free (the cube may hop), whole pose: iterations, miss",
                "",
                f"{s.iterations}, {np.linalg.norm(s.residual):.1e}: {s.optimum.stop}",
            )
        for way in ways:
            s = run("v0", way, "descent", iterations=100, rate=0.5)
            curves[f"v0, descent, {way}"] = s.errors
            miss = float(np.linalg.norm(s.residual))
            told.row(
                f"v0, gradient descent, {way}: iterations, miss, s", "", f"{s.iterations}, {miss:.1e}, {s.seconds:.2f}"
            )
    for way, more in (("exact", {}), ("differences", {}), ("smoothed", {"smooth_speed": 0.01})):
        try:
            s = run("v0", way, speed=0.0, **more)
            miss = float(np.linalg.norm(s.residual))
        except tg.Error as refusal:
            told.row(f"v0 from rest, {way}", "", str(refusal)[:50])
            continue
        found["rest", way] = (s.iterations, miss)
        told.row(f"v0 from rest, {way}: iterations, miss", "", f"{s.iterations}, {miss:.1e}: {s.optimum.stop}")

    def draw(figure):
        left, right = figure.subplots(1, 2)
        for name, values in curves.items():
            (right if "descent" in name else left).semilogy(np.maximum(values, 1e-12), ".-", label=name)
        for ax in (left, right):
            ax.set(xlabel="iteration", ylabel="miss (m, rad)")
            if ax.lines:
                ax.legend(fontsize="xx-small")

    told.figure(draw)
    told.done()
    return found


if __name__ == "__main__":
    main(arguments().small)
