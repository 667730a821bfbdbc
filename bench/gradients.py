#!/usr/bin/env python3
"""`tangere check` on every model of models/ and of the robots' folder, and a table of what it found; then the labels of
derivatives on every robot, judged like a classifier (labels.py).

make gradients                                     1,000 states per model
bench/gradients.py --samples 100 models/cube.xml   these models only, nothing is written
bench/gradients.py --keep build/gradients --write  what was found is kept there; what is there is not run again
make gradient-options                              100 states per model and robot, hard ones too, by option
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared"))
RESULTS = ROOT / "bench" / "results" / "gradients_models.md"
LABELS = "## Labels"
TOLERANCE = 1e-6
LONGEST = 3600  # s that one model may take
LABEL_STATES = 200  # of every robot whose labels are judged: enough to see one wrong label in a thousand
BY_OPTION = ROOT / "bench" / "results" / "gradients_options.md"
OPTIONS = {"default": [], "impact within": ["--impact", "within"]}


def models() -> list[str]:
    """Our own models and the robots': every file that is a model by itself."""
    own = [f"models/{path.name}" for path in sorted((ROOT / "models").glob("*.xml"))]
    expected = SHARED / "robots" / "expected.json"
    if not expected.is_file():
        return own
    return own + sorted(json.loads(expected.read_text())["files"])


def robots() -> list[str]:
    """Scenes with a floor, or robots that need none: those whose labels are judged."""
    names = [n for n in models() if n.endswith(".xml") and not n.startswith("models/")]
    scenes = {Path(n).parent for n in names if Path(n).name == "scene.xml"}
    names = [n for n in names if Path(n).parent not in scenes or Path(n).name.startswith("scene")]
    return names + [f"hard/{path.name}" for path in sorted((SHARED / "robots" / "hard").glob("*.xml"))]


def everything() -> list[str]:
    """All models, and the robots that are hard to solve."""
    return models() + [f"hard/{path.name}" for path in sorted((SHARED / "robots" / "hard").glob("*.xml"))]


def path_of(name: str) -> Path:
    for folder in (ROOT, SHARED / "robots"):
        if (folder / name).is_file():
            return folder / name
    return Path(name)


def options_of(name: str) -> list[str]:
    """URDF cannot say which links do not collide: pairs that overlap in the reference configuration are left out."""
    return ["--exclude-overlaps"] if name.endswith(".urdf") else []


def check(command: Path, name: str, samples: int, seed: int, option: str = "default") -> dict:
    """The object that `tangere check --json` prints, or {"failure": what it said}."""
    start = time.monotonic()
    words = [command, "check", path_of(name), "--samples", str(samples), "--seed", str(seed), "--json"]
    words += options_of(name) + OPTIONS[option]
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=LONGEST)
        result = json.loads(done.stdout) if done.stdout else {"failure": done.stderr.strip()}
    except subprocess.TimeoutExpired:
        result = {"failure": f"not ready after {LONGEST} s"}
    return result | {"name": name, "seconds": time.monotonic() - start}


def kept(folder: Path | None, command: Path, name: str, *, samples: int, seed: int, option: str = "default") -> dict:
    """The same, from the folder if it is there, and kept there otherwise."""
    suffix = "" if option == "default" else "_" + option.replace(" ", "_")
    file = folder / f"{name.replace('/', '_')}_{samples}_{seed}{suffix}.json" if folder else None
    if file and file.is_file():
        return json.loads(file.read_text())
    result = check(command, name, samples, seed, option)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result))
    return result


def complaints(r: dict) -> list[str]:
    """Every promise that is broken; none: the model is good."""
    if "failure" in r:
        return [r["failure"]]
    out = [
        f"d/d{kind} off by {g['error']:.1e}: {g['entry']} {g['derivative']:.9g}, differences {g['differences']:.9g} "
        f"(state {g['state']}, {g['parameters']} parameters, condition {g['condition']:.1e})"
        for kind, g in r["by"].items()
        if not g["error"] <= TOLERANCE
    ]
    states, left_out = r["states"], r["states_skipped"]
    if left_out["share"] >= 0.05:
        sets = ", ".join(f"{r['not_exact'][s]} {s}" for s in ("own", "nudged", "soft"))
        out.append(
            f"{100 * left_out['share']:.1f} % of the states skipped: {left_out['one-sided']} one-sided and "
            f"{left_out['regularised']} regularised where differences do not agree, {left_out['unsolved']} not solved, "
            f"{left_out['refused']} without derivatives (not exact: {sets})"
        )
    if r["skipped_share"] >= 0.05:
        out.append(
            f"{100 * r['skipped_share']:.1f} % of the numbers skipped ({r['switched']} across a change of mode, "
            f"{r['kinked']} at other kinks, {r['unresolved']} where differences do not agree, "
            f"{left_out['numbers']} of states that are skipped)"
        )
    if not (r["jvp"] <= 1e-10 and r["jacobian"] <= 1e-10):
        out.append(
            f"forward mode and matrices differ from reverse mode by {r['jvp']:.1e}, {r['jacobian']:.1e} (state "
            f"{r['apart']['state']}, {r['apart']['parameters']} parameters, {r['apart']['label']})"
        )
    if r["infinite"]:
        out.append(f"{r['infinite']} derivatives are not finite")
    out += [
        f"only {m['states']} of {states} states have a {mode} contact"
        for mode, m in r["modes"].items()
        if m["possible"] and 10 * m["states"] < states
    ]
    return out


def worst(r: dict, kinds: bool) -> float:
    groups = ("q", "v", "act", "u", "tau", "wrench", "dt")
    return max((g["error"] for kind, g in r["by"].items() if (kind not in groups) == kinds), default=0.0)


def row(r: dict) -> str:
    if "failure" in r:
        return f"| {r['name']} | failed | | | | | | | | | |"
    modes = " / ".join(str(m["states"]) if m["possible"] else "-" for m in r["modes"].values())
    return (
        f"| {' '.join([r['name'], *options_of(r['name'])])} | {'failed' if complaints(r) else 'passed'} "
        f"| {r['exact']} / {r['one-sided']} / {r['regularised']} | {100 * r['states_skipped']['share']:.1f} % "
        f"| {modes} | {worst(r, False):.1e} | {worst(r, True):.1e} | {r['compared']} "
        f"| {100 * r['skipped_share']:.2f} % "
        f"| {max(r['jvp'], r['jacobian']):.0e} | {1000 * r['seconds'] / r['states']:.0f} |"
    )


def option_cells(r: dict) -> str:
    if "failure" in r:
        return "failed | | |"
    verdict = "failed" if complaints(r) else "passed"
    return (
        f"{verdict} | {r['exact']} / {r['one-sided']} / {r['regularised']} "
        f"| {100 * r['states_skipped']['share']:.0f} %, {100 * r['skipped_share']:.1f} % "
        f"| {max(r['jvp'], r['jacobian']):.0e} |"
    )


def option_page(by_option: dict[str, list[dict]], samples: int, seed: int) -> str:
    """One row per model, four columns per option; then what fails."""
    columns = ("", "exact / one-sided / regularised", "states, numbers skipped", "agree")
    head = "| model | " + " | ".join(f"{o}: {c}".strip(" :") for o in by_option for c in columns) + " |"
    passed = ", ".join(f"{o}: {sum(not complaints(r) for r in rs)} of {len(rs)} pass" for o, rs in by_option.items())
    lines = [
        "# `tangere check` by option",
        "",
        f"`make gradient-options`: `tangere check MODEL --samples {samples} --seed {seed}`, "
        f"{time.strftime('%Y-%m-%d')}. {passed}. Columns as in gradients_models.md; agree: forward mode and matrices "
        "with reverse mode.",
        "",
        head,
        "| --- |" + " --- | ---: | ---: | ---: |" * len(by_option),
    ]
    lines += [
        f"| {rows[0]['name']} | " + " ".join(option_cells(r) for r in rows)
        for rows in zip(*by_option.values(), strict=True)
    ]
    bad = [f"- {r['name']}, {o}: {text}" for o, rs in by_option.items() for r in rs for text in complaints(r)]
    return "\n".join([*lines, "", "## What fails", "", *(bad or ["Nothing."])]) + "\n"


def check_by_option(arguments: argparse.Namespace, names: list[str]) -> bool:
    """Every option on every model; whether all pass."""
    by_option = {}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for option in OPTIONS:
            run = partial(
                kept, arguments.keep, arguments.command, samples=arguments.samples, seed=arguments.seed, option=option
            )
            by_option[option] = []
            for r in pool.map(run, names):
                by_option[option].append(r)
                print(f"{option:14s} {r['name']:44s} {r['seconds']:6.1f} s  {option_cells(r)}", flush=True)
    page_of = option_page(by_option, arguments.samples, arguments.seed)
    print(page_of)
    if arguments.write:
        BY_OPTION.write_text(page_of)
    return not any(complaints(r) for rs in by_option.values() for r in rs)


def kinds_table(results: list[dict]) -> list[str]:
    """For every kind of input: where it was compared, and the worst of all models."""
    kinds: dict[str, list[tuple[float, float, int, str]]] = {}
    for r in results:
        for kind, g in r.get("by", {}).items():
            kinds.setdefault(kind, []).append((g["error"], g["largest"], g["compared"], f"{r['name']}: {g['entry']}"))
    lines = [
        "| by | compared | models where it is not zero | largest | worst error | where |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for kind, entries in kinds.items():
        error, _, _, where = max(entries)
        moved = sum(largest > 0 for _, largest, _, _ in entries)
        lines.append(
            f"| {kind} | {sum(n for _, _, n, _ in entries)} | {moved} | {max(e[1] for e in entries):.3g} "
            f"| {error:.1e} | {where if error > 0 else ''} |"
        )
    return lines


def label_table(states: int, seed: int) -> tuple[list[str], bool]:
    """The table, and whether what must hold does; the package is needed only here."""
    import labels  # noqa: PLC0415

    verdicts = []
    for name in robots():
        verdicts.append(labels.judge_model(path_of(name), states, seed))
        verdicts[-1].name = name
        print(labels.line(verdicts[-1]), flush=True)
    return labels.table(verdicts)


def label_section(table: list[str], seed: int) -> list[str]:
    return [
        "",
        LABELS,
        "",
        f"{LABEL_STATES} states of every robot (`bench/gradients.py --only-labels --seed {seed}`, "
        f"{time.strftime('%Y-%m-%d')}): of those whose derivative exists (differences of both sides agree to 1e-6) at "
        "least 95 % must be labelled exact, and of those labelled exact at least 99.9 % must be right.",
        "",
        *table,
    ]


def with_labels(text: str, section: list[str]) -> str:
    """A page with another section of labels."""
    before, _, after = text.partition(f"\n{LABELS}\n")
    _, heading, rest = after.partition("\n## ")
    return before.rstrip("\n") + "\n" + "\n".join(section) + "\n" + (heading + rest if heading else "")


def page(results: list[dict], samples: int, seed: int, labels: list[str]) -> str:
    bad = [(r["name"], text) for r in results for text in complaints(r)]
    lines = [
        "# Derivatives against differences, every model",
        "",
        f"`tangere check MODEL --samples {samples} --seed {seed}` (fewer where the table has fewer), "
        f"{time.strftime('%Y-%m-%d')}; "
        f"docs/gradients.md says what is compared and how. {sum(not complaints(r) for r in results)} of {len(results)} "
        "models pass.",
        "",
        "- states: with an exact, a one-sided, a regularised derivative; left out: those whose label is not exact and "
        "where differences do not agree, or that were not solved. modes: states with a breaking, sticking, "
        "sliding contact (-: it can have none: no two of its geoms may collide, or none of those has friction).",
        "- errors: the worst of q, v, act, u, tau, wrenches, dt, and of all kinds of parameters: "
        "|J - F| / max(1, max |F|).",
        "- skipped: numbers across a change of mode, at other kinks, where differences do not agree among themselves, "
        "and those of states that are left out. agree: forward mode and matrices with reverse mode. ms: a state, on a "
        "machine with other work.",
        "",
        "| model | | states | left out | modes | error | of parameters | compared | skipped | agree | ms |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *[row(r) for r in results],
        "",
        "## Kinds of input",
        "",
        *kinds_table(results),
    ]
    lines += label_section(labels, seed) if labels else []
    if bad:
        lines += ["", "## What is not as it should be", "", *[f"- {name}: {text}" for name, text in bad]]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="files; default: all")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the trajectories")
    parser.add_argument("--command", type=Path, default=ROOT / "build" / "tangere")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count() or 1)))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="results of single models, as JSON")
    parser.add_argument("--no-labels", action="store_true", help="check alone")
    parser.add_argument("--only-labels", action="store_true", help="labels alone; --write: that section alone")
    parser.add_argument("--options", action="store_true", help=f"every option; --write: {BY_OPTION.relative_to(ROOT)}")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if arguments.options:
        return 0 if check_by_option(arguments, arguments.models or everything()) else 1
    names = [] if arguments.only_labels else arguments.models or models()
    results = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        run = partial(kept, arguments.keep, arguments.command, samples=arguments.samples, seed=arguments.seed)
        for r in pool.map(run, names):
            results.append(r)
            found = complaints(r)
            verdict = "failed" if found else "passed"
            print(f"{len(results):3d} of {len(names)}  {r['name']:44s} {r['seconds']:6.1f} s  {verdict}")
            for text in found:
                print(f"      {text}")
            sys.stdout.flush()
    judged, good = [], True
    if not (arguments.no_labels or arguments.models):
        judged, good = label_table(LABEL_STATES, arguments.seed)
        print("\n".join(judged))
    if arguments.write and arguments.only_labels:
        RESULTS.write_text(with_labels(RESULTS.read_text(), label_section(judged, arguments.seed)))
    elif arguments.write:
        RESULTS.write_text(page(results, arguments.samples, arguments.seed, judged))
    if arguments.write:
        print(f"wrote {RESULTS.relative_to(ROOT)}")
    return 0 if good and not any(complaints(r) for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
