"""The potential V(x), a network, and its force -dV/dx with a reverse mode of its own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

WIDTH = 256  # of the three hidden layers, as published


def mlp(sizes: list[int], activation: type[nn.Module]) -> nn.Sequential:
    """Linear layers with orthogonal weights."""
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(pairwise(sizes)):
        layers += [activation()] if i else []
        layer = nn.Linear(a, b)
        nn.init.orthogonal_(layer.weight)
        layers.append(layer)
    return nn.Sequential(*layers)


class _Force(torch.autograd.Function):
    """f = -dV/dx of V = w4 h3 + b4, h_k = softplus(a_k), a_k = W_k h_(k-1) + b_k, h_0 = x, and its reverse mode.

    With s_k = sigmoid(a_k) = softplus'(a_k) and rows as samples:
        u3 = w4 * s3,  u2 = (u3 W3) * s2,  u1 = (u2 W2) * s1,  f = -u1 W1.
    Reverse mode with F the adjoint of f: d_k is the adjoint of u_k, k_k = d_k * s_k, p_k the adjoint of a_k:
        d1 = -F W1^T,  d2 = k1 W2^T,  d3 = k2 W3^T,
        p3 = (d3 - k3) * u3,  p2 = (d2 - k2) * u2 + (p3 W3) * s2,  p1 = (d1 - k1) * u1 + (p2 W2) * s1,
    because s' = s (1 - s). Adjoints: x: p1 W1, b_k: p_k, W_k: u_k^T k_(k-1) + p_k^T h_(k-1) (k_0 = -F), w4: k3.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        W1, b1, W2, b2, W3, b3, w4 = weights
        a1 = torch.addmm(b1, x, W1.t())
        s1, h1 = torch.sigmoid(a1), nn.functional.softplus(a1)
        a2 = torch.addmm(b2, h1, W2.t())
        s2, h2 = torch.sigmoid(a2), nn.functional.softplus(a2)
        s3 = torch.addmm(b3, h2, W3.t()).sigmoid_()
        u3 = s3 * w4
        u2 = torch.mm(u3, W3).mul_(s2)
        u1 = torch.mm(u2, W2).mul_(s1)
        ctx.save_for_backward(x, W1, W2, W3, h1, h2, s1, s2, s3, u1, u2, u3)
        return _narrow(u1, W1).neg_()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, bar: Tensor) -> Any:
        x, W1, W2, W3, h1, h2, s1, s2, s3, u1, u2, u3 = ctx.saved_tensors
        k0 = -bar
        d1 = torch.mm(k0, W1.t())
        k1 = d1 * s1
        d2 = torch.mm(k1, W2.t())
        k2 = d2 * s2
        d3 = torch.mm(k2, W3.t())
        k3 = d3 * s3
        p3 = d3.sub_(k3).mul_(u3)
        p2 = d2.sub_(k2).mul_(u2).addcmul_(torch.mm(p3, W3), s2)
        p1 = d1.sub_(k1).mul_(u1).addcmul_(torch.mm(p2, W2), s1)
        g1 = torch.mm(k0.t(), u1).addmm_(x.t(), p1).t()
        g2 = torch.mm(u2.t(), k1).addmm_(p2.t(), h1)
        g3 = torch.mm(u3.t(), k2).addmm_(p3.t(), h2)
        gx = _narrow(p1, W1) if ctx.needs_input_grad[0] else None
        return gx, g1, p1.sum(0), g2, p2.sum(0), g3, p3.sum(0), k3.sum(0, keepdim=True)


def _narrow(a: Tensor, W: Tensor) -> Tensor:
    """The product a W, few columns: computed as its transpose, which takes a quarter of the time."""
    return torch.mm(W.t(), a.t()).t()


class Potential(nn.Module):
    """V(x): three hidden layers with softplus."""

    def __init__(self, numbers: int, width: int = WIDTH):
        super().__init__()
        self.layers = mlp([numbers, width, width, width, 1], nn.Softplus)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x.flatten(-2)).squeeze(-1)

    def force(self, x: Tensor) -> Tensor:
        """The force -dV/dx. It can be differentiated once."""
        first, second, third, last = (layer for layer in self.layers if isinstance(layer, nn.Linear))
        weights = [p for layer in (first, second, third) for p in (layer.weight, layer.bias)]
        flat = x.reshape(-1, first.in_features)
        return _Force.apply(flat, *weights, last.weight).reshape(x.shape)
