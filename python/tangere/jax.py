"""Steps and rollouts as differentiable functions of JAX arrays.

q has nq numbers here, as in `tangere.torch`: the functions are step(normalise(q)) and rollout(normalise(q)). XLA
calls the library directly; no Python runs in between. They can be compiled (`jit`), differentiated once in both modes
(`grad`, `vjp`, `jvp`, `jacfwd`, ...), mapped (`vmap`, which makes a batch over threads) and put into loops (`scan`).
64-bit mode must be on. The model's parameters, where none are given, are those that it had when the function was
traced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as missing:  # pragma: no cover
    raise ImportError("tangere.jax needs JAX: pip install 'tangere[jax]'") from missing

from tangere import _core
from tangere._function import INPUTS, Function, function_of, named
from tangere._jax_qcqp import qcqp
from tangere.batch import Batch
from tangere.sim import Sim

if not hasattr(_core, "jax_run"):
    raise ImportError(
        "tangere was built without jaxlib, whose headers its JAX functions need: with jaxlib installed, "
        "pip install --no-build-isolation --force-reinstall --no-deps tangere"
    )

__all__ = ["States", "qcqp", "rollout", "step"]

for _name in ("run", "vjp", "jvp"):
    jax.ffi.register_ffi_target(f"tangere_{_name}", getattr(_core, f"jax_{_name}"), platform="cpu")

_TWICE = (
    "tangere: derivatives of derivatives are not there: a gradient of a step or a rollout cannot be differentiated "
    "again"
)

# By the number that the handlers know: functions stay as long as a compiled program may call them.
_functions: dict[int, Function] = {}


class States(NamedTuple):
    """q (..., nq), v (..., nv), act (..., na) after a step; of a rollout (..., T + 1, nq) and so on, the start
    first.
    """

    q: jax.Array
    v: jax.Array
    act: jax.Array


# ---- three primitives: the function, its linear map, and the transpose of that; all are [count, ...] ----


def _shapes(kind: str, count: int, function: int, steps: int) -> list[tuple[int, ...]]:
    """Of what comes out."""
    f = _functions[function]
    return [f.shape(name, count, steps) for name in INPUTS] if kind == "vjp" else f.states(count, steps)


def _primitive(kind: str) -> Primitive:
    p = Primitive(f"tangere_{kind}")
    p.multiple_results = True

    def abstract(*avals: Any, function: int, steps: int) -> list[Any]:
        count = avals[0].shape[0]
        return [jax.core.ShapedArray(s, np.dtype(np.float64)) for s in _shapes(kind, count, function, steps)]

    def call(*arrays: Any, function: int, steps: int) -> list[Any]:
        count = arrays[0].shape[0]
        types = [jax.ShapeDtypeStruct(s, np.float64) for s in _shapes(kind, count, function, steps)]
        made = jax.ffi.ffi_call(f"tangere_{kind}", types, vmap_method="broadcast_all")
        k = _functions[function].k
        return list(made(*arrays, function=np.int64(function), steps=np.int64(steps), k=np.int64(k)))

    def batch(arrays: Any, dims: Any, **static: int) -> tuple[list[Any], list[int]]:
        """The mapped dimension becomes part of the batch."""
        n = next(x.shape[d] for x, d in zip(arrays, dims, strict=True) if d is not None)
        whole = [
            jnp.broadcast_to(x, (n, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
            for x, d in zip(arrays, dims, strict=True)
        ]
        count = whole[0].shape[1]
        out = p.bind(*(x.reshape(n * count, *x.shape[2:]) for x in whole), **static)
        return [x.reshape(n, count, *x.shape[1:]) for x in out], [0] * len(out)

    p.def_abstract_eval(abstract)
    p.def_impl(jax.jit(call, static_argnames=("function", "steps")))
    mlir.register_lowering(p, mlir.lower_fun(call, multiple_results=True), platform="cpu")
    batching.primitive_batchers[p] = batch
    return p


_run, _vjp, _jvp = (_primitive(kind) for kind in ("run", "vjp", "jvp"))


def _known(tangents: Any, primals: Any) -> list[Any]:
    return [jnp.zeros(p.shape, np.float64) if type(t) is ad.Zero else t for t, p in zip(tangents, primals, strict=True)]


def _run_jvp(primals: Any, tangents: Any, **static: int) -> tuple[list[Any], list[Any]]:
    out = _run.bind(*primals, **static)
    return out, _jvp.bind(*primals, out[0], *_known(tangents, primals), **static)


def _jvp_transpose(given: Any, *arrays: Any, function: int, steps: int) -> list[Any]:
    """Linear in the last six of (inputs, q+, directions)."""
    known, unknown = arrays[:7], arrays[7:]
    shapes = _shapes("jvp", known[0].shape[0], function, steps)
    g = [jnp.zeros(s) if type(x) is ad.Zero else x for x, s in zip(given, shapes, strict=True)]
    out = _vjp.bind(*known, *g, function=function, steps=steps)
    return [None] * 7 + [x if ad.is_undefined_primal(u) else None for x, u in zip(out, unknown, strict=True)]


def _jvp_jvp(primals: Any, tangents: Any, **static: int) -> tuple[list[Any], list[Any]]:
    if any(type(t) is not ad.Zero for t in tangents[:7]):
        raise NotImplementedError(_TWICE)
    return _jvp.bind(*primals, **static), _jvp.bind(*primals[:7], *_known(tangents[7:], primals[7:]), **static)


def _vjp_jvp(primals: Any, tangents: Any, **static: int) -> tuple[list[Any], list[Any]]:
    if any(type(t) is not ad.Zero for t in tangents[:7]):
        raise NotImplementedError(_TWICE)
    return _vjp.bind(*primals, **static), _vjp.bind(*primals[:7], *_known(tangents[7:], primals[7:]), **static)


def _vjp_transpose(given: Any, *arrays: Any, function: int, steps: int) -> list[Any]:
    """Linear in the last three of (inputs, q+, gradients)."""
    known, unknown = arrays[:7], arrays[7:]
    shapes = _shapes("vjp", known[0].shape[0], function, steps)
    along = [jnp.zeros(s) if type(x) is ad.Zero else x for x, s in zip(given, shapes, strict=True)]
    out = _jvp.bind(*known, *along, function=function, steps=steps)
    return [None] * 7 + [x if ad.is_undefined_primal(u) else None for x, u in zip(out, unknown, strict=True)]


ad.primitive_jvps[_run] = _run_jvp
ad.primitive_jvps[_jvp] = _jvp_jvp
ad.primitive_jvps[_vjp] = _vjp_jvp
ad.primitive_transposes[_jvp] = _jvp_transpose
ad.primitive_transposes[_vjp] = _vjp_transpose


# ---- what users call ----


def _array(name: str, value: Any) -> jax.Array:
    x = jnp.asarray(value)
    if x.dtype not in {np.dtype(np.float64), np.dtype(np.float32)} and not jnp.issubdtype(x.dtype, jnp.integer):
        raise TypeError(f"{name}: expected float64 or float32, got {x.dtype}")
    return x


def _parameters(owner: Sim | Batch, params: Any) -> tuple[np.ndarray, jax.Array | None]:
    if params is None:
        return np.empty(0, np.intc), None
    if isinstance(params, Mapping):
        index = [owner.model.params.index(name) for name in params]
        parts = [_array(str(name), x) for name, x in params.items()]
        rows = [x.reshape(-1) if x.size == len(i) else x for i, x in zip(index, parts, strict=True)]
        for name, i, x in zip(params, index, rows, strict=True):
            if x.ndim == 0 or x.shape[-1] != len(i):
                raise ValueError(f"{name}: expected shape (..., {len(i)}), got {x.shape}")
        lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in rows))
        return np.concatenate(index), jnp.concatenate(
            [jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in rows], axis=-1
        )
    return named(owner, params), _array("params", params)


def _function(owner: Sim | Batch, index: np.ndarray) -> tuple[Function, int]:
    """The function for the parameters that the model has now, and its number."""
    f = function_of(owner, index, key=id(owner.model._params.base))  # which the function keeps alive
    number = f.core.handle()
    _functions[number] = f
    return f, number


def _apply(owner: Sim | Batch, steps: int, given: dict[str, Any], params: Any) -> States:
    if not isinstance(owner, Sim | Batch):
        raise TypeError(f"expected a tangere.Sim or a tangere.Batch, got {type(owner).__name__}")
    if not jax.config.jax_enable_x64:
        raise RuntimeError('tangere computes in double precision: jax.config.update("jax_enable_x64", True) first')
    index, values = _parameters(owner, params)
    f, number = _function(owner, index)
    inner = 2 if steps > 0 else 1
    ranks = {"q": 1, "v": 1, "act": 1, "u": inner, "tau": inner, "params": 1}
    arrays = {name: _array(name, x) for name, x in given.items() if x is not None}
    if values is not None:
        arrays["params"] = values
    for name, x in arrays.items():
        shape = f.row(name, steps)
        if x.shape[x.ndim - ranks[name] :] != shape:
            raise ValueError(f"{name}: expected shape (..., {', '.join(map(str, shape))}), got {x.shape}")
    lead = jnp.broadcast_shapes(*(x.shape[: x.ndim - ranks[name]] for name, x in arrays.items()))
    count = int(np.prod(lead, dtype=int))
    flat = []
    for name in INPUTS:
        shape = f.row(name, steps)
        x = arrays.get(name)
        x = jnp.zeros(shape) if x is None else x.astype(np.float64)
        flat.append(jnp.broadcast_to(x, (*lead, *shape)).reshape(count, *shape))
    out = _run.bind(*flat, function=number, steps=steps)
    kind = arrays["q"].dtype if arrays["q"].dtype == np.dtype(np.float32) else np.dtype(np.float64)
    return States(*(x.reshape(*lead, *x.shape[1:]).astype(kind) for x in out))


def step(  # noqa: PLR0917  (the order in which the arguments are known)
    sim_or_batch: Sim | Batch, q: Any, v: Any, u: Any = None, tau: Any = None, act: Any = None, params: Any = None
) -> States:
    """One step; leading dimensions are a batch. Arguments are those of `tangere.torch.step`."""
    return _apply(sim_or_batch, 0, {"q": q, "v": v, "act": act, "u": u, "tau": tau}, params)


def rollout(  # noqa: PLR0917
    sim_or_batch: Sim | Batch, q: Any, v: Any, u: Any, tau: Any = None, act: Any = None, params: Any = None
) -> States:
    """T steps: u (..., T, nu), or T steps without controls; tau (..., T, nv)."""
    if isinstance(u, int):
        steps, controls = u, None
    else:
        controls = _array("u", u)
        if controls.ndim < 2:
            raise ValueError(f"u: expected shape (..., T, {sim_or_batch.model.nu}), got {controls.shape}")
        steps = controls.shape[-2]
    if steps < 1:
        raise ValueError(f"u: expected at least one step, got {steps}")
    return _apply(sim_or_batch, steps, {"q": q, "v": v, "act": act, "u": controls, "tau": tau}, params)
