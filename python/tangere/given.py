"""Contacts from outside, in place of a step's own collision detection."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere import _core

GIVEN_NUMBERS = 15  # of a contact: what its derivatives are taken by
"""How many numbers a contact has that derivatives are taken by."""

GIVEN_FIELDS = {
    "point": slice(0, 3),
    "normal": slice(3, 6),
    "gap": slice(6, 7),
    "friction": slice(7, 10),
    "kinetic": slice(10, 11),
    "slip_speed": slice(11, 12),
    "restitution": slice(12, 13),
    "compliance": slice(13, 14),
    "damping": slice(14, 15),
}
"""Where the fields of a contact are among these numbers."""

_DEFAULT = {"condim": 3, "normal": (0, 0, 1), "friction": (1, 0.005, 0.0001), "kinetic": 1, "slip_speed": 0.001}


def given_contacts(count: int = 1, **fields: Any) -> NDArray[np.void]:
    """A list of contacts for `Sim.step(contacts=...)`: a structured array, one row per contact.

    Fields: body1, body2: the two bodies, 0 is the world; point (3; m) and normal (3; from body1 to body2, of any length
    but 0), world axes; gap (m): the distance less margins; condim (1, 3, 4 or 6);
    friction (slide, spin, roll); kinetic: kinetic / static sliding friction; slip_speed (m/s) at which friction has
    become kinetic; restitution; compliance (m / N); damping (N s / m; law "compliant"); id: the same from step to step
    while the contact persists, for warm starts, or 0. Fields that are not given have the values of a geom: condim 3,
    friction 1 0.005 0.0001, rigid, no restitution.

    >>> import tangere as tg
    >>> c = tg.given_contacts(2, body2=[1, 2], point=[[0, 0, 0], [0.5, 0, 0]], gap=-1e-4)
    >>> c["friction"][:, 0] = 0.6
    """
    out = np.zeros(count, dtype=_core.GIVEN_CONTACT)
    for name, value in {**_DEFAULT, **fields}.items():
        if name not in (out.dtype.names or ()):
            raise TypeError(f"given_contacts: no field {name!r}; there are {', '.join(out.dtype.names or ())}")
        out[name] = value
    return out
