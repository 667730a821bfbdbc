"""Dynamics and contact learned together from trajectories: tasks, models, training, report.

>>> from tangere import learn
>>> system = learn.task("BP5").system()
>>> data = learn.chunks("BP5", count=100, seed=0)
>>> from tangere.learn import models, train   # these need torch: pip install 'tangere[learn]'

`tangere learn data | table | train | report | all` does the same. docs/cartesian.md describes the tasks, docs/learn.md
the models and their training.
"""

from tangere.learn.command import main
from tangere.learn.tasks import (
    BILLIARDS_GOAL,
    BILLIARDS_RADIUS,
    CHUNK,
    TASKS,
    Task,
    billiards_start,
    chain_state,
    choose_windows,
    chunks,
    disk_state,
    gyro_state,
    table,
    task,
    trajectories,
)

__all__ = [
    "BILLIARDS_GOAL",
    "BILLIARDS_RADIUS",
    "CHUNK",
    "TASKS",
    "Task",
    "billiards_start",
    "chain_state",
    "choose_windows",
    "chunks",
    "disk_state",
    "gyro_state",
    "main",
    "table",
    "task",
    "trajectories",
]
