"""SUPERball hangs by one rod: stiffness, damping and mass from ten samples per second of MuJoCo.

The fourth paper's identification without contact (section IV): one trajectory of 5 s with random controls, tuples of
100 ms, from the eight corners 50 % off. `tangere.tensegrity` has the data, the ladder of time steps and the variants;
`bench/tensegrity.py` the whole study.
"""

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
from tangere.tensegrity import data, identify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corners", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("build/tensegrity-example"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    counts = {"train": 1, "validation": 1, "test": 1}
    files = data.write(given.folder, seed=given.seed, counts=counts, kinds=("hang",), rates=("10hz",))
    log, rows = data.read(files[0], 10), []
    for corner in itertools.islice(itertools.product((0.5, 1.5), repeat=3), given.corners):
        found = identify(log, corner)
        rows.append((corner, (found.factors - 1).tolist(), found.cpu))
        print(f"{corner}: off by {np.abs(found.factors - 1).max():.1e}, {found.cpu:.2f} s of processor time")
        for rung in found.rungs:
            kind = "implicit" if rung.implicit else "explicit"
            factors = np.array2string(rung.factors, precision=4)
            print(f"    {1e3 * rung.dt:8.4f} ms {kind}, {rung.iterations:2d} iterations: {factors}")
    if given.out:
        given.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
