"""Find the ways of answering a query of a set, the best first. `explain`, reviews and their advice all use it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import product
from operator import attrgetter
from typing import Final
from uuid import UUID

from tablepatterns.edm import Int64, Ticks
from tablepatterns.entity_set.derived import Derived, RowLayout, RowProfile
from tablepatterns.errors import BadDesign
from tablepatterns.filters import And, Comparison, Filter, QueryClass, classify, comparisons, literal, parse
from tablepatterns.key import Key
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.storage import connect
from tablepatterns_engine import Engine

from ..design.key_parts import Piece, pieces_of, pieces_of_key, span_of
from ..design.model import DAY, DeclaredSet, Field, FieldType, Match, Query
from ..kinds import kind_of
from ..kinds.kind import Method
from ..python_source import derived_source

_LEVELS: Final[Mapping[Method, int]] = {"get": 0, "totals": 0, "find": 1, "range": 2, "find_all": 3, "scan": 5}
_PARTITION: Final = 4
_ARGUMENTS: Final[Mapping[Match, str]] = {"range": "between(...)", "prefix": "prefix(...)"}
FIELD_TYPES: Final[Mapping[FieldType, type]] = {
    "string": str,
    "int32": int,
    "int64": Int64,
    "double": float,
    "boolean": bool,
    "datetime": Ticks,
    "guid": UUID,
    "binary": bytes,
}
_ARTICLES: Final[Mapping[FieldType, str]] = {
    **{name: f"a {name}" for name in FIELD_TYPES},
    "string": "text",
    "int32": "an int32",
    "int64": "an int64",
    "datetime": "a timestamp",
    "guid": "a GUID",
}
_PROMOTED: Final[Mapping[type, tuple[type, ...]]] = {int: (Int64, float), Int64: (float,)}
"""The types of properties that a literal of another type is compared with by value."""
_SYSTEM_TYPES: Final[Mapping[str, FieldType]] = {"PartitionKey": "string", "RowKey": "string", "Timestamp": "datetime"}
_FORMATS: Final[Mapping[FieldType, str]] = {
    "int32": "010d",
    "int64": "019d",
    "double": "float",
    "datetime": "ticks",
    "guid": "uuid",
}


@dataclass(frozen=True)
class Way:
    """One way of answering a query.

    :param via: the derived data that is read; None for the primary rows
    :param key_fields: the fields of the key that the call gives, from left to right
    :param where: the fields that the service checks on each row
    :param client_fields: the fields that the caller checks
    :param is_bounded: whether the RowKey is bounded by a field
    :param ordered: whether results have the declared order
    :param completes: whether the entity of each row is read too
    :param declare: the index to declare first; None if the set can answer now
    """

    query: Query
    method: Method
    via: Derived | None = None
    key: Key | None = None
    key_fields: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    client_fields: tuple[str, ...] = ()
    is_bounded: bool = True
    ordered: bool = True
    completes: bool = False
    declare: IntraPartitionIndex | InterPartitionIndex | None = None

    @property
    def is_eventual(self) -> bool:
        return self.via is not None and self.via.is_eventual

    @property
    def sent(self) -> tuple[str, ...]:
        return (*self.key_fields, *self.where)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The fields that the key does not answer."""
        return (*self.where, *self.client_fields)

    @property
    def take(self) -> int | None:
        """How many entities the call requests; None for all."""
        query = self.query
        if query.take is None or not self.ordered or self.client_fields or self.method not in ("range", "scan"):
            return None
        return query.take + query.skip

    @property
    def sorts_for_few(self) -> bool:
        """Whether the caller sorts all results to find the first ones."""
        return self.query.take is not None and not self.ordered

    @property
    def is_scan(self) -> bool:
        """Whether a range in fact searches the whole partition."""
        return self.method == "range" and not self.is_bounded and bool(self.unanswered or not self.ordered)

    @property
    def query_class(self) -> QueryClass:
        """The worst class of its queries."""
        if self.method == "filter":
            return classify(parse(self.query.filter or "true")).query_class
        if self.method == "scan":
            return QueryClass.TABLE_SCAN
        if self.method == "range":
            return QueryClass.PARTITION_SCAN if self.is_scan else QueryClass.RANGE
        return QueryClass.POINT

    @property
    def call(self) -> str:
        if self.method == "filter":
            return f"query({self.query.filter})"
        via = [] if self.via is None else [f"<{self.via.name}>"]
        arguments = [f"{name}={_ARGUMENTS.get(self.query.known.get(name, '='), '...')}" for name in self.key_fields]
        where = [f"where=({' & '.join(self.where)})"] if self.where else []
        is_take = self.method == "range" and self.take is not None
        count = [str(self.take)] if is_take else []
        call = f"{'take' if is_take else self.method}({', '.join([*count, *via, *arguments, *where])})"
        if self.completes:
            call += "; the entity of each row is read"
        if self.client_fields:
            call += f"; {', '.join(self.client_fields)} checked by the caller"
        return call if self.ordered else f"{call}; sorted by the caller"

    @property
    def rank(self) -> tuple[float, ...]:
        """How good it is: the lower, the better. It needs no figures, so a bare set has the ranks of a design."""
        is_late = self.is_eventual and not self.query.max_staleness
        level = _PARTITION if self.is_scan else _LEVELS[self.method]
        return level, len(self.unanswered), not self.ordered, self.completes, is_late, self.via is not None


def best_way(declared_set: DeclaredSet, query: Query) -> Way:
    """Return the way that a review measures: the filter as it is sent, or the best call without new derived data."""
    if query.filter is not None:
        return Way(query, "filter")
    return min(_calls(declared_set, query), key=attrgetter("rank"))


def ways(declared_set: DeclaredSet, query: Query) -> list[Way]:
    """Return the calls that answer a query, the best first; of a filter, the conditions joined by `and` count.

    Calls with an index to declare are added if the best call without one searches for entities that a key could
    answer. They follow that call if it is a range or a list.
    """
    is_local = knows_partition(declared_set, query)
    query = replace(query, filter=None, known=known_fields(declared_set, query))
    now = sorted(_calls(declared_set, query), key=attrgetter("rank"))
    best = now[0]
    if not (best.unanswered or best.is_scan or best.sorts_for_few):
        return now
    later = sorted(_calls_with_index(declared_set, query, is_local=is_local), key=attrgetter("rank"))
    return [*later, *now] if best.is_scan or best.method == "scan" or best.sorts_for_few else [best, *later, *now[1:]]


def new_index(declared_set: DeclaredSet, query: Query) -> IntraPartitionIndex | InterPartitionIndex | None:
    """Return the index to declare for a query; None if there is none whose partitions share the load."""
    is_local = knows_partition(declared_set, query)
    indexes = (way.declare for way in ways(declared_set, query) if way.declare is not None)
    return next((index for index in indexes if is_local or index.key.partition_fields), None)


def known_fields(declared_set: DeclaredSet, query: Query) -> Mapping[str, Match]:
    """Return the fields that a query gives values for; of a filter, those that it compares outside `or` and `not`."""
    if query.filter is None:
        return query.known
    mistaken = {comparison.name for comparison, _ in mistakes_of(declared_set, query.filter)}
    compared = _compared_fields(query.filter, declared_set.key)
    return {name: how for name, how in compared.items() if name not in mistaken}


def mistakes_of(declared_set: DeclaredSet, text: str) -> list[tuple[Comparison, str]]:
    """Return the comparisons of a filter that have the same result for every entity, each with the reason."""
    comparisons_of = comparisons(parse(text))
    return [(one, reason) for one in comparisons_of if (reason := _mistake(declared_set, one)) is not None]


def _mistake(declared_set: DeclaredSet, comparison: Comparison) -> str | None:
    name, fields = comparison.name, declared_set.shape.fields
    known: dict[str, FieldType] = {**{field: fields[field].type for field in fields}, **_SYSTEM_TYPES}
    if name in known:
        stored = known[name]
        is_comparable = FIELD_TYPES[stored] in (comparison.kind, *_PROMOTED.get(comparison.kind, ()))
        sent = _ARTICLES[type_of(comparison)]
        return None if is_comparable else f"{name} is {_ARTICLES[stored]}, and {literal(comparison.value)} is {sent}"
    if kind_of(declared_set).is_wide or "points" in declared_set.settings:
        # Entities have more properties than those declared
        return None
    similar = get_close_matches(name.lower(), [other.lower() for other in known], 1)
    meant = next((f"; {other} is meant" for other in known if [other.lower()] == similar), "")
    return f"no entity has a property {name}{meant}"


def type_of(comparison: Comparison) -> FieldType:
    types: list[FieldType] = [field_type for field_type, kind in FIELD_TYPES.items() if kind is comparison.kind]
    return types[0] if types else "string"


@lru_cache(maxsize=256)
def _compared_fields(text: str, key: Key) -> Mapping[str, Match]:
    known: dict[str, Match] = {}
    for term in terms_of(parse(text)):
        if isinstance(term, Comparison) and term.operator != "ne":
            how: Match = "=" if term.operator == "eq" else "range"
            names: Sequence[str] = (term.name,)
            # A PartitionKey or RowKey gives the fields of its template
            if term.name == "PartitionKey":
                names = key.partition_fields
            elif term.name == "RowKey":
                names = key.row_fields if how == "=" else key.row_fields[:1]
            known |= {name: how for name in names if known.get(name) != "="}
    return known


def knows_partition(declared_set: DeclaredSet, query: Query) -> bool:
    """Whether a query gives the partition of the primary rows."""
    if not declared_set.key.partition_fields:
        return query.filter is None or "PartitionKey" in query.filter
    known = known_fields(declared_set, query)
    return all(known.get(name) == "=" for name in _without_bucket(declared_set, declared_set.key.partition_fields))


def names_period(declared_set: DeclaredSet, query: Query) -> bool:
    """Whether a query tells the period table of its entities: by their time, or by a day or an hour in their key."""
    kind = kind_of(declared_set)
    at, days = kind.time_field(declared_set), kind.period_days(declared_set)
    if at is None or days is None or query.known.get(at) == "=":
        return at is not None and query.known.get(at) == "="
    fields = declared_set.shape.fields
    times = [piece for piece in pieces_of_key(declared_set.key) if "%" in piece.spec and piece.name in fields]
    rising = [piece for piece in times if fields[piece.name or ""].order == "rising"]
    return any(query.known.get(piece.name or "") == "=" and span_of(piece)[0] <= days * DAY for piece in rising)


def terms_of(expression: Filter) -> Sequence[Filter]:
    return expression.terms if isinstance(expression, And) else (expression,)


def compared_names(expression: Filter, operators: Collection[str]) -> list[str]:
    return [term.name for term in terms_of(expression) if isinstance(term, Comparison) and term.operator in operators]


# ------------------------------------------------------------------ calls that the set can answer now


def _calls(declared_set: DeclaredSet, query: Query) -> Iterator[Way]:
    yield from _by_key(declared_set, query, None, RowLayout(declared_set.key))
    for via, profile in declared_set.profiles():
        if profile.layout is not None:
            yield from _by_key(declared_set, query, via, profile.layout)
        elif profile.finder is not None:
            yield from (_by_totals if profile.totals else _by_list)(declared_set, query, via, profile)
    yield _by_scan(declared_set, query)


def _by_key(declared_set: DeclaredSet, query: Query, via: Derived | None, layout: RowLayout) -> Iterator[Way]:
    key, kind = layout.key, kind_of(declared_set)
    partition = _without_bucket(declared_set, key.partition_fields)
    if any(query.known.get(name) != "=" for name in partition):
        return
    row = _bounding_fields(key, query)
    key_fields = (*partition, *row)
    others = [name for name in query.known if name not in key_fields]
    at = kind.time_field(declared_set)
    if at in others:
        # The time determines the table, whether it is part of the key or not
        key_fields = (*key_fields, at)
        others.remove(at)
    is_point = len(row) == len(key.row_fields) and all(query.known[name] == "=" for name in row)
    method: Method = "range"
    if is_point and (via is None or not kind.is_spread):
        method = "get" if via is None else "find"
    # A call for one entity takes no conditions
    where = _sendable(declared_set, query, layout, others) if method == "range" else ()
    client_fields = tuple(name for name in others if name not in where)
    # Of entities that are only counted, no property is needed
    wanted = set(client_fields).union(() if query.count_only else query.select or declared_set.shape.fields)
    holds_all = layout.include is None or all(name in layout.key.fields or layout.holds(name) for name in wanted)
    completes = via is not None and not holds_all
    ordered = method != "range" or query.order is None or is_in_order(key, query.known, query.order)
    yield Way(query, method, via, key, key_fields, where, client_fields, bool(row), ordered, completes)


def _by_list(declared_set: DeclaredSet, query: Query, via: Derived, profile: RowProfile) -> Iterator[Way]:
    names = _without_bucket(declared_set, profile.groups)
    if all(query.known.get(name) == "=" for name in names):
        client_fields = tuple(name for name in query.known if name not in names)
        yield Way(query, "find_all", via, profile.key, names, client_fields=client_fields, ordered=query.order is None)


def _by_totals(declared_set: DeclaredSet, query: Query, via: Derived, profile: RowProfile) -> Iterator[Way]:
    names = _without_bucket(declared_set, profile.groups)
    wanted_names = set(query.select) or set(profile.totals[: int(query.count_only)])
    if wanted_names and wanted_names.issubset(profile.totals) and set(names) == set(query.known):
        yield Way(query, "totals", via, profile.key, names)


def _by_scan(declared_set: DeclaredSet, query: Query) -> Way:
    """Return the scan of the table, or of a range of partitions if the start of the PartitionKey is known."""
    kind, layout = kind_of(declared_set), RowLayout(declared_set.key)
    # A known start of the RowKey is a condition, but does not reduce what is read
    row = _bounding_fields(declared_set.key, query)
    lead = [] if kind.is_spread else _bounding_fields(partition_as_row(declared_set.key), query)
    at = kind.time_field(declared_set)
    key_fields = (at,) if at is not None and at in query.known else ()
    if set(key_fields).intersection((*row, *lead)):
        row = lead = []
    names = [name for name in query.known if name not in key_fields]
    sent = _sendable(declared_set, query, layout, names)
    where = tuple(name for name in names if name in (*row, *lead) or name in sent)
    client_fields = tuple(name for name in names if name not in where)
    return Way(query, "scan", None, declared_set.key, key_fields, where, client_fields, False, query.order is None)


def _without_bucket(declared_set: DeclaredSet, names: Sequence[str]) -> tuple[str, ...]:
    """Return fields without that of the bucket, which the recipe determines."""
    bucket = declared_set.settings.get("bucket")
    return tuple(name for name in names if name != bucket)


def _sendable(declared_set: DeclaredSet, query: Query, layout: RowLayout, names: Sequence[str]) -> tuple[str, ...]:
    """Return the fields that the service can check: stored as they are, and not searched for a substring."""
    mapped = _mapped_fields(declared_set)
    return tuple(
        name for name in names if layout.holds(name) and name not in mapped and query.known[name] != "contains"
    )


def _mapped_fields(declared_set: DeclaredSet) -> set[str]:
    return {name for mapping in declared_set.mappings for name in mapping.fields}


def _bounding_fields(key: Key, query: Query) -> list[str]:
    """Return the fields that bound the RowKey: single values from left to right, then a range."""
    names = list[str]()
    for position, piece in enumerate(_named_pieces(key.row_template)):
        name = piece.name or ""
        match_kind = query.known.get(name)
        is_bounding_prefix = match_kind == "prefix" and piece.width is None
        if match_kind == "=" or is_bounding_prefix or (match_kind == "range" and is_sorted(key, position)):
            names.append(name)
        if match_kind != "=":
            break
    return names


def _named_pieces(template: str) -> list[Piece]:
    return [piece for piece in pieces_of(template) if piece.name]


def is_sorted(key: Key, position: int) -> bool:
    """Whether rows sort by a field of the RowKey; they do not if it is plain text followed by more of the key."""
    piece = _named_pieces(key.row_template)[position]
    return piece.width is not None or piece.spec == "escape" or piece is pieces_of(key.row_template)[-1]


def is_in_order(key: Key, known: Mapping[str, Match], order: str) -> bool:
    """Whether the rows of a partition have an order, which is that of the first field without a single value."""
    name = order.removeprefix("-")
    for position, piece in enumerate(_named_pieces(key.row_template)):
        if known.get(piece.name or "") != "=":
            descends = piece.spec == "inverted"
            return piece.name == name and descends == order.startswith("-") and is_sorted(key, position)
        if piece.name == name:
            break
    return True


def partition_as_row(key: Key) -> Key:
    """Return a key whose RowKey has the template of this PartitionKey, for ranges of partitions."""
    return Key("any", key.partition_template, max_units=key.max_units)


# ------------------------------------------------------------------ indexes that could be declared


def _calls_with_index(declared_set: DeclaredSet, query: Query, *, is_local: bool) -> Iterator[Way]:
    """Yield the calls that answer a query by an index of its fields: single values first, then the order or a range."""
    known, partition = query.known, declared_set.key.partition_fields
    names = [name for name in known if name not in partition and _can_be_in_key(declared_set, name, known[name])]
    equal = [name for name in names if known[name] == "="]
    ranged = [name for name in names if name not in equal]
    order = (query.order or "").removeprefix("-")
    if is_shared(declared_set, equal):
        last = [order] if order and (query.take is not None or not ranged) else ranged
        if last and last[0] not in equal:
            # Only times have a format for descending order
            is_time = declared_set.shape.fields.get(last[0], Field()).type == "datetime"
            equal = [*equal, last[0]] if is_time or query.order != f"-{last[0]}" else equal
    if not equal or _mapped_fields(declared_set).intersection(equal):
        return
    for local in (True, False) if is_local else (False,):
        for index in index_candidates(declared_set, equal, query, local=local):
            way = next(_by_key(declared_set, query, index, index.shape(declared_set.key)), None)
            if way is None or way.sorts_for_few or not set(equal) <= {*way.key_fields, order}:
                continue
            # A partition of an index elsewhere has only the entities with the value
            if not way.is_scan or (way.ordered and not local):
                yield replace(way, declare=index)
                break


def _can_be_in_key(declared_set: DeclaredSet, name: str, how: Match) -> bool:
    kind = declared_set.shape.fields.get(name, Field()).type
    return how != "contains" and name != "Timestamp" and (kind == "string" or kind in _FORMATS)


def index_candidates(
    declared_set: DeclaredSet, names: Sequence[str], query: Query, *, local: bool, name: str | None = None
) -> Iterator[IntraPartitionIndex | InterPartitionIndex]:
    """Yield the indexes by some fields that the set accepts, the simplest first; `local` for the same partition."""
    key = declared_set.key
    equal = [name for name in names if query.known.get(name) == "="]
    unique = not is_shared(declared_set, equal)
    primary = [name for name in (key.row_fields if local else key.fields) if name not in names and not unique]
    # Single values come first, then the order or a range, then what makes the key unique
    fields = [*equal, *(name for name in primary if query.known.get(name) == "=")]
    fields += [name for name in (*names, *primary) if name not in fields]
    words = re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", " and ".join(names)).lower()
    name, head = name or f"by {words}", names[0].lower()
    others = [derived for derived, profile in declared_set.profiles() if profile.finder is not None]
    tables = (None,) if local else (None, f"By{names[0]}")
    for table, escape in product(tables, (False, True)):
        first = [] if local else equal[:1]
        row = [head, *(_spelled(declared_set, field, query, escape) for field in fields if field not in first)]
        index: IntraPartitionIndex | InterPartitionIndex
        with suppress(BadDesign):
            if local:
                index = IntraPartitionIndex(Key(key.partition_template, "_".join(row)), name=name)
            else:
                # The RowKey has the same prefix, so that a copy never has the key of a primary row
                partition = "_".join([head, *(_spelled(declared_set, field, query, False) for field in first)])
                index = InterPartitionIndex(Key(partition, "_".join(row)), table=table, unique=unique, name=name)
            # An account of its own, since those of two sets of one table have to fit each other
            with connect(Engine()) as storage:
                kind_of(declared_set).make(storage, declared_set, [*others, index])
            yield index


def is_shared(declared_set: DeclaredSet, names: Sequence[str]) -> bool:
    """Whether several entities can have the same values of these fields."""
    fields = [declared_set.shape.fields.get(name, Field(distinct=1)) for name in names]
    return not any(field.distinct is None and field.within is None and field.order == "none" for field in fields)


def code_of(index: IntraPartitionIndex | InterPartitionIndex) -> str:
    """Return the Python code of an index that was proposed."""
    return derived_source(index, name=None)


def spelled(name: str | None, spec: str) -> str:
    """Return a field of a template."""
    return f"{{{name}:{spec}}}" if spec else f"{{{name}}}"


def _spelled(declared_set: DeclaredSet, name: str, query: Query, escape: bool) -> str:
    """Return a field in the format of the primary key, or one that preserves the order of its type."""
    field = declared_set.shape.fields.get(name, Field())
    spec = next((piece.spec for piece in pieces_of_key(declared_set.key) if piece.name == name), "")
    if not spec or (query.order is not None and "%" in spec):
        # Part of a date does not sort
        spec = _FORMATS.get(field.type, "")
    if spec in ("ticks", "inverted") and (query.order or "").removeprefix("-") == name:
        spec = "inverted" if query.order == f"-{name}" else "ticks"
    return spelled(name, spec or ("escape" if escape else ""))
