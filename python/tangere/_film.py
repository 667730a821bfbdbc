"""Pictures and videos without a screen: a headless browser draws the viewer's scene."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._errors import Error
from tangere._server import make_server, stop_server

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_PATIENCE = 120.0  # s, in which a browser must answer; software rendering on a busy machine is slow


def find_browser() -> str:
    chosen = os.environ.get("TANGERE_BROWSER")
    names = _BROWSERS if chosen is None else (chosen,)
    found = next((path for path in map(shutil.which, names) if path is not None), None)
    if found is None:
        raise Error(
            f"pictures need a browser: install chromium (apt install chromium); looked for {', '.join(names)}; "
            "TANGERE_BROWSER names another one",
            "cannot open file",
        )
    return found


@contextmanager
def headless(width: int, height: int) -> Iterator[tuple[Any, Any]]:
    """A server for this machine only, and a function that waits for the client and returns it."""
    browser = find_browser()
    server = make_server("127.0.0.1", 0)
    arrived = threading.Event()
    server.on_client_connect(lambda _client: arrived.set())
    process = None
    with tempfile.TemporaryDirectory(prefix="tangere-browser-", ignore_cleanup_errors=True) as profile:
        command = [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader", "--hide-scrollbars", "--mute-audio", "--no-first-run",
            "--disable-extensions", "--disable-renderer-backgrounding",
            "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
            f"--user-data-dir={profile}", f"--window-size={width},{height + 200}",
            f"http://127.0.0.1:{server.get_port()}",
        ]  # fmt: skip
        try:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def client() -> Any:
                if not arrived.wait(_PATIENCE):
                    raise Error(
                        f"the browser '{browser}' did not open the scene within {_PATIENCE:g} s", "cannot open file"
                    )
                return next(iter(server.get_clients().values()))

            yield server, client
        finally:
            if process is not None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            stop_server(server)


def look_at(position: Any, target: Any) -> NDArray[np.float64]:
    """The rotation, as a quaternion, of a camera (x right, y down, z ahead) with the world's z up."""
    ahead = np.asarray(target, dtype=np.float64) - np.asarray(position, dtype=np.float64)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([1.0, 0.0, 0.0])
    R = np.stack([right, np.cross(ahead, right), ahead], 1)
    w = np.sqrt(max(0.0, 1 + np.trace(R))) / 2
    if w > 1e-6:
        return np.array([w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w))])
    axis = np.sqrt(np.maximum((np.diag(R) + 1) / 2, 0))
    k = int(np.argmax(axis))
    axis = R[:, k] / (2 * axis[k]) + np.eye(3)[k] / (2 * axis[k])
    return np.array([0.0, *(axis / np.linalg.norm(axis))])


def render(client: Any, size: tuple[int, int], position: Any, target: Any, fov: float = 0.75) -> NDArray[np.uint8]:
    """A picture (height, width, 3) on white."""
    try:
        image = client.get_render(
            size[1], size[0], wxyz=look_at(position, target), position=np.asarray(position), fov=fov,
            transport_format="png", timeout=_PATIENCE,
        )  # fmt: skip
    except TimeoutError:
        raise Error(f"the browser did not draw a picture within {_PATIENCE:g} s", "cannot open file") from None
    alpha = image[..., 3:].astype(np.float64) / 255
    return np.round(image[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)


def render_settled(client: Any, *view: Any) -> NDArray[np.uint8]:
    """The picture once two consecutive ones are equal: a browser builds a new scene over several frames."""
    last = render(client, *view)
    for _ in range(20):
        time.sleep(0.3)
        now = render(client, *view)
        if (now == last).all() and last.min() < 255:
            break
        last = now
    return last


def write_png(path: str, image: NDArray[np.uint8]) -> None:
    import imageio.v3 as imageio  # noqa: PLC0415  (comes with viser)

    imageio.imwrite(path, image, extension=".png")


@contextmanager
def film(path: str, size: tuple[int, int], fps: float) -> Iterator[Any]:
    """A function that adds a picture to a video: H.264 in an .mp4 file, which browsers can play."""
    try:
        import av  # noqa: PLC0415
    except ImportError:
        raise ImportError("films need PyAV: pip install 'tangere[video]'") from None
    width, height = (n - n % 2 for n in size)  # its colours are in blocks of two by two
    try:
        open(path, "wb").close()  # PyAV would complain at the first picture
    except OSError as refused:
        raise OSError(f"cannot write '{path}': {refused.strerror}") from None
    with av.open(path, "w", options={"movflags": "faststart"}) as container:  # plays before it is loaded whole
        stream = container.add_stream("h264", rate=Fraction(fps).limit_denominator(1000))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": "18"}  # x264's value for what looks the same as the original

        def add(image: NDArray[np.uint8]) -> None:
            picture = np.ascontiguousarray(image[:height, :width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))

        yield add
        container.mux(stream.encode())
