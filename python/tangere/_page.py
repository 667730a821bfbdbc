"""One self-contained offline page that plays a trajectory: viser's own recording, and a panel."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tangere._overlay import MODE_COLOURS, MODE_NAMES, Gradient, Scalar, gradient_of
from tangere._server import make_server, stop_server
from tangere._stage import Stage
from tangere._trajectory import Trajectory

_STYLE = """
#tangere { position: fixed; bottom: 4.2em; left: 0.8em; z-index: 20; max-width: min(24em, 42vw);
  max-height: 45vh; overflow: auto; padding: 0.6em 0.8em;
  border-radius: 6px; background: rgba(255, 255, 255, 0.88); color: #222; font: 12px/1.45 system-ui, sans-serif;
  box-shadow: 0 1px 6px #0002; }
#tangere b { font-size: 13px; }
#tangere summary { cursor: pointer; }
#tangere i { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 50%; margin: 0 0.3em 0 0.7em; }
#tangere .bar { display: flex; align-items: center; gap: 0.4em; }
#tangere .bar span { flex: 0 0 15em; overflow: hidden; text-overflow: ellipsis; }
#tangere .bar em { height: 0.7em; background: #cc79a7; }
#tangere .bar em.less { background: #56b4e9; }
#tangere .quiet { color: #666; }
"""

# the time that is played is in the slider of viser's playback bar
_SCRIPT = """
(function () {
  const data = JSON.parse(document.getElementById("tangere-data").textContent);
  const box = document.getElementById("tangere-now");
  let last = -1;
  function now() {
    const slider = document.querySelector('[role="slider"]');
    return slider === null ? 0 : parseFloat(slider.getAttribute("aria-valuenow")) || 0;
  }
  function row(name, value, most) {
    const [line, label, bar] = ["div", "span", "em"].map((kind) => document.createElement(kind));
    line.className = "bar"; label.textContent = name; label.title = name + ": " + value.toExponential(2);
    bar.style.width = (8 * Math.abs(value) / most).toFixed(2) + "em"; bar.className = value < 0 ? "less" : "";
    line.append(label, bar);
    return line;
  }
  function show() {
    const t = now();
    let i = 0;
    while (i + 1 < data.time.length && data.time[i + 1] <= t + 1e-6) i++;
    if (i === last) return;
    last = i;
    box.replaceChildren();
    const head = document.createElement("div");
    head.textContent = data.lines[i];
    box.append(head);
    const bars = data.bars[i] || [];
    const most = Math.max(...bars.map((b) => Math.abs(b[1])), 1e-300);
    for (const [name, value] of bars) box.append(row(name, value, most));
  }
  setInterval(show, 100);
})();
"""


def _panel(title: str, about: str, data: dict[str, Any]) -> str:
    modes = "".join(
        f'<i style="background: rgb{colour}"></i>{MODE_NAMES[mode]}' for mode, colour in MODE_COLOURS.items()
    )
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<style>{_STYLE}</style><details id="tangere" open><summary><b>{html.escape(title)}</b> {modes}</summary>'
        f'<div class="quiet">{html.escape(about)}{"; " if about else ""}overlays: scene tree, below on the right</div>'
        '<div id="tangere-now"></div></details>'
        f'<script type="application/json" id="tangere-data">{text}</script><script>{_SCRIPT}</script>'
    )


def _line(t: float, contacts: Any, gradient: Gradient | None) -> str:
    force = 0.0 if contacts is None else float(np.einsum("ij,ij->i", contacts.force, contacts.normal).sum())
    text = f"{t:.3f} s, {0 if contacts is None else len(contacts.geom1)} contact points, normal force {force:.4g} N"
    if gradient is not None:
        text += f"; value {gradient.value:.5g}, gradient {gradient.label.kind}"
    return text


def record(
    trajectory: Trajectory,
    *,
    fps: float = 50.0,
    scalar: Scalar | None = None,
    steps: int = 50,
    about: str = "",
    overlays: tuple[str, ...],
    warn: Callable[[str], None] | None = None,
) -> str:
    """The text of the page."""
    m = trajectory.model
    server = make_server("127.0.0.1", 0)
    try:
        stage = Stage(server.scene, m, warn=warn, overlays=overlays)
        point_camera(server, stage, trajectory.q)
        serializer = server.get_scene_serializer()
        data: dict[str, Any] = {"time": [], "lines": [], "bars": []}
        frames = trajectory.frames(fps)
        start, before = float(trajectory.time[frames[0]]), float(trajectory.time[frames[0]])
        for i in frames:
            now = float(trajectory.time[i])
            if now > before:
                serializer.insert_sleep(now - before)
            before = now
            contacts = trajectory.contacts(i)
            state = (trajectory.q[i], trajectory.v[i], trajectory.act[i])
            gradient = (
                None
                if scalar is None
                else gradient_of(m, state, trajectory.u[i], scalar, steps=steps, dt=trajectory.dt)
            )
            stage.show(trajectory.q[i], contacts, trajectory.u[i], gradient)
            data["time"].append(round(now - start, 6))
            data["lines"].append(_line(now, contacts, gradient))
            data["bars"].append([] if gradient is None else [(n, float(f"{x:.4g}")) for n, x in gradient.effect])
        serializer.insert_sleep(1 / fps)  # the last state is seen, too
        page = serializer.as_html()
    finally:
        stop_server(server)
    title = m.name or "tangere"
    page = page.replace("<title>Viser</title>", f"<title>{html.escape(title)}</title>", 1)
    end = page.rindex("</body>")
    return page[:end] + _panel(title, about, data) + page[end:]


def point_camera(server: Any, stage: Stage, q: Any) -> None:
    """From the front and the right, so that the whole model at the start is in view."""
    m = stage.model
    moved = m.body_poses(np.atleast_2d(q)[0]).position - m.body_poses(m.default_q()).position
    moving = m.body_tree >= 0
    look = stage.centre + (moved[moving].mean(0) if moving.any() else 0)
    server.initial_camera.look_at = tuple(look)
    server.initial_camera.position = tuple(look + stage.extent * np.array([0.8, -0.95, 0.45]))
    server.initial_camera.up = (0.0, 0.0, 1.0)
    # at this distance, 1.32 extents, a ball around the model (asin(0.5 / 1.32) = 22 degrees to each side) fills nearly
    # all of the picture's height; the browser's own angle of 75 degrees leaves half of it empty
    server.initial_camera.fov = math.radians(50)
