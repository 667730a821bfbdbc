#!/usr/bin/env python3
"""Instructions of the step, the Jacobian and the VJP against another version, counted by valgrind --tool=callgrind.

The other version records a trajectory of each robot (bench_instructions_other record); both then start from the same
states with the same caches. Seed 0 is for development, results are of other seeds.

    cmake --preset bench -DBENCH_WIDE_LIBRARY=<built checkout of the other version>
    cmake --build --preset bench --target bench_instructions bench_instructions_other
    .venv/bin/python bench/instructions.py [--states 100] [--seed 1] [--robots Go1 H1]
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench" / "bench"
ROBOTS = {
    "half-cheetah": "gymnasium/half_cheetah.xml",
    "humanoid": "mujoco_humanoid/humanoid.xml",
    "UR5e": "universal_robots_ur5e/scene.xml",
    "Go1": "unitree_go1/scene.xml",
    "H1": "unitree_h1/scene.xml",
    "Atlas": "atlas/scene.xml",
}
CALLS = ("step", "jacobian", "vjp")
COUNTED = re.compile(r"^\s*([\d,]+)\s.*:count_(step|jacobian|vjp)\b")


def count(program, model, states_file, states, folder):
    """Inclusive instructions by call, and the line that the program printed."""
    out = Path(folder) / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
    run = subprocess.run(
        [*command, program, "run", model, states_file, str(states), "0"], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        sys.exit(run.stderr)
    table = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    counts = dict.fromkeys(CALLS, 0)
    for line in table.splitlines():
        found = COUNTED.match(line)
        if found:
            counts[found[2]] = int(found[1].replace(",", ""))
    counts["step"] //= 2  # each state takes two steps
    return counts, run.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--ours", default=str(BUILD / "bench_instructions"))
    parser.add_argument("--other", default=str(BUILD / "bench_instructions_other"))
    parser.add_argument("--verbose", action="store_true", help="prints contacts, factorisations and hashes of results")
    given = parser.parse_args()
    print("| robot | contacts | step: instructions | change, % | Jacobian | change, % | VJP | change, % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    robots = ROOT.parent / "shared" / "robots"
    with tempfile.TemporaryDirectory() as folder:
        for name in given.robots:
            model, states_file = str(robots / ROBOTS[name]), str(Path(folder) / "states")
            recorder = [given.other, "record", model, states_file, str(given.states), str(given.seed)]
            subprocess.run(recorder, check=True)
            before, other = count(given.other, model, states_file, given.states, folder)
            after, ours = count(given.ours, model, states_file, given.states, folder)
            cells = []
            for call in CALLS:
                cells.append(f"{after[call] // (given.states - 2):,}")
                cells.append(f"{100 * (after[call] / before[call] - 1):+.1f}")
            contacts = re.search(r"contacts ([\d.]+)", ours)[1]
            print(f"| {name} | {contacts} | {' | '.join(cells)} |", flush=True)
            if given.verbose:
                print(f"    other: {other}\n    ours:  {ours}", flush=True)


if __name__ == "__main__":
    main()
