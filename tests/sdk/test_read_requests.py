"""The requests of reads are those of the SDK, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from azure.data.tables import TableClient
from azure.data.tables.aio import TableClient as AioTableClient
from hypothesis import example, given
from hypothesis import strategies as st

from filters.strategies import any_filters
from sdk.test_reads import exact
from sdk.test_write_body import keys, names
from support.recorded_requests import CREDENTIAL, SERVICE, comparable
from support.sdk_outcomes import ended
from tablepatterns.recipe import finish
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.page_token import PageQuery, Position
from tablepatterns.sdk.reads import query_page, read_entity
from tablepatterns.sdk.request_sender import RequestSender, replaying

ROW: Final = {"PartitionKey": "p", "RowKey": "r", "Name": "Jones"}
SERVICES: Final = st.sampled_from(
    [SERVICE, "http://127.0.0.1:10002/devstoreaccount1", "https://a.table.cosmos.azure.com:443", "http://localhost:1/a"]
)
TABLES: Final = st.from_regex(r"[A-Za-z][A-Za-z0-9]{2,62}", fullmatch=True)
SELECTS: Final = st.none() | st.lists(names | st.sampled_from(["PartitionKey", "RowKey", "Timestamp"]), max_size=4)
KINDS: Final = st.sampled_from([TableClient, AioTableClient])
texts = st.sampled_from([None, ""]) | st.text(st.characters(codec="utf-8"), max_size=20)
positions = st.none() | st.builds(Position, texts, texts)


def both(kind: Any, service: str, table: str, answer: SimpleResponse, read: Callable[[Any, Any], Any]) -> list[Any]:
    """Return the result of a read and its request, by the SDK and by the library."""
    found = []
    for is_ours in (False, True):
        transport = replaying(kind, answer)
        options: Any = {"credential": CREDENTIAL, "transport": transport}
        sender = RequestSender(kind, service, options) if is_ours else None
        result = finish(read(kind(service, table, **options), sender))
        (sent,) = transport.sent
        assert sent.headers["Authorization"].startswith("SharedKey devstoreaccount1:")
        found.append((result, comparable(sent), [name for name in sent.headers if name.startswith(("x-ms-v", "Acc"))]))
    return found


def answer(content: Any, **headers: str) -> SimpleResponse:
    return SimpleResponse(
        None, 200, "OK", {"Content-Type": "application/json", **headers}, json.dumps(content).encode()
    )


@given(KINDS, SERVICES, TABLES, keys, keys, SELECTS)
def test_the_request_for_an_entity_is_the_sdks_byte_for_byte(
    kind: Any, service: str, table: str, partition_key: str, row_key: str, select: Sequence[str] | None
) -> None:
    def read(client: Any, sender: Any) -> Any:
        return read_entity(client, sender, partition_key, row_key, select=select)

    theirs, ours = both(kind, service, table, answer(ROW), read)
    assert ours == theirs
    assert exact(ours[0]) == exact(theirs[0])


@example(TableClient, SERVICE, "Employees", None, 5, Position(None, "r"), None, None)
@given(KINDS, SERVICES, TABLES, st.none() | any_filters, st.integers(1, 1000), positions, SELECTS, positions)
def test_the_request_for_a_page_is_the_sdks_byte_for_byte(
    kind: Any, service: str, table: str, where: Any, size: int, start: Any, select: Any, following: Position | None
) -> None:
    query = PageQuery(where, size, start, select)
    parts = (("Partition", following.partition_key), ("Row", following.row_key)) if following else ()
    token = {f"x-ms-continuation-Next{name}Key": text for name, text in parts if text is not None}

    def read(client: Any, sender: Any) -> Any:
        return query_page(client, sender, query)

    theirs, ours = both(kind, service, table, answer({"value": [ROW, ROW]}, **token), read)
    assert ours == theirs
    assert [exact(each) for each in ours[0].entities] == [exact(each) for each in theirs[0].entities]
    is_last = following is None or not (following.partition_key or following.row_key)
    assert ours[0].next == (None if is_last else following)


@pytest.mark.parametrize("kind", [TableClient, AioTableClient])
def test_half_a_surrogate_pair_is_the_same_error(kind: Any) -> None:
    def errors(read: Callable[[Any, Any], Any]) -> list[Any]:
        options: Any = {"credential": CREDENTIAL, "transport": replaying(kind)}
        client = kind(SERVICE, "Employees", **options)
        return [
            ended(lambda each=each: finish(read(client, each)))
            for each in (RequestSender(kind, SERVICE, options), None)
        ]

    for read in (
        lambda client, sender: read_entity(client, sender, "p", "\ud800"),
        lambda client, sender: query_page(client, sender, PageQuery(None, 5, None, ["\ud800"])),
    ):
        ours, theirs = errors(read)
        assert ours == theirs
        assert ours[0] is UnicodeEncodeError
