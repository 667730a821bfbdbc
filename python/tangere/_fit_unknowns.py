"""Unknowns of a fit by name: parameters, ties, wrenches, initial states."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tangere._errors import Error, unknown_name
from tangere.model import Model

# transform and bounds of a parameter by its last word: what a model would refuse otherwise
_KINDS = {
    "mass": ("log", 0.0, np.inf),
    "size": ("log", 0.0, np.inf),
    "friction": ("none", 0.0, np.inf),
    "kinetic": ("none", 1e-6, 1.0),
    "slip_speed": ("log", 0.0, np.inf),
    "restitution": ("none", 0.0, 1.0),
    "compliance": ("none", 0.0, np.inf),
    "damping": ("none", 0.0, np.inf),
    "stiffness": ("none", 0.0, np.inf),
    "armature": ("none", 0.0, np.inf),
    "frictionloss": ("none", 0.0, np.inf),
}


@dataclass(frozen=True)
class Unknown:
    """One number that is estimated: its name, and the parameters of the model that it sets."""

    name: str
    entries: tuple[tuple[str, float], ...]
    kind: str = "param"
    transform: str = "none"
    lower: float = -np.inf
    upper: float = np.inf


def _kind_of(name: str) -> tuple[str, float, float]:
    word = name.rsplit(".", 1)[-1].partition("[")[0]
    return _KINDS.get(word, ("none", -np.inf, np.inf))


def of_params(m: Model, params: Any, tie: Any) -> list[Unknown]:
    """Unknowns from names, patterns, dicts of factors, "inertia:BODY", "wrench:BODY[i]"."""
    tied: dict[str, list[str]] = {}
    for group in tie or ():
        if isinstance(group, str) or len(group) < 2:
            raise ValueError(f"tie: expected lists of two or more names, got {group!r}")
        names = [name for pattern in group for name in _names(m, pattern)]
        tied[names[0]] = names
    followers = {name for names in tied.values() for name in names[1:]}
    entries = [params] if isinstance(params, str | Mapping) else list(params)
    found: list[Unknown] = []
    for entry in entries:
        if isinstance(entry, Mapping):
            parts = tuple((name, float(f)) for pattern, f in entry.items() for name in _names(m, pattern))
            transform, low, high = _kind_of(parts[0][0])
            found.append(Unknown(parts[0][0] + ("+" if len(parts) > 1 else ""), parts, "param", transform, low, high))
            continue
        kind, _, what = entry.partition(":")
        if kind == "inertia" and what:
            found += _inertia(m, what)
        elif kind == "wrench" and what:
            found += _wrench(m, what)
        else:
            for name in _names(m, entry):
                if name in followers:
                    continue
                parts = tuple((one, 1.0) for one in tied.get(name, [name]))
                found.append(Unknown(name + ("+" if len(parts) > 1 else ""), parts, "param", *_kind_of(name)))
    for leader, names in tied.items():
        if not any(u.entries and u.entries[0][0] == leader for u in found):
            found.append(Unknown(leader + "+", tuple((one, 1.0) for one in names), "param", *_kind_of(leader)))
    seen: set[str] = set()
    for unknown in found:
        for name in [unknown.name] if unknown.kind == "wrench" else [entry for entry, _ in unknown.entries]:
            if name in seen:
                raise Error(f"params: '{name}' is there twice", "invalid argument")
            seen.add(name)
    return found


def _names(m: Model, pattern: str) -> list[str]:
    index = m.params.index(pattern)
    return m._param_names(index)


def _inertia(m: Model, body: str) -> list[Unknown]:
    names = [
        f"body.{body}.mass",
        *(f"body.{body}.com[{i}]" for i in range(3)),
        *(f"body.{body}.inertia[{i}]" for i in range(6)),
    ]
    for name in names:
        m.params.index(name)
    return [Unknown(n, ((n, 1.0),), "param", "inertia" if i == 0 else "none") for i, n in enumerate(names)]


def _wrench(m: Model, what: str) -> list[Unknown]:
    body, _, axis = what.partition("[")
    index = m.index("body", body)
    axes = range(6) if not axis else [int(axis.rstrip("]"))]
    return [Unknown(f"wrench:{body}[{a}]", ((str(index), float(a)),), "wrench") for a in axes]


def by_name(given: Mapping[str, Any] | None, unknowns: Sequence[Unknown], what: str) -> dict[int, Any]:
    """{number of an unknown: value} from {name or pattern: value}."""
    names = [u.name for u in unknowns]
    plain = [u.name.rstrip("+") for u in unknowns]
    found: dict[int, Any] = {}
    for key, value in (given or {}).items():
        hits = [
            i
            for i, name in enumerate(names)
            if key in {name, plain[i]}
            or fnmatch.fnmatchcase(plain[i], key)
            or any(key == one for one, _ in unknowns[i].entries if unknowns[i].kind == "param")
        ]
        if not hits:
            raise unknown_name(f"unknown in {what}:", key, names)
        found.update(dict.fromkeys(hits, value))
    return found


def dofs_of(m: Model, initial: Any) -> tuple[list[int], list[int]]:
    """Free numbers of q0 (tangent) and v0 from True, "q", "v", or a list of "q[0]", "v[3]"."""
    if initial is None or initial is False:
        return [], []
    if initial is True:
        return list(range(m.nv)), list(range(m.nv))
    words = [initial] if isinstance(initial, str) else list(initial)
    found: dict[str, list[int]] = {"q": [], "v": []}
    for word in words:
        what, _, index = word.partition("[")
        if what not in found or (index and not index.rstrip("]").isdigit()):
            raise ValueError(f"initial: expected 'q', 'v', 'q[i]' or 'v[i]', got {word!r}")
        numbers = [int(index.rstrip("]"))] if index else range(m.nv)
        for i in numbers:
            if i >= m.nv:
                raise Error(f"initial: {word}: there are {m.nv} degrees of freedom", "value out of domain")
            if i not in found[what]:
                found[what].append(i)
    return found["q"], found["v"]
