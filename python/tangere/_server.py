"""The viser server of viewers, pages and pictures."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
from typing import Any

from tangere._errors import Error

INSTALL = "pip install 'tangere[view]'"


def need_viser() -> Any:
    try:
        import viser  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError(f"viewing needs viser ({missing.name}): {INSTALL}") from None
    return viser


def _free_port(host: str, port: int, more: int) -> int:
    """port, or one of the next ones if it may be; 0: any that is free."""
    for tried in range(port, port + more + 1) if port else [0]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((host, tried))
            except OSError as refused:
                reason = refused.strerror
                continue
            return s.getsockname()[1]
    raise Error(
        f"port {port} at {host}: {reason}; another one: --port N, or 0 for any that is free", "value out of domain"
    )


def make_server(host: str, port: int | None) -> Any:
    """A server at a port; None: 8080 or the next that is free."""
    viser = need_viser()
    if port is not None and not 0 <= port <= 65535:
        raise Error(f"port {port}: expected 0 to 65535", "value out of domain")
    chosen = _free_port(host, 8080, 20) if port is None else _free_port(host, port, 0)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):  # it would print a box
        server = viser.ViserServer(host=host, port=chosen, verbose=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    # without a graphics card shadows and an environment map take most of the time of a picture
    server.scene.configure_default_lights(enabled=False, cast_shadow=False)
    server.scene.configure_environment_map(None)
    server.scene.add_light_hemisphere(
        "/light/sky", sky_color=(255, 255, 255), ground_color=(110, 112, 125), intensity=1.9
    )
    server.scene.add_light_directional("/light/sun", intensity=1.7, cast_shadow=False, position=(4.0, -3.0, 8.0))
    return server


def stop_server(server: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
