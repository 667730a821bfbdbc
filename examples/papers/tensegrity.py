"""SUPERball hangs by one rod: stiffness, damping and mass from ten samples per second of MuJoCo.

The fourth paper's identification without contact (section IV). MuJoCo moves the robot with random controls for 5 s and
is sampled at 10 Hz: positions, velocities, activations. A tuple is (state at t, controls over 100 ms) -> state at
t + 100 ms. The start is one of the eight corners 50 % off. Progressive training (Algorithm 1 of the paper): a ladder of
dt with implicit cables, from 100 ms as one step per tuple downwards, then explicit steps of 1 ms, which are those of
MuJoCo; Gauss-Newton on each rung. Weights: 1 mm and 1 mrad, 1 cm/s and 1 cm/s per m.
"""

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np
import tangere as tg

LADDER = (0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125, 0.0015625)  # s, implicit; then 1 ms, explicit
COARSE = 0.01  # s: rungs above this take 15 steps per tuple and iteration together, one at 1 ms takes 100
ENGINE = 0.001  # s: MuJoCo's step
TUPLE = 0.1  # s


def hanging_text() -> str:
    """The robot with rod 3 fixed in the air, and no floor."""
    path = Path(__file__).resolve().parents[2] / "models" / "superball.xml"
    lines = path.read_text().splitlines()
    return "\n".join(line for line in lines if 'name="floor"' not in line and 'name="free3"' not in line)


def record(text: str, seed: int, seconds: float = 5.0, reach: float = 100.0) -> dict:
    """MuJoCo with controls that are uniform in +-reach and held for 0.1 s; q, v, act, u at 10 Hz."""
    import mujoco  # noqa: PLC0415  (an extra)

    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    rng = np.random.default_rng(seed)
    every, rows = round(TUPLE / ENGINE), round(seconds / TUPLE)
    kept: dict[str, list] = {"time": [], "q": [], "v": [], "act": [], "u": []}
    for row in range(rows + 1):
        d.ctrl[:] = rng.uniform(-reach, reach, m.nu)
        for name, value in (("time", row * TUPLE), ("q", d.qpos), ("v", d.qvel), ("act", d.act), ("u", d.ctrl)):
            kept[name].append(np.array(value))
        for _ in range(every):
            mujoco.mj_step(m, d)
    return {name: np.array(values) for name, values in kept.items()}


def unknowns(m: tg.Model) -> list[dict[str, float]]:
    """Stiffness and damping of all cables, mass and inertia of all rods: three factors of their values now."""
    p = m.params
    parts = (["tendon.*.stiffness"], ["tendon.*.damping"], ["body.rod*.mass", "body.rod*.inertia"])
    return [
        {name: float(p[name]) for pattern in patterns for name in m.param_names(pattern) if p[name] != 0}
        for patterns in parts
    ]


def identify(text: str, log: dict, factors: tuple[float, float, float]) -> tuple[np.ndarray, list]:
    """The three factors, from a start; and (dt, factors, iterations) of each rung.

    Down the ladder with implicit cables until explicit steps of 1 ms are stable, but through its coarse rungs in any
    case; then explicit steps.
    """
    m = tg.load_string(text)
    groups = unknowns(m)
    where = np.concatenate([m.params.index(name) for group in groups for name in group])
    found, history = np.array(factors), []

    def use(factors: np.ndarray) -> None:
        values = [factor * np.array([*group.values()]) for group, factor in zip(groups, factors, strict=True)]
        m.params[where] = np.concatenate(values)  # all at once: a rod is a body at any time

    def fit(dt: float, **options: object) -> None:
        nonlocal found
        result = tg.fit(
            m, [log], groups, horizon=2, stride=1, dt=dt, channels=["q", "v"], noise={"q": 1e-3, "v": 1e-2}, **options
        )
        found = np.array(result.values)
        history.append((dt, found.copy(), result.optimum.iterations))
        use(found)

    use(found)
    for dt in LADDER:
        if dt < COARSE and stable_dt(m) > ENGINE:
            break
        fit(dt, iterations=5, implicit_tendons=True)
    fit(ENGINE, iterations=30, implicit_tendons=False)
    return found, history


def stable_dt(m: tg.Model) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may be too long is what is asked
        return tg.Sim(m, dt=ENGINE, implicit_tendons=False).stable_dt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corners", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    text = hanging_text()
    log = record(text, given.seed)
    rows = []
    for corner in itertools.islice(itertools.product((0.5, 1.5), repeat=3), given.corners):
        began = time.process_time()
        found, history = identify(text, log, corner)
        rows.append((corner, (found - 1).tolist(), time.process_time() - began))
        print(f"{corner}: off by {np.abs(found - 1).max():.1e}, {rows[-1][2]:.2f} s of CPU")
        for dt, x, iterations in history:
            print(f"    {1e3 * dt:8.4f} ms, {iterations:2d} iterations: {np.array2string(x, precision=4)}")
    if given.out:
        given.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
