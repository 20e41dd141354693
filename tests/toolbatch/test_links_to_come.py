"""Links to files that are not there yet: fine where they are planned, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolbatch.batch_kit import Scene

PAGE = "<!doctype html><title>b</title><p>words <a href='{}'>1</a>"


@pytest.mark.parametrize(
    ("task", "link", "rule"),
    [
        ("Create `site/` with `site/a.html` and `site/b.html`.", "b.html", ""),
        ("Create `site/` with `site/a.html` and `site/b.html`.", "nope.html", "broken_link"),
        ("Create the folder `site/`.", "nope.html", ""),
        ("Create the folder `site/`.", "../nope.html", "broken_link"),
        ("Create `site/` with `site/a.html`, and `site/img/`.", "img/x.html", ""),
    ],
)
def test_a_planned_folder_promises_only_what_is_planned_in_it(
    tmp_path: Path, task: str, link: str, rule: str
) -> None:
    scene = Scene(tmp_path, task)
    outcome = scene.one("write", path="site/a.html", content=PAGE.format(link))
    assert outcome.rule == rule


def test_a_template_is_written_although_its_links_are_filled_in_later(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `templates/base.html` and `templates/user.html`.")
    page = PAGE.format("{{ url_for('home') }}")
    assert scene.one("write", path="templates/base.html", content=page).ok
