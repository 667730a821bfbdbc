"""torch: gradients of steps and rollouts against differences, transforms, precision, refusals, models that are
learned.
"""

import subprocess
import sys

import numpy as np
import pytest
import tangere as tg
from learning import CASES, case, slightly_off
from support import ROOT

torch = pytest.importorskip("torch", reason="pip install 'tangere[torch]'")
tt = pytest.importorskip("tangere.torch")
gradcheck = torch.autograd.gradcheck
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own


def tensors(*arrays):
    return [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("off", [False, True], ids=["unit", "off"])
def test_gradcheck_of_a_step(name, off):
    """Reverse and forward mode, batched, with respect to nq numbers."""
    sim, q, v, u = case(name)
    q = slightly_off(sim.model, q) if off else q
    x = tensors(q, v) if sim.model.nu == 0 else tensors(q, v, u)

    def f(q, v, u=None):
        return tt.step(sim, q, v, u)[:2]

    assert gradcheck(
        f, x, eps=1e-7, atol=1e-5, rtol=1e-4, check_forward_ad=True, check_batched_grad=True,
        check_batched_forward_grad=True,
    )  # fmt: skip
    g = torch.autograd.grad(f(*x)[1].square().sum(), x)
    assert all(torch.isfinite(a).all() for a in g)
    assert g[0].abs().max() > 0


@pytest.mark.parametrize("name", CASES[:2])
def test_gradcheck_of_a_rollout(name):
    sim, q, v, u = case(name)
    q = slightly_off(sim.model, q)
    m = sim.model
    us = torch.tensor(np.tile(u, (4, 1)), requires_grad=m.nu > 0)
    x = tensors(q, v, np.zeros((4, m.nv)))
    assert gradcheck(
        lambda q, v, tau: tt.rollout(sim, q, v, us, tau)[:2], x, eps=1e-7, atol=1e-5, rtol=1e-3,
        check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True,
    )  # fmt: skip


def test_gradcheck_of_parameters():
    sim, q, v, _ = case("sliding cube")
    mass, mu = tensors(float(sim.params["body.cube.mass"]), np.array(sim.params["geom.floor.friction"]))

    def f(mass, mu):
        return tt.rollout(
            sim, torch.tensor(q), torch.tensor(v), 5, params={"body.cube.mass": mass, "geom.floor.friction": mu},
            tau=torch.ones(5, 6, dtype=torch.float64),
        )[:2]  # fmt: skip

    assert gradcheck(f, (mass, mu), check_forward_ad=True)
    assert max(g.abs().max() for g in torch.autograd.grad(f(mass, mu)[1].sum(), (mass, mu))) > 0


@pytest.mark.parametrize("name", CASES)
def test_transforms(name):
    """A vmap is a batch; jacrev = jacfwd = the Jacobian of the library, pulled back."""
    sim, q, v, u = case(name)
    m = sim.model
    q, v, u = (torch.tensor(x) for x in (q, v, u))

    def f(q, v):
        return tt.step(sim, q, v, u).v

    back, ahead = torch.func.jacrev(f, (0, 1))(q, v), torch.func.jacfwd(f, (0, 1))(q, v)
    for a, b in zip(back, ahead, strict=True):
        assert (a - b).abs().max() <= 1e-10 * max(1, a.abs().max())
    alone = tg.Sim(m)
    alone.restore(tg.SimState(0.0, q.numpy(), v.numpy(), np.zeros(m.na), alone.cache))
    alone.step(u.numpy())
    assert np.allclose(back[1].numpy(), alone.jacobian().dv_dv, rtol=1e-10, atol=1e-10)
    many = q + torch.zeros(3, 1, dtype=torch.float64), v + 0.1 * torch.randn(3, m.nv, dtype=torch.float64)
    mapped = torch.func.vmap(f)(*many)
    assert torch.equal(mapped, tt.step(sim, *many, u.expand(3, -1)).v)
    assert torch.equal(mapped, torch.stack([f(a, b) for a, b in zip(*many, strict=True)]))
    each = torch.func.vmap(torch.func.grad(lambda q, v: f(q, v).square().sum(), (0, 1)))(*many)
    x = [a.clone().requires_grad_() for a in many]
    together = torch.autograd.grad(tt.step(sim, *x, u.expand(3, -1)).v.square().sum(), x)
    for a, b in zip(each, together, strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-12)


def test_step_by_step_is_a_rollout():
    """The chain of single steps has the gradient of the rollout, though steps start cold."""
    sim, q, v, u = case("standing quadruped")
    q, v, us = tensors(q, v, np.tile(u, (10, 1)))
    r = tt.rollout(sim, q, v, us)
    a, b = q, v
    for t in range(10):
        a, b, _ = tt.step(sim, a, b, us[t])
    assert torch.allclose(r.q[-1], a, rtol=0, atol=1e-9)
    for x, y in zip(
        torch.autograd.grad(r.q[-1].square().sum() + r.v[-1].sum(), (q, v, us)),
        torch.autograd.grad(a.square().sum() + b.sum(), (q, v, us)), strict=True,
    ):  # fmt: skip
        assert torch.allclose(x, y, rtol=1e-6, atol=1e-6 * float(y.abs().max()))
    assert torch.allclose(r.q[0], q, rtol=0, atol=1e-15)


def test_batches_broadcast_and_keep_shapes():
    sim, q, v, u = case("standing quadruped")
    m = sim.model
    q, v, u = (torch.tensor(x) for x in (q, v, u))
    out = tt.step(sim, q.expand(2, 3, -1), v, u)
    assert out.q.shape == (2, 3, m.nq)
    assert out.v.shape == (2, 3, m.nv)
    assert out.act.shape == (2, 3, m.na)
    assert tt.rollout(sim, q, v, u.expand(2, 5, -1)).q.shape == (2, 6, m.nq)
    batch = tg.Batch(m, 2)
    table = torch.tensor(batch.params("body.*.mass") * np.array([[1], [2.0]]), requires_grad=True)
    two = tt.step(batch, q.expand(2, -1), v, u, params=table)
    assert not torch.equal(two.v[0], two.v[1])
    two.v.sum().backward()
    assert table.grad.shape == table.shape
    assert table.grad.abs().max() > 0
    batch.params()[1] *= 2  # the table counts where nothing else is given
    assert torch.equal(tt.step(batch, q.expand(2, -1), v, u).v, two.v)


def test_single_precision():
    """float32 in, float32 out and back; computed in double."""
    sim, q, v, u = case("standing quadruped")
    exact = tensors(*(x.astype(np.float32).astype(float) for x in (q, v, u)))
    single = [x.detach().float().requires_grad_() for x in exact]
    a, b = tt.step(sim, *exact), tt.step(sim, *single)
    assert b.q.dtype == b.v.dtype == torch.float32
    assert torch.equal(a.v.float(), b.v)
    for x, y in zip(torch.autograd.grad(a.v.sum(), exact), torch.autograd.grad(b.v.sum(), single), strict=True):
        assert y.dtype == torch.float32
        assert torch.equal(x.float(), y)


def test_refusals():
    sim, q, v, u = case("standing quadruped")
    m = sim.model
    q, v, u = tensors(q, v, u)
    with pytest.raises(TypeError, match="q: expected float64 or float32, got float16"):
        tt.step(sim, q.half(), v, u)
    with pytest.raises(TypeError, match="u: expected float64 or float32, got int64"):
        tt.step(sim, q, v, u.long())
    with pytest.raises(TypeError, match="v: expected a torch tensor, got ndarray"):
        tt.step(sim, q, np.zeros(m.nv), u)
    with pytest.raises(ValueError, match=r"q is on meta: tangere computes on the CPU; give q.cpu\(\)"):
        tt.step(sim, q.to("meta"), v, u)
    with pytest.raises(ValueError, match=r"v: expected shape \(\.\.\., 18\)"):
        tt.step(sim, q, v[:-1], u)
    with pytest.raises(ValueError, match="u: expected"):
        tt.rollout(sim, q, v, u)
    with pytest.raises(ValueError, match="at least one step"):
        tt.rollout(sim, q, v, 0)
    with pytest.raises(TypeError, match=r"expected a tangere\.Sim or a tangere\.Batch"):
        tt.step(m, q, v, u)
    bad = v.detach().expand(5, -1).clone()
    bad[3, 1] = np.nan
    with pytest.raises(tg.Error, match=r"environment 3: v\[1\]"):
        tt.step(sim, q, bad, u)
    with pytest.raises(tg.Error, match="quaternion"):
        tt.step(sim, torch.zeros(m.nq, dtype=torch.float64), v, u)
    g = torch.autograd.grad(tt.step(sim, q, v, u).v.square().sum(), v, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="derivatives of derivatives"):
        g.sum().backward()
    batch = tg.Batch(m, 1)
    with pytest.raises(ValueError, match="has named none"):
        tt.step(batch, q, v, u, params=torch.ones(1, dtype=torch.float64))
    batch.close()
    with pytest.raises(tg.Error, match="closed"):
        tt.step(batch, q, v, u)


def test_backward_keeps_its_parameters():
    """What the model has become since does not matter to the backward of a step or a rollout."""
    sim, q, v, _ = case("sliding cube")
    mass = sim.params["body.cube.mass"]
    q, v = tensors(q, v)
    results = []
    for change in (False, True):
        step, rolled = tt.step(sim, q, v).v.square().sum(), tt.rollout(sim, q, v, 8).v.square().sum()
        if change:
            sim.params["body.cube.mass"] = 3 * mass
        results.append(torch.autograd.grad(step + rolled, (q, v)))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_two_rollouts_in_one_graph():
    sim, q, v, u = case("standing quadruped")
    q, v = tensors(q, v)
    us = [torch.tensor(np.tile(u, (6, 1)) + s).requires_grad_() for s in (0, 0.1)]
    alone = [torch.autograd.grad(tt.rollout(sim, q, v, x).v.sum(), x)[0] for x in us]
    both = torch.autograd.grad(sum(tt.rollout(sim, q, v, x).v.sum() for x in us), us)
    assert all(torch.equal(a, b) for a, b in zip(alone, both, strict=True))


def test_world_learns_a_mass_and_friction():
    """From a trajectory the friction of a sliding cube comes back; inertias stay possible."""
    sim, q, v, _ = case("sliding cube")
    q, v = torch.tensor(q), torch.tensor(v)
    target = tt.rollout(sim, q, v, 40).q.detach()
    m = sim.model
    truth = m.params["geom.floor.friction[0]"]
    m.params["geom.*.friction[0]"] = 0.5 * truth
    world = tt.World(m, positive=["geom.*.friction[0]"])
    optimiser = torch.optim.Adam(world.parameters(), lr=0.05)
    for _ in range(80):
        optimiser.zero_grad()
        loss = (world.rollout(q, v, 40).q - target).square().sum()
        loss.backward()
        optimiser.step()
    assert max(world.values()["geom.*.friction[0]"].tolist()) == pytest.approx(truth, rel=1e-2)
    world.write()
    assert max(m.params["geom.*.friction[0]"]) == pytest.approx(truth, rel=1e-2)


def test_world_inertias():
    m = tg.load(ROOT / "models" / "quadruped.xml")
    world = tt.World(m, names=["joint.*.damping"], inertias=["trunk"])
    values = world.values()
    for field in ("mass", "com", "inertia"):
        assert np.allclose(values[f"body.trunk.{field}"].detach().numpy(), m.params[f"body.trunk.{field}"], atol=1e-12)
    with torch.no_grad():
        world.raw[-1] += 0.3 * torch.randn(10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    q = torch.tensor(m.key("home").q)
    v = torch.zeros(m.nv, dtype=torch.float64)
    world.rollout(q, v, 5).v.square().sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in world.parameters())
    assert world.raw[-1].grad.abs().max() > 0
    world.write()  # the model takes them
    with pytest.raises(ValueError, match="named twice"):
        tt.World(m, names=["body.trunk.mass"], inertias=["trunk"])
    with pytest.raises(ValueError, match="positive"):
        tt.World(m, positive=["gravity"])


def test_says_what_to_install():
    """Without torch everything else works, and tangere.torch says which extra is missing."""
    code = (
        "import sys; sys.modules['torch'] = None; import tangere\n"
        "try:\n    import tangere.torch\nexcept ImportError as e:\n    print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'tangere[torch]'" in done.stdout
