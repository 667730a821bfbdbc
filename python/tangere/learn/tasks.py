"""The learning tasks of the contact model with compression and restitution: systems, initial distributions, chunks of
trajectories.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.cartesian import Builder, System

Array = NDArray[np.float64]
CHUNK = 5
MASSES, RADII = (0.05, 0.1, 0.3, 0.4, 0.5), (0.05, 0.10, 0.13, 0.15, 0.18)
BOX = (((1, 0), 0.0), ((0, 1), 0.0), ((-1, 0), 1.0), ((0, -1), 1.0))
PAIRS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "BP5": ((0.5, 0.4, 0.6, 0.8, 0.9, 1.1, 0.7, 0.1, 0.0, 0.3), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    "BD5": ((0.3, 0.5, 0.1, 0.4, 1.4, 0.9, 0.8, 0.0, 0.2, 0.6), (0.2, 0.4, 0.1, 0.9, 0.8, 0.3, 1.0, 0.9, 0.7, 0.0)),
}
GYRO_RADIUS, GYRO_WALL, GYRO_CENTRE = 0.3, 0.33, 0.5


@dataclass(frozen=True)
class Task:
    """make(builder options) -> System; draw(rng, count) -> x, v before rejection."""

    name: str
    make: Callable[..., System]
    draw: Callable[[np.random.Generator, int], tuple[Array, Array]]
    states: int  # per trajectory

    def system(self, **options: Any) -> System:
        """The true system of the task."""
        return self.make(**options)

    def initial(self, rng: np.random.Generator, count: int, system: System) -> tuple[Array, Array]:
        """Draws until no sample has a contact."""
        x, v = self.draw(rng, count)
        for _ in range(100_000):
            touching = np.flatnonzero(system.touching(x))
            if touching.size == 0 or self.name.startswith("Rope"):
                return x, v
            x[touching], v[touching] = self.draw(rng, touching.size)
        raise RuntimeError(f"{self.name}: no initial state without contact in 100,000 draws")


# ---- balls and disks in a box ----


def _balls(
    name: str, mass: tuple[float, ...], radius: tuple[float, ...], mu: float, e: float, *, disks: bool, gravity: float
) -> Callable[..., System]:
    def make(**options: Any) -> System:
        b = Builder(name, 2, (0, -gravity))
        for m, r in zip(mass, radius, strict=True):
            b.disk(m, r) if disks else b.point(m)
        shared = None if name in PAIRS else b.type(mu, e)
        for k, (i, j) in enumerate(combinations(range(len(mass)), 2)):
            kind = b.type(PAIRS[name][0][k], PAIRS[name][1][k]) if shared is None else shared
            b.pair(i, j, radius[i], radius[j], kind)
        for i, r in enumerate(radius):
            for normal, offset in BOX:
                b.wall(i, r, normal, offset, b.type(mu, e) if shared is None else shared)
        return b.build(options.pop("dt", 0.01), **options)

    return make


def _draw_points(count_balls: int) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    def draw(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        shape = (count, count_balls, 2)
        return rng.uniform(0, 1, shape), rng.standard_normal(shape)

    return draw


def disk_state(centre: Array, angle: Array, velocity: Array, spin: Array) -> tuple[Array, Array]:
    """Points and their velocities of disks, [..., 3, 2] each, from their planar motion."""
    c, s = np.cos(angle), np.sin(angle)
    axes = np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], -2)
    turned = np.stack([np.stack([-s, c], -1), np.stack([-c, -s], -1)], -2) * spin[..., None, None]
    x = np.concatenate([centre[..., None, :], centre[..., None, :] + axes], -2)
    v = np.concatenate([velocity[..., None, :], velocity[..., None, :] + turned], -2)
    return x, v


def _draw_disks(disks: int) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    def draw(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        centre, angle = rng.uniform(0, 1, (count, disks, 2)), rng.uniform(0, 6.28, (count, disks))
        velocity, spin = 0.5 * rng.standard_normal((count, disks, 2)), 0.5 * rng.standard_normal((count, disks))
        x, v = disk_state(centre, angle, velocity, spin)
        return x.reshape(count, -1, 2), v.reshape(count, -1, 2)

    return draw


# ---- pendulums and ropes ----


def chain_state(angle: Array, rate: Array, length: Array) -> tuple[Array, Array]:
    """Masses of links that hang at the origin: angles from the downward vertical, [..., links]."""
    u = np.stack([np.sin(angle), -np.cos(angle)], -1) * length[:, None]
    du = np.stack([np.cos(angle), np.sin(angle)], -1) * (length * rate)[..., None]
    return np.cumsum(u, -2), np.cumsum(du, -2)


PENDULUM = (0.35, 0.40, 0.35)


def _pendulums(
    name: str, mass: tuple[float, ...], radius: tuple[float, ...], mu: float, e: float
) -> Callable[..., System]:
    def make(**options: Any) -> System:
        b = Builder(name, 2, (0, -9.81))
        for m in mass:
            b.point(m)
        b.tether(0, PENDULUM[0])
        for i in range(1, 3):
            b.distance(i - 1, i, PENDULUM[i])
        kind = b.type(mu, e)
        for i, r in enumerate(radius):
            b.wall(i, r, (0, 1), 1.0, kind)
        return b.build(options.pop("dt", 0.01), **options)

    return make


def _draw_pendulums(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    return chain_state(rng.uniform(0, 3.14, (count, 3)), rng.standard_normal((count, 3)), np.array(PENDULUM))


def _rope(links: int) -> Callable[..., System]:
    rest, stiffness, bend = 0.05, 50.0, 0.3

    def make(**options: Any) -> System:
        b = Builder(f"Rope-{links}", 2, (0, -9.81))
        kind = b.type(0.0, 0.0)
        for _ in range(links):
            b.point(0.1)
        for i in range(links):
            b.spring(i, i - 1, 2 * stiffness, rest)  # k (l - l0)^2, without 1/2
        for i in range(links - 1):
            b.bend(i - 1, i, i + 1, bend, kind)
        for i in range(links):
            b.stretch(i - 1, i, 0.8 * rest, 1.2 * rest, kind)
        return b.build(options.pop("dt", 0.005), **options)

    return make


def _draw_rope(links: int) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    def draw(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        angle = np.cumsum(
            np.concatenate([rng.uniform(0, 3.14, (count, 1)), rng.uniform(-0.3, 0.3, (count, links - 1))], 1), 1
        )
        return chain_state(angle, rng.standard_normal((count, links)), np.full(links, 0.05))

    return draw


# ---- gyroscope ----


def _gyro(name: str, mu: float, e: float) -> Callable[..., System]:
    def make(**options: Any) -> System:
        b = Builder(name, 3, (0, 0, -9.81))
        body = b.rigid(0.1, (0.24, 0.24, 0.04))
        b.pivot(body, (0, 0, -GYRO_CENTRE))
        b.rim(body, GYRO_RADIUS, (0, 1, 0), GYRO_WALL, b.type(mu, e))
        return b.build(options.pop("dt", 0.02), **options)

    return make


def _rotation_z(a: Array) -> Array:
    R = np.zeros((*a.shape, 3, 3))
    R[..., 0, 0] = R[..., 1, 1] = np.cos(a)
    R[..., 1, 0] = np.sin(a)
    R[..., 0, 1] = -np.sin(a)
    R[..., 2, 2] = 1
    return R


def _rotation_x(a: Array) -> Array:
    return np.roll(_rotation_z(a), (1, 1), (-2, -1))


def gyro_state(euler: Array, rate: Array) -> tuple[Array, Array]:
    """Points of the gyroscope from ZXZ angles (phi, theta, psi) and their rates, [..., 3]."""
    phi, theta, psi = np.moveaxis(euler, -1, 0)
    A = _rotation_z(phi)
    B = A @ _rotation_x(theta)
    R = B @ _rotation_z(psi)
    omega = (
        rate[..., 0, None] * np.array([0, 0, 1.0])
        + rate[..., 1, None] * A[..., :, 0]
        + rate[..., 2, None] * B[..., :, 2]
    )
    local = np.concatenate([np.zeros((1, 3)), np.eye(3)]) + np.array([0, 0, GYRO_CENTRE])
    x = np.einsum("...ab,kb->...ka", R, local)
    return x, np.cross(omega[..., None, :], x)


def _draw_gyro(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    euler = rng.uniform(-1.5, 1.5, (count, 3))
    sign = np.where(rng.uniform(size=count) < 0.5, 1.0, -1.0)
    rate = np.stack(
        [rng.uniform(-4.5, 4.5, count), rng.uniform(-0.3, 0.3, count), sign * 1.5 * (7 + rng.standard_normal(count))],
        -1,
    )
    return gyro_state(euler, rate)


# ---- billiards ----

BILLIARDS_RADIUS = 0.03
BILLIARDS_GOAL = (0.9, 0.75)


def _billiards(**options: Any) -> System:
    b = Builder("billiards", 2)
    kind = b.type(0.0, 0.8)
    for _ in range(11):
        b.point(1.0)
    for i, j in combinations(range(11), 2):
        b.pair(i, j, BILLIARDS_RADIUS, BILLIARDS_RADIUS, kind)
    return b.build(options.pop("dt", 0.003), integrator=options.pop("integrator", "euler"), **options)


def billiards_start() -> tuple[Array, Array]:
    """The cue ball and the rack of ten; the last ball should reach BILLIARDS_GOAL."""
    r = BILLIARDS_RADIUS
    rack = [(0.5 + 2 * r * i, 0.5 + 2 * r * j - 0.7 * r * i) for i in range(4) for j in range(i + 1)]
    x, v = np.array([(0.1, 0.5), *rack]), np.zeros((11, 2))
    v[0] = 0.3, 0.0
    return x, v


def _draw_billiards(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    x, v = (np.repeat(a[None], count, 0) for a in billiards_start())
    x[:, 0] += 0.02 * rng.standard_normal((count, 2))
    v[:, 0] = 0.3 * np.stack([np.ones(count), 0.1 * rng.standard_normal(count)], -1)
    return x, v


# ---- the table ----


def _tasks() -> dict[str, Task]:
    def balls(  # noqa: PLR0917
        name: str, disks: bool, mass: Any, radius: Any, mu: float, e: float, gravity: float = 0.0
    ) -> Task:
        draw = (_draw_disks if disks else _draw_points)(len(mass))
        return Task(name, _balls(name, mass, radius, mu, e, disks=disks, gravity=gravity), draw, 100)

    listed = [
        balls("BP5-e", False, (0.1,) * 5, (0.1,) * 5, 0.0, 1.0),
        balls("BP5", False, MASSES, RADII, 0.1, 0.8),
        balls("BD5", True, MASSES, RADII, 0.1, 0.8),
        balls("BD1", True, (0.1,), (0.1,), 0.2, 0.8, 9.81),
        Task("CP3-e", _pendulums("CP3-e", (0.2, 0.13, 0.15), (0.15, 0.08, 0.10), 0.0, 1.0), _draw_pendulums, 100),
        Task("CP3", _pendulums("CP3", (0.1, 0.2, 0.15), (0.05, 0.15, 0.10), 0.5, 0.0), _draw_pendulums, 100),
        Task("Gyro-e", _gyro("Gyro-e", 0.0, 1.0), _draw_gyro, 100),
        Task("Gyro", _gyro("Gyro", 0.1, 0.8), _draw_gyro, 100),
        Task("billiards", _billiards, _draw_billiards, 1024),
    ]
    return {t.name: t for t in listed}


TASKS = _tasks()


def task(name: str) -> Task:
    """A task by its name; Rope is Rope-200, Rope-N any length."""
    if name in TASKS:
        return TASKS[name]
    if name == "Rope" or name.startswith("Rope-"):
        word = name.partition("-")[2] or "200"
        if word.isdigit() and int(word) >= 2:
            return Task(f"Rope-{int(word)}", _rope(int(word)), _draw_rope(int(word)), 20)
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in (*TASKS, "Rope-200")], 1, 0.4)
    meant = next((n for n in (*TASKS, "Rope-200") if near and n.lower() == near[0]), None)
    hint = f"did you mean {meant!r}? " if meant else ""
    raise ValueError(f"unknown task {name!r}: {hint}there are {', '.join(TASKS)}, Rope-N")


# ---- data ----


def trajectories(
    name: str, count: int, seed: int = 0, *, states: int | None = None, **options: Any
) -> tuple[Array, NDArray[np.intc]]:
    """states [count, states, 2, points, dim] and the number of contacts with which each was reached."""
    t = task(name)
    system = t.system(**options)
    x, v = t.initial(np.random.default_rng(seed), count, system)
    r = system.rollout(x, v, (states or t.states) - 1)
    return r.states, r.contacts


def choose_windows(contacts: NDArray[np.intc], rng: np.random.Generator, length: int = CHUNK) -> NDArray[np.intp]:
    """One window per trajectory, about half of them with contacts; where each begins.

    Where at least half of the trajectories have contacts, each of these is marked with probability 0.5 / (their
    part); otherwise all are. Marked: a random window with a contact whose first state has none. Others: one without;
    where there is none, one with.
    """
    flags = contacts > 0
    count, states = flags.shape
    part = flags.any(1).mean()
    windows = np.lib.stride_tricks.sliding_window_view(flags, length, axis=1)
    hit = windows.any(2)
    starts = np.zeros(count, np.intp)
    for i in range(count):
        marked = flags[i].any() and (part < 0.5 or rng.uniform() < 0.5 / part)
        colliding = np.flatnonzero(hit[i] & ~flags[i, : states - length + 1])
        free = np.flatnonzero(~hit[i])
        choice = colliding if (marked and colliding.size) or free.size == 0 else free
        starts[i] = rng.choice(choice if choice.size else np.arange(hit.shape[1]))
    return starts


def chunks(name: str, count: int = 800, seed: int = 0, **options: Any) -> dict[str, Any]:
    """Chunks of 5 states: states [count, 5, 2, points, dim], contacts [count, 5], start [count], dt, params."""
    t = task(name)
    states, contacts = trajectories(name, count, seed, **options)
    starts = choose_windows(contacts, np.random.default_rng([seed, 1]))
    index = starts[:, None] + np.arange(CHUNK)
    rows = np.arange(count)[:, None]
    system = t.system(**options)
    return {
        "task": t.name,
        "states": states[rows, index],
        "contacts": contacts[rows, index],
        "start": starts,
        "dt": system.dt,
        "params": system.params,
        "seed": seed,
        "colliding": int((contacts[rows, index] > 0).any(1).sum()),
    }


def table(count: int = 100, seed: int = 0) -> list[tuple[str, int, int, int, int, float]]:
    """Task, D, E, contacts that could be active, most contacts seen at once, mean where there are any."""
    out = []
    for name in ("BP5-e", "BP5", "CP3-e", "CP3", "BD5", "Rope-50", "Rope-200", "Gyro-e", "Gyro"):
        t = task(name)
        s = t.system().size
        _, contacts = trajectories(name, count, seed)
        seen = contacts[contacts > 0]
        out.append(
            (
                name,
                s.points * s.dim,
                s.constraints,
                s.contacts,
                int(seen.max(initial=0)),
                float(seen.mean()) if seen.size else 0.0,
            )
        )
    return out
