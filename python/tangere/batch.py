"""Many environments of one model at once: `Batch`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._errors import Error
from tangere._names import Strict, real_numbers, whole_number
from tangere.model import Model
from tangere.rollout import RolloutChange, RolloutGradient, held_steps
from tangere.sim import Jacobian, Label, SimState, StepChange, StepContacts, StepGradient, _settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tangere.options import Solver, StepOptions

Array = NDArray[np.float64]
Progress = Callable[[int, int], Any]

LABELS = ("exact", "one-sided", "regularised")  # in the order of the library
_NOTHING = (None,) * 10


class BatchError(Error):
    """Some environments failed. `environments`: their indices; `messages`: one message for each."""

    def __init__(self, message: str, status: str, failures: Sequence[tuple[int, str, str]]) -> None:
        super().__init__(message, status)
        self.environments = [i for i, _, _ in failures]
        self.messages = [text for _, _, text in failures]


def _array(name: str, value: ArrayLike | None, shape: tuple[int, ...]) -> Array | None:
    """The value itself if it is C-contiguous, float64 and of that shape; otherwise converted once."""
    if value is None:
        return None
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == shape and value.flags.c_contiguous:
        return value
    given = np.asarray(value)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got dtype {given.dtype}")
    if given.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {given.shape}")
    return np.ascontiguousarray(given, dtype=np.float64)


def _written_to(name: str, doc: str) -> property:
    """An array that can be read, written to, and assigned to."""

    def assign(self: Any, value: ArrayLike) -> None:
        array, given = getattr(self, name), real_numbers(name[1:], value)
        shape, row = array.shape, array.shape[1:]
        if given.shape not in (shape, (1, *row), row, ()):
            raise ValueError(f"{name[1:]}: expected shape {shape}, or {row} for all environments, got {given.shape}")
        array[...] = given

    return property(lambda self: getattr(self, name), assign, doc=doc)


class _Bar:
    """A progress bar in the terminal, shown after two seconds."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        seconds = time.monotonic() - self._start
        if seconds < 2 or not sys.stderr.isatty():
            return
        self._shown = True
        part, left = done / total, seconds * (total - done) / done
        sys.stderr.write(f"\r[{'#' * int(30 * part):30}] {100 * part:3.0f} %, {left:.0f} s left ")
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * 60 + "\r")


class Batch(Strict):
    """n environments of a model, stepped together over threads.

    dt (s): the time step; None: the model's. threads: None: as many as this process may use. Solver and options are
    those of `tangere.Sim`. Results are bitwise those of n `Sim`s, for any number of threads.

    `q` (n, nq), `v` (n, nv), `act` (n, na) are the states: arrays that can be written to, and that steps change in
    place. C-contiguous float64 arrays are used without a copy; others are converted once. Parameters are those of the
    model at each step (`model.params`), except those named by `params`, which may differ between environments.

    Derivatives are the named tuples of a `Sim` (`Jacobian`, `StepGradient`, `StepChange`) and of `rollout`
    (`RolloutGradient`, `RolloutChange`) with (n, ...) arrays in every field. Parameters in them are the named ones.
    label is a record array (n) with kind (an index into `tangere.batch.LABELS`), margin, condition, residual.

    An environment that fails keeps its state. With on_error="raise" (default), invalid numbers are refused before any
    environment steps, and any other failure raises `tangere.BatchError` after all others have stepped. With
    on_error="keep" nothing is raised, and `errors` lists the failures with their reasons.
    """

    def __init__(  # noqa: PLR0917  (as in Sim, then threads)
        self,
        model: Model,
        n: int,
        dt: float | None = None,
        threads: int | None = None,
        solver: Solver = "newton",
        on_error: str = "raise",
        **options: Unpack[StepOptions],
    ) -> None:
        if on_error not in {"raise", "keep"}:
            raise ValueError(f"on_error: expected 'raise' or 'keep', got {on_error!r}")
        if threads is not None:
            threads = whole_number("threads", threads, 1)
        n = whole_number("n", n, 1)
        self._model, self._n, self._strict = model, n, on_error == "raise"
        self._settings = _settings(model, dt, solver, **options)
        self._core = _core.Batch(self._settings, self._n, len(os.sched_getaffinity(0)) if threads is None else threads)
        self._q, self._v = np.zeros((n, model.nq)), np.zeros((n, model.nv))
        self._act, self._time = np.zeros((n, model.na)), np.zeros(n)
        self._info = np.zeros(n, _core.INFO)
        self._names: tuple | None = None
        self._index = np.empty(0, np.intc)
        self._table: Array | None = None
        self._stepped = False
        self._idle: dict[tuple[int, bool], list] = {}  # tapes of rollouts that are gone
        self.reset()

    def __repr__(self) -> str:
        return f"<tangere.Batch of {self._n} {self._model.name!r}: dt {self.dt:g} s, {self.threads} threads>"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a tangere.Batch cannot be copied or pickled: make another one of its model, and give it the states, "
            "batch.reset(states=other.save())"
        )

    def __len__(self) -> int:
        return self._n

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the threads and frees the memory; the arrays stay. Every later call is refused."""
        self._core.close()

    # ---- what it is made of ----

    @property
    def model(self) -> Model:
        """The model of all environments."""
        return self._model

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self._settings[1]

    @property
    def threads(self) -> int:
        """Threads that the batch uses."""
        return self._core.threads

    @property
    def nbytes(self) -> int:
        """Memory used by the library for the batch: workspaces, caches, and the data of the last step."""
        return self._core.nbytes

    # ---- the states ----

    q = _written_to("_q", "Configurations (n, nq), which can be written to.")
    v = _written_to("_v", "Velocities (n, nv), which can be written to.")
    act = _written_to("_act", "Activations (n, na), which can be written to.")

    @property
    def time(self) -> Array:
        """s (n), which can be written to; every step adds dt."""
        return self._time

    def params(self, names: Any = None) -> Array:
        """The table (n, k) of values that k parameters have in each environment, which can be written to.

        names: names, patterns or positions of the parameters, as in `model.params.index`; None: those of the last
        call. Naming others starts a new table, with the values of the model. Derivatives with respect to parameters are
        with respect to these.
        """
        if names is not None:
            key = (names,) if isinstance(names, str | int) else tuple(np.asarray(names).ravel().tolist())
            if key != self._names:
                index = self._model.params.index(names)
                self._core.name(index)
                self._index, self._names, self._stepped = index, key, False
                self._table = np.tile(np.asarray(self._model.params)[index], (self._n, 1))
        if self._table is None:
            raise Error("no parameters were named", "invalid argument")
        return self._table

    def reset(
        self,
        ids: ArrayLike | None = None,
        key: str | int | None = None,
        states: Sequence[SimState] | tuple[ArrayLike, ...] | None = None,
    ) -> None:
        """Sets environments (ids: numbers, a mask; None: all) to a keyframe, to states, or to the reference pose.

        states: one `SimState` for each (caches included), or (q, v) or (q, v, act) as arrays for all of them.
        """
        where = self._ids(ids)
        if states is not None and key is not None:
            raise ValueError("give one of key and states")
        if states is not None and len(states) > 0 and isinstance(states[0], SimState):
            self._restore(where, states)
            return
        q, v, act, at = self._start(len(where), key, states)
        self._core.forget(where)
        self._q[where], self._v[where], self._act[where], self._time[where] = q, v, act, at

    def _ids(self, ids: ArrayLike | None) -> NDArray[np.intc]:
        if ids is None:
            return np.arange(self._n, dtype=np.intc)
        given = np.atleast_1d(ids)
        if given.dtype == bool:
            if given.shape != (self._n,):
                raise ValueError(f"ids: expected a mask of shape {(self._n,)}, got {given.shape}")
            return np.flatnonzero(given).astype(np.intc)
        if given.dtype.kind not in "iu":
            hint = "; a keyframe is given as key=..." if given.dtype.kind == "U" else ""
            raise TypeError(f"ids: expected integers or a mask, got dtype {given.dtype}{hint}")
        if given.size and (given.min() < 0 or given.max() >= self._n):
            raise IndexError(f"ids: expected 0 .. {self._n - 1}, got {given.min()} to {given.max()}")
        return given.astype(np.intc)

    def _start(self, count: int, key: str | int | None, states: Any) -> tuple[Any, ...]:
        m = self._model
        if states is not None:
            q, v, *rest = states
            act = rest[0] if rest else np.zeros((count, m.na))
            return (
                _array("q", q, (count, m.nq)), _array("v", v, (count, m.nv)), _array("act", act, (count, m.na)), 0.0
            )  # fmt: skip
        if key is None:
            return m.default_q(), 0.0, 0.0, 0.0
        frame = m.key(key)
        return frame.q, frame.v, frame.act, float(frame.time)

    def _restore(self, where: NDArray[np.intc], states: Sequence[SimState]) -> None:
        if len(states) != len(where):
            raise ValueError(f"states: expected {len(where)}, got {len(states)}")
        for i, state in zip(where.tolist(), states, strict=True):
            self._q[i], self._v[i], self._act[i], self._time[i] = state.q, state.v, state.act, state.time
            self._core.set_cache(i, np.ascontiguousarray(state.cache, dtype=_core.CACHE_ENTRY))

    def save(self, ids: ArrayLike | None = None) -> list[SimState]:
        """Whole states, caches included, from which a batch or a `Sim` continues bit by bit."""
        return [
            SimState(
                float(self._time[i]), self._q[i].copy(), self._v[i].copy(), self._act[i].copy(), self._core.cache(i)
            )
            for i in self._ids(ids).tolist()
        ]

    # ---- steps ----

    def step(self, u: ArrayLike | None = None, tau: ArrayLike | None = None, wrench: ArrayLike | None = None) -> None:
        """One step of dt for all.

        u (n, nu): controls of the actuators; tau (n, nv): generalised forces; wrench (n, nbody, 6): forces and
        torques on bodies at their centres of mass, world axes. None: zero.
        """
        m, n = self._model, self._n
        status = self._core.step(
            self._q, self._v, self._act, _array("u", u, (n, m.nu)), _array("tau", tau, (n, m.nv)),
            _array("wrench", wrench, (n, m.nbody, 6)), self._table, self._strict, (self._info, *_NOTHING[1:]),
        )  # fmt: skip
        if status:
            self._fail(status)
        self._stepped = True
        self._time += self._dt_of(status)

    def _dt_of(self, status: int) -> Any:
        if not status:
            return self.dt
        steps = np.full(self._n, self.dt)
        steps[[i for i, _, _ in self.errors]] = 0
        return steps

    def _fail(self, status: int) -> None:
        """Raises the error of the last call, unless it concerns single environments and on_error is "keep"."""
        failures = self._core.errors()
        if failures and not self._strict:
            return
        try:
            self._core.raise_(status)
        except Error as refusal:
            if failures:
                raise BatchError(str(refusal), refusal.status, failures) from None
            raise

    @property
    def errors(self) -> list[tuple[int, str, str]]:
        """(environment, status, message) of those that failed in the last call."""
        return self._core.errors()

    @property
    def info(self) -> NDArray[np.void]:
        """Information about the last step, a record array (n): the fields of `tangere.Info` (status, residual,
        ncontact, ...).
        """
        return self._info

    # ---- derivatives of the last step ----

    def _need_step(self) -> None:
        if not self._stepped:
            raise Error(
                "there was no step since the batch was made or parameters were named; batch.step() takes one",
                "stale result",
            )

    def _derive(self, **wanted: Any) -> None:
        self._need_step()
        order = (
            "info", "contact", "contacts", "jacobian", "vjp_out", "vjp_in", "params_sum", "jvp_in", "jvp_out", "label",
        )  # fmt: skip
        status = self._core.derivatives(self._table, tuple(wanted.get(name) for name in order))
        if status:
            self._fail(status)

    def contacts(self, room: int = 64) -> list[StepContacts]:
        """The contact points of the last step of each environment; computes the step again. room: the maximum number
        per environment.
        """
        contact, count = np.zeros((self._n, room), _core.STEP_CONTACT), np.zeros(self._n, np.intc)
        self._derive(contact=contact, contacts=count)
        if count.max() > room:
            raise Error(f"environment {count.argmax()} has {count.max()} contacts, room = {room}", "capacity exceeded")
        return [
            StepContacts(*(row[:c][f] for f in StepContacts._fields)) for row, c in zip(contact, count, strict=True)
        ]

    def jacobian(self, *, dt: bool = False) -> Jacobian:
        """Matrices of the last step, (n, rows, columns) each; ...dparams with respect to the named parameters, ...ddt
        if dt. Those of contacts and wrenches are empty.
        """
        m, n, k = self._model, self._n, len(self._index)
        rows, columns = (m.nv, m.nv, m.na), (m.nv, m.nv, m.na, m.nu, m.nv, None, k)
        fields = [
            (np.zeros((n, r, c)) if c is not None else np.zeros((n, r if dt else 0))) for r in rows for c in columns
        ]
        label = np.zeros(n, _core.LABEL)
        given = tuple(None if i % 7 == 5 and not dt else f for i, f in enumerate(fields))
        self._derive(jacobian=given, label=label)
        none = [np.empty((n, 0, 3) if c is None else (n, 0, 3, c)) for c in columns]
        return Jacobian(*fields, *none, *none, *[np.empty((n, 0, m.nbody, 6))] * 2, label, [])

    def vjp(
        self,
        gq: ArrayLike | None = None,
        gv: ArrayLike | None = None,
        gact: ArrayLike | None = None,
        *,
        sum_params: bool = False,
    ) -> StepGradient:
        """Reverse mode of the last step, from gradients of q+ (n, nv, tangent), v+ (n, nv) and act+ (n, na).

        params of the result is (n, k) with respect to the named parameters. sum_params: (k), summed over the
        environments, in an order that is always the same.
        """
        m, n, k = self._model, self._n, len(self._index)
        given = (_array("gq", gq, (n, m.nv)), _array("gv", gv, (n, m.nv)), _array("gact", gact, (n, m.na)))
        shapes = ((m.nv,), (m.nv,), (m.na,), (m.nu,), (m.nv,), (m.nbody, 6), ())
        fields = [np.zeros((n, *shape)) for shape in shapes]
        params = np.zeros(k) if sum_params else np.zeros((n, k))
        label = np.zeros(n, _core.LABEL)
        self._derive(
            vjp_out=given, vjp_in=(*fields, None if sum_params else params), params_sum=params if sum_params else None,
            label=label,
        )  # fmt: skip
        return StepGradient(*fields, params, label)

    def jvp(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        act: ArrayLike | None = None,
        *,
        u: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        dt: ArrayLike | None = None,
        params: ArrayLike | None = None,
    ) -> StepChange:
        """Forward mode of the last step: the change of the outputs along a change of the inputs; q (n, nv) in the
        tangent space.
        """
        m, n, k = self._model, self._n, len(self._index)
        given = (
            _array("q", q, (n, m.nv)), _array("v", v, (n, m.nv)), _array("act", act, (n, m.na)),
            _array("u", u, (n, m.nu)), _array("tau", tau, (n, m.nv)), _array("wrench", wrench, (n, m.nbody, 6)),
            _array("dt", dt, (n,)), _array("params", params, (n, k)),
        )  # fmt: skip
        out = (np.zeros((n, m.nv)), np.zeros((n, m.nv)), np.zeros((n, m.na)))
        label = np.zeros(n, _core.LABEL)
        self._derive(jvp_in=given, jvp_out=out, label=label)
        return StepChange(*out, label)

    # ---- rollouts ----

    def rollout(
        self,
        controls: ArrayLike | int,
        tau: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        *,
        hold: int = 1,
        steps: int | None = None,
        derivatives: bool = True,
        checkpoints: bool = False,
        progress: bool | Progress | None = None,
    ) -> BatchRollout:
        """T steps of all environments, from their current states.

        controls (n, rows, nu), or a number of steps without controls; tau (n, rows, nv): forces; wrench (n, rows,
        nbody, 6): force and torque on each body at its centre of mass, world axes; hold: number of steps for which each
        row is used; steps: T, rows times hold unless given. derivatives: records what `BatchRollout.vjp` and `jvp` need
        (see `BatchRollout.nbytes`); checkpoints: only of about sqrt(T) steps, the others are repeated. progress: a
        function of (steps done, steps in all), called about ten times per second in this thread, that may return False
        to stop; True: a bar in the terminal when it takes longer than two seconds.
        """
        m, n = self._model, self._n
        if isinstance(controls, int | np.integer):
            controls = whole_number("controls", controls, 1)
            rows, u = -(-controls // whole_number("hold", hold, 1)), None
            steps = controls if steps is None else steps
        else:
            rows = np.shape(controls)[1] if np.ndim(controls) == 3 else -1
            u = _array("controls", controls, (n, rows, m.nu))
        steps = held_steps(rows, hold, steps)
        forces = _array("tau", tau, (n, rows, m.nv))
        pushes = _array("wrench", wrench, (n, rows, m.nbody, 6))
        states = (
            np.empty((n, steps + 1, m.nq)), np.empty((n, steps + 1, m.nv)), np.empty((n, steps + 1, m.na)),
            np.empty((n, steps)),
        )  # fmt: skip
        tape = self._take_tape(steps, checkpoints) if derivatives else None
        bar = _Bar() if progress is True else None
        call = bar if bar is not None else progress if callable(progress) else None
        self._stepped = False
        try:
            status = self._core.rollout(
                steps,
                hold,
                self._q,
                self._v,
                self._act,
                u,
                forces,
                pushes,
                self._table,
                self._strict,
                states,
                tape,
                call,
            )
        finally:
            if bar is not None:
                bar.close()
        if status:
            self._fail(status)
        self._time += steps * self._dt_of(status)
        return BatchRollout(
            self, tape, states, len(self._index), checkpoints=checkpoints, hold=hold, pushed=wrench is not None
        )

    def _take_tape(self, steps: int, checkpoints: bool) -> Any:
        idle = self._idle.get((steps, checkpoints))
        return idle.pop() if idle else self._core.tape(self._n, steps, checkpoints)

    def _give_back(self, steps: int, checkpoints: bool, tape: Any) -> None:
        """For the next rollout of the same length; one is kept."""
        self._idle = {(steps, checkpoints): [tape]}


class BatchRollout:
    """Rollouts: q (n, T + 1, nq), v (n, T + 1, nv), act (n, T + 1, na), the first row being the start; residual (n, T).

    Parameters are on the tape: later changes do not affect derivatives. Rows after a failure are NaN.
    """

    def __init__(
        self, batch: Batch, tape: Any, states: tuple, k: int, *, checkpoints: bool, hold: int, pushed: bool
    ) -> None:
        self._batch, self._tape, self._k, self._checkpoints = batch, tape, k, checkpoints
        self.q, self.v, self.act, self.residual = states
        self.hold, self._pushed = hold, pushed
        self._rows = -(-self.residual.shape[1] // hold)  # of controls

    def __repr__(self) -> str:
        n, steps = self.residual.shape
        return f"<tangere.BatchRollout of {n} {self._batch.model.name!r}: {steps} steps each>"

    def __reduce__(self) -> Any:
        raise TypeError("a tangere.BatchRollout cannot be copied or pickled, its arrays can: q, v, act, residual")

    def __del__(self) -> None:
        if self._tape is not None:
            self._batch._give_back(self.residual.shape[1], self._checkpoints, self._tape)

    @property
    def nbytes(self) -> int:
        """Memory used for derivatives."""
        return 0 if self._tape is None else self._tape.nbytes

    def _derive(self, *request: Any) -> None:
        if self._tape is None:
            raise Error("the rollout was taken with derivatives=False", "stale result")
        batch = self._batch
        status = batch._core.rollout_derivatives(self._tape, *request)
        if status:
            batch._fail(status)

    def vjp(
        self,
        gq: ArrayLike | None = None,
        gv: ArrayLike | None = None,
        gact: ArrayLike | None = None,
        *,
        sum_params: bool = False,
    ) -> RolloutGradient:
        """Reverse mode, from gradients with respect to the states: gq, gv (n, T + 1, nv), q in the tangent space;
        gact (n, T + 1, na). sum_params: as in `Batch.vjp`.
        """
        m, (n, states, nv), k, rows = self._batch.model, self.v.shape, self._k, self._rows
        given = (
            _array("gq", gq, (n, states, nv)),
            _array("gv", gv, (n, states, nv)),
            _array("gact", gact, (n, states, m.na)),
        )
        shapes = ((nv,), (nv,), (m.na,), (rows, m.nu), (rows, nv), (rows if self._pushed else 0, m.nbody, 6), ())
        fields = [np.zeros((n, *shape)) for shape in shapes]
        params = np.zeros(k) if sum_params else np.zeros((n, k))
        label = np.zeros(n, _core.LABEL)
        wanted = [None if i == 5 and not self._pushed else field for i, field in enumerate(fields)]
        self._derive(
            given, (*wanted, None if sum_params else params), params if sum_params else None, 0, None, None, label
        )
        return RolloutGradient(*fields, params, label)

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
    ) -> RolloutChange:
        """Forward mode: the change of all states, q, v (n, T + 1, nv), act (n, T + 1, na), along a change of the
        inputs.
        """
        m, (n, _, nv), k, rows = self._batch.model, self.v.shape, self._k, self._rows
        given = (
            _array("q0", q0, (n, nv)), _array("v0", v0, (n, nv)), _array("act0", act0, (n, m.na)),
            _array("controls", controls, (n, rows, m.nu)), _array("tau", tau, (n, rows, nv)),
            _array("wrench", wrench, (n, rows, m.nbody, 6)), _array("dt", dt, (n,)), _array("params", params, (n, k)),
        )  # fmt: skip
        return self._forward(1, given, (n,))

    def sensitivity(self) -> RolloutChange:
        """Derivatives of all states with respect to the k named parameters: q, v, act are (n, k, T + 1, ...)."""
        n, k = len(self.v), self._k
        if k == 0:
            raise ValueError("params: none were named")
        units = np.ascontiguousarray(np.broadcast_to(np.eye(k), (n, k, k)))
        return self._forward(k, (*[None] * 7, units), (n, k))

    def _forward(self, directions: int, given: tuple, lead: tuple[int, ...]) -> RolloutChange:
        (n, rows, nv), na = self.v.shape, self.act.shape[2]
        out = (np.zeros((*lead, rows, nv)), np.zeros((*lead, rows, nv)), np.zeros((*lead, rows, na)))
        label = np.zeros(n, _core.LABEL)
        self._derive(None, None, None, directions, given, out, label)
        return RolloutChange(*out, label)


def label_of(record: np.void) -> Label:
    """An entry of a record array of labels as a `tangere.Label`."""
    return Label(LABELS[record["kind"]], float(record["margin"]), float(record["condition"]), float(record["residual"]))


def rollout_batch(
    m: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    controls: ArrayLike | int,
    dt: float | None = None,
    *,
    act0: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
    hold: int = 1,
    steps: int | None = None,
    derivatives: bool = True,
    checkpoints: bool = False,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    solver: Solver = "newton",
    **options: Unpack[StepOptions],
) -> BatchRollout:
    """`tangere.rollout` with several starts."""
    n = len(np.asarray(q0))

    def spread(name: str, value: ArrayLike | None, tail: tuple[int, ...]) -> Any:
        if value is None or np.ndim(value) == len(tail) + 1:
            return value
        try:
            return np.broadcast_to(np.asarray(value), (n, *np.shape(value)))
        except ValueError:
            raise ValueError(f"{name}: cannot have shape {np.shape(value)}") from None

    batch = Batch(m, n, dt, threads, solver, **options)
    act = np.zeros((n, m.na)) if act0 is None else spread("act0", act0, (m.na,))
    batch.reset(states=(q0, spread("v0", v0, (m.nv,)), act))
    u = controls if isinstance(controls, int | np.integer) else spread("controls", controls, (0, m.nu))
    return batch.rollout(
        u, spread("tau", tau, (0, m.nv)), spread("wrench", wrench, (0, m.nbody, 6)), hold=hold, steps=steps,
        derivatives=derivatives, checkpoints=checkpoints, progress=progress,
    )  # fmt: skip
