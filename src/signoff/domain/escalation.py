"""A question for a person, and the answers it can take."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Reasons for which a run stops to ask. Stored words."""

    CONTRACT = "contract"  # the step's retries are used up
    HELD_BEFORE = "held-before"  # the contract already held; of a plan, every one of them
    HUMAN = "human"  # the step is a person's to do
    BUDGET = "budget"  # the next dispatch would go over the budget
    PLAN_EDITED = "plan-edited"  # plan file or configuration changed behind the pin
    POSTCONDITION = "postcondition"  # broken at the end, or without a contract
    LIST = "list"  # the list of a for_each step could not be read
    TAMPERED = "tampered"  # the check was changed again after it had been put back
    REPEATED = "repeated"  # the same content failed the same way twice
    INFRASTRUCTURE = "infrastructure"  # the harness could not judge, repeatedly
    FLAKY = "flaky"  # the same contract on the same content gave different answers
    AGENT_ANSWER = "agent-answer"  # the agent says blocked, impossible or needs input
    HANDOFF = "handoff"  # files that make other programs act were created or changed
    MERGE = "merge"  # the merged content conflicts, or does not hold
    BLOCKED = "blocked"  # an agent calls a step of its session blocked
    UNATTAINABLE = "unattainable"  # an agent says that a postcondition cannot be reached
    RATCHET = "ratchet"  # an agent wants to drop or weaken a part of its plan
    REFUSED = "refused"  # a session's final answer was refused over and over
    INFLUENCED = "influenced"  # files changed that steer the check, and no line allows it
    OBSTACLE = "obstacle"  # the machine or the sandbox keeps a check from working
    OPINION = "opinion"  # a model cannot decide about a rubric
    USAGE_LIMIT = "usage-limit"  # the agent's model will not serve it before a certain time


class Choice(StrEnum):
    """Answers that a person can give. Stored words."""

    RETRY = "retry"  # go on: try again, or look again now that you have seen to it
    REVISE = "revise"  # end this run and take the plan back to draft
    ABORT = "abort"  # end this run as failed
    WAIVE = "waive"  # go on without it; recorded, always shown, never called kept
    ACCEPT = "accept"  # say that it holds, where no check can tell; recorded with your name
    ALLOW = "allow"  # add the line that allows it to the plan, and judge the same content again


class Outcome(StrEnum):
    """Ways in which a run ends. Stored words."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REVISED = "revised"
