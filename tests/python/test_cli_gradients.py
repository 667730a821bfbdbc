"""tangere grad and tangere check: summaries, files, JSON, wrong usage."""

import json
import re

import numpy as np
import pytest
import tangere as tg
from support import path_of
from test_cli import output, refusal, tangere

CUBE = path_of("models/cube.xml")
QUADRUPED = path_of("models/quadruped.xml")
PENDULUM = path_of("models/pendulum.xml")
ARM = path_of("models/arm.xml")

# Two links of a chain whose geoms overlap where the chain is straight; the second one can reach the post.
OVERLAPPING = """<mujoco><worldbody><geom name="post" type="box" size=".1 .1 .5" pos=".5 .6 0"/>
<body name="one"><joint name="one" axis="0 0 1" damping="1"/>
<geom name="one" type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
<body name="two" pos=".4 0 0"><joint name="two" axis="0 0 1" damping="1"/>
<geom name="two" type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
<body name="three" pos=".4 0 0"><joint name="three" axis="0 0 1" damping="1"/>
<geom name="three" type="capsule" size=".05" fromto="-.5 0 0 .2 0 0"/></body></body></body>
</worldbody></mujoco>"""

# An arm that dry friction holds while it presses against the ground: friction and the contact hold the same joints.
HELD = """<mujoco><option timestep="0.002"/><worldbody><geom name="ground" type="plane" size="5 5 .1"/>
<body name="one" pos="0 0 .3"><joint name="one" axis="0 1 0" frictionloss="3" damping=".1"/>
<geom name="one" type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
<body name="two" pos=".3 0 0"><joint name="two" axis="0 1 0" frictionloss="2" damping=".1"/>
<geom name="tip" type="sphere" size=".06" pos=".2 0 -.2"/></body></body>
</worldbody></mujoco>"""


def test_grad_writes_the_matrices(tmp_path):
    path = tmp_path / "out.npz"
    text = output("grad", QUADRUPED, "--key", "home", "--params", "body.*.mass", "--out", path)
    assert "label exact" in text
    assert "dv_dparams" in text
    m = tg.load(QUADRUPED)
    sim = tg.Sim(m)
    sim.reset("home")
    sim.step(u=m.key("home").ctrl)
    J = sim.jacobian(params="body.*.mass")
    with np.load(path) as arrays:
        for name in ("dq_dq", "dv_dv", "dv_du", "dv_dparams"):
            np.testing.assert_allclose(arrays[name], getattr(J, name), rtol=0, atol=1e-9)


def test_grad_writes_csv(tmp_path):
    path = tmp_path / "out.csv"
    output("grad", CUBE, "--out", path)
    lines = path.read_text().splitlines()
    assert lines[0] == "matrix,row,column,value"
    assert any(line.startswith("dv_dtau,5,5,") for line in lines)


def test_grad_refuses(tmp_path):
    assert "no known kind" in refusal(2, "grad", CUBE, "--out", tmp_path / "out.txt")
    assert "frictoin" in refusal(1, "grad", CUBE, "--params", "geom.*.frictoin")


@pytest.mark.parametrize("model", [PENDULUM, QUADRUPED])
def test_check_passes(model):
    result = json.loads(output("check", model, "--samples", "40", "--json"))
    assert result["passed"] is True
    assert result["states"] == 40
    assert result["exact"] > 0.95 * 40
    assert result["compared"] > 1000
    assert result["skipped_share"] < 0.05
    assert result["infinite"] == 0
    assert max(result["jvp"], result["jacobian"]) <= 1e-10
    for group, found in result["by"].items():
        assert found["error"] <= 1e-6, group
    bodies = ("body.mass", "body.com", "body.inertia", "joint.damping", "gravity")
    for group in ("q", "v", "tau", "u", "wrench", "dt", *bodies):
        assert result["by"][group]["compared"] > 0, group
        assert result["by"][group]["largest"] > 1e-6, group
        assert result["by"][group]["entry"], group


@pytest.mark.parametrize("model", [QUADRUPED, ARM])
def test_check_meets_every_mode(model):
    result = json.loads(output("check", model, "--samples", "60", "--json"))
    for mode in ("breaking", "sticking", "sliding"):
        assert result["modes"][mode]["possible"]
        assert result["modes"][mode]["states"] >= 6, mode
    for kind in ("friction", "kinetic", "restitution", "compliance", "margin", "size", "pos", "quat"):
        assert result["by"][f"geom.{kind}"]["largest"] > 1e-6, kind


def test_check_without_contacts():
    result = json.loads(output("check", PENDULUM, "--samples", "5", "--json"))
    assert not any(mode["possible"] for mode in result["modes"].values())
    assert "no two of its geoms can touch" in output("check", PENDULUM, "--samples", "5")


def test_check_names_overlaps(tmp_path):
    path = tmp_path / "overlapping.xml"
    path.write_text(OVERLAPPING)
    # the first pair of links that may collide overlaps: parents and children do not
    words = (path, "--samples", "8", "--params", "body.*.mass")
    done = tangere("check", *words)
    assert "1 pair of geoms overlaps in the reference configuration, by up to 0.1 m" in done.stdout
    assert "geoms overlap" not in tangere("check", *words, "--exclude-overlaps").stdout


def test_check_compares_what_is_not_exact(tmp_path):
    """One-sided states count where differences agree; those where they do not are skipped, with their numbers."""
    path = tmp_path / "held.xml"
    path.write_text(HELD)
    result = json.loads(tangere("check", path, "--samples", "60", "--json").stdout)
    assert result["one-sided"] + result["regularised"] > 0.05 * 60
    for group, found in result["by"].items():
        assert found["error"] <= 1e-6, group
    assert sum(result["not_exact"].values()) == 60 - result["exact"]
    skipped = result["states_skipped"]
    reasons = ("one-sided", "regularised", "unsolved", "refused")
    assert skipped["share"] == pytest.approx(sum(skipped[reason] for reason in reasons) / 60)
    assert skipped["share"] < 0.05
    text = tangere("check", path, "--samples", "60").stdout
    assert "% of the states were skipped" not in text
    assert "as their labels say, where differences do not agree" in text
    kinds = sum(found["compared"] for found in result["by"].values())
    assert kinds == result["compared"]


@pytest.mark.parametrize("seed", ["1", "4"])
def test_check_counts_numbers_of_skipped_states(seed):
    """A cube that settles on soft contacts is one-sided at times, and its differences do not agree then. Contacts creep
    there, and steps from their own impulses end at once."""
    result = json.loads(tangere("check", CUBE, "--samples", "400", "--seed", seed, "--json").stdout)
    skipped = result["states_skipped"]
    assert skipped["numbers"] >= skipped["one-sided"] + skipped["regularised"]
    lost = result["switched"] + result["kinked"] + result["unresolved"] + skipped["numbers"]
    assert result["skipped_share"] == pytest.approx(lost / (lost + result["compared"]))
    for group, found in result["by"].items():
        assert found["error"] <= 1e-6, group


def test_check_repeats():
    words = ("check", ARM, "--samples", "20", "--json")
    assert output(*words) == output(*words)


def test_check_takes_another_trajectory():
    words = ("check", ARM, "--samples", "20", "--json")
    assert output(*words) == output(*words, "--seed", "1")
    other = output(*words, "--seed", "2")
    assert other != output(*words)
    assert json.loads(other)["passed"] is True
    assert "--seed" in refusal(2, *words, "--seed", "0")


def test_check_says_what_it_did():
    assert "damping of their own: it acts on v+" in output("check", QUADRUPED, "--samples", "2")
    text = output("check", CUBE, "--samples", "10", "--params", "geom.*.size")
    assert "10 states" in text
    assert re.search(r"geom\.size .*geom\.\S+\.size\[\d\]: ", text)
    assert "body.mass" not in text
    assert "numbers compared" in text
    assert text.endswith("passed\n")
