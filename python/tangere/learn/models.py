"""Models with a contact law: a potential, masses, friction and restitution that are learned together (CM, CMr).

The network, its gradient and the integration are torch in float32. Constraint forces and the velocity jump are computed
in float64 by the library, all samples of a batch in one call. docs/learn.md has the equations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tangere import cartesian_torch
from tangere.cartesian import PAIR, RIM, WALL, System
from tangere.learn.potential import Potential

# mu starts at U(0, 1/4), so that contacts slip: a contact that sticks has no derivative with respect to mu, and with
# U(0, 1) three of the 30 coefficients of BP5 stayed where their contacts stuck
FIRST_FRICTION = 0.25


@dataclass
class Counter:
    """Statistics of the contact law: samples with contacts, derivatives with redundant rows, CPU time in s."""

    problems: int = 0
    regularised: int = 0
    seconds: float = 0.0


# ---- the velocity jump ----


class _Jump(torch.autograd.Function):
    """v after the contacts that are active at x. Samples without contact pass through unchanged."""

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any, system: System, counter: Counter, x: Tensor, v: Tensor, params: Tensor
    ) -> Tensor:
        start = time.process_time()
        X, V, p = (a.detach().double().contiguous().numpy() for a in (x, v, params))
        after, contacts, _ = system.core.jump(len(X), p, X, V)
        hit = np.flatnonzero(contacts)
        out = v.clone()
        if hit.size:
            out[torch.from_numpy(hit)] = torch.from_numpy(after.reshape(V.shape)[hit]).to(v.dtype)
        ctx.system, ctx.counter, ctx.hit, ctx.at = system, counter, hit, (p, X[hit], V[hit])
        counter.problems += int(hit.size)
        counter.seconds += time.process_time() - start
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, bar: Tensor) -> Any:
        start = time.process_time()
        p, X, V = ctx.at
        gx, gv, gp = torch.zeros_like(bar), bar.clone(), torch.zeros(p.shape, dtype=torch.float64)
        if ctx.hit.size:
            core, rows = ctx.system.core, torch.from_numpy(ctx.hit)
            x, v, g = core.jump_vjp(len(X), p, X, V, bar[rows].double().contiguous().numpy())
            gx[rows], gv[rows] = (torch.from_numpy(a.reshape(X.shape)).to(bar.dtype) for a in (x, v))
            gp = torch.from_numpy(g.sum(0))
            ctx.counter.regularised += core.regularised()
        ctx.counter.seconds += time.process_time() - start
        return None, None, gx, gv, gp


# ---- what is learned ----


def sizes(system: System) -> Tensor:
    """The radius of each body in its contacts; 1 m for one that has none."""
    radius = np.ones(system.size.bodies)
    for c in system.definition["contacts"]:
        if c[0] in {PAIR, WALL, RIM}:
            radius[int(c[1])] = c[6]
        if c[0] == PAIR:
            radius[int(c[2])] = c[7]
    return torch.tensor(radius, dtype=torch.float32)


class Properties(nn.Module):
    """Masses and moments exp(p), friction p >= 0, restitution p in [0, 1], regularisation eps.

    `project` puts p back into its range after a step of the optimiser. At an end of its range a coefficient has the
    derivative from inside, so that it can come back. Published are ReLU(p) and hardsigmoid(p) = clip(p / 6 + 1/2) of a
    p without bounds: beyond the ends their derivatives are 0, and a coefficient that once leaves its range stays there;
    inside, e changes by a sixth of the rate per iteration.

    Masses start at exp(0.1 N(0, 1)), moments at R^2 exp(0.1 N(0, 1)) with the radius R of the body's contacts, friction
    at U(0, 1/4), restitution at 1/2. Published are 1 m^2 for R^2, which is far from a disk of 0.1 m, U(0, 1) for
    friction and N(0, 1) for p of restitution. eps: a number, or None: softplus(p), p from N(0, 1).
    """

    def __init__(self, system: System, eps: float | None = 0.0, *, published: bool = False):
        super().__init__()
        size = system.size
        axes = np.asarray(system.definition["bodies"], float)[:, 0] > 1
        if axes.any() != axes.all():
            raise ValueError(f"{system.name}: bodies with axes and points in one system cannot be learned")
        self.rigid, self.sizes, self.published = bool(axes.any()), size, published
        self.mass = nn.Parameter(0.1 * torch.randn(size.bodies))
        self.moment = nn.Parameter(0.1 * torch.randn(size.bodies, size.dim)) if self.rigid else None
        if self.moment is not None and not published:
            self.moment.data += 2 * sizes(system).log()[:, None]
        self.friction = nn.Parameter(torch.rand(size.types) * (1.0 if published else FIRST_FRICTION))
        start = torch.randn(size.types)
        self.restitution = nn.Parameter(start if published else torch.full((size.types,), 0.5))
        self.softness = nn.Parameter(torch.randn(1)) if eps is None else None
        self.register_buffer("eps", torch.tensor([0.0 if eps is None else eps]))

    def project(self) -> None:
        """After a step of the optimiser: back to mu >= 0 and 0 <= e <= 1."""
        if not self.published:
            with torch.no_grad():
                self.friction.clamp_(min=0)
                self.restitution.clamp_(0, 1)

    def masses(self) -> Tensor:
        """Masses of the bodies, kg."""
        return self.mass.exp()

    def moments(self) -> Tensor | None:
        """lambda, per mass, as in the system: [bodies, dim]"""
        return None if self.moment is None else self.moment.exp()

    def mu(self) -> Tensor:
        """Friction coefficients by contact type."""
        return self.friction.relu() if self.published else self.friction.clamp(min=0)

    def e(self) -> Tensor:
        """Coefficients of restitution by contact type."""
        p = self.restitution
        return nn.functional.hardsigmoid(p) if self.published else p.clamp(0, 1)

    def forward(self) -> Tensor:
        """The vector of parameters of the library, float64."""
        moments = self.moments()
        flat = torch.zeros(self.sizes.bodies * self.sizes.dim) if moments is None else moments.flatten()
        eps = self.eps if self.softness is None else nn.functional.softplus(self.softness)
        return torch.cat([self.masses(), flat, self.mu(), self.e(), eps]).double()


# ---- motion ----


class Inertia:
    """M v and M^-1 f of arrays [..., points, dim] with the masses of a step."""

    def __init__(self, properties: Properties):
        self.rigid, self.m = properties.rigid, properties.masses()[:, None]
        moments = properties.moments()
        self.k = None if moments is None else (self.m * moments)[:, :, None]  # m lambda
        self.bodies, self.points = properties.sizes.bodies, properties.sizes.dim + 1

    def _split(self, a: Tensor) -> tuple[Tensor, Tensor]:
        a = a.unflatten(-2, (self.bodies, self.points))
        return a[..., 0, :], a[..., 1:, :]

    @staticmethod
    def _join(centre: Tensor, axes: Tensor) -> Tensor:
        return torch.cat([centre[..., None, :], axes], -2).flatten(-3, -2)

    def times(self, v: Tensor) -> Tensor:
        """M v."""
        if not self.rigid:
            return self.m * v
        v0, vk = self._split(v)
        pk = self.k * (vk - v0[..., None, :])
        return self._join(self.m * v0 - pk.sum(-2), pk)

    def solve(self, f: Tensor) -> Tensor:
        """M^-1 f."""
        if not self.rigid:
            return f / self.m
        f0, fk = self._split(f)
        a0 = (f0 + fk.sum(-2)) / self.m
        return self._join(a0, a0[..., None, :] + fk / self.k)


def runge_kutta(field: Any, state: tuple[Tensor, Tensor], dt: float) -> tuple[Tensor, Tensor]:
    """A step of the 3/8-rule of zdot = field(z), z a pair."""
    stages, weights = cartesian_torch.TABLEAUX["rk38"]
    rates: list[tuple[Tensor, Tensor]] = []
    for row in stages:
        z = state
        for a, rate in zip(row, rates, strict=False):
            z = (z[0] + dt * a * rate[0], z[1] + dt * a * rate[1])
        rates.append(field(*z))
    for b, rate in zip(weights, rates, strict=True):
        state = (state[0] + dt * b * rate[0], state[1] + dt * b * rate[1])
    return state


class Flow(nn.Module):
    """Motion between contacts with a learned potential: CLNN in (x, v), CHNN in (x, p)."""

    def __init__(self, system: System, kind: str, properties: Properties):
        super().__init__()
        self.system, self.kind, self.properties = system, kind, properties
        self.potential = Potential(system.size.points * system.size.dim)

    def forward(self, x: Tensor, v: Tensor, params: Tensor, inertia: Inertia) -> tuple[Tensor, Tensor]:
        """x and v after dt."""
        free = self.system.size.constraints == 0

        def rates(x: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
            force = self.potential.force(x)
            if free:
                return inertia.solve(p), force
            return cartesian_torch.hamiltonian(self.system, x, p, force, params)

        def field(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
            force = self.potential.force(x)
            if free:
                return v, inertia.solve(force)
            return v, cartesian_torch.acceleration(self.system, x, v, force, params)

        if self.kind == "CHNN":
            x, p = runge_kutta(rates, (x, inertia.times(v)), self.system.dt)
            return x, inertia.solve(p)
        return runge_kutta(field, (x, v), self.system.dt)


class ContactModel(nn.Module):
    """CM (eps = 0) or CMr (eps > 0, or None: learned) with CLNN or CHNN."""

    pairs = False  # trained on chunks

    def __init__(self, system: System, kind: str, eps: float | None = 0.0, *, published: bool = False):
        super().__init__()
        self.system, self.counter = system, Counter()
        self.properties = Properties(system, eps, published=published)
        self.flow = Flow(system, kind, self.properties)

    def rollout(self, x: Tensor, v: Tensor, steps: int) -> Tensor:
        """states [batch, steps + 1, 2, points, dim]"""
        params, inertia = self.properties(), Inertia(self.properties)
        states = [torch.stack([x, v], 1)]
        for _ in range(steps):
            x, v = self.flow(x, v, params, inertia)
            v = _Jump.apply(self.system, self.counter, x, v, params)
            states.append(torch.stack([x, v], 1))
        return torch.stack(states, 1)
