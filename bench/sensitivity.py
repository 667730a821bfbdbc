#!/usr/bin/env python3
"""What sensitivities cost: `r.sensitivity` of 3 and 10 parameters over 100 steps beside the rollout with its tape, and
`sim.jacobian(params=k names)` beside `sim.jacobian()`. Processor time, best of 9 (Jacobians: of 45). What is compared
takes turns, so that a machine that is slower for a while is so for both. Parameters are drawn from all that the model
has (--seed), geometry included.

    .venv/bin/python bench/sensitivity.py [--seed N] [model ...]

--instructions: `sim.jacobian` alone, for 1, 3 and 10 names, counted by valgrind --tool=callgrind: all that the call
does, in Python too. Every call is the first Jacobian of its step, with names that were asked before: the mean of five
states of a rollout, and the worst of them. Needs a package without instructions that valgrind does not know
(-Ccmake.define.TANGERE_NATIVE=OFF).
"""

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parent.parent
STEPS, REPEATS = 100, 9
STATES, NAMES = (10, 30, 50, 70, 90), (0, 1, 3, 10)
COUNTER = """#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def best(calls, repeats=REPEATS, before=lambda: None):
    """The least processor time of each of the calls, which take turns."""
    least = [np.inf] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            before()
            start = time.thread_time()
            call()
            least[k] = min(least[k], time.thread_time() - start)
    return least


def models():
    robots = ROOT.parent / "shared" / "robots"
    found = sorted((ROOT / "models").glob("*.xml")) + sorted(robots.glob("*/*.xml")) + sorted(robots.glob("*/*.urdf"))
    return [str(path) for path in found]


def opening(path, rng):
    """The model, where a rollout begins, and its controls."""
    m = tg.load(path)
    key = m.key(0) if m.nkey > 0 else None
    q0 = key.q if key is not None else m.default_q()
    row = key.ctrl if key is not None else np.zeros(m.nu)
    u = row + 0.1 * rng.standard_normal((STEPS, m.nu))
    return m, q0, 0.1 * rng.standard_normal(m.nv), u


def run_counted(path, rng, counter):
    """What is counted, under valgrind: every call is made twice, and the second one counts."""
    m, q0, v0, u = opening(path, rng)
    r, sim, all_names = tg.rollout(m, q0, v0, u), tg.Sim(m), m.param_names()
    for at in STATES:
        chosen = [[all_names[i] for i in rng.choice(m.nparams, k, replace=False)] for k in NAMES]
        for counts in (False, True):
            for names in chosen:
                sim.q, sim.v = r.q[at], r.v[at]
                sim.step(u=u[at])
                if counts:
                    counter.begin()
                sim.jacobian(params=names)
                if counts:
                    counter.end(f"{at} {len(names)}".encode())


def count(path, seed, folder):
    """{state: {names: instructions}}"""
    source, library, out = folder / "counter.c", folder / "counter.so", folder / "out"
    source.write_text(COUNTER)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    words = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", sys.executable]
    words += [__file__, "--seed", str(seed), "--counter", library, path]
    plain = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=plain)
    counts = {}
    for file in folder.glob("out.*"):
        text = file.read_text()
        name, total = re.search(r"Client Request: (\d+) (\d+)", text), re.search(r"^totals: (\d+)", text, re.M)
        if name:
            counts.setdefault(int(name[1]), {})[int(name[2])] = int(total[1])
    if done.returncode != 0 or len(counts) < len(STATES):
        sys.exit(done.stderr)
    return counts


def count_models(paths, seed):
    print("| model | Jacobian, instructions | " + " | ".join(f"{k} of the parameters" for k in NAMES[1:]) + " |")
    print("| --- | ---: |" + " ---: |" * len(NAMES[1:]))
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            counts = count(path, seed, Path(folder))
        plain = [c[0] for c in counts.values()]
        cells = []
        for k in NAMES[1:]:
            more = [c[k] for c in counts.values()]
            worst = max(c[k] / c[0] for c in counts.values())
            cells.append(f"{sum(more) / sum(plain):.3f} ({worst:.3f})")
        name = "/".join(Path(path).with_suffix("").parts[-2:])
        print(f"| {name} | {sum(plain) // len(plain):,} | {' | '.join(cells)} |", flush=True)


def measure(path, rng):
    m, q0, v0, u = opening(path, rng)
    r = tg.rollout(m, q0, v0, u)
    chosen = rng.choice(m.nparams, 10, replace=False)
    run, three, ten = best(
        [
            lambda: tg.rollout(m, q0, v0, u),
            lambda: r.sensitivity(chosen[:3]),
            lambda: r.sensitivity(chosen),
        ]
    )
    sim = tg.Sim(m)
    many = min(30, m.nparams)
    names = [m.param_names()[i] for i in rng.choice(m.nparams, many, replace=False)]

    def step():
        sim.q, sim.v = r.q[50], r.v[50]
        sim.step(u=u[50])

    calls = [lambda params=params: sim.jacobian(params=params) for params in ((), names[:1], names[:3], names)]
    ratios = best(calls, 5 * REPEATS, step)
    more = [(t / ratios[0] - 1) / k for t, k in zip(ratios[1:], (1, 3, many), strict=True)]
    return run / STEPS * 1e6, three / run, ten / run, ratios[0] * 1e6, *more


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--counter", help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*")
    given = parser.parse_args()
    if given.counter:
        run_counted(given.models[0], np.random.default_rng(given.seed), ctypes.CDLL(given.counter))
        return
    if given.instructions:
        count_models(given.models or models(), given.seed)
        return
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
