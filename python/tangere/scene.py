"""Scenes: one model from several, and from simple bodies."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tangere import _core
from tangere._names import Strict
from tangere.enums import GeomType
from tangere.model import Model, load

ORIGIN = (0.0, 0.0, 0.0)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


class Scene(Strict, _core.Scene):
    """Models at poses, a floor, height fields and simple bodies; `build` combines them into one model.

    >>> scene = tg.Scene(timestep=0.001)
    >>> scene.add("robots/arm.xml", pos=(0, 0.5, 0), prefix="left")
    >>> scene.add("robots/arm.xml", pos=(0, -0.5, 0), prefix="right")
    >>> scene.floor()
    >>> scene.box((0.1, 0.1, 0.05), pos=(0.4, 0, 0.05), mass=0.5, name="parcel")
    >>> m = scene.build()
    >>> m.index("body", "left/hand")

    Gravity and time step are the scene's, not those of the files. A scene can be built several times, and extended in
    between.

    Keyframes: each keyframe of a part, under its name with the prefix, with everything else in the reference
    configuration; and for each name that several parts have, one without a prefix in which all of them take theirs.

    The methods that add a geom take its properties as keywords: friction (sliding, or sliding, spinning, rolling),
    kinetic, slip_speed, restitution, compliance, margin, condim, contype, conaffinity, priority, group; and of bodies
    that move, mass or density.
    """

    def __init__(self, *, name: str = "scene", gravity: ArrayLike = (0.0, 0.0, -9.81), timestep: float = 0.002) -> None:
        self._set(name, gravity, timestep)
        self._name: str = name

    def __repr__(self) -> str:
        return f"<tangere.Scene {self._name!r}; build() makes a model of it>"

    def add(
        self,
        robot: str | os.PathLike[str] | Model,
        *,
        pos: ArrayLike = ORIGIN,
        quat: ArrayLike = UPRIGHT,
        prefix: str = "",
        **options: Any,
    ) -> None:
        """Adds a model, or that of a file, with its world at a pose.

        prefix: put before all names. One that ends in a letter or digit is joined with "/": "left" makes "left/arm" of
        "arm"; any other is used as it is: "left_" makes "left_arm". options: those of `tangere.load`.

        If a model is given, its current parameters are used.
        """
        if isinstance(robot, Model):
            if options:
                raise TypeError(f"options of a file, but a model was given: {', '.join(options)}")
            self._add(robot, robot.name, prefix, pos, quat)
        else:
            self._add(load(robot, **options), os.fspath(robot), prefix, pos, quat)

    def floor(
        self,
        *,
        pos: ArrayLike = ORIGIN,
        quat: ArrayLike = UPRIGHT,
        name: str | None = "floor",
        **geom: Any,
    ) -> None:
        """Adds a plane, with +z of its frame as the normal."""
        self._floor(name, pos, quat, _contact(geom))

    def hfield(
        self,
        heights: ArrayLike,
        size: ArrayLike,
        *,
        pos: ArrayLike = ORIGIN,
        quat: ArrayLike = UPRIGHT,
        base: float = 0.1,
        name: str | None = None,
        **geom: Any,
    ) -> None:
        """Adds a height field to the world.

        heights: m, rows along +y and columns along +x, above pos; size: m, half lengths along x and y; base: m, the
        depth of the solid below its lowest point.
        """
        surface = np.asarray(heights, dtype=float)
        if surface.ndim != 2 or min(surface.shape) < 2 or not np.isfinite(surface).all():
            raise ValueError(
                f"heights: finite numbers in at least two rows and columns are needed, got shape {surface.shape}"
            )
        half = np.asarray(size, dtype=float)
        if half.shape != (2,):
            raise ValueError(f"size: two half lengths are needed, got shape {half.shape}")
        low, high = float(surface.min()), float(surface.max())
        span = high - low if high > low else 1.0
        frame = np.asarray(pos, dtype=float) + low * _up(quat)
        self._hfield(name, (surface - low) / span, (*half, span, base), frame, quat, _contact(geom))

    def sphere(self, radius: float, **options: Any) -> None:
        """Adds a ball; options as `box`."""
        self._body(GeomType.SPHERE, (radius, 0.0, 0.0), **options)

    def box(
        self,
        size: ArrayLike,
        *,
        pos: ArrayLike = ORIGIN,
        quat: ArrayLike = UPRIGHT,
        fixed: bool = False,
        name: str | None = None,
        **geom: Any,
    ) -> None:
        """Adds a box of three half lengths: free to move, or fixed to the world."""
        self._body(GeomType.BOX, size, pos=pos, quat=quat, fixed=fixed, name=name, **geom)

    def ellipsoid(self, size: ArrayLike, **options: Any) -> None:
        """Adds an ellipsoid of three radii; options as `box`."""
        self._body(GeomType.ELLIPSOID, size, **options)

    def capsule(self, radius: float, half_length: float, **options: Any) -> None:
        """Adds a capsule along z, half_length that of its cylinder; options as `box`."""
        self._body(GeomType.CAPSULE, (radius, half_length, 0.0), **options)

    def cylinder(self, radius: float, half_length: float, **options: Any) -> None:
        """Adds a cylinder along z; options as `box`."""
        self._body(GeomType.CYLINDER, (radius, half_length, 0.0), **options)

    def _body(
        self,
        type: GeomType,
        size: ArrayLike,
        *,
        pos: ArrayLike = ORIGIN,
        quat: ArrayLike = UPRIGHT,
        fixed: bool = False,
        name: str | None = None,
        **geom: Any,
    ) -> None:
        self._prop(name, fixed, pos, quat, {"type": int(type), "size": size, **_contact(geom)})

    def build(self) -> Model:
        """Makes the model."""
        return self._build(Model)


def _contact(geom: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a geom; of friction, one number is the sliding one."""
    friction = geom.get("friction")
    if friction is not None and np.ndim(friction) == 0:
        geom = {**geom, "friction": (friction, 0.005, 0.0001)}
    return geom


def _up(quat: ArrayLike) -> np.ndarray:
    """The z axis of a frame."""
    w, x, y, z = np.asarray(quat, dtype=float)
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])
