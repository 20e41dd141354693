"""The signing key: private, made once, never replaced; and public keys that are what they say."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from signoff.errors import KeyUnusable
from signoff.storage.keys import own_public_key, read_public_key, signing_key
from tests.storage.kit import outputs, workers

MAKE = """
import sys
from pathlib import Path
from signoff.storage.keys import signing_key
print(signing_key(Path(sys.argv[1])).public.id)
"""


def key_file(folder: Path) -> Path:
    return folder / "receipts.pem"


def test_the_key_is_made_on_first_use_and_stays(tmp_path: Path) -> None:
    assert own_public_key(tmp_path) is None and not list(tmp_path.iterdir())
    first = signing_key(tmp_path)
    stored = key_file(tmp_path).read_bytes()
    assert signing_key(tmp_path).public.id == first.public.id
    found = own_public_key(tmp_path)
    assert found is not None and found.pem == first.public.pem
    assert key_file(tmp_path).read_bytes() == stored
    assert [path.name for path in tmp_path.iterdir()] == ["receipts.pem"]


def test_nobody_else_can_read_the_key_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        signing_key(tmp_path)
    finally:
        os.umask(before)
    assert key_file(tmp_path).stat().st_mode & 0o777 == 0o600


def test_many_who_make_it_at_once_get_the_same_key(tmp_path: Path) -> None:
    with workers(MAKE, 4, tmp_path) as started:
        ids = outputs(started)
    assert len(set(ids)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["receipts.pem"]


def test_the_id_is_the_sha256_of_the_public_keys_der_form(tmp_path: Path) -> None:
    public = signing_key(tmp_path).public
    loaded = load_pem_public_key(public.pem)
    der = loaded.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert public.id == hashlib.sha256(der).hexdigest()
    assert read_public_key(public.pem, "key.pem").id == public.id


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o602])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    signing_key(tmp_path)
    key_file(tmp_path).chmod(mode)
    with pytest.raises(KeyUnusable, match="other users can read"):
        signing_key(tmp_path)


def test_a_damaged_key_is_named_and_never_replaced(tmp_path: Path) -> None:
    signing_key(tmp_path)
    for damage in (b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        key_file(tmp_path).write_bytes(damage)
        with pytest.raises(KeyUnusable, match="damaged"):
            signing_key(tmp_path)
        assert key_file(tmp_path).read_bytes() == damage


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key_file(tmp_path).write_bytes(pem)
    key_file(tmp_path).chmod(0o600)
    with pytest.raises(KeyUnusable, match="not an ed25519 key"):
        signing_key(tmp_path)
    public = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(KeyUnusable, match="not an ed25519 key"):
        read_public_key(public, "key.pem")


def test_a_link_or_pipe_in_the_keys_place_is_refused_at_once(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    signing_key(real)
    key_file(tmp_path).symlink_to(key_file(real))
    with pytest.raises(KeyUnusable):
        signing_key(tmp_path)
    key_file(tmp_path).unlink()
    os.mkfifo(key_file(tmp_path), 0o600)
    with pytest.raises(KeyUnusable, match="not a regular file"):
        signing_key(tmp_path)


def test_only_a_public_key_passes_for_one() -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(KeyUnusable, match="is a private key"):
        read_public_key(pem, "key.pem")
    for wrong in (b"", b"hello", b"\xff\xfe", b"-----BEGIN PUBLIC KEY-----\n"):
        with pytest.raises(KeyUnusable, match=r"`key.pem` is not a public key"):
            read_public_key(wrong, "key.pem")
