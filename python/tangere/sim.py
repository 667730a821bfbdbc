"""Simulation: `Sim` keeps a state and steps it, `step` is one step as a function."""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere._core import Energy
from tangere._errors import Error
from tangere._names import (
    Strict,
    expect_one_of,
    real_number,
    real_numbers,
    told,
    unknown_argument,
    unknown_keyword,
    whole_number,
)
from tangere.enums import SolvedBy, StepStatus
from tangere.given import GIVEN_NUMBERS
from tangere.model import Model
from tangere.params import Params

if TYPE_CHECKING:
    from typing_extensions import Never, Self, Unpack

    from tangere.options import Solver, StepOptions

Array = NDArray[np.float64]
Cache = NDArray[np.void]

_RESTITUTION = ("newton", "poisson")
_IMPACT = ("end", "within")
_AS_MODEL = 2  # tg_switch
_BACKWARD = ("exact", "smoothed", "toi", "ani", "detach", "unrolled")  # in the order of the library


_STEP_ELSEWHERE = {  # arguments of steps elsewhere
    **dict.fromkeys(("ctrl", "control", "controls", "action"), "u"),
    "force": "tau",
    "dt": "tangere.Sim(model, dt=...)",
}


class StepContacts(NamedTuple):
    """The n contact points in the contact problem of a step, with or without force. World frame.

    geom1, geom2 (n); point (n, 3); normal (n, 3), from geom1 to geom2; distance (n): at the start of the step;
    force (n, 3), torque (n, 3): impulse / dt in N and N m, on geom2 at the point; mode (n): `ContactMode`;
    margin (n): distance to the next change of mode, the smallest of: the speed of separation or sliding (m/s), the
    speed that the normal impulse removes (m/s), and for sticking contacts 1 - |friction| / (mu normal force);
    immaterial (n): sticking and redundant, so its margin is infinite; local (n, 6): force and torque in the contact
    frame, normal first, then the rows of its condim; id (n): constant while the pair and its features are the same;
    gap (n): distance minus margins, which a step closes to 0.
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
    """The result of one step in addition to the state.

    status: `StepStatus`; iterations: factorisations of the contact solver over all islands, worst: those of the island
    that took most, stage: the solver stage that solved that one (`SolvedBy`); sweeps: Gauss-Seidel sweeps; ncontact,
    rows, islands: size of the contact problem; residual (m/s): of the contact laws, the largest of primal, dual and
    complementarity; law: its name, unrelaxed (m/s): the residual of the unrelaxed law at the same impulses (of "ncp":
    the residual); penetration (m): largest overlap at the start of the step; work (J): of all impulses; capacity:
    fraction of the contact capacity in use; balance (J): energy created by the step, computed where it may be unstable
    (stiff springs, a dof that moves by more than 0.25 in a step, an unsolved contact problem), else 0; act (na), cache:
    after the step.
    """

    __slots__ = (
        "__weakref__", "_contacts", "_model", "_q", "_stepper", "_v", "act", "balance", "cache", "capacity",
        "complementarity", "dual", "islands", "iterations", "law", "ncontact", "penetration", "primal", "residual",
        "rows", "stage", "status", "sweeps", "unrelaxed", "work", "worst",
    )  # fmt: skip

    def __init__(self, model: Model, stepper: _core.Stepper, result: tuple) -> None:
        self._model, self._stepper = model, stepper
        self._contacts: StepContacts | Error | None = None
        self._q, self._v, self.act, self.cache, info = result
        (
            status, self.iterations, self.sweeps, self.ncontact, self.rows, self.islands, self.residual, self.primal,
            self.dual, self.complementarity, self.penetration, self.work, self.capacity, self.balance,
            self.unrelaxed, self.law, self.worst, stage,
        ) = stepper.numbers(info)  # fmt: skip
        self.status, self.stage = StepStatus(status), SolvedBy(stage)

    def __repr__(self) -> str:
        return (
            f"<tangere.Info {self.status.name.lower()}: {self.ncontact} contacts, {self.iterations} iterations, "
            f"residual {self.residual:.2g} m/s, penetration {self.penetration:.2g} m>"
        )

    def __getstate__(self) -> dict[str, Any]:  # for copy and pickle: all numbers, but no workspace
        self._keep_contacts()
        kept = {name: getattr(self, name) for name in self.__slots__ if name != "__weakref__"}
        return {**kept, "_stepper": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    @property
    def contacts(self) -> StepContacts:
        """The contact points of the step."""
        self._keep_contacts()
        if isinstance(self._contacts, Error):
            raise self._contacts
        return self._contacts

    def _keep_contacts(self) -> None:
        """Takes the contacts, or the refusal to give them, from the workspace before it is used again."""
        if self._contacts is None:
            try:
                self._contacts = StepContacts(*self._stepper.contacts())
            except Error as refusal:
                self._contacts = refusal

    @property
    def energy(self) -> Energy:
        """Kinetic and potential energy after the step, J, computed on request with the model's current parameters."""
        return self._model.energy(self._q, self._v)


class Label(NamedTuple):
    """The label of a derivative.

    kind: "exact", "one-sided" (the state is at a change of mode) or "regularised" (the derivative does not exist or is
    not unique: a finite choice); margin: smallest distance to a change of mode or features (m/s; m), or of a control,
    force or activation to its bound; condition: of the equations of the modes; residual: of the step (m/s); twofold:
    another solution of the contact problem was found.
    """

    kind: str
    margin: float
    condition: float
    residual: float
    twofold: bool = False


_KINDS = ("exact", "one-sided", "regularised")  # tg_label_kind


def _worst(labels: list[Label]) -> Label:
    """The label of several steps together, as tg_rollout_vjp has it."""
    kind, margin, condition, residual, twofold = zip(*labels, strict=True)
    return Label(max(kind, key=_KINDS.index), min(margin), max(condition), max(residual), any(twofold))


class Jacobian(NamedTuple):
    """Derivatives of the outputs of one step with respect to its inputs; q is in the tangent space (nv numbers).

    Rows are those of q+, v+ (nv) and act+ (na); columns those of q, v, tau (nv), act (na), u (nu) and the chosen
    parameters; ...ddt are vectors, empty unless requested. If contacts are requested, dforce_... (N) and dpoint_... (m)
    have the shape (contacts, 3, columns), in the order of `info.contacts`, world axes; otherwise there are none.
    dq_dwrench, dv_dwrench (nv, nbody, 6), if requested: force and torque at the centre of mass. dq_dcontact,
    dv_dcontact (nv, contacts, 15), if requested: with respect to the contacts that the step was given. param_labels:
    the label for each of the chosen parameters; one-sided if the derivative is one-sided for that parameter alone,
    such as one of two equal friction coefficients.
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
    dq_dcontact: Array | None = None
    dv_dcontact: Array | None = None

    @property
    def margin(self) -> float:
        """Smallest distance to a change of mode or features (m/s; m)."""
        return self.label.margin


class FrameJacobian(NamedTuple):
    """Derivatives of a frame's pose and twist after a step with respect to its inputs, (6, columns) each.

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
    """Gradients with respect to the inputs of a step.

    q, v, tau (nv), act (na), u (nu), wrench (nbody, 6), dt, params (nparams); contact (contacts, 15): of the contacts
    that the step was given (`tangere.given_contacts`).
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
    contact: Array | None = None


class StepChange(NamedTuple):
    """The change of the outputs of a step: q (nv, tangent), v (nv), act (na)."""

    q: Array
    v: Array
    act: Array
    label: Label


class SimState(NamedTuple):
    """The whole state of a simulation: from it, steps are bitwise the same. `Sim.save` makes one; can be pickled."""

    time: float
    q: Array
    v: Array
    act: Array
    cache: Cache


def _known_options(settings: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """Refuses options that `settings` does not have, and values of the wrong type, before anything is made."""
    parameters = inspect.signature(settings).parameters
    defaults = {name: p.default for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}

    @functools.wraps(settings)
    def checked(m: Model, dt: float | None, solver: str, **options: Any) -> tuple[Any, ...]:
        if not isinstance(m, Model):
            hint = "; tangere.load reads a file" if isinstance(m, str) else ""
            raise TypeError(f"model: expected a tangere.Model, got {type(m).__name__}{hint}")
        if dt is not None:
            real_number("dt", dt)
        expect_one_of("solver", solver, _core.SOLVERS)
        for name, value in options.items():
            if name not in defaults:
                raise unknown_keyword("tangere.Sim", name, ["dt", "solver", *defaults])
            default = defaults[name]
            if isinstance(default, bool):
                if not isinstance(value, bool | np.bool_):
                    raise TypeError(f"{name}: expected True or False, got {value!r}")
            elif isinstance(default, float):
                real_number(name, value)
            elif isinstance(default, int):
                whole_number(name, value, 0)
        return settings(m, dt, solver, **options)

    return checked


@_known_options
def _settings(
    m: Model,
    dt: float | None,
    solver: str,
    *,
    law: str = "ncp",
    eps: float = 0.0,
    staggered_steps: int = 0,
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
    lever: float = 1.0,
    push_gain: float = 1.0,
    friction_share: float = 1.0,
    reach: float = 0.001,
    rest_speed: float | None = None,
    max_contacts: int = _core.MOST_CONTACTS,
) -> tuple[Any, ...]:
    """Model and checked options as `_core.Stepper`, `_core.Batch` and `_core.Function` take them; the second is dt."""
    dt = m.timestep if dt is None else float(dt)
    if not 0 < dt <= 1e6:
        raise Error(f"dt = {dt:g} must be in (0, 1e+06] s", "value out of domain")
    expect_one_of("restitution", restitution, _RESTITUTION)
    expect_one_of("impact", impact, _IMPACT)
    expect_one_of("backward", backward, _BACKWARD)
    if rest_speed is not None and not rest_speed > 0:
        raise Error(f"rest_speed = {rest_speed:g} must be positive", "value out of domain")
    if effort is not None and not effort > 0:
        raise Error(f"effort = {effort} must be positive", "value out of domain")
    return (
        m, dt, solver, law, eps, staggered_steps, tolerance, 0 if effort is None else effort, implicit_damping,
        implicit_springs,
        _AS_MODEL if implicit_actuators is None else int(implicit_actuators),
        _AS_MODEL if implicit_gyroscopic is None else int(implicit_gyroscopic),
        _AS_MODEL if implicit_tendons is None else int(implicit_tendons), cold, project,
        restitution == "poisson", _IMPACT.index(impact), _BACKWARD.index(backward), smooth_speed, smooth_width,
        smooth_reach, push_speed, push_rate, lever, push_gain, friction_share, reach,
        0.0 if rest_speed is None else rest_speed, max_contacts,
    )  # fmt: skip


def _stepper(m: Model, dt: float | None, solver: str, **options: Any) -> tuple[_core.Stepper, float]:
    """A stepper, and its time step."""
    settings = _settings(m, dt, solver, **options)
    return _core.Stepper(*settings), settings[1]


def _flat_wrench(m: Model, wrench: ArrayLike | None) -> Array | None:
    if wrench is None:
        return None
    array = real_numbers("wrench", wrench)
    if array.shape != (m.nbody, 6):
        raise ValueError(f"wrench: expected shape {(m.nbody, 6)}, got {array.shape}")
    return array.ravel()


class Sim(Strict):
    """A model, its state, and steps of it.

    dt (s): the time step; None: the model's. solver: "newton", "ipm", "pgs", "admm" or "staggered". Options,
    by keyword:

        law               contact law: "ncp" (Signorini, Coulomb's cone, maximum dissipation), "ccp" (its convex
                          relaxation), "lcp-box" or "lcp-diamond" (friction pyramids); the last three for comparison;
                          "compliant", "impulse": explicit, each contact by itself (docs/contact.md)
        eps               m/s per N s, law "ccp": on the diagonal of its problems, in no velocity (0)
        staggered_steps   solver "staggered": number of alternations of normals and friction, whatever the residual
                          (0: until it is within the tolerance)
        tolerance         m/s, residual up to which a step counts as solved (1e-8)
        effort            maximum number of factorisations per island and step; a solve that reaches it is `PARTIAL`
                          (None: no limit)
        implicit_damping  joint damping acts on the velocity after the step (True)
        implicit_springs  springs of hinges and slides act at the position after the step (False)
        implicit_actuators  damping of actuators on hinges and slides acts on the velocity after the step (None: if the
                          model asks for an implicit integrator)
        implicit_gyroscopic  gyroscopic forces at the end of the step, which add no energy to fast rotations (None: if
                          the model asks for integrator="implicit")
        implicit_tendons  springs and dampers of tendons, and damping of actuators on tendons and sites, act at the end
                          of the step (None: if the model asks for an implicit integrator)
        cold              no warm start: a step is a function of q, v, act and controls, not of the cache; several times
                          slower than a warm-started step (False)
        project           projects loops to rounding error after the step (False)
        restitution       "newton" or "poisson"
        impact            "end" (colliding bodies have their velocity after the impact for the whole step) or "within"
                          (the impact is at a fraction of the step: exact derivatives are those of the motion)
        backward          which function is differentiated: "exact" (the steps as they are), "smoothed" (a smoothed law
                          at the same steps), "toi" (with the time of impact), "ani" (the same in positions only),
                          "detach" ("ani", with impulses of impacts that do not depend on velocities) or "unrolled"
                          (of the alternations of solver "staggered", staggered_steps > 0)
        smooth_speed      m/s, "smoothed": contacts open by less already act (0.01)
        smooth_width      m, "smoothed": rounding of corners and edges (0.001; 0, or at least 1e-4)
        smooth_reach      m, "smoothed": pairs closer than this act in the derivative, with a weight that falls to zero
                          at this distance (0: only pairs that could meet in the step)
        push_speed        m/s, largest speed at which an overlap is corrected (0.05)
        push_rate         rad/s, the same for rotations: limits of hinges and balls, angles of welds (0.05)
        lever             m: beside linear velocities, and the tolerance, angular ones count by what they move at this
                          lever (1)
        push_gain         fraction of an overlap that is corrected per step (1)
        friction_share    explicit laws: fraction of the slip that friction stops per step at most (1)
        reach             m, rad: closer pairs and limits are always in the contact problem (0.001)
        rest_speed        m/s, slower impacts do not bounce (None: the larger of 2 |gravity| dt and 1 cm/s)
        max_contacts      a step with more contact points is refused (100000); the capacity grows up to this number

    `q`, `v` and `act` are read-only arrays that later steps do not change; assign to them to change the state
    (`sim.q = q`). A step that fails raises `tangere.Error` and changes nothing. Each step uses the current parameters
    of the model: `sim.params` is `model.params`; pass `model.copy()` for independent ones. A `Sim` can be copied and
    pickled, with its state.
    """

    def __init__(
        self, model: Model, dt: float | None = None, solver: Solver = "newton", **options: Unpack[StepOptions]
    ) -> None:
        self._settings = _settings(model, dt, solver, **options)
        self._model, self._asked = model, (dt, solver, options)  # to make another one like it
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

    def __reduce__(self) -> Any:
        return _remade, (type(self), self._model, self._asked, self.save(), _own_attributes(self))

    def __copy__(self) -> Self:
        """An independent simulation of the same model, in the same state."""
        return _remade(type(self), self._model, self._asked, self.save(), _own_attributes(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        own = copy.deepcopy(_own_attributes(self), memo)
        return _remade(type(self), copy.deepcopy(self._model, memo), self._asked, self.save(), own)

    # ---- what it is made of ----

    @property
    def model(self) -> Model:
        """The model that is simulated."""
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
        """The largest stable time step for explicit springs, dampers and servos, s, at the reference configuration,
        without contacts; inf: nothing is unstable up to 1 s."""
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
        """Impulses of the last step, the warm start of the next one: part of the state. They affect the speed of a
        step, its last digits and, where a contact problem has several isolated solutions, which one is returned. The
        option cold removes the dependence."""
        return self._cache

    @told(q="sim.reset(), then sim.q = q", qpos="sim.reset(), then sim.q = q", v="sim.reset(), then sim.v = v")
    def reset(self, key: str | int | None = None) -> None:
        """Resets to a keyframe, by name, index or "#0" (the first, named or not), or to the reference configuration at
        rest. Time becomes 0 (or the keyframe's), and the cache is emptied.
        """
        m = self._model
        if isinstance(key, list | tuple | np.ndarray):
            raise TypeError(
                f"key: expected the name or the index of a keyframe, got {type(key).__name__}; "
                "to start from a state: sim.reset(), then sim.q = q and sim.v = v"
            )
        if key is None:
            state = SimState(0.0, m.default_q(), np.zeros(m.nv), np.zeros(m.na), _empty_cache())
        else:
            frame = m.key(key)
            state = SimState(float(frame.time), frame.q, frame.v, frame.act, _empty_cache())
        self.restore(state)

    def save(self) -> SimState:
        """The whole state with the cache: restored, here or in another process, steps are bitwise the same."""
        return SimState(self._time, self._q, self._v, self._act, self._cache)

    def restore(self, state: SimState) -> None:
        """Restores a saved state. If it is refused, nothing changes."""
        m = self._model
        if not isinstance(state, SimState):
            raise TypeError(f"state: expected a tangere.SimState, which sim.save() gives, got {type(state).__name__}")
        time = _number("time", state.time)
        q, v, act = _vector("q", state.q, m.nq), _vector("v", state.v, m.nv), _vector("act", state.act, m.na)
        m.integrate(q, v)
        cache = np.array(state.cache, dtype=_core.CACHE_ENTRY, ndmin=1)
        cache.flags.writeable = False
        self._keep_last()
        self._time, self._q, self._v, self._act, self._cache = time, q, v, act, cache
        self._result: tuple | None = None

    # ---- steps ----

    def step(  # unknown: it exists for the message of a misspelt argument
        self,
        u: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        *,
        contacts: Cache | None = None,
        **unknown: Never,
    ) -> None:
        """One step of dt.

        u (nu): controls of the actuators; tau (nv): generalised forces; wrench (nbody, 6): force and torque on each
        body at its centre of mass, world axes. None: zero. contacts: in place of those that the step would find itself
        (`tangere.given_contacts`).
        """
        if unknown:
            raise unknown_argument("Sim.step", next(iter(unknown)), ("u", "tau", "wrench", "contacts"), _STEP_ELSEWHERE)
        if self._last is not None:
            self._keep_last()
        if wrench is not None:
            wrench = _flat_wrench(self._model, wrench)
        own = self.__dict__  # assignment to attributes would be checked, which takes longer
        result = self._stepper.step(self._q, self._v, self._act, self._cache, u, tau, wrench, contacts)
        own["_q"], own["_v"], own["_act"], own["_cache"], _ = own["_result"] = result
        own["_time"] += self._dt

    @property
    def stepped(self) -> bool:
        """Whether there was a step since the last reset or restore: `info` and derivatives are of that step."""
        return self._result is not None

    @property
    def info(self) -> Info:
        """Information about the last step. Raises an error if there was no step since the last reset or restore."""
        known = self._last() if self._last is not None else None
        if known is not None:
            return known
        if self._result is None:
            raise Error("sim.info: there was no step since the last reset or restore; sim.step() takes one", "stale")
        info = Info(self._model, self._stepper, self._result)
        self._last = weakref.ref(info)
        return info

    def given_contacts(self) -> Cache:
        """The contacts of the last step, in the form of `tangere.given_contacts`, to pass to a step."""
        self._need_step()
        return self._stepper.given()

    # ---- derivatives of the last step ----

    @told()
    def jacobian(
        self, params: Any = (), *, dt: bool = False, contacts: bool = False, wrench: bool = False, given: bool = False
    ) -> Jacobian:
        """Matrices of the last step.

        params: names, patterns or positions of parameters to differentiate with respect to. dt: also with respect to
        the time step; wrench: also with respect to the wrench on every body; contacts: also derivatives of forces and
        points of the contacts, at the cost of one reverse sweep per row; given: also with respect to the contacts that
        the step was given, one sweep per row.
        """
        self._need_step()
        return _jacobian(self._model, self._stepper, params, dt=dt, contacts=contacts, wrench=wrench, given=given)

    def frame_jacobian(
        self, *, body: str | int | None = None, site: str | int | None = None, jacobian: Jacobian | None = None
    ) -> FrameJacobian:
        """Derivatives of the pose and the twist of a body's or site's frame after the last step.

        jacobian: the result of `jacobian()` for this step; None: it is computed.
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

    @told(q="gq", v="gv", act="gact", force="gforce", point="gpoint")
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

    @told(dq="q", dv="v", du="u", gq="q", gv="v")
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
        contact: ArrayLike | None = None,
    ) -> StepChange:
        """Forward mode of the last step: the change of the outputs along a change of the inputs; q (nv): tangent.

        contact (contacts, 15): of the contacts that the step was given.
        """
        self._need_step()
        moved = None if dt is None else [float(dt)]
        flat = _flat_wrench(self._model, wrench)
        given = None if contact is None else np.reshape(np.asarray(contact, dtype=np.float64), -1)
        *change, label = self._stepper.jvp(q, v, act, u, tau, flat, moved, params, given)
        return StepChange(*change, Label(*label))

    def _need_step(self) -> None:
        if self._result is None:
            raise Error("there was no step since the last reset or restore; sim.step() takes one", "stale")

    def _keep_last(self) -> None:
        """If the caller still holds the last info, it gets its contacts before the workspace is used again."""
        known = self._last() if self._last is not None else None
        if known is not None:
            known._keep_contacts()
        self.__dict__["_last"] = None


def _own_attributes(sim: Sim) -> dict[str, Any]:
    """Attributes of a class derived from `Sim`."""
    return {} if type(sim) is Sim else {k: v for k, v in sim.__dict__.items() if not k.startswith("_")}


def _remade(kind: type[Any], model: Model, asked: tuple[Any, ...], state: SimState, own: dict[str, Any]) -> Any:
    """Another one like it, in that state; `copy` and `pickle` make it so."""
    dt, solver, options = asked
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first one has warned
        sim = kind.__new__(kind)
        Sim.__init__(sim, model, dt, solver, **options)
    sim.restore(state)
    sim.__dict__.update(own)
    return sim


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
    contacts: Cache | None = None,
    solver: Solver = "newton",
    **options: Unpack[StepOptions],
) -> tuple[Array, Array, Info]:
    """One step as a function: nothing is kept between calls. Arguments and options are those of `Sim`.

    Returns (q (nq), v (nv), info) after the step; `info.act` are the activations after it, and `info.cache`, given as
    cache to the next call, makes that call bitwise the next step of a `Sim`.
    """
    stepper, _ = _stepper(m, dt, solver, **options)
    result = stepper.step(q, v, act, cache, u, tau, _flat_wrench(m, wrench), contacts)
    info = Info(m, stepper, result)
    info._keep_contacts()
    info._stepper = None  # which goes back to the model with its workspace
    return result[0], result[1], info


def _jacobian(
    m: Model, stepper: _core.Stepper, params: Any, *, dt: bool, contacts: bool, wrench: bool, given: bool = False
) -> Jacobian:
    index = m.params.index(params)
    *matrices, by_q, by_v, labels, label = stepper.jacobian(index, dt, contacts, wrench, given)
    for i in range(21, 35):
        matrices[i] = matrices[i].reshape(len(matrices[i]) // 3, 3, *matrices[i].shape[1:])
    for i in (35, 36):
        matrices[i] = matrices[i].reshape(len(matrices[i]), m.nbody, 6)
    by_contact = (x.reshape(len(x), x.shape[1] // GIVEN_NUMBERS, GIVEN_NUMBERS) for x in (by_q, by_v))
    return Jacobian(*matrices, Label(*label), labels, *by_contact)


def _gradient(fields: tuple) -> StepGradient:
    *arrays, contact, dt, params, label = fields
    return StepGradient(*arrays, float(dt[0]), params, Label(*label), contact)


def _empty_cache() -> Cache:
    return np.empty(0, dtype=_core.CACHE_ENTRY)


def _number(name: str, value: Any) -> float:
    number = real_number(name, value)
    if not np.isfinite(number):
        raise Error(f"{name} is {number}", "value out of domain")
    return number


def _vector(name: str, value: ArrayLike, length: int) -> Array:
    """A read-only copy, checked."""
    given = real_numbers(name, value)
    if given.shape != (length,):
        raise ValueError(f"{name}: expected shape {(length,)}, got {given.shape}")
    array = given.astype(np.float64, copy=True)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise Error(f"{name}[{bad[0]}] is {array[bad[0]]}", "value out of domain")
    array.flags.writeable = False
    return array
