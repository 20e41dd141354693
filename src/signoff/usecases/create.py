"""`init`, `new`, `activate`, `edit`: plan files made, moved into the vault, replaced; none lost."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from signoff.agents.presets import installed_presets, logged_in_by
from signoff.domain.digests import digest_bytes, is_digest
from signoff.domain.globs import has_wildcard, matches
from signoff.domain.text import shown_list
from signoff.errors import PlanConflict, PlanNotFound, PlanUnreadable, SignoffError, UsageError
from signoff.planfile.blocks import decode
from signoff.planfile.parse import parse
from signoff.process.environment import safe_search_path
from signoff.settings.loading import REPOSITORY_FILE
from signoff.storage.active import STAGED_FOLDER
from signoff.storage.files import MAX_PLAN_BYTES, durable_replace, read_plan_file, swap_file
from signoff.storage.vault import Vault, checked_slug
from signoff.testing.crash import VaultPoint, reach
from signoff.usecases.harness import Harness, PlanLocation, file_names, vault_to_write
from signoff.usecases.person import refuse_in_attempt

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
Create a file `hello.txt` with the line `hello`.

**contract:**
```shell
grep -qx hello hello.txt
```
exit_code == 0
**on_fail:** retry(2), then escalate
"""

CONFIG_TEMPLATE = """\
# Who does the work: a known agent, or any command, which gets the prompt on standard input,
# or in the place of {prompt}, and runs in the workspace.
#
# [roles.coder]
# agent = "claude"              # or codex, gemini, qwen, opencode, aider, pi, mini, loop
# command = "./my-agent"        # instead of `agent`
# env = ["MY_API_KEY"]          # passed on from your environment; everything else is left out
# timeout_s = 1200
"""
FOUND_TEMPLATE = """\

[roles.coder]
agent = "{agent}"   # found on this machine{others}
"""


class CreateReport(Struct, frozen=True):
    """Files that were made, and files that were there before."""

    created: tuple[Path, ...]
    kept: tuple[Path, ...]
    name: str = ""
    agents: tuple[str, ...] = ()  # that were found; the first one got the role


def init(harness: Harness) -> CreateReport:
    """A vault, a configuration and a first plan in the repository around here."""
    place = vault_to_write(harness)
    top, folder = place.worktree, place.folder
    created, kept = [], []
    agents: tuple[str, ...] = ()
    config = top / REPOSITORY_FILE
    if config.exists():
        kept.append(config)
    else:
        # With agents that were found here; one that is logged in first.
        path = safe_search_path(harness.environ.get("PATH", ""), top)
        found = list(installed_presets(path, top))
        found.sort(key=lambda preset: not logged_in_by(preset, harness.environ))
        agents = tuple(preset.name for preset in found)
        text = CONFIG_TEMPLATE
        if agents:
            others = f"; so are: {', '.join(agents[1:])}" if agents[1:] else ""
            text += FOUND_TEMPLATE.format(agent=agents[0], others=others)
        durable_replace(config, text.encode())
        created.append(config)
    vault = Vault(folder)
    plans = vault.list_plans()
    if plans:
        kept.extend(vault.plan_path(name) for name in plans)
    else:
        vault.swap_plan("", expected=None, text=PLAN_TEMPLATE.format(title="My first plan"))
        created.append(vault.plan_path(""))
    return CreateReport(tuple(created), tuple(kept), agents=agents)


def new_plan(harness: Harness, name: str, *, staged: bool = False) -> CreateReport:
    """A named plan from the template, in the vault or among those that wait to be activated."""
    slug = checked_slug(name, new=True)
    vault = Vault(vault_to_write(harness).folder)
    queue = staged_vault(vault)
    # Looked for first: a refused swap keeps the text it was given, and a template is not worth it.
    for path, verb in ((vault.plan_path(slug), "edit"), (queue.plan_path(slug), "activate")):
        if os.path.lexists(path):
            hint = f"signoff {verb} {shlex.quote(slug)}"
            raise PlanConflict(f"plan `{slug}` exists already: `{path}`", hint)
    vault.refuse_lookalike(slug)
    queue.refuse_lookalike(slug)
    text = PLAN_TEMPLATE.format(title=slug.replace("-", " ").capitalize())
    chosen = queue if staged else vault
    chosen.swap_plan(slug, expected=None, text=text)
    return CreateReport((chosen.plan_path(slug),), (), slug)


class ActivateReport(Struct, frozen=True):
    name: str
    path: Path
    digest: str


def staged_vault(vault: Vault) -> Vault:
    """Folder of plans that are not plans of the vault yet; the same rules hold for their files."""
    return Vault(vault.path / STAGED_FOLDER)


def activate(harness: Harness, name: str, *, anyway: bool = False) -> ActivateReport:
    """Move a staged plan into the vault; a plan that is there is never overwritten.

    Killed in between, the plan is active, and the staged text is still there to be removed.
    """
    slug = checked_slug(name, new=True)
    place = vault_to_write(harness)
    vault = Vault(place.folder)
    staged = staged_vault(vault)
    path, waiting = vault.plan_path(slug), staged.plan_path(slug)
    if os.path.lexists(path):
        said, hint = f"plan `{slug}` exists already: `{path}`", f"signoff show {shlex.quote(slug)}"
        if os.path.lexists(waiting):
            hint = shlex.join(["diff", str(path), str(waiting)])
            with suppress(SignoffError):  # whichever cannot be read, the plan is there
                if staged.read_plan(slug) == vault.read_plan(slug):
                    said, hint = f"{said}, with the same text", shlex.join(["rm", str(waiting)])
        raise PlanConflict(said, hint)
    try:
        text, _ = staged.read_plan(slug)
    except PlanNotFound as error:
        hint = f"signoff new {shlex.quote(slug)} --staged"
        raise PlanNotFound(f"no plan `{slug}` is staged in `{staged.path}`", hint) from error
    if not text.strip():
        hint = f"rm {shlex.quote(str(waiting))}, or write it"
        raise PlanUnreadable(f"the staged plan `{slug}` is empty", hint)
    if not anyway:
        _refuse_finished(slug, text, place.worktree)
    # The same lock and the same exclusive creation as for any other plan.
    digest = vault.swap_plan(slug, expected=None, text=text)
    reach(VaultPoint.PLAN_ACTIVATED)
    waiting.unlink(missing_ok=True)
    return ActivateReport(slug, path, digest)


def _refuse_finished(slug: str, text: str, workspace: Path) -> None:
    produced = [glob for step in parse(text).plan.steps for glob in step.produces]
    names = file_names(workspace) if any(map(has_wildcard, produced)) else []

    def exists(glob: str) -> bool:
        if has_wildcard(glob):
            return any(matches(glob, name) for name in names)
        return os.path.lexists(workspace / glob)

    if not produced or not all(map(exists, produced)):
        return
    raise PlanConflict(
        f"everything that plan `{slug}` produces exists already: {shown_list(produced, 5)}",
        f"signoff activate {shlex.quote(slug)} --anyway",
    )


class Reading(Struct, frozen=True):
    """A plan's bytes as they are now, and the digest to expect when they are replaced."""

    data: bytes
    digest: str


class EditReport(Struct, frozen=True):
    place: PlanLocation
    digest: str
    was: str

    @property
    def changed(self) -> bool:
        return self.digest != self.was


def read_to_edit(harness: Harness, place: PlanLocation) -> Reading:
    """Read the file that a person is about to change; agents are refused before they begin."""
    refuse_in_attempt(harness.environ, harness.home.path)
    data = read_plan_file(place.path)
    return Reading(data, digest_bytes(data))


def replace_text(harness: Harness, place: PlanLocation, data: bytes, expected: str) -> EditReport:
    """Swap the whole text; PlanConflict keeps the refused one beside the plan.

    A text that is there already is nobody's loss, whatever was expected."""
    refuse_in_attempt(harness.environ, harness.home.path)
    if len(data) > MAX_PLAN_BYTES:
        raise PlanUnreadable(
            f"the new text has {len(data)} bytes, the limit is {MAX_PLAN_BYTES}",
            "split it into smaller plans",
        )
    if not data.strip():
        hint = f"if the plan is to go: {shlex.join(['rm', str(place.path)])}"
        raise UsageError("the new text is empty", hint)
    if not is_digest(expected):
        shown = f"signoff show {place.quoted} --json"
        raise UsageError(f"`{expected}` is not a digest", f"take its file_digest from: {shown}")
    decode(data, "the new text")
    digest = digest_bytes(data)
    if digest_bytes(read_plan_file(place.path)) == digest:
        return EditReport(place, digest, digest)
    place.own_vault()
    return EditReport(place, swap_file(place.path, expected, data, keep_loser=True), expected)
