"""Recorded trajectories: what is read, and what is refused, by file, line and column."""

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
        (lambda t: t[3].__setitem__(2, "nan"), r"line 5, column 'q\[1\]': nan is not a number"),
        (lambda t: t[3].__setitem__(2, "abc"), r"line 5, column 'y': 'abc' is not a number"),
        (lambda t: t[4].__setitem__(0, 0.02), r"line 6, column 'time': 0.02 s is not after 0.03 s"),
        (lambda t: t[2].__setitem__(4, 1.2), r"line 4, column 'q\[3\]'.*length 1.2"),
        (lambda t: t[2].pop(), r"line 4: expected 14 columns, got 13"),
        (lambda t: [row.__setitem__(8, 2.5) for row in t], r"0.4 times the velocities: is the rate right"),
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
    with pytest.raises(tg.Error, match="missing columns 'vz', 'wx'"):
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
