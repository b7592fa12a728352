"""Walk: through the entities of a set, and the rows that follow from them, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from ..deriving.derived import Derived, Keys, Primary
from ..deriving.row_store import RowStore
from ..entity import Entity
from ..eventual.rows import DerivedRows
from .pages import Mark, pages


@dataclass(frozen=True)
class Stretch:
    """One page of a walk.

    :param entities: the entities whose primary rows are on it, by their keys
    :param rows: all rows of the page by their keys, where the derived rows are in this table; none elsewhere
    :param token: what goes on behind it; None at the end
    """

    entities: Mapping[Keys, Primary]
    rows: Mapping[Keys, Entity]
    token: str | None


async def walk(
    rows: DerivedRows, derived: Derived, work: str, resume: str | None, *, to_orphans: bool
) -> AsyncIterator[Stretch]:
    """Hand out the pages of the table of the primary rows, and then those of the derived rows if they have their own.

    :param rows: the derived rows of the set
    :param derived: the kind of derived data
    :param work: what the walk is for; its tokens go on with no other
    :param resume: the token of an earlier page; None to begin
    :param to_orphans: whether to go through the derived rows too
    :raises BadToken: the token is of another walk
    """
    primaries, own = rows.primaries, rows.table_of(derived)
    stores: list[RowStore] = [primaries] if own is primaries or not to_orphans else [primaries, own]
    mark = Mark.parse(resume, f"{work} {primaries.name.lower()} {rows.key!r} {derived.name}")
    async for number, items, following in pages(stores, mark):
        entities = [rows.primary_of(row) for row in items if number == 0 and rows.is_primary(row)]
        yield Stretch(
            {entity.row: entity for entity in entities},
            {(row["PartitionKey"], row["RowKey"]): row for row in items if stores[number] is own},
            following.text() if following else None,
        )
