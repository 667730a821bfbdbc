"""A headless browser for the tests of pages and of the live viewer."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import imageio.v3 as imageio
import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from tangere._film import find_browser

WIDTH, HEIGHT = 640, 400  # small: there is no graphics card
WAIT = 300.0  # s; the machine may be busy, and pictures of robots with meshes take seconds each

# what belongs to the page and not to the scene is not in pictures: a change of pixels is one of the scene
SCENE_ONLY = "body * { visibility: hidden !important } canvas { visibility: visible !important }"

# of a headless Chromium without a graphics card, and of three.js about itself; none is an error
EXPECTED = ("log", "info", "debug", "warning")


@contextmanager
def browser() -> Iterator[Browser]:
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_browser(), args=flags)
        yield chromium
        chromium.close()


class Tab:
    """A page with what it complained about."""

    def __init__(self, chromium: Browser, address: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> None:
        self.page: Page = chromium.new_page(viewport={"width": size[0], "height": size[1]})
        self.page.set_default_timeout(1000 * WAIT)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self._metrics = self.page.context.new_cdp_session(self.page)
        self._metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(address)
        self.page.add_style_tag(content=".mantine-Notifications-root { display: none !important }")

    def _heard(self, message: Any) -> None:
        if message.type not in EXPECTED:
            self.complaints.append(message.text)

    def processor_time(self) -> float:
        """Seconds of the processor that the page's own thread has used."""
        metrics = self._metrics.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def wait_for(self, condition: str, argument: Any = None) -> None:
        self.page.wait_for_function(condition, arg=argument, polling=100, timeout=1000 * WAIT)

    def wait_until_loaded(self) -> None:
        self.wait_for("document.querySelector('[role=\"slider\"]') !== null")

    def time(self) -> float:
        return float(self.page.evaluate("document.querySelector('[role=\"slider\"]').getAttribute('aria-valuenow')"))

    def set_playing(self, playing: bool) -> None:
        """By the button of the playback bar: two looks at the time tell whether it plays."""
        before = self.time()
        time.sleep(0.5)
        if (self.time() != before) != playing:
            self.page.evaluate("document.querySelector('.mantine-ActionIcon-root').click()")

    def scrub(self, share: float) -> None:
        x, y, width, height = self.page.evaluate(
            "(() => { const r = document.querySelector('.mantine-Slider-root').getBoundingClientRect();"
            " return [r.x, r.y, r.width, r.height]; })()"
        )
        self.page.mouse.click(x + share * width, y + height / 2)

    def open_tree(self) -> None:
        self.page.evaluate("document.querySelector('[aria-label=\"Show scene tree\"]').click()")
        self.wait_for("document.body.innerText.includes('/friction cones')")

    def toggle(self, node: str) -> None:
        """The eye of a node in the scene tree."""
        eye = self.page.locator(f'[data-scene-node="/{node}"] > div').nth(1).locator("svg")
        before = eye.get_attribute("class")
        eye.click()
        self.wait_for(
            '([node, before]) => document.querySelector(`[data-scene-node="/${node}"]`).children[1]'
            ".querySelector('svg').getAttribute('class') !== before",
            [node, before],
        )

    def picture(self) -> np.ndarray:
        """What is drawn, without panels."""
        image = imageio.imread(io.BytesIO(self.page.screenshot(timeout=1000 * WAIT, style=SCENE_ONLY)))
        return image[..., :3].astype(int)

    def settled(self) -> np.ndarray:
        """The picture when two in a row are the same."""
        last = self.picture()
        for _ in range(20):
            time.sleep(0.3)
            now = self.picture()
            if (now == last).all():
                return now
            last = now
        return last

    def close(self) -> None:
        self.page.close()


def changed(before: np.ndarray, after: np.ndarray) -> int:
    """Pixels that differ visibly."""
    return int((np.abs(before - after).max(axis=2) > 12).sum())
