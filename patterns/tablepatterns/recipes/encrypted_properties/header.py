"""The property that names an entity's encrypted properties and holds their wrapped content key."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .keys import Wrapped

ENCRYPTED_WITH: Final = "EncryptedWith"
"""The name of the property."""
_VERSION: Final = 1


@dataclass(frozen=True)
class Header:
    """The property with an entity's wrapped content key, as plain JSON.

    :param wrapped: the wrapped content key, and the id of the key-encryption key
    :param names: the properties that are encrypted with the content key
    :param blind: the id of the key of the blind indexes, if there are any
    """

    wrapped: Wrapped
    names: frozenset[str]
    blind: str | None = None

    def text(self) -> str:
        """Return the header as it is stored."""
        plain: dict[str, Any] = {
            "v": _VERSION,
            "kid": self.wrapped.kid,
            "alg": self.wrapped.algorithm,
            "key": b64encode(self.wrapped.key).decode(),
            "names": sorted(self.names),
        }
        if self.blind:
            plain["blind"] = self.blind
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: object) -> Header:
        """Parse a header.

        :raises ValueError: it is not a header, or of another version
        """
        try:
            plain: Mapping[str, Any] = json.loads(str(text))
            if plain["v"] != _VERSION:
                raise ValueError(f"its version is {plain['v']!r}, and this library reads {_VERSION}")
            wrapped = Wrapped(str(plain["kid"]), str(plain["alg"]), b64decode(plain["key"], validate=True))
            return cls(wrapped, frozenset(str(name) for name in plain["names"]), plain.get("blind"))
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError("it is not a header of encrypted properties") from error


def associated(header: Header, table: str, key: tuple[str, str], name: str) -> bytes:
    """Return the associated data of a ciphertext: table, primary keys, property, and all encrypted names.

    Each part is prefixed with its length, so that no two places have the same associated data.
    """
    parts = (f"tablepatterns/{_VERSION}", table.lower(), *key, name, *sorted(header.names))
    encoded_parts = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded_parts)
