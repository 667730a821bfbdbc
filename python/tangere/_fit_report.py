"""The page about a fit: tables and plots, one self-contained file."""

from __future__ import annotations

import base64
import html
import io
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tangere._fit_result import FitResult

_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; } td, th { padding: 0.15em 0.8em; border-bottom: 1px solid #ddd; text-align: right; }
td:first-child, th:first-child { text-align: left; } img { max-width: 100%; }
.warn { background: #fff3d6; padding: 0.4em 0.8em; border-left: 4px solid #d98e00; margin: 0.4em 0; }"""


def _pyplot() -> Any:
    try:
        import matplotlib  # noqa: PLC0415
    except ImportError:
        raise ImportError("the page needs matplotlib: pip install 'tangere[plot]'") from None
    from matplotlib.figure import Figure  # noqa: PLC0415

    del matplotlib
    return Figure


def _picture(figure: Any) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110, bbox_inches="tight")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}">'


def _table(heading: list[str], rows: list[list[Any]]) -> str:
    def cell(value: Any) -> str:
        text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
        return f"<td>{html.escape(text)}</td>"

    head = "".join(f"<th>{html.escape(word)}</th>" for word in heading)
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows) + "</table>"


def _loss_figure(r: FitResult) -> Any:
    figure = _pyplot()(figsize=(10, 3))
    left, right = figure.subplots(1, 2)
    steps = range(len(r.history))
    left.semilogy(steps, [max(h.cost, 1e-300) for h in r.history], "o-")
    left.set(xlabel="iteration", ylabel="cost", title="loss")
    for i, name in enumerate(r.names):
        scale = abs(r.values[i]) or 1.0
        right.plot(steps, [h.x[i] / scale for h in r.history], "o-", label=name)
    right.set(xlabel="iteration", ylabel="value / estimate", title="parameters")
    if 0 < len(r.names) <= 12:
        right.legend(fontsize="x-small")
    return figure


def _residual_figure(r: FitResult) -> Any:
    rows = r.fit_rows
    kinds = rows["kinds"]
    figure = _pyplot()(figsize=(10, 2.4 * len(kinds)))
    axes = np.atleast_2d(figure.subplots(len(kinds), 2, squeeze=False))
    for i, kind in enumerate(kinds):
        mine = rows["kind"] == i
        axes[i, 0].plot(rows["time"][mine], rows["r"][mine], ".", markersize=2)
        axes[i, 0].set(xlabel="time (s)", ylabel="residual / sd", title=f"{kind}")
        axes[i, 1].hist(np.clip(rows["r"][mine], -8, 8), bins=60, density=True)
        z = np.linspace(-5, 5, 200)
        axes[i, 1].plot(z, np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
        axes[i, 1].set(xlabel="residual / sd", title="beside a normal distribution")
    figure.tight_layout()
    return figure


def _fit_figure(r: FitResult) -> Any:
    """Data and prediction of the first log, channel by channel."""
    curves = r.fit_rows.get("curves") or {}
    if not curves:
        return None
    figure = _pyplot()(figsize=(10, 2.4 * len(curves)))
    axes = figure.subplots(len(curves), 1, squeeze=False)[:, 0]
    for ax, (name, (time, data, model)) in zip(axes, curves.items(), strict=True):
        ax.plot(time, data, ".", markersize=3, color="#999")
        ax.set_prop_cycle(None)
        ax.plot(time, model, "-", linewidth=1)
        ax.set(xlabel="time (s)", title=f"{name}: data (dots), fit (lines), {r.fit_rows['logs'][0]}")
    figure.tight_layout()
    return figure


def _singular_figure(r: FitResult) -> Any:
    figure = _pyplot()(figsize=(5, 2.6))
    ax = figure.subplots()
    values = np.maximum(r.singular, 1e-300)
    ax.semilogy(range(1, len(values) + 1), values, "o")
    ax.set(xlabel="number", title="singular values of the scaled sensitivities")
    return figure


def write_report(r: FitResult, path: Any) -> None:
    """Writes the page."""
    _pyplot()
    clustered = r.clustered if r.clustered is not None else np.full(len(r.names), np.nan)
    rows = [
        [name, float(r.start[i]), float(r.values[i]), float(r.errors[i]), float(clustered[i])]
        for i, name in enumerate(r.names)
    ]
    warnings = [f"Not observable: {d}" for d in r.unobservable]
    warnings += [f"Hardly observable: {d} (standard error {d.deviation:.3g})" for d in r.weak]
    warnings += [f"Correlated: {a} and {b}, {c:+.3f}" for a, b, c in r.correlations] + r.notes
    table = [[h.iteration, float(h.cost), float(h.step), float(h.damping)] for h in r.history]
    parts = [
        "<h1>Fit</h1>",
        f"<p>{html.escape(r.method)}: {r.optimum.iterations} iterations, {r.optimum.evaluations} evaluations, "
        f"{r.seconds:.2f} s: {html.escape(r.optimum.stop)}. {r.samples} residuals; rank {r.rank} of {len(r.names)}; "
        f"{100 * r.exact:.1f} % of steps have exact derivatives.</p>",
        "".join(f'<div class="warn">{html.escape(text)}</div>' for text in warnings),
        "<h2>Estimates</h2>",
        _table(["parameter", "start", "estimate", "standard error", "clustered by log"], rows),
        "<h2>Residuals by channel</h2>",
        _table(["channel", "rms"], [[k, v] for k, v in r.residuals.items()]),
        "<h2>Fit against data</h2>" + _picture(_fit_figure(r)) if r.fit_rows.get("curves") else "",
        "<h2>Residuals</h2>",
        _picture(_residual_figure(r)),
        "<h2>Convergence</h2>",
        _picture(_loss_figure(r)),
        _table(["iteration", "cost", "step", "damping"], table),
        "<h2>Singular values</h2>",
        _picture(_singular_figure(r)) if len(r.singular) else "",
    ]
    page = f"<!doctype html><html><head><meta charset='utf-8'><title>fit</title><style>{_STYLE}</style></head><body>"
    with open(os.fspath(path), "w", encoding="utf-8") as file:
        file.write(page + "".join(parts) + "</body></html>\n")
