"""Comparable responses to operations on queues, without values that must differ between two accounts."""

from __future__ import annotations

from typing import Any, Final
from xml.etree.ElementTree import Element

from conformance.raw import Answer
from differential.account import Heard
from differential.answers import Compared, Rejected, document, members, rejected
from differential.counterparts import Counterparts, Own
from differential.queues.operations import ListQueues, Operation, Update
from differential.raw_responses import about_from_now, headers_of, page_of, rows_apart, seconds_between

_RECEIPT: Final = "x-ms-popreceipt"
_NEXT_VISIBLE: Final = "x-ms-time-next-visible"


def normal(operation: Operation, heard: Heard, base: str) -> Compared:
    """Return what was heard as what can be compared."""
    if isinstance(operation, ListQueues) and heard.error is None:
        return rows_apart([page_of(document(answer.text), base, "Queues") for answer in heard.answers], members)
    return {"answers": [_answer(answer) for answer in heard.answers]}


def note_messages(counterparts: Counterparts, operation: Operation, engine: Compared, azurite: Compared) -> None:
    """Note over which messages there is power now: the ids and the receipts."""
    if isinstance(operation, ListQueues):
        return
    held = counterparts.noted(operation.queue, operation.held.age) if isinstance(operation, Update) else None
    # The answer to an update does not say of which message it is
    named = held or ("", "")
    for ours, theirs in zip(_held(engine, named[0]), _held(azurite, named[1]), strict=True):
        counterparts.note(operation.queue, ours, theirs)


def _held(compared: Compared, named: str) -> list[str]:
    [answer] = compared["answers"]
    if isinstance(answer, Rejected):
        return []
    if receipt := answer["headers"].get(_RECEIPT):
        return [f"{named.partition(' ')[0]} {receipt.text}"]
    return [each["PopReceipt"].text for each in answer.get("messages", []) if "PopReceipt" in each]


def _answer(answer: Answer) -> Any:
    if answer.status >= 400:
        return rejected(answer)
    headers = headers_of(answer)
    if _RECEIPT in headers:
        headers[_RECEIPT] = Own("new receipt", headers[_RECEIPT])
        headers[_NEXT_VISIBLE] = about_from_now(answer, headers[_NEXT_VISIBLE])
    # It says where the body ends; an answer without one may say so or not
    headers.pop("content-length", None)
    found: dict[str, Any] = {"status": answer.status, "headers": headers}
    if answer.text:
        whole = document(answer.text)
        if whole.tag == "QueueMessagesList":
            return {**found, "messages": [_message(answer, each) for each in whole]}
        found["body"] = members(whole)
    return found


def _message(answer: Answer, element: Element) -> dict[str, Any]:
    """Return a message with spans of time for moments: the two accounts were not asked at the same one."""
    found = members(element)
    inserted, expires = found.pop("InsertionTime"), found.pop("ExpirationTime")
    found["lives"] = "for ever" if " 9999 " in expires else seconds_between(inserted, expires)
    if "TimeNextVisible" in found:
        found["TimeNextVisible"] = about_from_now(answer, found["TimeNextVisible"])
        # Azurite returns one receipt for all messages of a response
        found["PopReceipt"] = Own("receipt", f"{found['MessageId']} {found['PopReceipt']}")
    found["MessageId"] = Own("message", found["MessageId"])
    return found
