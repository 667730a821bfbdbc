"""Exceptions. The extension module takes them from here."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class Error(ValueError):
    """The library refused an input: the message names the element, the field and the value.

    `status` is the library's name for the kind of refusal ("value out of domain", ...).
    """

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status


class UnknownNameError(Error, KeyError):
    """A name that the model does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class ModelWarning(UserWarning):
    """A model was read without something that would change its motion; `Model.report` lists it."""


def unknown_name(kind: str, name: object, known: Sequence[str]) -> UnknownNameError:
    """The exception for a name that is not among those known, with the closest of them."""
    known = [entry or f"#{i}" for i, entry in enumerate(known)]  # what has no name goes by its number
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5) if isinstance(name, str) else []
    if not close and isinstance(name, str):  # the end of a name: "mass" for "body.trunk.mass"
        close = [k for k in known if k.endswith(f".{name}") and not k.startswith("body.world.")][:3]
    few = known[:12]
    if close:
        hint = f"; did you mean {' or '.join(map(repr, close))}?"
    elif len(few) == len(known):
        hint = f"; expected one of {', '.join(map(repr, few))}" if few else "; the model has none"
    else:
        hint = f"; there are {len(known)}: {', '.join(map(repr, few))}, ..."
    return UnknownNameError(f"no {kind} {name!r}{hint}", "unknown name")
