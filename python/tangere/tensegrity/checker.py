"""MuJoCo's collision detection in place of ours: the step takes the contacts that MuJoCo finds at its state.

The law, the solver and all parameters stay ours; only points, normals and gaps come from elsewhere. A step is a call of
Python here, because the contacts of a step depend on the state before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.given import given_contacts
from tangere.model import Model
from tangere.sim import Sim
from tangere.tensegrity.robot import STEP

Array = NDArray[np.float64]

REACH = 0.05  # m: gaps up to this are reported; a rod's end at 10 m/s moves by 0.01 m per step


class Checker:
    """The contacts that MuJoCo finds in the model `text`."""

    def __init__(self, text: str) -> None:
        import mujoco  # noqa: PLC0415  (an extra)

        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_string(text)
        self._model.geom_margin[:] = REACH
        self._data = mujoco.MjData(self._model)

    def __call__(self, q: Array, slide: float = 1.0, roll: float = 1.0) -> Any:
        """At q, as `Sim.step(contacts=...)` takes them. slide, roll: factors of sliding, and of spinning and rolling
        friction."""
        m, d = self._model, self._data
        d.qpos[:] = q
        self._mujoco.mj_kinematics(m, d)
        self._mujoco.mj_comPos(m, d)
        self._mujoco.mj_collision(m, d)
        found = d.contact
        out = given_contacts(d.ncon)
        if d.ncon:
            out["body1"], out["body2"] = m.geom_bodyid[found.geom].T
            out["point"], out["normal"], out["gap"] = found.pos, found.frame[:, :3], found.dist
            out["condim"] = found.dim
            out["friction"] = found.friction[:, [0, 2, 3]] * [slide, roll, roll]
        return out


def follow(
    m: Model, q: Array, v: Array, steps: int, checker: Checker | None = None, *, slide: float = 1.0, roll: float = 1.0,
    every: int = 1,
) -> tuple[Array, Array]:  # fmt: skip
    """States (steps / every + 1, ...) without controls, with MuJoCo's contacts or, without a checker, with ours."""
    sim = Sim(m, dt=STEP)
    sim.q, sim.v = q, v
    kept = [(np.array(sim.q), np.array(sim.v))]
    for k in range(steps):
        sim.step(contacts=None if checker is None else checker(sim.q, slide, roll))
        if (k + 1) % every == 0:
            kept.append((np.array(sim.q), np.array(sim.v)))
    return tuple(np.array(x) for x in zip(*kept, strict=True))  # type: ignore[return-value]
