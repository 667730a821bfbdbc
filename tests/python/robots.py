"""Robots that are dropped, or moved by random controls, and what their steps told.

Run as a program (`make robots`): every robot at 1 ms and 2 ms, with controls zero and random, 10 s each.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

import mujoco
import numpy as np
import tangere as tg
from support import mujoco_model, path_of, robot_files

LIFT = 0.3  # m
HOLD = 0.05  # s for which random controls are held
TOLERANCE = 1e-8  # m/s, of the residual
DEEPEST = 1e-3  # m, of an overlap after settling
SETTLING = 0.5  # share of the time
OPENEST = 1e-6  # m, of a loop at the end
REST = 1e-3, 10.0  # J, kinetic energy left in a robot that was dropped, s after which it must be at rest


@dataclass
class Run:
    """What became of one simulation."""

    name: str
    dt: float
    random: bool
    free: bool = False  # its base
    steps: int = 0
    unsolved: int = 0
    residual: float = 0.0
    residual_step: int = -1
    depth: float = 0.0  # m, largest overlap after settling, of pairs that did not overlap at the start
    depth_pair: tuple[int, int] = (-1, -1)
    iterations: list[int] = field(default_factory=list)
    contacts: int = 0
    kinetic: float = 0.0
    loop: float = 0.0  # m, the largest gap of a connect
    failure: str = ""

    def __str__(self) -> str:
        text = f"{self.name:34s} {1e3 * self.dt:g} ms {'random' if self.random else 'zero':6s} "
        if self.failure:
            return f"{text} step {self.steps}: {self.failure}"
        return (
            f"{text} {self.unsolved:5d} of {self.steps} unsolved, residual {self.residual:.1e} (step "
            f"{self.residual_step}), overlap {1e3 * self.depth:.4f} mm {self.depth_pair}, {self.contacts} contacts, "
            f"iterations {np.mean(self.iterations):.1f} / {max(self.iterations)}, {self.kinetic:.1e} J"
            + (f", loops {self.loop:.1e} m" if self.loop else "")
        )


def free_joints(m: tg.Model) -> np.ndarray:
    return np.flatnonzero(m.joint_type == int(tg.JointType.FREE))


def robots() -> list[str]:
    """Robots that can be dropped on a floor (those that come without one are in their scenes), and arms with motors."""
    out = []
    for name in robot_files():
        m = tg.load(path_of(name))
        if (len(free_joints(m)) and tg.GeomType.PLANE in m.geom_type) or (not len(free_joints(m)) and m.nu):
            out.append(name)
    return out


def start_of(m: tg.Model) -> np.ndarray:
    """The last keyframe, which is the cleanest start, or the reference; free bodies are lifted."""
    q = m.key(m.nkey - 1).q if m.nkey else m.default_q()
    for j in free_joints(m):
        q[m.joint_q[j] + 2] += LIFT
    return q


def bounds(m: tg.Model) -> tuple[np.ndarray, np.ndarray]:
    """Of the controls: the range where there is one, 1 elsewhere."""
    low, high = -np.ones(m.nu), np.ones(m.nu)
    for i in np.flatnonzero(m.actuator_ctrl_limited):
        low[i], high[i] = m.params[f"actuator.#{i}.ctrl_range"]
    return low, high


class Loops:
    """Connects of a model, as MuJoCo sees them."""

    def __init__(self, name: str) -> None:
        self.model = mujoco_model(path_of(name))
        self.data = mujoco.MjData(self.model)
        self.connects = np.flatnonzero(self.model.eq_type == int(mujoco.mjtEq.mjEQ_CONNECT))

    def gap(self, q: np.ndarray) -> float:
        """The largest distance between the two anchors of a connect (m)."""
        self.data.qpos = q
        mujoco.mj_kinematics(self.model, self.data)
        return max((float(np.linalg.norm(self._anchor(i, 0) - self._anchor(i, 1))) for i in self.connects), default=0.0)

    def _anchor(self, i: int, side: int) -> np.ndarray:
        body = (self.model.eq_obj1id, self.model.eq_obj2id)[side][i]
        local = self.model.eq_data[i][3 * side : 3 * side + 3]
        return self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ local


def overlaps(m: tg.Model, contacts, skip: set) -> tuple[float, tuple[int, int]]:
    """The deepest contact, its margin counted, of pairs that are not in skip."""
    margins = np.array([m.params[f"geom.#{g}.margin"] for g in range(m.ngeom)])
    deepest, pair = 0.0, (-1, -1)
    for geom1, geom2, distance in zip(contacts.geom1.tolist(), contacts.geom2.tolist(), contacts.distance, strict=True):
        depth = margins[geom1] + margins[geom2] - distance
        if depth > deepest and (geom1, geom2) not in skip:
            deepest, pair = float(depth), (geom1, geom2)
    return deepest, pair


def simulate(name: str, dt: float, seconds: float, random: bool, seed: int = 0) -> Run:
    m = tg.load(path_of(name))
    sim, run, loops = (
        tg.Sim(m, dt=dt, project=m.nequality > 0),
        Run(name, dt, random, len(free_joints(m)) > 0),
        Loops(name),
    )
    sim.q = start_of(m)
    start = m.collide(sim.q)
    skip = set(zip(start.geom1.tolist(), start.geom2.tolist(), strict=True))
    rng, (low, high), u = np.random.default_rng(seed), bounds(m), np.zeros(m.nu)
    steps, hold = round(seconds / dt), max(1, round(HOLD / dt))
    for i in range(steps):
        if random and i % hold == 0:
            u = rng.uniform(low, high)
        try:
            sim.step(u)
        except tg.Error as refusal:
            run.failure = str(refusal)
            return run
        info = sim.info
        run.steps += 1
        run.unsolved += info.status != tg.StepStatus.SOLVED
        run.iterations.append(info.iterations)
        run.contacts = max(run.contacts, info.ncontact)
        if info.residual > run.residual:
            run.residual, run.residual_step = info.residual, i
        if i >= SETTLING * steps and info.penetration > run.depth:
            depth, pair = overlaps(m, info.contacts, skip)
            if depth > run.depth:
                run.depth, run.depth_pair = depth, pair
    run.kinetic = float(m.energy(sim.q, sim.v).kinetic)
    run.loop = loops.gap(sim.q)
    return run


def complaints(run: Run) -> list[str]:
    """What a run must not have. A robot that random controls keep moving does not settle: its overlaps do not count."""
    if run.failure:
        return [run.failure]
    out = []
    if run.unsolved or not run.residual <= TOLERANCE:
        out.append(f"{run.unsolved} steps not solved, residual {run.residual:.1e} m/s at step {run.residual_step}")
    if not run.random and not run.depth < DEEPEST:
        out.append(f"geoms {run.depth_pair} overlap by {1e3 * run.depth:.3f} mm")
    if run.free and not run.random and run.steps * run.dt >= REST[1] and not run.kinetic < REST[0]:
        out.append(f"not at rest: {run.kinetic:.1e} J")
    if not run.loop < OPENEST:
        out.append(f"a loop is open by {run.loop:.1e} m")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="Drops every robot and says what its steps told.")
    parser.add_argument("--time", type=float, default=10.0, help="s for each (10)")
    parser.add_argument("files", nargs="*", help="files of the robots' folder (all)")
    chosen = parser.parse_args()
    bad = 0
    for name in chosen.files or robots():
        for dt in (0.001, 0.002):
            for random in (False, True):
                run = simulate(name, dt, chosen.time, random)
                said = complaints(run)
                bad += bool(said)
                print(
                    ("FAILED " if said else "       ") + str(run), *said, sep="\n         " if said else "", flush=True
                )
    print("all passed" if not bad else f"{bad} FAILED")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
