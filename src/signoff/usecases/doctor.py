"""`doctor`: what this machine offers and what is missing, found out by trying it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from signoff.agents.command import try_role
from signoff.agents.presets import with_presets
from signoff.agents.troubles import budget_trouble, sandbox_troubles, troubles_of
from signoff.domain.clients import CLIENTS
from signoff.domain.names import plan_file, shown_name
from signoff.domain.plan import Budget
from signoff.domain.text import shown_list
from signoff.domain.verdict import Isolation
from signoff.errors import ActivePlanError, SignoffError, how_to_install
from signoff.places import resolve_home
from signoff.process.environment import STANDARD_PATH, safe_search_path
from signoff.process.sandboxes import best_isolation, own_view_advice, probe_sandboxes
from signoff.process.shell import find_tool
from signoff.process.tree import full_control
from signoff.settings.loading import Settings, load_settings
from signoff.storage.active import VaultPlace, find_vault, read_binding
from signoff.storage.home import Home, open_database, shown_size
from signoff.storage.ledger import Ledger
from signoff.storage.vault import Vault
from signoff.usecases.check import find_conflicts
from signoff.usecases.clients.files import ClientConfig, Scope
from signoff.usecases.install import SERVER_NEEDS, TRUST, hook_doubts, hooks_file, trust_problem
from signoff.usecases.openwork import opened_places, unopened
from signoff.usecases.person import advice, in_words, open_sockets
from signoff.verification.enclosure import Enclosure, wanted_isolation
from signoff.workspace.byproducts import DEPENDENCY_MARKS
from signoff.workspace.folders import Repository, find_repository
from signoff.workspace.git import Git
from signoff.workspace.remote import ContentRemote
from signoff.workspace.worktrees import Worktree, WorktreeState, list_worktrees

MOST_NAMED = 10
MOST_COUNTED = 200_000  # files of the home folder
_COMPLETION_FILES = {
    "bash": (".bashrc", ".bash_profile", ".profile"),
    "zsh": (".zshrc",),
    "fish": (".config/fish/config.fish",),
}
_SANDBOX_HINTS = {
    Isolation.BUBBLEWRAP: "install bubblewrap, and allow user namespaces",
    Isolation.NAMESPACES: "allow user namespaces, or install bubblewrap",
    Isolation.LANDLOCK: "use Linux 5.13 or newer with Landlock switched on",
}
_LOADING = {"bash": 'eval "$({})"', "zsh": 'eval "$({})"', "fish": "{} | source"}


class Health(StrEnum):
    OK = "ok"
    WARN = "warn"  # works, with less than there could be
    FAIL = "fail"  # signoff cannot work like this


class HealthCheck(Struct, frozen=True):
    name: str
    health: Health
    detail: str
    next: str = ""


class DoctorReport(Struct, frozen=True):
    checks: tuple[HealthCheck, ...]

    @property
    def healthy(self) -> bool:
        return all(check.health is not Health.FAIL for check in self.checks)


def _ok(name: str, detail: str) -> HealthCheck:
    return HealthCheck(name, Health.OK, detail)


def _warn(name: str, detail: str, hint: str = "") -> HealthCheck:
    return HealthCheck(name, Health.WARN, detail, hint)


def _fail(name: str, error: SignoffError) -> HealthCheck:
    return HealthCheck(name, Health.FAIL, error.message, error.hint)


def examine(environ: Mapping[str, str], cwd: Path) -> DoctorReport:
    """Look at everything; one thing that is broken hides no other."""
    repository = find_repository(cwd)
    top = repository.top if repository else cwd
    checks = (
        *_machine(),
        *_configuration(environ, top),
        *_plans(environ, cwd),
        *_hooks(environ, top),
        _server(),
        *_completion(environ),
    )
    return DoctorReport(checks)


def _machine() -> Iterator[HealthCheck]:
    yield _ok("python", ".".join(map(str, sys.version_info[:3])))
    for tool, needed in (("bash", Health.FAIL), ("git", Health.WARN)):
        path = find_tool(tool, STANDARD_PATH)
        missing = HealthCheck(tool, needed, "not found", f"install {tool} with the package manager")
        yield missing if path is None else _ok(tool, str(path))
    if full_control():
        yield _ok("processes", "everything an attempt starts can be ended")
    else:
        detail = "a process that detaches itself may outlive its attempt"
        yield _warn("processes", detail, "run signoff on Linux, where every process can be ended")
    supports = probe_sandboxes()
    boxed = next((s.isolation for s in supports if s.available and s.isolation.has_own_view), None)
    for support in supports:
        name, detail = f"sandbox {support.isolation}", support.detail
        if support.available:
            yield _ok(name, detail)
        elif boxed is not None and support.isolation.has_own_view:
            yield _ok(name, f"not needed, since `{boxed}` does the same: {detail}")
        else:
            yield _warn(name, detail, _SANDBOX_HINTS[support.isolation])


def _configuration(environ: Mapping[str, str], top: Path) -> Iterator[HealthCheck]:
    try:
        settings = with_presets(load_settings(top, environ))
    except SignoffError as error:
        yield _fail("configuration", error)
        settings = Settings()
    else:
        yield _ok("configuration", f"roles: {', '.join(settings.roles) or 'none'}")
        yield from _sandbox(settings, environ, top)
        yield from _roles(settings, environ, top)
        yield from _lanes(settings, top)
        yield from _new_worktrees(settings, top)
        yield from _content_remote(settings, environ, top)
    try:
        home = Home(resolve_home(environ))
        size, quota = home.size(MOST_COUNTED), settings.quota
        said = f"{home.path}, takes {size}"
        if quota is None or size.taken <= quota:
            yield _ok("home", said)
        else:
            yield _warn("home", f"{said}, and the quota is {shown_size(quota)}", "signoff gc")
        plans = len(Ledger(open_database(settings.database_url or home.database_url)).plans())
        kind = "PostgreSQL" if settings.database_url else "embedded SQLite"
        yield _ok("database", f"{kind}, plans known: {plans}")
    except SignoffError as error:
        yield _fail("home and database", error)


def _sandbox(
    settings: Settings, environ: Mapping[str, str], workspace: Path
) -> Iterator[HealthCheck]:
    """Check what confines agents and contracts, and what it leaves open or cannot show."""
    chosen = best_isolation(wanted_isolation(settings))
    working = {s.isolation for s in probe_sandboxes() if s.available} | {Isolation.NONE}
    less = Health.FAIL if settings.policy.require_sandbox else Health.WARN
    if chosen not in working:
        hint = "change `isolation` under [sandbox] in your own configuration, or install it"
        detail = f"`{chosen}` is chosen and does not work here"
        yield HealthCheck("isolation", Health.FAIL, detail, hint)
    elif chosen is Isolation.NONE:
        detail = "none: contracts and agents run without a sandbox"
        yield HealthCheck("isolation", less, detail, own_view_advice())
    else:
        yield _ok("isolation", str(chosen))
    if sockets := open_sockets(settings, environ):
        yield HealthCheck("sockets", less, in_words(sockets), advice())
    readable, writable = opened_places(settings, Path(environ.get("HOME", "/")), workspace)
    agents = settings.sandbox.agents
    enclosure = Enclosure(chosen, readable=readable, writable=writable, agents=agents)
    if missing := unopened(enclosure, workspace):
        yield _warn("sandbox places", missing.said, missing.advice)


def _lanes(settings: Settings, top: Path) -> Iterator[HealthCheck]:
    """Check if lanes can be made; submodules and LFS files are in them as they lie here."""
    if not best_isolation(wanted_isolation(settings)).has_own_view:
        found = shown_list(_environments(top), MOST_NAMED)
        why = f": {found} holds absolute paths" if found else ""
        detail = f"none: no sandbox here can show one in the workspace's place{why}"
        yield _warn("lanes", detail, own_view_advice())
    elif not settings.sandbox.clean_room:
        hint = "remove it from your own configuration"
        yield _warn("lanes", "none: `clean_room = false` under [sandbox]", hint)


def _content_remote(
    settings: Settings, environ: Mapping[str, str], top: Path
) -> Iterator[HealthCheck]:
    """Check the way by which content goes to workers, where the user named one."""
    if settings.remote is None:
        return
    try:
        with TemporaryDirectory(prefix="signoff-doctor-") as folder:
            ContentRemote(settings.remote, Path(folder), "doctor", environ).digests()
    except SignoffError as error:
        yield _warn("content remote", f"runs cannot go to workers: {error.message}", error.hint)
    else:
        sent = f"`run --on workers` sends all files of `{top}` there but those that are ignored"
        yield _ok("content remote", sent)


def _new_worktrees(settings: Settings, top: Path) -> Iterator[HealthCheck]:
    """Check for what lies here and is not in a worktree that `worktree add` makes."""
    name = "new worktrees"
    if settings.setup is None and (found := _environments(top)):
        detail = f"without {shown_list(found, MOST_NAMED)}: it holds absolute paths to `{top}`"
        yield _warn(name, detail, "[setup] command in signoff.toml makes one in each")
    if (top / ".gitmodules").is_file():
        yield _warn(name, "submodules are empty", "git submodule update --init, in each")
    with suppress(OSError):
        if "filter=lfs" in (top / ".gitattributes").read_text(errors="replace"):
            yield _warn(
                name, "files of git LFS are pointers: no filter runs", "git lfs pull, in each"
            )


def _environments(top: Path) -> list[str]:
    """Folders of the checkout that are environments with absolute paths in them."""
    marks = (mark for name in DEPENDENCY_MARKS for mark in top.glob(f"*/{name}"))
    return sorted({mark.parent.name for mark in marks})


def _roles(
    settings: Settings, environ: Mapping[str, str], workspace: Path
) -> Iterator[HealthCheck]:
    """Check that the programs of roles are there; a role nobody uses stops nothing."""
    path = safe_search_path(environ.get("PATH", ""), workspace)
    for role in settings.roles.values():
        name = f"role {role.name}"
        troubles = [*troubles_of(role, path, workspace, environ)]
        troubles += sandbox_troubles(role, settings, workspace)
        broken, version = (None, "") if troubles else try_role(role, environ, path, workspace)
        troubles += [broken] if broken else []
        for trouble in troubles:
            said = trouble.message.removeprefix(f"role `{role.name}`: ")  # the line begins with it
            yield _warn(name, said, trouble.hint)
        if not troubles:
            yield _ok(name, f"{shlex.split(role.command)[0]} {version}".strip())
        # Whether what the role uses can be read, so that a budget can end it.
        untold = budget_trouble(role, Budget(tokens=1, usd=1.0), settings.prices)
        name = f"budget of {name}"
        read = _ok(name, "tokens and dollars are read")
        yield read if untold is None else _warn(name, untold.message, untold.hint)


def _hooks(environ: Mapping[str, str], top: Path) -> Iterator[HealthCheck]:
    """Check for every client here: are our hooks installed, as we write them, and trusted?"""
    found = False
    for client in CLIENTS.values():
        configs = [ClientConfig(client, scope, top, environ) for scope in Scope]
        places = [(c, path) for c in configs if (path := hooks_file(c)) is not None]
        name = f"hooks {client.name}"
        for config, path in places:
            found = True
            doubts = hook_doubts(config)
            problem = trust_problem(config, path)
            said = f"{config.scope.value}: `{path}`"
            if doubts:
                hint = f"correct that, or signoff uninstall {client.name} --{config.scope.value}"
                yield _warn(name, "; ".join(doubts), hint)
            elif problem:
                said += f"; {client.title} skips them: {problem}"
                yield _warn(name, said, TRUST[client.name])
            else:
                yield _ok(name, said)
        if not places and find_tool(client.name, environ.get("PATH", "")) is not None:
            found = True
            detail = f"{client.title} is installed, and signoff's hooks are not in it"
            yield _warn(name, detail, f"signoff install {client.name}")
    if not found:
        yield _ok("hooks", "none installed")


def _server() -> HealthCheck:
    if find_spec(SERVER_NEEDS) is not None:
        return _ok("mcp", "`signoff mcp` can start")
    detail = f"`{SERVER_NEEDS}` is not installed, so `signoff mcp` cannot start"
    return _warn("mcp", detail, how_to_install(SERVER_NEEDS))


def _completion(environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check if the person's shell completes commands, by the files that it reads."""
    shell = Path(environ.get("SHELL", "")).name
    home = Path(environ.get("HOME", "/"))
    for name in _COMPLETION_FILES.get(shell, ()):
        with suppress(OSError):
            if "signoff completion" in (home / name).read_text(errors="replace"):
                yield _ok("completion", f"`{home / name}`")
                return
    if shell in _COMPLETION_FILES:
        line = f"signoff completion {shell}"
        first = _COMPLETION_FILES[shell][0]
        hint = f"echo {shlex.quote(_LOADING[shell].format(line))} >> ~/{first}"
        yield _warn("completion", f"not set up for {shell}", hint)


def _plans(environ: Mapping[str, str], cwd: Path) -> Iterator[HealthCheck]:
    """Everything about plans; what cannot be found out is a line too."""
    try:
        place = find_vault(cwd, environ)
        if place.repository is None and not place.folder.exists():
            detail = f"none yet: `{cwd}` is in no repository and has no vault"
            yield _warn("vault", detail, "signoff init, in the folder of your work")
            return
        yield from _vault(place)
    except SignoffError as error:
        yield _fail("vault", error)
        return
    worktrees: tuple[Worktree, ...] = ()
    try:
        if place.repository is not None:
            with Git.open(Repository(place.worktree, place.repository), environ) as git:
                worktrees = list_worktrees(git)
    except SignoffError as error:
        yield _warn("worktrees", error.message, error.hint)
    lost = [w for w in worktrees if w.state is not WorktreeState.PRESENT]
    for folder in sorted({place.worktree, *(w.path for w in worktrees if w not in lost)}):
        yield _binding(folder, environ)
    for worktree in lost:
        gone = worktree.state is WorktreeState.MISSING
        said = "its folder is gone" if gone else "the folder there is not this worktree any more"
        yield _warn(f"worktree `{worktree.path}`", said, "signoff worktree prune")
    if worktrees and not lost:
        yield _ok("worktrees", f"{len(worktrees)}, all there")


def _vault(place: VaultPlace) -> Iterator[HealthCheck]:
    vault = Vault(place.folder)
    names = vault.list_plans()
    if not names:
        yield HealthCheck("vault", Health.FAIL, f"no plan in `{vault.path}`", "signoff init")
    else:
        named = sum(1 for name in names if name)
        said = f"{len(names)} plans, {named} of them named"
        if len(names) == 1:
            said = "one plan with a name" if named else "one plan without a name"
        detail = f"`{vault.path}`: {said}: {shown_list(map(plan_file, names), MOST_NAMED)}"
        yield _ok("vault", detail)
    odd = vault.odd_names()
    if odd:
        detail = (
            f"{shown_list(odd, MOST_NAMED)} in `{vault.path}`: looks like a plan, but cannot be one"
        )
        yield _warn("names", detail, "signoff check")
    conflicts = shown_list((found.path.name for found in find_conflicts(vault)), MOST_NAMED)
    none = _ok("conflicts", "no conflict copies")
    yield _warn("conflicts", conflicts, "signoff conflicts") if conflicts else none


def _binding(worktree: Path, environ: Mapping[str, str]) -> HealthCheck:
    name = f"binding of `{worktree}`"
    try:
        bound = read_binding(find_vault(worktree, environ), environ)
    except SignoffError as error:
        dangling = "DANGLING: " if isinstance(error, ActivePlanError) else ""
        return _warn(name, f"{dangling}{error.message}", error.hint)
    return _ok(name, "none" if bound is None else f"plan `{shown_name(bound)}`")
