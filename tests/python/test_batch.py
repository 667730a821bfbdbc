"""Batches: the bits of single simulations, views, resets, parameters, derivatives, failures, threads, forks."""

import multiprocessing
import threading

import numpy as np
import pytest
import tangere as tg
from support import ROOT

MODELS = {"quadruped": "home", "planar_walker": "stand", "cube": "drop"}


def load(name):
    return tg.load(ROOT / "models" / f"{name}.xml")


def controls(m, n, steps, seed=0):
    return np.random.default_rng(seed).normal(size=(n, steps, m.nu))


def pushed(m, n, key, **options):
    """A batch whose environments start with velocities of their own."""
    batch = tg.Batch(m, n, **options)
    batch.reset(key=key)
    batch.v = batch.v + 0.3 * np.random.default_rng(1).normal(size=(n, m.nv))
    return batch


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_same_bits_as_sims(name, threads):
    m, n = load(name), 5
    batch = pushed(m, n, MODELS[name], threads=threads)
    sims = []
    for state in batch.save():
        sims.append(tg.Sim(m))
        sims[-1].restore(state)
    g = np.random.default_rng(2).normal(size=(n, m.nv))
    for u in controls(m, n, 6).swapaxes(0, 1):
        batch.step(u)
        for i, sim in enumerate(sims):
            sim.step(u[i])
            assert np.array_equal(batch.q[i], sim.q)
            assert np.array_equal(batch.v[i], sim.v)
            assert batch.info["residual"][i] == sim.info.residual
            assert batch.time[i] == sim.time
    j, back, along, contacts = batch.jacobian(dt=True), batch.vjp(gq=g, gv=g), batch.jvp(q=g, v=g), batch.contacts()
    for i, sim in enumerate(sims):
        alone = sim.jacobian(dt=True)
        for field in tg.Jacobian._fields[:21]:
            if "params" not in field:
                assert np.array_equal(getattr(j, field)[i], getattr(alone, field)), field
        assert tg.batch.label_of(j.label[i]) == alone.label
        one = sim.vjp(gq=g[i], gv=g[i])
        for field in ("q", "v", "act", "u", "tau", "wrench"):
            assert np.array_equal(getattr(back, field)[i], getattr(one, field)), field
        assert back.dt[i] == one.dt
        assert np.array_equal(along.v[i], sim.jvp(q=g[i], v=g[i]).v)
        for mine, theirs in zip(contacts[i], sim.info.contacts, strict=True):
            assert np.array_equal(mine, theirs)
    assert np.array_equal(batch.save([3])[0].cache, sims[3].cache)


def test_wrench_and_its_derivative():
    m = load("cube")
    batch = tg.Batch(m, 3)
    batch.reset(key="drop")
    wrench = np.zeros((3, m.nbody, 6))
    wrench[:, 1, 2] = [0, 50, 100]
    batch.step(wrench=wrench)
    assert batch.v[0, 2] < batch.v[1, 2] < batch.v[2, 2]
    g = batch.vjp(gv=np.eye(6)[[2, 2, 2]])
    assert np.allclose(g.wrench[:, 1, 2], batch.dt / m.mass)


def test_rollout_continues_as_steps_do():
    m = load("quadruped")
    a, b = pushed(m, 4, "home"), pushed(m, 4, "home", threads=1)
    u = controls(m, 4, 30)
    for _ in range(2):
        r = a.rollout(u, derivatives=False)
        for t in range(30):
            b.step(u[:, t])
            assert np.array_equal(r.q[:, t + 1], b.q)
        assert np.array_equal(a.q, b.q)
        assert np.allclose(a.time, b.time, rtol=1e-12)
    with pytest.raises(tg.Error, match="derivatives=False"):
        r.vjp()


def test_rollout_of_a_batch_of_starts():
    m = load("planar_walker")
    batch = pushed(m, 4, "stand")
    q0, v0, u = batch.q.copy(), batch.v.copy(), controls(m, 4, 25)
    g = np.random.default_rng(3).normal(size=(4, 26, m.nv))
    for checkpoints in (False, True):
        r = tg.rollout(m, q0, v0, u, checkpoints=checkpoints)
        back = r.vjp(gq=g, gv=g)
        for i in range(4):
            one = tg.rollout(m, q0[i], v0[i], u[i])
            assert np.array_equal(r.q[i], one.q)
            alone = one.vjp(gq=g[i], gv=g[i])
            for field in ("q", "v", "u", "tau"):
                assert np.array_equal(getattr(back, field)[i], getattr(alone, field)), field
    with pytest.raises(ValueError, match="for several starts"):
        tg.rollout(m, q0[0], v0[0], u[0], threads=2)
    same = tg.rollout(m, q0, v0, u[0])
    assert np.array_equal(same.q[0], r.q[0])


def test_rollouts_with_wrenches_and_held_rows():
    """As those of single starts, gradients with respect to wrenches among them."""
    m = load("quadruped")
    batch, rng = pushed(m, 3, "home"), np.random.default_rng(4)
    q0, v0, u = batch.q.copy(), batch.v.copy(), controls(m, 3, 4)
    wrench, tau = rng.normal(size=(3, 4, m.nbody, 6)), rng.normal(size=(3, 4, m.nv))
    g = rng.normal(size=(3, 12, m.nv))
    given = {"hold": 3, "steps": 11}
    r = tg.rollout(m, q0, v0, u, tau=tau, wrench=wrench, **given)
    back, ahead = r.vjp(gq=g, gv=g), r.jvp(wrench=wrench, controls=u)
    for i in range(3):
        one = tg.rollout(m, q0[i], v0[i], u[i], tau=tau[i], wrench=wrench[i], **given)
        assert np.array_equal(r.q[i], one.q)
        alone, along = one.vjp(gq=g[i], gv=g[i]), one.jvp(wrench=wrench[i], controls=u[i])
        assert np.abs(alone.wrench).max() > 0
        for field in ("q", "v", "u", "tau", "wrench", "dt"):
            assert np.array_equal(getattr(back, field)[i], getattr(alone, field)), field
        assert np.array_equal(ahead.v[i], along.v)
    assert tg.rollout(m, q0, v0, u).vjp(gq=np.zeros((3, 5, m.nv))).wrench.shape == (3, 0, m.nbody, 6)
    assert tg.rollout(m, q0, v0, 7, wrench=wrench[:, :3], hold=3).q.shape == (3, 8, m.nq)
    for bad, message in (
        ({"hold": 0}, "hold"),
        ({"steps": 13, "hold": 3}, "steps"),
        ({"wrench": wrench[:, :2]}, "wrench"),
    ):
        with pytest.raises(ValueError, match=message):
            tg.rollout(m, q0, v0, u, **bad)


def test_parameters_of_environments():
    """Each environment has its own masses; the gradient is that of a model with these masses, and the sum is theirs."""
    m, n = load("quadruped"), 5
    batch = pushed(m, n, "home")
    table = batch.params(["body.*.mass", "geom.floor.friction[0]"])
    assert table.shape == (n, len(m.params.index(["body.*.mass", "geom.floor.friction[0]"])))
    assert batch.params() is table
    table *= 1 + 0.2 * np.random.default_rng(4).random(table.shape)
    q0, v0, u = batch.q.copy(), batch.v.copy(), controls(m, n, 15)
    r = batch.rollout(u)
    g = np.ones((n, 16, m.nv))
    back, total = r.vjp(gv=g), r.vjp(gv=g, sum_params=True)
    assert np.allclose(total.params, back.params.sum(axis=0), rtol=1e-12, atol=1e-12)
    rates = r.sensitivity()
    index = m.params.index(["body.*.mass", "geom.floor.friction[0]"])
    for i in range(n):
        other = m.copy()
        vector = np.array(other.params)
        vector[index] = table[i]
        other.params = vector
        one = tg.rollout(other, q0[i], v0[i], u[i])
        assert np.array_equal(one.q, r.q[i])
        assert np.array_equal(one.vjp(gv=g[i]).params[index], back.params[i])
        assert np.array_equal(one.sensitivity(index).v, rates.v[i])
    before = back.params.copy()
    table *= 2  # a rollout keeps its own
    m.params["gravity"] = [0, 0, -1]
    assert np.array_equal(r.vjp(gv=g).params, before)


def test_step_refuses_parameters_that_changed_since():
    m = load("cube")
    batch = pushed(m, 2, "drop")
    table = batch.params("body.*.mass")
    with pytest.raises(tg.Error, match="no step"):
        batch.jacobian()
    batch.step()
    assert batch.jacobian().dv_dparams.shape == (2, 6, table.shape[1])
    table[1] *= 2
    for call in (batch.jacobian, batch.vjp, batch.jvp, batch.contacts):
        with pytest.raises(tg.Error, match="parameters have changed"):
            call()
    batch.step()
    batch.jacobian()
    m.params["gravity"] = [0, 0, -1]
    with pytest.raises(tg.Error, match="parameters have changed"):
        batch.jacobian()


def test_reset_of_some():
    m = load("quadruped")
    batch = pushed(m, 6, "home")
    batch.rollout(20)
    q = batch.q.copy()
    batch.reset([1, 4], key="home")
    mask = np.array([False, True, False, False, True, False])
    assert np.array_equal(batch.q[~mask], q[~mask])
    assert np.array_equal(batch.q[mask], np.tile(m.key("home").q, (2, 1)))
    assert list(batch.time == 0) == list(mask)
    state = batch.save([2])[0]
    batch.reset(mask, states=[state, state])
    batch.step()
    assert np.array_equal(batch.q[1], batch.q[2])
    assert np.array_equal(batch.q[1], batch.q[4])
    batch.reset([0], states=(q[:1], np.ones((1, m.nv))))
    assert np.array_equal(batch.v[0], np.ones(m.nv))
    for bad, error in (([6], IndexError), ([-1], IndexError), ([0.5], TypeError), ([True], ValueError)):
        with pytest.raises(error, match="ids"):
            batch.reset(bad)


def test_one_of_a_thousand_fails():
    m = load("cube")
    batch = pushed(m, 1000, "drop")
    q, v = batch.q.copy(), batch.v.copy()
    tau = np.zeros((1000, m.nv))
    tau[417, 2] = np.nan
    with pytest.raises(tg.Error, match=r"environment 417: tau\[2\]"):
        batch.step(tau=tau)
    assert np.array_equal(batch.q, q)  # nobody moved
    assert np.array_equal(batch.v, v)
    kept = pushed(m, 1000, "drop", on_error="keep")
    kept.step(tau=tau)
    moved = (kept.q != q).any(axis=1)
    assert list(np.flatnonzero(~moved)) == [417]
    assert [(i, status) for i, status, _ in kept.errors] == [(417, "value out of domain")]
    assert kept.time[417] == 0
    assert kept.time[0] > 0
    r = kept.rollout(3, np.broadcast_to(tau[:, None], (1000, 3, m.nv)))
    assert np.isnan(r.q[417, 1:]).all()
    assert np.isfinite(np.delete(r.q, 417, axis=0)).all()
    batch.params("body.*.mass")[5] = -1
    with pytest.raises(tg.BatchError, match=r"environment 5:.*mass") as caught:
        batch.step()
    assert caught.value.environments == [5]


def test_refusals():
    m = load("cube")
    for bad in ({"n": 0}, {"n": -1}, {"n": 2, "threads": 0}, {"n": 2, "threads": -3}):
        with pytest.raises(tg.Error, match="must be at least 1"):
            tg.Batch(m, **bad)
    with pytest.raises(ValueError, match="on_error"):
        tg.Batch(m, 2, on_error="ignore")
    batch = pushed(m, 3, "drop")
    q = batch.q.copy()
    for bad, error in (
        ({"tau": np.zeros((3, 5))}, ValueError),
        ({"tau": np.zeros(6)}, ValueError),
        ({"tau": np.zeros((3, 6), complex)}, TypeError),
        ({"tau": np.full((3, 6), "x")}, TypeError),
        ({"u": np.zeros((2, 0))}, ValueError),
        ({"wrench": np.zeros((3, 6))}, ValueError),
    ):
        with pytest.raises(error, match="expected"):
            batch.step(**bad)
    with pytest.raises(ValueError, match="controls"):
        batch.rollout(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="controls"):
        batch.rollout(0)
    assert np.array_equal(batch.q, q)
    with pytest.raises(tg.Error, match="no parameters were named"):
        batch.params()
    with batch:
        batch.step()
    assert batch.nbytes == 0
    for call in (batch.step, batch.jacobian, lambda: batch.rollout(3), lambda: batch.params("body.*.mass"), batch.save):
        with pytest.raises(tg.Error, match="closed"):
            call()


def test_arrays_are_taken_as_they_are():
    """Integers, float32, Fortran order and views give what C-contiguous doubles give."""
    m = load("planar_walker")
    u = np.random.default_rng(5).integers(-2, 3, size=(4, m.nu))
    results = []
    for given in (
        u.astype(float),
        u,
        u.astype(np.float32),
        np.asfortranarray(u, dtype=float),
        np.tile(u, 2)[:, : m.nu],
    ):
        batch = pushed(m, 4, "stand")
        batch.step(given)
        results.append(batch.q)
    assert all(np.array_equal(results[0], r) for r in results)
    assert isinstance(batch.q.base, type(None))
    batch.q[2, 0] = 7  # a view, not a copy
    batch.step()
    assert abs(batch.q[2, 0] - 7) < 0.1


def test_progress_and_stop():
    m = load("quadruped")
    batch = pushed(m, 4, "home")
    q, seen = batch.q.copy(), []
    assert (
        batch.rollout(3000, derivatives=False, progress=lambda done, total: seen.append((done, total))).q.shape[1]
        == 3001
    )
    assert all(total == 12000 and 0 < done <= total for done, total in seen)
    batch.reset(states=(q, np.zeros((4, m.nv))))
    with pytest.raises(tg.Error, match="stopped after"):
        batch.rollout(1000000, derivatives=False, progress=lambda done, total: False)
    with pytest.raises(ZeroDivisionError):
        batch.rollout(1000000, derivatives=False, progress=lambda done, total: 1 / 0)
    assert np.array_equal(batch.q, q)
    batch.rollout(5, progress=True)


def test_two_threads_of_python():
    """Two simulations side by side in two threads do what they do one after the other; one object in two threads
    is refused or waits.
    """
    m = load("quadruped")

    def run(sim, out):
        sim.reset("home")
        for _ in range(300):
            sim.step(m.key("home").ctrl)
        out.append(sim.q)

    alone, together = [], []
    run(tg.Sim(m), alone)
    threads = [threading.Thread(target=run, args=(tg.Sim(m), together)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(together) == 2
    assert all(np.array_equal(q, alone[0]) for q in together)


def _child(batch, queue):
    batch.step()
    queue.put(batch.q.copy())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks with threads, which is the point
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where a test before this one has loaded it
def test_fork():
    m = load("quadruped")
    batch = pushed(m, 4, "home", threads=3)
    batch.step()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(batch, queue))
    child.start()
    there = queue.get(timeout=60)
    child.join()
    child.close()
    queue.close()
    queue.join_thread()
    batch.step()
    assert np.array_equal(there, batch.q)


def test_memory_is_told():
    m = load("quadruped")
    few, many = pushed(m, 10, "home", threads=1), pushed(m, 1010, "home", threads=1)
    for batch in (few, many):
        batch.step()
    each = (many.nbytes - few.nbytes) / 1000
    assert 500 < each < 20000
    r = few.rollout(50)
    assert r.nbytes > 50 * 10 * 8 * (2 * m.nv + m.nu)
    assert few.rollout(50, checkpoints=True).nbytes < r.nbytes
