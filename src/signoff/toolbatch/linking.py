"""What a write would break in its own links: local files, assets and places that are not there."""

from __future__ import annotations

import posixpath

from signoff.domain.definition import Definition
from signoff.toolbatch.calls import Call
from signoff.toolbatch.checkers import Finding, Severity, check_write
from signoff.toolbatch.checkers.links import HTML_SUFFIXES, MARKDOWN_SUFFIXES, resolve
from signoff.toolbatch.checkers.registry import Registry, load_checkers
from signoff.toolbatch.disk import Disk
from signoff.toolbatch.duplicates import NEW, OLD, WHOLE
from signoff.toolbatch.looking import Defined
from signoff.toolbatch.preflight.scope import of_a_set
from signoff.toolbatch.steering.drifting import is_summary

MOST_NAMED = 5
_PAGES = HTML_SUFFIXES | MARKDOWN_SUFFIXES
_BREAKS = frozenset({"broken-link", "broken-asset"})


class LinkCheck:
    """Looks at the links of a page before it is written, where it is declared what is to be made.

    A link to what is planned and not there yet is fine: pages are written one after the other. And
    so is one more page of a declared set in the root page: naming it there is how it is declared.
    A planned folder stands for whatever may come only while none of its files is planned.
    """

    def __init__(self, disk: Disk, keeper: Defined):
        self._disk, self._keeper = disk, keeper
        self._registry: Registry | None = None

    def __call__(self, call: Call) -> tuple[str, ...]:
        """What the call would bring in, each as one line; nothing for what is no page."""
        definition = self._keeper.definition
        suffix = posixpath.splitext(call.target)[1].lower()
        if suffix not in _PAGES or not definition.artifacts:
            return ()
        written = self._written(call)
        if written is None:
            return ()
        if self._registry is None:
            self._registry = load_checkers(self._disk.root)
        found = check_write(call.target, written, self._disk.root, registry=self._registry)
        broken = [one for one in found if _is_broken(one) and not _is_to_come(one, definition)]
        return tuple(f"{one.path}:{one.line}: {one.message}" for one in broken[:MOST_NAMED])

    def _written(self, call: Call) -> bytes | None:
        """The file as it would be; None where that cannot be told before it is done."""
        whole, old, new = (call.arguments.get(name) for name in (WHOLE, OLD, NEW))
        if isinstance(whole, str):
            return whole.encode("utf-8", "replace")
        now = self._disk.read(call.target)
        if now is None or not isinstance(old, str) or not isinstance(new, str) or not old:
            return None
        passage = old.encode("utf-8", "replace")
        if now.count(passage) != 1:
            return None
        return now.replace(passage, new.encode("utf-8", "replace"))


def _is_broken(finding: Finding) -> bool:
    return finding.code in _BREAKS and finding.severity is Severity.ERROR


def _is_to_come(finding: Finding, definition: Definition) -> bool:
    target = resolve(finding.path, finding.about).path
    named = {target, finding.about}
    if target and is_summary(finding.path) and of_a_set(definition, target):
        return True
    planned = [*definition.artifacts, *(a for item in definition.items for a in item.artifacts)]
    files = {artifact.path for artifact in planned if not artifact.directory}
    folders = [f"{artifact.path}/" for artifact in planned if artifact.directory]
    open_folders = [f for f in folders if not any(file.startswith(f) for file in files)]
    return any(
        name and (name in files or f"{name}/" in folders or name.startswith(tuple(open_folders)))
        for name in named
    )
