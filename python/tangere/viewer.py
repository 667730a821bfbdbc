"""`tangere.view` and `tangere view`: a model or a trajectory in the browser, or as a page, a picture or a video."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._errors import Error
from tangere._film import film, headless, render, render_settled, write_png
from tangere._overlay import DEFAULT_STEPS, Gradient, Scalar, gradient_of, scalar_of
from tangere._page import point_camera, record
from tangere._reading import add_reading, read_model
from tangere._server import make_server, stop_server
from tangere._stage import OVERLAYS, SHOWN, Stage, rotate
from tangere._trajectory import Trajectory, trajectory_of
from tangere.enums import JointType
from tangere.model import Model
from tangere.rollout import Rollout, rollout
from tangere.sim import Sim

Array = NDArray[np.float64]

_RATE = 60.0  # pictures per second of the live viewer at most
_GRADIENT_RATE = 5.0  # gradients per second: each takes a rollout
_SIDES = {  # azimuth and elevation of cameras, degrees; x is ahead. From the top a little less than 90: z stays up
    "corner": (-50.0, 20.0), "front": (0.0, 8.0), "back": (180.0, 8.0), "left": (90.0, 8.0), "right": (-90.0, 8.0),
    "top": (-90.0, 89.0),
}  # fmt: skip
_CONTROL = 1.0  # largest control of a slider where the model has no limit


# ---- live ----


class _Drag:
    """A spring from a point of a body to where the pointer is; it lifts twice the weight when it is one extent long."""

    def __init__(self, m: Model, extent: float) -> None:
        weight = max(m.mass * float(np.linalg.norm(m.params["gravity"]) or 9.81), 1e-6)
        self._model = m
        self._stiffness = 2 * weight / extent
        self._damping = math.sqrt(self._stiffness * max(m.mass, 1e-6))
        self._body, self._grip, self._target = -1, np.zeros(3), np.zeros(3)
        self._last: Array | None = None

    def take(self, body: int, point: ArrayLike, q: Array) -> None:
        pose = self._model.body_pose(body, q)
        inverse = pose.quaternion * [1, -1, -1, -1]
        self._grip = rotate(inverse, (np.asarray(point) - pose.position)[None])[0]
        self._target, self._last, self._body = np.asarray(point, dtype=np.float64), None, body

    def move(self, target: ArrayLike) -> None:
        self._target = np.asarray(target, dtype=np.float64)

    def let_go(self) -> None:
        self._body = -1

    def wrench(self, q: Array, dt: float) -> Array | None:
        body, m = self._body, self._model
        if body < 0:
            return None
        pose = m.body_pose(body, q)
        point = pose.position + rotate(pose.quaternion, self._grip[None])[0]
        com = pose.position + rotate(pose.quaternion, np.asarray(m.params[f"body.#{body}.com"])[None])[0]
        speed = np.zeros(3) if self._last is None else (point - self._last) / dt
        self._last = point
        force = self._stiffness * (self._target - point) - self._damping * speed
        wrench = np.zeros((m.nbody, 6))
        wrench[body] = np.concatenate([force, np.cross(point - com, force)])
        return wrench


class Viewer:
    """The live viewer: a server for browsers on this machine, and a simulation or a trajectory that it shows.

    `run` does not return before `stop` is called from another thread, or Ctrl-C; `start` runs it in a thread.
    """

    def __init__(
        self,
        m: Model,
        trajectory: Trajectory | None = None,
        *,
        key: str | int | None = None,
        gradient: str | Scalar | None = None,
        host: str = "127.0.0.1",
        port: int | None = None,
        dt: float | None = None,
        say: Any = print,
    ) -> None:
        self.model, self.trajectory, self._say = m, trajectory, say
        self.sim = Sim(m, dt)
        self._key = key
        self.sim.reset(key)
        self.control = np.zeros(m.nu) if key is None else np.array(m.key(key).ctrl)
        self._scalar, steps = (None, None) if gradient is None else scalar_of(m, gradient)
        self._steps = steps or DEFAULT_STEPS
        self.server = make_server(host, port)
        self.url = f"http://{host}:{self.server.get_port()}"
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self.playing, self.speed, self._at = True, 1.0, 0.0
        self.frames, self.frame_rate = 0, 0.0
        self._gradient: Gradient | None = None
        self._thread: threading.Thread | None = None
        try:
            self.stage = Stage(self.server.scene, m, warn=say)
            self._drag = _Drag(m, self.stage.extent)
            self._build_gui()
            self._bind_drag()
            point_camera(self.server, self.stage, self.sim.q if trajectory is None else trajectory.q)
            self._draw()
        except BaseException:
            stop_server(self.server)
            raise
        self.server.on_client_disconnect(
            lambda client: say(f"a browser has gone away; {self.url} is still there, Ctrl-C ends")
        )

    # ---- what the panel has ----

    def _build_gui(self) -> None:
        gui, live = self.server.gui, self.trajectory is None
        with gui.add_folder("Run"):
            self._play = gui.add_button("Pause")
            self._play.on_click(lambda _: self.set_playing(not self.playing))
            gui.add_button("Step" if live else "Next state").on_click(lambda _: self.single_step())
            speed = gui.add_slider("Speed", min=0.05, max=2.0, step=0.05, initial_value=1.0)
            speed.on_update(lambda _: setattr(self, "speed", float(speed.value)))
            if live:
                self._build_reset(gui)
            else:
                end = float(self.trajectory.time[-1] - self.trajectory.time[0])
                self._scrub = gui.add_slider(
                    "Time", min=0.0, max=max(end, 1e-6), step=max(end / 1000, 1e-6), initial_value=0.0
                )
                self._scrub.on_update(self._scrubbed)
            self._status = gui.add_markdown("")
        if live and self.model.nu > 0:
            self._build_controls(gui)
        self._build_layers(gui)
        self._build_gradient(gui)

    def _build_reset(self, gui: Any) -> None:
        names = [name or f"#{i}" for i, name in enumerate(self.model.names("key"))]
        first = names[self._key] if isinstance(self._key, int) else self._key
        choice = gui.add_dropdown(
            "Keyframe", options=("reference", *names), initial_value=first if first in names else "reference"
        )

        def reset(_: Any) -> None:
            self.reset(names.index(choice.value) if choice.value in names else None)

        gui.add_button("Reset").on_click(reset)
        choice.on_update(reset)

    def _build_controls(self, gui: Any) -> None:
        m = self.model
        self._sliders = []
        with gui.add_folder("Controls", expand_by_default=False):
            for i, name in enumerate(m.names("actuator")):
                low, high = (
                    m.params[f"actuator.#{i}.ctrl_range"] if m.actuator_ctrl_limited[i] else (-_CONTROL, _CONTROL)
                )
                low, high = min(low, self.control[i]), max(high, self.control[i])
                slider = gui.add_slider(
                    name or f"#{i}", min=float(low), max=float(high), step=float((high - low) / 200) or 1e-3,
                    initial_value=float(self.control[i]),
                )  # fmt: skip
                slider.on_update(lambda _, i=i, slider=slider: self._set_control(i, slider.value))
                self._sliders.append(slider)

    def _set_control(self, i: int, value: float) -> None:
        with self._lock:
            self.control[i] = value

    def _build_layers(self, gui: Any) -> None:
        with gui.add_folder("Show", expand_by_default=False):
            for name in (*OVERLAYS, *self.stage.layers):
                node = self.stage.nodes[name]
                box = gui.add_checkbox(name, initial_value=node.visible)
                box.on_update(lambda _, node=node, box=box: setattr(node, "visible", box.value))
            opacity = gui.add_slider("Opacity", min=0.05, max=1.0, step=0.05, initial_value=1.0)
            opacity.on_update(lambda _: self.set_opacity(float(opacity.value)))
            bodies = [name or f"#{i}" for i, name in enumerate(self.model.names("body"))]
            side = gui.add_dropdown("Camera", options=tuple(_SIDES), initial_value="corner")
            side.on_update(lambda _: self.set_camera(side.value))
            self._follow = gui.add_dropdown("Camera follows", options=("nothing", *bodies[1:]), initial_value="nothing")

    def _build_gradient(self, gui: Any) -> None:
        with gui.add_folder("Gradient", expand_by_default=self._scalar is not None):
            text = gui.add_text("Raise", initial_value="")
            text.on_update(lambda _: self.set_scalar(text.value))
            steps = gui.add_number("after steps", initial_value=self._steps, min=1, max=2000, step=1)
            steps.on_update(lambda _: setattr(self, "_steps", int(steps.value)))
            self._bars = gui.add_html("")

    def _bind_drag(self) -> None:
        for one, handle in self.stage.meshes:
            if self.model.body_tree[one.body] < 0 or self.trajectory is not None:
                continue

            async def dragged(event: Any, body: int = one.body) -> None:
                with self._lock:
                    if event.phase == "start":
                        self._drag.take(body, event.start_position, self.sim.q)
                    elif event.phase == "end":
                        self._drag.let_go()
                    self._drag.move(event.end_position)

            handle.on_drag("left", modifier="cmd/ctrl")(dragged)

    # ---- what the panel does ----

    def set_playing(self, playing: bool) -> None:
        """Plays or pauses."""
        self.playing = playing
        self._play.label = "Pause" if playing else "Play"

    def single_step(self) -> None:
        """Pauses, and takes one step or shows the next state of the trajectory."""
        with self._lock:
            self.set_playing(False)
            if self.trajectory is None:
                self._step()
            else:
                now = self._at + self.trajectory.time[0]
                later = self.trajectory.time[self.trajectory.time > now + 1e-9]
                self._at = float(later[0] - self.trajectory.time[0]) if len(later) else 0.0
            self._draw()

    def reset(self, key: str | int | None = None) -> None:
        """Resets to a keyframe with its controls, or to the reference configuration."""
        with self._lock:
            self.sim.reset(key)
            if key is not None:
                self.control[:] = self.model.key(key).ctrl
                for slider, value in zip(getattr(self, "_sliders", []), self.control, strict=False):
                    slider.value = float(np.clip(value, slider.min, slider.max))
            self._draw()

    def set_opacity(self, opacity: float) -> None:
        """Makes moving bodies transparent: 1 is opaque."""
        for one, handle in self.stage.meshes:
            if self.model.body_tree[one.body] >= 0 and one.layer != "hulls":
                share = opacity * one.rgba[3]
                handle.opacity = share if share < 1 else None

    def set_camera(self, side: str) -> None:
        """All browsers look at the moving bodies from a side: "corner", "front", "back", "left", "right", "top"."""
        if side not in _SIDES:
            raise ValueError(f"camera: expected one of {', '.join(_SIDES)}, got {side!r}")
        look = self.stage.centre + _middle(self.model, self._state()[0]) - _middle(self.model, self.model.default_q())
        for client in self.server.get_clients().values():
            with client.atomic():
                client.camera.up_direction = (0.0, 0.0, 1.0)
                client.camera.position = _camera(self.stage, look, *_SIDES[side], 1.4)
                client.camera.look_at = look

    def set_scalar(self, text: str) -> None:
        """A scalar like 'com.z' or 'site:NAME.x'; an empty text or one that says nothing ends the overlay."""
        try:
            self._scalar, steps = scalar_of(self.model, text) if text else (None, None)
            self._steps = steps or self._steps
        except (Error, LookupError) as unknown:
            self._scalar = None
            self._bars.content = f"<p>{unknown}</p>"
        self._gradient = None

    def _scrubbed(self, event: Any) -> None:
        if event.client is not None:  # not what this program wrote itself
            with self._lock:
                self._at = float(self._scrub.value)
                self.set_playing(False)
                self._draw()

    # ---- the loop ----

    def _step(self) -> None:
        try:
            self.sim.step(u=self.control, wrench=self._drag.wrench(self.sim.q, self.sim.dt))
        except Error as failure:
            self.set_playing(False)
            self._say(f"the simulation stops at {self.sim.time:g} s: {failure}")

    def _advance(self, elapsed: float) -> None:
        if not self.playing:
            return
        if self.trajectory is not None:
            end = float(self.trajectory.time[-1] - self.trajectory.time[0])
            self._at = self._at + elapsed * self.speed
            self._at = 0.0 if self._at > end else self._at
            return
        until = self.sim.time + elapsed * self.speed
        give_up = time.perf_counter() + 2 / _RATE  # a simulation slower than real time does not stop the pictures
        while self.playing and self.sim.time < until - 0.5 * self.sim.dt and time.perf_counter() < give_up:
            self._step()

    def _state(self) -> tuple[Array, Array, Array, Any, Array]:
        """q, v, act, contacts, u"""
        if self.trajectory is None:
            contacts = self.sim.info.contacts if self.sim.stepped else None
            return self.sim.q, self.sim.v, self.sim.act, contacts, self.control
        t = self.trajectory
        i = int(np.searchsorted(t.time - t.time[0], self._at + 1e-9, side="right")) - 1
        return t.q[i], t.v[i], t.act[i], t.contacts(i), t.u[i]

    def _draw(self) -> None:
        q, v, act, contacts, u = self._state()
        if self._scalar is None:
            self._gradient = None
        elif self._gradient is None or not self.playing or self.frames % max(1, round(_RATE / _GRADIENT_RATE)) == 0:
            self._gradient = self._differentiate((q, v, act), u)
        with self.server.atomic():
            self.stage.show(q, contacts, u, self._gradient)
        self._tell(q, contacts)

    def _differentiate(self, state: tuple[Array, Array, Array], u: Array) -> Gradient | None:
        try:
            found = gradient_of(self.model, state, u, self._scalar, steps=self._steps, dt=self.sim.dt)
        except Error as failure:
            self._bars.content = f"<p>{failure}</p>"
            return None
        most = max((abs(x) for _, x in found.effect), default=1.0)
        rows = "".join(
            f'<div style="display:flex;gap:4px;font-size:11px"><span style="flex:0 0 12em;overflow:hidden">{name}'
            f'</span><span style="width:{5 * abs(x) / most:.2f}em;background:{"#cc79a7" if x > 0 else "#56b4e9"}">'
            "</span></div>"
            for name, x in found.effect
        )
        self._bars.content = f"<p>value {found.value:.5g}, {found.label.kind}; 1 % more of:</p>{rows}"
        return found

    def _tell(self, q: Array, contacts: Any) -> None:
        if self.frames % 6 == 0:
            now = self.sim.time if self.trajectory is None else self._at
            points = 0 if contacts is None else len(contacts.geom1)
            self._status.content = f"{now:.2f} s, {points} contact points, {self.frame_rate:.0f} pictures/s"
            if self.trajectory is not None and self.playing:
                self._scrub.value = min(self._at, self._scrub.max)
        if self._follow.value != "nothing":
            at = self.model.body_pose(self._follow.value, q).position
            for client in self.server.get_clients().values():
                client.camera.look_at = at

    def run(self) -> None:
        """Shows and simulates until `stop`."""
        before = time.perf_counter()
        window, drawn = before, 0
        while not self._stop.is_set():
            now = time.perf_counter()
            with self._lock:
                self._advance(min(now - before, 0.1))
                if self.playing:
                    self._draw()
            before = now
            self.frames += 1
            drawn += 1
            if now - window > 1:
                self.frame_rate, window, drawn = drawn / (now - window), now, 0
            self._stop.wait(max(0.0, 1 / _RATE - (time.perf_counter() - now)))

    def start(self) -> Viewer:
        """Runs in a thread; returns at once."""
        self._thread = threading.Thread(target=self.run, name="tangere-viewer", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ends the loop and the server."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        stop_server(self.server)


# ---- pages, pictures, films ----


def _camera(stage: Stage, look: Array, azimuth: float, elevation: float, distance: float) -> Array:
    a, e = math.radians(azimuth), math.radians(elevation)
    return look + distance * stage.extent * np.array(
        [math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)]
    )


def _pictures(
    trajectory: Trajectory,
    states: NDArray[np.intp],
    *,
    size: tuple[int, int],
    camera: tuple[float, float, float],
    overlays: tuple[str, ...],
    scalar: Scalar | None,
    steps: int,
    warn: Any,
) -> Any:
    """Yields a picture of each state; the camera follows the moving bodies."""
    m = trajectory.model
    with headless(*size) as (server, client):
        stage = Stage(server.scene, m, warn=warn, overlays=overlays)
        offset = stage.centre - _middle(m, m.default_q())
        browser = client()
        for i in states:
            state = (trajectory.q[i], trajectory.v[i], trajectory.act[i])
            gradient = (
                None
                if scalar is None
                else gradient_of(m, state, trajectory.u[i], scalar, steps=steps, dt=trajectory.dt)
            )
            stage.show(trajectory.q[i], trajectory.contacts(i), trajectory.u[i], gradient)
            server.flush()
            look = _middle(m, trajectory.q[i]) + offset
            draw = render_settled if i == states[0] else render  # later ones only move what is there
            yield draw(browser, size, _camera(stage, look, *camera), look)


def _middle(m: Model, q: Array) -> Array:
    moving = m.body_tree >= 0
    return m.body_poses(q).position[moving].mean(0) if moving.any() else np.zeros(3)


def _simulated(m: Model, key: str | int | None, length: float, lift: float, dt: float | None) -> Trajectory:
    """A simulation from a keyframe with its controls, or from the reference configuration at rest."""
    frame = None if key is None else m.key(key)
    q = m.default_q() if frame is None else np.array(frame.q)
    for j in range(m.njoint):
        if m.joint_type[j] == JointType.FREE:
            q[m.joint_q[j] + 2] += lift
    v, act = (np.zeros(m.nv), np.zeros(m.na)) if frame is None else (frame.v, frame.act)
    u = np.zeros(m.nu) if frame is None else frame.ctrl
    steps = max(1, round(length / (m.timestep if dt is None else dt)))
    return trajectory_of(m, rollout(m, q, v, np.tile(u, (steps, 1)), dt, act0=act))


def view(
    model: Model | Rollout,
    trajectory: Any = None,
    *,
    html: str | None = None,
    png: str | None = None,
    mp4: str | None = None,
    key: str | int | None = None,
    length: float | None = None,
    lift: float = 0.0,
    at: float | None = None,
    dt: float | None = None,
    fps: float = 50.0,
    size: tuple[int, int] = (1200, 800),
    camera: tuple[float, float, float] = (-50.0, 20.0, 1.6),
    gradient: str | Scalar | None = None,
    overlays: tuple[str, ...] = SHOWN,
    host: str = "127.0.0.1",
    port: int | None = None,
    block: bool = True,
    warn: Any = None,
) -> Viewer | None:
    """Shows a model, or a trajectory of it (a `Rollout`, a log, arrays; see `tangere.plot`), in the browser.

    html, png, mp4: write a page, a picture, a video instead. key: the initial keyframe; length (s): duration of the
    simulation for these if there is no trajectory (5; a picture: 0), lift (m): raises the start. at (s): the time of
    the picture (default: the end). fps: states per second of a page or video. size: of a picture in pixels; camera:
    azimuth and elevation in degrees, distance in sizes of the model. gradient: the scalar whose gradient is drawn,
    "com.z@50" (the height of the centre of mass after 50 steps), "site:NAME.x", "body:NAME.y", or a function of (q, v)
    that returns value, gradient by q (nv) and by v. overlays: those that are shown at first.

    Live, the server can be reached from this machine only, unless host says otherwise. block: False returns the
    `Viewer`, which runs in a thread until its `stop()`; otherwise Ctrl-C ends it.
    """
    if isinstance(model, Rollout):
        model, trajectory = model._model, model
    say = warn if warn is not None else _say
    scalar, steps = (None, None) if gradient is None else scalar_of(model, gradient)
    steps = steps or DEFAULT_STEPS
    known = None if trajectory is None else trajectory_of(model, trajectory, dt)
    if html is None and png is None and mp4 is None:
        viewer = Viewer(model, known, key=key, gradient=gradient, host=host, port=port, dt=dt, say=say)
        return viewer.start() if not block else _serve(viewer)
    if known is None:
        default = 5.0 if html is not None or mp4 is not None else 0.0
        known = _simulated(model, key, default if length is None else length, lift, dt)
    if html is not None:
        about = (
            f"gradient of {gradient} after {steps} steps; bars: 1 % more of a parameter"
            if isinstance(gradient, str)
            else ""
        )
        page = record(known, fps=fps, scalar=scalar, steps=steps, about=about, overlays=overlays, warn=say)
        with open(html, "w", encoding="utf-8") as file:
            file.write(page)
    drawing = {
        "size": size, "camera": camera, "overlays": overlays, "scalar": scalar, "steps": steps, "warn": say,
    }  # fmt: skip
    if png is not None:
        end = len(known.time) - 1
        i = end if at is None else int(np.clip(np.searchsorted(known.time, known.time[0] + at - 1e-9), 0, end))
        if at is None and length is None and trajectory is None and html is None and mp4 is None:
            i = 0
        for image in _pictures(known, np.array([i]), **drawing):
            write_png(png, image)
    if mp4 is not None:
        with film(mp4, size, fps) as add:
            for image in _pictures(known, known.frames(fps), **drawing):
                add(image)
    return None


def _say(text: str) -> None:
    print(f"tangere: {text}", file=sys.stderr)


def _serve(viewer: Viewer) -> None:
    """Runs until Ctrl-C or a request to end, which are handled from before the address is known."""
    main = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if main else ()
    before = {number: signal.signal(number, lambda *_: viewer._stop.set()) for number in signals}
    print(f"tangere: {viewer.model.name or 'the model'} is at {viewer.url}  (Ctrl-C ends)", flush=True)
    try:
        viewer.run()
    finally:
        viewer.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- the command ----


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangere view", add_help=False)
    add_reading(parser)
    parser.add_argument("trajectory", nargs="?")
    for name in ("html", "png", "mp4", "key", "gradient"):
        parser.add_argument(f"--{name}")
    for name in ("time", "dt", "at"):
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--lift", type=float, default=0.0)
    parser.add_argument("--fps", type=float, default=50.0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--size", default="1200x800")
    parser.add_argument("--camera", default="-50,20,1.6")
    return parser


def _numbers(option: str, text: str, separator: str, count: int, kind: Any) -> tuple:
    try:
        found = tuple(kind(x) for x in text.split(separator))
    except ValueError:
        found = ()
    if len(found) != count:
        raise Error(
            f"{option}: expected {count} numbers with '{separator}' between them, got '{text}'", "value out of domain"
        )
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command `tangere view`; returns its exit code."""
    given = _parser().parse_args(arguments)
    try:
        m = read_model(given)
        view(
            m, given.trajectory, html=given.html, png=given.png, mp4=given.mp4, key=given.key, length=given.time,
            lift=given.lift, at=given.at, dt=given.dt, fps=given.fps, gradient=given.gradient, host=given.host,
            port=given.port, size=_numbers("--size", given.size, "x", 2, int),
            camera=_numbers("--camera", given.camera, ",", 3, float),
        )  # fmt: skip
    except (Error, LookupError, ValueError, OSError, ImportError) as failure:
        print(f"tangere: error: {failure}", file=sys.stderr)
        return 1
    for path in (given.html, given.png, given.mp4):
        if path is not None:
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
