"""The implicit cable element of "A Recurrent Differentiable Engine for Modeling Tensegrity Robots" (arXiv 2203.00041).

The paper solves one linear system of 21 unknowns per cable end: force, end, end's velocity, the rod's centre, velocity and
angular velocity, and the arm from the centre to the end. As printed it does not work: the force has the wrong sign, the arm
is turned by omega dt instead of dt omega x r, a row is missing, and the far end stands still, which takes momentum. Below
are the rows with these corrected.

Each end is solved by itself, and the forces are summed. Eight cable ends then correct the same motion of a rod at once. The
spectral radius of the linearised step of the whole robot says what becomes of that: above 1 it explodes. The engine has one
system for all rods instead (implicit_tendons), M + sum (dt k + dt^2 K) m m^T, whose radius is 1 at any step up to where the
soft mode, which tension alone holds, ceases to be stable (2 / omega = 79.7 ms).
"""

import numpy as np
import tangere as tg
from paper import Experiment, arguments

K, DAMPING, REST, MASS, HALF = 1e4, 1e3, 0.95, 10.0, 0.842
ACROSS, ALONG = 2.561616, 0.012405  # kg m^2: a capsule of 10 kg, radius 0.05 m
CABLES = [
    (0, 10), (1, 4), (2, 6), (3, 1), (4, 8), (5, 2), (6, 5), (7, 11), (8, 7), (9, 0), (10, 9), (11, 3),
    (0, 8), (0, 4), (10, 1), (10, 3), (9, 11), (9, 7), (2, 4), (2, 1), (6, 3), (6, 11), (5, 7), (5, 8),
]  # fmt: skip
STEPS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1)


def cross(r):
    """The matrix of r x."""
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def element(dt, n, r, inverse, x2, v2, x, v, omega):
    """The force on one end of a cable at the end of the step, by the 21 rows; n: direction from the other end to this one."""
    identity, R, B = np.eye(3), cross(r), np.outer(n, n)
    A, b = np.zeros((7, 3, 7, 3)), np.zeros((7, 3))
    f, xm, vm, xr, vr, w, arm = range(7)
    A[0, :, xm], A[0, :, xr], A[0, :, arm] = identity, -identity, -identity
    A[1, :, vm], A[1, :, vr], A[1, :, w] = identity, -identity, R
    A[2, :, f], A[2, :, xm], A[2, :, vm] = identity, K * identity, DAMPING * B
    b[2] = K * (x2 + dt * v2 + REST * n) + DAMPING * B @ v2  # the other end moves on, or momentum is lost
    A[3, :, vr], A[3, :, f], b[3] = identity, -dt / MASS * identity, v
    A[4, :, xr], A[4, :, vr], b[4] = identity, -dt * identity, x
    A[5, :, w], A[5, :, f], b[5] = identity, -dt * inverse @ R, omega
    A[6, :, arm], A[6, :, w], b[6] = identity, dt * R, r
    return np.linalg.solve(A.reshape(21, 21), b.ravel())[:3]


def turned(axis, turn):
    """Rodrigues' formula for a rotation vector."""
    angle = np.linalg.norm(turn)
    if angle == 0:
        return axis
    u = turn / angle
    return np.cos(angle) * axis + np.sin(angle) * np.cross(u, axis) + (1 - np.cos(angle)) * u * (u @ axis)


def step(dt, state, centre, axes):
    """Displacements, turns, velocities and angular velocities (4 x 6 x 3) after a step in which each end is solved alone."""
    move, turn, v, omega = state
    axis = np.array([turned(a, t) for a, t in zip(axes, turn, strict=True)])
    x, arms = centre + move, np.empty((12, 3))
    for node in range(12):
        arms[node] = (HALF if node % 2 else -HALF) * axis[node // 2]
    ends = np.array([x[k // 2] + arms[k] for k in range(12)])
    speeds = np.array([v[k // 2] + np.cross(omega[k // 2], arms[k]) for k in range(12)])
    inverse = [np.eye(3) / ACROSS + (1 / ALONG - 1 / ACROSS) * np.outer(a, a) for a in axis]
    force, torque = np.zeros((6, 3)), np.zeros((6, 3))
    for cable in CABLES:
        for here, there in (cable, cable[::-1]):
            n, rod = ends[here] - ends[there], here // 2
            n = n / np.linalg.norm(n)
            f = element(dt, n, arms[here], inverse[rod], ends[there], speeds[there], x[rod], v[rod], omega[rod])
            force[rod] += f
            torque[rod] += np.cross(arms[here], f)
    v = v + dt * force / MASS
    omega = omega + dt * np.array([i @ t for i, t in zip(inverse, torque, strict=True)])
    return np.array([move + dt * v, turn + dt * omega, v, omega])


def radius_of_elements(dt, centre, axes):
    """The largest eigenvalue of the linearised step, by central differences."""
    h, J = 1e-6, np.empty((72, 72))
    for k in range(72):
        sides = []
        for sign in (1, -1):
            state = np.zeros(72)
            state[k] = sign * h
            sides.append(step(dt, state.reshape(4, 6, 3), centre, axes).ravel())
        J[:, k] = (sides[0] - sides[1]) / (2 * h)
    return np.abs(np.linalg.eigvals(J)).max()


def radius_of_engine(model, dt):
    """The same of a step of the engine with implicit cables, from its own derivatives."""
    sim = tg.Sim(model, dt=dt, implicit_tendons=True)
    sim.step()
    j = sim.jacobian()
    return np.abs(np.linalg.eigvals(np.block([[j.dq_dq, j.dq_dv], [j.dv_dq, j.dv_dv]]))).max()


def main(small=False):
    """Prints the spectral radii; small: at fewer steps."""
    told = Experiment("element", "Cables one by one, or all at once", "the paper's element, corrected")
    m = tg.load("superball")
    m.params["gravity"] = 0.0
    m.params["body.*.pos[2]"] += 5.0  # away from the floor
    q = tg.Sim(m).q.reshape(6, 7)
    w, x, y, z = q[:, 3:].T
    axes = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    for dt in STEPS[:4] if small else STEPS:
        alone, together = radius_of_elements(dt, q[:, :3], axes), radius_of_engine(m, dt)
        told.row(f"spectral radius at {1e3 * dt:g} ms: each end alone, all rods", f"{alone:.4f}", f"{together:.6f}")
    told.done()


if __name__ == "__main__":
    main(arguments().small)
