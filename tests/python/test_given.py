"""Contacts from outside: the same step as with our own, derivatives by what is given, refusals."""

import numpy as np
import pytest
import tangere as tg

BALLS = """<mujoco><option timestep="0.002"/><worldbody>
<geom type="plane" size="5 5 0.1" euler="3 2 0"/>
<body pos="0 0 0.0999"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>
<body pos="0.5 0.1 0.0758"><freejoint/><geom type="sphere" size="0.1" mass="2" condim="6"
friction="0.4 0.01 0.01"/></body>
</worldbody></mujoco>"""


def test_own_contacts_given_back():
    m = tg.load("quadruped")
    sim, other = tg.Sim(m), tg.Sim(m)
    sim.reset("home")
    ctrl, seen = m.key("home").ctrl, 0
    for _ in range(200):
        other.restore(sim.save())
        sim.step(u=ctrl)
        contacts = sim.given_contacts()
        other.step(u=ctrl, contacts=contacts)
        np.testing.assert_array_equal(sim.q, other.q)
        np.testing.assert_array_equal(sim.v, other.v)
        seen += len(contacts)
    assert seen > 200


def _moved(contacts, i, field, k, h):
    out = contacts.copy()
    if out.dtype[field].shape:
        out[field][i, k] += h
    else:
        out[field][i] += h
    return out


def test_derivatives():
    m = tg.load_string(BALLS)
    sim = tg.Sim(m)
    v = np.zeros(m.nv)
    v[[0, 6]] = 0.3, 1.0  # one rolls, one slides
    sim.v = v
    start = sim.save()
    sim.step()
    contacts = sim.given_contacts()
    contacts["kinetic"], contacts["slip_speed"] = 0.8, 0.2
    assert len(contacts) == 2
    rng = np.random.default_rng(1)
    gq, gv = rng.normal(size=m.nv), rng.normal(size=m.nv)

    def value(list_):
        sim.restore(start)
        sim.step(contacts=list_)
        return gv @ sim.v

    value(contacts)
    g = sim.vjp(gv=gv).contact
    assert g.shape == (2, tg.GIVEN_NUMBERS)
    j = sim.jacobian(given=True)
    assert j.dv_dcontact.shape == (m.nv, 2, tg.GIVEN_NUMBERS)
    np.testing.assert_allclose(np.einsum("i,ijk->jk", gv, j.dv_dcontact), g, rtol=0, atol=1e-10 * np.abs(g).max())
    along = rng.normal(size=g.shape)
    both = sim.vjp(gq=gq, gv=gv).contact
    change = sim.jvp(contact=along)
    assert gq @ change.q + gv @ change.v == pytest.approx(np.sum(both * along), rel=1e-10)
    compared = 0
    for i in range(2):
        for name, where in tg.GIVEN_FIELDS.items():
            if name in {"compliance", "restitution", "damping"}:  # at the end of their range
                continue
            for k in range(where.stop - where.start):
                h = 1e-6 if name != "gap" else 1e-8
                f = [value(_moved(contacts, i, name, k, s * h)) for s in (1, -1)]
                slope = (f[0] - f[1]) / (2 * h)
                assert g[i, where.start + k] == pytest.approx(slope, rel=1e-5, abs=1e-6), (i, name, k)
                compared += abs(slope) > 1e-6
    assert compared >= 12


def test_step_as_a_function():
    m = tg.load_string(BALLS)
    q = tg.Sim(m).q
    contacts = tg.given_contacts(1, body2=1, point=(0, 0, 0), gap=-1e-5)
    _, v, info = tg.step(m, q, np.zeros(m.nv), contacts=contacts)
    assert info.ncontact == 1
    assert abs(v[2]) < 1e-2
    assert v[8] == pytest.approx(-9.81 * 0.002)  # nothing holds the other ball
    _, v, info = tg.step(m, q, np.zeros(m.nv), contacts=tg.given_contacts(0))
    assert info.ncontact == 0
    assert v[2] == pytest.approx(-9.81 * 0.002)


def test_room_grows():
    m = tg.load_string(BALLS)
    sim = tg.Sim(m)
    sim.step(contacts=tg.given_contacts(300, body2=1, gap=1.0))
    assert sim.info.ncontact == 300


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"normal": (0, 0, 0)}, r"contacts\[0\]\.normal = \(0, 0, 0\) has length 0"),
        ({"point": (0, np.inf, 0)}, r"contacts\[0\]\.point\[1\] = inf"),
        ({"body2": 7}, r"contacts\[0\]\.body2 = 7: the model has bodies 0 \.\. 2"),
        ({"body2": 0}, r"body1 = 0 and body2 = 0 cannot move"),
        ({"friction": (-1, 0, 0)}, r"contacts\[0\]\.friction\[0\] = -1"),
    ],
)
def test_refusals(fields, message):
    sim = tg.Sim(tg.load_string(BALLS))
    with pytest.raises(tg.Error, match=message):
        sim.step(contacts=tg.given_contacts(1, **{"body2": 1, **fields}))
    with pytest.raises(TypeError, match="no field 'mass'"):
        tg.given_contacts(1, mass=1)


def test_rollout():
    """The contacts of a rollout, given to it: the same states, and derivatives by every number of each of them."""
    m = tg.load("superball")
    rng = np.random.default_rng(3)
    v0, u = np.zeros(m.nv), rng.uniform(-5, 5, (25, m.nu))
    v0[0::6] = 1.0
    sim = tg.Sim(m)
    q0 = sim.q.copy()
    sim.v = v0
    contacts = []
    for row in u:
        sim.step(u=row)
        contacts.append(sim.given_contacts())
    assert sum(map(len, contacts)) > 25
    r = tg.rollout(m, q0, v0, u, contacts=contacts)
    np.testing.assert_allclose(r.q[-1], sim.q, rtol=0, atol=1e-9)  # which started with other warm starts
    gq = rng.normal(size=m.nv)
    g = r.vjp(gq=gq, at=-1).contact
    assert g.shape == (sum(map(len, contacts)), tg.GIVEN_NUMBERS)
    along = rng.normal(size=g.shape)
    assert r.jvp(contact=along).q[-1] @ gq == pytest.approx(np.sum(g * along), rel=1e-10)
    several = r.jvp(contact=np.stack([along, 2 * along])).q
    np.testing.assert_allclose(several[1], 2 * several[0], rtol=1e-12)
    again = tg.rollout(m, q0, v0, u, contacts=contacts, checkpoints=True)
    np.testing.assert_array_equal(again.vjp(gq=gq, at=-1).contact, g)
    assert tg.rollout(m, q0, v0, u).vjp(gq=gq, at=-1).contact.shape == (0, tg.GIVEN_NUMBERS)
    with pytest.raises(ValueError, match="expected 25 lists, one per step, got 24"):
        tg.rollout(m, q0, v0, u, contacts=contacts[1:])
    with pytest.raises(ValueError, match="a batch finds its own"):
        tg.rollout(m, q0[None], v0, u, contacts=contacts)
    contacts[7]["normal"][0] = 0
    with pytest.raises(tg.Error, match=r"contacts\[0\]\.normal = \(0, 0, 0\) has length 0"):
        tg.rollout(m, q0, v0, u, contacts=contacts)
