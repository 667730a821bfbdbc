"""Measures the viewer with a headless browser: size and opening time of a page, pictures per second live.

    python bench/view.py [--rounds N] [--write]

The page is ten seconds of the humanoid at 50 states per second. Opening time is wall time from the address to the
first picture with the playback bar, the smallest of several. Live: the quadruped stands and a browser is connected;
pictures that the viewer sends per second, and simulated seconds per second, the best of several spans of two
seconds. There is no graphics card here: the browser draws in software, on the same processors, and its time goes into
pixels (a quarter of them takes a quarter of the time), so that what it draws per second is given for two sizes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import tangere as tg
from tangere.viewer import Viewer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
from browser import Tab, browser  # noqa: E402  (a helper of the tests)

ROBOTS = Path(os.environ.get("TANGERE_SHARED", ROOT.parent / "shared")) / "robots"
DRAWN = """() => document.querySelector('[role="slider"]') !== null && document.querySelector('canvas') !== null"""
NEXT = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def opening(chromium, folder: Path, rounds: int) -> tuple[float, float]:
    """Bytes, and seconds until a picture is drawn."""
    page = folder / "humanoid.html"
    m = tg.load(ROBOTS / "mujoco_humanoid" / "humanoid.xml")
    tg.view(m, html=str(page), length=10.0, lift=0.05)
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        tab = Tab(chromium, page.as_uri())
        tab.page.wait_for_function(DRAWN, polling=20)
        tab.page.evaluate(NEXT)
        best = min(best, time.perf_counter() - start)
        tab.close()
    return page.stat().st_size, best


SIZES = ((900, 600), (450, 300))


def live(chromium, rounds: int, size: tuple[int, int], seconds: float = 2.0) -> tuple[float, float, float]:
    """Pictures sent and drawn per second, simulated seconds per second."""
    viewer = Viewer(tg.load(ROOT / "models" / "quadruped.xml"), key="home", port=0, say=lambda _: None).start()
    best = (0.0, 0.0, 0.0)
    try:
        tab = Tab(chromium, viewer.url, size)
        tab.wait_for("document.body.innerText.includes('Pause')")
        tab.page.evaluate("window.drawn = 0; (function count() { window.drawn++; requestAnimationFrame(count); })()")
        for _ in range(rounds):
            drawn = tab.page.evaluate("window.drawn")
            start, frames, simulated = time.perf_counter(), viewer.frames, viewer.sim.time
            time.sleep(seconds)
            wall = time.perf_counter() - start
            found = (viewer.frames - frames) / wall, (tab.page.evaluate("window.drawn") - drawn) / wall
            best = max(best, (*found, (viewer.sim.time - simulated) / wall))
        tab.close()
    finally:
        viewer.stop()
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="keeps the table in bench/results/view.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        size, seconds = opening(chromium, Path(folder), given.rounds)
        found = [live(chromium, given.rounds, size) for size in SIZES]
    text = (
        "# The viewer (headless Chromium, drawing in software)\n\n| | |\n| --- | ---: |\n"
        f"| page of 10 s of the humanoid at 50 states per second (under 5 MB) | {size / 1e6:.2f} MB |\n"
        f"| it opens in (under 2 s) | {seconds:.2f} s |\n"
    )
    for (width, height), (sent, drawn, rate) in zip(SIZES, found, strict=True):
        text += (
            f"| live quadruped, {width} x {height}: pictures sent per second (at least 30) | {sent:.0f} |\n"
            f"| of these drawn by the browser | {drawn:.0f} |\n"
            f"| simulated seconds per second | {rate:.2f} |\n"
        )
    print(text)
    if given.write:
        (ROOT / "bench" / "results" / "view.md").write_text(text)


if __name__ == "__main__":
    main()
