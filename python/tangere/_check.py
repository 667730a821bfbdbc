"""Derivatives of a model's steps against central differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tangere._names import told, whole_number
from tangere.model import Model


class CheckGroup(NamedTuple):
    """Derivatives with respect to a group of inputs of a step, or to parameters of one kind.

    error = |J - F| / max(1, max |F|) is that of the worst entry, J the derivative and F the differences. `state`
    (counted from 0) and `params` ("own", "nudged" away from kinks, "soft" contacts) say where.
    """

    name: str
    compared: int
    error: float
    skipped: int
    unresolved: int
    largest: float
    derivative: float
    differences: float
    entry: str
    state: int
    params: str
    condition: float


class CheckModes(NamedTuple):
    """How often a contact mode occurred."""

    states: int
    contacts: int
    possible: bool


@dataclass(frozen=True, repr=False)
class CheckResult:
    """The result of `tangere.check`; true if the derivatives passed.

    states: number of sampled states; labels: states with every label; not_exact: states without an exact derivative, by
    parameters; left_out: states skipped, by reason (not exact, and differences do not agree; not solved; without
    derivatives), and states_skipped: their share. modes: contacts, by mode. groups: the worst entry of each group of
    inputs. compared, unresolved, switched, tied, outside, kinked, refined: numbers, and skipped: the share that was
    skipped. infinite: derivatives that are not finite. jvp, jacobian: forward mode and matrices against reverse mode.
    overlaps, deepest (m): geoms that overlap in the reference configuration. masked: parameters without effect, because
    another number is used in every contact of their geom (the larger friction and restitution of two geoms, MuJoCo's
    rule), and that number.
    """

    passed: bool
    states: int
    labels: dict[str, int]
    not_exact: dict[str, int]
    left_out: dict[str, int]
    modes: dict[str, CheckModes]
    groups: tuple[CheckGroup, ...]
    states_skipped: float
    compared: int
    unresolved: int
    switched: int
    tied: int
    outside: int
    kinked: int
    refined: int
    skipped: float
    infinite: int
    jvp: float
    jacobian: float
    implicit_actuators: bool
    overlaps: int
    deepest: float
    masked: dict[str, str]

    def __bool__(self) -> bool:
        return self.passed

    @property
    def worst(self) -> CheckGroup | None:
        """The group with the largest error; None if nothing was compared."""
        return max(self.groups, key=lambda g: np.inf if np.isnan(g.error) else g.error, default=None)

    def __getitem__(self, name: str) -> CheckGroup:
        """The group of a name: "q", "u", "body.mass"."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"{name!r}: compared were {', '.join(group.name for group in self.groups)}")

    def __repr__(self) -> str:
        labels = ", ".join(f"{count} {label}" for label, count in self.labels.items())
        modes = ", ".join(f"{m.states} {mode}" for mode, m in self.modes.items() if m.possible)
        lines = [
            f"<tangere.CheckResult: {'passed' if self.passed else 'failed'}",
            f"  {self.states} states: {labels}; {100 * self.states_skipped:.3g} % skipped",
            f"  states with contacts: {modes or 'no two geoms can touch'}",
            f"  {self.compared} numbers compared, {100 * self.skipped:.3g} % skipped, {self.infinite} not finite",
            f"  forward mode and matrices agree with reverse mode to {self.jvp:.2g} and {self.jacobian:.2g}",
            f"  {'by':<22} {'compared':>8} {'error':>9}  worst entry: derivative, differences",
        ]
        for name, by in list(self.masked.items())[:2]:
            lines.insert(-1, f"  {name} cannot matter: in every contact of its geom another counts ({by})")
        if len(self.masked) > 2:
            lines.insert(-1, f"  ... and {len(self.masked) - 2} more parameters cannot matter")
        for g in sorted(self.groups, key=lambda g: -g.error):
            entry = f"  {g.entry}: {g.derivative:.9g}, {g.differences:.9g}" if g.error > 0 else ""
            lines.append(f"  {g.name:<22} {g.compared:>8} {g.error:>9.2g}{entry}")
        return "\n".join(lines) + ">"


@told(samples="states", tolerance="result.worst: the limit is 1e-6")
def check(
    model: Model,
    states: int = 100,
    *,
    seed: int = 1,
    params: Any = "*",
    progress: Callable[[int, int], object] | None = None,
    impact: str = "end",
    law: str = "ncp",
) -> CheckResult:
    """Compares the derivatives of steps with central differences, as `tangere check` does.

    The trajectory lays, drops, throws, drives and presses the model until every contact mode has occurred, with the
    model's current parameters and with others near them. Random entries are compared at every state. params:
    names, patterns or positions of the parameters to draw from; progress(done, states) is called after every state.
    impact: "end" or "within", as for `Sim`; law: the contact law, as for `Sim`.
    """
    if not isinstance(model, Model):
        raise TypeError(f"model: expected a tangere.Model, got {type(model).__name__}")
    states = whole_number("states", states, 1)
    if impact not in ("end", "within"):
        raise ValueError(f"impact: expected 'end' or 'within', got {impact!r}")
    found = model._check(states, seed, model._chosen(params), progress, int(impact == "within"), law)
    found["masked"] = model.masked(params)
    found["modes"] = {mode: CheckModes(*row) for mode, row in found["modes"].items()}
    found["groups"] = tuple(CheckGroup(*row) for row in found["groups"])
    return CheckResult(**found)
