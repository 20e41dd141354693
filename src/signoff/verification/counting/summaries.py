"""Summaries of any runner: lines of numbers with words such as `5 tests, 1 failure, 2 skipped`.

Read where no runner is known by its own ending: rspec, phpunit, ctest, maven, and those that nobody
here has heard of. A line counts when all of it is such pairs, times, and words without digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.domain.counts import TestCounts

_KINDS = {
    # What may stand beside tests and is none.
    "beside": r"assertions?|asserts?|calls?|warn(?:ings?)?|risky|flaky|deprecations?|notices?"
    r"|unexpected|expect|suites?|files?|features?|steps?|modules?|slow",
    "failed": r"fail(?:ed|ing|ures?|s)?|error(?:s|ed)?|broken|crashed",
    "skipped": r"skip(?:ped|s)?|pending|todos?|ignored|disabled|incomplete|excluded",
    "passed": r"pass(?:ed|es|ing)?|ok|success(?:es|ful)?|succeeded",
    "total": r"(?:doc)?tests?|specs?|examples?|scenarios?|cases?|total|runs?",
}
_SEPARATOR = re.compile(r"\s*(?:[,;|()]|\s/\s|\s-{1,2}\s|[.!](?=\s|$)|\s:\s|\s(?=[A-Z]+=))\s*")
_LEVEL = re.compile(r"^(?:\[\w+\]\s+|[^\w\s]+\s+|(?:with|all|ran|executed) )", re.IGNORECASE)
_PAIR = re.compile(
    r"(?P<head>(?:[a-z]+ )?[a-z]+: +)?(?P<n>[0-9]{1,9}) (?P<words>[a-z]+(?:\(\))?(?: [a-z]+){0,3}?)"
    r"(?: (?:out )?of (?P<all>[0-9]{1,9}))?"
    r"|(?P<label>[a-z]+(?: [a-z]+)?) ?[:=] *(?P<value>[0-9]{1,9})",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[^0-9]{0,40}|[0-9]+% .*|net[0-9.]+"
    r"|(?:in |after |took |duration:? |time:? )*[0-9:.]+ ?(?:[mµn]?s|m|h|secs?|seconds?|minutes?"
    r"|wallclock secs?|usr\b.*)?",
    re.IGNORECASE,
)
_TICKED = re.compile(r" *[✓✔√] ")
_WHOLE = frozenset(("passed", "total"))
Said = dict[str, int]


def read_summaries(lines: Sequence[str]) -> list[TestCounts]:
    """One for each summary; lines that stand together and are of the same tests are one."""
    groups: list[Said] = []
    joined = False
    for line in lines:
        said = _said(line)
        if not said:
            joined = joined and not line.strip()
        elif joined and not _WHOLE & said.keys() & groups[-1].keys():
            for kind, number in said.items():
                groups[-1][kind] = groups[-1].get(kind, 0) + number
        else:
            groups.append(said)
            joined = True
    ticked = sum(_TICKED.match(line) is not None for line in lines)
    for said in groups:
        if ticked and "failed" in said and not _WHOLE & said.keys():
            said["passed"] = ticked  # ava names those that passed, and counts them if all did
    return [_counts(s) for s in groups if "passed" in s or ("total" in s and len(s) > 1)]


def _counts(said: Said) -> TestCounts:
    failed, skipped = said.get("failed", 0), said.get("skipped", 0)
    passed = said.get("passed", max(0, said.get("total", 0) - failed - skipped))
    return TestCounts("", passed, failed, skipped)


def _said(line: str) -> Said:
    """The numbers by what they are of; empty where the line is no summary."""
    found: Said = {}
    if len(line) > 200 or not re.search(r"[0-9]", line):
        return found
    parts = _SEPARATOR.split(_LEVEL.sub("", line.strip("= \t")))
    for part in (_LEVEL.sub("", part) for part in parts):
        if _ASIDE.fullmatch(part):
            continue
        pair = _PAIR.fullmatch(part)
        kind = _kind(f"{pair['head'] or ''}{pair['words'] or pair['label']}") if pair else ""
        if pair is None or not kind or (kind == "beside" and pair["head"]):
            return {}
        found[kind] = found.get(kind, 0) + int(pair["n"] or pair["value"])
        if pair["all"]:
            found["total"] = int(pair["all"])
    return found if "beside" not in found or _WHOLE & found.keys() else {}


def _kind(words: str) -> str:
    """What the words count; empty where one of them is not known."""
    single = re.findall(r"[a-z]+", words.lower())
    kinds = [next((k for k, s in _KINDS.items() if re.fullmatch(s, word)), "") for word in single]
    return min(kinds, key=["", *_KINDS].index, default="")
