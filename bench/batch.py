"""Times batches: threads, mujoco.rollout, finite differences, MJX, and what Python and torch cost.

    python bench/batch.py [--only a,b,c,d,e] [--rounds N] [--write]

    a  1,024 humanoids, 100 steps of random controls: two threads against one, beside two processes of plain arithmetic
    b  steps per second on two threads, beside mujoco.rollout with two threads: same file, controls, start
    c  gradients of 32 steps with respect to all controls and ten parameters, beside differences of mujoco.rollout
    d  MJX on the CPU: step and gradient, batch 256
    e  what Python adds to a step of the library, and torch to a call

Engines take turns within each round, so that what else runs on the machine hits all of them; ratios are the medians
of the rounds, in a those of the smallest times. Times are wall time in a, b, c and d (threads are the point),
processor time in e.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared")) / "robots"
FILES = {
    "half-cheetah": "gymnasium/half_cheetah.xml",
    "humanoid": "gymnasium/humanoid.xml",
    "UR5e": "universal_robots_ur5e/scene.xml",
    "Go1": "unitree_go1/scene.xml",
    "H1": "unitree_h1/scene.xml",
}
# whether all directions go at once; with the humanoid's 17, XLA deadlocks on two cores
MJX = {"half-cheetah": True, "humanoid": False}
THREADS = 2
lines: list[str] = []


def say(text: str = "") -> None:
    print(text, flush=True)
    lines.append(text)


def timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def controls(m: tg.Model, native: mujoco.MjModel, n: int, steps: int) -> np.ndarray:
    """Uniform over the range of each actuator, or -1 .. 1."""
    limited = native.actuator_ctrllimited.astype(bool)
    low = np.where(limited, native.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, native.actuator_ctrlrange[:, 1], 1.0)
    return np.random.default_rng(0).uniform(low, high, size=(n, steps, m.nu))


class Pair:
    """A model in both engines, n environments at the keyframe (or the reference configuration)."""

    def __init__(self, name: str, n: int, threads: int = THREADS) -> None:
        path = ROBOTS / FILES[name]
        self.m, self.native = tg.load(path), mujoco.MjModel.from_xml_path(str(path))
        self.batch = tg.Batch(self.m, n, threads=threads, on_error="keep")
        data = mujoco.MjData(self.native)
        if self.native.nkey > 0:
            mujoco.mj_resetDataKeyframe(self.native, data, 0)
        self.q, self.v = data.qpos.copy(), data.qvel.copy()
        size = mujoco.mj_stateSize(self.native, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        state = np.zeros(size)
        mujoco.mj_getState(self.native, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.state = np.tile(state, (n, 1))
        self.data = [mujoco.MjData(self.native) for _ in range(threads)]
        self.n = n

    def reset(self) -> None:
        self.batch.reset(states=(np.tile(self.q, (self.n, 1)), np.tile(self.v, (self.n, 1))))

    def ours(self, u: np.ndarray) -> float:
        self.reset()
        return timed(lambda: self.batch.rollout(u, derivatives=False))

    def theirs(self, rollout, u: np.ndarray) -> float:
        return timed(lambda: rollout.rollout(self.native, self.data, self.state[: len(u)], u))


# ---- a: threads ----


def _arithmetic(count: int) -> float:
    x = 1.0
    start = time.perf_counter()
    for _ in range(count):
        x = x * 1.0000001 + 1e-9
    return time.perf_counter() - start


def threads(rounds: int) -> None:
    n, steps = 1024, 100
    pairs = [Pair("humanoid", n, t) for t in (1, 2)]
    u = controls(pairs[0].m, pairs[0].native, n, steps)
    ones, twos, alone, both = [], [], [], []
    count = 10_000_000
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(_arithmetic, [1000] * 2)
        for _ in range(2 * rounds):  # in turns; the smallest of each is what the machine does when nobody else is at it
            ones.append(pairs[0].ours(u))
            alone.append(pool.apply(_arithmetic, (count,)))
            twos.append(pairs[1].ours(u))
            both.append(max(pool.map(_arithmetic, [count] * 2, chunksize=1)))
    failed = len(pairs[1].batch.errors)
    gain, ideal, two = min(ones) / min(twos), 2 * min(alone) / min(both), min(twos)
    ratio = gain / ideal
    say("## Two threads against one")
    say()
    say(
        f"1,024 humanoids, 100 steps, random controls: {n * steps / two / 1000:.0f} thousand steps per second on two "
        f"threads ({failed} failed)."
    )
    say()
    say("| | gain |\n| --- | ---: |")
    say(f"| batch, two threads | {gain:.2f} |")
    say(f"| two processes of plain arithmetic | {ideal:.2f} |")
    say(f"| ratio (at least 0.95) | {ratio:.2f} |")
    say()


# ---- b: mujoco.rollout ----


def steps(rounds: int) -> None:
    n, count = 64, 100
    say("## Steps per second on two threads, beside mujoco.rollout")
    say()
    say(
        "| model | dt (ms) | tangere (1/s) | mujoco.rollout (1/s) | ratio (at least 1.2, goal 1.5) |\n"
        "| --- | ---: | ---: | ---: | ---: |"
    )
    with mujoco.rollout.Rollout(nthread=THREADS) as rollout:
        for name in FILES:
            p = Pair(name, n)
            u = controls(p.m, p.native, n, count)
            p.ours(u), p.theirs(rollout, u)
            times = [(p.ours(u), p.theirs(rollout, u)) for _ in range(rounds)]
            a, b = (n * count / statistics.median(x) for x in zip(*times, strict=True))
            ratio = statistics.median(y / x for x, y in times)
            failed = f" ({len(p.batch.errors)} failed)" if p.batch.errors else ""
            say(f"| {name}{failed} | {1000 * p.m.timestep:g} | {a:,.0f} | {b:,.0f} | {ratio:.2f} |")
    say()


# ---- c: gradients ----


def gradients(rounds: int) -> None:
    n, count, k = 64, 32, 10
    say("## Gradients of 32 steps with respect to all controls and ten parameters, two threads")
    say()
    say("Finite differences: a rollout more for each control, from its step on, and for each parameter; one-sided.")
    say()
    say(
        "| model | controls | forward (ms) | forward and VJP (ms) | finite differences (ms) | ratio |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    with mujoco.rollout.Rollout(nthread=THREADS) as rollout:
        for name in FILES:
            p = Pair(name, n)
            m = p.m
            u = controls(m, p.native, n, count)
            p.batch.params(m.params.index("body.*.mass")[1 : k + 1].tolist())
            g = np.random.default_rng(1).normal(size=(n, count + 1, m.nv))

            def ours(p=p, u=u, g=g):
                p.reset()
                p.batch.rollout(u).vjp(gq=g, gv=g)

            def theirs(p=p, u=u, rollout=rollout, m=m):
                one = u[:1]
                for t in range(count):  # of one environment; all have the same cost
                    states = np.repeat(p.state[:1], m.nu, axis=0)
                    rollout.rollout(p.native, p.data, states, np.repeat(one[:, t:], m.nu, axis=0))
                rollout.rollout(p.native, p.data, np.repeat(p.state[:1], k + 1, axis=0), np.repeat(one, k + 1, axis=0))

            ours(), theirs()
            times = [(p.ours(u), timed(ours), n * timed(theirs)) for _ in range(rounds)]
            forward, back, differences = (1000 * statistics.median(x) for x in zip(*times, strict=True))
            ratio = statistics.median(c / b for _, b, c in times)
            say(f"| {name} | {m.nu} x {count} | {forward:.1f} | {back:.1f} | {differences:,.0f} | {ratio:.0f} |")
    say()


# ---- d: MJX ----


def mjx_steps(rounds: int) -> None:
    say("## MJX on the CPU, batch 256, one step")
    say()
    try:
        import jax  # noqa: PLC0415
        import jax.numpy as jnp  # noqa: PLC0415
        from mujoco import mjx  # noqa: PLC0415
    except ImportError as missing:
        say(f"Not measured: {missing}.")
        say()
        return
    n = 256
    say("MJX computes in single precision (the default of JAX), we in double. Its compilation is not counted.")
    say("With all 17 directions of the humanoid at once, XLA deadlocks on two cores: one control at a time.")
    say()
    say("| model | tangere step (us) | MJX step (us) | ratio | tangere step, VJP (us) | MJX step, VJP (us) | ratio |")
    say("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, together in MJX.items():
        p = Pair(name, n)
        u = controls(p.m, p.native, n, 1)[:, 0]
        g = np.ones((n, p.m.nv))
        p.native.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        model = mjx.put_model(p.native)
        data = mjx.put_data(p.native, p.data[0])

        def step(q, v, a, model=model, data=data):
            out = mjx.step(model, data.replace(qpos=q, qvel=v, ctrl=a))
            return out.qpos, out.qvel

        q, v = (jnp.asarray(np.tile(x, (n, 1))) for x in (p.q, p.v))
        ahead = jax.jit(jax.vmap(step))

        def loss(q, v, a, step=step):
            return jnp.sum(step(q, v, a)[1])

        # MJX's solver is a while loop, which reverse mode does not take: forward mode along the controls stands for a
        # gradient
        nu = p.m.nu

        def along(q, v, a, d, loss=loss):
            return jax.jvp(partial(loss, q, v), (a,), (d,))[1]

        at_once = jax.jit(jax.vmap(jax.jacfwd(loss, argnums=2)))
        one = jax.jit(jax.vmap(along, in_axes=(0, 0, 0, None)))

        def in_turn(*given, one=one, nu=nu):
            return [one(*given, d) for d in jnp.eye(nu)]

        back = at_once if together else in_turn

        def run(f, q=q, v=v, u=u):
            jax.block_until_ready(f(q, v, jnp.asarray(u)))

        p.reset()
        p.batch.rollout(controls(p.m, p.native, n, 20), derivatives=False)

        def ours(p=p, u=u):
            p.batch.step(u)

        def ours_back(p=p, u=u, g=g):
            p.batch.step(u)
            p.batch.vjp(gv=g)

        run(ahead), run(back)
        times = [
            (timed(ours), timed(partial(run, ahead)), timed(ours_back), timed(partial(run, back)))
            for _ in range(3 * rounds if together else 3)
        ]
        a, b, c, d = (1e6 * statistics.median(x) / n for x in zip(*times, strict=True))
        say(
            f"| {name} | {a:.1f} | {b:.0f} | {b / a:.0f} | {c:.1f} | {d:.0f} (forward mode, {nu} controls) | "
            f"{d / c:.0f} |"
        )
    say()


# ---- e: Python and torch ----


def per_call(functions: dict, rounds: int, calls: int = 10) -> dict[str, float]:
    """Processor time per call of each in us, the smallest of rounds of a few calls: what else runs is not in it."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.process_time()
            for _ in range(calls):
                function()
            best[name] = min(best[name], 1e6 * (time.process_time() - start) / calls)
    return best


def overhead(rounds: int) -> None:
    m = tg.load(ROOT / "models" / "quadruped.xml")
    u = np.array(m.key("home").ctrl)
    sim, alone = tg.Sim(m), tg.Batch(m, 1, threads=1)
    many = tg.Batch(m, 64, threads=1)
    us = np.tile(u, (64, 1))
    steps, few = 40, 10
    row, rows = np.tile(u, (1, steps, 1)), np.repeat(us[:, None], few, axis=1)
    for x in (alone, many):
        x.reset(key="home")
    sim.reset("home")
    for _ in range(100):  # it stands
        sim.step(u), alone.step(u[None]), many.step(us)
    t = per_call(
        {
            "sim": lambda: [sim.step(u) for _ in range(steps)],
            "library": lambda: alone.rollout(row, derivatives=False),
            "batch": lambda: [many.step(us) for _ in range(few)],
            "batch library": lambda: many.rollout(rows, derivatives=False),
        },
        40 * rounds,
        1,
    )
    one, whole = (t["sim"] - t["library"]) / steps, t["batch"] / few
    say("## What Python adds (processor time, the smallest of all rounds, standing quadruped)")
    say()
    say("| | us |\n| --- | ---: |")
    say(f"| one sim.step over the library's step (at most 3) | {one:.1f} |")
    say(
        f"| one batch.step of 64 over its part of a rollout (of {whole:.0f}) | {whole - t['batch library'] / few:.1f} |"
    )
    torch_overhead(m, u, rounds)
    say()


def torch_overhead(m: tg.Model, u: np.ndarray, rounds: int) -> None:
    try:
        import tangere.torch as tt  # noqa: PLC0415
        import torch  # noqa: PLC0415
    except ImportError as missing:
        say(f"| torch: {missing} | |")
        return
    sim = tg.Sim(m)
    q, v, x = torch.tensor(np.array(m.key("home").q))[None], torch.zeros(1, m.nv).double(), torch.tensor(u)[None]
    tt.step(sim, q, v, x)
    core = next(iter(sim._functions.values())).core
    w, g = v.clone().requires_grad_(), torch.ones_like(v)
    out, gv = [np.empty((1, m.nq)), np.empty((1, m.nv)), np.empty((1, 0))], np.empty((1, m.nv))
    given = [q.data_ptr(), v.data_ptr(), None, x.data_ptr(), None, None]
    results = [y.ctypes.data for y in out]
    back = [results[0], None, g.data_ptr(), None, None, gv.ctypes.data, None, None, None, None, None, core.shared()]

    class Least(torch.autograd.Function):
        """The library's two calls and nothing else, with as many arguments and results: what torch itself takes for
        any function, and that the library's code and data have left the caches by the time of the next call.
        """

        @staticmethod
        def forward(ctx, *inputs):
            core.run(1, 0, *given, *results, None)
            ctx.save_for_backward(*inputs, inputs[0])
            return tuple(y.clone() for y in (q, v, v))

        @staticmethod
        def backward(ctx, *_):
            core.vjp(1, 0, *given, *back)
            return None, g.clone(), None, None, None, None

    def least():
        return Least.apply(q, w, None, x, None, None)[1]

    t = per_call(
        {
            "step": lambda: tt.step(sim, q, v, x),
            "tracked": lambda: tt.step(sim, q, w, x),
            "grad": lambda: torch.autograd.grad(tt.step(sim, q, w, x).v, w, g),
            "least": least,
            "least grad": lambda: torch.autograd.grad(least(), w, g),
            "library": lambda: core.run(1, 0, *given, *results, None),
            "library back": lambda: (core.run(1, 0, *given, *results, None), core.vjp(1, 0, *given, *back)),
        },
        60 * rounds,
    )
    say(f"| torch: one step (at most 30) | {t['step'] - t['library']:.1f} |")
    say(f"| torch: one step with a graph | {t['tracked'] - t['library']:.1f} |")
    say(f"| of these above the least that a function of torch takes (at most 30) | {t['tracked'] - t['least']:.1f} |")
    say(f"| torch: step and backward, two calls | {t['grad'] - t['library back']:.1f} |")
    say(f"| of these above the least (at most 60) | {t['grad'] - t['least grad']:.1f} |")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def write() -> None:
    machine = "amd_epyc" if "EPYC" in processor() else platform.machine()
    (ROOT / "bench" / "results" / f"batch_{machine}.md").write_text("\n".join(lines).rstrip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="a,b,c,e,d", help="parts, in this order; d compiles for minutes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="keeps the tables in bench/results/batch_<machine>.md")
    given = parser.parse_args()
    parts = {"a": threads, "b": steps, "c": gradients, "d": mjx_steps, "e": overhead}
    say(f"# Batches ({processor()}, tangere {tg.__version__}, MuJoCo {mujoco.__version__}, {THREADS} threads)")
    say()
    for name in given.only.split(","):
        parts[name](given.rounds)
        if given.write:  # what was measured stays when a later part does not end
            write()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
