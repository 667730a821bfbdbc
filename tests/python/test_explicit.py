"""Explicit contact laws from Python."""

import numpy as np
import pytest
import tangere as tg

BALL = """<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/><geom name="ball" type="sphere" size="0.1" mass="10"/></body>
</worldbody><custom><numeric name="tangere:geom.floor.compliance" data="1e-4"/>
<numeric name="tangere:geom.ball.damping" data="100"/></custom></mujoco>"""


def test_the_papers_ball():
    m = tg.load_string(BALL)
    stiffness = 1e4
    r = tg.rollout(m, [-1e-3], [-0.5], np.zeros((2, 0)), 0.001, law="compliant")
    gq = np.zeros((3, 1))
    gq[2] = 1
    g = r.vjp(gq=gq)
    by_compliance = g.params[m.params.index("geom.floor.compliance")[0]]
    assert -by_compliance / stiffness**2 == pytest.approx(3.483e-10, abs=5e-14)
    assert g.label.kind == "exact"


def test_impulse_and_options():
    m = tg.load_string(BALL)
    m.params["geom.ball.restitution"] = 0.5
    sim = tg.Sim(m, law="impulse", push_gain=0.2, friction_share=0.8)
    sim.q, sim.v = [-1e-4], [-1.0]
    sim.step()
    assert sim.v[0] == pytest.approx(0.5 + 0.2 * 1e-4 / 0.001)
    assert sim.info.law == "impulse"
    with pytest.raises(tg.Error, match="friction_share = 0 must be in"):
        tg.Sim(m, law="impulse", friction_share=0.0).step()
    with pytest.raises(ValueError, match=r"law: expected one of .*'compliant', 'impulse'"):
        tg.Sim(m, law="springs")
    m.params["geom.floor.compliance"] = 0
    sim = tg.Sim(m, law="compliant")
    sim.q = [-1e-4]
    with pytest.raises(tg.Error, match="geoms 0 and 1 touch with compliance 0"):
        sim.step()
