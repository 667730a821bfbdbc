"""Recorded trajectories: what is read, and what is refused, by file, line and column."""

import importlib

import numpy as np
import pytest
import tangere as tg

SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 0.1"/>
<body name="cube" pos="0 0 0.05"><freejoint/><geom name="cube" type="box" size="0.05 0.05 0.05" mass="1"/>
<site name="corner" pos="0.05 0.05 0.05"/></body></worldbody></mujoco>"""
ARM = """<mujoco><worldbody><body name="a"><joint name="swing" type="hinge" axis="0 1 0"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5" mass="1"/></body></worldbody></mujoco>"""
HEAD = "time,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n"


def rows(n=6, dt=0.01, speed=1.0):
    return [[i * dt, speed * i * dt, 0, 0.05, 1, 0, 0, 0, speed, 0, 0, 0, 0, 0] for i in range(n)]


def write(tmp_path, table, head=HEAD):
    path = tmp_path / "log.csv"
    path.write_text(head + "\n".join(",".join(map(str, row)) for row in table) + "\n")
    return path


@pytest.fixture
def m():
    return tg.load_string(SCENE)


def test_csv_npz_and_arrays_are_the_same_log(m, tmp_path):
    table = np.array(rows())
    csv = tg.read_log(m, write(tmp_path, table))
    np.savez(tmp_path / "log.npz", time=table[:, 0], q=table[:, 1:8], v=table[:, 8:])
    npz = tg.read_log(m, tmp_path / "log.npz")
    given = tg.read_log(m, {"time": table[:, 0], "q": table[:, 1:8], "v": table[:, 8:]})
    for log in (npz, given):
        assert np.array_equal(csv.time, log.time)
        assert np.array_equal(csv.channels["q"], log.channels["q"])
        assert np.array_equal(csv.channels["v"], log.channels["v"])


def test_other_names_rates_joints_and_sites(m, tmp_path):
    table = np.array(rows())
    path = write(tmp_path, table[:, 1:], HEAD.removeprefix("time,").replace("x,y", "east,y", 1))
    with pytest.raises(tg.Error, match="unknown column"):
        tg.read_log(m, path, rate=100)
    log = tg.read_log(m, path, rate=100, columns={"east": "x"})
    assert np.allclose(log.time, table[:, 0])
    path.write_text("time,site.corner.x,site.corner.y,site.corner.z,extra\n0,1,2,3,9\n1,1,2,3,9\n")
    assert tg.read_log(m, path, ignore=["extra"]).channels["site.corner"].shape == (2, 3)
    arm = tg.load_string(ARM)
    path.write_text("time,joint.swing,joint.swing.v\n0,1,0\n0.1,1.1,1\n")
    assert tg.read_log(arm, path).channels["joint.swing"].tolist() == [1, 1.1]


def broken(change):
    table = [list(row) for row in rows()]
    change(table)
    return table


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t[3].__setitem__(2, "nan"), r"line 5, column 'y': nan is not a number"),
        (lambda t: t[3].__setitem__(2, "abc"), r"line 5, column 'y': 'abc' is not a number"),
        (lambda t: t[4].__setitem__(0, 0.02), r"line 6, column 'time': 0.02 s is not after 0.03 s"),
        (lambda t: t[2].__setitem__(4, 1.2), r"line 4, column 'qw'.*length 1.2"),
        (lambda t: t[2].pop(), r"line 4: expected 14 columns, got 13"),
        (lambda t: [row.__setitem__(8, 2.5) for row in t], r"line \d, column 'vx': .*0.4 times the velocities, here"),
        (lambda t: t.clear(), r"there are no rows"),
        (lambda t: t.__delitem__(slice(1, None)), r"1 row; a trajectory has two"),
    ],
)
def test_bad_rows_are_refused_with_their_place(m, tmp_path, change, words):
    with pytest.raises(tg.Error, match=words) as refusal:
        tg.read_log(m, write(tmp_path, broken(change)))
    assert "log.csv" in str(refusal.value)


def test_bad_files_and_columns(m, tmp_path):
    path = tmp_path / "log.csv"
    with pytest.raises(tg.Error, match="no such file"):
        tg.read_log(m, path)
    path.write_text("")
    with pytest.raises(tg.Error, match="the file is empty"):
        tg.read_log(m, path)
    path.write_text("1,2,3\n4,5,6\n")
    with pytest.raises(tg.Error, match="line 1: expected names of columns, got numbers"):
        tg.read_log(m, path)
    with pytest.raises(tg.Error, match=r"log\.csv, line 1: missing columns 'vz', 'wx'"):
        tg.read_log(m, write(tmp_path, [row[:10] + row[12:] for row in rows()], HEAD.replace("vz,wx,", "")))
    with pytest.raises(tg.Error, match=r"there is no column 'time'; give rate"):
        tg.read_log(m, write(tmp_path, [row[1:] for row in rows()], HEAD.removeprefix("time,")))
    with pytest.raises(tg.Error, match=r"did you mean 'site.corner.x'"):
        tg.read_log(m, {"time": [0, 1], "site.korner.x": [0, 1]})
    with pytest.raises(tg.Error, match="periods of 30 Hz"):
        tg.read_log(m, write(tmp_path, rows()), rate=30)
    path = tmp_path / "log.npz"
    path.write_text("no")
    with pytest.raises(tg.Error, match=r"log.npz: not an .npz file"):
        tg.read_log(m, path)


def test_gaps_are_taken_where_they_are_asked_for(m, tmp_path):
    table = broken(lambda t: t[3].__setitem__(2, ""))
    with pytest.raises(tg.Error, match="nan is not a number"):
        tg.read_log(m, write(tmp_path, table))
    log = tg.read_log(m, write(tmp_path, table), missing="skip")
    assert np.isnan(log.channels["q"][3, 1])
    assert len(tg.read_log(m, write(tmp_path, [*rows()[:3], *rows()[5:]]))) == 4  # rows that are not there


def test_a_log_that_was_given_stays_as_it_is(m):
    q = np.array(rows())[:, 1:8]
    q[:, 3] = 1 + 5e-5  # within what is taken as rounding
    log = tg.Log("mine", np.arange(6) * 0.01, {"q": q})
    read = tg.read_log(m, log)
    assert log.channels["q"] is q
    assert np.all(q[:, 3] == 1 + 5e-5)
    assert np.allclose(read.channels["q"][:, 3], 1, atol=1e-15)


MU = "geom.cube.friction[0]"
BAD = {  # what is wrong, further words of the command, what is said
    "missing column": (lambda t: [row.__delitem__(3) for row in t], [], "log.csv, line 1: missing column 'z'"),
    "nan": (lambda t: t[3].__setitem__(2, "nan"), [], "log.csv, line 5, column 'y': nan is not a number"),
    "word": (lambda t: t[3].__setitem__(2, "1e"), [], "log.csv, line 5, column 'y': '1e' is not a number"),
    "rate": (None, ["--rate", "30"], "log.csv, line 3, column 'time': 0.3 periods of 30 Hz"),
    "backwards": (
        lambda t: t[4].__setitem__(0, 0.02),
        [],
        "log.csv, line 6, column 'time': 0.02 s is not after 0.03 s",
    ),
    "quaternion": (lambda t: t[2].__setitem__(4, 0.9), [], "log.csv, line 4, column 'qw': the quaternion"),
    "short row": (lambda t: t[2].pop(), [], "log.csv, line 4: expected 14 columns, got 13"),
    "empty": (lambda t: t.clear(), [], "log.csv: there are no rows"),
    "bounds": (None, ["--bounds", f"{MU}=2:1"], f"bounds of '{MU}': 2 is above 1"),
    "half a bound": (None, ["--bounds", f"{MU}=2"], "--bounds: expected NAME=NUMBER:NUMBER"),
    "name": (None, ["--params", "geom.cub.friction[0]"], "did you mean 'geom.cube.friction'"),
    "columns": (None, ["--columns", "x"], "--columns: expected THEIRS=OURS, got 'x'"),
    "tie": (None, ["--tie", MU], "tie: expected lists of two or more names"),
    "initial": (None, ["--initial", "p[0]"], "initial: expected 'q', 'v'"),
    "method": (None, ["--method", "newton"], "method: expected"),
    "horizon": (None, ["--horizon", "0"], "horizon = 0 must be at least 1"),
}


@pytest.mark.parametrize("kind", BAD)
def test_the_command_says_what_is_wrong(m, tmp_path, capsys, kind):
    """Exit code 1 and one line that names file, line and column, or the option; no traceback."""
    change, words, said = BAD[kind]
    table = broken(change or (lambda _: None))
    head = HEAD.replace("z,qw", "qw") if kind == "missing column" else HEAD
    m.save(tmp_path / "cube.xml")
    path = write(tmp_path, table, head)
    names = [] if "--params" in words else ["--params", MU]
    code = importlib.import_module("tangere.fit").main([str(tmp_path / "cube.xml"), str(path), *names, *words])
    told = capsys.readouterr().err
    assert code == 1
    assert said in told
    assert told.count("\n") == 1


def test_windows_without_a_start_are_told(m, tmp_path):
    table = broken(lambda t: t[2].__setitem__(2, ""))
    log = tg.read_log(m, write(tmp_path, table), missing="skip")
    f = tg.fit(m, log, [MU], horizon=1, noise=1.0, log_options={"missing": "skip"})
    assert any("1 windows are left out" in note for note in f.notes)


def test_what_the_data_do_not_show_is_told(m, tmp_path):
    f = tg.fit(m, write(tmp_path, rows()), ["body.cube.mass"], noise=1e-3)
    assert [d.change for d in f.unobservable] == [{"body.cube.mass": 1.0}]
    assert np.isnan(f.error("body.cube.mass"))
