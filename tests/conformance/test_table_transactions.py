"""Entity group transactions: limits, atomicity, and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.data.tables import RequestTooLargeError, TableTransactionError, UpdateMode

from conformance.batches import Inner, changeset, query, replies, send, transact
from conformance.deviations import (
    BATCH_ECHO,
    BATCH_EMPTY,
    BATCH_HEADERS,
    BATCH_PARTITIONS,
    BATCH_QUERY,
    BATCH_SECOND,
    BATCH_SINGLE,
    BATCH_TEXTS,
    BATCH_TOO_MANY,
    BATCH_URLS,
    CRASHES,
    TABLE_IN_URL,
    TUNNELLED_IN_BATCH,
)
from conformance.entities import STALE, if_still, stored
from conformance.raw import JSON, Raw, entity_path
from conformance.service_errors import ServiceError
from conformance.table_errors import (
    CHANGED,
    DUPLICATE_ROW,
    EXISTS,
    NO_SUCH_MEDIA_TYPE,
    NO_TABLE,
    NOT_FOUND,
    OTHER_PARTITION,
    TOO_MANY_OPERATIONS,
    VALUE_TOO_LARGE,
    value_out_of_range,
)
from tablepatterns.limits import MAX_BINARY_BYTES, MAX_TRANSACTION_OPERATIONS


def row(key: str, **properties: Any) -> dict[str, Any]:
    return {"PartitionKey": "Sales", "RowKey": key, **properties}


# ------------------------------------------------------------------ what one may hold


@pytest.mark.guide("G-069")
async def test_every_kind_of_write_goes_into_one_transaction(table: Any) -> None:
    for key in "bcdef":
        await table.create_entity(row(key, Name=key, Age=34))
    results = await table.submit_transaction(
        [
            ("create", row("a", Age=1)),
            ("update", row("b", Age=2)),
            ("update", row("c", Age=3), {"mode": UpdateMode.REPLACE}),
            ("upsert", row("d", Age=4)),
            ("upsert", row("e", Age=5), {"mode": UpdateMode.REPLACE}),
            ("delete", row("f")),
            ("upsert", row("g", Age=7)),
            ("upsert", row("h", Age=8), {"mode": UpdateMode.REPLACE}),
        ]
    )
    assert await stored(table) == [
        row("a", Age=1),
        row("b", Name="b", Age=2),
        row("c", Age=3),
        row("d", Name="d", Age=4),
        row("e", Age=5),
        row("g", Age=7),
        row("h", Age=8),
    ]
    etags = [found.metadata["etag"] async for found in table.list_entities()]
    assert [result["etag"] for result in results if result.get("etag")] == etags


@pytest.mark.guide("G-070")
async def test_entities_of_several_types_go_into_one_transaction(table: Any) -> None:
    department = row("Department", EmployeeCount=1, Budget=1e6)
    employee = row("Employee_000223", Name="Jones", Photo=b"photo")
    await table.submit_transaction([("create", department), ("create", employee)])
    assert await stored(table) == [department, employee]


@pytest.mark.guide("G-071")
async def test_each_operation_has_a_condition_of_its_own(table: Any, rejected: Any) -> None:
    etags = [(await table.create_entity(row(key, Age=34)))["etag"] for key in "ab"]
    async with rejected(CHANGED.at(1)):
        await table.submit_transaction(
            [("update", row("a", Age=35), if_still(etags[0])), ("update", row("b", Age=35), if_still(STALE))]
        )
    await table.submit_transaction(
        [("update", row("a", Age=35), if_still(etags[0])), ("delete", row("b"), if_still(etags[1]))]
    )
    assert await stored(table) == [row("a", Age=35)]


async def test_one_hundred_operations_are_accepted(table: Any) -> None:
    entities = [row(f"{number:03}") for number in range(MAX_TRANSACTION_OPERATIONS)]
    results = await table.submit_transaction([("create", entity) for entity in entities])
    assert len(results) == MAX_TRANSACTION_OPERATIONS
    assert await stored(table) == entities


async def test_keys_of_any_letters_go_into_a_transaction(table: Any) -> None:
    entities = [
        {"PartitionKey": "Ödön & Söhne's", "RowKey": key, "Name": key} for key in ("", "O'Neill", "a b", "日🛫")
    ]
    await table.submit_transaction([("create", entity) for entity in entities])
    await table.submit_transaction([("upsert", {**entity, "Age": 34}) for entity in entities])
    assert await stored(table) == [{**entity, "Age": 34} for entity in entities]


async def test_a_transaction_in_another_partition_has_the_same_row_keys(table: Any) -> None:
    for department in ("Sales", "Support"):
        await table.submit_transaction([("create", {"PartitionKey": department, "RowKey": "1"})])
    assert len(await stored(table)) == 2


@BATCH_EMPTY
async def test_a_transaction_of_nothing_does_nothing(table: Any, unchanged: Any) -> None:
    async with unchanged():
        assert await table.submit_transaction([]) == []


# ------------------------------------------------------------------ all or nothing


FAILURES = {
    "insert of an entity that exists": (("create", row("old")), EXISTS),
    "merge of a missing entity": (("update", row("new")), NOT_FOUND),
    "replace of a missing entity": (("update", row("new"), {"mode": UpdateMode.REPLACE}), NOT_FOUND),
    "delete of a missing entity": (("delete", row("new")), NOT_FOUND),
    "merge of another version": (("update", row("old", Age=35), if_still(STALE)), CHANGED),
    "delete of another version": (("delete", row("old"), if_still(STALE)), CHANGED),
    "large value": (("upsert", row("old", Photo=bytes(MAX_BINARY_BYTES + 1))), VALUE_TOO_LARGE),
}
every_failure = pytest.mark.parametrize(("operation", "error"), FAILURES.values(), ids=FAILURES)


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-068", "G-072")
@every_failure
@pytest.mark.parametrize("index", [1, 3])
async def test_where_one_operation_fails_none_is_carried_out(
    table: Any, rejected: Any, unchanged: Any, operation: Any, error: ServiceError, index: int
) -> None:
    await table.create_entity(row("old", Age=34))
    operations: list[Any] = [("create", row(f"{number}")) for number in range(4)]
    operations.insert(index, operation)
    async with rejected(error.at(index)):
        await table.submit_transaction(operations)
    async with unchanged():
        with pytest.raises(TableTransactionError) as caught:
            await table.submit_transaction(operations)
    assert caught.value.index == index


@BATCH_SINGLE
@every_failure
async def test_the_failure_of_a_single_operation_has_no_index(
    table: Any, rejected: Any, operation: Any, error: ServiceError
) -> None:
    await table.create_entity(row("old", Age=34))
    async with rejected(error):
        await table.submit_transaction([operation])


@BATCH_TEXTS
@pytest.mark.parametrize("index", [0, 2])
async def test_what_is_wrong_before_anything_is_stored_has_an_index(table: Any, rejected: Any, index: int) -> None:
    operations: list[Any] = [("create", row(f"{number}")) for number in range(index)]
    async with rejected(value_out_of_range("RowKey", "a/b").at(index)):
        await table.submit_transaction([*operations, ("create", row("a/b"))])


async def test_a_transaction_in_a_missing_table_is_rejected(service: Any, table_name: str, rejected: Any) -> None:
    table = service.get_table_client(table_name)
    async with rejected(NO_TABLE.at(0)):
        await table.submit_transaction([("create", row("1"))])


# ------------------------------------------------------------------ what one may not hold


@pytest.mark.guide("G-068")
@BATCH_TEXTS
@pytest.mark.parametrize("second", ["update", "delete", "upsert", "create"])
async def test_an_entity_appears_only_once(table: Any, rejected: Any, second: str) -> None:
    async with rejected(DUPLICATE_ROW.at(1)):
        await table.submit_transaction([("upsert", row("1", Age=1)), (second, row("1", Age=2))])


@pytest.mark.parametrize("second", ["update", "delete", "create"])
async def test_a_transaction_with_an_entity_twice_changes_nothing(table: Any, rejected: Any, second: str) -> None:
    async with rejected(ServiceError(400, "InvalidDuplicateRow")):
        await table.submit_transaction([("upsert", row("1", Age=1)), (second, row("1", Age=2))])


@BATCH_PARTITIONS
async def test_operations_of_another_partition_are_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    path = f"/{table.table_name}"
    other = {"PartitionKey": "Support", "RowKey": "2"}
    async with rejected(OTHER_PARTITION.at(1)):
        await transact(raw, Inner("POST", path, body=row("1")), Inner("POST", path, body=other))
    async with rejected(OTHER_PARTITION.at(1)):
        update = Inner("PUT", entity_path(table.table_name, "Support", "2"), body={"Age": 34})
        await transact(raw, Inner("POST", path, body=row("1")), update)


@BATCH_PARTITIONS
async def test_operations_of_another_table_are_rejected(raw: Raw, rejected: Any, new_table: Any) -> None:
    paths = [f"/{(await new_table()).table_name}" for _ in range(2)]
    async with rejected(ServiceError(400, "CommandsInBatchActOnDifferentPartitions")):
        await transact(raw, *(Inner("POST", path, body=row("1")) for path in paths))


@BATCH_TOO_MANY
async def test_one_hundred_and_one_operations_are_rejected(table: Any, rejected: Any) -> None:
    entities = [row(f"{number:03}") for number in range(MAX_TRANSACTION_OPERATIONS + 1)]
    async with rejected(TOO_MANY_OPERATIONS.at(99)):
        await table.submit_transaction([("create", entity) for entity in entities])


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_transaction_of_more_than_4_mib_is_rejected(table: Any, unchanged: Any) -> None:
    photos = {f"p{number}": bytes(60_000) for number in range(10)}
    async with unchanged():
        with pytest.raises(RequestTooLargeError) as caught:
            await table.submit_transaction([("create", row(f"{number}", **photos)) for number in range(6)])
    assert caught.value.status_code == 413
    assert caught.value.error_code == "RequestBodyTooLarge"


# ------------------------------------------------------------------ what the SDK does not send


async def test_an_operation_may_have_any_verb_that_writes(raw: Raw, table: Any) -> None:
    verbs = ["MERGE", "PATCH", "PUT"]
    inner = [Inner(verb, entity_path(table.table_name, "Sales", verb), body={"Age": 34}) for verb in verbs]
    assert [reply.status_code for reply in await transact(raw, *inner)] == [204] * len(verbs)
    assert await stored(table) == [row(verb, Age=34) for verb in verbs]


@TUNNELLED_IN_BATCH
async def test_an_operation_may_be_a_post_that_carries_another_verb(raw: Raw, table: Any) -> None:
    await table.create_entity(row("1", Name="Jones"))
    path = entity_path(table.table_name, "Sales", "1")
    await transact(raw, Inner("POST", path, {"X-HTTP-Method": "MERGE", "If-Match": "*"}, {"Age": 34}))
    assert await stored(table) == [row("1", Name="Jones", Age=34)]


@BATCH_ECHO
async def test_an_insert_in_a_batch_answers_as_it_was_asked_to(raw: Raw, table: Any) -> None:
    path = f"/{table.table_name}"
    first, second = await transact(
        raw,
        Inner("POST", path, {"Prefer": "return-content"}, row("1", Age=34)),
        Inner("POST", path, {"Prefer": "return-no-content"}, row("2", Age=34)),
    )
    made = (await raw("GET", entity_path(table.table_name, "Sales", "1"))).json
    assert (first.status_code, json.loads(first.body)) == (201, made)
    assert (second.status_code, second.body) == (204, "")
    assert [reply.headers["Preference-Applied"] for reply in (first, second)] == ["return-content", "return-no-content"]
    location = raw.base + entity_path(table.table_name, "Sales", "2")
    assert second.headers["Location"] == second.headers["DataServiceId"] == location
    assert first.headers["ETag"] == made["odata.etag"]


async def test_each_operation_is_answered_in_a_part_of_its_own(raw: Raw, table: Any) -> None:
    paths = [entity_path(table.table_name, "Sales", key) for key in "12"]
    found = await transact(raw, *(Inner("PUT", path, body={"Age": 34}) for path in paths))
    assert [reply.headers["ETag"] for reply in found] == [
        entity.metadata["etag"] async for entity in table.list_entities()
    ]
    assert {(reply.status_code, reply.reason, reply.body) for reply in found} == {(204, "No Content", "")}
    for reply in found:
        assert reply.headers["Cache-Control"] == "no-cache"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["DataServiceVersion"]


@BATCH_ECHO
async def test_a_part_repeats_the_id_in_the_headers_of_its_request(raw: Raw, table: Any) -> None:
    insert = Inner("POST", f"/{table.table_name}", {"Content-ID": "7"}, row("1"))
    for status in (201, 409):
        [reply] = replies(await send(raw, changeset(raw.base, [insert])))
        assert (reply.status_code, reply.headers["Content-ID"]) == (status, "7")


@BATCH_ECHO
async def test_an_id_in_the_headers_of_a_part_is_not_repeated(raw: Raw, table: Any) -> None:
    [reply] = await transact(raw, Inner("POST", f"/{table.table_name}", body=row("1"), note="Content-ID: 7"))
    assert reply.headers["Content-ID"] is None


@BATCH_HEADERS
async def test_a_part_has_the_version_of_the_protocol_that_its_operation_needs(raw: Raw, table: Any) -> None:
    path = f"/{table.table_name}"
    found = await transact(
        raw,
        Inner("POST", path, {"Prefer": "return-no-content"}, row("1")),
        Inner("POST", path, {"Prefer": "return-content"}, row("2")),
        Inner("PUT", entity_path(table.table_name, "Sales", "3"), body={"Age": 34}),
    )
    assert [reply.headers["DataServiceVersion"] for reply in found] == ["3.0;", "3.0;", "1.0;"]


@BATCH_HEADERS
async def test_a_rejected_insert_repeats_its_preference(raw: Raw, table: Any) -> None:
    await table.create_entity(row("1"))
    insert = Inner("POST", f"/{table.table_name}", {"Prefer": "return-no-content"}, row("1"))
    [reply] = replies(await send(raw, changeset(raw.base, [insert])))
    assert (reply.status_code, reply.headers["Preference-Applied"]) == (409, "return-no-content")


@BATCH_URLS
@pytest.mark.parametrize("url", ["/{table}", "{table}"], ids=["absolute path", "relative path"])
async def test_the_url_of_an_operation_may_be_relative(raw: Raw, table: Any, url: str) -> None:
    part = changeset("", [Inner("POST", url.format(table=table.table_name), body=row("1"))])
    assert [reply.status_code for reply in replies(await send(raw, part))] == [201]
    assert await stored(table) == [row("1")]


@BATCH_QUERY
async def test_a_batch_may_hold_one_query(raw: Raw, table: Any) -> None:
    await table.create_entity(row("1", Age=34))
    [entity] = replies(await send(raw, query(raw.base, entity_path(table.table_name, "Sales", "1"))))
    assert entity.status_code == 200
    assert json.loads(entity.body) == (await raw("GET", entity_path(table.table_name, "Sales", "1"))).json
    [page] = replies(await send(raw, query(raw.base, f"/{table.table_name}()?$filter=Age%20eq%2034&$select=Age")))
    assert [found["Age"] for found in json.loads(page.body)["value"]] == [34]


@CRASHES
async def test_a_query_among_operations_is_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    await table.create_entity(row("1"))
    async with rejected(ServiceError(400, "InvalidInput")):
        read = Inner("GET", entity_path(table.table_name, "Sales", "1"))
        await transact(raw, Inner("POST", f"/{table.table_name}", body=row("2")), read)


@BATCH_SECOND
async def test_of_two_transactions_in_a_batch_the_second_is_rejected(raw: Raw, table: Any) -> None:
    path = f"/{table.table_name}"
    parts = [changeset(raw.base, [Inner("POST", path, body=row(key))], f"changeset_{key}") for key in "12"]
    assert [reply.status_code for reply in replies(await send(raw, *parts))] == [201, 400]
    assert await stored(table) == [row("1")]


@CRASHES
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/mixed; boundary=batch_1", "--batch_1\r\nContent-Type: application/http\r\n\r\nPOST"),
        ("multipart/mixed; boundary=batch_1", "--batch_1\r\n\r\n"),
        ("multipart/mixed; boundary=batch_1", "{}"),
        ("multipart/mixed", "--batch_1--\r\n"),
        ("multipart/mixed; boundary=batch_1", ""),
    ],
    ids=["cut off", "no end", "no parts", "no boundary", "empty"],
)
async def test_a_broken_batch_is_rejected(raw: Raw, rejected: Any, content_type: str, body: str) -> None:
    async with rejected(ServiceError(400, "InvalidInput")):
        await raw("POST", "/$batch", {"Content-Type": content_type}, body)


@CRASHES
async def test_a_batch_of_another_type_is_rejected(raw: Raw, rejected: Any) -> None:
    async with rejected(NO_SUCH_MEDIA_TYPE):
        await raw("POST", "/$batch", JSON, "{}")


@TABLE_IN_URL
async def test_a_batch_sent_to_a_table_is_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    headers = {"Content-Type": "multipart/mixed; boundary=batch_1"}
    async with rejected(NO_SUCH_MEDIA_TYPE):
        await raw("POST", f"/{table.table_name}/$batch", headers, "--batch_1--\r\n")


async def test_the_sdk_distinguishes_a_rejected_transaction_from_other_errors(table: Any, unchanged: Any) -> None:
    async with unchanged():
        with pytest.raises(TableTransactionError) as caught:
            await table.submit_transaction([("create", row("1")), ("update", row("2"))])
    assert isinstance(caught.value, HttpResponseError)
    assert (caught.value.status_code, caught.value.error_code) == (404, "ResourceNotFound")
