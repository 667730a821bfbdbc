#!/usr/bin/env python3
"""What sensitivities cost: `r.sensitivity` of 3 and 10 parameters over 100 steps beside the rollout with its tape, and
`sim.jacobian(params=k names)` beside `sim.jacobian()`. Processor time, best of 9. Parameters are drawn from all that
the model has (--seed), geometry included.

    .venv/bin/python bench/sensitivity.py [--seed N] [model ...]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parent.parent
STEPS, REPEATS = 100, 9


def best(call):
    least = np.inf
    for _ in range(REPEATS):
        start = time.thread_time()
        call()
        least = min(least, time.thread_time() - start)
    return least


def models():
    robots = ROOT.parent / "shared" / "robots"
    found = sorted((ROOT / "models").glob("*.xml")) + sorted(robots.glob("*/*.xml")) + sorted(robots.glob("*/*.urdf"))
    return [str(path) for path in found]


def measure(path, rng):
    m = tg.load(path)
    key = m.key(0) if m.nkey > 0 else None
    q0 = key.q if key is not None else m.default_q()
    row = key.ctrl if key is not None else np.zeros(m.nu)
    u = row + 0.1 * rng.standard_normal((STEPS, m.nu))
    v0 = 0.1 * rng.standard_normal(m.nv)
    run = best(lambda: tg.rollout(m, q0, v0, u))
    r = tg.rollout(m, q0, v0, u)
    chosen = rng.choice(m.nparams, 10, replace=False)
    three, ten = best(lambda: r.sensitivity(chosen[:3])), best(lambda: r.sensitivity(chosen))
    sim = tg.Sim(m)
    sim.q, sim.v = r.q[50], r.v[50]
    many = min(30, m.nparams)
    names = [m.param_names()[i] for i in rng.choice(m.nparams, many, replace=False)]
    ratios = []
    for params in ((), names[:1], names[:3], names):
        least = np.inf
        for _ in range(5 * REPEATS):
            sim.q, sim.v = r.q[50], r.v[50]
            sim.step(u=u[50])
            start = time.thread_time()
            sim.jacobian(params=params)
            least = min(least, time.thread_time() - start)
        ratios.append(least)
    more = [(t / ratios[0] - 1) / k for t, k in zip(ratios[1:], (1, 3, many), strict=True)]
    return run / STEPS * 1e6, three / run, ten / run, ratios[0] * 1e6, *more


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("models", nargs="*")
    given = parser.parse_args()
    print(
        "| model | rollout, us per step | 3 parameters / rollout | 10 / rollout | Jacobian, us | "
        "a parameter more / Jacobian: of 1, 3, 30 |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for path in given.models or models():
        name = "/".join(Path(path).with_suffix("").parts[-2:])
        try:
            run, three, ten, jac, one, few, many = measure(path, np.random.default_rng(given.seed))
        except tg.Error as refusal:
            print(f"| {name} | {refusal} |")
            continue
        print(
            f"| {name} | {run:.1f} | {three:.2f} | {ten:.2f} | {jac:.1f} | {one:.3f}, {few:.3f}, {many:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
