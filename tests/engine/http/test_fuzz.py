"""Every request gets a response: none makes the transport raise, or breaks the state."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from azure.core.rest import HttpRequest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.soundness import check_tables
from support.table_requests import lite_signature
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport

DATE = "Fri, 22 Aug 2014 00:00:00 GMT"
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
HOSTS = [
    "https://contoso.table.core.windows.net/",
    "http://127.0.0.1:10002/contoso/",
    "https://contoso-secondary.table.core.windows.net/",
]
TYPES = ["Edm.String", "Edm.Boolean", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.DateTime", "Edm.Guid", "Edm.Binary"]
VALUES = [
    "1e400",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "NaN",
    "9223372036854775808",
    "AP8=",
    "true",
]

# ------------------------------------------------------------------ where it goes

KEY = st.one_of(st.sampled_from(["a", "b", "'"]), ANY_TEXT).map(
    lambda key: quote(key.replace("'", "''"), safe="", errors="surrogatepass")
)
RESOURCE = st.one_of(
    st.sampled_from(["", "Tables", "Tables('Employees')", "Employees", "Employees()", "$batch", "Employees/Tables"]),
    st.builds("Employees(PartitionKey='{}',RowKey='{}')".format, KEY, KEY),
)
OPTION_NAMES = [
    "$filter",
    "$select",
    "$top",
    "$format",
    "$orderby",
    "comp",
    "restype",
    "NextPartitionKey",
    "NextRowKey",
    "sig",
    "sv",
    "tn",
]
OPTION_VALUES = [
    "5",
    "acl",
    "service",
    "properties",
    "a eq 1",
    "not (PartitionKey gt 'a') or a lt 5L",
    "not " * 50 + "true",
    "application/json;odata=fullmetadata",
    "1!4!YQ--",
    "1!4!YQ==",
]
OPTIONS = st.lists(
    st.builds("{}={}".format, st.sampled_from(OPTION_NAMES), st.one_of(st.sampled_from(OPTION_VALUES), ANY_TEXT)),
    max_size=3,
)
URL = st.one_of(
    st.builds(
        lambda host, path, options: f"{host}{path}?{'&'.join(options)}", st.sampled_from(HOSTS), RESOURCE, OPTIONS
    ),
    st.builds("{}{}".format, st.sampled_from([*HOSTS, ""]), ANY_TEXT),
)

# ------------------------------------------------------------------ what it carries

ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT, st.sampled_from(VALUES)),
    lambda children: st.one_of(st.lists(children, max_size=3), st.dictionaries(ANY_TEXT, children, max_size=3)),
    max_leaves=5,
)
ENTITY = st.fixed_dictionaries(
    {},
    optional={
        "PartitionKey": st.one_of(st.just("a"), ANY_JSON),
        "RowKey": st.one_of(st.sampled_from("ab"), ANY_JSON),
        "TableName": st.one_of(st.just("Employees"), ANY_JSON),
        "X": st.one_of(st.sampled_from(VALUES), ANY_JSON),
        "X@odata.type": st.one_of(st.sampled_from(TYPES), ANY_JSON),
        "é": ANY_JSON,
    },
)
LINES = [
    "--b",
    "--b--",
    "--c",
    "--c--",
    "",
    "Content-Type: multipart/mixed; boundary=c",
    "Content-Type: application/http",
    "POST /Employees HTTP/1.1",
    "GET Employees() HTTP/1.1",
    "DELETE https://contoso.table.core.windows.net/Employees(PartitionKey='a',RowKey='b') HTTP/1.1",
    "If-Match: *",
    '{"PartitionKey":"a","RowKey":"b"}',
]
XML = [
    "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>x</Start></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
    "<StorageServiceProperties><Cors><CorsRule><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>",
    '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    '<?xml version="1.0" encoding="utf-16"?><a/>',
]


def a_batch(operations: list[tuple[str, str, Any]]) -> str:
    head = "--c\r\nContent-Type: application/http\r\n\r\n"
    parts = "".join(
        f"{head}{method} {url} HTTP/1.1\r\nIf-Match: *\r\n\r\n{json.dumps(body)}\r\n"
        for method, url, body in operations
    )
    return f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n"


METHOD = st.one_of(st.sampled_from(["GET", "POST", "PUT", "MERGE", "PATCH", "DELETE"]), ANY_TEXT)
BODY = st.one_of(
    st.binary(max_size=50),
    ENTITY.map(json.dumps),
    ANY_JSON.map(json.dumps),
    st.sampled_from(XML),
    st.lists(st.sampled_from(LINES), max_size=25).map("\r\n".join),
    st.lists(st.tuples(METHOD, URL, ENTITY), max_size=3).map(a_batch),
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "Accept",
            "Content-Type",
            "If-Match",
            "If-None-Match",
            "Prefer",
            "X-HTTP-Method",
            "x-ms-version",
            "Authorization",
        ]
    ),
    st.one_of(
        ANY_TEXT,
        st.sampled_from(
            [
                "*",
                "application/json",
                "multipart/mixed; boundary=b",
                "return-no-content",
                "MERGE",
                'W/"x"',
                "SharedKey contoso:é",
            ]
        ),
    ),
    max_size=4,
)


@examples(400)
@given(METHOD, URL, HEADERS, BODY, st.booleans())
def test_no_request_makes_the_transport_raise_or_breaks_the_state(
    method: str, url: str, headers: dict[str, str], body: str | bytes, signed: bool
) -> None:
    engine = Engine("contoso")
    engine.tables.create("Employees")
    if signed:
        headers = {**headers, "x-ms-date": DATE, "Authorization": lite_signature(engine, url, DATE)}
    content = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    response = EngineTransport(engine).send(HttpRequest(method, url, headers=headers, content=content))
    assert response.status_code in {200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 412, 415, 501}
    assert response.status_code < 400 or response.headers["x-ms-request-id"].encode() in response.content
    assert engine.ledger.records[-1].status == response.status_code
    check_tables(engine.tables)


@given(st.lists(st.tuples(METHOD, RESOURCE, ENTITY), max_size=4))
def test_no_operation_in_a_batch_makes_the_transport_raise(operations: list[tuple[str, str, Any]]) -> None:
    engine = Engine("contoso")
    engine.tables.create("Employees")
    url = f"{HOSTS[0]}$batch"
    headers = {
        "Content-Type": "multipart/mixed; boundary=b",
        "x-ms-date": DATE,
        "Authorization": lite_signature(engine, url, DATE),
    }
    content = a_batch(operations).encode("utf-8", "surrogatepass")
    response = EngineTransport(engine).send(HttpRequest("POST", url, headers=headers, content=content))
    assert response.status_code in {202, 400}
    check_tables(engine.tables)
