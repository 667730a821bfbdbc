"""iLQR in closed loop on the quadruped: trot in place, turn by 90 degrees, recover from a push, climb a step.

Plans look 30 steps of 10 ms ahead, one iteration each, with smoothed derivatives: contacts that are not yet made or not
yet broken are planned through. Seeds change the start and the direction of the push. The rate is that of processor
time on one thread, the simulated robot included.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import tangere as tg

FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
HORIZON, DT = 30, 0.01
PERIOD = 0.5  # s: each foot goes up twice a second
RADIUS = 0.025  # m: of a foot


def feet_heights(k: int, until: float = np.inf) -> np.ndarray:
    """Where the sites of the feet are to be (horizon + 1, 4, 3): diagonal pairs lift in turn; only heights count."""
    t = (k + np.arange(HORIZON + 1)) * DT
    wave = np.where(t < until, np.sin(2 * np.pi * t / PERIOD), 0)
    target = np.zeros((HORIZON + 1, 4, 3))
    for foot, sign in enumerate((1, -1, -1, 1)):
        target[:, foot, 2] = RADIUS + 0.08 * np.maximum(0, sign * wave)
    return target


class Climb:
    """References of a trot over an edge: feet go from foothold to foothold, the trunk follows their mean.

    Footholds are a stride apart and not within AWAY of the edge. A foot goes up before it goes forward.
    """

    EDGE, AWAY, STRIDE, LIFT = 0.32, 0.06, 0.08, 0.08  # m
    DISTANCE, START = 0.75, 0.5  # m, s
    PHASE = (0.0, 0.5, 0.5, 0.0)  # diagonal pairs by turns

    def __init__(self, model: tg.Model, height: float) -> None:
        self.height, self.home = height, model.key("home").q
        self.feet_home = np.array([model.site_pose(foot, self.home)[0] for foot in FEET])

    def ground(self, x: np.ndarray) -> np.ndarray:
        return np.where(x > self.EDGE, self.height, 0.0)

    def foothold(self, foot: int, n: np.ndarray) -> np.ndarray:
        x = self.feet_home[foot, 0] + np.clip(self.STRIDE * n, 0, self.DISTANCE)
        away = self.EDGE + np.where(x > self.EDGE, self.AWAY, -self.AWAY)
        return np.where(np.abs(x - self.EDGE) < self.AWAY, away, x)

    def swing(self, t: np.ndarray, foot: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Footholds before and after, and how much of the way between them is done."""
        cycle = np.maximum((t - self.START) / PERIOD - self.PHASE[foot], 0)
        n = np.floor(cycle)
        return self.foothold(foot, n), self.foothold(foot, n + 1), np.clip(2 * (cycle - n), 0, 1)

    def feet(self, k: int) -> np.ndarray:
        t = (k + np.arange(HORIZON + 1)) * DT
        target = np.tile(self.feet_home, (HORIZON + 1, 1, 1))
        for foot in range(4):
            before, after, s = self.swing(t, foot)
            smooth = s * s * (3 - 2 * s)
            low, rise = self.ground(before), self.ground(after) - self.ground(before)
            target[:, foot, 0] = before + (after - before) * np.clip(1.5 * smooth - 0.25, 0, 1)
            target[:, foot, 2] = RADIUS + low + rise * np.clip(3 * smooth, 0, 1) + self.LIFT * np.sin(np.pi * s)
        return target

    def poses(self, k: int) -> np.ndarray:
        t = (k + np.arange(HORIZON + 1)) * DT
        ways = [self.swing(t, foot) for foot in range(4)]
        x = np.array([a + (b - a) * s for a, b, s in ways]).T
        z = np.array([self.ground(a) + (self.ground(b) - self.ground(a)) * s for a, b, s in ways]).T
        q = np.tile(self.home, (HORIZON + 1, 1))
        q[:, 0] += (x - self.feet_home[:, 0]).mean(axis=1)
        q[:, 2] += z.mean(axis=1)
        length = self.feet_home[0, 0] - self.feet_home[2, 0]
        pitch = -np.arctan2(z[:, :2].mean(axis=1) - z[:, 2:].mean(axis=1), length)
        q[:, 3], q[:, 5] = np.cos(pitch / 2), np.sin(pitch / 2)
        return q


def poses(home: np.ndarray, k: int, turn: float) -> np.ndarray:
    """References of q: the home pose, turned to `turn` (rad) within the first 3 s."""
    t = (k + np.arange(HORIZON + 1)) * DT
    s = np.clip(t / 3, 0, 1)
    yaw = turn * s * s * (3 - 2 * s)
    q = np.tile(home, (HORIZON + 1, 1))
    q[:, 3], q[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    return q


def with_step(height: float) -> tg.Model:
    """The quadruped before a step: a box from Climb.EDGE on."""
    path = Path(__file__).resolve().parents[2] / "models" / "quadruped.xml"
    box = (
        f'<geom name="step" type="box" pos="{Climb.EDGE + 2} 0 {height / 2}" size="2 2 {height / 2}" contype="1" '
        'conaffinity="0"/>'
    )
    text = path.read_text()
    return tg.load_string(text.replace('<body name="trunk"', f'{box}<body name="trunk"'))


class Run:
    """One closed loop of a task."""

    def __init__(
        self,
        seed: int,
        *,
        turn: float = 0.0,
        push: np.ndarray | None = None,
        until: float = np.inf,
        step: float = 0.0,
    ) -> None:
        self.model = tg.load("quadruped") if step == 0 else with_step(step)
        self.climb = Climb(self.model, step) if step else None
        self.home = self.model.key("home")
        self.turn, self.push, self.until = turn, push, until
        weight = np.r_[20, 20, 50, 50, 50, 50, np.full(12, 0.5)]
        cost = tg.control.Cost(
            q=poses(self.home.q, 0, turn), weight_q=weight, weight_v=0.01, u=self.home.ctrl, weight_u=0.02, sites=FEET,
            site_target=feet_heights(0), weight_site=[100, 25, 600] if step else [0, 0, 600],
        )  # fmt: skip
        self.planner = tg.control.Planner(
            self.model, cost, "ilqr", HORIZON, dt=DT, iterations=1, threads=1, u=self.home.ctrl, backward="smoothed",
            smooth_speed=0.1,
        )  # fmt: skip
        self.sim = tg.Sim(self.model, dt=DT)
        self.sim.reset("home")
        rng = np.random.default_rng(seed)
        q, v = self.sim.q.copy(), self.sim.v.copy()
        q[7:] += 0.03 * rng.normal(size=12)
        q[2] += 0.01
        v[:6] = 0.1 * rng.normal(size=6)
        self.sim.q, self.sim.v = q, v

    def _aim(self, k: int, planner: tg.control.Planner) -> None:
        if self.climb is not None:
            planner.aim(site_target=self.climb.feet(k), q=self.climb.poses(k))
            return
        planner.aim(site_target=feet_heights(k, self.until), q=poses(self.home.q, k, self.turn))

    def _step(self, k: int, i: int, u: np.ndarray) -> None:
        wrench = None
        if self.push is not None and 1.0 <= k * DT < 1.1:
            wrench = np.zeros((self.model.nbody, 6))
            wrench[self.model.names("body").index("trunk"), :3] = self.push
        self.sim.step(u=u, wrench=wrench)

    def __call__(self, seconds: float) -> tuple[tg.control.Loop, float]:
        """The loop, and seconds of processor time per plan and step."""
        began = time.process_time()
        loop = tg.control.run(self.planner, self.sim, round(seconds / DT), before=self._aim, step=self._step)
        return loop, (time.process_time() - began) / len(loop.u)

    def feet(self, q: np.ndarray) -> np.ndarray:
        return np.array([self.model.site_pose(foot, q)[0] for foot in FEET])

    def heights(self, loop: tg.control.Loop) -> np.ndarray:
        return np.array([[self.model.site_pose(foot, q)[0][2] - RADIUS for foot in FEET] for q in loop.q])


def tilt(q: np.ndarray) -> np.ndarray:
    """Angle of the trunk's z axis with the vertical, degrees."""
    w, x, y, z = q[..., 3:7].T
    return np.degrees(np.arccos(np.clip(w * w - x * x - y * y + z * z, -1, 1)))


def trot(seed: int) -> tuple[bool, str, float]:
    run = Run(seed)
    loop, cpu = run(5.0)
    rows = round(PERIOD / DT)
    lifted = min(run.heights(loop)[i : i + rows].max(axis=0).min() for i in range(rows, len(loop.q) - rows, rows))
    drift = np.linalg.norm(loop.q[:, :2], axis=1).max()
    return lifted >= 0.05 and drift < 0.2, f"feet lifted {100 * lifted:.1f} cm, drift {100 * drift:.1f} cm", cpu


def turn(seed: int) -> tuple[bool, str, float]:
    run = Run(seed, turn=np.pi / 2, until=3.5)
    loop, cpu = run(4.0)
    q = loop.q[-1]
    yaw = np.degrees(2 * np.arctan2(q[6], q[3]))
    return abs(yaw - 90) < 5 and tilt(q) < 15, f"turned {yaw:.1f} degrees", cpu


def push(seed: int) -> tuple[bool, str, float]:
    angle = np.random.default_rng(seed + 1000).uniform(0, 2 * np.pi)
    run = Run(seed, push=100 * np.array([np.cos(angle), np.sin(angle), 0]), until=2.5)
    loop, cpu = run(3.1)
    speed, worst, last = np.linalg.norm(loop.v[-1, :3]), tilt(loop.q).max(), tilt(loop.q[-1])
    good = last < 15 and speed < 0.1
    return good, f"tilt {last:.1f} degrees (at most {worst:.1f}), {speed:.3f} m/s 2 s after the push", cpu


def climb(seed: int, height: float = 0.1) -> tuple[bool, str, float]:
    run = Run(seed, step=height)
    loop, cpu = run(6.0)
    feet = np.array([run.feet(q) for q in loop.q])
    up = ((feet[..., 0] > Climb.EDGE) & (feet[..., 2] - RADIUS > height - 0.005)).all(axis=1)
    last = tilt(loop.q[-1])
    first = f"after {np.argmax(up) * DT:.2f} s" if up.any() else "never"
    good = bool(up.any()) and last < 15 and feet[-1, :, 0].min() > Climb.EDGE
    return good, f"four feet on the step of {100 * height:.0f} cm {first}, tilt at the end {last:.1f} degrees", cpu


TASKS = {"trot": trot, "turn": turn, "push": push, "climb": climb}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    for name in given.tasks:
        results = []
        for seed in range(given.first, given.first + given.seeds):
            good, text, cpu = TASKS[name](seed)
            results.append((good, text, cpu))
            print(f"{name}, seed {seed}: {text}{'' if good else ': FAILED'}", flush=True)
        rate = 1 / np.median([cpu for _, _, cpu in results])
        print(f"{name}: {sum(good for good, _, _ in results)} of {len(results)}, {rate:.0f} Hz on one core")


if __name__ == "__main__":
    main()
