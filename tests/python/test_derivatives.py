"""Derivatives through the Python functions against differences on the manifold, and against each other."""

from functools import cache

import numpy as np
import pytest
import tangere as tg
from support import ZOO, derivative_error, distinct_files, error, path_of

FILES = ["zoo", *distinct_files()]
TOLERANCE = 1e-7
SEEDS = range(20)


@cache
def model(name: str) -> tg.Model:
    return tg.load_string(ZOO) if name == "zoo" else tg.load(path_of(name))


def state(m: tg.Model, seed: int):
    """q, v, a third vector of length nv, and a generator for more."""
    rng = np.random.default_rng(seed)
    return *m.random_state(seed), rng.standard_normal(m.nv), rng


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_rnea(name, seed):
    m = model(name)
    q, v, a, _ = state(m, seed)
    d = m.rnea_derivatives(q, v, a)
    assert derivative_error(d.dq, lambda x: m.rnea(m.integrate(q, x), v, a), m.nv) < TOLERANCE
    assert derivative_error(d.dv, lambda x: m.rnea(q, v + x, a), m.nv) < TOLERANCE
    assert np.abs(d.dq).max() > 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_forward_dynamics(name, seed):
    m = model(name)
    q, v, tau, _ = state(m, seed)
    d = m.forward_dynamics_derivatives(q, v, tau)
    assert derivative_error(d.dq, lambda x: m.forward_dynamics(m.integrate(q, x), v, tau), m.nv) < TOLERANCE
    assert derivative_error(d.dv, lambda x: m.forward_dynamics(q, v + x, tau), m.nv) < TOLERANCE
    assert derivative_error(d.dtau, lambda x: m.forward_dynamics(q, v, tau + x), m.nv) < TOLERANCE


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_passive(name, seed):
    m = model(name)
    q, v, _, _ = state(m, seed)
    d = m.passive_derivatives(q, v)
    assert derivative_error(d.dq, lambda x: m.passive(m.integrate(q, x), v), m.nv) < TOLERANCE
    assert derivative_error(d.dv, lambda x: m.passive(q, v + x), m.nv) < TOLERANCE


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_actuation(name, seed):
    m = model(name)
    q, v, _, rng = state(m, seed)
    act, u = rng.uniform(-0.9, 0.9, m.na), rng.uniform(-0.9, 0.9, m.nu)
    d = m.actuation_derivatives(q, v, act, u)
    assert derivative_error(d.dq, lambda x: m.actuation(m.integrate(q, x), v, act, u).force, m.nv) < TOLERANCE
    assert derivative_error(d.dv, lambda x: m.actuation(q, v + x, act, u).force, m.nv) < TOLERANCE
    assert derivative_error(d.du, lambda x: m.actuation(q, v, act, u + x).force, m.nu) < TOLERANCE
    if not m.na:
        return
    assert derivative_error(d.dact, lambda x: m.actuation(q, v, act + x, u).force, m.na) < TOLERANCE
    rate_dact, rate_du = np.diag(d.rate_dact), np.zeros((m.na, m.nu))
    driven = np.flatnonzero(m.actuator_act >= 0)
    rate_du[m.actuator_act[driven], driven] = d.rate_du
    assert derivative_error(rate_dact, lambda x: m.actuation(q, v, act + x, u).act_rate, m.na) < TOLERANCE
    assert derivative_error(rate_du, lambda x: m.actuation(q, v, act, u + x).act_rate, m.nu) < TOLERANCE


# ---- parameters ----


def inner(m: tg.Model) -> tg.Model:
    """The same model with parameters moved away from the edges of their domains, so that both sides can be tried."""
    m = m.copy()
    for field in ("stiffness", "damping", "armature", "frictionloss", "margin"):
        m.params[f"joint.*.{field}"] += 0.1
    for tendon in range(m.ntendon):
        for field in ("stiffness", "damping", "frictionloss", "margin"):
            m.params[f"tendon.#{tendon}.{field}"] += 0.1
        m.params[f"tendon.#{tendon}.rest[1]"] += 0.05
        m.params[f"tendon.#{tendon}.rest[0]"] += 0.02  # a cable has no negative length
    return m


def chosen_slices(m: tg.Model, seed: int) -> list[tg.ParamSlice]:
    """One slice of every field that has an effect on the dynamics, another for every seed."""
    kinds: dict[tuple[str, str], list[tg.ParamSlice]] = {}
    for s in m.param_slices():
        parts = s.name.split(".")
        if parts[0] in ("body", "joint", "site", "tendon", "actuator", "gravity") and "world" not in parts:
            kinds.setdefault((parts[0], parts[-1]), []).append(s)
    return [slices[seed % len(slices)] for slices in kinds.values()]


def scale_of(m: tg.Model, s: tg.ParamSlice) -> float:
    """A hundredth of it leaves no parameter outside of its domain."""
    field = s.name.split(".")[-1]
    if field == "mass":
        return m.params[s.name]
    if field == "inertia":
        xx, yy, zz, xy, xz, yz = m.params[s.name]
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return 10 * (moments.sum() - 2 * moments[-1])
    return {"quat": 0.02, "tau": 0.01}.get(field, 0.5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_parameters(name, seed):
    """rnea, passive, actuation and forward dynamics at once, so that the parameters are set once for all."""
    m = inner(model(name))
    q, v, a, rng = state(m, seed)
    act, u = rng.uniform(-0.9, 0.9, m.na), rng.uniform(-0.9, 0.9, m.nu)
    start, moved = np.array(m.params), m.copy()
    for s in chosen_slices(m, seed):
        index = np.arange(s.offset, s.offset + s.size)
        blocks = [
            m.rnea_param_derivatives(q, v, a, index),
            m.passive_param_derivatives(q, v, index),
            m.actuation_param_derivatives(q, v, act, u, index),
            m.forward_dynamics_param_derivatives(q, v, a, index),
        ]
        weight = np.concatenate([np.full(m.nv, 1 / max(1, np.abs(block).max())) for block in blocks])

        def at(x, index=index, weight=weight):
            vector = start.copy()
            vector[index] += x
            moved.params = vector
            forces = moved.rnea(q, v, a), moved.passive(q, v), moved.actuation(q, v, act, u).force
            return weight * np.concatenate([*forces, moved.forward_dynamics(q, v, a)])

        block = weight[:, None] * np.concatenate(blocks)
        assert derivative_error(block, at, s.size, scale_of(m, s)) < TOLERANCE, s.name


@pytest.mark.parametrize("name", FILES)
def test_parameters_without_effect(name):
    m = model(name)
    q, v, a, _ = state(m, 0)
    D = m.forward_dynamics_param_derivatives(q, v, a)
    for s in m.param_slices():
        if s.name.split(".")[0] in ("geom", "pair", "equality", "hfield", "actuator"):
            assert np.all(D[:, s.offset : s.offset + s.size] == 0), s.name


# ---- the functions among each other ----


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_reverse_mode_agrees(name, seed):
    m = model(name)
    q, v, a, rng = state(m, seed)
    y = rng.standard_normal(m.nv)
    g, d = m.rnea_vjp(q, v, a, y), m.rnea_derivatives(q, v, a)
    assert error(g.q, y @ d.dq, floor=1.0) < 1e-12
    assert error(g.v, y @ d.dv, floor=1.0) < 1e-12
    assert error(g.a, y @ m.mass_matrix(q), floor=1.0) < 1e-12
    assert error(g.params, y @ m.rnea_param_derivatives(q, v, a), floor=1.0) < 1e-12
    # two orders of solving with the mass matrix differ by rounding times its condition
    bound = max(1e-12, np.finfo(float).eps * np.linalg.cond(m.mass_matrix(q)))
    g, d = m.forward_dynamics_vjp(q, v, a, y), m.forward_dynamics_derivatives(q, v, a)
    assert error(g.q, y @ d.dq, floor=1.0) < bound
    assert error(g.v, y @ d.dv, floor=1.0) < bound
    assert error(g.tau, y @ d.dtau, floor=1.0) < bound


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_regressor(name, seed):
    m = model(name)
    q, v, a, _ = state(m, seed)
    pi = []
    for b in range(m.nbody):
        mass, c = m.params[f"body.#{b}.mass"], np.array(m.params[f"body.#{b}.com"])
        xx, yy, zz, xy, xz, yz = m.params[f"body.#{b}.inertia"]
        at_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        tensor = at_com + mass * (c @ c * np.eye(3) - np.outer(c, c))
        pi += [mass, *(mass * c), *tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]]
    armature = np.zeros(m.nv)
    for j in range(m.njoint):
        end = m.joint_dof[j + 1] if j + 1 < m.njoint else m.nv
        armature[m.joint_dof[j] : end] = m.params[f"joint.#{j}.armature"]
    assert error(m.rnea_regressor(q, v, a) @ pi + armature * a, m.rnea(q, v, a)) < 1e-11


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FILES)
def test_pose_and_centre_of_mass(name, seed):
    m = model(name)
    q, v, _, rng = state(m, seed)
    body = int(np.flatnonzero(m.body_tree >= 0)[-1])
    J = m.body_jacobian(body, q)
    assert derivative_error(J[:3], lambda x: m.body_pose(body, m.integrate(q, x)).position, m.nv) < TOLERANCE
    assert derivative_error(m.com_jacobian(q), lambda x: m.com(m.integrate(q, x)), m.nv) < TOLERANCE
    point = rng.standard_normal(3)
    for frame in ("aligned", "local", "world"):
        at = None if frame == "world" else point
        J = m.body_jacobian(body, q, at, frame)
        assert error(m.body_velocity(body, q, v, at, frame), J @ v) < 1e-11

        def along(t, at=at, frame=frame):
            return m.body_jacobian(body, m.integrate(q, t[0] * v), at, frame) @ v

        dot = m.body_jacobian_dot_v(body, q, v, at, frame)
        assert derivative_error(dot[:, None], along, 1) < TOLERANCE
