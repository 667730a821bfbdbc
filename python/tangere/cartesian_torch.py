"""Cartesian systems in PyTorch: rollouts, the velocity jump and the motion between contacts, with gradients.

>>> from tangere import cartesian_torch as ct
>>> states = ct.rollout(system, x, v, steps, params)                # gravity and springs of the system
>>> states = ct.rollout(system, x, v, steps, params, force=force)   # force(x) from torch, e.g. of a network

A force that is the gradient of a network is differentiated by torch itself, so that its mixed second derivatives are in
the gradient of the rollout: use `potential_force`. Tensors are float64 or float32 on the CPU; [..., points, dim].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tangere.cartesian import System

TABLEAUX: dict[str, tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]] = {
    "rk38": (((), (1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), (1 / 8, 3 / 8, 3 / 8, 1 / 8)),
    "rk4": (((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "euler": (((),), (1.0,)),
}


def _numpy(t: Tensor | None) -> Any:
    return None if t is None else t.detach().to(torch.float64).contiguous().numpy()


class _Call(torch.autograd.Function):
    """One function of C: `kind` is rollout, jump or acceleration; inputs x, v, params, force (of acceleration)."""

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any, system: System, kind: str, steps: int, x: Tensor, v: Tensor, params: Tensor, force: Tensor | None
    ) -> Tensor:
        count = math.prod(x.shape[:-2])
        p = _numpy(params)
        ctx.system, ctx.kind, ctx.steps, ctx.count, ctx.dtype = system, kind, steps, count, x.dtype
        if kind == "rollout":
            out = system.core.rollout(count, steps, p, _numpy(x), _numpy(v))[0]
            ctx.states = out
            out = out.reshape(*x.shape[:-2], steps + 1, 2, *x.shape[-2:])
        elif kind == "jump":
            out = system.core.jump(count, p, _numpy(x), _numpy(v))[0].reshape(x.shape)
        else:
            out = system.core.acceleration(count, p, _numpy(x), _numpy(v), _numpy(force))[0].reshape(x.shape)
        ctx.save_for_backward(x, v, params, force)
        return torch.from_numpy(out).to(x.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, bar: Tensor) -> Any:
        x, v, params, force = ctx.saved_tensors
        core, count, p, g = ctx.system.core, ctx.count, _numpy(params), _numpy(bar)
        gf = None
        if ctx.kind == "rollout":
            gx, gv, gp = core.rollout_vjp(count, ctx.steps, p, ctx.states, g)
        elif ctx.kind == "jump":
            gx, gv, gp = core.jump_vjp(count, p, _numpy(x), _numpy(v), g)
        else:
            gx, gv, gf, gp = core.acceleration_vjp(count, p, _numpy(x), _numpy(v), _numpy(force), g)

        def back(a: Any, like: Tensor) -> Tensor:
            return torch.from_numpy(a).reshape(like.shape).to(like.dtype)

        return (
            None,
            None,
            None,
            back(gx, x),
            back(gv, v),
            back(gp.sum(0), params),
            None if force is None else back(gf, force),
        )


class _Hamiltonian(torch.autograd.Function):
    """xdot and pdot at x, p under a force."""

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any, system: System, x: Tensor, p: Tensor, params: Tensor, force: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.system = system
        ctx.save_for_backward(x, p, params, force)
        count = math.prod(x.shape[:-2])
        out = system.core.hamiltonian(count, _numpy(params), _numpy(x), _numpy(p), _numpy(force))
        xdot, pdot = (torch.from_numpy(a).reshape(x.shape).to(x.dtype) for a in out)
        return xdot, pdot

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, x_bar: Tensor, p_bar: Tensor) -> Any:
        x, p, params, force = ctx.saved_tensors
        at = (_numpy(params), _numpy(x), _numpy(p), _numpy(force), _numpy(x_bar), _numpy(p_bar))
        gx, gp, gf, gt = ctx.system.core.hamiltonian_vjp(math.prod(x.shape[:-2]), *at)
        pairs = ((gx, x), (gp, p), (gt.sum(0), params), (gf, force))
        return None, *(torch.from_numpy(a).reshape(like.shape).to(like.dtype) for a, like in pairs)


def parameters(system: System, dtype: torch.dtype = torch.float64) -> Tensor:
    """The parameters of the system as a tensor."""
    return torch.tensor(system.params, dtype=dtype)


def contact(system: System, x: Tensor, v: Tensor, params: Tensor | None = None) -> Tensor:
    """v after the contacts that are active at x."""
    return _Call.apply(system, "jump", 0, x, v, parameters(system) if params is None else params, None)


def acceleration(system: System, x: Tensor, v: Tensor, force: Tensor, params: Tensor | None = None) -> Tensor:
    """Between contacts, under a force [..., points, dim]."""
    return _Call.apply(system, "acceleration", 0, x, v, parameters(system) if params is None else params, force)


def hamiltonian(
    system: System, x: Tensor, p: Tensor, force: Tensor, params: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """xdot and pdot of the projected flow between contacts, p = M v, under a force [..., points, dim]."""
    return _Hamiltonian.apply(system, x, p, parameters(system) if params is None else params, force)


def potential_force(potential: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """-dV/dx of a potential that maps [..., points, dim] to one number per sample; it can be differentiated again."""

    def force(x: Tensor) -> Tensor:
        with torch.enable_grad():
            at = x if x.requires_grad else x.detach().requires_grad_(True)
            (gradient,) = torch.autograd.grad(potential(at).sum(), at, create_graph=True)
        return -gradient

    return force


def _flow(
    system: System, x: Tensor, v: Tensor, params: Tensor, force: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    stages, weights = TABLEAUX[system.definition["integrator"]]
    dt = system.dt
    kx: list[Tensor] = []
    kv: list[Tensor] = []
    for row in stages:
        xs, vs = x, v
        for a, dx, dv in zip(row, kx, kv, strict=False):
            xs, vs = xs + dt * a * dx, vs + dt * a * dv
        kx.append(vs)
        kv.append(acceleration(system, xs, vs, force(xs), params))
    for b, dx, dv in zip(weights, kx, kv, strict=True):
        x, v = x + dt * b * dx, v + dt * b * dv
    return x, v


def step(
    system: System, x: Tensor, v: Tensor, params: Tensor | None = None, force: Callable[[Tensor], Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """One step: x and v after it. Arguments are those of `rollout`."""
    states = rollout(system, x, v, 1, params, force)
    return states[..., 1, 0, :, :], states[..., 1, 1, :, :]


def rollout(  # noqa: PLR0917
    system: System,
    x: Tensor,
    v: Tensor,
    steps: int,
    params: Tensor | None = None,
    force: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """states [..., steps + 1, 2, points, dim]. With a force, the Lagrangian form is integrated in torch."""
    theta = parameters(system) if params is None else params
    if force is None:
        return _Call.apply(system, "rollout", steps, x, v, theta, None)
    if system.definition["hamiltonian"]:
        raise ValueError(f"{system.name}: a force from torch needs the Lagrangian form")
    states = [torch.stack([x, v], -3)]
    for _ in range(steps):
        x, v = _flow(system, x, v, theta, force)
        v = contact(system, x, v, theta)
        states.append(torch.stack([x, v], -3))
    return torch.stack(states, -4)
