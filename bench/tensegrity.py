"""The tensegrity paper's study on SUPERball: corners, noise, variants, contact parameters, planners, transfer.

    .venv/bin/python bench/tensegrity.py corners noise calibration variants own soft starts contact whole checkers
        trained transfer methods hills pages picture --data FOLDER

Every part prints its rows as they are done and appends them to FOLDER/NAME.jsonl; rows that are there are not run
again.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import tangere as tg
from tangere.tensegrity import checker, command, contact, data, judge, robot, train, transfer
from tangere.tensegrity import noise as uncertainty

OWN = (1, 1.0)  # rolls of our own engine, and their s: the robot is at rest after 2 s
MOVING = 1.5  # s of a roll of MuJoCo that are used: later tuples are of a robot at rest
ENGINES = {"engine random": "random", "engine mujoco": "mujoco"}  # MPPI with random parameters, and on MuJoCo
PLANNERS = ("mppi", "cem", "random", "ilqg", "ilqr", *ENGINES)
LABELS = {
    "mppi": "MPPI", "cem": "CEM", "random": "random\nshooting", "ilqg": "iLQG", "ilqr": "iLQR",
    "engine random": "MPPI, random\nparameters", "engine mujoco": "MPPI,\non MuJoCo",
}  # fmt: skip
CALIBRATION = 20  # seeds: mean squares of 20 normal numbers are 1 +- 0.32
DRAWS = 1000  # to first order: spreads to 2 %
STARTS = 8  # random ones, as many as there are corners
CORNERS = list(itertools.product((0.5, 1.5), repeat=3))


class Book:
    """Rows of one part: read, run what is missing, append."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.jsonl"
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self.rows = {json.dumps(row["key"]): row for row in map(json.loads, lines)}

    def run(self, key: Any, work: Any) -> dict[str, Any]:
        name = json.dumps(key)
        if name not in self.rows:
            began, cpu = time.perf_counter(), time.process_time()
            row = {"key": json.loads(name), **work()}
            row["wall_s"], row["cpu_s"] = time.perf_counter() - began, time.process_time() - cpu
            self.rows[name] = row
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return self.rows[name]


def _hanging(folder: Path) -> data.Data:
    return data.read(folder / "hang_10hz.npz", 10)


def corners(folder: Path, given: argparse.Namespace) -> None:
    """All corners 50 % off, one trajectory; error over the ten test trajectories."""
    book, hang = Book(folder, "corners"), _hanging(folder)

    def work(start: tuple[float, ...]) -> dict[str, Any]:
        found = train.identify(hang, start, trajectories=1, threads=given.threads)
        seen = judge.judge(found.model(hang), hang, found.dt, implicit_tendons=found.implicit)
        return {"off": (found.factors - 1).tolist(), "fit_cpu_s": found.cpu, "com_worst": float(seen.error.max()),
                "rungs": [[r.dt, r.implicit, r.iterations] for r in found.rungs]}  # fmt: skip

    for start in CORNERS:
        row = book.run(start, lambda start=start: work(start))
        print(
            f"{start}: off by {np.abs(row['off']).max():.1e}, {row['fit_cpu_s']:.2f} s, test {row['com_worst']:.1e} m"
        )


def noise(folder: Path, given: argparse.Namespace) -> None:
    """1 mm, 1 mrad, 1 cm/s, 1 crad/s of noise: estimates and their standard errors."""
    book, hang = Book(folder, "noise"), _hanging(folder)

    def work(seed: int) -> dict[str, Any]:
        logs = command._noisy(hang.logs("train", given.trajectories), 1e-3, seed)
        found = train.identify(hang, (0.5, 0.5, 1.5), logs=logs, noise=None, threads=given.threads)
        seen = judge.judge(found.model(hang), hang, found.dt, implicit_tendons=found.implicit)
        return {"off": (found.factors - 1).tolist(), "errors": found.errors.tolist(), "com": seen.last.tolist()}

    for seed in range(given.seeds):
        row = book.run(seed, lambda seed=seed: work(seed))
        sigmas = np.abs(row["off"]) / row["errors"]
        print(f"seed {seed}: off {np.round(row['off'], 6)}, errors {np.round(row['errors'], 6)}, sigmas {sigmas}")


def calibration(folder: Path, given: argparse.Namespace) -> None:
    """Whether standard errors are right: 20 seeds of the noise, one trajectory, explicit steps from 10 % off."""
    book, hang = Book(folder, "calibration"), _hanging(folder)

    def work(seed: int) -> dict[str, Any]:
        logs = command._noisy(hang.logs("train", 1), 1e-3, seed)
        found = train.identify(hang, (0.9, 0.9, 1.1), "explicit", logs=logs, noise=None, threads=given.threads)
        return {"off": (found.factors - 1).tolist(), "errors": found.errors.tolist()}

    rows = [book.run(100 + i, lambda i=i: work(100 + i)) for i in range(CALIBRATION)]
    z = np.array([np.array(row["off"]) / row["errors"] for row in rows])
    for name, one in zip(command.NAMES, z.T, strict=True):
        print(
            f"{name}: mean {one.mean():+.2f} (0 +- {len(z) ** -0.5:.2f}), mean square {(one**2).mean():.2f} "
            f"(1 +- {(2 / len(z)) ** 0.5:.2f}), largest {np.abs(one).max():.2f} standard errors"
        )
    print(f"{(np.abs(z) > 1).mean():.0%} beyond 1 (32 %), {(np.abs(z) > 2).mean():.0%} beyond 2 (5 %), of {z.size}")
    m = hang.model()
    pairs = uncertainty.tuples_of(
        m, hang.logs("train", 1), robot.body_unknowns(m), np.ones(3), train.STEP, given.threads, implicit_tendons=False
    )
    rng, size = np.random.default_rng(given.seed), np.repeat([1e-3, 1e-2], m.nv)
    draws = np.array([_linear(pairs, size * rng.standard_normal((len(pairs.e) + 1, 2 * m.nv))) for _ in range(DRAWS)])
    found, independent = draws[:, :3].std(axis=0), draws[:, 6:].mean(axis=0)
    print(f"{DRAWS} draws to first order: spread of the estimates {found}; mean of the standard errors "
          f"{draws[:, 3:6].mean(axis=0)}, {independent} if residuals were independent")  # fmt: skip


def _linear(pairs: uncertainty.Tuples, n: np.ndarray) -> np.ndarray:
    """What noise n of the states does to an estimate, to first order; its standard errors, and those of `fit`."""
    e = np.einsum("sij,sj->si", pairs.by_start, n[:-1]) - n[1:]
    seen = dataclasses.replace(pairs, e=e)
    square = np.array([(e[:, pairs.kind == k] ** 2).mean() for k in range(pairs.kind.max() + 1)])[pairs.kind]
    weighted = pairs.by_factor / square[:, None]
    inverse = np.linalg.inv(np.einsum("sni,snj->ij", weighted, pairs.by_factor))
    off = -inverse @ np.einsum("sni,sn->i", weighted, e)
    return np.concatenate([off, uncertainty.standard_errors(seen)[0], np.sqrt(np.diag(inverse))])


def variants(folder: Path, given: argparse.Namespace) -> None:
    """The four variants, without and with noise."""
    book = Book(folder, "variants")
    for size, variant in itertools.product((0.0, 1e-3), ("feed-forward", "implicit", "progressive", "dense")):
        call = argparse.Namespace(
            folder=folder,
            start="0.5,0.5,1.5",
            trajectories=given.trajectories,
            threads=given.threads,
            noise=size,
            seed=0,
        )
        row = book.run((size, variant), lambda call=call, variant=variant: command._train(call, variant)[1])
        last = np.array(row["com_error"])
        off = ", ".join(f"{100 * (x - 1):+.3g} %" for x in row["factors"])
        print(f"noise {size:g}, {variant}: {off}; com {last.mean():.3g} +- {last.std():.2g} m, {row['cpu']:.1f} s")


def own(folder: Path, given: argparse.Namespace) -> None:
    """Our engine on its own data: sliding and rolling friction, four corners."""
    book, m = Book(folder, "own"), tg.load_string(robot.roll_text())
    for start in itertools.product((0.5, 1.5), repeat=2):

        def work(start: tuple[float, ...] = start) -> dict[str, Any]:
            logs = contact.own_rolls(m, OWN[0], given.seed, OWN[1])
            found = contact.identify_contact(m, logs, ("slide", "roll"), start, threads=given.threads)
            return {"off": (found.factors - 1).tolist(), "cost": found.cost}

        row = book.run(("ncp", given.seed, start), work)
        print(
            f"slide, roll from {start}: off by {np.round(row['off'], 6)}, cost {row['cost']:.2g}, {row['cpu_s']:.0f} s"
        )


def soft(folder: Path, given: argparse.Namespace) -> None:
    """The compliant law on its own data: compliance, damping and friction, eight corners."""
    book, soft = Book(folder, "soft"), compliant(tg.load_string(robot.roll_text()))
    for start in CORNERS:

        def soft_work(start: tuple[float, ...] = start) -> dict[str, Any]:
            logs = contact.own_rolls(soft, OWN[0], given.seed, OWN[1], law="compliant")
            parts = ("compliance", "damping", "slide")
            found = contact.identify_contact(soft, logs, parts, start, threads=given.threads, law="compliant")
            return {"off": (found.factors - 1).tolist(), "cost": found.cost}

        row = book.run(("compliant", given.seed, start), soft_work)
        off = np.round(row["off"], 6)
        print(f"compliant from {start}: off by {off}, cost {row['cost']:.2g}, {row['cpu_s']:.0f} s", flush=True)


def starts(folder: Path, given: argparse.Namespace) -> None:
    """Both laws on their own data from random starts: the grids of the corners share points, these do not."""
    book, rigid = Book(folder, "starts"), tg.load_string(robot.roll_text())
    laws = {
        "compliant": (compliant(rigid), ("compliance", "damping", "slide"), {"law": "compliant"}),
        "ncp": (rigid, ("slide", "roll"), {}),
    }
    for i, law in itertools.product(range(STARTS), laws):
        m, parts, options = laws[law]
        start = tuple(np.random.default_rng((given.seed, i)).uniform(0.5, 1.5, len(parts)))

        def work(m: Any = m, parts: Any = parts, options: Any = options, start: Any = start) -> dict[str, Any]:
            logs = contact.own_rolls(m, OWN[0], given.seed, OWN[1], **options)
            found = contact.identify_contact(m, logs, parts, start, threads=given.threads, **options)
            return {"off": (found.factors - 1).tolist(), "cost": found.cost}

        row = book.run((law, given.seed, start), work)
        off = np.abs(row["off"]).max()
        print(f"{law} from {np.round(start, 2)}: off by {off:.1e}, {row['cpu_s']:.1f} s", flush=True)


def compliant(m: tg.Model, stiffness: float = 3e5, damping: float = 1e3) -> tg.Model:
    """Contacts as springs and dampers, of the size of MuJoCo's default contact under this robot: 0.6 mm under 196 N."""
    m = m.copy()
    m.params["geom.floor.compliance"] = 1 / stiffness
    m.params["geom.floor.damping"] = damping
    return m


def _contact_row(roll: data.Data, m: tg.Model, **options: Any) -> dict[str, Any]:
    seen = judge.judge(m, roll, train.STEP, **options)
    return {
        "com": seen.last.tolist(), "relative": seen.relative.tolist(), "path": seen.length.tolist(),
        "mean_relative": float(np.nanmean(seen.last) / seen.length.mean()), "failed": seen.failed,
    }  # fmt: skip


def contacts(folder: Path, given: argparse.Namespace) -> None:
    """MuJoCo's rolls: the law with MuJoCo's parameters, and with identified ones; test trajectories of 5 s."""
    book, roll = Book(folder, "contact"), data.read(folder / "roll_10hz.npz", 10)
    m = roll.model()

    def show(name: str, row: dict[str, Any]) -> None:
        print(
            f"{name}: {np.mean(row['com']):.3f} +- {np.std(row['com']):.3f} m after 5 s, relative mean "
            f"{100 * np.mean(row['relative']):.1f} % (of means {100 * row['mean_relative']:.1f} %), "
            f"{row.get('factors', '')} {row['cpu_s']:.0f} s",
            flush=True,
        )

    for name, options in (("end", {}), ("within", {"impact": "within"})):
        key = ("MuJoCo's parameters", name)
        show(str(key), book.run(key, lambda options=options: _contact_row(roll, m, **options)))
    for start in itertools.product((0.5, 1.5), repeat=2):

        def work(start: tuple[float, ...] = start) -> dict[str, Any]:
            logs = [cut(log, MOVING) for log in roll.logs("train", given.trajectories)]
            found = contact.identify_contact(m, logs, ("slide", "roll"), start, threads=given.threads)
            other = m.copy()
            robot.scale(other, robot.contact_unknowns(other), found.factors)
            return {"factors": found.factors.tolist(), **_contact_row(roll, other)}

        key = ("identified", start, given.trajectories)
        show(str(key), book.run(key, work))


def whole(folder: Path, given: argparse.Namespace) -> None:
    """The whole identification: the hanging robot, then friction of the rolling one; processor time and wall time."""
    hang, roll = _hanging(folder), data.read(folder / "roll_10hz.npz", 10)
    wall, cpu = time.perf_counter(), time.process_time()
    body = train.identify(hang, (0.5, 1.5, 0.5), trajectories=1, threads=given.threads)
    m = roll.model()
    robot.scale(m, robot.body_unknowns(m), body.factors)
    logs = [cut(log, MOVING) for log in roll.logs("train", 2)]
    found = contact.identify_contact(m, logs, start=(0.5, 1.5), threads=given.threads)
    print(
        f"factors {np.round(body.factors, 9)}, friction {np.round(found.factors, 4)}; "
        f"{time.process_time() - cpu:.1f} s of processor time ({body.cpu:.1f} and {found.cpu:.1f}), "
        f"{time.perf_counter() - wall:.1f} s"
    )


def checkers(folder: Path, given: argparse.Namespace) -> None:
    """Our collision detection and MuJoCo's: error over 5 s of the tests, and time of the tuples of two rolls."""
    book, roll = Book(folder, "checkers"), data.read(folder / "roll_10hz.npz", 10)
    m, mine = roll.model(), {"ours": None, "MuJoCo's": checker.Checker(roll.text)}
    every = round(train.TUPLE / train.STEP)

    def work(name: str) -> dict[str, Any]:
        chosen, off, began = roll.part("test"), [], time.process_time()
        for i in chosen:
            steps = every * (len(roll.time) - 1)
            q, _ = checker.follow(m, roll.q[i, 0], roll.v[i, 0], steps, mine[name], every=every)
            truth = robot.com(m, roll.q[i])
            length = robot.path_length(truth)
            off.append([float(np.linalg.norm(robot.com(m, q)[-1] - truth[-1])), float(length)])
        steps = len(chosen) * every * (len(roll.time) - 1)
        return {"off": off, "step_s": (time.process_time() - began) / steps}

    def epoch(name: str) -> float:
        began = time.process_time()
        for log in (cut(log, MOVING) for log in roll.logs("train", 2)):
            for q, v in zip(log["q"][:-1], log["v"][:-1], strict=True):
                checker.follow(m, q, v, every, mine[name], every=every)
        return time.process_time() - began

    for name in mine:
        row = book.run(name, lambda name=name: {**work(name), "epoch_s": min(epoch(name) for _ in range(3))})
        off, length = np.array(row["off"]).T
        print(
            f"{name}: {off.mean():.4f} +- {off.std():.4f} m after 5 s, {100 * (off / length).mean():.2f} % of the "
            f"path; {row['epoch_s']:.2f} s per epoch, {1e6 * row['step_s']:.0f} us per step (processor time)"
        )


def trained(folder: Path, given: argparse.Namespace) -> None:
    """Friction from MuJoCo's rolls, from 10 % off, with our collision detection and with MuJoCo's contacts."""
    book, roll = Book(folder, "trained"), data.read(folder / "roll_10hz.npz", 10)
    m, mine = roll.model(), {"ours": None, "MuJoCo's": checker.Checker(roll.text)}

    def work(name: str) -> dict[str, Any]:
        logs = [cut(log, MOVING) for log in roll.logs("train", 2)]
        found = contact.identify_contact(
            m, logs, start=(0.9, 1.1), grid=(1.0,), threads=given.threads, checker=mine[name]
        )
        other = m.copy()
        robot.scale(other, robot.contact_unknowns(other), found.factors)
        fitted = {"factors": found.factors.tolist(), "errors": found.errors.tolist(), "fit_cpu_s": found.cpu}
        return {**fitted, **_contact_row(roll, other)}

    for name in mine:
        row = book.run(name, lambda name=name: work(name))
        print(
            f"{name}: friction {np.round(row['factors'], 4)} +- {np.round(row['errors'], 4)}, "
            f"{np.mean(row['com']):.4f} +- {np.std(row['com']):.4f} m after 5 s, "
            f"{100 * np.mean(row['relative']):.2f} % of the path, {row['fit_cpu_s']:.1f} s",
            flush=True,
        )


def cut(log: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The first rows of a log: later the robot is at rest."""
    rows = round(seconds / train.TUPLE) + 1
    return {name: value if name == "name" else value[:rows] for name, value in log.items()}


def _roll(given: argparse.Namespace, seed: int, **more: Any) -> dict[str, Any]:
    words = {"reading": "C", "threads": given.threads, "controls": given.controls, "page": None,
             "samples": given.samples, "ground": "flat", "method": "mppi",
             "open": False, "engine": "tangere", "factors": "1,1,1,1", "seed": seed, **more}  # fmt: skip
    return command.run_roll(argparse.Namespace(**words))


def transfers(folder: Path, given: argparse.Namespace) -> None:
    """Planned on the identified engine, on MuJoCo and on random parameters; executed on MuJoCo."""
    book = Book(folder, "transfer")
    ways = [("tangere", False), ("mujoco", False), ("random", False), ("tangere", True), ("random", True)]
    for (engine, blind), seed in itertools.product(ways, range(given.seeds)):
        out = folder / f"roll_{engine}_{'open' if blind else 'closed'}_{seed}.npz"
        row = book.run(
            (engine, blind, seed, given.factors, given.controls),
            lambda engine=engine, blind=blind, seed=seed, out=out: _roll(
                given, seed, engine=engine, open=blind, out=str(out), factors=given.factors
            ),
        )
        print(
            f"{engine} {'open' if blind else 'closed'}, seed {seed}: vx {row['vx']:.3f} m/s, end "
            f"{np.round(row['end'], 2)}, {row['miss']:.2f} m off, {row['planning_s']:.0f} s of "
            f"planning, {row['cpu_s']:.0f} s of processor time",
            flush=True,
        )


def methods(folder: Path, given: argparse.Namespace) -> None:
    """The planners at equal budgets: --samples rollouts of 1 s per iteration, 5 iterations per control, on MuJoCo."""
    book = Book(folder, "methods")
    for seed, method in itertools.product(range(given.seeds), given.planners.split(",")):
        more = {"engine": ENGINES[method]} if method in ENGINES else {"method": method, "factors": given.factors}
        out = str(folder / f"roll_{method.replace(' ', '-')}_{given.controls}_{seed}.npz")
        row = book.run(
            (method, seed, given.factors, given.controls, given.samples),
            lambda seed=seed, out=out, more=more: _roll(given, seed, out=out, **more),
        )
        print(
            f"{method}, seed {seed}: vx {row['vx']:.3f} m/s, end {np.round(row['end'], 2)}, {row['miss']:.2f} m off, "
            f"{row['cpu_s']:.0f} s of processor time, {row['points']} points",
            flush=True,
        )


def hills(folder: Path, given: argparse.Namespace) -> None:
    """Rolls without controls over the height field, 4 m/s along x and 5 other directions, ours beside MuJoCo's."""
    text = robot.roll_text(ground="hills")
    m, steps = tg.load_string(text), 2000
    for angle in np.linspace(-0.4, 0.4, 6):
        v = robot.rolling(m.default_q(), float(angle), 4.0)
        q, _ = checker.follow(m, m.default_q(), v, steps, every=20)
        other = transfer.MujocoRobot(text)
        other.data.qvel[:] = v
        kept = [other.q.copy()]
        for k in range(steps):
            other.step(np.zeros(m.nu))
            if (k + 1) % 20 == 0:
                kept.append(other.q.copy())
        ours, theirs = robot.com(m, q), robot.com(m, np.array(kept))
        off, length = np.linalg.norm(ours - theirs, axis=1), float(robot.path_length(theirs))
        print(
            f"{angle:+.2f} rad: end {np.round(ours[-1], 2)} and {np.round(theirs[-1], 2)} m, {off[-1]:.3f} m apart, "
            f"{100 * off[-1] / length:.1f} % of the path"
        )
        for name, path in (("ours", q), ("mujoco", np.array(kept))):
            page = folder / f"hills_{name}_{angle:+.2f}.html"
            tg.view(m, {"time": 20 * train.STEP * np.arange(len(path)), "q": path}, html=str(page))


def pages(folder: Path, given: argparse.Namespace) -> None:
    """An offline page (HTML) of every roll that is there."""
    for path in sorted(folder.glob("roll_*_*_*.npz")):
        with np.load(path) as made:
            if "about" not in made.files:
                continue  # interrupted
            q, about = made["q"], json.loads(str(made["about"]))
        m = tg.load_string(robot.roll_text("C", about.get("ground", "flat")))
        tg.view(m, {"time": train.TUPLE * np.arange(len(q)), "q": q}, html=str(path.with_suffix(".html")))
        print(path.with_suffix(".html"))


def picture(folder: Path, given: argparse.Namespace) -> None:
    """Errors of the centre of mass over test trajectories, and rolls on MuJoCo, from the results that are there."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    (left, middle), (planners, right) = axes
    hang = _hanging(folder)
    for row in Book(folder, "variants").rows.values():
        size, variant = row["key"]
        if size > 0 or variant == "dense":
            continue
        dt, implicit = train._rungs(variant)[-1]
        m = hang.model()
        robot.scale(m, robot.body_unknowns(m), np.array(row["factors"]))
        error = judge.judge(m, hang, dt, implicit_tendons=implicit).error
        _band(left, hang.time, np.maximum(error, 1e-16), variant)
    left.set(yscale="log", xlabel="s", ylabel="m", title="hanging: error of the centre of mass (Fig. 4)")
    roll = data.read(folder / "roll_10hz.npz", 10)
    chosen = {"MuJoCo's friction": np.ones(2)}
    for row in Book(folder, "contact").rows.values():
        if row["key"][0] == "identified":
            chosen["identified friction"] = np.array(row["factors"])
    for name, factors in chosen.items():
        m = roll.model()
        robot.scale(m, robot.contact_unknowns(m), factors)
        seen = judge.judge(m, roll, train.STEP)
        _band(middle, roll.time, 100 * seen.error / seen.length[:, None], name)
    middle.axhline(24.7, color="k", ls=":", label="published, at the end")
    middle.set(xlabel="s", ylabel="% of the path", title="rolling: error of the centre of mass (Fig. 5, right)")
    _show_planners(planners, Book(folder, "methods").rows.values())
    _show_paths(right, folder)
    for one in (left, middle, right):
        one.legend(fontsize=7)
    figure.savefig(given.picture, dpi=110)
    print(given.picture)


def _show_planners(axes: Any, rows: Any) -> None:
    """Mean speed along x of every planner and seed."""
    names = [name for name in PLANNERS if any(row["key"][0] == name for row in rows)]
    for i, name in enumerate(names):
        vx = [row["vx"] for row in rows if row["key"][0] == name]
        axes.bar(i, np.mean(vx), color="tab:blue", alpha=0.4)
        axes.plot(np.full(len(vx), i), vx, "k.")
    axes.set_xticks(range(len(names)), [LABELS.get(name, name) for name in names], fontsize=7)
    axes.set(ylabel="m/s", title="mean speed along x on MuJoCo (Fig. 7; more in the table)")


def _show_paths(axes: Any, folder: Path) -> None:
    """Paths of the centre of mass: planned on three engines, executed on MuJoCo."""
    colours = {"tangere": "tab:blue", "mujoco": "tab:orange", "random": "tab:red"}
    labels = {"tangere": "identified", "mujoco": "MuJoCo", "random": "random parameters"}
    for path in sorted(folder.glob("roll_*_*_*.npz")):
        with np.load(path) as made:
            if "about" not in made.files:
                continue  # interrupted
            about, com = json.loads(str(made["about"])), made["com"]
        if about["method"] != "mppi" or about["ground"] != "flat" or about["open"]:
            continue
        axes.plot(com[:, 0], com[:, 1], color=colours[about["engine"]], label=labels.pop(about["engine"], None))
    axes.axhline(0, color="k", ls=":", lw=0.8)
    axes.set(xlabel="x (m)", ylabel="y (m)", title="MPPI, executed on MuJoCo (Fig. 8)", ylim=(-1.5, 1.5))


def _band(axes: Any, t: np.ndarray, error: np.ndarray, name: str) -> None:
    mean, spread = np.nanmean(error, axis=0), np.nanstd(error, axis=0)
    line = axes.plot(t, mean, label=name)[0]
    axes.fill_between(t, np.maximum(mean - spread, mean / 10), mean + spread, color=line.get_color(), alpha=0.2)


PARTS = {
    "corners": corners, "noise": noise, "calibration": calibration, "variants": variants, "own": own, "soft": soft,
    "starts": starts, "contact": contacts, "whole": whole, "checkers": checkers, "trained": trained,
    "transfer": transfers, "methods": methods, "hills": hills, "pages": pages, "picture": picture,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), choices=[*PARTS, []])
    parser.add_argument("--data", type=Path, default=Path("build/tensegrity"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--trajectories", type=int, default=10)
    parser.add_argument(
        "--factors", default="1,1,1,1", help="of the identified engine: stiffness, damping, mass, friction"
    )
    parser.add_argument("--samples", type=int, default=transfer.SAMPLES, help="of an iteration of a planner")
    parser.add_argument("--controls", type=int, default=transfer.CONTROLS, help="of a roll")
    parser.add_argument("--planners", default=",".join(PLANNERS), help="of `methods`")
    parser.add_argument("--picture", default="docs/pictures/tensegrity.png")
    given = parser.parse_args()
    if not (given.data / "roll_1khz.npz").exists():
        data.write(given.data)
    for part in given.parts:
        print(f"# {part}: {PARTS[part].__doc__.splitlines()[0]}", flush=True)
        PARTS[part](given.data, given)


if __name__ == "__main__":
    main()
