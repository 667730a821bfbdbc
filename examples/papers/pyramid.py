"""The bias of friction pyramids (staggered projections, Fig. 5): one-step estimates of friction in 16 directions.

A cube slides with the round cone, mu 0.2; the coefficient is estimated from one step with each law. By hand, off the
axes and the diagonals: box mu (|cos| + |sin|) / 2, diamond mu max(|cos|, |sin|), and 1.414 mu on the diagonal.
"""

import numpy as np
import tangere as tg
from friction import MU, SCENE
from paper import Experiment, arguments

LAWS = ("ncp", "lcp-box", "lcp-diamond")


def expected(law, angle):
    """Estimated over true coefficient, by hand."""
    c, s = abs(np.cos(angle)), abs(np.sin(angle))
    if law == "ncp":
        return 1.0
    if law == "lcp-box":  # on an axis the other component of friction holds, and carries nothing
        return 1.0 if min(c, s) < 1e-9 else (c + s) / 2
    return np.sqrt(2) if abs(c - s) < 1e-9 else max(c, s)


def estimate(law, angle, mu=0.2):
    """Least squares on the velocity after one step, by mu alone: Gauss-Newton from a coefficient 20 % off."""
    m = tg.load_string(SCENE)
    start = np.zeros(6)
    start[:2] = 3 * np.cos(angle), 3 * np.sin(angle)
    start[np.abs(start) < 1e-12] = 0
    m.params[MU] = mu
    data = tg.step(m, m.default_q(), start)[1][:2]
    found = 1.2 * mu
    for _ in range(6):
        m.params[MU] = found
        sim = tg.Sim(m, law=law)
        sim.v = start
        sim.step()
        slope = sim.jacobian(params=[MU]).dv_dparams[:2, 0]
        found += slope @ (data - sim.v[:2]) / (slope @ slope)
    return found / mu


def main(small=False):
    told = Experiment("pyramid", "The bias of friction pyramids", "pyramids are biased off their axes (Fig. 5)")
    count = 16
    angles = 2 * np.pi * np.arange(count) / count
    found = {law: np.array([estimate(law, angle) for angle in angles]) for law in LAWS}
    for law in LAWS:
        want = np.array([expected(law, angle) for angle in angles])
        for degrees in (0, 22.5, 45):
            k = int(degrees / 22.5)
            told.row(f"{law}, {degrees:g} degrees: estimate over mu", f"{want[k]:.4f}", f"{found[law][k]:.4f}")
        told.row(f"{law}: largest difference over {count} directions", "0", f"{np.abs(found[law] - want).max():.1e}")

    worst = max(np.abs(found[law] - [expected(law, angle) for angle in angles]).max() for law in LAWS)
    told.words(
        f"the cone has no bias; box and diamond have that worked out by hand, to {worst:.0e} in all {count} directions."
    )

    def draw(figure):
        axes = figure.add_subplot(projection="polar")
        for law in LAWS:
            axes.plot(np.r_[angles, angles[0]], np.r_[found[law], found[law][0]], "o-", label=law)
        axes.set_title("estimated over true friction")
        axes.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.08, 1.0))

    if not small:
        told.figure(draw, figsize=(5, 5))
    told.done()
    return angles, found


if __name__ == "__main__":
    main(arguments().small)
