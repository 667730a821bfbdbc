"""The package: shapes, types, names, errors, memory, threads."""

import ast
import copy
import gc
import inspect
import pickle
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tangere as tg
from support import ZOO
from tangere import _core


@pytest.fixture
def state(zoo):
    return zoo.random_state(3)


PENDULUM = """
<mujoco model="one"><worldbody><body name="rod"><joint name="pin" axis="0 1 0"/>
<inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.01"/></body></worldbody></mujoco>
"""


def calls(m):
    """Every method that computes, with arguments: (method, arguments, shapes of the results)."""
    q, v = m.random_state(0)
    nv, nu, na, np_ = m.nv, m.nu, m.na, m.nparams
    a, y, u, act = np.ones(nv), np.ones(nv), np.zeros(nu), np.zeros(na)
    body, site, geom = "arm", "tip", "bone"
    index = np.arange(4, dtype=np.intc)
    square = (nv, nv)
    return [
        ("default_q", (), [(m.nq,)]),
        ("random_state", (7,), [(m.nq,), (nv,)]),
        ("key", ("up",), [(), (m.nq,), (nv,), (na,), (nu,)]),
        ("integrate", (q, v), [(m.nq,)]),
        ("difference", (q, q), [(nv,)]),
        ("body_pose", (body, q), [(3,), (4,)]),
        ("site_pose", (site, q), [(3,), (4,)]),
        ("geom_pose", (geom, q), [(3,), (4,)]),
        ("body_poses", (q,), [(m.nbody, 3), (m.nbody, 4)]),
        ("site_poses", (q,), [(m.nsite, 3), (m.nsite, 4)]),
        ("geom_poses", (q,), [(m.ngeom, 3), (m.ngeom, 4)]),
        ("body_jacobian", (body, q, [0, 0, 1], "local"), [(6, nv)]),
        ("site_jacobian", (site, q, "local"), [(6, nv)]),
        ("body_velocity", (body, q, v, [0, 0, 1], "local"), [(6,)]),
        ("body_jacobian_dot_v", (body, q, v, [0, 0, 1], "local"), [(6,)]),
        ("body_velocity_derivative", (body, q, v, [0, 0, 1], "local"), [(6, nv)]),
        ("site_velocity", (site, q, v, "local"), [(6,)]),
        ("site_velocity_derivative", (site, q, v, "local"), [(6, nv)]),
        ("com", (q,), [(3,)]),
        ("com_jacobian", (q,), [(3, nv)]),
        ("momentum", (q, v), [(6,)]),
        ("energy", (q, v), [(), ()]),
        ("mass_matrix", (q,), [square]),
        ("bias", (q, v), [(nv,)]),
        ("rnea", (q, v, a), [(nv,)]),
        ("passive", (q, v), [(nv,)]),
        ("actuation", (q, v, act, u), [(nv,), (na,)]),
        ("forward_dynamics", (q, v, a), [(nv,)]),
        ("rnea_derivatives", (q, v, a), [square] * 2),
        ("rnea_regressor", (q, v, a), [(nv, 10 * m.nbody)]),
        ("passive_derivatives", (q, v), [square] * 2),
        ("actuation_derivatives", (q, v, act, u), [square, square, (nv, na), (nv, nu), (na,), (na,)]),
        ("forward_dynamics_derivatives", (q, v, a), [square] * 3),
        ("rnea_vjp", (q, v, a, y), [(nv,), (nv,), (nv,), (np_,)]),
        ("passive_vjp", (q, v, y), [(nv,), (nv,), (np_,)]),
        ("actuation_vjp", (q, v, act, u, y, act), [(nv,), (nv,), (na,), (nu,), (np_,)]),
        ("forward_dynamics_vjp", (q, v, a, y), [(nv,), (nv,), (nv,), (np_,)]),
        ("_rnea_param_derivatives", (q, v, a, index), [(nv, 4)]),
        ("_passive_param_derivatives", (q, v, index), [(nv, 4)]),
        ("_actuation_param_derivatives", (q, v, act, u, index), [(nv, 4)]),
        ("_forward_dynamics_param_derivatives", (q, v, a, index), [(nv, 4)]),
        ("rnea_param_derivatives", (q, v, a, ["body.arm.mass", "gravity"]), [(nv, 4)]),
        ("passive_param_derivatives", (q, v, "joint.*.stiffness"), [(nv, m.njoint)]),
        ("actuation_param_derivatives", (q, v, act, u, "actuator.winch.gain"), [(nv, 3)]),
        ("forward_dynamics_param_derivatives", (q, v, a, [0, 1, "gravity"]), [(nv, 5)]),
    ]


def parts(result, shapes):
    return list(result) if len(shapes) > 1 else [result]


# ---- the package ----


def test_version():
    assert tg.__version__.count(".") == 2
    assert tg.__version__ == _core.version


def test_everything_public_is_there_and_documented():
    assert tg.__doc__
    for name in tg.__all__:
        assert hasattr(tg, name), name
    for name, member in inspect.getmembers(tg.Model):
        if not name.startswith("_") and callable(member):
            assert inspect.getdoc(member), name


def test_stub_agrees_with_the_extension():
    """_core.pyi names every method with its arguments, and nothing else."""
    tree = ast.parse((Path(tg.__file__).parent / "_core.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    methods = {node.name: node for node in classes["Model"].body if isinstance(node, ast.FunctionDef)}
    actual = {name for name in vars(_core.Model) if not name.startswith("__")}
    sizes = {node.target.id for node in classes["Model"].body if isinstance(node, ast.AnnAssign)}
    structure = set(tg.load_string(ZOO)._structure())
    assert set(methods) | sizes == actual | structure
    for name, node in methods.items():
        member = getattr(_core.Model, name)
        if not callable(member):
            continue
        signature = inspect.signature(member)
        given = node.args
        stub = [a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs] if a.arg not in ("self", "cls")]
        assert stub == [p for p in signature.parameters if p != "self"], name
        defaults = [p.default for p in signature.parameters.values() if p.default is not inspect.Parameter.empty]
        stubbed = [ast.literal_eval(d) for d in [*given.defaults, *given.kw_defaults] if d is not None]
        assert stubbed == defaults, name
    plain = {name for name, node in classes.items() if any(isinstance(n, ast.FunctionDef) for n in node.body)} - {
        "Model"
    }
    assert {"Scene", "Stepper", "Batch", "BatchTape", "Function", "Cartesian", "Qcqp"} <= plain
    for kind in (getattr(_core, name) for name in plain):
        stubbed = {node.name for node in classes[kind.__name__].body} - {"__init__"}
        assert stubbed == {name for name in vars(kind) if not name.startswith("__")}
    tuples = set(classes) - {"Model", *plain}
    types = {name for name, value in vars(_core).items() if isinstance(value, type)}
    assert tuples == types - {"Model", *plain}
    for name in tuples:
        fields = [node.target.id for node in classes[name].body]
        assert list(getattr(_core, name).__match_args__) == fields
    constants = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    kinds = int | str | tuple | np.dtype
    assert constants == {name for name, value in vars(_core).items() if isinstance(value, kinds) and name[0] != "_"}


# ---- loading ----


def test_load_and_load_string_agree(tmp_path):
    (tmp_path / "zoo.xml").write_text(ZOO)
    a, b = tg.load(tmp_path / "zoo.xml"), tg.load_string(ZOO)
    assert tg.load(str(tmp_path / "zoo.xml")).nv == a.nv
    np.testing.assert_array_equal(np.asarray(a.params), np.asarray(b.params))
    assert a.name == b.name == "zoo"


def test_missing_file_is_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.xml"):
        tg.load(tmp_path / "nowhere.xml")
    with pytest.raises(OSError, match=str(tmp_path)):
        tg.load(tmp_path)


@pytest.mark.parametrize("text", ["", "<mujoco", "<mujoco><worldbody></mujoco>", "not xml", "<robotics/>"])
def test_text_that_is_no_model(text):
    with pytest.raises(tg.Error):
        tg.load_string(text)


def test_refused_model_says_what_and_where():
    with pytest.raises(tg.Error, match=r":3: inertial: mass must not be negative, got -2") as info:
        tg.load_string(PENDULUM.replace('mass="2"', 'mass="-2"'))
    assert isinstance(info.value, ValueError)
    assert info.value.status


def test_load_takes_paths_only():
    with pytest.raises(TypeError):
        tg.load(3)
    with pytest.raises(TypeError):
        tg.load_string(None)
    with pytest.raises(TypeError, match=r"tangere\.load"):
        tg.Model()


def test_a_pickled_model_is_the_same(zoo):
    zoo.params["gravity"] = [0.1, 0.2, -9.7]
    copy = pickle.loads(pickle.dumps(zoo))
    assert np.array_equal(copy.params, zoo.params)
    assert np.array_equal(copy.default_params, zoo.default_params)
    assert copy.to_mjcf() == zoo.to_mjcf()
    assert copy.report == zoo.report
    assert copy.name == zoo.name
    for name, array in zoo._structure().items():
        assert np.array_equal(array, getattr(copy, name)), name
    q, v = zoo.random_state(seed=3)
    assert np.array_equal(zoo.forward_dynamics(q, v, tau=[0] * zoo.nv), copy.forward_dynamics(q, v, tau=[0] * zoo.nv))


# ---- sizes, names, structure ----


def test_sizes_and_repr(zoo):
    assert (zoo.nq, zoo.nv, zoo.nu, zoo.na) == (7 + 4 + 3 + 2 + 1, 6 + 3 + 3 + 2 + 1, 10, 3)
    assert (zoo.nbody, zoo.njoint, zoo.nsite, zoo.ntendon, zoo.nkey, zoo.ntree) == (8, 8, 5, 2, 1, 2)
    assert zoo.timestep == 0.003
    assert zoo.mass == pytest.approx(3 + 0.7 + 0.4 + 0.05 + 0.9 + 0.5 + 0.6)
    assert "zoo" in repr(zoo)
    assert "nv 15" in repr(zoo)
    with pytest.raises(AttributeError):
        zoo.nq = 3
    with pytest.raises(AttributeError, match="nonsense"):
        _ = zoo.nonsense


def test_names_and_indices(zoo):
    assert zoo.names("joint") == ["root", "shoulder", "yaw", "slider", "roll", "hip", "knee", "swing"]
    assert zoo.names("body")[0] == "world"
    assert zoo.names("geom") == ["floor", "bone"]
    assert zoo.index("body", "wrist") == 3
    assert zoo.index("joint", "#4") == 4
    assert zoo.index("joint", np.int64(4)) == 4


def test_structure_arrays(zoo):
    assert zoo.joint_type[:3].tolist() == [tg.JointType.FREE, tg.JointType.BALL, tg.JointType.HINGE]
    assert zoo.joint_limited.tolist() == [0, 0, 0, 0, 0, 1, 1, 0]
    assert zoo.geom_type.tolist() == [tg.GeomType.PLANE, tg.GeomType.CAPSULE]
    assert zoo.actuator_transmission[5] == tg.Transmission.SITE
    assert zoo.actuator_dynamics[-3:].tolist() == [
        tg.DynamicsType.INTEGRATOR,
        tg.DynamicsType.FILTER,
        tg.DynamicsType.FILTEREXACT,
    ]
    assert zoo.actuator_act.tolist() == [-1] * 7 + [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        zoo.body_parent[0] = 3


def test_unknown_names_suggest(zoo):
    q = zoo.default_q()
    with pytest.raises(KeyError, match=r"no body 'wrst'; did you mean 'wrist'"):
        zoo.body_pose("wrst", q)
    with pytest.raises(tg.UnknownNameError, match="zzzzzz"):
        zoo.site_pose("zzzzzz", q)
    with pytest.raises(KeyError, match="'joint'"):
        zoo.names("joints")
    with pytest.raises(IndexError, match="body 8: the model has 8"):
        zoo.body_pose(8, q)
    with pytest.raises(IndexError):
        zoo.body_pose(-1, q)
    with pytest.raises(TypeError, match="expected the name or the index of a body, got float"):
        zoo.body_pose(1.0, q)


def test_report(zoo):
    m = tg.load_string(PENDULUM.replace("<worldbody>", '<option density="3"/><worldbody>'))
    assert [(e.kind, e.attribute) for e in m.report if e.attribute == "density"] == [
        (tg.ReportKind.IGNORED_PHYSICS, "density")
    ]
    with pytest.raises(tg.Error, match="density"):
        tg.load_string(PENDULUM.replace("<worldbody>", '<option density="3"/><worldbody>'), strict=True)


# ---- calls ----


def test_every_method_shapes_and_determinism(zoo):
    for name, args, shapes in calls(zoo):
        method = getattr(zoo, name)
        first, second = parts(method(*args), shapes), parts(method(*args), shapes)
        assert [np.shape(x) for x in first] == shapes, name
        for x, y in zip(first, second, strict=True):
            assert np.asarray(x).dtype == np.float64
            assert np.all(np.isfinite(x)), name
            np.testing.assert_array_equal(x, y)


def test_calls_cover_every_method(zoo):
    listed = {name for name, _, _ in calls(zoo)}
    rest = {"names", "index", "copy", "param_names", "param_slices", "save", "to_mjcf", "exclude_overlaps"}
    rest |= {"collide", "collide_derivatives"}  # as many results as contacts: test_collide.py
    rest |= {"linearise", "static_control"}  # of a step: test_rollout.py
    rest |= {"gap", "masked"}  # test_gap.py, test_param_labels.py
    methods = {n for n, f in inspect.getmembers(tg.Model, callable) if not n.startswith("_")}
    assert methods - rest == {name for name in listed if not name.startswith("_")}


def test_every_method_takes_keywords(zoo):
    for name, args, shapes in calls(zoo):
        method = getattr(zoo, name)
        named = dict(zip(inspect.signature(method).parameters, args, strict=False))
        for x, y in zip(parts(method(**named), shapes), parts(method(*args), shapes), strict=True):
            np.testing.assert_array_equal(x, y)


def test_every_method_writes_into_out(zoo):
    for name, args, shapes in calls(zoo):
        method = getattr(zoo, name)
        fresh = parts(method(*args), shapes)
        out = tuple(np.full(shape, np.nan) for shape in shapes)
        result = method(*args, out=out if len(out) > 1 else out[0])
        for given, got, expected_value in zip(out, parts(result, shapes), fresh, strict=True):
            np.testing.assert_array_equal(given, expected_value, err_msg=name)
            assert got is given or np.ndim(got) == 0


def test_named_results(zoo, state):
    d = zoo.forward_dynamics_derivatives(*state)
    assert isinstance(d, tg.ForwardDynamicsDerivatives)
    assert d.dtau is d[2]
    assert "dtau" in repr(d)
    pose = pickle.loads(pickle.dumps(zoo.body_pose("arm", state.q)))
    assert isinstance(pose, tg.Pose)


def test_arguments_that_may_be_left_out(zoo, state):
    zero = np.zeros(zoo.nv)
    np.testing.assert_array_equal(zoo.rnea(*state), zoo.rnea(*state, zero))
    np.testing.assert_array_equal(zoo.bias(*state), zoo.rnea(*state, None))
    np.testing.assert_array_equal(zoo.forward_dynamics(*state), zoo.forward_dynamics(*state, zero))
    np.testing.assert_array_equal(zoo.rnea_vjp(*state, None, zero + 1).q, zoo.rnea_vjp(*state, zero, zero + 1).q)
    with pytest.raises(tg.Error, match="act"):
        zoo.actuation(*state, None, np.zeros(zoo.nu))


def test_wrong_calls(zoo, state):
    q, v = state
    with pytest.raises(TypeError, match=r"mass_matrix\(\) is missing the argument 'q'"):
        zoo.mass_matrix()
    with pytest.raises(TypeError, match="at most 1 arguments, got 2"):
        zoo.mass_matrix(q, v)
    with pytest.raises(TypeError, match="unexpected argument 'w'"):
        zoo.mass_matrix(w=q)
    with pytest.raises(TypeError, match="twice the argument 'q'"):
        zoo.mass_matrix(q, q=q)
    with pytest.raises(TypeError, match="is missing the argument 'a'"):
        zoo.rnea_vjp(q, v, y=v)
    with pytest.raises(ValueError, match="'local', 'world' or 'aligned', got 'body'"):
        zoo.body_jacobian("arm", q, frame="body")


def test_wrong_shapes(zoo, state):
    q, v = state
    with pytest.raises(ValueError, match=r"q: expected shape \(17,\), got \(16,\)"):
        zoo.mass_matrix(q[:-1])
    with pytest.raises(ValueError, match=r"v: expected shape \(15,\), got \(17,\)"):
        zoo.bias(q, q)
    with pytest.raises(ValueError, match=r"tau: expected shape \(15,\), got \(1, 15\)"):
        zoo.forward_dynamics(q, v, v[None])
    with pytest.raises(ValueError, match=r"q: expected shape \(17,\), got \(\)"):
        zoo.mass_matrix(3)
    with pytest.raises(ValueError, match=r"point: expected shape \(3,\), got \(2,\)"):
        zoo.body_jacobian("arm", q, [0, 1])


@pytest.mark.parametrize("convert", [lambda q: q.astype(complex), lambda q: q.astype(str), lambda q: q.astype(object)])
def test_wrong_dtypes(zoo, convert):
    with pytest.raises(TypeError, match="q: expected real numbers, got dtype"):
        zoo.mass_matrix(convert(zoo.default_q()))
    with pytest.raises(TypeError, match="q: expected real numbers"):
        zoo.mass_matrix(None)


def test_other_real_types_are_converted(zoo, state):
    q, v = state
    expected_value = zoo.bias(q.astype(np.float32), v)
    np.testing.assert_array_equal(zoo.bias(q.astype(np.float32).astype(float), v), expected_value)
    np.testing.assert_array_equal(zoo.bias(list(q), tuple(v)), zoo.bias(q, v))
    np.testing.assert_array_equal(zoo.bias(q.astype(">f8"), v), zoo.bias(q, v))
    np.testing.assert_array_equal(zoo.bias(np.repeat(q, 2)[::2], v[::-1].copy()[::-1]), zoo.bias(q, v))
    ints = np.zeros(zoo.nv, int)
    np.testing.assert_array_equal(zoo.bias(q, ints), zoo.bias(q, ints.astype(float)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(zoo, state, bad):
    for field in ("q", "v", "tau"):
        args = {"q": state.q.copy(), "v": state.v.copy(), "tau": np.zeros(zoo.nv)}
        args[field][-1] = bad
        with pytest.raises(tg.Error, match=rf"\b{field}\b"):
            zoo.forward_dynamics(**args)
    with pytest.raises(tg.Error):
        zoo.integrate(state.q, np.full(zoo.nv, bad))


def test_quaternion_that_is_none(zoo, state):
    q = state.q.copy()
    q[3:7] = 0
    with pytest.raises(tg.Error):
        zoo.mass_matrix(q)


def test_failure_leaves_out_untouched(zoo, state):
    out = np.full((zoo.nv, zoo.nv), 7.0)
    q = state.q.copy()
    q[0] = np.nan
    with pytest.raises(tg.Error):
        zoo.mass_matrix(q, out=out)
    assert np.all(out == 7)


def test_bad_out(zoo, state):
    q, v = state
    n = zoo.nv
    cases = [
        (np.zeros((n, n - 1)), ValueError, r"out M: expected shape \(15, 15\), got \(15, 14\)"),
        (np.zeros((n, n), np.float32), ValueError, "float64, got dtype float32"),
        (np.zeros((n, n), order="F"), ValueError, "not C-contiguous"),
        (np.broadcast_to(np.zeros((n, n)), (n, n)), ValueError, "read-only"),
        ([[0.0]], TypeError, "expected a NumPy array, got list"),
    ]
    for out, kind, message in cases:
        with pytest.raises(kind, match=message):
            zoo.mass_matrix(q, out=out)
    with pytest.raises(TypeError, match="out is a tuple of 2 arrays"):
        zoo.rnea_derivatives(q, v, out=np.zeros((n, n)))
    same = np.zeros((n, n))
    with pytest.raises(ValueError, match="share memory"):
        zoo.rnea_derivatives(q, v, out=(same, same))


def test_out_may_be_an_argument(zoo, state):
    q, v = state
    expected_q, expected_v = zoo.integrate(q, v), zoo.rnea(q, v, v)
    q, v = q.copy(), v.copy()
    zoo.rnea(q, v, v, out=v)
    np.testing.assert_array_equal(v, expected_v)
    v = state.v
    assert zoo.integrate(q, v, out=q) is q
    np.testing.assert_array_equal(q, expected_q)


def test_part_of_out_may_be_left_to_the_call(zoo, state):
    dq = np.zeros((zoo.nv, zoo.nv))
    d = zoo.rnea_derivatives(*state, out=(dq, None))
    assert d.dq is dq
    np.testing.assert_array_equal(d.dv, zoo.rnea_derivatives(*state).dv)


def test_integrate_and_difference(zoo):
    q0, _ = zoo.random_state(1)
    q1, _ = zoo.random_state(2)
    dv = zoo.difference(q0, q1)
    assert np.abs(zoo.difference(zoo.integrate(q0, dv), q1)).max() < 1e-12


def test_random_state(zoo):
    np.testing.assert_array_equal(zoo.random_state(5).q, zoo.random_state(seed=5).q)
    assert np.any(zoo.random_state(5).v != zoo.random_state(6).v)
    assert zoo.random_state(2**64 - 1).q.shape == (17,)
    with pytest.raises(OverflowError):
        zoo.random_state(-1)
    with pytest.raises(TypeError):
        zoo.random_state(1.5)


def test_pose_of_a_known_configuration():
    m = tg.load_string(PENDULUM)
    assert m.energy([0.0], [0.0]).potential == pytest.approx(-9.81)
    assert m.energy([0.0], [3.0]).kinetic == pytest.approx(0.5 * (0.1 + 2 * 0.25) * 9)
    np.testing.assert_allclose(m.mass_matrix([0.3]), [[0.6]])
    np.testing.assert_allclose(m.com([np.pi / 2]), [-0.5, 0, 0], atol=1e-15)
    np.testing.assert_allclose(m.body_jacobian("rod", [0.0], [0, 0, -1])[:, 0], [-1, 0, 0, 0, 1, 0])


# ---- parameters ----


def test_params_by_name(zoo):
    p = zoo.params
    assert p["body.arm.mass"] == 0.7
    assert isinstance(p["body.arm.mass"], float)
    np.testing.assert_array_equal(p["gravity"], [0.3, -0.2, -9.7])
    assert p["gravity[2]"] == -9.7
    assert p["joint.#5.damping"] == p["joint.hip.damping"] == 0.5
    assert p["body.*.mass"].shape == (zoo.nbody - 1,)  # not the world's
    assert p["body.?rm.mass"].tolist() == [0.7]
    assert "body.arm.mass" in p
    assert "body.*.mass" in p
    assert "body.arm.weight" not in p
    assert 3 not in p


def test_params_like_an_array(zoo):
    p = zoo.params
    vector = np.asarray(p)
    assert (len(p), p.shape, p.size, p.ndim, p.dtype) == (zoo.nparams, (zoo.nparams,), zoo.nparams, 1, np.float64)
    assert p[0] == vector[0]
    assert p[-1] == vector[-1]
    np.testing.assert_array_equal(p[3:7], vector[3:7])
    np.testing.assert_array_equal(p[[1, 5]], vector[[1, 5]])
    np.testing.assert_array_equal(p * 2 + 1, 2 * vector + 1)
    np.testing.assert_array_equal(np.array(p, dtype=np.float32), vector.astype(np.float32))
    assert np.array(p).flags.writeable
    assert np.sum(p) == vector.sum()
    assert np.asarray(p).base is not None
    assert np.shares_memory(np.asarray(p), np.asarray(zoo.params))
    assert list(p)[:3] == vector[:3].tolist()
    with pytest.raises(IndexError):
        _ = p[zoo.nparams]


def test_setting_params_changes_the_dynamics(zoo, state):
    q = state.q
    before = zoo.mass_matrix(q)
    zoo.params["body.wrist.mass"] = 1.4
    assert zoo.params["body.wrist.mass"] == 1.4
    heavier = zoo.mass_matrix(q)
    assert np.trace(heavier) > np.trace(before)
    zoo.params["body.wrist.mass"] *= 0.4 / 1.4
    np.testing.assert_allclose(zoo.mass_matrix(q), before, rtol=1e-12)
    zoo.params["body.*.mass"] *= 2
    zoo.params["body.*.inertia"] *= 2
    zoo.params["joint.*.armature"] *= 2
    np.testing.assert_allclose(zoo.mass_matrix(q), 2 * before, rtol=1e-12)
    zoo.params["gravity"] = 0
    assert np.all(zoo.params["gravity"] == 0)
    zoo.params["gravity"] = [0, 0, -1.62]
    zoo.params["joint.*.damping"] = 0.25
    assert np.all(zoo.params["joint.*.damping"] == 0.25)
    zoo.params = zoo.default_params
    np.testing.assert_array_equal(zoo.mass_matrix(q), before)
    zoo.params *= 1
    zoo.params[:] = np.array(zoo.params)
    np.testing.assert_array_equal(zoo.mass_matrix(q), before)


def test_refused_params_change_nothing(zoo, state):
    before = np.array(zoo.params)
    M = zoo.mass_matrix(state.q)
    for key, value, named in [
        ("body.arm.mass", -1, r"arm.*mass"),
        ("body.arm.inertia", [1, 0.1, 0.1, 0, 0, 0], r"arm.*inertia"),
        ("joint.hip.damping", np.nan, r"hip.*damping"),
        ("body.arm.quat", 0, r"arm.*quat"),
    ]:
        with pytest.raises(tg.Error, match=named):
            zoo.params[key] = value
        np.testing.assert_array_equal(np.asarray(zoo.params), before)
        np.testing.assert_array_equal(zoo.mass_matrix(state.q), M)


def test_wrong_use_of_params(zoo):
    with pytest.raises(KeyError, match=r"no parameter 'body\.arm\.mas'; did you mean 'body\.arm\.mass'"):
        _ = zoo.params["body.arm.mas"]
    with pytest.raises(KeyError):
        zoo.params["body.*.weight"] = 1
    with pytest.raises(ValueError, match="read-only; assign to the model"):
        zoo.params["gravity"][2] = 0
    with pytest.raises(ValueError, match=r"params\['gravity'\]: expected shape \(3,\), got \(2,\)"):
        zoo.params["gravity"] = [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(zoo.params)[0] = 1
    with pytest.raises(ValueError, match=r"params: expected shape"):
        zoo.params = [1, 2, 3]
    with pytest.raises(IndexError, match="expected positions from 0"):
        zoo.rnea_param_derivatives(*zoo.random_state(0), params=[-1])
    with pytest.raises(TypeError, match="names and integers"):
        zoo.rnea_param_derivatives(*zoo.random_state(0), params=[0.5])


def test_param_names_and_slices(zoo):
    names = zoo.param_names()
    assert len(names) == len(set(names)) == zoo.nparams
    for i in (0, zoo.nparams // 2, zoo.nparams - 1):
        assert zoo.params[names[i]] == zoo.params[i]
    assert zoo.param_names("gravity") == ["gravity[0]", "gravity[1]", "gravity[2]"]
    assert zoo.param_names("body.a*.mass") == ["body.arm.mass"]
    slices = zoo.param_slices()
    assert sum(s.size for s in slices) == zoo.nparams
    assert [s.offset for s in slices] == np.cumsum([0] + [s.size for s in slices[:-1]]).tolist()
    for s in slices:
        np.testing.assert_array_equal(zoo.params[s.name], zoo.params[s.offset : s.offset + s.size].squeeze())


def test_copy_has_its_own_params(zoo, state):
    zoo.params["body.arm.mass"] = 0.9
    for other in (zoo.copy(), copy.copy(zoo), copy.deepcopy(zoo)):
        assert type(other) is tg.Model
        assert other.params["body.arm.mass"] == 0.9
        other.params["body.arm.mass"] = 2
        assert zoo.params["body.arm.mass"] == 0.9
        assert other.default_params[other.params.index("body.arm.mass")] == 0.7


def test_view_of_params_outlives_the_model():
    m = tg.load_string(ZOO)
    expected_value = np.array(m.params)
    view, default = np.asarray(m.params), m.default_params
    m.params["gravity"] = 0
    del m
    gc.collect()
    np.testing.assert_array_equal(view, expected_value)
    np.testing.assert_array_equal(default, expected_value)


# ---- memory ----


def test_contiguous_inputs_are_not_copied(zoo):
    q = zoo.default_q()
    out = np.empty((zoo.nv, zoo.nv))
    zoo.mass_matrix(q, out=out)
    gc.collect()
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    zoo.mass_matrix(q, out=out)
    peak = tracemalloc.get_traced_memory()[1] - start
    tracemalloc.stop()
    assert peak < 8 * zoo.nq


def test_nothing_leaks(zoo):
    """References and memory are the same after a thousand calls of everything, right and wrong."""

    def everything():
        for name, args, shapes in calls(zoo):
            method = getattr(zoo, name)
            out = tuple(np.empty(shape) for shape in shapes)
            method(*args, out=out if len(out) > 1 else out[0])
            for wrong in ({"out": 3}, {"nonsense": 1}, {"out": tuple(np.empty(5) for _ in shapes)}):
                with pytest.raises((TypeError, ValueError)):
                    method(*args, **wrong)
        with pytest.raises(tg.Error):
            zoo.mass_matrix(np.full(zoo.nq, np.nan))
        with pytest.raises(tg.Error):
            zoo.params["body.arm.mass"] = -1
        with pytest.raises(KeyError):
            zoo.body_pose("nobody", np.zeros(zoo.nq))
        zoo.params["body.arm.mass"] = 0.8
        zoo.copy().params["gravity"] = 0
        _ = zoo.names("body"), zoo.param_names(), zoo.param_slices(), zoo.report, zoo._structure()

    q = zoo.default_q()
    everything()
    gc.collect()
    counts = sys.getrefcount(zoo), sys.getrefcount(q), sys.getrefcount(None)
    tracemalloc.start()
    everything()
    gc.collect()
    start = tracemalloc.get_traced_memory()[0]
    for _ in range(10):
        everything()
        zoo.mass_matrix(q)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 20_000
    assert (sys.getrefcount(zoo), sys.getrefcount(q)) == counts[:2]
    assert abs(sys.getrefcount(None) - counts[2]) < 100


def test_models_are_freed():
    """Loading in a loop does not grow the process."""

    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096

    def work():
        for _ in range(50):
            m = tg.load_string(ZOO)
            m.params["gravity"] = 0
            m.mass_matrix(m.default_q())

    work()
    start = resident()
    for _ in range(10):
        work()
    assert resident() - start < 8 << 20


# ---- threads ----


def test_one_model_in_many_threads(zoo):
    """The same results as one after the other, for calls that hold the GIL and for calls that do not."""
    seeds = range(64)

    def work(seed):
        q, v = zoo.random_state(seed)
        d = zoo.forward_dynamics_derivatives(q, v)
        return zoo.mass_matrix(q), d.dq, d.dv, zoo.rnea_param_derivatives(q, v, params="body.*")

    expected_values = [work(seed) for seed in seeds]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            for got, wanted in zip(pool.map(work, seeds), expected_values, strict=True):
                for a, b in zip(got, wanted, strict=True):
                    np.testing.assert_array_equal(a, b)


def test_params_change_while_others_compute(zoo):
    """A call sees the parameters before or after an assignment, never something between."""
    q, v = zoo.random_state(1)
    masses = (0.7, 1.9)
    wanted = []
    for mass in masses:
        zoo.params["body.arm.mass"] = mass
        wanted.append(zoo.forward_dynamics_derivatives(q, v).dq)
    stop = threading.Event()
    seen, wrong = set(), []

    def compute():
        while not stop.is_set():
            dq = zoo.forward_dynamics_derivatives(q, v).dq
            match = [i for i, w in enumerate(wanted) if np.array_equal(dq, w)]
            seen.update(match)
            if not match:
                wrong.append(dq)

    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(500):
        zoo.params["body.arm.mass"] = masses[i % 2]
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert seen
