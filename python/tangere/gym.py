"""Gymnasium environments over a batch: HalfCheetah, Hopper, Walker2d, Ant, Humanoid, a planar walker, a quadruped.

>>> import gymnasium, tangere.gym
>>> envs = gymnasium.make_vec("tangere/Quadruped-v0", num_envs=64)
>>> envs = tangere.gym.TangereVectorEnv("HalfCheetah", 64, path="half_cheetah.xml")

Rewards, terminations, resets and action spaces are those of Gymnasium's v5 environments. The physics is this
library's: contacts are rigid, steps are semi-implicit, and the air's `density`, of which Gymnasium's models speak, is
ignored. Observations are positions and velocities (and contact forces for Ant): what Humanoid has beside them
(inertias, velocities and forces of bodies) is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as missing:  # pragma: no cover
    raise ImportError("tangere.gym needs Gymnasium: pip install 'tangere[gym]'") from missing

from tangere import _core
from tangere.batch import Batch, BatchRollout
from tangere.model import Model, load

__all__ = ["TASKS", "StepGradient", "TangereEnv", "TangereVectorEnv", "Task"]

Array = np.ndarray
Range = tuple[float, float]


@dataclass(frozen=True)
class Task:
    """The definition of an environment, with Gymnasium's names. Roots are planar (x, z, angle) or free (x, y, z,
    quaternion).
    """

    file: str
    frame_skip: int
    free: bool = False
    key: str | None = None  # where it starts; None: the reference configuration
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    contact_cost_weight: float = 0.0
    contact_cost_range: Range = (-np.inf, np.inf)
    contact_force_range: Range = (-np.inf, np.inf)
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: Range = (-np.inf, np.inf)
    healthy_angle_range: Range = (-np.inf, np.inf)
    healthy_state_range: Range = (-np.inf, np.inf)
    reset_noise_scale: float = 5e-3
    normal_velocities: bool = False  # at a reset; otherwise uniform
    clip_velocities: float = np.inf  # in observations
    speed_of_mass: bool = False  # forward speed is that of the centre of mass
    observe_contacts: bool = False
    action_scale: float | None = (
        None  # actions are -1 .. 1 times this, added to the keyframe's controls; None: controls
    )

    @property
    def skipped(self) -> int:
        """Positions that are not observed: the distance travelled."""
        return 2 if self.free else 1


_PLANAR = Task("", 4, clip_velocities=10.0)

TASKS: dict[str, Task] = {
    "HalfCheetah": Task(
        "half_cheetah.xml", 5, ctrl_cost_weight=0.1, healthy_reward=0.0, terminate_when_unhealthy=False,
        reset_noise_scale=0.1, normal_velocities=True,
    ),
    "Hopper": replace(
        _PLANAR, file="hopper.xml", healthy_z_range=(0.7, np.inf), healthy_angle_range=(-0.2, 0.2),
        healthy_state_range=(-100.0, 100.0),
    ),
    "Walker2d": replace(
        _PLANAR, file="walker2d_v5.xml", healthy_z_range=(0.8, 2.0), healthy_angle_range=(-1.0, 1.0)
    ),
    "Ant": Task(
        "ant.xml", 5, free=True, ctrl_cost_weight=0.5, contact_cost_weight=5e-4, contact_force_range=(-1.0, 1.0),
        healthy_z_range=(0.2, 1.0), reset_noise_scale=0.1, normal_velocities=True, observe_contacts=True,
    ),
    "Humanoid": Task(
        "humanoid.xml", 5, free=True, forward_reward_weight=1.25, ctrl_cost_weight=0.1, contact_cost_weight=5e-7,
        contact_cost_range=(-np.inf, 10.0), healthy_reward=5.0, healthy_z_range=(1.0, 2.0), reset_noise_scale=1e-2,
        speed_of_mass=True,
    ),
    "PlanarWalker": replace(
        _PLANAR, file="planar_walker.xml", key="stand", healthy_z_range=(0.8, 2.0), healthy_angle_range=(-1.0, 1.0)
    ),
    "Quadruped": Task(
        "quadruped.xml", 5, free=True, key="home", ctrl_cost_weight=0.05, healthy_z_range=(0.15, 0.5), action_scale=0.4
    ),
}  # fmt: skip


class StepGradient(NamedTuple):
    """Gradients with respect to the inputs of an environment's step: q (n, nv, tangent), v (n, nv), action (n, nu)."""

    q: Array
    v: Array
    action: Array
    label: Array


def _model_path(task: Task, path: str | Path | None) -> Path:
    own = Path(__file__).parent / "models" / task.file
    if path is None and not own.is_file():
        raise ValueError(f"path: where {task.file} is (it comes with Gymnasium, and is not part of this package)")
    return own if path is None else Path(path)


class TangereVectorEnv(VectorEnv):
    """num_envs environments of a task over a `tangere.Batch`.

    task: a name in `TASKS` or a `Task`; path: the model's file (or a model), which may be left out for PlanarWalker
    and Quadruped; max_episode_steps: when an episode is truncated; autoreset_mode: as in Gymnasium. Other arguments
    are fields of `Task` (frame_skip, ctrl_cost_weight, ...) or options of `Batch` (threads, backward, ...).
    """

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        path: str | Path | Model | None = None,
        *,
        max_episode_steps: int = 1000,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if isinstance(task, str) and task not in TASKS:
            raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {task!r}")
        if render_mode is not None:
            raise ValueError("render_mode: there is no picture here; None")
        fields = {name: options.pop(name) for name in list(options) if name in Task.__dataclass_fields__}
        self.task = replace(TASKS[task] if isinstance(task, str) else task, **fields)
        model = path if isinstance(path, Model) else load(_model_path(self.task, path))
        self.batch = Batch(model, num_envs, **options)
        self.model, self.num_envs, self.dt = model, num_envs, self.batch.dt * self.task.frame_skip
        self.max_episode_steps = max_episode_steps
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self._mode, "render_modes": [], "render_fps": round(1 / self.dt)}
        self.render_mode = None
        self._start = model.default_q() if self.task.key is None else np.array(model.key(self.task.key).q)
        self._make_spaces()
        self._elapsed = np.zeros(num_envs, int)
        self._over = np.zeros(num_envs, bool)
        self._random = [seeding.np_random()[0] for _ in range(num_envs)]
        self._wrench = np.zeros((num_envs, model.nbody, 6))

    def _make_spaces(self) -> None:
        m, task = self.model, self.task
        low, high = np.array([m.params[f"actuator.#{i}.ctrl_range"] for i in range(m.nu)]).reshape(-1, 2).T
        self._centre = np.zeros(m.nu)
        if task.action_scale is not None:
            self._centre, low, high = np.array(m.key(task.key).ctrl), -np.ones(m.nu), np.ones(m.nu)
        size = m.nq + m.nv - task.skipped + (6 * (m.nbody - 1) if task.observe_contacts else 0)
        self.single_observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.single_action_space = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    # ---- Gymnasium's interface ----

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """seed: of the first environment (the others count up), or one for each. options["reset_mask"]: which ones."""
        mask = np.ones(self.num_envs, bool)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"], bool)
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
            for i, s in enumerate(seeds):
                if s is not None:
                    self._random[i] = seeding.np_random(s)[0]
            self._np_random, self._np_random_seed = seeding.np_random(next((s for s in seeds if s is not None), None))
        self._restart(np.flatnonzero(mask))
        return self._observe(), {"x_position": self.batch.q[:, 0].copy()}

    def _restart(self, ids: Array) -> None:
        if len(ids) == 0:
            return
        m, task = self.model, self.task
        q, v = np.tile(self._start, (len(ids), 1)), np.zeros((len(ids), m.nv))
        for row, i in enumerate(ids):
            rng, scale = self._random[i], task.reset_noise_scale
            q[row] += rng.uniform(-scale, scale, m.nq)
            v[row] += scale * rng.standard_normal(m.nv) if task.normal_velocities else rng.uniform(-scale, scale, m.nv)
        if task.free:
            q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        self.batch.reset(ids, states=(q, v))
        self._elapsed[ids], self._over[ids], self._wrench[ids] = 0, False, 0

    def _controls(self, actions: Any) -> Array:
        given = np.asarray(actions, np.float64)
        if given.shape != (self.num_envs, self.model.nu):
            raise ValueError(f"actions: expected shape {(self.num_envs, self.model.nu)}, got {given.shape}")
        scale = self.task.action_scale
        return given if scale is None else self._centre + scale * given

    def _places(self) -> Array:
        """Positions of the body that should move forward, (n, 2)."""
        if self.task.speed_of_mass:
            return np.array([self.model.com(q)[:2] for q in self.batch.q])
        return self.batch.q[:, :2].copy()

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        return self._advance(np.asarray(actions, np.float64), derivatives=False)[0]

    def step_with_gradient(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any], Any]:
        """`step`, and a function from gradients of observations (n, size) and rewards (n) to a `StepGradient`.

        A gradient of an environment that was just reset, or that failed, is zero. Contact forces and the health bonus
        count as constant.
        """
        if self._mode == AutoresetMode.SAME_STEP:
            raise ValueError(
                "step_with_gradient: states after a reset have no gradient; autoreset_mode NextStep or Disabled"
            )
        actions = np.asarray(actions, np.float64)
        result, r, before = self._advance(actions, derivatives=True)

        def vjp(observations: Array | None = None, rewards: Array | None = None) -> StepGradient:
            return self._reverse(r, actions, before, observations, rewards)

        return *result, vjp

    def _advance(self, actions: Array, derivatives: bool) -> tuple[Any, BatchRollout | None, Array]:
        controls = self._controls(actions)
        if self._mode == AutoresetMode.DISABLED and self._over.any():
            raise ValueError(f"environment {np.flatnonzero(self._over)[0]} is over: reset it first")
        fresh = self._over.copy() if self._mode == AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, bool)
        before = self._places()
        r = self._simulate(controls, derivatives)
        speeds = (self._places() - before) / self.dt
        reward, parts = self._rewards(speeds[:, 0], actions)
        terminated = ~self._healthy() & self.task.terminate_when_unhealthy
        self._elapsed += 1
        truncated = self._elapsed >= self.max_episode_steps
        info: dict[str, Any] = {"x_position": self.batch.q[:, 0].copy(), "x_velocity": speeds[:, 0], **parts}
        self._restart(np.flatnonzero(fresh))
        for array in (reward, terminated, truncated):
            array[fresh] = 0
        self._over = terminated | truncated
        if self._mode == AutoresetMode.SAME_STEP and self._over.any():
            info["final_obs"], info["_final_obs"] = self._observe(), self._over.copy()
            self._restart(np.flatnonzero(self._over))
        return (self._observe(), reward, terminated, truncated, info), r, fresh

    def close_extras(self, **kwargs: Any) -> None:
        self.batch.close()

    # ---- physics ----

    def _simulate(self, controls: Array, derivatives: bool) -> BatchRollout | None:
        steps, task = self.task.frame_skip, self.task
        contacts = task.contact_cost_weight > 0 or task.observe_contacts
        if derivatives or not contacts:
            us = np.repeat(controls[:, None], steps, axis=1)
            r = self.batch.rollout(us, derivatives=derivatives)
            return r if derivatives else None
        for _ in range(steps):
            self.batch.step(controls)
        self._wrench = self._contact_wrenches()
        return None

    def _contact_wrenches(self, room: int = 32) -> Array:
        """On each body, (n, nbody, 6): torque about the centre of mass of the whole, and force, as MuJoCo's
        cfrc_ext.
        """
        batch, m, n = self.batch, self.model, self.num_envs
        contact, count = np.zeros((n, room), _core.STEP_CONTACT), np.zeros(n, np.intc)
        batch._derive(contact=contact, contacts=count)
        env, slot = np.nonzero(np.arange(room) < count[:, None])
        c = contact[env, slot]
        centre = np.array([m.com(q) for q in batch.q])
        wrench = np.concatenate([np.cross(c["point"] - centre[env], c["force"]) + c["torque"], c["force"]], axis=1)
        out, bodies = np.zeros((n, m.nbody, 6)), m.geom_body
        np.add.at(out, (env, bodies[c["geom2"]]), wrench)
        np.subtract.at(out, (env, bodies[c["geom1"]]), wrench)
        out[:, 0] = 0  # the world feels nothing
        return out

    def _observe(self) -> Array:
        task, batch = self.task, self.batch
        v = np.clip(batch.v, -task.clip_velocities, task.clip_velocities)
        parts = [batch.q[:, task.skipped :], v]
        if task.observe_contacts:
            parts.append(np.clip(self._wrench[:, 1:], *task.contact_force_range).reshape(self.num_envs, -1))
        return np.concatenate(parts, axis=1)

    def _healthy(self) -> Array:
        task, q, v = self.task, self.batch.q, self.batch.v
        z, angle = q[:, 2 if task.free else 1], 0.0 if task.free else q[:, 2]
        inside = (task.healthy_z_range[0] < z) & (z < task.healthy_z_range[1])
        inside &= (task.healthy_angle_range[0] < angle) & (angle < task.healthy_angle_range[1])
        rest = np.concatenate([q[:, 2:], v], axis=1)
        inside &= ((task.healthy_state_range[0] < rest) & (rest < task.healthy_state_range[1])).all(axis=1)
        return inside & np.isfinite(rest).all(axis=1)

    def _rewards(self, speed: Array, actions: Array) -> tuple[Array, dict[str, Array]]:
        task = self.task
        forces = np.clip(self._wrench, *task.contact_force_range)
        contact = np.clip(task.contact_cost_weight * np.square(forces).sum(axis=(1, 2)), *task.contact_cost_range)
        parts = {
            "reward_forward": task.forward_reward_weight * speed,
            "reward_ctrl": -task.ctrl_cost_weight * np.square(actions).sum(axis=1),
            "reward_survive": task.healthy_reward * self._healthy(),
            "reward_contact": -contact,
        }
        return sum(parts.values()), parts

    def _reverse(self, r: BatchRollout, actions: Array, fresh: Array, observations: Any, rewards: Any) -> StepGradient:
        m, task, n = self.model, self.task, self.num_envs
        gq, gv = np.zeros((n, task.frame_skip + 1, m.nv)), np.zeros((n, task.frame_skip + 1, m.nv))
        q, v, ga = r.q[:, -1], r.v[:, -1], np.zeros((n, m.nu))
        if observations is not None:
            g = np.asarray(observations, np.float64)
            raw = np.concatenate([np.zeros((n, task.skipped)), g[:, : m.nq - task.skipped]], axis=1)
            gq[:, -1] = _to_tangent(task.free, q, raw)
            gv[:, -1] = g[:, m.nq - task.skipped : m.nq - task.skipped + m.nv] * (np.abs(v) < task.clip_velocities)
        if rewards is not None:
            g = np.asarray(rewards, np.float64)
            rate = (task.forward_reward_weight / self.dt * g)[:, None]
            for row, sign in ((-1, 1.0), (0, -1.0)):
                gq[:, row] += sign * rate * self._place_gradient(r.q[:, row])
            ga -= 2 * task.ctrl_cost_weight * g[:, None] * actions
        gq[fresh], gv[fresh], ga[fresh] = 0, 0, 0
        back = r.vjp(gq=gq, gv=gv)
        return StepGradient(back.q, back.v, ga + (task.action_scale or 1.0) * back.u.sum(axis=1), back.label)

    def _place_gradient(self, q: Array) -> Array:
        """Of the coordinate that has to go forward, (n, nv)."""
        if self.task.speed_of_mass:
            return np.array([self.model.com_jacobian(x)[0] for x in q])
        return np.eye(self.model.nv)[np.zeros(len(q), int)]


def _to_tangent(free: bool, q: Array, g: Array) -> Array:
    """Gradients with respect to q as nq numbers, in the tangent space: 1/2 Q(q)^T g for the quaternion of a free
    root.
    """
    if not free:
        return g
    w, x, y, z = q[:, 3:7].T
    a, b, c, d = g[:, 3:7].T
    turn = 0.5 * np.stack(
        [w * b - x * a + z * c - y * d, w * c - y * a - z * b + x * d, w * d - z * a + y * b - x * c], 1
    )
    return np.concatenate([g[:, :3], turn, g[:, 7:]], axis=1)


class TangereEnv(gymnasium.Env):
    """One environment of a task: `TangereVectorEnv` with one environment, as a `gymnasium.Env`."""

    def __init__(self, task: str | Task, path: str | Path | Model | None = None, **options: Any) -> None:
        options = {"max_episode_steps": 2**31, "threads": 1, **options}
        self.vector = TangereVectorEnv(task, 1, path, autoreset_mode=AutoresetMode.DISABLED, **options)
        self.metadata = {"render_modes": [], "render_fps": self.vector.metadata["render_fps"]}
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.render_mode = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        observations, info = self.vector.reset(seed=seed)
        return observations[0], {name: float(x[0]) for name, x in info.items()}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self.vector._over[:] = False
        o, r, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
        return o[0], float(r[0]), bool(terminated[0]), bool(truncated[0]), {k: float(x[0]) for k, x in info.items()}

    def close(self) -> None:
        self.vector.close()


def _register() -> None:
    for name in TASKS:
        gymnasium.register(
            id=f"tangere/{name}-v0",
            entry_point="tangere.gym:TangereEnv",
            vector_entry_point="tangere.gym:TangereVectorEnv",
            max_episode_steps=1000,
            kwargs={"task": name},
        )


_register()
