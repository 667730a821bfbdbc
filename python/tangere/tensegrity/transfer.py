"""Rolling along x at 1 m/s: planned on one engine, executed on another.

The task of the paper: 50 controls of 0.1 s, from (0, 0) towards (5, 0). MPPI as published has 5 iterations of 40
samples of 1 s per control. The cost of a plan is the sum over its controls of

    1/2 |p - (t, 0)|^2 + 1/2 |p' - (1, 0)|^2     (m, m/s; p: horizontal part of the centre of mass),

the same for every engine. A planner that is given the state of MuJoCo before every control is `closed`; `open`: the
controls are planned with the planner's own engine as the robot, and then executed on MuJoCo without looking.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere.control import Cost, Loop, Plan, Planner, run
from tangere.model import Model
from tangere.sim import Sim
from tangere.tensegrity.robot import REACH, RODS, STEP, TUPLE, body_unknowns, contact_unknowns, scale
from tangere.tensegrity.train import stable_dt

Array = NDArray[np.float64]

CONTROLS, HORIZON, ITERATIONS, SAMPLES = 50, 10, 5, 40  # as published
HOLD = round(TUPLE / STEP)
SPEED = 1.0  # m/s, as published
NOISE = 0.3 * REACH  # standard deviation of sampled controls; not published
TEMPERATURE = 0.2  # standard deviations of the costs; not published
WIDEST = 4.0  # random parameters are off by up to this factor, either way


def target(k: int) -> Array:
    """Where the centre of mass is to be at the rows of plan k, (HORIZON + 1, 3)."""
    t = (k + np.arange(HORIZON + 1)) * TUPLE
    return np.stack([SPEED * t, 0 * t, 0 * t], axis=1)


def make_planner(
    m: Model, method: str = "mppi", seed: int = 0, threads: int | None = None, samples: int | None = None, **more: Any
) -> Planner:
    """The planner of the task on our engine. samples: of an iteration (as published)."""
    samples = samples or SAMPLES
    cost = Cost(com=target(0), com_velocity=[SPEED, 0, 0], weight_com=[1, 1, 0], weight_com_velocity=[1, 1, 0])
    budget = {"iterations": ITERATIONS, "samples": samples}
    if method == "random":
        budget = {"iterations": 1, "samples": ITERATIONS * samples}
    return Planner(
        m, cost, method, HORIZON, HOLD, STEP, seed=seed, threads=threads, noise=NOISE, temperature=TEMPERATURE,
        **{**budget, **more},
    )  # fmt: skip


class MujocoRobot:
    """What the plans move: SUPERball in MuJoCo."""

    def __init__(self, text: str) -> None:
        import mujoco  # noqa: PLC0415  (an extra)

        self._step = mujoco.mj_step
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    q = property(lambda self: self.data.qpos, doc="Configuration.")
    v = property(lambda self: self.data.qvel, doc="Velocity.")
    act = property(lambda self: self.data.act, doc="Activations.")

    def step(self, u: Array) -> None:
        """One step of MuJoCo."""
        self.data.ctrl[:] = u
        self._step(self.model, self.data)


class MujocoPlanner:
    """MPPI with rollouts of MuJoCo over threads: the same cost, the same budget, the same formula."""

    def __init__(self, text: str, seed: int = 0, threads: int | None = None, samples: int | None = None) -> None:
        import mujoco  # noqa: PLC0415  (an extra)
        from mujoco import rollout  # noqa: PLC0415

        self._samples = samples or SAMPLES

        threads = threads or len(os.sched_getaffinity(0))
        self.model = mujoco.MjModel.from_xml_string(text)
        self._data = [mujoco.MjData(self.model) for _ in range(threads)]
        self._rollout = rollout.Rollout(nthread=threads)
        self._rng = np.random.default_rng(seed)
        self.u = np.zeros((HORIZON, self.model.nu))
        self.hold, self.dt, self.first = HOLD, STEP, 0

    def aim(self, com: Array) -> None:
        """Sets the target of the centre of mass."""
        self._com = com

    def costs(self, q: Array, v: Array, act: Array, u: Array) -> Array:
        """Of plans u (n, HORIZON, nu)."""
        m, n = self.model, len(u)
        start = np.tile(np.concatenate([[0.0], q, v, act]), (n, 1))
        states, _ = self._rollout.rollout(m, self._data, start, np.repeat(u, HOLD, axis=1))
        rows = np.concatenate([start[:, None], states[:, HOLD - 1 :: HOLD]], axis=1)
        p = rows[..., 1 : 1 + m.nq].reshape(n, HORIZON + 1, RODS, 7)[..., :2].mean(axis=2)
        w = rows[..., 1 + m.nq : 1 + m.nq + m.nv].reshape(n, HORIZON + 1, RODS, 6)[..., :2].mean(axis=2)
        away = ((p - self._com[:, :2]) ** 2).sum(axis=(1, 2)) + ((w - [SPEED, 0]) ** 2).sum(axis=(1, 2))
        return np.where(np.isfinite(away), 0.5 * away, np.inf)

    def plan(self, q: Array, v: Array, act: Array, *, cache: Any = None) -> Plan:
        """One plan from a state; see `tangere.control.Planner.plan`."""
        began = time.perf_counter()
        blown, cost, first = 0, np.inf, np.nan
        for i in range(ITERATIONS):
            noise = NOISE * self._rng.standard_normal((self._samples, *self.u.shape))
            noise[0] = 0  # the plan so far
            samples = np.clip(self.u + noise, -REACH, REACH)
            costs = self.costs(q, v, act, samples)
            good = np.isfinite(costs)
            blown += int((~good).sum())
            if i == 0:
                first = float(costs[0])
            if not good.any():
                raise Error("all rollouts of MuJoCo blew up", "value out of domain")
            spread = costs[good].std()
            cost = float(costs[good].min())
            weights = np.exp(-(costs - cost) / (TEMPERATURE * spread)) if spread > 0 else good.astype(float)
            self.u = np.einsum("n,nhu->hu", weights / weights.sum(), samples)
        empty = np.empty((0, 0))
        seconds = time.perf_counter() - began
        rollouts = ITERATIONS * self._samples
        return Plan(
            self.u.copy(), empty, empty, empty, None, cost, first, ITERATIONS, rollouts, blown, 0, "done", seconds
        )

    def shift(self) -> None:
        """Shifts the plan by one row."""
        self.u = np.concatenate([self.u[1:], self.u[-1:]])


@dataclass(frozen=True)
class Roll:
    """A roll on MuJoCo: com (n + 1, 3) at the controls; u (n, 24); seconds: per plan; rollouts, blown; cpu (s)."""

    com: Array
    q: Array
    v: Array
    act: Array
    u: Array
    seconds: Array
    rollouts: int
    blown: int
    cpu: float

    @property
    def speed(self) -> float:
        """Mean velocity along x, m/s."""
        return float((self.com[-1, 0] - self.com[0, 0]) / (TUPLE * len(self.u)))

    @property
    def miss(self) -> float:
        """Distance of the end from where it is to be, m."""
        return float(np.hypot(self.com[-1, 0] - SPEED * TUPLE * len(self.u), self.com[-1, 1]))


def random_factors(m: Model, seed: int) -> Array:
    """Factors of stiffness, damping, mass and friction, log-uniform in [1/4, 4]; drawn again where 1 ms is unstable."""
    rng = np.random.default_rng(seed)
    while True:
        factors = np.exp(rng.uniform(-np.log(WIDEST), np.log(WIDEST), 4))
        other = m.copy()
        scale(other, body_unknowns(other), factors[:3])
        if stable_dt(other) > STEP:
            return factors


def with_factors(m: Model, factors: Array) -> Model:
    """A copy with other stiffness, damping, mass and, if there is a fourth factor, friction; a fifth is that of rolling
    and spinning friction alone."""
    m = m.copy()
    scale(m, body_unknowns(m), np.asarray(factors)[:3])
    if len(factors) > 3:
        scale(m, contact_unknowns(m), np.array([factors[3], factors[-1]]))
    return m


@dataclass
class Part:
    """The part of a roll that is done: executed controls u (n, 24), the plan for the rest, and what they took."""

    u: Array
    plan: Array
    seconds: Array
    rollouts: int = 0
    blown: int = 0
    cpu: float = 0.0

    def save(self, path: str, key: str) -> None:
        """Writes the file anew; a reader sees the old one or the new one."""
        fresh = Path(path).with_suffix(".part.npz")
        np.savez(fresh, key=key, **asdict(self))
        fresh.replace(path)

    @staticmethod
    def load(path: str | None, key: str) -> Part | None:
        """None: there is no such file, or it is of another roll or of one that is complete."""
        if path is None or not Path(path).exists():
            return None
        with np.load(path) as kept:
            if "key" not in kept.files or str(kept["key"]) != key:
                return None
            return Part(*(kept[name] if kept[name].ndim else kept[name].item() for name in asdict(_NOTHING)))


_NOTHING = Part(np.empty((0, 0)), np.empty((0, 0)), np.empty(0))


def roll(
    planner: Any,
    text: str,
    controls: int = CONTROLS,
    *,
    own: Sim | None = None,
    progress: Any = None,
    keep: str | None = None,
    key: str = "",
    part: Part | None = None,
) -> Roll:
    """Moves MuJoCo's robot. own: the controls are planned with this as the robot, and executed without looking.

    keep: a file (.npz) that has the part that is done, after every control, as `key`. part: such a part, to go on from:
    its controls are executed again, and the planner goes on with its plan.
    """
    robot = MujocoRobot(text)
    done = part or _NOTHING
    kept = [_state(robot)]
    for u in done.u:
        for _ in range(HOLD):
            robot.step(u)
        kept.append(_state(robot))
    if part is not None:
        planner.u = part.plan.copy()
    began = time.process_time()
    far = Part(done.u, done.plan, done.seconds, done.rollouts, done.blown, done.cpu)

    def tell(k: int, total: int, plan: Plan) -> Any:
        far.u = np.concatenate([far.u.reshape(-1, plan.u.shape[1]), plan.u[:1]])
        far.seconds = np.append(far.seconds, plan.seconds)
        far.rollouts, far.blown = far.rollouts + plan.rollouts, far.blown + plan.blown
        if keep is not None and own is None:
            far.plan, far.cpu = np.array(planner.u), done.cpu + time.process_time() - began
            far.save(keep, key)
        return None if progress is None else progress(len(done.u) + k, len(done.u) + total, plan)

    loop: Loop = run(
        planner, robot if own is None else own, controls - len(done.u), progress=tell,
        before=lambda k, planner: planner.aim(com=target(len(done.u) + k)),
    )  # fmt: skip
    cpu = done.cpu + time.process_time() - began
    if own is None:
        kept += [*zip(loop.q[1:], loop.v[1:], loop.act[1:], strict=True)]
    else:
        for u in loop.u:
            for _ in range(HOLD):
                robot.step(u)
            kept.append(_state(robot))
    q, v, act = (np.array(x) for x in zip(*kept, strict=True))
    path = q.reshape(len(q), RODS, 7)[:, :, :3].mean(axis=1)
    return Roll(path, q, v, act, far.u, far.seconds, far.rollouts, far.blown, cpu)


def _state(robot: MujocoRobot) -> tuple[Array, Array, Array]:
    return robot.q.copy(), robot.v.copy(), robot.act.copy()
