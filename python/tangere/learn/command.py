"""`tangere learn`: data, table, train, throw, report, all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from tangere._errors import Error
from tangere.learn import tasks

RUNS = "learn-runs"  # where runs go if nothing is said


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangere learn", description="Dynamics and contact learned together.")
    sub = parser.add_subparsers(dest="what", required=True)
    names = ", ".join(tasks.TASKS) + ", Rope-N"
    data = sub.add_parser("data", help="writes chunks of trajectories of a task")
    data.add_argument("task", help=names)
    data.add_argument("--out", required=True, help="FILE.npz")
    data.add_argument("--trajectories", type=int, default=800)
    data.add_argument("--seed", type=int, default=0)
    data.add_argument("--law", choices=("ccp", "lcp"), default="ccp")
    data.add_argument("--eps", type=float, default=0.0)
    data.add_argument("--full", action="store_true", help="whole trajectories, not chunks of 5 states")
    rows = sub.add_parser("table", help="D, E and contacts of the tasks")
    rows.add_argument("--trajectories", type=int, default=100)
    rows.add_argument("--seed", type=int, default=0)
    train = sub.add_parser("train", help="trains a model, or goes on with a run")
    train.add_argument("task", help=names)
    train.add_argument("model", help="CM-CLNN, CM-CHNN, CMr-CLNN, CMr-CHNN, MLP-CD-CLNN, IN-CP-CLNN, IN-CP-SP")
    train.add_argument("--out", help=f"folder of the run ({RUNS}/TASK/MODEL)")
    train.add_argument("--trajectories", type=int, default=800)
    train.add_argument("--seed", type=int, default=0, help="of data, weights and batches")
    train.add_argument("--epochs", type=int, default=1000)
    train.add_argument("--batch", type=int, default=200)
    train.add_argument("--every", type=int, default=1, help="epochs per validation")
    train.add_argument("--rate", type=float, default=1e-3, help="of the networks' weights")
    train.add_argument("--property-rate", type=float, default=1e-2, help="of masses, moments, mu, e and eps")
    train.add_argument("--schedule", choices=("cosine", "constant"), default="cosine", help="of both rates")
    train.add_argument("--law", choices=("ccp", "lcp"), default="ccp", help="of the training data")
    train.add_argument("--eps", help="of CMr: a number, or 'learn'")
    train.add_argument("--noise", type=float, default=0.0, help="standard deviation added to training data")
    train.add_argument("--data", help="training chunks from FILE.npz")
    train.add_argument("--threads", type=int, default=1, help="of the contact law")
    train.add_argument("--as-published", action="store_true", help="validation and test are the same chunks")
    throw = sub.add_parser("throw", help="throws planned with the model of a run of BD1, made in the true system")
    throw.add_argument("folder", nargs="?", default=f"{RUNS}/BD1/CM-CLNN")
    throw.add_argument("--iterations", type=int, default=1000)
    page = sub.add_parser("report", help="one page about all runs of a folder")
    page.add_argument("folder", nargs="?", default=RUNS)
    page.add_argument("--out", help="FILE.html (FOLDER/report.html)")
    every = sub.add_parser("all", help="all runs of the report, in order; finished ones are skipped")
    every.add_argument("folder", nargs="?", default=RUNS)
    every.add_argument("--jobs", type=int, default=1, help="runs at a time")
    every.add_argument("--small", action="store_true", help="a tenth of the data, three tasks")
    return parser


def _data(args: argparse.Namespace) -> None:
    options = {"law": args.law, "eps": args.eps}
    if args.full:
        states, contacts = tasks.trajectories(args.task, args.trajectories, args.seed, **options)
        result = {"task": args.task, "states": states, "contacts": contacts, "seed": args.seed}
        print(f"{args.task}: {len(states)} trajectories of {states.shape[1]} states")
    else:
        result = tasks.chunks(args.task, args.trajectories, args.seed, **options)
        print(f"{result['task']}: {args.trajectories} chunks of 5 states, {result['colliding']} with contacts")
    np.savez(args.out, **result)


def _table(args: argparse.Namespace) -> None:
    print(f"{'task':10}{'D':>5}{'E':>5}{'slots':>7}{'most':>6}{'mean':>7}")
    for name, D, E, slots, most, mean in tasks.table(args.trajectories, args.seed):
        print(f"{name:10}{D:5d}{E:5d}{slots:7d}{most:6d}{mean:7.2f}")


def _eps(word: str | None) -> float | None:
    if word is None or word == "learn":
        return None if word is None else -1.0
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 < value < np.inf:
        raise ValueError(f"--eps is {word!r}, must be a positive number or 'learn'")
    return value


def _train(args: argparse.Namespace) -> None:
    from tangere.learn.runs import Config  # noqa: PLC0415

    names = ("trajectories", "seed", "epochs", "batch", "every", "rate", "property_rate", "schedule", "law", "noise")
    config = Config(
        args.task,
        args.model,
        eps=_eps(args.eps),
        as_published=args.as_published,
        data=args.data,
        **{name: getattr(args, name) for name in names},
    ).checked()
    if args.threads < 1:
        raise ValueError(f"--threads is {args.threads}, must be at least 1")
    folder = Path(args.out or Path(RUNS) / config.task / config.folder_name())
    from tangere.learn.plan import summary, train_one  # noqa: PLC0415

    print("\n".join(summary(train_one(config, folder, args.threads))))


def _throw(args: argparse.Namespace) -> None:
    from tangere.learn.throws import compare, lines  # noqa: PLC0415

    if args.iterations < 1:
        raise ValueError(f"--iterations is {args.iterations}, must be at least 1")
    print("\n".join(lines(compare(Path(args.folder), args.iterations))))


def _report(args: argparse.Namespace) -> None:
    from tangere.learn.report import write  # noqa: PLC0415

    out = Path(args.out or Path(args.folder) / "report.html")
    ran, missing = write(Path(args.folder), out)
    print(f"{out}: {ran} runs, {missing} cells were not run")


def _all(args: argparse.Namespace) -> None:
    from tangere.learn.plan import check_small, run_all  # noqa: PLC0415

    if args.jobs < 1:
        raise ValueError(f"--jobs is {args.jobs}, must be at least 1")
    run_all(Path(args.folder), args.small, args.jobs)
    _report(argparse.Namespace(folder=args.folder, out=None))
    missed = check_small(Path(args.folder)) if args.small else []
    if missed:
        raise RuntimeError("; ".join(missed))


def main(words: list[str] | None = None) -> int:
    """The command `tangere learn`; returns its exit code."""
    args = _parser().parse_args(words)
    try:
        if getattr(args, "trajectories", 1) < 1:
            raise ValueError(f"--trajectories is {args.trajectories}, must be at least 1")
        does = {"data": _data, "table": _table, "train": _train, "throw": _throw, "report": _report, "all": _all}
        does[args.what](args)
    except ImportError as error:
        print(f"tangere learn: {error}: pip install 'tangere[learn]'", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tangere learn: interrupted; the same command goes on from the last checkpoint", file=sys.stderr)
        return 1
    except (ValueError, RuntimeError, OSError, Error) as error:
        print(f"tangere learn: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    return 0
