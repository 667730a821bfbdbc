"""What CM must reach: a list of bars, each with what a run has and whether it holds.

Bars are those of runs with 4,000 iterations; shorter runs are measured with the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from tangere.learn.paper import FIG3, TASKS
from tangere.learn.runs import BASELINES, MODELS, ratios

CM = ("CM-CLNN", "CM-CHNN")
CONSERVED = ("BP5-e", "CP3-e", "Gyro-e")
SEEN = 20  # chunks in which a coefficient has to occur to be asked for
Get = Callable[..., dict[str, Any] | None]  # (task, model, **options): the result of a run


class Bar(NamedTuple):
    """One line: task and model, what is asked, what the run has (None: not run), whether it holds."""

    run: str
    asked: str
    has: str | None
    holds: bool


# task: how far mu and e may be off
COEFFICIENTS: dict[str, tuple[float, float]] = {
    "BP5-e": (1e-3, 1e-3),
    "CP3-e": (2e-3, 2e-3),
    "CP3": (2e-3, 1e-2),
    "Gyro-e": (2e-3, 2e-3),
    "Gyro": (1e-3, 2e-3),
}
RATIOS = 1e-3  # of masses, relative; BP5-e and BP5
MANY = 0.02  # of the thirty coefficients, relative; absolute where the true one is 0
TIMES_PAPER = 2.0
DRIFT = 0.01
FEW = 0.2  # validation loss with 25 trajectories and with 800, relative
MINUTES = 15.0


def off(got: float, true: float) -> float:
    """Relative difference; the absolute one where the true value is 0."""
    return abs(got - true) / (abs(true) or 1.0)


def coefficients(result: dict[str, Any]) -> Iterator[tuple[int, int, str, float, float]]:
    """Coefficients of a run with many: index, chunks, name, learned, true."""
    for i, count in enumerate(result["counts"]):
        for name in ("mu", "e"):
            yield i, count, name, result["learned"][name][i], result["truth"][name][i]


def _coefficients(get: Get) -> Iterator[Bar]:
    for task, limits in COEFFICIENTS.items():
        for model in CM:
            result = get(task, model)
            for name, limit in zip(("mu", "e"), limits, strict=True):
                asked = f"{name} within {limit:g}"
                if result is None:
                    yield Bar(f"{task} {model}", asked, None, False)
                    continue
                got, true = result["learned"][name][0], result["truth"][name][0]
                yield Bar(f"{task} {model}", asked, f"{got:.5f} (true {true:g})", abs(got - true) <= limit)


def _masses(get: Get) -> Iterator[Bar]:
    for task in ("BP5-e", "BP5"):
        for model in CM:
            result, asked = get(task, model), f"mass ratios within {RATIOS:.1%}"
            if result is None:
                yield Bar(f"{task} {model}", asked, None, False)
                continue
            worst = max(off(a, b) for a, b in zip(*ratios(result), strict=True))
            yield Bar(f"{task} {model}", asked, f"{worst:.1e}", worst <= RATIOS)


def _many(get: Get) -> Iterator[Bar]:
    for model in CM:
        result, asked = get("BP5", model), f"coefficients seen in {SEEN} chunks within {MANY:.0%}"
        if result is None:
            yield Bar(f"BP5 {model}", asked, None, False)
            continue
        seen = [(off(got, true), i, name) for i, count, name, got, true in coefficients(result) if count >= SEEN]
        bad = [f"{name} {i}" for far, i, name in seen if far > MANY]
        worst = max(seen, default=(0.0, 0, ""))[0]
        has = f"largest of {len(seen)}: {worst:.1e}" + (f"; off: {', '.join(bad)}" if bad else "")
        yield Bar(f"BP5 {model}", asked, has, not bad)


def _errors(get: Get) -> Iterator[Bar]:
    for task in TASKS:
        for model in CM:
            limit, result = TIMES_PAPER * FIG3[task][MODELS.index(model)], get(task, model)
            mean = None if result is None else result["error"]["mean"]
            has = None if result is None else "not finite" if mean is None else f"{mean:.2e}"
            yield Bar(f"{task} {model}", f"error at most {limit:g}", has, mean is not None and mean <= limit)


def _energy(get: Get) -> Iterator[Bar]:
    for task in CONSERVED:
        for model in CM:
            result = get(task, model)
            drift = None if result is None else result["energy drift"]["largest"]
            has = None if result is None else "not finite" if drift is None else f"{drift:.2%}"
            asked = f"energy of 50 steps within {DRIFT:.0%}, 100 trajectories"
            yield Bar(f"{task} {model}", asked, has, drift is not None and drift < DRIFT)


def _few(get: Get) -> Iterator[Bar]:
    pair = [get("BP5", "CM-CLNN", trajectories=count) for count in (25, 800)]
    asked = f"validation loss with 25 trajectories within {FEW:.0%} of that with 800"
    if None in pair:
        yield Bar("BP5 CM-CLNN", asked, None, False)
        return
    few, many = (result["validation"] for result in pair if result is not None)
    yield Bar("BP5 CM-CLNN", asked, f"{few:.2e}, {many:.2e}", abs(few - many) <= FEW * many)


def _times(get: Get) -> Iterator[Bar]:
    """CPU time of one thread is the wall time of an idle processor."""
    for task in TASKS:
        result, full = get(task, "CM-CLNN"), 400 if task.startswith("Rope") else 4000
        asked = f"{full} iterations in {MINUTES:g} minutes of CPU time"
        if result is None:
            yield Bar(f"{task} CM-CLNN", asked, None, False)
            continue
        minutes = full * sum(result["cpu seconds per iteration"].values()) / 60
        ran = "" if result["iterations"] >= full else f", from {result['iterations']}"
        yield Bar(f"{task} CM-CLNN", asked, f"{minutes:.1f}{ran}", minutes < MINUTES)


def check(get: Get) -> list[Bar]:
    """All bars in the order of the page."""
    parts = (_coefficients, _masses, _many, _errors, _energy, _few, _times)
    return [bar for part in parts for bar in part(get)]


# ---- the order of models ----


def ordered(errors: dict[str, float | None], kind: str) -> str:
    """CM < CMr < baselines of CLNN or CHNN, as far as there are errors; None is not finite, larger than any."""
    found = {model: float("inf") if error is None else error for model, error in errors.items()}
    baselines = [found[model] for model in BASELINES if model in found]
    groups = {name: found[name] for name in (f"CM-{kind}", f"CMr-{kind}") if name in found}
    groups |= {"baselines": min(baselines)} if baselines else {}
    said = (f"{a} < {b}" if groups[a] < groups[b] else f"not {a} < {b}" for a, b in pairwise(groups))
    return ", ".join(said)


def orders(get: Get) -> Iterator[tuple[str, str, str]]:
    """Task, the order of its runs and that of the paper."""
    for task in TASKS:
        errors = {model: result["error"]["mean"] for model in MODELS if (result := get(task, model)) is not None}
        for kind in ("CLNN", "CHNN"):
            paper = dict(zip(MODELS, FIG3[task], strict=True))
            yield task, ordered(errors, kind), ordered(paper, kind)
