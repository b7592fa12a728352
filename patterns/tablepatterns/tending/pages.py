"""Pages: the rows of one table after another, a page at a time, from wherever an earlier walk ended."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from ..deriving.row_store import RowStore
from ..entity import Entity
from ..errors import BadToken
from ..limits import MAX_PAGE_ENTITIES

_VERSION: Final = 1


@dataclass(frozen=True)
class Mark:
    """How far a walk has come: in which of its tables, and by which continuation token.

    >>> Mark.parse(Mark("backfill by_email", 1, "abc").text(), "backfill by_email")
    Mark(walk='backfill by_email', table=1, token='abc')

    :param walk: what the walk is for; a token goes on with no other
    """

    walk: str
    table: int = 0
    token: str | None = None

    def text(self) -> str:
        """Return the mark as URL-safe text."""
        parts = [_VERSION, _digest(self.walk), self.table, self.token]
        return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode("ascii")

    @classmethod
    def parse(cls, token: str | None, walk: str) -> Mark:
        """Return the mark that `text` wrote for the same walk; None is its beginning.

        :raises BadToken: the text is none, or is of another walk
        """
        if token is None:
            return cls(walk)
        try:
            version, digest, table, inner = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
            is_sound = version == _VERSION and digest == _digest(walk) and isinstance(table, int) and table >= 0
        except (TypeError, ValueError, RecursionError) as error:
            raise BadToken("resume", token, "it is no token of this library", "begin without one") from error
        if not is_sound:
            rule = "a token goes on with what it came from: the same work, on the same derived data of the same set"
            raise BadToken("resume", token, rule, "begin without one")
        return cls(walk, table, inner)


async def pages(stores: Sequence[RowStore], mark: Mark) -> AsyncIterator[tuple[int, Sequence[Entity], Mark | None]]:
    """Hand out the rows of each page with the number of its store, and the mark of what follows; None after the last.

    Cost: 1 transaction for each page.
    """
    number, token = mark.table, mark.token
    while number < len(stores):
        of = number
        page = await stores[of].page(None, size=MAX_PAGE_ENTITIES, token=token)
        token = page.token
        number += token is None
        yield of, page.items, Mark(mark.walk, number, token) if number < len(stores) else None


def _digest(walk: str) -> str:
    return blake2b(walk.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
