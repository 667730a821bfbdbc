"""JAX: gradients of steps and rollouts against differences, jit, vmap, scan, refusals."""

import subprocess
import sys

import numpy as np
import pytest
import tangere as tg
from learning import CASES, case, slightly_off

jax = pytest.importorskip("jax", reason="pip install 'tangere[jax]'")
jax.config.update("jax_enable_x64", True)
tj = pytest.importorskip("tangere.jax")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("off", [False, True], ids=["unit", "off"])
def test_check_grads_of_a_step(name, off):
    sim, q, v, u = case(name)
    q = slightly_off(sim.model, q) if off else q

    def f(q, v, u):
        return tj.step(sim, q, v, u)[:2]

    check_grads(f, (q, v, u), order=1, modes=("fwd", "rev"), eps=1e-7, atol=1e-5, rtol=1e-4)
    g = jax.jit(jax.grad(lambda q: jnp.sum(f(q, v, u)[1] ** 2)))(q)
    assert np.isfinite(g).all()
    assert abs(g).max() > 0


@pytest.mark.parametrize("name", CASES[:2])
def test_check_grads_of_a_rollout(name):
    sim, q, v, u = case(name)
    q = slightly_off(sim.model, q)
    us, tau = np.tile(u, (4, 1)), np.zeros((4, sim.model.nv))

    def f(q, v, us, tau):
        return tj.rollout(sim, q, v, us, tau)[:2]

    check_grads(f, (q, v, us, tau), order=1, modes=("fwd", "rev"), eps=1e-7, atol=1e-5, rtol=1e-3)


def test_check_grads_of_parameters():
    sim, q, v, _ = case("sliding cube")
    values = {
        "body.cube.mass": float(sim.params["body.cube.mass"]),
        "geom.floor.friction[0]": float(sim.params["geom.floor.friction[0]"]),
    }

    def f(values):
        return tj.rollout(sim, q, v, 5, np.ones((5, 6)), params=values).v

    check_grads(f, (values,), order=1, modes=("fwd", "rev"))
    assert abs(jax.grad(lambda x: f(x).sum())(values)["body.cube.mass"]) > 0


@pytest.mark.parametrize("name", CASES)
def test_same_as_torch_and_numpy(name):
    """The step has the bits of a cold one, its Jacobian those of the library, pulled back."""
    sim, q, v, u = case(name)
    m = sim.model
    alone = tg.Sim(m)
    alone.restore(tg.SimState(0.0, q, v, np.zeros(m.na), alone.cache))
    alone.step(u)
    out = tj.step(sim, q, v, u)
    assert np.allclose(out.v, alone.v, rtol=0, atol=1e-12)
    rev = jax.jit(jax.jacrev(lambda v: tj.step(sim, q, v, u).v))(v)
    fwd = jax.jit(jax.jacfwd(lambda v: tj.step(sim, q, v, u).v))(v)
    assert np.allclose(rev, fwd, rtol=1e-10, atol=1e-10)
    assert np.allclose(rev, alone.jacobian().dv_dv, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_jit_vmap_grad(name):
    sim, q, v, u = case(name)
    vs = v + 0.1 * np.random.default_rng(0).normal(size=(5, len(v)))

    def loss(q, v):
        return jnp.sum(tj.step(sim, q, v, u).v ** 2)

    each = jax.jit(jax.vmap(jax.grad(loss, (0, 1)), (None, 0)))(q, vs)
    for i in range(5):
        alone = jax.grad(loss, (0, 1))(q, vs[i])
        for a, b in zip(each, alone, strict=True):
            assert np.allclose(a[i], b, rtol=1e-12, atol=1e-12)
    twice = jax.vmap(jax.vmap(loss, (None, 0)), (0, None))(np.stack([q, q]), vs)
    assert twice.shape == (2, 5)
    assert np.array_equal(twice[0], jax.vmap(loss, (None, 0))(q, vs))


def test_scan_over_100_steps():
    """A loop of single steps, compiled and differentiated, is the rollout."""
    sim, q, v, u = case("standing quadruped")
    us = np.tile(u, (100, 1))

    def scanned(us):
        def one(state, u):
            out = tj.step(sim, *state, u)
            return (out.q, out.v), out.v

        return jax.lax.scan(one, (jnp.asarray(q), jnp.asarray(v)), us)[1]

    rolled = tj.rollout(sim, q, v, us)
    assert np.allclose(jax.jit(scanned)(us), rolled.v[1:], rtol=0, atol=1e-8)
    g = jax.jit(jax.grad(lambda us: jnp.sum(scanned(us)[-1] ** 2) * 1e3))(us)
    h = jax.jit(jax.grad(lambda us: jnp.sum(tj.rollout(sim, q, v, us).v[-1] ** 2) * 1e3))(us)
    assert abs(h).max() > 0
    assert np.allclose(g, h, rtol=1e-4, atol=1e-4 * float(abs(h).max()))


def test_parameters_are_those_of_the_trace():
    sim, q, v, _ = case("sliding cube")
    f = jax.jit(lambda v: tj.step(sim, q, v, tau=np.ones(6)).v)
    before = f(v)
    known = len(tj._functions)
    tj.step(sim, q, v)
    assert len(tj._functions) == known  # nothing is made anew
    sim.params["body.cube.mass"] = 3 * sim.params["body.cube.mass"]
    assert np.array_equal(f(v), before)
    assert not np.array_equal(tj.step(sim, q, v, tau=np.ones(6)).v, before)


def test_batch_and_dtypes():
    sim, q, v, u = case("standing quadruped")
    m = sim.model
    batch = tg.Batch(m, 2)
    table = batch.params("body.*.mass") * np.array([[1], [2.0]])
    out = tj.step(batch, np.stack([q, q]), v, u, params=table)
    assert not np.array_equal(out.v[0], out.v[1])
    single = tj.step(sim, q.astype(np.float32), v.astype(np.float32), u.astype(np.float32))
    assert single.v.dtype == np.float32
    g = jax.grad(lambda v: tj.step(sim, q.astype(np.float32), v).v.sum())(v.astype(np.float32))
    assert g.dtype == np.float32


def test_refusals():
    sim, q, v, u = case("standing quadruped")
    with pytest.raises(ValueError, match=r"v: expected shape \(\.\.\., 18\)"):
        tj.step(sim, q, v[:-1], u)
    with pytest.raises(TypeError, match="q: expected float64 or float32, got float16"):
        tj.step(sim, q.astype(np.float16), v, u)
    with pytest.raises(ValueError, match="at least one step"):
        tj.rollout(sim, q, v, 0)
    with pytest.raises(TypeError, match=r"expected a tangere\.Sim"):
        tj.step(sim.model, q, v, u)
    bad = np.tile(v, (4, 1))
    bad[2, 1] = np.nan
    with pytest.raises(Exception, match=r"environment 2: v\[1\]"):
        jax.block_until_ready(tj.step(sim, q, bad, u))
    with pytest.raises(NotImplementedError, match="derivatives of derivatives"):
        jax.hessian(lambda v: jnp.sum(tj.step(sim, q, v, u).v ** 2))(v)
    batch = tg.Batch(sim.model, 1)
    batch.close()
    with pytest.raises(tg.Error, match="closed"):
        tj.step(batch, q, v, u)


def _child(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_says_what_to_install():
    assert "pip install 'tangere[jax]'" in _child(
        "import sys; sys.modules['jax'] = None; import tangere\n"
        "try:\n    import tangere.jax\nexcept ImportError as e:\n    print(e)"
    )


def test_needs_64_bits():
    assert "jax_enable_x64" in _child(
        "import tangere as tg, tangere.jax as tj\n"
        "m = tg.load_string('<mujoco><worldbody><body><freejoint/><geom size=\".1\"/></body></worldbody></mujoco>')\n"
        "try:\n    tj.step(tg.Sim(m), m.default_q(), [0.0] * 6)\nexcept RuntimeError as e:\n    print(e)"
    )
