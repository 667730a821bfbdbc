"""Simulation: the state, what a step tells, refusals, and that a trajectory is the same bit by bit."""

import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import tangere as tg
from support import ROOT, ZOO

QUADRUPED = ROOT / "models" / "quadruped.xml"
GRAVITY = 9.81

BALL = """
<mujoco model="ball">
  <option timestep="0.001"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction="0.5"/>
    <body name="ball" pos="0 0 0.1">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.1" mass="2" friction="0.5"/>
    </body>
  </worldbody>
</mujoco>
"""


def pile(n: int) -> tg.Model:
    """n boxes side by side on a floor: 4 n contacts."""
    box = '<body pos="%g 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>'
    boxes = "".join(box % (0.3 * i) for i in range(n))
    return tg.load_string(f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{boxes}</worldbody></mujoco>')


@pytest.fixture
def robot() -> tg.Model:
    return tg.load(QUADRUPED)


def dropped(m: tg.Model, **options) -> tg.Sim:
    sim = tg.Sim(m, **options)
    sim.reset("home")
    q = sim.q.copy()
    q[2] += 0.3
    sim.q = q
    return sim


def run(sim: tg.Sim, steps: int) -> list[bytes]:
    """Bytes of every state; controls and forces differ from step to step."""
    ctrl = sim.model.key("home").ctrl
    out = []
    for _ in range(steps):
        i = round(sim.time / sim.dt)
        sim.step(u=ctrl + 0.1 * np.sin(0.05 * i), tau=np.full(sim.model.nv, 0.01 * (i % 3)))
        out.append(sim.q.tobytes() + sim.v.tobytes() + sim.cache.tobytes())
    return out


# ---- the state ----


def test_starts_at_the_reference(robot):
    sim = tg.Sim(robot)
    np.testing.assert_array_equal(sim.q, robot.default_q())
    assert (sim.v == 0).all()
    assert (sim.time, sim.dt, sim.model) == (0, robot.timestep, robot)
    assert not sim.stepped
    assert sim.cache.size == 0
    assert "quadruped" in repr(sim)


def test_reset_to_a_keyframe():
    m = tg.load_string(ZOO)
    sim = tg.Sim(m)
    sim.step()
    for key in ("up", 0):
        sim.reset(key)
        frame = m.key(key)
        for actual, wanted in ((sim.q, frame.q), (sim.v, frame.v), (sim.act, frame.act)):
            np.testing.assert_array_equal(actual, wanted)
        assert (sim.time, sim.stepped, sim.cache.size) == (0.5, False, 0)
    with pytest.raises(tg.UnknownNameError, match="no key 'down'"):
        sim.reset("down")


def test_keyframes_without_a_name_go_by_number():
    m = tg.load_string(
        "<mujoco><worldbody><body><joint type='slide'/><geom size='0.1'/></body></worldbody>"
        "<keyframe><key qpos='0.25'/><key qpos='0.5'/></keyframe></mujoco>"
    )
    sim = tg.Sim(m)
    for key, wanted in ((0, 0.25), ("#0", 0.25), (1, 0.5), ("#1", 0.5)):
        sim.reset(key)
        assert sim.q[0] == wanted
    with pytest.raises(tg.UnknownNameError, match="no key ''; expected one of '#0', '#1'"):
        sim.reset("")


def test_push_rate_is_how_fast_a_hinge_is_pushed_out():
    m = tg.load_string(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='hinge' range='-0.5 0.5' limited='true'/>"
        "<geom size='0.1' pos='0.2 0 0'/></body></worldbody></mujoco>"
    )
    for rate in (0.05, 0.2):
        sim = tg.Sim(m, dt=0.01, push_rate=rate)
        sim.q = [0.6]
        sim.step()
        assert sim.v[0] == pytest.approx(-rate, abs=1e-12)
    with pytest.raises(tg.Error, match="push_rate"):
        tg.Sim(m, push_rate=0.0)


def test_lever_does_not_change_what_rows_determine():
    """A hinge and a slide with dry friction that a coupling holds together: which of them bears a load depends on the
    lever, how they move does not."""
    m = tg.load_string(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='turn' axis='0 0 1' frictionloss='1e3'/>"
        "<geom size='0.1' mass='1'/></body><body pos='0 0 1'><joint name='slide' type='slide' axis='1 0 0' "
        "frictionloss='1e3'/><geom size='0.1' mass='1'/></body></worldbody>"
        "<equality><joint joint1='turn' joint2='slide'/></equality>"
        "<actuator><motor joint='slide'/></actuator></mujoco>"
    )
    speeds = []
    for lever in (0.125, 1.0, 8.0):
        sim = tg.Sim(m, lever=lever)
        sim.step([300.0])
        assert sim.info.status == tg.StepStatus.SOLVED
        speeds.append(np.abs(sim.v).max())
    assert max(speeds) < 1e-9
    with pytest.raises(tg.Error, match="lever"):
        tg.Sim(m, lever=0.0)


def test_reach_is_how_near_pairs_are_in_the_problem():
    m = tg.load_string(
        "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 0.105'>"
        "<freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    for reach, wanted in ((0.001, 0), (0.01, 1)):
        sim = tg.Sim(m, reach=reach, cold=True)  # others do without rows that open
        sim.step()
        assert len(sim.info.contacts.gap) == wanted
    with pytest.raises(tg.Error, match="reach"):
        tg.Sim(m, reach=-1.0)


def test_states_are_set_and_copied(robot):
    sim = tg.Sim(robot)
    q, v = robot.random_state(seed=3)
    sim.q, sim.v, sim.time = q, v, 2.5
    q[:], v[:] = np.nan, np.nan
    wanted = robot.random_state(seed=3)
    np.testing.assert_array_equal(sim.q, wanted.q)
    np.testing.assert_array_equal(sim.v, wanted.v)
    assert sim.time == 2.5
    with pytest.raises(ValueError, match="read-only"):
        sim.q[0] = 1.0
    before = sim.q
    kept = before.copy()
    sim.step()
    np.testing.assert_array_equal(before, kept)
    assert (sim.q != kept).any()


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("q", np.zeros(3), ValueError, r"q: expected shape \(19,\), got \(3,\)"),
        ("q", np.full(19, np.nan), tg.Error, r"q\[0\] is nan"),
        ("q", np.zeros(19), tg.Error, "quaternion"),
        ("v", np.zeros((18, 1)), ValueError, "v: expected shape"),
        ("v", np.r_[np.zeros(17), np.inf], tg.Error, r"v\[17\] is inf"),
        ("v", ["a"] * 18, TypeError, "v: expected real numbers"),
        ("act", [1.0], ValueError, r"act: expected shape \(0,\)"),
        ("time", np.nan, tg.Error, "time is nan"),
    ],
)
def test_wrong_states_are_refused(robot, field, value, error, message):
    sim = tg.Sim(robot)
    before = getattr(sim, field)
    with pytest.raises(error, match=message):
        setattr(sim, field, value)
    assert getattr(sim, field) is before


# ---- steps ----


def test_free_fall():
    m = tg.load_string(BALL)
    sim = tg.Sim(m)
    q = sim.q.copy()
    q[2] = 5
    sim.q = q
    for _ in range(100):
        sim.step()
    assert sim.time == pytest.approx(0.1)
    assert sim.v[2] == pytest.approx(-GRAVITY * 0.1, rel=1e-13)
    assert sim.q[2] == pytest.approx(5 - GRAVITY * 0.001**2 * 100 * 101 / 2, rel=1e-13)
    assert (sim.info.ncontact, sim.info.iterations, sim.info.residual) == (0, 0, 0)


def test_info_of_a_ball_at_rest():
    m = tg.load_string(BALL)
    sim = tg.Sim(m)
    sim.step(tau=[1.0, 0, 0, 0, 0, 0])  # less than friction holds, but the ball rolls
    info = sim.info
    c = info.contacts
    assert info.status == tg.StepStatus.SOLVED
    assert (info.ncontact, info.rows, info.islands) == (1, 3, 1)
    assert info.residual == max(info.primal, info.dual, info.complementarity) <= 1e-12
    assert (c.geom1.tolist(), c.geom2.tolist(), c.mode.tolist()) == ([0], [1], [tg.ContactMode.STICKING])
    np.testing.assert_allclose(c.point, [[0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(c.normal, [[0, 0, 1]])
    assert abs(c.distance[0]) < 1e-12
    # a solid ball that rolls: friction is 2/7 of the pull
    np.testing.assert_allclose(c.force, [[-2 / 7, 0, 2 * GRAVITY]], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(c.torque, np.zeros((1, 3)))
    assert sorted(np.abs(c.local[0])) == pytest.approx([0, 0, 0, 0, 2 / 7, 2 * GRAVITY], abs=1e-9)
    # what is nearest is breaking: the speed that the contact takes away, less than the share of friction that is left
    assert c.margin[0] == pytest.approx(GRAVITY * m.timestep, rel=1e-9)
    assert info.energy == m.energy(sim.q, sim.v)
    assert info.penetration == pytest.approx(0, abs=1e-12)
    assert 0 < info.capacity <= 1
    assert "solved" in repr(info)


def test_effort_bounds_the_factorisations_of_an_island():
    """Dropped on its feet, a robot has steps that take more than one factorisation; with one they are partial."""
    bounded, free = tg.Sim(tg.load(QUADRUPED), effort=1), tg.Sim(tg.load(QUADRUPED))
    partial, most = 0, 0
    for _ in range(300):
        free.step()
        bounded.step()
        most = max(most, free.info.worst)
        partial += bounded.info.status == tg.StepStatus.PARTIAL
        assert free.info.worst <= free.info.iterations
        assert free.info.status == tg.StepStatus.SOLVED
        assert free.info.worst == 0 or free.info.stage != tg.SolvedBy.NOTHING
        assert bounded.info.worst <= 2  # once more without the push of overlaps
    assert most > 1
    assert partial > 0
    start = tg.Sim(tg.load(QUADRUPED))
    r = tg.rollout(start.model, start.q, start.v, 300)
    assert r.info.worst.max() == most
    assert set(r.info.stage) <= {int(s) for s in tg.SolvedBy}


def test_work_of_the_impulses_is_what_the_energy_loses():
    """A ball that falls on the floor: kinetic energy before, less what is left, less what gravity does in the step."""
    m = tg.load_string(BALL)
    sim = tg.Sim(m)
    sim.v = [0, 0, -1.0, 0, 0, 0]
    before = m.energy(sim.q, sim.v).kinetic
    sim.step()
    free = 0.5 * 2 * (1 + GRAVITY * 0.001) ** 2
    assert free > before
    assert sim.info.work == pytest.approx(m.energy(sim.q, sim.v).kinetic - free, rel=1e-12)


def test_old_infos_keep_their_contacts(robot):
    sim = tg.Sim(robot)
    sim.reset("home")
    ctrl = robot.key("home").ctrl
    infos = []
    for _ in range(3):
        sim.step(ctrl)
        infos.append(sim.info)
        assert sim.info is infos[-1]
    forces = [info.contacts.force for info in infos]
    for info, force in zip(infos, forces, strict=True):
        assert force.shape == (info.ncontact, 3)
    again = tg.Sim(robot)
    again.reset("home")
    for force in forces:
        again.step(ctrl)
        np.testing.assert_array_equal(again.info.contacts.force, force)
    last = sim.info
    sim.reset()
    assert not sim.stepped
    np.testing.assert_array_equal(last.contacts.force, forces[-1])


def test_wrench_and_generalised_force_agree(robot):
    """A force at the centre of mass of a body is J^T of it."""
    sim, other = dropped(robot), dropped(robot)
    body = robot.index("body", "front_left_shank")
    wrench = np.zeros((robot.nbody, 6))
    wrench[body] = [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]
    com = np.asarray(robot.params["body.front_left_shank.com"])
    tau = robot.body_jacobian(body, sim.q, com).T @ wrench[body]
    sim.step(wrench=wrench)
    other.step(tau=tau)
    np.testing.assert_allclose(sim.v, other.v, rtol=0, atol=1e-12)
    for bad in (np.zeros(6), np.zeros(6 * robot.nbody)):
        with pytest.raises(ValueError, match=r"wrench: expected shape \(14, 6\)"):
            sim.step(wrench=bad)


def test_parameters_count_from_the_next_step_on(robot):
    sim, copy = dropped(robot), dropped(robot.copy())
    sim.step()
    copy.step()
    robot.params["gravity"] = [0, 0, 0.0]
    assert sim.params["gravity[2]"] == 0
    function = tg.step(robot, sim.q, sim.v, cache=sim.cache)[1]
    sim.step()
    copy.step()
    # in the air: gravity moves the robot as a whole
    np.testing.assert_allclose(sim.v - copy.v, GRAVITY * sim.dt * np.eye(robot.nv)[2], atol=1e-12)
    assert function.tobytes() == sim.v.tobytes()
    sim.params = robot.default_params
    np.testing.assert_array_equal(np.asarray(robot.params), robot.default_params)


def test_options():
    m = tg.load_string(BALL)
    m.params["geom.ball.restitution"] = 0.5
    for solver in ("newton", "ipm", "pgs"):
        sim = tg.Sim(m, dt=0.002, solver=solver)
        sim.v = [0, 0, -1.0, 0, 0, 0]
        sim.step()
        assert sim.v[2] == pytest.approx(0.5, rel=1e-9)
    quiet = tg.Sim(m, rest_speed=2.0)
    quiet.v = [0, 0, -1.0, 0, 0, 0]
    quiet.step()
    assert quiet.v[2] == pytest.approx(0, abs=1e-12)
    deep = m.default_q()
    deep[2] -= 0.01
    _, v, info = tg.step(m, deep, np.zeros(6), push_speed=0.2)
    assert v[2] == pytest.approx(0.2, rel=1e-9)
    assert info.penetration == pytest.approx(0.01)


# ---- the function ----


def test_the_function_is_the_step_of_a_sim(robot):
    sim = dropped(robot)
    ctrl = robot.key("home").ctrl
    q, v, cache = sim.q, sim.v, None
    for _ in range(300):
        sim.step(ctrl)
        q, v, info = tg.step(robot, q, v, u=ctrl, cache=cache)
        cache = info.cache
        assert q.tobytes() == sim.q.tobytes()
        assert v.tobytes() == sim.v.tobytes()
    assert info.ncontact > 0
    np.testing.assert_array_equal(info.contacts.force, sim.info.contacts.force)
    assert info.energy == sim.info.energy


def test_activations_of_the_function():
    m = tg.load_string(ZOO)
    sim = tg.Sim(m)
    u, act = np.linspace(-1, 1, m.nu), np.array([0.1, -0.2, 0.3])
    sim.act = act
    sim.step(u)
    _, _, info = tg.step(m, m.default_q(), np.zeros(m.nv), act, u)
    np.testing.assert_array_equal(info.act, sim.act)
    assert (info.act != act).all()
    _, _, none = tg.step(m, m.default_q(), np.zeros(m.nv))
    np.testing.assert_array_equal(none.act, np.zeros(3))


# ---- the same, bit by bit ----


def test_run_twice(robot):
    first, second = run(dropped(robot), 400), run(dropped(tg.load(QUADRUPED)), 400)
    assert first == second


def test_from_a_state_saved_in_the_middle(robot):
    sim = dropped(robot)
    run(sim, 150)
    saved = pickle.loads(pickle.dumps(sim.save()))
    wanted = run(sim, 150)
    sim.restore(saved)
    assert run(sim, 150) == wanted
    fresh = tg.Sim(tg.load(QUADRUPED))
    fresh.restore(saved)
    assert fresh.time == saved.time
    assert run(fresh, 150) == wanted
    assert len(saved.cache) > 0


def test_in_another_process(robot, tmp_path):
    sim = dropped(robot)
    run(sim, 150)
    (tmp_path / "state").write_bytes(pickle.dumps(sim.save()))
    code = f"""
import pickle, sys
sys.path.insert(0, {str(ROOT / "tests" / "python")!r})
import tangere as tg
from test_sim import QUADRUPED, dropped, run
sim = dropped(tg.load(QUADRUPED))
run(sim, 150)
other = tg.Sim(sim.model)
other.restore(pickle.load(open("state", "rb")))
for a, b in zip(sim.save()[1:], other.save()[1:]):
    assert a.tobytes() == b.tobytes()
open("trajectory", "wb").write(b"".join(run(other, 150)))
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "trajectory").read_bytes() == b"".join(run(sim, 150))


def test_in_several_threads(robot):
    wanted = run(dropped(robot), 200)
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: run(dropped(robot), 200)})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[i] == wanted for i in range(4))


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dt": -0.001}, tg.Error, r"dt = -0.001 must be in \(0, 1e\+06\]"),
        ({"dt": 0.0}, tg.Error, "dt = 0 "),
        ({"dt": np.nan}, tg.Error, "dt = nan"),
        ({"dt": 2e6}, tg.Error, r"dt = 2e\+06 "),
        ({"restitution": "elastic"}, ValueError, "restitution: expected 'newton' or 'poisson', got 'elastic'"),
        ({"rest_speed": -1.0}, tg.Error, "rest_speed = -1"),
        ({"effort": 0}, tg.Error, "effort = 0 must be positive"),
        ({"colour": "red"}, TypeError, "colour"),
        ({"solver": 3}, TypeError, None),
    ],
)
def test_wrong_options(robot, options, error, message):
    with pytest.raises(error, match=message):
        tg.Sim(robot, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "magic"}, "solver: expected 'newton', .* got 'magic'"),
        ({"tolerance": 0.0}, "tolerance = 0 must be in"),
        ({"push_speed": -1.0}, "push_speed = -1"),
        ({"push_gain": 1.5}, "push_gain = 1.5"),
    ],
)
def test_options_that_the_library_refuses(robot, options, message):
    with pytest.raises(tg.Error, match=message):
        tg.Sim(robot, **options)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"u": np.zeros(3)}, ValueError, r"u: expected shape \(12,\), got \(3,\)"),
        ({"u": np.full(12, np.nan)}, tg.Error, r"control.u\[0\] = nan: must be finite"),
        ({"tau": np.full(18, np.inf)}, tg.Error, r"control.tau\[0\] = inf: must be finite"),
        ({"tau": np.full(18, 1e308)}, tg.Error, "after the step is"),
        ({"tau": ["x"] * 18}, TypeError, "tau: expected real numbers"),
        ({"wrench": np.full((14, 6), np.nan)}, tg.Error, r"control.wrench\[0\] = nan: must be finite"),
    ],
)
def test_a_step_that_fails_changes_nothing(robot, arguments, error, message):
    sim = dropped(robot)
    ctrl = robot.key("home").ctrl
    for _ in range(150):
        sim.step(ctrl)
    before = sim.save()
    with pytest.raises(error, match=message):
        sim.step(**arguments)
    for a, b in zip(before[1:], sim.save()[1:], strict=True):
        assert a is b
    assert sim.time == before.time
    sim.step(ctrl)
    other = tg.Sim(robot)
    other.restore(before)
    other.step(ctrl)
    assert sim.q.tobytes() == other.q.tobytes()


def test_wrong_states_of_the_function(robot):
    q, v = robot.random_state(seed=0)
    for bad in (np.full(19, np.nan), np.r_[q[:18], np.inf]):
        with pytest.raises(tg.Error, match=r"q\[(0|18)\]"):
            tg.step(robot, bad, v)
    with pytest.raises(ValueError, match="v: expected shape"):
        tg.step(robot, q, v[:3])
    with pytest.raises(tg.Error, match="dt"):
        tg.step(robot, q, v, dt=-1)


def test_a_saved_state_of_another_model(robot):
    sim = tg.Sim(robot)
    before = sim.q
    with pytest.raises(ValueError, match="q: expected shape"):
        sim.restore(tg.Sim(tg.load_string(BALL)).save())
    assert sim.q is before


# ---- capacity ----


def test_room_for_contacts_grows_by_itself():
    m = pile(120)
    sim = tg.Sim(m)
    sim.step()
    assert sim.info.ncontact == 480
    assert sim.info.status == tg.StepStatus.SOLVED
    vertical = sim.info.contacts.force[:, 2].sum()
    assert vertical == pytest.approx(120 * GRAVITY, rel=1e-9)
    assert len(tg.step(m, sim.q, sim.v)[2].contacts.geom1) == 480


def test_more_contacts_than_allowed():
    m = pile(3)
    sim = tg.Sim(m, max_contacts=11)
    before = sim.save()
    with pytest.raises(tg.Error, match="12 contact points in one step; max_contacts is 11"):
        sim.step()
    assert sim.q is before.q
    assert tg.Sim(m, max_contacts=12).step() is None


STIFF = """<mujoco model="stiff"><option timestep="0.01"/><worldbody><body><joint name="j" stiffness="{k}"/>
<geom size="0.1" mass="1"/></body></worldbody></mujoco>"""


def test_a_time_step_that_is_too_long_is_said_at_load():
    """dt < 2 / sqrt(k / I) of a spring; once at load, and by `Sim` for another dt or other options."""
    inertia = 0.4 * 0.1**2
    with pytest.warns(UserWarning, match=r"timestep = 0\.01 s: .* of 'stiff' are stable up to 0\.00632"):
        m = tg.load_string(STIFF.format(k=400))
    assert tg.Sim(m, dt=1e-3).stable_dt == pytest.approx(2 / np.sqrt(400 / inertia), rel=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.load_string(STIFF.format(k=100))
        tg.Sim(m)
    with pytest.warns(UserWarning, match=r"dt = 0\.02 s"):
        tg.Sim(m, dt=0.02)
