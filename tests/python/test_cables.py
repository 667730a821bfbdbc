"""Cables from Python: flight beside MuJoCo, slack laws in files, implicit tendons, adaptive naive integration."""

import mujoco
import numpy as np
import pytest
import tangere as tg
from support import ROOT

SUPERBALL = ROOT / "models" / "superball.xml"


def test_flight_is_mujocos():
    """Two seconds in the air with random velocities and controls."""
    m, mj = tg.load(SUPERBALL), mujoco.MjModel.from_xml_path(str(SUPERBALL))
    rng = np.random.default_rng(7)
    data = mujoco.MjData(mj)
    sim = tg.Sim(m)
    q, v = sim.q.copy(), 0.3 * rng.standard_normal(m.nv)
    q[2::7] += 30
    sim.q, sim.v, data.qpos[:], data.qvel[:] = q, v, q, v
    worst = 0.0
    for i in range(2000):
        if i % 100 == 0:
            u = rng.uniform(-20, 20, m.nu)
        data.ctrl[:] = u
        sim.step(u=u)
        mujoco.mj_step(mj, data)
        worst = max(worst, np.abs(sim.q.reshape(6, 7)[:, :3] - data.qpos.reshape(6, 7)[:, :3]).max())
    assert worst < 1e-10
    assert np.allclose(sim.act, data.act, rtol=0, atol=1e-12)


def test_laws_come_back(tmp_path):
    """Words of the custom section survive being written and read."""
    words = (
        '<custom><text name="tangere:tendon.*.law" data="spring"/><text name="tangere:tendon.c3.law" data="all"/>'
        '<text name="tangere:actuator.a5.drives" data="rest"/></custom>'
    )
    m = tg.load_string(SUPERBALL.read_text().replace("<worldbody>", words + "<worldbody>"))
    m.params["tendon.c7.length"] = -0.05
    file = tmp_path / "written.xml"
    m.save(file)
    written = file.read_text()
    assert written.count('data="spring"') == 23
    assert 'name="tangere:tendon.c3.law" data="all"' in written
    assert 'name="tangere:actuator.a5.drives" data="rest"' in written
    back = tg.load(file)
    states = []
    for model in (m, back):
        sim = tg.Sim(model, implicit_tendons=False)
        for _ in range(50):
            sim.step(u=np.linspace(-1, 1, m.nu))
        states.append(sim.q)
    assert np.abs(states[0] - states[1]).max() < 1e-9


def test_length_moves_both_rest_lengths():
    """One parameter has the gradient of both."""
    m = tg.load(SUPERBALL)
    sim = tg.Sim(m)
    sim.step()
    J = sim.jacobian(params=["tendon.c0.length", "tendon.c0.rest"])
    assert np.abs(J.dv_dparams[:, 0]).max() > 0
    assert np.allclose(J.dv_dparams[:, 0], J.dv_dparams[:, 1:].sum(axis=1), rtol=0, atol=1e-12)


def test_implicit_tendons_bear_long_steps():
    """Steps of 20 ms: explicit cables warn, implicit ones are solved and stay where they are."""
    m = tg.load(SUPERBALL)
    with pytest.warns(UserWarning, match=r"stable up to 0\.0012 s"):
        tg.Sim(m, dt=0.02)
    sim = tg.Sim(m, dt=0.02, implicit_tendons=True)
    for _ in range(250):
        sim.step()
        assert sim.info.residual <= 1e-8
    assert abs(sim.q[2::7].mean() - 0.75981) < 1e-3
    assert np.abs(sim.v).max() < 1e-3


def test_ani_turns_the_sign_of_a_bounce():
    """A ball that meets the floor: the step as it is says +1, the time of impact and ANI say -e."""
    text = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 0.112"><joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="2"/></body>
      </worldbody><custom><numeric name="tangere:geom.floor.restitution" data="0.5"/></custom></mujoco>"""
    m = tg.load_string(text)
    for backward, expected in (("exact", 1), ("toi", -0.5), ("ani", -0.5), ("detach", -0.5)):
        r = tg.rollout(m, [0.0], [-1.0], 22, backward=backward)
        g = np.zeros((23, 1))
        g[-1] = 1
        assert r.vjp(gq=g).q[0] == pytest.approx(expected, abs=1e-12)
    with pytest.raises(tg.Error, match=r"backward = ani.*impact = within"):
        tg.Sim(m, backward="ani", impact="within").step()
