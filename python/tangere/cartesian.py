"""Points with masses, constraints, springs and contacts, and their derivatives, for learning contact.

>>> import tangere as tg
>>> b = tg.cartesian.Builder("two balls", dim=2)
>>> i, j = b.point(mass=1.0), b.point(mass=2.0)
>>> b.pair(i, j, 0.1, 0.1, b.type(mu=0.2, e=0.8))
>>> s = b.build(dt=0.01)
>>> r = s.rollout([[0, 0], [0.3, 0]], [[1, 0], [0, 0]], steps=20)
>>> g = r.vjp(np.ones_like(r.states))   # g.x, g.v, g.params

Arrays of positions and velocities are [..., points, dim]: any number of samples in front, computed over the threads of
the system. docs/cartesian.md has the equations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._core import Cartesian

Array = NDArray[np.float64]
Ints = NDArray[np.intc]

INTEGRATORS = ("rk38", "rk4", "euler")
LAWS = ("ccp", "lcp")
DISTANCE, TETHER, PIVOT = range(3)
PAIR, WALL, RIM, BEND, STRETCH = range(5)


class Sizes(NamedTuple):
    dim: int
    points: int
    bodies: int
    types: int
    constraints: int  # rows
    contacts: int  # that could be active
    params: int


class Gradient(NamedTuple):
    """x, v: [..., points, dim]; params: [..., params] per sample."""

    x: Array
    v: Array
    params: Array


class Jump(NamedTuple):
    v: Array
    contacts: Ints  # active contacts per sample
    residual: Array  # of the law, m/s


class Problem(NamedTuple):
    """The contact problem of one sample: sigma = G f + g, target v*, rows J; slot: the contact of a row"""

    G: Array
    g: Array
    target: Array
    J: Array
    slot: Ints
    normal: NDArray[np.bool_]
    mu: Array
    e: Array
    f: Array


@dataclass
class Rollout:
    """states: [..., steps + 1, 2, points, dim]; contacts, residual: [..., steps + 1]."""

    system: System
    states: Array
    contacts: Ints
    residual: Array
    params: Array | None

    @property
    def x(self) -> Array:
        """Positions [..., steps + 1, points, dim]."""
        return self.states[..., 0, :, :]

    @property
    def v(self) -> Array:
        """Velocities [..., steps + 1, points, dim]."""
        return self.states[..., 1, :, :]

    def _shape(self) -> tuple[tuple[int, ...], int, int]:
        lead = self.states.shape[:-4]
        return lead, math.prod(lead), self.states.shape[-4] - 1

    def vjp(self, bar: ArrayLike) -> Gradient:
        """Gradients from those with respect to all states (shape of `states`)."""
        lead, count, steps = self._shape()
        bar = np.ascontiguousarray(np.broadcast_to(np.asarray(bar, float), self.states.shape))
        x, v, p = self.system.core.rollout_vjp(count, steps, self.params, self.states, bar)
        shape = (*lead, *self.system.shape)
        return Gradient(x.reshape(shape), v.reshape(shape), p.reshape(*lead, -1))

    def jvp(self, dx: ArrayLike = 0.0, dv: ArrayLike = 0.0, dparams: ArrayLike = 0.0) -> Array:
        """Change of all states along dx, dv and dparams."""
        lead, count, steps = self._shape()
        shape = (*lead, *self.system.shape)
        dx, dv = (np.ascontiguousarray(np.broadcast_to(np.asarray(d, float), shape)) for d in (dx, dv))
        dp = np.ascontiguousarray(np.broadcast_to(np.asarray(dparams, float), (*lead, self.system.size.params)))
        (out,) = self.system.core.rollout_jvp(count, steps, self.params, self.states, dx, dv, dp)
        return out.reshape(self.states.shape)


class System:
    """A system and its workspace; made by `Builder.build`. Calls from several threads run one after the other."""

    def __init__(self, core: Cartesian, definition: dict[str, Any]):
        self.core = core
        self.size = Sizes(*core.sizes())
        self.definition = definition
        self.params: Array = core.params()
        self.contact_type = np.asarray(definition["contacts"], float).reshape(-1, 17)[:, 4].astype(int)

    def __repr__(self) -> str:
        return (
            f"<tangere.cartesian.System {self.name!r}: {self.size.points} points in {self.size.dim} dimensions, "
            f"{len(self.contact_type)} contacts, dt {self.dt:g} s>"
        )

    @property
    def name(self) -> str:
        """The name given to the builder."""
        return self.definition["name"]

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self.definition["dt"]

    @property
    def shape(self) -> tuple[int, int]:
        """(points, dim): the shape of x and v."""
        return self.size.points, self.size.dim

    def slices(self) -> dict[str, slice]:
        """Where masses, lambda, mu, e and eps are in the vector of parameters."""
        s = self.size
        ends = np.cumsum([s.bodies, s.bodies * s.dim, s.types, s.types, 1])
        names = ("mass", "lambda", "mu", "e", "eps")
        return {
            name: slice(int(end - n), int(end))
            for name, end, n in zip(names, ends, np.diff(ends, prepend=0), strict=True)
        }

    def with_options(self, **options: Any) -> System:
        """The same system with another dt, integrator, law, hamiltonian, toi, threads, rows or eps."""
        return _build({**self.definition, **options})

    def _in(self, *arrays: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
        out = [np.ascontiguousarray(a, float) for a in arrays]
        for a in out:
            if a.shape[-2:] != self.shape or a.shape != out[0].shape:
                raise ValueError(f"{self.name}: expected shape [..., {self.shape[0]}, {self.shape[1]}], got {a.shape}")
        return out[0].shape[:-2], out

    def rollout(self, x: ArrayLike, v: ArrayLike, steps: int, params: ArrayLike | None = None) -> Rollout:
        """Steps from x and v [..., points, dim]; params [..., params]: in place of the system's."""
        lead, (x, v) = self._in(x, v)
        if steps < 0:
            raise ValueError(f"{self.name}: steps is {steps}, must be at least 0")
        theta = None if params is None else np.array(params, float)
        states, contacts, residual = self.core.rollout(math.prod(lead), steps, theta, x, v)
        return Rollout(
            self,
            states.reshape(*lead, steps + 1, 2, *self.shape),
            contacts.reshape(*lead, steps + 1),
            residual.reshape(*lead, steps + 1),
            theta,
        )

    def step(self, x: ArrayLike, v: ArrayLike, params: ArrayLike | None = None) -> tuple[Array, Array]:
        """One step: x and v after it."""
        r = self.rollout(x, v, 1, params)
        return r.x[..., 1, :, :], r.v[..., 1, :, :]

    def contact(self, x: ArrayLike, v: ArrayLike, params: ArrayLike | None = None) -> Jump:
        """The velocity jump alone: v after the contacts that are active at x."""
        lead, (x, v) = self._in(x, v)
        v1, contacts, residual = self.core.jump(math.prod(lead), params, x, v)
        return Jump(v1.reshape(x.shape), contacts.reshape(lead), residual.reshape(lead))

    def touching(self, x: ArrayLike) -> Ints:
        """How many contacts are active at x."""
        lead, (x,) = self._in(x)
        return self.core.touching(math.prod(lead), x)[0].reshape(lead)

    def contact_vjp(self, x: ArrayLike, v: ArrayLike, bar: ArrayLike, params: ArrayLike | None = None) -> Gradient:
        """Gradients of the velocity jump alone, from bar, the gradient with respect to the velocity after it."""
        lead, (x, v, bar) = self._in(x, v, bar)
        gx, gv, gp = self.core.jump_vjp(math.prod(lead), params, x, v, bar)
        return Gradient(gx.reshape(x.shape), gv.reshape(x.shape), gp.reshape(*lead, -1))

    def acceleration(
        self, x: ArrayLike, v: ArrayLike, force: ArrayLike | None = None, params: ArrayLike | None = None
    ) -> Array:
        """Between contacts; force [..., points, dim] in place of gravity and springs."""
        lead, (x, v, *rest) = self._in(x, v, *([] if force is None else [force]))
        (a,) = self.core.acceleration(math.prod(lead), params, x, v, rest[0] if rest else None)
        return a.reshape(x.shape)

    def energy(self, x: ArrayLike, v: ArrayLike, params: ArrayLike | None = None) -> Array:
        """Kinetic and potential energy, [..., 2]."""
        lead, (x, v) = self._in(x, v)
        return self.core.energy(math.prod(lead), params, x, v)[0].reshape(*lead, 2)

    def violation(self, x: ArrayLike) -> Array:
        """Largest |Phi| of the constraints."""
        lead, (x,) = self._in(x)
        return self.core.energy(math.prod(lead), None, x, x)[1].reshape(lead)

    def problem(self, x: ArrayLike, v: ArrayLike, params: ArrayLike | None = None) -> Problem:
        """The contact problem of one sample, as numbers, and its impulse."""
        _, (x, v) = self._in(x, v)
        room = 3 * self.size.contacts
        n, (G, g, target, J, slot, f) = self.core.problem(min(room, 2000), params, x, v)
        slot = slot[0, :n]
        normal = np.r_[True, slot[1:] != slot[:-1]][:n]
        theta = self.params if params is None else np.asarray(params, float)
        types = self.contact_type[slot]
        s = self.slices()
        G = np.ascontiguousarray(G.reshape(-1)[: n * n].reshape(n, n))
        return Problem(
            G, g[0, :n], target[0, :n], J[:n], slot, normal, theta[s["mu"]][types], theta[s["e"]][types], f[0, :n]
        )


def _build(definition: dict[str, Any]) -> System:
    d = dict(definition)
    for option, values in (("integrator", INTEGRATORS), ("law", LAWS)):
        if d[option] not in values:
            raise ValueError(f"{option} is {d[option]!r}, must be one of {', '.join(values)}")
    core = Cartesian(
        d["name"],
        d["dim"],
        d["bodies"],
        d["constraints"],
        d["springs"],
        d["contacts"],
        d["mu"],
        d["e"],
        d["eps"],
        tuple(d["gravity"]),
        d["dt"],
        INTEGRATORS.index(d["integrator"]),
        LAWS.index(d["law"]),
        int(d["hamiltonian"]),
        d["threads"],
        d["rows"],
        int(d["toi"]),
    )
    return System(core, definition)


def _three(v: ArrayLike | None) -> list[float]:
    out = [float(a) for a in (v if v is not None else ())]
    return out + [0.0] * (3 - len(out))


class Builder:
    """Collects bodies, constraints, springs and contacts.

    Bodies and points are identified by their numbers: `first(body)` is the point at the body's centre of mass, and the
    points of its axes follow.
    """

    def __init__(self, name: str = "system", dim: int = 2, gravity: ArrayLike = (0.0, 0.0, 0.0)):
        self.name, self.dim, self.gravity = name, dim, _three(gravity)
        self._bodies: list[list[float]] = []
        self._constraints: list[list[float]] = []
        self._springs: list[list[float]] = []
        self._contacts: list[list[float]] = []
        self._mu: list[float] = []
        self._e: list[float] = []

    def __repr__(self) -> str:
        return f"<tangere.cartesian.Builder {self.name!r}: {len(self._bodies)} bodies, {len(self._contacts)} contacts>"

    def first(self, body: int) -> int:
        """The number of the point at the centre of mass of a body."""
        return int(sum(b[0] for b in self._bodies[:body]))

    def point(self, mass: float) -> int:
        """A body of one point."""
        self._bodies.append([1, mass, 0, 0, 0])
        return len(self._bodies) - 1

    def rigid(self, mass: float, moments: ArrayLike) -> int:
        """A body with axes: lambda along each, and the constraints that keep it rigid."""
        self._bodies.append([self.dim + 1, mass, *_three(moments)])
        body = len(self._bodies) - 1
        p = self.first(body)
        for k in range(1, self.dim + 1):
            self.distance(p, p + k, 1.0)
        for k in range(1, self.dim + 1):
            for m in range(k + 1, self.dim + 1):
                self.distance(p + k, p + m, math.sqrt(2.0))
        return body

    def disk(self, mass: float, radius: float) -> int:
        """A homogeneous disk in the plane of its two axes; returns its number."""
        return self.rigid(mass, [radius**2 / 4] * 2)

    def distance(self, i: int, j: int, length: float) -> None:
        """Keeps points i and j at a distance (m)."""
        self._constraints.append([DISTANCE, i, j, length, 0, 0, 0, 0, 0, 0])

    def tether(self, i: int, length: float, anchor: ArrayLike | None = None) -> None:
        """Keeps point i at a distance (m) from an anchor (the origin)."""
        self._constraints.append([TETHER, i, -1, length, 0, 0, 0, *_three(anchor)])

    def pivot(self, body: int, c: ArrayLike, anchor: ArrayLike | None = None) -> None:
        """The point of a body with coordinates c in its axes stays at the anchor."""
        self._constraints.append([PIVOT, body, -1, 0, *_three(c), *_three(anchor)])

    def spring(self, i: int, j: int, stiffness: float, rest: float, anchor: ArrayLike | None = None) -> None:
        """stiffness / 2 (length - rest)^2; j < 0: to the anchor."""
        self._springs.append([i, j, stiffness, rest, *_three(anchor)])

    def type(self, mu: float, e: float) -> int:
        """Coefficients that contacts share."""
        self._mu.append(mu)
        self._e.append(e)
        return len(self._mu) - 1

    def pair(self, i: int, j: int, radius: float, other: float, kind: int) -> None:
        """Contact of two balls or disks about points i and j, of given radii; kind: of `type`."""
        self._contacts.append([PAIR, i, j, 0, kind, 0, radius, other, 0, 0, 0, 0, 0, 0, 0, 0, 0])

    def wall(self, body: int, radius: float, normal: ArrayLike, offset: float, kind: int) -> None:
        """Where normal . x + offset - radius < 0."""
        self._contacts.append([WALL, body, -1, 0, kind, 0, radius, 0, *_three(normal), offset, 0, 0, 0, 0, 0])

    def rim(  # noqa: PLR0917
        self, body: int, radius: float, normal: ArrayLike, offset: float, kind: int, mesh: int = 20, height: float = 0.0
    ) -> None:
        """Contact of a circle about axis 3 of a body, as `mesh` points, with the wall normal . x + offset = 0."""
        self._contacts.append([RIM, body, -1, 0, kind, mesh, radius, height, *_three(normal), offset, 0, 0, 0, 0, 0])

    def bend(  # noqa: PLR0917
        self, i: int, j: int, k: int, limit: float, kind: int, anchor: ArrayLike | None = None
    ) -> None:
        """Limits the angle between links (i, j) and (j, k) to [-limit, limit]; i < 0: the anchor."""
        self._contacts.append([BEND, i, j, k, kind, 0, 0, 0, 0, 0, 0, 0, -limit, limit, *_three(anchor)])

    def stretch(  # noqa: PLR0917
        self, i: int, j: int, low: float, high: float, kind: int, anchor: ArrayLike | None = None
    ) -> None:
        """Limits the distance of points i and j to [low, high]; i < 0: the anchor."""
        self._contacts.append([STRETCH, i, j, 0, kind, 0, 0, 0, 0, 0, 0, 0, low, high, *_three(anchor)])

    def build(
        self,
        dt: float = 0.01,
        *,
        integrator: str = "rk38",
        law: str = "ccp",
        hamiltonian: bool = False,
        toi: bool = False,
        eps: float = 0.0,
        threads: int = 0,
        rows: int = 0,
    ) -> System:
        """integrator: rk38, rk4, euler. law: ccp, or lcp (data only). toi: derivatives with the time of
        impact. eps: regularisation of the contact problems. rows: room for contact rows per sample (0: at most 256)."""
        return _build(
            {
                "name": self.name,
                "dim": self.dim,
                "bodies": self._bodies,
                "constraints": self._constraints,
                "springs": self._springs,
                "contacts": self._contacts,
                "mu": self._mu,
                "e": self._e,
                "eps": eps,
                "gravity": self.gravity,
                "dt": dt,
                "integrator": integrator,
                "law": law,
                "hamiltonian": hamiltonian,
                "toi": toi,
                "threads": threads,
                "rows": rows,
            }
        )
