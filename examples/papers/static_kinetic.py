"""Static and kinetic friction of a cube that is pulled harder and harder until it slides."""

import numpy as np
import tangere as tg
from paper import Experiment, arguments

SCENE = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
  <geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.18"/></body></worldbody>
<custom><numeric name="tangere:geom.cube.kinetic" data="{}"/></custom></mujoco>"""
STATIC, RATIO = "geom.cube.friction[0]", "geom.cube.kinetic"  # kinetic / static


def pulled(seed=0, dt=0.0005):
    """A force that grows from 0 to 5 N in 2 s."""
    m = tg.load_string(SCENE.format(0.13 / 0.18))
    steps = round(2.0 / dt)
    wrench = np.zeros((steps, m.nbody, 6))
    wrench[:, m.index("body", "cube"), 0] = 2.5 * np.arange(steps) * dt
    r = tg.rollout(m, m.default_q(), np.zeros(6), np.zeros((steps, 0)), dt, wrench=wrench, tape=False, solver="pgs")
    step = round(0.01 / dt)
    q = r.q[::step].copy()
    q[:, :3] += 1e-3 * np.random.default_rng(seed).normal(size=(len(q), 3))
    fine = 0.001 * np.arange(2001)
    push = np.zeros((len(fine), m.nbody, 6))
    push[:, m.index("body", "cube"), 0] = 2.5 * fine
    seen = np.full((len(fine), 7), np.nan)
    seen[::10] = q
    return m, tg.Log("pull", fine, {"q": seen}, wrench=push, start=(m.default_q(), np.zeros(6)))


def main(small=False):
    told = Experiment(
        "static_kinetic", "Static and kinetic friction", "real cube: 0.18 static (measured), 0.13 kinetic (found)"
    )
    m, log = pulled()
    m.params[STATIC], m.params[RATIO] = 0.16, 0.9
    f = tg.fit(
        m,
        [log],
        [STATIC, RATIO],
        dt=0.001,
        noise={"q:position": 1e-3, "q:rotation": 1e-2},
        log_options={"missing": "skip"},
    )
    kinetic, slope = f[STATIC] * f[RATIO], np.array([f[RATIO], f[STATIC]])
    told.row("static", "0.18, 2 %", f"{f[STATIC]:.4f} +- {f.error(STATIC):.4f} ({100 * (f[STATIC] / 0.18 - 1):+.2f} %)")
    told.row(
        "kinetic",
        "0.13, 2 %",
        f"{kinetic:.4f} +- {np.sqrt(slope @ f.covariance @ slope):.4f} ({100 * (kinetic / 0.13 - 1):+.2f} %)",
    )
    told.words(
        f"static {f[STATIC]:.4f} and kinetic {kinetic:.4f} from one pull on a simulated cube with 0.18 and 0.13, "
        "positions with noise of 1 mm; the real cube is not at hand."
    )

    def draw(figure):
        ax = figure.subplots()
        rows = np.isfinite(log.channels["q"][:, 0])
        fitted = tg.rollout(f.model, *log.start, np.zeros((2000, 0)), 0.001, wrench=log.wrench[:2000], tape=False)
        ax.plot(log.time[rows], log.channels["q"][rows, 0], ".", label="data")
        ax.plot(0.001 * np.arange(2001), fitted.q[:, 0], label="fit")
        ax.set(xlabel="time (s)", ylabel="x (m)", title="pulled by 2.5 N/s")
        ax.legend(fontsize="x-small")

    told.figure(draw)
    told.done()
    return f[STATIC], kinetic


if __name__ == "__main__":
    main(arguments().small)
