"""Labels of derivatives, judged like a classifier: part of `make gradients`, or `bench/labels.py [MODEL ...]`.

States along trajectories with the keyframe's controls and with random ones. At each, differences along random
directions of (q, v, u) say whether the derivative of the step exists: with two displacements of 1e-3 to 2e-9 those of
the left and of the right agree to 1e-6, and so do the two; or those of the smallest displacements of each side that
agree. Where these differ from side to side, by more than each is uncertain (how two displacements differ, and rounding
of the outcomes), there is a kink; where nothing agrees, nothing is judged.

Of the states whose derivative exists at least 95 % must be labelled exact, and of those labelled exact at least 99.9 %
must be right: the derivative exists and the product with it agrees to 1e-6.

Every second robot of the list is for measuring only: nobody looks at its states while labels are worked on, so that the
line "measured only" says what to expect of other robots.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tangere as tg

TOLERANCE = 1e-6
DISPLACEMENTS = (1e-5, 1e-4, 1e-6, 1e-3, 1e-7, 1e-8, 2e-9)  # a gap of 1e-10 m closes within a step
NEXT = 1e-10  # displacements to see rounding by
DIRECTIONS = 4
EXISTING, RIGHT = 0.95, 0.999  # what must hold
REDRAW = 0.1  # s: random controls are drawn anew
KINDS = ("exact", "one-sided", "regularised")


@dataclass
class Verdict:
    """Counts of one model's states; exists, kink, unclear: by label."""

    name: str
    exists: dict = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    kink: dict = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    unclear: int = 0
    unsolved: int = 0
    wrong: int = 0  # exact, and the derivative exists but is another
    margin: float = np.inf  # the smallest of those labelled exact
    failure: str = ""
    examples: list = field(default_factory=list)

    @property
    def judged(self):
        return sum(self.exists.values()) + sum(self.kink.values())

    def add(self, other):
        for kind in KINDS:
            self.exists[kind] += other.exists[kind]
            self.kink[kind] += other.kink[kind]
        self.unclear += other.unclear
        self.unsolved += other.unsolved
        self.wrong += other.wrong
        self.margin = min(self.margin, other.margin)

    def shares(self):
        """Of states whose derivative exists those labelled exact, and of exact ones those that are right."""
        existing = sum(self.exists.values())
        exact = self.exists["exact"] + self.kink["exact"]
        right = self.exists["exact"] - self.wrong
        return self.exists["exact"] / existing if existing else 1.0, right / exact if exact else 1.0


class Judge:
    """One model at one state: its step as a function of a displacement along one direction."""

    def __init__(self, model, rng):
        self.model, self.rng = model, rng
        self.sim, self.other = tg.Sim(model), tg.Sim(model)
        self.range = control_ranges(model)

    def direction(self):
        dq, dv, du = (self.rng.standard_normal(n) for n in (self.model.nv, self.model.nv, self.model.nu))
        return dq, dv, self.width() * du

    def width(self):
        return np.minimum(0.5 * (self.range[:, 1] - self.range[:, 0]), 1)

    def outcome(self, state, u, direction, h):
        """(v+, act+) at the state, displaced by h along the direction, from the same cache."""
        dq, dv, du = direction
        q = self.model.integrate(state.q, h * dq)
        self.other.restore(state._replace(q=q, v=state.v + h * dv))
        self.other.step(u + h * du)
        return np.r_[self.other.v, self.other.act]

    def sides(self, state, u, direction, h, here):
        """Derivatives: left and right to second order, (4 f(h/2) - 3 f(0) - f(h)) / h; both together to fourth."""
        far, near = ([self.outcome(state, u, direction, sign * step) for sign in (1, -1)] for step in (h, h / 2))
        right, left = ((4 * near[k] - 3 * here - far[k]) / (h, -h)[k] for k in range(2))
        return left, right, (4 * (near[0] - near[1]) / h - (far[0] - far[1]) / (2 * h)) / 3

    def along(self, state, u, direction, here):
        """("exists", derivative, how far two displacements differ), ("kink", None, 0) or ("unclear", None, 0)."""
        tried = {}
        for h in DISPLACEMENTS:
            left, right, both = self.sides(state, u, direction, h, here)
            for other in tried.values():
                if close(left, right) and close(*other[:2]) and close(both, other[2]):
                    return "exists", both, np.max(np.abs(both - other[2]), initial=0)
            tried[h] = (left, right, both)
        found = [nearest(tried, k) for k in range(2)]
        if None in found:
            return "unclear", None, 0
        (left, left_spread, left_h), (right, right_spread, right_h) = found
        if close(left, right):
            return "exists", (left + right) / 2, np.max(np.abs(left - right), initial=0)
        noise = 8 * self.noise(state, u, direction) * (1 / left_h + 1 / right_h)  # 4 + 3 + 1 outcomes in a slope
        kink = not close(left, right, left_spread + right_spread + noise)
        return "kink" if kink else "unclear", None, 0

    def noise(self, state, u, direction):
        """Rounding of an outcome: how far outcomes next to the state are from a line, on either side of it."""
        h = NEXT * np.arange(1, 6)
        line = np.c_[np.ones(5), h]
        off = line @ np.linalg.lstsq(line, np.eye(5), rcond=None)[0] - np.eye(5)
        sides = (np.array([self.outcome(state, u, direction, sign * x) for x in h]) for sign in (1, -1))
        return max(np.max(np.abs(off @ side), initial=0) for side in sides)

    def state(self, state, u, verdict):
        """Takes the step from here, judges its label, and leaves the simulation behind it."""
        self.sim.restore(state)
        self.sim.step(u)
        if self.sim.info.status != tg.StepStatus.SOLVED:
            verdict.unsolved += 1
            return
        here = np.r_[self.sim.v, self.sim.act]
        found, worst, label = "exists", 0.0, None
        for _ in range(DIRECTIONS):
            direction = self.direction()
            change = self.sim.jvp(q=direction[0], v=direction[1], u=direction[2])
            label = change.label
            what, derivative, spread = self.along(state, u, direction, here)
            if what == "exists":
                error = np.max(np.abs(np.r_[change.v, change.act] - derivative), initial=0) - spread
                worst = max(worst, error / max(1, np.max(np.abs(derivative), initial=0)))
            elif found != "kink":
                found = what
        count(verdict, label, found, worst, state.time)


def nearest(tried, side):
    """The slope of one side next to the state: of the smallest displacements, one after the other, that agree; how far
    these differ; the displacement. None: none agree."""
    order = sorted(tried)
    for near, far in itertools.pairwise(order):
        if close(tried[near][side], tried[far][side]):
            return tried[far][side], np.max(np.abs(tried[near][side] - tried[far][side]), initial=0), far
    return None


def close(a, b, slack=0):
    scale = max(1, np.max(np.abs(a), initial=0), np.max(np.abs(b), initial=0))
    return np.max(np.abs(a - b), initial=0) <= TOLERANCE * scale + slack


def count(verdict, label, found, worst, time):
    if label.kind == "exact":
        verdict.margin = min(verdict.margin, label.margin)
    if found == "unclear":
        verdict.unclear += 1
        return
    (verdict.exists if found == "exists" else verdict.kink)[label.kind] += 1
    wrong = label.kind == "exact" and found == "exists" and worst > TOLERANCE
    verdict.wrong += wrong
    if wrong or (label.kind == "exact" and found == "kink"):
        verdict.examples.append(f"{time:.4g} s: {found}, error {worst:.1e}, margin {label.margin:.1e}")


def control_ranges(model):
    """(nu, 2): +-1 where a control has none."""
    ranges = np.tile([-1.0, 1.0], (model.nu, 1))
    for i in np.flatnonzero(model.actuator_ctrl_limited):
        ranges[i] = model.params[f"actuator.#{i}.ctrl_range"]
    return ranges


def judge_model(path, states, seed=1):
    """Half of the states with the keyframe's controls, half with random ones; 0.6 s each."""
    verdict = Verdict(str(path))
    try:
        model = tg.load(str(path))
        rng = np.random.default_rng(seed)
        judge = Judge(model, rng)
        for random in (False, True):
            walk(judge, verdict, states // 2, random)
    except tg.Error as error:
        verdict.failure = str(error)
    return verdict


def walk(judge, verdict, states, random):
    model, sim, rng = judge.model, judge.sim, judge.rng
    steps = round(0.6 / sim.dt)
    chosen = set(np.linspace(steps // 20, steps - 1, states).astype(int))
    sim.reset(0 if model.nkey > 0 else None)
    u = np.array(model.key(0).ctrl) if model.nkey > 0 else np.zeros(model.nu)
    period = max(1, round(REDRAW / sim.dt))
    for i in range(steps):
        if random and i % period == 0:
            u = judge.range[:, 0] + (judge.range[:, 1] - judge.range[:, 0]) * rng.random(model.nu)
        if i in chosen:
            judge.state(sim.save(), u, verdict)
        else:
            sim.step(u)


HEAD = (
    "| model | states | exists: exact / one-sided / regularised | kink: exact / one-sided / regularised "
    "| unclear, not solved "
    "| exact of those that exist | right of exact | smallest margin of exact |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def line(v):
    if v.failure:
        return f"| {v.name} | failed: {v.failure} | | | | | | |"
    recall, precision = v.shares()
    return (
        f"| {v.name} | {v.judged} | {' / '.join(str(v.exists[k]) for k in KINDS)} "
        f"| {' / '.join(str(v.kink[k]) for k in KINDS)} "
        f"| {v.unclear}, {v.unsolved} | {100 * recall:.1f} % | {100 * precision:.2f} % | {v.margin:.1e} |"
    )


def summed(name, verdicts):
    together = Verdict(name)
    for v in verdicts:
        together.add(v)
    return together


def table(verdicts):
    """Lines of the table, and whether both bars hold over all models, and over those that are measured only."""
    sums = [
        summed("**development** (first, third, ...)", verdicts[::2]),
        summed("**measured only** (second, fourth, ...)", verdicts[1::2]),
        summed("**together**", verdicts),
    ]
    shares = [v.shares() for v in sums[1:]]
    holds = all(recall >= EXISTING and precision >= RIGHT for recall, precision in shares)
    return [HEAD, *[line(v) for v in verdicts], *[line(v) for v in sums]], holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--states", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", action="store_true", help="every state that is labelled exact and is not right")
    a = parser.parse_args()
    verdicts = []
    for path in a.models:
        verdicts.append(judge_model(path, a.states, a.seed))
        print(line(verdicts[-1]), flush=True)
        for example in verdicts[-1].examples if a.examples else ():
            print("      ", example)
    lines, good = table(verdicts)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
