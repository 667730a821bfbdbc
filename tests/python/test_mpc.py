"""The command `tangere mpc`: tasks that run, tasks that are refused."""

import importlib.util
import json

import numpy as np
import pytest
import tangere as tg
from support import ROOT
from tangere import mpc

TASK = ROOT / "examples" / "tasks" / "quadruped_lift.json"


def test_the_quadruped_lifts_two_feet(tmp_path, capsys):
    out = tmp_path / "loop.npz"
    assert mpc.main(["quadruped", f"--task={TASK}", "--controls=50", "--threads=1", f"--out={out}", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["controls"] == 50
    assert result["blown"] == 0
    assert result["rate"] > 0
    m = tg.load("quadruped")
    with np.load(out) as loop:
        feet = [m.site_pose(foot, loop["q"][-1])[0][2] for foot in ("front_left_foot", "hind_right_foot")]
        assert loop["u"].shape == (50, m.nu)
        assert loop["q"][-1, 2] > 0.25  # it stands on the other two
    assert min(feet) > 0.06


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizons": 3}, "unknown 'horizons'"),
        ({"cost": {"weights": 1}}, "cost: unknown 'weights'"),
        ({"cost": 3}, "expected an object with a 'cost'"),
        ({"cost": {"weight_v": -1}}, r"weight_v[0] = -1"),
        ({"method": "magic"}, "method: expected one of"),
        ({"cost": {"q": [1, 2], "weight_q": 1}}, "cost.q: expected shape (19,)"),
        ({"planner": {"colour": 1}}, "colour"),
    ],
)
def test_wrong_tasks_are_refused(tmp_path, capsys, change, message):
    path = tmp_path / "task.json"
    path.write_text(json.dumps({**json.loads(TASK.read_text()), **change}))
    assert mpc.main(["quadruped", f"--task={path}"]) == 1
    assert message in capsys.readouterr().err


def test_files_that_are_no_tasks(tmp_path, capsys):
    path = tmp_path / "task.json"
    assert mpc.main(["quadruped", f"--task={path}"]) == 1
    assert "task.json" in capsys.readouterr().err
    path.write_text('{"cost": {},\n "method" }')
    assert mpc.main(["quadruped", f"--task={path}"]) == 1
    assert "line 2" in capsys.readouterr().err


def _example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "control" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("task", ["trot", "turn", "push", "climb"])
def test_the_quadruped_in_closed_loop(task):
    """One seed of examples/control/quadruped.py."""
    good, text, _ = _example("quadruped").TASKS[task](0)
    assert good, text


def test_the_walker_walks():
    """One seed of examples/control/walker.py."""
    good, text, _ = _example("walker").walk(0)
    assert good, text


def test_windows_of_a_fit_start_from_recorded_activations():
    """A filter of 0.5 s behind a motor: windows that started from zero activation would find another mass."""
    m = tg.load_string("""<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body name="cart">
        <joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body></worldbody><actuator>
        <general joint="x" dyntype="filter" dynprm="0.5"/></actuator></mujoco>""")
    u = np.repeat(np.random.default_rng(1).normal(size=(20, 1)), 10, axis=0)
    sim, kept = tg.Sim(m), {"time": [], "q": [], "v": [], "act": [], "u": []}
    for row in u:
        for name, value in (("time", sim.time), ("q", sim.q), ("v", sim.v), ("act", sim.act), ("u", row)):
            kept[name].append(np.array(value))
        sim.step(u=row)
    log = {name: np.array(values)[::10] for name, values in kept.items()}
    m.params["body.cart.mass"] = 3.0
    with_act = tg.fit(m, [log], "body.cart.mass", horizon=2, stride=1, noise=1e-3)
    assert with_act.values[0] == pytest.approx(2, rel=1e-8)
    without = tg.fit(
        m, [{k: x for k, x in log.items() if k != "act"}], "body.cart.mass", horizon=2, stride=1, noise=1e-3
    )
    assert abs(without.values[0] - 2) > 0.01
    log["act"] = log["act"][:-1]
    with pytest.raises(tg.Error, match="'act'"):
        tg.fit(m, [log], "body.cart.mass", horizon=2, stride=1, noise=1e-3)
