"""SUPERball from ten samples per second: data, training and its variants, contact parameters, plans for MuJoCo."""

import dataclasses
import json

import numpy as np
import pytest
import tangere as tg
from tangere.tensegrity import checker, command, contact, data, judge, noise, robot, train, transfer

pytest.importorskip("mujoco")

COUNTS = {"train": 1, "validation": 1, "test": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("superball")
    data.write(path, seed=3, seconds=1.0, counts=COUNTS)
    return path


def test_data_are_the_same_for_the_same_seed(folder, tmp_path):
    again = data.write(tmp_path, seed=3, seconds=1.0, counts={"train": 1, "validation": 1, "test": 1}, rates=("10hz",))
    for path in again:
        new, old = data.read(path), data.read(folder / path.name)
        assert np.array_equal(new.q, old.q[:3])  # also where fewer are recorded
        assert new.about == old.about
    other = data.write(tmp_path / "other", seed=4, seconds=1.0, counts=COUNTS, kinds=("roll",), rates=("10hz",))
    assert np.abs(data.read(other[0]).q - data.read(folder / "roll_10hz.npz").q).max() > 0.1


def test_both_rates_have_the_same_states(folder):
    for kind in ("hang", "roll"):
        sparse, dense = data.read(folder / f"{kind}_10hz.npz", 10), data.read(folder / f"{kind}_1khz.npz", 1000)
        assert np.array_equal(dense.q[:, ::100], sparse.q)
        assert dense.about["reading"] == "C"
        assert sparse.about["gain"] == 100
        assert sparse.about["friction"] == [1, 0.1, 0.1]
        assert list(sparse.split) == ["train", "validation", "test", "test"]
        assert robot.path_length(robot.com(sparse.model(), sparse.q)).min() > 0.05


def test_the_start_rolls_over_its_lowest_points():
    m = tg.load_string(robot.roll_text())
    q = m.default_q()
    v = robot.rolling_start(q, np.random.default_rng(0))
    speed = np.linalg.norm(v.reshape(6, 6)[:, :3].mean(axis=0))
    assert robot.SPEEDS[0] <= speed <= robot.SPEEDS[1]
    for a in m.names("site"):  # a rigid motion: no distance between two nodes changes
        for b in m.names("site"):
            d = m.site_pose(a, q)[0] - m.site_pose(b, q)[0]
            w = (m.site_jacobian(a, q) - m.site_jacobian(b, q))[:3] @ v
            assert abs(d @ w) < 1e-9
    assert abs((m.site_jacobian("s1", q) @ v)[:2]).max() < 0.1 * speed  # a cap's radius above the floor


def _changed(folder, tmp_path, change):
    with np.load(folder / "hang_10hz.npz") as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)
    path = tmp_path / "changed.npz"
    np.savez(path, **arrays)
    return path


def _blow_up(arrays):
    arrays["v"][2, 7, 5] = 3e12


def _forget(arrays):
    arrays["u"] = arrays["u"][..., :23]


def _hurry(arrays):
    arrays["time"][4:] += 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_blow_up, r"changed.npz: trajectory 2, row 7, 'v\[5\]' = 3e\+12: the robot blew up"),
        (_forget, r"changed.npz: 'u': expected 24 columns, got 23"),
        (_hurry, r"changed.npz: row 4, 'time': 0.11 s after the row before, but the rate is 10 Hz"),
        (lambda a: a.pop("u"), r"changed.npz: missing array 'u'"),
    ],
)
def test_bad_data_are_refused(folder, tmp_path, change, message):
    with pytest.raises(tg.Error, match=message):
        data.read(_changed(folder, tmp_path, change))


def test_another_rate_is_refused(folder):
    with pytest.raises(tg.Error, match=r"hang_1khz.npz: 'rate' = 1000 Hz, expected 10 Hz"):
        data.read(folder / "hang_1khz.npz", 10)
    dense = data.read(folder / "hang_1khz.npz")
    with pytest.raises(tg.Error, match=r"hang_1khz.npz: row 1, 'time' = 0.001 s: variant 'implicit' needs 10 Hz"):
        train.identify(dense, (1, 1, 1), "implicit")


@pytest.mark.parametrize("start", [(0.5, 0.5, 1.5), (0.5, 1.5, 0.5)])
def test_progressive_training_finds_the_parameters(folder, start):
    """The second start explodes with explicit steps of 1 ms."""
    sparse = data.read(folder / "hang_10hz.npz", 10)
    found = train.identify(sparse, start)
    assert np.abs(found.factors - 1).max() < 1e-6
    assert judge.judge(found.model(sparse), sparse, found.dt, implicit_tendons=found.implicit).error.max() < 1e-4


def test_an_unstable_start_is_refused_with_the_largest_step(folder):
    sparse = data.read(folder / "hang_10hz.npz", 10)
    with pytest.raises(tg.Error, match=r"the largest stable dt is 0\.0004\d* s"):
        train.identify(sparse, (0.5, 1.5, 0.5), "explicit")


def test_variants_are_ordered(folder):
    """Recurrent is better than feed-forward, explicit steps at the end than implicit ones only."""
    sparse = data.read(folder / "hang_10hz.npz", 10)
    off = {}
    for variant in ("feed-forward", "implicit", "progressive"):
        found = train.identify(sparse, (0.5, 0.5, 1.5), variant)
        off[variant] = judge.judge(found.model(sparse), sparse, found.dt, implicit_tendons=found.implicit).last.mean()
    assert off["progressive"] < 0.1 * off["implicit"]
    assert off["implicit"] < 0.5 * off["feed-forward"]


def test_standard_errors_of_data_with_noise_in_all_states(folder):
    """400 draws of the noise, to first order, with dense matrices: their spread is the standard error."""
    made = data.read(folder / "hang_10hz.npz", 10)
    m = made.model()
    pairs = noise.tuples_of(m, made.logs("test", 2), robot.body_unknowns(m), np.ones(3), 0.001, implicit_tendons=False)
    tuples, n = pairs.e.shape
    assert list(np.flatnonzero(~pairs.follows)) == [0, tuples // 2]
    rng, size = np.random.default_rng(0), np.repeat([1e-3, 1e-2], m.nv)
    rows = tuples // 2 + 1
    J = pairs.by_factor.reshape(-1, 3)
    found, errors = [], []
    for _ in range(400):
        states = size * rng.standard_normal((2, rows, n))
        e = np.concatenate([-one[1:] for one in states])
        e += np.einsum("sij,sj->si", pairs.by_start, np.concatenate([one[:-1] for one in states]))
        weight = np.tile([1 / (e[:, pairs.kind == k] ** 2).mean() for k in pairs.kind], tuples)
        found.append(np.linalg.solve(J.T @ (weight[:, None] * J), -J.T @ (weight * e.ravel())))
        each, noises = noise.standard_errors(dataclasses.replace(pairs, e=e))
        errors.append(each)
        assert np.abs(noises / [1e-3, 1e-3, 1e-2, 1e-2] - 1).max() < 0.3
    assert np.abs(np.std(found, axis=0) / np.mean(errors, axis=0) - 1).max() < 0.12  # 400 draws: 3.5 %


def test_friction_from_own_rolls():
    """The law of the data is that of the fit: what is left is the search."""
    m = tg.load_string(robot.roll_text())
    logs = contact.own_rolls(m, 1, 0, 0.5)
    found = contact.identify_contact(m, logs, ("slide", "roll"), (0.5, 1.5))
    assert np.abs(found.factors - 1).max() < 1e-6


def test_friction_with_contacts_of_mujoco():
    """The same search with points, normals and gaps of MuJoCo; all derivatives are differences."""
    text = robot.roll_text()
    m = tg.load_string(text)
    logs = contact.own_rolls(m, 1, 0, 0.3)
    found = contact.identify_contact(m, logs, start=(0.7, 1.3), grid=(1.0,), checker=checker.Checker(text))
    assert np.abs(found.factors - 1).max() < 1e-6
    with pytest.raises(tg.Error, match=r"checker: parts = \('slide',\) must be"):
        contact.identify_contact(m, logs, ("slide",), (1.0,), checker=checker.Checker(text))


def test_compliance_damping_and_friction_from_own_rolls():
    m = tg.load_string(robot.roll_text())
    m.params["geom.floor.compliance"], m.params["geom.floor.damping"] = 1 / 3e5, 1e3
    logs = contact.own_rolls(m, 1, 0, 0.5, law="compliant")
    parts = ("compliance", "damping", "slide")
    found = contact.identify_contact(m, logs, parts, (0.5, 1.5, 0.5), law="compliant")
    assert np.abs(found.factors - 1).max() < 1e-6


def test_derivatives_of_the_compliant_law_stay_bounded():
    """Sticking contacts: slip in another direction meets another mass. Without that, they grow to 1e9 in 100 steps."""
    m = tg.load_string(robot.roll_text())
    m.params["geom.floor.compliance"], m.params["geom.floor.damping"] = 1 / 3e5, 1e3
    logs = contact.own_rolls(m, 1, 0, 1.0, law="compliant")
    group = robot.contact_unknowns(m, ("slide",))
    change = np.zeros((1, m.nparams))
    for name, value in group[0].items():
        change[0, m.params.index(name)] = value

    def run(factor):
        other = m.copy()
        robot.scale(other, group, [factor])
        return tg.rollout(other, logs[0]["q"][8], logs[0]["v"][8], np.zeros((100, m.nu)), 0.001, law="compliant")

    found = run(1.1).jvp(params=change).v[0][-1]
    expected = (np.asarray(run(1.1 + 1e-6).v) - np.asarray(run(1.1 - 1e-6).v))[-1] / 2e-6
    assert np.linalg.norm(expected) > 1
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)


def test_both_planners_have_one_cost():
    """The cost of no control: MuJoCo's and ours differ by what their contacts differ."""
    text = robot.roll_text()
    m = tg.load_string(text)
    ours = transfer.make_planner(m, threads=1, iterations=1, samples=2)
    theirs = transfer.MujocoPlanner(text, threads=1)
    theirs.aim(com=transfer.target(0))
    q = m.default_q()
    plan = ours.plan(q, np.zeros(m.nv), np.zeros(m.na))
    cost = theirs.costs(q, np.zeros(m.nv), np.zeros(m.na), np.zeros((1, *theirs.u.shape)))[0]
    t = 0.1 * np.arange(transfer.HORIZON + 1)
    still = 0.5 * (t @ t + len(t))  # a robot that stays where it is
    assert plan.first_cost == pytest.approx(still, rel=1e-3)
    assert cost == pytest.approx(still, rel=1e-3)


def test_contacts_of_mujoco_give_the_same_roll(folder):
    """Our step with the points, normals and gaps that MuJoCo finds."""
    roll = data.read(folder / "roll_10hz.npz", 10)
    m, found = roll.model(), checker.Checker(roll.text)
    q, v = roll.q[0, 0], roll.v[0, 0]
    ours, theirs = checker.follow(m, q, v, 200), checker.follow(m, q, v, 200, found)
    assert len(found(ours[0][-1])) >= 1
    assert np.abs(ours[0] - theirs[0]).max() < 1e-10
    slippery = checker.follow(m, q, v, 200, found, slide=0.1)
    assert np.abs(ours[0] - slippery[0]).max() > 1e-3  # friction is that of the list


def test_hills_have_bumps():
    text = robot.roll_text(ground="hills")
    m = tg.load_string(text)
    assert transfer.MujocoRobot(text).model.nhfield == 1
    sim = tg.Sim(m, dt=robot.STEP)
    for x, z in ((0.0, 0.0), (3.0, 0.1)):  # both are heights of the ground at y = 0
        sim.reset()
        q = m.default_q().reshape(robot.RODS, 7).copy()
        q[:, 0] += x
        q[:, 2] += z
        sim.q = q.ravel()
        sim.v = np.zeros(m.nv)
        for _ in range(300):
            sim.step()
        assert robot.com(m, np.array(sim.q))[2] == pytest.approx(0.76 + z, abs=0.06)


def test_random_factors_are_stable():
    m = tg.load_string(robot.roll_text())
    for seed in range(5):
        factors = transfer.random_factors(m, seed)
        assert ((factors >= 0.25) & (factors <= 4)).all()
        assert train.stable_dt(transfer.with_factors(m, factors)) > robot.STEP


def test_a_roll_goes_on_where_it_was_interrupted(tmp_path):
    path, text = str(tmp_path / "roll.npz"), robot.roll_text()

    def planner(seed):
        return transfer.make_planner(tg.load_string(text), seed=seed, samples=4)

    first = transfer.roll(planner(1), text, 2, keep=path, key="mine", progress=lambda *_: False)
    assert len(first.u) == 1
    assert transfer.Part.load(path, "another") is None
    part = transfer.Part.load(path, "mine")
    both = transfer.roll(planner(2), text, 2, keep=path, key="mine", part=part)
    assert np.array_equal(both.u[:1], first.u)
    assert np.array_equal(both.q[:2], first.q)
    assert len(both.u) == 2
    assert len(both.q) == 3
    assert both.rollouts == 2 * first.rollouts
    whole = transfer.roll(planner(1), text, 2)
    assert np.array_equal(whole.q[:2], first.q)


@pytest.mark.parametrize("engine", ["tangere", "mujoco"])
def test_a_roll_begins(tmp_path, capsys, engine):
    out = tmp_path / "roll.npz"
    words = ["roll", f"--engine={engine}", "--controls=1", "--samples=4", f"--out={out}", "--json"]
    assert command.main(words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rollouts"] >= 20
    assert result["points"] == 10 * result["rollouts"]
    with np.load(out) as made:
        assert made["u"].shape == (1, 24)
        assert np.abs(made["u"]).max() > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "nowhere"], "nowhere/hang_10hz.npz"),
        (
            ["fit", "nowhere", "--start=1,2"],
            "--start: expected positive factors of stiffness, damping, mass, got '1,2'",
        ),
        (["roll", "--engine=bullet"], "expected tangere, mujoco or random, got 'bullet'"),
        (["roll", "--factors=1,-1,1"], "--factors: expected positive factors"),
        (["roll", "--ground=moon"], "ground: expected one of flat, hills, got 'moon'"),
        (["roll", "--reading=B"], "reading: expected one of C, A, got 'B'"),
        (["data", "--out=x", "--seconds=0.15"], "seconds = 0.15 must be a multiple of 0.1"),
    ],
)
def test_refusals(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert command.main(words) == 1
    assert message in capsys.readouterr().err
