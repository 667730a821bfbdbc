"""What the experiments share: where results go, and how they are told."""

import argparse
import json
import pathlib
import time

OUT = pathlib.Path("build/papers")


class Experiment:
    """Collects rows "what, the paper, ours" and a figure; prints them and writes them for the page of `make papers`."""

    def __init__(self, name, title, paper):
        self.name, self.title, self.paper, self.rows, self.pictures = name, title, paper, [], []
        self.ours = ""
        self._began = time.monotonic()
        print(f"== {title} ==")

    def row(self, what, expected, ours):
        self.rows.append((what, str(expected), str(ours)))
        print(f"{what:58} {expected!s:>28} {ours!s:>34}", flush=True)

    def words(self, ours):
        """Our result in a sentence, beside the paper's."""
        self.ours = ours
        print(ours)

    def figure(self, draw, name="", **size):
        """draw(figure) on a new figure, where matplotlib is installed."""
        try:
            from matplotlib.figure import Figure  # noqa: PLC0415
        except ImportError:
            return
        figure = Figure(figsize=size.get("figsize", (9, 3.4)))
        draw(figure)
        OUT.mkdir(parents=True, exist_ok=True)
        path = OUT / f"{self.name}{name}.png"
        figure.savefig(path, dpi=110, bbox_inches="tight")
        self.pictures.append(path.name)

    def done(self):
        OUT.mkdir(parents=True, exist_ok=True)
        seconds = time.monotonic() - self._began
        record = {
            "title": self.title,
            "paper": self.paper,
            "ours": self.ours,
            "rows": self.rows,
            "pictures": self.pictures,
            "seconds": seconds,
        }
        (OUT / f"{self.name}.json").write_text(json.dumps(record), encoding="utf-8")
        print(f"{seconds:.1f} s")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the version of the tests: fewer seeds, fewer logs")
    return parser.parse_args()
