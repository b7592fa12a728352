"""`patch_azure`: clients that the code under test creates connect to in-memory accounts, never to real ones."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from azure.core import PipelineClient
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ServiceRequestError
from azure.core.pipeline.transport import AioHttpTransport, RequestsTransport
from azure.core.rest import HttpRequest
from azure.data.tables import TableClient, TableServiceClient
from azure.data.tables.aio import TableServiceClient as AioTableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.blob.aio import BlobServiceClient as AioBlobServiceClient
from azure.storage.queue import QueueClient
from azure.storage.queue.aio import QueueClient as AioQueueClient

from tablepatterns import connect
from tablepatterns.errors import BadInput, BadTarget
from tablepatterns_engine import Clock, Engine, patch_azure

VARIABLE = "AZURE_STORAGE_CONNECTION_STRING"
SALES = {"PartitionKey": "Sales", "RowKey": "1"}
URL = "https://contoso.table.core.windows.net"
KEY = "a2V5"


class TokenCredential:
    """A credential that gets its token without a request."""

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken("token", 4_000_000_000)


class TestClients:
    def test_answers_every_service(self) -> None:
        with patch_azure() as engine:
            text = os.environ[VARIABLE]
            with TableServiceClient.from_connection_string(text) as tables:
                tables.create_table("Employees").create_entity(SALES)
            with QueueClient.from_connection_string(text, "hiring") as queue:
                queue.create_queue()
                queue.send_message("1")
            with BlobServiceClient.from_connection_string(text) as blobs:
                blobs.create_container("photos").upload_blob("1.png", b"png")
                assert blobs.get_blob_client("photos", "1.png").download_blob().readall() == b"png"
            with connect(engine) as storage:
                assert storage.tables.get_table_client("Employees").get_entity("Sales", "1")["RowKey"] == "1"
                assert storage.queues.get_queue_client("hiring").peek_messages()[0].content == "1"

    def test_answers_every_service_for_async_clients(self) -> None:
        async def use(text: str) -> bytes:
            async with AioTableServiceClient.from_connection_string(text) as tables:
                await (await tables.create_table("Employees")).create_entity(SALES)
            async with AioQueueClient.from_connection_string(text, "hiring") as queue:
                await queue.create_queue()
                await queue.send_message("1")
            async with AioBlobServiceClient.from_connection_string(text) as blobs:
                await (await blobs.create_container("photos")).upload_blob("1.png", b"png")
                found = await blobs.get_blob_client("photos", "1.png").download_blob()
                return await found.readall()

        with patch_azure() as engine:
            assert asyncio.run(use(os.environ[VARIABLE])) == b"png"
        assert engine.tables.names() == (["Employees"], None)

    @pytest.mark.parametrize("target", ["env", "azurite", "UseDevelopmentStorage=true"])
    def test_answers_connect(self, target: str) -> None:
        with patch_azure() as engine, connect(target) as storage:
            storage.tables.create_table("Employees")
            assert engine.tables.names() == (["Employees"], None)

    def test_answers_a_client_from_before_the_block(self) -> None:
        credential = AzureNamedKeyCredential("contoso", KEY)
        with TableClient(URL, "Employees", credential=credential) as table, patch_azure(Engine("contoso", KEY)):
            table.create_table()

    def test_tokens_are_accepted_by_default(self) -> None:
        with patch_azure(Engine("contoso")), TableServiceClient(URL, credential=TokenCredential()) as tables:
            tables.create_table("Employees")
        with (
            patch_azure(Engine("contoso"), trust_tokens=False),
            TableServiceClient(URL, credential=TokenCredential()) as tables,
            pytest.raises(ClientAuthenticationError),
        ):
            tables.create_table("Employees")

    def test_several_accounts_are_apart(self) -> None:
        with patch_azure(Engine("contoso", KEY), Engine("archive", KEY)) as contoso:
            assert "AccountName=contoso;" in os.environ[VARIABLE]
            credential = AzureNamedKeyCredential("archive", KEY)
            with TableServiceClient(URL.replace("contoso", "archive"), credential=credential) as tables:
                tables.create_table("Old")
            assert contoso.tables.names() == ([], None)


class TestIsolation:
    def test_a_request_to_another_account_is_an_error(self) -> None:
        credential = AzureNamedKeyCredential("fabrikam", KEY)
        url = URL.replace("contoso", "fabrikam")
        with (
            patch_azure(Engine("contoso")),
            TableServiceClient(url, credential=credential) as tables,
            pytest.raises(BadTarget, match=r"fabrikam.*pass Engine\('fabrikam'\)"),
        ):
            tables.create_table("Employees")

    def test_requests_to_other_services_are_sent(self) -> None:
        client: Any = PipelineClient("http://127.0.0.1:9")
        with patch_azure(), client, pytest.raises(ServiceRequestError):
            client.send_request(HttpRequest("GET", "http://127.0.0.1:9/token"))

    def test_nothing_is_left_after_the_block(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, "mine")
        kinds = (RequestsTransport, AioHttpTransport)
        before = [(each.send, each.sleep) for each in kinds]
        with pytest.raises(KeyError), patch_azure():
            raise KeyError
        assert [(each.send, each.sleep) for each in kinds] == before
        assert os.environ[VARIABLE] == "mine"

    def test_two_accounts_need_two_names(self) -> None:
        with pytest.raises(BadInput, match="same name"), patch_azure(Engine("contoso"), Engine("contoso")):
            pass


class TestTime:
    def test_retries_move_the_clock_of_the_account(self) -> None:
        clock = Clock(start := Clock().now().datetime())
        engine = Engine(clock=clock)
        with patch_azure(engine), engine.faults.busy(times=3):
            TableServiceClient.from_connection_string(os.environ[VARIABLE]).create_table("Employees")
        assert (clock.now().datetime() - start).total_seconds() > 1

    def test_faults_reach_the_code_under_test(self) -> None:
        with patch_azure() as engine, engine.faults.busy(times=100), pytest.raises(HttpResponseError):
            TableServiceClient.from_connection_string(os.environ[VARIABLE], retry_total=1).create_table("Employees")


def test_the_fixture_patches_its_account(azure_patched: Engine, azure_engine: Engine) -> None:
    assert azure_patched is azure_engine
    with TableServiceClient.from_connection_string(os.environ[VARIABLE]) as tables:
        tables.create_table("Employees")
    assert azure_engine.tables.names() == (["Employees"], None)
