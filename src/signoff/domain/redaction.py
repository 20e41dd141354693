"""Secrets taken out of everything that is stored or shown: known values, and shapes of tokens."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote

# Eight characters hardly appear by chance in 64 kB of output. A name that says "secret" is worth
# two of them; below six, redacting tells more (where, how long) than it hides.
SHORTEST = 8
SHORTEST_BY_NAME = 6
SHORTEST_LINE = 16
SHORTEST_PIECE = 12
_LONGEST_NAME = 60
REDACTED = "[redacted:"  # how every mark begins

# Texts, compiled by `re` when first needed: most commands store nothing.
_SECRET_NAME = (
    r"TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|API_?KEY|(?:ACCESS|PRIVATE|SIGNING)_?KEY"
    r"|AUTHORIZATION|COOKIE|(?:^|[_.-])(?:PASS|CREDS?|DSN|PAT)(?:$|[_.-])|_PWD$|KEYS?$"
)
_OPEN_NAME = (
    r"PUBLIC|TOKENIZ|(?:^|_)(?:MAX|MIN|NUM|PER)_|_(?:FILE|PATH|DIR|URL|URI|HOST|PORT|TYPE|TTL"
    r"|TIMEOUT|LIMIT|COUNT|LENGTH|HEADER)$"
)
_WORD = r"(?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20})\d{0,4}"
_ORDINARY = (
    r"[\d.,:;+_/ -]*"  # numbers, versions, dates
    r"|(?:~|\.{0,2})/[\w.@/:-]*"  # paths, lists of paths
    rf"|{_WORD}(?:[ ._:/-]+(?:{_WORD}|\d{{1,4}}))*(?::\d{{1,5}})?/?"  # words, hosts, locales
    r"|[a-z][a-z0-9+.-]*://[^\s@?]*"  # addresses without a password
)
_KNOWN_START = r"(?:sk|pk|rk)[-_]|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|eyJ"
# Tokens that services give out, by how they look: with a beginning that nothing else has, and long
# enough that no name or class in honest text is taken for one.
_TOKEN = (
    r"(?<![A-Za-z0-9])(?:"
    r"gh[opsur]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255}|glpat-[A-Za-z0-9_-]{20,255}"
    r"|(?=sk-[A-Za-z_-]*[0-9])(?=sk-[a-z0-9_-]*[A-Z])sk-[A-Za-z0-9_-]{20,255}"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{20,255}|xox[abeoprs]-(?=[A-Za-z-]*[0-9])[A-Za-z0-9-]{20,255}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"
    r"|npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])|hf_[A-Za-z0-9]{34}(?![A-Za-z0-9])"
    r"|pypi-[A-Za-z0-9_-]{60,1000}"
    r"|eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{5,8000}\.[A-Za-z0-9_-]{10,4000}"
    r")|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{20,8000}?-----END [A-Z ]{0,30}KEY-----"
)
_SHORTEST_TOKEN = 20  # characters; most of what is stored is shorter, and need not be searched
_TOKEN_MARK = f"{REDACTED}token]"
_URL_PASSWORD = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^/\s:@]*:([^/\s]+)@"
_FIELD_PASSWORD = r"(?i)\b(?:password|passwd|pwd)=(?:'([^']+)'|([^\s;&'\"]+))"
_GAP = r"\n?\[\.\.\. [0-9]+ (?:bytes not kept|characters cut) \.\.\.\]\n?"
_LINE_BREAK = r"\r?\n[ \t]*"


class _Span(NamedTuple):
    start: int
    end: int
    name: str


class Redactor:
    """Replaces known values by `[redacted:NAME]`, in whatever form they appear.

    What looks like a token of a service is replaced too, whether it is known or not.

    Forms: plain, base64 (three alignments, both alphabets, broken into lines or not), hex,
    percent-encoded, escaped as in JSON. Not seen: a value that was reversed, compressed, encrypted
    or spelled with other characters in between. Redact before cutting: a caller that caps a text
    gives the whole text here first. Where that is impossible (head and tail of a stream), a piece
    of a secret of 12 characters or more is still found at the edges of a text and beside the line
    that stands for a gap; shorter pieces remain.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        self._secrets = tuple(secrets)

    @cached_property
    def _forms(self) -> dict[str, str]:
        """Every form of every secret, with the name that is shown for it."""
        known = [(name, part) for name, value in self._secrets for part in _parts(name, value)]
        names = {name: _shown(name, known) for name, _ in known}
        forms: dict[str, str] = {}
        for name, value in known:
            for form in _forms(value):
                forms.setdefault(form, names[name])
        return forms

    @cached_property
    def _text(self) -> _Matcher:
        return _Matcher(self._forms)

    @cached_property
    def _raw(self) -> _Matcher:
        return _Matcher({_as_bytes(f).decode("latin-1"): n for f, n in self._forms.items()})

    def text(self, text: str) -> str:
        """The text without secrets; unchanged when there are none in it."""
        redacted = self._text.redact(text)
        return (
            redacted if len(redacted) < _SHORTEST_TOKEN else re.sub(_TOKEN, _TOKEN_MARK, redacted)
        )

    def raw(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        found = self._raw.redact(data.decode("latin-1"))
        return re.sub(_TOKEN, _TOKEN_MARK, found).encode("latin-1")

    def data(self, value: Any) -> Any:
        """The structure without secrets in its texts, keys included; not our own words."""
        if value is None or isinstance(value, StrEnum | int):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.raw(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            items = [self.data(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        return value

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        """Two keys that become the same stay two."""
        found: dict[Any, Any] = {}
        for key, item in value.items():
            wanted = base = self.data(key)
            number = 1
            while wanted in found:
                number += 1
                wanted = f"{base} ({number})"
            found[wanted] = self.data(item)
        return found


class _Matcher:
    """Finds forms in a text: one search per form, each linear, whatever text and forms are."""

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._forms = sorted(forms.items(), key=lambda item: -len(item[0]))
        marks = sorted({_mark(name) for name in forms.values()})
        # Marks are never searched: what was redacted once stays as it is.
        self._borders = re.compile("(" + "|".join([*map(re.escape, marks), _GAP]) + ")")

    def redact(self, text: str) -> str:
        if not self._forms or not text:
            return text
        parts = self._borders.split(text)
        last = len(parts) - 1
        for i in range(0, len(parts), 2):
            starts = i == 0 or not parts[i - 1].startswith(REDACTED)
            ends = i == last or not parts[i + 1].startswith(REDACTED)
            parts[i] = self._piece(parts[i], starts, ends)
        return "".join(parts)

    def _piece(self, text: str, starts: bool, ends: bool) -> str:
        spans = [*_found(text, self._forms), *self._broken(text)]
        for form, name in self._forms:
            if len(form) > SHORTEST_PIECE:
                spans += _cut_off_before(text, form, name) if starts else ()
                spans += _cut_off_behind(text, form, name) if ends else ()
        return _cut(text, spans) if spans else text

    def _broken(self, text: str) -> Iterator[_Span]:
        """Forms with line breaks in them: `base64` and `xxd` break lines where they like."""
        breaks = list(re.finditer(_LINE_BREAK, text))
        if not breaks:
            return
        joined = re.sub(_LINE_BREAK, "", text)
        starts, removed, total = [], [], 0
        for found in breaks:
            starts.append(found.start() - total)
            total += len(found[0])
            removed.append(total)
        for start, end, name in _found(joined, self._forms):
            before, within = bisect_right(starts, start), bisect_right(starts, end - 1)
            if within > before:
                shift = removed[before - 1] if before else 0
                yield _Span(start + shift, end + removed[within - 1], name)


def _places(text: str, piece: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    at = text.find(piece, start, end)
    while at != -1:
        yield at
        at = text.find(piece, at + 1, end)


def _found(text: str, forms: Iterable[tuple[str, str]]) -> Iterator[_Span]:
    for form, name in forms:
        yield from (_Span(at, at + len(form), name) for at in _places(text, form))


def _cut_off_before(text: str, form: str, name: str) -> Iterator[_Span]:
    """The last characters of a form at the start of a text."""
    for at in _places(text, form[-SHORTEST_PIECE:], 0, len(form) - 1):
        if form.endswith(text[: at + SHORTEST_PIECE]):
            yield _Span(0, at + SHORTEST_PIECE, name)


def _cut_off_behind(text: str, form: str, name: str) -> Iterator[_Span]:
    """The first characters of a form at the end of a text."""
    for at in _places(text, form[:SHORTEST_PIECE], max(0, len(text) - len(form) + 1)):
        if form.startswith(text[at:]):
            yield _Span(at, len(text), name)


def _cut(text: str, spans: list[_Span]) -> str:
    """Overlapping finds become one mark, named after the longest."""
    out: list[str] = []
    done = 0
    ordered = sorted(spans)
    longest, start, end = ordered[0], ordered[0].start, 0
    for span in ordered:
        if end and span.start >= end:
            out += [text[done:start], _mark(longest.name)]
            longest, start, done = span, span.start, end
        if span.end - span.start > longest.end - longest.start:
            longest = span
        end = max(end, span.end)
    return "".join([*out, text[done:start], _mark(longest.name), text[end:]])


def _mark(name: str) -> str:
    return f"{REDACTED}{name}]"


def _shown(name: str, known: list[tuple[str, str]]) -> str:
    """A name that is safe to show: plain characters, and no secret itself."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:_LONGEST_NAME]
    return "secret" if not plain or any(value in plain for _, value in known) else plain


def _parts(name: str, value: str) -> Iterator[str]:
    """The value if it is a secret, and each long line of it (a private key's own)."""
    value = value.strip()
    if not is_secret(name, value):
        return
    yield value
    lines = value.splitlines()
    for line in map(str.strip, lines if len(lines) > 1 else ()):
        if len(line) >= SHORTEST_LINE and not line.startswith("-----"):
            yield line


def _forms(value: str) -> set[str]:
    data = _as_bytes(value)
    stored = data.decode("utf-8", "replace")  # as decoded output shows bytes that are no text
    hexed = data.hex()
    return {value, stored, hexed, hexed.upper(), *_json(value), *_percent(data), *_base64(data)}


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _json(value: str) -> Iterator[str]:
    """Spellings by Python, JavaScript (which leaves letters as they are), PHP and Go."""
    for escaped in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
        yield re.sub("[<>&]", lambda m: f"\\u{ord(m[0]):04x}", escaped)


def _percent(data: bytes) -> Iterator[str]:
    for encoded in (
        *(quote(data, safe=safe) for safe in ("", "/", "!'()*", "!'()*;/?:@&=+$,#")),
        quote_plus(data),
        "".join(f"%{byte:02X}" for byte in data),
    ):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda m: m[0].lower(), encoded)


def _base64(data: bytes) -> Iterator[str]:
    """Yield the part of the encoding that no neighbour changes, for each offset modulo three.

    Standing alone, the last character and the padding belong to it too.
    """
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        alone = encode(data).decode("ascii")
        yield alone
        yield alone.rstrip("=")
        for before in range(3):
            whole = encode(bytes(before) + data + bytes(2)).decode("ascii")
            yield whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def is_secret(name: str, value: str) -> bool:
    """True when a value is worth hiding: long enough, and no ordinary word, path or number.

    A name that says so makes a secret of any value, from six characters on.
    """
    if _says_secret(name):
        return len(value) >= SHORTEST_BY_NAME
    return len(value) >= SHORTEST and not _is_ordinary(value)


def secret_variables(
    environ: Mapping[str, str], passed: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """The variables whose values are secrets, as a `Redactor` takes them.

    Those whose name says so, addresses with a password in them (and the password alone), and of
    the variables that are `passed` on by name those that look like a secret.
    """
    passed_on = frozenset(passed)
    found: dict[tuple[str, str], None] = {}
    for name, value in environ.items():
        passwords = list(_passwords(value))
        if _says_secret(name) or passwords or (name in passed_on and _looks_secret(value)):
            found[name, value] = None
        for password in passwords:
            found[f"{name}.password", password] = None
    return tuple(pair for pair in found if is_secret(pair[0], pair[1].strip()))


def _says_secret(name: str) -> bool:
    upper = name.upper()
    return re.search(_SECRET_NAME, upper) is not None and re.search(_OPEN_NAME, upper) is None


def _is_ordinary(value: str) -> bool:
    return re.fullmatch(_ORDINARY, value) is not None and re.match(_KNOWN_START, value) is None


def _passwords(value: str) -> Iterator[str]:
    for match in re.finditer(_URL_PASSWORD, value):
        yield match[1]
        yield unquote(match[1])
    for match in re.finditer(_FIELD_PASSWORD, value):
        yield match[1] or match[2]


def _looks_secret(value: str) -> bool:
    """A known beginning, or long and mixed: letters and digits, many different ones, no blank."""
    value = value.strip()
    if _is_ordinary(value) or len(value) < SHORTEST:
        return False
    if re.match(_KNOWN_START, value) or value.startswith("-----BEGIN"):
        return True
    mixed = re.search(r"[A-Za-z]", value) and re.search(r"[0-9]", value)
    return bool(mixed) and len(value) >= 16 and len(set(value)) >= 8 and not re.search(r"\s", value)


NOTHING_SECRET = Redactor(())
