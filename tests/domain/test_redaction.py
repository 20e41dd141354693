"""Secrets do not reach what is stored or shown, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from signoff.domain.redaction import Redactor, is_secret, secret_variables

TOKEN = "hunter2-Hunter2/x+ü"
MARK = "[redacted:API_TOKEN]"
REDACTOR = Redactor([("API_TOKEN", TOKEN)])

Encode = Callable[[bytes], str]


def _small_percent(data: bytes) -> str:
    return re.sub("%..", lambda m: m[0].lower(), quote(data, safe=""))


ENCODINGS: dict[str, Encode] = {
    "plain": lambda data: data.decode(),
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64 without padding": lambda data: base64.b64encode(data).decode().rstrip("="),
    "base64 for addresses": lambda data: base64.urlsafe_b64encode(data).decode(),
    "hex": lambda data: data.hex(),
    "capital hex": lambda data: data.hex().upper(),
    "percent": lambda data: quote(data, safe=""),
    "percent with slashes": quote,
    "small percent": _small_percent,
    "form": quote_plus,
    "every byte in percent": lambda data: "".join(f"%{b:02x}" for b in data),
    "JSON": lambda data: json.dumps(data.decode())[1:-1],
    "JSON with letters": lambda data: json.dumps(data.decode(), ensure_ascii=False)[1:-1],
    "JSON of PHP": lambda data: json.dumps(data.decode())[1:-1].replace("/", "\\/"),
}
# What stands around a secret must not end in characters that an encoding could swallow.
around = st.text(alphabet="abc .\n\"'{}:,\\%=/+-_é", max_size=30)
secret_text = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=8)


def _decodable(redacted: str, value: bytes) -> bool:
    """Whether any form of the value can still be read in the text."""
    return any(encode(value) in redacted for encode in ENCODINGS.values())


@pytest.mark.parametrize("form", ENCODINGS)
def test_a_secret_is_redacted_in_every_form(form: str) -> None:
    encoded = ENCODINGS[form](TOKEN.encode())
    assert REDACTOR.text(f"before {encoded} after") == f"before {MARK} after"
    raw = f"before {encoded} after".encode() + b"\xff\x00"
    assert REDACTOR.raw(raw) == f"before {MARK} after".encode() + b"\xff\x00"


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(7))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_inside_something_encoded_is_redacted_wherever_it_begins(
    before: int, after: int, encode: Callable[[bytes], bytes]
) -> None:
    encoded = encode(b"x" * before + TOKEN.encode() + b"y" * after).decode()
    redacted = REDACTOR.text(encoded)
    assert MARK in redacted
    # At most a character on each side is left, besides the neighbours' own.
    assert len(redacted) - len(MARK) <= -(-(before + after) * 4 // 3) + 6


@given(secret_text, around, around, st.sampled_from(sorted(ENCODINGS)))
@example("a" * 8, "a", "a", "plain")
@example("=" * 8, "=", "=", "percent")
def test_no_form_of_any_secret_survives(value: str, before: str, after: str, form: str) -> None:
    value = value.strip()
    assume(len(value) >= 8)
    data = value.encode()
    text = before + ENCODINGS[form](data) + after
    redacted = Redactor([("MY_SECRET", value)]).text(text)
    outside = redacted.replace("[redacted:MY_SECRET]", "\0").replace("[redacted:secret]", "\0")
    assert not _decodable(outside, data)


narrow = st.text(alphabet="abredct[]:_A\n", max_size=40)
named = st.lists(st.tuples(st.sampled_from(["A_TOKEN", "B", "C_KEY"]), st.text() | narrow))


@given(st.text() | narrow, named)
@example("[redacted:A_TOKEN]", [("A_TOKEN", "[redacted:A_TOKEN]")])
@example("xx[redacted:A_", [("A_TOKEN", "[redacted:"), ("B", "redacted")])
@example("secretsecret", [("A_TOKEN", "secret"), ("B", "secretsecret")])
def test_redacting_twice_changes_nothing_more(text: str, secrets: list[tuple[str, str]]) -> None:
    redactor = Redactor(secrets)
    for value in (text, text.join(v for _, v in secrets), "".join(v for _, v in secrets) + text):
        once = redactor.text(value)
        assert redactor.text(once) == once
        raw = value.encode("utf-8", "replace")
        assert redactor.raw(redactor.raw(raw)) == redactor.raw(raw)


@given(st.text(alphabet=st.characters(exclude_characters="sS7u=%\\")))
def test_a_text_without_secrets_is_unchanged(text: str) -> None:
    """The excluded characters are in every form of this secret."""
    redactor = Redactor([("API_TOKEN", "sSsSsSsSsSsS")])
    assert redactor.text(text) == text


@given(st.binary())
def test_bytes_without_secrets_are_unchanged(data: bytes) -> None:
    assume(TOKEN.encode()[:6] not in data)
    assert REDACTOR.raw(data) == data


def test_the_longest_of_several_secrets_is_named() -> None:
    redactor = Redactor(
        [("A_TOKEN", "abcdefgh"), ("B_TOKEN", "abcdefgh-ijkl"), ("C_TOKEN", "ijklmnop")]
    )
    assert redactor.text("<abcdefgh-ijkl>") == "<[redacted:B_TOKEN]>"
    assert redactor.text("<abcdefgh-ijklmnop>") == "<[redacted:B_TOKEN]>"
    assert redactor.text("abcdefgh abcdefghijklmnop") == (
        "[redacted:A_TOKEN] [redacted:A_TOKEN][redacted:C_TOKEN]"
    )


def test_encodings_broken_into_lines_are_found() -> None:
    value = "github_pat_" + "0123456789abcdefXYZ" * 5
    redactor = Redactor([("GH_TOKEN", value)])
    for width, encoded in (
        (76, base64.b64encode(f"GH_TOKEN={value}\n".encode()).decode()),
        (60, value.encode().hex()),
        (40, value),
    ):
        for separator in ("\n", "\r\n", "\n    "):
            wrapped = separator.join(textwrap.wrap(encoded, width))
            assert "[redacted:GH_TOKEN]" in redactor.text(wrapped)
            assert not any(
                line in redactor.text(wrapped) for line in textwrap.wrap(encoded, 20)[2:-2]
            )


def test_line_breaks_that_break_no_secret_stay() -> None:
    text = f"one\n\ntwo {TOKEN}\r\n  three\n"
    assert REDACTOR.text(text) == f"one\n\ntwo {MARK}\r\n  three\n"


@pytest.mark.parametrize("length", range(12, len(TOKEN)))
def test_a_secret_cut_at_the_edge_of_a_text_is_redacted(length: int) -> None:
    assert REDACTOR.text(f"key={TOKEN[:length]}") == f"key={MARK}"
    assert REDACTOR.text(f"{TOKEN[-length:]} was it") == f"{MARK} was it"
    gap = "\n[... 4711 bytes not kept ...]\n"
    text = f"key={TOKEN[:length]}{gap}{TOKEN[-length:]} was it"
    assert REDACTOR.text(text) == f"key={MARK}{gap}{MARK} was it"
    cut = "[... 99 characters cut ...]\n"
    assert REDACTOR.text(f"{cut}{TOKEN[-length:]}!") == f"{cut}{MARK}!"
    encoded = TOKEN.encode().hex()
    assert REDACTOR.text(f"key={encoded[: 2 * length]}") == f"key={MARK}"


def test_a_piece_of_a_secret_in_the_middle_of_a_text_is_no_secret() -> None:
    text = f"see {TOKEN[:12]} there"
    assert REDACTOR.text(text) == text
    assert REDACTOR.text(TOKEN[:11]) == TOKEN[:11]


def test_a_mark_printed_around_a_secret_does_not_hide_it() -> None:
    assert REDACTOR.text(f"[redacted:{TOKEN}]") == f"[redacted:{MARK}]"
    assert REDACTOR.text(f"[redacted:API_TOKEN]{TOKEN}") == f"{MARK}{MARK}"


def test_a_name_that_is_itself_a_secret_is_not_shown() -> None:
    redactor = Redactor([("hunter2hunter2", "hunter2hunter2"), ("A\x1b[2J SECRET", "swordfish99")])
    assert (
        redactor.text("hunter2hunter2 swordfish99") == "[redacted:secret] [redacted:A__2J_SECRET]"
    )


def test_structures_are_redacted_with_their_keys() -> None:
    data: dict[str, Any] = {
        TOKEN: [TOKEN, 7, None, True, {"deep": (f"a {TOKEN}", 1.5)}],
        "raw": TOKEN.encode(),
        "plain": "nothing",
    }
    assert REDACTOR.data(data) == {
        MARK: [MARK, 7, None, True, {"deep": (f"a {MARK}", 1.5)}],
        "raw": MARK.encode(),
        "plain": "nothing",
    }


def test_two_keys_that_become_one_keep_both_values() -> None:
    data = {TOKEN: 1, TOKEN.encode().hex(): 2, MARK: 3}
    assert REDACTOR.data(data) == {MARK: 1, f"{MARK} (2)": 2, f"{MARK} (3)": 3}


PRIVATE_KEY = """-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEA7bq0Zn0pWc4yF1Yk0b9l1oQxJ9mXw3v2u6t8r4s0d5f7g9h1
k3l5m7n9q2w4e6r8t0y1u3i5o7p9a2s4d6f8g0h2j4k6l8z1x3c5v7b9n1m3q5w7
short
-----END RSA PRIVATE KEY-----
"""


def test_every_long_line_of_a_private_key_is_a_secret() -> None:
    redactor = Redactor([("DEPLOY_KEY", PRIVATE_KEY)])
    mark = "[redacted:DEPLOY_KEY]"
    lines = PRIVATE_KEY.split("\n")
    assert redactor.text(f"<{lines[1]}>") == f"<{mark}>"
    assert redactor.text(f"<{PRIVATE_KEY}>") == f"<{mark}\n>"
    assert redactor.text(json.dumps({"k": PRIVATE_KEY})) == f'{{"k": "{mark}\\n"}}'
    for common in (f"<{lines[0]}>", "<short>"):
        assert redactor.text(common) == common


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ANYTHING", "h7$kL2xQ", True),
        ("ANYTHING", "h7$kL2x", False),
        ("DB_PASSWORD", "h7$kL2", True),
        ("DB_PASSWORD", "h7$kL", False),
        ("DB_PASSWORD", "localhost", True),
        ("WHERE", "localhost", False),
        ("WHERE", "/usr/bin", False),
        ("WHERE", "/usr/local/bin:/usr/bin", False),
        ("WHERE", "~/projects/shop", False),
        ("WHERE", "https://example.com/a/b", False),
        ("WHERE", "db1.example.com:5432", False),
        ("MODE", "production", False),
        ("MODE", "xterm-256", False),
        ("LANG", "en_US.UTF-8", False),
        ("WHEN", "2026-11-15 10:00:00", False),
        ("NUMBER", "1234567890123", False),
        ("NUMBER", "", False),
        ("MODEL", "sk-proj-abcdefgh", True),
    ],
)
def test_words_paths_and_numbers_are_secrets_only_by_their_name(
    name: str, value: str, expected: bool
) -> None:
    assert is_secret(name, value) is expected
    assert (Redactor([(name, value)]).text(f"<{value}>") != f"<{value}>") is expected


@pytest.mark.parametrize(
    "name",
    [
        *(
            "GITHUB_TOKEN",
            "githubToken",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "DB_PASSWORD",
        ),
        *(
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASS",
            "OPENAI_API_KEY",
            "APIKEY",
            "SSH_KEY",
            "SENTRY_DSN",
        ),
        *("GOOGLE_CREDENTIALS", "KEY_PASSPHRASE", "GH_PAT", "HTTP_AUTHORIZATION", "CLIENT_SECRET"),
    ],
)
def test_a_name_that_says_so_makes_a_secret(name: str) -> None:
    assert secret_variables({name: "swordfish"}, ()) == ((name, "swordfish"),)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MAX_TOKENS"),
        *("TOKEN_URL", "PASSWORD_FILE", "SSH_PUBLIC_KEY", "SSH_AUTH_SOCK", "PATTERN", "COMPASS"),
    ],
)
def test_a_name_that_only_sounds_like_one_makes_no_secret(name: str) -> None:
    assert secret_variables({name: "swordfish"}, [name]) == ()


def test_an_address_with_a_password_is_a_secret_and_so_is_the_password() -> None:
    environ = {
        "DATABASE_URL": "postgres://shop:s3cr%40tpw@db/shop",
        "REDIS": "redis://:hunter22@cache:6379/0",
        "CONNECTION": "host=db user=shop password=swordfish dbname=shop",
        "OPEN_URL": "https://example.com/?a=b",
        "SHORT_URL": "postgres://shop:pw@db/shop",
    }
    found = secret_variables(environ, ())
    assert ("DATABASE_URL.password", "s3cr%40tpw") in found
    assert ("DATABASE_URL.password", "s3cr@tpw") in found
    assert ("REDIS.password", "hunter22") in found
    assert ("CONNECTION.password", "swordfish") in found
    assert {name for name, _ in found} & {"OPEN_URL", "SHORT_URL.password"} == set()
    redacted = Redactor(found).text("login s3cr@tpw at postgres://shop:s3cr%40tpw@db/shop")
    assert redacted == "login [redacted:DATABASE_URL.password] at [redacted:DATABASE_URL]"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ghp_0123456789abcdefghij", True),
        ("sk-ant-abcdefgh", True),
        ("Zm9vYmFyMTIzNDU2Nzg5MA==", True),
        ("3f2a9c1d7e5b8a6f4c0d", True),
        (PRIVATE_KEY, True),
        ("production", False),
        ("/opt/tools/v2/bin/tool-2024", False),
        ("https://example.com/v2/models/gpt4", False),
        ("a sentence with 17 words in it", False),
        ("1111111111111111111a", False),
    ],
)
def test_what_is_passed_on_counts_only_if_it_looks_like_a_secret(
    value: str, expected: bool
) -> None:
    assert bool(secret_variables({"MODEL": value}, ["MODEL", "ABSENT"])) is expected
    assert secret_variables({"MODEL": value}, []) == ()


def test_no_secrets_means_no_change() -> None:
    text = f"{TOKEN} [redacted:X] [... 1 bytes not kept ...]"
    assert Redactor([]).text(text) == text
    assert Redactor([("SHORT", "abc")]).data({text: [text]}) == {text: [text]}


def test_values_that_are_no_text_are_redacted_from_bytes_and_from_decoded_output() -> None:
    value = b"pass\xffword\xfe99".decode("utf-8", "surrogateescape")
    redactor = Redactor([("DB_PASSWORD", value), ("OTHER_KEY", "lone\ud800surrogate")])
    data = b"<pass\xffword\xfe99>"
    assert redactor.raw(data) == b"<[redacted:DB_PASSWORD]>"
    assert redactor.text(data.decode("utf-8", "replace")) == "<[redacted:DB_PASSWORD]>"


def test_many_secrets_in_a_large_text_are_all_redacted() -> None:
    secrets = [(f"K{i}_TOKEN", f"secret-value-{i:04}-of-many") for i in range(300)]
    text = "\n".join(f"line {i} {value} {'x' * 150}" for i, (_, value) in enumerate(secrets))
    redacted = Redactor(secrets).text(text)
    assert not any(value in redacted for _, value in secrets)
    assert all(f"[redacted:{name}]" in redacted for name, _ in secrets)


@pytest.mark.parametrize(
    "text", ["a" * 65_000, "ab" * 32_000, "a\n" * 32_000, "[redacted:" * 6_500]
)
def test_texts_made_to_be_slow_are_redacted_all_the_same(text: str) -> None:
    redactor = Redactor(
        [("A_TOKEN", "a" * 64), ("B_TOKEN", "ab" * 40), ("C_TOKEN", "[redacted:" * 3)]
    )
    assert len(redactor.text(text)) < 200
