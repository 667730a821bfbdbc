"""Plots of trajectories, contacts, energies, residuals and Jacobians, by matplotlib (extra `plot`).

Each function takes a `Rollout`, the path of a log (.npz or .csv, with its model), a mapping of arrays, or an array of
configurations, and returns the axes it drew on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._overlay import MODE_COLOURS, MODE_NAMES
from tangere._reading import add_reading, read_model
from tangere._trajectory import Trajectory, trajectory_of
from tangere.enums import ContactMode, JointType
from tangere.model import Model
from tangere.rollout import RolloutJacobian
from tangere.sim import Jacobian

INSTALL = "pip install 'tangere[plot]'"
_Q_PARTS = {
    JointType.FREE: ("x", "y", "z", "qw", "qx", "qy", "qz"),
    JointType.BALL: ("qw", "qx", "qy", "qz"),
    JointType.SLIDE: ("",),
    JointType.HINGE: ("",),
}
_V_PARTS = {
    JointType.FREE: ("vx", "vy", "vz", "wx", "wy", "wz"),
    JointType.BALL: ("wx", "wy", "wz"),
    JointType.SLIDE: ("",),
    JointType.HINGE: ("",),
}


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError:
        raise ImportError(f"plots need matplotlib: {INSTALL}") from None
    return pyplot


def _axes(ax: Any, rows: int = 1, height: float = 2.6) -> Any:
    """The given axes, or new ones: one, or an array of axes with a common time axis."""
    if ax is not None:
        return ax
    _, made = _pyplot().subplots(
        rows, 1, sharex=True, squeeze=False, figsize=(8, height * rows + 0.6), layout="constrained"
    )
    return made[0, 0] if rows == 1 else made[:, 0]


def _legend(ax: Any, **options: Any) -> None:
    """Beside the axes, so that it hides nothing."""
    ax.legend(**{"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "x-small", "frameon": False, **options})


def _given(given: Any, model: Model | None, dt: float | None) -> Trajectory:
    return given if isinstance(given, Trajectory) else trajectory_of(model, given, dt)


def names_of(m: Model, what: str) -> list[str]:
    """Names of the numbers in q, of a tangent vector (v, dq, tau), of act or u, in their order."""
    if what in {"u", "act"}:
        names = [name or f"#{i}" for i, name in enumerate(m.names("actuator"))]
        return names if what == "u" else [name for i, name in enumerate(names) if m.actuator_act[i] >= 0]
    parts = _Q_PARTS if what == "q" else _V_PARTS
    found = []
    for j, name in enumerate(m.names("joint")):
        label = name or f"#{j}"
        found += [f"{label}.{part}" if part else label for part in parts[JointType(m.joint_type[j])]]
    return found


def _columns(m: Model, what: str, columns: Any) -> tuple[NDArray[np.intp], list[str]]:
    names = names_of(m, what)
    if columns is None:
        return np.arange(len(names)), names
    chosen = [names.index(c) if isinstance(c, str) else range(len(names))[c] for c in columns]
    return np.array(chosen, dtype=np.intp), [names[c] for c in chosen]


def trajectory(
    given: Any,
    what: str = "q",
    columns: Any = None,
    *,
    model: Model | None = None,
    dt: float | None = None,
    ax: Any = None,
) -> Any:
    """q, v, u or act over time. columns: names or positions of the columns to draw (default: all)."""
    t, ax = _given(given, model, dt), _axes(ax)
    if what not in {"q", "v", "u", "act"}:
        raise ValueError(f"what: expected 'q', 'v', 'u' or 'act', got {what!r}")
    index, names = _columns(t.model, what, columns)
    values = getattr(t, what)[:, index]
    if what == "u":
        ax.step(t.time, values, where="post", label=names)
    else:
        ax.plot(t.time, values, label=names)
    ax.set(xlabel="time (s)", ylabel={"q": "q (m, rad)", "v": "v (m/s, rad/s)", "u": "u", "act": "act"}[what])
    if 0 < len(names) <= 40:
        _legend(ax, fontsize="xx-small" if len(names) > 16 else "x-small", ncols=1 + len(names) // 20)
    return ax


def contacts(
    given: Any, *, model: Model | None = None, dt: float | None = None, ax: Any = None, most: int = 2000
) -> Any:
    """Normal and tangential force over time, and a band per pair of geoms with its mode.

    Returns the two axes. most: the maximum number of states; the contacts of a log are found by a step from each.
    """
    t = _given(given, model, dt)
    upper, lower = _axes(ax, 2)
    states = np.unique(np.linspace(0, len(t.time) - 1, min(most, len(t.time))).astype(int))
    normal, tangential = np.zeros(len(states)), np.zeros(len(states))
    modes: dict[tuple[int, int], NDArray[np.float64]] = {}
    for k, i in enumerate(states):
        found = t.contacts(i)
        if found is None:
            continue
        along = np.einsum("ij,ij->i", found.force, found.normal)
        normal[k] = along.sum()
        tangential[k] = np.linalg.norm(found.force - along[:, None] * found.normal, axis=1).sum()
        for a, b, mode in zip(found.geom1, found.geom2, found.mode, strict=True):
            band = modes.setdefault((int(a), int(b)), np.full(len(states), np.nan))
            # of several points of a pair the one counts that does most
            band[k] = np.fmax(
                band[k], {ContactMode.BREAKING: 0, ContactMode.STICKING: 1, ContactMode.SLIDING: 2}[ContactMode(mode)]
            )
    upper.plot(t.time[states], normal, label="normal", color="#0072b2")
    upper.plot(t.time[states], tangential, label="tangential, sum of magnitudes", color="#d55e00")
    upper.set(ylabel="force (N)")
    _legend(upper)
    _bands(lower, t, states, modes)
    return np.array([upper, lower])


def _bands(ax: Any, t: Trajectory, states: NDArray[np.intp], modes: dict) -> None:
    from matplotlib.colors import ListedColormap  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    order = (ContactMode.BREAKING, ContactMode.STICKING, ContactMode.SLIDING)
    colours = [tuple(c / 255 for c in MODE_COLOURS[mode]) for mode in order]
    names = [name or f"#{i}" for i, name in enumerate(t.model.names("geom"))]
    pairs = sorted(modes)
    ax.set(xlabel="time (s)", ylabel="mode of a pair")
    _legend(ax, handles=[Patch(color=c, label=MODE_NAMES[m]) for c, m in zip(colours, order, strict=True)])
    if not pairs:
        return
    edges = np.concatenate([t.time[states], [t.time[states[-1]] + t.dt]])
    bands = np.ma.masked_invalid([modes[pair] for pair in pairs])
    ax.pcolormesh(
        edges, np.arange(len(pairs) + 1), bands, cmap=ListedColormap(colours), vmin=0, vmax=2, rasterized=True
    )
    ax.set_yticks(np.arange(len(pairs)) + 0.5, [f"{names[a]} | {names[b]}" for a, b in pairs], fontsize="x-small")


def energy(given: Any, *, model: Model | None = None, dt: float | None = None, ax: Any = None) -> Any:
    """Kinetic and potential energy, and their sum, over time; the potential energy is relative to its minimum."""
    t, ax = _given(given, model, dt), _axes(ax)
    pairs = np.array([tuple(t.model.energy(q, v)) for q, v in zip(t.q, t.v, strict=True)])
    kinetic, potential = pairs[:, 0], pairs[:, 1] - pairs[:, 1].min()
    for values, label in ((kinetic, "kinetic"), (potential, "potential"), (kinetic + potential, "sum")):
        ax.plot(t.time, values, label=label)
    ax.set(xlabel="time (s)", ylabel="energy (J)")
    _legend(ax)
    return ax


def residual(given: Any, *, model: Model | None = None, dt: float | None = None, ax: Any = None) -> Any:
    """Residual of the contact laws of every step (m/s), and the largest overlap (m) where it is known."""
    t, ax = _given(given, model, dt), _axes(ax)
    if "residual" not in t.rest:
        raise Error("residual: a rollout or a log with the column 'residual' is needed", "value out of domain")
    for name, unit in (("residual", "m/s"), ("penetration", "m")):
        if name in t.rest:
            values = np.asarray(t.rest[name], dtype=np.float64)
            if (values > 0).any():
                ax.semilogy(t.time, np.where(values > 0, values, np.nan), label=f"{name} ({unit})")
    ax.set(xlabel="time (s)", ylabel="of a step")
    if ax.lines:
        _legend(ax)
    return ax


def _matrix(given: Any, block: str) -> NDArray[np.float64]:
    if isinstance(given, Mapping):
        if block not in given:
            raise Error(f"there is no matrix '{block}', only {', '.join(sorted(given))}", "value out of domain")
        return np.asarray(given[block], dtype=np.float64)
    if isinstance(given, Jacobian):
        return getattr(given, block)
    if isinstance(given, RolloutJacobian):
        return np.asarray(given.matrix)
    return np.asarray(given, dtype=np.float64)


def jacobian(
    given: Jacobian | RolloutJacobian | Mapping[str, Any] | ArrayLike,
    block: str = "dv_dv",
    *,
    model: Model | None = None,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    ax: Any = None,
) -> Any:
    """A heat map of a matrix of derivatives, with names: block "dv_dq" of the result of `Sim.jacobian`, or a matrix.

    Colours are those of sign(x) log(1 + |x| / s), s being the median of the nonzero entries: rows of different size
    stay readable.
    """
    matrix = np.atleast_2d(_matrix(given, block))
    if model is not None and block.count("_d") == 1:
        top, by = block[1:].split("_d")
        known = {"q": "v", "v": "v", "tau": "v", "act": "act", "u": "u"}
        rows = rows or names_of(model, known[top])
        columns = columns or (names_of(model, known[by]) if by in known else None)
    ax = _axes(ax, 1, 6.0)
    sizes = np.abs(matrix[np.nonzero(matrix)])
    scale = float(np.median(sizes)) if sizes.size else 1.0
    shown = np.sign(matrix) * np.log1p(np.abs(matrix) / scale)
    most = float(np.abs(shown).max(initial=0)) or 1.0
    image = ax.imshow(shown, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    for names, ticks in ((rows, ax.set_yticks), (columns, ax.set_xticks)):
        if names is not None and len(names) <= 80:
            ticks(np.arange(len(names)), names, fontsize="xx-small", **({"rotation": 90} if names is columns else {}))
    ax.set_title(block)
    bar = ax.figure.colorbar(image, ax=ax)
    marks = np.linspace(-most, most, 5)
    bar.set_ticks(marks, labels=[f"{np.sign(x) * scale * np.expm1(abs(x)):.2g}" for x in marks])
    return ax


# ---- the command: plots of `tangere sim` and `tangere grad` ----


def _plot_log(m: Model, path: str, dt: float | None, figure: Any) -> None:
    t = trajectory_of(m, path, dt)
    axes = figure.subplots(6, 1, sharex=True)
    trajectory(t, ax=axes[0])
    trajectory(t, "v", ax=axes[1])
    contacts(t, ax=axes[2:4], most=400)
    energy(t, ax=axes[4])
    if "residual" in t.rest:
        residual(t, ax=axes[5])
    figure.suptitle(m.name)


def _plot_matrices(m: Model, matrices: Mapping[str, Any], params: str | None, figure: Any) -> None:
    blocks = [
        name for name in ("dq_dq", "dq_dv", "dv_dq", "dv_dv", "dv_dtau", "dv_du", "dv_dparams") if name in matrices
    ]
    axes = figure.subplots((len(blocks) + 1) // 2, 2, squeeze=False).ravel()
    for ax, block in zip(axes, blocks, strict=False):
        columns = m.param_names(params) if block == "dv_dparams" and params else None
        jacobian(matrices, block, model=m, columns=columns, ax=ax)
    for ax in axes[len(blocks) :]:
        ax.remove()
    figure.suptitle(m.name)


def main(arguments: list[str] | None = None) -> int:
    """The plots of `tangere sim --plot` and `tangere grad --plot`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="tangere.plot")
    add_reading(parser)
    parser.add_argument("log")
    parser.add_argument("--out", required=True)
    parser.add_argument("--dt", type=float)
    parser.add_argument("--params")
    given = parser.parse_args(arguments)
    try:
        import matplotlib as mpl  # noqa: PLC0415

        mpl.use("Agg")
        figure = _pyplot().figure(figsize=(10, 16), layout="constrained")
        m = read_model(given)
        matrices = None
        if given.log.endswith(".npz"):
            with np.load(given.log) as file:
                matrices = {name: file[name] for name in file.files} if "dv_dv" in file.files else None
        if matrices is not None:
            _plot_matrices(m, matrices, given.params, figure)
        else:
            _plot_log(m, given.log, given.dt, figure)
        figure.savefig(given.out)
    except (Error, LookupError, ValueError, OSError, ImportError) as failure:
        print(f"tangere: error: {failure}", file=sys.stderr)
        return 1
    print(f"wrote {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
