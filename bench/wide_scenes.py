#!/usr/bin/env python3
"""Scenes that a seed makes, as MJCF that both engines load: `wide_scenes.py KIND SEED` prints one.

| kind | what |
| --- | --- |
| feet | a torso on 2 to 6 legs that stands on soles, balls, toes, prisms; arms; servos hold the pose |
| wheels | a base on 3 to 6 wheels (cylinders, ellipsoids, spheres), with a column of arms |
| bin | one to three random trees fall into a bin |
| walls | a robot on feet between walls at a millimetre from it, its arms pressed against them |
| hand | 2 to 5 fingers hold one object, or two |
| loop | legs or fingers of two chains each, closed at their ends; some closures are redundant |
| dry | trees that dry friction in every joint holds up, on the floor and on a table |
| heap10 to heap1000 | boxes or mixed shapes fall into a bin |
| chain25, chain50 | hinges in turn about y and z; one end is fixed, the other falls on the floor |

Nothing overlaps by more than a millimetre at the start: what does is drawn again. At q = 0 all body frames are
parallel, so that positions add up: what stands begins at a millimetre or less from the floor. Controls of 0 hold that
pose, or press. Sizes, masses, friction, dimensions of contact, time step and integrator are drawn, too; half of the
trees of every kind have dry friction in all joints."""

import math
import random
import sys

import mujoco

DEEPEST = 1e-3  # m that shapes may overlap at the start

# one turn of the wheel of kinds: seed s makes kind s mod 20
WHEEL = (
    *("feet", "wheels", "bin", "walls", "hand", "loop", "dry") * 2,
    *("heap10", "heap30", "heap100", "heap300", "chain25", "chain50"),
)
KINDS = (*dict.fromkeys(WHEEL), "heap1000")


def select(kinds, seeds):
    """(name, kind, seed) of the scenes: kinds in turn, or all seeds of those that were asked for."""
    if kinds:
        return [(f"{kind}-{seed}", kind, seed) for kind in kinds for seed in seeds]
    return [(f"{WHEEL[seed % len(WHEEL)]}-{seed}", WHEEL[seed % len(WHEEL)], seed) for seed in seeds]


def numbers(*values):
    return " ".join(f"{v:.6g}" for v in values)


def plus(a, b):
    return tuple(x + y for x, y in zip(a, b, strict=True))


HIP_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
KNEE_AXES = ((1, 0, 0), (0, 1, 0), (0, 1, 0))


class Scene:
    """The parts of one file, and what its random numbers decided for all of it."""

    def __init__(self, kind, seed, attempt):
        self.random = random.Random(f"{kind} {seed} {attempt}")
        r = self.random
        self.world, self.actuators, self.equalities, self.meshes = [], [], [], []
        self.joints = 0
        self.low = math.inf  # lowest point of the robot that is being built,
        self.wide = 0  # and how far its fists reach to its sides
        self.dt = r.choice((0.001, 0.002, 0.002, 0.004))
        self.integrator = r.choice(("Euler", "implicitfast"))
        self.cone = r.choice(("pyramidal", "pyramidal", "elliptic"))
        self.condim = r.choice((3, 3, 3, 4, 6))
        self.friction = r.choice((0.3, 0.6, 0.8, 1, 1.5))
        self.dry = r.random() < 0.5  # friction in all joints

    def reach(self, low, high):
        return self.random.uniform(low, high)

    def power(self, low, high):
        """Uniform in its logarithm."""
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def text(self):
        return (
            f'<mujoco><size memory="500M"/><compiler angle="radian"/><option timestep="{self.dt}" '
            f'integrator="{self.integrator}" cone="{self.cone}"/>\n'
            f'<default><geom condim="{self.condim}" friction="{self.friction} 0.01 0.001"/></default>\n'
            f"<asset>{''.join(self.meshes)}</asset>\n<worldbody>\n{chr(10).join(self.world)}\n</worldbody>\n"
            f"<actuator>{''.join(self.actuators)}</actuator>\n<equality>{''.join(self.equalities)}</equality></mujoco>\n"
        )

    # ---- geoms ----

    def mesh(self, points):
        name = f"m{len(self.meshes)}"
        self.meshes.append(f'<mesh name="{name}" vertex="{" ".join(numbers(*p) for p in points)}"/>\n')
        return name

    def prism(self, sides, radius, half):
        """A flat polygon, extruded: soles of any number of corners."""
        angles = [*sorted(self.reach(0, 2 * math.pi) for _ in range(sides - 3)), 0.3, 2.4, 4.5]
        return self.mesh([(radius * math.cos(a), radius * math.sin(a), z) for a in angles for z in (-half, half)])

    def stone(self, radius):
        """The hull of random points near an ellipsoid."""
        axes = [radius * self.reach(0.6, 1.2) for _ in range(3)]
        points = []
        for _ in range(self.random.randrange(8, 30)):
            x = [self.random.gauss(0, 1) for _ in range(3)]
            length = math.sqrt(sum(c * c for c in x))
            points.append([a * c / length for a, c in zip(axes, x, strict=True)])
        return self.mesh(points)

    def solid(self, kind, radius, mass, pos=(0, 0, 0), turn=""):
        """A free shape of about this radius."""
        r = radius
        size = {
            "box": numbers(*(r * self.reach(0.5, 1) for _ in range(3))),
            "sphere": numbers(r),
            "capsule": numbers(r * 0.6, r * 0.6),
            "cylinder": numbers(r * 0.7, r * 0.8),
            "ellipsoid": numbers(r, r * 0.8, r * 0.6),
        }
        shape = f'mesh="{self.stone(r)}"' if kind == "mesh" else f'size="{size[kind]}"'
        return f'<geom type="{kind}" {shape} mass="{mass:.4g}" pos="{numbers(*pos)}" {turn}/>'

    def floor(self):
        self.world.append('<geom name="floor" type="plane" size="10 10 1"/>')

    def wall(self, pos, size):
        self.world.append(f'<geom type="box" pos="{numbers(*pos)}" size="{numbers(*size)}"/>')

    def bin(self, half, height):
        self.wall((0, 0, -0.05), (half + 0.1, half + 0.1, 0.05))
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            away = half + 0.05
            self.wall((x * away, y * away, height / 2), (0.05 if x else away, 0.05 if y else away, height / 2))

    # ---- joints ----

    def joint(self, axis, kp, *, press=0, kind="hinge", servo="position", limit=1.2, friction=None):
        """A joint with its actuator: force kp (u - q) + press, or kp (u - v) of a wheel. kp 0: no actuator."""
        name = f"j{self.joints}"
        self.joints += 1
        kp_size = kp if kp else 1
        damping = kp_size * self.reach(0.01, 0.05)
        loss = friction if friction is not None else self.dry * kp_size * self.reach(0.005, 0.05)
        limits = f'limited="true" range="{-limit:.4g} {limit:.4g}"' if servo == "position" else ""
        if servo == "velocity":
            damping = 0.01
            self.actuators.append(f'<velocity joint="{name}" kv="{kp:.4g}" ctrllimited="true" ctrlrange="-5 5"/>\n')
        elif kp:
            reach = min(limit, 0.8)
            self.actuators.append(
                f'<general joint="{name}" gainprm="{kp:.4g}" biastype="affine" biasprm="{press:.4g} {-kp:.4g} 0" '
                f'ctrllimited="true" ctrlrange="{-reach:.4g} {reach:.4g}" forcelimited="true" '
                f'forcerange="{-kp - abs(press):.4g} {kp + abs(press):.4g}"/>\n'
            )
        return (
            f'<joint name="{name}" type="{kind}" axis="{numbers(*axis)}" {limits} damping="{damping:.4g}" '
            f'frictionloss="{loss:.4g}" armature="{kp_size * self.reach(1e-4, 1e-3):.4g}"/>'
        )

    def limb(self, at, steps, *, radius, mass, kp, end, axes=None, press=0, site="", friction=None):
        """A chain of links along `steps`, from the place `at`; end(place, radius, mass): what is at its end."""
        r = self.random
        text = ""
        place = at
        for k, step in enumerate(steps):
            axis = axes[k] if axes else r.choice(KNEE_AXES if k else HIP_AXES)
            offset = at if k == 0 else steps[k - 1]
            inner, outer = [0.25 * c for c in step], [0.8 * c for c in step]
            link = r.choice(("capsule", "capsule", "cylinder"))
            text += (
                f'<body pos="{numbers(*offset)}">{self.joint(axis, kp / (1 + k), press=press, friction=friction)}'
                f'<geom type="{link}" fromto="{numbers(*inner, *outer)}" size="{radius:.4g}" '
                f'mass="{mass / (1 + k):.4g}"/>'
            )
            place = plus(place, step)
        text += end(steps[-1], place, radius, mass / 4) + site + "</body>" * len(steps)
        return text

    # ---- what is at the end of a limb ----

    def foot(self, at, place, radius, mass):
        """On the end of a leg; its lowest point counts."""
        r = self.random
        kind = r.choice(("box", "box", "sphere", "toes", "cylinder", "prism", "capsule"))
        half = radius * 0.8
        length = radius * self.reach(1.5, 3.5)
        self.low = min(self.low, place[2] - (radius * 1.2 if kind in ("sphere", "toes") else half))
        pos = f'pos="{numbers(*at)}" mass="{mass:.4g}"'
        if kind == "toes":
            spots = [(x * length, y * radius * 1.3, 0) for x in (-1, 1) for y in (-1, 1)]
            return "".join(
                f'<geom type="sphere" size="{radius * 1.2:.4g}" mass="{mass / 4:.4g}" pos="{numbers(*plus(at, s))}"/>'
                for s in spots
            )
        if kind == "prism":
            return f'<geom type="mesh" mesh="{self.prism(r.randrange(4, 9), length, half)}" {pos}/>'
        return {
            "box": f'<geom type="box" size="{numbers(length, radius * 1.2, half)}" {pos}/>',
            "sphere": f'<geom type="sphere" size="{radius * 1.2:.4g}" {pos}/>',
            "cylinder": f'<geom type="cylinder" size="{numbers(length, half)}" {pos}/>',
            "capsule": f'<geom type="capsule" size="{numbers(half, length)}" quat="0.70710678 0 0.70710678 0" {pos}/>',
        }[kind]

    def fist(self, at, place, radius, mass):
        self.wide = max(self.wide, abs(place[1]) + 1.8 * radius)
        return self.solid(self.random.choice(("box", "sphere", "mesh", "capsule")), radius * 1.5, mass, at)

    def tip(self, at, place, radius, mass):
        return self.solid(self.random.choice(("sphere", "box", "capsule", "mesh")), 1.2 * radius, mass, at)

    # ---- robots ----

    def torso(self, *, legs, leg, half, mass, kp, arms, lift, wheels, friction):
        """A body with legs under it and arms on it, as high as it needs to be; returns its height."""
        r = self.random
        self.low = math.inf
        radius = 0.12 * leg
        parts = []
        around = r.uniform(0, 0.5)
        for k in range(legs):
            angle = 2 * math.pi * (k + around) / legs
            hip = (half[0] * 1.2 * math.cos(angle), half[1] * 1.2 * math.sin(angle), -half[2] - radius)
            if wheels:
                spacing = 2 * math.sin(math.pi / legs) * 1.2 * min(half[:2])
                parts.append(self.wheel(hip, leg, min(0.3 * leg, 0.4 * spacing), mass / 8))
                continue
            count = r.choice((2, 3, 3, 4))
            bends = [r.uniform(-0.35, 0.35) for _ in range(count)]
            steps = [(leg / count * math.sin(b), 0.1 * leg / count, -leg / count * math.cos(b)) for b in bends]
            leveled = self.level(steps, leg)
            parts.append(
                self.limb(hip, leveled, radius=radius / 2, mass=mass / 8, kp=kp, end=self.foot, friction=friction)
            )
        for k in range(arms):
            side = 1 if k % 2 else -1
            shoulder = (r.uniform(-0.5, 0.5) * half[0], side * (half[1] + 1.5 * radius), half[2] * (0.5 + k // 2))
            steps = [(leg / 3 * r.uniform(0.3, 1), side * leg / 6, leg / 3 * r.uniform(-0.5, 0.5)) for _ in range(3)]
            parts.append(
                self.limb(
                    shoulder, steps, radius=radius / 2, mass=mass / 12, kp=kp / 3, end=self.fist, friction=friction
                )
            )
        height = lift - self.low
        self.world.append(
            f'<body pos="{numbers(0, 0, height)}"><freejoint/><geom type="box" size="{numbers(*half)}" '
            f'mass="{mass:.4g}"/>{"".join(parts)}</body>'
        )
        return height

    @staticmethod
    def level(steps, leg):
        """The last step longer or shorter, so that all legs end at the same height."""
        rest = -leg * 0.95 - sum(s[2] for s in steps[:-1])
        return [*steps[:-1], (steps[-1][0], steps[-1][1], min(rest, -0.05 * leg))]

    def wheel(self, hip, leg, radius, mass):
        r = self.random
        self.low = min(self.low, hip[2] - 0.2 * leg - radius)
        kind = r.choice(("cylinder", "cylinder", "ellipsoid", "sphere"))
        sizes = {"cylinder": (radius, 0.3 * radius), "ellipsoid": (radius, radius, 0.4 * radius), "sphere": (radius,)}
        size = sizes[kind]
        caster = r.random() < 0.4
        joint = self.joint((0, 1, 0), 2 * mass, servo="velocity", friction=mass * self.reach(0.01, 0.3))
        drop = (hip[0], hip[1], hip[2] - 0.2 * leg)
        geom = f'<geom type="{kind}" size="{numbers(*size)}" quat="0.70710678 0.70710678 0 0" mass="{mass:.4g}"/>'
        if not caster:
            return f'<body pos="{numbers(*drop)}">{joint}{geom}</body>'
        swivel = self.joint((0, 0, 1), 0, servo="free", friction=mass * self.reach(0.01, 0.1))
        fork = (
            f'<geom type="capsule" size="{0.1 * radius:.4g}" fromto="0 0 0.05 0 0 0.1" mass="{mass / 3:.4g}" '
            'contype="0" conaffinity="0"/>'
        )
        return f'<body pos="{numbers(*drop)}">{swivel}{fork}<body pos="-0.02 0 0">{joint}{geom}</body></body>'


def standing(s, *, legs=None, arms=None, wheels=False, friction=None):
    """A robot of random proportions on the floor; returns its half sizes, height and length of legs."""
    r = s.random
    leg = s.power(0.2, 0.9)
    half = (leg * s.reach(0.25, 0.6), leg * s.reach(0.2, 0.4), leg * s.reach(0.08, 0.2))
    mass = s.power(1, 30)
    legs = legs if legs is not None else r.choice((2, 3, 4, 4, 4, 6))
    kp = 9.81 * mass * leg * s.reach(2, 8) / math.sqrt(legs)
    arms = arms if arms is not None else r.choice((0, 0, 1, 2, 2))
    lift = s.reach(0, 0.001)
    height = s.torso(
        legs=legs, leg=leg, half=half, mass=mass, kp=kp, arms=arms, lift=lift, wheels=wheels, friction=friction
    )
    return half, height, leg


def feet(s):
    s.floor()
    standing(s)


def wheels(s):
    s.floor()
    s.dry = s.random.random() < 0.8
    standing(s, legs=s.random.randrange(3, 7), arms=s.random.choice((1, 2, 2, 3)), wheels=True)


DIRECTIONS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))


def random_tree(s, place, *, size, mass, depth=0, back=None):
    """A body with up to three children, each with up to three, on hinges and ball joints."""
    r = s.random
    kind = r.choice(("box", "capsule", "sphere", "cylinder", "ellipsoid", "mesh"))
    if depth == 0:
        joint = "<freejoint/>"
    elif r.random() < 0.15:
        joint = (
            f'<joint type="ball" damping="{0.02 * mass:.4g}" armature="{1e-3 * mass:.4g}" '
            f'frictionloss="{s.dry * 0.05 * mass:.4g}"/>'
        )
    else:
        axis = r.choice(((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0)))
        joint = s.joint(axis, r.choice((0, 1, 3)) * mass * size * 9.81)
    text = f'<body pos="{numbers(*place)}">{joint}{s.solid(kind, size, mass)}'
    for direction in r.sample(DIRECTIONS, r.choice((1, 2, 3, 3))):
        if depth < 3 and direction != back and r.random() < 0.9:
            step = tuple(2.3 * size * c for c in direction)
            away = tuple(-c for c in direction)
            smaller = mass * s.reach(0.2, 0.8)
            text += random_tree(s, step, size=size * 0.75, mass=smaller, depth=depth + 1, back=away)
    return text + "</body>"


def bin_of_trees(s):
    s.bin(0.3, 0.5)
    for k in range(s.random.choice((1, 2, 3))):
        size = s.reach(0.05, 0.09)
        place = (s.reach(-0.05, 0.05), s.reach(-0.05, 0.05), 0.35 + 0.5 * k)
        s.world.append(random_tree(s, place, size=size, mass=s.power(0.2, 3)))


def walls(s):
    s.floor()
    half, height, _ = standing(s, arms=2)
    for side in (1, -1):
        gap = s.random.choice((0.0, 0.0005, 0.001))
        s.wall((0, side * (s.wide + 0.05 + gap), height), (1, 0.05, 1.5))
        if s.random.random() < 0.6:
            s.wall((side * (half[0] + 0.05 + gap), 0, height), (0.05, half[1] * 0.6, half[2] * 0.9))
    if s.random.random() < 0.4:
        s.wall((0, 0, height + half[2] + 0.05), (half[0] * 0.5, half[1] * 0.5, 0.05))


def hand(s):
    s.floor()
    r = s.random
    size = s.power(0.02, 0.06)
    fingers = r.choice((2, 3, 4, 5))
    count = r.choice((2, 3, 4))
    mass = s.power(0.02, 0.3)
    kp = s.reach(5, 30) * size
    two = r.random() < 0.4
    parts = []
    top = 0.5
    for k in range(fingers):
        angle = 2 * math.pi * (k + 0.05 * r.random()) / fingers
        out, across = (math.cos(angle), math.sin(angle), 0), (-math.sin(angle), math.cos(angle), 0)
        away = size * 1.5 + 0.012
        steps = [(0, 0, -(5 if two else 3.2) * size / count)] * count
        press = kp * s.reach(0.2, 0.6)
        axes = [across] * count if r.random() < 0.7 else [(0, 0, 1), *[across] * (count - 1)]
        base = (away * out[0], away * out[1], -0.01)
        parts.append(s.limb(base, steps, radius=0.009, mass=mass, kp=kp, end=s.tip, axes=axes, press=press))
    s.dry = r.random() < 0.7
    wrist = s.joint((0, 0, 1), 500, kind="slide", limit=0.1)
    s.world.append(
        f'<body pos="0 0 {top}">{wrist}<geom type="cylinder" size="{2 * size + 0.02:.4g} 0.01" '
        'pos="0 0 0.015" mass="1"/>'
        f"{''.join(parts)}</body>"
    )
    kind = r.choice(("box", "cylinder", "sphere", "mesh", "ellipsoid", "capsule"))
    weight = s.power(0.05, 1)
    s.world.append(f'<body pos="0 0 {top - 2.2 * size:.4g}"><freejoint/>{s.solid(kind, size, weight)}</body>')
    if two:
        below = s.solid("box", 0.8 * size, weight / 3)
        s.world.append(f'<body pos="0 0 {top - 4.3 * size:.4g}"><freejoint/>{below}</body>')


def nothing(*_):
    """At the end of a limb."""
    return ""


def loop(s):
    """A torso on legs of two chains each: the second ends at the foot of the first, by `connect` or `weld`."""
    s.floor()
    r = s.random
    leg = s.power(0.2, 0.6)
    half = (leg * 0.8, leg * 0.5, leg * 0.12)
    mass = s.power(2, 20)
    legs = r.choice((2, 4, 4))
    kp = 9.81 * mass * leg * s.reach(2, 6) / math.sqrt(legs)
    radius = 0.05 * leg
    s.low = math.inf
    parts = []
    for k in range(legs):
        x = half[0] * 0.7 * (1 if k % 2 else -1) if legs == 4 else 0
        y = (half[1] + 2 * radius) * (1 if k // (legs // 2) else -1)
        knee = 0.25 * leg
        front, back = (x + 0.1 * leg, y, -half[2] - radius), (x - 0.1 * leg, y, -half[2] - radius)
        axis = (0, 1, 0)
        down = [(knee, 0, -0.5 * leg), (-knee - 0.1 * leg, 0, -0.45 * leg)]
        up = [(-knee, 0, -0.5 * leg), (knee + 0.1 * leg, 0, -0.42 * leg)]
        knee_end = numbers(-knee - 0.1 * leg, 0, -0.42 * leg)
        site = f'<site name="a{k}" pos="{knee_end}"/>'
        parts.append(s.limb(front, down, radius=radius, mass=mass / 10, kp=kp, end=s.foot, axes=[axis] * 2, site=site))
        site = f'<site name="b{k}" pos="{numbers(*up[1])}"/>'
        driven = r.choice((0, kp))
        parts.append(
            s.limb(back, up, radius=radius * 0.8, mass=mass / 20, kp=driven, end=nothing, axes=[axis] * 2, site=site)
        )
        kind = r.choice(("connect", "connect", "weld"))
        s.equalities.append(f'<{kind} site1="a{k}" site2="b{k}"/>\n')
    s.world.append(
        f'<body pos="0 0 {s.reach(0, 0.001) - s.low:.6g}"><freejoint/>'
        f'<geom type="box" size="{numbers(*half)}" mass="{mass:.4g}"/>{"".join(parts)}</body>'
    )
    if r.random() < 0.5:
        load = s.solid("box", 0.1 * leg, mass / 5)
        s.world.append(f'<body pos="0 0 {2 * half[2] + 0.101 * leg - s.low:.6g}"><freejoint/>{load}</body>')


def dry(s):
    """Nothing but dry friction holds it up."""
    s.floor()
    r = s.random
    half, _, leg = standing(s, legs=r.choice((3, 4, 6)), arms=r.choice((1, 2)), friction=s.power(2, 60))
    if r.random() < 0.5:
        s.wall((0, half[1] + leg, 0.1), (1, 0.3, 0.1))
    s.actuators = [a for a in s.actuators if r.random() < 0.3]


def heap(s, count):
    s.dt = 0.002
    s.integrator = "Euler"
    s.condim = 3
    mixed = s.random.random() < 0.5
    side = math.ceil((count / 2) ** (1 / 3) - 1e-9)
    s.bin(0.075 * side + 0.05, 0.1 * side + 0.3)
    for i in range(count):
        kind = s.random.choice(("box", "capsule", "cylinder", "sphere", "ellipsoid", "mesh")) if mixed else "box"
        across = [0.15 * (k - (side - 1) / 2) for k in (i % side, i // side % side)]
        pos = (*across, 0.1 + 0.16 * (i // side**2))
        quat = [s.random.gauss(0, 1) for _ in range(4)]
        geom = s.solid(kind, 0.06, s.power(0.1, 1)) if mixed else '<geom type="box" size="0.05 0.05 0.05" mass="1"/>'
        s.world.append(f'<body pos="{numbers(*pos)}" quat="{numbers(*quat)}"><freejoint/>{geom}</body>')


def chain(s, count):
    s.floor()
    s.condim, s.dt = 3, 0.002
    links = ""
    for i in range(count):
        offset = (0.05, 0, 0) if i else (0, 0, s.reach(0.1, 0.3))
        axis = (0, 1, 0) if i % 2 == 0 else (0, 0, 1)
        links += (
            f'<body pos="{numbers(*offset)}"><joint axis="{numbers(*axis)}" damping="0.02" armature="0.001"/>'
            f'<geom type="capsule" size="0.015" fromto="0 0 0 0.05 0 0" mass="0.1" contype="0"/>'
        )
    s.world.append(links + "</body>" * count)


MAKERS = {"feet": feet, "wheels": wheels, "bin": bin_of_trees, "walls": walls, "hand": hand, "loop": loop, "dry": dry}


def draw(kind, seed, attempt):
    s = Scene(kind, seed, attempt)
    if kind.startswith("heap"):
        heap(s, int(kind[4:]))
    elif kind.startswith("chain"):
        chain(s, int(kind[5:]))
    else:
        MAKERS[kind](s)
    return s.text()


def overlap(text):
    """m: the deepest at the start, as MuJoCo sees it."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return -min((c.dist for c in data.contact), default=0)


def make(kind, seed):
    """The MJCF text of one scene: the first draw without deep overlaps."""
    for attempt in range(1000):
        text = draw(kind, seed, attempt)
        if overlap(text) < DEEPEST:
            return text
    raise RuntimeError(f"{kind} {seed}: every draw overlaps")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: wide_scenes.py KIND SEED, KIND one of {' '.join(KINDS)}")
    print(make(sys.argv[1], int(sys.argv[2])), end="")
