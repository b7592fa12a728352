"""Cipher: AES-256-GCM and AES key wrap, as the `cryptography` package has them; nothing here is our own invention."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final

from ..extras import how_to_install

CONTENT_KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


def need_cryptography() -> None:
    """Refuse to go on without the package that encrypts.

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
