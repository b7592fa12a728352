"""Dispatch to the services by host, or by port if the host does not name one."""

from __future__ import annotations

import pytest

from tablepatterns_engine.account import Engine
from tablepatterns_engine.dispatch import AccountApi, service_of
from tablepatterns_engine.http.message import Request


@pytest.mark.parametrize(
    ("url", "service"),
    [
        ("https://contoso.table.core.windows.net/Tables", "table"),
        ("https://contoso-secondary.queue.core.windows.net", "queue"),
        ("HTTPS://CONTOSO.BLOB.CORE.WINDOWS.NET/a", "blob"),
        ("http://contoso.queue.localhost:10002/a", "queue"),
        ("http://127.0.0.1:10000/contoso/a", "blob"),
        ("http://127.0.0.1:10001/contoso/a", "queue"),
        ("http://localhost:10002/contoso/a.queue.b", "table"),
        ("http://127.0.0.1:10001?comp=list", "queue"),
        ("http://127.0.0.1/contoso", "table"),
        ("nonsense", "table"),
    ],
)
def test_a_url_is_of_one_service(url: str, service: str) -> None:
    assert service_of(url) == service


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://contoso.table.core.windows.net/Tables", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"),
        ("https://contoso.queue.core.windows.net/?comp=list", "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0"),
        ("http://127.0.0.1:10001/contoso/?comp=list", "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0"),
    ],
)
def test_the_service_that_is_meant_answers(url: str, server: str, engine: Engine) -> None:
    response = AccountApi(engine).handle(Request("GET", url, {"authorization": "Bearer token"}))
    assert (response.status, response.headers["Server"]) == (401, server)


def test_all_services_write_into_one_ledger(engine: Engine) -> None:
    api = AccountApi(engine)
    for service in ("table", "queue"):
        api.handle(Request("GET", f"https://contoso.{service}.core.windows.net/?comp=list", {}))
    assert [record.service for record in engine.ledger.records] == ["table", "queue"]
