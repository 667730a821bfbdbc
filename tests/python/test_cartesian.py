"""Cartesian systems and the learning tasks: derivatives, the law beside Clarabel, tasks, billiards, torch."""

import numpy as np
import pytest
import tangere as tg
from tangere import cartesian, learn

NAMES = ["BP5-e", "BP5", "CP3-e", "CP3", "BD5", "BD1", "Gyro-e", "Gyro", "Rope-20"]


def before_contacts(name, count, seed=2, trajectories=40, **options):
    """A system, and states (x, v) whose next step has contacts: up to `count` of any kind and as many with several."""
    t = learn.task(name)
    system = t.system(threads=1, **options)
    rng = np.random.default_rng(seed)
    x, v = t.initial(rng, trajectories, system)
    r = system.rollout(x, v, t.states - 1)
    chosen = []
    for least in (1, 2):
        hits = np.argwhere(r.contacts[:, 1:] >= least)
        chosen += [(r.x[i, j], r.v[i, j]) for i, j in hits[rng.permutation(len(hits))[:count]]]
    return system, chosen


def flow(system, x, v):
    """Position and velocity after a step of the 3/8-rule without contacts."""
    h, f = system.dt, lambda x, v: (v, system.acceleration(x, v))
    k1 = f(x, v)
    k2 = f(x + h * k1[0] / 3, v + h * k1[1] / 3)
    k3 = f(x + h * (k2[0] - k1[0] / 3), v + h * (k2[1] - k1[1] / 3))
    k4 = f(x + h * (k1[0] - k2[0] + k3[0]), v + h * (k1[1] - k2[1] + k3[1]))
    return tuple(z + h * (a + 3 * b + 3 * c + d) / 8 for z, a, b, c, d in zip((x, v), k1, k2, k3, k4, strict=True))


def differences(system, x, v, dx, dv, dp, h):  # noqa: PLR0917
    states = [system.rollout(x + t * h * dx, v + t * h * dv, 2, system.params + t * h * dp) for t in (-2, -1, 1, 2)]
    same = all((s.contacts == states[0].contacts).all() for s in states)
    return sum(w / h * s.states for w, s in zip((1 / 12, -2 / 3, 2 / 3, -1 / 12), states, strict=True)), same


@pytest.mark.parametrize("hamiltonian", [False, True])
@pytest.mark.parametrize("eps", [0.0, 0.01])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name, eps, hamiltonian):
    system, states = before_contacts(name, 6, eps=eps, hamiltonian=hamiltonian)
    rng = np.random.default_rng(0)
    compared = 0
    for x, v in states:
        dx, dv = rng.standard_normal((2, *x.shape))
        dp = 0.1 * system.params * rng.standard_normal(system.size.params)
        r = system.rollout(x, v, 2, system.params)
        change = r.jvp(dx, dv, dp)
        bar = rng.standard_normal(r.states.shape)
        g = r.vjp(bar)
        reverse = (g.x * dx).sum() + (g.v * dv).sum() + g.params @ dp
        assert abs((change * bar).sum() - reverse) < 1e-10 * np.abs(change * bar).sum()
        coarse, same = differences(system, x, v, dx, dv, dp, 4e-7)
        fine, same2 = differences(system, x, v, dx, dv, dp, 1e-7)
        size = np.abs(coarse).max()
        if same and same2 and np.abs(coarse - fine).max() < 1e-6 * size:
            assert np.abs(change - coarse).max() < 1e-6 * size
            compared += 1
    assert compared >= 0.6 * len(states) > 0


@pytest.mark.parametrize("name", ["BP5-e", "CP3-e", "Gyro-e"])
def test_derivative_of_friction_from_zero(name):
    """mu = 0 is the end of its domain: the derivative is the one from above."""
    system, states = before_contacts(name, 6)
    mu = system.slices()["mu"]
    seen = 0
    for x, v in states[:6]:
        x1, v1 = flow(system, x, v)
        base, h = system.contact(x1, v1), 1e-6
        params = np.repeat(system.params[None], 2, 0)
        params[0, mu] = h
        params[1, mu] = 2 * h
        a, b = (system.contact(x1, v1, p).v for p in params)
        bar = np.random.default_rng(0).standard_normal(x.shape)
        expected = ((4 * a - b - 3 * base.v) / (2 * h) * bar).sum()
        assert system.contact_vjp(x1, v1, bar).params[mu].sum() == pytest.approx(expected, rel=1e-4, abs=1e-6)
        seen += abs(expected) > 1e-3
    assert seen > 0


@pytest.mark.parametrize("name", ["BP5-e", "BP5", "CP3-e", "CP3", "BD5", "BD1", "Gyro-e", "Gyro", "Rope-50"])
def test_law_beside_clarabel(name):
    """200 to 400 problems per task, some with several contacts: equal impulses on the points, to 1e-7.

    Where contacts of a body with constraints are redundant, only its motion is unique: the constraints balance some
    impulses.
    """
    reference = pytest.importorskip("cartesian_reference")
    system, states = before_contacts(name, 200, seed=5, trajectories=300)
    assert len(states) >= 200
    solved = 0
    for x, v in states:
        x1, v1 = flow(system, x, v)
        problem = system.problem(x1, v1)
        redundant = problem.normal.sum() > 1 and np.linalg.matrix_rank(problem.G) < len(problem.g)
        if redundant:
            # several rows share the load, Poisson's bound sees how: only without restitution is v+ unique
            params = system.params.copy()
            params[system.slices()["e"]] = 0
            problem = system.problem(x1, v1, params)
        f, good = reference.impulse(problem)
        if good:
            balanced = redundant and system.size.constraints > 0
            assert np.abs((problem.G if balanced else problem.J.T) @ (f - problem.f)).max() < 1e-7
            solved += 1
    assert solved >= 0.8 * len(states) > 0  # Gyro: Clarabel ends 180 of 200, the others at a reduced tolerance


@pytest.mark.parametrize("name", NAMES)
def test_residual_of_all_steps(name):
    t = learn.task(name)
    system = t.system()
    r = system.rollout(*t.initial(np.random.default_rng(11), 1000, system), t.states - 1)
    assert (r.contacts > 0).sum() > 500
    assert r.residual.max() < 1e-9


def test_energy():
    """Elastic balls keep their energy in steps of one contact; with friction it grows by no more than v* brings."""
    t = learn.task("BP5-e")
    system = t.system()
    r = system.rollout(*t.initial(np.random.default_rng(1), 100, system), 99)
    energy = system.energy(r.x, r.v).sum(-1)
    change, contacts = np.diff(energy, axis=1), r.contacts[:, 1:]
    assert (contacts == 1).sum() > 500
    assert np.abs(change[contacts == 1]).max() < 1e-4 * energy.min()
    assert change.max() < 1e-12
    alone = r.contacts.max(1) <= 1
    assert alone.sum() > 5
    assert np.abs(energy[alone, -1] / energy[alone, 0] - 1).max() < 1e-4


def test_energy_that_two_contacts_lose_is_the_law():
    """Of 1,000 trajectories one loses more than 1e-4: in a step where restitution pushes a contact that separated.

    Clarabel, with the same two problems, loses as much.
    """
    reference = pytest.importorskip("cartesian_reference")
    t = learn.task("BP5-e")
    system = t.system()
    r = system.rollout(*t.initial(np.random.default_rng(1), 1000, system), 99)
    energy = system.energy(r.x, r.v).sum(-1)
    lost = np.argwhere(np.diff(energy, axis=1) < -1e-4 * energy[:, :1])
    assert 0 < len(lost) <= 3
    assert (np.abs(energy[:, -1] / energy[:, 0] - 1) < 1e-4).sum() >= 1000 - len(lost)
    for i, k in lost:
        assert r.contacts[i, k + 1] > 1
        x, v = flow(system, r.x[i, k], r.v[i, k])
        problem = system.problem(x, v)
        f, good = reference.impulse(problem)
        after = v + (problem.J.T @ f).reshape(v.shape) / 0.1
        assert good
        assert problem.g[problem.normal].max() > 0  # one separates already
        np.testing.assert_allclose(r.v[i, k + 1], after, rtol=0, atol=1e-8)


def test_table():
    rows = {row[0]: row[1:] for row in learn.table(20)}
    assert {name: row[:3] for name, row in rows.items()} == {
        "BP5-e": (10, 0, 30),
        "BP5": (10, 0, 30),
        "CP3-e": (6, 3, 3),
        "CP3": (6, 3, 3),
        "BD5": (30, 15, 30),
        "Rope-50": (100, 0, 99),
        "Rope-200": (400, 0, 399),
        "Gyro-e": (12, 9, 1),
        "Gyro": (12, 9, 1),
    }
    assert rows["Gyro"][3] == rows["CP3"][3] == 1


def test_contacts_of_five_balls():
    """The most contacts at once are those that NumPy and Clarabel find, which simulate the balls by themselves.

    Few trajectories have more than 3: those 30 that have most among 1,000, up to the step where they do.
    """
    reference = pytest.importorskip("cartesian_reference")
    t = learn.task("BP5")
    system = t.system(threads=1)
    x0, v0 = t.initial(np.random.default_rng(7), 1000, system)
    r = system.rollout(x0, v0, t.states - 1)
    most = r.contacts.max(1)
    assert 0.95 < (most <= 3).mean() < 1
    mu, e = learn.tasks.PAIRS["BP5"]
    laws = list(zip(mu, e, strict=True))
    counted = 0
    for i in np.argsort(-most, kind="stable")[:30]:
        x, v, end = x0[i], v0[i], int(r.contacts[i].argmax())
        for k in range(1, end + 1):
            x = x + system.dt * v
            np.testing.assert_allclose(r.x[i, k], x, rtol=0, atol=1e-6)
            p = reference.balls_problem(x, v, system.dt, learn.tasks.RADII, learn.tasks.MASSES, laws, (0.1, 0.8))
            assert p.normal.sum() == r.contacts[i, k]
            if p.normal.any():
                f, _ = reference.impulse(p)
                v = v + (p.inverse * (p.J.T @ f)).reshape(v.shape)
                counted += 1
            if np.linalg.matrix_rank(p.G) < len(p.g):  # rows that share the load: v+ depends on how
                x, v = r.x[i, k], r.v[i, k]
    assert counted > 100


def test_limits_of_a_rope():
    """As many limits act as NumPy alone finds, which simulates the rope by itself; bends in one direction are half."""
    reference = pytest.importorskip("cartesian_reference")
    t = learn.task("Rope-100")
    system = t.system(threads=1)
    x0, v0 = t.draw(np.random.default_rng(3), 4)
    r = system.rollout(x0, v0, t.states - 1)
    most = {True: [], False: []}
    for both in (True, False):
        for i in range(len(x0)):
            x, v, counts = x0[i], v0[i], [0]
            for _ in range(t.states - 1):
                x, v = flow(system, x, v)
                v, count = reference.rope_jump(x, v, system.dt, both=both)
                counts.append(count)
            most[both].append(max(counts))
            if both:
                np.testing.assert_array_equal(r.contacts[i], counts)
                np.testing.assert_allclose(r.x[i, -1], x, rtol=0, atol=1e-7)
    assert max(most[True]) > 10
    assert 0.3 < sum(most[False]) / sum(most[True]) < 0.75


def test_gyroscope_has_nine_independent_constraints():
    t = learn.task("Gyro")
    x, _ = t.draw(np.random.default_rng(0), 1)
    points = x[0]
    J = np.zeros((9, 4, 3))
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for k, (i, j) in enumerate(pairs):
        J[k, i], J[k, j] = 2 * (points[i] - points[j]), -2 * (points[i] - points[j])
    J[6:, 0] = 1.5 * np.eye(3)
    J[6:, 3] = -0.5 * np.eye(3)
    assert np.linalg.matrix_rank(J.reshape(9, 12)) == 9
    assert t.system().violation(x[0]) < 1e-14


def test_chunks():
    data = learn.chunks("BP5", 120, 3)
    again = learn.chunks("BP5", 120, 3)
    assert data["states"].shape == (120, 5, 2, 5, 2)
    np.testing.assert_array_equal(data["states"], again["states"])
    assert (data["contacts"][:, 0] == 0).all()
    assert 45 <= data["colliding"] <= 75
    # a chunk is what a rollout from its first state gives
    system = learn.task("BP5").system()
    r = system.rollout(data["states"][:, 0, 0], data["states"][:, 0, 1], 4)
    np.testing.assert_array_equal(r.states, data["states"])


def test_lcp_data():
    """Newton's restitution: the elastic frictionless pair is the same by both laws, friction is not."""
    a, _ = learn.trajectories("CP3-e", 20, 1)
    b, contacts = learn.trajectories("CP3-e", 20, 1, law="lcp")
    assert (contacts > 0).any()
    first = np.argmax(contacts > 0, 1)
    for i in np.flatnonzero((contacts > 0).any(1)):
        np.testing.assert_allclose(a[i, : first[i] + 1], b[i, : first[i] + 1], atol=1e-9)
    c, hit = learn.trajectories("BP5", 20, 1, law="lcp")
    assert (hit > 0).any()
    assert np.isfinite(c).all()
    system = learn.task("BP5").system(law="lcp")
    r = system.rollout(c[0, 0, 0], c[0, 0, 1], 99)
    if (r.contacts > 0).any():
        with pytest.raises(tg.Error, match="no derivatives"):
            r.vjp(np.ones_like(r.states))


def test_billiards_first_loss_and_gradients():
    x, v = learn.billiards_start()
    off = {}
    for toi in (False, True):
        r = learn.task("billiards").system(threads=1, toi=toi).rollout(x, v, 1023)
        d = r.x[-1, -1] - learn.BILLIARDS_GOAL
        assert d @ d == pytest.approx(0.04547795, abs=5e-9)
        bar = np.zeros_like(r.states)
        bar[-1, 0, -1] = 2 * d
        g = r.vjp(bar)
        off[toi] = np.r_[g.x[0], g.v[0]]
        change = r.jvp(dx=np.eye(11)[0][:, None] * [1.0, 2.0], dv=np.eye(11)[0][:, None] * [-1.0, 0.5])
        assert (change * bar).sum() == pytest.approx(off[toi] @ [1, 2, -1, 0.5], rel=1e-9)
    # a ball that starts further to the right hits earlier: the derivative of the step does not see it
    assert off[False][0] == pytest.approx(0, abs=1e-9)
    assert abs(off[True][0]) > 0.1


def test_threads_and_batches_agree():
    t = learn.task("BD5")
    one, four = t.system(threads=1), t.system(threads=4)
    x, v = t.initial(np.random.default_rng(0), 24, one)
    a, b = one.rollout(x, v, 60), four.rollout(x, v, 60)
    np.testing.assert_array_equal(a.states, b.states)
    bar = np.random.default_rng(1).standard_normal(a.states.shape)
    for p, q in zip(a.vjp(bar), b.vjp(bar), strict=True):
        np.testing.assert_array_equal(p, q)
    single = one.rollout(x[7], v[7], 60)
    np.testing.assert_array_equal(single.states, a.states[7])


def test_refusals():
    system = learn.task("BP5").system()
    x, v = np.full((3, 5, 2), 0.5), np.zeros((3, 5, 2))
    v[2, 4, 1] = np.nan
    with pytest.raises(tg.Error, match=r"BP5: trajectory 2: row 4 of v \(point 4, coordinate 1\) is nan"):
        system.rollout(x, v, 3)
    with pytest.raises(ValueError, match=r"expected shape \[..., 5, 2\], got \(3, 4, 2\)"):
        system.rollout(x[:, :4], v[:, :4], 3)
    params = system.params.copy()
    params[1] = -1
    with pytest.raises(tg.Error, match=r"row 1 of params \(mass\) is -1"):
        system.rollout(x, np.zeros_like(v), 3, params)
    with pytest.raises(ValueError, match="unknown task 'BP6'"):
        learn.task("BP6")
    with pytest.raises(ValueError, match="integrator is 'rk5'"):
        cartesian.Builder().build(integrator="rk5")


def test_command(tmp_path, capsys):
    out = tmp_path / "bp5.npz"
    assert learn.main(["data", "CP3", "--out", str(out), "--trajectories", "30", "--seed", "4"]) == 0
    assert "30 chunks of 5 states" in capsys.readouterr().out
    with np.load(out) as data:
        assert data["states"].shape == (30, 5, 2, 3, 2)
    assert learn.main(["data", "CP4", "--out", str(out)]) == 2
    assert "unknown task 'CP4'" in capsys.readouterr().err


class TestTorch:
    """The force from a network: first derivatives of the rollout hold second derivatives of the potential."""

    @pytest.mark.parametrize("name", ["BP5", "CP3", "Gyro", "Rope-10", "BD5"])
    def test_force_of_a_network(self, name):
        torch = pytest.importorskip("torch")
        from tangere import cartesian_torch as ct  # noqa: PLC0415

        torch.manual_seed(0)
        system, states = before_contacts(name, 3)
        x, v = (torch.tensor(np.array(a)) for a in zip(*states[:4], strict=True))
        width = system.size.points * system.size.dim
        net = torch.nn.Sequential(
            torch.nn.Linear(width, 16), torch.nn.Softplus(), torch.nn.Linear(16, 1, bias=False)
        ).double()
        force = ct.potential_force(lambda q: net(q.flatten(-2)).squeeze(-1))
        params = ct.parameters(system).requires_grad_(True)
        weight = torch.randn(len(x), 3, 2, *system.shape, dtype=torch.float64)
        unknowns = [*net.parameters(), params]
        for p, g in zip(
            unknowns,
            torch.autograd.grad((ct.rollout(system, x, v, 2, params, force) * weight).sum(), unknowns),
            strict=True,
        ):
            d = torch.randn_like(p) * (0.05 * p.detach() if p is params else 1)
            values = []
            with torch.no_grad():
                for t in (-2, -1, 1, 2):
                    p.add_(1e-5 * t * d)
                    values.append((ct.rollout(system, x, v, 2, params, force) * weight).sum())
                    p.sub_(1e-5 * t * d)
            expected = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / 12e-5
            assert abs((g * d).sum() - expected) < 1e-6 * abs(expected) + 1e-8

    def test_rollout_is_that_of_numpy(self):
        torch = pytest.importorskip("torch")
        from tangere import cartesian_torch as ct  # noqa: PLC0415

        system, states = before_contacts("CP3", 3)
        x, v = (torch.tensor(np.array(a), requires_grad=True) for a in zip(*states, strict=True))
        r = system.rollout(x.detach().numpy(), v.detach().numpy(), 3)
        ours = ct.rollout(system, x, v, 3)
        np.testing.assert_array_equal(ours.detach().numpy(), r.states)
        ours.sum().backward()
        g = r.vjp(np.ones_like(r.states))
        np.testing.assert_array_equal(x.grad.numpy(), g.x)
        # gravity given by torch is the gravity of the system
        height = torch.tensor(system.params[:3])
        composed = ct.rollout(system, x, v, 3, force=ct.potential_force(lambda q: 9.81 * (height * q[..., 1]).sum(-1)))
        np.testing.assert_allclose(composed.detach().numpy(), r.states, atol=1e-12)
