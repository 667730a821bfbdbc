"""`python3 -m tangere.mpc`: the command `tangere mpc`. A task is a JSON file; docs/control.md describes it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from tangere._errors import Error
from tangere.control import Cost, Loop, Plan, Planner, run
from tangere.model import Model, load
from tangere.sim import Sim

_TASK = {"cost", "method", "horizon", "hold", "dt", "controls", "key", "planner", "plant"}


def read_task(path: str) -> dict[str, Any]:
    """The task of a file, checked as far as that goes without a model."""
    try:
        task = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as refusal:
        raise Error(f"{path}: {refusal.strerror}", "file cannot be read") from None
    except json.JSONDecodeError as refusal:
        raise Error(f"{path}, line {refusal.lineno}: {refusal.msg}", "not what its format says") from None
    if not isinstance(task, dict) or not isinstance(task.get("cost"), dict):
        raise Error(f"{path}: expected an object with a 'cost'", "not what its format says")
    known = {field.name for field in fields(Cost)} - {"function", "gradient"}
    for name in task:
        if name not in _TASK:
            raise Error(f"{path}: unknown '{name}'; known are {', '.join(sorted(_TASK))}", "unknown name")
    for name in task["cost"]:
        if name not in known:
            raise Error(f"{path}: cost: unknown '{name}'; known are {', '.join(sorted(known))}", "unknown name")
    return task


def _cost(m: Model, given: dict[str, Any]) -> Cost:
    """q and u may be the name of a keyframe."""
    cost = dict(given)
    for name, part in (("q", "q"), ("v", "v"), ("u", "ctrl")):
        if isinstance(cost.get(name), str):
            cost[name] = getattr(m.key(cost[name]), part)
    return Cost(**cost)


def close_loop(m: Model, task: dict[str, Any], progress: Any = None) -> tuple[Loop, Sim]:
    """The closed loop of a task."""
    key, more = task.get("key"), dict(task.get("planner", {}))
    dt = task.get("dt")
    if key is not None:
        more.setdefault("u", m.key(key).ctrl)
    planner = Planner(
        m, _cost(m, task["cost"]), task.get("method", "mppi"), task.get("horizon", 20), task.get("hold", 1), dt, **more
    )
    sim = Sim(m, dt=dt, **task.get("plant", {}))
    if key is not None:
        sim.reset(key)
    return run(planner, sim, int(task.get("controls", 100)), progress=progress), sim


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangere mpc")
    parser.add_argument("model")
    for name in ("task", "controls", "threads", "seed", "out", "page"):
        parser.add_argument(f"--{name}")
    for name in ("json", "strict", "floating-base", "keep-fixed", "exclude-overlaps", "ignore-missing-meshes"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--srdf")
    parser.add_argument("--package-path", action="append", default=[])
    return parser


def _teller(quiet: bool) -> Any:
    def tell(k: int, controls: int, plan: Plan) -> None:
        if not quiet and (k + 1 == controls or k % 10 == 9):
            sys.stderr.write(
                f"\rcontrol {k + 1} of {controls}: cost {plan.cost:.4g}, {1e3 * plan.seconds:.1f} ms, "
                f"{plan.blown} of {plan.rollouts} rollouts blew up    "
            )
            sys.stderr.flush()

    return tell


def _run(given: argparse.Namespace) -> dict[str, Any]:
    task = read_task(given.task)
    more = task.setdefault("planner", {})
    if given.controls is not None:
        task["controls"] = int(given.controls)
    for name in ("threads", "seed"):
        if getattr(given, name) is not None:
            more[name] = int(getattr(given, name))
    meshes = "ignore" if given.ignore_missing_meshes else "error"
    m = load(
        given.model, strict=given.strict, floating_base=given.floating_base, keep_fixed=given.keep_fixed,
        exclude_overlaps=given.exclude_overlaps, missing_meshes=meshes, srdf=given.srdf,
        package_path=given.package_path,
    )  # fmt: skip
    quiet = given.json or not sys.stderr.isatty()
    loop, _ = close_loop(m, task, _teller(quiet))
    if not quiet:
        sys.stderr.write("\n")
    arrays = {name: getattr(loop, name) for name in ("time", "q", "v", "act", "u", "cost", "seconds")}
    if given.out:
        np.savez(given.out, **arrays)
    if given.page:
        from tangere.viewer import view  # noqa: PLC0415  (an extra)

        view(m, {"time": loop.time, "q": loop.q, "v": loop.v}, html=given.page)
    return {
        "controls": len(loop.u),
        "seconds": float(loop.time[-1]),
        "cost": float(loop.cost[-1]),
        "plan_ms": 1e3 * float(np.median(loop.seconds)),
        "rate": loop.rate,
        "rollouts": loop.rollouts,
        "blown": loop.blown,
        "q": loop.q[-1].tolist(),
    }


def main(words: list[str] | None = None) -> int:
    """The command `tangere mpc`; returns its exit code."""
    given = _parser().parse_args(words)
    try:
        result = _run(given)
    except (Error, ValueError, TypeError) as refusal:
        print(f"tangere: error: {refusal}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(result))
    else:
        print(
            f"{result['controls']} controls, {result['seconds']:.3g} s: cost of the last plan {result['cost']:.4g}, "
            f"{result['plan_ms']:.1f} ms per plan ({result['rate']:.0f} Hz), "
            f"{result['blown']} of {result['rollouts']} rollouts blew up"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
