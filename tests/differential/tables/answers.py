"""Comparable responses to operations on tables, without values that must differ between two accounts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from conformance.batches import replies
from conformance.raw import Answer
from differential.account import Heard
from differential.answers import Compared, Rejected, parts_in, rejected
from differential.counterparts import Counterparts, Own
from differential.tables.operations import Key, ListTables, Operation, Query, keys_of, place, writes_of

_NEXT = "x-ms-continuation-next"
_ETAG = "odata.etag"


def normal(operation: Operation, heard: Heard, base: str) -> Compared:
    """Return what was heard as what can be compared.

    The rows of a list are by themselves, under their keys, so that one that is missing does not make all others differ.

    :param base: the account's URL, which is left out of all links
    """
    answers = [_answer(answer, base) for answer in heard.answers]
    if isinstance(operation, (Query, ListTables)) and not any(isinstance(answer, Rejected) for answer in answers):
        return {**_rows_apart(operation.table, answers), "error": heard.error}
    for key, part in zip(keys_of(operation), _parts(answers), strict=False):
        _mark_versions(operation.table, key, part)
    return {"answers": answers, "error": heard.error}


def note_versions(counterparts: Counterparts, operation: Operation, engine: Compared, azurite: Compared) -> None:
    """Note the versions that writes made, in the order of the writes."""
    for write, ours, theirs in zip(writes_of(operation), parts_in(engine), parts_in(azurite), strict=False):
        if isinstance(ours, dict) and "etag" in ours and "etag" in theirs:
            counterparts.note(place(operation.table, write.key), ours["etag"].text, theirs["etag"].text)


def _parts(answers: list[Any]) -> Iterator[Any]:
    return parts_in({"answers": answers})


def _answer(answer: Answer, base: str) -> Any:
    if answer.status >= 400:
        return rejected(answer)
    kind = answer.headers.get("Content-Type") or ""
    found: dict[str, Any] = {"status": answer.status}
    if kind.startswith("multipart"):
        parts = [Answer(each.status_code, dict(each.headers.items()), each.body) for each in replies(answer)]
        return {**found, "parts": [_answer(part, base) for part in parts]}
    if etag := answer.headers.get("ETag"):
        found["etag"] = etag
    if answer.text:
        found["format"] = kind.partition(";streaming")[0]
        found["more"] = any(name.lower().startswith(_NEXT) for name in answer.headers)
        found["body"] = json.loads(answer.text.replace(base, ""))
    return found


def _mark_versions(table: str, key: Key, part: Any) -> None:
    """Mark what tells the version of an entity: each account counts versions in its own way."""
    if isinstance(part, dict):
        if "etag" in part:
            part["etag"] = Own(place(table, key), part["etag"])
        _mark_row(table, key, part.get("body", {}))


def _mark_row(table: str, key: Key, row: dict[str, Any]) -> None:
    where = place(table, key)
    if _ETAG in row:
        row[_ETAG] = Own(where, row[_ETAG])
    if isinstance(row.get("Timestamp"), str):
        row["Timestamp"] = Own(where, f"W/\"datetime'{quote(row['Timestamp'])}'\"")


def _rows_apart(table: str, pages: list[dict[str, Any]]) -> dict[str, Any]:
    rows: dict[Any, dict[str, Any]] = {}
    sizes: list[int] = []
    for page in pages:
        found = page["body"].pop("value")
        sizes.append(len(found))
        rows |= {_name(row): row for row in found}
    for name, row in rows.items():
        if isinstance(name, tuple):
            _mark_row(table, name, row)
    return {"pages": pages, "sizes": sizes, "rows": rows}


def _name(row: Mapping[str, Any]) -> Any:
    return row["TableName"] if "TableName" in row else (row["PartitionKey"], row["RowKey"])
