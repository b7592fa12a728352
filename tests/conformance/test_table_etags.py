"""ETags: every version has one, and writes can be conditional on it."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError
from azure.data.tables import UpdateMode

from conformance.deviations import ETAGS
from conformance.entities import JONES, KEYS, STALE, if_still, path_of, stored
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.table_errors import CHANGED, NOT_FOUND

WRITES = {
    "merge": lambda table, **condition: table.update_entity({**KEYS, "Age": 35}, **condition),
    "replace": lambda table, **condition: table.update_entity({**KEYS, "Age": 35}, UpdateMode.REPLACE, **condition),
    "delete": lambda table, **condition: table.delete_entity(KEYS, **condition),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
verbs = pytest.mark.parametrize("verb", ["PUT", "MERGE", "PATCH", "DELETE"])


@pytest.mark.guide("G-045")
async def test_every_way_to_read_an_entity_gives_the_etag_of_its_version(raw: Raw, table: Any) -> None:
    etag = (await table.create_entity(JONES))["etag"]
    read = await raw("GET", path_of(table))
    assert read.headers["ETag"] == read.json["odata.etag"] == etag
    assert (await table.get_entity("Sales", "000223")).metadata["etag"] == etag
    assert [found.metadata["etag"] async for found in table.list_entities()] == [etag]


async def test_the_etag_is_the_timestamp_of_the_version(raw: Raw, table: Any) -> None:
    await table.create_entity(JONES)
    read = (await raw("GET", path_of(table))).json
    moment = read["Timestamp"].replace(":", "%3A")
    assert read["odata.etag"] == f"W/\"datetime'{moment}'\""


# ------------------------------------------------------------------ If-Match


@pytest.mark.guide("G-317")
@every_write
async def test_a_write_of_a_version_that_is_no_more_is_rejected(
    table: Any, rejected: Any, unchanged: Any, write: Any
) -> None:
    etag = (await table.create_entity(JONES))["etag"]
    await table.update_entity({**KEYS, "Name": "Smith"})
    async with rejected(CHANGED):
        await write(table, **if_still(etag))
    async with unchanged():
        with pytest.raises(ResourceModifiedError):
            await write(table, **if_still(etag))


@pytest.mark.parametrize(
    ("write", "left"),
    [
        (WRITES["merge"], [{**JONES, "Age": 35}]),
        (WRITES["replace"], [{**KEYS, "Age": 35}]),
        (WRITES["delete"], []),
    ],
    ids=WRITES,
)
async def test_a_write_of_the_version_as_it_is_succeeds(table: Any, write: Any, left: list[Any]) -> None:
    etag = (await table.create_entity(JONES))["etag"]
    await write(table, **if_still(etag))
    assert await stored(table) == left


@every_write
async def test_a_write_of_any_version_overwrites_a_change(table: Any, write: Any) -> None:
    await table.create_entity(JONES)
    await table.update_entity({**KEYS, "Name": "Smith"})
    await write(table, match_condition=MatchConditions.Unconditionally)
    assert JONES not in await stored(table)


@every_write
async def test_the_etag_of_a_written_version_is_the_condition_of_the_next(
    table: Any, rejected: Any, write: Any
) -> None:
    first = (await table.create_entity(JONES))["etag"]
    second = (await table.update_entity({**KEYS, "Age": 36}, **if_still(first)))["etag"]
    async with rejected(CHANGED):
        await write(table, **if_still(first))
    await write(table, **if_still(second))


async def test_a_version_is_no_more_once_the_entity_was_made_again(table: Any, rejected: Any) -> None:
    etag = (await table.create_entity(JONES))["etag"]
    await table.delete_entity(KEYS)
    await table.create_entity(JONES)
    for write in WRITES.values():
        async with rejected(CHANGED):
            await write(table, **if_still(etag))


@verbs
@pytest.mark.parametrize("etag", ["*", STALE], ids=["any", "one"])
async def test_a_missing_entity_has_no_version(raw: Raw, rejected: Any, table: Any, verb: str, etag: str) -> None:
    async with rejected(NOT_FOUND):
        await raw(verb, path_of(table), {"If-Match": etag}, {"Age": 35})


@ETAGS
@verbs
@pytest.mark.parametrize(
    "etag",
    ["5", '"5"', "W/5", 'W/"a", W/"b"', "datetime'2001-01-01T00%3A00%3A00Z'"],
    ids=["number", "strong", "no quotes", "two", "no prefix"],
)
async def test_what_is_no_etag_is_rejected(raw: Raw, rejected: Any, table: Any, verb: str, etag: str) -> None:
    await table.create_entity(JONES)
    text = (
        f"The etag value '{etag}' specified in one of the request headers is not valid. "
        "Please make sure only one etag value is specified and is valid."
    )
    async with rejected(ServiceError(400, "InvalidInput", text)):
        await raw(verb, path_of(table), {"If-Match": etag}, {"Age": 35})


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
async def test_what_is_no_etag_is_an_invalid_input(raw: Raw, rejected: Any, table: Any, verb: str) -> None:
    await table.create_entity(JONES)
    async with rejected(ServiceError(400, "InvalidInput")):
        await raw(verb, path_of(table), {"If-Match": "5"}, {"Age": 35})


# ------------------------------------------------------------------ If-None-Match


@ETAGS
@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
async def test_if_none_match_is_rejected(raw: Raw, rejected: Any, table: Any, verb: str) -> None:
    await table.create_entity(JONES)
    text = f"If-None-Match HTTP header cannot be specified for {verb} operations."
    async with rejected(ServiceError(400, "InvalidInput", text)):
        await raw(verb, path_of(table), {"If-None-Match": "*", "If-Match": "*"}, {"Age": 35})
