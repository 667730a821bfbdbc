"""A push that shows friction and mass of a cube, beside a constant one of 5 N; confirmed by fits."""

import numpy as np
import tangere as tg
from mass import MASS, MU, ONE
from paper import Experiment, arguments
from tangere.excitation import errors_of

STEPS, DT = 200, 0.005
START = np.r_[1.0, np.zeros(5)]
SIZE = np.array([0.2, 1.0])


def family(also=()):
    """Pushes along x, within 5 N, in four pieces; the start is unknown along x; positions every 10 ms, 1 mm."""
    m = tg.load_string(ONE)
    return m, tg.excite(
        m,
        [MU, MASS],
        push="cube",
        limit=[5, 0, 0, 0, 0, 0],
        pieces=4,
        steps=STEPS,
        dt=DT,
        v0=START,
        every=2,
        measured=[0, 1, 2],
        noise=1e-3,
        initial=["q[0]", "v[0]"],
        also=also,
        allowed=lambda r: r.v[:, 0].min() > 0.05,
    )


def constant(m, single):
    """Standard errors with 5 N all the time: of both together, or of one alone."""
    wrench = np.zeros((STEPS, m.nbody, 6))
    wrench[:, 1, 0] = 5
    r = tg.rollout(m, m.default_q(), START, np.zeros((STEPS, 0)), DT, wrench=wrench)
    start = r.jvp(q0=np.eye(6)[[0, 0]] * [[1], [0]], v0=np.eye(6)[[0, 0]] * [[0], [1]]).q[:, ::2, :3].reshape(2, -1).T
    J = r.sensitivity([MU, MASS]).q[:, ::2, :3].reshape(2, -1).T
    u = np.linalg.svd(start, full_matrices=False)[0]
    J = (J - u @ (u.T @ J)) / 1e-3
    return 1 / np.sqrt((J**2).sum(axis=0)) if single else errors_of(J.T @ J, SIZE)


def confirm(m, push, seeds):
    """Fits to data with that push, made by pgs at 1 ms: estimates."""
    fine = np.repeat(push.wrench, 5, axis=0)
    r = tg.rollout(m, m.default_q(), START, np.zeros((len(fine), 0)), 0.001, wrench=fine, solver="pgs", tape=False)
    out = []
    for seed in range(seeds):
        q = r.q[::10].copy()
        q[:, :3] += 1e-3 * np.random.default_rng(seed).normal(size=(len(q), 3))
        acts = fine[np.minimum(10 * np.arange(len(q)), len(fine) - 1)]
        log = tg.Log("push", 0.01 * np.arange(len(q)), {"q": q}, wrench=acts, start=(m.default_q(), START))
        other = m.copy()
        other.params[MU], other.params[MASS] = 0.3, 1.3
        f = tg.fit(
            other, [log], [MU, MASS], initial=["q[0]", "v[0]"], dt=0.001, noise={"q:position": 1e-3, "q:rotation": 1e-2}
        )
        out.append([f[MU], f[MASS]])
    return np.array(out)


def main(small=False):
    told = Experiment("excitation", "A push that shows mu and mass", "asks how to generate such a trajectory (IV-C)")
    m, best = family()
    alone, both = constant(m, True), constant(m, False)
    told.row("5 N constant: standard errors of mu, mass together", "", f"{both[0]:.2g}, {both[1]:.2g}")
    told.row("5 N constant: of each alone, the other known", "", f"{alone[0]:.2g}, {alone[1]:.2g}")
    told.row(
        f"best of {best.tried} pushes within 5 N: together",
        "half of 5 N constant",
        f"{best.errors[0]:.2g}, {best.errors[1]:.2g}",
    )
    told.row("its pieces (N)", "", ", ".join(f"{5 * z:.1f}" for z in best.numbers))
    seeds = 4 if small else 20
    found = confirm(m, best, seeds)
    told.row(f"{seeds} fits: mean of mu, mass", "0.2, 1", f"{found[:, 0].mean():.4f}, {found[:, 1].mean():.4f}")
    told.row(
        f"{seeds} fits: spread of mu, mass",
        f"{best.errors[0]:.2g}, {best.errors[1]:.2g}",
        f"{found[:, 0].std(ddof=1):.2g}, {found[:, 1].std(ddof=1):.2g}",
    )
    told.words(
        "with 5 N all the time mu and mass cannot be told apart at all (infinite standard errors); the push that was "
        f"found gives {100 * best.errors[0] / 0.2:.2f} % and {100 * best.errors[1]:.2f} %, and fits confirm it."
    )

    def draw(figure):
        left, right = figure.subplots(1, 2)
        left.plot(DT * np.arange(STEPS), best.wrench[:, 1, 0], label="found")
        left.axhline(5, color="#999", linestyle="--", label="constant")
        left.set(xlabel="time (s)", ylabel="push (N)")
        left.legend(fontsize="x-small")
        right.plot(found[:, 0], found[:, 1], "o", label=f"{seeds} fits")
        right.plot(0.2, 1.0, "k+", markersize=12, label="truth")
        right.errorbar(0.2, 1.0, best.errors[1], best.errors[0], color="k", capsize=3, label="predicted")
        right.set(xlabel="mu", ylabel="mass (kg)")
        right.legend(fontsize="x-small")

    told.figure(draw)
    told.done()
    return best, both, alone, found


if __name__ == "__main__":
    main(arguments().small)
