"""Connection strings: whatever part of them the SDK accepts for a service, this library accepts for that service."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import EntitySet, Key, aio, connect
from tablepatterns.errors import BadDesign, BadTarget

SIGNATURE = "sv=2022-11-02&ss=t&srt=sco&sp=r&se=2030-01-01T00:00:00Z&sig=c2VjcmV0"
CLIENTS: dict[str, Any] = {"table": TableServiceClient, "queue": QueueServiceClient, "blob": BlobServiceClient}
SETTINGS = {
    "DefaultEndpointsProtocol": st.sampled_from(["https", "http"]),
    "AccountName": st.just("contoso"),
    "AccountKey": st.just("c2VjcmV0"),
    "EndpointSuffix": st.sampled_from(["core.windows.net", "core.chinacloudapi.cn"]),
    "SharedAccessSignature": st.sampled_from([SIGNATURE, f"?{SIGNATURE}"]),
    "TableEndpoint": st.sampled_from(["https://contoso.table.core.windows.net/", "http://127.0.0.1:10002/contoso"]),
    "QueueEndpoint": st.sampled_from(["https://contoso.queue.core.windows.net/", "https://queues.contoso.com"]),
    "BlobEndpoint": st.sampled_from(["https://contoso.blob.core.windows.net/", "https://blobs.contoso.com"]),
    "FileEndpoint": st.just("https://contoso.file.core.windows.net/"),
}


@st.composite
def connection_strings(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    chosen = draw(
        st.permutations(sorted(SETTINGS)).flatmap(lambda names: st.sampled_from([names[:n] for n in range(10)]))
    )
    given = {name: draw(SETTINGS[name]) for name in chosen}
    return ";".join(f"{name}={value}" for name, value in given.items()) + draw(st.sampled_from(["", ";"])), given


def url_of(client: Any) -> str:
    """Return an address without its scheme: without an EndpointSuffix the SDK ignores a DefaultEndpointsProtocol."""
    return str(client.url).partition("?")[0].partition("://")[2].rstrip("/")


def sdks(service: str, text: str) -> str | None:
    """Return the address that the SDK takes from a connection string for a service; None where it refuses."""
    with suppress(ValueError), CLIENTS[service].from_connection_string(text) as client:
        return url_of(client)
    return None


@given(drawn=connection_strings())
def test_what_the_sdk_accepts_for_a_service_is_accepted_for_it(drawn: tuple[str, dict[str, str]]) -> None:
    text, settings = drawn
    has_credential = {"AccountName", "AccountKey"} <= settings.keys() or "SharedAccessSignature" in settings
    expected = {service: sdks(service, text) if has_credential else None for service in CLIENTS}
    if not any(expected.values()):
        with pytest.raises(BadTarget) as raised:
            connect(text)
        assert "c2VjcmV0" not in str(raised.value)
        return
    with connect(text) as storage:
        for service, url in expected.items():
            if url is None:
                with pytest.raises(BadDesign, match=f"{service.capitalize()}Endpoint"):
                    getattr(storage, f"{service}s")
            else:
                assert url_of(getattr(storage, f"{service}s")) == url


PORTAL = (
    "BlobEndpoint=https://contoso.blob.core.windows.net/;QueueEndpoint=https://contoso.queue.core.windows.net/;"
    f"FileEndpoint=https://contoso.file.core.windows.net/;SharedAccessSignature={SIGNATURE}"
)


async def test_a_service_without_an_address_is_rejected_when_it_is_used_sync_and_async() -> None:
    with connect(PORTAL) as storage:
        assert storage.queues.account_name == "contoso"
        with pytest.raises(BadDesign, match=r"add TableEndpoint=https://... to the connection string"):
            EntitySet(storage, "Employees", Key("{Department}", "{EmployeeId}"))
    async with aio.connect(
        f"TableEndpoint=https://contoso.table.core.windows.net;SharedAccessSignature={SIGNATURE}"
    ) as it:
        assert it.tables.account_name == "contoso"
        with pytest.raises(BadDesign, match="QueueEndpoint"):
            it.queue("intents")
