"""The quadratic programs of `tangere.qcqp` as a layer of torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tangere.qcqp import Problem


def _numpy(tensor: torch.Tensor | None) -> np.ndarray | None:
    return None if tensor is None else tensor.detach().to("cpu", torch.float64).contiguous().numpy()


def _tensor(array: np.ndarray | None, like: torch.Tensor | None) -> torch.Tensor | None:
    return None if array is None or like is None else torch.from_numpy(array).to(like.device, like.dtype)


class _Qcqp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, G: Any, g: Any, mu: Any, l: Any, options: tuple) -> torch.Tensor:  # noqa: E741, PLR0917
        problem = Problem(_numpy(G), _numpy(g), _numpy(mu), _numpy(l), *options)
        x, info = problem.solve(None)
        if (info[:, 0] != 0).any():
            bad = int(np.flatnonzero(info[:, 0] != 0)[0])
            raise RuntimeError(f"qcqp: problem {bad} is not solved: residual {info[bad, 5]:.1e}")
        ctx.problem, ctx.solution = problem, x
        ctx.like = (G, g, mu, l)
        return torch.from_numpy(x).to(g.device, g.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, bar: torch.Tensor) -> tuple:
        out, _ = ctx.problem.vjp(ctx.solution, _numpy(bar), ctx.needs_input_grad[:4])
        return (*(_tensor(a, like) for a, like in zip(out, ctx.like, strict=True)), None)


def qcqp(
    G: torch.Tensor,
    g: torch.Tensor,
    mu: torch.Tensor | None = None,
    l: torch.Tensor | None = None,  # noqa: E741
    *,
    sizes: int | Sequence[int] = 2,
    threads: int = 0,
    tolerance: float = 1e-8,
    semidefinite: bool = False,
) -> torch.Tensor:
    """x (..., n) of `tangere.qcqp`, differentiable with respect to G, g, mu and l; the gradient of G is symmetric. A
    problem that is not solved raises RuntimeError.
    """
    return _Qcqp.apply(G, g, mu, l, (sizes, threads, tolerance, semidefinite))
