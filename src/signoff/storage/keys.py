"""The key that signs receipts: one per user, made on first use, never overwritten."""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.errors import KeyUnusable, PlanConflict
from signoff.storage.files import swap_file

KEY_FILE = "receipts.pem"
_LARGEST_KEY = 16 * 1024
_OPEN_TO_OTHERS = 0o077
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PublicKey(Struct, frozen=True):
    """An ed25519 key to check with; its id is the sha256 of its DER form (SubjectPublicKeyInfo)."""

    key: Ed25519PublicKey
    pem: bytes
    id: str


class SigningKey(Struct, frozen=True):
    """The user's own key; only `public` ever leaves the home folder."""

    key: Ed25519PrivateKey
    public: PublicKey


def signing_key(folder: Path, name: str = KEY_FILE) -> SigningKey:
    """The key in this folder, made if there is none."""
    pem = _read_private(folder / name)
    if pem is None:
        _create(folder / name)
        pem = _read_private(folder / name)
    assert pem is not None
    return _load_private(pem, folder / name)


def own_public_key(folder: Path) -> PublicKey | None:
    """The public half of the key in this folder, or None; nothing is created."""
    pem = _read_private(folder / KEY_FILE)
    return None if pem is None else _load_private(pem, folder / KEY_FILE).public


def read_public_key(pem: bytes, where: str) -> PublicKey:
    """A public key in PEM form; KeyUnusable for anything else, private keys included."""
    hint = "pass what `signoff receipt key` printed at the signer's"
    if b"PRIVATE KEY" in pem:
        raise KeyUnusable(f"`{where}` is a private key; nobody but its owner may have it", hint)
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"`{where}` is not a public key in PEM form", hint) from error
    if not isinstance(key, Ed25519PublicKey):
        raise KeyUnusable(f"`{where}` is not an ed25519 key", hint)
    return _public(key)


def _public(key: Ed25519PublicKey) -> PublicKey:
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(key, pem, digest_bytes(der))


def _load_private(pem: bytes, path: Path) -> SigningKey:
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"the signing key `{path}` cannot be read: it is damaged") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable(f"the signing key `{path}` is not an ed25519 key")
    return SigningKey(key, _public(key.public_key()))


def _read_private(path: Path) -> bytes | None:
    try:
        fd = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeyUnusable(f"the signing key `{path}` cannot be read: {error.strerror}") from error
    with open(fd, "rb") as file:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise KeyUnusable(f"the signing key `{path}` is not a regular file")
        if state.st_mode & _OPEN_TO_OTHERS:
            raise KeyUnusable(
                f"other users can read the signing key `{path}`",
                f"find out who has a copy; if nobody: chmod 600 {shlex.quote(str(path))}",
            )
        return file.read(_LARGEST_KEY)


def _create(path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with suppress(PlanConflict):  # somebody else was first; whoever it was, one key counts
        swap_file(path, None, pem, mode=0o600)
