"""SUPERball, a tensegrity of six rods and 24 cables, from ten samples per second: data, identification, rolling.

The experiments of "A Recurrent Differentiable Engine for Modeling Tensegrity Robots Trainable with Low-Frequency Data"
(Wang, Aanjaneya, Bekris). Behind the command `tangere tensegrity`; docs/tensegrity.md has the results.

robot: the model in its two surroundings and the unknowns; data: trajectories of MuJoCo (needs `tangere[mujoco]`);
train: the recurrent fit and its variants; judge: errors of the centre of mass over whole test trajectories; transfer:
plans of one engine that move another.
"""

from tangere.tensegrity.data import Data, read, record, write
from tangere.tensegrity.robot import READINGS, com, hang_text, roll_text
from tangere.tensegrity.train import VARIANTS, Training, identify

__all__ = [
    "READINGS", "VARIANTS", "Data", "Training", "com", "hang_text", "identify", "read", "record", "roll_text", "write",
]  # fmt: skip
