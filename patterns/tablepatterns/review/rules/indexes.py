"""Find indexes that are missing, unused or redundant, or that do not hold what queries want."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...entity_set.derived import Index
from ...figures import number, often, size
from ...key import Key
from ...recipes.index_entities import IndexEntity
from ...recipes.inter_partition_index import InterPartitionIndex
from ..capacity.sizes import primary_sizes
from ..design.model import DeclaredSet, Field, FieldType
from ..key_parts import pieces_of
from ..measure.sample import names_one, values_of
from ..model import Finding, Severity
from .known import Asked, Known
from .rule import Rule, entities, listed, part_of

_BUSY: Final = 1.0
_MANY: Final = 10_000
_READS_AGAIN: Final = 10.0
_LISTED: Final = 100.0
_COSTS: Final = f"a warning from {number(_BUSY)} write a second or {number(_MANY)} rows on; else a note"
UNUSED_INDEX: Final = Rule(
    name="unused-index",
    finds="an index answers none of the declared queries",
    severity=_COSTS,
    why="Add only the duplicates that serve queries which the application will run.",
    guide="Intra-partition secondary index pattern; inter-partition secondary index pattern",
)
REDUNDANT_INDEX: Final = Rule(
    name="redundant-index",
    finds="an index has the order of another, or of the entities themselves",
    severity=_COSTS,
    why="Each duplicate is written with every change and billed for its capacity.",
    guide="Intra-partition secondary index pattern; inter-partition secondary index pattern",
)
SECOND_READ: Final = Rule(
    name="second-read",
    finds="what an index finds must be read again, since it holds less than is asked for",
    severity=(
        f"a warning from {number(_READS_AGAIN)} reads more a second on, of lists from {number(_LISTED)}; a copy below "
        "is a note"
    ),
    why="Duplicated data that answers in one query is better than a small index row that forces a second one.",
    guide="Intra-partition secondary index pattern; inter-partition secondary index pattern",
    pattern="intra_partition_index",
)
INDEX_NOT_UNIQUE: Final = Rule(
    name="index-not-unique",
    finds="copies are found by a value that each entity should have for itself, and nothing keeps it so",
    severity="a warning",
    why="Two entities with one index key cannot both have a copy: the first keeps it, and the second is not found.",
    guide="Inter-partition secondary index pattern (the RowKey must be unique)",
    pattern="inter_partition_index",
)
COLLIDING_INDEX_KEYS: Final = Rule(
    name="colliding-index-keys",
    finds="several entities would have the same index key",
    severity="serious",
    why="The key of a row must be unique: a second row is refused, or another's stands in its place.",
    guide="Intra-partition secondary index pattern (the RowKey must be unique; compound keys)",
    pattern="compound_key",
)


def found(known: Known) -> Iterator[Finding]:
    """Yield what is wrong with the indexes of each set."""
    for declared in known.design.sets:
        redundant = dict(_redundant(known, declared))
        yield from redundant.values()
        yield from (each for name, each in _unused(known, declared) if name not in redundant)
        for index in declared.derived:
            if isinstance(index, Index):
                yield from _keys_of(declared, index)
    for asked in known.queries():
        yield from _second_read(asked)


def _weight(known: Known, declared: DeclaredSet) -> Severity:
    writes = sum(each.write.busiest for each in known.writes_of(declared))
    return Severity.WARNING if writes >= _BUSY or declared.shape.count >= _MANY else Severity.NOTE


def _cost(known: Known, declared: DeclaredSet) -> str:
    return f"{entities(known.entities_then(declared))} more to keep by the end, and {_written(known, declared)}"


def _written(known: Known, declared: DeclaredSet) -> str:
    rate = sum(each.write.rate for each in known.writes_of(declared))
    return f"a row more for what is written {often(rate)}" if rate else "a row more for each write"


def _unused(known: Known, declared: DeclaredSet) -> Iterator[tuple[str, Finding]]:
    used = {asked.measured.via for asked in known.queries_of(declared)}
    for index in declared.derived:
        is_kept_for_queries = isinstance(index, (Index, IndexEntity))
        if not is_kept_for_queries or index.name in used or (isinstance(index, Index) and index.is_unique):
            continue
        says = f"No query of {declared.name} is answered by {index.name!r}: {_cost(known, declared)}."
        better = "Leave it out, or declare the query that it is for; it can be filled later (backfill)."
        yield (
            index.name,
            UNUSED_INDEX.finding(_weight(known, declared), part_of(declared.name, index.name), says, better),
        )


def _redundant(known: Known, declared: DeclaredSet) -> Iterator[tuple[str, Finding]]:
    indexes = [each for each in declared.derived if isinstance(each, Index)]
    for index in indexes:
        for other in [None, *indexes]:
            if other is not index and _says_the_same(declared, index, other):
                whose = f"{other.name!r}" if other else "the entities themselves"
                says = f"{index.name!r} has the order of {whose}: {_cost(known, declared)}."
                better = f"Leave it out, and ask {whose}."
                yield (
                    index.name,
                    REDUNDANT_INDEX.finding(_weight(known, declared), part_of(declared.name, index.name), says, better),
                )
                break


def _says_the_same(declared: DeclaredSet, index: Index, other: Index | None) -> bool:
    """Whether another index, or the primary rows, is in the order of this one and holds all that it does."""
    own, rest = _order(index.key), _order(declared.key if other is None else other.key)
    if own[0] != rest[0] or own[1][: len(rest[1])] != rest[1] or not rest[1]:
        return False
    if other is None:
        return True
    if own == rest and declared.derived.index(index) < declared.derived.index(other):
        return False
    held, holds = index.shape(declared.key).include, other.shape(declared.key).include
    return holds is None or (held is not None and held <= holds | set(other.key.fields))


def _order(key: Key) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the fields of both halves of a key with their formats."""
    halves = [
        [(piece.name, piece.spec) for piece in pieces_of(template) if piece.name]
        for template in (key.partition_template, key.row_template)
    ]
    return halves[0], halves[1]


def _keys_of(declared: DeclaredSet, index: Index) -> Iterator[Finding]:
    names = index.key.fields
    if set(declared.key.fields) <= set(names):
        return
    own = [name for name in names if names_one(declared.shape, [name])]
    if not own and _combinations(declared, names) < 2 * declared.shape.count:
        yield _colliding(declared, index)
    elif isinstance(index, InterPartitionIndex) and not index.is_unique and _is_given(declared, own):
        says = f"Nothing keeps {listed(own)} unique, by which {index.name!r} finds {declared.name}."
        better = "Declare the index with unique=True: 1 transaction more for a new value, and a second one is refused."
        yield INDEX_NOT_UNIQUE.finding(Severity.WARNING, part_of(declared.name, index.name), says, better)


def _combinations(declared: DeclaredSet, names: tuple[str, ...]) -> float:
    found = 1.0
    for name in names:
        found *= values_of(declared.shape, name).count
    return found


def _is_given(declared: DeclaredSet, own: list[str]) -> bool:
    """Whether the values are given from outside, as an e-mail is, and not made, as a GUID is."""
    fields = [declared.shape.fields.get(name, Field()) for name in own]
    return bool(own) and all(each.type == "string" and each.order == "none" for each in fields)


def _colliding(declared: DeclaredSet, index: Index) -> Finding:
    count = number(_combinations(declared, index.key.fields))
    says = (
        f"{index.name!r} has {count} keys, of {listed(list(index.key.fields))}, for {entities(declared.shape.count)}: "
        f"{'the second one of a key has no copy' if index.is_eventual else 'the second insert of a key is refused'}."
    )
    rest = [name for name in declared.key.fields if name not in index.key.fields]
    better = f"Let {listed(rest)} follow in the RowKey of the index: each entity then has a key of its own."
    return COLLIDING_INDEX_KEYS.finding(Severity.SERIOUS, part_of(declared.name, index.name), says, better)


def _second_read(asked: Asked) -> Iterator[Finding]:
    via, more = asked.via, asked.measured.returned * asked.query.busiest
    if isinstance(via, IndexEntity) and more >= _LISTED:
        says = (
            f"{asked.query.name!r} reads a list and then {entities(asked.measured.returned)} one by one, "
            f"{often(asked.query.busiest)}: {number(more)} reads a second."
        )
        better = "Keep copies ordered by the value and the key: one range query reads them all."
        yield SECOND_READ.finding(Severity.WARNING, _subject(asked), says, better, pattern=_copies(via.is_eventual))
    if isinstance(via, Index) and (missing := _missing(asked, via)):
        severity = Severity.WARNING if more >= _READS_AGAIN else Severity.NOTE
        says = (
            f"{via.name!r} does not hold {listed(missing)}, so that {asked.query.name!r} reads each entity again: "
            f"{number(more)} reads more a second."
        )
        better = f"Include {listed(missing)} in the copies, or all properties."
        yield SECOND_READ.finding(severity, _subject(asked), says, better, pattern=_copies(via.is_eventual))


def _subject(asked: Asked) -> str:
    return part_of(asked.of.name, asked.query.name)


def _copies(is_eventual: bool) -> str:
    return "inter_partition_index" if is_eventual else "intra_partition_index"


def _missing(asked: Asked, via: Index) -> list[str]:
    """Return what a query wants that the index does not hold."""
    held = via.shape(asked.of.key).include
    if held is None:
        return []
    known = {*held, *via.key.fields, *asked.of.key.fields}
    return [name for name in asked.query.select or asked.of.shape.fields if name not in known]


_FORMATS: Final[Mapping[FieldType, str]] = {
    "int32": ":010d",
    "int64": ":019d",
    "double": ":float",
    "datetime": ":ticks",
    "guid": ":uuid",
}


def index_here(declared: DeclaredSet, names: Sequence[str]) -> str:
    """Return an index in the partition of the primary rows, by these fields."""
    partition = declared.key.partition_template
    row = "_".join([f"{names[0].lower()}_{_spelled(declared, names[0])}", *_rest(declared, names, names[1:], False)])
    return f'IntraPartitionIndex(Key("{partition}", "{row}"))'


def index_elsewhere(declared: DeclaredSet, names: Sequence[str]) -> str:
    """Return an index in partitions of their own, by these fields."""
    # The same words begin the RowKey, so that no copy can have the key of a primary row
    head = names[0].lower()
    partition = f"{head}_{_spelled(declared, names[0])}"
    row = "_".join([head, *_rest(declared, names, names[1:], True)])
    unique = ", unique=True" if _has_own(declared, names) else ""
    return f'InterPartitionIndex(Key("{partition}", "{row}"){unique})'


def copies_take(declared: DeclaredSet) -> str:
    """Say how much room a copy of each entity takes."""
    return size(primary_sizes(declared).row * declared.shape.count)


def _rest(declared: DeclaredSet, names: Sequence[str], after: Sequence[str], elsewhere: bool) -> list[str]:
    """Return what follows in the RowKey; where several entities share the values, the primary key, which none share."""
    parts = [_spelled(declared, name) for name in after]
    if _has_own(declared, names):
        return parts
    templates = [declared.key.partition_template] if elsewhere else []
    pieces = [piece for template in (*templates, declared.key.row_template) for piece in pieces_of(template)]
    return parts + [_field(piece.name, piece.spec) for piece in pieces if piece.name and piece.name not in names]


def is_shared(declared: DeclaredSet, names: Sequence[str]) -> bool:
    """Whether several entities have the same values of these fields."""
    return not _has_own(declared, names)


def _has_own(declared: DeclaredSet, names: Sequence[str]) -> bool:
    """Whether each entity has its own value of one of the fields."""
    fields = [declared.shape.fields.get(name, Field(distinct=1)) for name in names]
    return any(each.distinct is None and each.within is None and each.order == "none" for each in fields)


def _spelled(declared: DeclaredSet, name: str) -> str:
    field = declared.shape.fields.get(name, Field())
    return _field(name, _FORMATS.get(field.type, "").removeprefix(":"))


def _field(name: str | None, spec: str) -> str:
    return f"{{{name}:{spec}}}" if spec else f"{{{name}}}"


RULES: Final = (
    UNUSED_INDEX,
    REDUNDANT_INDEX,
    SECOND_READ,
    INDEX_NOT_UNIQUE,
    COLLIDING_INDEX_KEYS,
)
