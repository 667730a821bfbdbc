"""The page about all runs of a folder: Fig. 3 to 6, Tables 2 and 3, mass ratios, compared with the paper's figures.

Cells of runs that are not in the folder say so. Needs matplotlib, not torch.
"""

from __future__ import annotations

import base64
import html
import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.cartesian import System
from tangere.learn import bars
from tangere.learn.paper import (
    EPS,
    FIG3,
    FIG4,
    FIG5,
    FIG6,
    LCP,
    MASSES,
    NOISE,
    ROPES,
    SAMPLES,
    TABLE2,
    TABLE3,
    TASKS,
)
from tangere.learn.runs import CONTACT_MODELS, MODELS, Config, ratios, read_config, write_log, write_whole

Array = NDArray[np.float64]
NOT_RUN = "not run"
DIVERGED = 100.0  # relative error: beyond it a curve leaves the picture, so that others can be read

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.8em 0; } td, th { padding: 0.15em 0.7em; border-bottom: 1px solid #ddd;
text-align: right; } td:first-child, th:first-child { text-align: left; } img { max-width: 100%; }
.none { color: #999; } small { color: #666; display: block; }
.warn { background: #fff3d6; padding: 0.4em 0.8em; border-left: 4px solid #d98e00; margin: 0.4em 0; }"""


class Runs:
    """The runs of a folder, found by configuration."""

    def __init__(self, root: Path):
        if not root.is_dir():
            raise ValueError(f"{root}: no such folder; `tangere learn train TASK MODEL` makes runs")
        self.found: list[tuple[Config, dict[str, Any], Path]] = []
        self.unfinished: list[tuple[Config, Path]] = []
        self.missing: set[tuple[Any, ...]] = set()
        for path in sorted(root.rglob("config.json")):
            config = read_config(path.parent)
            result = path.parent / "result.json"
            if not result.exists():
                self.unfinished.append((config, path.parent))
                continue
            try:
                self.found.append((config, json.loads(result.read_text()), path.parent))
            except ValueError as error:
                raise ValueError(f"{result}: not a result: {error}") from None

    def get(self, task: str, model: str, **options: Any) -> dict[str, Any] | None:
        """The run with these options and otherwise defaults; smaller data is taken where there is nothing better."""
        wanted = {"eps": None, "noise": 0.0, "law": "ccp", "as_published": False, **options}
        fit = []
        for config, result, _ in self.found:
            own = asdict(config)
            if (config.task, config.model) == (task, model) and all(own[k] == v for k, v in wanted.items()):
                fit.append((config.trajectories, result["iterations"], -config.seed, result))
        if not fit:
            self.missing.add((task, model, *sorted(options.items())))
            return None
        return max(fit, key=lambda f: f[:3])[3]

    def seeds(self) -> list[tuple[Config, list[dict[str, Any]]]]:
        """Runs that differ in their seeds only, at least two."""
        groups: dict[Config, list[dict[str, Any]]] = {}
        for config, result, _ in self.found:
            groups.setdefault(replace(config, seed=0), []).append(result)
        return [(config, results) for config, results in groups.items() if len(results) > 1]


# ---- pieces of a page ----


def _cell(text: str | None, note: str = "") -> str:
    body = f'<span class="none">{NOT_RUN}</span>' if text is None else html.escape(text)
    return f"<td>{body}{f'<small>{html.escape(note)}</small>' if note else ''}</td>"


def _table(heading: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(word)}</th>" for word in heading)
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{''.join(row)}</tr>" for row in rows) + "</table>"


def _size(result: dict[str, Any]) -> str:
    """What a run had less of than 800 chunks and 4,000 iterations."""
    less = [f"{result[name]} {name}" for name, full in (("chunks", 800), ("iterations", 4000)) if result[name] < full]
    return f" ({', '.join(less)})" if less else ""


def _picture(figure: Any) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=100, bbox_inches="tight")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}">'


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(3.2 * columns, 2.6 * rows))
    return figure, figure.subplots(rows, columns, squeeze=False)


def _error(result: dict[str, Any] | None) -> str | None:
    if result is None:
        return None
    error = result["error"]
    if error["mean"] is None:
        return "not finite"
    return f"{error['mean']:.2e} ± {error['half']:.1e}{_size(result)}"


# ---- the figures and tables ----


def _fig3(runs: Runs) -> str:
    rows = []
    for task in TASKS:
        cells = [_cell(task)]
        for model, paper in zip(MODELS, FIG3[task], strict=True):
            cells.append(_cell(_error(runs.get(task, model)), f"paper {paper:g}"))
        rows.append(cells)
    return _table(["task", *MODELS], rows)


def _fig4(runs: Runs) -> str:
    figure, axes = _figure(2, 4)
    for axis, task in zip(axes.flat, TASKS, strict=True):
        for model in MODELS:
            result = runs.get(task, model)
            if result is not None:
                curve = [float("nan") if y is None else y for y in result["curve"]]
                axis.semilogy(range(1, len(curve)), curve[1:], label=model)
        if not axis.lines:
            axis.text(0.5, 0.5, NOT_RUN, ha="center", va="center", color="#999", transform=axis.transAxes)
        else:
            axis.legend(fontsize="xx-small")
            axis.set_ylim(top=min(axis.get_ylim()[1], DIVERGED))
        axis.axvline(4, linestyle="--", color="#999", linewidth=0.8)
        axis.set(title=task, xlabel="step", ylabel="relative error")
    figure.tight_layout()
    return _picture(figure)


def _fig5(runs: Runs) -> str:
    figure, axes = _figure(1, 3)
    rows = []
    for axis, (task, index) in zip(axes.flat, (("BP5-e", 4), ("CP3-e", 2), ("Gyro-e", 3)), strict=True):
        for model in MODELS:
            result = runs.get(task, model)
            if result is None:
                continue
            energy = [float("nan") if y is None else y for y in result["energy"][index]]
            axis.plot(energy, label=model)
            true = result["true energy"][index]
            axis.axhline(true, color="k", linewidth=0.8)
            drift = result["energy drift"]
            said = ["not finite" if drift[k] is None else f"{100 * drift[k]:.3g} %" for k in ("median", "largest")]
            rows.append([_cell(task), _cell(model), *(_cell(word) for word in said)])
        if not axis.lines:
            axis.text(0.5, 0.5, NOT_RUN, ha="center", va="center", color="#999", transform=axis.transAxes)
        else:
            axis.legend(fontsize="xx-small")
            low, high = axis.get_ylim()
            axis.set_ylim(max(low, true - abs(true)), min(high, true + abs(true)))
        axis.set(title=task, xlabel="step", ylabel="energy (J)")
    figure.tight_layout()
    return _picture(figure) + _table(["task", "model", "drift, median of 100", "largest"], rows)


def _fig6(runs: Runs) -> str:
    rows = []
    for model, paper in FIG6.items():
        cells = [_cell(model)]
        for count, loss in zip(SAMPLES, paper, strict=True):
            result = runs.get("BP5", model, trajectories=count)
            cells.append(_cell(None if result is None else f"{result['validation']:.3g}", f"paper {loss:g}"))
        rows.append(cells)
    return _table(["validation loss, trajectories", *map(str, SAMPLES)], rows)


def _coefficients(result: dict[str, Any] | None) -> str | None:
    return (
        None if result is None else f"{result['learned']['mu'][0]:.4f}, {result['learned']['e'][0]:.4f}{_size(result)}"
    )


def _table2(runs: Runs) -> str:
    from tangere.learn import tasks  # noqa: PLC0415

    rows = []
    for task, paper in TABLE2.items():
        definition = tasks.task(task).system(threads=1).definition
        cells = [_cell(task), _cell(f"{definition['mu'][0]:g}, {definition['e'][0]:g}")]
        for model, word in zip(CONTACT_MODELS, paper, strict=True):
            cells.append(_cell(_coefficients(runs.get(task, model)), f"paper {word}"))
        rows.append(cells)
    return _table(["mu, e", "true", *CONTACT_MODELS], rows)


def _table3(runs: Runs) -> str:
    rows = []
    for task, paper in TABLE3.items():
        result = runs.get(task, "CM-CLNN")
        spent = None if result is None else result["cpu seconds per iteration"]
        words = [None] * 4 if spent is None else [f"{v:.4f}" for v in (sum(spent.values()), *spent.values())]
        rows.append([_cell(task), *(_cell(word) for word in words), _cell(f"{paper:g}")])
    return _table(["s per iteration (CM-CLNN)", "all", "network", "contact", "rest", "paper (batch 1)"], rows)


def _masses(runs: Runs) -> str:
    rows = []
    for task in ("BP5-e", "BP5", "CP3-e", "CP3", "BD5"):
        cells, true = [_cell(task)], None
        for model in CONTACT_MODELS:
            result = runs.get(task, model)
            got, true = (None, true) if result is None else ratios(result)
            note = f"paper {MASSES[task, model]}" if (task, model) in MASSES else ""
            cells.append(_cell(None if got is None else ", ".join(f"{r:.4f}" for r in got), note))
        cells.insert(1, _cell("" if true is None else ", ".join(f"{r:g}" for r in true)))
        rows.append(cells)
    return _table(["m_i / m_1", "true", *CONTACT_MODELS], rows)


def _many(runs: Runs) -> str:
    """Coefficients of BP5 and BD5 with the number of training chunks that show them."""
    out = []
    for task in ("BP5", "BD5"):
        result = runs.get(task, "CM-CLNN")
        if result is None:
            out.append(f'<p>{task}: <span class="none">{NOT_RUN}</span></p>')
            continue
        rows = []
        for i, count in enumerate(result["counts"]):
            mu, e, tmu, te = (result[of][what][i] for of in ("learned", "truth") for what in ("mu", "e"))
            rows.append(
                [_cell(str(i)), _cell(str(count)), *map(_cell, (f"{mu:.5f}", f"{tmu:g}", f"{e:.5f}", f"{te:g}"))]
            )
        out.append(_table([f"{task}, coefficient", "chunks", "mu", "true", "e", "true"], rows))
    return "".join(out)


def _variants(runs: Runs) -> str:
    rows = []
    for task, paper in NOISE.items():
        cells = [_cell(task)]
        for sd, word in zip((0.01, 0.05), paper, strict=True):
            cells.append(_cell(_coefficients(runs.get(task, "CM-CLNN", noise=sd)), f"paper {word}"))
        rows.append(cells)
    page = _table(["mu, e of CM-CLNN, noise", "0.01", "0.05"], rows)
    rows = []
    for task, word in LCP.items():
        result = runs.get(task, "CM-CLNN", law="lcp")
        rows.append([_cell(task), _cell(_coefficients(result), f"paper {word}"), _cell(_error(result))])
    page += _table(["CM-CLNN, data of the LCP", "mu, e", "error against CM's truth"], rows)
    rows = []
    for task, paper in EPS.items():
        cells = [_cell(task)]
        for eps, word in paper.items():
            result = runs.get(task, "CMr-CLNN", eps=eps)
            own = f"; eps {result['learned']['eps']:.3g}" if result is not None and eps == -1.0 else ""
            found = _coefficients(result)
            cells.append(_cell(None if found is None else found + own, f"paper {word}"))
        rows.append(cells)
    return page + _table(["mu, e of CMr-CLNN, eps", "0.1", "0.01", "0.001", "learned"], rows)


def _ropes(runs: Runs) -> str:
    models = ("CM-CLNN", "CM-CHNN", "MLP-CD-CLNN", "IN-CP-CLNN", "IN-CP-SP")
    rows = []
    for task, paper in ROPES.items():
        cells = [_cell(task)]
        for model in models:
            note = f"paper {paper[model]:g}" if model in paper else ""
            cells.append(_cell(_error(runs.get(task, model)), note))
        rows.append(cells)
    return _table(["sum of relative errors", *models], rows)


def _seeds(runs: Runs) -> str:
    rows = []
    for config, results in runs.seeds():
        errors = np.array([np.nan if r["error"]["mean"] is None else r["error"]["mean"] for r in results])
        half = student(len(errors) - 1) * errors.std(ddof=1) / np.sqrt(len(errors))
        words = [f"{config.task} {config.folder_name()}{_size(results[0])}", str(len(results))]
        words.append(f"{errors.mean():.2e} ± {half:.1e}" if np.isfinite(half) else "not finite")
        for name in ("mu", "e"):
            of = [r["learned"][name][0] for r in results if len(r["learned"].get(name, ())) == 1]
            words.append(f"{min(of):.4f} to {max(of):.4f}" if of else "")
        rows.append([_cell(word) for word in words])
    if not rows:
        return f'<p class="none">{NOT_RUN}</p>'
    return _table(["run", "seeds", "error, 95 % interval of the mean over seeds", "mu", "e"], rows)


def student(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's t: the root of its distribution function, integrated numerically."""
    # with t = sqrt(n) tan(a) the density is cos(a)^(n - 1) times a constant
    a = np.linspace(0.0, np.pi / 2, 200001)
    middle = np.cos(0.5 * (a[1:] + a[:-1])) ** (freedom - 1)
    share = np.concatenate([[0.0], np.cumsum(middle)])
    return float(np.sqrt(freedom) * np.tan(np.interp(0.95 * share[-1], share, a)))


def _bars(runs: Runs) -> str:
    rows = []
    for bar in bars.check(runs.get):
        verdict = None if bar.has is None else "holds" if bar.holds else "does not hold"
        rows.append([_cell(bar.run), _cell(bar.asked), _cell(bar.has), _cell(verdict)])
    page = _table(["run", "asked", "found", ""], rows)
    rows = [[_cell(task), _cell(here or None), _cell(paper)] for task, here, paper in bars.orders(runs.get)]
    return page + _table(["order of errors", "here", "paper"], rows)


def biased(system: System, found: dict[str, Any], states: Array) -> list[float | None]:
    """e that makes up for eps, per kind of contact: the mean of e + eps (1 + e) / a over the contacts of chunks.

    a is the velocity along the normal per impulse, with the learned masses; None for a kind that has no contact there.
    One contact without friction: v+ = u (a e - eps) / (a + eps) with eps is e u without it.
    """
    params, s = system.params.copy(), system.slices()
    for name in ("mass", "lambda"):
        params[s[name]] = np.ravel(found.get(name, params[s[name]]))
    params[s["eps"]] = 0
    terms: list[list[float]] = [[] for _ in range(system.size.types)]
    after = states[:, 1:]
    for i, j in np.argwhere(system.touching(after[:, :, 0])):
        problem = system.problem(after[i, j, 0], after[i, j, 1], params)
        for row in np.flatnonzero(problem.normal):
            e = problem.e[row]
            bias = found["eps"] * (1 + e) / problem.G[row, row]
            terms[system.contact_type[problem.slot[row]]].append(min(1.0, e + bias))
    return [float(np.mean(t)) if t else None for t in terms]


def _bias(runs: Runs) -> str:
    from tangere.learn import tasks  # noqa: PLC0415

    rows = []
    for task in ("CP3", "Gyro", "BP5"):
        result = runs.get(task, "CMr-CLNN")
        if result is None:
            rows.append([_cell(task), _cell(None)])
            continue
        found = result["learned"]
        states = tasks.chunks(task, result["chunks"], 0)["states"]
        expected = biased(tasks.task(task).system(threads=1), found, states)
        for i, (count, true, want) in enumerate(zip(result["counts"], result["truth"]["e"], expected, strict=True)):
            got = found["e"][i]
            words = (f"{task}, {i}", str(count), f"{true:g}", *_compared(want, got))
            rows.append([_cell(word) for word in words])
    return _table(["task, coefficient", "chunks", "e", "e + eps (1 + e) / a", "learned", "off"], rows)


def _compared(want: float | None, got: float) -> tuple[str, str, str]:
    return ("no contact", f"{got:.4f}", "") if want is None else (f"{want:.4f}", f"{got:.4f}", f"{got / want - 1:+.3%}")


def _throws(runs: Runs) -> str:
    rows = []
    for config, _, folder in runs.found:
        path = folder / "throws.json"
        if config.task != "BD1" or not path.exists():
            continue
        found = json.loads(path.read_text())
        for name in ("hit", "vertical"):
            for label, r in found[name].items():
                unknowns = ", ".join(f"{u:.4f}" for u in r["unknowns"])
                words = (f"{config.model}, {name}", label, unknowns, f"{r['planned']:.2e}", f"{r['made']:.2e}")
                rows.append([_cell(word) for word in words])
    if not rows:
        return f'<p class="none">{NOT_RUN}</p>'
    return _table(["throw", "planned with", "vx, vy, spin or spin", "loss there", "loss in the true system"], rows)


def _runs(runs: Runs) -> str:
    rows = []
    for config, result, folder in runs.found:
        spent = result["cpu seconds per iteration"]
        rows.append(
            [
                _cell(f"{config.task} {config.folder_name()}"),
                _cell(str(result["iterations"])),
                _cell(str(result["best epoch"])),
                _cell(f"{1e3 * sum(spent.values()):.0f} ms"),
                _cell(f"{result['wall seconds'] / 60:.1f} min"),
                _cell(f"{result['regularised']} of {result['problems']}"),
                _cell(_machine(folder)),
            ]
        )
    page = _table(["run", "iterations", "best epoch", "per iteration", "in all", "redundant", "machine"], rows)
    for config, folder in runs.unfinished:
        failed = folder / "failed.txt"
        why = failed.read_text().strip() if failed.exists() else "not finished"
        page += f'<p class="warn">{html.escape(f"{config.task} {config.folder_name()}: {why}")}</p>'
    return page


def _machine(folder: Path) -> str:
    try:
        about = json.loads((folder / "machine.json").read_text())
    except (OSError, ValueError):
        return "unknown"
    return f"{about.get('processor')}, load {about.get('load at start')}"


SECTIONS = (
    ("Bars", "What is asked of CM with 4,000 iterations, and the order of models.", _bars),
    (
        "Sum of relative errors of 5 states (Fig. 3)",
        "Mean of 100 test chunks with its 95 % interval. Truth is CM's.",
        _fig3,
    ),
    ("Relative error over 50 steps (Fig. 4)", f"Training sees 4 steps (dashed). {FIG4}", _fig4),
    (
        "Energy (Fig. 5)",
        f"True energy of predicted states; drift relative to the larger of |energy| and kinetic energy. "
        f"Curves that are off by more than the energy itself leave the picture. {FIG5}",
        _fig5,
    ),
    ("Number of trajectories (Fig. 6)", "", _fig6),
    ("Friction and restitution (Table 2)", "", _table2),
    ("Mass ratios", "", _masses),
    ("Thirty coefficients", "Chunks: training chunks in which a contact of this kind is active.", _many),
    ("Noise, data of another law, regularisation", "", _variants),
    ("Ropes", "The paper's have 50, 100 and 200 masses.", _ropes),
    ("Seeds", "Runs that differ in their seeds only: data, weights and batches.", _seeds),
    (
        "Restitution of CMr",
        "eps makes contacts softer; a larger e makes up for it. Where e is 0, penetration alone sets the velocity, and"
        " any e below the formula's fits.",
        _bias,
    ),
    ("Throws (Fig. 8)", "The paper has no figures.", _throws),
    (
        "Time per iteration (Table 3)",
        "Processor time of one thread, batch 200. The paper's times fit batches of 1.",
        _table3,
    ),
    ("Runs", "", _runs),
)


def rows_of(runs: Runs) -> list[dict[str, Any]]:
    """One row per run: what it was, what it found, what it took."""
    out = []
    for config, result, _ in runs.found:
        found, error = result["learned"], result["error"]
        paper = FIG3.get(config.task, (None,) * len(MODELS))[MODELS.index(config.model)]
        one = {name: found[name][0] if len(found.get(name, ())) == 1 else None for name in ("mu", "e")}
        out.append(
            {
                "task": config.task,
                "model": config.model,
                "seed": config.seed,
                "chunks": result["chunks"],
                "iterations": result["iterations"],
                "eps": config.model_eps,
                "noise": config.noise,
                "law": config.law,
                **one,
                "mass ratios": " ".join(f"{r:.5f}" for r in ratios(result)[0]),
                "error": error["mean"],
                "half of its interval": error["half"],
                "paper": paper,
                "validation": result["validation"],
                "largest energy drift": result["energy drift"]["largest"],
                **{f"{name} ms": round(1e3 * s, 2) for name, s in result["cpu seconds per iteration"].items()},
                "problems": result["problems"],
                "regularised": result["regularised"],
            }
        )
    return out


def write(root: Path, out: Path) -> tuple[int, int]:
    """Writes the page, and a table beside it; how many runs it shows, how many of its cells were not run."""
    runs = Runs(root)
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Dynamics and contact, learned</title>',
        f"<style>{STYLE}</style><h1>Dynamics and contact, learned together</h1>",
        "<p>Small print: the figure of Zhong, Dey and Chakraborty (NeurIPS 2021). Batches of 1, as in the archive of"
        " the paper, would be 800,000 iterations per task: not done.</p>",
    ]
    for title, note, make in SECTIONS:
        parts.append(f"<h2>{html.escape(title)}</h2>" + (f"<p>{html.escape(note)}</p>" if note else "") + make(runs))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, "\n".join(parts).encode())
    write_log(out.with_suffix(".csv"), rows_of(runs))
    return len(runs.found), len(runs.missing)
