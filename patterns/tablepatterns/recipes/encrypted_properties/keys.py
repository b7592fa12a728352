"""Key-encryption keys, local or in Azure Key Vault, with the protocol that azure-storage-blob uses."""

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
from .cipher import CONTENT_KEY_BYTES, need_cryptography

_A256KW: Final = "A256KW"
_VERSIONED: Final = 3
"""The parts of a versioned key's path: `keys`, its name, its version."""


@runtime_checkable
class KeyEncryptionKey(Protocol):
    """The key-encryption key protocol of azure-storage-blob; its methods may be async on an async account."""

    def wrap_key(self, key: bytes) -> bytes | Awaitable[bytes]:
        """Return a content key, encrypted."""
        ...

    def unwrap_key(self, key: bytes, algorithm: str) -> bytes | Awaitable[bytes]:
        """Return the decrypted content key, or raise an error if this key did not encrypt it."""
        ...

    def get_kid(self) -> str:
        """Return the id of the key, which must never refer to another key."""
        ...

    def get_key_wrap_algorithm(self) -> str:
        """Return the name of the algorithm that `wrap_key` uses."""
        ...


Resolve = Callable[[str], KeyEncryptionKey | None]


class LocalKey(KeyEncryptionKey):
    """A 256-bit key-encryption key in this process, with AES key wrap (RFC 3394).

    Load its secret from a vault or a protected file, not from code.

    >>> key = LocalKey.generate("payroll-2026")
    >>> key
    <LocalKey payroll-2026>
    >>> key.unwrap_key(key.wrap_key(bytes(32)), "A256KW") == bytes(32)
    True

    :param kid: the id of the key, stored with every entity that it protects
    :param secret: 32 bytes
    :raises BadDesign: the id is empty, or the secret is not 32 bytes
    """

    @checked
    def __init__(self, kid: str, secret: bytes) -> None:
        if not kid:
            raise BadDesign("kid", kid, "stored entities refer to their key by its id", "give the key an id")
        if not isinstance(secret, bytes) or len(secret) != CONTENT_KEY_BYTES:
            rule = f"it has {CONTENT_KEY_BYTES} random bytes"
            raise BadDesign("secret", NOT_SHOWN, rule, "create one with LocalKey.generate, and store it in a vault")
        need_cryptography()
        self._kid = kid
        self._secret = secret

    @classmethod
    @checked
    def generate(cls, kid: str) -> LocalKey:
        """Return a new random key. If it is lost, so is the data that it protects."""
        return cls(kid, os.urandom(CONTENT_KEY_BYTES))

    def wrap_key(self, key: bytes) -> bytes:
        from cryptography.hazmat.primitives.keywrap import aes_key_wrap

        return aes_key_wrap(self._secret, key)

    def unwrap_key(self, key: bytes, algorithm: str) -> bytes:
        from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap

        if algorithm != _A256KW:
            raise ValueError(f"a LocalKey knows only {_A256KW}")
        try:
            return aes_key_unwrap(self._secret, key)
        except InvalidUnwrap:
            raise ValueError("it was wrapped with another key, or altered") from None

    def get_kid(self) -> str:
        return self._kid

    def get_key_wrap_algorithm(self) -> str:
        return _A256KW

    def __repr__(self) -> str:
        return f"<LocalKey {self._kid}>"


class VaultKey(KeyEncryptionKey):
    """A key-encryption key that stays in Azure Key Vault or a managed HSM.

    Each entity that is written or read takes one request to the vault. An async client works on async accounts only.

    :param client: a `CryptographyClient` of azure-keyvault-keys, sync or aio, for a key id with its version
    :param algorithm: how keys are wrapped: RSA-OAEP-256, or A256KW in a managed HSM
    :raises BadDesign: the key id has no version, so the key could not be identified after a rotation in the vault
    """

    @checked
    def __init__(self, client: Any, algorithm: str = "RSA-OAEP-256") -> None:
        if not hasattr(client, "key_id"):
            rule = "it is not a CryptographyClient"
            raise BadDesign("client", type(client).__name__, rule, "pass one of azure-keyvault-keys")
        self._kid = str(client.key_id)
        if len(urlsplit(self._kid).path.strip("/").split("/")) != _VERSIONED:
            rule = "it has no version, and the vault may rotate the key"
            raise BadDesign("key_id", self._kid, rule, "create the client with a versioned key id")
        self._client = client
        self._algorithm = algorithm

    async def wrap_key(self, key: bytes) -> bytes:
        wrapped: bytes = (await settled(self._client.wrap_key(_key_wrap_algorithm(self._algorithm), key))).encrypted_key
        return wrapped

    async def unwrap_key(self, key: bytes, algorithm: str) -> bytes:
        plain: bytes = (await settled(self._client.unwrap_key(_key_wrap_algorithm(algorithm), key))).key
        return plain

    def get_kid(self) -> str:
        return self._kid

    def get_key_wrap_algorithm(self) -> str:
        return self._algorithm

    def __repr__(self) -> str:
        return f"<VaultKey {self._kid}>"


def _key_wrap_algorithm(algorithm: str) -> Any:
    return import_module("azure.keyvault.keys.crypto").KeyWrapAlgorithm(algorithm)


class Wrapped(NamedTuple):
    """A content key as it is stored."""

    kid: str
    algorithm: str
    key: bytes


class KeyRing:
    """The keys of one mapping: the first one encrypts, all of them decrypt."""

    def __init__(self, keys: KeyEncryptionKey | Sequence[KeyEncryptionKey], resolve: Resolve | None = None) -> None:
        key_list = list(keys) if isinstance(keys, Sequence) else [keys]
        if not key_list:
            raise BadDesign("keys", key_list, "there are none", "pass at least one key")
        self._keys = {key.get_kid(): key for key in key_list}
        if len(self._keys) < len(key_list):
            raise BadDesign("keys", list(self._keys), "two keys have the same id", "use a different id for each")
        self._current = key_list[0]
        self._resolve = resolve

    @property
    def current(self) -> str:
        return self._current.get_kid()

    async def wrap(self, content_key: bytes) -> Wrapped:
        wrapped = await settled(self._current.wrap_key(content_key))
        return Wrapped(self._current.get_kid(), self._current.get_key_wrap_algorithm(), wrapped)

    async def unwrap(self, wrapped: Wrapped, whose: str) -> bytes:
        """Return a stored content key, decrypted; errors call its entity `whose`."""
        key = self._keys.get(wrapped.kid) or (self._resolve(wrapped.kid) if self._resolve else None)
        if key is None:
            text = f"{whose} was encrypted with the key {wrapped.kid!r}, and the keys are {', '.join(self._keys)}"
            raise UnknownKey(f"{text}; add the key to `keys`, or pass a `resolve` that returns it")
        try:
            content_key: bytes = await settled(key.unwrap_key(wrapped.key, wrapped.algorithm))
        except AzureError:
            # The vault's error has the details
            raise
        except Exception as error:
            text = f"the key {wrapped.kid!r} cannot decrypt the content key of {whose}; it, or the key, was altered"
            raise DecryptionFailed(text) from error
        if not isinstance(content_key, bytes) or len(content_key) != CONTENT_KEY_BYTES:
            raise DecryptionFailed(f"the content key of {whose} does not have {CONTENT_KEY_BYTES} bytes")
        return content_key

    def __repr__(self) -> str:
        return f"<KeyRing {', '.join(self._keys)}>"
