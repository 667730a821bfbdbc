"""Contacts of `Model.collide`, and distances of shapes without a model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere import _core
from tangere.enums import GeomType

Array = NDArray[np.float64]


class Contacts(NamedTuple):
    """Contact points, ordered by (geom1, geom2). World frame.

    The normal points from geom1 to geom2; distance is signed, negative inside; point is the middle between the points
    of the two surfaces. id stays the same while the pair and its features stay the same. gap is the distance less the
    margins of the pair, as used by a step.
    """

    geom1: NDArray[np.intc]
    geom2: NDArray[np.intc]
    point: Array
    normal: Array
    distance: Array
    id: NDArray[np.uint64]
    gap: Array


class Gap(NamedTuple):
    """The gap between two geoms, as used by a step: distance less margins (m), and its derivative by q (nv)."""

    value: float
    derivative: Array


class ContactDerivatives(NamedTuple):
    """Derivatives of n contact points with respect to q, with fixed features: point (n, 3, nv), normal (n, 3, nv),
    distance (n, nv).
    """

    contacts: Contacts
    point: Array
    normal: Array
    distance: Array


class Distance(NamedTuple):
    """The nearest (or deepest) points of two shapes: p2 = p1 + distance normal, point is the middle of both."""

    distance: float
    normal: Array
    point: Array


SIZES = {
    GeomType.PLANE: 0,
    GeomType.HFIELD: 4,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.ELLIPSOID: 3,
    GeomType.CYLINDER: 2,
    GeomType.BOX: 3,
    GeomType.MESH: 3,
}


def _type_of(given: GeomType | str) -> GeomType:
    if isinstance(given, str):
        try:
            return GeomType[given.upper()]
        except KeyError:
            known = ", ".join(repr(t.name.lower()) for t in GeomType)
            raise ValueError(f"type: expected one of {known}, got {given!r}") from None
    return GeomType(given)


class Shape:
    """A shape for `distance`.

        type         size
        "plane"      none; normal z
        "sphere"     radius
        "capsule"    radius, half length of the cylinder; along z
        "cylinder"   radius, half length; along z
        "ellipsoid"  three radii
        "box"        three half lengths
        "mesh"       scale along x, y, z (default 1); vertices (n, 3), of which the convex hull is used
        "hfield"     half x, half y, height of elevation 1, depth of the base; elevation (rows, columns), 0 .. 1

    >>> tg.distance(tg.Shape("sphere", 0.1), (0, 0, 1), tg.Shape("box", (1, 1, 0.5)), (0, 0, 0)).distance
    0.4
    """

    __slots__ = ("_elevation", "_hull", "size", "type")

    def __init__(
        self,
        type: GeomType | str,
        size: ArrayLike = (),
        *,
        vertices: ArrayLike | None = None,
        elevation: ArrayLike | None = None,
    ) -> None:
        self.type = _type_of(type)
        numbers = np.atleast_1d(np.asarray(size, dtype=np.float64))
        if self.type == GeomType.MESH and not numbers.size:
            numbers = np.ones(3)
        if numbers.shape != (SIZES[self.type],):
            raise ValueError(f"size: {self.type.name.lower()} takes {SIZES[self.type]} numbers, got {size!r}")
        if (vertices is not None) != (self.type == GeomType.MESH):
            raise ValueError("vertices belong to type 'mesh', which needs them")
        if (elevation is not None) != (self.type == GeomType.HFIELD):
            raise ValueError("elevation belongs to type 'hfield', which needs it")
        self.size = numbers
        self._hull = None if vertices is None else _core._hull(vertices)
        self._elevation = None if elevation is None else np.array(elevation, dtype=np.float64, order="C", ndmin=2)
        if self._elevation is not None and self._elevation.ndim != 2:
            raise ValueError("elevation: expected an array of two dimensions")

    def __repr__(self) -> str:
        return f"<tangere.Shape {self.type.name.lower()} {self.size}>"

    def _tuple(self) -> tuple[Any, ...]:
        count = 4 if self.type == GeomType.HFIELD else 3
        size = np.zeros(count)
        size[: self.size.size] = self.size
        return int(self.type), size, self._hull, self._elevation


def hull(vertices: ArrayLike, scale: ArrayLike = (1.0, 1.0, 1.0)) -> Shape:
    """The convex hull of points (n, 3) as a shape. One point, points on a line or in a plane are allowed."""
    return Shape(GeomType.MESH, scale, vertices=vertices)


def _pose(name: str, given: ArrayLike) -> Array:
    pose = np.asarray(given, dtype=np.float64)
    if pose.shape == (3,):
        return np.concatenate([pose, (1.0, 0.0, 0.0, 0.0)])
    if pose.shape != (7,):
        raise ValueError(f"{name}: expected 3 or 7 numbers (x y z, quaternion w x y z), got shape {pose.shape}")
    return pose


def distance(shape1: Shape, pose1: ArrayLike, shape2: Shape, pose2: ArrayLike) -> Distance:
    """Signed distance of two shapes at poses (x y z, or x y z and quaternion w x y z), at any distance."""
    return Distance(*_core._distance(shape1._tuple(), _pose("pose1", pose1), shape2._tuple(), _pose("pose2", pose2)))
