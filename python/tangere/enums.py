"""The values in the structure arrays of a model (`joint_type`, `geom_type`, ...)."""

from __future__ import annotations

from enum import IntEnum

from tangere import _core


class JointType(IntEnum):
    """Values of `Model.joint_type`."""

    FREE = _core.JOINT_FREE
    BALL = _core.JOINT_BALL
    SLIDE = _core.JOINT_SLIDE
    HINGE = _core.JOINT_HINGE


class GeomType(IntEnum):
    """Values of `Model.geom_type`."""

    PLANE = _core.GEOM_PLANE
    HFIELD = _core.GEOM_HFIELD
    SPHERE = _core.GEOM_SPHERE
    CAPSULE = _core.GEOM_CAPSULE
    ELLIPSOID = _core.GEOM_ELLIPSOID
    CYLINDER = _core.GEOM_CYLINDER
    BOX = _core.GEOM_BOX
    MESH = _core.GEOM_MESH


class Transmission(IntEnum):
    """Values of `Model.actuator_transmission`: what an actuator acts on."""

    JOINT = _core.TRANSMISSION_JOINT
    TENDON = _core.TRANSMISSION_TENDON
    SITE = _core.TRANSMISSION_SITE


class DynamicsType(IntEnum):
    """Values of `Model.actuator_dynamics`: the activation dynamics of an actuator."""

    NONE = _core.DYNAMICS_NONE
    INTEGRATOR = _core.DYNAMICS_INTEGRATOR
    FILTER = _core.DYNAMICS_FILTER
    FILTEREXACT = _core.DYNAMICS_FILTEREXACT


class StepStatus(IntEnum):
    """The status of a step: contact problem solved, not solved, or the step created half of its kinetic energy."""

    SOLVED = _core.STEP_SOLVED
    PARTIAL = _core.STEP_PARTIAL
    UNSTABLE = _core.STEP_UNSTABLE


class SolvedBy(IntEnum):
    """The solver stage that solved an island, fastest first (docs/contact.md, section 4)."""

    NOTHING = _core.SOLVED_BY_NOTHING
    WARM = _core.SOLVED_BY_WARM
    SOFT = _core.SOLVED_BY_SOFT
    LADDER = _core.SOLVED_BY_LADDER
    MULTIPLIERS = _core.SOLVED_BY_MULTIPLIERS
    INTERIOR = _core.SOLVED_BY_INTERIOR
    PATH = _core.SOLVED_BY_PATH
    SWEEPS = _core.SOLVED_BY_SWEEPS


class ContactMode(IntEnum):
    """The mode of a contact in a step: separating, sticking or sliding."""

    BREAKING = _core.CONTACT_BREAKING
    STICKING = _core.CONTACT_STICKING
    SLIDING = _core.CONTACT_SLIDING


class ReportKind(IntEnum):
    """How a reader used an attribute."""

    HONOURED = _core.REPORT_HONOURED
    APPROXIMATED = _core.REPORT_APPROXIMATED
    IGNORED_PHYSICS = _core.REPORT_IGNORED_PHYSICS
    NOTED = _core.REPORT_NOTED
