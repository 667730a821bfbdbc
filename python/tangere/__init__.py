"""Differentiable rigid-body dynamics and simulation with exact frictional contact.

>>> import tangere as tg
>>> m = tg.load("models/quadruped.xml")
>>> q, v = m.random_state(seed=1)
>>> M = m.mass_matrix(q)
>>> dq, dv = m.rnea_derivatives(q, v)
>>> m.params["body.trunk.mass"] *= 1.1
>>> sim = tg.Sim(m)
>>> sim.reset("home")
>>> sim.step(u=m.key("home").ctrl)
>>> sim.info.contacts.force
"""

from typing import TYPE_CHECKING, Any

from tangere import cartesian, control
from tangere._check import CheckGroup, CheckModes, CheckResult, check
from tangere._core import (
    Actuation,
    ActuationDerivatives,
    ActuationGradient,
    Derivatives,
    Energy,
    ForwardDynamicsDerivatives,
    ForwardDynamicsGradient,
    Key,
    PassiveGradient,
    Pose,
    Poses,
    RneaGradient,
    State,
    cpu_path,
)
from tangere._core import version as __version__
from tangere._errors import Error, ModelWarning, UnknownNameError
from tangere._fit import fit
from tangere._fit_result import Direction, FitResult
from tangere._names import no_such_name
from tangere.batch import (
    Batch,
    BatchError,
    BatchRollout,
)
from tangere.enums import (
    ContactMode,
    DynamicsType,
    GeomType,
    JointType,
    ReportKind,
    SolvedBy,
    StepStatus,
    Transmission,
)
from tangere.excitation import Excitation, excite
from tangere.given import GIVEN_FIELDS, GIVEN_NUMBERS, given_contacts
from tangere.inverse import Holding, NotHeldError, PoseResult, Solution, inverse_contact_dynamics, pose, solve
from tangere.linear import Linear
from tangere.logs import Log, read_log
from tangere.model import Model, ParamSlice, ReportEntry, load, load_string
from tangere.optimise import Iteration, Optimum, least_squares, minimise
from tangere.options import StepOptions
from tangere.params import Params
from tangere.qcqp import QcqpGradient, QcqpJacobian, QcqpSolution, qcqp
from tangere.rollout import (
    Rollout,
    RolloutChange,
    RolloutGradient,
    RolloutInfo,
    RolloutJacobian,
    rollout,
)
from tangere.scene import Scene
from tangere.shape import ContactDerivatives, Contacts, Distance, Gap, Shape, distance, hull
from tangere.sim import (
    FrameJacobian,
    Info,
    Jacobian,
    Label,
    Sim,
    SimState,
    StepChange,
    StepContacts,
    StepGradient,
    step,
)


def view(*args: Any, **options: Any) -> Any:
    """Shows a model or a trajectory in the browser, or writes a page, a picture or a video; `tangere.viewer.view`."""
    from tangere._server import need_viser  # noqa: PLC0415
    from tangere.viewer import view as show  # noqa: PLC0415

    need_viser()
    return show(*args, **options)


if TYPE_CHECKING:
    from tangere import plot as plot
else:  # type checkers would take any name of a module that has this function

    def __getattr__(name: str) -> Any:
        if name == "plot":  # when it is asked for: it imports matplotlib
            import tangere.plot as module  # noqa: PLC0415

            return module
        raise no_such_name(name, __all__, Model, ("torch", "jax", "gym", "viewer", "mpc", "learn", "tensegrity"))


__all__ = [
    "GIVEN_FIELDS",
    "GIVEN_NUMBERS",
    "Actuation",
    "ActuationDerivatives",
    "ActuationGradient",
    "Batch",
    "BatchError",
    "BatchRollout",
    "CheckGroup",
    "CheckModes",
    "CheckResult",
    "ContactDerivatives",
    "ContactMode",
    "Contacts",
    "Derivatives",
    "Direction",
    "Distance",
    "DynamicsType",
    "Energy",
    "Error",
    "Excitation",
    "FitResult",
    "ForwardDynamicsDerivatives",
    "ForwardDynamicsGradient",
    "FrameJacobian",
    "Gap",
    "GeomType",
    "Holding",
    "Info",
    "Iteration",
    "Jacobian",
    "JointType",
    "Key",
    "Label",
    "Linear",
    "Log",
    "Model",
    "ModelWarning",
    "NotHeldError",
    "Optimum",
    "ParamSlice",
    "Params",
    "PassiveGradient",
    "Pose",
    "PoseResult",
    "Poses",
    "QcqpGradient",
    "QcqpJacobian",
    "QcqpSolution",
    "ReportEntry",
    "ReportKind",
    "RneaGradient",
    "Rollout",
    "RolloutChange",
    "RolloutGradient",
    "RolloutInfo",
    "RolloutJacobian",
    "Scene",
    "Shape",
    "Sim",
    "SimState",
    "Solution",
    "SolvedBy",
    "State",
    "StepChange",
    "StepContacts",
    "StepGradient",
    "StepOptions",
    "StepStatus",
    "Transmission",
    "UnknownNameError",
    "__version__",
    "cartesian",
    "check",
    "control",
    "cpu_path",
    "distance",
    "excite",
    "fit",
    "given_contacts",
    "hull",
    "inverse_contact_dynamics",
    "least_squares",
    "load",
    "load_string",
    "minimise",
    "pose",
    "qcqp",
    "read_log",
    "rollout",
    "solve",
    "step",
    "view",
]
