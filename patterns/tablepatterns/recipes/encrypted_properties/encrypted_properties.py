"""Encrypt properties in the client, each bound to its entity and name."""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from ...argument_types import checked
from ...entity_set.mapping import Encoded, Fields, Place, PropertyMapping
from ...errors import NOT_SHOWN, BadDesign, BadInput, BadProperty, DecryptionFailed
from ...key.key import fields_of
from ...limits import SYSTEM_PROPERTIES
from ...models.annotations import StoredBy, annotated
from .cipher import CONTENT_KEY_BYTES, NONCE_BYTES, decrypt, encrypt, from_bytes, need_cryptography, to_bytes
from .keys import KeyEncryptionKey, KeyRing, Resolve, Wrapped


@dataclass(frozen=True)
class Encrypted(StoredBy):
    """Store a field of a model encrypted: `salary: Annotated[Decimal, Encrypted()]`.

    Give the set `EncryptedProperties(keys=...)`, without names, as one of its mappings.

    Guide: encrypting table data (the EncryptProperty attribute).
    """

    @checked
    def mapping(self, table: str, names: Sequence[str]) -> PropertyMapping:
        """Reject a set that has no keys.

        :raises BadDesign: always; a key has to be given to the set
        """
        rule = "the model declares these fields as encrypted, and the set has no key for them"
        raise BadDesign("mappings", sorted(names), rule, "pass mappings=[EncryptedProperties(keys=...)]")


ENCRYPTED_WITH: Final = "EncryptedWith"
"""The name of the property with an entity's header."""
_VERSION: Final = 1
_LATEST_VERSION: Final = 2
"""The version of headers with keys of values that stayed in their blobs."""
_LEAST_KEY: Final = 32
_HASH_BYTES: Final = 16
_MAGIC: Final = b"\x00tpe"
"""The first bytes of every encrypted value."""
_LEAST_SEALED: Final = len(_MAGIC) + NONCE_BYTES + 16
"""The size of prefix, nonce and tag; the plaintext has at least one byte, its type."""

_HEADER: Final = 120
"""The characters of the header, besides the names of properties."""

When: TypeAlias = Callable[[str, str, str], bool]


@dataclass(frozen=True)
class Header:
    """The property with an entity's encrypted names, wrapped content key, and id of the blind index's key, as JSON.

    A value that a later write left in its blob has its own content key, encrypted with that of the later write.
    """

    wrapped: Wrapped
    names: frozenset[str]
    blind: str | None = None
    kept_keys: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def text(self) -> str:
        plain: dict[str, Any] = {
            "v": _LATEST_VERSION if self.kept_keys else _VERSION,
            "kid": self.wrapped.kid,
            "alg": self.wrapped.algorithm,
            "key": b64encode(self.wrapped.key).decode(),
            "names": sorted(self.names),
        }
        if self.blind:
            plain["blind"] = self.blind
        if self.kept_keys:
            plain["kept"] = {name: b64encode(key).decode() for name, key in sorted(self.kept_keys.items())}
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: object) -> Header:
        """Parse a header; a text that is not one, or is of another version, is a `ValueError`."""
        try:
            plain: Mapping[str, Any] = json.loads(str(text))
            if plain["v"] not in (_VERSION, _LATEST_VERSION):
                raise ValueError(f"its version is {plain['v']!r}, and this library reads up to {_LATEST_VERSION}")
            wrapped = Wrapped(str(plain["kid"]), str(plain["alg"]), b64decode(plain["key"], validate=True))
            kept_keys = {name: b64decode(key, validate=True) for name, key in plain.get("kept", {}).items()}
            return cls(wrapped, frozenset(str(name) for name in plain["names"]), plain.get("blind"), kept_keys)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("it is not a header of encrypted properties") from error


def associated(header: Header, table: str, key: tuple[str, str], name: str, purpose: str = "") -> bytes:
    """Return the associated data of a ciphertext; the length before each part keeps any two places different."""
    parts = (f"tablepatterns/{_VERSION}{purpose}", table.lower(), *key, name, *sorted(header.names))
    encoded_parts = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded_parts)


class _BlindIndex:
    """HMAC-SHA-256 of encrypted properties, cut to 128 bits, so that collisions are expected after 2**64 values."""

    def __init__(self, names: Mapping[str, str], key: bytes | None) -> None:
        self.names = dict(names)
        if self.names and (not isinstance(key, bytes) or len(key) < _LEAST_KEY):
            rule = f"blind indexes need a key of at least {_LEAST_KEY} random bytes"
            raise BadDesign("blind_key", NOT_SHOWN, rule, "create it with os.urandom(32), and store it in a vault")
        if len(set(self.names.values())) < len(self.names):
            raise BadDesign("blind", list(self.names.values()), "two have the same name", "use a name for each")
        self._key = key or b""

    @property
    def id(self) -> str | None:
        """The id of the key in headers; None if there are no blind indexes."""
        return self._digest(b"the id of this key")[:8] if self.names else None

    def hashes(self, table: str, fields: Mapping[str, Any]) -> dict[str, str]:
        """Return the hashes of fields, which differ between tables and properties, by the names of their properties."""
        hashes: dict[str, str] = {}
        for name, hashed in self.names.items():
            value = fields.get(name)
            if value is not None:
                place = f"{table.lower()}\0{name}\0".encode()
                hashes[hashed] = self._digest(place + to_bytes(name, value))
        return hashes

    def _digest(self, content: bytes) -> str:
        return hmac.new(self._key, content, hashlib.sha256).digest()[:_HASH_BYTES].hex()


class EncryptedProperties(PropertyMapping):
    """Encrypt properties in this process before they are sent, and decrypt them when they are read.

    Use it for values that administrators, backups and logs must not reveal, such as salaries. PartitionKey, RowKey and
    Timestamp are never encrypted: do not put secrets in them.

    >>> from tablepatterns import EntitySet, Key, LocalKey, connect
    >>> storage, sealed = connect(), EncryptedProperties(["Salary", "Ssn"], keys=LocalKey.generate("payroll-2026"))
    >>> staff = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), mappings=[sealed])
    >>> _ = staff.insert({"Department": "Sales", "EmployeeId": 223, "Salary": 90_000, "Ssn": "078-05-1120"})
    >>> staff.get(Department="Sales", EmployeeId=223)["Salary"]
    90000
    >>> stored = storage.tables.get_table_client("Staff").get_entity("Sales", "empid_000223")
    >>> type(stored["Salary"]), type(stored["Ssn"])
    (<class 'bytes'>, <class 'bytes'>)

    Values keep their types; indexes copy the ciphertext. If a ciphertext was moved, altered or removed, reading raises
    `DecryptionFailed`, without showing plaintext. `merge` is rejected. Encrypted values are found by a blind index,
    which reveals which entities have equal values. More: docs/patterns/encrypted_properties.md.

    Cost: no storage transactions. One operation of the key per entity written or read, two if a large value stays in
    its blob, which are requests for a key in a vault. A property takes 33 bytes more than its value in UTF-8, and
    `EncryptedWith` some 150.

    :param names: the properties to encrypt, `[]` for a program that only reads; None for the fields of the set's model
        that are `Encrypted`
    :param keys: a key-encryption key, or several: the first encrypts, all decrypt
    :param when: called with PartitionKey, RowKey and name; returns whether to encrypt this entity's property. None for
        always
    :param resolve: called with the id of a key that is not in `keys`; returns the key or None
    :param blind: for each property with a blind index, the name of the property for its keyed hash
    :param blind_key: the key of the hashes: at least 32 random bytes, to be protected like the other keys
    :param require: whether reading rejects a plain value that should be encrypted
    :raises BadDesign: a name cannot be encrypted, there is no key, or a property with a blind index is not encrypted
    :raises ModuleNotFoundError: the package `cryptography` is not installed, as in a browser

    Guide: encrypting table data (client side).
    """

    name: ClassVar[str] = "encrypted properties"
    order: ClassVar[int] = 1
    declared_by: ClassVar[type[StoredBy] | None] = Encrypted
    allows_merge: ClassVar[bool] = False
    keeps_secret: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        names: Iterable[str] | None = None,
        *,
        keys: KeyEncryptionKey | Sequence[KeyEncryptionKey],
        when: When | None = None,
        resolve: Resolve | None = None,
        blind: Mapping[str, str] | None = None,
        blind_key: bytes | None = None,
        require: bool = False,
    ) -> None:
        need_cryptography()
        self._names = frozenset(names or ())
        self._ring = KeyRing(keys, resolve)
        self._blind = _BlindIndex(blind or {}, blind_key)
        self._when = when
        self._require = require
        self.needs_model = names is None
        if not self.needs_model:
            self._check()

    def of_model(self, model: type[Any]) -> EncryptedProperties:
        if not self.needs_model:
            return self
        mapping = copy.copy(self)
        mapping.needs_model = False
        mapping._names = frozenset(annotated(model, Encrypted))
        mapping._check()
        return mapping

    def _check(self) -> None:
        hashes = frozenset(self._blind.names.values())
        for name in sorted(self._names.intersection({*SYSTEM_PROPERTIES, ENCRYPTED_WITH, *hashes})):
            rule = "the service or the mapping needs it unencrypted"
            raise BadDesign("names", name, rule, "encrypt other properties")
        for name in sorted(self._blind.names.keys() - self._names):
            raise BadDesign("blind", name, "it is not encrypted, so it can be queried directly", "omit it")
        for name in sorted(hashes.intersection({*SYSTEM_PROPERTIES, ENCRYPTED_WITH})):
            raise BadDesign("blind", name, "the name is reserved", "use another name for the hash")

    @property
    def fields(self) -> Collection[str]:
        return self._names

    def stored(self, name: str) -> Collection[str]:
        return (name, ENCRYPTED_WITH) if name in self._names else (name,)

    def written_names(self, name: str) -> Collection[str]:
        hashed = self._blind.names.get(name)
        return (*self.stored(name), *([hashed] if hashed else []))

    @checked
    def blind(self, table: str, values: Mapping[str, Any] | None = None, /, **fields: Any) -> dict[str, str]:
        """Return the blind-index hashes of values, to use as index fields or in a filter.

        A value must equal the stored one, including case and type. An example: docs/patterns/encrypted_properties.md.

        :param table: the name of the table
        :param fields: values of properties that have a blind index
        :raises BadInput: a property has none
        """
        values_by_name = fields_of(values, fields)
        for name in values_by_name:
            if name not in self._blind.names:
                rule = f"the fields with a blind index are {', '.join(self._blind.names) or 'none'}"
                raise BadInput("field", name, rule, "declare one with blind={...}, or omit the field")
        return self._blind.hashes(table, values_by_name)

    def is_current(self, stored: Fields, key: tuple[str, str]) -> bool:
        """Return whether a row is encrypted as a write would do it now; DecryptionFailed if its header is not valid."""
        names_to_encrypt = self._names_to_encrypt(stored, key)
        if ENCRYPTED_WITH not in stored:
            return not names_to_encrypt
        header = self._header(stored[ENCRYPTED_WITH], key)
        key_ids = self._ring.current, self._blind.id
        return names_to_encrypt <= header.names and (header.wrapped.kid, header.blind) == key_ids

    def _stored_size(self, size: int, *, is_text: bool, address: int) -> tuple[int, int]:
        # Text is encrypted in UTF-8, in which a character usually takes one byte
        return _LEAST_SEALED + 1 + (size // 2 if is_text else size), 0

    def _added_properties(self, names: Collection[str]) -> dict[str, int]:
        own_names = self._names.intersection(names)
        return {ENCRYPTED_WITH: 2 * (_HEADER + sum(len(name) + 3 for name in own_names))} if own_names else {}

    def names_to_keep(self, unchanged: Collection[str], fields: Fields, place: Place) -> Collection[str]:
        """Leave out values that are encrypted now or were before, unless they are in blobs under the current key."""
        names = self._names_to_encrypt(fields, place.key)
        header = self._header(place.stored[ENCRYPTED_WITH], place.key) if ENCRYPTED_WITH in place.stored else None
        changing_names = names if header is None else names | header.names
        if header is not None and header.wrapped.kid == self._ring.current and header.names == names:
            changing_names = frozenset(name for name in names if _is_sealed(place.stored.get(name)))
        return [name for name in unchanged if name not in changing_names]

    async def encode(self, fields: Fields, place: Place) -> Encoded:
        for name in sorted({ENCRYPTED_WITH, *self._blind.names.values()}.intersection(fields)):
            raise BadProperty(name, fields[name], f"the name is reserved for {self.name}", "rename the property")
        names = self._names_to_encrypt(fields, place.key)
        plain_values = {name: to_bytes(name, fields[name]) for name in names.difference(place.kept_names)}
        for name in sorted(name for name in fields.keys() - names if _is_sealed(fields[name])):
            rule = "it starts like an encrypted value, and would be read as one"
            raise BadProperty(name, NOT_SHOWN, rule, "encrypt this property too, or add a byte in front of its value")
        stored = {**fields, **self._blind.hashes(place.table, fields)}
        if not names:
            return Encoded(stored)
        content_key = os.urandom(CONTENT_KEY_BYTES)
        wrapped = await self._ring.wrap(content_key)
        kept_keys = await self._kept_keys(names.intersection(place.kept_names), content_key, place)
        header = Header(wrapped, names, self._blind.id, kept_keys)
        for name, plain in plain_values.items():
            stored[name] = _MAGIC + encrypt(content_key, plain, associated(header, place.table, place.key, name))
        return Encoded(stored | {ENCRYPTED_WITH: header.text()})

    async def decode(self, fields: Fields, place: Place) -> dict[str, Any]:
        """Return the fields with all encrypted values decrypted, declared here or not.

        :raises DecryptionFailed: a value is not what was encrypted for this property of this entity
        :raises UnknownKey: it was encrypted with an unknown key
        """
        hidden = {ENCRYPTED_WITH, *self._blind.names.values()}
        decoded = {name: value for name, value in fields.items() if name not in hidden}
        header = self._header(fields[ENCRYPTED_WITH], place.key) if ENCRYPTED_WITH in fields else None
        sealed_names = header.names.intersection(decoded) if header else frozenset[str]()
        self._check_plain(decoded, sealed_names, place)
        self._check_removed(decoded, header, place)
        if header is None or not sealed_names:
            return decoded
        content_key = await self._ring.unwrap(header.wrapped, f"the entity {place.key}")
        for name in sorted(sealed_names):
            decoded[name] = _decrypt(decoded[name], content_key, header, place, name)
        return decoded

    async def _kept_keys(self, names: Collection[str], content_key: bytes, place: Place) -> dict[str, bytes]:
        """Return the content keys of values that stay in their blobs, encrypted with that of this write."""
        if not names:
            return {}
        header = self._header(place.stored[ENCRYPTED_WITH], place.key)
        old_key = await self._ring.unwrap(header.wrapped, f"the entity {place.key}")
        return {
            name: encrypt(content_key, _key_of(name, old_key, header, place), _associated_with_key(name, header, place))
            for name in names
        }

    def _names_to_encrypt(self, fields: Fields, key: tuple[str, str]) -> frozenset[str]:
        return frozenset(name for name in self._names if fields.get(name) is not None and self._chooses(name, key))

    def _chooses(self, name: str, key: tuple[str, str]) -> bool:
        return self._when is None or self._when(*key, name)

    def _header(self, text: object, key: tuple[str, str]) -> Header:
        try:
            return Header.parse(text)
        except ValueError as error:
            raise DecryptionFailed(f"{ENCRYPTED_WITH} of the entity {key} cannot be read: {error}") from error

    def _check_plain(self, fields: Fields, sealed_names: Collection[str], place: Place) -> None:
        """Reject encrypted values without a header, and with `require`, plain values that should be encrypted."""
        for name in sorted(fields.keys() - sealed_names):
            if _is_sealed(fields[name]):
                text = f"{name} of the entity {place.key} is encrypted, and its header is missing or does not name it"
                raise DecryptionFailed(f"{text}; another program changed the row, so restore it")
            if name in self._names and self._require and self._chooses(name, place.key):
                text = f"{name} of the entity {place.key} is not encrypted, and `require` is set"
                raise DecryptionFailed(f"{text}; find out what wrote it, or encrypt it with KeyRotation")

    def _check_removed(self, fields: Fields, header: Header | None, place: Place) -> None:
        """Reject an entity that lacks a selected property which its header names."""
        for name in sorted(header.names.difference(fields)) if header else ():
            if place.read is None or name in place.read:
                text = f"{name} of the entity {place.key} was encrypted with the others, and is missing"
                raise DecryptionFailed(f"{text}; another program removed it, so restore the row")

    def __repr__(self) -> str:
        return f"<EncryptedProperties {', '.join(sorted(self._names)) or 'none'} with {self._ring.current}>"


def _is_sealed(value: object) -> bool:
    """Return whether a value looks encrypted, without consulting the header."""
    return isinstance(value, bytes) and value.startswith(_MAGIC) and len(value) > _LEAST_SEALED


def _decrypt(sealed: object, content_key: bytes, header: Header, place: Place, name: str) -> Any:
    where = f"{name} of the entity {place.key} in {place.table}"
    if not isinstance(sealed, bytes) or not sealed.startswith(_MAGIC):
        raise DecryptionFailed(f"{where} was overwritten with a plain value; restore the row")
    try:
        key = _key_of(name, content_key, header, place)
        return from_bytes(decrypt(key, sealed[len(_MAGIC) :], associated(header, place.table, place.key, name)))
    except ValueError as error:
        raise DecryptionFailed(f"{where} cannot be decrypted: {error}") from None


def _key_of(name: str, content_key: bytes, header: Header, place: Place) -> bytes:
    """Return the content key of a value; an altered one is a `ValueError`."""
    if name not in header.kept_keys:
        return content_key
    return decrypt(content_key, header.kept_keys[name], _associated_with_key(name, header, place))


def _associated_with_key(name: str, header: Header, place: Place) -> bytes:
    return associated(header, place.table, place.key, name, "/key")
