"""Exclusions from the comparison of queues, where Azurite differs from the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from differential.answers import Rejected
from differential.differences import MISSING
from differential.exclusions import Case, Exclusions
from differential.queues.operations import (
    CreateQueue,
    Delete,
    Get,
    ListQueues,
    Operation,
    Peek,
    Put,
    SetMetadata,
    Update,
)
from differential.raw_responses import is_about_text
from tablepatterns.limits import DEFAULT_TIME_TO_LIVE, MAX_PAGE_QUEUES

Queues: TypeAlias = Mapping[str, Any]
"""All queues of the account by name."""

EXCLUSIONS: Final = Exclusions()


# ------------------------------------------------------------------ withheld


@EXCLUSIONS.withhold("stores metadata with any name", rejected=True)
def names_of_metadata(operation: Operation, before: Queues) -> bool:
    names = operation.metadata if isinstance(operation, (CreateQueue, SetMetadata)) else ()
    return any(not name.isidentifier() for name, _ in names)


@EXCLUSIONS.withhold("starts a later page of the list by creation order, and not by name", rejected=False)
def queue_out_of_order(operation: Operation, before: Queues) -> bool:
    is_new = isinstance(operation, CreateQueue) and operation.queue not in before
    return is_new and any(name > operation.queue for name in before)


@EXCLUSIONS.withhold(
    "accepts a visibility timeout until the expiry of a message with the default time to live", rejected=True
)
def hidden_until_its_end(operation: Operation, before: Queues) -> bool:
    default = DEFAULT_TIME_TO_LIVE.total_seconds()
    return isinstance(operation, Put) and operation.time_to_live is None and operation.visibility == default


# ------------------------------------------------------------------ headers and lists


@EXCLUSIONS.excuse("returns no Cache-Control")
def cache_control(case: Case) -> bool:
    return case.member == "cache-control" and case.azurite is MISSING


@EXCLUSIONS.excuse("returns the size of a list although none was sent")
def size_of_a_list(case: Case) -> bool:
    asked = case.operation.limit if isinstance(case.operation, ListQueues) else None
    return asked is None and case.member == "MaxResults" and case.engine is MISSING


@EXCLUSIONS.excuse("reads metadata named _ as the text of their element, or omits them")
def metadata_without_letters(case: Case) -> bool:
    return is_about_text(case)


@EXCLUSIONS.excuse("accepts any page size for queues")
def large_page(case: Case) -> bool:
    if not isinstance(case.operation, ListQueues) or (case.operation.limit or 0) <= MAX_PAGE_QUEUES or case.path:
        return False
    rejected = case.engine.get("answers") == [Rejected(400, "OutOfRangeQueryParameterValue")]
    return rejected and "rows" in case.azurite


# ------------------------------------------------------------------ errors


@EXCLUSIONS.excuse("rejects a number of zero messages or queues, or a time to live below -1, without a code")
def code_of_a_number(case: Case) -> bool:
    operation = case.operation
    limit = operation.limit if isinstance(operation, (Get, Peek, ListQueues)) else None
    lives = operation.time_to_live if isinstance(operation, Put) else None
    is_low = (limit is not None and limit < 1) or (lives is not None and lives < -1)
    return is_low and case.rejected_alike and case.azurite.code is None


@EXCLUSIONS.excuse("treats a malformed pop receipt as one that does not match, and checks it last")
def malformed_receipt(case: Case) -> bool:
    malformed = isinstance(case.operation, (Update, Delete)) and case.operation.held.receipt == "invalid"
    return malformed and case.both_reject and case.engine.code == "InvalidQueryParameterValue"


@EXCLUSIONS.excuse("rejects a text that is too large before it checks numbers")
def order_of_checks(case: Case) -> bool:
    return case.both_reject and case.engine.status == 400 and case.azurite.code == "RequestBodyTooLarge"


@EXCLUSIONS.excuse("rejects an invalid queue name before it checks anything else")
def name_of_a_queue(case: Case) -> bool:
    return case.both_reject and case.azurite.status == 400 and case.azurite.code == "InvalidResourceName"
