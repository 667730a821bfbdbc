"""RNEA, mass matrix and their derivatives against Pinocchio, on the same tree built joint by joint.

A free joint of ours has its linear velocity in world axes and its angular velocity in body axes; Pinocchio's free flyer
has both in body axes. With S = diag(R^T, 1) on its six dofs (and 1 elsewhere), u = R^T v_linear and w the angular
velocity:

    v_pin = S v,    a_pin = S a + (-w x u; 0),    tau = S^T tau_pin,    dq_pin = S dq.

The derivative of R^T x along a body rotation dtheta is (R^T x) x dtheta = [R^T x] dtheta.
"""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
import tangere as tg
from support import ZOO, error, model_files, path_of

FILES = [*model_files(), "zoo"]
TOLERANCE = 1e-9


def skew(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def joint_model(kind, axis):
    if kind == tg.JointType.FREE:
        return pin.JointModelFreeFlyer()
    if kind == tg.JointType.BALL:
        return pin.JointModelSpherical()
    axis = axis / np.linalg.norm(axis)
    return (
        pin.JointModelRevoluteUnaligned(axis) if kind == tg.JointType.HINGE else pin.JointModelPrismaticUnaligned(axis)
    )


def translation(x):
    return pin.SE3(np.eye(3), np.asarray(x, float))


class Twin:
    """A model of ours, without springs and dampers, and the same in Pinocchio."""

    def __init__(self, m: tg.Model) -> None:
        self.m = m.copy()
        for field in ("joint.*.stiffness", "joint.*.damping", "tendon.*.stiffness", "tendon.*.damping"):
            if field in self.m.params:
                self.m.params[field] = 0
        self.pin = pin.Model()
        self.pin.gravity.linear = np.array(self.m.params["gravity"])
        self.free = []  # first dofs of the free joints, with their place in q
        frame = [(0, pin.SE3.Identity())]  # joint that carries a body, and the body's frame in that of the joint
        for body in range(1, self.m.nbody):
            frame.append(self.add_body(body, *frame[self.m.body_parent[body]]))
        self.data = self.pin.createData()

    def field(self, kind, index, name):
        return np.array(self.m.params[f"{kind}.#{index}.{name}"])

    def add_body(self, body, joint, frame):
        w, x, y, z = self.field("body", body, "quat")
        frame = frame * pin.SE3(pin.Quaternion(w, x, y, z).normalized().matrix(), self.field("body", body, "pos"))
        for j in range(self.m.body_joint[body], self.m.body_joint[body] + self.m.body_njoint[body]):
            kind = self.m.joint_type[j]
            if kind == tg.JointType.FREE:
                self.free.append((self.m.joint_q[j], self.m.joint_dof[j]))
                frame = pin.SE3.Identity()
            anchor = np.zeros(3) if kind == tg.JointType.FREE else self.field("joint", j, "pos")
            # the body turns about its anchor: go there, move, come back
            joint = self.pin.addJoint(
                joint, joint_model(kind, self.field("joint", j, "axis")), frame * translation(anchor), f"{j}"
            )
            first = self.m.joint_dof[j]
            assert self.pin.joints[joint].idx_v == first
            self.pin.armature[first : first + self.pin.joints[joint].nv] = self.field("joint", j, "armature")
            frame = translation(-anchor)
        xx, yy, zz, xy, xz, yz = self.field("body", body, "inertia")
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = pin.Inertia(float(self.field("body", body, "mass")), self.field("body", body, "com"), tensor)
        self.pin.appendBodyToJoint(joint, inertia, frame)
        return joint, frame

    # ---- from our coordinates to Pinocchio's ----

    def q_pin(self, q):
        out = q.copy()
        for j, kind in enumerate(self.m.joint_type):
            i = self.m.joint_q[j]
            if kind in (tg.JointType.FREE, tg.JointType.BALL):
                i += 3 if kind == tg.JointType.FREE else 0
                out[i : i + 4] = q[[i + 1, i + 2, i + 3, i]]
            else:
                out[i] -= self.field("joint", j, "ref")
        return out

    def frames(self, q, v):
        """For each free joint: the slices of its linear and angular dofs, R, u = R^T v_linear, w."""
        for i, k in self.free:
            R = pin.Quaternion(*q[i + 3 : i + 7]).matrix()
            linear, angular = slice(k, k + 3), slice(k + 3, k + 6)
            yield linear, angular, R, R.T @ v[linear], v[angular]

    def transforms(self, q, v):
        """S; d(S x)/dq for a given x; d(S' v)/d(q, v), where S' v = (-w x u; 0); and S' v itself."""
        n = self.m.nv
        S, rate = np.eye(n), np.zeros(n)
        rate_q, rate_v = np.zeros((n, n)), np.zeros((n, n))
        for linear, angular, R, u, w in self.frames(q, v):
            S[linear, linear] = R.T
            rate[linear] = -np.cross(w, u)
            rate_q[linear, angular] = -skew(w) @ skew(u)
            rate_v[linear, linear] = -skew(w) @ R.T
            rate_v[linear, angular] = skew(u)
        return S, rate, rate_q, rate_v

    def turned(self, q, x):
        """d(S x)/dq"""
        D = np.zeros((self.m.nv, self.m.nv))
        for linear, angular, R, _, _ in self.frames(q, x):
            D[linear, angular] = skew(R.T @ x[linear])
        return D

    def turned_back(self, q, x):
        """d(S^T x)/dq: the linear part is R x, and turns by R (dtheta x x)."""
        D = np.zeros((self.m.nv, self.m.nv))
        for linear, angular, R, _, _ in self.frames(q, x):
            D[linear, angular] = -R @ skew(x[linear])
        return D

    def rnea(self, q, v, a):
        """tau, dtau/dq, dtau/dv, M in our coordinates."""
        S, rate, rate_q, rate_v = self.transforms(q, v)
        args = (self.pin, self.data, self.q_pin(q), S @ v, S @ a + rate)
        tau = pin.rnea(*args).copy()
        dq, dv, M = (np.array(D) for D in pin.computeRNEADerivatives(*args))
        M = np.triu(M) + np.triu(M, 1).T
        by_q = dq @ S + dv @ self.turned(q, v) + M @ (self.turned(q, a) + rate_q)
        by_v = dv @ S + M @ rate_v
        return S.T @ tau, S.T @ by_q + self.turned_back(q, tau), S.T @ by_v, S.T @ M @ S

    def aba(self, q, v, tau):
        """a, da/dq, da/dv, da/dtau in our coordinates: a = S^-1 (a_pin - S' v), S^-1 = S^T, tau_pin = S tau."""
        S, rate, rate_q, rate_v = self.transforms(q, v)
        args = (self.pin, self.data, self.q_pin(q), S @ v, S @ tau)
        a = pin.aba(*args).copy()
        dq, dv, Minv = (np.array(D) for D in pin.computeABADerivatives(*args))
        Minv = np.triu(Minv) + np.triu(Minv, 1).T
        by_q = dq @ S + dv @ self.turned(q, v) + Minv @ self.turned(q, tau) - rate_q
        by_v = dv @ S - rate_v
        return S.T @ (a - rate), S.T @ by_q + self.turned_back(q, a - rate), S.T @ by_v, S.T @ Minv @ S


@cache
def twin(name: str) -> Twin:
    return Twin(tg.load_string(ZOO) if name == "zoo" else tg.load(path_of(name)))


@pytest.mark.parametrize("name", FILES)
def test_rnea_and_its_derivatives(name):
    t = twin(name)
    for seed in range(10):
        q, v = t.m.random_state(seed)
        a = np.random.default_rng(seed).standard_normal(t.m.nv)
        tau, dq, dv, M = t.rnea(q, v, a)
        assert error(t.m.rnea(q, v, a), tau) < TOLERANCE
        assert error(t.m.mass_matrix(q), M) < TOLERANCE
        ours = t.m.rnea_derivatives(q, v, a)
        assert error(ours.dq, dq, floor=1.0) < TOLERANCE
        assert error(ours.dv, dv, floor=1.0) < TOLERANCE


@pytest.mark.parametrize("name", FILES)
def test_forward_dynamics_and_its_derivatives(name):
    t = twin(name)
    for seed in range(10):
        q, v = t.m.random_state(seed)
        tau = t.m.mass_matrix(q) @ np.random.default_rng(seed).standard_normal(t.m.nv)
        a, dq, dv, dtau = t.aba(q, v, tau)
        assert error(t.m.forward_dynamics(q, v, tau), a) < TOLERANCE
        ours = t.m.forward_dynamics_derivatives(q, v, tau)
        assert error(ours.dq, dq, floor=1.0) < TOLERANCE
        assert error(ours.dv, dv, floor=1.0) < TOLERANCE
        assert error(ours.dtau, dtau, floor=1.0) < TOLERANCE
