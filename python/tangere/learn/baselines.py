"""Models without a contact law: MLP-CD-CLNN, IN-CP-CLNN and IN-CP-SP. They are trained on pairs of states.

An interaction network sees objects (points, and walls and anchors that do not move) and relations (contacts, limits,
constraints), both taken from the definition of the system. Layer widths are those that the published code really had.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from tangere.cartesian import BEND, DISTANCE, PAIR, PIVOT, STRETCH, TETHER, System
from tangere.learn.models import Counter, Flow, Inertia, Properties
from tangere.learn.potential import WIDTH, mlp

CONTACT, CONSTRAINT = 1.0, -1.0  # flag of a relation


class _Clnn(nn.Module):
    """CLNN and what changes the velocity afterwards (`kick`)."""

    pairs = True

    def __init__(self, system: System):
        super().__init__()
        self.system, self.counter = system, Counter()
        self.properties = Properties(system)
        for unused in (self.properties.friction, self.properties.restitution):
            unused.requires_grad_(False)  # these models have no coefficients of contact
        self.flow = Flow(system, "CLNN", self.properties)

    def kick(self, x: Tensor, v: Tensor) -> Tensor:
        raise NotImplementedError

    def rollout(self, x: Tensor, v: Tensor, steps: int) -> Tensor:
        params, inertia = self.properties(), Inertia(self.properties)
        states = [torch.stack([x, v], 1)]
        for _ in range(steps):
            x, v = self.flow(x, v, params, inertia)
            v = v + self.kick(x, v)
            states.append(torch.stack([x, v], 1))
        return torch.stack(states, 1)


class MlpModel(_Clnn):
    """MLP-CD-CLNN: the jump of samples with contacts is a network of x and v."""

    def __init__(self, system: System):
        super().__init__(system)
        n = system.size.points * system.size.dim
        self.jump = mlp([2 * n, WIDTH, WIDTH, WIDTH, n], nn.ReLU)

    def kick(self, x: Tensor, v: Tensor) -> Tensor:
        """The change of velocity, zero where no contact is detected."""
        touching = torch.from_numpy(self.system.touching(x.detach().double().numpy()) > 0)
        self.counter.problems += int(touching.sum())
        jump = self.jump(torch.cat([x.flatten(-2), v.flatten(-2)], -1)).reshape(v.shape)
        return jump * touching[:, None, None]


# ---- interaction networks ----


class Graph(NamedTuple):
    """Objects beside the points (place [k, dim]), size of each object, relations with mu, e and flag."""

    place: np.ndarray
    size: np.ndarray  # [points + k]
    receiver: np.ndarray
    sender: np.ndarray
    attribute: np.ndarray  # [relations, 3]


def _walls(system: System) -> dict[tuple[float, ...], np.ndarray]:
    """A point on each wall: the foot of the point that has the same distance to all (a box: midpoints of its sides)."""
    d = system.size.dim
    planes = {(*c[8 : 8 + d], c[11]) for c in system.definition["contacts"] if any(c[8 : 8 + d])}
    if not planes:
        return {}
    table = np.array(sorted(planes))
    normal, offset = table[:, :d], table[:, d]
    centre = np.linalg.lstsq(np.column_stack([normal, -np.ones(len(table))]), -offset, rcond=None)[0][:d]
    return {tuple(row): centre - (n @ centre + c) * n for row, n, c in zip(table.tolist(), normal, offset, strict=True)}


def graph(system: System) -> Graph:
    """The points, walls and anchors of a system as nodes, its constraints and contacts as relations."""
    d, points, definition = system.size.dim, system.size.points, system.definition
    first = np.concatenate([[0], np.cumsum(np.asarray(definition["bodies"], float)[:, 0])]).astype(int)
    walls = _walls(system)
    still: dict[tuple[float, ...], int] = {plane: points + k for k, plane in enumerate(walls)}
    place = list(walls.values())
    size = np.zeros(points)

    def anchor(at: list[float]) -> int:
        key = ("anchor", *at[:d])
        if key not in still:
            still[key] = points + len(place)
            place.append(np.array(at[:d]))
        return still[key]

    links: list[tuple[int, int, float, float, float]] = []

    def relate(objects: list[int], mu: float, e: float, flag: float) -> None:
        links.extend((a, b, mu, e, flag) for a, b in permutations(objects, 2) if a < points)

    for c in definition["contacts"]:
        kind, i, j, k, mu, e = int(c[0]), int(c[1]), int(c[2]), int(c[3]), *_coefficients(definition, int(c[4]))
        if kind in (BEND, STRETCH):
            named = [i, j, k] if kind == BEND else [i, j]
            relate([p if p >= 0 else anchor(c[14:17]) for p in named], mu, e, CONTACT if kind == BEND else CONSTRAINT)
        elif kind == PAIR:
            size[first[i]], size[first[j]] = c[6], c[7]
            relate([first[i], first[j]], mu, e, CONTACT)
        else:
            size[first[i]] = c[6]
            relate([first[i], still[(*c[8 : 8 + d], c[11])]], mu, e, CONTACT)
    for row in definition["constraints"]:
        kind, i, j, length = int(row[0]), int(row[1]), int(row[2]), row[3]
        if kind == DISTANCE:
            relate([i, j], 0.0, 0.0, CONSTRAINT)
        else:
            relate([first[i] if kind == PIVOT else i, anchor(row[7:10])], 0.0, 0.0, CONSTRAINT)
        if kind == TETHER or (kind == DISTANCE and j in first and i in first):
            size[max(i, j)] = length  # of the link that ends there
    for i, j, _, rest, *_ in definition["springs"]:
        size[int(max(i, j))] = rest
    table = np.array(links, float).reshape(-1, 5)
    return Graph(
        np.array(place, float).reshape(-1, d),
        np.concatenate([size, np.zeros(len(place))]),
        table[:, 0].astype(int),
        table[:, 1].astype(int),
        table[:, 2:],
    )


def _coefficients(definition: dict, kind: int) -> tuple[float, float]:
    return definition["mu"][kind], definition["e"][kind]


class Interaction(nn.Module):
    """Effects of relations, summed at their receivers, and a network of each object: [batch, points, dim]."""

    def __init__(self, system: System, effect: int, relational: int, objects: int):
        super().__init__()
        g, d = graph(system), system.size.dim
        self.points, self.effect = system.size.points, effect
        for name, a in (("place", g.place), ("size", g.size), ("attribute", g.attribute)):
            self.register_buffer(name, torch.tensor(a, dtype=torch.float32), persistent=False)
        for name, a in (("receiver", g.receiver), ("sender", g.sender)):
            self.register_buffer(name, torch.tensor(a), persistent=False)
        self.relation = mlp([2 * d + 4 + 3, *[relational] * 4, effect], nn.ReLU)
        self.object = mlp([3 * d + effect, objects, d], nn.ReLU)

    def forward(self, x: Tensor, v: Tensor, inverse: Tensor, external: Tensor) -> Tensor:
        batch, k = len(x), len(self.place)
        still = self.place.expand(batch, k, -1)
        state = torch.cat([torch.cat([x, still], 1), torch.cat([v, torch.zeros_like(still)], 1)], -1)
        own = torch.stack([torch.cat([inverse, inverse.new_zeros(k)]), self.size], -1)
        about = torch.cat([own[self.receiver], own[self.sender], self.attribute], -1)
        difference = state[:, self.receiver] - state[:, self.sender]
        effects = self.relation(torch.cat([difference, about.expand(batch, -1, -1)], -1))
        total = x.new_zeros(batch, self.points, self.effect).index_add(1, self.receiver, effects)
        return self.object(torch.cat([x, v, external, total], -1))


def _inverse(masses: Tensor, moments: Tensor | None) -> Tensor:
    """1 / m of points and centres, 1 / (m lambda) of axes."""
    if moments is None:
        return 1 / masses
    return torch.cat([1 / masses[:, None], 1 / (masses[:, None] * moments)], 1).flatten()


class InteractionClnn(_Clnn):
    """IN-CP-CLNN: CLNN, then a change of velocity by an interaction network in every step; true mu and e."""

    def __init__(self, system: System):
        super().__init__(system)
        self.network = Interaction(system, effect=150, relational=100, objects=100)

    def kick(self, x: Tensor, v: Tensor) -> Tensor:
        """The change of velocity that the network predicts."""
        inverse = _inverse(self.properties.masses(), self.properties.moments())
        return self.network(x, v, inverse, -self.flow.potential.force(x))


class InteractionModel(nn.Module):
    """IN-CP-SP: v+ = IN(x, v), x+ = x + dt v; true masses, mu, e and gravity."""

    pairs = True

    def __init__(self, system: System):
        super().__init__()
        self.system, self.counter = system, Counter()
        s, p = system.slices(), torch.tensor(system.params, dtype=torch.float32)
        rigid = bool(np.asarray(system.definition["bodies"], float)[0, 0] > 1)
        moments = p[s["lambda"]].reshape(system.size.bodies, -1) if rigid else None
        inverse = _inverse(p[s["mass"]], moments)
        weight = torch.zeros(system.size.points, system.size.dim)
        step = system.size.dim + 1 if rigid else 1
        gravity = torch.tensor(system.definition["gravity"][: system.size.dim], dtype=torch.float32)
        weight[::step] = p[s["mass"]][:, None] * gravity
        self.register_buffer("inverse", inverse, persistent=False)
        self.register_buffer("weight", weight, persistent=False)
        self.network = Interaction(system, effect=300, relational=200, objects=100)

    def rollout(self, x: Tensor, v: Tensor, steps: int) -> Tensor:
        """States [batch, steps + 1, 2, points, dim] from x and v."""
        states = [torch.stack([x, v], 1)]
        for _ in range(steps):
            x, v = x + self.system.dt * v, self.network(x, v, self.inverse, self.weight.expand(len(x), -1, -1))
            states.append(torch.stack([x, v], 1))
        return torch.stack(states, 1)
