"""Quadratic programs of contact from NumPy, torch and JAX."""

import numpy as np
import pytest
import tangere as tg


def problems(count, blocks, size=2, seed=0, shift=0.1):
    r = np.random.default_rng(seed)
    n = blocks * size
    A = r.normal(size=(count, n, n))
    G = A @ A.swapaxes(1, 2) / n + shift * np.eye(n)
    G = (G + G.swapaxes(1, 2)) / 2
    return G, r.normal(size=(count, n)), r.uniform(0.2, 1, (count, blocks)), r.uniform(0.2, 1, (count, blocks))


def test_known():
    s = tg.qcqp(np.eye(2), [-3.0, -4.0], mu=[0.5], l=[2.0])
    assert s.solved
    assert s.status == "solved"
    np.testing.assert_allclose(s.x, [0.6, 0.8], atol=1e-15)
    np.testing.assert_allclose(s.vjp([0.6, 0.8]).l, [0.5], atol=1e-14)  # x follows its radius
    s = tg.qcqp([[2.0, 1.0], [1.0, 2.0]], [-2.0, 5.0])
    np.testing.assert_allclose(s.x, [1, 0], atol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_optimality_and_derivatives(size):
    G, g, mu, l = problems(20, 6, size)  # noqa: E741
    s = tg.qcqp(G, g, mu, l, sizes=size)
    assert s.solved
    # no feasible point is better: the optimality gap
    slope = np.einsum("bij,bj->bi", G, s.x) + g
    blocks = slope.reshape(20, 6, size)
    gap = (s.x * slope).sum(1) + (mu * l * np.linalg.norm(blocks, axis=2)).sum(1)
    assert np.abs(gap).max() < 1e-12
    r = np.random.default_rng(1)
    dG = r.normal(size=G.shape)
    dG = dG + dG.swapaxes(1, 2)
    dg, dmu, dl = r.normal(size=g.shape), r.normal(size=mu.shape), r.normal(size=l.shape)
    forward = s.jvp(dG, dg, dmu, dl)
    h = 1e-5
    plus = tg.qcqp(G + h * dG, g + h * dg, mu + h * dmu, l + h * dl, sizes=size).x
    minus = tg.qcqp(G - h * dG, g - h * dg, mu - h * dmu, l - h * dl, sizes=size).x
    difference = (plus - minus) / (2 * h)
    smooth = np.abs(difference - forward).max(1) < 1e-6 * np.maximum(1, np.abs(difference).max(1))
    assert smooth.sum() >= 19  # one may change its active set within h
    u = r.normal(size=s.x.shape)
    bar = s.vjp(u)
    left = (u * forward).sum(1)
    right = (bar.G * dG).sum((1, 2)) + (bar.g * dg).sum(1) + (bar.mu * dmu).sum(1) + (bar.l * dl).sum(1)
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)
    J = s.jacobian()
    full = np.einsum("bijk,bjk->bi", J.G, dG) + np.einsum("bij,bj->bi", J.g, dg)
    full += np.einsum("bij,bj->bi", J.mu, dmu) + np.einsum("bij,bj->bi", J.l, dl)
    np.testing.assert_allclose(full, forward, rtol=1e-10, atol=1e-10)
    assert np.abs(forward).max() > 0.1
    assert (bar.label == "exact").all()


def test_threads_give_the_same_bits():
    G, g, mu, l = problems(1000, 8)  # noqa: E741
    one, two = (tg.qcqp(G, g, mu, l, threads=t) for t in (1, 2))
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one.vjp(g).G, two.vjp(g).G)


def test_refusals():
    G, g, mu, l = problems(3, 2)  # noqa: E741
    with pytest.raises(ValueError, match=r"G has shape"):
        tg.qcqp(G[:, :3], g, mu, l)
    with pytest.raises(ValueError, match=r"mu is missing"):
        tg.qcqp(G, g, None, l)
    with pytest.raises(ValueError, match=r"rows are not blocks"):
        tg.qcqp(G, g, mu, l, sizes=3)
    bad = mu.copy()
    bad[1, 1] = -1
    with pytest.raises(ValueError, match=r"mu\[1\]\[1\] = -1"):
        tg.qcqp(G, g, bad, l)
    bad = G.copy()
    bad[2] = -np.eye(4)
    with pytest.raises(ValueError, match=r"G\[2\]\[0\]\[0\] = -1"):
        tg.qcqp(bad, g, mu, l)
    bad = g.copy()
    bad[0, 3] = np.nan
    with pytest.raises(ValueError, match=r"g\[0\]\[3\] = nan"):
        tg.qcqp(G, bad, mu, l)


def test_torch():
    torch = pytest.importorskip("torch")
    from tangere.torch import qcqp  # noqa: PLC0415

    G, g, mu, l = (torch.tensor(a, requires_grad=True) for a in problems(2, 3))  # noqa: E741
    balls = lambda G, *rest: qcqp((G + G.mT) / 2, *rest)  # noqa: E731
    assert torch.autograd.gradcheck(balls, (G, g, mu, l), eps=1e-6, atol=1e-6)
    assert torch.autograd.gradcheck(lambda G, g: qcqp((G + G.mT) / 2, g), (G, g), eps=1e-6, atol=1e-6)
    qcqp(G.float(), g.float(), mu.float(), l.float()).sum().backward()
    assert g.grad.abs().max() > 0


def test_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    qcqp = pytest.importorskip("tangere.jax").qcqp
    data = problems(4, 3)
    x = jax.jit(qcqp)(*data)
    np.testing.assert_array_equal(x, tg.qcqp(*data).x)
    np.testing.assert_array_equal(jax.vmap(qcqp)(*data), x)
    bar = jax.grad(lambda *a: (qcqp(*a) ** 2).sum(), argnums=(0, 1, 2, 3))(*data)
    mine = tg.qcqp(*data).vjp(2 * np.asarray(x))
    for a, b in zip(bar, mine[:4], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14)
