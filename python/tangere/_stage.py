"""A model in a viser scene, shared by the live viewer, pages and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._overlay import (
    MODE_COLOURS,
    NO_MARKS,
    Friction,
    Gradient,
    Marks,
    Tension,
    margin_text,
    marks_of,
    tendon_length,
    tendon_lines,
)
from tangere._triangles import Drawn, looks_of, shown_layers, sphere, triangles_of
from tangere.enums import ContactMode, GeomType
from tangere.model import Model
from tangere.sim import StepContacts

Array = NDArray[np.float64]

OVERLAYS = ("contact points", "contact forces", "friction cones", "margins", "gradient", "tendons", "sites")
SHOWN = ("contact points", "contact forces", "friction cones", "gradient", "tendons")
_LABELS = 32  # margins are written at so many contacts at most
_FORCE = (40, 60, 160)
_PLAIN = (165, 178, 198)  # a geom that was given no colour
_FLOOR = (205, 210, 218)  # darker than white robots, paler than the rest
_GRADIENT = (204, 121, 167)


def _label(names: list[str], i: int) -> str:
    return names[i].replace("/", "_") or f"#{i}"


def _quaternions(axis: Array) -> Array:
    """Rotations (n, 4) that take z to each unit axis (n, 3): half-way vectors, and a turn about x for -z."""
    half = np.concatenate([1 + axis[:, 2:], -axis[:, 1:2], axis[:, :1], np.zeros((len(axis), 1))], 1)
    half[axis[:, 2] < -1 + 1e-12] = (0, 1, 0, 0)
    return half / np.linalg.norm(half, axis=1, keepdims=True)


def _split(vector: Array) -> tuple[Array, Array]:
    """Lengths (n) and unit vectors (n, 3); z for a vector of length 0."""
    length = np.linalg.norm(vector, axis=1)
    unit = np.where(length[:, None] > 0, vector / np.where(length, length, 1)[:, None], [0.0, 0.0, 1.0])
    return length, unit


def _cone(closed: bool, apex: float, base: float, corners: int = 24) -> tuple[Array, NDArray[np.int32]]:
    """A cone about z: its apex at z = apex, a circle of radius 1 at z = base."""
    angle = np.arange(corners) * 2 * np.pi / corners
    circle = np.stack([np.cos(angle), np.sin(angle), np.full(corners, base)], 1)
    vertices = np.concatenate([[[0, 0, apex], [0, 0, base]], circle])
    a, b = 2 + np.arange(corners), 2 + (np.arange(corners) + 1) % corners
    turn = 1 if apex > base else -1
    side = np.stack([np.zeros(corners, int), a, b], 1)[:, ::turn]
    cap = np.stack([np.ones(corners, int), b, a], 1)[:, ::turn]
    return vertices, (np.concatenate([side, cap]) if closed else side).astype(np.int32)


def _rod(corners: int = 16) -> tuple[Array, NDArray[np.int32]]:
    """A tube of radius 1 from z = 0 to z = 1."""
    angle = np.arange(corners) * 2 * np.pi / corners
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(corners)], 1)
    a, b = np.arange(corners), (np.arange(corners) + 1) % corners
    faces = np.concatenate([np.stack([a, b, a + corners], 1), np.stack([b, b + corners, a + corners], 1)])
    return np.concatenate([ring, ring + np.array([0, 0, 1])]), faces.astype(np.int32)


class _Copies:
    """Many copies of one small mesh. Their number only grows; those that are not needed have no size."""

    def __init__(self, scene: Any, name: str, mesh: tuple, **looks: Any) -> None:
        self._scene, self._name, self._mesh, self._looks = scene, name, mesh, looks
        self._handle: Any = None
        self._room = 0

    def show(self, position: Array, quaternion: Array, scale: Array, colour: ArrayLike) -> None:
        n = len(position)
        if self._handle is None or n > self._room:
            self._make(max(4, 2 * n))
        full = [np.zeros((self._room, k), np.float32) for k in (3, 4, 3)]
        full[1][:, 0] = 1
        colours = np.zeros((self._room, 3), np.uint8)
        if n > 0:
            for to, given in zip(full, (position, quaternion, scale), strict=True):
                to[:n] = given
            colours[:n] = colour
        full[2][n:] = 1e-9
        now = self._handle
        now.batched_positions, now.batched_wxyzs, now.batched_scales = full
        now.batched_colors = colours

    def _make(self, room: int) -> None:
        self._room = room
        visible = self._handle.visible if self._handle is not None else True
        turn = np.tile([1.0, 0, 0, 0], (room, 1))
        self._handle = self._scene.add_batched_meshes_simple(
            self._name, *self._mesh, turn, np.zeros((room, 3)), batched_scales=np.full((room, 3), 1e-9),
            batched_colors=np.zeros((room, 3), np.uint8), lod="off", visible=visible, **self._looks,
        )  # fmt: skip


class _Arrows:
    """Arrows from points along vectors: rods and heads."""

    def __init__(self, scene: Any, name: str, radius: float) -> None:
        plain = {"cast_shadow": False, "receive_shadow": False}
        self._rod = _Copies(scene, f"{name}/rods", _rod(), **plain)
        self._head = _Copies(scene, f"{name}/heads", _cone(True, 1, 0), **plain)
        self._radius = radius

    def show(self, start: Array, vector: Array, colour: ArrayLike) -> None:
        length, unit = _split(vector)
        r, turn = self._radius, _quaternions(unit)
        head = np.minimum(5 * r, 0.4 * length)
        wide = np.minimum(r, 0.15 * length)[:, None]
        rod = np.concatenate([wide, wide, (length - head)[:, None]], 1)
        point = np.concatenate([2.5 * wide, 2.5 * wide, head[:, None]], 1)
        self._rod.show(start, turn, np.maximum(rod, 1e-9), colour)
        self._head.show(start + (length - head)[:, None] * unit, turn, np.maximum(point, 1e-9), colour)


class Stage:
    """The nodes of a scene, and how they follow a state.

    scene: `viser.SceneApi`; warn: is called with a message for each shape that cannot be drawn.
    """

    def __init__(self, scene: Any, m: Model, *, warn: Any = None, overlays: tuple[str, ...] = SHOWN) -> None:
        self._scene, self.model = scene, m
        self._looks = looks_of(m)
        self.drawn = triangles_of(m, warn)
        self.layers = sorted({one.layer for one in self.drawn})
        self.shown = shown_layers(m, self.drawn)
        self.centre, self.extent = self._measure()
        weight = m.mass * float(np.linalg.norm(m.params["gravity"]) or 9.81)
        self.force_scale = (
            0.5 * self.extent / weight if weight > 0 else 1.0
        )  # m / N: half an extent for all of the weight
        self._friction, self._tension = Friction(m, self._looks), Tension(m)
        self._frames: dict[tuple[str, int], Any] = {}
        self.meshes: list[tuple[Drawn, Any]] = []
        self.nodes: dict[str, Any] = {}
        for layer in self.layers:
            self.nodes[layer] = scene.add_frame(f"/{layer}", show_axes=False, visible=layer in self.shown)
        for overlay in OVERLAYS:
            self.nodes[overlay] = scene.add_frame(f"/{overlay}", show_axes=False, visible=overlay in overlays)
        self._add_meshes()
        self._add_overlays()

    # ---- what stands still ----

    def _measure(self) -> tuple[Array, float]:
        """Centre and size of the moving geoms (of all geoms if none moves), in the reference configuration."""
        poses = self.model.body_poses(self.model.default_q())
        corners = [
            rotate(poses.quaternion[one.body], rotate(one.quaternion, one.vertices) + one.position)
            + poses.position[one.body]
            for one in self.drawn
            if one.type != GeomType.PLANE and (self.model.body_tree[one.body] >= 0 or self.model.nv == 0)
        ]
        points = np.concatenate(corners) if corners else poses.position
        low, high = points.min(0), points.max(0)
        return (low + high) / 2, max(float(np.linalg.norm(high - low)), 0.1)

    def _add_meshes(self) -> None:
        bodies = self.model.names("body")
        for k, one in enumerate(self.drawn):
            parent = f"/{one.layer}/{_label(bodies, one.body)}"
            if (one.layer, one.body) not in self._frames:
                self._frames[one.layer, one.body] = self._scene.add_frame(parent, show_axes=False)
            if one.rgba[3] == 0:
                continue
            name = f"{parent}/{k} {_label([one.name], 0) if one.name else one.type.name.lower()}"
            self.meshes.append((one, self._add_mesh(name, one)))
            if one.type == GeomType.PLANE:
                self._add_grid(f"{parent}/{k} grid", one)

    def _add_mesh(self, name: str, one: Drawn) -> Any:
        plane = one.type == GeomType.PLANE
        colour = _PLAIN if one.rgba == (0.5, 0.5, 0.5, 1.0) else tuple(round(255 * c) for c in one.rgba[:3])
        return self._scene.add_mesh_simple(
            name, one.vertices.astype(np.float32), one.faces.astype(np.uint32),
            color=_FLOOR if plane else (230, 160, 60) if one.layer == "hulls" else colour,
            opacity=0.4 if one.layer == "hulls" else one.rgba[3] if one.rgba[3] < 1 else None,
            flat_shading=one.flat, side="double" if plane else "front", cast_shadow=not plane,
            wxyz=one.quaternion, position=one.position,
        )  # fmt: skip

    def _add_grid(self, name: str, one: Drawn) -> None:
        half = np.abs(one.vertices).max(0)
        up = rotate(one.quaternion, np.array([[0.0, 0.0, 1e-3 * self.extent]]))[0]  # else the two flicker
        self._scene.add_grid(
            name, float(2 * half[0]), float(2 * half[1]), cell_size=0.25, section_size=1.0,
            cell_color=(215, 218, 224), section_color=(185, 190, 200), shadow_opacity=0.0,
            wxyz=one.quaternion, position=one.position + up,
        )  # fmt: skip

    def _add_overlays(self) -> None:
        scene, r = self._scene, 0.008 * self.extent
        quiet = {"cast_shadow": False, "receive_shadow": False}
        self._points = _Copies(scene, "/contact points/points", sphere(np.ones(1)), **quiet)
        self._cones = _Copies(scene, "/friction cones/cones", _cone(False, 0, 1), opacity=0.45, side="double", **quiet)
        self._forces = _Arrows(scene, "/contact forces", r)
        self._gradient = _Arrows(scene, "/gradient", 1.2 * r)
        self._sites = _Copies(scene, "/sites/sites", sphere(np.ones(1)), **quiet)
        self._lines = tendon_lines(self._looks)
        self._tendons = _Copies(scene, "/tendons/tendons", _rod(), **quiet) if self._lines else None
        self._margins: list[Any] = []
        self._radius = r

    # ---- what moves ----

    def show(
        self,
        q: ArrayLike,
        contacts: StepContacts | None = None,
        u: ArrayLike | None = None,
        gradient: Gradient | None = None,
    ) -> None:
        """Moves everything to a configuration, with the contacts and the gradient of its step."""
        poses = self.model.body_poses(q)
        for (_, body), frame in self._frames.items():
            if self.model.body_tree[body] >= 0:
                frame.position, frame.wxyz = poses.position[body], poses.quaternion[body]
        self._show_marks(marks_of(self.model, contacts, self._friction))
        self._show_gradient(q, gradient)
        self._show_sites(q, u)

    def _show_marks(self, marks: Marks) -> None:
        n, r = len(marks.point), self._radius
        colour = np.array([MODE_COLOURS[ContactMode(mode)] for mode in marks.mode], np.uint8).reshape(n, 3)
        turn = _quaternions(marks.axis)
        # discs in the plane of contact: a ball would be inside of the foot that it is the contact of
        self._points.show(marks.point, turn, np.tile([4 * r, 4 * r, 0.5 * r], (n, 1)), colour)
        # an impact would fill the picture: an arrow is at most an extent long, and its cone shrinks with it
        force = self.force_scale * marks.force
        force *= np.minimum(1, self.extent / np.maximum(np.linalg.norm(force, axis=1), 1e-300))[:, None]
        self._forces.show(marks.point, force, np.tile(_FORCE, (n, 1)))
        # as high as the normal force is long: a force is inside its cone exactly when it sticks
        height = np.einsum("ij,ij->i", force, marks.axis)
        held = height > 1e-6 * self.extent
        wide = (marks.friction * height)[:, None]
        size = np.concatenate([wide, wide, height[:, None]], 1)[held]
        self._cones.show(marks.point[held], turn[held], np.maximum(size, 1e-9), colour[held])
        self._show_margins(marks)

    def _show_margins(self, marks: Marks) -> None:
        n = min(len(marks.point), _LABELS)
        while len(self._margins) < n:
            self._margins.append(self._scene.add_label(f"/margins/{len(self._margins)}", "", font_screen_scale=0.8))
        for i, label in enumerate(self._margins):
            if i < n:
                label.text = margin_text(float(marks.margin[i]))
                label.position = marks.point[i] + [0, 0, 2 * self._radius]
            if label.visible != (i < n):
                label.visible = i < n

    def _show_gradient(self, q: ArrayLike, gradient: Gradient | None) -> None:
        if gradient is None:
            self._gradient.show(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
            return
        m = self.model
        moving = m.body_tree >= 0
        poses = m.body_poses(q)
        com = np.array([m.params[f"body.#{b}.com"] for b in range(m.nbody)])
        at = poses.position + np.array([rotate(poses.quaternion[b], com[b : b + 1])[0] for b in range(m.nbody)])
        largest = np.linalg.norm(gradient.force[moving], axis=1).max(initial=0)
        arrow = 0.4 * self.extent * gradient.force / largest if largest > 0 else np.zeros_like(gradient.force)
        self._gradient.show(at[moving], arrow[moving], np.tile(_GRADIENT, (int(moving.sum()), 1)))

    def _show_sites(self, q: ArrayLike, u: ArrayLike | None) -> None:
        m = self.model
        if m.nsite == 0:
            return
        sites = m.site_poses(q)
        n = m.nsite
        self._sites.show(
            sites.position, sites.quaternion, np.full((n, 3), self._radius), np.tile((230, 159, 0), (n, 1))
        )
        if self._tendons is None:
            return
        tension = self._tension(tendon_length(self._looks, self._lines, sites.position), u)
        start = sites.position[[a for _, a, _ in self._lines]]
        length, unit = _split(sites.position[[b for _, _, b in self._lines]] - start)
        wide = np.full((len(length), 1), 0.5 * self._radius)
        pull = tension[[t for t, _, _ in self._lines]]
        self._tendons.show(
            start, _quaternions(unit), np.concatenate([wide, wide, length[:, None]], 1), tension_colours(pull)
        )

    def forget(self) -> None:
        """Contacts and gradient are no longer those of the state."""
        self._show_marks(NO_MARKS)


def tension_colours(tension: Array) -> NDArray[np.uint8]:
    """Blue where a tendon is slack, red where it pulls most (of those given), through white."""
    share = np.clip(tension / max(float(np.max(np.abs(tension), initial=0)), 1e-12), -1, 1)[:, None]
    slack, middle, tight = np.array([[0, 114, 178]]), np.array([[200, 200, 200]]), np.array([[213, 30, 30]])
    return (middle + np.maximum(share, 0) * (tight - middle) + np.maximum(-share, 0) * (slack - middle)).astype(
        np.uint8
    )


def rotate(quaternion: Array, points: Array) -> Array:
    w, r = quaternion[0], np.asarray(quaternion[1:])
    cross = np.cross(r, points)
    return points + 2 * (w * cross + np.cross(r, cross))
