"""The codec of writes: the bytes are the SDK's, and a response is read as the SDK reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from azure.data.tables import EdmType, EntityProperty, TableClient, TableTransactionError
from hypothesis import example, given
from hypothesis import strategies as st

from support.recorded_requests import Recorder, client, comparable, sender
from tablepatterns.edm import Int64, Ticks
from tablepatterns.entity import WriteIds, check_key
from tablepatterns.errors import BadKey
from tablepatterns.recipe import finish
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.operation import ANY, Operation, sdk_operation
from tablepatterns.sdk.request_sender import replaying
from tablepatterns.sdk.writes import (
    NotEncodable,
    entities_json,
    entity_json,
    etags_of,
    prepared_single,
    prepared_transaction,
    submit,
)

FIRST = datetime(1601, 1, 1, tzinfo=timezone.utc)
ZONES = [timezone.utc, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))]


def is_key(text: str) -> bool:
    try:
        check_key("RowKey", text)
    except BadKey:
        return False
    return True


keys = st.text(st.characters(codec="utf-8"), max_size=20).filter(is_key) | st.sampled_from(["", "it's", "50 % é漢😀"])
names = st.from_regex(r"[A-Za-z_Äé][A-Za-z0-9_]{0,9}", fullmatch=True).filter(
    lambda name: name not in ("PartitionKey", "RowKey", "Timestamp", "WriteId")
)
moments = st.datetimes(datetime(1601, 1, 2), datetime(9999, 12, 30), timezones=st.sampled_from(ZONES))
ticks = st.integers(Ticks.of(FIRST), Ticks.MAX).map(Ticks)
doubles = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1.0, 5e-324])
kinds_of_values = (
    st.text(),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.booleans(),
    doubles,
    st.binary(max_size=40),
    st.uuids(),
    moments,
    ticks,
    st.none(),
    st.integers(2**31, 2**63 - 1),
    moments.map(lambda moment: EntityProperty(moment, EdmType.DATETIME)),
)
properties = st.dictionaries(names, st.one_of(kinds_of_values), max_size=8)
shapes = st.dictionaries(names, st.sampled_from(kinds_of_values), max_size=8).map(st.fixed_dictionaries)
kinds = st.sampled_from(["insert", "replace", "merge", "insert_or_replace", "insert_or_merge", "delete"])
etags = st.sampled_from([ANY, "W/\"datetime'2020-07-24T14%3A34%3A27.8639974Z'\""])
WRITE_IDS = st.lists(st.binary(min_size=16, max_size=16), max_size=4).map(tuple)


@st.composite
def transactions(draw: st.DrawFn) -> tuple[list[Operation], list[WriteIds]]:
    """Operations on different rows of one partition, and the ids that each leaves in its row."""
    partition_key = draw(keys)
    # Rows of one shape are encoded together
    rows = st.one_of(draw(st.lists(shapes, min_size=1, max_size=2)))
    operations: list[Operation] = []
    for row_key in draw(st.lists(keys, min_size=2, max_size=6, unique=True)):
        entity = {"PartitionKey": partition_key, "RowKey": row_key, **draw(rows)}
        kind = draw(kinds)
        if kind == "delete":
            operations.append(Operation.delete(partition_key, row_key, draw(etags)))
        elif kind in ("replace", "merge"):
            operations.append(getattr(Operation, kind)(entity, draw(etags)))
        elif kind == "insert":
            # An entity that moves within its partition brings the ETag of its old row, which must not be sent
            operations.append(replace(Operation.insert(entity), etag=draw(st.none() | etags)))
        else:
            operations.append(getattr(Operation, kind)(entity))
    return operations, [draw(WRITE_IDS) for _ in operations]


def requests_for(operations: Sequence[Operation], ids: Sequence[WriteIds]) -> tuple[Any, Any]:
    """Return the request that the SDK sends, and that of the codec."""
    transport = Recorder()
    transport.operations = len(operations)
    client(transport).submit_transaction([sdk_operation(*pair) for pair in zip(operations, ids, strict=True)])
    assert finish(submit(client(transport), sender(transport), operations, ids)) == ["W/1"] * len(operations)
    theirs, ours = transport.sent
    return theirs, ours


@given(transactions())
def test_the_request_of_one_operation_is_the_sdks_byte_for_byte(drawn: tuple[list[Operation], list[WriteIds]]) -> None:
    for operation, write_ids in zip(*drawn, strict=True):
        transport = replaying(TableClient, SimpleResponse(None, 204, "No Content", {}, b""))
        word, entity, options = sdk_operation(operation, write_ids)
        getattr(client(transport), f"{word}_entity")(entity, **options)
        assert finish(submit(client(transport), sender(transport), [operation], [write_ids])) == [None]
        theirs, ours = transport.sent
        assert comparable(ours) == comparable(theirs)
        assert ours.headers["Authorization"].startswith("SharedKey devstoreaccount1:")


@given(transactions())
def test_the_request_of_a_transaction_is_the_sdks_byte_for_byte(drawn: tuple[list[Operation], list[WriteIds]]) -> None:
    theirs, ours = requests_for(*drawn)
    assert comparable(ours) == comparable(theirs)
    assert ours.headers["Content-Length"] == str(len(ours.content))
    assert ours.headers["Authorization"].startswith("SharedKey devstoreaccount1:")


@given(properties)
@example({"Text": "\ud800 and \x00", "Percent": "%s"})
def test_an_entity_is_written_the_same_each_time(drawn: dict[str, Any]) -> None:
    sent = Operation.insert({"PartitionKey": "p", "RowKey": "r", **drawn}).entity
    assert entities_json([sent]) == entities_json([sent]) == [entity_json(sent)]


@pytest.mark.parametrize("year", [1, 87, 999])
def test_a_year_before_1000_has_four_digits(year: int) -> None:
    # The SDK writes as many as strftime does, which is fewer on Linux, and the service does not take them
    (text,) = entities_json([{"At": datetime(year, 2, 3, tzinfo=timezone.utc)}])
    assert text == f'{{"At": "{year:04d}-02-03T00:00:00.000000Z", "At@odata.type": "Edm.DateTime"}}'


@pytest.mark.parametrize("value", [None, 2**31, object(), EntityProperty("5", EdmType.INT64), (1, "Edm.Int32")])
def test_what_is_not_known_is_left_to_the_sdk(value: Any) -> None:
    with pytest.raises(ValueError, match=r"NoneType|32 bits|object|EntityProperty|tuple"):
        entities_json([{"Value": value}])


@pytest.mark.parametrize("etag", ["", "W/1\r\nX-Injected: 1", "é"])
def test_an_etag_that_is_not_a_header_is_left_to_the_sdk(etag: str) -> None:
    operations = [Operation.delete("p", "a", etag), Operation.delete("p", "b", ANY)]
    with pytest.raises(NotEncodable):
        prepared_transaction(sender(Recorder()), "Employees", operations, [(), ()])
    with pytest.raises(NotEncodable):
        prepared_single(sender(Recorder()), "Employees", operations[:1], [()])


# ------------------------------------------------------------------ responses

FAILED = (
    b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n"
    b"HTTP/1.1 409 Conflict\r\nX-Content-Type-Options: nosniff\r\nContent-Type: application/json;odata=minimal\r\n\r\n"
    b"%s\r\n--c--\r\n--b--\r\n"
)
CONFLICT = b'{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"1:It exists.\\nTime:5"}}}'
MADE = b'--c\r\n\r\nHTTP/1.1 201 Created\r\netag: W/1\r\n\r\n{"A":"\\r\\nHTTP/1.1 404 \\r\\nETag: 5"}\r\n'


def test_the_values_of_an_entity_are_not_taken_for_headers() -> None:
    assert etags_of(MADE + MADE + b"--c--\r\n--b--\r\n", 2) == ["W/1", "W/1"]


def test_a_deletion_has_no_etag() -> None:
    deleted = b"--c\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n\r\n"
    assert etags_of(deleted + MADE + b"--c--\r\n--b--\r\n", 2) == [None, "W/1"]


def test_a_failed_part_is_read() -> None:
    found = etags_of(FAILED % CONFLICT, 2)
    assert isinstance(found, TableTransactionError)
    response: Any = found.response
    assert (response.status_code, response.reason, found.error_code) == (409, "Conflict", "EntityAlreadyExists")
    assert (found.message, response.content) == ("1:It exists.\nTime:5\nErrorCode:EntityAlreadyExists", CONFLICT)
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        MADE,
        MADE + b"--c--\r\n--b--\r\n",
        MADE + MADE,
        MADE + MADE + MADE + b"--c--\r\n--b--\r\n",
        FAILED % b"<error/>",
        FAILED % b"[]",
        FAILED % CONFLICT.replace(b'"code"', b'"kode"'),
        FAILED % CONFLICT.replace(b'"lang"', b'"lang":{},"value":5,"l"').replace(b'"value":"', b'"v":"'),
        FAILED % CONFLICT[:-1] + b',"inner":1}',
        (FAILED % CONFLICT).replace(b"json", b"xml"),
        (FAILED % CONFLICT).replace(b"409", b"413"),
    ],
)
def test_a_response_that_is_not_known_is_left_to_the_sdk(content: bytes) -> None:
    assert etags_of(content, 2) is None


def test_ids_are_written_like_any_binary_property() -> None:
    ids: WriteIds = (uuid4().bytes, bytes(16))
    operations = [Operation.insert({"PartitionKey": "p", "RowKey": key}) for key in "ab"]
    theirs, ours = requests_for(operations, [ids, ()])
    assert comparable(ours) == comparable(theirs)
