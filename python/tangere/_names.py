"""Objects that refuse attributes they do not have, and say which was meant."""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex, TypeVar

import numpy as np

from tangere._errors import Error
from tangere.options import StepOptions

_KINEMATICS = "poses: m.body_pose(name, q), m.site_pose(name, q), m.geom_pose(name, q), or m.body_poses(q)"
_READS = "tangere.load(path) reads MJCF and URDF"
_LOOP = "call sim.step(u=...) in a loop, or tangere.rollout(model, q, v, controls)"
_NAMES = "names: m.names('body'), m.names('joint'), ...; the index of a name: m.index('body', name)"

# what users of other simulators ask for, and what to write instead
_ELSEWHERE = {
    "ctrl": "controls are given to the step: sim.step(u=...)",
    "u": "controls are given to the step: sim.step(u=...)",
    "qfrc_applied": "forces are given to the step: sim.step(tau=...)",
    "tau": "forces are given to the step: sim.step(tau=...)",
    "xfrc_applied": "wrenches are given to the step: sim.step(wrench=...)",
    "wrench": "wrenches are given to the step: sim.step(wrench=...)",
    "data": "the state is in the Sim itself: sim.q, sim.v, sim.act, sim.time (MuJoCo's data.qpos is sim.q)",
    "qpos": "it is called q",
    "qvel": "it is called v",
    "qpos0": "it is called default_q()",
    "xpos": _KINEMATICS,
    "xquat": _KINEMATICS,
    "xmat": _KINEMATICS,
    "geom_xpos": _KINEMATICS,
    "site_xpos": _KINEMATICS,
    "oMi": _KINEMATICS,
    "oMf": _KINEMATICS,
    "qM": "it is m.mass_matrix(q)",
    "qfrc_bias": "it is m.bias(q, v)",
    "qfrc_actuator": "it is m.actuation(q, v, act, u).force",
    "contact": "contacts of a step: sim.info.contacts; of a configuration: m.collide(q)",
    "ncon": "it is sim.info.ncontact",
    "opt": "options are given when a Sim is made, tangere.Sim(model, dt=..., ...); gravity is m.params['gravity']",
    "option": "options are given when a Sim is made: tangere.Sim(model, dt=..., ...)",
    "gravity": "it is a parameter: m.params['gravity']",
    "timestep": "it is the model's: m.timestep; a Sim has dt",
    "solver": "it is given when a Sim is made: tangere.Sim(model, solver=...)",
    "tolerance": "it is given when a Sim is made: tangere.Sim(model, tolerance=...)",
    "nqpos": "it is called nq",
    "nvel": "it is called nv",
    "nact": "it is called nu",
    "njnt": "it is called njoint",
    "neq": "it is called nequality",
    "body_mass": "it is a parameter: m.params['body.*.mass']",
    "geom_friction": "it is a parameter: m.params['geom.*.friction']",
    "inertias": "they are parameters: m.params['body.*.inertia']",
    "acc": "accelerations: m.forward_dynamics(q, v, tau)",
    "qacc": "accelerations: m.forward_dynamics(q, v, tau)",
    "efc_force": "contact forces of the last step: sim.info.contacts.force",
    "state": "sim.save() gives the whole state; sim.q, sim.v and sim.act are its parts",
    "position": "it is called q",
    "velocity": "it is called v",
    "contacts": "contacts of a step: sim.info.contacts; of a configuration: m.collide(q)",
    "forces": "contact forces of the last step: sim.info.contacts.force",
    "residual": "it is sim.info.residual",
    "status": "it is sim.info.status",
    "joints": "names and places: m.names('joint'), m.joint_q, m.joint_dof",
    "t": "it is called time",
    "dt": "it is m.timestep; a Sim has its own: tangere.Sim(model, dt=...)",
    "forward": "not needed: functions of the model take q and v, as in m.mass_matrix(q)",
    "run": _LOOP,
    "simulate": _LOOP,
    "advance": _LOOP,
    "render": "tangere.view(model) shows a model or a trajectory",
    "createData": "not needed: functions take q and v, and tangere.Sim(model) has a state",
    "aba": "it is called forward_dynamics(q, v, tau)",
    "crba": "it is called mass_matrix(q)",
    "nle": "it is called bias(q, v)",
    "neutral": "it is called default_q()",
    "keyframe": "it is called key(name)",
    "keys": "m.names('key') lists the keyframes, m.key(name) is one",
    "keyframes": "m.names('key') lists the keyframes, m.key(name) is one",
    "body": "m.index('body', name) is its index, m.params['body.NAME.mass'] a parameter, m.body_pose(name, q) its pose",
    "joint": "m.index('joint', name) is its index, m.params['joint.NAME.damping'] a parameter",
    "geom": "m.index('geom', name) is its index, m.params['geom.NAME.friction'] a parameter",
    "site": "m.index('site', name) is its index, m.site_pose(name, q) its pose",
    "actuator": "m.index('actuator', name) is its index, m.params['actuator.NAME.gain'] a parameter",
    "bodies": _NAMES,
    "frames": _NAMES,
    "body_names": _NAMES,
    "joint_names": _NAMES,
    "geom_names": _NAMES,
    "getFrameId": _NAMES,
    "getJointId": _NAMES,
    "getBodyId": _NAMES,
    "jnt_range": "it is a parameter: m.params['joint.*.range']",
    "lowerPositionLimit": "it is a parameter: m.params['joint.*.range[0]']",
    "upperPositionLimit": "it is a parameter: m.params['joint.*.range[1]']",
    "effortLimit": "it is a parameter: m.params['actuator.*.force_range']",
}

# names of other packages, asked of the package itself
_PACKAGE_ELSEWHERE = {
    **dict.fromkeys(("MjModel", "from_xml_path", "load_urdf", "load_mjcf", "load_model"), _READS),
    **dict.fromkeys(("buildModelFromUrdf", "buildModelFromMJCF", "Parser"), _READS),
    **dict.fromkeys(("MjData", "Data", "Simulator", "Simulation"), "tangere.Sim(model) has a state and steps it"),
    **dict.fromkeys(("mj_step", "mj_step1", "mj_step2"), "it is called sim.step(u=...)"),
    **dict.fromkeys(("mj_resetData", "mj_resetDataKeyframe"), "it is called sim.reset(key)"),
    **dict.fromkeys(("mj_forward", "mj_kinematics"), "not needed: functions of the model take q and v"),
    **dict.fromkeys(("forwardKinematics", "updateFramePlacements"), _KINEMATICS),
    **dict.fromkeys(("simulate", "run"), _LOOP),
    "aba": "it is m.forward_dynamics(q, v, tau)",
    "crba": "it is m.mass_matrix(q)",
    "neutral": "it is m.default_q()",
    "mjd_transitionFD": "it is sim.jacobian()",
}


def no_such_name(name: str, known: Sequence[str], model: type, parts: Sequence[str]) -> AttributeError:
    """The exception for a name that the package does not have: what to write instead, or the nearest name."""
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    hint = ""
    if name in _PACKAGE_ELSEWHERE:
        hint = f"; {_PACKAGE_ELSEWHERE[name]}"
    elif name in parts:
        hint = f"; import tangere.{name}"
    elif not name.startswith("_") and hasattr(model, name):
        hint = f"; a model has it: m.{name}"
    elif close:
        hint = f"; did you mean {' or '.join(close)}?"
    return AttributeError(f"module 'tangere' has no attribute {name!r}{hint}")


def _hint(thing: object, name: str) -> str:
    known = [k for k in dir(thing) if not k.startswith("_")]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if name in _ELSEWHERE and name not in known:
        return f"; {_ELSEWHERE[name]}"
    if "model" in known and not name.startswith("_") and hasattr(thing.model, name):  # type: ignore[attr-defined]
        return f"; its model has it: {type(thing).__name__.lower()}.model.{name}"
    return f"; did you mean {' or '.join(close)}?" if close else ""


def no_attribute(thing: object, name: str) -> AttributeError:
    """The exception for an attribute that a thing does not have, with the one that was meant."""
    return AttributeError(
        f"tangere.{type(thing).__name__} has no attribute {name!r}{_hint(thing, name)}", name=name, obj=thing
    )


_GIVEN_ONCE = {
    "dt": "; it is given once: tangere.Sim(model, dt=...)",
    "timestep": "; the time step is given to the simulation: tangere.Sim(model, dt=...)",
}


class Strict:
    """Attributes that the class does not have can be neither read nor set. Names with an underscore are its own.

    Classes derived by users may add attributes.
    """

    if not TYPE_CHECKING:  # so that type checkers refuse these attributes, too

        def __setattr__(self, name: str, value: Any) -> None:
            if not name.startswith("_"):
                place = getattr(type(self), name, None)
                if place is None:
                    if not type(self).__module__.startswith("tangere"):
                        object.__setattr__(self, name, value)
                        return
                    raise no_attribute(self, name)
                if not isinstance(place, property) or place.fset is None:
                    hint = _GIVEN_ONCE.get(name, "")
                    raise AttributeError(
                        f"tangere.{type(self).__name__}.{name} cannot be set{hint}", name=name, obj=self
                    )
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)


# options of other simulators, and what to write instead
_OPTIONS_ELSEWHERE = {
    "timestep": "dt",
    "time_step": "dt",
    "step_size": "dt",
    "gravity": "m.params['gravity'] = ...",
    "iterations": "tolerance: a step iterates until its residual is below it",
    "integrator": "implicit_damping, implicit_springs, implicit_actuators, implicit_gyroscopic or implicit_tendons",
    "friction": "m.params['geom.*.friction[0]'] = ...",
    "gradient": "backward",
    "threads": "tangere.Batch(model, n, threads=...)",
    "thread": "tangere.Batch(model, n, threads=...)",
}


def real_number(name: str, value: Any) -> float:
    """The value as a float; refuses what is not one number."""
    if np.ndim(value) != 0:
        raise TypeError(f"{name}: expected a number, got an array of shape {np.shape(value)}")
    if isinstance(value, str | bytes) or not isinstance(value, SupportsFloat):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    return float(value)


def whole_number(name: str, value: Any, least: int) -> int:
    """The value as an int; refuses what is not a whole number, and what is below least."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    number = operator.index(value)
    if number < least:
        raise Error(f"{name} = {number}; must be at least {least}", "value out of domain")
    return number


def real_numbers(name: str, value: Any) -> np.ndarray:
    """The value as an array of float64; refuses what has no real numbers."""
    given = np.asarray(value)
    if given.dtype.kind not in "fiub":
        kind = type(value).__name__ if given.dtype.kind == "O" else f"dtype {given.dtype}"
        raise TypeError(f"{name}: expected real numbers, got {kind}")
    return given.astype(np.float64, copy=False)


def unknown_keyword(function: str, name: str, known: list[str]) -> TypeError:
    """The exception for an option that is not among those known, with the nearest."""
    return unknown_argument(function, name, known, _OPTIONS_ELSEWHERE, "option")


def unknown_argument(
    function: str, name: str, known: Sequence[str], elsewhere: Mapping[str, str], what: str = "argument"
) -> TypeError:
    """The exception for an argument that a function does not have: what to write instead, or the nearest name."""
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    if name in elsewhere:
        hint = f"use {elsewhere[name]}"
    elif close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"{what}s are {', '.join(known)}"
    return TypeError(f"{function}: no {what} {name!r}; {hint}")


F = TypeVar("F", bound=Callable[..., Any])


def told(**elsewhere: str) -> Callable[[F], F]:
    """A function whose unknown keywords are refused with the nearest name, or with what to write instead.

    Functions with **options refuse only what looks like a misspelt argument of their own.
    """

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        known = [p.name for p in parameters if p.name != "self" and p.kind is not p.VAR_KEYWORD]
        more = any(p.kind is p.VAR_KEYWORD for p in parameters)
        name_of = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name in known or (more and name in StepOptions.__annotations__):
                    continue
                if not more or difflib.get_close_matches(name, known, n=1, cutoff=0.7):
                    raise unknown_argument(name_of, name, known, elsewhere)
            return function(*args, **keywords)

        return call  # type: ignore[return-value]

    return decorate


def expect_one_of(option: str, value: object, known: Sequence[str]) -> None:
    """Refuses a value that is not among those known; names the nearest."""
    if isinstance(value, str) and value in known:
        return
    close = difflib.get_close_matches(value.lower(), known, n=1, cutoff=0.5) if isinstance(value, str) else []
    choice = " or ".join((", ".join(map(repr, known[:-1])), repr(known[-1])))
    hint = f"; did you mean {close[0]!r}?" if close else ""
    message = f"{option}: expected {choice}, got {value!r}{hint}"
    if not isinstance(value, str):
        raise TypeError(message)
    raise Error(message, "value out of domain")
