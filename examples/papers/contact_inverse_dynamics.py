"""Torques that hold a pose through contact (end-to-end differentiable simulation, Fig. 4 and 5).

Poses first: gaps as the step sees them are zero, the centre of mass is over the support, joints are within their limits
and everything else is apart; then Gauss-Newton on v+ = 0.
"""

import os
import pathlib

import numpy as np
import tangere as tg
from paper import Experiment, arguments

ROBOTS = pathlib.Path(os.environ.get("TANGERE_SHARED", "../shared")) / "robots"


def pitched(angle):
    return np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0])


def go1_standing(load=0.0):
    m = tg.load(ROBOTS / "unitree_go1/scene.xml")
    m.params["body.trunk.mass"] += load
    return m, tg.pose(m, m.key("home").q, [(foot, "floor") for foot in ("FR", "FL", "RR", "RL")])


def go1_loaded():
    return go1_standing(10.0)


def go1_handstand():
    m = tg.load(ROBOTS / "unitree_go1/scene.xml")
    q = m.key("home").q.copy()
    q[:7] = np.r_[0, 0, 0.55, pitched(np.pi / 2)]  # nose down
    q[7:13] = [0, -0.6, -1.0, 0, -0.6, -1.0]  # front legs stretched under it
    q[13:19] = [0, 1.5, -1.5, 0, 1.5, -1.5]
    return m, tg.pose(m, q, [("FR", "floor"), ("FL", "floor")])


def h1_push_up():
    m = tg.load(ROBOTS / "unitree_h1/scene.xml")
    q = m.default_q()
    q[:7] = np.r_[0, 0, 0.3, pitched(np.pi / 2)]  # face down
    last = {body: i for i in range(m.ngeom) for body in [m.names("body")[m.geom_body[i]]] if m.geom_contype[i]}
    touch = [(last[f"{side}_{part}_link"], "floor") for part in ("elbow", "ankle") for side in ("left", "right")]
    return m, tg.pose(m, q, touch, com="inside")


CASES = {
    "Go1 standing": go1_standing,
    "Go1 with a load of 10 kg": go1_loaded,
    "Go1 in a handstand": go1_handstand,
    "H1 in a push-up": h1_push_up,
}


TRY = dict(zip(CASES, (2, 2, 9, 1), strict=True))


def main(small=False):
    told = Experiment(
        "contact_inverse_dynamics",
        "Contact inverse dynamics",
        "solved with high accuracy in a few iterations (about 10)",
    )
    curves, found = {}, {}
    for name, make in CASES.items():
        m, pose = make()
        gap = max(abs(g) for g in pose.gaps.values())
        told.row(f"{name}: largest gap, centre of mass off (m)", "1e-10, 1e-9", f"{gap:.1e}, {pose.com:.1e}")
        hold = tg.inverse_contact_dynamics(m, pose.q, tolerance=1e-5)
        expected = f"about 10 ({TRY[name]} in a first try), 1e-5"
        told.row(f"{name}: iterations, |v+| (m/s)", expected, f"{hold.iterations}, {hold.speed:.1e}")
        curves[name] = [hold.speeds]
        if not small:
            try:
                other, end = tg.inverse_contact_dynamics(m, pose.q, tolerance=1e-5, derivatives="differences"), ""
            except tg.NotHeldError as refusal:
                other, end = refusal.best, " (not solved)"
            told.row(f"{name}: with finite differences", "worse", f"{other.iterations}, {other.speed:.1e}{end}")
            curves[name].append(other.speeds)
        found[name] = (gap, pose.com, hold.iterations, hold.speed)

    told.words(
        "all four poses are held in "
        + ", ".join(str(iterations) for _, _, iterations, _ in found.values())
        + f" iterations, |v+| at most {max(speed for *_, speed in found.values()):.0e} m/s, gaps below "
        f"{max(gap for gap, *_ in found.values()):.0e} m."
    )

    def draw(figure):
        ax = figure.subplots()
        for name, (exact, *rest) in curves.items():
            (line,) = ax.semilogy(exact, "o-", label=name)
            for other in rest:
                ax.semilogy(other, "x--", color=line.get_color())
        ax.set(xlabel="iteration", ylabel="|v+| (m/s)", title="exact derivatives (lines), differences (dashes)")
        ax.legend(fontsize="x-small")

    told.figure(draw)
    told.done()
    return found


if __name__ == "__main__":
    main(arguments().small)
