"""`python3 -m tangere.fit`: implements the command `tangere fit`. The function is `tangere.fit(...)`."""

from __future__ import annotations

import argparse
import json
import sys
import types
from typing import Any

from tangere._errors import Error
from tangere._fit import fit as _function
from tangere._fit_result import Direction, FitResult
from tangere._fit_unknowns import Unknown
from tangere.logs import Log, read_log
from tangere.model import load

__all__ = ["Direction", "FitResult", "Log", "Unknown", "main", "read_log"]


class _Callable(types.ModuleType):
    """`import tangere.fit` must not take the function `tangere.fit` away."""

    def __call__(self, *args: Any, **options: Any) -> FitResult:
        return _function(*args, **options)


sys.modules[__name__].__class__ = _Callable


def _numbers(words: list[str], what: str, count: int) -> dict[str, Any]:
    """{name: numbers} from NAME=a:b."""
    found: dict[str, Any] = {}
    for word in (w for given in words for w in given.split(",") if w):
        name, equals, rest = word.partition("=")
        parts = rest.split(":")
        try:
            values = tuple(
                float(part) if part else float("inf") * (-1 if i == 0 else 1) for i, part in enumerate(parts)
            )
        except ValueError:
            values = ()
        if not equals or len(values) != count:
            raise Error(f"{what}: expected NAME={':'.join(['NUMBER'] * count)}, got '{word}'", "invalid argument")
        found[name] = values if count > 1 else values[0]
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangere fit")
    parser.add_argument("model")
    parser.add_argument("logs", nargs="+")
    for name in ("params", "bounds", "start", "prior", "tie", "noise", "columns"):
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("--initial", default=None)
    parser.add_argument("--method", default="gn")
    parser.add_argument("--robust", default=None)
    parser.add_argument("--horizon", type=int, default=None)
    parser.add_argument("--iterations", type=int, default=None)
    parser.add_argument("--rate", type=float, default=None)
    parser.add_argument("--dt", type=float, default=None)
    parser.add_argument("--impact", default=None)
    parser.add_argument("--solver", default=None)
    parser.add_argument("--missing", default="refuse")
    parser.add_argument("--time-offset", action="store_true")
    parser.add_argument("--write", default=None)
    parser.add_argument("--report", default=None)
    parser.add_argument("--json", action="store_true")
    for flag in ("strict", "floating-base", "keep-fixed", "exclude-overlaps"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--srdf", default=None)
    parser.add_argument("--package-path", action="append", default=[])
    return parser


def _noise(words: list[str]) -> Any:
    if len(words) == 1 and "=" not in words[0]:
        try:
            return float(words[0])
        except ValueError:
            raise Error(f"--noise: expected a number or CHANNEL=NUMBER, got '{words[0]}'", "invalid argument") from None
    return _numbers(words, "--noise", 1) or None


def _run(given: argparse.Namespace) -> int:
    reading = {
        "strict": given.strict,
        "floating_base": given.floating_base,
        "keep_fixed": given.keep_fixed,
        "exclude_overlaps": given.exclude_overlaps,
    }
    if given.srdf:
        reading["srdf"] = given.srdf
    if given.package_path:
        reading["package_paths"] = given.package_path
    m = load(given.model, **{name: value for name, value in reading.items() if value})
    params = [name for words in given.params for name in words.split(",") if name]
    initial = given.initial.split(",") if given.initial else None
    if initial == ["all"]:
        initial = True
    pairs = [pair for words in given.columns for pair in words.split(",") if pair]
    for pair in pairs:
        if "=" not in pair:
            raise Error(f"--columns: expected THEIRS=OURS, got '{pair}'", "invalid argument")
    columns = dict(pair.split("=", 1) for pair in pairs)
    sim = {name: value for name, value in (("impact", given.impact), ("solver", given.solver)) if value}
    result = _function(
        m,
        given.logs,
        params,
        bounds=_numbers(given.bounds, "--bounds", 2),
        start=_numbers(given.start, "--start", 1),
        prior=_numbers(given.prior, "--prior", 2),
        tie=[word.split("=") for words in given.tie for word in words.split(",") if word] or None,
        initial=initial,
        noise=_noise(given.noise),
        robust=given.robust,
        method=given.method,
        horizon=given.horizon,
        iterations=given.iterations,
        dt=given.dt,
        time_offset=given.time_offset,
        progress=not given.json,
        log_options={"rate": given.rate, "columns": columns or None, "missing": given.missing},
        **sim,
    )
    if given.write:
        result.write(given.write)
    if given.report:
        result.report(given.report)
    print(json.dumps(result.as_dict()) if given.json else result.summary())
    return 0 if result.converged else 1


def main(arguments: list[str] | None = None) -> int:
    """The command; 0: done, 1: failed or not converged, 2: wrong usage."""
    given = _parser().parse_args(arguments)
    try:
        return _run(given)
    except (Error, ValueError, ImportError, OSError) as refusal:
        print(f"tangere: fit: {refusal}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
