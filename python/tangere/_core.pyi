from os import PathLike
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.intc]
Name = str | int
_Self = TypeVar("_Self", bound="Model")

version: Final[str]
cpu_path: Final[str]

SOLVERS: Final[tuple[str, ...]]

JOINT_FREE: Final[int]
JOINT_BALL: Final[int]
JOINT_SLIDE: Final[int]
JOINT_HINGE: Final[int]
GEOM_PLANE: Final[int]
GEOM_HFIELD: Final[int]
GEOM_SPHERE: Final[int]
GEOM_CAPSULE: Final[int]
GEOM_ELLIPSOID: Final[int]
GEOM_CYLINDER: Final[int]
GEOM_BOX: Final[int]
GEOM_MESH: Final[int]
TRANSMISSION_JOINT: Final[int]
TRANSMISSION_TENDON: Final[int]
TRANSMISSION_SITE: Final[int]
DYNAMICS_NONE: Final[int]
DYNAMICS_INTEGRATOR: Final[int]
DYNAMICS_FILTER: Final[int]
DYNAMICS_FILTEREXACT: Final[int]
STEP_SOLVED: Final[int]
STEP_PARTIAL: Final[int]
STEP_UNSTABLE: Final[int]
SOLVED_BY_NOTHING: Final[int]
SOLVED_BY_WARM: Final[int]
SOLVED_BY_SOFT: Final[int]
SOLVED_BY_LADDER: Final[int]
SOLVED_BY_MULTIPLIERS: Final[int]
SOLVED_BY_INTERIOR: Final[int]
SOLVED_BY_PATH: Final[int]
SOLVED_BY_SWEEPS: Final[int]
CONTACT_BREAKING: Final[int]
CONTACT_STICKING: Final[int]
CONTACT_SLIDING: Final[int]
REPORT_HONOURED: Final[int]
REPORT_APPROXIMATED: Final[int]
REPORT_IGNORED_PHYSICS: Final[int]
REPORT_NOTED: Final[int]

class Pose(NamedTuple):
    position: Array
    quaternion: Array

class Poses(NamedTuple):
    position: Array
    quaternion: Array

class Energy(NamedTuple):
    kinetic: float
    potential: float

class State(NamedTuple):
    q: Array
    v: Array

class Key(NamedTuple):
    time: float
    q: Array
    v: Array
    act: Array
    ctrl: Array

class Actuation(NamedTuple):
    force: Array
    act_rate: Array

class Derivatives(NamedTuple):
    dq: Array
    dv: Array

class ForwardDynamicsDerivatives(NamedTuple):
    dq: Array
    dv: Array
    dtau: Array

class ActuationDerivatives(NamedTuple):
    dq: Array
    dv: Array
    dact: Array
    du: Array
    rate_dact: Array
    rate_du: Array

class RneaGradient(NamedTuple):
    q: Array
    v: Array
    a: Array
    params: Array

class PassiveGradient(NamedTuple):
    q: Array
    v: Array
    params: Array

class ActuationGradient(NamedTuple):
    q: Array
    v: Array
    act: Array
    u: Array
    params: Array

class ForwardDynamicsGradient(NamedTuple):
    q: Array
    v: Array
    tau: Array
    params: Array

Arrays2 = tuple[Array, Array] | None
Arrays3 = tuple[Array, Array, Array] | None
Arrays4 = tuple[Array, Array, Array, Array] | None
Arrays5 = tuple[Array, Array, Array, Array, Array] | None
Arrays6 = tuple[Array, Array, Array, Array, Array, Array] | None

def _hull(vertices: ArrayLike, /) -> Any: ...
def _distance(
    shape1: tuple[Any, ...], pose1: ArrayLike, shape2: tuple[Any, ...], pose2: ArrayLike, /
) -> tuple[float, Array, Array]: ...

MOST_CONTACTS: Final[int]
INFO: Final[np.dtype[np.void]]
LABEL: Final[np.dtype[np.void]]
STEP_CONTACT: Final[np.dtype[np.void]]
CACHE_ENTRY: Final[np.dtype[np.void]]
GIVEN_CONTACT: Final[np.dtype[np.void]]

def least_squares(
    function: Any, progress: Any, x: Array, unknowns: tuple[Any, ...], /, *rest: Any
) -> tuple[Any, ...]: ...
def minimise(function: Any, progress: Any, x: Array, unknowns: tuple[Any, ...], /, *rest: Any) -> tuple[Any, ...]: ...
def lqr(n: int, nu: int, /, *arrays: Array | None) -> None: ...

class Planner:
    def __init__(
        self, settings: tuple[Any, ...], cost: tuple[Any, ...], callback: Any, /, *definition: Any
    ) -> None: ...
    def plan(self, q: Array, v: Array, act: Array, cache: NDArray[np.void] | None, u: Array, /) -> tuple[Any, ...]: ...
    def set_cost(self, cost: tuple[Any, ...], /) -> None: ...
    def shift(self, u: Array, /) -> None: ...
    def reset(self) -> None: ...
    def states(self) -> tuple[Array, Array, Array, Array | None]: ...

class BatchTape:
    @property
    def nbytes(self) -> int: ...

class Batch:
    def __init__(self, settings: tuple[Any, ...], n: int, threads: int, /) -> None: ...
    def step(
        self,
        q: Array,
        v: Array,
        act: Array,
        u: Array | None,
        tau: Array | None,
        wrench: Array | None,
        params: Array | None,
        strict: bool,
        request: tuple[Any, ...],
        /,
    ) -> int: ...
    def derivatives(self, params: Array | None, request: tuple[Any, ...], /) -> int: ...
    def rollout(
        self,
        steps: int,
        hold: int,
        q: Array,
        v: Array,
        act: Array,
        u: Array | None,
        tau: Array | None,
        wrench: Array | None,
        params: Array | None,
        strict: bool,
        out: tuple[Any, ...],
        tape: BatchTape | None,
        progress: Any,
        /,
    ) -> int: ...
    def rollout_derivatives(
        self,
        tape: BatchTape,
        vjp_out: tuple[Any, ...] | None,
        vjp_in: tuple[Any, ...] | None,
        params_sum: Array | None,
        directions: int,
        jvp_in: tuple[Any, ...] | None,
        jvp_out: tuple[Any, ...] | None,
        label: NDArray[np.void] | None,
        /,
    ) -> int: ...
    def forget(self, ids: Ints | None, /) -> None: ...
    def cache(self, environment: int, /) -> NDArray[np.void]: ...
    def set_cache(self, environment: int, cache: NDArray[np.void], /) -> None: ...
    def name(self, index: Ints, /) -> None: ...
    def tape(self, count: int, steps: int, checkpoints: bool, /) -> BatchTape: ...
    def errors(self) -> list[tuple[int, str, str]]: ...
    def raise_(self, status: int, /) -> None: ...
    def close(self) -> None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def closed(self) -> bool: ...

class Function:
    def __init__(self, settings: tuple[Any, ...], threads: int, index: Ints, /) -> None: ...
    def run(self, count: int, steps: int, /, *arrays: Any) -> None: ...
    def vjp(self, count: int, steps: int, /, *arrays: Any) -> None: ...
    def jvp(self, count: int, steps: int, /, *arrays: Any) -> None: ...
    def shared(self) -> Any: ...
    def tape(self, count: int, steps: int, checkpoints: bool, /) -> BatchTape: ...
    def handle(self) -> int: ...

class Qcqp:
    def __init__(
        self, nonnegative: bool, sizes: Ints, threads: int, tolerance: float, semidefinite: bool, /
    ) -> None: ...
    def solve(self, count: int, /, *arrays: Any) -> None: ...
    def jvp(self, count: int, /, *arrays: Any) -> None: ...
    def vjp(self, count: int, /, *arrays: Any) -> None: ...
    def jacobians(self, count: int, /, *arrays: Any) -> None: ...

class Stepper:
    def __init__(
        self,
        model: Model,
        dt: float,
        solver: str,
        law: str,
        eps: float,
        staggered_steps: int,
        tolerance: float,
        effort: int,
        implicit_damping: bool,
        implicit_springs: bool,
        implicit_actuators: int,
        implicit_gyroscopic: int,
        implicit_tendons: int,
        cold: bool,
        project: bool,
        poisson: bool,
        impact: int,
        backward: int,
        smooth_speed: float,
        smooth_width: float,
        smooth_reach: float,
        push_speed: float,
        push_rate: float,
        lever: float,
        push_gain: float,
        friction_share: float,
        reach: float,
        rest_speed: float,
        max_contacts: int,
        /,
    ) -> None: ...
    def stable_dt(self) -> float: ...
    def numbers(self, info: bytes, /) -> tuple[Any, ...]: ...
    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None,
        cache: NDArray[np.void] | None,
        u: ArrayLike | None,
        tau: ArrayLike | None,
        wrench: ArrayLike | None,
        contacts: NDArray[np.void] | None,
        /,
    ) -> tuple[Array, Array, Array, NDArray[np.void], tuple[int | float, ...]]: ...
    def contacts(self) -> tuple[NDArray[Any], ...]: ...
    def given(self) -> NDArray[np.void]: ...
    def jacobian(self, index: ArrayLike, dt: bool, contacts: bool, wrench: bool, given: bool, /) -> tuple[Any, ...]: ...
    def vjp(
        self,
        gq: ArrayLike | None,
        gv: ArrayLike | None,
        gact: ArrayLike | None,
        gforce: ArrayLike | None,
        gtorque: ArrayLike | None,
        gpoint: ArrayLike | None,
        /,
    ) -> tuple[Any, ...]: ...
    def jvp(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        act: ArrayLike | None,
        u: ArrayLike | None,
        tau: ArrayLike | None,
        wrench: ArrayLike | None,
        dt: ArrayLike | None,
        params: ArrayLike | None,
        contact: ArrayLike | None,
        /,
    ) -> tuple[Any, ...]: ...
    def rollout(
        self,
        steps: int,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike,
        u: ArrayLike,
        tau: ArrayLike | None,
        wrench: ArrayLike | None,
        hold: int,
        kind: int,
        contacts: NDArray[np.void] | None,
        counts: NDArray[np.intc] | None,
        /,
    ) -> tuple[Array, Array, Array, Array]: ...
    def param_labels(self, index: ArrayLike, /) -> list[str]: ...
    def rollout_return(self, step: int, /) -> None: ...
    def rollout_labels(self) -> list[tuple[str, float, float, float]]: ...
    def rollout_vjp(
        self, gq: ArrayLike | None, gv: ArrayLike | None, gact: ArrayLike | None, wrench: bool, /
    ) -> tuple[Any, ...]: ...
    def rollout_jvp(
        self,
        count: int,
        q: ArrayLike | None,
        v: ArrayLike | None,
        act: ArrayLike | None,
        u: ArrayLike | None,
        tau: ArrayLike | None,
        wrench: ArrayLike | None,
        dt: ArrayLike | None,
        params: ArrayLike | None,
        contact: ArrayLike | None,
        /,
    ) -> tuple[Any, ...]: ...

class Scene:
    def _set(self, name: str, gravity: ArrayLike, timestep: float, /) -> None: ...
    def _add(self, model: Model, label: str, prefix: str, pos: ArrayLike, quat: ArrayLike, /) -> None: ...
    def _prop(
        self, name: str | None, fixed: bool, pos: ArrayLike, quat: ArrayLike, geom: dict[str, Any], /
    ) -> None: ...
    def _floor(self, name: str | None, pos: ArrayLike, quat: ArrayLike, geom: dict[str, Any], /) -> None: ...
    def _hfield(
        self,
        name: str | None,
        elevation: Array,
        size: ArrayLike,
        pos: ArrayLike,
        quat: ArrayLike,
        geom: dict[str, Any],
        /,
    ) -> None: ...
    def _build(self, type: type[_Self], /) -> _Self: ...

class Model:
    nq: Final[int]
    nv: Final[int]
    nu: Final[int]
    na: Final[int]
    nbody: Final[int]
    njoint: Final[int]
    ngeom: Final[int]
    nsite: Final[int]
    ntendon: Final[int]
    nequality: Final[int]
    npair: Final[int]
    nexclude: Final[int]
    nkey: Final[int]
    nmesh: Final[int]
    nhfield: Final[int]
    ntree: Final[int]
    nparams: Final[int]
    ncandidate: Final[int]

    body_parent: Ints
    body_tree: Ints
    body_joint: Ints
    body_njoint: Ints
    body_dof: Ints
    body_ndof: Ints
    body_geom: Ints
    body_ngeom: Ints
    joint_type: Ints
    joint_body: Ints
    joint_q: Ints
    joint_dof: Ints
    joint_limited: Ints
    geom_type: Ints
    geom_body: Ints
    geom_mesh: Ints
    geom_hfield: Ints
    geom_contype: Ints
    geom_conaffinity: Ints
    geom_condim: Ints
    geom_priority: Ints
    geom_group: Ints
    site_body: Ints
    actuator_transmission: Ints
    actuator_target: Ints
    actuator_dynamics: Ints
    actuator_act: Ints
    actuator_ctrl_limited: Ints
    actuator_force_limited: Ints
    actuator_act_limited: Ints

    @property
    def name(self) -> str: ...
    @property
    def timestep(self) -> float: ...
    @property
    def default_params(self) -> Array: ...
    @property
    def _params(self) -> Array: ...
    def to_mjcf(self) -> str: ...
    @classmethod
    def _load(cls: type[_Self], path: str | PathLike[str], options: tuple[Any, ...], /) -> _Self: ...
    @classmethod
    def _load_string(cls: type[_Self], text: str, dir: str | PathLike[str], options: tuple[Any, ...], /) -> _Self: ...
    def _to_bytes(self) -> bytes: ...
    @classmethod
    def _from_bytes(cls: type[_Self], bytes: bytes, /) -> _Self: ...
    def _set_params(self, values: ArrayLike, /) -> None: ...
    def _param_find(self, name: str, /) -> tuple[int, int] | None: ...
    def _param_match(self, pattern: str, /) -> Ints | None: ...
    def _param_names(self, index: Ints, /) -> list[str]: ...
    def _param_masked(self, index: Ints, /) -> dict[str, str]: ...
    def _param_slices(self) -> list[tuple[str, int, int]]: ...
    def _structure(self) -> dict[str, Ints]: ...
    def _report(self) -> list[tuple[Any, ...]]: ...
    def _stable_dt(self) -> float: ...
    def names(self, kind: str, /) -> list[str]: ...
    def index(self, kind: str, name: Name, /) -> int: ...
    def copy(self: _Self) -> _Self: ...
    def exclude_overlaps(self: _Self) -> _Self: ...
    def default_q(self, *, out: Array | None = None) -> Array: ...
    def random_state(self, seed: int, *, out: Arrays2 = None) -> State: ...
    def key(self, name: Name, *, out: Arrays5 = None) -> Key: ...
    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None) -> Array: ...
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array: ...
    def body_pose(self, name: Name, q: ArrayLike, *, out: Arrays2 = None) -> Pose: ...
    def site_pose(self, name: Name, q: ArrayLike, *, out: Arrays2 = None) -> Pose: ...
    def geom_pose(self, name: Name, q: ArrayLike, *, out: Arrays2 = None) -> Pose: ...
    def body_poses(self, q: ArrayLike, *, out: Arrays2 = None) -> Poses: ...
    def site_poses(self, q: ArrayLike, *, out: Arrays2 = None) -> Poses: ...
    def geom_poses(self, q: ArrayLike, *, out: Arrays2 = None) -> Poses: ...
    def body_jacobian(
        self,
        name: Name,
        q: ArrayLike,
        point: ArrayLike | None = None,
        frame: str = "aligned",
        *,
        out: Array | None = None,
    ) -> Array: ...
    def site_jacobian(self, name: Name, q: ArrayLike, frame: str = "aligned", *, out: Array | None = None) -> Array: ...
    def body_velocity(
        self,
        name: Name,
        q: ArrayLike,
        v: ArrayLike,
        point: ArrayLike | None = None,
        frame: str = "aligned",
        *,
        out: Array | None = None,
    ) -> Array: ...
    def body_jacobian_dot_v(
        self,
        name: Name,
        q: ArrayLike,
        v: ArrayLike,
        point: ArrayLike | None = None,
        frame: str = "aligned",
        *,
        out: Array | None = None,
    ) -> Array: ...
    def body_velocity_derivative(
        self,
        name: Name,
        q: ArrayLike,
        v: ArrayLike,
        point: ArrayLike | None = None,
        frame: str = "aligned",
        *,
        out: Array | None = None,
    ) -> Array: ...
    def site_velocity(
        self, name: Name, q: ArrayLike, v: ArrayLike, frame: str = "aligned", *, out: Array | None = None
    ) -> Array: ...
    def site_velocity_derivative(
        self, name: Name, q: ArrayLike, v: ArrayLike, frame: str = "aligned", *, out: Array | None = None
    ) -> Array: ...
    def com(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def com_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def momentum(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def energy(self, q: ArrayLike, v: ArrayLike, *, out: Arrays2 = None) -> Energy: ...
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array: ...
    def bias(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def rnea(self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, *, out: Array | None = None) -> Array: ...
    def passive(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array: ...
    def actuation(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        out: Arrays2 = None,
    ) -> Actuation: ...
    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, out: Array | None = None
    ) -> Array: ...
    def _check(
        self, states: int, seed: int, index: NDArray[np.intc], progress: Any, impact: int, law: str, /
    ) -> dict[str, Any]: ...
    def _looks(self) -> tuple[list[Any], ...]: ...
    def _collide(self, q: ArrayLike, margin: float, /) -> tuple[Any, ...]: ...
    def _gap(self, geom1: int, geom2: int, q: ArrayLike, /) -> tuple[float, Array]: ...
    def _collide_derivatives(self, q: ArrayLike, margin: float, /) -> tuple[Any, ...]: ...
    def rnea_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, *, out: Arrays2 = None
    ) -> Derivatives: ...
    def rnea_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, *, out: Array | None = None
    ) -> Array: ...
    def passive_derivatives(self, q: ArrayLike, v: ArrayLike, *, out: Arrays2 = None) -> Derivatives: ...
    def actuation_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        out: Arrays6 = None,
    ) -> ActuationDerivatives: ...
    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, out: Arrays3 = None
    ) -> ForwardDynamicsDerivatives: ...
    def rnea_vjp(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None, y: ArrayLike, *, out: Arrays4 = None
    ) -> RneaGradient: ...
    def passive_vjp(self, q: ArrayLike, v: ArrayLike, y: ArrayLike, *, out: Arrays3 = None) -> PassiveGradient: ...
    def actuation_vjp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None,
        u: ArrayLike | None,
        y: ArrayLike,
        y_rate: ArrayLike | None = None,
        *,
        out: Arrays5 = None,
    ) -> ActuationGradient: ...
    def forward_dynamics_vjp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, y: ArrayLike, *, out: Arrays4 = None
    ) -> ForwardDynamicsGradient: ...
    def _rnea_param_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None, params: Ints, *, out: Array | None = None
    ) -> Array: ...
    def _passive_param_derivatives(
        self, q: ArrayLike, v: ArrayLike, params: Ints, *, out: Array | None = None
    ) -> Array: ...
    def _actuation_param_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        act: ArrayLike | None,
        u: ArrayLike | None,
        params: Ints,
        *,
        out: Array | None = None,
    ) -> Array: ...
    def _forward_dynamics_param_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, params: Ints, *, out: Array | None = None
    ) -> Array: ...

class Cartesian:
    def __init__(
        self,
        name: str,
        dim: int,
        bodies: ArrayLike,
        constraints: ArrayLike,
        springs: ArrayLike,
        contacts: ArrayLike,
        mu: ArrayLike,
        e: ArrayLike,
        eps: float,
        g: tuple[float, float, float],
        dt: float,
        integrator: int,
        law: int,
        hamiltonian: int,
        threads: int,
        rows: int,
        toi: int,
    ) -> None: ...
    def rollout(
        self, count: int, steps: int, params: ArrayLike | None, x: ArrayLike, v: ArrayLike, /
    ) -> tuple[Array, Ints, Array]: ...
    def rollout_vjp(
        self, count: int, steps: int, params: ArrayLike | None, states: ArrayLike, bar: ArrayLike, /
    ) -> tuple[Array, Array, Array]: ...
    def rollout_jvp(
        self,
        count: int,
        steps: int,
        params: ArrayLike | None,
        states: ArrayLike,
        dx: ArrayLike,
        dv: ArrayLike,
        dparams: ArrayLike,
        /,
    ) -> tuple[Array]: ...
    def acceleration(
        self, count: int, params: ArrayLike | None, x: ArrayLike, v: ArrayLike, force: ArrayLike | None, /
    ) -> tuple[Array]: ...
    def acceleration_vjp(
        self,
        count: int,
        params: ArrayLike | None,
        x: ArrayLike,
        v: ArrayLike,
        force: ArrayLike | None,
        a_bar: ArrayLike,
        /,
    ) -> tuple[Array, Array, Array, Array]: ...
    def hamiltonian(
        self, count: int, params: ArrayLike | None, x: ArrayLike, p: ArrayLike, force: ArrayLike | None, /
    ) -> tuple[Array, Array]: ...
    def hamiltonian_vjp(
        self,
        count: int,
        params: ArrayLike | None,
        x: ArrayLike,
        p: ArrayLike,
        force: ArrayLike | None,
        xdot_bar: ArrayLike,
        pdot_bar: ArrayLike,
        /,
    ) -> tuple[Array, Array, Array, Array]: ...
    def jump(
        self, count: int, params: ArrayLike | None, x: ArrayLike, v: ArrayLike, /
    ) -> tuple[Array, Ints, Array]: ...
    def touching(self, count: int, x: ArrayLike, /) -> tuple[Ints]: ...
    def jump_vjp(
        self, count: int, params: ArrayLike | None, x: ArrayLike, v: ArrayLike, v1_bar: ArrayLike, /
    ) -> tuple[Array, Array, Array]: ...
    def energy(self, count: int, params: ArrayLike | None, x: ArrayLike, v: ArrayLike, /) -> tuple[Array, Array]: ...
    def problem(
        self, room: int, params: ArrayLike | None, x: ArrayLike, v: ArrayLike, /
    ) -> tuple[int, tuple[Array, Array, Array, Array, Ints, Array]]: ...
    def sizes(self) -> tuple[int, int, int, int, int, int, int]: ...
    def regularised(self) -> int: ...
    def params(self) -> Array: ...
