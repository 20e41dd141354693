"""Honest work under checks that go by the times of files."""

from __future__ import annotations

from truth.adversary.times import CONTRACTS, FILES, OLD
from truth.case import Accepted, Case

WAYS = {
    "does the work": "echo works > src.txt",
    "does the work and has it checked": "echo works > src.txt; sleep 0.05; touch check.ok",
    "puts the work where an older file was": (
        "echo works > new.txt; touch -d 2019-01-01 new.txt; mv new.txt src.txt"
    ),
}

CASES = tuple(
    Case(
        f"an agent that {way} is signed off by {tool}",
        Accepted(attempts=1),
        files=FILES,
        prepare=OLD,
        contract=contract,
        fields="**may_change:** src.txt\n",
        agent=agent,
    )
    for tool, contract in CONTRACTS.items()
    for way, agent in WAYS.items()
)
