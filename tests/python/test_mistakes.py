"""Mistakes that users make, and what they are told: the argument, what was expected, and the nearest name."""

import copy
import pickle
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
        (lambda m, q: m.gap("floor", "flor", q), "no parameter 'geom.flor.margin'; did you mean"),
    ],
)
def test_arguments_of_a_model(m, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
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


def test_every_public_type_has_a_repr_that_says_something(sim):
    sim.step()
    for thing in (sim, sim.model, sim.info, sim.params, tg.Batch(sim.model, 2)):
        assert " at 0x" not in repr(thing)


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
