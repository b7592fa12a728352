"""Answering: by which call a declared set answers a question best.

Best is, in this order: a point query by the key; one by an index; a range of the key or of an index, in the order that
is wanted; the list of an index entity; a scan of a partition; a scan of the table. What a call does not ask for is a
condition on properties, if they are stored as they are, and else left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ...deriving.derived import Derived, Index, Shape
from ...deriving.shared_rows import PART
from ...key import Key
from ...recipes.index_entities import IndexEntities
from ...recipes.summary import Summary
from ..declaring.declared import DeclaredSet, Known, Query
from ..templates import Piece, pieces_of
from .keeping import Way

_LEVELS: Final[Mapping[Way, int]] = {"get": 0, "totals": 0, "find": 1, "range": 2, "find_all": 3, "scan": 5}
_PARTITION: Final = 4
_SHOWN: Final[Mapping[Known, str]] = {"=": "...", "range": "between(...)", "prefix": "prefix(...)"}


@dataclass(frozen=True)
class Answer:
    """How a set answers a question.

    :param way: the word of the recipe
    :param via: the derived data that answers; None for the primary rows
    :param key: the key that is searched; None where that is none
    :param given: the fields that are given for the key, from left to right
    :param where: the fields that are conditions on properties
    :param client: the fields that the caller looks at
    :param bounds: whether the RowKey is bounded by a field
    :param ordered: whether results come in the order that is wanted
    :param completes: whether the entity of each row is read too
    """

    way: Way
    via: Derived | None = None
    key: Key | None = None
    given: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    bounds: bool = True
    ordered: bool = True
    completes: bool = False

    @property
    def follows(self) -> bool:
        """Whether what answers follows the entities only eventually."""
        return self.via is not None and self.via.is_elsewhere

    @property
    def sent(self) -> tuple[str, ...]:
        """The fields that the service looks at."""
        return (*self.given, *self.where)

    def takes(self, query: Query) -> int | None:
        """Return how many entities the call asks for; None for all, of which the caller may then take some."""
        return query.take if self.ordered and not self.client and self.way in ("range", "scan") else None

    def is_scan(self, query: Query) -> bool:
        """Whether a range is one in name only: the partition is searched, whatever bounds keep other rows out."""
        rest = self.where or self.client
        return self.way == "range" and not self.bounds and bool(rest or not self.ordered)


def answer(declared: DeclaredSet, query: Query) -> Answer:
    """Return how the set answers a question best.

    :param declared: the set
    :param query: the question
    """
    if query.filter is not None:
        return Answer("filter")
    found = [each for each in _answers(declared, query) if each is not None]
    return min(found, key=lambda each: _rank(each, query))


def shown(found: Answer, query: Query) -> str:
    """Return the call as a report shows it."""
    if query.filter is not None:
        return f"query({query.filter})"
    via = [] if found.via is None else [f"<{found.via.name}>"]
    given = [f"{name}={_SHOWN[query.known.get(name, '=')]}" for name in found.given]
    where = [f"where=({' & '.join(found.where)})"] if found.where else []
    count = found.takes(query)
    way = "take" if found.way == "range" and count is not None else found.way
    call = f"{way}({', '.join([*([str(count)] if way == 'take' else []), *via, *given, *where])})"
    after: list[str] = []
    if found.completes:
        after.append("the entity of each row is read")
    if found.client:
        after.append(f"{', '.join(found.client)} checked by the caller")
    if not found.ordered:
        after.append("sorted by the caller")
    return "; ".join([call, *after])


def _rank(found: Answer, query: Query) -> tuple[float, ...]:
    is_late = found.follows and query.fresh == 0
    level = _PARTITION if found.is_scan(query) else _LEVELS[found.way]
    rest = len(found.where) + len(found.client)
    return level, rest, not found.ordered, found.completes, is_late, found.via is not None


def _answers(declared: DeclaredSet, query: Query) -> Iterator[Answer | None]:
    mapped = {name for mapping in declared.mappings for name in mapping.fields}
    primary = Shape(declared.key)
    yield _by_key(declared, query, None, primary, mapped)
    for via in declared.derived:
        if isinstance(via, Index):
            yield _by_key(declared, query, via, via.shape(declared.key), mapped)
        elif isinstance(via, IndexEntities):
            yield _by_list(declared, query, via)
        elif isinstance(via, Summary):
            yield _by_totals(query, via)
    yield _by_scan(declared, query, mapped)


def _by_key(declared: DeclaredSet, query: Query, via: Index | None, shape: Shape, mapped: set[str]) -> Answer | None:
    key = shape.key
    own = str(declared.settings.get("bucket", ""))
    partition = [name for name in key.partition_fields if name != own]
    if any(query.known.get(name) != "=" for name in partition):
        return None
    row = _row_given(key, query)
    given = (*partition, *row)
    left = [name for name in query.known if name not in given]
    if declared.pattern == "period_tables" and declared.settings.get("at", "At") in left:
        # The moment tells the tables, whether it is a part of the key or not
        given = (*given, str(declared.settings.get("at", "At")))
        left.remove(given[-1])
    where = tuple(name for name in left if shape.holds(name) and name not in mapped)
    client = tuple(name for name in left if name not in where)
    is_point = len(row) == len(key.row_fields) and all(query.known[name] == "=" for name in row)
    way: Way = "range"
    if is_point and declared.pattern != "partition_spread":
        way = "get" if via is None else "find"
    elif is_point:
        way = "get" if via is None else "range"
    completes = via is not None and not _holds_all(declared, query, shape, client)
    ordered = way != "range" or query.order is None or _sorts(key, row, query)
    return Answer(way, via, key, given, where, client, bool(row), ordered, completes)


def _row_given(key: Key, query: Query) -> list[str]:
    """Return the fields of the RowKey that bound it: single values from left to right, and a range at the end."""
    found = list[str]()
    pieces = [piece for piece in pieces_of(key.row_template) if piece.name]
    for number, piece in enumerate(pieces):
        name = piece.name or ""
        known = query.known.get(name)
        if (
            known == "="
            or (known == "prefix" and piece.width is None)
            or (known == "range" and _is_sorted(key, number))
        ):
            found.append(name)
        if known != "=":
            break
    return found


def _is_sorted(key: Key, number: int) -> bool:
    """Whether rows sort by a field of the RowKey: plain text that more of the key follows mixes with what follows."""
    pieces = pieces_of(key.row_template)
    named = [at for at, piece in enumerate(pieces) if piece.name]
    piece = pieces[named[number]]
    return piece.width is not None or piece.spec == "escape" or named[number] == len(pieces) - 1


def _sorts(key: Key, row: list[str], query: Query) -> bool:
    """Whether rows come in the order that is wanted, which is that of the first field with more than one value."""
    order = (query.order or "").lstrip("-")
    single = [name for name in row if query.known[name] == "="]
    if order in single:
        return True
    pieces: list[Piece] = [piece for piece in pieces_of(key.row_template) if piece.name]
    if len(single) >= len(pieces):
        return True
    first = pieces[len(single)]
    descends = (query.order or "").startswith("-")
    return first.name == order and (first.spec == "inverted") == descends and _is_sorted(key, len(single))


def _holds_all(declared: DeclaredSet, query: Query, shape: Shape, client: tuple[str, ...]) -> bool:
    """Whether a row of an index holds all that is wanted of its entity."""
    if shape.is_complete:
        return True
    wanted = set(query.select or declared.shape.fields).union(client)
    return all(name in shape.key.fields or shape.holds(name) for name in wanted)


def _by_list(declared: DeclaredSet, query: Query, via: IndexEntities) -> Answer | None:
    layout = via.layout(declared.key)
    names = [name for name in layout.fields if name not in (PART, declared.settings.get("bucket"))]
    if any(query.known.get(name) != "=" for name in names):
        return None
    client = tuple(name for name in query.known if name not in names)
    return Answer("find_all", via, layout, tuple(names), (), client, True, query.order is None)


def _by_totals(query: Query, via: Summary) -> Answer | None:
    names = [name for name in via.layout.fields if name != PART]
    wanted = set(query.select)
    if not wanted or not wanted.issubset(via.properties) or set(names) != set(query.known):
        return None
    return Answer("totals", via, via.layout, tuple(names))


def partition_as_row(key: Key) -> Key:
    """Return a key whose RowKey is made as the PartitionKey of this one is, to ask for ranges of partitions."""
    return Key("any", key.partition_template, max_units=key.max_units)


def _by_scan(declared: DeclaredSet, query: Query, mapped: set[str]) -> Answer:
    """Return the search of the table, of a stretch of its partitions where what they begin with is known.

    What is known of the beginning of the RowKey is a condition too, which spares nothing.
    """
    row = _row_given(declared.key, query)
    lead = [] if declared.pattern == "partition_spread" else _row_given(partition_as_row(declared.key), query)
    is_log = declared.pattern == "period_tables" and declared.settings.get("at", "At") in query.known
    given = (str(declared.settings.get("at", "At")),) if is_log else ()
    if set(given).intersection((*row, *lead)):
        row = lead = []
    held = Shape(declared.key)
    asked = [name for name in query.known if name not in given]
    where = tuple(name for name in asked if name in (*row, *lead) or (held.holds(name) and name not in mapped))
    client = tuple(name for name in query.known if name not in (*given, *where))
    return Answer("scan", None, declared.key, given, where, client, False, query.order is None)
