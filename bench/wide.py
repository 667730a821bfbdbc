#!/usr/bin/env python3
"""The step beside MuJoCo's on models that nobody tuned to: `make bench-step-wide`.

Every robot of the shared folder and its hard/, and scenes that a seed makes (wide_scenes.py), each with the controls of
its keyframe and with uniform random ones, drawn anew every 0.1 s. bench_wide takes the steps: 0.6 s at the file's dt,
the second half counts, both engines in turn, each along its own trajectory, processor time, MuJoCo with the file's
options.

Seeds 0 to 99 are for development; a report ends with seeds 1000 to 1099, run once. With --other the same runs are made
with the library of another version (BENCH_WIDE_LIBRARY of bench/CMakeLists.txt).

    bench/wide.py --hard --quick              # seven robots: half a minute
    bench/wide.py --robots tiago barkour      # those whose path has one of these words
    bench/wide.py --scenes hand loop --seeds 0:10
    bench/wide.py --files my_robot.xml
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile

import wide_scenes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = pathlib.Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared"))

# Robots without their floor, and files that MuJoCo does not load as they lie there, are not scenes.
ROBOTS = (
    "agility_cassie/scene.xml",
    "anybotics_anymal_c/scene.xml",
    "atlas/scene.xml",
    "gymnasium/ant.xml",
    "gymnasium/half_cheetah.xml",
    "gymnasium/half_cheetah_free.xml",
    "gymnasium/hopper.xml",
    "gymnasium/humanoid.xml",
    "gymnasium/walker2d_v5.xml",
    "kuka_iiwa_14/scene.xml",
    "mujoco_humanoid/humanoid.xml",
    "unitree_go1/scene.xml",
    "unitree_h1/scene.xml",
    "unitree_h1/scene_mesh.xml",
    "universal_robots_ur5e/scene.xml",
    "universal_robots_ur5e/scene_mesh.xml",
)
LARGE = ("heap100", "heap300", "heap1000")  # long steps, which noise hardly changes: once
HARD_SEEDS = 5  # runs with random controls of each robot in hard/; the others have one


def seed_range(text):
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="*", metavar="WORD", help="only robots whose path has one of these words")
    parser.add_argument("--hard", action="store_true", help="only the robots of hard/")
    parser.add_argument("--scenes", nargs="*", metavar="KIND", help="only these: " + " ".join(wide_scenes.KINDS))
    parser.add_argument("--files", nargs="+", metavar="MODEL", help="only these files")
    parser.add_argument(
        "--seeds", type=seed_range, default=range(100), metavar="A:B", help="of scenes and controls (0:100)"
    )
    parser.add_argument("--quick", action="store_true", help="one run per step, two seeds of a hard robot")
    parser.add_argument("--stages", action="store_true", help="times the stages of all runs, not of hard robots alone")
    parser.add_argument("--repeat", type=int, help="runs of which every step keeps its smallest time (2; quick: 1)")
    parser.add_argument("--runner", default=ROOT / "build/bench/bench/bench_wide", type=pathlib.Path)
    parser.add_argument("--other", type=pathlib.Path, metavar="RUNNER", help="the same runs with this program")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where the generated files stay")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="all runs, one object per line")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", help="writes step_wide.md there")
    a = parser.parse_args()
    a.repeat = a.repeat or (1 if a.quick else 2)
    return a


# ---- what is run ----


def robot_jobs(a):
    """(group, name, file, seeds of random controls)"""
    start = a.seeds.start
    count = 2 if a.quick else HARD_SEEDS
    jobs = [("hard", f.stem, f, range(start, start + count)) for f in sorted((SHARED / "robots/hard").glob("*.xml"))]
    if not a.hard:
        jobs += [("robot", name, SHARED / "robots" / name, range(start, start + 1)) for name in ROBOTS]
    words = a.robots or [""]
    return [job for job in jobs if any(word in job[1] for word in words)]


def scene_jobs(a, folder):
    jobs = []
    for name, kind, seed in wide_scenes.select(a.scenes, a.seeds):
        path = folder / f"{name}.xml"
        path.write_text(wide_scenes.make(kind, seed))
        jobs.append((kind, name, path, range(seed, seed + 1)))
    return jobs


def list_jobs(a, folder):
    if a.files:
        return [("file", pathlib.Path(f).stem, f, range(a.seeds.start, a.seeds.start + 2)) for f in a.files]
    only_scenes = a.scenes is not None and not a.hard and a.robots is None
    only_robots = a.scenes is None and (a.hard or a.robots is not None)
    return ([] if only_scenes else robot_jobs(a)) + ([] if only_robots else scene_jobs(a, folder))


def run(runner, job, repeat, all_stages):
    group, name, path, controls = job
    repeat = 1 if group in LARGE else repeat
    stages = "1" if group == "hard" or all_stages else "0"
    seeds = f"{controls.start}:{controls.stop}"
    command = [runner, "--repeat", repeat, "--stages", stages, "--seeds", seeds, path]
    done = subprocess.run([str(c) for c in command], check=False, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        message = done.stderr.strip() or f"exit {done.returncode}"
        rows.append({"controls": "", "seed": -1, "counted": 0, "stopped": message})
    for row in rows:
        row.update(group=group, name=name)
    return rows


# ---- tables ----

MEASURES = ("mean", "median", "p99", "max")


def ratio(row, measure):
    return row["ours"][measure] / row["peer"][measure]


def quantile(values, share):
    """The smallest value that at least this share of them does not exceed."""
    values = sorted(values)
    return values[max(0, -int(-share * len(values) // 1) - 1)]


RUN_HEAD = (
    "| run | controls | us, mean: Tangere | MuJoCo | mean | median | p99 | max | contacts | rows "
    "| factorisations, mean (most) | residual (not solved) |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def run_line(row):
    controls = "keyframe" if row["controls"] == "key" else f"random {row['seed']}"
    if not row["counted"]:
        return f"| {row['name']} | {controls} | stopped: {row['stopped']} |||||||||"
    factorisations = row["factorisations"]
    ratios = " | ".join(f"{ratio(row, m):.2f}" for m in MEASURES)
    return (
        f"| {row['name']} | {controls} | {row['ours']['mean']:.1f} | {row['peer']['mean']:.1f} | {ratios} "
        f"| {row['contacts'][0]:.1f} / {row['contacts'][1]:.1f} | {row['rows']:.0f} "
        f"| {factorisations['mean']:.1f} ({factorisations['max']}) | {row['residual']:.1e} ({row['unsolved']}) "
        f"{'; stopped: ' + row['stopped'] + ' ' if row['stopped'] else ''}|"
    )


GROUP_HEAD = (
    "| runs | number | mean: median run | 90 % | worst | faster | p99: median run | 90 % | worst "
    "| steps not solved, of | stopped |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def group_line(name, rows):
    counted = [r for r in rows if r["counted"]]
    stopped = sum(bool(r["stopped"]) for r in rows)
    if not counted:
        return f"| {name} | 0 ||||||||| {stopped} |"
    cells = []
    for measure in ("mean", "p99"):
        values = [ratio(r, measure) for r in counted]
        cells += [f"{quantile(values, share):.2f}" for share in (0.5, 0.9, 1)]
        if measure == "mean":
            cells.append(f"{sum(v < 1 for v in values) / len(values):.0%}")
    steps = sum(r["steps"] for r in counted)
    unsolved = sum(r["unsolved"] for r in counted)
    return f"| {name} | {len(counted)} | {' | '.join(cells)} | {unsolved} of {steps} | {stopped} |"


def stages(rows):
    """collision over MuJoCo's, and our stages, mean over the runs; empty where a version cannot time them."""
    rows = [r["stages"] for r in rows if "stages" in r]
    if not rows:
        return " | "
    mean = {name: sum(r[name] for r in rows) / len(rows) for name in rows[0]}
    peer = mean.pop("peer collision")
    return f"{mean['collision'] / peer:.2f} | {', '.join(f'{t:.1f}' for t in mean.values())}"


def robot_lines(rows):
    """Per hard robot: all its runs together, and the worst of them."""
    lines = []
    for name in dict.fromkeys(r["name"] for r in rows if r["group"] == "hard" and r["counted"]):
        own = [r for r in rows if r["name"] == name and r["counted"]]
        together = sum(r["ours"]["mean"] for r in own) / sum(r["peer"]["mean"] for r in own)
        worst = [max(ratio(r, m) for r in own) for m in ("mean", "p99")]
        cells = [f"{together:.2f}", *(f"{w:.2f}" for w in worst), str(sum(r["unsolved"] for r in own)), stages(own)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    if lines:
        head = (
            "| hard robot | mean, all runs | mean, worst run | p99, worst run | not solved | collision / mj_collision "
            "| us: smooth, collision, assembly, solve, end |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        lines = [head, *lines, ""]
    return lines


def stage_lines(rows, groups):
    """Per group, where stages were timed."""
    lines = []
    for group in groups:
        own = [r for r in rows if r["group"] == group and "stages" in r]
        if own and group != "hard":
            lines.append(f"| {group} | {stages(own)} |")
    if lines:
        head = (
            "| runs | collision / mj_collision | us: smooth, collision, assembly, solve, end |\n| --- | ---: | ---: |"
        )
        lines = [head, *lines, ""]
    return lines


def summary(title, rows):
    groups = dict.fromkeys(r["group"] for r in rows)
    lines = [f"## {title}", "", *robot_lines(rows), *stage_lines(rows, groups), GROUP_HEAD]
    lines += [group_line(g, [r for r in rows if r["group"] == g]) for g in groups]
    if len(groups) > 1:
        lines.append(group_line("**all**", rows))
    return "\n".join(lines) + "\n"


def title_lines(a):
    return (
        f"# tg_step beside mj_step on models nobody tuned to\n\n- {datetime.date.today()}; seeds {a.seeds.start} to "
        f"{a.seeds.stop - 1}; every step keeps the smaller of {a.repeat} times. Ratios are Tangere's time over "
        "MuJoCo's, of each run.\n- not solved: residual above 1e-8 m/s. `make bench-step-wide`, bench/wide.py.\n"
    )


def measure(runner, jobs, a, report):
    rows = []
    report.put(RUN_HEAD)
    for job in jobs:
        for row in run(runner, job, a.repeat, a.stages):
            rows.append(row)
            report.put(run_line(row))
    return rows


class Report:
    """Prints to the terminal, and into a file if there is one."""

    def __init__(self, path):
        self.path, self.text = path, ""

    def put(self, text):
        print(text, flush=True)
        self.text += text + "\n"
        if self.path:
            self.path.write_text(self.text)


def write_json(path, results):
    lines = [json.dumps(dict(row, version=version)) for version, rows in results.items() for row in rows]
    path.write_text("".join(line + "\n" for line in lines))


def main():
    a = read_arguments()
    report = Report(a.out / "step_wide.md" if a.out else None)
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        jobs = list_jobs(a, folder)
        report.put(title_lines(a))
        results = {"this version": measure(a.runner, jobs, a, report)}
        if a.other:
            report.put("\n### The other version\n")
            results["the other version"] = measure(a.other, jobs, a, report)
    for title, rows in results.items():
        report.put("\n" + summary(title, rows))
    if a.json:
        write_json(a.json, results)


if __name__ == "__main__":
    main()
