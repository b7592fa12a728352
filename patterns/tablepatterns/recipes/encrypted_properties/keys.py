"""Key-encryption keys: local ones, those of Azure Key Vault, and the set of keys that one table may need.

A content key encrypts one write of one entity, and is stored with it, wrapped by a key-encryption key. The protocol is
that of azure-storage-blob, so a key for its client-side encryption works here too.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit

from azure.core.exceptions import AzureError

from ...argument_types import checked
from ...errors import NOT_SHOWN, BadDesign, DecryptionFailed, UnknownKey
from ...sdk.call import settled
from .cipher import CONTENT_KEY_BYTES, need_cryptography, unwrap, wrap

_A256KW: Final = "A256KW"
_VERSIONED: Final = 3
"""The parts of a versioned key's path: `keys`, its name, its version."""


@runtime_checkable
class KeyEncryptionKey(Protocol):
    """What azure-storage-blob asks of a key-encryption key; the two calls may be awaitable on an async account."""

    def wrap_key(self, key: bytes) -> bytes | Awaitable[bytes]:
        """Return a content key, encrypted."""
        ...

    def unwrap_key(self, key: bytes, algorithm: str) -> bytes | Awaitable[bytes]:
        """Return the content key that was encrypted; raise an error for what this key did not encrypt."""
        ...

    def get_kid(self) -> str:
        """Return the id of the key, which never comes to mean another key."""
        ...

    def get_key_wrap_algorithm(self) -> str:
        """Return the name of the algorithm that `wrap_key` uses."""
        ...


Resolve = Callable[[str], KeyEncryptionKey | None]


class LocalKey:
    """A key-encryption key in this process: 256 bits, AES key wrap (RFC 3394).

    Load its secret from a vault or a protected file, never from code.

    >>> key = LocalKey.generate("payroll-2026")
    >>> key
    <LocalKey payroll-2026>
    >>> key.unwrap_key(key.wrap_key(bytes(32)), "A256KW") == bytes(32)
    True

    :param kid: the id of the key, stored with everything that it protects
    :param secret: 32 bytes
    :raises BadDesign: the id is empty, or the secret is not 32 bytes
    """

    @checked
    def __init__(self, kid: str, secret: bytes) -> None:
        if not kid:
            raise BadDesign("kid", kid, "what is stored names its key", "give the key an id")
        if not isinstance(secret, bytes) or len(secret) != CONTENT_KEY_BYTES:
            rule = f"it has {CONTENT_KEY_BYTES} random bytes"
            raise BadDesign("secret", NOT_SHOWN, rule, "make one with LocalKey.generate, and keep it in a vault")
        need_cryptography()
        self._kid = kid
        self._secret = secret

    @classmethod
    @checked
    def generate(cls, kid: str) -> LocalKey:
        """Return a new random key; what it protects is lost with it."""
        return cls(kid, os.urandom(CONTENT_KEY_BYTES))

    def wrap_key(self, key: bytes) -> bytes:
        """Return a content key, encrypted."""
        return wrap(self._secret, key)

    def unwrap_key(self, key: bytes, algorithm: str) -> bytes:
        """Return the content key that was encrypted.

        :raises ValueError: this key did not encrypt it, or by another algorithm
        """
        if algorithm != _A256KW:
            raise ValueError(f"a LocalKey knows only {_A256KW}")
        return unwrap(self._secret, key)

    def get_kid(self) -> str:
        """Return the id of the key."""
        return self._kid

    def get_key_wrap_algorithm(self) -> str:
        """Return A256KW."""
        return _A256KW

    def __repr__(self) -> str:
        return f"<LocalKey {self._kid}>"


class VaultKey:
    """A key-encryption key in Azure Key Vault or a managed HSM, which never leaves it.

    Each entity that is written or read takes one request to the vault. An async client works on async accounts only.

    :param client: a `CryptographyClient` of azure-keyvault-keys, sync or aio, for a key id with its version
    :param algorithm: how keys are wrapped: RSA-OAEP-256, or A256KW in a managed HSM
    :raises BadDesign: the id has no version, so the key could not be identified after a rotation in the vault
    """

    @checked
    def __init__(self, client: Any, algorithm: str = "RSA-OAEP-256") -> None:
        if not hasattr(client, "key_id"):
            rule = "a key in a vault is used through a CryptographyClient"
            raise BadDesign("client", type(client).__name__, rule, "pass one of azure-keyvault-keys")
        self._kid = str(client.key_id)
        if len(urlsplit(self._kid).path.strip("/").split("/")) != _VERSIONED:
            rule = "it names no version, and the vault may rotate the key"
            raise BadDesign("key_id", self._kid, rule, "make the client with the id of one version")
        self._client = client
        self._algorithm = algorithm

    async def wrap_key(self, key: bytes) -> bytes:
        """Return a content key, encrypted by the vault."""
        wrapped: bytes = (await settled(self._client.wrap_key(_named(self._algorithm), key))).encrypted_key
        return wrapped

    async def unwrap_key(self, key: bytes, algorithm: str) -> bytes:
        """Return the content key that the vault encrypted."""
        plain: bytes = (await settled(self._client.unwrap_key(_named(algorithm), key))).key
        return plain

    def get_kid(self) -> str:
        """Return the versioned id of the key."""
        return self._kid

    def get_key_wrap_algorithm(self) -> str:
        """Return the name of the algorithm that wraps keys."""
        return self._algorithm

    def __repr__(self) -> str:
        return f"<VaultKey {self._kid}>"


def _named(algorithm: str) -> Any:
    """Return an algorithm as the client of the vault wants it: its own enum, and no text."""
    return import_module("azure.keyvault.keys.crypto").KeyWrapAlgorithm(algorithm)


class Wrapped(NamedTuple):
    """A content key as it is stored."""

    kid: str
    algorithm: str
    key: bytes


class KeyRing:
    """The keys of one mapping: the first one encrypts, all of them decrypt.

    :param keys: a key, or several
    :param resolve: gives the key of an id that is not among them, or None
    :raises BadDesign: there is none, two have the same id, or one is no key
    """

    def __init__(self, keys: KeyEncryptionKey | Sequence[KeyEncryptionKey], resolve: Resolve | None = None) -> None:
        given = list(keys) if isinstance(keys, Sequence) else [keys]
        if not given:
            raise BadDesign("keys", given, "something must encrypt", "give a key")
        for each in given:
            if not isinstance(each, KeyEncryptionKey):
                rule = "it lacks wrap_key, unwrap_key, get_kid or get_key_wrap_algorithm"
                raise BadDesign("key", type(each).__name__, rule, "give a LocalKey, a VaultKey, or one of your own")
        self._keys = {each.get_kid(): each for each in given}
        if len(self._keys) < len(given):
            raise BadDesign("keys", list(self._keys), "two keys have the same id", "give each key its own")
        self._current = given[0]
        self._resolve = resolve

    @property
    def current(self) -> str:
        """The id of the key that encrypts."""
        return self._current.get_kid()

    async def wrap(self, content_key: bytes) -> Wrapped:
        """Return a content key as it may be stored."""
        wrapped = await settled(self._current.wrap_key(content_key))
        return Wrapped(self._current.get_kid(), self._current.get_key_wrap_algorithm(), wrapped)

    async def unwrap(self, wrapped: Wrapped, whose: str) -> bytes:
        """Return a content key that was stored.

        :param whose: what to call the entity in an error
        :raises UnknownKey: its key is not among the keys
        :raises DecryptionFailed: the key refuses it
        """
        key = self._keys.get(wrapped.kid) or (self._resolve(wrapped.kid) if self._resolve else None)
        if key is None:
            text = f"{whose} was encrypted with the key {wrapped.kid!r}, and given were {', '.join(self._keys)}"
            raise UnknownKey(f"{text}; add the key to `keys`, or give a `resolve` that finds it")
        try:
            content_key: bytes = await settled(key.unwrap_key(wrapped.key, wrapped.algorithm))
        except AzureError:
            # The vault's own answer says more than we could
            raise
        except Exception as error:
            text = f"the key {wrapped.kid!r} does not decrypt the content key of {whose}; was it altered, or the key?"
            raise DecryptionFailed(text) from error
        if not isinstance(content_key, bytes) or len(content_key) != CONTENT_KEY_BYTES:
            raise DecryptionFailed(f"the content key of {whose} is not one of {CONTENT_KEY_BYTES} bytes")
        return content_key

    def __repr__(self) -> str:
        return f"<KeyRing {', '.join(self._keys)}>"
