"""Unusual responses end as with the SDK's own calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest
from azure.data.tables import TableClient

from support.recorded_requests import CREDENTIAL, SERVICE
from support.sdk_outcomes import ODD_ERROR, OddTransport, ended
from support.sdk_requests import BY_SDK
from tablepatterns.filters import prop
from tablepatterns.recipe import finish
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.operation import ANY, Operation, sdk_operation
from tablepatterns.sdk.page_token import PageQuery
from tablepatterns.sdk.reads import query_page, read_entity
from tablepatterns.sdk.request_sender import RequestSender
from tablepatterns.sdk.table import Table
from tablepatterns.sdk.writes import submit

PART = b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n"
ODD_PART = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" + ODD_ERROR + b"\r\n--c--\r\n--b--\r\n"
MULTIPART = "multipart/mixed; boundary=b"
ERROR_XML: Final = b"<Error><Code>AuthenticationFailed</Code><Message>No.</Message></Error>"
ROW: Final = {"PartitionKey": "it's é", "RowKey": "000", "A": 1}
TWO: Final = [Operation.delete("p", key, ANY) for key in "ab"]


@pytest.mark.parametrize(
    ("status", "kind", "content"),
    [
        (202, MULTIPART, PART + ODD_PART),
        (202, MULTIPART, PART + ODD_PART.replace(b',"innererror":{}', b"")),
        (202, MULTIPART, PART + ODD_PART.replace(b"400", b"413")),
        (202, MULTIPART, PART + ODD_PART.replace(b"json", b"xml")),
        (202, MULTIPART, PART + b"--c--\r\n--b--\r\n"),
        (202, "text/plain", b"hello"),
        (413, "application/json", ODD_ERROR),
        (413, "application/xml", b""),
        (400, "application/json", ODD_ERROR),
        (400, "application/json", ODD_ERROR.replace(b',"innererror":{}', b"")),
        (400, "application/json", b""),
        (403, "application/xml", ERROR_XML),
        (404, "application/json", b"{}"),
        (409, "text/html", b"<html>message</html>"),
        (204, "text/plain", b""),
        (200, MULTIPART, PART),
    ],
)
def test_an_odd_response_to_a_transaction_ends_the_same(status: int, kind: str, content: bytes) -> None:
    options = {"credential": CREDENTIAL, "transport": OddTransport(status, kind, content), "retry_total": 0}
    calls = [sdk_operation(each, ()) for each in TWO]
    client, sender = TableClient(SERVICE, "Employees", **options), RequestSender(TableClient, SERVICE, options)
    ours = ended(lambda: finish(submit(client, sender, TWO, [(), ()])))
    theirs = ended(lambda: client.submit_transaction(calls))
    assert ours == theirs


MISSING: Final = b'{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"It."}}}'
STALE: Final = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""
WRITES: Final = {
    "insert": Operation.insert(ROW),
    "replace": Operation.replace(ROW, ANY),
    "merge, changed": Operation.merge(ROW, STALE),
    "insert or merge": Operation.insert_or_merge(ROW),
    "delete": Operation.delete("it's é", "000", ANY),
}
READS: Final = {
    "get": partial(read_entity, partition_key="p", row_key="r"),
    "list": partial(query_page, query=PageQuery(None, 5)),
    "page": partial(query_page, query=PageQuery(prop("PartitionKey") == "it's é", 5)),
}
STATUSES: Final = (200, 201, 204, 304, 400, 401, 404, 409, 412, 413, 500)


@pytest.mark.parametrize("case", [*WRITES, *READS])
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("application/json", ODD_ERROR),
        ("application/json", ODD_ERROR.replace(b"InvalidInput", b"ResourceNotFound")),
        ("application/json", MISSING),
        ("application/json", MISSING.replace(b"Resource", b"Table")),
        ("application/json", MISSING.replace(b"Resource", b"Entity")),
        ("application/json", MISSING.replace(b"Resource", b"Queue")),
        ("application/json", MISSING.replace(b'"It."', b"1")),
        ("application/xml", MISSING),
        ("application/json", b"{"),
        ("application/json", b"[]"),
        ("application/json", b"{}"),
        ("application/json", b""),
        ("application/json", b'{"value":[{"PartitionKey":"p","RowKey":"r","A":[1]}]}'),
        ("application/json", b'{"value":[{"PartitionKey":"p","RowKey":"r","A@odata.type":"Edm.New","A":"1"}]}'),
        ("application/json", b'{"value":{}}'),
        ("application/xml", ERROR_XML),
        ("application/xml", b"<"),
        ("text/html", b"<html>message</html>"),
        ("multipart/mixed", b"x"),
    ],
)
@pytest.mark.few(76)
def test_an_odd_response_ends_as_through_the_sdks_own_call(case: str, kind: str, content: bytes) -> None:
    transport = OddTransport(0, kind, content)
    options: Any = {"credential": CREDENTIAL, "transport": transport, "retry_total": 0}
    client, sender = TableClient(SERVICE, "Employees", **options), RequestSender(TableClient, SERVICE, options)
    account = AccountSender(TableClient, SERVICE, options)
    calls: list[Callable[[], Any]]
    if case in WRITES:
        calls = [partial(Table(client, None, each).submit, WRITES[case]) for each in (account, BY_SDK)]
    else:
        calls = [partial(READS[case], client, each) for each in (sender, None)]
    for status in STATUSES:
        transport.odd = status, kind, content
        ours, theirs = [ended(lambda call=call: finish(call())) for call in calls]
        assert ours == theirs, status
