"""What a newcomer meets first: built-in models, mistakes that are told, objects that behave."""

import copy
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tangere as tg
from support import ROOT

COMMAND = Path(os.environ.get("TANGERE_COMMAND", ROOT / "build" / "tangere")).resolve()


@pytest.fixture(scope="module")
def m():
    return tg.load("quadruped")


def test_models_come_by_name(m):
    assert m.name == "quadruped"
    assert tg.load("cube").nv == 6
    with pytest.raises(FileNotFoundError, match=r"quadrupd: no such file.*comes with tangere: .*quadruped"):
        tg.load("quadrupd")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nqq", "did you mean nq"),
        ("mas", "did you mean .*mass"),
        ("gravity", r"m\.params\['gravity'\]"),
        ("body_mass", r"m\.params\['body\.\*\.mass'\]"),
        ("opt", r"tangere\.Sim\(model, dt="),
        ("qpos0", "default_q"),
        ("njnt", "njoint"),
        ("xyzzy", "has no attribute 'xyzzy'$"),
    ],
)
def test_a_model_refuses_what_it_does_not_have(m, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(m, name)
    with pytest.raises(AttributeError, match=message):
        setattr(m, name, 1)
    assert not hasattr(m, name)


def test_what_cannot_be_set_says_so(m):
    for name in ("nq", "mass", "copy", "report"):
        with pytest.raises(AttributeError, match=f"{name} cannot be set"):
            setattr(m, name, 1)


def test_dir_lists_what_a_model_has(m):
    assert {"nq", "params", "body_parent", "joint_q", "forward_dynamics"} <= set(dir(m))


def test_parameters_are_a_mapping(m):
    everything = dict(m.params)
    assert list(everything) == m.params.keys() == [name for name, _ in m.params.items()]
    assert everything["body.trunk.mass"] == m.params["body.trunk.mass"]
    assert sum(np.size(value) for value in m.params.values()) == m.nparams


def test_patterns_leave_the_world_alone(m):
    assert len(m.params.index("body.*.mass")) == m.nbody - 1
    assert not any("world" in name for name in m.param_names("body.*"))
    assert m.param_names("body.world.mass") == ["body.world.mass"]
    assert len(m.params.index("*")) == m.nparams


def test_a_wrong_length_names_the_parameter(m):
    with pytest.raises(ValueError, match=r"params\['gravity'\]: expected shape \(3,\), got \(2,\)"):
        m.params["gravity"] = [0, 1]


@pytest.mark.parametrize("name", ["quadruped", "humanoid36", "cable_toy"])
def test_a_pickled_model_steps_alike(name):
    m = tg.load(name)
    m.params["gravity"] = [0, 0.5, -9]
    other = pickle.loads(pickle.dumps(m))
    results = []
    for model in (m, other, copy.deepcopy(m)):
        sim = tg.Sim(model)
        for _ in range(50):
            sim.step()
        results.append((sim.q.tobytes(), sim.jacobian().dv_dq.tobytes()))
    assert results[0] == results[1] == results[2]


def test_bytes_of_something_else_are_refused(m):
    image = m._to_bytes()
    with pytest.raises(tg.Error, match="damaged"):
        tg.Model._from_bytes(image[:-8])
    with pytest.raises(tg.Error, match="not a model's"):
        tg.Model._from_bytes(b"0" * 1000)


def test_ignored_physics_is_a_warning(tmp_path):
    file = tmp_path / "windy.xml"
    file.write_text('<mujoco><option wind="1 0 0"/><worldbody><geom size="1"/></worldbody></mujoco>')
    with pytest.warns(tg.ModelWarning, match=r"windy\.xml: physics that is left out: 1, the first is option wind: "):
        tg.load(file)
    done = subprocess.run([COMMAND, "params", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "tangere: warning: " in done.stderr
    assert "option wind" in done.stderr


def test_doctor():
    done = subprocess.run([COMMAND, "doctor"], capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    for word in (tg.__version__, tg.cpu_path, "numpy", "steps", "gradients"):
        assert word in done.stdout
    assert done.stdout.count("good") == 2


def test_doctor_names_a_cpu_path_that_is_none():
    asked = {**os.environ, "TANGERE_CPU": "avx9"}
    done = subprocess.run([COMMAND, "doctor"], capture_output=True, text=True, check=False, timeout=100, env=asked)
    assert "TANGERE_CPU=avx9 has no effect, expected baseline or avx2" in done.stdout


def test_help_of_help():
    done = subprocess.run([COMMAND, "help", "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "SUBCOMMAND" in done.stdout
