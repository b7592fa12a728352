"""Recognize derived data among the rows of a table: copies by another key, lists of keys, and totals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Final

from ...edm import Int64
from ...entity import Entity
from .rows import Find, Rows, formats, spelled, type_of
from .sampling import Keys

_MOST_TRIED: Final = 24
"""The maximum number of ways to compute the primary key from a copy."""
_CHECKED: Final = 40
"""The maximum number of rows that are compared with their primaries."""
_ASKED: Final = 3
"""The maximum number of unread primary rows that are requested for each way."""
_FEWEST: Final = 3
"""Fewer rows that agree may do so by chance, if there are more."""
_UNNAMED: Final = "\0"
_BETWEEN, _INSIDE, _NOTE = "/", "#", "?"


@dataclass(frozen=True)
class Found:
    """Derived data, as the table of a design file.

    :param rows: its rows
    :param table: the table of the file, with the key left out
    :param checked: how many of its rows were compared with the entities
    :param has_key: whether the table names the key
    """

    rows: Rows
    table: dict[str, Any]
    checked: int
    has_key: bool = True


@dataclass(frozen=True)
class _Source:
    """Where a text of a key comes from: a property, or a field of the other key, in a format."""

    spec: str
    name: str | None = None
    slot: int | None = None

    def text(self, rows: Rows, at: int) -> str | None:
        if self.slot is not None:
            return rows.slots[self.slot].texts[at]
        value = rows.value(at, self.name or "")
        return None if value is None else spelled(self.spec, value)


async def copy_of(primary: Rows, copy: Rows, find: Find) -> Found | None:
    """Return the index that some rows are, as copies of the entities; None if they are none.

    The primary key of each copy is computed from its properties and its own key, and the copy compared with the row
    that is there. Fields of both keys that are not named yet get their names from each other.
    """
    choices = [list(_sources(primary, at, copy)) for at in range(len(primary.slots))]
    for chosen in islice(product(*choices), _MOST_TRIED):
        pairs = await _pairs(primary, copy, chosen, find)
        own = _own_sources(primary, copy, pairs) if pairs else None
        if pairs and own is None and _joined(primary, copy, pairs):
            own = _own_sources(primary, copy, pairs)
        if own is not None and _adds(own) and _named(primary, copy, chosen, own):
            return Found(copy, _index_table(primary, copy), len(pairs))
    return None


def _joined(primary: Rows, copy: Rows, pairs: Sequence[tuple[int, Entity, Sequence[str]]]) -> bool:
    """Find the text of a property in the keys of the copies, where it looked like several fields."""
    names = [name for name in sorted(primary.kind.properties) if all(type(row.get(name)) is str for _, row, _ in pairs)]
    texts = [[str(row[name]) for _, row, _ in pairs] for name in names]
    return copy.join_parts(names, [at for at, _, _ in pairs], texts)


def _adds(own: Sequence[_Source]) -> bool:
    """Whether the key of a copy has a field that the primary key has not."""
    return any(each.name is not None for each in own)


def _sources(primary: Rows, at: int, copy: Rows) -> Iterator[_Source]:
    """Yield where the text of a field of the primary key may come from in a copy, the usual place first."""
    slot = primary.slots[at]
    extra = copy.kind.properties - primary.kind.properties
    for name in sorted(copy.kind.properties, key=lambda each: (each not in extra, each != primary.names[at], each)):
        if name not in extra and name != primary.names[at]:
            continue
        value = next((value for row in copy.rows if (value := row.get(name)) is not None), None)
        for spec in formats(slot):
            if value is not None and spelled(spec, value) is not None and _fits(slot.texts[0], spelled(spec, value)):
                yield _Source(spec, name)
    same_half = sorted(
        range(len(copy.slots)), key=lambda each: (each < copy.partition_slots) != (at < primary.partition_slots)
    )
    yield from (_Source(slot.spec, slot=each) for each in same_half if copy.slots[each].spec == slot.spec)


def _fits(text: str, other: str | None) -> bool:
    return other is not None and (not text.isdigit() or len(text) == len(other) or not text.startswith("0"))


async def _pairs(
    primary: Rows, copy: Rows, chosen: Sequence[_Source], find: Find
) -> list[tuple[int, Entity, Sequence[str]]]:
    """Return copies with their entities, and the texts of the entities' keys; nothing if one contradicts."""
    found: list[tuple[int, Entity, Sequence[str]]] = []
    asked = missing = 0
    step = max(1, len(copy.rows) // (4 * _CHECKED))
    for at in range(0, len(copy.rows), step):
        texts = [each.text(copy, at) for each in chosen]
        if any(text is None for text in texts):
            missing += 1
            continue
        values = [text for text in texts if text is not None]
        keys = primary.keys_from(values)
        number = primary.by_keys.get(keys)
        row = primary.rows[number] if number is not None else None
        if row is None and asked < _ASKED and not found:
            asked += 1
            row = await find(keys)
        if row is None:
            missing += 1
        elif _differs(primary, copy, at, row):
            return []
        else:
            found.append((at, row, values))
        if len(found) >= _CHECKED or (missing > _CHECKED and not found):
            break
    return found if len(found) >= min(_FEWEST, len(copy.rows)) else []


def _differs(primary: Rows, copy: Rows, at: int, row: Entity) -> bool:
    """Whether a copy has another value of a property than the entity."""
    both = primary.kind.properties & copy.kind.properties
    return any(copy.rows[at].get(name) != row.get(name) for name in both if copy.rows[at].get(name) is not None)


def _own_sources(primary: Rows, copy: Rows, pairs: Sequence[tuple[int, Entity, Sequence[str]]]) -> list[_Source] | None:
    """Return where the texts of the copies' own keys come from in the entities; None if one comes from nowhere."""
    found: list[_Source] = []
    for slot in copy.slots:
        texts = [slot.texts[at] for at, _, _ in pairs]
        source = next(_origins(primary, slot, texts, pairs), None)
        if source is None:
            return None
        used = {each.name for each in found}
        if source.name is not None and source.name in used:
            return None
        found.append(source)
    return found


def _origins(
    primary: Rows, slot: Any, texts: Sequence[str], pairs: Sequence[tuple[int, Entity, Sequence[str]]]
) -> Iterator[_Source]:
    for spec in formats(slot):
        for name in sorted(primary.kind.properties):
            if all(
                row.get(name) is not None and spelled(spec, row[name]) == text
                for (_, row, _), text in zip(pairs, texts, strict=True)
            ):
                yield _Source(spec, name)
    for at in range(len(primary.slots)):
        if all(values[at] == text for (_, _, values), text in zip(pairs, texts, strict=True)):
            yield _Source(slot.spec, slot=at)


def _named(primary: Rows, copy: Rows, chosen: Sequence[_Source], own: Sequence[_Source]) -> bool:
    """Name the fields of both keys after the properties of the other rows; fields that both have share a name.

    Return False, and change nothing, if a key would have a field twice.
    """
    names = [source.name or name for source, name in zip(chosen, primary.names, strict=True)]
    others = [source.name for source in own]
    shared = [(source.slot, number) for number, source in enumerate(own) if source.slot is not None]
    shared += [(at, source.slot) for at, source in enumerate(chosen) if source.slot is not None]
    for at, number in shared:
        names[at] = others[number] = names[at] or others[number] or f"{_UNNAMED}{at}"
    if any(len({*each}) < len(each) for each in (names, others)):
        return False
    guessed = {f"{_UNNAMED}{at}": primary.guess_name(at) for at, name in enumerate(names) if _is_unnamed(name)}
    primary.names = [guessed.get(str(name), name) for name in names]
    copy.names = [guessed.get(str(name), name) for name in others]
    for rows, sources in ((primary, chosen), (copy, own)):
        for at, source in enumerate(sources):
            if source.slot is None and source.spec != rows.slots[at].spec:
                rows.change_spec(at, source.spec)
    return True


def _is_unnamed(name: str | None) -> bool:
    return name is not None and name.startswith(_UNNAMED)


def _index_table(primary: Rows, copy: Rows) -> dict[str, Any]:
    is_local = copy.table == primary.table and _same_partition(primary, copy)
    table: dict[str, Any] = {"pattern": "intra_partition_index" if is_local else "inter_partition_index"}
    if copy.table != primary.table:
        table["table"] = copy.table
    held = primary.kind.properties - {name for name in copy.names if name}
    missing = held - copy.kind.properties
    if missing:
        table["include"] = sorted(primary.kind.properties & copy.kind.properties)
    return table


def _same_partition(primary: Rows, other: Rows) -> bool:
    """Whether rows of both kinds share partitions: their PartitionKeys have one template, with the same fields."""
    first, second = primary.partition_slots, other.partition_slots
    same = [part if isinstance(part, str) else part.spec for part in primary.partition] == [
        part if isinstance(part, str) else part.spec for part in other.partition
    ]
    return same and primary.names[:first] == other.names[:second]


# -- Lists


async def list_of(primary: Rows, lists: Rows, find: Find) -> Found | None:
    """Return the index entities that some rows are, as lists of the keys of entities; None if they are none."""
    for name in sorted(lists.kind.properties):
        if not all(isinstance(row.get(name), str) for row in lists.rows):
            continue
        members = [(at, keys) for at, row in enumerate(lists.rows) for keys in _listed(row, name)[:2]]
        is_local = not any(_INSIDE in str(row[name]) for row in lists.rows)
        if not members or not all(_may_be(primary, keys) for _, keys in members):
            continue
        others = {each for each in lists.kind.properties if not _continues(each, name)}
        table = _summary_table(lists, name, others) if others else dict[str, Any](pattern="index_entities")
        entities = await _entities(primary, members, find) if table is not None else []
        fields = _list_fields(primary, lists, entities) if entities else None
        if fields is None or table is None:
            continue
        if not others:
            table["fields"] = fields
            if name != "Ids":
                table["ids"] = name
        if not is_local:
            table["store"] = "table"
        if lists.table != primary.table:
            table["table"] = lists.table
        return Found(lists, table, len(entities))
    return None


def _continues(name: str, first: str) -> bool:
    """Whether a property is a list, or continues it."""
    return name == first or (name.startswith(first) and name[len(first) :].isdigit())


def _summary_table(lists: Rows, members: str, totals: Collection[str]) -> dict[str, Any] | None:
    """Return the summary that has its members in a property; None if other properties are not their number."""
    numbers = [len(_listed(row, members)) for row in lists.rows]
    count = next(
        (
            name
            for name in sorted(totals)
            if all(row.get(name) == number for row, number in zip(lists.rows, numbers, strict=True))
        ),
        None,
    )
    if count is None or len(totals) > 1:
        return None
    table: dict[str, Any] = {"pattern": "summary", "count": count}
    return table if members == "Members" else {**table, "members": members}


def _listed(row: Mapping[str, Any], name: str) -> list[Keys]:
    texts = [text.partition(_NOTE)[0] for text in str(row[name]).split(_BETWEEN) if text]
    parts = [text.partition(_INSIDE) for text in texts]
    return [(own, row_key) if inside else (str(row["PartitionKey"]), own) for own, inside, row_key in parts]


def _may_be(primary: Rows, keys: Keys) -> bool:
    if keys in primary.by_keys:
        return True
    first = primary.row[0] if primary.row else ""
    return keys[1].startswith(first) if isinstance(first, str) else bool(keys[1])


async def _entities(primary: Rows, members: Sequence[tuple[int, Keys]], find: Find) -> list[tuple[int, Entity, Keys]]:
    found: list[tuple[int, Entity, Keys]] = []
    asked = 0
    for at, keys in members:
        number = primary.by_keys.get(keys)
        row = primary.rows[number] if number is not None else None
        if row is None and asked < _ASKED and not found:
            asked += 1
            row = await find(keys)
        if row is not None:
            found.append((at, row, keys))
        if len(found) >= _CHECKED:
            break
    return found


def _list_fields(primary: Rows, lists: Rows, entities: Sequence[tuple[int, Entity, Keys]]) -> list[str] | None:
    """Return the fields that the lists are by: properties of the entities that the key of each list has."""
    fields: list[str] = []
    for number, slot in enumerate(lists.slots):
        source = None
        for spec in formats(slot):
            for name in sorted(primary.kind.properties):
                if all(
                    row.get(name) is not None and spelled(spec, row[name]) == slot.texts[at] for at, row, _ in entities
                ):
                    source = source or (spec, name)
        if source is not None:
            lists.names[number] = source[1]
            if source[0] != slot.spec:
                lists.change_spec(number, source[0])
            fields.append(source[1])
            continue
        shared = _same_slot(primary, slot.texts, entities)
        if shared is None:
            return None
        lists.names[number] = primary.names[shared] = primary.names[shared] or primary.guess_name(shared)
    return fields or None


def _same_slot(primary: Rows, texts: Sequence[str], entities: Sequence[tuple[int, Entity, Keys]]) -> int | None:
    """Return the field of the primary key that has the same text in the key of each list."""
    for at, slot in enumerate(primary.slots):
        known = [(list_at, primary.by_keys.get(keys)) for list_at, _, keys in entities]
        if all(number is not None and slot.texts[number] == texts[list_at] for list_at, number in known):
            return at
    return None


# -- Totals


def totals_of(primary: Rows, totals: Rows, partial: Collection[str]) -> Found | None:
    """Return the summary that some rows are, as counts and sums over groups of entities; None if they are none.

    :param partial: the partitions of which rows are missing, whose counts cannot be compared
    """
    if any(type(row[name]) not in (int, Int64) for row in totals.rows for name in totals.kind.properties & set(row)):
        return None
    if not totals.kind.properties or not _same_shape(primary, totals) or slots_of_row(totals):
        return None
    members: defaultdict[str, list[Entity]] = defaultdict(list)
    for row in primary.rows:
        members[row["PartitionKey"]].append(row)
    compared = [row for row in totals.rows if row["PartitionKey"] not in partial]
    if len(compared) < min(2, len(totals.rows)) or not any(members[row["PartitionKey"]] for row in compared):
        return None
    count, sums = None, dict[str, str]()
    for name in sorted(totals.kind.properties):
        if all(row.get(name, 0) == len(members[row["PartitionKey"]]) for row in compared):
            count = name
            continue
        added = next((each for each in _numbers(primary) if _adds_up(compared, members, name, each)), None)
        if added is None:
            return None
        sums[added] = name
    if count is None:
        return None
    table: dict[str, Any] = {"pattern": "summary", "count": count}
    if sums:
        table["sums"] = sums
    for at in range(primary.partition_slots):
        totals.names[at] = primary.names[at] = primary.names[at] or primary.guess_name(at)
    return Found(totals, table, len(compared))


def slots_of_row(rows: Rows) -> int:
    """Return how many fields the RowKey has."""
    return len(rows.slots) - rows.partition_slots


def _same_shape(one: Rows, other: Rows) -> bool:
    specs = [[part if isinstance(part, str) else part.spec for part in each.partition] for each in (one, other)]
    return one.table == other.table and specs[0] == specs[1]


def _numbers(rows: Rows) -> list[str]:
    kinds = Counter((name, type_of(value)) for row in rows.rows for name, value in row.items())
    return sorted(name for name, kind in kinds if kind in ("int32", "int64"))


def _adds_up(compared: Sequence[Entity], members: Mapping[str, Sequence[Entity]], total: str, name: str) -> bool:
    return all(
        row.get(total, 0) == sum(int(each.get(name) or 0) for each in members[row["PartitionKey"]]) for row in compared
    )
