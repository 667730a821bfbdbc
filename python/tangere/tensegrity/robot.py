"""SUPERball hanging by one rod, or on the ground; what is unknown about it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._manifold import quat_matrix
from tangere.model import _MODELS, Model

Array = NDArray[np.float64]

RODS = 6
STEP = 0.001  # s: MuJoCo's step and that of the explicit engine, as published
TUPLE = 0.1  # s: the sampling interval, as published
SPEEDS = (2.0, 5.0)  # m/s of a start on the ground: mean paths of 2.4 m; 2.35 m were published
REACH = 100.0  # the range of the controls is +-100, as published

READINGS = {
    "C": {"gain": 100.0, "friction": (1.0, 0.1, 0.1), "why": "metres; the published gain and friction in decimetres"},
    "A": {"gain": 1000.0, "friction": (1.0, 1.0, 1.0), "why": "the published numbers to the letter, in metres"},
}
"""The paper does not say in which unit of length its gain (a force) and its torsional and rolling friction (lengths)
are. C keeps the shape of the robot under controls of +-100; A does not: cables reach twice the length of a rod."""


GROUNDS = {"flat": "a plane", "hills": "a height field: bumps of up to 0.1 m, 2 m apart along x, from x = 1 m on"}


def roll_text(reading: str = "C", ground: str = "flat") -> str:
    """The robot on the ground, as MJCF."""
    if ground not in GROUNDS:
        raise Error(f"ground: expected one of {', '.join(GROUNDS)}, got '{ground}'", "unknown name")
    if reading not in READINGS:
        raise Error(f"reading: expected one of {', '.join(READINGS)}, got '{reading}'", "unknown name")
    chosen = READINGS[reading]
    text = (_MODELS / "superball.xml").read_text(encoding="utf-8")
    friction = " ".join(f"{x:g}" for x in chosen["friction"])  # type: ignore[attr-defined]
    changes = [
        ('friction="1 0.1 0.1"', f'friction="{friction}"'),
        ('gainprm="100"', f'gainprm="{chosen["gain"]:g}"'),
    ]
    if ground == "hills":
        changes += [
            ('type="plane" size="40 40 1"', 'type="hfield" hfield="hills" pos="3 0 0"'),
            ("<worldbody>", f"{_hills()}\n  <worldbody>"),
        ]
    for before, after in changes:
        if text.count(before) != 1:
            raise RuntimeError(f"superball.xml: expected one {before}")
        text = text.replace(before, after)
    return text


def _hills() -> str:
    """Bumps on a grid of 0.25 m, from (-3, -3) to (9, 3) m; flat under the start."""
    x, y = np.meshgrid(np.arange(-3, 9.01, 0.25), np.arange(-3, 3.01, 0.25))
    height = np.clip(x - 1, 0, 1) * np.sin(np.pi * x / 2) ** 2 * np.cos(np.pi * y / 3) ** 2
    numbers = " ".join(f"{h:.3f}" for h in height.ravel())
    nrow, ncol = height.shape
    field = f'<hfield name="hills" nrow="{nrow}" ncol="{ncol}" size="6 3 0.1 0.1" elevation="{numbers}"/>'
    return f"<asset>{field}</asset>"


def hang_text(reading: str = "C") -> str:
    """The robot with rod 3 fixed in the air, and no floor."""
    lines = roll_text(reading).splitlines()
    return "\n".join(line for line in lines if 'name="floor"' not in line and 'name="free3"' not in line)


def com(m: Model, q: Array) -> Array:
    """The centre of mass (..., 3) of configurations (..., nq)."""
    flat = q.reshape(-1, q.shape[-1])
    return np.array([m.com(one) for one in flat]).reshape(*q.shape[:-1], 3)


def path_length(points: Array) -> Array:
    """The length (...) of paths (..., T, 3)."""
    return np.linalg.norm(np.diff(points, axis=-2), axis=-1).sum(axis=-1)


def rolling_start(q: Array, rng: np.random.Generator) -> Array:
    """Velocities with which the robot rolls as one body over its lowest points, in any direction, at any of SPEEDS."""
    return rolling(q, rng.uniform(0, 2 * np.pi), rng.uniform(*SPEEDS))


def rolling(q: Array, angle: float, speed: float) -> Array:
    """Velocities of a roll at `angle` (rad, from x towards y) and `speed` (m/s)."""
    velocity = speed * np.array([np.cos(angle), np.sin(angle), 0])
    pose = np.asarray(q).reshape(RODS, 7)
    centre = pose[:, :3].mean(axis=0)
    spin = np.cross([0, 0, 1], velocity) / centre[2]
    linear = velocity + np.cross(spin, pose[:, :3] - centre)
    angular = np.einsum("rji,j->ri", quat_matrix(pose[:, 3:]), spin)  # in the axes of each rod
    return np.concatenate([linear, angular], axis=1).ravel()


def body_unknowns(m: Model) -> list[dict[str, float]]:
    """Stiffness and damping of all cables, mass and inertia of all rods: three factors of the values that they have."""
    return _groups(m, (["tendon.*.stiffness"], ["tendon.*.damping"], ["body.rod*.mass", "body.rod*.inertia"]))


def contact_unknowns(m: Model, parts: tuple[str, ...] = ("slide", "roll")) -> list[dict[str, float]]:
    """Friction of floor and rods: sliding; spinning and rolling. Of the compliant law: compliance, damping."""
    fields = {
        "slide": ["geom.*.friction[0]"],
        "roll": ["geom.*.friction[1]", "geom.*.friction[2]"],
        "compliance": ["geom.*.compliance"],
        "damping": ["geom.*.damping"],
    }
    return _groups(m, tuple(fields[part] for part in parts))


def _groups(m: Model, parts: tuple[list[str], ...]) -> list[dict[str, float]]:
    values = m.params
    return [
        {name: float(values[name]) for pattern in patterns for name in m.param_names(pattern) if values[name] != 0}
        for patterns in parts
    ]


def scale(m: Model, groups: list[dict[str, float]], factors: Array) -> None:
    """Sets each group to a factor of the values it was made with; all at once, so that every rod stays a body."""
    where = np.concatenate([m.params.index(name) for group in groups for name in group])
    values = [factor * np.array([*group.values()]) for group, factor in zip(groups, factors, strict=True)]
    m.params[where] = np.concatenate(values)
