"""Search: the rows among which the values of a class are, and the table that they are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..deriving.derived import Index, Shape
from ..entity_set import EntitySet
from ..errors import BadInput
from ..filters import Filter, QueryClass
from ..key import KeyRange
from ..reading.question import Question, check_class, range_filter
from ..words.table import Table
from .catalog import Catalog
from .hull import hull


@dataclass(frozen=True)
class Search:
    """A range of rows of one table, and a further condition."""

    table: Table
    keys: KeyRange
    where: Filter | None

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        of: object,
        via: Index | None,
        where: Filter | None,
        fields: Mapping[str, Any],
        allow: QueryClass = QueryClass.RANGE,
    ) -> Search:
        """Return the rows to look through for the values of a class.

        :raises BadInput: the class was not declared, its index holds entities in part, or its values lie apart
        :raises BadKey: the fields do not make a range
        :param allow: the worst class of query to allow with `where`
        :raises BadFilter: the condition cannot be put on what is stored, or makes the query a scan
        """
        found = cls._of(catalog, of, via, where, fields)
        if where is not None:
            check_class(found.filter, allow)
        return found

    @classmethod
    def _of(
        cls, catalog: Catalog, of: object, via: Index | None, where: Filter | None, fields: Mapping[str, Any]
    ) -> Search:
        types = catalog.types_of(of)
        if via is not None:
            return cls._via(catalog.indexed(of, via), via, where, types[0].asked(via.key, fields))
        ranges: list[KeyRange] = []
        for each in types:
            asked = each.asked(each.entities.key, fields)
            _check(each.entities, each.entities.primary, where, asked)
            ranges.append(each.entities.key.range(asked))
        keys = hull(ranges)
        is_of_all = of is object and not any(name in each.entities.key.row_fields for each in types for name in fields)
        # What is of no known type may lie anywhere in the partition
        keys = KeyRange.beginning_with(keys.partition_key, "") if is_of_all else keys
        return cls(types[0].entities.table, keys, where)

    @classmethod
    def _via(cls, entities: EntitySet[Any], via: Index, where: Filter | None, asked: Mapping[str, Any]) -> Search:
        shape = via.shape(entities.key)
        if not shape.is_complete:
            rule = "its rows hold only a part of the entities, and no value can be made of a part"
            raise BadInput("index", via.name, rule, "ask the set itself, which hands out entities")
        _check(entities, shape, where, asked)
        table = entities.table if shape.table is None else entities.rows.table(shape.table)
        return cls(table, via.key.range(asked), where)

    @property
    def filter(self) -> Filter:
        """The filter of the query."""
        bounds = range_filter(self.keys)
        return bounds if self.where is None else bounds & self.where

    def point(self, fields: Mapping[str, Any]) -> tuple[str, str]:
        """Return the keys of the one row that this is.

        :raises BadInput: it may be more than one
        """
        if self.keys.row_key is None:
            rule = "it is not every field of the key, each with one value"
            raise BadInput("fields", sorted(fields), rule, "give all of them, or use range_of")
        return self.keys.partition_key, self.keys.row_key


def _check(entities: EntitySet[Any], shape: Shape, where: Filter | None, asked: Mapping[str, Any]) -> None:
    entities.mappings.check_filter(where)
    Question.of(shape, where, None, asked, QueryClass.TABLE_SCAN)
