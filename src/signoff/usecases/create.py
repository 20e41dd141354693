"""`init` and `new`: first files for people to fill in; nothing that exists is overwritten."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from signoff.errors import PlanConflict
from signoff.settings.loading import REPOSITORY_FILE
from signoff.storage.files import durable_replace
from signoff.storage.vault import Vault, checked_slug
from signoff.usecases.harness import Harness, vault_to_write
from signoff.usecases.staging import staged_vault

PLAN_TEMPLATE = """\
---
type: plan
status: draft
owner: orchestrator
---

# {title}

**Context:** What is the situation, and why does it matter? This goes into every prompt.
**Budget:** 30 minutes

## Steps

### 1. Say hello

**target:** coder
**task:**
Create a file `hello.txt` that contains the word hello.

**contract:**
```shell
grep -q hello hello.txt
```
exit_code == 0
**on_fail:** retry(2), then escalate
"""

CONFIG_TEMPLATE = """\
# Who does the work. A role's command gets the prompt on standard input,
# or in the place of {prompt}, and runs in the workspace.
#
# [roles.coder]
# command = "claude -p --permission-mode acceptEdits"
# env = ["ANTHROPIC_API_KEY"]   # passed on from your environment; everything else is left out
# timeout_s = 1200
"""


@dataclass(frozen=True)
class CreateReport:
    """Which files were made, and which were there before."""

    created: tuple[Path, ...]
    kept: tuple[Path, ...]
    name: str = ""


def init(harness: Harness) -> CreateReport:
    """A vault, a configuration and a first plan in the repository around here."""
    place = vault_to_write(harness)
    top, folder = place.worktree, place.folder
    created, kept = [], []
    config = top / REPOSITORY_FILE
    if config.exists():
        kept.append(config)
    else:
        durable_replace(config, CONFIG_TEMPLATE.encode())
        created.append(config)
    vault = Vault(folder)
    plans = vault.list_plans()
    if plans:
        kept.extend(vault.plan_path(name) for name in plans)
    else:
        vault.swap_plan("", expected=None, text=PLAN_TEMPLATE.format(title="My first plan"))
        created.append(vault.plan_path(""))
    return CreateReport(tuple(created), tuple(kept))


def new_plan(harness: Harness, name: str, *, staged: bool = False) -> CreateReport:
    """A named plan from the template, in the vault or among those that wait to be activated."""
    slug = checked_slug(name, new=True)
    vault = Vault(vault_to_write(harness).folder)
    queue = staged_vault(vault)
    # Looked for first: a refused swap keeps the text it was given, and a template is not worth it.
    for path, verb in (
        (vault.plan_path(slug), "edit"),
        (queue.plan_path(slug), "activate"),
    ):
        if os.path.lexists(path):
            hint = f"signoff {verb} {shlex.quote(slug)}"
            raise PlanConflict(f"plan `{slug}` exists already: `{path}`", hint)
    vault.refuse_lookalike(slug)
    queue.refuse_lookalike(slug)
    text = PLAN_TEMPLATE.format(title=slug.replace("-", " ").capitalize())
    chosen = queue if staged else vault
    chosen.swap_plan(slug, expected=None, text=text)
    return CreateReport((chosen.plan_path(slug),), (), slug)
