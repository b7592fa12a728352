"""Reads: every question that can be asked of an `EntitySet`. None of them scans unless the caller says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from ..argument_types import check_least
from ..arguments import fields_of, via_and_fields
from ..deriving.derived import Derived, Index, Shape
from ..entity import Entity
from ..errors import BadInput
from ..eventual.rows import DerivedRows
from ..filters import Filter, QueryClass, refuse_scans
from ..key import Key
from ..mapping import Mappings
from ..recipe import Account_co, Pattern, recipe, stream
from ..set_identity import SetIdentity
from ..words.table import Page, Table
from ..writing.commit import Reading, Source
from .counted import filled_page, first_rows
from .question import Question


class Reads(Pattern[Account_co]):
    """The reading half of an `EntitySet`."""

    key: Key
    identity: SetIdentity
    derived: tuple[Derived, ...]
    primary: Shape
    table: Table
    mappings: Mappings
    rows: DerivedRows

    @property
    def location(self) -> str:
        """The table and the set that errors name."""
        return self.key.location(self.table.name)

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the entity with this primary key, or None. Cost: 1 transaction, a point query.

        >>> employees.get(Department="Sales", EmployeeId=1) is None
        True

        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key
        :raises BadKey: a field is missing, or has a value that cannot be a key

        Guide: point query.
        """
        return await self._point(self.primary, fields_of(key, fields))

    @recipe
    async def find(self, via: Index, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the entity that has this key in an index, or None. Cost: 1 transaction, a point query.

        An index outside the primary's partition follows its entities a little later: what it gives may be what the
        entity was a moment ago. To write it back is safe, and costs 1 transaction more.

        :param via: the index, one of the set's own
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the index's key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises BadInput: the index is not one of this set's

        Guide: intra-partition secondary index pattern.
        """
        return await self._point(self._shape(via), fields_of(key, fields))

    async def _point(self, shape: Shape, fields: Mapping[str, Any]) -> Entity | None:
        row = await self._table(shape).get(*shape.key.format(fields))
        return await self._read(row, shape) if row is not None and shape.shows(row) else None

    @recipe
    async def get_many(self, keys: Iterable[Mapping[str, Any]], *, limit: int = 8) -> list[Entity | None]:
        """Return the entities with these primary keys in the order asked for, None for those that do not exist.

        One point query per key, `limit` at a time: what an `or` of RowKeys would turn into a partition scan.
        Cost: 1 transaction per key.

        :param keys: for each entity, a value for every field of the key
        :param limit: how many point queries at a time

        Guide: query classes (the rule about `or`); asynchronous and parallel operations.
        """
        check_least("limit", limit, 1)
        asked = [self.key.format(fields) for fields in keys]
        rows = await self.account.together(*(self.table.get(*each) for each in asked), limit=limit)
        return [await self._read(row, self.primary) if row else None for row in rows]

    @recipe
    async def received(self, row: Entity, via: Index | None = None, /) -> Entity | None:
        """Return the entity of a row that was read past the set; None for a row of another kind.

        For patterns that read rows of several sets by one request. Cost: none but what the mappings of the set read.

        :param row: a row of the table as `Table` hands it out, read whole
        :param via: the index that the row is of; None for a primary row
        :raises BadInput: the index is not one of this set's

        Guide: retrieving heterogeneous types.
        """
        shape = self.primary if via is None else self._shape(via)
        return await self._read(row, shape) if shape.shows(row) else None

    @stream
    async def range(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> AsyncIterator[Entity]:
        """Hand out the entities of one partition in key order, those of a range of row keys or all of them.

        The fields of the partition must be given. Row fields are given from left to right; the last may be a
        `prefix` or a range such as `between`. Every continuation token is followed. On the Cosmos DB Table API they
        come in no order. Cost: 1 transaction per page of
        up to 1,000 rows.

        :param via: an index to read and order by; None for the primary rows
        :param where: a further condition on properties; it is applied to each row of the range, and reads them all
        :param allow: the worst class of query to allow with `where`; `QueryClass.PARTITION_SCAN` allows a partition to
            be read whole for the rows that match
        :param select: the properties to read; the fields of the key always come with them
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: the partition, and what is known of the row
        :raises BadKey: the fields do not make a range
        :raises BadFilter: with `where` it would be a scan, and that is not allowed

        Guide: range query; server-side projection.
        """
        question = self._question(*via_and_fields(via, key, fields), where, select, allow)
        async for row in self._table(question.shape).query(question.filter, select=question.select):
            if question.shape.shows(row):
                yield await self._read(row, question.shape, select)

    @recipe
    async def page(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        size: int = 1000,
        token: str | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> Page[Entity]:
        """Return one page of a range, and the token that continues it.

        In key order, but for the Cosmos DB Table API. A page holds `size` entities, unless the range ends or the
        service ends a page early. Cost: 1 transaction; where rows of other sets lie in the range, 1 for each further
        request that fills the page, and 1 to read up to its last entity.

        :param size: how many entities, 1 to 1,000
        :param token: where the page before ended; a text that may be stored, and used in another process
        :raises BadToken: the token is of another query

        The other parameters are those of `range`. Guide: continuation tokens; page size.
        """
        question = self._question(*via_and_fields(via, key, fields), where, select, allow)

        async def choose(row: Entity) -> Entity | None:
            return row if question.shape.shows(row) else None

        table = self._table(question.shape)
        page = await filled_page(table, question.filter, size=size, token=token, select=question.select, choose=choose)
        return Page(tuple([await self._read(row, question.shape, select) for row in page.items]), page.token)

    @recipe
    async def take(
        self,
        count: int,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> list[Entity]:
        """Return exactly the first `count` entities of a range, or all if there are fewer.

        Pages that the service cuts short are followed, and none is requested beyond the last one needed.
        Cost: 1 transaction for up to 1,000 entities, if the service does not cut its pages shorter and no rows of
        other sets lie among them.

        :raises BadDesign: the account does not keep key order

        The other parameters are those of `range`. Guide: large result sets (take n).
        """
        self.account.check_key_order("the first ones are those")
        question = self._question(*via_and_fields(via, key, fields), where, select, allow)
        table, shape = self._table(question.shape), question.shape
        rows = await first_rows(table, count, question.filter, select=question.select, fits=shape.shows)
        return [await self._read(row, shape, select) for row in rows]

    @stream
    async def query(
        self, where: Filter, *, at_worst: QueryClass = QueryClass.RANGE, select: Sequence[str] | None = None
    ) -> AsyncIterator[Entity]:
        """Hand out the primary rows that match a filter on PartitionKey, RowKey and properties.

        A filter of a worse class than `at_worst` is refused before any request. Cost: 1 transaction per page.

        :param where: any filter
        :param at_worst: the worst class of query to allow; `QueryClass.TABLE_SCAN` allows every filter
        :param select: the properties to read; the fields of the key always come with them
        :raises BadFilter: the query would be worse, with the reason and the rewrite

        Guide: query classes.
        """
        refuse_scans(where, at_worst)
        self.mappings.check_filter(where)
        async for row in self.table.query(where, select=self.primary.selected(self._stored(select))):
            if self.primary.fits(row):
                yield await self._read(row, self.primary, select)

    @stream
    async def scan(self, where: Filter | None = None) -> AsyncIterator[Entity]:
        """Hand out the entities of every partition that match. Every entity of the table is read for it.

        Cost: 1 transaction per page; the service ends a page at 1,000 results, at the end of a partition, or after
        five seconds of reading, so that a large table takes many, whatever the result.

        Guide: table scan.
        """
        self.mappings.check_filter(where)
        async for row in self.table.query(where):
            if self.primary.fits(row):
                yield await self._read(row, self.primary)

    def _question(
        self,
        via: Index | None,
        fields: Mapping[str, Any],
        where: Filter | None,
        select: Sequence[str] | None,
        allow: QueryClass,
    ) -> Question:
        self.mappings.check_filter(where)
        shape = self.primary if via is None else self._shape(via)
        return Question.of(shape, where, self._stored(select), fields, allow)

    def _stored(self, select: Sequence[str] | None) -> Sequence[str] | None:
        if select is None or not self.mappings.each:
            return select
        # What a mapping decodes, it decodes for the place of the primary row
        return tuple(dict.fromkeys((*self.mappings.stored(select), *self.key.fields)))

    def _shape(self, via: Index) -> Shape:
        self._check_own(via, "index")
        return via.shape(self.key)

    def _check_own(self, via: Derived, subject: str = "derived") -> None:
        if via not in self.derived:
            rule = f"the set keeps {[each.name for each in self.derived]}"
            raise BadInput(subject, getattr(via, "name", via), rule, "give one of the set's own, or declare it")

    def _table(self, shape: Shape) -> Table:
        return self.table if shape.table is None else self.rows.table(shape.table)

    async def _read(self, row: Entity, shape: Shape, select: Sequence[str] | None = None) -> Entity:
        entity = shape.entity(row)
        source = Source(shape, (row["PartitionKey"], row["RowKey"]), row.etag or "", row.lineage)
        stored = fields = dict(entity)
        if self.mappings.each:
            fields = await self.mappings.decode(stored, select if shape.is_complete else ())
            entity.clear()
            entity.update(fields)
        entity.reading = Reading(source, stored, fields, shape.is_complete and select is None, self.identity)
        return entity
