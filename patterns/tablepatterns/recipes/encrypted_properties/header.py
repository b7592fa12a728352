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
    """What is stored beside encrypted properties, in plain JSON: it keeps nothing secret but the wrapped key.

    :param wrapped: the content key, and the id of the key that unwraps it
    :param names: the properties that are encrypted with it
    :param blind: which key the blind indexes were made with, if there are any
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
        """Return the header that a text spells.

        :raises ValueError: it spells none, or one of another version
        """
        try:
            plain: Mapping[str, Any] = json.loads(str(text))
            if plain["v"] != _VERSION:
                raise ValueError(f"its version is {plain['v']!r}, and this library reads {_VERSION}")
            wrapped = Wrapped(str(plain["kid"]), str(plain["alg"]), b64decode(plain["key"], validate=True))
            return cls(wrapped, frozenset(str(name) for name in plain["names"]), plain.get("blind"))
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError("it is no header of encrypted properties") from error


def associated(header: Header, table: str, key: tuple[str, str], name: str) -> bytes:
    """Return what a ciphertext is bound to: its table, the primary row's keys, its property, and all that go with it.

    Each part is written with its length, so that no two places read alike.
    """
    parts = (f"tablepatterns/{_VERSION}", table.lower(), *key, name, *sorted(header.names))
    each = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in each)
