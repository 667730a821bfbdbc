#!/usr/bin/env python3
"""Instructions of the step, the Jacobian and the VJP against another version, counted by valgrind --tool=callgrind.

The other version records a trajectory of each robot (bench_instructions_other record); both then start from the same
states with the same caches. Seed 0 is for development, results are of other seeds.

    cmake --preset bench -DBENCH_WIDE_LIBRARY=<built checkout of the other version>
    cmake --build --preset bench --target bench_instructions bench_instructions_other
    .venv/bin/python bench/instructions.py [--states 100] [--seed 1] [--robots Go1 H1]

With --time, processor time in place of instructions: both programs in turn, on an idle machine.

    .venv/bin/python bench/instructions.py --time 11 --states 1000
"""

import argparse
import re
import resource
import statistics
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
    "Atlas": "atlas/scene.xml", "Toddler": "hard/toddlerbot_2xc.xml", "TIAGo": "hard/pal_tiago_position.xml", "Shadow": "hard/shadow_hand.xml",
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
        if found and counts[found[2]] == 0:  # functions come first, then lines that call them
            counts[found[2]] = int(found[1].replace(",", ""))
    counts["step"] //= 2  # each state takes two steps
    return counts, run.stdout.strip()


def processor_time(program, model, states_file, states):
    """Seconds of one run: a step, the Jacobian, a step and the VJP of each state."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([program, "run", model, states_file, str(states), "0"], stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def change(before, after):
    return f"{100 * (after / before - 1):+.1f}"


def compare_times(given, model, states_file):
    """Microseconds per state without loading, and their change: the least of the runs, and the median."""
    few = 3  # states of a run that does little but load the model
    runs = {program: ([], []) for program in (given.other, given.ours)}
    for _ in range(given.time):
        for program, (short, whole) in runs.items():
            short.append(processor_time(program, model, states_file, few))
            whole.append(processor_time(program, model, states_file, given.states))
    cells = []
    for of in (min, statistics.median):
        before, after = (1e6 * (of(whole) - of(short)) / (given.states - few) for short, whole in runs.values())
        cells += [f"{after:.1f}", change(before, after)]
    return cells


def compare_instructions(given, model, states_file):
    """Contacts, then instructions and their change by call."""
    folder = Path(states_file).parent
    before, other = count(given.other, model, states_file, given.states, folder)
    after, ours = count(given.ours, model, states_file, given.states, folder)
    if given.verbose:
        print(f"    other: {other}\n    ours:  {ours}", flush=True)
    cells = [re.search(r"contacts ([\d.]+)", ours)[1]]
    for call in CALLS:
        cells += [f"{after[call] // (given.states - 2):,}", change(before[call], after[call])]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--ours", default=str(BUILD / "bench_instructions"))
    parser.add_argument("--other", default=str(BUILD / "bench_instructions_other"))
    parser.add_argument("--verbose", action="store_true", help="prints contacts, factorisations and hashes of results")
    parser.add_argument("--time", type=int, metavar="RUNS", help="processor time, runs of each program")
    given = parser.parse_args()
    compare = compare_times if given.time else compare_instructions
    if given.time:
        columns = ("robot", "least, us per state", "change, %", "median, us per state", "change, %")
    else:
        columns = ("robot", "contacts", "step: instructions", "change, %", "Jacobian", "change, %", "VJP", "change, %")
    print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}")
    robots = Path('/work/shared') / "robots"
    with tempfile.TemporaryDirectory() as folder:
        for name in given.robots:
            model, states_file = str(robots / ROBOTS[name]), str(Path(folder) / "states")
            recorder = [given.other, "record", model, states_file, str(given.states), str(given.seed)]
            subprocess.run(recorder, check=True)
            print(f"| {name} | {' | '.join(compare(given, model, states_file))} |", flush=True)


if __name__ == "__main__":
    main()
