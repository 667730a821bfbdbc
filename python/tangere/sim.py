"""Simulation: `Sim` keeps a state and steps it, `step` is one step as a function."""

from __future__ import annotations

import warnings
import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._core import Energy
from tangere._errors import Error
from tangere.enums import SolvedBy, StepStatus
from tangere.model import Model
from tangere.params import Params

Array = NDArray[np.float64]
Cache = NDArray[np.void]

_RESTITUTION = ("newton", "poisson")
_IMPACT = ("end", "within")
_AS_MODEL = 2  # tg_switch
_BACKWARD = ("exact", "smoothed", "toi", "ani")  # in the order of the library


class StepContacts(NamedTuple):
    """The n contact points that were in the problem of a step, also those that did nothing. World frame.

    geom1, geom2 (n); point (n, 3); normal (n, 3), from geom1 to geom2; distance (n): at the start of the step;
    force (n, 3), torque (n, 3): impulse / dt in N and N m, on geom2 at the point; mode (n): `ContactMode`;
    margin (n): to the next change of mode, the smallest of: speed at which it separates or slides (m/s), speed that its
    normal impulse takes away (m/s), and where it sticks 1 - |friction| / (mu normal force);
    immaterial (n): sticks, but others hold what it would hold, margin infinite; local (n, 6): force and torque in the
    contact's frame, normal first, then the rows of its condim; id (n): stays while the pair and its features stay;
    gap (n): distance less margins, what a step closes to 0.
    """

    geom1: NDArray[np.intc]
    geom2: NDArray[np.intc]
    point: Array
    normal: Array
    distance: Array
    force: Array
    torque: Array
    mode: NDArray[np.intc]
    margin: Array
    immaterial: NDArray[np.bool_]
    local: Array
    id: NDArray[np.uint64]
    gap: Array


class Info:
    """What one step tells about itself.

    status: `StepStatus`; iterations: factorisations of the contact solver over all islands, worst: those of the island
    that took most, stage: what ended that one (`SolvedBy`); sweeps: Gauss-Seidel sweeps; ncontact, rows, islands: size
    of the contact problem; residual (m/s): how far the laws of contact are from holding, the
    largest of primal, dual and complementarity; penetration (m): largest overlap at the start of the step;
    work (J): of all impulses; capacity: share of the room for contacts that was used; balance (J): energy that the step
    created, where it might be unstable (stiff springs, a dof that moves by more than 0.25 in a step, impulses that were
    not found), else 0; act (na), cache: after the step.
    """

    __slots__ = (
        "__weakref__", "_contacts", "_model", "_q", "_stepper", "_v", "act", "balance", "cache", "capacity",
        "complementarity", "dual", "islands", "iterations", "ncontact", "penetration", "primal", "residual", "rows",
        "stage", "status", "sweeps", "work", "worst",
    )  # fmt: skip

    def __init__(self, model: Model, stepper: _core.Stepper, result: tuple) -> None:
        self._model, self._stepper = model, stepper
        self._contacts: StepContacts | Error | None = None
        self._q, self._v, self.act, self.cache, numbers = result
        (
            status, self.iterations, self.sweeps, self.ncontact, self.rows, self.islands, self.residual, self.primal,
            self.dual, self.complementarity, self.penetration, self.work, self.capacity, self.balance,
            self.worst, stage,
        ) = numbers  # fmt: skip
        self.status, self.stage = StepStatus(status), SolvedBy(stage)

    def __repr__(self) -> str:
        return (
            f"<tangere.Info {self.status.name.lower()}: {self.ncontact} contacts, {self.iterations} iterations, "
            f"residual {self.residual:.2g} m/s, penetration {self.penetration:.2g} m>"
        )

    @property
    def contacts(self) -> StepContacts:
        """The contact points of the step."""
        self._keep_contacts()
        if isinstance(self._contacts, Error):
            raise self._contacts
        return self._contacts

    def _keep_contacts(self) -> None:
        """Takes the contacts, or the refusal to give them, from the workspace before that goes on."""
        if self._contacts is None:
            try:
                self._contacts = StepContacts(*self._stepper.contacts())
            except Error as refusal:
                self._contacts = refusal

    @property
    def energy(self) -> Energy:
        """Kinetic and potential energy after the step, J, at the parameters that the model has when it is asked for."""
        return self._model.energy(self._q, self._v)


class Label(NamedTuple):
    """What a derivative is.

    kind: "exact", "one-sided" (something is at a change of mode) or "regularised" (the derivative does not exist, or is
    not unique: a finite choice); margin: smallest distance to a change of mode or features (m/s; m), or of a control,
    force or activation to its bound; condition: of the equations of the modes; residual: of the step (m/s); twofold:
    another solution of the contact problem was met, elsewhere.
    """

    kind: str
    margin: float
    condition: float
    residual: float
    twofold: bool = False


class Jacobian(NamedTuple):
    """Derivatives of one step, d(what came out) / d(what went in); q is taken in the tangent space (nv numbers).

    Rows are those of q+, v+ (nv) and act+ (na); columns those of q, v, tau (nv), act (na), u (nu) and the chosen
    parameters; ...ddt are vectors, empty unless asked for. Where contacts were asked for, dforce_... (N) and
    dpoint_... (m) have the shape (contacts, 3, columns), in the order of `info.contacts`, world axes; else none.
    dq_dwrench, dv_dwrench (nv, nbody, 6), where wrenches were asked for: force and torque at the centre of mass.
    param_labels: what the derivative by each of the chosen parameters is; one-sided where that number alone has two
    sides, as one of two equal friction coefficients.
    """

    dq_dq: Array
    dq_dv: Array
    dq_dact: Array
    dq_du: Array
    dq_dtau: Array
    dq_ddt: Array
    dq_dparams: Array
    dv_dq: Array
    dv_dv: Array
    dv_dact: Array
    dv_du: Array
    dv_dtau: Array
    dv_ddt: Array
    dv_dparams: Array
    dact_dq: Array
    dact_dv: Array
    dact_dact: Array
    dact_du: Array
    dact_dtau: Array
    dact_ddt: Array
    dact_dparams: Array
    dforce_dq: Array
    dforce_dv: Array
    dforce_dact: Array
    dforce_du: Array
    dforce_dtau: Array
    dforce_ddt: Array
    dforce_dparams: Array
    dpoint_dq: Array
    dpoint_dv: Array
    dpoint_dact: Array
    dpoint_du: Array
    dpoint_dtau: Array
    dpoint_ddt: Array
    dpoint_dparams: Array
    dq_dwrench: Array
    dv_dwrench: Array
    label: Label
    param_labels: list[str]

    @property
    def margin(self) -> float:
        """Smallest distance to a change of mode or features (m/s; m)."""
        return self.label.margin


class FrameJacobian(NamedTuple):
    """Derivatives of a frame's pose and twist after a step by what went in, (6, columns) each.

    Rows of the pose: position of the origin (m), rotation vector; of the twist: velocity of the origin (m/s), angular
    velocity; world axes.
    """

    dpose_dq: Array
    dpose_dv: Array
    dpose_dact: Array
    dpose_du: Array
    dpose_dtau: Array
    dtwist_dq: Array
    dtwist_dv: Array
    dtwist_dact: Array
    dtwist_du: Array
    dtwist_dtau: Array
    label: Label


class StepGradient(NamedTuple):
    """Gradients with respect to what went into a step.

    q, v, tau (nv), act (na), u (nu), wrench (nbody, 6), dt, params (nparams).
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


class StepChange(NamedTuple):
    """The change of what comes out of a step: q (nv, tangent), v (nv), act (na)."""

    q: Array
    v: Array
    act: Array
    label: Label


class SimState(NamedTuple):
    """Everything from which a simulation goes on bit by bit: `Sim.save` makes one. Plain arrays; can be pickled."""

    time: float
    q: Array
    v: Array
    act: Array
    cache: Cache


def _settings(
    m: Model,
    dt: float | None,
    solver: str,
    *,
    tolerance: float = 1e-8,
    effort: int | None = None,
    implicit_damping: bool = True,
    implicit_springs: bool = False,
    implicit_actuators: bool | None = None,
    implicit_gyroscopic: bool | None = None,
    implicit_tendons: bool | None = None,
    cold: bool = False,
    project: bool = False,
    restitution: str = "newton",
    impact: str = "end",
    backward: str = "exact",
    smooth_speed: float = 0.01,
    smooth_width: float = 0.001,
    smooth_reach: float = 0.0,
    push_speed: float = 0.05,
    push_rate: float = 0.05,
    push_gain: float = 1.0,
    reach: float = 0.001,
    rest_speed: float | None = None,
    max_contacts: int = _core.MOST_CONTACTS,
) -> tuple[Any, ...]:
    """Model and checked options as `_core.Stepper`, `_core.Batch` and `_core.Function` take them; the second is dt."""
    dt = m.timestep if dt is None else float(dt)
    if not 0 < dt <= 1e6:
        raise Error(f"dt = {dt:g} must be in (0, 1e+06] s", "value out of domain")
    if restitution not in _RESTITUTION:
        raise ValueError(f"restitution: expected 'newton' or 'poisson', got {restitution!r}")
    if impact not in _IMPACT:
        raise ValueError(f"impact: expected 'end' or 'within', got {impact!r}")
    if backward not in _BACKWARD:
        raise ValueError(f"backward: expected 'exact', 'smoothed', 'toi' or 'ani', got {backward!r}")
    if rest_speed is not None and not rest_speed > 0:
        raise Error(f"rest_speed = {rest_speed:g} must be positive", "value out of domain")
    if effort is not None and not effort > 0:
        raise Error(f"effort = {effort} must be positive", "value out of domain")
    return (
        m, dt, solver, tolerance, 0 if effort is None else effort, implicit_damping, implicit_springs, _AS_MODEL if implicit_actuators is None else
        int(implicit_actuators), _AS_MODEL if implicit_gyroscopic is None else int(implicit_gyroscopic),
        _AS_MODEL if implicit_tendons is None else int(implicit_tendons), cold, project,
        restitution == "poisson", _IMPACT.index(impact), _BACKWARD.index(backward), smooth_speed, smooth_width,
        smooth_reach, push_speed, push_rate, push_gain, reach,
        0.0 if rest_speed is None else rest_speed, max_contacts,
    )  # fmt: skip


def _stepper(m: Model, dt: float | None, solver: str, **options: Any) -> tuple[_core.Stepper, float]:
    """A stepper, and its time step."""
    settings = _settings(m, dt, solver, **options)
    return _core.Stepper(*settings), settings[1]


def _flat_wrench(m: Model, wrench: ArrayLike | None) -> Array | None:
    if wrench is None:
        return None
    array = np.asarray(wrench, dtype=np.float64)
    if array.shape != (m.nbody, 6):
        raise ValueError(f"wrench: expected shape {(m.nbody, 6)}, got {array.shape}")
    return array.ravel()


class Sim:
    """A model, its state, and steps of it.

    dt (s): the time step; None: the model's. solver: "newton", "ipm", "pgs" or "admm". Options, by keyword:

        tolerance         m/s, the residual up to which a step counts as solved (1e-8)
        effort            most factorisations of an island in a step; what is cut short is `PARTIAL` (None: no bound)
        implicit_damping  damping of joints acts on the velocity after the step (True)
        implicit_springs  springs of hinges and slides act at the position after the step (False)
        implicit_actuators  damping of actuators on hinges and slides acts on the velocity after the step (None: if the
                          model asks for an implicit integrator)
        implicit_gyroscopic  gyroscopic forces at the end of the step: bodies that turn fast gain no energy by them
                          (None: if the model asks for integrator="implicit")
        implicit_tendons  springs and dampers of tendons, and the damping of actuators on tendons and sites, act at the
                          end of the step (None: if the model asks for an implicit integrator)
        cold              a step starts from nothing: a function of q, v, act and controls, whatever the cache is; costs
                          several times a step that starts from the last one (False)
        project           brings loops to rounding after the step (False)
        restitution       "newton" or "poisson"
        impact            "end" (bodies that would meet have their speeds of afterwards for the whole step) or "within"
                          (they meet at a fraction of the step: its exact derivatives are those of the motion)
        backward          what derivatives are of: "exact" (the steps as they are), "smoothed" (a smoothed law at the
                          same steps), "toi" (with the time of impact) or "ani" (the same in positions alone)
        smooth_speed      m/s, "smoothed": contacts that are open by less already act (0.01)
        smooth_width      m, "smoothed": corners and edges are round by that (0.001; 0, or at least 1e-4)
        smooth_reach      m, "smoothed": pairs that are apart by less act in the derivative, less and less (0: those
                          that could meet in the step)
        push_speed        m/s, how fast an overlap is pushed out at most (0.05)
        push_rate         rad/s, the same for what turns: limits of hinges and balls, angles of welds (0.05)
        push_gain         share of an overlap that is pushed out in a step (1)
        reach             m, pairs and limits that are nearer are in the problem at any speed (0.001; rad for hinges)
        rest_speed        m/s, slower impacts do not bounce (None: the larger of 2 |gravity| dt and 1 cm/s)
        max_contacts      a step that finds more contact points is refused (100000); room grows by itself up to here

    `q`, `v` and `act` are read-only arrays that do not follow later steps; assign to them to change the state
    (`sim.q = q`). A step that fails raises `tangere.Error` and leaves everything as it was. Parameters are those that
    the model has at each step: `sim.params` is `model.params`; give `model.copy()` to have them apart.
    """

    def __init__(self, model: Model, dt: float | None = None, solver: str = "newton", **options: Any) -> None:
        self._model = model
        self._settings = _settings(model, dt, solver, **options)
        self._stepper, self._dt = _core.Stepper(*self._settings), self._settings[1]
        stable = self.stable_dt  # refuses options that the library does not take
        if stable < self._dt and (self._dt != model.timestep or options):  # `load` has warned of the model's own
            warnings.warn(
                f"dt = {self._dt:g} s: springs, dampers or servos of {model.name!r} are stable up to {stable:.3g} s; "
                "a shorter dt, implicit_springs, implicit_actuators or implicit_tendons",
                stacklevel=2,
            )
        self._last: weakref.ref[Info] | None = None
        self.reset()

    def __repr__(self) -> str:
        return f"<tangere.Sim of {self._model.name!r}: dt {self._dt:g} s, at {self._time:g} s>"

    # ---- what it is made of ----

    @property
    def model(self) -> Model:
        return self._model

    @property
    def params(self) -> Params:
        """The model's parameters, which the next step will use; see `tangere.Params`."""
        return self._model.params

    @params.setter
    def params(self, values: ArrayLike) -> None:
        self._model.params = values

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self._dt

    @property
    def stable_dt(self) -> float:
        """The largest time step for which springs, dampers and servos that act explicitly are stable, s; at the
        reference configuration, without contacts; inf: none is unstable up to 1 s."""
        return self._stepper.stable_dt()

    # ---- the state ----

    @property
    def time(self) -> float:
        """s; every step adds dt."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = _number("time", value)

    @property
    def q(self) -> Array:
        """Configuration (nq); assignment checks and copies."""
        return self._q

    @q.setter
    def q(self, value: ArrayLike) -> None:
        q = _vector("q", value, self._model.nq)
        self._model.integrate(q, np.zeros(self._model.nv))  # refuses what is no configuration
        self._q = q

    @property
    def v(self) -> Array:
        """Velocity (nv); assignment checks and copies."""
        return self._v

    @v.setter
    def v(self, value: ArrayLike) -> None:
        self._v = _vector("v", value, self._model.nv)

    @property
    def act(self) -> Array:
        """Activations of the actuators (na); assignment checks and copies."""
        return self._act

    @act.setter
    def act(self, value: ArrayLike) -> None:
        self._act = _vector("act", value, self._model.na)

    @property
    def cache(self) -> Cache:
        """Impulses of the last step, from which the next one starts: part of the state. They decide how fast a step is,
        its last digits and, where a contact problem has several isolated solutions, which is returned (option cold:
        none of it)."""
        return self._cache

    def reset(self, key: str | int | None = None) -> None:
        """To a keyframe, by name, index or "#0" (the first, named or not), or to the reference configuration at rest.

        Time is then 0 (or the keyframe's), and the cache empty.
        """
        m = self._model
        if key is None:
            state = SimState(0.0, m.default_q(), np.zeros(m.nv), np.zeros(m.na), _empty_cache())
        else:
            frame = m.key(key)
            state = SimState(float(frame.time), frame.q, frame.v, frame.act, _empty_cache())
        self.restore(state)

    def save(self) -> SimState:
        """The whole state, cache included: from it a simulation continues bit by bit, here or in another process."""
        return SimState(self._time, self._q, self._v, self._act, self._cache)

    def restore(self, state: SimState) -> None:
        """Goes back to a state that was saved. A refusal changes nothing."""
        m = self._model
        time = _number("time", state.time)
        q, v, act = _vector("q", state.q, m.nq), _vector("v", state.v, m.nv), _vector("act", state.act, m.na)
        m.integrate(q, v)
        cache = np.array(state.cache, dtype=_core.CACHE_ENTRY, ndmin=1)
        cache.flags.writeable = False
        self._keep_last()
        self._time, self._q, self._v, self._act, self._cache = time, q, v, act, cache
        self._result: tuple | None = None

    # ---- steps ----

    def step(self, u: ArrayLike | None = None, tau: ArrayLike | None = None, wrench: ArrayLike | None = None) -> None:
        """One step of dt.

        u (nu): controls of the actuators; tau (nv): generalised forces; wrench (nbody, 6): force and torque on each
        body at its centre of mass, world axes. None: zero.
        """
        self._keep_last()
        result = self._stepper.step(self._q, self._v, self._act, self._cache, u, tau, _flat_wrench(self._model, wrench))
        self._q, self._v, self._act, self._cache, _ = self._result = result
        self._time += self._dt

    @property
    def info(self) -> Info | None:
        """What the last step tells about itself; None where there was none since the last reset or restore."""
        known = self._last() if self._last is not None else None
        if known is not None or self._result is None:
            return known
        info = Info(self._model, self._stepper, self._result)
        self._last = weakref.ref(info)
        return info

    # ---- derivatives of the last step ----

    def jacobian(self, params: Any = (), *, dt: bool = False, contacts: bool = False, wrench: bool = False) -> Jacobian:
        """Matrices of the last step.

        params: names, patterns or positions of the parameters to differentiate by; dt: by the time step, too; wrench:
        by the wrench on every body, too; contacts: forces and points of the contacts, too, which take one reverse sweep
        a row.
        """
        self._need_step()
        return _jacobian(self._model, self._stepper, params, dt=dt, contacts=contacts, wrench=wrench)

    def frame_jacobian(
        self, *, body: str | int | None = None, site: str | int | None = None, jacobian: Jacobian | None = None
    ) -> FrameJacobian:
        """Derivatives of where the frame of a body or a site is after the last step, and of how fast it moves.

        jacobian: what `jacobian()` has returned for this step; None: it is computed.
        """
        self._need_step()
        if (body is None) == (site is None):
            raise ValueError("give one of body and site")
        m, (q, v) = self._model, self._result[:2]
        if body is not None:
            by_v, by_q = m.body_jacobian(body, q), m.body_velocity_derivative(body, q, v)
        else:
            by_v, by_q = m.site_jacobian(site, q), m.site_velocity_derivative(site, q, v)
        j = jacobian or self.jacobian()
        dq, dv = (j.dq_dq, j.dq_dv, j.dq_dact, j.dq_du, j.dq_dtau), (j.dv_dq, j.dv_dv, j.dv_dact, j.dv_du, j.dv_dtau)
        return FrameJacobian(
            *(by_v @ a for a in dq), *(by_q @ a + by_v @ b for a, b in zip(dq, dv, strict=True)), j.label
        )

    def vjp(
        self,
        gq: ArrayLike | None = None,
        gv: ArrayLike | None = None,
        gact: ArrayLike | None = None,
        *,
        gforce: ArrayLike | None = None,
        gtorque: ArrayLike | None = None,
        gpoint: ArrayLike | None = None,
    ) -> StepGradient:
        """Reverse mode of the last step, from gradients with respect to q+ (nv, tangent), v+ (nv) and act+ (na).

        gforce, gtorque, gpoint (contacts, 3): with respect to forces (N), torques (N m) and points (m) of the contacts,
        in the order of `info.contacts`.
        """
        self._need_step()
        flat = [
            None if g is None else np.reshape(np.asarray(g, dtype=np.float64), -1) for g in (gforce, gtorque, gpoint)
        ]
        return _gradient(self._stepper.vjp(gq, gv, gact, *flat))

    def jvp(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        act: ArrayLike | None = None,
        *,
        u: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        dt: float | None = None,
        params: ArrayLike | None = None,
    ) -> StepChange:
        """Forward mode of the last step: what changes along a change of what went in; q (nv) in the tangent space."""
        self._need_step()
        moved = None if dt is None else [float(dt)]
        flat = _flat_wrench(self._model, wrench)
        *change, label = self._stepper.jvp(q, v, act, u, tau, flat, moved, params)
        return StepChange(*change, Label(*label))

    def _need_step(self) -> None:
        if self._result is None:
            raise Error("there was no step since the last reset or restore", "stale")

    def _keep_last(self) -> None:
        """Somebody who still holds the last info gets its contacts before the workspace goes on."""
        known = self._last() if self._last is not None else None
        if known is not None:
            known._keep_contacts()
        self._last = None


def step(  # noqa: PLR0917  (the order in which the arguments are known)
    m: Model,
    q: ArrayLike,
    v: ArrayLike,
    act: ArrayLike | None = None,
    u: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
    dt: float | None = None,
    *,
    cache: Cache | None = None,
    solver: str = "newton",
    **options: Any,
) -> tuple[Array, Array, Info]:
    """One step as a function: nothing is kept between calls. Arguments and options are those of `Sim`.

    Returns (q (nq), v (nv), info) after the step; `info.act` are the activations after it, and `info.cache`, given as
    cache to the next call, makes that one bit by bit the next step of a `Sim`.
    """
    stepper, _ = _stepper(m, dt, solver, **options)
    result = stepper.step(q, v, act, cache, u, tau, _flat_wrench(m, wrench))
    info = Info(m, stepper, result)
    info._keep_contacts()
    info._stepper = None  # which goes back to the model with its workspace
    return result[0], result[1], info


def _jacobian(m: Model, stepper: _core.Stepper, params: Any, *, dt: bool, contacts: bool, wrench: bool) -> Jacobian:
    index = m.params.index(params)
    *matrices, label = stepper.jacobian(index, dt, contacts, wrench)
    for i in range(21, 35):
        matrices[i] = matrices[i].reshape(len(matrices[i]) // 3, 3, *matrices[i].shape[1:])
    for i in (35, 36):
        matrices[i] = matrices[i].reshape(len(matrices[i]), m.nbody, 6)
    return Jacobian(*matrices, Label(*label), stepper.param_labels(index) if len(index) > 0 else [])


def _gradient(fields: tuple) -> StepGradient:
    *arrays, dt, params, label = fields
    return StepGradient(*arrays, float(dt[0]), params, Label(*label))


def _empty_cache() -> Cache:
    return np.empty(0, dtype=_core.CACHE_ENTRY)


def _number(name: str, value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise Error(f"{name} is {number}", "value out of domain")
    return number


def _vector(name: str, value: ArrayLike, length: int) -> Array:
    """A read-only copy, checked."""
    given = np.asarray(value)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got dtype {given.dtype}")
    if given.shape != (length,):
        raise ValueError(f"{name}: expected shape {(length,)}, got {given.shape}")
    array = given.astype(np.float64, copy=True)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise Error(f"{name}[{bad[0]}] is {array[bad[0]]}", "value out of domain")
    array.flags.writeable = False
    return array
