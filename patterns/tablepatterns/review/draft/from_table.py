"""Draft a design from a sample of real tables: their kinds of rows, keys, fields and derived data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...edm import Int64
from ...entity import Entity
from ...errors import BadDesign, BadInput
from ...figures import plural
from ...key import Key
from ...recipe import Account
from ...recipes.period_tables.period import Period
from ...recipes.wide_parts import PARTS
from ..design.model import Field
from ..key_parts import pieces_of
from . import fields as values_of
from .derived import Found, copy_of, list_of, totals_of
from .estimate import row_count
from .kinds import Kind, Kinds, kinds_of
from .rows import Rows, spelled
from .sampling import Sampler, TableSample
from .templates import Part, Slot

_SPREAD: Final = "_spread"
"""The PartitionKey of the row with the settings of a `PartitionSpread`."""
_WIDE_PART: Final = re.compile(r"_?\d\d(?:_[0-9a-f]{32})?$")
_POINT: Final = re.compile(r"(.*?)(\d+)$")
_FEWEST_POINTS: Final = 4
_BLOB: Final = re.compile(r"https?://[^/]+/(?:devstoreaccount1/)?([a-z0-9-]+)/[^?]+\.(bin|txt)$")
_HEADER: Final = "EncryptedWith"
_POINT_TYPES: Final[Mapping[type, str]] = {int: "int", Int64: "Int64", float: "float", bool: "bool"}
_RESERVED: Final = 5
"""The share of the queries, one in this many, that is kept to look for single rows."""
_MATCHED: Final = 2_000


@dataclass
class DraftSet:
    """A set of a draft.

    :param notes: what is a guess, as comments of the file
    """

    name: str
    rows: Rows
    count: int
    fields: dict[str, Field]
    pattern: str | None = None
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    table: str = ""
    key: dict[str, str] = field(default_factory=dict[str, str])
    derived: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    mappings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    notes: list[str] = field(default_factory=list[str])
    queries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    writes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    growth: float = 0.0


@dataclass(frozen=True)
class Draft:
    """A draft of a design.

    :param notes: what was read, as comments of the file
    """

    name: str
    sets: Sequence[DraftSet]
    notes: Sequence[str]


async def draft_of_tables(account: Account, tables: Sequence[str], most: int) -> Draft:
    """Return the draft of a design of some tables, with queries only.

    Cost: at most `most` transactions for each table.

    :param account: the account, as recipes see it
    :param tables: the names of the tables
    :param most: how many queries to send to each
    :raises BadInput: a table has no rows
    """
    samplers, samples = dict[str, Sampler](), dict[str, TableSample]()
    for name in tables:
        samplers[name] = Sampler(account.table(name), most - most // _RESERVED)
        samples[name] = await samplers[name].read()
        samplers[name].most = most
        if not samples[name].rows:
            raise BadInput("table", name, "it does not exist, or has no rows", "name a table with rows")
    kinds = {name: kinds_of(_entities(sample)) for name, sample in samples.items()}
    drafts = [draft for name in tables if (draft := _spread_set(name, samples[name])) is not None]
    spread = {draft.rows.table for draft in drafts}
    found = [_rows_of(kind, name) for name in tables if name not in spread for kind in kinds[name].kinds]
    drafts += await _sets_of(found, samples, samplers)
    notes = [_read_note(samples[name], samplers[name], kinds[name]) for name in tables]
    return Draft(f"{' and '.join(tables)}, drafted", _with_own_names(drafts), notes)


def _entities(sample: TableSample) -> list[Entity]:
    return [row for row in sample.rows if row["PartitionKey"] != _SPREAD]


def _read_note(sample: TableSample, sampler: Sampler, kinds: Kinds) -> str:
    requests = plural(sampler.requests, "query")
    whole = f"The whole table {sample.table} was read" if sample.is_whole else f"A sample of {sample.table} was read"
    parts = "" if sample.is_whole else f", from {sample.parts} parts of the table"
    rows, partitions = plural(len(sample.rows), "row"), plural(sample.partitions, "partition")
    found = f"{whole} with {requests}: {rows} of {partitions}{parts}."
    return found if kinds.type_property is None else f"{found} {kinds.type_property} names the kind of each row."


async def _sets_of(
    found: Sequence[Rows], samples: Mapping[str, TableSample], samplers: Mapping[str, Sampler]
) -> list[DraftSet]:
    """Return the sets of some kinds of rows; rows that are derived from others are declared with these."""
    derived = await _derived(sorted(found, key=_rank, reverse=True), samples, samplers)
    taken = {id(each.rows) for some in derived.values() for each in some}
    primaries = [rows for rows in found if id(rows) not in taken]
    drafts: list[DraftSet] = []
    for rows in primaries:
        known: dict[tuple[str, int], str] = {}
        for other in primaries:
            known |= other.shared_names() if other.table == rows.table else {}
        sample = samples[rows.table]
        factor = row_count(sample) / max(1, len(sample.rows))
        drafts.append(_draft_set(rows, sample, factor, known, derived.get(id(rows), [])))
    return drafts


def _rank(rows: Rows) -> tuple[int, int, bool, int]:
    """Return how likely rows are primary rows of others: those with most properties, and with numbers in the key."""
    return len(rows.kind.properties), len(rows.rows), any(slot.spec for slot in rows.slots), -len(str(rows.row))


def _rows_of(kind: Kind, table: str) -> Rows:
    if any(PARTS in row for row in kind.rows):
        kind = Kind(_joined_parts(kind.rows), kind.lead, "wide")
    return Rows.of(kind, table)


def _joined_parts(rows: Sequence[Entity]) -> list[Entity]:
    """Return wide entities, each of which takes several rows, as one row each."""
    found: dict[tuple[str, str], Entity] = {}
    for row in rows:
        keys = row["PartitionKey"], _WIDE_PART.sub("", row["RowKey"])
        whole = found.setdefault(keys, Entity({"PartitionKey": keys[0], "RowKey": keys[1]}))
        whole.update({name: value for name, value in row.items() if name not in ("PartitionKey", "RowKey", PARTS)})
    return list(found.values())


async def _derived(
    found: Sequence[Rows], samples: Mapping[str, TableSample], samplers: Mapping[str, Sampler]
) -> dict[int, list[Found]]:
    """Return what is derived from each kind of rows, by the identity of these."""
    derived: dict[int, list[Found]] = {}
    taken: set[int] = set()
    for primary in found:
        if id(primary) in taken:
            continue
        find = samplers[primary.table].row
        for other in found:
            if other is primary or id(other) in taken or id(other) in derived:
                continue
            one = await copy_of(primary, other, find) or await list_of(primary, other, find)
            one = one or totals_of(primary, other, samples[other.table].partial)
            if one is not None:
                derived.setdefault(id(primary), []).append(one)
                taken.add(id(other))
    return derived


def _draft_set(
    rows: Rows, sample: TableSample, factor: float, known: Mapping[tuple[str, int], str], derived: Sequence[Found]
) -> DraftSet:
    rows.name_rest(known)
    count = round(len(rows.rows) * factor)
    fields = _fields(rows, count, sample)
    draft = DraftSet(_name_of(rows), rows, count, fields, table=rows.table)
    first, second = _checked_templates(rows, draft)
    draft.key = {"partition": first, "row": second}
    if rows.guesses:
        names = ", ".join(rows.guesses)
        draft.notes.append(f"The names of these fields of the key are guesses: {names}.")
    if not sample.is_whole:
        draft.notes.append("count and distinct are estimates from the sample.")
    _note_types(rows, draft)
    for each in derived:
        draft.derived.append(_derived_table(rows, each))
    _note_signed(rows, draft)
    _mapped(rows, draft)
    _special(rows, draft)
    _ensure_distinct_keys(rows, draft)
    return draft


def _derived_table(rows: Rows, found: Found) -> dict[str, Any]:
    partition, row = found.rows.templates()
    is_default = found.table["pattern"] == "index_entities" and _is_default(rows, found, partition, row)
    key = {} if is_default else {"key": {"partition": partition, "row": row}}
    return {"notes": [f"{plural(found.checked, 'row')} agreed with the entities."], **found.table, **key}


def _is_default(rows: Rows, found: Found, partition: str, row: str) -> bool:
    fields: list[str] = found.table["fields"]
    local = "_".join([*(each.lower() for each in fields), *(f"{{{each}}}" for each in fields)])
    if "store" in found.table:
        return (partition, row) == (local, "ids") and len(fields) == 1
    return (partition, row) == (rows.templates()[0], local) and len(fields) == 1


def _name_of(rows: Rows) -> str:
    if rows.kind.type and rows.kind.type != "wide":
        return rows.kind.type
    lead = rows.kind.lead[1] or rows.kind.lead[0]
    return f"{lead[0].upper()}{lead[1:]}" if lead else rows.table


def _with_own_names(drafts: Sequence[DraftSet]) -> list[DraftSet]:
    """Name the largest set of each table after the table, and give each of the others a name of its own."""
    taken: set[str] = set()
    for draft in drafts:
        if draft.rows.table not in {each.rows.table for each in drafts[: drafts.index(draft)]} and (
            draft.rows.kind.type in (None, "wide")
        ):
            draft.name = draft.table or draft.rows.table
        name, number = draft.name, 1
        while draft.name in taken:
            number += 1
            draft.name = f"{name} {number}"
        taken.add(draft.name)
    return list(drafts)


def _fields(rows: Rows, count: int, sample: TableSample) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for at, slot in enumerate(rows.slots):
        found[str(rows.names[at])] = values_of.key_field(slot, count, is_whole=sample.is_whole)
    times = [row.timestamp for row in rows.rows]
    for name in _ordered(rows):
        values = [row.get(name) for row in rows.rows]
        present = [value for value in values if value is not None]
        if name in found or not present:
            continue
        one = values_of.field_of(present, count, is_whole=sample.is_whole)
        if one.type == "datetime" and len(present) == len(values) and values_of.rises(values, times):
            one = replace(one, order="rising")
        found[name] = one
    return found


def _ordered(rows: Rows) -> list[str]:
    """Return the properties of rows in the order in which they are stored."""
    names = dict.fromkeys(name for row in rows.rows for name in row)
    return [name for name in names if name in rows.kind.properties]


def _checked_templates(rows: Rows, draft: DraftSet) -> tuple[str, str]:
    """Return the templates of the key; a half whose template cannot read the keys becomes one text."""
    step = max(1, len(rows.rows) // _MATCHED)
    for half in (None, "row", "partition"):
        if half is not None:
            _as_text(rows, draft, half)
        first, second = rows.templates()
        try:
            key = Key(first, second, max_units=1024)
        except BadDesign:
            continue
        if all(key.matches(row["PartitionKey"], row["RowKey"]) for row in rows.rows[::step]):
            return first, second
    return rows.templates()


def _as_text(rows: Rows, draft: DraftSet, half: str) -> None:
    """Make one half of the key a single text."""
    name = "PartitionText" if half == "partition" else "RowText"
    column = "PartitionKey" if half == "partition" else "RowKey"
    slot: list[Part] = [Slot("", tuple(str(row[column]) for row in rows.rows))]
    first = rows.partition_slots
    dropped = [str(each) for each in (rows.names[:first] if half == "partition" else rows.names[first:])]
    if half == "partition":
        rows.partition, rows.names = slot, [name, *rows.names[first:]]
    else:
        rows.row, rows.names = slot, [*rows.names[:first], name]
    rows.__dict__.pop("slots", None)
    for each in dropped:
        if each not in rows.kind.properties and each not in rows.names:
            draft.fields.pop(each, None)
    draft.fields[name] = values_of.key_field(rows.slots[0 if half == "partition" else -1], draft.count, is_whole=False)
    draft.notes.append(f"No template was found for the {column}: it is one text.")


def _note_types(rows: Rows, draft: DraftSet) -> None:
    for name in _ordered(rows):
        kinds = values_of.types_of([row[name] for row in rows.rows if row.get(name) is not None])
        if len(kinds) > 1:
            draft.notes.append(f"{name} has values of several types: {', '.join(kinds)}.")


def _note_signed(rows: Rows, draft: DraftSet) -> None:
    for name, slot in zip(rows.names, rows.slots, strict=True):
        if slot.is_guess:
            draft.notes.append(f"{name} may be a number of {slot.spec[2:-1]} digits with a sign, or one without.")


# -- What some patterns store


def _mapped(rows: Rows, draft: DraftSet) -> None:
    """Declare properties that are encrypted, or stored in blobs."""
    headers = [str(row[_HEADER]) for row in rows.rows if _HEADER in row]
    names = sorted({name for text in headers for name in _encrypted_names(text)})
    if names:
        draft.fields.pop(_HEADER, None)
        draft.mappings.append({"pattern": "encrypted_properties", "names": names})
        for name in names:
            if name in draft.fields:
                draft.fields[name] = replace(draft.fields[name], type="string", distinct=None, secret=True)
        draft.notes.append("The types and sizes of encrypted properties are guesses.")
    links: dict[str, list[str]] = {}
    for name in draft.fields:
        found = next((each for row in rows.rows if (each := _BLOB.match(str(row.get(name)))) is not None), None)
        if found is not None:
            links.setdefault(found[1], []).append(name)
            draft.fields[name] = replace(draft.fields[name], type="binary" if found[2] == "bin" else "string")
    for container, large in links.items():
        draft.mappings.append({"pattern": "large_properties", "names": large, "container": container})
        draft.notes.append(f"Set the sizes of {', '.join(large)}: the values are in blobs, which were not read.")


def _encrypted_names(text: str) -> list[str]:
    try:
        found: Any = json.loads(text)
        return [str(name) for name in found["names"]]
    except (ValueError, KeyError, TypeError):
        return []


def _special(rows: Rows, draft: DraftSet) -> None:
    """Declare the recipe that stores rows in a form of its own."""
    if rows.kind.type == "wide":
        draft.pattern = "wide_entity"
        return
    points = _points(rows)
    if points is not None and not draft.derived:
        prefix, number, kind = points
        draft.pattern, draft.settings = "data_series", {"points": number, "point_name": prefix, "of": kind}
        draft.fields = {name: each for name, each in draft.fields.items() if name in rows.names}
        return
    specs = [part if isinstance(part, str) else part.spec for part in rows.row]
    if specs[-3:] == ["inverted", "_", "uuid"] and len(specs) <= 4:
        at, entry = rows.names[-2:]
        draft.pattern, draft.settings = "log_tail", {"at": at, "entry": entry}
        if len(specs) == 4:
            draft.settings["row_prefix"] = specs[0]
        draft.key.pop("row")
    _by_period(rows, draft)


def _points(rows: Rows) -> tuple[str, int, str] | None:
    """Return the prefix, the number and the type of the points of a data series; None if the rows are none."""
    names = rows.kind.properties - {name for name in rows.names if name}
    found = [_POINT.match(name) for name in names]
    if len(names) < _FEWEST_POINTS or not all(found):
        return None
    prefixes, digits = {each[1] for each in found if each}, {each[2] for each in found if each}
    kinds: set[type[object]] = {type(row[name]) for row in rows.rows for name in names & set(row)}
    if len(prefixes) > 1 or len(kinds) > 1 or not kinds <= _POINT_TYPES.keys():
        return None
    number = max(int(each) for each in digits) + 1
    if {len(each) for each in digits} != {len(str(number - 1))}:
        return None
    return prefixes.pop(), number, _POINT_TYPES[kinds.pop()]


def _by_period(rows: Rows, draft: DraftSet) -> None:
    """Declare the tables of periods, if the name of the table ends with one and the rows have a time."""
    times = [name for name, each in draft.fields.items() if each.type == "datetime"]
    keyed = [name for name in times if name in rows.names]
    found = re.fullmatch(r"(.+?)(\d{10}|\d{8}|\d{6}|\d{4}[Ww]\d\d)", rows.table)
    if found is None or not times or draft.derived or draft.pattern not in (None, "log_tail"):
        return
    period = next((each for each in Period if each.parse(found[2]) is not None), None)
    if period is None:
        return
    at = (keyed or times)[0]
    if draft.pattern == "log_tail":
        draft.settings["inner"] = "log_tail"
    draft.pattern, draft.table = "period_tables", found[1]
    draft.settings |= {"period": period.value, "at": at}
    draft.fields[at] = replace(draft.fields[at], order="rising")
    draft.notes.append(f"count is that of one {period.value}, {found[2]}: multiply it, and add retention.")


def _ensure_distinct_keys(rows: Rows, draft: DraftSet) -> None:
    """Make sure that the fields of the key have enough values to tell the entities apart."""
    names = [str(name) for name in rows.names]
    there = 1.0
    for name in names:
        distinct = draft.fields[name].distinct
        if distinct is None and draft.fields[name].type != "boolean":
            return
        there *= distinct or 2
    own = names[rows.partition_slots :] or names
    if there >= draft.count or not own:
        return
    name = max(own, key=lambda each: draft.fields[each].distinct or 0)
    group = names[0] if rows.partition_slots and name != names[0] else None
    draft.fields[name] = replace(draft.fields[name], distinct=None, within=group)


def _spread_set(table: str, sample: TableSample) -> DraftSet | None:
    """Return the set of a `PartitionSpread`, whose settings hold the templates of its key; None for another table."""
    settings = next((row for row in sample.rows if row["PartitionKey"] == _SPREAD), None)
    if settings is None:
        return None
    text, by = str(settings["RowKey"]), [each for each in str(settings.get("By", "")).split(",") if each]
    buckets = settings.get("Buckets")
    for at in [number for number, each in enumerate(text) if each == " "]:
        try:
            key = Key(text[:at], text[at + 1 :])
        except BadDesign:
            continue
        entities = [row for row in sample.rows if row["PartitionKey"] != _SPREAD]
        plain = [_without_bucket(row) for row in entities]
        if not isinstance(buckets, int) or not all(key.matches(row["PartitionKey"], row["RowKey"]) for row in plain):
            continue
        rows = _with_key(Kind(plain), table, key)
        draft = _draft_set(rows, sample, row_count(sample) / max(1, len(sample.rows)), {}, [])
        draft.pattern, draft.settings = "partition_spread", {"buckets": int(buckets), "by": by}
        draft.key = {"partition": key.partition_template, "row": key.row_template}
        return draft
    return None


def _without_bucket(row: Entity) -> Entity:
    found = row.copy()
    found.partition_key = found["PartitionKey"] = str(row["PartitionKey"]).partition("_")[2]
    return found


def _with_key(kind: Kind, table: str, key: Key) -> Rows:
    """Return rows whose key is known."""
    values = [key.parse(str(row["PartitionKey"]), str(row["RowKey"])) for row in kind.rows]
    rows = Rows.of(kind, table)
    rows.partition, rows.row = (_parts(half, values) for half in (key.partition_template, key.row_template))
    rows.__dict__.pop("slots", None)
    rows.names = list(key.fields)
    return rows


def _parts(template: str, values: Sequence[Mapping[str, object]]) -> list[Part]:
    found: list[Part] = []
    for piece in pieces_of(template):
        if piece.literal:
            found.append(piece.literal)
        if piece.name:
            texts = tuple(str(spelled(piece.spec, each[piece.name])) for each in values)
            found.append(Slot(piece.spec, texts, _type_of(piece.spec)))
    return found


def _type_of(spec: str) -> Any:
    named = {"": "string", "escape": "string", "uuid": "guid", "float": "double"}
    if spec in named:
        return named[spec]
    return "datetime" if "%" in spec or spec in ("ticks", "inverted") else "int64"
