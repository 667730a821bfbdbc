"""Contact laws beside the unrelaxed one, from Python and from the command."""

import json
import subprocess

import numpy as np
import pytest
import tangere as tg
from test_cli import COMMAND, ROOT

LAWS = ("ncp", "ccp", "lcp-box", "lcp-diamond")

POINT = """<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>
<geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1'><joint type='slide' axis='1 0 0'/>
<joint type='slide' axis='0 1 0'/><joint type='slide' axis='0 0 1'/>
<geom name='ball' type='sphere' size='0.1' mass='1'/>
</body></worldbody></mujoco>"""


def point(law, v=(1, 0, 0), **options):
    sim = tg.Sim(tg.load_string(POINT), law=law, **options)
    sim.v = np.array(v, dtype=float)
    return sim


def test_point_mass():
    """One step from 1 m/s: figures worked out by hand."""
    for law in LAWS:
        sim = point(law)
        sim.step()
        expected = (0.796076, 0, 0.398038) if law == "ccp" else (0.995095, 0, 0)
        np.testing.assert_allclose(sim.v, expected, atol=1e-9)
        assert sim.info.law == law
        assert sim.info.residual < 1e-12
        assert (sim.info.unrelaxed > 0.1) == (law == "ccp")


@pytest.mark.parametrize("eps", [0.01, 0.3])
@pytest.mark.parametrize("solver", ["newton", "admm"])
def test_eps(solver, eps):
    """One contact of a point mass: G is 1 / m = 1 in all rows, and impulses are 1 / (1 + eps) of those without eps."""
    free = np.array([1, 0, -0.00981])
    soft = point("ccp", eps=eps, solver=solver, tolerance=1e-11)
    soft.step()
    stiff = point("ccp", solver=solver, tolerance=1e-11)
    stiff.step()
    np.testing.assert_allclose(soft.v, free + (stiff.v - free) / (1 + eps), atol=1e-9)
    assert soft.info.residual < 1e-10
    jacobian = soft.jacobian()
    assert jacobian.label.kind == "exact"
    other = point("ccp", (1 + 1e-6, 0, 0), eps=eps, solver=solver, tolerance=1e-11)
    other.step()
    np.testing.assert_allclose(jacobian.dv_dv[:, 0], (other.v - soft.v) / 1e-6, atol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "admm"])
@pytest.mark.parametrize("law", LAWS)
def test_derivatives(law, solver):
    sim = point(law, (0.8, 0.3, 0), solver=solver, tolerance=1e-8 if solver == "newton" else 1e-11)
    sim.step()
    jacobian = sim.jacobian(params="geom.*.friction")
    assert jacobian.label.kind == "exact"
    differences = np.empty((3, 3))
    for k in range(3):
        ends = []
        for h in (1e-5, -1e-5):
            other = point(law, np.array([0.8, 0.3, 0]) + h * np.eye(3)[k], solver=solver, tolerance=1e-11)
            other.step()
            ends.append(other.v)
        differences[:, k] = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(jacobian.dv_dv, differences, atol=1e-6)
    assert np.abs(jacobian.dv_dparams).max() > 1e-3
    assert np.isfinite(jacobian.dv_dparams).all()


def test_batch_and_rollout():
    """A batch and a rollout of the convex law are its steps."""
    sim = point("ccp")
    model = sim.model
    states = []
    for _ in range(5):
        sim.step()
        states.append(sim.v.copy())
    rollout = tg.rollout(model, point("ccp").q, [1.0, 0, 0], 5, law="ccp")
    np.testing.assert_array_equal(rollout.v[1:], states)
    assert rollout.info.unrelaxed.max() > 0.1
    batch = tg.Batch(model, 3, law="ccp")
    batch.reset(states=(np.tile(point("ccp").q, (3, 1)), np.tile([1.0, 0, 0], (3, 1)), np.zeros((3, 0))))
    batch.step()
    np.testing.assert_array_equal(batch.v, np.tile(states[0], (3, 1)))


def test_refusals():
    with pytest.raises(ValueError, match="law: expected one of 'ncp', 'ccp'"):
        point("cone")
    with pytest.raises(tg.Error, match="law 'lcp-box' with Poisson's restitution"):
        point("lcp-box", restitution="poisson")
    with pytest.raises(tg.Error, match=r"eps = 0\.01 with law 'ncp'"):
        point("ncp", eps=0.01)
    with pytest.raises(tg.Error, match="law 'lcp-box' with a solver other than newton and admm"):
        point("lcp-box", solver="pgs")


@pytest.mark.parametrize("law", LAWS)
def test_check(law):
    """The judge of derivatives, which walks through every mode."""
    result = tg.check(tg.load(ROOT / "models" / "quadruped.xml"), 30, law=law)
    assert result.passed, result


def test_command(tmp_path):
    path = tmp_path / "point.xml"
    path.write_text(POINT)
    run = subprocess.run(
        [COMMAND, "sim", str(path), "--law", "ccp", "--time", "0.01", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    out = json.loads(run.stdout)
    assert out["law"] == "ccp"
    assert out["unsolved"] == 0
    run = subprocess.run([COMMAND, "sim", str(path), "--law", "cpp"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "did you mean 'ccp'" in run.stderr


def test_staggered():
    """Run to its end it gives the same step and the same derivatives; fixed numbers of alternations are labelled."""
    model = tg.load("quadruped")
    rng = np.random.default_rng(3)
    compared = 0
    start = tg.Sim(model)
    for _ in range(300):
        start.step()
    for _ in range(20):
        q, v = start.q, 0.1 * rng.normal(size=model.nv)
        v[2] -= 0.5
        sims = [tg.Sim(model, solver=solver) for solver in ("newton", "staggered")]
        for sim in sims:
            sim.q, sim.v = q, v
            sim.step()
        one, two = (sim.jacobian(params="geom.floor.friction") for sim in sims)
        if sims[1].info.residual > 1e-8 or one.label.kind != "exact":
            continue
        compared += sims[0].info.ncontact > 0
        np.testing.assert_allclose(sims[1].v, sims[0].v, atol=1e-8)
        np.testing.assert_allclose(two.dv_dv, one.dv_dv, atol=1e-7)
        np.testing.assert_allclose(two.dv_dparams, one.dv_dparams, atol=1e-7)
    assert compared >= 10
    residuals = []
    for steps in (1, 3, 10):
        sim = tg.Sim(model, solver="staggered", staggered_steps=steps)
        sim.q, sim.v = q, v
        sim.step()
        residuals.append(sim.info.residual)
        assert (sim.info.status == tg.StepStatus.SOLVED) == (sim.info.residual <= 1e-8)
    assert residuals[0] > residuals[1] >= residuals[2]
    with pytest.raises(tg.Error, match="staggered_steps = -1"):
        tg.Sim(model, solver="staggered", staggered_steps=-1)


def test_unrolled():
    """The derivative of the alternations, in a step and over cold steps, against differences of the same; and its
    distance from the law's own, which falls with their number."""
    model = tg.load_string(
        "<mujoco><option timestep='0.002'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='0.3'/>"
        "<body pos='0 0 0.1'><freejoint/><inertial pos='0.04 0.02 0.03' mass='1' diaginertia='0.004 0.005 0.006'/>"
        "<geom name='ball' type='ellipsoid' size='0.1 0.12 0.1' friction='0.31'/></body></worldbody></mujoco>"
    )
    q0, v0 = model.default_q(), np.array([1.0, -0.4, -0.02, 0.3, 2.0, -1.0])
    options = {"solver": "staggered", "backward": "unrolled", "tolerance": 1e-13, "cold": True}
    weight = np.random.default_rng(5).normal(size=model.nv)

    def final(v, steps, **more):
        return tg.rollout(model, q0, v, steps, **{**options, **more})

    bias = []
    for alternations in (1, 2, 5):
        for steps in (1, 4):
            r = final(v0, steps, staggered_steps=alternations)
            gradient = r.vjp(gv=weight, at=-1).v
            differences = np.empty(model.nv)
            for k in range(model.nv):
                h = 1e-5 * np.eye(model.nv)[k]
                ends = [final(v0 + s * h, steps, staggered_steps=alternations).v[-1] @ weight for s in (1, -1)]
                differences[k] = (ends[0] - ends[1]) / 2e-5
            assert np.abs(gradient).max() > 0.1
            np.testing.assert_allclose(gradient, differences, atol=1e-6)
        law = final(v0, 1, solver="newton", backward="exact")
        one = final(v0, 1, staggered_steps=alternations)
        g = one.vjp(gv=weight, at=-1)
        assert g.label.kind == "regularised"
        bias.append(np.abs(g.v - law.vjp(gv=weight, at=-1).v).max())
    assert bias[0] > 10 * bias[2]
    with pytest.raises(tg.Error, match="solver = staggered"):
        tg.Sim(model, backward="unrolled")
