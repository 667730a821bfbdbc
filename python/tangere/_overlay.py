"""Overlays of a model: contacts with their cones and forces, tendons with their tension, gradients."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._triangles import Looks
from tangere.enums import ContactMode, Transmission
from tangere.model import Model
from tangere.rollout import rollout
from tangere.sim import Label, StepContacts

Array = NDArray[np.float64]

# colours of modes; distinct for colour-blind readers (Okabe and Ito, 2008)
MODE_COLOURS = {
    ContactMode.BREAKING: (153, 153, 153),
    ContactMode.STICKING: (0, 158, 115),
    ContactMode.SLIDING: (213, 94, 0),
}
MODE_NAMES = {mode: mode.name.lower() for mode in ContactMode}

_SPATIAL, _SITE = 1, 1  # tg_tendon_type, tg_path_type


# ---- contacts ----


class Marks(NamedTuple):
    """n contacts as they are drawn.

    point (n, 3); axis (n, 3): normal, towards the body on which the force is shown; force (n, 3): on that body, N;
    friction (n): of the cone; mode (n): `ContactMode`; margin (n): to the next change.
    """

    point: Array
    axis: Array
    force: Array
    friction: Array
    mode: NDArray[np.intc]
    margin: Array


NO_MARKS = Marks(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.intc), np.zeros(0))


class Friction:
    """Sliding friction of two geoms, by the rules of contacts: a declared pair, the higher priority, or the larger."""

    def __init__(self, m: Model, looks: Looks) -> None:
        self._m = m
        self._pairs = {frozenset(pair): i for i, pair in enumerate(looks.pairs)}

    def __call__(self, geom1: NDArray[np.intc], geom2: NDArray[np.intc]) -> Array:
        return np.array([self._of(int(a), int(b)) for a, b in zip(geom1, geom2, strict=True)], dtype=np.float64)

    def _of(self, a: int, b: int) -> float:
        params, priority = self._m.params, self._m.geom_priority
        pair = self._pairs.get(frozenset((a, b)))
        if pair is not None:
            return float(params[f"pair.#{pair}.friction"][0])
        counts = [g for g in (a, b) if priority[g] == max(priority[a], priority[b])]
        return max(float(params[f"geom.#{g}.friction"][0]) for g in counts)


def marks_of(m: Model, contacts: StepContacts | None, friction: Friction) -> Marks:
    if contacts is None or len(contacts.geom1) == 0:
        return NO_MARKS
    fixed = m.body_tree[m.geom_body] < 0
    flip = np.where(fixed[contacts.geom2] & ~fixed[contacts.geom1], -1.0, 1.0)[:, None]
    return Marks(
        contacts.point, flip * contacts.normal, flip * contacts.force, friction(contacts.geom1, contacts.geom2),
        contacts.mode, contacts.margin,
    )  # fmt: skip


def margin_text(margin: float) -> str:
    """Short, since feet are close together; the mode is the colour of the point."""
    return f"{margin:.2g}" if np.isfinite(margin) else "held"


# ---- tendons ----


def tendon_lines(looks: Looks) -> list[tuple[int, int, int]]:
    """Straight pieces of all spatial tendons: (tendon, site, site). Behind a pulley a new branch starts."""
    lines = []
    for tendon, (kind, types, ids) in enumerate(looks.tendons):
        pieces = range(1, len(ids) if kind == _SPATIAL else 0)
        lines += [(tendon, int(ids[i - 1]), int(ids[i])) for i in pieces if types[i] == types[i - 1] == _SITE]
    return lines


def tendon_length(looks: Looks, lines: list[tuple[int, int, int]], sites: Array) -> Array:
    length = np.zeros(len(looks.tendons))
    for tendon, a, b in lines:
        length[tendon] += np.linalg.norm(sites[b] - sites[a])
    return length


class Tension:
    """Forces of spatial tendons, N, positive when they pull: spring (without pulleys) and actuators on them."""

    def __init__(self, m: Model) -> None:
        self._m = m
        self._driven = [
            (i, int(m.actuator_target[i])) for i in range(m.nu) if m.actuator_transmission[i] == Transmission.TENDON
        ]

    def __call__(self, length: Array, u: ArrayLike | None) -> Array:
        params, force = self._m.params, np.zeros(len(length))
        for i, now in enumerate(length):
            low, high = params[f"tendon.#{i}.rest"]
            stiffness = float(np.atleast_1d(params[f"tendon.#{i}.stiffness"])[0])
            force[i] = stiffness * (max(now - high, 0.0) + min(now - low, 0.0))
        for actuator, tendon in self._driven if u is not None else []:
            gain, bias = params[f"actuator.#{actuator}.gain"], params[f"actuator.#{actuator}.bias"]
            gear = float(np.atleast_1d(params[f"actuator.#{actuator}.gear"])[0])
            length_now = gear * length[tendon]
            pull = (gain[0] + gain[1] * length_now) * np.asarray(u)[actuator] + bias[0] + bias[1] * length_now
            force[tendon] -= gear * pull
        return force


# ---- gradients ----


class Gradient(NamedTuple):
    """The derivatives of a scalar some steps ahead.

    value: of the scalar; force (nbody, 3): its derivative by a constant force (1/N) on each body's centre of mass,
    world axes; effect: list of (name, change of the scalar for a 1 % increase of that parameter), the largest first;
    label.
    """

    value: float
    force: Array
    effect: list[tuple[str, float]]
    label: Label


Scalar = Callable[[Array, Array], tuple[float, Array | None, Array | None]]

_SPEC = re.compile(r"(?:(site|body):(.+)|(com))\.([xyz])(?:@(\d+))?")
DEFAULT_STEPS = 50


def scalar_of(m: Model, given: str | Scalar) -> tuple[Scalar, int | None]:
    """A scalar, and the number of steps after which it counts (None: not said).

    "site:NAME.z@50", "body:NAME.x", "com.z@10": a coordinate of a site, a body's origin or the centre of mass; or
    a function of (q, v) that returns its value and its gradients by q (nv, tangent) and v (None: zero).
    """
    if callable(given):
        return given, None
    match = _SPEC.fullmatch(given)
    if match is None:
        raise Error(
            f"scalar {given!r}: expected 'site:NAME.z', 'body:NAME.x' or 'com.y', with '@STEPS' behind it if wanted",
            "value out of domain",
        )
    kind, name, _, axis, steps = match.groups()
    row = "xyz".index(axis)
    if kind is not None:
        m.index(kind, name)

    def value(q: Array, v: Array) -> tuple[float, Array | None, Array | None]:
        if kind is None:
            return float(m.com(q)[row]), m.com_jacobian(q)[row], None
        pose = m.site_pose(name, q) if kind == "site" else m.body_pose(name, q)
        jacobian = m.site_jacobian(name, q) if kind == "site" else m.body_jacobian(name, q)
        return float(pose.position[row]), jacobian[row], None

    return value, None if steps is None else int(steps)


def gradient_of(
    m: Model,
    state: tuple[Array, Array, Array],
    u: ArrayLike | None,
    scalar: Scalar,
    *,
    steps: int,
    dt: float,
    most: int = 8,
) -> Gradient:
    """Runs the steps with constant u, then reverse mode."""
    q, v, act = state
    controls = np.tile(np.zeros(m.nu) if u is None else np.asarray(u, dtype=np.float64), (steps, 1))
    r = rollout(m, q, v, controls, dt, act0=act, wrench=np.zeros((steps, m.nbody, 6)))
    value, gq, gv = scalar(r.q[-1], r.v[-1])
    g = r.vjp(gq=gq, gv=gv, at=-1)
    effect = 0.01 * g.params * m.params[:]
    order = np.argsort(-np.abs(effect))[:most]
    order = order[np.abs(effect[order]) > 0]
    names = m._param_names(order.astype(np.intc))
    return Gradient(value, g.wrench.sum(0)[:, :3], list(zip(names, effect[order].tolist(), strict=True)), g.label)
