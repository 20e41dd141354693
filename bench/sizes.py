"""How much is measured: the real sizes, and small ones that only show that it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Rounds are interleaved with their floor; medians are shown."""

    steps: int = 200
    turns: int = 200
    batch_calls: int = 10_000
    plan_steps: int = 10_000
    files: int = 10_000
    room_files: tuple[int, ...] = (100, 10_000, 100_000)
    output_bytes: int = 1_000_000_000
    appends: int = 300
    rounds: int = 3
    start_rounds: int = 9
    many_plans: int = 1_000
    writers: int = 8
    updates: int = 50
    pause_s: float = 2.0
    pool_steps: int = 64


QUICK = Sizes(
    steps=4,
    turns=8,
    batch_calls=200,
    plan_steps=50,
    files=100,
    room_files=(100,),
    output_bytes=2_000_000,
    appends=5,
    rounds=1,
    start_rounds=1,
    many_plans=20,
    writers=2,
    updates=3,
    pause_s=0.1,
    pool_steps=8,
)
