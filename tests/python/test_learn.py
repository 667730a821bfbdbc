"""Learning: models against differences and against the library, training, folders, resume, refusals, the report."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tangere import learn

torch = pytest.importorskip("torch")

from tangere import cartesian_torch  # noqa: E402
from tangere.learn import baselines, models, plan, runs, train  # noqa: E402
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
    return models.ContactModel(learn.task(name).system(threads=1), kind, eps).double()


def test_force_is_the_gradient_of_the_potential():
    torch.manual_seed(0)
    potential = models.Potential(6, width=32).double()
    x = torch.randn(7, 3, 2, dtype=torch.float64)
    by_torch = cartesian_torch.potential_force(potential)(x)
    assert by_torch.abs().max() > 1e-3
    torch.testing.assert_close(potential.force(x), by_torch, rtol=1e-12, atol=1e-14)


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
        p.restitution.copy_(6 * true[s["e"]] - 3)
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
