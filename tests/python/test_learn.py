"""Learning: models against differences and against the library, training, folders, resume, refusals, the report."""

import io
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tangere import learn

torch = pytest.importorskip("torch")

from tangere import cartesian_torch  # noqa: E402
from tangere.learn import bars, baselines, models, plan, report, runs, throws, train  # noqa: E402
from tangere.learn.runs import Config  # noqa: E402

KINDS = ["CLNN", "CHNN"]
TASKS = ["BP5", "CP3", "BD5", "Gyro", "Rope-8"]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tensors(name, count, seed=5):
    chunks = learn.chunks(name, count, seed)["states"]
    return torch.tensor(chunks)


def double_model(name, kind, eps=0.0, seed=1):
    torch.manual_seed(seed)
    model = models.ContactModel(learn.task(name).system(threads=1), kind, eps).double()
    model.properties.friction.data /= models.FIRST_FRICTION  # U(0, 1): some contacts slip, some stick
    return model


def test_force_is_the_gradient_of_the_potential():
    torch.manual_seed(0)
    network = models.Potential(6, width=32).double()
    x = torch.randn(7, 3, 2, dtype=torch.float64)
    by_torch = cartesian_torch.potential_force(network)(x)
    assert by_torch.abs().max() > 1e-3
    torch.testing.assert_close(network.force(x), by_torch, rtol=1e-12, atol=1e-14)


def test_reverse_of_the_force_is_that_of_torch():
    """By x and by every weight, against second derivatives of the network by torch."""
    torch.manual_seed(2)
    network = models.Potential(6, width=24).double()
    x = torch.randn(9, 3, 2, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(9, 3, 2, dtype=torch.float64)
    named = {"x": x, **{name: p for name, p in network.named_parameters() if name != "layers.6.bias"}}
    ours = torch.autograd.grad((network.force(x) * weight).sum(), list(named.values()))
    theirs = torch.autograd.grad(
        (cartesian_torch.potential_force(network)(x) * weight).sum(), list(named.values()), materialize_grads=True
    )
    for name, a, b in zip(named, ours, theirs, strict=True):
        assert b.abs().max() > 1e-4, name
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12, msg=name)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_true_properties_give_the_true_motion(name, kind):
    """With the true force and parameters a model is the library's own rollout, in both forms."""
    model = double_model(name, kind)
    t = learn.task(name)
    truth = t.system(threads=1, hamiltonian=kind == "CHNN")
    p, s = model.properties, truth.slices()
    true = torch.tensor(truth.params)
    with torch.no_grad():
        p.mass.copy_(true[s["mass"]].log())
        if p.rigid:
            p.moment.copy_(true[s["lambda"]].reshape(p.moment.shape).log())
        p.friction.copy_(true[s["mu"]])
        p.restitution.copy_(true[s["e"]])
    torch.testing.assert_close(p(), true, rtol=1e-12, atol=1e-12)
    acceleration = truth.with_options(hamiltonian=False)

    def force(x):
        """Of the energy: central differences (gravity is linear in x, springs are not)."""
        X, h = x.numpy(), 1e-5
        out = np.zeros(X.shape)
        for k in np.ndindex(X.shape[1:]):
            d = np.zeros(X.shape[1:])
            d[k] = h
            up, down = (acceleration.energy(X + z, X)[:, 1] for z in (d, -d))
            out[(slice(None), *k)] = -(up - down) / (2 * h)
        return torch.from_numpy(out)

    model.flow.potential.force = force
    chunks = tensors(name, 40)
    with torch.no_grad():
        states = model.rollout(chunks[:, 0, 0], chunks[:, 0, 1], 4).numpy()
    r = truth.rollout(chunks[:, 0, 0].numpy(), chunks[:, 0, 1].numpy(), 4)
    assert (r.contacts > 0).any()
    assert model.counter.problems == (r.contacts > 0).sum()
    np.testing.assert_allclose(states, r.states, rtol=0, atol=2e-8)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eps", [0.0, None])
def test_gradients_are_those_of_differences(name, kind, eps):
    """Of a smooth function of all states, by every property and along random directions of the weights."""
    model = double_model(name, kind, eps)
    if eps is None:
        model.properties.softness.data.fill_(-3.9)  # eps = 0.02: with a large one e does not matter
    rng = np.random.default_rng(1)
    chunks = tensors(name, 8)
    weight = torch.tensor(rng.standard_normal(chunks.shape))

    def value(rows):
        return (model.rollout(chunks[rows, 0, 0], chunks[rows, 0, 1], 4) * weight[rows]).sum((1, 2, 3, 4))

    rows = torch.arange(len(chunks))
    without = {"flow.potential.layers.6.bias"}  # a constant of the potential has no force
    without |= {"properties.friction"} if name.startswith("Rope") else set()  # limits have one row
    assert model.properties.friction.min() > 0.001
    gradients = []
    for i in rows:
        model.zero_grad()
        value(rows[i : i + 1]).sum().backward()
        gradients.append({label: None if p.grad is None else p.grad.clone() for label, p in model.named_parameters()})
    for label, p in model.named_parameters():
        d = torch.tensor(rng.standard_normal(p.shape))
        d /= d.norm()

        def moved(h, p=p, d=d):
            with torch.no_grad():
                p += h * d
                out = value(rows).numpy()
                p -= h * d
            return out

        gradient = [0.0 if g[label] is None else float((g[label] * d).sum()) for g in gradients]
        h = 1e-4
        near, far = ((moved(k * h) - moved(-k * h)) / (2 * k * h) for k in (1, 2))
        extrapolated = (4 * near - far) / 3
        middle = moved(0)
        one_sided = [(moved(k * h) - middle) / (k * h) for k in (1, -1)]
        scale = max(1e-3, np.abs(extrapolated).max())
        # a mode that changes between the two sides makes them differ: not differentiable there
        smooth = np.abs(one_sided[0] - one_sided[1]) < 50 * h * scale * max(1, np.abs(extrapolated).max())
        assert smooth.sum() >= 0.7 * len(rows)
        np.testing.assert_allclose(np.array(gradient)[smooth], extrapolated[smooth], rtol=0, atol=2e-5 * scale)
        assert (np.abs(extrapolated).max() > 1e-7) == (label not in without), label


# ---- baselines ----


def test_objects_and_relations():
    """As many as published, but for the pivot, which has a relation here, and limits of the rope's anchor."""
    sizes = {}
    for name in ("BP5", "BD5", "CP3", "Gyro", "Rope-20"):
        system = learn.task(name).system(threads=1)
        g = baselines.graph(system)
        sizes[name] = (system.size.points + len(g.place), len(g.receiver))
        assert (g.receiver < system.size.points).all()
        assert (g.receiver != g.sender).all()
    assert sizes == {"BP5": (9, 40), "BD5": (19, 70), "CP3": (5, 8), "Gyro": (6, 14), "Rope-20": (21, 151)}
    g = baselines.graph(learn.task("BP5").system(threads=1))
    assert sorted(map(tuple, g.place.round(12).tolist())) == [(0.0, 0.5), (0.5, 0.0), (0.5, 1.0), (1.0, 0.5)]
    g = baselines.graph(learn.task("Gyro").system(threads=1))
    np.testing.assert_allclose(g.place[0], [0, -0.33, 0], atol=1e-12)


def test_a_wall_acts_only_through_the_detector():
    torch.manual_seed(0)
    model = baselines.MlpModel(learn.task("BP5").system(threads=1))
    chunks = tensors("BP5", 40).float()
    x, v = chunks[:, :, 0].flatten(0, 1), chunks[:, :, 1].flatten(0, 1)
    kick = model.kick(x, v)
    touching = model.system.touching(x.double().numpy()) > 0
    assert 0 < touching.sum() < len(touching)
    np.testing.assert_array_equal((kick != 0).flatten(1).any(1).numpy(), touching)


@pytest.mark.parametrize(
    ("task", "model"),
    [(task, model) for task in ("BP5", "Gyro") for model in runs.BASELINES]
    + [("BD5", "IN-CP-CLNN"), ("CP3", "IN-CP-SP"), ("Rope-8", "MLP-CD-CLNN")],
)
def test_baselines_learn_something(tmp_path, task, model):
    config = Config(task, model, trajectories=20, epochs=12, batch=40)
    t = train.Training(config, tmp_path / "run", out=io.StringIO())
    result = t.run()
    losses = [row["train"] for row in t.history]
    assert losses[-1] < losses[0]
    assert result["iterations"] == 12 * 2
    assert len(result["errors"]) == runs.EVALUATED


# ---- training ----


def quiet(config, folder):
    return train.Training(config, folder, out=io.StringIO())


TINY = Config("BP5-e", "CM-CLNN", trajectories=24, epochs=6, batch=10)


@pytest.mark.parametrize("model", ["CM-CLNN", "CM-CHNN", "CMr-CLNN"])
@pytest.mark.parametrize("task", ["BP5-e", "CP3"])
def test_training_lowers_the_loss(tmp_path, task, model):
    """A tiny version of `make learn-small`: bars on loss and on the way of e."""
    config = Config(task, model, trajectories=40, epochs=60, batch=40, every=10)
    t = quiet(config, tmp_path)
    result = t.run()
    losses = [row["train"] for row in t.history]
    assert losses[-1] < losses[0]
    e, true = result["learned"]["e"][0], result["truth"]["e"][0]
    assert abs(e - true) < 0.5 - 0.05  # starts at 0.5, moves by about the rate, 1e-2 at first, per iteration
    assert result["problems"] > 0
    assert result["learned"]["eps"] == pytest.approx(0.01 if model == "CMr-CLNN" else 0)
    spent = result["cpu seconds per iteration"]
    assert set(spent) == {"network", "contact", "rest"}
    assert all(s > 0 for s in spent.values())
    assert {p.name for p in tmp_path.iterdir()} == {
        *("config.json", "machine.json", "log.csv", "checkpoint.pt", "result.json")
    }
    assert json.loads((tmp_path / "machine.json").read_text())["torch threads"] == 1


def test_coefficients_come_back_from_the_ends_of_their_range():
    """The optimiser may push them beyond; published is a function that is flat there."""
    system = learn.task("CP3").system(threads=1)
    for published in (False, True):
        p = models.Properties(system, published=published)
        with torch.no_grad():
            p.friction.fill_(-0.02)
            p.restitution.fill_(3.1)
        p.project()
        assert (p.mu().item(), p.e().item()) == (0.0, 1.0)
        (p.mu() + p.e()).sum().backward()
        slopes = (p.friction.grad.item(), p.restitution.grad.item())
        assert slopes == ((0.0, 0.0) if published else (1.0, 1.0))


@pytest.mark.parametrize(
    ("name", "radius"), [("BD5", (0.05, 0.10, 0.13, 0.15, 0.18)), ("Gyro", (0.3,)), ("BD1", (0.1,))]
)
def test_moments_start_at_the_size_of_a_body(name, radius):
    """lambda = R^2 exp(0.1 N(0, 1)), published exp(0.1 N(0, 1)), of the same draws; mu < 1/4, published < 1."""
    system = learn.task(name).system(threads=1)
    found, mu = [], []
    for published in (False, True):
        torch.manual_seed(3)
        p = models.Properties(system, published=published)
        found.append(p.moments().detach().numpy())
        mu.append(p.mu().detach().numpy())
    np.testing.assert_allclose(4 * mu[0], mu[1], rtol=1e-6)
    assert 0 < mu[0].min() <= mu[0].max() < 0.25
    np.testing.assert_allclose(found[0] / found[1], np.square(radius)[:, None] * np.ones(system.size.dim), rtol=1e-5)
    assert np.ptp(found[1]) > 1e-3


def test_rates_of_weights_and_properties(tmp_path):
    t = quiet(TINY, tmp_path)
    rates = [[] for _ in t.optimiser.param_groups]
    step = t.optimiser.step

    def seen():
        for group, seen_rates in zip(t.optimiser.param_groups, rates, strict=True):
            seen_rates.append(group["lr"])
        step()

    t.optimiser.step = seen
    t.run()
    part = np.arange(18) / 18  # 6 epochs of 3 batches
    for first, found in zip((1e-3, 1e-2), rates, strict=True):
        np.testing.assert_allclose(found, first * (1 + np.cos(np.pi * part)) / 2, rtol=1e-12)
    sizes = [sum(p.numel() for p in g["params"]) for g in t.optimiser.param_groups]
    assert sizes[1] == 5 + 2  # masses, mu and e
    published = train.parameter_groups(t.model, replace(TINY, as_published=True))
    assert {g["lr"] for g in published} == {1e-3}
    assert replace(TINY, as_published=True).decayed(0.9) == replace(TINY, schedule="constant").decayed(0.9) == 1.0


@pytest.mark.parametrize("task", ["BP5", "Gyro"])
def test_resumed_equals_uninterrupted(tmp_path, task):
    config = replace(TINY, task=task)
    whole = quiet(config, tmp_path / "whole")
    whole.run()

    class StoppedError(Exception):
        pass

    part = quiet(config, tmp_path / "part")
    validate = part._validate

    def stop(*args):
        validate(*args)
        if part.epoch == 3:
            part._save()
            raise StoppedError

    part._validate = stop
    with pytest.raises(StoppedError):
        part.run()
    assert not (tmp_path / "part" / "result.json").exists()
    again = quiet(config, tmp_path / "part")
    result = again.run()
    for (name, a), b in zip(whole.model.state_dict().items(), again.model.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    assert [(r["epoch"], r["train"], r["validation"]) for r in whole.history] == [
        (r["epoch"], r["train"], r["validation"]) for r in again.history
    ]
    assert result["errors"] == json.loads((tmp_path / "whole" / "result.json").read_text())["errors"]
    assert plan.train_one(config, tmp_path / "part") == result  # a finished run is not trained again


def test_splits_are_different_unless_as_published():
    data = runs.load_data(TINY)
    assert not np.array_equal(data.validation, data.test)
    same = runs.load_data(replace(TINY, as_published=True))
    np.testing.assert_array_equal(same.validation, same.test)
    assert replace(TINY, model="CMr-CLNN", as_published=True).truth_eps == runs.CMR_EPS
    assert replace(TINY, model="CMr-CLNN").truth_eps == 0


def test_noise_keeps_links():
    config = Config("CP3", "CM-CLNN", trajectories=30, noise=0.05)
    clean, noisy = (runs.load_data(replace(config, noise=sd)).train for sd in (0.0, 0.05))
    assert 0.01 < np.abs(noisy - clean).mean() < 0.1
    length = np.linalg.norm(np.diff(noisy[:, :, 0], axis=2, prepend=0), axis=-1)
    np.testing.assert_allclose(length, np.broadcast_to([0.35, 0.40, 0.35], length.shape), rtol=1e-12)
    exact = np.stack(learn.task("CP3").draw(np.random.default_rng(1), 20), 1)  # integrated links drift by some 1e-4
    np.testing.assert_allclose(runs._noisy("CP3", exact, 0.0, np.random.default_rng(0)), exact, atol=1e-12)


def test_regularised_derivatives_are_counted():
    """A ball that sticks at two walls in a corner: four rows, two ways to move."""
    system = learn.task("BP5").system(threads=1)
    params = system.params.copy()
    params[system.slices()["mu"]] = 1.5
    x = np.array([[0.04, 0.04], [0.5, 0.2], [0.8, 0.8], [0.2, 0.7], [0.5, 0.5]])
    x[1:] = [[0.3, 0.5], [0.7, 0.2], [0.3, 0.83], [0.75, 0.7]]
    v = np.zeros((5, 2))
    v[0] = -1.0, -0.8
    assert system.touching(x) == 2
    system.contact_vjp(x, v, np.ones_like(v), params)
    assert system.core.regularised() == 1
    x[0] = 0.04, 0.3
    system.contact_vjp(x, v, np.ones_like(v), params)
    assert system.core.regularised() == 0


def test_counts_of_coefficients():
    data = runs.load_data(Config("BP5", "CM-CLNN", trajectories=60))
    assert data.counts.shape == (30,)
    assert data.colliding <= data.counts.sum() <= 4 * 5 * data.colliding
    assert (data.counts > 0).sum() > 5


# ---- what goes wrong ----


def test_nan_ends_a_run(tmp_path):
    t = quiet(TINY, tmp_path)
    with torch.no_grad():
        t.model.flow.potential.layers[0].weight[0, 0] = float("nan")
    with pytest.raises(Exception, match="nan"):
        t.run()
    assert not (tmp_path / "result.json").exists()


def test_gradient_that_is_not_finite_is_named(tmp_path):
    t = quiet(TINY, tmp_path)
    t.model.properties.mass.register_hook(lambda g: g * float("inf"))
    with pytest.raises(
        train.DivergedError, match=r"epoch 1, iteration 1: 5 of 5 gradients of 'properties.mass' are not"
    ):
        t.run()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "BP6", "CM-CLNN"], "unknown task 'BP6': did you mean 'BP5'?"),
        (["train", "gyro", "CM-CLNN"], "did you mean 'Gyro'?"),
        (["train", "BP5", "CM-CLMN"], "unknown model 'CM-CLMN': did you mean 'CM-CLNN'?"),
        (["train", "billiards", "CM-CLNN"], "billiards is not learned"),
        (["train", "BP5", "CM-CLNN", "--epochs", "0"], "--epochs is 0, must be at least 1"),
        (["train", "BP5", "CM-CLNN", "--rate", "nan"], "--rate is nan"),
        (["train", "BP5", "CM-CLNN", "--property-rate", "0"], "--property-rate is 0.0, must be positive"),
        (["throw", "nowhere"], "nowhere/config.json: not the configuration of a run"),
        (["train", "BP5", "CM-CLNN", "--eps", "0.1"], "--eps belongs to CMr-CLNN and CMr-CHNN"),
        (["train", "BP5", "CMr-CLNN", "--eps", "much"], "--eps is 'much', must be a positive number or 'learn'"),
        (["train", "Gyro", "CM-CLNN", "--noise", "0.1"], "--noise is defined for BP5-e, BP5, CP3-e and CP3"),
        (["train", "BP5", "CM-CLNN", "--data", "no.npz"], "no.npz: not a file of chunks"),
        (["report", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_refusals(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert learn.main(words) == 2
    assert said in capsys.readouterr().err


def test_names_of_the_paper():
    assert runs.model_name("CM-CD-CLNN") == "CM-CLNN"
    assert runs.model_name("cmr-chnn") == "CMr-CHNN"


def test_data_of_another_layout(tmp_path, capsys):
    path, words = tmp_path / "d.npz", ["train", "BP5", "CM-CLNN", "--out", str(tmp_path / "r"), "--data"]
    good = learn.chunks("BP5", 10, 0)
    states = good["states"].copy()
    states[3, 2, 1, 4, 0] = np.nan
    for change, said in (
        ({"task": "CP3"}, "chunks of task CP3, not of BP5"),
        ({"states": good["states"][:, :4]}, "states have shape [10, 4, 2, 5, 2], expected [chunks, 5, 2, 5, 2]"),
        ({"states": states}, "states[3, 2, 1, 4, 0] is nan"),
        ({"dt": 0.02}, "dt is 0.02 s, that of BP5 is 0.01 s"),
    ):
        np.savez(path, **(good | change))
        assert learn.main([*words, str(path)]) == 2
        assert said in capsys.readouterr().err
    np.savez(path, states=good["states"])
    assert learn.main([*words, str(path)]) == 2
    assert "has no 'task'" in capsys.readouterr().err
    np.savez(path, **good)
    assert learn.main([*words[:3], "--out", str(tmp_path / "q"), "--epochs", "1", "--data", str(path)]) == 0


def test_checkpoint_of_another_run(tmp_path):
    quiet(TINY, tmp_path / "a").run()
    checkpoint = tmp_path / "a" / "checkpoint.pt"
    other = quiet(replace(TINY, task="CP3"), tmp_path / "b")
    with pytest.raises(ValueError, match="checkpoint of task BP5-e, not of CP3"):
        other.load(checkpoint)
    with pytest.raises(ValueError, match="checkpoint of another run: batch is 10, not 11"):
        quiet(replace(TINY, batch=11), tmp_path / "b").load(checkpoint)
    with pytest.raises(ValueError, match="a run is there: its batch is 10, not 11"):
        quiet(replace(TINY, batch=11), tmp_path / "a").run()
    found = torch.load(checkpoint, weights_only=True)
    torch.save(found | {"format": 1}, checkpoint)
    with pytest.raises(ValueError, match="checkpoint of format 1, this version has 2; train again"):
        quiet(TINY, tmp_path / "b").load(checkpoint)
    found["model"]["flow.potential.layers.0.weight"] = torch.zeros(256, 9)
    torch.save(found, checkpoint)
    with pytest.raises(ValueError, match=r"checkpoint of another layout: size mismatch.*layers\.0\.weight"):
        quiet(TINY, tmp_path / "b").load(checkpoint)
    checkpoint.write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match="not a checkpoint"):
        quiet(TINY, tmp_path / "b").load(checkpoint)


def test_two_processes_do_not_train_one_run(tmp_path):
    runs.open_folder(tmp_path, TINY)
    with runs.alone(tmp_path), pytest.raises(ValueError, match="another process trains this run"):
        quiet(TINY, tmp_path).run()
    assert not (tmp_path / "checkpoint.pt").exists()
    quiet(replace(TINY, epochs=1), tmp_path / "other").run()


def test_full_disk_keeps_the_last_checkpoint(tmp_path):
    """A limit on the size of files stands for a full disk."""
    quiet(TINY, tmp_path).run()
    before = (tmp_path / "checkpoint.pt").read_bytes()
    script = f"""
import pathlib, resource
from tangere.learn import train, runs
folder = pathlib.Path({str(tmp_path)!r})
t = train.Training(runs.read_config(folder), folder)
t.load(folder / "checkpoint.pt")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    t._save()
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "checkpoint.pt: cannot be written: File too large; the checkpoint.pt that was there is intact" in done.stdout
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


# ---- throws ----


def test_throws_of_the_true_disk():
    """Vertical: sticking in compression asks for 12 rad/s; the loss falls with 0.042 per rad/s until then."""
    step = throws.true_step()
    for spin, loss in ((0.0, 0.504), (6.0, 0.252), (12.0, 0.0)):
        unknowns = torch.tensor([spin], dtype=torch.float64, requires_grad=True)
        found = throws.vertical(step, unknowns)
        assert found.item() == pytest.approx(loss, abs=1e-7)
        if spin < 12:
            assert float(torch.autograd.grad(found, unknowns)[0]) == pytest.approx(-0.042, abs=1e-7)
    _, losses = throws.plan("hit", step, 25)
    assert losses[0] > 0.2
    assert min(losses) < 0.5 * losses[0]


def test_throws_of_a_learned_disk(tmp_path, capsys):
    """The command plans with a run's model; runs of other tasks are refused."""
    config = Config("BD1", "CM-CLNN", trajectories=8, epochs=1, batch=8)
    quiet(config, tmp_path / "a").run()
    assert learn.main(["throw", str(tmp_path / "a"), "--iterations", "1"]) == 0
    assert "vertical, learned model" in capsys.readouterr().out
    result = json.loads((tmp_path / "a" / "throws.json").read_text())
    assert result["vertical"]["true"]["losses"][0] == pytest.approx(0.504, abs=1e-9)
    quiet(TINY, tmp_path / "b").run()
    assert learn.main(["throw", str(tmp_path / "b")]) == 2
    assert "throws need a run of BD1 with a contact model, not BP5-e CM-CLNN" in capsys.readouterr().err


# ---- the report ----


def test_report(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    for config in (TINY, replace(TINY, model="MLP-CD-CLNN"), replace(TINY, task="BP5")):
        quiet(config, plan.folder_of(tmp_path, config)).run()
    runs.open_folder(tmp_path / "unfinished", replace(TINY, seed=4))
    assert learn.main(["report", str(tmp_path)]) == 0
    assert "3 runs" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    figures = ("Fig. 3", "Fig. 4", "Fig. 5", "Fig. 6", "Table 2", "Table 3", "paper 2.3e-05")
    for word in (*figures, "Bars", "Mass ratios", "Ropes", "Seeds"):
        assert word in page
    assert page.count("not run") > 50
    assert "(24 chunks, 18 iterations)" in page
    assert "BP5-e CM-CLNN_n24_seed4: not finished" in page
    assert "http://" not in page
    table = (tmp_path / "report.csv").read_text().splitlines()
    assert table[0].startswith("task,model,seed,chunks,iterations,eps,noise,law,mu,e,mass ratios,error,")
    assert [row.split(",")[:2] for row in table[1:]] == [
        ["BP5", "CM-CLNN"],
        ["BP5-e", "CM-CLNN"],
        ["BP5-e", "MLP-CD-CLNN"],
    ]


def a_result(task, mu, e, **more):
    """What bars look at, of a run with the true masses."""
    system = learn.task(task).system(threads=1)
    s = system.slices()
    true = {name: system.params[s[name]].tolist() for name in ("mass", "mu", "e")}
    kinds = len(true["mu"])
    found = {name: list(values) for name, values in true.items()}
    if kinds == 1:
        found |= {"mu": [mu], "e": [e]}
    usual = {
        "learned": found,
        "truth": true,
        "counts": [30] * kinds,
        "error": {"mean": 1e-5, "half": 1e-6},
        "energy drift": {"median": 1e-4, "largest": 2e-3},
        "validation": 1e-3,
        "iterations": 4000,
        "cpu seconds per iteration": {"network": 0.1, "contact": 0.003, "rest": 0.004},
    }
    return usual | more


def test_bars_can_be_missed():
    """Each bar is met by a run that is right, missed by one that is not, and open without a run."""
    truth = {"BP5-e": (0, 1), "CP3-e": (0, 1), "CP3": (0.5, 0), "Gyro-e": (0, 1), "Gyro": (0.1, 0.8)}
    good = {task: a_result(task, *truth.get(task, (0, 0))) for task in (*truth, "BP5", "BD5")}

    def failed(changed):
        found = bars.check(lambda task, _model, **_options: (good | changed).get(task))
        return [f"{bar.run}: {bar.asked}" for bar in found if bar.has is not None and not bar.holds]

    assert failed({}) == []
    assert all(bar.has is None for bar in bars.check(lambda *_args, **_options: None))
    assert failed({"CP3": a_result("CP3", 0.5021, 0.0)}) == [f"CP3 {m}: mu within 0.002" for m in bars.CM]
    assert failed({"Gyro": a_result("Gyro", 0.1, 0.7979)}) == [f"Gyro {m}: e within 0.002" for m in bars.CM]
    wrong = a_result("Gyro", 0.1, 0.8, error={"mean": None, "half": None})
    assert len(failed({"Gyro": wrong})) == 2  # a run that diverged does not pass
    drifting = a_result("CP3-e", 0, 1, **{"energy drift": {"median": 1e-4, "largest": 0.011}})
    assert len(failed({"CP3-e": drifting})) == 2
    slow = a_result("BD5", 0, 0, **{"cpu seconds per iteration": {"network": 0.226}})
    assert failed({"BD5": slow}) == ["BD5 CM-CLNN: 4000 iterations in 15 minutes of CPU time"]

    many = a_result("BP5", 0, 0)
    many["learned"]["mu"][8] += 0.021  # the true one is 0
    many["learned"]["e"][12] *= 1.021
    many["counts"][12] = 19  # too rare to be asked for
    many["learned"]["mass"] = [*many["learned"]["mass"][:4], many["learned"]["mass"][4] * 1.002]
    assert [line.split(": ")[1][:9] for line in failed({"BP5": many})] == ["mass rati"] * 2 + ["coefficie"] * 2
    said = next(b.has for b in bars.check(lambda *_args, **_options: many) if b.asked.startswith("coefficients"))
    assert said == "largest of 58: 2.1e-02; off: mu 8"

    def few(_task, _model, trajectories=800, **_options):
        return a_result("BP5", 0, 0, validation={800: 1e-3, 25: 1.3e-3}[trajectories])

    assert [bar.holds for bar in bars.check(few) if "25 traj" in bar.asked] == [False]


def test_order_of_models():
    errors = {"CM-CLNN": 1e-3, "CMr-CLNN": 2e-3, "MLP-CD-CLNN": 1.5e-3, "IN-CP-SP": None}
    assert bars.ordered(errors, "CLNN") == "CM-CLNN < CMr-CLNN, not CMr-CLNN < baselines"
    assert bars.ordered({"CM-CHNN": None, "MLP-CD-CLNN": 1.0}, "CHNN") == "not CM-CHNN < baselines"
    assert bars.ordered({"CM-CHNN": 1.0}, "CHNN") == ""
    paper = {task: words for task, _, words in bars.orders(lambda *_args: None)}  # the last is CHNN
    assert paper["Rope-200"] == "CM-CHNN < CMr-CHNN, not CMr-CHNN < baselines"
    assert paper["BD5"] == "not CM-CHNN < CMr-CHNN, CMr-CHNN < baselines"


def test_seeds_have_an_interval(tmp_path):
    """Quantiles of Student's t against tables; runs of two seeds are one row."""
    for freedom, value in ((1, 12.7062), (2, 4.30265), (4, 2.77645), (99, 1.984217)):
        assert report.student(freedom) == pytest.approx(value, rel=2e-6)
    for seed, error in ((0, 1e-3), (1, 3e-3), (2, 2e-3)):
        config = replace(TINY, task="CP3", seed=seed)
        folder = plan.folder_of(tmp_path, config)
        runs.open_folder(folder, config)
        runs.write_json(folder / "result.json", a_result("CP3", 0.5, 0.01 * seed, error={"mean": error}, chunks=24))
    found = report.Runs(tmp_path)
    assert found.get("CP3", "CM-CLNN")["error"]["mean"] == 1e-3  # seed 0 where nothing else is better
    row = report._seeds(found)
    assert "2.00e-03 ± 2.5e-03" in row  # 4.30265 * 1e-3 / sqrt(3)
    assert "0.0000 to 0.0200" in row


def test_biased_restitution_makes_up_for_eps():
    """A ball at a wall, without friction: e + eps (1 + e) / a with eps gives the velocity of e without it."""
    system = learn.task("BP5").system(threads=1)
    s, kind = system.slices(), 10  # ball 0 and x = 0
    x = np.array([[0.05 - 1e-4, 0.5], [0.3, 0.2], [0.7, 0.2], [0.3, 0.8], [0.75, 0.75]])
    v = np.zeros((5, 2))
    v[0, 0] = -1.3
    assert system.touching(x) == 1
    found = {"mass": (system.params[s["mass"]] * 3).tolist(), "eps": 0.4}
    states = np.broadcast_to(np.stack([x, v]), (1, 5, 2, 5, 2)).copy()
    expected = report.biased(system, found, states)
    assert [i for i, e in enumerate(expected) if e is not None] == [kind]
    assert expected[kind] == pytest.approx(0.8 + 0.4 * 1.8 * 0.15)
    params = system.params.copy()
    params[s["mass"]] = found["mass"]
    params[s["mu"]] = 0
    without = system.contact(x, v, params).v
    params[s["eps"]] = 0.4
    params[s["e"]] = expected[kind]
    np.testing.assert_allclose(system.contact(x, v, params).v, without, atol=1e-9)
    assert without[0, 0] == pytest.approx(0.8 * 1.3)


def test_plan_has_every_cell_once():
    configs = [c.checked() for c in plan.full()]
    assert len({(c.task, c.folder_name()) for c in configs}) == len(configs)
    for task in ("BP5-e", "BP5", "CP3-e", "CP3", "BD5", "Rope-200", "Gyro-e", "Gyro"):
        assert {c.model for c in configs if c.task == task} == set(runs.MODELS)
    first = [c.model for c in configs]
    assert first.index("MLP-CD-CLNN") < first.index("CMr-CLNN")
    assert {c.task for c in plan.small()} == {"BP5-e", "CP3-e", "Gyro"}


def test_small_bars(tmp_path, monkeypatch, capsys):
    """Bars of `make learn-small` can be missed, and then the command fails."""
    result = {"task": "Gyro", "learned": {"mu": [0.105], "e": [0.81]}, "truth": {"mu": [0.1], "e": [0.8]}}
    assert plan.below_bars(result) == []
    result["learned"]["e"] = [0.83]
    assert plan.below_bars(result) == ["Gyro: e is 0.8300, should be within 0.02 of 0.8"]
    tiny = replace(TINY, epochs=1, batch=24)
    monkeypatch.setattr(plan, "small", lambda: iter([tiny, replace(tiny, seed=1)]))
    assert learn.main(["all", str(tmp_path), "--small", "--jobs", "2"]) == 1
    assert "BP5-e: e is 0.5" in capsys.readouterr().err
    assert (tmp_path / "report.html").exists()
