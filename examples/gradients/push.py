"""A finger pushes a box to its target, from gaps of 1, 5 and 20 cm: Adam on the controls, with derivatives that reach.

Without contact the exact derivative of where the box ends is zero, and so is the smoothed one of pairs that cannot meet
in the step. With smooth_reach pairs within that distance act in the smoothed derivative; the steps are the same.
"""

from typing import Any

import numpy as np
import tangere as tg

SCENE = """<mujoco><option timestep="0.005"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" friction="0.3"/>
<body name="finger" pos="{x} 0 0.1"><joint name="finger" type="slide" axis="1 0 0" damping="20"/>
    <geom name="finger" type="sphere" size="0.03" mass="0.5" friction="0.31"/></body>
<body name="box" pos="0 0 0.1"><freejoint/>
    <geom name="box" type="box" size="0.1 0.1 0.1" mass="1" friction="0.32"/></body>
</worldbody><actuator><motor joint="finger"/></actuator></mujoco>"""
ROWS, HOLD, TARGET, REACH = 20, 10, 0.1, 0.3


def push(gap: Any, reach: Any = REACH, iterations: Any = 300) -> Any:
    """Controls, how far the box is from its target, and how many iterations it took."""
    m = tg.load_string(SCENE.format(x=-0.13 - gap))
    u, first, second = (np.zeros((ROWS, m.nu)) for _ in range(3))
    k, miss = 0, np.inf
    for k in range(1, iterations + 1):
        r = tg.rollout(m, m.default_q(), np.zeros(m.nv), u, hold=HOLD, backward="smoothed", smooth_reach=reach)
        miss = r.q[-1, 1] - TARGET
        if abs(miss) < 1e-3:
            break
        g = r.vjp(gq=2 * miss * np.eye(m.nv)[1], at=-1).u
        first, second = 0.9 * first + 0.1 * g, 0.99 * second + 0.01 * g * g
        u = u - 0.5 * (first / (1 - 0.9**k)) / (np.sqrt(second / (1 - 0.99**k)) + 1e-12)
    return u, miss, k


if __name__ == "__main__":
    for gap in (0.01, 0.05, 0.2):
        _, miss, iterations = push(gap)
        print(f"gap {100 * gap:g} cm: {1e3 * abs(miss):.2f} mm from the target after {iterations} iterations")
        assert abs(miss) < 1e-3
