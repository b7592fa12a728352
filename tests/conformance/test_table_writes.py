"""Inserts, updates, merges, upserts and deletes: preconditions, results and responses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.data.tables import UpdateMode

from conformance.deviations import HEADERS, TUNNELLED_PUT
from conformance.entities import JONES, KEYS, path_of, stored
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.table_errors import EXISTS, NOT_FOUND

modes = pytest.mark.parametrize("mode", UpdateMode)


# ------------------------------------------------------------------ what a write needs to find


@pytest.mark.guide("G-308")
async def test_an_entity_is_inserted_read_updated_and_deleted(table: Any) -> None:
    await table.create_entity(JONES)
    assert await table.get_entity("Sales", "000223") == JONES
    await table.update_entity({**JONES, "Age": 35})
    assert await stored(table) == [{**JONES, "Age": 35}]
    await table.delete_entity("Sales", "000223")
    assert await stored(table) == []


@pytest.mark.guide("G-040")
async def test_inserting_an_entity_that_exists_is_rejected(table: Any, rejected: Any, unchanged: Any) -> None:
    await table.create_entity(JONES)
    async with rejected(EXISTS):
        await table.create_entity({**KEYS, "Name": "Smith"})
    async with unchanged():
        with pytest.raises(ResourceExistsError):
            await table.create_entity(JONES)


@pytest.mark.guide("G-311", "G-312")
@modes
async def test_updating_an_entity_that_does_not_exist_is_rejected(
    table: Any, rejected: Any, unchanged: Any, mode: UpdateMode
) -> None:
    async with rejected(NOT_FOUND):
        await table.update_entity(JONES, mode=mode)
    async with unchanged():
        with pytest.raises(ResourceNotFoundError):
            await table.update_entity(JONES, mode=mode)


async def test_deleting_an_entity_that_does_not_exist_is_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    async with rejected(NOT_FOUND):
        await raw("DELETE", path_of(table), {"If-Match": "*"})


async def test_the_sdk_deletes_an_entity_that_does_not_exist_without_an_error(table: Any, unchanged: Any) -> None:
    async with unchanged():
        await table.delete_entity(KEYS)


async def test_a_delete_must_say_which_version_it_means(raw: Raw, rejected: Any, table: Any) -> None:
    await table.create_entity(JONES)
    async with rejected(ServiceError(400)):
        await raw("DELETE", path_of(table))


@pytest.mark.guide("G-313", "G-314")
@modes
async def test_an_upsert_creates_an_entity_that_does_not_exist(table: Any, mode: UpdateMode) -> None:
    await table.upsert_entity(JONES, mode=mode)
    assert await stored(table) == [JONES]


# ------------------------------------------------------------------ what it leaves


@pytest.mark.guide("G-309", "G-313")
@pytest.mark.parametrize("method", ["update_entity", "upsert_entity"])
async def test_a_replace_removes_the_properties_that_it_does_not_name(table: Any, method: str) -> None:
    await table.create_entity(JONES)
    await getattr(table, method)({**KEYS, "Email": "jonesj@contoso.com"}, mode=UpdateMode.REPLACE)
    assert await stored(table) == [{**KEYS, "Email": "jonesj@contoso.com"}]


@pytest.mark.guide("G-310", "G-314")
@pytest.mark.parametrize("method", ["update_entity", "upsert_entity"])
async def test_a_merge_keeps_the_properties_that_it_does_not_name(table: Any, method: str) -> None:
    await table.create_entity(JONES)
    await getattr(table, method)({**KEYS, "Age": 35, "Email": "jonesj@contoso.com"}, mode=UpdateMode.MERGE)
    assert await stored(table) == [{**JONES, "Age": 35, "Email": "jonesj@contoso.com"}]


async def test_a_delete_leaves_the_other_entities(table: Any) -> None:
    others = [{"PartitionKey": "Sales", "RowKey": "000222"}, {"PartitionKey": "Support", "RowKey": "000223"}]
    for entity in (JONES, *others):
        await table.create_entity(entity)
    await table.delete_entity(KEYS)
    assert await stored(table) == others


async def test_a_deleted_entity_can_be_inserted_again(table: Any) -> None:
    await table.create_entity(JONES)
    await table.delete_entity(KEYS)
    await table.create_entity(KEYS)
    assert await stored(table) == [KEYS]


@pytest.mark.guide("G-043")
async def test_the_timestamp_is_an_aware_instant_in_utc(table: Any) -> None:
    await table.create_entity(JONES)
    timestamp = (await table.get_entity("Sales", "000223")).metadata["timestamp"]
    assert timestamp.utcoffset() == timedelta(0)


@pytest.mark.guide("G-044", "G-045")
async def test_every_write_makes_a_new_version(table: Any) -> None:
    async def version() -> tuple[str, Any]:
        metadata = (await table.get_entity("Sales", "000223")).metadata
        return metadata["etag"], metadata["timestamp"]

    results = [await table.create_entity(JONES)]
    versions = [await version()]
    for write in (table.update_entity, table.upsert_entity):
        for mode in UpdateMode:
            # The properties are the same: what counts is that something was written
            results.append(await write(JONES, mode=mode))
            versions.append(await version())
    assert [result["etag"] for result in results] == [etag for etag, _ in versions]
    assert len({etag for etag, _ in versions}) == len(versions)
    assert versions == sorted(versions, key=lambda found: found[1].tables_service_value)


# ------------------------------------------------------------------ what it answers


async def test_an_insert_answers_with_the_entity_and_its_etag(raw: Raw, table: Any) -> None:
    made = await raw("POST", f"/{table.table_name}", body=JONES)
    assert made.status == 201
    assert made.headers["ETag"] == made.json["odata.etag"]
    assert made.json.items() >= JONES.items()
    assert made.json == (await raw("GET", path_of(table))).json


@HEADERS
async def test_an_insert_says_where_the_entity_is(raw: Raw, table: Any) -> None:
    made = await raw("POST", f"/{table.table_name}", body=JONES)
    assert made.headers["Location"] == raw.base + path_of(table)
    assert "Preference-Applied" not in made.headers
    assert "DataServiceId" not in made.headers


@HEADERS
@pytest.mark.parametrize(
    ("key", "shown"), [("O'Neill", "O''Neill"), ("a b", "a%20b"), ("50%", "50%25"), ("ö", "%C3%B6")], ids=str
)
async def test_the_keys_in_that_url_are_escaped(raw: Raw, table: Any, key: str, shown: str) -> None:
    made = await raw("POST", f"/{table.table_name}", body={"PartitionKey": key, "RowKey": key})
    assert made.headers["Location"] == f"{raw.base}/{table.table_name}(PartitionKey='{shown}',RowKey='{shown}')"


@HEADERS
async def test_an_insert_without_an_echo_says_so(raw: Raw, table: Any) -> None:
    made = await raw("POST", f"/{table.table_name}", {"Prefer": "return-no-content"}, JONES)
    assert (made.status, made.text, made.headers["Content-Length"]) == (204, "", "0")
    assert "Content-Type" not in made.headers
    assert made.headers["Preference-Applied"] == "return-no-content"
    assert made.headers["Location"] == made.headers["DataServiceId"] == raw.base + path_of(table)
    assert made.headers["ETag"] == (await table.get_entity("Sales", "000223")).metadata["etag"]


@HEADERS
async def test_a_rejected_insert_repeats_its_preference(raw: Raw, table: Any) -> None:
    await table.create_entity(JONES)
    with pytest.raises(HttpResponseError) as caught:
        await raw("POST", f"/{table.table_name}", {"Prefer": "return-no-content"}, JONES)
    assert caught.value.response is not None
    assert caught.value.response.headers["Preference-Applied"] == "return-no-content"


async def test_an_insert_can_be_asked_for_its_echo(raw: Raw, table: Any) -> None:
    made = await raw("POST", f"/{table.table_name}", {"Prefer": "return-content"}, JONES)
    assert made.status == 201
    assert made.headers["Preference-Applied"] == "return-content"
    assert made.json.items() >= JONES.items()


@HEADERS
async def test_the_sdk_returns_content_only_if_it_asked_for_it(table: Any) -> None:
    assert "content" not in await table.create_entity(JONES)
    echoed = await table.create_entity({**JONES, "RowKey": "000224"}, headers={"Prefer": "return-content"})
    assert echoed["preference_applied"] == "return-content"
    assert echoed["content"]["RowKey"] == "000224"


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("PUT", {}),
        ("PUT", {"If-Match": "*"}),
        ("MERGE", {}),
        ("MERGE", {"If-Match": "*"}),
        ("PATCH", {}),
        ("PATCH", {"If-Match": "*"}),
    ],
    ids=["insert or replace", "replace", "insert or merge", "merge", "insert or patch", "patch"],
)
async def test_an_update_answers_with_the_etag_only(raw: Raw, table: Any, method: str, headers: dict[str, str]) -> None:
    await table.create_entity(JONES)
    done = await raw(method, path_of(table), headers, {"Age": 35})
    assert (done.status, done.text) == (204, "")
    assert done.headers["ETag"] == (await table.get_entity("Sales", "000223")).metadata["etag"]


async def test_a_delete_answers_without_an_etag(raw: Raw, table: Any) -> None:
    await table.create_entity(JONES)
    done = await raw("DELETE", path_of(table), {"If-Match": "*"})
    assert (done.status, done.text) == (204, "")
    assert "ETag" not in done.headers


# ------------------------------------------------------------------ verbs


@pytest.mark.parametrize(
    ("verb", "left"),
    [
        ("MERGE", [{**JONES, "Email": "jonesj@contoso.com"}]),
        ("PATCH", [{**JONES, "Email": "jonesj@contoso.com"}]),
        ("DELETE", []),
    ],
)
async def test_post_may_carry_another_verb(raw: Raw, table: Any, verb: str, left: list[Any]) -> None:
    await table.create_entity(JONES)
    headers = {"X-HTTP-Method": verb, "If-Match": "*"}
    done = await raw("POST", path_of(table), headers, {"Email": "jonesj@contoso.com"})
    assert done.status == 204
    assert await stored(table) == left


@TUNNELLED_PUT
async def test_post_may_carry_put(raw: Raw, table: Any) -> None:
    await table.create_entity(JONES)
    await raw("POST", path_of(table), {"X-HTTP-Method": "PUT", "If-Match": "*"}, {"Age": 35})
    assert await stored(table) == [{**KEYS, "Age": 35}]


async def test_merge_and_patch_are_one(raw: Raw, table: Any) -> None:
    for number, verb in enumerate(("MERGE", "PATCH")):
        await raw(verb, path_of(table), body={f"p{number}": verb})
    assert await stored(table) == [{**KEYS, "p0": "MERGE", "p1": "PATCH"}]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "MERGE"])
async def test_a_table_is_no_entity_to_be_written(raw: Raw, rejected: Any, table: Any, method: str) -> None:
    async with rejected(ServiceError()):
        await raw(method, f"/{table.table_name}", {"If-Match": "*"}, {"Age": 34})
