"""Times tangere.load beside MuJoCo's from_xml_path: same files, same run, engines in turn.

    python bench/load.py [--rounds N] [--write]

Meshes that do not collide are taken out first, in a temporary copy that both read. The files are read once before
anything is timed, so that they are in the memory of the system. MuJoCo keeps meshes that it has compiled for the next
load of the same file: its times are given with that cache filled, and with it emptied before each load.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import tangere as tg

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared")) / "robots"
FILES = {
    "H1": "unitree_h1/scene.xml",
    "H1, meshes": "unitree_h1/scene_mesh.xml",
    "Go1": "unitree_go1/scene.xml",
    "Atlas": "atlas/scene.xml",
    "Cassie": "agility_cassie/scene.xml",
    "ANYmal": "anybotics_anymal_c/scene.xml",
    "humanoid": "mujoco_humanoid/humanoid.xml",
}
ASKED = ("H1", "Go1", "Atlas", "Cassie")  # the ratio of these must not exceed 1


def colliding_meshes(path: Path) -> set[str]:
    model = mujoco.MjModel.from_xml_path(str(path))
    used = set()
    for geom in range(model.ngeom):
        if model.geom_dataid[geom] >= 0 and (model.geom_contype[geom] or model.geom_conaffinity[geom]):
            used.add(model.mesh(model.geom_dataid[geom]).name)
    return used


def strip(file: Path, keep: set[str]) -> None:
    """Takes geoms with other meshes, and these meshes, out of an MJCF file."""
    tree = ET.parse(file)
    for parent in list(tree.getroot().iter()):
        for child in list(parent):
            stem = Path(child.get("file", "")).stem
            geom = child.tag == "geom" and child.get("mesh") is not None and child.get("mesh") not in keep
            mesh = child.tag == "mesh" and parent.tag == "asset" and child.get("name", stem) not in keep
            if geom or mesh:
                parent.remove(child)
    tree.write(file)


def prepare(name: str, folder: Path) -> Path:
    source = ROBOTS / FILES[name]
    copy = folder / name
    shutil.copytree(source.parent, copy)
    keep = colliding_meshes(source)
    for file in copy.glob("*.xml"):
        strip(file, keep)
    return copy / source.name


def load_ours(path: str) -> tg.Model:
    return tg.load(path)


def load_theirs(path: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(path)


def forget_meshes() -> None:
    mujoco.mj_clearCache(mujoco.mj_getCache())


ENGINES = {"tangere": (load_ours, None), "mujoco": (load_theirs, None), "first": (load_theirs, forget_meshes)}


def same_model(path: str) -> None:
    m, mj = load_ours(path), load_theirs(path)
    for a, b in ((m.nv, mj.nv), (m.nbody, mj.nbody), (m.ngeom, mj.ngeom), (m.nmesh, mj.nmesh), (m.nu, mj.nu)):
        if a != b:
            sys.exit(f"{path}: the models differ: {a} and {b}")


def measure(path: str, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ENGINES}
    for i in range(rounds):
        for name, (load, before) in list(ENGINES.items())[:: 1 if i % 2 else -1]:
            if before is not None:
                before()
            elif load is load_theirs:
                load(path)  # meshes are known again
            gc.disable()
            start = time.perf_counter()
            model = load(path)
            times[name].append(time.perf_counter() - start)
            gc.enable()
            del model
    return times


def processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.is_file() else None
    return found.group(1) if found else platform.processor()


def table(results: dict[str, dict[str, list[float]]]) -> list[str]:
    lines = [
        "| model | tangere, ms | MuJoCo, ms | ratio | MuJoCo without its cache, ms | ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, times in results.items():
        ours, again, first = (1e3 * statistics.median(times[engine]) for engine in ENGINES)
        cells = [name, f"{ours:.2f}", f"{again:.2f}", f"{ours / again:.2f}", f"{first:.2f}", f"{ours / first:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="load times beside MuJoCo's")
    parser.add_argument("--rounds", type=int, default=51, help="loads of each file by each engine (51)")
    parser.add_argument("--robot", choices=sorted(FILES), help="one model only")
    parser.add_argument("--write", action="store_true", help="write bench/results/load_<processor>.md")
    arguments = parser.parse_args()
    mujoco.set_mju_user_warning(lambda _: None)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in [arguments.robot] if arguments.robot else FILES:
            path = str(prepare(name, Path(folder)))
            same_model(path)
            results[name] = measure(path, arguments.rounds)
    lines = [
        "# Load times",
        "",
        f"{processor()}, MuJoCo {mujoco.__version__}; medians of {arguments.rounds} loads of each file by each engine, "
        "in turn. Meshes that do not collide are taken out for both. Written by `bench/load.py --write`.",
        "",
        *table(results),
    ]
    print("\n".join(lines))
    if arguments.write:
        slug = "_".join(re.findall(r"[a-z]+", processor().lower())[:2])
        (ROOT / "bench" / "results" / f"load_{slug}.md").write_text("\n".join(lines) + "\n")
    slow = [
        name
        for name, times in results.items()
        if name in ASKED and statistics.median(times["tangere"]) > statistics.median(times["mujoco"])
    ]
    if slow:
        print("slower than MuJoCo: " + ", ".join(slow))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
