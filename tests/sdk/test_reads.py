"""Entities are read with the SDK's requests, and have the same types, paging, retries, hooks, spans and errors."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from azure.data.tables import TableClient
from hypothesis import given
from hypothesis import strategies as st

from sdk.test_write_body import keys, names, properties
from support.examples import examples
from support.recorded_requests import CREDENTIAL, SERVICE, Replies
from tablepatterns.entity import Entity, entity_from_sdk, reading_of, write_ids_of
from tablepatterns.filters import prop
from tablepatterns.recipe import finish
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.call import settled
from tablepatterns.sdk.operation import Operation
from tablepatterns.sdk.reads import entities_of, entity_of
from tablepatterns.sdk.table import Table

pytestmark = pytest.mark.both_sdks

ETAG = "W/\"datetime'2020-07-24T14%3A34%3A27.8639974Z'\""


def exact(entity: Entity) -> Any:
    """Return all of an entity that a caller can see, with the types of its values."""
    values = [(name, type(value), repr(value)) for name, value in entity.items()]
    return (
        values,
        entity.key,
        entity.etag,
        entity.timestamp,
        type(entity.timestamp),
        write_ids_of(entity),
        reading_of(entity),
    )


def by_sdk(body: bytes) -> list[Entity]:
    """Return what the SDK makes of a response."""
    client = TableClient(SERVICE, "Employees", credential=CREDENTIAL, transport=Replies(body, "application/json"))
    return [entity_from_sdk(each) for each in client.list_entities()]


def one_by_sdk(body: bytes) -> Entity:
    """Return what the SDK makes of a response to a point query."""
    client = TableClient(SERVICE, "Employees", credential=CREDENTIAL, transport=Replies(body, "application/json"))
    return entity_from_sdk(client.get_entity("p", "r"))


stated = st.one_of(
    st.tuples(st.just("Edm.Int64"), st.integers(-(2**63), 2**63 - 1).map(str)),
    st.tuples(st.just("Edm.Double"), st.sampled_from(["NaN", "Infinity", "-Infinity", 1, 1.5, -0.0, "1.5"])),
    st.tuples(
        st.just("Edm.DateTime"),
        st.sampled_from(
            [
                "2020-07-24T14:34:27.8639974Z",
                "2020-07-24T14:34:27.8639970Z",
                "2020-07-24T14:34:27.863Z",
                "2020-07-24T14:34:27Z",
                "1601-01-01T00:00:00Z",
                "9999-12-31T23:59:59.9999999Z",
            ]
        ),
    ),
    st.tuples(st.just("Edm.Guid"), st.uuids().map(str)),
    st.tuples(st.just("Edm.Binary"), st.sampled_from(["", "AAEC", "/+8="])),
    st.tuples(st.just("Edm.String"), st.text() | st.none()),
    st.tuples(st.just("Edm.Int32"), st.integers(-5, 5) | st.none()),
    st.tuples(st.none(), st.text() | st.integers() | st.booleans() | st.floats(allow_nan=False) | st.none()),
)
extras = st.fixed_dictionaries(
    {}, optional={"odata.etag": st.just(ETAG), "Timestamp": st.just("2020-07-24T14:34:27.8639974Z"), "RowKey": keys}
)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    row = {"PartitionKey": draw(keys), **draw(extras)}
    for name, (kind, value) in draw(st.dictionaries(names, stated, max_size=5)).items():
        tag = {f"{name}@odata.type": kind} if kind else {}
        # The type may stand before its property or behind it
        row |= {**tag, name: value} if draw(st.booleans()) else {name: value, **tag}
    return row


@examples(200)
@given(st.lists(rows(), max_size=5))
def test_a_page_is_read_as_the_sdk_reads_it(drawn: list[dict[str, Any]]) -> None:
    # Twice the same rows: the second time their layout is known
    page = {"odata.metadata": "x", "value": drawn + drawn}
    found = entities_of(page)
    if any(type(value) is int and abs(value) >= 2**63 for row in drawn for value in row.values()):
        assert found is None
        return
    assert found is not None
    assert [exact(each) for each in found] == [exact(each) for each in by_sdk(json.dumps(page).encode())]


@examples(200)
@given(rows())
def test_an_entity_is_read_as_the_sdk_reads_it(drawn: dict[str, Any]) -> None:
    row = {"odata.metadata": "x", **drawn}
    found = entity_of(row)
    if any(type(value) is int and abs(value) >= 2**63 for value in drawn.values()):
        assert found is None
        return
    assert found is not None
    assert exact(found) == exact(one_by_sdk(json.dumps(row).encode()))


@pytest.mark.parametrize(
    "row",
    [
        {"A@odata.type": "Edm.Boolean", "A": True},
        {"A@odata.type": "Edm.Other", "A": 1},
        {"A@odata.type": "Edm.Int64", "A": None},
        {"A@odata.type": "Edm.DateTime", "A": "2020-07-24"},
        {"A@odata.type": "Edm.Guid", "A": "no"},
        {"A": [1]},
        {"A": 2**64},
        "text",
    ],
)
def test_a_row_that_is_not_known_is_left_to_the_sdk(row: Any) -> None:
    assert entities_of({"value": [row]}) is None
    assert entity_of(row) is None


@pytest.mark.parametrize("page", [None, "", [], {}, "no", {"value": 1}])
def test_a_page_that_is_not_known_is_left_to_the_sdk(page: Any) -> None:
    assert entities_of(page) is None


@pytest.mark.parametrize("row", [None, "", [], "no"])
def test_what_is_not_a_row_is_left_to_the_sdk(row: Any) -> None:
    assert entity_of(row) is None


def table_over(transport: Any) -> Table:
    """Return a table whose requests the library sends over a transport."""
    options: Any = {"credential": CREDENTIAL, "transport": transport, "retry_total": 0}
    return Table(TableClient(SERVICE, "Employees", **options), None, AccountSender(TableClient, SERVICE, options))


def test_what_the_sdk_reads_is_returned() -> None:
    row = {"PartitionKey": "p", "RowKey": "r", "Nested": [1]}
    page = finish(table_over(Replies(json.dumps({"value": [row]}).encode(), "application/json", 2)).page(None, size=1))
    assert page.items == (row,)
    assert page.token is not None
    assert finish(table_over(Replies(json.dumps(row).encode(), "application/json")).get("p", "r")) == row


# ------------------------------------------------------------------ against a service

DRAWN = st.lists(properties, min_size=1, max_size=4)


@examples(20)
@given(drawn=DRAWN)
async def test_what_was_written_is_read_type_for_type(storage: Any, new_name: Callable[..., str], drawn: Any) -> None:
    table = storage.table(new_name())
    await table.submit(
        *(Operation.insert({"PartitionKey": "p", "RowKey": str(n), **each}) for n, each in enumerate([*drawn, *drawn]))
    )
    pages = [await table.page(where, size=1000) for where in (None, prop("PartitionKey") == "p")]
    one_by_one = [await table.get("p", str(n)) for n in range(2 * len(drawn))]
    client = storage.tables.get_table_client(table.name)
    by_sdk_alone = [entity_from_sdk(await settled(client.get_entity("p", str(n)))) for n in range(2 * len(drawn))]
    assert [exact(each) for each in one_by_one if each] == [exact(each) for each in by_sdk_alone]
    for page in pages:
        assert [exact(each) for each in page.items] == [exact(each) for each in one_by_one]


async def test_pages_continue_each_other(storage: Any, table_name: str) -> None:
    table = storage.table(table_name)
    await table.submit(*(Operation.insert({"PartitionKey": "p", "RowKey": f"{n}", "A": n}) for n in range(7)))
    found: list[Any] = []
    token: str | None = None
    sizes: list[int] = []
    while not sizes or token:
        page = await table.page(prop("A") >= 1, size=3, token=token, select=["A"])
        found += [dict(each) for each in page.items]
        sizes.append(len(page.items))
        token = page.token
    assert found == [{"A": n} for n in range(1, 7)]
    assert sum(sizes) == 6


def test_a_query_holds_one_page_at_a_time() -> None:
    row = json.dumps({"PartitionKey": "p", "RowKey": "r", "Text": "x" * 100}).encode()
    transport = Replies(b'{"value":[%s]}' % b",".join([row] * 1000), "application/json", pages=20)
    table = table_over(transport)
    peaks: list[int] = []

    async def read() -> int:
        count = 0
        async for _ in table.query(None):
            count += 1
            if count % 5000 == 0:
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
        return count

    finish(read())
    transport.left = 20
    peaks.clear()
    tracemalloc.start()
    try:
        assert finish(read()) == 20_000
    finally:
        tracemalloc.stop()
    assert max(peaks) < 1.2 * min(peaks)
