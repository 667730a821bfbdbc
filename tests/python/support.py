"""What several tests use: where the models are, errors, differences, and MuJoCo at a state."""

from __future__ import annotations

import json
import os
from pathlib import Path

import mujoco
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared"))
ROBOTS = SHARED / "robots"

# two links with a motor
ARM = """<mujoco><option timestep="0.005"/><worldbody><body name="a">
<joint name="one" type="hinge" axis="0 1 0" damping="0.1"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5" mass="1"/><body name="b" pos="0 0 -0.5">
<joint name="two" type="hinge" axis="0 1 0" damping="0.2"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.4" mass="0.6"/>
<site name="tip" pos="0 0 -0.4"/></body></body></worldbody>
<actuator><motor name="drive" joint="one"/></actuator></mujoco>"""

# Files that the reader does not take yet. Each must be refused: one that loads has to leave this list.
NOT_YET: set[str] = set()


def expected() -> dict:
    """Sizes, masses and names of the robots, by file."""
    path = ROBOTS / "expected.json"
    return json.loads(path.read_text())["files"] if path.is_file() else {}


def robot_files() -> list[str]:
    """The files of the robots, relative to their folder."""
    return sorted(expected())


def own_files() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "models").glob("*.xml"))


def model_files() -> list[str]:
    """Every file that loads: our own, and the robots'."""
    return own_files() + [name for name in robot_files() if name not in NOT_YET]


def distinct_files() -> list[str]:
    """The same without robots that differ in their geoms only."""
    entries = expected()
    return [name for name in model_files() if name not in entries or entries[name]["reference_states"] == name]


def path_of(name: str) -> Path:
    return ROOT / name if name.startswith("models/") else ROBOTS / name


def error(actual, reference, floor: float = 0.0) -> float:
    """Largest deviation, relative to the largest entry of the reference, or to floor if that is more."""
    actual, reference = np.asarray(actual), np.asarray(reference)
    assert actual.shape == reference.shape
    deviation = float(np.abs(actual - reference).max(initial=0.0))
    return deviation / max(floor, float(np.abs(reference).max())) if deviation else 0.0


# ---- MuJoCo ----


def mujoco_model(path_or_text) -> mujoco.MjModel:
    """The model in MuJoCo, with constraints off; its warnings go nowhere (it would write them to a file here)."""
    mujoco.set_mju_user_warning(lambda _: None)
    if isinstance(path_or_text, Path):
        model = mujoco.MjModel.from_xml_path(str(path_or_text))
    else:
        model = mujoco.MjModel.from_xml_string(path_or_text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return model


def mujoco_data(model, q, v, *, tau=None, act=None, u=None, actuators=True) -> mujoco.MjData:
    """MuJoCo's results at a state."""
    data = mujoco.MjData(model)
    off = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    model.opt.disableflags = model.opt.disableflags & ~off if actuators else model.opt.disableflags | off
    data.qpos, data.qvel = q, v
    data.qfrc_applied = 0 if tau is None else tau
    if act is not None:
        data.act = act
    if u is not None:
        data.ctrl = u
    mujoco.mj_forward(model, data)
    return data


def mujoco_mass_matrix(model, data) -> np.ndarray:
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return M


# ---- differences ----


def central(f, h: float) -> np.ndarray:
    """df/dx at 0 of f(x), x a number, by Richardson's extrapolation of central differences with h and h / 2."""
    coarse = (f(h) - f(-h)) / (2 * h)
    fine = (f(h / 2) - f(-h / 2)) / h
    return (4 * fine - coarse) / 3


STEPS = (1e-3, 1e-2, 1e-4, 1e-5, 1e-6)


def columns(f, n: int, h: float) -> np.ndarray:
    """The matrix of derivatives of f(x) at x = 0, x of length n."""
    out = np.empty((f(np.zeros(n)).size, n))
    for i, e in enumerate(np.eye(n)):
        out[:, i] = central(lambda t, e=e: f(t * e), h)
    return out


def derivative_error(J, f, n: int, scale=1.0) -> float:
    """Error of a derivative block against differences: of max(1, largest entry), for the best of several steps.

    scale: of the steps, one number or one a column.
    """
    best = np.inf
    for h in STEPS:
        F = columns(lambda x, h=h: f(x * scale), n, h) / scale
        best = min(best, error(J, F, floor=1.0))
        if best < 1e-9:
            break
    return best


# ---- a model with one of everything ----

ZOO = """
<mujoco model="zoo">
  <compiler angle="radian"/>
  <option gravity="0.3 -0.2 -9.7" timestep="0.003"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <site name="hook" pos="0.1 0.2 2"/>
    <body name="base" pos="0.1 0.2 0.9" quat="0.8 0.1 0.5 0.2">
      <freejoint name="root"/>
      <inertial pos="0.02 -0.01 0.03" mass="3" fullinertia="0.03 0.04 0.05 0.004 -0.003 0.002"/>
      <site name="eye" pos="0.1 0 0.2" euler="0.3 0.2 0.1"/>
      <body name="arm" pos="0.2 0.1 0" quat="0.9 0.2 -0.3 0.1">
        <joint name="shoulder" type="ball" pos="0.02 0.03 -0.01" damping="0.3" stiffness="1.5" armature="0.01"/>
        <inertial pos="0 0.1 0.02" mass="0.7" diaginertia="0.004 0.003 0.005"/>
        <geom name="bone" type="capsule" size="0.03 0.1" pos="0 0.1 0"/>
        <body name="wrist" pos="0 0.3 0">
          <joint name="yaw" type="hinge" axis="1 2 -1" pos="0.01 0 0.02" ref="0.2" armature="0.02" damping="0.1"/>
          <joint name="slider" type="slide" axis="0.3 -1 0.2" pos="0.05 0 0" ref="-0.1" stiffness="20"
                 springref="0.05"/>
          <joint name="roll" type="hinge" axis="0 1 1" pos="-0.02 0.01 0" stiffness="2" springref="0.1"/>
          <inertial pos="0.01 0.02 0.03" quat="0.9 0.1 0.3 0.2" mass="0.4" diaginertia="0.002 0.003 0.0015"/>
          <site name="tip" pos="0 0.1 0.05"/>
          <body name="badge" pos="0.05 0.05 0" quat="0.7 0.1 0.2 0.6">
            <inertial pos="0.01 0 0" mass="0.05" diaginertia="1e-4 2e-4 1.5e-4"/>
          </body>
        </body>
      </body>
      <body name="leg" pos="-0.2 0 -0.1">
        <joint name="hip" type="hinge" axis="0 1 0" range="-1 1" limited="true" damping="0.5" armature="0.01"/>
        <inertial pos="0 0 -0.2" mass="0.9" diaginertia="0.01 0.009 0.003"/>
        <body name="foot" pos="0 0 -0.4">
          <joint name="knee" type="slide" axis="0.1 0 1" range="-0.3 0.2" limited="true"
                 actuatorfrcrange="-3 3" actuatorfrclimited="true"/>
          <inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.002 0.002 0.001"/>
          <site name="sole" pos="0.02 0.01 -0.2" quat="0.6 0.5 -0.3 0.2"/>
        </body>
      </body>
    </body>
    <body name="pendulum" pos="1 0 1.5">
      <joint name="swing" type="hinge" axis="0 1 0.2" pos="0 0 0.3"/>
      <inertial pos="0 0 -0.1" mass="0.6" diaginertia="0.005 0.006 0.002"/>
      <site name="bob" pos="0.03 0 -0.2"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="coupling" stiffness="3" damping="0.2" springlength="0.1">
      <joint joint="hip" coef="0.8"/>
      <joint joint="swing" coef="-1.3"/>
    </fixed>
    <spatial name="cable" stiffness="15" damping="0.4" springlength="0.1 0.3">
      <site site="hook"/>
      <site site="tip"/>
      <site site="sole"/>
      <pulley divisor="2"/>
      <site site="sole"/>
      <site site="bob"/>
    </spatial>
  </tendon>
  <actuator>
    <motor name="hip_motor" joint="hip" gear="7" ctrlrange="-1 1" ctrllimited="true"/>
    <position name="yaw_servo" joint="yaw" kp="12" kv="0.5" forcerange="-2 2" forcelimited="true"/>
    <velocity name="swing_speed" joint="swing" kv="1.5"/>
    <motor name="knee_motor" joint="knee" gear="2"/>
    <general name="shoulder_drive" joint="shoulder" gear="0.3 -0.5 0.8" gainprm="2" biastype="affine"
             biasprm="0.1 -3 -0.2"/>
    <general name="thruster" site="eye" gear="1 2 -1 0.3 0.1 0.2" gainprm="1.5"/>
    <general name="winch" tendon="cable" gear="1.2" gaintype="affine" gainprm="1 0.4 0.1" biastype="affine"
             biasprm="0 -5 -0.3"/>
    <general name="integrating" joint="roll" dyntype="integrator" gainprm="3" actrange="-1 1" actlimited="true"/>
    <general name="filtered" joint="hip" dyntype="filter" dynprm="0.05" gainprm="4"/>
    <general name="exact" tendon="coupling" dyntype="filterexact" dynprm="0.1" gainprm="2"/>
  </actuator>
  <keyframe>
    <key name="up" time="0.5" ctrl="0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0" act="0.1 0.2 0.3"/>
  </keyframe>
</mujoco>
"""
