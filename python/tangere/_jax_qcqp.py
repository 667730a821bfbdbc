"""The quadratic programs of `tangere.qcqp` as a function of JAX, called back from compiled programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tangere.qcqp import Problem


def _problem(options: tuple, arrays: Sequence[Any]) -> Problem:
    G, g, *balls = (np.asarray(a, np.float64) for a in arrays)
    mu, l = balls or (None, None)  # noqa: E741
    return Problem(G, g, mu, l, *options)


def _solve(options: tuple, *arrays: Any) -> np.ndarray:
    problem = _problem(options, arrays)
    x, info = problem.solve(None)
    return np.where((info[:, 0] == 0).reshape(*problem.batch, 1), x, np.nan)


def _vjp(options: tuple, x: Any, bar: Any, *arrays: Any) -> tuple:
    problem = _problem(options, arrays)
    out, _ = problem.vjp(np.ascontiguousarray(x), np.ascontiguousarray(bar, np.float64))
    return tuple(a for a in out if a is not None)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _qcqp(options: tuple, *arrays: jax.Array) -> jax.Array:
    shape = jax.ShapeDtypeStruct(arrays[1].shape, np.float64)
    return jax.pure_callback(partial(_solve, options), shape, *arrays, vmap_method="broadcast_all")


def _forward(options: tuple, *arrays: jax.Array) -> tuple:
    x = _qcqp(options, *arrays)
    return x, (x, arrays)


def _backward(options: tuple, kept: tuple, bar: jax.Array) -> tuple:
    x, arrays = kept
    shapes = tuple(jax.ShapeDtypeStruct(a.shape, np.float64) for a in arrays)
    return jax.pure_callback(partial(_vjp, options), shapes, x, bar, *arrays, vmap_method="broadcast_all")


_qcqp.defvjp(_forward, _backward)


def qcqp(
    G: Any,
    g: Any,
    mu: Any = None,
    l: Any = None,  # noqa: E741
    *,
    sizes: int | Sequence[int] = 2,
    threads: int = 0,
    tolerance: float = 1e-8,
    semidefinite: bool = False,
) -> jax.Array:
    """x (..., n) of `tangere.qcqp`: can be compiled, mapped, and differentiated once in reverse mode. A problem that is
    not solved gives NaN. 64-bit mode must be on.
    """
    arrays = [jnp.asarray(a, np.float64) for a in (G, g, mu, l) if a is not None]
    if (mu is None) != (l is None):
        raise ValueError(f"qcqp: {'mu' if mu is None else 'l'} is missing: balls need both")
    if arrays[1].dtype != np.float64:
        raise TypeError("qcqp: 64-bit mode must be on: jax.config.update('jax_enable_x64', True)")
    sizes = sizes if isinstance(sizes, int) else tuple(int(s) for s in sizes)
    return _qcqp((sizes, threads, tolerance, semidefinite), *arrays)
