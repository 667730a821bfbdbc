"""tangere.check: the command's judgement from Python."""

import json

import pytest
import tangere as tg
from support import path_of
from test_cli import output

CUBE = path_of("models/cube.xml")
PENDULUM = path_of("models/pendulum.xml")
ARM = path_of("models/arm.xml")


@pytest.fixture(scope="module")
def arm():
    return tg.check(tg.load(ARM), 30)


def test_the_same_as_the_command(arm):
    said = json.loads(output("check", ARM, "--samples", "30", "--json"))
    assert arm.passed == said["passed"]
    assert arm.states == said["states"] == 30
    assert arm.labels == {label: said[label] for label in ("exact", "one-sided", "regularised")}
    assert arm.compared == said["compared"]
    assert {g.name: (g.compared, g.entry) for g in arm.groups} == {
        name: (g["compared"], g["entry"]) for name, g in said["by"].items()
    }
    for name, group in said["by"].items():
        assert arm[name].error == pytest.approx(group["error"], rel=1e-6, abs=1e-300)
    assert {mode: tuple(m) for mode, m in arm.modes.items()} == {
        mode: (m["states"], m["contacts"], m["possible"]) for mode, m in said["modes"].items()
    }


def test_readable(arm):
    text = repr(arm)
    assert text.startswith("<tangere.CheckResult: passed\n  30 states: ")
    assert "forward mode and matrices agree" in text
    assert f"\n  {arm.worst.name} " in text
    assert arm
    assert arm.worst.error == max(group.error for group in arm.groups) <= 1e-6
    with pytest.raises(KeyError, match="compared were q, v"):
        arm["nothing"]


def test_parameters_to_draw_from():
    result = tg.check(tg.load(CUBE), 5, params=["geom.*.size", "gravity"])
    assert {"geom.size", "gravity"} >= {g.name for g in result.groups} - {"q", "v", "tau", "wrench", "dt"}
    assert result["gravity"].compared > 0
    assert "body.mass" not in [g.name for g in result.groups]


def test_the_parameters_as_they_are_now():
    m = tg.load(PENDULUM)
    before = tg.check(m, 5)["q"].largest
    m.params["gravity"] *= 3
    assert tg.check(m, 5)["q"].largest != before
    m.params["gravity"] /= 3
    assert tg.check(m, 5)["q"].largest == before
    assert repr(tg.check(m, 5)) != repr(tg.check(m, 5, seed=2))
    assert "no two geoms can touch" in repr(tg.check(m, 2))


def test_progress():
    seen = []
    tg.check(tg.load(PENDULUM), 4, progress=lambda done, states: seen.append((done, states)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_exception_ends_the_check():
    seen = []

    def stop(done, states):
        seen.append(done)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tg.check(tg.load(PENDULUM), 1000, progress=stop)
    assert seen == [1]


def test_refusals():
    m = tg.load(PENDULUM)
    with pytest.raises(tg.Error, match="states = 0; must be at least 1"):
        tg.check(m, 0)
    with pytest.raises(tg.Error, match="seed = 0; must be at least 1"):
        tg.check(m, seed=0)
    with pytest.raises(tg.UnknownNameError, match="nobody"):
        tg.check(m, params="body.nobody.mass")


def test_modes_agree_where_loops_turn():
    """Loops that are redundant but for six digits, beside feet that slide: impulses of both turn with the bodies."""
    robot = path_of("hard/toddlerbot_2xc_pos.xml")
    if not robot.is_file():
        pytest.skip("needs the robots of ../shared")
    result = tg.check(tg.load(robot), 30, seed=51)
    assert max(result.jvp, result.jacobian) < 1e-10


def test_creeping_feet_are_differentiated():
    """Feet that creep by nanometres per second beside dry friction at its bound: few such states are skipped."""
    robot = path_of("hard/toddlerbot_2xc_pos.xml")
    if not robot.is_file():
        pytest.skip("needs the robots of ../shared")
    result = tg.check(tg.load(robot), 60, seed=200)
    assert result.passed, str(result)


def test_displaced_states_have_more_contacts():
    """A neighbour of a state may have more contacts than the workspace has room for: the check makes more."""
    robot = path_of("hard/robotiq_2f85.xml")
    if not robot.is_file():
        pytest.skip("needs the robots of ../shared")
    assert tg.check(tg.load(robot), 60, seed=500).states == 60


@pytest.mark.parametrize(
    "ties",
    [
        '<tendon tendon1="a"/>',
        '<tendon tendon1="a" tendon2="b" polycoef="0.1 0.7 0.3 0.2 -0.1"/>',
        '<tendon tendon1="b" tendon2="c" polycoef="0 1 0.4 0 0"/><tendon tendon1="c" tendon2="a"/>',
    ],
)
def test_the_reference_length_of_coupled_tendons(ties):
    """A coupling starts from the lengths in the reference configuration, which follow sites, bodies and pulleys."""
    text = f"""<mujoco><worldbody><site name="w" pos="0.2 0.1 1.2"/>
      <body pos="0.1 0 1" euler="20 30 10"><joint name="h" axis="1 2 0" ref="15"/><geom size="0.1" contype="0"/>
        <site name="p" pos="0.1 0.05 0"/>
        <body pos="0.3 0.1 0" quat="2 0.5 0 0.3"><joint type="ball"/><geom size="0.07" contype="0"/>
          <site name="q" pos="0 0.1 0.08"/></body></body>
      <body pos="-0.3 0.2 1" euler="0 40 0"><freejoint/><geom size="0.1" contype="0"/><site name="r" pos="0 0 0.1"/>
        <body pos="0 0.3 0" euler="10 0 0"><joint name="s" type="slide" axis="0 1 1" ref="0.1"/>
          <geom size="0.1" contype="0"/><site name="t" pos="0.1 0.1 0"/></body></body></worldbody>
      <tendon><spatial name="a"><site site="w"/><site site="q"/><pulley divisor="1.6"/><site site="p"/><site site="r"/>
          <site site="t"/></spatial>
        <spatial name="b"><site site="r"/><site site="q"/><site site="t"/></spatial>
        <fixed name="c"><joint joint="h" coef="0.3"/><joint joint="s" coef="-1.2"/></fixed></tendon>
      <equality>{ties}</equality></mujoco>"""
    names = ["site.*.pos", "body.*.pos", "body.*.quat", "tendon.*.coef", "joint.*.ref"]
    result = tg.check(tg.load_string(text), 20, params=names)
    assert result
    for name in ("site.pos", "body.pos", "body.quat", "tendon.coef"):
        assert result[name].compared > 10
        assert result[name].largest > 0.01
