"""What is right in its own dialect or version is no error; what cannot be told is said to be so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from signoff.domain.session import TaskBasis
from signoff.toolbatch.deriving import CheckSource, Derived, derive
from tests.toolbatch.checkers.kit import Artifacts, page

TEMPLATES = {
    "jinja": """<!doctype html><title>{{ title }}</title>
<link rel=stylesheet href="{{ url_for('static', filename="s.css") }}">
<body>{% block body %}{% endblock %}<a href="{{ url_for('home') }}">Home</a></body>""",
    "extends": "{% extends 'a.html' %}{% block b %}<img src=\"{{ user.a }}\">{% endblock %}",
    "django": "<p>x</p><img src=\"{% static 'a.png' %}\"><a href='{% url 'x' %}'>y</a>",
    "unquoted": "<p>x</p><img src={{a}}><a href={{ b }}/c>d</a>",
    "loop": "{% for x in xs %}<p id='{{ x }}'>{{ x }}</p><p id='{{ x }}'></p>{% endfor %}",
    "comparison": "{% if a < b and b > c %}<p>yes</p>{% endif %}",
    "handlebars": "{{#each xs}}<a href='{{url}}'>{{name}}</a>{{/each}}",
    "comment": "{# <p> stays #}<p>words</p>",
    "only expressions": "{{ content }}",
    "anchors of the base": "{% extends 'b.html' %}<a href='#main'>skip</a>",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_a_template_fills_in_is_no_broken_link(artifacts: Artifacts, name: str) -> None:
    artifacts.file("index.html", TEMPLATES[name])
    report = artifacts.report("index.html")
    assert report.kept and [f.code for f in report.findings if f.severity == "error"] == []


def test_the_plain_links_of_a_template_are_still_looked_at(artifacts: Artifacts) -> None:
    body = "{{ title }}\n<a href='gone.html'>x</a>\n<a href='/about'>routes are the server's</a>"
    assert artifacts.of("a.html", body) == ["2 broken-link", "3 ?broken-link"]


def test_a_page_cannot_hide_its_links_between_braces(artifacts: Artifacts) -> None:
    assert artifacts.of("a.html", page("{{ <a href='gone.html'>x</a> }}")) == ["1 broken-link"]
    far = page("{{" + "x" * 5000 + "<a href='gone.html'>x</a>" + "}}")
    assert artifacts.of("a.html", far) == ["1 broken-link"]


def test_lines_stay_where_they_are_behind_expressions(artifacts: Artifacts) -> None:
    text = page("{{ a\n b\n }}{% c\n %}<a href='gone.html'>x</a>")
    assert artifacts.of("a.html", text) == ["4 broken-link"]


def test_braces_without_end_cost_no_time(artifacts: Artifacts) -> None:
    assert artifacts.of("a.html", page("{{ {% {# ${ <% " * 50_000 + "<p>x</p>")) == []


def test_links_of_markdown_that_are_filled_in_are_left_alone(artifacts: Artifacts) -> None:
    assert (
        artifacts.of("a.md", "words [a]({{site.url}}/x) [b](<{% link x.md %}>) [c](${y})\n") == []
    )


JSONC = '{\n  // strict\n  "a": "http://x/*no*/", /* and\n  so on */ "b": [1, 2,],\n}\n'


@pytest.mark.parametrize(
    "path",
    [
        *(
            "tsconfig.json",
            "tsconfig.build.json",
            "packages/a/jsconfig.json",
            ".vscode/settings.json",
        ),
        *(".eslintrc.json", "a.jsonc", "x.code-workspace", ".devcontainer/devcontainer.json"),
    ],
)
def test_comments_and_trailing_commas_are_fine_where_programs_read_them(
    artifacts: Artifacts, path: str
) -> None:
    assert artifacts.of(path, JSONC) == []
    assert artifacts.of(path, JSONC.replace("2,", "2")) == []
    assert artifacts.of(path, '{\n"a": 1,\n"a": 2,}') == ["1 duplicate-key"]


@pytest.mark.parametrize(
    "text", ['{"a": 1,, }', '{"a" 1}', "{/* never ends", '{"a": "//}', "//", ","]
)
def test_what_is_wrong_with_comments_or_without_stays_wrong(
    artifacts: Artifacts, text: str
) -> None:
    assert [line.split()[1] for line in artifacts.of("tsconfig.json", text)] == ["bad-json"]


def test_comments_in_other_files_are_no_json(artifacts: Artifacts) -> None:
    for path in ("package.json", "data.json", "x/.vscode.json"):
        assert artifacts.of(path, JSONC) == ["2 bad-json"]


def test_a_template_of_yaml_is_unknown_and_not_broken(artifacts: Artifacts) -> None:
    text = "{{- if .Values.x }}\na: {{ .Values.y }}\n{{- end }}\n: : :"
    assert [line.split()[1] for line in artifacts.of("a.yaml", text)] == ["~other-dialect"]


def test_yaml_whose_expressions_are_values_is_checked_as_ever(artifacts: Artifacts) -> None:
    assert artifacts.of("a.yml", "a: ${{ github.ref }}\nb: '{{ x }}'\n") == []
    assert artifacts.of("a.yml", "a: 1\na: '{{ x }}'\n") == ["2 duplicate-key"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="reads them itself")
@pytest.mark.parametrize(
    "text", ["x = f'{\"a\" + f'{1}'}'\n", "type X = int\n", "def f[T](a): pass\n"]
)
def test_python_of_a_later_version_is_never_called_broken(artifacts: Artifacts, text: str) -> None:
    assert [line.split()[1] for line in artifacts.of("a.py", text)] == ["~other-dialect"]


def test_python_that_no_version_reads_is_an_error(artifacts: Artifacts) -> None:
    for text in ("def f(:\n", "print 'x'\n", "x = = 1\n"):
        assert [line.split()[1] for line in artifacts.of("a.py", text)] == ["syntax"]


def test_footnotes_are_no_links(artifacts: Artifacts) -> None:
    text = "Words[^1] and more[^long].\n\n[^1]: note\n[^long]: see [other](gone.md)\n"
    assert artifacts.of("a.md", text) == ["4 broken-link"]


def test_anchors_that_renderers_give_are_there(artifacts: Artifacts) -> None:
    text = "# My title {#own}\n\n[a](#own) [b](#L10) [c](#user-content-sub) [d](#L1-L5)\n\n## Sub\n"
    assert artifacts.of("a.md", text) == []


def derived(root: Path, *paths: str) -> Derived:
    return derive(paths, (), TaskBasis(), root)


def checked(root: Path, *paths: str) -> str:
    found = derived(root, *paths)
    return " ".join(c.command for c in found.checks if c.source == CheckSource.ARTIFACT)


def test_no_check_is_derived_that_could_never_be_kept(artifacts: Artifacts) -> None:
    artifacts.file("chart/Chart.yaml", "name: x")
    artifacts.file("chart/templates/a.yaml", "{{- if .x }}\na: 1\n{{- end }}\n")
    paths = ("chart/templates/a.yaml", "chart/Chart.yaml")
    assert checked(artifacts.root, *paths) == "signoff check-artifact ./chart/Chart.yaml"
    assert "no checker reads templates of Helm" in derived(artifacts.root, *paths).refused[0]


def test_a_file_cannot_talk_itself_out_of_its_check(artifacts: Artifacts) -> None:
    artifacts.file("templates/a.yaml", "{{- if .x }}\n")
    assert checked(artifacts.root, "templates/a.yaml").count("./") == 1


def test_megabytes_of_json_take_seconds_and_not_minutes(artifacts: Artifacts) -> None:
    artifacts.file("a.json", "[" + '{"k":1},' * 700_000 + "1]")
    assert artifacts.found("a.json") == []
    artifacts.file("a.json", "[" + '{"k":1},' * 700_000 + '{"z":1,"z":2}]')
    assert artifacts.found("a.json") == ["a.json:1 duplicate-key"]
