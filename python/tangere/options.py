"""The options of a step, with their types, for type checkers and editors; `tangere.Sim` describes them."""

from __future__ import annotations

from typing import Literal, TypedDict

Solver = Literal["newton", "ipm", "pgs", "admm", "staggered"]


class StepOptions(TypedDict, total=False):
    """Keyword options of `Sim`, `step`, `rollout` and `Batch`. Your own functions can take them, too:

    def swing(m: tg.Model, **options: Unpack[tg.StepOptions]) -> tg.Sim: ...
    """

    law: Literal["ncp", "ccp", "lcp-box", "lcp-diamond", "compliant", "impulse"]
    eps: float
    staggered_steps: int
    tolerance: float
    effort: int | None
    implicit_damping: bool
    implicit_springs: bool
    implicit_actuators: bool | None
    implicit_gyroscopic: bool | None
    implicit_tendons: bool | None
    cold: bool
    project: bool
    restitution: Literal["newton", "poisson"]
    impact: Literal["end", "within"]
    backward: Literal["exact", "smoothed", "toi", "ani", "detach", "unrolled"]
    smooth_speed: float
    smooth_width: float
    smooth_reach: float
    push_speed: float
    push_rate: float
    lever: float
    push_gain: float
    friction_share: float
    reach: float
    rest_speed: float | None
    max_contacts: int
