"""Objects that refuse attributes they do not have, and say which was meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangere._errors import Error

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
    "xpos": "poses of bodies: m.body_pose(name, q), or m.forward_kinematics(q)",
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
}


def _hint(thing: object, name: str) -> str:
    known = [k for k in dir(thing) if not k.startswith("_")]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if name in _ELSEWHERE and name not in known:
        return f"; {_ELSEWHERE[name]}"
    return f"; did you mean {' or '.join(close)}?" if close else ""


def no_attribute(thing: object, name: str) -> AttributeError:
    """The exception for an attribute that a thing does not have, with the one that was meant."""
    return AttributeError(
        f"tangere.{type(thing).__name__} has no attribute {name!r}{_hint(thing, name)}", name=name, obj=thing
    )


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
                    raise AttributeError(f"tangere.{type(self).__name__}.{name} cannot be set", name=name, obj=self)
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
    "friction": "m.params['geom.*.friction'] = ...",
    "gradient": "backward",
    "threads": "tangere.Batch(model, n, threads=...)",
}


def unknown_keyword(function: str, name: str, known: list[str]) -> TypeError:
    """The exception for an option that is not among those known, with the nearest."""
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    if name in _OPTIONS_ELSEWHERE:
        hint = f"use {_OPTIONS_ELSEWHERE[name]}"
    elif close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"options are {', '.join(known)}"
    return TypeError(f"{function}: no option {name!r}; {hint}")


def expect_one_of(option: str, value: object, known: Sequence[str]) -> None:
    """Refuses a value that is not among those known; names the nearest."""
    if isinstance(value, str) and value in known:
        return
    close = difflib.get_close_matches(value, known, n=1, cutoff=0.5) if isinstance(value, str) else []
    choice = " or ".join((", ".join(map(repr, known[:-1])), repr(known[-1])))
    hint = f"; did you mean {close[0]!r}?" if close else ""
    message = f"{option}: expected {choice}, got {value!r}{hint}"
    if not isinstance(value, str):
        raise TypeError(message)
    raise Error(message, "value out of domain")
