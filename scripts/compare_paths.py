"""The code paths of a wheel compute the same: states are recorded with one path and computed again with another.

    TANGERE_CPU=baseline compare_paths.py record FILE
    TANGERE_CPU=avx2 compare_paths.py compare FILE

Smooth dynamics must agree to 1e-12 relative to the largest number of each result, relative to its condition where an
inverse is taken, and relative to the mass matrix times the speed where terms of that size cancel (derivatives of a
cube). The velocity after a contact step must agree to 1e-9 m/s or rad/s (times the largest speed, where that is above
1). Two solutions that are both certified and farther apart belong to a problem with several solutions, or to an
ill-conditioned one: they are counted, and the count is printed.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import tangere as tg

SMOOTH, STEPS = 40, 300  # random states and steps per model


def models() -> dict[str, str]:
    """Our own models, and robots of the shared folder where there is one."""
    root = pathlib.Path(__file__).resolve().parent.parent
    found = {path.stem: str(path) for path in sorted((root / "models").glob("*.xml"))}
    shared = pathlib.Path(os.environ.get("TANGERE_SHARED", root.parent / "shared")) / "robots"
    for path in sorted(shared.glob("*/scene.xml")) + sorted(shared.glob("gymnasium/*.xml")):
        found[f"{path.parent.name}/{path.stem}"] = str(path)
    return found


def load(path: str) -> tg.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tg.load(path)


def smooth(m: tg.Model, q: Any, v: Any) -> dict[str, Any]:
    a = np.ones(m.nv)
    return {
        "mass_matrix": m.mass_matrix(q),
        "rnea": m.rnea(q, v, a),
        "rnea_derivatives": np.concatenate(m.rnea_derivatives(q, v, a)),
        "body_poses": np.concatenate([np.ravel(x) for x in m.body_poses(q)]),
        "forward_dynamics": m.forward_dynamics(q, v),
    }


def record(file: str) -> None:
    out: dict[str, Any] = {}
    for name, path in models().items():
        m = load(path)
        states = [tuple(m.random_state(seed)) for seed in range(SMOOTH)]
        numbers = [smooth(m, q, v) for q, v in states]
        steps = []
        rng = np.random.default_rng(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim = tg.Sim(m)
        if m.nkey:
            sim.reset(0)
        for i in range(STEPS):
            if i % 100 == 0:
                sim.v = 0.5 * rng.standard_normal(m.nv)
            before = sim.save()
            u = 0.1 * rng.standard_normal(m.nu)
            sim.step(u=u)
            steps.append((before, u, sim.v, sim.info.residual, sim.info.ncontact))
        out[name] = (path, states, numbers, steps)
    pathlib.Path(file).write_bytes(pickle.dumps((tg.cpu_path, out)))
    print(f"paths: {tg.cpu_path}: {len(out)} models recorded")


def compare(file: str) -> int:
    path, recorded = pickle.loads(pathlib.Path(file).read_bytes())
    worst: dict[str, float] = {}
    contact_steps = apart = uncertified = 0
    for name, (source, states, numbers, steps) in recorded.items():
        m = load(source)
        for (q, v), before in zip(states, numbers, strict=True):
            condition = np.linalg.cond(before["mass_matrix"])
            for key, value in smooth(m, q, v).items():
                size = np.max(np.abs(before[key]), initial=0)
                if key == "rnea_derivatives":
                    size = max(size, np.max(np.abs(before["mass_matrix"])) * max(1, np.max(np.abs(v))))
                error = np.max(np.abs(value - before[key]), initial=0) / size
                if key == "forward_dynamics":
                    error /= condition
                worst[key] = max(worst.get(key, 0), float(error))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim = tg.Sim(m)
        here = 0
        for state, u, v, residual, contacts in steps:
            sim.restore(state)
            sim.step(u=u)
            contact_steps += contacts > 0
            error = np.max(np.abs(sim.v - v), initial=0) / max(1, np.max(np.abs(v), initial=0))
            if error > 1e-9:
                certified = max(residual, sim.info.residual) <= 1e-8
                here += 1
                apart += certified
                uncertified += not certified
        if here:
            print(f"paths: {name}: {here} of {len(steps)} steps differ by more than 1e-9")
    print(f"paths: {path} and {tg.cpu_path}: largest relative difference of smooth dynamics, {len(recorded)} models:")
    for key, error in worst.items():
        print(f"  {key:<18}{error:.1e}" + (" of the condition" if key == "forward_dynamics" else ""))
    print(
        f"  steps: {contact_steps} with contacts; differ by more than 1e-9: {apart} with two certified solutions, "
        f"{uncertified} with a solution that is not certified"
    )
    return 0 if max(worst.values()) <= 1e-12 and path != tg.cpu_path else 1


if __name__ == "__main__":
    sys.exit(record(sys.argv[2]) if sys.argv[1] == "record" else compare(sys.argv[2]))
