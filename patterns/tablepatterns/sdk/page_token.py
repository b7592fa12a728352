"""Pages of queries, and continuation tokens as text that can be stored and used by another process."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import NoneType
from typing import NamedTuple

from ..entity import Entity
from ..errors import BadToken
from ..filters import Filter

_VERSION = 1
_NEXT_PARTITION_KEY = "x-ms-continuation-NextPartitionKey"
_NEXT_ROW_KEY = "x-ms-continuation-NextRowKey"
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True)
class Position:
    """The service's continuation token: opaque, and valid only for its own query."""

    partition_key: str | None
    row_key: str | None

    @classmethod
    def of(cls, continuation: Mapping[str, str | None] | None) -> Position | None:
        """Return the position that the SDK's pager reports, or None at the end of the results."""
        return cls(continuation.get("PartitionKey"), continuation.get("RowKey")) if continuation else None

    @classmethod
    def in_headers(cls, headers: Mapping[str, str]) -> Position | None:
        """Return the position that the headers of a response name, or None at the end of the results."""
        partition_key, row_key = headers.get(_NEXT_PARTITION_KEY), headers.get(_NEXT_ROW_KEY)
        return cls(partition_key, row_key) if partition_key or row_key else None

    def sdk(self) -> dict[str, str | None]:
        """Return the position as the SDK's pager takes it."""
        return {"PartitionKey": self.partition_key, "RowKey": self.row_key}

    def text(self, table: str, where: Filter | None) -> str:
        """Return the token as URL-safe text, bound to its query."""
        parts = [_VERSION, _query(table, where), self.partition_key, self.row_key]
        return base64.urlsafe_b64encode(_encode(parts).encode()).decode("ascii")

    @classmethod
    def parse(cls, token: str, table: str, where: Filter | None) -> Position:
        """Return the position that `text` wrote for the same query; BadToken for any other text."""
        try:
            text = base64.b64decode(token, altchars=b"-_", validate=True)
            version, query, partition_key, row_key = json.loads(text)
            if not {type(partition_key), type(row_key)} <= {str, NoneType}:
                raise TypeError("a part of a position is text")
        except (TypeError, ValueError, RecursionError) as error:
            raise BadToken("token", token, "it is not a token of this library", "start without one") from error
        if version != _VERSION or query != _query(table, where):
            rule = "a token continues the query it came from: the same table, the same filter"
            raise BadToken("token", token, rule, "start without one, or repeat the first query")
        return cls(partition_key, row_key)


def _query(table: str, where: Filter | None) -> str:
    text = f"{table.lower()}\n{'' if where is None else where}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class PageQuery(NamedTuple):
    """One page of a query, with at most `size` entities, from `start` on; `select` is None for all properties."""

    where: Filter | None
    size: int
    start: Position | None = None
    select: Sequence[str] | None = None


class EntityPage(NamedTuple):
    """The entities of a page, and the position of the next page, or None at the end."""

    entities: Sequence[Entity]
    next: Position | None
