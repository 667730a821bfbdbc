"""iLQR in closed loop on the planar walker: it walks at 0.5 m/s or more.

Plans look 30 steps of 10 ms ahead, one iteration each, with smoothed derivatives. References: the pose with bent knees,
moved on at 0.52 m/s; feet that lift in turn and move forward by a stride. Seeds change the start. The rate is that of
processor time on one thread, the simulated robot included.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import tangere as tg

FEET = ("right_foot", "left_foot")
HORIZON, DT = 30, 0.01
SLOWEST = 0.5  # m/s: what it is to reach
SPEED, PERIOD, LIFT, BEND, START = 0.52, 0.8, 0.1, 0.3, 0.3  # m/s, s per two steps, m, rad, s: references
LOWEST, STEEPEST = 0.8, 1.0  # m, rad: below or beyond it has fallen


def model() -> tg.Model:
    """The walker with a site under each foot."""
    path = Path(__file__).resolve().parents[2] / "models" / "planar_walker.xml"
    text = path.read_text()
    for foot in FEET:
        text = text.replace(f'<geom name="{foot}"', f'<site name="{foot}" pos="0.05 0 -0.13"/><geom name="{foot}"')
    return tg.load_string(text)


class Run:
    """One walk."""

    def __init__(self, seed: int) -> None:
        self.model = m = model()
        self.pose = m.key("stand").q.copy()
        self.pose[3:] = [-BEND, 2 * BEND, -BEND] * 2
        self.pose[1] -= min(m.site_pose(foot, self.pose)[0][2] for foot in FEET)
        self.feet_home = np.array([m.site_pose(foot, self.pose)[0] for foot in FEET])
        cost = tg.control.Cost(
            **self.references(0), weight_q=np.r_[20, 200, 100, np.full(6, 0.5)],
            weight_v=np.r_[5, 1, 1, np.full(6, 0.01)], weight_u=0.1, sites=FEET, weight_site=[50, 0, 300],
        )  # fmt: skip
        self.planner = tg.control.Planner(
            m, cost, "ilqr", HORIZON, dt=DT, iterations=1, threads=1, backward="smoothed", smooth_speed=0.1
        )
        self.sim = tg.Sim(m, dt=DT)
        rng = np.random.default_rng(seed)
        q = self.pose.copy()
        q[1] += 0.01
        q[3:] += 0.02 * rng.normal(size=6)
        self.sim.q, self.sim.v = q, 0.05 * rng.normal(size=m.nv)

    def references(self, k: int) -> dict[str, np.ndarray]:
        t = (k + np.arange(HORIZON + 1)) * DT - START
        q = np.tile(self.pose, (HORIZON + 1, 1))
        q[:, 0] = SPEED * np.maximum(t, 0)
        v = np.zeros((HORIZON + 1, self.model.nv))
        v[:, 0] = np.where(t > 0, SPEED, 0)
        stride = SPEED * PERIOD
        feet = np.tile(self.feet_home, (HORIZON + 1, 1, 1))
        for foot, phase in enumerate((0.25, -0.25)):
            cycle = t / PERIOD + phase
            n = np.floor(cycle)
            s = np.clip(2 * (cycle - n), 0, 1)  # a foot swings in the first half of its cycle
            before, after = np.maximum(stride * (n - phase), 0), np.maximum(stride * (n + 1 - phase), 0)
            x = before + (after - before) * s * s * (3 - 2 * s) - stride / 4
            feet[:, foot, 0] += np.where(t > 0, x, 0)
            feet[:, foot, 2] = np.where(t > 0, LIFT * np.sin(np.pi * s), 0)
        return {"q": q, "v": v, "site_target": feet}

    def __call__(self, seconds: float) -> tuple[tg.control.Loop, float]:
        """The loop, which ends with a fall, and seconds of processor time per plan and step."""
        began = time.process_time()
        loop = tg.control.run(
            self.planner, self.sim, round(seconds / DT), before=lambda k, planner: planner.aim(**self.references(k)),
            progress=lambda *_: bool(self.sim.q[1] > LOWEST and abs(self.sim.q[2]) < STEEPEST),
        )  # fmt: skip
        return loop, (time.process_time() - began) / len(loop.u)


def walk(seed: int, seconds: float = 6.0) -> tuple[bool, str, float]:
    """The first second is for starting; the mean speed and the feet are those of the five after it."""
    run = Run(seed)
    loop, cpu = run(seconds)
    first = round(1.0 / DT)
    if len(loop.u) < round(seconds / DT):
        return False, f"fell after {len(loop.u) * DT:.2f} s", cpu
    feet = np.array([[run.model.site_pose(foot, q)[0] for foot in FEET] for q in loop.q[first:]])
    speed = (loop.q[-1, 0] - loop.q[first, 0]) / (loop.time[-1] - loop.time[first])
    steps = int((np.diff((feet[..., 2] > LIFT / 4).astype(int), axis=0) > 0).sum())
    down = feet[..., 2].min(axis=1).max()  # the lower foot is on the ground at all times: it walks
    high = feet[..., 2].max()
    text = f"{speed:.3f} m/s, {steps} steps of up to {100 * high:.0f} cm, lower foot up to {100 * down:.1f} cm"
    return speed >= SLOWEST and steps >= 2 * (seconds - 1) / PERIOD - 2, text, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    results = []
    for seed in range(given.first, given.first + given.seeds):
        good, text, cpu = walk(seed)
        results.append((good, cpu))
        print(f"seed {seed}: {text}{'' if good else ': FAILED'}", flush=True)
    rate = 1 / np.median([cpu for _, cpu in results])
    print(f"walk: {sum(good for good, _ in results)} of {len(results)}, {rate:.0f} Hz on one core")


if __name__ == "__main__":
    main()
