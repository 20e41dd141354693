"""A scripted agent, three at once: two write at the end of the same file, one cheats first."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

TOTAL = "\n\ndef total(names):\n    return sum(PRICES[name] for name in names)\n"
DISCOUNT = "\n\ndef discount(sum):\n    return sum * 9 // 10\n"
RECEIPT = 'def lines(prices):\n    return [f"{name} {price}" for name, price in prices.items()]\n'


def main() -> None:
    """Work on the step that the harness names."""
    sys.stdin.read()
    attempt = os.environ["SIGNOFF_ATTEMPT"].rpartition(":")[2]
    time.sleep(1)
    match os.environ["SIGNOFF_STEP"], attempt:
        case "1", _:
            _append("shop.py", TOTAL)
        case "2", _:
            _append("shop.py", DISCOUNT)
        case "3", "1":
            Path("tests/test_receipt.py").write_text("# nothing to see here\n")
        case _:
            _append("receipt.py", RECEIPT)
    print("All done, every test passes!")


def _append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


if __name__ == "__main__":
    main()
