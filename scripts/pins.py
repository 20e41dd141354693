"""Write the constraint files from what is installed in this environment."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


def main() -> None:
    """runtime.txt: what signoff needs; dev.txt: the development tools on top of it."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    runtime = closure(project["project"]["dependencies"])
    dev = closure(project["dependency-groups"]["dev"])
    for name, pins in (("runtime", runtime), ("dev", {**runtime, **dev})):
        lines = [f"{package}=={version}" for package, version in sorted(pins.items())]
        (TOP / "requirements" / f"{name}.txt").write_text("\n".join(lines) + "\n")


def closure(requirements: list[str]) -> dict[str, str]:
    """Every distribution these requirements pull in, with its installed version."""
    found: dict[str, str] = {}
    queue = list(requirements)
    while queue:
        requirement = queue.pop()
        name, extras = split(requirement)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        for needed in installed.requires or []:
            marker = needed.partition(";")[2]
            wanted = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
            if wanted is None or wanted.group(1) in extras:
                inner, _ = split(needed)
                if inner not in found:
                    queue.append(needed.partition(";")[0])
        found[name] = installed.version
    return found


def split(requirement: str) -> tuple[str, set[str]]:
    """`name[extra]>=1` as its normalised name and extras."""
    match = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?", requirement)
    assert match is not None, requirement
    name = re.sub(r"[-_.]+", "-", match.group(1)).lower()
    return name, {e.strip() for e in (match.group(2) or "").split(",") if e.strip()}


if __name__ == "__main__":
    main()
