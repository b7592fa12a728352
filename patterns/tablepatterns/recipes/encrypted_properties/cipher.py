"""AES-256-GCM encryption of typed values, with the `cryptography` package."""

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
from ...extras import importing

CONTENT_KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


def need_cryptography() -> None:
    with importing("encrypted properties need the package"):
        import_module("cryptography.hazmat.primitives.ciphers.aead")


def encrypt(key: bytes, plaintext: bytes, associated: bytes) -> bytes:
    """Return a random nonce, the ciphertext and the tag; a key is for one write of one entity, so no pair repeats."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, associated)


def decrypt(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    """Return the plaintext of `encrypt`; with another key, ciphertext or associated data it is a `ValueError`."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
    except InvalidTag:
        raise ValueError("it was altered, or encrypted for another entity or with another key") from None


_STRUCTS: Final = {b"?": "?", b"i": ">i", b"l": ">q", b"d": ">d", b"t": ">q"}


def to_bytes(name: str, value: Any) -> bytes:
    """Return a typed value in a stable form; texts may be longer than a property. Errors do not show values."""
    try:
        return _to_bytes(typed(name, value))
    except BadInput as error:
        # The original error would show the secret value
        raise BadProperty(name, NOT_SHOWN, error.rule, error.hint) from None


def from_bytes(data: bytes) -> Any:
    """Return the value of `to_bytes`; an unknown type is a `ValueError`."""
    kind, payload = data[:1], data[1:]
    if kind == b"s":
        return payload.decode("utf-8", "surrogatepass")
    if kind == b"b":
        return payload
    if kind == b"g":
        return UUID(bytes=payload)
    if kind not in _STRUCTS:
        raise ValueError(f"this version does not know the type {kind!r}")
    (value,) = struct.unpack(_STRUCTS[kind], payload)
    if kind == b"t":
        return Ticks(value) if value % 10 else Ticks(value).datetime()
    return Int64(value) if kind == b"l" else value


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, UUID):
        return b"g" + value.bytes
    if isinstance(value, datetime):
        # The SDK's datetimes have the service's text, since the value lacks its seventh digit
        text = getattr(value, "tables_service_value", "")
        value = Ticks.parse(text) if text else Ticks.of(value)
    kinds = {bool: b"?", Int64: b"l", Ticks: b"t", float: b"d"}
    kind = next((kind for type_, kind in kinds.items() if isinstance(value, type_)), b"i")
    return kind + struct.pack(_STRUCTS[kind], value)
