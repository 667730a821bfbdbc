"""tangere sim: the summary, JSON, trajectories as .csv and .npz, controls from a file, wrong usage."""

import json
import os
import pty
import re
import subprocess
import zipfile

import numpy as np
import pytest
import tangere as tg
from support import ROOT
from test_cli import COMMAND, ESCAPE, QUADRUPED, environment, on_terminal, output, refusal

DROP = ["sim", QUADRUPED, "--key", "home", "--lift", "0.3"]
SCALARS = ["time", "kinetic", "potential", "contacts", "iterations", "residual", "penetration", "work", "solved"]

SERVO = """
<mujoco model="servo">
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body><joint name="a" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
    <body pos="0 1 0"><joint name="b" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <actuator>
    <motor joint="a"/>
    <general joint="b" dyntype="integrator"/>
  </actuator>
</mujoco>
"""


@pytest.fixture
def servo(tmp_path):
    path = tmp_path / "servo.xml"
    path.write_text(SERVO)
    return path


def simulated(steps: int, **options) -> tg.Sim:
    """The same in Python."""
    m = tg.load(QUADRUPED)
    sim = tg.Sim(m, **options)
    sim.reset("home")
    q = sim.q.copy()
    q[2] += 0.3
    sim.q = q
    for _ in range(steps):
        sim.step(m.key("home").ctrl)
    return sim


# ---- the summary ----


def test_summary():
    text = output(*DROP)
    lines = text.splitlines()
    assert lines[0] == f"quadruped  {QUADRUPED}"
    assert lines[1] == "from keyframe 'home', 0.3 m above it; controls of the keyframe held"
    assert lines[2].startswith("2500 steps of 2 ms with 'newton': 5 s in ")
    assert "times real time" in lines[2]
    labels = [line.split()[0] for line in lines[4:]]
    assert labels == ["contacts", "iterations", "residual", "penetration", "energy", "ends"]
    assert "at the end 4" in lines[4]
    assert lines[6].endswith("all steps solved to 1e-08")
    # it stands where the keyframe does, upright
    height, tilt = float(lines[9].split("height ")[1].split()[0]), float(lines[9].split("tilt ")[1].split()[0])
    assert height == pytest.approx(0.3037, abs=0.002)
    assert tilt < 3
    assert ESCAPE not in text


def test_of_a_built_in_model_without_keyframe():
    lines = output("sim", "pendulum", "--time=0.1", "--dt", "0.01").splitlines()
    assert lines[1].startswith("from the reference configuration")
    assert lines[2].startswith("10 steps of 10 ms")


def test_no_steps():
    found = json.loads(output("sim", QUADRUPED, "--time", "0", "--json"))
    assert (found["steps"], found["energy"]["drift"], found["contacts"]["mean"]) == (0, 0, 0)


def test_colours_on_a_terminal():
    assert ESCAPE in on_terminal("sim", QUADRUPED, "--time", "0.1")
    assert ESCAPE not in on_terminal("sim", QUADRUPED, "--time", "0.1", NO_COLOR="1")


def test_long_work_shows_how_far_it_is(servo):
    main, terminal = pty.openpty()
    words = [COMMAND, "sim", servo, "--time", "1e6", "--dt", "0.01"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=terminal, env=environment())
    os.close(terminal)
    shown = os.read(main, 1000).decode()  # waits for the first of it
    process.kill()
    process.wait()
    os.close(main)
    assert re.search(r"step: \d+ of 100000000, 2 s", shown)


def test_json():
    found = json.loads(output(*DROP, "--json", "--time", "1", "--dt", "0.001"))
    sim = simulated(1000, dt=0.001)
    assert (found["name"], found["key"], found["solver"]) == ("quadruped", "home", "newton")
    assert (found["dt"], found["steps"], found["unsolved"]) == (0.001, 1000, 0)
    assert found["time"] == pytest.approx(1)
    assert found["contacts"]["last"] == sim.info.ncontact
    assert found["contacts"]["most"] >= 4
    assert found["iterations"]["most"] >= found["iterations"]["mean"] > 0
    assert 0 <= found["residual"] <= 1e-8
    assert found["penetration"]["most"] >= found["penetration"]["last"] >= 0
    assert found["energy"]["drift"] == pytest.approx(found["energy"]["end"] - found["energy"]["start"])
    assert found["energy"]["end"] == pytest.approx(sum(sim.info.energy), rel=1e-6)
    assert found["real_time_factor"] == pytest.approx(1 / found["seconds"])
    # the command and the extension may be compiled with different flags
    np.testing.assert_allclose(found["q"], sim.q, atol=1e-6)
    np.testing.assert_allclose(found["v"], sim.v, atol=1e-5)


@pytest.mark.parametrize("solver", ["newton", "ipm", "pgs"])
def test_solvers(solver):
    found = json.loads(output(*DROP, "--json", "--time", "0.5", "--solver", solver))
    assert (found["solver"], found["unsolved"]) == (solver, 0)
    assert found["q"][2] == pytest.approx(0.30, abs=0.03)


# ---- trajectories ----


def columns(path) -> dict[str, np.ndarray]:
    names = path.read_text().splitlines()[0].split(",")
    values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return dict(zip(names, values.T, strict=True))


def test_csv_and_npz_hold_the_same(tmp_path):
    csv, npz = tmp_path / "out.csv", tmp_path / "out.npz"
    for path in (csv, npz):
        assert "100 steps" in output(*DROP, "--time", "0.2", "--out", path)
    table, arrays = columns(csv), np.load(npz)
    assert zipfile.ZipFile(npz).testzip() is None
    assert list(arrays) == ["time", "q", "v", "u", *SCALARS[1:]]
    m = tg.load(QUADRUPED)
    for name, width in (("q", m.nq), ("v", m.nv), ("u", m.nu)):
        assert arrays[name].shape == (101, width)
        for i in range(width):
            np.testing.assert_array_equal(arrays[name][:, i], table[f"{name}[{i}]"])
    for name in SCALARS:
        np.testing.assert_array_equal(arrays[name], table[name])
    assert len(table) == len(SCALARS) + m.nq + m.nv + m.nu


def test_trajectory_is_that_of_python(tmp_path):
    path = tmp_path / "out.npz"
    output(*DROP, "--time", "0.6", "--out", path)
    arrays = np.load(path)
    sim = simulated(0)
    m, ctrl = sim.model, sim.model.key("home").ctrl
    for i in range(301):
        if i:
            sim.step(ctrl)
            np.testing.assert_array_equal(arrays["u"][i], ctrl)
            assert arrays["contacts"][i] == sim.info.ncontact
            assert arrays["residual"][i] <= 1e-8
        assert arrays["time"][i] == pytest.approx(sim.time, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(arrays["q"][i], sim.q, atol=1e-8)
        energy = m.energy(sim.q, sim.v)
        assert arrays["kinetic"][i] == pytest.approx(energy.kinetic, rel=1e-5, abs=1e-6)
        assert arrays["potential"][i] == pytest.approx(energy.potential, rel=1e-6)
    assert (arrays["solved"] == 1).all()
    assert arrays["contacts"].max() >= 4


def test_the_same_file_twice(tmp_path):
    first, second = tmp_path / "1.npz", tmp_path / "2.npz"
    for path in (first, second):
        output(*DROP, "--time", "1", "--out", path)
    assert first.read_bytes() == second.read_bytes()


# ---- controls ----


def test_controls_a_row_a_step(servo, tmp_path):
    file, out = tmp_path / "u.csv", tmp_path / "out.npz"
    file.write_text("# forces\nleft,right\n1, 2\n\n-3;4\n5 6\n")
    output("sim", servo, "--time", "0.05", "--ctrl", file, "--out", out)
    arrays = np.load(out)
    np.testing.assert_array_equal(arrays["u"], [[0, 0], [1, 2], [-3, 4], [5, 6], [5, 6], [5, 6]])
    np.testing.assert_allclose(arrays["v"][:, 0], 0.01 * np.cumsum(arrays["u"][:, 0]))
    np.testing.assert_allclose(arrays["act"][:, 0], 0.01 * np.cumsum(arrays["u"][:, 1]))


def test_controls_with_times(servo, tmp_path):
    file, out = tmp_path / "u.csv", tmp_path / "out.npz"
    file.write_text("time,left,right\n0.015,1,2\n0.03,3,4\n")
    output("sim", servo, "--time", "0.05", "--ctrl", file, "--out", out)
    # steps start at 0, 0.01, ..., and take the row that has begun
    np.testing.assert_array_equal(np.load(out)["u"][1:], [[0, 0], [0, 0], [1, 2], [3, 4], [3, 4]])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no numbers in it"]),
        ("left,right\n", ["no numbers in it"]),
        ("1,2\n1,2,3\n", ["line 2: 3 numbers; the model has 2 controls", "hint: "]),
        ("1\n", ["line 1: 1 numbers"]),
        ("1,2\n3,x\n", ["line 2: not a row of finite numbers"]),
        ("1,2\n3,nan\n", ["line 2: not a row of finite numbers"]),
        ("a,b\nc,d\n", ["line 2: not a row of finite numbers"]),
        ("0,1,2\n0,3,4\n", ["row 2 has the time 0, the row before it 0"]),
        ("1,2,3,4,5\n", ["line 1: 5 numbers"]),
    ],
)
def test_wrong_controls(servo, tmp_path, text, parts):
    file = tmp_path / "u.csv"
    file.write_text(text)
    message = refusal(1, "sim", servo, "--ctrl", file)
    assert str(file) in message
    for part in parts:
        assert part in message


def test_controls_that_are_not_there(servo, tmp_path):
    assert "cannot read" in refusal(1, "sim", servo, "--ctrl", tmp_path / "nothing.csv")
    assert "no actuators" in refusal(1, "sim", ROOT / "models" / "cube.xml", "--ctrl", tmp_path / "nothing.csv")


def test_a_step_that_fails_says_when_and_leaves_the_record(servo, tmp_path):
    file, out = tmp_path / "u.csv", tmp_path / "out.csv"
    file.write_text("1,0\n1,0\n1e308,0\n1e308,0\n" + "1e308,0\n" * 200)
    message = refusal(1, "sim", servo, "--time", "2", "--ctrl", file, "--out", out)
    assert "after the step is" in message
    table = columns(out)
    failed = int(message.split("step ")[1].split(",")[0])
    assert len(table["time"]) == failed + 1
    assert np.isfinite(table["q[0]"]).all()


# ---- wrong usage ----


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["sim: an argument is missing"]),
        ([QUADRUPED, "--time", "long"], ["--time needs a number from 0 to", "'long'"]),
        ([QUADRUPED, "--time", "-1"], ["--time needs a number", "'-1'"]),
        ([QUADRUPED, "--time=nan"], ["--time needs a number", "'nan'"]),
        ([QUADRUPED, "--dt", "0"], ["--dt needs a number", "'0'"]),
        ([QUADRUPED, "--dt", "-0.001"], ["--dt needs a number", "'-0.001'"]),
        ([QUADRUPED, "--dt", "2"], ["--dt needs a number"]),
        ([QUADRUPED, "--lift", "high"], ["--lift needs a number", "'high'"]),
        ([QUADRUPED, "--solver", "newtn"], ["unknown solver 'newtn'", "did you mean 'newton'"]),
        ([QUADRUPED, "--solver", "something"], ["unknown solver 'something'", "newton, ipm, pgs"]),
        ([QUADRUPED, "--out", "trajectory.txt"], [".csv or .npz", "'trajectory.txt'"]),
        ([QUADRUPED, "--time=1e9", "--dt=1e-3"], ["steps are too many"]),
        ([QUADRUPED, "--tim", "1"], ["unknown option '--tim'", "did you mean '--time'"]),
    ],
)
def test_wrong_usage(words, parts):
    message = refusal(2, "sim", *words)
    for part in parts:
        assert part in message


def test_what_is_not_there(tmp_path):
    assert "did you mean 'home'" in refusal(1, "sim", QUADRUPED, "--key", "hom")
    assert "cannot write" in refusal(1, "sim", QUADRUPED, "--time", "0.01", "--out", tmp_path / "no" / "out.csv")
    assert "nothing.xml" in refusal(1, "sim", tmp_path / "nothing.xml")


def test_profile():
    text = output("sim", QUADRUPED, "--key", "home", "--time", "0.5", "--profile")  # stands on the floor all the time
    for stage in ("smooth dynamics", "collision", "assembly", "solve", "end"):
        assert stage in text
    assert "costliest" in text
    assert "floor - " in text
    profile = json.loads(output("sim", QUADRUPED, "--time", "0.5", "--profile", "--json"))["profile"]
    assert profile["solve"] >= profile["costliest"]["seconds"] > 0
    assert all("foot" in pair or "floor" in pair for pair in profile["costliest"]["pairs"])
    assert "profile" not in json.loads(output("sim", QUADRUPED, "--time", "0.01", "--json"))


def test_help():
    text = output("help", "sim")
    assert text.startswith("usage: tangere sim MODEL")
    options = "--time --dt --key --lift --solver --project --ctrl --out --profile --json"
    for option in options.split():
        assert f"  {option}" in text


def test_a_time_step_that_is_too_long_is_said_on_stderr(tmp_path):
    path = tmp_path / "stiff.xml"
    for stiffness, said in ((400, True), (100, False)):
        path.write_text(
            f'<mujoco><option timestep="0.01"/><worldbody><body><joint stiffness="{stiffness}"/>'
            '<geom size="0.1" mass="1"/></body></worldbody></mujoco>'
        )
        done = subprocess.run([COMMAND, "info", path], check=True, capture_output=True, text=True, env=environment())
        message = "timestep = 0.01 s: springs, dampers or servos of the model are stable up to 0.00632"
        assert (message in done.stderr) == said
