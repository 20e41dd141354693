"""`signoff check-artifact`: links, syntax and shape of the files that work produced."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from signoff.cli.options import json_option
from signoff.cli.show import count, picked, say_json, say_line, versioned
from signoff.errors import Exit, UsageError
from signoff.toolbatch.checkers import FileFinding, FileSeverity, FilesReport, Thresholds, check


@click.command("check-artifact")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="Top folder: links must stay in it, and `/x` starts there [default: the current one].",
)
@click.option(
    "--thin-words",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Fewest words on an HTML or Markdown page [default: not empty].",
)
@click.option(
    "--thin-sections",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Fewest headings with text under them on a page.",
)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@json_option
def check_artifact_command(
    paths: tuple[str, ...],
    root: Path | None,
    thin_words: int,
    thin_sections: int,
    strict: bool,
    as_json: bool,
) -> int:
    """Check that files are what they claim to be; made for contracts.

    Pages: local links, assets, anchors, amount of text. Data: JSON, YAML, TOML and CSV can be
    parsed. Code: Python and shell can be parsed. Pictures, PDFs and notebooks can be
    opened. Folders are searched, except version control, vaults, dependencies and virtual
    environments. Nothing is run or written.

    Exit code 0: files were checked and nothing is wrong, 1: errors, 3: some files could not be
    checked, or there were none."""
    report = _checked(Path.cwd(), paths, root, Thresholds(thin_words, thin_sections))
    if as_json:
        say_json(_as_json(report, strict))
    else:
        _show(report)
    return _exit(report, strict)


def _exit(report: FilesReport, strict: bool) -> Exit:
    if report.has(FileSeverity.ERROR) or (strict and report.has(FileSeverity.WARNING)):
        return Exit.NOT_DONE
    return Exit.YES if report.kept else Exit.CANNOT_JUDGE


def _as_json(report: FilesReport, strict: bool) -> dict[str, object]:
    return versioned(
        kept=_exit(report, strict) is Exit.YES,
        files=report.files,
        checkers=[
            {"name": name, "files": number} for name, number in sorted(report.by_checker.items())
        ],
        skipped_files=len(report.skipped_files),
        skipped_folders=report.skipped_folders,
        findings=[
            picked(finding, "path line severity code message hint") for finding in report.findings
        ],
    )


def _show(report: FilesReport) -> None:
    for finding in report.findings:
        say_line(_line(finding))
        say_line(f"    hint: {finding.hint}")
    used = ", ".join(f"{name} {number}" for name, number in sorted(report.by_checker.items()))
    say_line(f"{count(report.files, 'file')} checked{f' ({used})' if used else ''}")
    if report.skipped_files or report.skipped_folders:
        files = count(len(report.skipped_files), "file")
        folders = "".join(f", `{folder}`" for folder in report.skipped_folders)
        say_line(f"not checked: {files} without a checker{folders}")
    found = [
        count(number, "error" if severity is FileSeverity.ERROR else "warning")
        if severity in (FileSeverity.ERROR, FileSeverity.WARNING)
        else f"{number} {severity}"
        for severity in (FileSeverity.ERROR, FileSeverity.WARNING, FileSeverity.UNKNOWN)
        if (number := sum(finding.severity is severity for finding in report.findings))
    ]
    say_line(", ".join(found) or ("nothing wrong" if report.kept else "nothing checked"))


def _line(finding: FileFinding) -> str:
    """A finding as it is shown everywhere."""
    return f"{finding.path}:{finding.line}: {finding.severity}: {finding.message} [{finding.code}]"


def _checked(
    cwd: Path, paths: Sequence[str], root: Path | None, thresholds: Thresholds
) -> FilesReport:
    """Check what was named, relative to where the user is; all of it lies below the root."""
    top = Path(os.path.normpath(cwd / root)) if root is not None else cwd
    if not top.is_dir():
        raise UsageError(f"`{top}` is no folder", "name a folder with --root")
    return check([_below(cwd, top, path) for path in paths], top, thresholds)


def _below(cwd: Path, top: Path, path: str) -> str:
    # As it is written: what links lead out of the root is a finding, not another name.
    place = Path(os.path.normpath(cwd / path))
    for base, found in ((top, place), (top.resolve(), place.parent.resolve() / place.name)):
        if found.is_relative_to(base):
            return found.relative_to(base).as_posix()
    hint = f"signoff check-artifact --root {shlex.quote(str(place.parent))} {shlex.quote(path)}"
    raise UsageError(f"`{path}` is not below `{top}`", hint)
