"""Targets: every form that `connect` accepts, and that no form or error shows a secret."""

from __future__ import annotations

import sys
from base64 import b64encode
from typing import Any

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError

import tablepatterns.aio
from support.sdk_requests import BY_SDK
from tablepatterns import EntitySet, Key, connect
from tablepatterns.connection import CONNECTION_VARIABLE, resolve
from tablepatterns.errors import BadTableName, BadTarget
from tablepatterns.recipe import finish, keeps_key_order
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine

pytestmark = pytest.mark.both_sdks

KEY = "c2VjcmV0LWtleS1vZi1hbi1hY2NvdW50"
LONG_KEY = b64encode(bytes(range(64))).decode()
STRING = f"DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey={KEY};EndpointSuffix=core.windows.net"
TABLE_URL = "https://contoso.table.core.windows.net"


class Token:
    """A token credential, such as those of azure-identity."""

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken("secret", 0)


@pytest.fixture(params=["sync", "aio"])
def connected(request: pytest.FixtureRequest) -> Any:
    """`connect`, of the sync or the aio module."""
    return connect if request.param == "sync" else tablepatterns.aio.connect


def test_nothing_given_is_a_new_account_in_memory(connected: Any) -> None:
    first, second = connected(), connected("memory://")
    assert first.engine is not second.engine
    assert repr(first).endswith("Storage memory://>")


def test_a_named_account_in_memory_is_shared_by_sync_and_aio() -> None:
    engines = {connect("memory://team").engine, tablepatterns.aio.connect("memory://team").engine}
    assert len(engines) == 1
    assert connect("memory://other").engine not in engines


async def test_after_close_a_call_raises_an_error_and_other_connections_go_on(backend: Any, new_name: Any) -> None:
    closed, other = backend.connect(), backend.connect()
    name, key = new_name(), Key("{Department}", "{EmployeeId:06d}")
    employees, queue = EntitySet(closed, name, key), closed.queue(f"queue-{name}".lower())
    jones = await employees.insert({"Department": "Sales", "EmployeeId": 223})
    await queue.send("hello")
    closing = closed.close()
    if backend.aio:
        await closing
    for call in (
        lambda: employees.get(Department="Sales", EmployeeId=223),
        lambda: employees.replace(jones),
        lambda: employees.take(1, Department="Sales"),
        lambda: queue.send("hello"),
    ):
        with pytest.raises(ValueError, match="HTTP transport has already been closed"):
            await call()
    assert await EntitySet(other, name, key).get(Department="Sales", EmployeeId=223) == jones


def test_an_engine_of_ones_own_is_connected_to(connected: Any) -> None:
    engine = Engine("contoso")
    storage = connected(engine)
    assert storage.engine is engine
    assert storage.tables.account_name == storage.queues.account_name == storage.blobs.account_name == "contoso"


@pytest.mark.guide("G-001")
@pytest.mark.parametrize("account", ["contoso", "x12"])
def test_a_connection_string_gives_the_accounts_addresses(connected: Any, account: str) -> None:
    storage = connected(STRING.replace("contoso", account))
    assert storage.tables.url == f"https://{account}.table.core.windows.net"
    assert storage.queues.url.rstrip("/") == f"https://{account}.queue.core.windows.net"
    assert storage.blobs.url.rstrip("/") == f"https://{account}.blob.core.windows.net"
    assert storage.tables.account_name == account


@pytest.mark.parametrize("service", ["table", "queue", "blob"])
@pytest.mark.parametrize(
    "credential", [AzureNamedKeyCredential("contoso", KEY), AzureSasCredential("sv=1&sig=secret"), Token()]
)
def test_the_url_of_any_service_gives_all_three(connected: Any, service: str, credential: Any) -> None:
    storage = connected(f"https://contoso.{service}.core.windows.net", credential=credential)
    assert storage.tables.url.startswith(TABLE_URL)
    assert storage.blobs.url.startswith("https://contoso.blob.core.windows.net")


def test_a_sas_may_stand_in_the_url(connected: Any) -> None:
    storage = connected(f"{TABLE_URL}?sv=2019-02-02&sig=secret")
    assert "secret" not in repr(storage)


def test_an_emulators_url_gives_the_neighbouring_ports(connected: Any) -> None:
    credential = AzureNamedKeyCredential("devstoreaccount1", KEY)
    storage = connected("http://127.0.0.1:20002/devstoreaccount1", credential=credential)
    assert storage.blobs.url.rstrip("/") == "http://127.0.0.1:20000/devstoreaccount1"


@pytest.mark.parametrize("port", [10000, 10001, 10002])
def test_azurites_url_may_be_that_of_any_of_its_services(connected: Any, port: int) -> None:
    credential = AzureNamedKeyCredential("devstoreaccount1", KEY)
    storage = connected(f"http://localhost:{port}/devstoreaccount1", credential=credential)
    assert storage.tables.url == "http://localhost:10002/devstoreaccount1"
    assert storage.blobs.url.rstrip("/") == "http://localhost:10000/devstoreaccount1"


@pytest.mark.parametrize("service", ["table", "queue", "blob"])
def test_an_account_in_a_dns_zone_has_its_services_there(connected: Any, service: str) -> None:
    credential = AzureNamedKeyCredential("contoso", KEY)
    storage = connected(f"https://contoso.z07.{service}.storage.azure.net", credential=credential)
    assert storage.tables.url == "https://contoso.z07.table.storage.azure.net"
    assert storage.queues.url.rstrip("/") == "https://contoso.z07.queue.storage.azure.net"


def test_the_scheme_of_a_url_may_be_in_capitals(connected: Any) -> None:
    assert connected(TABLE_URL.replace("https", "HTTPS"), credential=Token()).tables.url == TABLE_URL


@pytest.mark.parametrize("target", ["azurite", "UseDevelopmentStorage=true", "UseDevelopmentStorage=true;"])
def test_azurite_is_on_its_default_ports(connected: Any, target: str) -> None:
    storage = connected(target)
    assert storage.tables.url == "http://127.0.0.1:10002/devstoreaccount1"
    assert storage.queues.url.rstrip("/") == "http://127.0.0.1:10001/devstoreaccount1"


def test_the_environment_is_read_only_on_request(connected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONNECTION_VARIABLE, STRING)
    assert connected().engine is not None
    assert connected("env").tables.account_name == "contoso"
    monkeypatch.delenv(CONNECTION_VARIABLE)
    with pytest.raises(BadTarget, match=CONNECTION_VARIABLE):
        connected("env")


@pytest.mark.parametrize("target", ["", "contoso", "mysql://x", "memory", 7, "AccountName=contoso;", "AccountKey=x;"])
def test_a_wrong_target_says_what_is_accepted(connected: Any, target: Any) -> None:
    with pytest.raises(BadTarget) as refusal:
        connected(target)
    assert "connection string" in str(refusal.value)


def test_a_url_without_a_credential_is_rejected(connected: Any) -> None:
    with pytest.raises(BadTarget, match="AzureNamedKeyCredential"):
        connected(TABLE_URL)


@pytest.mark.parametrize("target", ["http://x:port/account", "https://", "https://me:pw@contoso.example", "http://[x"])
def test_a_url_that_cannot_be_read_is_rejected(connected: Any, target: str) -> None:
    for given in (target, f"AccountName=contoso;AccountKey={KEY};TableEndpoint={target}"):
        with pytest.raises(BadTarget, match="http or https URL"):
            connected(given, credential=None if ";" in given else Token())


@pytest.mark.parametrize("credential", ["sig=secret", KEY, 7, {"account_name": "contoso"}])
@pytest.mark.parametrize("target", [TABLE_URL, "memory://", Engine()])
def test_what_is_no_credential_is_rejected_with_those_that_are(connected: Any, target: Any, credential: Any) -> None:
    with pytest.raises(BadTarget, match="AzureSasCredential") as refusal:
        connected(target, credential=credential)
    assert KEY not in str(refusal.value)


def test_a_key_that_cannot_sign_is_rejected_before_any_request(connected: Any) -> None:
    cut = KEY[:-1]
    for target, credential in (
        (STRING.replace(KEY, cut), None),
        (TABLE_URL, AzureNamedKeyCredential("contoso", cut)),
        ("memory://", AzureNamedKeyCredential("contoso", cut)),
    ):
        with pytest.raises(BadTarget, match="account key must be valid Base64") as refusal:
            connected(target, credential=credential)
        assert cut not in str(refusal.value)


def test_a_token_is_not_sent_without_https(connected: Any) -> None:
    with pytest.raises(BadTarget, match="only over https"):
        connected(TABLE_URL.replace("https", "http"), credential=Token())


def test_a_connection_string_is_for_http_or_https(connected: Any) -> None:
    with pytest.raises(BadTarget, match="DefaultEndpointsProtocol"):
        connected(STRING.replace("https", "ftp"))


@pytest.mark.parametrize("target", ["azurite", STRING])
def test_a_second_credential_is_rejected(connected: Any, target: str) -> None:
    with pytest.raises(BadTarget, match="its own credential"):
        connected(target, credential=Token())


@pytest.mark.guide("G-348")
@pytest.mark.parametrize(
    "target",
    [STRING, f"BlobEndpoint=https://b;QueueEndpoint=https://q;TableEndpoint=https://t;SharedAccessSignature=sig={KEY}"],
)
def test_no_secret_is_shown(connected: Any, target: str) -> None:
    storage = connected(target)
    shown = f"{storage!r} {storage.target!r} {resolve(target)!r} {storage.table('Employees')!r}"
    assert KEY not in shown


@pytest.mark.guide("G-348")
@pytest.mark.parametrize(
    "target",
    [
        f"AccountKey={KEY}",
        f"SharedAccessSignature=sig={KEY};X=1",
        f"{TABLE_URL}?sig={KEY}".replace("https", "ftp"),
        LONG_KEY,
        f"AccountName=contoso;Key={KEY};",
        f'{{"AccountKey": "{KEY}"}}',
        f"{TABLE_URL}?signature={KEY}",
        f"https://contoso:{KEY}@contoso.example",
        f"Bearer {LONG_KEY}",
        STRING.encode(),
    ],
)
def test_no_secret_is_shown_by_an_error(connected: Any, target: Any) -> None:
    with pytest.raises(BadTarget) as refusal:
        connected(target)
    shown = f"{refusal.value} {refusal.value!r} {refusal.value.value!r}"
    assert KEY[:8] not in shown
    assert LONG_KEY[:8] not in shown


def test_a_credential_that_is_not_set_does_not_connect_to_memory(connected: Any) -> None:
    with pytest.raises(BadTarget, match="a variable that is not set"):
        connected(credential=None)
    for options in ({}, {"target": "memory://", "credential": None}):
        assert connected(**options).engine is not None


def test_async_clients_need_aiohttp_but_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    for target in ((), ("memory://team",), (Engine(),)):
        assert tablepatterns.aio.connect(*target).engine is not None
    for target in ("azurite", STRING):
        with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[aio\]' in a clone"):
            tablepatterns.aio.connect(target)


@pytest.mark.guide("G-103")
def test_a_cosmos_account_is_known_to_keep_no_order(connected: Any) -> None:
    cosmos = f"{STRING};TableEndpoint=https://contoso.table.cosmos.azure.com:443/"
    assert not keeps_key_order(connected(cosmos))
    assert keeps_key_order(connected(STRING))
    assert keeps_key_order(connected())


@pytest.mark.guide("G-002", "G-003", "G-004", "G-005", "G-006")
@pytest.mark.parametrize(
    "name",
    [
        "ab",
        "a" * 64,
        "",
        "my-table",
        "my_table",
        "my.table",
        "my table",
        "Tabelle\u00e4",
        "1abc",
        "tables",
        "TABLES",
        7,
    ],
)
def test_a_name_that_no_table_may_have_is_rejected_before_any_request(connected: Any, name: Any) -> None:
    storage = connected()
    with pytest.raises(BadTableName):
        storage.table(name)
    for good in ("abc", "a" * 63, "A1b2"):
        assert storage.table(good).name == good
    assert storage.engine.ledger.totals.requests == 0


@pytest.mark.guide("G-007")
@pytest.mark.parametrize("status", [400, 404])
def test_a_name_that_only_the_service_rejects_is_reported_as_such(status: int) -> None:
    refused = HttpResponseError("refused")
    refused.status_code = status
    refused.error_code = "InvalidResourceName"  # type: ignore[attr-defined]

    class Refusing:
        """An SDK client whose service has reserved a name that passes our check."""

        table_name = "Reserved"

        def create_table(self) -> None:
            raise refused

    with pytest.raises(BadTableName, match=r"Reserved.*the service rejects"):
        finish(Table(Refusing(), None, BY_SDK).create())
