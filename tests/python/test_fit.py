"""Fits: derivatives of residuals against differences, channels, bounds, ties, what cannot be seen, and the command."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tangere as tg
from support import ARM
from tangere import _shoot
from tangere._fit import Task
from tangere._fit_statistics import loss_of
from tangere._fit_unknowns import of_params
from tangere.logs import logs_of

SCENE = """<mujoco><option timestep="0.005"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.0001"/>
<body name="cube" pos="0 0 0.05"><freejoint/>
<geom name="cube" type="box" size="0.05 0.05 0.05" mass="1" friction="0.2"/>
<site name="corner" pos="0.05 0.05 0.05"/></body></worldbody></mujoco>"""
COMMAND = Path(os.environ.get("TANGERE_COMMAND", Path(__file__).parents[2] / "build" / "tangere")).resolve()
MU = "geom.cube.friction[0]"


def tumble(m, steps=60, every=3, dt=0.005):
    """A cube that turns in the air and slides: all channels."""
    q0 = m.default_q()
    q0[2] += 0.02
    r = tg.rollout(m, q0, [1.5, 0.3, 0, 0.5, -0.4, 2.0], steps, dt, tape=False)
    q, v = r.q[::every], r.v[::every]
    a = np.zeros_like(v)
    a[1:] = (r.v[every::every] - r.v[every - 1 : -1 : every]) / dt
    site = np.array([m.site_pose("corner", x)[0] for x in q])
    body = np.array([np.r_[m.body_pose("cube", x)[0], m.body_pose("cube", x)[1]] for x in q])
    return {"time": dt * every * np.arange(len(q)), "q": q, "v": v, "a": a, "site.corner": site, "body.cube": body}


def task(m, log, **more):
    options = {
        "dt": None,
        "horizon": None,
        "stride": None,
        "channels": None,
        "threads": 1,
        "sim": {},
        "initial": None,
        "frame": False,
        "time_offset": False,
        "start": None,
        "bounds": None,
        "transform": None,
        "prior": None,
        "initial_spread": None,
        "offset_spread": None,
        "noise": None,
        **more,
    }
    params = options.pop("params", [MU])
    return Task(m, logs_of(m, log, check_rate=False), of_params(m, params, None), options)


VARIANTS = {
    "states": {"initial": True, "params": [MU, "body.cube.mass"]},
    "offset": {"initial": True, "time_offset": True},
    "frame": {"frame": True, "channels": ["q"], "initial": ["v[0]"]},
    "windows": {"horizon": 5, "initial": ["q[0]", "q[5]", "v[0]"]},
    "wrench": {"params": [MU, "wrench:cube"], "initial": ["v[1]"]},
    "other-rate": {"dt": 0.004},
    "other-rate-offset": {
        "dt": 0.004,
        "initial": True,
        "channels": ["q", "v", "site.corner"],
        "time_offset": True,
    },
    "site": {"params": [MU, "site.corner.pos"], "channels": ["site.corner"], "initial": ["v[0]"]},
}


@pytest.mark.parametrize("more", VARIANTS.values(), ids=VARIANTS)
def test_derivatives_of_residuals(m, more):
    t = task(m, tumble(m), **more)
    rng = np.random.default_rng(1)
    # away from the start, where rotations of the unknowns are not small, and off the data
    x = t.x + 0.01 * rng.normal(size=len(t.x)) * (np.arange(len(t.x)) >= len(t.unknowns))
    r, J = t.shooter.residuals(x, True)
    assert np.isfinite(r).all()
    lay, owner = t.layout, np.repeat(np.arange(len(t.shooter.segments)), t.shooter.rows_of_segment)
    for i in range(len(x)):
        h = 1e-6
        up, down = (t.shooter.residuals(x + s * h * np.eye(len(x))[i], False)[0] for s in (1, -1))
        difference = (up - down) / (2 * h)
        if i < lay.shared:
            found = J[:, i]
        else:
            segment, k = divmod(i - lay.shared, lay.local)
            found = np.where(owner == segment, J[:, lay.shared + k], 0.0)
        assert np.abs(found - difference).max() < 2e-5 * max(1, np.abs(difference).max()), (i, t.names)
        if i < lay.shared or i % 7 == 0:
            assert np.abs(difference).max() > 1e-4 or i >= lay.shared or t.names[i].startswith("wrench")
    t.close()


@pytest.mark.parametrize("loss", ["square", "huber", "cauchy"])
@pytest.mark.parametrize("more", VARIANTS.values(), ids=VARIANTS)
def test_one_reverse_sweep_gives_the_gradient_of_the_forward_ones(m, more, loss):
    t = task(m, tumble(m), **more)
    rng = np.random.default_rng(2)
    x = t.x + 0.01 * rng.normal(size=len(t.x)) * (np.arange(len(t.x)) >= len(t.unknowns))
    t.shooter.sigma[:] = 0.01  # some residuals are outliers
    r, J = t.shooter.residuals(x, True)
    values, weights = loss_of(loss, 1.5, r)
    pull, lay = weights * r, t.layout
    owner = np.repeat(np.arange(len(t.shooter.segments)), t.shooter.rows_of_segment)
    local = np.zeros((len(t.shooter.segments), lay.local))
    np.add.at(local, owner, J[:, lay.shared :] * pull[:, None])
    expected = np.r_[J[:, : lay.shared].T @ pull, local.ravel()]
    g = np.empty(len(x))
    total = t.cost(loss, 1.5)(x, g)
    assert abs(total - 0.5 * values.sum()) <= 1e-12 * total
    assert total == pytest.approx(t.cost(loss, 1.5)(x, None), rel=1e-12)
    assert np.abs(g - expected).max() <= 1e-10 * np.abs(expected).max()
    assert (expected != 0).sum() > len(x) // 2
    t.close()


def test_lengths_of_links_and_places_of_sites():
    """Sites depend on them at given angles, too; angles alone depend on them by the motion."""
    m = tg.load_string(ARM)
    u = np.random.default_rng(3).normal(size=(200, 1)).cumsum(axis=0) * 0.2
    r = tg.rollout(m, [0.5, -0.3], [0, 0], u, tape=False)
    tips = np.array([m.site_pose("tip", q)[0] for q in r.q])
    poses = np.array([np.r_[m.body_pose("b", q)[0], m.body_pose("b", q)[1]] for q in r.q])
    log = {"time": 0.005 * np.arange(201), "q": r.q, "v": r.v, "u": np.vstack([u, u[-1:]])}
    log.update({"site.tip": tips, "body.b": poses})
    names = ["body.b.pos[2]", "site.tip.pos[2]", "joint.two.axis[0]", "joint.two.ref"]
    t = task(m, log, params=names)
    x = t.x + np.array([0.01, -0.01, 0.02, 0.01])
    _, J = t.shooter.residuals(x, True)
    for i in range(4):
        h = 1e-5 * np.eye(4)[i]
        difference = (t.shooter.residuals(x + h, False)[0] - t.shooter.residuals(x - h, False)[0]) / 2e-5
        assert np.abs(difference).max() > 0.1
        assert np.abs(J[:, i] - difference).max() < 1e-6 * np.abs(difference).max()
    t.close()
    start = m.copy()
    start.params["body.b.pos[2]"], start.params["site.tip.pos[2]"] = -0.45, -0.5
    f = tg.fit(start, log, names[:2], noise=1e-3)
    assert np.abs(f.values - [-0.5, -0.4]).max() < 1e-6


@pytest.fixture
def m():
    return tg.load_string(SCENE)


def test_arm_from_angles_sites_and_gaps():
    m = tg.load_string(ARM)
    t = np.arange(200) * 0.005
    u = np.sin(3 * t)[:, None]
    r = tg.rollout(m, [0.5, -0.3], [0, 0], u, tape=False)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(rng.random(201) > 0.3)  # rows are missing
    rows = np.unique(np.r_[0, rows])
    every = np.vstack([u, u[-1:]])
    full = {"time": 0.005 * np.arange(201)[rows], "u": every[rows]}
    noise = 1e-4 * rng.normal(size=(len(rows), 2))
    angles = r.q[rows] + noise
    tips = np.array([m.site_pose("tip", q)[0] for q in r.q[rows]])
    log = tg.read_log(m, {**full, "joint.one": angles[:, 0], "joint.two": angles[:, 1], "site.tip": tips})
    # controls between the rows that are there are held: what really acted goes in as a fine channel of its own
    log = tg.Log(
        "arm",
        0.005 * np.arange(201),
        {name: _spread(log.channels[name], rows, 201) for name in log.channels},
        u=every,
        start=(r.q[0], r.v[0]),
    )
    start = m.copy()
    start.params["joint.one.damping"], start.params["body.b.mass"] = 0.3, 1.0
    f = tg.fit(start, [log], ["joint.one.damping", "body.b.mass"], log_options={"missing": "skip"})
    assert abs(f["joint.one.damping"] - 0.1) < 4 * f.error("joint.one.damping") < 0.01
    assert abs(f["body.b.mass"] - 0.6) < 4 * f.error("body.b.mass") < 0.01
    assert f.converged
    assert f.exact == 1


def _spread(values, rows, count):
    out = np.full((count, *values.shape[1:]), np.nan)
    out[rows] = values
    return out


def test_ten_inertial_numbers_stay_those_of_a_body():
    m = tg.load_string(ARM)
    u = np.random.default_rng(0).normal(size=(300, 1)).cumsum(axis=0) * 0.2
    r = tg.rollout(m, [0.5, -0.3], [0, 0], u, tape=False)
    log = {"time": 0.005 * np.arange(301), "q": r.q, "v": r.v, "u": np.vstack([u, u[-1:]])}
    start = m.copy()
    start.params["body.b.mass"] *= 1.5
    start.params["body.b.inertia"] *= 1.5
    f = tg.fit(start, log, ["inertia:b"], noise=1e-3)
    assert f.residuals["q:joint"] < 1e-4
    assert f.rank < 10  # a planar arm shows four of the ten at most
    assert f.unobservable
    assert np.isnan(f.error("body.b.com[1]"))


def test_bounds_priors_ties_and_methods(m):
    log = tumble(m)
    other = m.copy()
    other.params[MU] = 0.4
    f = tg.fit(other, log, [MU], bounds={MU: (0.3, 1.0)}, channels=["q"], noise=1e-3)
    assert f[MU] == 0.3
    assert any("lower bound 0.3" in note for note in f.notes)
    free = tg.fit(other, log, [MU], channels=["q"], noise=1e-3)
    assert abs(free[MU] - 0.2) < 1e-6
    held = tg.fit(other, log, [MU], channels=["q"], noise=1e-3, prior={MU: (0.4, 1e-7)})
    assert abs(held[MU] - 0.4) < 1e-3
    for method in ("lbfgs", "adam"):
        slow = tg.fit(other, log, [MU], channels=["q"], noise=1e-3, method=method, iterations=60, rate=0.02)
        assert abs(slow[MU] - 0.2) < 0.02
    tied = tg.fit(other, log, [MU], tie=[[MU, "geom.floor.friction[0]"]], channels=["q"], noise=1e-3)
    assert tied.model.params[MU] == tied.model.params["geom.floor.friction[0]"]
    assert abs(tied.values[0] - 0.2) < 1e-5


def test_what_is_wrong_is_said(m):
    log = tumble(m)
    with pytest.raises(tg.UnknownNameError, match=r"did you mean 'geom.cube.friction"):
        tg.fit(m, log, ["geom.cube.frction[0]"])
    with pytest.raises(tg.Error, match=r"bounds of 'geom.cube.friction\[0\]': 1 is above 0.1"):
        tg.fit(m, log, [MU], bounds={MU: (1, 0.1)})
    with pytest.raises(tg.Error, match=r"outside of its bounds 0.5 to 1"):
        tg.fit(m, log, [MU], bounds={MU: (0.5, 1)})
    with pytest.raises(tg.UnknownNameError, match="no channel"):
        tg.fit(m, log, [MU], channels=["site.none"])
    with pytest.raises(tg.Error, match="nothing is unknown"):
        tg.fit(m, log, [])
    with pytest.raises(tg.Error, match="there twice"):
        tg.fit(m, log, [MU, "geom.cube.friction"])
    with pytest.raises(tg.Error, match="noise: there is none for 'a:position'"):
        tg.fit(m, log, [MU], noise={"q": 1})
    with pytest.raises(tg.Error, match="start is not measured"):
        tg.fit(m, {"time": log["time"], "site.corner": log["site.corner"]}, [MU])
    with pytest.raises(ValueError, match="method"):
        tg.fit(m, log, [MU], method="newton")


def test_a_callback_watches_and_stops(m):
    seen = []
    other = m.copy()
    other.params[MU] = 0.4

    def watch(now):
        seen.append(now.cost)
        return len(seen) < 2

    f = tg.fit(other, tumble(m), [MU], channels=["q"], noise=1e-3, progress=watch)
    assert len(seen) == 2
    assert not f.converged
    assert any("stopped by the callback" in note for note in f.notes)


def test_command_report_and_model(m, tmp_path):
    m.save(tmp_path / "cube.xml")
    log = tumble(m)
    np.savez(tmp_path / "log.npz", time=log["time"], q=log["q"], v=log["v"])
    fitted, page = tmp_path / "fitted.xml", tmp_path / "page.html"
    words = [
        "fit",
        tmp_path / "cube.xml",
        tmp_path / "log.npz",
        "--params",
        MU,
        "--start",
        f"{MU}=0.3",
        "--write",
        fitted,
    ]
    done = subprocess.run([COMMAND, *words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert abs(result["params"][MU]["value"] - 0.2) < 1e-5
    assert abs(tg.load(fitted).params[MU] - 0.2) < 1e-5
    done = subprocess.run([COMMAND, *words, "--report", page], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "standard error" in page.read_text()
    assert "http" not in page.read_text()
    bad = subprocess.run(
        [COMMAND, "fit", tmp_path / "cube.xml", tmp_path / "none.csv", "--params", MU],
        capture_output=True,
        text=True,
        check=False,
    )
    assert bad.returncode == 1
    assert "none.csv: there is no such file" in bad.stderr
    lost = subprocess.run(
        [COMMAND, *words], capture_output=True, text=True, check=False, env={"TANGERE_PYTHON": "/bin/false"}
    )
    assert lost.returncode == 1
    assert "pip install 'tangere'" in lost.stderr


def test_the_module_does_not_hide_the_function(m):
    import tangere.fit as module  # noqa: PLC0415

    assert callable(tg.fit)
    f = module(m, tumble(m), [MU], channels=["q"], noise=1e-3)
    assert isinstance(f, tg.FitResult)


def test_clipping():
    def cliff(x, g):
        if g is not None:
            g[0] = (1e10 if x[0] > 1 else 0) + x[0]
        return 1e10 * max(0.0, x[0] - 1) + 0.5 * x[0] ** 2

    assert abs(tg.minimise(cliff, [1.005], method="adam", clip=1.0).x[0]) < 1e-3
    assert tg.minimise(cliff, [1.005], method="adam").x[0] > 0.9
    with pytest.raises(tg.Error, match=r"clip = 1 with L-BFGS"):
        tg.minimise(cliff, [1.005], clip=1.0)
    with pytest.raises(ValueError, match="clip: only with method"):
        tg.fit(tg.load("quadruped"), [], ["body.trunk.mass"], clip=1.0)


def test_the_end_of_a_search_is_not_computed_twice(monkeypatch):
    """Statistics are those of the last point that the search looked at, with the same residuals and derivatives."""
    m = tg.load_string(
        """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body name="cart">
        <joint name="x" type="slide" axis="1 0 0" damping="1"/><geom size="0.1" mass="2"/></body></worldbody>
        </mujoco>"""
    )
    r = tg.rollout(m, [0.0], [1.0], 100)
    log = {"time": 0.01 * np.arange(101), "q": np.asarray(r.q), "v": np.asarray(r.v)}
    m.params["joint.x.damping"] = 1.5
    seen = []
    compute = _shoot.Shooter._residuals

    def count(self, x, derivatives):
        seen.append((x.tobytes(), self.sigma.tobytes(), derivatives))
        return compute(self, x, derivatives)

    monkeypatch.setattr(_shoot.Shooter, "_residuals", count)
    found = tg.fit(m, log, "joint.x.damping", noise=1e-3)
    assert found.values[0] == pytest.approx(1, abs=1e-8)
    with_slopes = [key[:2] for key in seen if key[2]]
    assert len(with_slopes) >= 3
    assert len(set(with_slopes)) == len(with_slopes)


def test_masked_parameters_are_named():
    """MuJoCo's rule: of two frictions the larger counts."""
    m = tg.load_string(SCENE)
    m.params["geom.floor.friction[0]"] = 0.5
    log = tumble(m)
    found = tg.fit(m, log, [MU], noise=1e-3)
    note = "in every contact of its geom another counts (geom.floor.friction[0])"
    assert any("at the start" in one and note in one for one in found.notes)
    assert any(f"{MU} ended at" in one and note in one for one in found.notes)
    assert note in str(found)
    assert not any("counts" in one for one in tg.fit(m, log, ["geom.floor.friction[0]"], noise=1e-3).notes)


def test_velocities_that_are_not_measured_are_noted():
    m = tg.load_string(SCENE)
    log = tumble(m)
    bare = {"time": log["time"], "q": log["q"]}
    noted = [any("velocity at the start of 1 of 1" in one for one in tg.fit(m, given, [MU], **more).notes)
             for given, more in ((bare, {}), (bare, {"initial": "v"}), (log, {}))]  # fmt: skip
    assert noted == [True, False, False]
