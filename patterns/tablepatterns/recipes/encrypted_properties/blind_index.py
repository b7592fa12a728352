"""Keyed hashes of encrypted properties, for looking them up by value."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from ...errors import NOT_SHOWN, BadDesign, BadInput
from .cipher import to_bytes

_LEAST_KEY: Final = 32
_BYTES: Final = 16
"""Hashes are truncated to 128 bits, so that collisions are expected after some 2**64 values."""


class BlindIndex:
    """HMAC-SHA-256 of values, truncated to 128 bits, as 32 hexadecimal digits.

    :param names: for each hashed property, the name of the property with the hash
    :param key: at least 32 random bytes; not one of the encryption keys
    :raises BadDesign: the key is missing or too short, or two properties share one hash
    """

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
        """Return the hashes of the given fields, by the names of their properties.

        The same value has different hashes in different tables and properties.
        """
        hashes: dict[str, str] = {}
        for name, hashed in self.names.items():
            value = fields.get(name)
            if value is not None:
                place = f"{table.lower()}\0{name}\0".encode()
                hashes[hashed] = self._digest(place + to_bytes(name, value))
        return hashes

    def check_fields(self, fields: Mapping[str, Any]) -> None:
        """Reject fields without a blind index.

        :raises BadInput: a field has none
        """
        for name in fields:
            if name not in self.names:
                rule = f"the fields with a blind index are {', '.join(self.names) or 'none'}"
                raise BadInput("field", name, rule, "declare one with blind={...}, or omit the field")

    def _digest(self, content: bytes) -> str:
        return hmac.new(self._key, content, hashlib.sha256).digest()[:_BYTES].hex()

    def __repr__(self) -> str:
        return f"<BlindIndex {self.names}>"
