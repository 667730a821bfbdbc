"""tangere collide: the table, JSON, keyframes, colours, wrong usage."""

import json

import numpy as np
import pytest
import tangere as tg
from support import model_files, path_of
from test_cli import ESCAPE, QUADRUPED, ROUNDING, on_terminal, output, refusal

BOX = """
<mujoco model="resting">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body pos="0 0 0.099"><freejoint/><geom type="box" size="0.2 0.3 0.1"/></body>
  </worldbody>
  <keyframe>
    <key name="above" qpos="0 0 5 1 0 0 0"/>
    <key qpos="0 0 0.05 1 0 0 0"/>
  </keyframe>
</mujoco>
"""


@pytest.fixture
def box(tmp_path):
    path = tmp_path / "box.xml"
    path.write_text(BOX)
    return path


def test_table(box):
    text = output("collide", box)
    lines = text.splitlines()
    assert lines[0] == f"resting  {box}"
    assert lines[1] == "reference configuration: 4 contacts of 1 pair (2 geoms, 1 pairs that may collide)"
    assert lines[3].split() == ["geom1", "geom2", "distance", "(m)", "point", "normal"]
    assert len(lines) == 8
    for line in lines[4:]:
        first, second, distance, *numbers = line.split()
        assert (first, second, float(distance)) == ("floor", "#1", pytest.approx(-0.001))
        assert np.abs([float(x) for x in numbers]) == pytest.approx([0.2, 0.3, 0.0005, 0, 0, 1])
    assert ESCAPE not in text


def test_keyframes(box):
    line = output("collide", box, "--key", "above").splitlines()[1]
    assert line.startswith("keyframe 'above': 0 contacts of 0 pairs")
    assert "-5.000000e-02" in output("collide", box, "--key=#1")


def test_json(box):
    found = json.loads(output("collide", box, "--json", "--key", "#1"))
    assert (found["name"], found["key"], found["ngeom"], found["ncandidate"]) == ("resting", "#1", 2, 1)
    assert found["q"] == [0, 0, 0.05, 1, 0, 0, 0]
    assert [c["distance"] for c in found["contacts"]] == pytest.approx([-0.05] * 4)
    assert {(c["name1"], c["name2"]) for c in found["contacts"]} == {("floor", "")}
    empty = json.loads(output("collide", box, "--json", "--key", "above"))
    assert empty["contacts"] == []
    assert "key" not in json.loads(output("collide", box, "--json"))


@pytest.mark.parametrize("name", model_files())
def test_json_agrees_with_python(name):
    m = tg.load(path_of(name))
    keys = [f"#{i}" for i in range(m.nkey)]
    for key in [None, *keys[:2]]:
        found = json.loads(output("collide", path_of(name), "--json", *([] if key is None else ["--key", key])))
        q = m.default_q() if key is None else m.key(int(key[1:])).q
        c = m.collide(q)
        assert found["q"] == q.tolist()
        assert [x["geom1"] for x in found["contacts"]] == c.geom1.tolist()
        assert [x["geom2"] for x in found["contacts"]] == c.geom2.tolist()
        assert [int(x["id"]) for x in found["contacts"]] == c.id.tolist()
        if c.distance.size:
            for field in ("point", "normal", "distance"):
                actual = np.array([x[field] for x in found["contacts"]])
                assert np.abs(actual - getattr(c, field)).max() < 1e4 * ROUNDING


def test_colours_on_a_terminal(box):
    assert ESCAPE in on_terminal("collide", box)
    assert ESCAPE not in on_terminal("collide", box, NO_COLOR="1")
    assert ESCAPE not in on_terminal("collide", box, "--json")


def test_a_model_that_comes_with_the_command():
    assert output("collide", "quadruped") == output("collide", QUADRUPED)


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        ([], 2, ["collide: an argument is missing", "tangere collide MODEL"]),
        (["{box}", "more"], 2, ["one argument too many: 'more'"]),
        (["{box}", "--key"], 2, ["needs a value: '--key'"]),
        (["{box}", "--jsn"], 2, ["unknown option '--jsn'", "did you mean '--json'"]),
        (["{box}", "--key", "abov"], 1, ["no keyframe 'abov'", "did you mean 'above'"]),
        (["{box}", "--key", "zzzzzz"], 1, ["no keyframe 'zzzzzz'", "the model has 2"]),
        (["{box}", "--key", "#2"], 1, ["no keyframe '#2'"]),
        (["nowhere.xml"], 1, ["nowhere.xml"]),
    ],
)
def test_refused(box, words, code, parts):
    message = refusal(code, "collide", *(word.format(box=box) for word in words))
    for part in parts:
        assert part in message


def test_help():
    assert output("collide", "--help").startswith("usage: tangere collide MODEL [--key NAME] [--json]\n")
    assert "\n  collide " in output("help")
