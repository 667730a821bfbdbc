"""Rollouts: many steps at once, and their derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._errors import Error
from tangere._names import real_number, real_numbers, told, whole_number
from tangere.given import GIVEN_NUMBERS
from tangere.model import Model
from tangere.sim import _KINDS, Jacobian, Label, StepContacts, _jacobian, _stepper, _worst

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tangere.options import Solver, StepOptions

Array = NDArray[np.float64]

_TAPES = ("all", "checkpoints", "none")  # tg_tape_kind


class RolloutGradient(NamedTuple):
    """Gradients with respect to the inputs of a rollout.

    q, v (nv), act (na): the start; u (rows, nu), tau (rows, nv): every row of the controls; wrench (rows, nbody, 6), no
    rows where there were no wrenches; dt: the same in every step; params (nparams); contact (contacts, 15): of the
    contacts that the steps were given, one after the other (`tangere.GIVEN_FIELDS`).
    """

    q: Array
    v: Array
    act: Array
    u: Array
    tau: Array
    wrench: Array
    dt: float
    params: Array
    label: Label
    contact: Array = np.zeros((0, GIVEN_NUMBERS))


class RolloutChange(NamedTuple):
    """Changes of all states along a change of the inputs of a rollout, or along n changes.

    q (T + 1, nv), in the tangent space; v (T + 1, nv); act (T + 1, na); for n changes (n, T + 1, ...).
    """

    q: Array
    v: Array
    act: Array
    label: Label


class RolloutInfo(NamedTuple):
    """Information about every step of a rollout, as arrays over the steps; see `tangere.Info`."""

    status: NDArray[np.intc]
    iterations: NDArray[np.intc]
    sweeps: NDArray[np.intc]
    ncontact: NDArray[np.intc]
    rows: NDArray[np.intc]
    islands: NDArray[np.intc]
    residual: Array
    primal: Array
    dual: Array
    complementarity: Array
    penetration: Array
    work: Array
    capacity: Array
    unrelaxed: Array
    worst: NDArray[np.intc]
    stage: NDArray[np.intc]


class RolloutJacobian(NamedTuple):
    """A matrix of derivatives of a rollout.

    matrix (states, rows, columns): of each requested state; columns: the columns of every entry of `wrt`.
    """

    matrix: Array
    columns: dict[str, slice]
    label: Label


class _Contacts(Sequence):
    """The contacts of every step, restored from the tape on request."""

    def __init__(self, rollout: Rollout) -> None:
        self._rollout = rollout

    def __len__(self) -> int:
        return len(self._rollout.residual)

    def __getitem__(self, step: Any) -> Any:
        if isinstance(step, slice):
            return [self[i] for i in range(*step.indices(len(self)))]
        self._rollout._return(step)
        return StepContacts(*self._rollout._stepper.contacts())

    def __iter__(self) -> Iterator[StepContacts]:
        return (self[i] for i in range(len(self)))


class Rollout:
    """T steps: q (T + 1, nq), v (T + 1, nv), act (T + 1, na), the first row being the start; residual (T).

    controls (rows, nu), each row used for `hold` steps; dt (s). info, contacts, labels: of every step
    (`r.contacts[3].force`). Derivatives use the parameters that the model had when the rollout was made.
    """

    def __init__(
        self,
        model: Model,
        stepper: _core.Stepper,
        states: tuple,
        *,
        controls: Array,
        hold: int,
        dt: float,
        given: int = 0,
    ) -> None:
        self._model, self._stepper, self._rows, self._given = model, stepper, len(controls), given
        self.controls, self.hold, self.dt = controls, hold, dt
        self._labels: list[Label] | None = None
        self.q, self.v, self.act, numbers = states
        real = range(6, 14)
        self.info = RolloutInfo(
            *(numbers[:, i].copy() if i in real else numbers[:, i].astype(np.intc) for i in range(numbers.shape[1]))
        )

    def __repr__(self) -> str:
        worst = float(self.residual.max(initial=0.0))
        return (
            f"<tangere.Rollout of {self._model.name!r}: {len(self)} steps of {self.dt:g} s, "
            f"largest residual {worst:.2g} m/s>"
        )

    def __reduce__(self) -> Any:
        raise TypeError("a tangere.Rollout cannot be copied or pickled, its arrays can: q, v, act, controls, info")

    def __len__(self) -> int:
        return len(self.info.residual)

    @property
    def residual(self) -> Array:
        """Of every step (m/s)."""
        return self.info.residual

    @property
    def contacts(self) -> Sequence[StepContacts]:
        """The contact points of every step, `tangere.StepContacts`."""
        return _Contacts(self)

    def param_labels(self, params: Any) -> list[str]:
        """The label of the derivative with respect to each parameter (names, patterns, positions): the worst of all
        steps.
        """
        index = self._model._chosen(params)
        worst = [0] * len(index)
        for step in range(len(self)):
            self._stepper.rollout_return(step)
            kinds = self._stepper.param_labels(index)
            worst = [max(a, _KINDS.index(b)) for a, b in zip(worst, kinds, strict=True)]
        return [_KINDS[kind] for kind in worst]

    @property
    def labels(self) -> list[Label]:
        """The label of the derivative of every step."""
        if self._labels is None:
            self._labels = [Label(*one) for one in self._stepper.rollout_labels()]
        return self._labels

    def step_jacobian(
        self, step: int, params: Any = (), *, dt: bool = False, contacts: bool = False, wrench: bool = False
    ) -> Jacobian:
        """The matrices of one step; see `Sim.jacobian`."""
        self._return(step)
        return _jacobian(self._model, self._stepper, params, dt=dt, contacts=contacts, wrench=wrench)

    # ---- reverse and forward mode ----

    @told(q="gq", v="gv", act="gact")
    def vjp(
        self,
        gq: ArrayLike | None = None,
        gv: ArrayLike | None = None,
        gact: ArrayLike | None = None,
        *,
        at: int | Sequence[int] | None = None,
    ) -> RolloutGradient:
        """Reverse mode, from gradients with respect to the states. Nothing is solved again.

        gq, gv (T + 1, nv): of every state, q in the tangent space; gact (T + 1, na). None: zero. at: indices of the
        states of these gradients, one (gq (nv)) or several (gq (k, nv)); negative ones count from the end: `r.vjp(gq=g,
        at=-1)`.
        """
        return self._gradient(gq, gv, gact, at)

    @told(q="q0", v="v0", act="act0", u="controls")
    def jvp(
        self,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        act0: ArrayLike | None = None,
        *,
        controls: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        dt: ArrayLike | None = None,
        params: ArrayLike | None = None,
        contact: ArrayLike | None = None,
    ) -> RolloutChange:
        """Forward mode: the change of all states along a change of the inputs. None: no change.

        contact (contacts, 15): of the contacts that the steps were given, one after the other.

        Every argument may have one more leading dimension, of the same size in all: that many changes at once
        (`r.jvp(v0=np.eye(m.nv))`).
        """
        m, rows = self._model, self._rows
        shapes = {
            "q0": (q0, (m.nv,)), "v0": (v0, (m.nv,)), "act0": (act0, (m.na,)), "controls": (controls, (rows, m.nu)),
            "tau": (tau, (rows, m.nv)), "wrench": (wrench, (rows, m.nbody, 6)), "dt": (dt, ()),
            "params": (params, (m.nparams,)), "contact": (contact, (self._given, GIVEN_NUMBERS)),
        }  # fmt: skip
        arrays = {name: (real_numbers(name, x), shape) for name, (x, shape) in shapes.items() if x is not None}
        counts = {name: len(x) for name, (x, shape) in arrays.items() if x.ndim == len(shape) + 1}
        if len(set(counts.values())) > 1:
            raise ValueError(f"jvp: numbers of changes differ: {counts}")
        count = next(iter(counts.values()), 1)
        flat = []
        for name in shapes:
            if name not in arrays:
                flat.append(None)
                continue
            x, shape = arrays[name]
            if x.shape[x.ndim - len(shape) :] != shape or x.ndim > len(shape) + 1:
                raise ValueError(f"{name}: expected shape {shape} or {('n', *shape)}, got {x.shape}")
            flat.append(np.broadcast_to(x, (count, *shape)).ravel())
        *change, label = self._stepper.rollout_jvp(count, *flat)
        if counts:
            change = [c.reshape(count, len(self.v), c.shape[1]) for c in change]
        return RolloutChange(*change, Label(*label))

    def sensitivity(self, params: Any) -> RolloutChange:
        """Derivatives of all states with respect to n parameters: q, v, act are (n, T + 1, ...).

        params: names, patterns or positions, each number a direction; a dict among them is one direction, in which the
        named numbers change together: {"body.*.mass": 1} ties all masses, {"geom.a.friction[0]": 1,
        "geom.b.friction[0]": -1} changes two in opposite directions.
        """
        return self.jvp(params=_directions(self._model, params))

    def jacobian(self, of: str = "q", at: int | Sequence[int] = -1, wrt: str | Sequence[Any] = "v0") -> RolloutJacobian:
        """Derivatives of states with respect to the inputs, in forward or reverse mode, whichever is faster.

        of: "q", "v", "act", or the position of a frame, "site:name", "body:name" (3 rows, world). at: states, -1 the
        last. wrt: "q0", "v0", "act0", "u", "tau", "wrench" (of all rows, one after the other), "dt", "params:pattern",
        or a dict of parameters that change together (see `sensitivity`); one of these or a list.
        """
        states = self._states(at)
        entries = _several(wrt)
        parts = [(str(entry), *self._inputs(entry)) for entry in entries]
        columns, end = {}, 0
        for name, count, _, _ in parts:
            if name in columns:
                raise ValueError(f"wrt: {name} is there twice")
            columns[name] = slice(end, end + count)
            end += count
        outputs = [self._outputs(of, i) for i in states]
        rows = sum(len(o[2]) for o in outputs)
        if end == 0 or rows == 0:
            return RolloutJacobian(
                np.zeros((len(states), len(outputs[0][2]), end)), columns, Label("exact", np.inf, 1, 0)
            )
        matrix, label = self._by_columns(parts, end, outputs) if end <= 2 * rows else self._by_rows(parts, outputs)
        return RolloutJacobian(matrix, columns, label)

    # ---- inside ----

    def _gradient(
        self,
        gq: ArrayLike | None = None,
        gv: ArrayLike | None = None,
        gact: ArrayLike | None = None,
        at: int | Sequence[int] | None = None,
        *,
        wrench: bool = False,
    ) -> RolloutGradient:
        """wrench: the gradient by wrenches also where there were none."""
        nv, na = self.v.shape[1], self.act.shape[1]
        given = (self._of_states(name, g, n, at) for name, g, n in (("gq", gq, nv), ("gv", gv, nv), ("gact", gact, na)))
        q, v, act, u, tau, pushes, dt, params, contact, label = self._stepper.rollout_vjp(*given, wrench)
        pushes = pushes.reshape(len(pushes), self._model.nbody, 6)
        return RolloutGradient(q, v, act, u, tau, pushes, float(dt[0]), params, Label(*label), contact)

    def _return(self, step: int) -> None:
        self._stepper.rollout_return(_place("step", step, len(self)))

    def _states(self, at: int | Sequence[int]) -> list[int]:
        found = [_place("at", i, len(self.v)) for i in _several(at)]
        if not found:
            raise ValueError("at: expected the index of a state, or several")
        return found

    def _of_states(self, name: str, g: ArrayLike | None, n: int, at: int | Sequence[int] | None) -> Array | None:
        if g is None:
            return None
        given = np.asarray(g, np.float64)
        if at is None:
            return _rows(name, given, len(self.v), n).ravel()
        states = self._states(at)
        full = np.zeros((len(self.v), n))
        shape = (n,) if isinstance(at, int | np.integer) else (len(states), n)
        if given.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {given.shape}")
        np.add.at(full, states, given.reshape(len(states), n))
        return full.ravel()

    def _inputs(self, entry: Any) -> tuple[int, str, Array | None]:
        """Number of columns, the name of the argument of jvp, and its directions if they are not units."""
        m = self._model
        sizes = {"q0": m.nv, "v0": m.nv, "act0": m.na, "u": self._rows * m.nu, "tau": self._rows * m.nv,
                 "wrench": self._rows * m.nbody * 6, "dt": 1}  # fmt: skip
        if isinstance(entry, str) and entry in sizes:
            return sizes[entry], "controls" if entry == "u" else entry, None
        if isinstance(entry, str) and entry.startswith("params:"):
            units = _directions(m, entry.removeprefix("params:"))
        elif isinstance(entry, Mapping):
            units = _directions(m, [entry])
        else:
            hint = ""
            if isinstance(entry, str) and m._param_match(entry) is not None:
                hint = f"; did you mean 'params:{entry}'?"
            raise ValueError(f"wrt: {entry!r}: expected one of {', '.join(sizes)}, 'params:pattern', or a dict{hint}")
        return len(units), "params", units

    def _outputs(self, of: str, state: int) -> tuple[int, str, Array]:
        """The state, the part of it, and the matrix from that part to the requested output."""
        m, q = self._model, self.q[state]
        kind, _, name = of.partition(":") if isinstance(of, str) else ("", "", "")
        if of in ("q", "v"):
            return state, of, np.eye(m.nv)
        if of == "act":
            return state, of, np.eye(m.na)
        if kind in ("site", "body") and name:
            frame = m.site_jacobian(name, q) if kind == "site" else m.body_jacobian(name, q)
            return state, "q", frame[:3]
        raise ValueError(f"of: {of!r}: expected 'q', 'v', 'act', 'site:name' or 'body:name'")

    def _by_columns(self, parts: list, count: int, outputs: list) -> tuple[Array, Label]:
        m, given, first = self._model, {}, 0
        shapes = {
            "q0": (m.nv,), "v0": (m.nv,), "act0": (m.na,), "controls": (self._rows, m.nu), "tau": (self._rows, m.nv),
            "wrench": (self._rows, m.nbody, 6), "dt": (), "params": (m.nparams,),
        }  # fmt: skip
        for _, n, name, units in parts:
            if n == 0:
                continue
            whole = given.setdefault(name, np.zeros((count, *shapes[name])))
            whole[first : first + n] = (np.eye(n) if units is None else units).reshape(n, *shapes[name])
            first += n
        change = self.jvp(**given)
        return np.stack([to @ getattr(change, part)[:, i].T for i, part, to in outputs]), change.label

    def _by_rows(self, parts: list, outputs: list) -> tuple[Array, Label]:
        blocks, labels, wrench = [], [], any(name == "wrench" for _, _, name, _ in parts)
        for i, part, to in outputs:
            rows = []
            for row in to:
                g = self._gradient(**{f"g{part}": row}, at=i, wrench=wrench)
                labels.append(g.label)
                rows.append(np.concatenate([_along(g, name, units) for _, n, name, units in parts if n > 0]))
            blocks.append(np.array(rows))
        return np.array(blocks), _worst(labels)


def _along(g: RolloutGradient, name: str, units: Array | None) -> Array:
    whole = {"q0": g.q, "v0": g.v, "act0": g.act, "controls": g.u, "tau": g.tau, "wrench": g.wrench, "dt": g.dt}
    if units is not None:
        return units @ g.params
    return np.ravel(whole[name])


def _several(given: Any) -> list[Any]:
    """The entries of a list, or the one that was given."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]


def _place(name: str, index: Any, count: int) -> int:
    """A position among count of them; negative ones count from the end."""
    at = whole_number(name, index, -count)
    if at >= count:
        raise IndexError(f"{name} = {at}: there are {count}, 0 to {count - 1}")
    return range(count)[at]


def _directions(m: Model, params: Any) -> Array:
    """One row of nparams numbers for each direction."""
    entries = _several(params)
    rows = []
    for entry in entries:
        tied = np.zeros(m.nparams)
        if isinstance(entry, Mapping):
            for name, factor in entry.items():
                tied[m.params.index(name)] += real_number(f"params: factor of {name!r}", factor)
            rows.append(tied)
            continue
        if isinstance(entry, bool) or not isinstance(entry, str | int | np.integer):
            raise TypeError(f"params: expected names, patterns, positions or dicts of factors, got {entry!r}")
        indices = m.params.index(entry if isinstance(entry, str) else int(entry))
        rows.extend(np.eye(1, m.nparams, i)[0] for i in indices)
    if not rows:
        raise ValueError("params: there is none")
    return np.array(rows)


def rollout(
    m: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    controls: ArrayLike | int,
    dt: float | None = None,
    *,
    act0: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
    contacts: Sequence[Any] | None = None,
    hold: int = 1,
    steps: int | None = None,
    tape: bool = True,
    checkpoints: bool = False,
    threads: int | None = None,
    progress: Any = None,
    solver: Solver = "newton",
    **options: Unpack[StepOptions],
) -> Any:
    """Steps from (q0, v0, act0) with rows of controls (rows, nu), or a number of steps without controls.

    tau (rows, nv): generalised forces; wrench (rows, nbody, 6): force and torque on each body at its centre of mass,
    world axes; hold: number of steps for which each row is used; steps: rows times hold unless given. tape: False
    records nothing for derivatives, which takes half the time; checkpoints: records about sqrt(T) steps instead of all,
    and repeats the others for derivatives. Options are those of `Sim`. contacts: lists of contacts, one
    per step (`tangere.given_contacts`), in place of collision detection; not in batches.

    With starts q0 (n, nq) it runs a batch over threads, like `tangere.Batch.rollout`: v0 (n, nv), act0 (n, na),
    controls (n, rows, nu), tau (n, rows, nv) and wrench (n, rows, nbody, 6), where the leading n may be omitted; the
    result is a `BatchRollout`. threads and progress are those of a batch.
    """
    if np.ndim(q0) == 2:
        if contacts is not None:
            raise ValueError("contacts: a batch finds its own; give one start q0 (nq)")
        from tangere.batch import rollout_batch  # noqa: PLC0415  (which needs this module)

        return rollout_batch(
            m, q0, v0, controls, dt, act0=act0, tau=tau, wrench=wrench, hold=hold, steps=steps, derivatives=tape,
            checkpoints=checkpoints, threads=threads, progress=progress, solver=solver, **options,
        )  # fmt: skip
    if threads is not None or progress is not None:
        raise ValueError("threads and progress are for several starts: give q0 (n, nq), n may be 1")
    if not isinstance(m, Model):
        raise TypeError(f"m: expected a tangere.Model, got {type(m).__name__}")
    if "u" in options:
        raise TypeError("tangere.rollout: no option 'u'; use controls=..., an array (rows, nu) or a number of steps")
    if not isinstance(tape, bool | np.bool_):
        raise TypeError(f"tape: expected True or False, got {tape!r}")
    if np.ndim(controls) == 0:
        controls = whole_number("controls", controls, 1)
        controls = np.zeros((-(-controls // whole_number("hold", hold, 1)), m.nu))
    u = real_numbers("controls", controls)
    count = held_steps(len(u), hold, steps)
    u = np.array(_rows("controls", u, len(u), m.nu))
    forces = None if tau is None else np.array(_rows("tau", tau, len(u), m.nv)).ravel()
    pushes = None
    if wrench is not None:
        pushes = np.array(real_numbers("wrench", wrench))
        if pushes.shape != (len(u), m.nbody, 6):
            raise ValueError(f"wrench: expected shape {(len(u), m.nbody, 6)}, got {pushes.shape}")
        pushes = pushes.ravel()
    if checkpoints and not tape:
        raise Error("checkpoints are part of a tape", "value out of domain")
    stepper, step_time = _stepper(m, dt, solver, **options)
    act = np.zeros(m.na) if act0 is None else act0
    kind = _TAPES.index("none" if not tape else "checkpoints" if checkpoints else "all")
    lists = None if contacts is None else [np.asarray(one, _core.GIVEN_CONTACT) for one in contacts]
    counts = None if lists is None else np.array([len(one) for one in lists], np.intc)
    all_given = None if lists is None else np.concatenate([np.zeros(0, _core.GIVEN_CONTACT), *lists])
    states = stepper.rollout(count, q0, v0, act, u.ravel(), forces, pushes, hold, kind, all_given, counts)
    given = 0 if all_given is None else len(all_given)
    return Rollout(m, stepper, states, controls=u, hold=hold, dt=step_time, given=given)


def held_steps(rows: int, hold: int, steps: int | None) -> int:
    """The number of steps of rows of controls with `hold`; checked."""
    hold = whole_number("hold", hold, 1)
    count = rows * hold if steps is None else whole_number("steps", steps, 1)
    if count < 1:
        raise ValueError(f"controls: expected at least one row of controls, got {max(rows, 0)}")
    if -(-count // hold) != rows:
        raise ValueError(f"steps: {count} with {hold} each take {-(-count // hold)} rows of controls, got {rows}")
    return count


def _rows(name: str, value: ArrayLike, rows: int, length: int) -> Array:
    array = real_numbers(name, value)
    if array.shape != (rows, length):
        raise ValueError(f"{name}: expected shape {(rows, length)}, got {array.shape}")
    return array
