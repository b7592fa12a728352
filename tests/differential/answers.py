"""What an operation was answered, without what must differ between two accounts: ids, texts, tokens, addresses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from conformance.batches import replies
from conformance.raw import Answer
from conformance.refusals import refusal_in
from differential.account import Heard
from differential.operations import ListTables, Operation, Query

_NUMBER = re.compile(r"(\d+):")
_NEXT = "x-ms-continuation-next"


class Refused(NamedTuple):
    """How a request was refused, without the text.

    :param number: that of the operation of a transaction which the text says it is about
    """

    status: int
    code: str | None
    number: int | None = None


def normal(operation: Operation, heard: Heard, base: str) -> dict[str, Any]:
    """Return what was heard as what can be compared.

    The rows of a list are by themselves, under their keys, so that one that is missing does not make all others differ.

    :param base: the account's URL, which is left out of all links
    """
    answers = [_answer(answer, base) for answer in heard.answers]
    if isinstance(operation, (Query, ListTables)) and not any(isinstance(answer, Refused) for answer in answers):
        return {**_rows_apart(answers), "error": heard.error}
    return {"answers": answers, "error": heard.error}


def _answer(answer: Answer, base: str) -> Any:
    if answer.status >= 400:
        return _refusal(answer)
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


def _refusal(answer: Answer) -> Refused:
    response = SimpleNamespace(status_code=answer.status, text=lambda: answer.text)
    said = refusal_in(cast("BaseException", SimpleNamespace(response=response)))
    number = _NUMBER.match(said.text or "")
    return Refused(answer.status, said.code, int(number[1]) if number else None)


def _rows_apart(pages: list[dict[str, Any]]) -> dict[str, Any]:
    rows: dict[Any, dict[str, Any]] = {}
    sizes: list[int] = []
    for page in pages:
        found = page["body"].pop("value")
        sizes.append(len(found))
        rows |= {_name(row): row for row in found}
    return {"pages": pages, "sizes": sizes, "rows": rows}


def _name(row: Mapping[str, Any]) -> Any:
    return row["TableName"] if "TableName" in row else (row["PartitionKey"], row["RowKey"])
