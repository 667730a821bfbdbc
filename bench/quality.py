"""Contact quality beside MuJoCo: the same scenes in both engines, one table a question.

make quality                            all scenes, about two minutes; writes docs/quality.md
.venv/bin/python bench/quality.py       the same without writing
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import tangere as tg

ROOT = Path(__file__).resolve().parents[1]
DT = 1e-3  # s
GRAVITY = 9.81

Array = np.ndarray


# ---- two engines ----


class Ours:
    """Tangere with its defaults, and what all its steps told."""

    unsolved, steps, worst = 0, 0, 0.0  # over all scenes

    def __init__(self, text: str, **options) -> None:
        self.model = tg.load_string(text)
        self.sim = tg.Sim(self.model, dt=DT, **options)

    @property
    def q(self) -> Array:
        return self.sim.q

    @property
    def v(self) -> Array:
        return self.sim.v

    def start(self, q: Array | None = None, v: Array | None = None) -> None:
        if q is not None:
            self.sim.q = q
        if v is not None:
            self.sim.v = v

    def step(self, tau: Array | None = None) -> float:
        """One step; the largest overlap at its start (m)."""
        self.sim.step(tau=tau)
        info = self.sim.info
        Ours.steps += 1
        Ours.unsolved += info.status != tg.StepStatus.SOLVED
        Ours.worst = max(Ours.worst, info.residual)
        return info.penetration


class Peer:
    """MuJoCo with some of its options set."""

    def __init__(self, text: str, **options) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.model.opt.timestep = DT
        for name, value in options.items():
            setattr(self.model.opt, name, value)
        self.data = mujoco.MjData(self.model)

    @property
    def q(self) -> Array:
        return self.data.qpos.copy()

    @property
    def v(self) -> Array:
        return self.data.qvel.copy()

    def start(self, q: Array | None = None, v: Array | None = None) -> None:
        if q is not None:
            self.data.qpos = q
        if v is not None:
            self.data.qvel = v

    def step(self, tau: Array | None = None) -> float:
        """One step; the largest overlap at its start (m)."""
        if tau is not None:
            self.data.qfrc_applied = tau
        mujoco.mj_step(self.model, self.data)
        distance = self.data.contact.dist
        return max(0.0, -float(distance.min())) if len(distance) else 0.0


Engine = Ours | Peer

# What MuJoCo's documentation advises against slip, step by step: the elliptic cone with the Newton solver and a large
# ratio of frictional to normal impedance (impratio), then the noslip solver after it.
ELLIPTIC = {"cone": mujoco.mjtCone.mjCONE_ELLIPTIC, "solver": mujoco.mjtSolver.mjSOL_NEWTON, "tolerance": 1e-10}
PEERS: dict[str, dict] = {
    "MuJoCo": {},
    "impratio 10": ELLIPTIC | {"impratio": 10},
    "impratio 100": ELLIPTIC | {"impratio": 100},
    "noslip": ELLIPTIC | {"impratio": 10, "noslip_iterations": 10, "noslip_tolerance": 1e-10},
}


def engines(text: str, **ours) -> list[Engine]:
    """Tangere, the same with impacts within the step, then MuJoCo with each of the settings."""
    return [
        Ours(text, **ours),
        Ours(text, impact="within", **ours),
        *(Peer(text, **options) for options in PEERS.values()),
    ]


# ---- tables ----


@dataclass
class Table:
    """One question: what is measured, and a row of numbers for each case."""

    title: str
    text: str
    columns: list[str] = field(default_factory=lambda: ["Tangere", "within", *PEERS])
    rows: list[list[str]] = field(default_factory=list)

    def add(self, case: str, values: list[float | str]) -> None:
        self.rows.append([case, *(value if isinstance(value, str) else f"{value:.2g}" for value in values)])
        print(f"  {case}: " + ", ".join(self.rows[-1][1:]), flush=True)

    def lines(self) -> list[str]:
        head = ["", *self.columns]
        return [
            f"## {self.title}",
            "",
            self.text,
            "",
            "| " + " | ".join(head) + " |",
            "| --- |" + " ---: |" * len(self.columns),
            *("| " + " | ".join(row) + " |" for row in self.rows),
            "",
        ]


def seconds(t: float) -> int:
    return round(t / DT)


def floor_scene(bodies: str, friction: float = 0.5, gravity: tuple = (0, 0, -GRAVITY), custom: str = "") -> str:
    return (
        f"<mujoco><option timestep='{DT}' gravity='{gravity[0]!r} {gravity[1]!r} {gravity[2]!r}'/>"
        f"<default><geom friction='{friction} 0.005 0.0001'/></default><worldbody>"
        f"<geom name='floor' type='plane' size='5 5 0.1'/>{bodies}</worldbody>{custom}</mujoco>"
    )


def box(z: float, mass: float = 1.0, half: tuple = (0.1, 0.1, 0.1), extra: str = "") -> str:
    size = " ".join(map(str, half))
    return f"<body pos='0 0 {z!r}' {extra}><freejoint/><geom type='box' size='{size}' mass='{mass}'/></body>"


# ---- scenes ----


def pinch() -> Table:
    table = Table(
        "Capsule between two pads",
        "A capsule of 0.5 kg and radius 2 cm is clamped between two pads of 0.1 kg that slide towards each other. "
        "Friction is 0.7: a force of 12 N could hold 16.8 N, and the weight is 4.9 N. The table gives the mean "
        "downward speed over the last 5 of 10 s, in m/s.",
    )
    text = (
        f"<mujoco><option timestep='{DT}' gravity='0 0 -{GRAVITY}'/><default><geom friction='0.7 0.005 "
        "0.0001'/></default>"
        "<worldbody><body pos='0 0 1'><freejoint/><geom type='capsule' fromto='0 -0.04 0 0 0.04 0' size='0.02' "
        "mass='0.5'/>"
        "</body><body pos='-0.03 0 1'><joint type='slide' axis='1 0 0' damping='1'/>"
        "<geom type='box' size='0.01 0.06 0.06' mass='0.1'/></body><body pos='0.03 0 1'>"
        "<joint type='slide' axis='-1 0 0' damping='1'/><geom type='box' size='0.01 0.06 0.06' mass='0.1'/></body>"
        "</worldbody></mujoco>"
    )
    for force in (12.0, 20.0, 30.0, 45.0, 60.0):
        speeds: list[float | str] = []
        for engine in engines(text):
            tau, half = np.r_[np.zeros(6), force, force], 0.0
            for i in range(seconds(10)):
                half = engine.q[2] if i == seconds(5) else half
                engine.step(tau)
            fell = 1 - engine.q[2]
            speeds.append(abs(half - engine.q[2]) / 5 if fell < 0.05 else "dropped")
        table.add(f"{force:g} N", speeds)
    return table


def incline() -> Table:
    table = Table(
        "Box on an incline at 90 % of the friction angle",
        "A box of 1 kg, friction 0.5, 10 s. The table gives the displacement down the slope after the first second"
        " (m), and the mean speed over the last 5 s (m/s).",
    )
    angle = 0.9 * math.atan(0.5)
    gravity = (GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle))
    for name, half in (("cube, 0.2 m", (0.1, 0.1, 0.1)), ("flat box, 0.2 x 0.2 x 0.04 m", (0.1, 0.1, 0.02))):
        ways: list[float | str] = []
        speeds: list[float | str] = []
        for engine in engines(floor_scene(box(half[2], half=half), gravity=gravity)):
            at = {}
            for i in range(seconds(10)):
                at[i] = engine.q[0]
                engine.step()
            ways.append(abs(engine.q[0] - at[seconds(1)]))
            speeds.append(abs(engine.q[0] - at[seconds(5)]) / 5)
        table.add(f"{name}: displacement", ways)
        table.add(f"{name}: speed", speeds)
    return table


def rest() -> Table:
    table = Table(
        "At rest",
        "Bodies start in contact and at rest; 5 s are simulated. Jitter is the largest entry of v in the last "
        "second (m/s, rad/s). Overlap is the largest overlap in that second (m).",
    )
    light = "".join(box(0.1 + 0.2 * i, mass) for i, mass in enumerate((1e-3, 10.0)))
    heavy = "".join(box(0.1 + 0.2 * i, mass) for i, mass in enumerate((10.0, 1e-3)))
    for name, bodies in (
        ("box", box(0.1)),
        ("stack of 10 boxes", "".join(box(0.1 + 0.2 * i) for i in range(10))),
        ("10 kg on 1 g", light),
        ("1 g on 10 kg", heavy),
    ):
        jitter: list[float | str] = []
        depth: list[float | str] = []
        for engine in engines(floor_scene(bodies)):
            deepest, fastest = 0.0, 0.0
            for i in range(seconds(5)):
                overlap = engine.step()
                if i >= seconds(4):
                    deepest, fastest = max(deepest, overlap), max(fastest, float(np.abs(engine.v).max()))
            jitter.append(fastest)
            depth.append(deepest)
        table.add(f"{name}: jitter", jitter)
        table.add(f"{name}: overlap", depth)
    return table


def impact() -> Table:
    table = Table(
        "Overlap at impacts",
        'The largest overlap until shortly after the impact, in m. The wall is 1 mm thick; "through" means that '
        "the ball ends up behind it.",
    )
    ball = "<body pos='0 0 {z}'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body>"
    for height in (0.1, 1.0, 10.0):
        deepest: list[float | str] = []
        for engine in engines(floor_scene(ball.format(z=0.1 + height))):
            steps = seconds(math.sqrt(2 * height / GRAVITY) + 0.5)
            deepest.append(max(engine.step() for _ in range(steps)))
        table.add(f"ball from {height:g} m", deepest)
    wall = (
        f"<mujoco><option timestep='{DT}' gravity='0 0 0'/><worldbody><geom type='box' size='0.0005 1 1'/>"
        "<body pos='-0.5 0 0'><freejoint/><geom type='sphere' size='0.01' mass='1'/></body></worldbody></mujoco>"
    )
    for speed in (1.0, 10.0, 100.0):
        ends: list[float | str] = []
        for engine in engines(wall):
            engine.start(v=np.r_[speed, np.zeros(5)])
            deepest_now = max(engine.step() for _ in range(seconds(1 / speed) + 50))
            ends.append("through" if engine.q[0] > 0 else deepest_now)
        table.add(f"ball of 1 cm at {speed:g} m/s, wall", ends)
    return table


def restitution() -> Table:
    columns = ["Tangere", "MuJoCo"]
    table = Table(
        "Restitution",
        "A ball falls from 1 m. The table gives the largest error of the ratio of speeds after and before an "
        "impact, over the first three bounces. MuJoCo has no coefficient of restitution: its contact is a spring "
        "and damper (`solref` = -k, -b with k = 1e5, b = 2 zeta sqrt(k), zeta = -ln e / sqrt(pi^2 + ln^2 e), "
        "`solimp` 0.9999), as its documentation advises. Its speeds are taken at the last step before and the "
        "first step after the contact.",
        columns,
    )
    for e in (1.0, 0.8, 0.5):
        zeta = -math.log(e) / math.hypot(math.pi, math.log(e))
        solref = f"solref='-1e5 {-2 * zeta * math.sqrt(1e5)!r}' solimp='0.9999 0.9999 0.001'"
        ball = "<body pos='0 0 1.1'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='1' {extra}/></body>"
        custom = f"<custom><numeric name='tangere:geom.ball.restitution' data='{e}'/></custom>"
        ours = Ours(floor_scene(ball.format(extra=""), custom=custom))
        peer = Peer(floor_scene(ball.format(extra=solref)))
        table.add(f"e = {e:g}", [bounce_error(engine, e) for engine in (ours, peer)])
    return table


def heights() -> Table:
    table = Table(
        "Bounce heights",
        "A ball falls from 1 m. The table gives the largest error of the height of its first bounces, in m. The "
        "height is the top of the parabola through the points of the steps; its exact value is e^2 times the "
        "previous one.",
        ["Tangere", "within"],
    )
    for e, bounces in ((1.0, 100), (0.8, 8), (0.5, 3)):
        text = floor_scene(
            "<body pos='0 0 1.1'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='1'/></body>",
            custom=f"<custom><numeric name='tangere:geom.ball.restitution' data='{e}'/></custom>",
        )
        row: list[float | str] = [height_error(Ours(text, impact=impact), e, bounces) for impact in ("end", "within")]
        table.add(f"e = {e:g}, {bounces} bounces", row)
    return table


def height_error(engine: Ours, e: float, bounces: int) -> float:
    worst, height, done, speed = 0.0, 1 + GRAVITY * DT * DT / 8, 0, 0.0
    while done < bounces:
        engine.step()
        if engine.v[2] > 0 > speed:
            height, done = height * e * e, done + 1
            rise = engine.v[2] - GRAVITY * DT / 2
            worst = max(worst, abs(engine.q[2] - 0.1 + rise * rise / (2 * GRAVITY) - height))
        speed = engine.v[2]
    return worst


def bounce_error(engine: Engine, e: float) -> float:
    """Of three bounces, each from the last step of the fall to the first of free flight."""
    worst, bounces, before, falling = 0.0, 0, 0.0, True
    while bounces < 3:
        last = engine.v[2]
        engine.step()
        free = abs(engine.v[2] - last + GRAVITY * DT) < 1e-9
        if falling and not free:
            before, falling = last, False
        if not falling and engine.v[2] > 0 and (free or isinstance(engine, Ours)):
            after = engine.v[2] if isinstance(engine, Ours) else last
            worst, bounces, falling = max(worst, abs(after / -before - e)), bounces + 1, True
    return worst


def energy() -> Table:
    table = Table(
        "Energy and dissipation",
        "A tilted box of 1 kg falls from 0.3 m and tumbles for 3 s without restitution. The first row is the "
        "largest gain of kinetic plus potential energy in one step, in J (it should be 0, because the floor can "
        "only dissipate). A block with a speed of 1 m/s slides with friction 0.5. The other rows are the error of "
        "its stopping distance against v^2 / (2 mu g) = 0.10194 m (the exact solution of Tangere's time steps is "
        "0.10144 m, first order in dt), along an axis of the contact frame and at 45 degrees to it.",
    )
    text = floor_scene(box(0.5, half=(0.1, 0.15, 0.05), extra="euler='20 30 40'"))
    reference = tg.load_string(text)
    gains: list[float | str] = []
    for engine in engines(text):
        most, before = 0.0, sum(reference.energy(engine.q, engine.v))
        for _ in range(seconds(3)):
            engine.step()
            now = sum(reference.energy(engine.q, engine.v))
            most, before = max(most, now - before), now
        gains.append(most)
    table.add("tumbling box: gain, J", gains)
    for name, turn in (("0", 0.0), ("45", math.pi / 4)):
        errors: list[float | str] = []
        for engine in engines(floor_scene(box(0.1))):
            engine.start(v=np.r_[math.cos(turn), math.sin(turn), np.zeros(4)])
            for _ in range(seconds(1)):
                engine.step()
            errors.append(abs(math.hypot(*engine.q[:2]) - 1 / (2 * 0.5 * GRAVITY)))
        table.add(f"sliding block, {name} degrees: error, m", errors)
    return table


def loop() -> Table:
    """Cranks a four-bar; the gap of its connect is found with MuJoCo's kinematics for both engines."""
    columns = ["Tangere", "Tangere, projected", "MuJoCo", "MuJoCo, solref 0.002"]
    table = Table(
        "Loop",
        "A four-bar linkage of 1.0 / 0.4 / 0.9 / 0.7 m with bars of 1 kg. Its crank has a rotor of 1000 kg m^2 and"
        " turns at 5 rad/s for 10 s. The table gives the largest gap of the loop, in m.",
        columns,
    )
    diagonal = math.hypot(1, 0.4)
    along = (0.9**2 - 0.7**2 + diagonal**2) / (2 * diagonal)
    across = math.sqrt(0.9**2 - along**2)
    x = along / diagonal + across * 0.4 / diagonal
    z = 0.4 - along * 0.4 / diagonal + across / diagonal
    text = (
        f"<mujoco><option timestep='{DT}' gravity='0 0 -{GRAVITY}'/>"
        "<default><geom type='capsule' size='0.02' mass='1' contype='0' conaffinity='0'/><joint type='hinge' "
        "axis='0 1 0'/></default>"
        "<worldbody><body><joint armature='1000'/><geom fromto='0 0 0 0 0 0.4'/>"
        f"<body name='coupler' pos='0 0 0.4'><joint/><geom fromto='0 0 0 {x!r} 0 {z - 0.4!r}'/></body></body>"
        f"<body name='rocker' pos='1 0 0'><joint/><geom fromto='0 0 0 {x - 1!r} 0 {z!r}'/></body></worldbody>"
        f"<equality><connect body1='coupler' body2='rocker' anchor='{x!r} 0 {z - 0.4!r}' {{}}/></equality></mujoco>"
    )
    plain, stiff = text.format(""), text.format("solref='0.002 1'")
    made = [Ours(plain), Ours(plain, project=True), Peer(plain), Peer(stiff)]
    table.add("gap", [loop_gap(engine, plain) for engine in made])
    return table


class Gap:
    """Between the two anchors of a model's first connect, by MuJoCo's kinematics."""

    def __init__(self, text: str) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def at(self, q: Array) -> Array:
        model, data = self.model, self.data
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        one, two = (
            data.xpos[body] + data.xmat[body].reshape(3, 3) @ model.eq_data[0][3 * k : 3 * k + 3]
            for k, body in enumerate((model.eq_obj1id[0], model.eq_obj2id[0]))
        )
        return two - one

    def closing(self, speed: float) -> Array:
        """Velocities that keep it closed at q = 0 while the first joint has this speed."""
        step = 1e-6
        columns = [(self.at(step * row) - self.at(-step * row)) / (2 * step) for row in np.eye(3)]
        rest = np.linalg.lstsq(np.array(columns[1:]).T, -speed * columns[0], rcond=None)[0]
        return np.r_[speed, rest]


def loop_gap(engine: Engine, text: str) -> float:
    gap = Gap(text)
    engine.start(v=gap.closing(5.0))
    worst = 0.0
    for i in range(seconds(10)):
        engine.step()
        if i % 10 == 0:
            worst = max(worst, float(np.linalg.norm(gap.at(engine.q))))
    return worst


# ---- the page ----

SCENES: tuple[Callable[[], Table], ...] = (pinch, incline, rest, impact, restitution, heights, energy, loop)


def page(tables: list[Table]) -> str:
    lines = [
        "# Contact quality",
        "",
        f"`make quality` (`bench/quality.py`) writes this page. It compares Tangere {tg.__version__} with MuJoCo "
        f"{mujoco.__version__} on the same models, with dt {1e3 * DT:g} ms and gravity {GRAVITY}. The columns are:",
        "",
        "- Tangere: the defaults;",
        '- within: Tangere with impacts within the step (`impact="within"`);',
        "- MuJoCo: the defaults;",
        "- impratio 10, impratio 100: what MuJoCo's documentation advises against slip: the elliptic cone with the "
        "Newton solver (tolerance 1e-10) and this `impratio`;",
        "- noslip: `impratio` 10 and 10 iterations of the noslip solver.",
        "",
        "MuJoCo's contacts are soft by design: its invertible dynamics has creep and overlap as a consequence. Tangere "
        "solves the unrelaxed laws in every step, so only rounding errors remain.",
        "",
    ]
    for table in tables:
        lines += table.lines()
    lines += [
        "## Certificates",
        "",
        f"{Ours.steps} steps of Tangere; not solved to 1e-8 m/s: {Ours.unsolved}; worst residual of the unrelaxed "
        f"laws {Ours.worst:.1e} m/s.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="contact quality beside MuJoCo")
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    parser.add_argument("--scene", choices=[scene.__name__ for scene in SCENES], help="one scene only")
    arguments = parser.parse_args()
    mujoco.set_mju_user_warning(lambda _: None)
    tables = []
    for number, scene in enumerate(SCENES, 1):
        if arguments.scene in (None, scene.__name__):
            start = time.perf_counter()
            print(f"[{number}/{len(SCENES)}] {scene.__name__}", flush=True)
            tables.append(scene())
            print(f"  {time.perf_counter() - start:.0f} s", flush=True)
    text = page(tables)
    if arguments.write and arguments.scene is None:
        (ROOT / "docs" / "quality.md").write_text(text)
        print("wrote docs/quality.md")
    print(text.splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
