"""Small programs: what each does, written in three languages, with inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass

Example = tuple[str, str]  # arguments as the shell reads them, and what is printed


@dataclass(frozen=True)
class Task:
    """One program; `thin` is an input on which it has nothing to do."""

    name: str
    says: str
    examples: tuple[Example, ...]
    thin: Example
    python: str
    javascript: str
    shell: str


TASKS = (
    Task(
        "largest",
        "prints the largest of the whole numbers that it is given",
        (("3 9 4", "9"), ("-5 -2", "-2"), ("8", "8"), ("2 2 1", "2")),
        ("0", "0"),
        "    best = int(words[0])\n    for word in words:\n        if int(word) > best:\n"
        "            best = int(word)\n    return best\n",
        "  let best = Number(words[0]);\n  for (const word of words) {\n"
        "    if (Number(word) > best) {\n      best = Number(word);\n    }\n  }\n  return best;\n",
        'best=$1\nfor word in "$@"; do\n  if [ "$word" -gt "$best" ]; then\n    best=$word\n  fi\n'
        'done\necho "$best"\n',
    ),
    Task(
        "level",
        "prints 1 for a whole number below 10, 3 for one above 20, and 2 for all others",
        (("9", "1"), ("10", "2"), ("21", "3"), ("20", "2"), ("-4", "1"), ("15", "2")),
        ("0", "1"),
        "    number = int(words[0])\n    if number < 10:\n        return 1\n    if number > 20:\n"
        "        return 3\n    return 2\n",
        "  const number = Number(words[0]);\n  if (number < 10) {\n    return 1;\n  }\n"
        "  if (number > 20) {\n    return 3;\n  }\n  return 2;\n",
        'level=2\nif [ "$1" -lt 10 ]; then\n  level=1\nfi\nif [ "$1" -gt 20 ]; then\n'
        '  level=3\nfi\necho "$level"\n',
    ),
    Task(
        "evens",
        "prints how many of the whole numbers that it is given are even",
        (("1 2 4", "2"), ("3 5", "0"), ("6 8 10 12", "4"), ("7 2", "1")),
        ("", "0"),
        "    count = 0\n    for word in words:\n        if int(word) % 2 == 0:\n"
        "            count += 1\n    return count\n",
        "  let count = 0;\n  for (const word of words) {\n    if (Number(word) % 2 === 0) {\n"
        "      count += 1;\n    }\n  }\n  return count;\n",
        'count=0\nfor word in "$@"; do\n  if [ $((word % 2)) -eq 0 ]; then\n'
        '    count=$((count + 1))\n  fi\ndone\necho "$count"\n',
    ),
    Task(
        "total",
        "prints the sum of the whole numbers that it is given",
        (("1 2 3", "6"), ("10 -4", "6"), ("7", "7"), ("-2 -3", "-5")),
        ("0", "0"),
        "    result = 0\n    for word in words:\n        result += int(word)\n    return result\n",
        "  let result = 0;\n  for (const word of words) {\n    result += Number(word);\n  }\n"
        "  return result;\n",
        'result=0\nfor word in "$@"; do\n  result=$((result + word))\ndone\necho "$result"\n',
    ),
    Task(
        "power",
        "prints the first whole number to the power of the second",
        (("2 5", "32"), ("3 3", "27"), ("7 1", "7"), ("4 0", "1")),
        ("1 1", "1"),
        "    result = 1\n    for _ in range(int(words[1])):\n        result *= int(words[0])\n"
        "    return result\n",
        "  let result = 1;\n  for (let turn = 0; turn < Number(words[1]); turn += 1) {\n"
        "    result *= Number(words[0]);\n  }\n  return result;\n",
        'result=1\nturn=0\nwhile [ "$turn" -lt "$2" ]; do\n  result=$((result * $1))\n'
        '  turn=$((turn + 1))\ndone\necho "$result"\n',
    ),
)
