"""Times one chunk of 5 states of a rope, forward and backward, and its contact part alone, beside the paper's Table 3.

    python bench/rope.py

Seconds of the processor, one thread, the smallest of 8 runs, over 20 chunks that start where most limits act.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from tangere import learn

PAPER = {50: 0.869, 100: 1.563, 200: 3.225}  # s


def smallest(run: Callable[[], object]) -> float:
    best = np.inf
    for _ in range(8):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    before = None
    print("| rope | all, ms | contact, ms | of the paper's | contact | twice the rope | limits per step |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for links, paper in PAPER.items():
        task = learn.task(f"Rope-{links}")
        system = task.system(threads=1)
        r = system.rollout(*task.draw(np.random.default_rng(0), 20), task.states - 1)
        everything, contact, limits = [], [], []
        for i in range(20):
            k = int(np.argmax(r.contacts[i, 1:-4]))
            x, v = r.x[i, k], r.v[i, k]
            chunk = system.rollout(x, v, 4)
            bar = np.ones_like(chunk.states)

            def both(x=x, v=v, bar=bar, system=system):
                return system.rollout(x, v, 4).vjp(bar)

            def jumps(chunk=chunk, system=system):
                for j in range(1, 5):
                    system.contact(chunk.x[j], chunk.v[j])
                    system.contact_vjp(chunk.x[j], chunk.v[j], np.ones_like(chunk.v[j]))

            everything.append(smallest(both))
            contact.append(smallest(jumps))
            limits.append(chunk.contacts[1:].mean())
        a, c = np.mean(everything), np.mean(contact)
        growth = "" if before is None else f"{a / before:.2f}"
        print(
            f"| {links} | {1e3 * a:.2f} | {1e3 * c:.2f} | 1/{paper / a:.0f} | 1/{paper / c:.0f} | {growth} "
            f"| {np.mean(limits):.1f} |"
        )
        before = a


if __name__ == "__main__":
    main()
