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
"""A hash is cut to 128 bits: two values meet by accident once in some 2**64."""


class BlindIndex:
    """HMAC-SHA-256 of values, with a key of its own, cut to 128 bits and written as 32 hexadecimal digits.

    :param names: the property of the hash for each property that is hashed
    :param key: at least 32 random bytes; none of the keys that encrypt
    :raises BadDesign: the key is missing or too short, or two properties share one hash
    """

    def __init__(self, names: Mapping[str, str], key: bytes | None) -> None:
        self.names = dict(names)
        if self.names and (not isinstance(key, bytes) or len(key) < _LEAST_KEY):
            rule = f"blind indexes need a key of at least {_LEAST_KEY} random bytes"
            raise BadDesign("blind_key", NOT_SHOWN, rule, "make it with os.urandom(32), and keep it in a vault")
        if len(set(self.names.values())) < len(self.names):
            raise BadDesign("blind", list(self.names.values()), "two have the same name", "give each its own")
        self._key = key or b""

    @property
    def id(self) -> str | None:
        """By what a header tells the key from others; None where there are no blind indexes."""
        return self._digest(b"the id of this key")[:8] if self.names else None

    def hashes(self, table: str, fields: Mapping[str, Any]) -> dict[str, str]:
        """Return the hashes of the fields that are there, by the names of their properties.

        The same value has another hash in another table, and under another property.
        """
        found: dict[str, str] = {}
        for name, hashed in self.names.items():
            value = fields.get(name)
            if value is not None:
                place = f"{table.lower()}\0{name}\0".encode()
                found[hashed] = self._digest(place + to_bytes(name, value))
        return found

    def refuse_others(self, fields: Mapping[str, Any]) -> None:
        """Reject fields that have no blind index.

        :raises BadInput: there is one
        """
        for name in fields:
            if name not in self.names:
                rule = f"blind indexes are kept of {', '.join(self.names) or 'nothing'}"
                raise BadInput("field", name, rule, "declare one with blind={...}, or leave it out")

    def _digest(self, content: bytes) -> str:
        return hmac.new(self._key, content, hashlib.sha256).digest()[:_BYTES].hex()

    def __repr__(self) -> str:
        return f"<BlindIndex {self.names}>"
