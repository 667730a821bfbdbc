"""The command: every subcommand, wrong usage, files that are not there, JSON, colours."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tangere as tg
from support import ROOT, ZOO, model_files, own_files, path_of

COMMAND = Path(os.environ.get("TANGERE_COMMAND", ROOT / "build" / "tangere")).resolve()
ESCAPE = "\033["
QUADRUPED = ROOT / "models" / "quadruped.xml"
ROUNDING = 1e-14  # the command and the extension may be compiled with different flags


def environment(**changes) -> dict:
    """A terminal with colours and UTF-8, unless the test says otherwise; a change to None takes a variable out."""
    variables = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    variables.pop("NO_COLOR", None)
    variables.pop("TANGERE_MODELS", None)
    variables.update(changes)
    return {name: value for name, value in variables.items() if value is not None}


def tangere(*arguments, **changes) -> subprocess.CompletedProcess:
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", env=environment(**changes), timeout=120, check=False,
    )  # fmt: skip


def output(*arguments, **changes) -> str:
    done = tangere(*arguments, **changes)
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("tangere: warning: ") for line in done.stderr.splitlines()), done.stderr
    return done.stdout


def refusal(code: int, *arguments, **changes) -> str:
    """The message of a call that must fail with that exit code, and print no result."""
    done = tangere(*arguments, **changes)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("tangere: error: ")
    return done.stderr


def on_terminal(*arguments, **changes) -> str:
    """What the command writes when its output is a terminal."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)], stdout=terminal, stderr=terminal, env=environment(**changes)
    )
    os.close(terminal)
    parts = []
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(main)
    process.wait(timeout=120)
    return b"".join(parts).decode()


# ---- version, help ----


def test_version():
    assert output("--version") == f"tangere {tg.__version__}\n"


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"], ["help", "help"]])
def test_help_lists_the_subcommands(words):
    text = output(*words)
    for name in ("info", "params", "demo", "help"):
        assert re.search(rf"^  {name} ", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["info", "params", "demo"])
def test_help_of_a_subcommand(name):
    text = output("help", name)
    assert text.startswith(f"usage: tangere {name} ")
    assert output(name, "--help") == text
    assert output(name, "-h", "--unknown") == text


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["subcommand is missing", "tangere help"]),
        (["inf"], ["unknown subcommand 'inf'", "did you mean 'info'"]),
        (["zzzzzzzz"], ["unknown subcommand 'zzzzzzzz'"]),
        (["x" * 1000], ["unknown subcommand"]),
        (["--versio"], ["unknown option '--versio'", "did you mean '--version'"]),
        (["help", "inf"], ["unknown subcommand 'inf'"]),
        (["help", "info", "demo"], ["one argument too many: 'demo'"]),
        (["info"], ["info: an argument is missing", "tangere info MODEL"]),
        (["info", "a", "b"], ["info: one argument too many: 'b'"]),
        (["info", "--jsn", "a"], ["info: unknown option '--jsn'", "did you mean '--json'"]),
        (["info", "-j", "a"], ["info: unknown option '-j'"]),
        (["info", "--json=yes", "a"], ["takes no value: '--json=yes'"]),
        (["params"], ["params: an argument is missing"]),
        (["params", "a", "b", "c"], ["one argument too many: 'c'"]),
        (["learn", "trian", "BP5", "CM-CLNN"], ["learn: unknown word 'trian', did you mean 'train'?"]),
        (["learn", "train", "BP5"], ["learn train: a task and a model are needed"]),
        (["learn", "train", "BP5", "CM-CLNN", "--small"], ["learn train has no option --small"]),
        (["learn", "train", "BP5", "CM-CLNN", "--epochs", "0"], ["--epochs needs a whole number from 1"]),
        (["learn", "train", "BP5", "CMr-CLNN", "--eps", "some"], ["--eps", "'some'"]),
        (["learn", "throw", "a", "--epochs", "3"], ["learn throw has no option --epochs"]),
        (["learn", "report", "a", "b"], ["learn report: 'b' is too much"]),
        (["learn", "data", "BP5"], ["learn data: --out is missing"]),
        (["doctor", "--strict"], ["doctor: unknown option '--strict'"]),  # it reads no file of yours
        (["learn", "table", "--floating-base"], ["learn: unknown option '--floating-base'"]),
        (["tensegrity", "dta"], ["tensegrity: unknown word 'dta', did you mean 'data'?"]),
        (["tensegrity", "data"], ["tensegrity data: --out is missing"]),
        (["tensegrity", "fit"], ["tensegrity fit: the folder of the data is missing"]),
        (["tensegrity", "fit", "a", "b"], ["tensegrity fit: 'b' is too much"]),
        (["tensegrity", "data", "--out=x", "--open"], ["tensegrity data has no option --open"]),
        (["tensegrity", "data", "--out=x", "--train=0"], ["--train needs a whole number from 1"]),
        (["demo", "a", "b"], ["one argument too many: 'b'"]),
        (["demo", "--states"], ["needs a value: '--states'"]),
        (["demo", "--states", "0"], ["--states needs a whole number from 1", "'0'"]),
        (["demo", "--states=3.5"], ["'3.5'"]),
        (["demo", "--states=99999999999999999999"], ["'99999999999999999999'"]),
    ],
)
def test_wrong_usage(words, parts):
    message = refusal(2, *words)
    for part in parts:
        assert part in message


# ---- files ----


@pytest.mark.parametrize("name", ["info", "params", "demo"])
def test_missing_file(name, tmp_path):
    message = refusal(1, name, tmp_path / "no_such_file.xml")
    assert "no_such_file.xml" in message
    assert "hint: " in message
    assert "quadruped" in message  # the hint says what there is


def test_broken_file(tmp_path):
    file = tmp_path / "broken.xml"
    file.write_text("<mujoco>\n<worldbody>")
    message = refusal(1, "info", file)
    assert "broken.xml" in message
    assert "hint: " in message


def test_refused_model_names_element_and_value(tmp_path):
    file = tmp_path / "bad.xml"
    file.write_text(
        '<mujoco><worldbody><body name="b"><joint/><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body>'
        "</worldbody></mujoco>"
    )
    assert "bad.xml:1: inertial: mass must not be negative, got -1" in refusal(1, "info", file)


def test_a_folder_is_not_a_model(tmp_path):
    assert "hint: " in refusal(1, "info", tmp_path)


def test_models_by_name():
    for file in own_files():
        name = Path(file).stem
        assert json.loads(output("info", name, "--json"))["name"] == tg.load(ROOT / file).name


def test_folder_of_the_models_from_the_environment(tmp_path):
    (tmp_path / "mine.xml").write_text(QUADRUPED.read_text())
    assert json.loads(output("info", "mine", "--json", TANGERE_MODELS=str(tmp_path)))["sizes"]["nv"] == 18
    message = refusal(1, "info", "quadruped", TANGERE_MODELS=str(tmp_path))
    assert "mine" in message
    assert "TANGERE_MODELS" in refusal(1, "demo", TANGERE_MODELS=str(tmp_path / "nowhere"))


def test_two_dashes_end_the_options(tmp_path):
    file = tmp_path / "--json"
    file.write_text(QUADRUPED.read_text())
    done = subprocess.run(
        [COMMAND, "info", "--", "--json"], capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("quadruped")


# ---- info ----


def test_info_shows_what_is_there():
    m = tg.load(QUADRUPED)
    text = output("info", QUADRUPED)
    assert f"nq {m.nq}, nv {m.nv}, nu {m.nu}, na {m.na}" in text
    assert f"mass {m.mass:.6g} kg" in text
    assert re.search(rf"\ball +{m.nparams}\b", text)
    for kind in ("body", "joint", "actuator"):
        for name in m.names(kind):
            assert name in text
    assert "└─ trunk" in text


def test_info_draws_with_letters_where_there_is_no_utf8():
    text = output("info", QUADRUPED, LC_ALL="C")
    assert text.isascii()
    assert "`- trunk" in text


def test_tree_has_every_body_below_its_parent():
    m = tg.load(QUADRUPED)
    names = m.names("body")
    lines = output("info", QUADRUPED).split("\ntree\n")[1].split("\n\n")[0].split("\n")
    assert len(lines) == m.nbody
    path = []
    for body, line in enumerate(lines):
        depth = 0 if body == 0 else line.index("─") // 3 + 1
        path[depth:] = [names[body]]
        assert re.search(rf"(^|─ ){re.escape(names[body])}( |$)", line)
        if body > 0:
            assert path[-2] == names[m.body_parent[body]]


@pytest.mark.parametrize("name", model_files())
def test_info_json(name):
    m = tg.load(path_of(name))
    info = json.loads(output("info", path_of(name), "--json"))
    assert info["name"] == m.name
    for size, value in info["sizes"].items():
        assert value == getattr(m, size), size
    assert info["mass"] == pytest.approx(m.mass, rel=1e-14)
    np.testing.assert_array_equal(info["gravity"], m.params["gravity"])
    assert [body["name"] for body in info["bodies"]] == m.names("body")
    assert [body["parent"] for body in info["bodies"]] == m.body_parent.tolist()
    assert [joint["name"] for body in info["bodies"] for joint in body["joints"]] == m.names("joint")
    assert [actuator["name"] for actuator in info["actuators"]] == m.names("actuator")
    assert [key["name"] for key in info["keyframes"]] == m.names("key")
    assert sum(field["numbers"] for field in info["parameters"]) == m.nparams
    assert len(info["report"]) == len(m.report)


def test_info_json_escapes_names(tmp_path):
    file = tmp_path / "names.xml"
    file.write_text(
        '<mujoco model="a&quot;b\\c&#9;d é"><worldbody><body name="ü&quot;"><freejoint/>'
        '<geom size="1"/></body></worldbody></mujoco>'
    )
    info = json.loads(output("info", file, "--json"))
    assert info["name"] == tg.load(file).name
    assert info["bodies"][1]["name"] == 'ü"'


def test_info_json_with_a_path_that_is_not_utf8(tmp_path):
    file = os.fsencode(tmp_path) + b"/\xff\xc0.xml"
    with open(file, "wb") as stream:
        stream.write(QUADRUPED.read_bytes())
    done = subprocess.run([COMMAND, "info", file, "--json"], capture_output=True, env=environment(), check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout.decode())["file"].endswith("/\ufffd\ufffd.xml")


SOFT_AND_WINDY = (
    '<mujoco>\n<option wind="1 0 0"/><worldbody>\n<geom name="floor" type="plane" size="1 1 1" solref="0.1 1"/>'
    "</worldbody></mujoco>"
)


def test_report_in_short_and_in_full(tmp_path):
    file = tmp_path / "soft.xml"
    file.write_text(SOFT_AND_WINDY)
    short, full = output("info", file), output("info", file, "--report")
    counts = "honoured, 1 approximated, 1 ignored physics, 0 noted"
    assert counts in short
    assert counts in full
    assert f"{file}:2  option wind: there is no medium" in short
    assert "solref" not in short
    assert f"{file}:3  geom 'floor' solref: " in full
    report = tg.load(file).report
    assert full.count(f"{file}:") == len(report)


def test_report_on_a_terminal_has_colours(tmp_path):
    file = tmp_path / "soft.xml"
    file.write_text(SOFT_AND_WINDY)
    text = on_terminal("info", file, "--report")
    for kind in ("honoured", "approximated", "ignored physics"):
        assert re.search(rf"\x1b\[[\d;]+m{kind}", text)


@pytest.mark.parametrize("words", [["info"], ["params"], ["convert"], ["demo"]])
def test_strict(tmp_path, words):
    file = tmp_path / "soft.xml"
    file.write_text(SOFT_AND_WINDY)
    rest = [tmp_path / "out.xml"] if words == ["convert"] else []
    text = refusal(1, *words, file, *rest, "--strict")
    assert f"{file}:2: option: attribute 'wind' is ignored physics" in text
    assert "without --strict" in text
    assert not (tmp_path / "out.xml").exists()


LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><mesh filename="package://{}/box.stl"/></geometry></collision></link>'
)
URDF = (
    '<robot name="r">'
    + LINK.format("a", "one")
    + LINK.format("b", "two")
    + LINK.format("c", "two")
    + '<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>'
    '<joint name="bc" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>'
    '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
)


@pytest.fixture
def robot(tmp_path):
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    lines = ["solid x"]
    for face in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]):
        lines += ["facet normal 0 0 0", "outer loop", *("vertex {} {} {}".format(*corners[i]) for i in face)]
        lines += ["endloop", "endfacet"]
    for folder, package in (("here", "one"), ("there", "two")):
        (tmp_path / folder / package).mkdir(parents=True)
        (tmp_path / folder / package / "box.stl").write_text("\n".join([*lines, "endsolid x"]))
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "r.urdf").write_text(URDF)
    (tmp_path / "r.srdf").write_text('<robot name="r"><disable_collisions link1="a" link2="c" reason="x"/></robot>')
    return tmp_path


def test_options_for_urdf(robot):
    file = robot / "robots" / "r.urdf"
    paths = ["--package-path", robot / "here", f"--package-path={robot / 'there'}"]
    sizes = lambda *words: json.loads(output("info", file, "--json", *paths, *words))["sizes"]  # noqa: E731
    assert (sizes()["nv"], sizes()["nbody"], sizes()["nexclude"]) == (1, 2, 0)
    assert sizes("--floating-base")["nv"] == 7
    assert sizes("--keep-fixed")["nbody"] == 4
    assert sizes("--keep-fixed", "--srdf", robot / "r.srdf")["nexclude"] == 1
    few = ["--package-path", robot / "here"]
    assert "there is no such file" in refusal(1, "info", file, *few)
    assert "2 ignored physics" in output("info", file, "--ignore-missing-meshes", *few)
    assert "two/box.stl" in refusal(1, "info", file, "--package-path", robot / "here", "--strict")
    assert "needs a value" in refusal(2, "info", file, "--package-path")
    assert "takes no value" in refusal(2, "info", file, "--keep-fixed=yes")
    assert "did you mean '--keep-fixed'" in refusal(2, "info", file, "--keep-fixd")
    assert output("convert", file, robot / "out.xml", *paths, "--floating-base") == ""
    assert tg.load(robot / "out.xml").nv == 7


# ---- params ----


def test_params_lists_all():
    m = tg.load(QUADRUPED)
    lines = output("params", QUADRUPED).splitlines()
    assert [line.split()[0] for line in lines] == [entry.name for entry in m.param_slices()]
    values = [float(word) for line in lines for word in line.split()[1:]]
    np.testing.assert_allclose(values, np.asarray(m.params), rtol=ROUNDING)


def test_params_by_pattern():
    m = tg.load(QUADRUPED)
    lines = output("params", QUADRUPED, "body.*.mass").splitlines()
    assert len(lines) == m.nbody - 1
    assert "body.trunk.mass" in [line.split()[0] for line in lines]
    values = [float(line.split()[1]) for line in lines]
    np.testing.assert_allclose(values, m.params["body.*.mass"], rtol=ROUNDING)


def test_one_number_of_a_field():
    assert output("params", QUADRUPED, "gravity[2]").split() == ["gravity[2]", "-9.81"]


def test_params_json(tmp_path):
    file = tmp_path / "zoo.xml"
    file.write_text(ZOO)
    m = tg.load(file)
    table = json.loads(output("params", file, "--json"))
    assert list(table) == [entry.name for entry in m.param_slices()]
    for name, value in table.items():
        np.testing.assert_allclose(value, m.params[name], rtol=ROUNDING)
    assert json.loads(output("params", file, "--json", "gravity")) == {"gravity": [0.3, -0.2, -9.7]}


def test_params_without_a_match():
    message = refusal(1, "params", QUADRUPED, "body.*.mas")
    assert "body.*.mas" in message
    assert "hint: " in message


# ---- demo ----

TASKS = [
    "kinematics",
    "RNEA",
    "mass matrix",
    "forward dynamics",
    "RNEA derivatives",
    "forward dynamics derivatives",
    "RNEA VJP",
]


def times(text: str) -> dict[str, float]:
    found = re.findall(r"^  (\S.*?)  +\S.*? +(\d+\.\d\d) us$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_demo():
    m = tg.load(QUADRUPED)
    text = output("demo", "--states", 5)
    assert "loaded quadruped from " in text
    assert f"nq {m.nq}, nv {m.nv}" in text
    assert f"mass {m.mass:.6g} kg" in text
    assert f"{m.nparams} parameters" in text
    assert "└─ trunk" in text
    shown = times(text)
    assert list(shown) == TASKS
    assert all(value > 0 for value in shown.values())
    assert shown["RNEA"] < shown["RNEA derivatives"]
    assert text.count("they agree") == 2
    error = re.search(r"against central differences on the manifold +(\S+)", text)
    assert 0 < float(error.group(1)) < 1e-7


@pytest.mark.parametrize("name", own_files())
def test_demo_on_our_models(name):
    text = output("demo", path_of(name), "--states=2")
    assert text.count("they agree") == 2


def test_demo_where_nothing_moves(tmp_path):
    file = tmp_path / "still.xml"
    file.write_text('<mujoco><worldbody><geom type="sphere" size="1"/></worldbody></mujoco>')
    assert "nothing in this model can move" in output("demo", file)


# ---- streams ----


@pytest.mark.parametrize("words", [["info", QUADRUPED], ["params", QUADRUPED], ["demo", "--states=1"], ["help"]])
def test_no_colour_in_a_pipe(words):
    assert ESCAPE not in output(*words)


def test_colour_on_a_terminal():
    assert ESCAPE in on_terminal("info", QUADRUPED)
    assert ESCAPE in on_terminal("info", "no_such_file.xml")


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}])
def test_no_colour_where_it_is_not_wanted(changes):
    text = on_terminal("info", QUADRUPED, **changes)
    assert "trunk" in text
    assert ESCAPE not in text


def test_an_empty_no_color_counts_for_nothing():
    assert ESCAPE in on_terminal("info", QUADRUPED, NO_COLOR="")


def test_long_work_shows_how_far_it_is():
    main, terminal = pty.openpty()
    words = [COMMAND, "demo", "--states", "100000"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=terminal, env=environment())
    os.close(terminal)
    shown = os.read(main, 1000).decode()  # waits for the first of it
    process.kill()
    process.wait()
    os.close(main)
    assert re.search(r"timing: \d+ of 700000, 2 s", shown)


def test_json_on_a_terminal_has_no_colour():
    assert ESCAPE not in on_terminal("info", QUADRUPED, "--json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, "info", QUADRUPED], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), check=False
        )
    assert done.returncode == 1
    assert "cannot write" in done.stderr
