"""tangere convert: a model in another file."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tangere as tg
from support import ROOT, mujoco_model

COMMAND = Path(os.environ.get("TANGERE_COMMAND", ROOT / "build" / "tangere")).resolve()
QUADRUPED = ROOT / "models" / "quadruped.xml"
URDF = """<robot name="box"><link name="base"><inertial><mass value="2"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/><mass value="1"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.1" rpy="0 0.5 0"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.1"/></joint></robot>"""


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [COMMAND, "convert", *map(str, arguments)], capture_output=True, text=True, encoding="utf-8", timeout=60,
        check=False,
    )  # fmt: skip


def test_to_a_file(tmp_path):
    done = run(QUADRUPED, tmp_path / "new.xml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    a, b = tg.load(QUADRUPED), tg.load(tmp_path / "new.xml")
    assert np.array_equal(a.params, b.params)
    assert (tmp_path / "new.xml").read_text() == a.to_mjcf()


def test_to_standard_output():
    done = run("quadruped", "-")
    assert done.returncode == 0
    assert done.stdout == tg.load(QUADRUPED).to_mjcf()


def test_from_urdf(tmp_path):
    (tmp_path / "box.urdf").write_text(URDF)
    assert run(tmp_path / "box.urdf", tmp_path / "box.xml").returncode == 0
    a, b = tg.load(tmp_path / "box.urdf"), tg.load(tmp_path / "box.xml")
    assert np.array_equal(a.params, b.params)
    assert a.names("joint") == b.names("joint")
    mujoco_model(tmp_path / "box.xml")


def test_what_was_not_read_is_said(tmp_path):
    (tmp_path / "m.xml").write_text(
        '<mujoco><option density="1.2"/><worldbody><body gravcomp="1"><joint/><geom size="1"/></body></worldbody>'
        "</mujoco>"
    )
    done = run(tmp_path / "m.xml", "-")
    assert done.returncode == 0
    assert "2 things that would change the motion were not read" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ([QUADRUPED], 2, "convert"),
        ([QUADRUPED, "-", "more"], 2, "more"),
        (["no/such.xml", "-"], 1, "no/such.xml"),
        ([QUADRUPED, "/no/such/folder/out.xml"], 1, "/no/such/folder/out.xml: cannot be written: No such file"),
    ],
)
def test_refusals(words, code, part):
    done = run(*words)
    assert done.returncode == code
    assert done.stdout == ""
    assert part in done.stderr
