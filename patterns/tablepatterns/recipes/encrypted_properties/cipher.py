"""AES-256-GCM encryption and AES key wrap of typed values, from the `cryptography` package."""

from __future__ import annotations

import os
import struct
from datetime import datetime
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from ...edm import Int64, Ticks
from ...entity import typed
from ...errors import NOT_SHOWN, BadInput, BadProperty
from ...extras import how_to_install

CONTENT_KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


def need_cryptography() -> None:
    """Check that the `cryptography` package is installed.

    :raises ModuleNotFoundError: it is not installed
    """
    try:
        import_module("cryptography.hazmat.primitives.ciphers.aead")
    except ImportError as error:
        text = f"encrypted properties need the package cryptography: {how_to_install('encrypt')}"
        raise ModuleNotFoundError(text, name="cryptography") from error


def new_content_key() -> bytes:
    """Return a key that nothing was encrypted with yet."""
    return os.urandom(CONTENT_KEY_BYTES)


def encrypt(key: bytes, plaintext: bytes, associated: bytes) -> bytes:
    """Return a nonce and the ciphertext with its tag.

    A nonce is random, and a key serves one write of one entity, so that the two never meet again.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, associated)


def decrypt(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    """Return the plaintext that `encrypt` was given.

    :raises ValueError: the key, the associated data or a single bit is another
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
    except InvalidTag:
        raise ValueError("it was altered, or encrypted for another place or with another key") from None


def wrap(key_encryption_key: bytes, content_key: bytes) -> bytes:
    """Return a key, encrypted with another by AES key wrap (RFC 3394)."""
    from cryptography.hazmat.primitives.keywrap import aes_key_wrap

    return aes_key_wrap(key_encryption_key, content_key)


def unwrap(key_encryption_key: bytes, wrapped: bytes) -> bytes:
    """Return the key that `wrap` was given.

    :raises ValueError: it was wrapped with another key, or altered
    """
    from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap

    try:
        return aes_key_unwrap(key_encryption_key, wrapped)
    except InvalidUnwrap:
        raise ValueError("it was wrapped with another key, or altered") from None


_STRUCTS: Final = {b"?": "?", b"i": ">i", b"l": ">q", b"d": ">d", b"t": ">q"}


def to_bytes(name: str, value: Any) -> bytes:
    r"""Return a value with its type, in a form that never changes.

    A text or bytes may be longer than a property; every other type is one that the service stores.

    >>> to_bytes("Salary", Int64(5))
    b'l\x00\x00\x00\x00\x00\x00\x00\x05'

    :raises BadProperty: it is no property type; the value is not shown
    """
    try:
        return _written(typed(name, value))
    except BadInput as error:
        # Its own text would show what is to be kept secret
        raise BadProperty(name, NOT_SHOWN, error.rule, error.hint) from None


def from_bytes(written: bytes) -> Any:
    """Return the value that `to_bytes` was given.

    :raises ValueError: there is no such type
    """
    kind, rest = written[:1], written[1:]
    if kind == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if kind == b"b":
        return rest
    if kind == b"g":
        return UUID(bytes=rest)
    if kind not in _STRUCTS:
        raise ValueError(f"{kind!r} is no type that this version knows")
    (value,) = struct.unpack(_STRUCTS[kind], rest)
    if kind == b"t":
        return Ticks(value) if value % 10 else Ticks(value).datetime()
    return Int64(value) if kind == b"l" else value


def _written(value: Any) -> bytes:
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, UUID):
        return b"g" + value.bytes
    if isinstance(value, datetime):
        # The SDK's datetimes keep the service's own text beside a value that lacks its seventh digit
        text = getattr(value, "tables_service_value", "")
        value = Ticks.parse(text) if text else Ticks.of(value)
    kinds = {bool: b"?", Int64: b"l", Ticks: b"t", float: b"d"}
    kind = next((kind for type_, kind in kinds.items() if isinstance(value, type_)), b"i")
    return kind + struct.pack(_STRUCTS[kind], value)
