"""Pages: their sizes, and continuation tokens."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from conformance.deviations import NO_ENTITIES, PAGE_SIZES, TOKENS
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.table_errors import INVALID_INPUT
from support.backends import Backend, awaited
from tablepatterns.limits import MAX_PAGE_ENTITIES, MAX_TRANSACTION_OPERATIONS
from tablepatterns_engine.account import Engine

NEXT = ("x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey")


async def fill(table: Any, partition_key: str, count: int) -> list[tuple[str, str]]:
    """Insert so many entities, and return their keys."""
    keys = [(partition_key, f"{number:04}") for number in range(count)]
    for start in range(0, count, MAX_TRANSACTION_OPERATIONS):
        part = keys[start : start + MAX_TRANSACTION_OPERATIONS]
        await table.submit_transaction([("create", {"PartitionKey": key, "RowKey": row}) for key, row in part])
    return keys


async def pages_of(pages: Any) -> list[list[tuple[str, str]]]:
    return [[(found["PartitionKey"], found["RowKey"]) async for found in page] async for page in pages]


@pytest.fixture
def five(backend: Backend, table: Any) -> list[tuple[str, str]]:
    """The keys of five entities in two partitions, two and three."""

    async def load() -> list[tuple[str, str]]:
        return await fill(table, "A", 2) + await fill(table, "B", 3)

    return backend.run(load())


# ------------------------------------------------------------------ size


@pytest.mark.guide("G-296", "G-297", "G-301")
async def test_a_page_has_at_most_1000_entities(table: Any) -> None:
    keys = await fill(table, "p", MAX_PAGE_ENTITIES + 1)
    pages = await pages_of(table.list_entities().by_page())
    assert [len(page) for page in pages] == [MAX_PAGE_ENTITIES, 1]
    assert list(chain.from_iterable(pages)) == keys
    assert [len(page) for page in await pages_of(table.list_entities(results_per_page=999).by_page())] == [999, 2]
    fewer = table.query_entities("RowKey ge '0001'").by_page()
    assert [len(page) for page in await pages_of(fewer)] == [MAX_PAGE_ENTITIES]


@pytest.mark.guide("G-095", "G-304")
async def test_a_page_can_be_made_smaller(table: Any) -> None:
    keys = await fill(table, "p", 120)
    pages = await pages_of(table.list_entities(results_per_page=50).by_page())
    assert [len(page) for page in pages] == [50, 50, 20]
    assert list(chain.from_iterable(pages)) == keys


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(("size", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (4, [4, 1]), (6, [5])])
async def test_pages_cover_all_entities_once(table: Any, five: Any, size: int, sizes: list[int]) -> None:
    pages = await pages_of(table.list_entities(results_per_page=size).by_page())
    assert [len(page) for page in pages] == sizes
    assert list(chain.from_iterable(pages)) == five


async def test_a_last_page_that_is_exactly_full_has_no_token(table: Any, five: Any) -> None:
    assert await pages_of(table.list_entities(results_per_page=5).by_page()) == [five]


@pytest.mark.guide("G-296", "G-299")
async def test_iteration_follows_the_tokens_from_partition_to_partition(table: Any, five: Any) -> None:
    found = table.list_entities(results_per_page=2)
    assert [(entity["PartitionKey"], entity["RowKey"]) async for entity in found] == five


async def test_a_page_holds_what_the_filter_finds(table: Any, five: Any) -> None:
    pages = table.query_entities("RowKey ne '0000'", results_per_page=2).by_page()
    assert await pages_of(pages) == [[("A", "0001"), ("B", "0001")], [("B", "0002")]]


async def test_nothing_found_is_one_empty_page(table: Any, five: Any) -> None:
    assert await pages_of(table.query_entities("PartitionKey eq 'C'").by_page()) == [[]]


# ------------------------------------------------------------------ tokens


@pytest.mark.guide("G-301")
async def test_a_token_leads_to_the_next_page_from_anywhere(backend: Backend, table: Any, five: Any) -> None:
    pages = table.list_entities(results_per_page=2).by_page()
    await anext(pages)
    other_client = awaited(backend.connect().tables).get_table_client(table.table_name)
    resumed = other_client.list_entities(results_per_page=2).by_page(pages.continuation_token)
    assert await pages_of(resumed) == [five[2:4], five[4:]]
    assert await pages_of(resumed) == []


async def test_a_token_can_be_used_twice(table: Any, five: Any) -> None:
    pages = table.list_entities(results_per_page=3).by_page()
    await anext(pages)
    token = pages.continuation_token
    for _ in range(2):
        assert await pages_of(table.list_entities(results_per_page=3).by_page(token)) == [five[3:]]


async def test_a_token_survives_changes_before_it_and_at_it(table: Any, five: Any) -> None:
    pages = table.list_entities(results_per_page=3).by_page()
    await anext(pages)
    await table.delete_entity("A", "0000")
    await table.delete_entity("B", "0001")
    await table.create_entity({"PartitionKey": "A", "RowKey": "0009"})
    assert await pages_of(table.list_entities().by_page(pages.continuation_token)) == [[("B", "0002")]]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("key", ["O'Neill & Sons", "50% +1", "日本 🛫", "a b"])
async def test_any_key_fits_a_token(table: Any, key: str) -> None:
    await check_tokens(table, [(key, "!"), (key, key + "~"), (key + "~", key)])


@TOKENS
async def test_the_empty_key_fits_a_token(table: Any) -> None:
    await check_tokens(table, [("", ""), ("", "~"), ("~", "")])


async def check_tokens(table: Any, keys: list[tuple[str, str]]) -> None:
    """Assert that entities with these keys are found one by one."""
    for partition_key, row_key in keys:
        await table.create_entity({"PartitionKey": partition_key, "RowKey": row_key})
    assert list(chain.from_iterable(await pages_of(table.list_entities(results_per_page=1).by_page()))) == keys


async def test_a_page_says_in_headers_where_the_next_begins(raw: Raw, table: Any, five: Any) -> None:
    path = f"/{table.table_name}()?$top=2"
    first = await raw("GET", path)
    assert [row["RowKey"] for row in first.json["value"]] == ["0000", "0001"]
    partition, row = (first.headers[name] for name in NEXT)
    second = await raw("GET", f"{path}&NextPartitionKey={partition}&NextRowKey={row}")
    third_keys = [second.headers[name] for name in NEXT]
    third = await raw("GET", f"{path}&NextPartitionKey={third_keys[0]}&NextRowKey={third_keys[1]}")
    assert [row["RowKey"] for row in third.json["value"]] == ["0002"]
    assert not any(name in third.headers for name in NEXT)


@TOKENS
async def test_a_token_is_the_key_of_the_next_entity_in_disguise(raw: Raw, table: Any) -> None:
    for partition_key in ("a", "pk801016e8"):
        await table.create_entity({"PartitionKey": partition_key, "RowKey": "rk"})
    first = await raw("GET", f"/{table.table_name}()?$top=1")
    assert [first.headers[name] for name in NEXT] == ["1!16!cGs4MDEwMTZlOA--", "1!4!cms-"]


@TOKENS
@pytest.mark.parametrize("token", ["NextPartitionKey=1!4!cms-&NextRowKey=", "NextRowKey=1!4!cms-"])
async def test_half_a_token_is_rejected(raw: Raw, rejected: Any, table: Any, five: Any, token: str) -> None:
    async with rejected(INVALID_INPUT):
        await raw("GET", f"/{table.table_name}()?{token}")


@TOKENS
async def test_a_token_without_a_row_begins_with_the_partition(raw: Raw, table: Any, five: Any) -> None:
    page = await raw("GET", f"/{table.table_name}()?NextPartitionKey=1!4!Qg--")
    assert [(row["PartitionKey"], row["RowKey"]) for row in page.json["value"]] == five[2:]


@TOKENS
@pytest.mark.parametrize("token", ["garbage", "1!9!cms-", "1!4!c ms"], ids=["no token", "wrong length", "no Base64"])
async def test_what_is_no_token_is_rejected(raw: Raw, rejected: Any, table: Any, token: str) -> None:
    token = token.replace(" ", "%20")
    async with rejected(ServiceError(400, "InvalidInput")):
        await raw("GET", f"/{table.table_name}()?NextPartitionKey={token}&NextRowKey={token}")


# ------------------------------------------------------------------ $top


@NO_ENTITIES
async def test_a_page_of_nothing_is_a_page_without_a_token(raw: Raw, table: Any, five: Any) -> None:
    page = await raw("GET", f"/{table.table_name}()?$top=0")
    assert page.json["value"] == []
    assert not any(name in page.headers for name in NEXT)


@PAGE_SIZES
@pytest.mark.parametrize("top", ["-1", "1001", "abc", "1.5", ""])
async def test_a_page_has_a_size_of_0_to_1000(raw: Raw, rejected: Any, table: Any, top: str) -> None:
    async with rejected(ServiceError(400, "InvalidInput")):
        await raw("GET", f"/{table.table_name}()?$top={top}")


# ------------------------------------------------------------------ pages that end early


@pytest.mark.guide("G-298", "G-300")
@pytest.mark.parametrize("examined", [1, 2, 3, 7])
async def test_short_and_empty_pages_do_not_end_the_iteration(
    backend: Backend, engine: Engine, table_name: str, examined: int
) -> None:
    tired = Engine(page_examines=examined)
    table = await awaited(backend.connect(tired).tables).create_table(table_name)
    await fill(table, "A", 4)
    keys = await fill(table, "B", 3)
    found = table.query_entities("PartitionKey eq 'B' or RowKey eq '9999'")
    pages = await pages_of(found.by_page())
    assert list(chain.from_iterable(pages)) == keys
    assert all(len(page) <= examined for page in pages)
    assert [(entity["PartitionKey"], entity["RowKey"]) async for entity in found] == keys


@pytest.mark.guide("G-302")
async def test_the_next_page_is_asked_for_only_when_it_is_wanted(engine: Engine, table: Any, five: Any) -> None:
    with engine.ledger.span() as span:
        found = table.list_entities(results_per_page=2)
        assert span.totals.billable == 0
        for asked in (1, 1, 2, 2, 3):
            await anext(found)
            assert span.totals.billable == asked
