"""Objects that refuse attributes they do not have, and say which was meant."""

from __future__ import annotations

import difflib
from typing import Any

# what users of other simulators ask for, and what to write instead
_ELSEWHERE = {
    "ctrl": "controls are given to the step: sim.step(u=...)",
    "u": "controls are given to the step: sim.step(u=...)",
    "qfrc_applied": "forces are given to the step: sim.step(tau=...)",
    "tau": "forces are given to the step: sim.step(tau=...)",
    "xfrc_applied": "wrenches are given to the step: sim.step(wrench=...)",
    "wrench": "wrenches are given to the step: sim.step(wrench=...)",
    "data": "the state is in the Sim itself: sim.q, sim.v, sim.act, sim.time",
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
    """Attributes that the class does not have can be neither read nor set. Names with an underscore are its own."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            place = getattr(type(self), name, None)
            if place is None:
                raise no_attribute(self, name)
            if not isinstance(place, property) or place.fset is None:
                raise AttributeError(f"tangere.{type(self).__name__}.{name} cannot be set", name=name, obj=self)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self, name)


def unknown_keyword(function: str, name: str, known: list[str]) -> TypeError:
    """The exception for an option that is not among those known, with the nearest."""
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"options are {', '.join(known)}"
    return TypeError(f"{function}: no option {name!r}; {hint}")
