"""Conditions on the version of a blob. Reads combine them, writes hardly do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from support.blob_states import HOME, put
from support.table_states import Rejected, service_error_of
from tablepatterns.edm import Ticks
from tablepatterns_engine.blobs.conditions import ANY, Terms
from tablepatterns_engine.blobs.leases import Acquire
from tablepatterns_engine.blobs.service import Blobs, CopySource
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.errors import NOT_MODIFIED

OLD, NEW = (Ticks.of(datetime(year, 1, 1, tzinfo=timezone.utc)) for year in (2001, 2100))
OTHER = {'"0x1"'}
UNMET, READ_UNMET = "ConditionNotMet", "not modified"


def holding(blobs: Blobs) -> set[str]:
    return {blobs.get(HOME, "don.jpg").etag}


@pytest.fixture(autouse=True)
def blob(blobs: Blobs) -> None:
    put(blobs, "don.jpg", "...")


# ------------------------------------------------------------------ reads


def read_outcome(blobs: Blobs, terms: Terms) -> str:
    error = service_error_of(lambda: blobs.get(HOME, "don.jpg", terms))
    if error is None:
        return "ok"
    return READ_UNMET if error.error_message is NOT_MODIFIED else error.code


# match, none match, modified since, unmodified since: each met, unmet or not there
@pytest.mark.parametrize(
    ("match", "none_match", "modified", "unmodified", "outcome"),
    [
        (None, None, None, None, "ok"),
        (True, None, True, None, "ok"),
        (False, None, True, None, UNMET),
        (False, None, False, None, UNMET),
        (True, None, False, None, READ_UNMET),
        (None, False, True, None, "ok"),
        (None, True, True, None, "ok"),
        (None, True, False, None, "ok"),
        (None, False, False, None, READ_UNMET),
        (None, False, None, None, READ_UNMET),
        (None, None, False, None, READ_UNMET),
        (None, None, None, False, UNMET),
        (True, None, True, False, UNMET),
        (True, None, False, False, UNMET),
        (True, None, False, True, READ_UNMET),
        (True, True, True, True, "ok"),
        (True, False, True, False, UNMET),
        (True, False, True, True, "ok"),
        (False, True, False, True, UNMET),
        (True, True, False, True, "ok"),
        (True, False, False, False, UNMET),
    ],
)
def test_a_read_combines_conditions_as_the_service_documents(
    blobs: Blobs,
    match: bool | None,
    none_match: bool | None,
    modified: bool | None,
    unmodified: bool | None,
    outcome: str,
) -> None:
    here = holding(blobs)
    terms = Terms(
        match=None if match is None else here if match else OTHER,
        none_match=None if none_match is None else OTHER if none_match else here,
        modified_since=None if modified is None else OLD if modified else NEW,
        unmodified_since=None if unmodified is None else NEW if unmodified else OLD,
    )
    assert read_outcome(blobs, terms) == outcome


def test_a_read_may_name_several_versions(blobs: Blobs) -> None:
    here = holding(blobs)
    assert read_outcome(blobs, Terms(match=here | OTHER)) == "ok"
    assert read_outcome(blobs, Terms(match={ANY})) == "ok"
    assert read_outcome(blobs, Terms(none_match=here | OTHER)) == READ_UNMET


def test_a_read_with_if_none_match_of_anything_is_rejected(blobs: Blobs, rejected: Rejected) -> None:
    with rejected("UnsatisfiableCondition"):
        blobs.get(HOME, "don.jpg", Terms(none_match={ANY}))


def test_a_read_of_a_missing_blob_is_rejected_for_that_whatever_its_conditions(
    blobs: Blobs, rejected: Rejected
) -> None:
    for terms in (Terms(match=OTHER), Terms(match={ANY}), Terms(unmodified_since=OLD), Terms(none_match=OTHER)):
        with rejected("BlobNotFound"):
            blobs.get(HOME, "missing.jpg", terms)


# ------------------------------------------------------------------ writes

WRITES: dict[str, Callable[..., Any]] = {
    "put": lambda blobs, name, terms: put(blobs, name, "new", terms=terms),
    "commit": lambda blobs, name, terms: blobs.commit(HOME, name, [], terms=terms),
    "set metadata": lambda blobs, name, terms: blobs.set_metadata(HOME, name, {}, terms),
    "snapshot": lambda blobs, name, terms: blobs.snapshot(HOME, name, terms=terms),
    "lease": lambda blobs, name, terms: blobs.lease(HOME, name, Acquire(15), terms),
    "delete": lambda blobs, name, terms: blobs.delete(HOME, name, terms),
}
CREATES = ("put", "commit")
every_write = pytest.mark.parametrize("write", WRITES)


@every_write
@pytest.mark.parametrize("terms", [Terms(match=OTHER), Terms(match={ANY}), Terms(modified_since=OLD)], ids=str)
def test_what_must_be_there_is_rejected_where_it_is_not(
    blobs: Blobs, rejected: Rejected, write: str, terms: Terms
) -> None:
    with rejected(UNMET if write in CREATES else "BlobNotFound"):
        WRITES[write](blobs, "missing.jpg", terms)


@every_write
@pytest.mark.parametrize("terms", [Terms(none_match={ANY}), Terms(unmodified_since=OLD)], ids=str)
def test_other_conditions_are_met_by_nothing(blobs: Blobs, write: str, terms: Terms) -> None:
    error = service_error_of(lambda: WRITES[write](blobs, "missing.jpg", terms))
    assert (error and error.code) == (None if write in CREATES else "BlobNotFound")


@every_write
@pytest.mark.parametrize(
    ("terms", "code"),
    [
        # Sets have no order, and every process must call the test the same
        pytest.param(Terms(match={'"0x1"', '"0x2"'}), "InvalidHeaderValue", id="two ETags"),
        (Terms(match=OTHER, none_match=OTHER), "MultipleConditionHeadersNotSupported"),
        (Terms(match=OTHER, modified_since=OLD), "MultipleConditionHeadersNotSupported"),
        (Terms(unmodified_since=NEW, modified_since=OLD), "MultipleConditionHeadersNotSupported"),
        (Terms(none_match={ANY}, unmodified_since=NEW), "MultipleConditionHeadersNotSupported"),
    ],
    ids=str,
)
def test_a_write_does_not_combine_conditions(
    blobs: Blobs, rejected: Rejected, write: str, terms: Terms, code: str
) -> None:
    with rejected(code):
        WRITES[write](blobs, "don.jpg", terms)


def test_a_copy_says_whose_condition_is_not_met(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "copy.jpg", "old")
    with rejected("SourceConditionNotMet"):
        blobs.copy(HOME, "copy.jpg", CopySource(HOME, "don.jpg", terms=Terms(match=OTHER)))
    with rejected("TargetConditionNotMet"):
        blobs.copy(HOME, "copy.jpg", CopySource(HOME, "don.jpg"), terms=Terms(match=OTHER))
    with rejected("BlobAlreadyExists"):
        blobs.copy(HOME, "copy.jpg", CopySource(HOME, "don.jpg"), terms=Terms(none_match={ANY}))


def test_who_may_only_create_replaces_nothing(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "new.jpg", "...", terms=Terms(create_only=True))
    with rejected("UnauthorizedBlobOverwrite"):
        put(blobs, "new.jpg", "other", terms=Terms(create_only=True))


def test_times_are_compared_in_whole_seconds(blobs: Blobs, clock: Clock) -> None:
    clock.advance(0.7)
    made = put(blobs, "don.jpg", "later")
    assert made.modified % 10_000_000
    same_second = Ticks(made.modified // 10_000_000 * 10_000_000)
    assert read_outcome(blobs, Terms(unmodified_since=same_second)) == "ok"
    assert read_outcome(blobs, Terms(modified_since=same_second)) == READ_UNMET
