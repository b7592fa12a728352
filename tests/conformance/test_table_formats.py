"""Formats of responses: levels of metadata, headers, and bodies of errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.data.tables import EdmType, EntityProperty

from conformance.deviations import ACCEPT, ENTITY_SET_URL, ERROR_STAMP, HEADERS, MEMBER_ORDER, XML_ERRORS
from conformance.entities import KEYS, path_of
from conformance.raw import Raw
from conformance.service_errors import ServiceError

JONES = {**KEYS, "Big": EntityProperty(5, EdmType.INT64), "Age": 34}
NAMESPACE = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
STAMP = r"\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z"
LEVELS = ["nometadata", "minimalmetadata", "fullmetadata"]


def accept(level: str) -> dict[str, str]:
    return {"Accept": f"application/json;odata={level}"}


def row(raw: Raw, table: Any, level: str, etag: str, timestamp: str) -> dict[str, Any]:
    """Return the members of the entity in their order, as a level of metadata has them."""
    path = path_of(table)
    plain = {**KEYS, "Timestamp": timestamp, "Big": "5", "Age": 34}
    minimal = {"odata.etag": etag, **KEYS, "Timestamp": timestamp, "Big@odata.type": "Edm.Int64", "Big": "5", "Age": 34}
    links = {
        "odata.type": f"{raw.account}.{table.table_name}",
        "odata.id": raw.base + path,
        "odata.etag": etag,
        "odata.editLink": path[1:],
    }
    noted = {**KEYS, "Timestamp@odata.type": "Edm.DateTime", "Timestamp": timestamp}
    full = {**links, **noted, "Big@odata.type": "Edm.Int64", "Big": "5", "Age": 34}
    return {"nometadata": plain, "minimalmetadata": minimal, "fullmetadata": full}[level]


async def stamps(table: Any) -> tuple[str, str]:
    metadata = (await table.get_entity("Sales", "000223")).metadata
    return metadata["etag"], metadata["timestamp"].tables_service_value


# ------------------------------------------------------------------ levels of metadata


@pytest.mark.parametrize("level", LEVELS)
async def test_an_entity_carries_as_much_metadata_as_was_asked_for(raw: Raw, table: Any, level: str) -> None:
    await table.create_entity(JONES)
    found = (await raw("GET", path_of(table), accept(level))).json
    url = {"odata.metadata": f"{raw.base}/$metadata#{table.table_name}/@Element"}
    assert found == {**({} if level == "nometadata" else url), **row(raw, table, level, *await stamps(table))}


@pytest.mark.parametrize("level", LEVELS)
async def test_an_inserted_entity_is_echoed_in_the_same_form(raw: Raw, table: Any, level: str) -> None:
    body = {**KEYS, "Big@odata.type": "Edm.Int64", "Big": "5", "Age": 34}
    made = await raw("POST", f"/{table.table_name}", accept(level), body)
    assert made.json == (await raw("GET", path_of(table), accept(level))).json


@pytest.mark.parametrize("level", LEVELS)
async def test_each_entity_of_a_page_carries_it_too(raw: Raw, table: Any, level: str) -> None:
    await table.create_entity(JONES)
    found = (await raw("GET", f"/{table.table_name}()", accept(level))).json
    assert found["value"] == [row(raw, table, level, *await stamps(table))]
    assert ("odata.metadata" in found) == (level != "nometadata")


@ENTITY_SET_URL
@pytest.mark.parametrize("path", ["", "()"])
async def test_a_page_names_the_set_that_it_is_from(raw: Raw, table: Any, path: str) -> None:
    found = (await raw("GET", f"/{table.table_name}{path}")).json
    assert found == {"odata.metadata": f"{raw.base}/$metadata#{table.table_name}", "value": []}


@MEMBER_ORDER
@pytest.mark.parametrize("level", LEVELS)
async def test_the_members_come_in_the_order_of_the_service(raw: Raw, table: Any, level: str) -> None:
    await table.create_entity(JONES)
    [found] = (await raw("GET", f"/{table.table_name}()", accept(level))).json["value"]
    assert list(found) == list(row(raw, table, level, *await stamps(table)))


UNSORTED = {"zulu": 1, "_id": 2, "alpha": 3, "Zulu": 4}
SORTED = ["Zulu", "_id", "alpha", "zulu"]


@MEMBER_ORDER
@pytest.mark.parametrize("verb", ["PUT", "MERGE", "PATCH"])
@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
async def test_only_an_insert_keeps_the_order_of_the_properties(raw: Raw, table: Any, verb: str, exists: bool) -> None:
    if exists:
        await raw("POST", f"/{table.table_name}", body={**KEYS, **UNSORTED})
        found = (await raw("GET", path_of(table), accept("nometadata"))).json
        assert list(found) == [*KEYS, "Timestamp", *UNSORTED]
    await raw(verb, path_of(table), body=UNSORTED)
    for path in (path_of(table), f"/{table.table_name}()?$filter=alpha%20eq%203"):
        found = (await raw("GET", path, accept("nometadata"))).json
        assert list(found.get("value", [found])[0]) == [*KEYS, "Timestamp", *SORTED]


@MEMBER_ORDER
async def test_selected_properties_come_in_ordinal_order(raw: Raw, table: Any) -> None:
    await raw("POST", f"/{table.table_name}", body={**KEYS, **UNSORTED})
    for path in (path_of(table), f"/{table.table_name}()"):
        found = (await raw("GET", f"{path}?$select=zulu,missing,RowKey,Zulu,Timestamp", accept("nometadata"))).json
        assert list(found.get("value", [found])[0]) == ["RowKey", "Timestamp", "Zulu", "missing", "zulu"]


@pytest.mark.parametrize("level", LEVELS)
async def test_a_double_without_a_fraction_is_written_with_a_point(raw: Raw, table: Any, level: str) -> None:
    await table.create_entity({**KEYS, "Ratio": 4.0})
    assert '"Ratio":4.0' in (await raw("GET", path_of(table), accept(level))).text


@pytest.mark.parametrize("level", LEVELS)
async def test_a_table_and_the_list_of_tables_carry_it_too(raw: Raw, new_name: Callable[..., str], level: str) -> None:
    name = new_name()
    links = {
        "odata.type": f"{raw.account}.Tables",
        "odata.id": f"{raw.base}/Tables('{name}')",
        "odata.editLink": f"Tables('{name}')",
    }
    entry = {**(links if level == "fullmetadata" else {}), "TableName": name}
    metadata = {} if level == "nometadata" else {"odata.metadata": f"{raw.base}/$metadata#Tables"}
    element = {} if level == "nometadata" else {"odata.metadata": f"{raw.base}/$metadata#Tables/@Element"}
    made = await raw("POST", "/Tables", accept(level), {"TableName": name})
    assert made.json == {**element, **entry}
    found = await raw("GET", f"/Tables?$filter=TableName%20eq%20'{name}'", accept(level))
    assert found.json == {**metadata, "value": [entry]}


# ------------------------------------------------------------------ which format


async def test_the_format_option_is_stronger_than_the_header(raw: Raw, table: Any) -> None:
    await table.create_entity(KEYS)
    path = f"{path_of(table)}?$format=application/json;odata=nometadata"
    assert "odata.etag" not in (await raw("GET", path, accept("fullmetadata"))).json


async def test_json_without_a_level_has_minimal_metadata(raw: Raw, table: Any) -> None:
    await table.create_entity(KEYS)
    plain = await raw("GET", path_of(table), {"Accept": "application/json"})
    assert plain.json == (await raw("GET", path_of(table), accept("minimalmetadata"))).json


@ACCEPT
async def test_a_client_that_accepts_anything_gets_minimal_metadata(raw: Raw, table: Any) -> None:
    await table.create_entity(KEYS)
    plain = await raw("GET", path_of(table), {"Accept": "*/*"})
    assert plain.json == (await raw("GET", path_of(table), accept("minimalmetadata"))).json


async def test_atom_is_rejected(raw: Raw, rejected: Any, table: Any) -> None:
    await table.create_entity(KEYS)
    async with rejected(ServiceError(415, "AtomFormatNotSupported", "Atom format is not supported.")):
        await raw("GET", path_of(table), {"Accept": "application/atom+xml"})


# ------------------------------------------------------------------ headers


async def test_an_answer_names_its_format(raw: Raw, table: Any) -> None:
    await table.create_entity(KEYS)
    for level in LEVELS:
        found = await raw("GET", path_of(table), accept(level))
        assert found.headers["Content-Type"].startswith(f"application/json;odata={level}")


async def test_an_answer_has_an_id_and_a_date(raw: Raw, table: Any) -> None:
    answers = [await raw("GET", f"/{table.table_name}()") for _ in range(2)]
    ids = {answer.headers["x-ms-request-id"] for answer in answers}
    assert len(ids) == 2
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found) for found in ids)
    assert all(parsedate_to_datetime(answer.headers["Date"]) for answer in answers)


async def test_an_answer_repeats_the_client_s_own_id(raw: Raw, table: Any) -> None:
    found = await raw("GET", f"/{table.table_name}()", {"x-ms-client-request-id": "mine"})
    assert found.headers["x-ms-client-request-id"] == "mine"


@HEADERS
@pytest.mark.parametrize("level", ["nometadata", "minimalmetadata"])
async def test_an_error_has_the_metadata_level_that_was_asked_for(raw: Raw, table: Any, level: str) -> None:
    with pytest.raises(HttpResponseError) as caught:
        await raw("GET", path_of(table), accept(level))
    assert (
        caught.value.response.headers["Content-Type"] == f"application/json;odata={level};streaming=true;charset=utf-8"
    )


@HEADERS
async def test_an_answer_says_how_it_may_be_used(raw: Raw, table: Any) -> None:
    for level in LEVELS:
        found = await raw("GET", f"/{table.table_name}()", accept(level))
        assert found.headers["Content-Type"] == f"application/json;odata={level};streaming=true;charset=utf-8"
        assert found.headers["Cache-Control"] == "no-cache"
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Server"].startswith("Windows-Azure-Table/1.0 ")


@HEADERS
@pytest.mark.parametrize("version", ["2019-02-02", "2020-12-06"])
async def test_an_answer_has_the_version_of_the_request(raw: Raw, table: Any, version: str) -> None:
    found = await raw("GET", f"/{table.table_name}()", {"x-ms-version": version})
    assert found.headers["x-ms-version"] == version


# ------------------------------------------------------------------ errors


async def service_error_of(call: Any) -> Any:
    with pytest.raises(HttpResponseError) as caught:
        await call
    return caught.value.response


@ERROR_STAMP
async def test_an_error_in_json_has_a_code_a_text_and_the_id_of_the_request(raw: Raw, table: Any) -> None:
    rejected = await service_error_of(raw("GET", path_of(table)))
    error = rejected.json()["odata.error"]
    assert set(rejected.json()) == {"odata.error"}
    assert error["code"] == "ResourceNotFound"
    assert error["message"]["lang"] == "en-US"
    assert re.fullmatch(r"The specified resource does not exist\." + STAMP, error["message"]["value"])
    assert rejected.headers["x-ms-request-id"] in error["message"]["value"]
    assert rejected.headers["Content-Type"] == "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
    assert "x-ms-error-code" not in rejected.headers


@XML_ERRORS
@pytest.mark.parametrize("headers", [{"Accept": "*/*"}, {"Accept": None}], ids=["anything", "nothing"])
async def test_an_error_is_xml_where_json_was_not_asked_for(
    raw: Raw, table: Any, headers: dict[str, str | None]
) -> None:
    rejected = await service_error_of(raw("GET", path_of(table), headers))
    assert rejected.headers["Content-Type"] == "application/xml;charset=utf-8"
    assert re.fullmatch(
        rf'<\?xml version="1.0" encoding="utf-8"\?><error xmlns="{NAMESPACE}"><code>ResourceNotFound</code>'
        rf'<message xml:lang="en-US">The specified resource does not exist\.{STAMP}</message></error>',
        rejected.text(),
    )


@XML_ERRORS
async def test_an_error_of_the_service_s_own_resources_is_another_xml(raw: Raw, new_name: Callable[..., str]) -> None:
    rejected = await service_error_of(raw("GET", f"/{new_name()}?comp=acl", {"Accept": "application/xml"}))
    assert rejected.headers["Content-Type"] == "application/xml"
    assert rejected.headers["x-ms-error-code"] == "TableNotFound"
    assert rejected.reason == "The table specified does not exist."
    assert re.fullmatch(
        rf'<\?xml version="1.0" encoding="utf-8"\?><m:error xmlns:m="{NAMESPACE}"><m:code>TableNotFound</m:code>'
        rf'<m:message xml:lang="en-US">The table specified does not exist\.{STAMP}</m:message></m:error>',
        rejected.text(),
    )
