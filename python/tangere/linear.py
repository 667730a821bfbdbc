"""A model as a linear system about a state, and the controls that keep it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._names import real_number, unknown_keyword, whole_number
from tangere.enums import JointType, Transmission
from tangere.model import Model
from tangere.options import StepOptions
from tangere.rollout import rollout
from tangere.sim import Label, _worst

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = NDArray[np.float64]


class Linear(NamedTuple):
    """x+ = x0 (+) (c + A dx + B du) about a state x0 = (q, v, act) with controls u: dx, du small changes of these.

    dx has 2 nv + na numbers, q in the tangent space: at the state after the step for x+, at x0 for x. A (n, n),
    B (n, nu), c (n): the change due to the steps themselves, (q+ (-) q, v+ - v, act+ - act).
    """

    A: Array
    B: Array
    c: Array
    label: Label


def linearise(  # noqa: PLR0917  (the order in which the arguments are known)
    m: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    act: ArrayLike | None = None,
    dt: float | None = None,
    *,
    steps: int = 1,
    **options: Unpack[StepOptions],
) -> Linear:
    """A, B, c of a step, or of several with the same controls, in the tangent space."""
    for name in options:
        if name not in (*StepOptions.__annotations__, "solver"):
            known = ["dt", "steps", "solver", *StepOptions.__annotations__]
            raise unknown_keyword("tangere.Model.linearise", name, known)
    v = np.zeros(m.nv) if v is None else np.asarray(v, np.float64)
    act = np.zeros(m.na) if act is None else np.asarray(act, np.float64)
    row = np.zeros(m.nu) if u is None else np.asarray(u, np.float64)
    r = rollout(m, q, v, row[None], dt, act0=act, hold=whole_number("steps", steps, 1), **options)
    n = 2 * m.nv + m.na
    A, B, labels = np.eye(n), np.zeros((n, m.nu)), []
    for k in range(len(r)):
        j = r.step_jacobian(k)
        one = np.block(
            [[j.dq_dq, j.dq_dv, j.dq_dact], [j.dv_dq, j.dv_dv, j.dv_dact], [j.dact_dq, j.dact_dv, j.dact_dact]]
        )
        A, B = one @ A, one @ B + np.vstack([j.dq_du, j.dv_du, j.dact_du])
        labels.append(j.label)
    c = np.concatenate([m.difference(r.q[0], r.q[-1]), r.v[-1] - r.v[0], r.act[-1] - r.act[0]])
    return Linear(A, B, c, _worst(labels))


def static_control(
    m: Model,
    q: ArrayLike,
    guess: ArrayLike | None = None,
    act: ArrayLike | None = None,
    dt: float | None = None,
    *,
    tolerance: float = 1e-6,
    iterations: int = 50,
    **options: Any,
) -> Array:
    """Controls (nu) with which the model stays at rest at q for a step, supported by contacts and limits.

    A small change of guess (None: controls with which actuators of hinges and slides do nothing) that stops it:
    Gauss-Newton on v+ = 0 from v = 0, with the exact dv+/du, halved where a step does not help. tolerance: m/s, rad/s.
    Refused where no controls do.
    """
    real_number("tolerance", tolerance)
    u = _idle_control(m, np.asarray(q, np.float64)) if guess is None else np.array(guess, np.float64)

    def step_from(controls: Array) -> tuple[Any, float]:
        r = rollout(m, q, np.zeros(m.nv), controls[None], dt, act0=act, **options)
        return r, float(np.abs(r.v[1]).max(initial=0.0))

    r, speed = step_from(u)
    for _ in range(iterations):
        if speed <= tolerance:
            return u
        way, share = np.linalg.lstsq(r.step_jacobian(0).dv_du, r.v[1], rcond=1e-10)[0], 1.0
        while share > 1e-3:
            tried, left = step_from(u - share * way)
            if left < speed:
                break
            share /= 2
        else:
            break
        u, r, speed = u - share * way, tried, left
    if speed <= tolerance:
        return u
    raise Error(f"no controls keep the model at rest at q: {speed:.3g} m/s is left", "not solved")


def _idle_control(m: Model, q: Array) -> Array:
    """Controls at which actuators of hinges and slides have no force: where a servo already is."""
    u = np.zeros(m.nu)
    for i in range(m.nu):
        joint = m.actuator_target[i]
        if m.actuator_transmission[i] != Transmission.JOINT or m.joint_type[joint] not in (
            JointType.HINGE, JointType.SLIDE,
        ):  # fmt: skip
            continue
        name = f"actuator.#{i}"
        gear, gain, bias = (m.params[f"{name}.{field}"] for field in ("gear", "gain", "bias"))
        if gain[0] != 0:
            u[i] = -(bias[0] + bias[1] * gear[0] * q[m.joint_q[joint]]) / gain[0]
    return u
