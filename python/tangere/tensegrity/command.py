"""`tangere tensegrity`: data, fit, compare, roll."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tangere._errors import Error
from tangere.tensegrity import data as recorded
from tangere.tensegrity.judge import judge
from tangere.tensegrity.robot import GROUNDS, READINGS
from tangere.tensegrity.train import VARIANTS, Training, identify

NAMES = ("stiffness", "damping", "mass")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangere tensegrity")
    sub = parser.add_subparsers(dest="what", required=True)
    data = sub.add_parser("data", help="trajectories of MuJoCo")
    data.add_argument("--out", required=True, help="folder")
    data.add_argument("--seed", type=int, default=0)
    data.add_argument("--reading", default="C", help=", ".join(READINGS))
    data.add_argument("--seconds", type=float, default=recorded.SECONDS)
    data.add_argument("--train", type=int, default=recorded.COUNTS["train"])
    data.add_argument("--validation", type=int, default=recorded.COUNTS["validation"])
    data.add_argument("--test", type=int, default=recorded.COUNTS["test"])
    data.add_argument("--sparse", action="store_true")
    fit = sub.add_parser("fit", help="stiffness, damping and mass of the hanging robot")
    compare = sub.add_parser("compare", help="all variants")
    for one in (fit, compare):
        one.add_argument("folder")
        one.add_argument("--start", default="0.5,0.5,1.5")
        one.add_argument("--trajectories", type=int, default=None)
        one.add_argument("--threads", type=int, default=None)
        one.add_argument("--noise", type=float, default=0.0)
        one.add_argument("--seed", type=int, default=0)
        one.add_argument("--json", action="store_true")
    fit.add_argument("--variant", default="progressive", help=", ".join(VARIANTS))
    rolling = sub.add_parser("roll", help="MPPI at 1 m/s, executed on MuJoCo")
    rolling.add_argument("--engine", default="tangere", help="tangere, mujoco, random")
    rolling.add_argument("--factors", default="1,1,1,1")
    rolling.add_argument("--method", default="mppi")
    rolling.add_argument("--open", action="store_true")
    rolling.add_argument("--controls", type=int, default=50)
    rolling.add_argument("--ground", default="flat", help=", ".join(GROUNDS))
    rolling.add_argument("--samples", type=int, default=None)
    rolling.add_argument("--reading", default="C", help=", ".join(READINGS))
    rolling.add_argument("--seed", type=int, default=0)
    rolling.add_argument("--threads", type=int, default=None)
    rolling.add_argument("--out", default=None, help="file (.npz); a roll that was interrupted goes on from it")
    rolling.add_argument("--page", default=None)
    rolling.add_argument("--json", action="store_true")
    return parser


def _data(given: argparse.Namespace) -> int:
    counts = {name: getattr(given, name) for name in recorded.COUNTS}
    for name, count in counts.items():
        if count < 1:
            raise Error(f"--{name} = {count} must be at least 1", "value out of domain")

    def tell(done: int, total: int, spent: float) -> None:
        if sys.stderr.isatty():
            left = spent / done * (total - done)
            sys.stderr.write(f"\rtrajectory {done} of {total}, {left:.0f} s left   ")
            sys.stderr.flush()

    files = recorded.write(
        given.out, seed=given.seed, reading=given.reading, seconds=given.seconds, counts=counts,
        rates=("10hz",) if given.sparse else ("10hz", "1khz"), progress=tell,
    )  # fmt: skip
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 60 + "\r")
    for path in files:
        made = recorded.read(path)
        print(
            f"{path}: {len(made.split)} trajectories of {len(made.time)} rows, {path.stat().st_size / 1e6:.1f} MB, "
            f"reading {made.about['reading']}"
        )
    return 0


def _factors(option: str, text: str, names: tuple[str, ...], least: int) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError:
        values = ()
    if not least <= len(values) <= len(names) or not all(0 < value < np.inf for value in values):
        raise Error(f"{option}: expected positive factors of {', '.join(names)}, got '{text}'", "invalid argument")
    return values


def _noisy(logs: list[dict[str, Any]], size: float, seed: int) -> list[dict[str, Any]]:
    """Noise of `size` m (and rad) in q and 10 size per s in v: 1 mm goes with 1 cm/s."""
    from tangere._manifold import quat_exp, quat_multiply  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    out = []
    for log in logs:
        q, v = log["q"].copy(), log["v"] + 10 * size * rng.standard_normal(log["v"].shape)
        poses = q.reshape(len(q), -1, 7)
        poses[..., :3] += size * rng.standard_normal(poses[..., :3].shape)
        turns = quat_exp(size * rng.standard_normal(poses[..., :3].shape))
        poses[..., 3:] = quat_multiply(poses[..., 3:], turns)
        out.append({**log, "q": q, "v": v})
    return out


def _train(given: argparse.Namespace, variant: str) -> tuple[Training, dict[str, Any]]:
    start, dense = _factors("--start", given.start, NAMES, 3), variant == "dense"
    path = Path(given.folder) / ("hang_1khz.npz" if dense else "hang_10hz.npz")
    data = recorded.read(path, 1000.0 if dense else 10.0)
    logs = data.logs("train", given.trajectories)
    more: dict[str, Any] = {}
    if given.noise > 0:
        logs = _noisy(logs, given.noise, given.seed)
        more["noise"] = None  # estimated: a residual has the noise of both ends of its tuple
    done = identify(data, start, variant, logs=logs, threads=given.threads, **more)
    sparse = data if not dense else recorded.read(Path(given.folder) / "hang_10hz.npz", 10.0)
    with np.errstate(invalid="ignore"):
        seen = judge(done.model(data), sparse, done.dt, implicit_tendons=done.implicit)
    result = {
        "variant": variant,
        "factors": done.factors.tolist(),
        "errors": done.errors.tolist(),
        "cpu": done.cpu,
        "points": sum(len(log["time"]) - 1 for log in logs),
        "com_error": seen.last.tolist(),
        "com_worst": float(np.nanmax(seen.error)),
        "path": float(seen.length.mean()),
        "failed": seen.failed,
        "rungs": [[r.dt, r.implicit, r.factors.tolist(), r.iterations, r.cost] for r in done.rungs],
    }
    return done, result


def _fit(given: argparse.Namespace) -> int:
    done, result = _train(given, given.variant)
    if given.json:
        print(json.dumps(result))
        return 0
    print(f"{given.variant}: {VARIANTS[given.variant]}")
    for rung in done.rungs:
        kind = "implicit" if rung.implicit else "explicit"
        print(
            f"  {1e3 * rung.dt:8.4f} ms {kind}, {rung.iterations:2d} iterations: {np.round(rung.factors, 4).tolist()}"
        )
    for name, factor, error in zip(NAMES, done.factors, done.errors, strict=True):
        print(f"  {name:9} {factor:.9f} +- {error:.2g} of the value in the file")
    last = np.array(result["com_error"])
    print(
        f"  test: centre of mass off by {last.mean():.3g} +- {last.std():.2g} m at the end, worst "
        f"{result['com_worst']:.3g} m, mean path {result['path']:.2f} m; {result['points']} data points; "
        f"{done.cpu:.1f} s of processor time"
    )
    return 0


def _compare(given: argparse.Namespace) -> int:
    rows = [_train(given, variant)[1] for variant in ("feed-forward", "implicit", "progressive", "dense")]
    if given.json:
        print(json.dumps(rows))
        return 0
    print("| variant | data points | stiffness | damping | mass | centre of mass after 5 s (m) | processor time (s) |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        off = " | ".join(f"{100 * (x - 1):+.3g} %" for x in row["factors"])
        last = np.array(row["com_error"])
        failed = f", {row['failed']} blew up" if row["failed"] else ""
        print(
            f"| {row['variant']} | {row['points']} | {off} | {last.mean():.2g} +- {last.std():.1g}{failed} | "
            f"{row['cpu']:.1f} |"
        )
    return 0


_OUTWARD = {"what", "threads", "out", "page", "json"}  # options that do not change a roll


def _other_seed(seed: int, controls: int) -> int:
    """Of a roll that goes on: a new planner draws its first random numbers again."""
    return int(np.random.SeedSequence((seed, controls)).generate_state(1)[0])


def run_roll(given: argparse.Namespace) -> dict[str, Any]:
    """One roll with the options of `tangere tensegrity roll`."""
    from tangere.model import load_string  # noqa: PLC0415
    from tangere.sim import Sim  # noqa: PLC0415
    from tangere.tensegrity import transfer  # noqa: PLC0415
    from tangere.tensegrity.robot import roll_text  # noqa: PLC0415

    text = roll_text(given.reading, given.ground)
    m = load_string(text)
    asked = {name: value for name, value in vars(given).items() if name not in _OUTWARD}
    key = json.dumps(asked, sort_keys=True, default=str)
    part = None if given.open else transfer.Part.load(given.out, key)
    seed = given.seed if part is None else _other_seed(given.seed, len(part.u))
    own, factors = None, np.array(_factors("--factors", given.factors, (*NAMES, "friction", "rolling friction"), 3))
    if given.engine == "mujoco":
        if given.open or given.method != "mppi":
            raise Error("--engine mujoco: only closed loops of mppi", "not supported")
        planner: Any = transfer.MujocoPlanner(text, seed, given.threads, given.samples)
    elif given.engine in {"tangere", "random"}:
        if given.engine == "random":
            factors = transfer.random_factors(m, given.seed)
        m = transfer.with_factors(m, factors)
        planner = transfer.make_planner(m, given.method, seed, given.threads, given.samples)
        own = Sim(m, dt=transfer.STEP) if given.open else None
    else:
        raise Error(f"--engine: expected tangere, mujoco or random, got '{given.engine}'", "unknown name")

    def tell(k: int, controls: int, plan: Any) -> None:
        if sys.stderr.isatty():
            left = plan.seconds * (controls - k - 1)
            sys.stderr.write(f"\rcontrol {k + 1} of {controls}: cost {plan.cost:.3g}, {left:.0f} s left   ")
            sys.stderr.flush()

    made = transfer.roll(planner, text, given.controls, own=own, progress=tell, keep=given.out, key=key, part=part)
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 60 + "\r")
    result = {
        "engine": given.engine, "method": given.method, "open": given.open, "seed": given.seed, "ground": given.ground,
        "factors": factors.tolist(), "vx": made.speed, "end": made.com[-1, :2].tolist(), "miss": made.miss,
        "planning_s": float(made.seconds.sum()), "cpu_s": made.cpu, "rollouts": made.rollouts, "blown": made.blown,
        "points": transfer.HORIZON * made.rollouts,
    }  # fmt: skip
    if given.out:
        np.savez(given.out, q=made.q, v=made.v, act=made.act, u=made.u, com=made.com, about=json.dumps(result))
    if given.page:
        from tangere.viewer import view  # noqa: PLC0415  (an extra)

        view(m, {"time": transfer.TUPLE * np.arange(len(made.q)), "q": made.q, "v": made.v}, html=given.page)
    return result


def _roll(given: argparse.Namespace) -> int:
    result = run_roll(given)
    if given.json:
        print(json.dumps(result))
    else:
        print(
            f"{given.engine}, {given.method}, {'open' if given.open else 'closed'} loop on MuJoCo: mean vx "
            f"{result['vx']:.3f} m/s, end ({result['end'][0]:.2f}, {result['end'][1]:.2f}) m, "
            f"{result['miss']:.2f} m off; {result['planning_s']:.0f} s of planning; "
            f"{result['blown']} of {result['rollouts']} rollouts blew up; {result['points']} data points at 10 Hz "
            "simulated on the planner's engine"
        )
    return 0


def main(words: list[str] | None = None) -> int:
    """The command `tangere tensegrity`; returns its exit code."""
    given = _parser().parse_args(words)
    try:
        return {"data": _data, "fit": _fit, "compare": _compare, "roll": _roll}[given.what](given)
    except ImportError as error:
        print(f"tangere: error: {error}: pip install 'tangere[mujoco]'", file=sys.stderr)
        return 1
    except (Error, OSError) as refusal:
        print(f"tangere: error: {refusal}", file=sys.stderr)
        return 1
