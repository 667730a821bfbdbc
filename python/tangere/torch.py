"""Steps and rollouts as differentiable functions of torch tensors.

q has nq numbers here, quaternions among them: the functions are step(normalise(q)) and rollout(normalise(q)), so that
gradients with respect to q have nq numbers, too. Each call starts from empty caches: it is a function of its
arguments. Everything is computed in double precision on the CPU; float32 tensors are converted to double on the way
in, and results and gradients are converted back.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

try:
    import torch
    from torch import nn
    from torch.autograd import forward_ad
except ImportError as missing:  # pragma: no cover
    raise ImportError("tangere.torch needs PyTorch: pip install 'tangere[torch]'") from missing

from tangere._function import INPUTS, Function, Sizes, function_of, named
from tangere._names import told
from tangere._torch_qcqp import qcqp
from tangere.batch import Batch
from tangere.model import Model
from tangere.sim import Sim

__all__ = ["States", "World", "qcqp", "rollout", "step"]

_TWICE = (
    "tangere: derivatives of derivatives are not there: the backward of a step or a rollout cannot be differentiated "
    "again (create_graph=True, or nested grad transforms)"
)


class States(NamedTuple):
    """q (..., nq), v (..., nv), act (..., na) after a step; of a rollout (..., T + 1, nq) and so on, the start
    first.
    """

    q: torch.Tensor
    v: torch.Tensor
    act: torch.Tensor


class _Call:
    """One call: the data that its derivatives need in addition to tensors."""

    __slots__ = ("count", "function", "keep", "shared", "steps", "tape")

    def __init__(self, function: Function, count: int, steps: int, keep: bool = False) -> None:
        self.function, self.count, self.steps, self.keep = function, count, steps, keep
        self.shared = function.core.shared()  # the parameters that the model has now
        self.tape: Any = None

    def widened(self, times: int) -> _Call:
        """The same for a batch that is larger by a factor, without a tape."""
        other = _Call(self.function, self.count * times, self.steps)
        other.shared = self.shared
        return other

    def __del__(self) -> None:
        if self.tape is not None:
            self.function.give_back(self.count, self.steps, self.tape)


_NONE = np.empty(0, np.intc)
_DOUBLE = torch.float64
_RANKS = (
    {"q": 1, "v": 1, "act": 1, "u": 1, "tau": 1, "params": 1},
    {"q": 1, "v": 1, "act": 1, "u": 2, "tau": 2, "params": 1},
)
_lock = threading.RLock()  # a function has one set of threads, and backward may run in another thread of Python


def _plain(tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """The same, C-contiguous, for as long as the list is held."""
    return [x if x is None or x.is_contiguous() else x.contiguous() for x in tensors]


def _addresses(tensors: Sequence[torch.Tensor | None], sizes: Sequence[int]) -> list[int | None]:
    """The data address of each. Creating a NumPy array for each would take longer than a step."""
    for x, size in zip(tensors, sizes, strict=True):
        if x is not None and (x.dtype is not _DOUBLE or x.numel() != size):
            raise ValueError(f"expected {size} numbers of float64, got {tuple(x.shape)} of {x.dtype}")
    return [None if x is None else x.data_ptr() for x in tensors]


def _empty(shape: tuple[int, ...]) -> torch.Tensor:
    """In half the time that torch.empty takes."""
    return torch.from_numpy(np.empty(shape))


_transforms = torch._C._are_functorch_transforms_active


class _Function(torch.autograd.Function):
    """torch looks up the signature in each call, which takes longer than a step; this avoids it where possible."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return super().apply(*args) if _transforms() else super(torch.autograd.Function, cls).apply(*args)


def _fold(times: int, tensors: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """The dimension of a vmap becomes part of the batch."""
    folded: list[Any] = []
    for tensor, dim in zip(tensors, dims, strict=True):
        if tensor is None:
            folded.append(None)
            continue
        whole = tensor.expand(times, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        folded.append(whole.reshape(times * whole.shape[1], *whole.shape[2:]))
    return folded


def _unfold(times: int, outputs: Any) -> tuple[Any, Any]:
    split = tuple(None if x is None else x.reshape(times, x.shape[0] // times, *x.shape[1:]) for x in outputs)
    return split, tuple(None if x is None else 0 for x in outputs)


_is_batched = torch._C._functorch.is_legacy_batchedtensor


def _derive(function: Any, call: _Call, rest: tuple, tensors: Sequence[torch.Tensor | None]) -> tuple:
    """Applies _Vjp or _Jvp.

    The batched checks of gradcheck and `is_grads_batched` come with tensors of torch's older vmap, which knows no rules
    of functions: their hidden dimension is folded into the batch here.
    """
    if not any([x is not None and _is_batched(x) for x in tensors]):  # noqa: C419  (a list is quicker)
        plain = not torch.is_grad_enabled() and not _transforms() and forward_ad._current_level < 0
        return function.forward(call, *rest, *tensors) if plain else function.apply(call, *rest, *tensors)
    level = 1  # these are not nested
    plain = [torch._remove_batch_dim(x, level, 1, 0) if x is not None and _is_batched(x) else x for x in tensors]
    dims = [0 if x is not None and _is_batched(x) else None for x in tensors]
    times = next(x.shape[0] for x, dim in zip(plain, dims, strict=True) if dim == 0)
    out, _ = _unfold(times, function.apply(call.widened(times), *rest, *_fold(times, plain, dims)))
    return tuple(None if x is None else torch._add_batch_dim(x, 0, level) for x in out)


class _Run(_Function):
    """(call, q, v, act, u, tau, params) -> q+, v+, act+; [count, ...]."""

    @staticmethod
    def forward(call: _Call, *inputs: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        f, count, steps = call.function, call.count, call.steps
        sizes = f.sizes(count, steps)
        held = _plain(inputs)
        out = [_empty(shape) for shape in sizes.shapes]
        with _lock:
            if call.keep and steps > 0:
                call.tape = f.take_tape(count, steps)
            f.core.run(count, steps, *_addresses(held, sizes.inputs), *(x.data_ptr() for x in out), call.tape)
        return tuple(out)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        ctx.call = inputs[0]
        ctx.set_materialize_grads(False)
        saved = (*inputs[1:], output[0])
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor | None) -> tuple:
        if all(g is None for g in given):
            return (None,) * 7
        wanted = ctx.needs_input_grad[1:]
        grads = _derive(_Vjp, ctx.call, (wanted,), (*ctx.saved_tensors, *given))
        return (None, *(g if w else None for g, w in zip(grads, wanted, strict=True)))

    @staticmethod
    def jvp(ctx: Any, _: None, *along: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        return _derive(_Jvp, ctx.call, (), (*ctx.saved_tensors, *along))

    @staticmethod
    def vmap(info: Any, dims: tuple, call: _Call, *inputs: torch.Tensor | None) -> tuple[Any, Any]:
        n = info.batch_size
        return _unfold(n, _Run.apply(call.widened(n), *_fold(n, inputs, dims[1:])))


class _PlainRun(torch.autograd.Function):
    """The same where no transform is active and no forward mode: torch then needs less time around it."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *inputs: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        out = _Run.forward(call, *inputs)
        ctx.call = call
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, out[0])
        return out

    backward = _Run.backward


_run_plainly = super(torch.autograd.Function, _PlainRun).apply


class _Vjp(_Function):
    """(call, wanted, inputs, q+, gq, gv, gact) -> gradients of the inputs."""

    @staticmethod
    def forward(call: _Call, wanted: tuple, *tensors: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        f, sizes = call.function, call.function.sizes(call.count, call.steps)
        held = _plain(tensors)
        out = [
            _empty(shape) if want and x is not None else None
            for shape, want, x in zip(sizes.given, wanted, tensors, strict=False)
        ]
        given = _addresses(held, (*sizes.inputs, sizes.states[0], *sizes.states))
        with _lock:
            f.core.vjp(call.count, call.steps, *given, *_addresses(out, sizes.inputs), call.tape, call.shared)
        return tuple(out)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor) -> Any:
        raise RuntimeError(_TWICE)

    @staticmethod
    def jvp(ctx: Any, *along: Any) -> Any:
        raise RuntimeError(_TWICE)

    @staticmethod
    def vmap(info: Any, dims: tuple, call: _Call, wanted: tuple, *tensors: torch.Tensor | None) -> tuple[Any, Any]:
        n = info.batch_size
        return _unfold(n, _Vjp.apply(call.widened(n), wanted, *_fold(n, tensors, dims[2:])))


class _Jvp(_Function):
    """(call, inputs, q+, directions) -> change of q+, v+, act+."""

    @staticmethod
    def forward(call: _Call, *tensors: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        f, sizes = call.function, call.function.sizes(call.count, call.steps)
        held = _plain(tensors)
        out = [_empty(shape) for shape in sizes.shapes]
        given = _addresses(held, (*sizes.inputs, sizes.states[0], *sizes.inputs))
        with _lock:
            f.core.jvp(call.count, call.steps, *given, *(x.data_ptr() for x in out), call.tape, call.shared)
        return tuple(out)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor) -> Any:
        raise RuntimeError(_TWICE)

    @staticmethod
    def jvp(ctx: Any, *along: Any) -> Any:
        raise RuntimeError(_TWICE)

    @staticmethod
    def vmap(info: Any, dims: tuple, call: _Call, *tensors: torch.Tensor | None) -> tuple[Any, Any]:
        n = info.batch_size
        return _unfold(n, _Jvp.apply(call.widened(n), *_fold(n, tensors, dims[1:])))


# ---- what users call ----


def _check(name: str, tensor: Any) -> torch.Tensor:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name}: expected a torch tensor, got {type(tensor).__name__}")
    if not tensor.is_cpu:
        raise ValueError(
            f"{name} is on {tensor.device}: tangere computes on the CPU; give {name}.cpu(), and move results back"
        )
    if tensor.dtype is not torch.float64 and tensor.dtype is not torch.float32:
        raise TypeError(f"{name}: expected float64 or float32, got {str(tensor.dtype).removeprefix('torch.')}")
    return tensor


def _parameters(owner: Sim | Batch, params: Any, count: int) -> tuple[np.ndarray, torch.Tensor | None]:
    """Positions and values of the parameters that do not have the model's values."""
    if params is None:
        if isinstance(owner, Batch) and owner._table is not None and count == len(owner):
            return owner._index, torch.from_numpy(owner._table.copy())
        return _NONE, None
    if isinstance(params, Mapping):
        index = [owner.model.params.index(name) for name in params]
        parts = [_check(str(name), x) for name, x in params.items()]
        for name, i, x in zip(params, index, parts, strict=True):
            if x.numel() != len(i) and (x.ndim == 0 or x.shape[-1] != len(i)):
                raise ValueError(f"{name}: expected shape (..., {len(i)}), got {tuple(x.shape)}")
        rows = [x.reshape(-1) if x.numel() == len(i) else x for i, x in zip(index, parts, strict=True)]
        lead = torch.broadcast_shapes(*(x.shape[:-1] for x in rows))
        return np.concatenate(index), torch.cat([x.expand(*lead, x.shape[-1]) for x in rows], dim=-1)
    return named(owner, params), _check("params", params)


def _lead(tensors: dict[str, torch.Tensor], ranks: dict[str, int]) -> torch.Size:
    """The dimensions of the batch."""
    first = tensors["q"].shape[:1]
    for name, x in tensors.items():
        if x.dim() != ranks[name] + 1 or x.shape[:1] != first:
            return torch.broadcast_shapes(*(x.shape[: x.ndim - ranks[name]] for name, x in tensors.items()))
    return first  # the usual case


def _flat(name: str, x: torch.Tensor, lead: torch.Size, shape: tuple[int, ...]) -> torch.Tensor:
    """As [count, ...], in double precision."""
    own = x.ndim - len(shape)
    if x.shape[own:] != shape:
        raise ValueError(f"{name}: expected shape (..., {', '.join(map(str, shape))}), got {tuple(x.shape)}")
    if x.dtype is not torch.float64:
        x = x.to(torch.float64)
    if x.shape[:own] != lead:
        x = x.expand(*lead, *shape)
    return x if len(lead) == 1 else x.reshape(lead.numel(), *shape)


def _is_tracked(tensors: Sequence[torch.Tensor | None]) -> bool:
    """Whether gradients may be requested."""
    if torch.is_grad_enabled():
        for x in tensors:
            if x is not None and x.requires_grad:
                return True
    return False


def _run(f: Function, count: int, steps: int, flat: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor]:
    if forward_ad._current_level >= 0 or _transforms():
        return _Run.apply(_Call(f, count, steps, keep=steps > 0), *flat)
    if _is_tracked(flat):
        return _run_plainly(_Call(f, count, steps, keep=steps > 0), *flat)
    return _Run.forward(_Call(f, count, steps), *flat)


def _is_usual(tensors: Sequence[Any], sizes: Sizes) -> bool:
    """Whether all are double tensors of exactly the shapes [count, ...]: nothing is to be converted."""
    for x, shape in zip(tensors, sizes.given, strict=False):
        if x is None:
            continue
        if not isinstance(x, torch.Tensor) or x.dtype is not _DOUBLE or not x.is_cpu or x.shape != shape:
            return False
    return True


def _apply(owner: Sim | Batch, steps: int, given: tuple[torch.Tensor | None, ...], params: Any) -> States:
    q, _, act, *_ = given
    has_table = isinstance(owner, Batch) and owner._table is not None
    if params is None and not has_table and isinstance(q, torch.Tensor) and q.dim() == 2:
        f, count = function_of(owner, _NONE), q.shape[0]
        if count > 0 and (act is not None or f.widths["act"] == 0) and _is_usual(given, f.sizes(count, steps)):
            return States(*_run(f, count, steps, (*given, None)))
    return _apply_any(owner, steps, dict(zip(INPUTS, given, strict=False)), params)


def _apply_any(owner: Sim | Batch, steps: int, given: dict[str, torch.Tensor | None], params: Any) -> States:
    """Leading dimensions that broadcast, float32, parameters."""
    ranks = _RANKS[steps > 0]  # dimensions behind those of the batch
    tensors = {name: _check(name, x) for name, x in given.items() if x is not None}
    lead = _lead(tensors, ranks)
    index, values = _parameters(owner, params, lead.numel())
    if values is not None:
        tensors["params"] = values
        lead = _lead(tensors, ranks)
    count = lead.numel()
    if count == 0:
        raise ValueError("q: there are no environments")
    f = function_of(owner, index)
    if f.widths["act"] > 0 and "act" not in tensors:
        tensors["act"] = torch.zeros(f.widths["act"], dtype=torch.float64)
    rows = f.sizes(count, steps).rows
    flat = [_flat(name, tensors[name], lead, rows[name]) if name in tensors else None for name in INPUTS]
    out = _run(f, count, steps, flat)
    if tensors["q"].dtype != torch.float64:
        out = [x.to(tensors["q"].dtype) for x in out]
    return States(*(out if len(lead) == 1 else [x.reshape(*lead, *x.shape[1:]) for x in out]))


def step(  # noqa: PLR0917  (the order in which the arguments are known)
    sim_or_batch: Sim | Batch,
    q: torch.Tensor,
    v: torch.Tensor,
    u: torch.Tensor | None = None,
    tau: torch.Tensor | None = None,
    act: torch.Tensor | None = None,
    params: torch.Tensor | Mapping[str, torch.Tensor] | None = None,
) -> States:
    """One step as a differentiable function; leading dimensions are a batch, over threads.

    q (..., nq), v (..., nv), u (..., nu), tau (..., nv), act (..., na). params: a dictionary of names (or patterns)
    and values; or a tensor (..., k) of the parameters that a batch has named, or of the whole vector with a `Sim`;
    None: those of the simulation. Options (dt, solver, backward, ...) are those of the `Sim` or `Batch`, whose own
    state is not touched.
    """
    return _apply(sim_or_batch, 0, (q, v, act, u, tau), params)


def rollout(  # noqa: PLR0917
    sim_or_batch: Sim | Batch,
    q: torch.Tensor,
    v: torch.Tensor,
    u: torch.Tensor | int,
    tau: torch.Tensor | None = None,
    act: torch.Tensor | None = None,
    params: torch.Tensor | Mapping[str, torch.Tensor] | None = None,
) -> States:
    """T steps as a differentiable function: u (..., T, nu), or T steps without controls; tau (..., T, nv)."""
    controls = None if isinstance(u, int) else _check("u", u)
    if controls is not None and controls.ndim < 2:
        raise ValueError(f"u: expected shape (..., T, {sim_or_batch.model.nu}), got {tuple(controls.shape)}")
    steps = u if isinstance(u, int) else controls.shape[-2]
    if steps < 1:
        raise ValueError(f"u: expected at least one step, got {steps}")
    return _apply(sim_or_batch, steps, (q, v, act, controls, tau), params)


# ---- models with parameters to be learned ----


def _inertia_to_log_cholesky(mass: float, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Ten numbers without bounds for the ten inertial parameters of a body.

    The pseudo-inertia P = [[S, h], [h^T, mass]], S = second moments about the origin, is U U^T with U upper triangular:
    diagonal exp(a + d_i), exp(a), per C. Rucker and P. Wensing, "Smooth parameterization of rigid-body inertia", 2022.
    """
    xx, yy, zz, xy, xz, yz = inertia
    at_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = 0.5 * np.trace(at_com) * np.eye(3) - at_com + mass * np.outer(com, com)
    p = np.block([[second, mass * com[:, None]], [mass * com[None], np.array([[mass]])]])
    u = np.linalg.cholesky(p[::-1, ::-1])[::-1, ::-1]
    a = np.log(u[3, 3])
    d = np.log(np.diag(u)[:3]) - a
    return np.array([a, *d, u[0, 1], u[1, 2], u[0, 2], u[0, 3], u[1, 3], u[2, 3]]) / np.array(
        [1.0] * 4 + [np.exp(a)] * 6
    )


def _log_cholesky_to_inertia(theta: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """mass (), com (3), inertia (6) from ten numbers."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta.unbind()
    zero, one = torch.zeros_like(a), torch.ones_like(a)
    rows = ((d1.exp(), s12, s13, t1), (zero, d2.exp(), s23, t2), (zero, zero, d3.exp(), t3), (zero, zero, zero, one))
    u = a.exp() * torch.stack([torch.stack(row) for row in rows])
    p = u @ u.T
    mass = p[3, 3]
    com = p[:3, 3] / mass
    second = p[:3, :3] - mass * torch.outer(com, com)
    full = second.trace() * torch.eye(3, dtype=theta.dtype) - second
    return mass, com, torch.stack([full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2]])


class World(nn.Module):
    """A model whose chosen parameters are learned: each name (or pattern) is an `nn.Parameter` in double precision.

    positive: names of parameters that stay positive, learned as logarithms; inertias: names of bodies whose ten
    inertial parameters are learned by log-Cholesky, so that they stay physically possible. Options are those of
    `tangere.Sim`. `world.step(...)` and `world.rollout(...)` are those of `tangere.torch` with the current parameters;
    `world.values()` gives them by name, and `world.write()` copies them into the model.
    """

    @told()
    def __init__(
        self,
        model: Model,
        names: Sequence[str] | str = (),
        positive: Sequence[str] | str = (),
        inertias: Sequence[str] | str = (),
        **options: Any,
    ) -> None:
        super().__init__()
        names, positive, inertias = ([x] if isinstance(x, str) else list(x) for x in (names, positive, inertias))
        self.model = model
        self.sim = Sim(model, **options)
        self._names = [*names, *positive]
        self._positive, self._bodies = set(positive), inertias
        taken = [int(i) for name in self._names for i in model.params.index(name)]
        taken += [int(i) for body in inertias for i in model.params.index(self._fields(body))]
        if len(set(taken)) != len(taken):
            raise ValueError("names: some parameter is named twice")
        self.raw = nn.ParameterList()
        for name in self._names:
            values = np.atleast_1d(np.array(model.params[name]))
            if name in self._positive and not (values > 0).all():
                raise ValueError(f"positive: {name} is {values.min():g} in the model")
            self.raw.append(nn.Parameter(torch.from_numpy(np.log(values) if name in self._positive else values)))
        for body in inertias:
            mass, com, inertia = (np.array(model.params[field]) for field in self._fields(body))
            self.raw.append(nn.Parameter(torch.from_numpy(_inertia_to_log_cholesky(float(mass), com, inertia))))

    @staticmethod
    def _fields(body: str) -> list[str]:
        return [f"body.{body}.{field}" for field in ("mass", "com", "inertia")]

    def values(self) -> dict[str, torch.Tensor]:
        """The parameters by name, as functions of the learned values."""
        out = {
            name: raw.exp() if name in self._positive else raw for name, raw in zip(self._names, self.raw, strict=False)
        }
        for body, raw in zip(self._bodies, self.raw[len(self._names) :], strict=True):
            out.update(zip(self._fields(body), _log_cholesky_to_inertia(raw), strict=True))
        return out

    def write(self) -> None:
        """Writes the current parameters to the model."""
        vector = np.array(self.model.params)
        for name, value in self.values().items():
            vector[self.model.params.index(name)] = value.detach().numpy()
        self.model.params = vector

    def step(self, q: torch.Tensor, v: torch.Tensor, u: Any = None, tau: Any = None, act: Any = None) -> States:
        """`step` with the current values of the learned parameters."""
        return step(self.sim, q, v, u, tau, act, self.values())

    def rollout(self, q: torch.Tensor, v: torch.Tensor, u: Any, tau: Any = None, act: Any = None) -> States:
        """`rollout` with the current values of the learned parameters."""
        return rollout(self.sim, q, v, u, tau, act, self.values())

    forward = rollout
