"""Turn logged requests into access patterns with rates, for the sets of a draft."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final

from ...errors import BadFilter, BadInput
from ...figures import number as short
from ...figures import plural
from ...filters import And, Comparison, Filter, comparisons, parse
from ...filters.bounds import KeyBounds, key_bounds
from ...traffic.logs.read import LogRecord
from ...traffic.logs.summary import without_values
from ...traffic.request import is_throttled, parameter
from ..design.model import YEAR, Field, FieldType
from .from_table import Draft, DraftSet
from .kinds import Kind
from .rows import Rows, type_of
from .templates import Part, Slot

_MOST: Final = 2_000
"""The maximum number of different requests; further ones are counted together."""
_INTERVAL: Final = 60
_OPEN: Final = 8
"""The number of minutes that are counted at a time, since records of several files overlap."""
_LEAD: Final = re.compile(r"[A-Za-z]+[_\-|:.~=]+|[A-Za-z]+$|[A-Za-z]+(?=[0-9])")
_ROW_KEY: Final = re.compile(r"RowKey\s+(?:eq|ge|gt)\s+'([^']*)'")
_ROW_OF_URI: Final = re.compile(r"RowKey='([^']*)'|RowKey=%27((?:(?!%27).)*)%27")
_LITERAL: Final = re.compile(r"(\w*)'[^']*(?:''[^']*)*'|(?<![\w.])[-+]?\d[\w.]*")
_NEUTRAL: Final[Mapping[str, str]] = {
    "datetime": "datetime'2014-08-22T00:00:00Z'",
    "guid": "guid'00000000-0000-0000-0000-000000000000'",
    "binary": "binary'00'",
    "x": "X'00'",
}
"""What stands for the values of a filter, by how these begin."""
_WRITES: Final[Mapping[str, str]] = {
    "InsertEntity": "insert",
    "UpdateEntity": "update",
    "MergeEntity": "update",
    "InsertOrReplaceEntity": "update",
    "InsertOrMergeEntity": "update",
    "DeleteEntity": "delete",
}
_OVERWRITES: Final = ("InsertOrReplaceEntity", "InsertOrMergeEntity")
_ENTITY_BYTES: Final = 500
"""The assumed size in bytes of an unknown entity in a response."""
_ROW_BYTES, _PROPERTY_BYTES = 120, 12
_UNKNOWN_COUNT: Final = 1_000


@dataclass
class Calls:
    """Requests that differ only in their values.

    :param lead: the word that their RowKey begins with
    :param example: the filter of the first one
    :param take: how many results each asked for, None for all
    :param select: the properties that each asked for
    """

    table: str
    operation: str
    lead: str
    example: str = ""
    take: int | None = None
    select: tuple[str, ...] = ()
    count: int = 0
    bytes_out: int = 0
    peak: int = 0
    _minutes: Counter[int] = field(default_factory=Counter[int])

    def add(self, record: LogRecord, *, is_first: bool) -> None:
        """Count one request; a further page of a query belongs to its first one."""
        self.bytes_out += record.bytes_out
        if not is_first:
            return
        self.count += 1
        minute = int(record.moment // _INTERVAL)
        self._minutes[minute] += 1
        self.peak = max(self.peak, self._minutes[minute])
        if len(self._minutes) > _OPEN:
            del self._minutes[min(self._minutes)]


@dataclass
class LoggedCalls:
    """The requests of some logs, by what they ask.

    :param transactions: how many entity group transactions there were, of which logs name neither table nor operations
    """

    start: float = float("inf")
    end: float = float("-inf")
    records: int = 0
    transactions: int = 0
    others: int = 0
    calls: dict[tuple[str, ...], Calls] = field(default_factory=dict[tuple[str, ...], Calls])

    @property
    def seconds(self) -> float:
        """The time that the logs span."""
        return max(1.0, self.end - self.start)

    def add(self, record: LogRecord) -> None:
        """Count one request."""
        self.start, self.end = min(self.start, record.moment), max(self.end, record.moment)
        self.records += 1
        if is_throttled(record.status):
            return
        if record.operation == "Transaction":
            self.transactions += 1
        elif record.table is not None and (record.filter is not None or record.operation in (*_WRITES, "QueryEntity")):
            self._add_call(record, record.table)

    def _add_call(self, record: LogRecord, table: str) -> None:
        text = record.filter or ""
        lead = _lead(_row_key(record))
        parameters = record.uri.partition("?")[2]
        select = parameter(parameters, "$select")
        key = (table, record.operation, without_values(text), lead, select)
        calls = self.calls.get(key)
        if calls is None:
            if len(self.calls) >= _MOST:
                self.others += 1
                return
            names = tuple(each.strip() for each in select.split(",") if each.strip())
            calls = self.calls[key] = Calls(table, record.operation, lead, text, _top(parameters), names)
        elif calls.take is not None and (top := _top(parameters)) != calls.take:
            calls.take = None if top is None else max(top, calls.take)
        calls.add(record, is_first="NextPartitionKey" not in parameters)


def _top(parameters: str) -> int | None:
    """Return the `$top` of a query; a whole page is what the SDK asks for by itself."""
    text = parameter(parameters, "$top")
    return int(text) if text.isdigit() and 0 < int(text) < 1_000 else None


def _row_key(record: LogRecord) -> str:
    found = _ROW_KEY.search(record.filter) if record.filter else _ROW_OF_URI.search(record.uri)
    return next((each for each in found.groups() if each is not None), "") if found else ""


def _lead(row_key: str) -> str:
    found = _LEAD.match(row_key)
    return found[0] if found and row_key != found[0] else ""


def logged_calls(records: Iterable[LogRecord]) -> LoggedCalls:
    """Return the requests of some logs by what they ask, in constant memory.

    :param records: the requests, as `read_logs` yields them
    :raises BadInput: there are none
    """
    found = LoggedCalls()
    for record in records:
        found.add(record)
    if not found.calls:
        rule = f"they have no request for the entities of a table, among {plural(found.records, 'request')}"
        raise BadInput("logs", "", rule, "give logs with the categories StorageRead and StorageWrite")
    return found


def with_traffic(draft: Draft, logged: LoggedCalls) -> Draft:
    """Return a draft with the access patterns of some logs; tables that it does not have become sets without a sample.

    :param draft: the sets of some tables, none if there are only logs
    """
    sets = list(draft.sets)
    for table in dict.fromkeys(each.table for each in logged.calls.values()):
        if not any(_table_of(each) == table.lower() for each in sets):
            sets.append(_set_of(table, [each for each in logged.calls.values() if each.table == table]))
    for calls in sorted(logged.calls.values(), key=lambda each: -each.count):
        _declare(sets, calls, logged)
    _grow(sets)
    notes = [*draft.notes, _span_note(logged)]
    if logged.transactions:
        often = short(logged.transactions / logged.seconds)
        notes.append(
            f"{often} entity group transactions a second are missing here: logs name neither their tables nor "
            "what they write. Add them as writes of the sets that they change."
        )
    if logged.others:
        notes.append(f"{plural(logged.others, 'request')} of rarer kinds are left out.")
    notes.append("Logs do not say how old an answer may be: set max_staleness where a reader can wait.")
    return Draft(draft.name or "Drafted from logs", sets, notes)


def _span_note(logged: LoggedCalls) -> str:
    start, end = (datetime.fromtimestamp(each, timezone.utc) for each in (logged.start, logged.end))
    spanned = f"from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} (UTC)"
    return f"The rates are those of {plural(logged.records, 'logged request')} {spanned}; a peak is that of a minute."


def _table_of(draft: DraftSet) -> str:
    return draft.rows.table.lower()


def _set_of(table: str, calls: Sequence[Calls]) -> DraftSet:
    """Return a set of which only the requests are known."""
    fields = {"Partition": Field(), "Row": Field()}
    for call in calls:
        for each in _comparisons(call.example):
            if each.name not in ("PartitionKey", "RowKey"):
                fields.setdefault(each.name, Field(_type_of(each.value)))
    partition: list[Part] = [Slot("", ())]
    row: list[Part] = [Slot("", ())]
    rows = Rows(Kind([]), table, partition, row, ["Partition", "Row"])
    draft = DraftSet(table, rows, _UNKNOWN_COUNT, fields, table=table, key={"partition": "{Partition}", "row": "{Row}"})
    draft.notes.append("Only requests are known of this table: set its count, key and fields, or use --from-table.")
    return draft


def _type_of(value: object) -> FieldType:
    # A filter does not say whether a number has 32 or 64 bits
    return "int64" if type(value) is int else type_of(value)


def _comparisons(text: str) -> list[Comparison]:
    try:
        return list(comparisons(parse(text))) if text else []
    except BadFilter:
        return []


def _declare(sets: Sequence[DraftSet], calls: Calls, logged: LoggedCalls) -> None:
    if not calls.count:
        return
    draft, at = _home(sets, calls)
    rates: dict[str, Any] = {"rate": _rounded(calls.count / logged.seconds)}
    peak = _rounded(calls.peak / _INTERVAL)
    if logged.seconds > 2 * _INTERVAL and peak > rates["rate"]:
        rates["peak"] = peak
    operation = _WRITES.get(calls.operation)
    if operation is not None:
        write: dict[str, Any] = {"name": _unused(f"{operation} {draft.name}", draft), "operation": operation, **rates}
        if calls.operation in _OVERWRITES:
            write["overwrite"] = True
        draft.writes.append(write)
        return
    known, notes = _known(draft, at, calls)
    query: dict[str, Any] = {"notes": notes, "name": _unused(_query_name(draft, known, calls), draft)}
    if known is not None:
        query["known"] = known
    elif calls.example:
        query["filter"] = _neutral(calls.example)
    if calls.take is not None:
        query["take"] = calls.take
    select = [name for name in calls.select if name in draft.fields]
    if select:
        query["select"] = select
    if known is not None and any(how != "=" for how in known.values()):
        query["results"] = max(1, round(calls.bytes_out / calls.count / _response_bytes(draft)))
        notes.append("results is a guess from the size of the responses.")
    draft.queries.append({**query, **rates})


def _home(sets: Sequence[DraftSet], calls: Calls) -> tuple[DraftSet, Sequence[tuple[str, str]]]:
    """Return the set that requests are about, and the keys of its rows, with those of its copies."""
    here = [each for each in sets if _table_of(each) == calls.table.lower()]
    for draft in here:
        for first, second in _templates(draft):
            if calls.lead and second.startswith(calls.lead.rstrip("_-|:.~=")):
                return draft, [(first, second)]
    return max(here, key=lambda each: each.count), _templates(max(here, key=lambda each: each.count))[:1]


def _templates(draft: DraftSet) -> list[tuple[str, str]]:
    """Return the templates of a set's rows: those of the entities, then those of its indexes and lists."""
    own = draft.rows.templates()
    keyed = [each for each in draft.derived if "key" in each and each.get("table") in (None, draft.rows.table)]
    return [own, *((each["key"].get("partition", own[0]), each["key"]["row"]) for each in keyed)]


def _known(
    draft: DraftSet, templates: Sequence[tuple[str, str]], calls: Calls
) -> tuple[dict[str, str] | None, list[str]]:
    """Return what a caller knows of the fields; None if a filter says it in another way."""
    partition, row = templates[0]
    first, second = _names(partition), _names(row)
    if calls.operation == "QueryEntity":
        return dict.fromkeys([*first, *second], "="), []
    if not calls.example:
        return {}, []
    try:
        found = parse(calls.example)
    except BadFilter:
        return {}, ["The service rejected the filter of this query."]
    terms = found.terms if isinstance(found, And) else (found,)
    if not all(isinstance(each, Comparison) for each in terms):
        return None, ["The values of the filter are placeholders."]
    return _of_terms(draft, first, second, row, found, [each for each in terms if isinstance(each, Comparison)])


def _of_terms(
    draft: DraftSet, first: Sequence[str], second: Sequence[str], row: str, whole: Filter, terms: Sequence[Comparison]
) -> tuple[dict[str, str] | None, list[str]]:
    bounds: KeyBounds = key_bounds(whole)
    known: dict[str, str] = {}
    if bounds.partition is not None:
        known |= dict.fromkeys(first, "=")
    elif bounds.partition_keys.bounded:
        known |= dict.fromkeys(first[:1], "range")
    if bounds.row_keys.exact is not None:
        known |= dict.fromkeys(second, "=")
    elif bounds.row_keys.bounded:
        known |= _row_range(draft, second, row, bounds.row_keys.lower, bounds.row_keys.upper)
    for each in terms:
        if each.name in ("PartitionKey", "RowKey"):
            continue
        if each.operator == "ne" or each.name not in draft.fields:
            return None, ["The values of the filter are placeholders."]
        known[each.name] = "=" if each.operator == "eq" else "range"
    return known, []


def _row_range(draft: DraftSet, names: Sequence[str], template: str, lower: str, upper: str | None) -> dict[str, str]:
    """Return what a range of RowKeys says of the fields of the key, by how far its ends agree."""
    literal = template.partition("{")[0]
    same = 0
    while same < min(len(lower), len(upper or "")) and lower[same] == (upper or "")[same]:
        same += 1
    if same < len(literal) and lower == literal:
        return {}  # All rows of one kind
    parts = lower[len(literal) :].count("_")
    exact = lower[len(literal) : same].count("_")
    found: dict[str, str] = dict.fromkeys(names[:exact], "=")
    if exact < len(names) and parts >= exact:
        name = names[exact]
        is_text = draft.fields.get(name, Field()).type == "string"
        is_prefix = is_text and upper is not None and len(upper) == len(lower)
        found[name] = "prefix" if is_prefix else "range"
    return found


def _names(template: str) -> list[str]:
    return [each.partition(":")[0] for each in re.findall(r"\{(\w+[^{}]*)\}", template)]


def _query_name(draft: DraftSet, known: Mapping[str, str] | None, calls: Calls) -> str:
    if known is None:
        return f"{draft.name} by a filter"
    return f"{draft.name} by {', '.join(known)}" if known else f"all of {draft.name}"


def _unused(name: str, draft: DraftSet) -> str:
    taken = {each["name"] for each in (*draft.queries, *draft.writes)}
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name} {number}"
    return found


def _neutral(text: str) -> str:
    """Return a filter with other values of the same types, since values may be personal data."""
    return _LITERAL.sub(_other_value, text)


def _other_value(found: re.Match[str]) -> str:
    if found[1] is not None:
        return _NEUTRAL.get(found[1].lower(), "'x'")
    return "0L" if found[0].endswith("L") else "0.5" if "." in found[0] else "0"


def _response_bytes(draft: DraftSet) -> float:
    """Return about how many bytes an entity takes in a response."""
    if not draft.rows.rows:
        return _ENTITY_BYTES
    sizes = (each.size if each.type in ("string", "binary") else 8 for each in draft.fields.values())
    return _ROW_BYTES + sum(map(len, draft.fields)) + sum(size + _PROPERTY_BYTES for size in sizes)


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _grow(sets: Sequence[DraftSet]) -> None:
    """Derive the growth from what is inserted and deleted."""
    for draft in sets:
        rate = sum({"insert": 1, "delete": -1}.get(each["operation"], 0) * each["rate"] for each in draft.writes)
        if rate > 0:
            draft.growth = _rounded(rate * YEAR)
            draft.notes.append("growth is what is inserted, less what is deleted, at these rates for a year.")
