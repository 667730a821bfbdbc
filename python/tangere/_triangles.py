"""The shapes of a model as triangles at their physical poses, for all viewers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.enums import GeomType
from tangere.model import Model

Array = NDArray[np.float64]
Faces = NDArray[np.int32]
Triangles = tuple[Array, Faces]

_AROUND = 32  # corners of a circle: its chords are within 0.5 % of the radius
_PLANE = 20.0  # m, half length at which an infinite plane is drawn
_HULL = "hulls"
_VISUAL = "visual"


class Drawn(NamedTuple):
    """Triangles in a frame on a body.

    name: of the geom, "" if it has none; body; layer: "group 0" .. for geoms, "hulls" for what collides instead of a
    mesh, "visual" for shapes that physics does not know; geom: its index, -1 for a visual shape; position (3),
    quaternion (4): in the frame of the body; vertices (n, 3), faces (k, 3), counter-clockwise from outside; rgba (4);
    flat: its faces are meant to be seen.
    """

    name: str
    body: int
    layer: str
    geom: int
    type: GeomType
    position: Array
    quaternion: Array
    vertices: Array
    faces: Faces
    rgba: tuple[float, ...]
    flat: bool


# ---- shapes ----


def _join(parts: list[Triangles]) -> Triangles:
    first = np.cumsum([0] + [len(vertices) for vertices, _ in parts[:-1]])
    return (
        np.concatenate([vertices for vertices, _ in parts]),
        np.concatenate([faces + start for (_, faces), start in zip(parts, first, strict=True)]).astype(np.int32),
    )


def _grid(rows: int, columns: int) -> Faces:
    """Two triangles per cell of rows x columns points, as physics cuts the cells of a height field."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    b, c, d = a + 1, a + columns, a + columns + 1
    return np.stack([np.stack([a, b, c], 1), np.stack([d, c, b], 1)], 1).reshape(-1, 3).astype(np.int32)


def _ring(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], 1)


def _turned(profile: Array) -> Triangles:
    """A surface of revolution about z of a profile (n, 2) of radius and z, from below to above."""
    angle = np.linspace(0, 2 * np.pi, _AROUND + 1)
    circle = _ring(angle)
    vertices = profile[:, :1, None] * circle[None] + profile[:, 1:, None] * np.array([0.0, 0.0, 1.0])
    faces = _grid(len(profile), _AROUND + 1)
    corner = vertices.reshape(-1, 3)[faces]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    return vertices.reshape(-1, 3), faces[area > 1e-12 * max(area.max(initial=0), 1e-300)]


def _capsule_profile(radius: float, half: float) -> Array:
    angle = np.linspace(-np.pi / 2, np.pi / 2, _AROUND // 2 + 1)
    arc = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    arc[[0, -1], 0] = 0
    middle = len(arc) // 2
    up = np.array([0, half])
    return np.concatenate([arc[: middle + 1] - up, arc[middle:] + up]) if half > 0 else arc


def sphere(size: Array) -> Triangles:
    return _turned(_capsule_profile(size[0], 0))


def _ellipsoid(size: Array) -> Triangles:
    vertices, faces = sphere(np.ones(1))
    return vertices * size[:3], faces


def _capsule(size: Array) -> Triangles:
    return _turned(_capsule_profile(size[0], size[1]))


def _disc(radius: float, z: float, up: bool) -> Triangles:
    vertices = np.concatenate([[[0, 0, z]], radius * _ring(np.arange(_AROUND) * 2 * np.pi / _AROUND) + [0, 0, z]])
    a = np.arange(_AROUND)
    faces = np.stack([np.zeros(_AROUND, int), 1 + a, 1 + (a + 1) % _AROUND], 1)
    return vertices, (faces if up else faces[:, ::-1]).astype(np.int32)


def _cylinder(size: Array) -> Triangles:
    radius, half = size[:2]
    side = _turned(np.array([[radius, -half], [radius, half]]))
    return _join([side, _disc(radius, half, True), _disc(radius, -half, False)])


def _box(size: Array) -> Triangles:
    parts = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            corner = np.zeros((4, 3))
            corner[:, axis] = sign * size[axis]
            corner[:, u] = np.array([-1, 1, 1, -1]) * size[u]
            corner[:, v] = np.array([-1, -1, 1, 1]) * size[v]
            faces = np.array([[0, 1, 2], [0, 2, 3]])
            parts.append((corner, faces if sign > 0 else faces[:, ::-1]))
    return _join(parts)


def _plane(size: Array) -> Triangles:
    x, y = (s if s > 0 else _PLANE for s in size[:2])
    return np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def _hfield(size: Array, elevation: Array) -> Triangles:
    """The surface, and walls down to the base; size: half x, half y, height of elevation 1, depth of the base."""
    rows, columns = elevation.shape
    x, y = np.meshgrid(np.linspace(-size[0], size[0], columns), np.linspace(-size[1], size[1], rows))
    top = np.stack([x, y, size[2] * elevation], 2)
    border = np.concatenate([top[0, :-1], top[:-1, -1], top[-1, :0:-1], top[:0:-1, 0], top[:1, 0]])
    wall = np.stack([border * [1, 1, 0] - [0, 0, size[3]], border])
    return _join([(top.reshape(-1, 3), _grid(rows, columns)), (wall.reshape(-1, 3), _grid(2, len(border)))])


_CURVED = {GeomType.SPHERE: sphere, GeomType.ELLIPSOID: _ellipsoid, GeomType.CAPSULE: _capsule}
_PLAIN = {**_CURVED, GeomType.CYLINDER: _cylinder, GeomType.BOX: _box, GeomType.PLANE: _plane}


def _scaled(mesh: Triangles, scale: Array) -> Triangles:
    """A mirror turns the faces round."""
    vertices, faces = mesh
    return vertices * scale, faces[:, ::-1] if np.prod(scale) < 0 else faces


# ---- a model ----


class Looks(NamedTuple):
    """Data of a model for viewers; see `include/tangere/model.h`."""

    rgba: list[tuple[float, float, float, float]]
    meshes: list[Triangles]
    hulls: list[Triangles | None]
    hfields: list[Array]
    tendons: list[tuple[int, NDArray[np.intc], NDArray[np.intc]]]
    pairs: list[tuple[int, int]]
    visuals: list[tuple[Any, ...]]


def looks_of(m: Model) -> Looks:
    return Looks(*m._looks())


def _numbers(m: Model, kind: str, field: str, width: int) -> Array:
    """A field of all elements of a kind, (n, width)."""
    count = {"geom": m.ngeom, "hfield": m.nhfield}[kind]
    return np.array([m.params[f"{kind}.#{i}.{field}"] for i in range(count)]).reshape(count, width)


def _geom(m: Model, looks: Looks, geom: int, size: Array, field_size: Array) -> list[tuple[str, Triangles, bool]]:
    """How a geom is drawn: (layer, triangles, flat)."""
    kind, layer = GeomType(m.geom_type[geom]), f"group {m.geom_group[geom]}"
    if kind == GeomType.HFIELD:
        index = m.geom_hfield[geom]
        return [(layer, _hfield(field_size[index], looks.hfields[index]), True)]
    if kind != GeomType.MESH:
        return [(layer, _PLAIN[kind](size), kind not in _CURVED and kind != GeomType.CYLINDER)]
    index = m.geom_mesh[geom]
    drawn = [(layer, _scaled(looks.meshes[index], size), True)]
    hull = looks.hulls[index] if m.geom_contype[geom] or m.geom_conaffinity[geom] else None
    return drawn if hull is None else [*drawn, (_HULL, _scaled(hull, size), True)]


def _read_mesh(path: str) -> Triangles:
    import trimesh  # noqa: PLC0415  (comes with the viewer)

    mesh = trimesh.load(path, force="mesh")
    return np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int32)


def _visual(visual: tuple[Any, ...]) -> Drawn:
    name, file, kind, body, position, quaternion, size, rgba = visual
    kind = GeomType(kind)
    triangles = _scaled(_read_mesh(file), np.array(size)) if kind == GeomType.MESH else _PLAIN[kind](np.array(size))
    return Drawn(
        name, body, _VISUAL, -1, kind, np.array(position), np.array(quaternion), *triangles, rgba, kind not in _CURVED
    )


def triangles_of(m: Model, warn: Any = None) -> list[Drawn]:
    """All shapes of a model that can be drawn, at its parameters. warn: is called with a message for each one that
    cannot.
    """
    looks, names = looks_of(m), m.names("geom")
    size, field_size = _numbers(m, "geom", "size", 3), _numbers(m, "hfield", "size", 4)
    pos, quat = _numbers(m, "geom", "pos", 3), _numbers(m, "geom", "quat", 4)
    drawn = []
    for geom in range(m.ngeom):
        for layer, (vertices, faces), flat in _geom(m, looks, geom, size[geom], field_size):
            kind, rgba = GeomType(m.geom_type[geom]), looks.rgba[geom]
            drawn.append(
                Drawn(
                    names[geom],
                    int(m.geom_body[geom]),
                    layer,
                    geom,
                    kind,
                    pos[geom],
                    quat[geom],
                    vertices,
                    faces,
                    rgba,
                    flat,
                )
            )
    for visual in looks.visuals:
        try:
            drawn.append(_visual(visual))
        except Exception as failure:  # noqa: PERF203  (whatever a reader of meshes throws)
            if warn is not None:
                reason = (
                    "there is no such file" if not Path(visual[1]).exists() else str(failure) or type(failure).__name__
                )
                warn(f"visual mesh '{visual[1]}' is not drawn: {reason}")
    return drawn


def shown_layers(m: Model, drawn: list[Drawn]) -> set[str]:
    """The layers that are shown at first: groups 0 to 2 as in MuJoCo, and more where a body would be invisible.

    Visual shapes take the place of geoms on their bodies, so groups of geoms are hidden then.
    """
    layers = {one.layer for one in drawn} - {_HULL}
    first = {"group 0", "group 1", "group 2", _VISUAL} & layers
    bodies = {one.body for one in drawn if one.body > 0}
    if _VISUAL in layers and bodies <= {one.body for one in drawn if one.layer == _VISUAL}:
        return {_VISUAL} | {one.layer for one in drawn if one.body == 0 and one.layer != _HULL}
    missing = bodies - {one.body for one in drawn if one.layer in first}
    return first | {one.layer for one in drawn if one.body in missing and one.layer != _HULL}
