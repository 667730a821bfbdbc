"""Mistakes that users make, and what they are told: the argument, what was expected, and the nearest name."""

import copy
import pickle
import re
import subprocess
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import get_args

import numpy as np
import pytest
import tangere as tg
from support import ROOT
from tangere.options import Solver, StepOptions


@pytest.fixture(scope="module")
def m():
    return tg.load("quadruped")


@pytest.fixture
def sim(m):
    return tg.Sim(m)


# ---- attributes ----


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ctrl", r"has no attribute 'ctrl'; controls are given to the step: sim\.step\(u=\.\.\.\)"),
        ("gravity", r"it is a parameter: m\.params\['gravity'\]"),
        ("solver", r"it is given when a Sim is made: tangere\.Sim\(model, solver=\.\.\.\)"),
        ("data", r"data\.qpos is sim\.q"),
        ("qpos", "it is called q"),
        ("qvel", "it is called v"),
        ("timestep", "a Sim has dt"),
        ("contacts", r"sim\.info\.contacts"),
        ("efc_force", r"sim\.info\.contacts\.force"),
        ("qfrc_applied", r"sim\.step\(tau=\.\.\.\)"),
        ("xfrc_applied", r"sim\.step\(wrench=\.\.\.\)"),
        ("jacobain", r"did you mean .*jacobian"),
        ("rest", "did you mean reset"),
        ("xyzzy", "tangere.Sim has no attribute 'xyzzy'$"),
    ],
)
def test_a_sim_refuses_what_it_does_not_have(sim, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(sim, name)
    with pytest.raises(AttributeError, match=message):
        setattr(sim, name, 1)
    assert not hasattr(sim, name)


@pytest.mark.parametrize("name", ["dt", "model", "info", "step", "cache", "stable_dt"])
def test_what_cannot_be_set_says_so(sim, name):
    with pytest.raises(AttributeError, match=f"tangere.Sim.{name} cannot be set"):
        setattr(sim, name, 1)


def test_a_class_of_ones_own_may_have_more(m):
    class Logged(tg.Sim):
        def __init__(self, model):
            super().__init__(model)
            self.heights = []

        def step(self, *args, **kwargs):
            super().step(*args, **kwargs)
            self.heights.append(self.q[2])

    sim = Logged(m)
    sim.step()
    assert len(sim.heights) == 1


# ---- options ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solvr": "ipm"}, r"tangere\.Sim: no option 'solvr'; did you mean solver"),
        ({"tolerence": 1e-6}, "no option 'tolerence'; did you mean tolerance"),
        ({"timestep": 0.001}, "no option 'timestep'; use dt"),
        ({"gravity": 0}, r"no option 'gravity'; use m\.params\['gravity'\]"),
        ({"integrator": "implicit"}, "no option 'integrator'; use implicit_damping"),
        ({"zzz": 1}, "no option 'zzz'; options are dt, solver, law, "),
        ({"cold": "yes"}, "cold: expected True or False, got 'yes'"),
        ({"tolerance": "small"}, "tolerance: expected a number, got 'small'"),
        ({"tolerance": [1, 2]}, r"tolerance: expected a number, got an array of shape \(2,\)"),
        ({"dt": [0.001]}, r"dt: expected a number, got an array of shape \(1,\)"),
    ],
)
def test_options_of_the_wrong_name_or_type(m, options, message):
    for make in (
        lambda: tg.Sim(m, **options),
        lambda: tg.Batch(m, 2, **options),
        lambda: tg.step(m, m.default_q(), np.zeros(m.nv), **options),
        lambda: tg.rollout(m, m.default_q(), np.zeros(m.nv), 2, **options),
    ):
        with pytest.raises(TypeError, match=message):
            make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newtn"}, "solver: expected 'newton', 'ipm', .* got 'newtn'; did you mean 'newton'"),
        ({"solver": None}, "solver: expected 'newton', .* got None"),
        ({"restitution": "poison"}, "restitution: .* did you mean 'poisson'"),
        ({"impact": "begin"}, "impact: expected 'end' or 'within', got 'begin'"),
        ({"backward": "smooth"}, "backward: .* did you mean 'smoothed'"),
        ({"dt": -1}, r"dt = -1 must be in \(0, 1e\+06\] s"),
        ({"dt": float("nan")}, "dt = nan"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"rest_speed": -1.0}, "rest_speed = -1 must be positive"),
        ({"push_gain": 7.0}, "push_gain"),
    ],
)
def test_options_of_the_wrong_value(m, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        tg.Sim(m, **options)


def test_the_types_of_options_are_those_that_are_taken():
    from inspect import signature  # noqa: PLC0415

    from tangere import _core  # noqa: PLC0415
    from tangere.sim import _settings  # noqa: PLC0415

    taken = {name for name, p in signature(_settings).parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert set(StepOptions.__annotations__) == taken
    assert set(get_args(Solver)) == set(_core.SOLVERS)


def test_a_model_is_needed():
    with pytest.raises(TypeError, match=r"model: expected a tangere\.Model, got str; tangere\.load reads a file"):
        tg.Sim("quadruped")
    with pytest.raises(TypeError, match=r"model: expected a tangere\.Model, got NoneType"):
        tg.Sim(None)


# ---- the state, and steps ----


def test_info_before_a_step(sim):
    assert not sim.stepped
    for ask in (lambda: sim.info, sim.jacobian, sim.vjp):
        with pytest.raises(
            tg.Error, match=r"there was no step since the last reset or restore; sim\.step\(\) takes one"
        ):
            ask()
    sim.step()
    assert sim.stepped
    assert sim.info.ncontact >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"u": 1.0}, r"u: expected shape \(12,\), got \(\)"),
        ({"u": np.zeros(18)}, r"u: expected shape \(12,\), got \(18,\)"),
        ({"tau": np.zeros((18, 1))}, r"tau: expected shape \(18,\), got \(18, 1\)"),
        ({"tau": np.full(18, np.nan)}, r"tau\[0\] = nan: must be finite"),
        (
            {"tau": np.full(18, 1e300)},
            r"after the step is .*; the largest input is control\.tau\[0\] = 1e\+300, dt is 0\.002 s",
        ),
        ({"tau": "fast"}, "tau: expected real numbers"),
        ({"wrench": np.zeros(6)}, r"wrench: expected shape \(\d+, 6\), got \(6,\)"),
    ],
)
def test_what_a_step_cannot_take(sim, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sim.step(**arguments)
    assert not sim.stepped


def test_states_of_the_wrong_shape(sim, m):
    with pytest.raises(ValueError, match=r"q: expected shape \(19,\), got \(18,\)"):
        sim.q = np.zeros(m.nv)
    with pytest.raises(ValueError, match="read-only"):
        sim.q[2] = 1.0
    with pytest.raises(tg.UnknownNameError, match="no key 'hom'; did you mean 'home'"):
        sim.reset("hom")


# ---- arguments of a model ----


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m, q: m.body_pose(q, "trunk"),
            r"name: expected the name or the index of a body, got numpy.ndarray; the order of arguments is "
            r"body_pose\(name, q\)",
        ),
        (lambda m, q: m.body_pose("trnk", q), "no body 'trnk'; did you mean 'trunk'"),
        (
            lambda m, q: m.body_jacobian(list(q), "trunk"),
            r"the order of arguments is body_jacobian\(name, q, point, frame\)",
        ),
        (lambda m, q: m.site_pose(q, q), "name: expected the name or the index of a site"),
        (lambda m, q: m.mass_matrix("trunk"), "q: expected real numbers"),
        (lambda m, q: m.mass_matrix(q[:-1]), r"q: expected shape \(19,\), got \(18,\)"),
        (lambda m, q: m.forward_dynamics(q, q), r"v: expected shape \(18,\), got \(19,\)"),
        (lambda m, q: m.forward_dynamics(q, v=q[:18], tua=0), r"got an unexpected argument 'tua'"),
        (lambda m, q: m.gap("floor", "flor", q), "no geom 'flor'; did you mean 'floor'"),
        (lambda m, q: m.collide(q, margin="x"), "margin: expected a number, got 'x'"),
        (lambda m, q: m.actuation(q, q[:18]), r"u is NULL: expected 12 numbers"),
        (lambda m, q: m.energy(q), r"energy\(\) is missing the argument 'v'"),
        (lambda m, q: m.random_state(seed="a"), r"seed: expected a whole number from 0 to 2\^64 - 1, got 'a'"),
        (lambda m, q: m.random_state(seed=-1), "seed: expected a whole number .* got -1"),
        (lambda m, q: m.save("robot.urdf"), "robot.urdf: a model is written as MJCF; give a file that ends in .xml"),
    ],
)
def test_arguments_of_a_model(m, call, message):
    with pytest.raises((TypeError, ValueError, OverflowError), match=message):
        call(m, m.default_q())


def test_parameters_of_the_wrong_length(m):
    m = m.copy()
    with pytest.raises(ValueError, match=r"params\['body\.\*\.mass'\]: expected shape \(13,\), got \(2,\)"):
        m.params["body.*.mass"] = [1, 2]
    with pytest.raises(tg.UnknownNameError, match=r"did you mean 'body\.trunk\.mass'"):
        m.params["body.trunk.mas"] = 1
    with pytest.raises(ValueError, match="params"):
        m.params = [1, 2, 3]
    with pytest.raises(tg.Error, match=r"body\.trunk\.mass"):
        m.params["body.trunk.mass"] = -1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gravity", -9.81, r"gravity has 3 numbers, got one \(-9.81\); give 3, or name one of them: 'gravity\[0\]'"),
        ("geom.*.friction", 0.5, r"geom\.floor\.friction has 3 numbers, .*'geom\.\*\.friction\[0\]'"),
        ("body.trunk.mass", "heavy", "expected real numbers, got 'heavy'"),
        ("body.trunk.mass", None, "expected real numbers, got None"),
        ("mass", 1.0, r"no parameter 'mass'; did you mean 'body\.trunk\.mass'"),
        ("body.*.mas", 1.0, r"no parameter matches 'body\.\*\.mas'; did you mean 'body\.\*\.mass'"),
        ("zzz.*", 1.0, r"no parameter matches 'zzz\.\*'; names begin with actuator, body"),
    ],
)
def test_parameters_of_the_wrong_kind(m, name, value, message):
    m = m.copy()
    before = np.array(m.params)
    with pytest.raises((ValueError, TypeError), match=message):
        m.params[name] = value
    assert np.array_equal(m.params, before)


def test_one_number_for_each_of_several_parameters(m):
    m = m.copy()
    m.params["gravity"] = 0
    m.params["geom.*.friction[0]"] = 0.5
    m.params["joint.*.damping"] = 0.2
    assert not m.params["gravity"].any()
    assert np.all(m.params["geom.*.friction[0]"] == 0.5)
    assert m.params["geom.floor.friction"][1] == tg.load("quadruped").params["geom.floor.friction"][1]


def test_parameters_as_a_dictionary(m):
    m = m.copy()
    assert m.params.get("body.trunk.mass") == m.params["body.trunk.mass"]
    assert m.params.get("body.trnk.mass", 3) == 3
    m.params.update({"body.trunk.mass": 7.0, "gravity": [0, 0, -1.6]})
    assert (m.params["body.trunk.mass"], m.params["gravity"][2]) == (7.0, -1.6)
    with pytest.raises(TypeError, match=r"params\['gravity'\]: parameters can be changed, but not deleted"):
        del m.params["gravity"]
    with pytest.raises(AttributeError, match=r"no attribute 'mass'; by name: m\.params\['\*\.mass'\]"):
        _ = m.params.mass


# ---- names of other packages ----


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MjModel", r"tangere\.load\(path\) reads MJCF and URDF"),
        ("MjData", r"tangere\.Sim\(model\)"),
        ("mj_step", r"sim\.step\(u=\.\.\.\)"),
        ("buildModelFromUrdf", r"tangere\.load\(path\)"),
        ("forwardKinematics", r"m\.body_poses\(q\)"),
        ("aba", r"m\.forward_dynamics\(q, v, tau\)"),
        ("rnea", r"a model has it: m\.rnea"),
        ("laod", "did you mean load"),
        ("xyzzy", "module 'tangere' has no attribute 'xyzzy'$"),
    ],
)
def test_names_that_the_package_does_not_have(name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(tg, name)
    assert not hasattr(tg, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("createData", r"tangere\.Sim\(model\) has a state"),
        ("crba", r"it is called mass_matrix\(q\)"),
        ("neutral", r"it is called default_q\(\)"),
        ("body", r"m\.index\('body', name\)"),
        ("body_names", r"m\.names\('body'\)"),
        ("getFrameId", r"m\.index\('body', name\)"),
        ("lowerPositionLimit", r"m\.params\['joint\.\*\.range\[0\]'\]"),
        ("keyframe", r"it is called key\(name\)"),
    ],
)
def test_names_of_pinocchio_and_mujoco_on_a_model(m, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(m, name)


def test_hints_name_what_exists(sim, m):
    """Everything that a hint tells to write is there."""
    from tangere import _names  # noqa: PLC0415
    from tangere.sim import _STEP_ELSEWHERE  # noqa: PLC0415

    sim.step()
    tables = (_names._ELSEWHERE, _names._PACKAGE_ELSEWHERE, _names._OPTIONS_ELSEWHERE, _STEP_ELSEWHERE)
    places = {"m": m, "sim": sim, "info": sim.info, "contacts": sim.info.contacts, "tangere": tg}
    found = 0
    for hint in {hint for table in tables for hint in table.values()}:
        for place, name in re.findall(r"\b(m|sim|info|contacts|tangere)\.([A-Za-z_]\w*)", hint):
            assert hasattr(places[place], name), hint
            found += 1
        for name in re.findall(r"m\.params\['([^']*)'\]", hint):
            assert "NAME" in name or name in m.params, hint
    assert found > 30


@pytest.mark.parametrize(("name", "message"), [("nq", r"sim\.model\.nq"), ("mass_matrix", r"sim\.model\.mass_matrix")])
def test_what_the_model_of_a_sim_has(sim, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(sim, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sim: sim.step(ctrl=[0] * 12), "Sim.step: no argument 'ctrl'; use u"),
        (lambda sim: sim.step(wrnch=0), "Sim.step: no argument 'wrnch'; did you mean wrench"),
        (lambda sim: sim.step(wrench={"trunk": 1}), "wrench: expected real numbers, got dict"),
        (lambda sim: sim.reset(q=[0]), r"Sim.reset: no argument 'q'; use sim\.reset\(\), then sim\.q = q"),
        (lambda sim: sim.reset(np.zeros(19)), "key: expected the name or the index of a keyframe, got ndarray"),
        (lambda sim: sim.restore(3), r"state: expected a tangere\.SimState, which sim\.save\(\) gives, got int"),
        (lambda sim: sim.jacobian(param="gravity"), "Sim.jacobian: no argument 'param'; did you mean params"),
        (lambda sim: sim.vjp(v=np.ones(18)), "Sim.vjp: no argument 'v'; use gv"),
        (lambda sim: setattr(sim, "time", "noon"), "time: expected a number, got 'noon'"),
        (lambda sim: setattr(sim, "dt", 0.1), r"Sim\.dt cannot be set; it is given once: tangere\.Sim\(model, dt="),
        (lambda sim: tg.Sim(sim.model, solver="PGS"), "did you mean 'pgs'"),
        (lambda sim: tg.Sim(sim.model, max_contacts=1.5), "max_contacts: expected a whole number, got 1.5"),
        (lambda sim: tg.Sim(sim.model, max_contacts=-3), "max_contacts = -3; must be at least 0"),
        (lambda sim: tg.load("cube", stirct=True), "load: no argument 'stirct'; did you mean strict"),
        (lambda sim: tg.load(3), "path: expected a file or the name of a built-in model, got 3"),
        (lambda sim: tg.load("<mujoco/>"), r"the text of a model, not a file; tangere\.load_string reads it"),
        (lambda sim: tg.load("cube.xml"), "cube.xml: no such file; the built-in model is 'cube'"),
        (lambda sim: tg.load("Cub"), "did you mean 'cube'"),
        (lambda sim: tg.load_string(None), "text: expected a string with a model, got NoneType"),
        (lambda sim: tg.check(3), r"model: expected a tangere\.Model, got int"),
        (lambda sim: tg.check(sim.model, samples=3), "check: no argument 'samples'; use states"),
        (lambda sim: tg.rollout(sim.model, sim.q, sim.v, -1), "controls = -1; must be at least 1"),
        (lambda sim: tg.rollout(sim.model, sim.q, sim.v, 1.5), "controls: expected a whole number, got 1.5"),
        (lambda sim: tg.rollout(sim.model, sim.q, sim.v, 5, u=0), "no option 'u'; use controls="),
        (lambda sim: tg.rollout(3, sim.q, sim.v, 5), r"m: expected a tangere\.Model, got int"),
        (lambda sim: tg.Batch(sim.model, "4"), "n: expected a whole number, got '4'"),
        (lambda sim: tg.Batch(sim.model, 4, threads=0), "threads = 0; must be at least 1"),
        (lambda sim: tg.Batch(sim.model, 4, thread=2), "no option 'thread'; use .*threads="),
        (lambda sim: tg.Batch(sim.model, 4).reset("home"), "ids: expected integers or a mask, .*key="),
        (
            lambda sim: tg.Batch(sim.model, 4).jacobian(),
            r"no step since the batch was made .*batch\.step\(\) takes one",
        ),
        (
            lambda sim: setattr(tg.Batch(sim.model, 4), "q", np.zeros((4, 18))),
            r"q: expected shape \(4, 19\), or \(19,\) for all environments, got \(4, 18\)",
        ),
        (lambda sim: setattr(tg.Batch(sim.model, 4), "ctrl", 1), "tangere.Batch has no attribute 'ctrl'; controls are"),
        (
            lambda sim: tg.control.Planner(sim.model, tg.control.Cost(), horizn=3),
            r"Planner: no argument 'horizn'; did you mean horizon",
        ),
        (
            lambda sim: tg.control.Planner(sim.model, tg.control.Cost(), solvr="ipm"),
            r"Planner: no argument 'solvr'; did you mean solver",
        ),
        (lambda sim: setattr(tg.Scene(), "gravty", 1), "tangere.Scene has no attribute 'gravty'"),
    ],
)
def test_more_mistakes(sim, call, message):
    with pytest.raises((AttributeError, TypeError, ValueError, OSError), match=message):
        call(sim)


# ---- objects behave ----


def stepped(sim, steps=50):
    for _ in range(steps):
        sim.step()
    return sim.q.tobytes() + sim.v.tobytes()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda sim: pickle.loads(pickle.dumps(sim))])
def test_a_copy_of_a_sim_continues_bit_by_bit(make):
    m = tg.load("quadruped")
    m.params["body.trunk.mass"] = 9.0
    sim = tg.Sim(m, dt=0.002, solver="newton", push_speed=0.1)
    sim.reset("home")
    stepped(sim, 20)
    other = make(sim)
    assert (other.time, other.dt, type(other)) == (sim.time, sim.dt, tg.Sim)
    assert other.params["body.trunk.mass"] == 9.0
    assert not other.stepped
    assert stepped(sim) == stepped(other)


def test_processes_can_have_a_sim():
    sim = tg.Sim(tg.load("cube"))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(stepped, sim).result()
    assert there == stepped(sim)


def test_what_a_step_costs_in_python():
    """Refusing attributes may not make a step slower: it writes past the check."""
    sim = tg.Sim(tg.load("pendulum"))
    calls = []
    original = tg.Sim.__setattr__
    try:
        tg.Sim.__setattr__ = lambda self, name, value: (calls.append(name), original(self, name, value))[1]
        sim.step()
    finally:
        del tg.Sim.__setattr__
    assert calls == []


def test_every_public_type_has_a_repr_that_says_something(sim, m):
    sim.step()
    q, v = m.default_q(), np.zeros(m.nv)
    rollouts = (tg.rollout(m, q, v, 3), tg.rollout(m, [q, q], [v, v], np.zeros((3, m.nu))))
    problem = tg.qcqp(np.eye(3), -np.ones(3))
    for thing in (sim, m, sim.info, sim.params, tg.Batch(m, 2), *rollouts, tg.Scene(), problem, tg.cartesian.Builder()):
        assert repr(thing).startswith("<tangere."), thing
        assert " at 0x" not in repr(thing)
    for module in (tg, tg.cartesian, tg.control):
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__.startswith("tangere.") and not kind.__name__.startswith("_"):
                own = kind.__repr__ is not object.__repr__ or getattr(kind, "_is_protocol", False)
                assert own or kind.__module__ == "tangere._core", kind


def test_a_world_without_bodies():
    for empty in (tg.Scene().build(), tg.load_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")):
        assert empty.mass == 0
        assert "0 kg" in repr(empty)


def test_an_info_can_be_pickled(sim):
    sim.reset("home")
    sim.step()
    info = sim.info
    other = pickle.loads(pickle.dumps(info))
    assert other.residual == info.residual
    assert np.array_equal(other.contacts.force, info.contacts.force)
    assert other.energy == info.energy


def test_what_cannot_be_pickled_says_so(m):
    q, v = m.default_q(), np.zeros(m.nv)
    for thing in (tg.Batch(m, 2), tg.rollout(m, q, v, 3), tg.rollout(m, [q, q], [v, v], np.zeros((3, m.nu)))):
        for make in (copy.copy, pickle.dumps):
            with pytest.raises(TypeError, match=f"a tangere.{type(thing).__name__} cannot be copied or pickled"):
                make(thing)


# ---- the command ----


def run(*arguments):
    command = ROOT / "build" / "tangere"
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simm", "quadruped"), "sim"),
        (("sim", "quadrupd"), "quadruped"),
        (("sim", "quadruped", "--solver", "newtn"), "newton"),
        (("sim", "quadruped", "--tme", "1"), "--time"),
    ],
)
def test_the_command_names_what_was_meant(arguments, message):
    done = run(*arguments)
    assert done.returncode != 0
    assert message in done.stderr
