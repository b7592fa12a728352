"""Shared access signatures of the account, for its containers and blobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.storage.blob import AccountSasPermissions, ResourceTypes, Services, generate_account_sas

from conformance.deviations import SAS_ERRORS
from conformance.queue_errors import NOT_AUTHENTIC, NOT_PERMITTED, WRONG_LEVEL
from conformance.service_errors import ServiceError
from conformance.signatures import HOUR, now
from support.backends import Backend

OPERATIONS: dict[str, tuple[str, str, Callable[[Any, str, str], Any]]] = {
    "list containers": ("s", "l", lambda service, home, name: anext(service.list_containers())),
    "get service properties": ("s", "r", lambda service, home, name: service.get_service_properties()),
    "create container": ("c", "c", lambda service, home, name: service.create_container(name)),
    "set container metadata": (
        "c",
        "w",
        lambda service, home, name: service.get_container_client(home).set_container_metadata({"a": "b"}),
    ),
    "list blobs": ("c", "l", lambda service, home, name: anext(service.get_container_client(home).list_blobs())),
    "drop container": ("c", "d", lambda service, home, name: service.delete_container(home)),
    "read blob": ("o", "r", lambda service, home, name: service.get_blob_client(home, "b").get_block_list()),
    "create blob": ("o", "c", lambda service, home, name: service.get_blob_client(home, "new").upload_blob(b"...")),
    "write blob": (
        "o",
        "w",
        lambda service, home, name: service.get_blob_client(home, "b").set_blob_metadata({"a": "b"}),
    ),
    "append": ("o", "a", lambda service, home, name: service.get_blob_client(home, "log").append_block(b"...")),
    "delete blob": ("o", "d", lambda service, home, name: service.get_blob_client(home, "b").delete_blob()),
}
"""The level and the permission that an operation needs, and how it is asked for."""
ALSO = {"create container": "cw", "create blob": "cw", "append": "aw"}
"""The permissions of which any will do, where there is more than one."""
EVERYTHING = "rwdlacup"
on_everything = pytest.mark.parametrize("name", OPERATIONS)


@pytest.fixture
def home(backend: Backend, container: Any) -> str:
    """The name of a container with a block blob and an append blob."""

    async def write() -> str:
        await container.upload_blob("b", b"text")
        await container.get_blob_client("log").create_append_blob()
        return str(container.container_name)

    return backend.run(write())


@pytest.fixture
def visitor(backend: Backend, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the service's client of someone who has a signature of the account."""

    def client(levels: str = "sco", permission: str = EVERYTHING, **terms: Any) -> Any:
        terms = {"expiry": now() + HOUR, "services": Services(blob=True), **terms}
        letters = AccountSasPermissions.from_string(permission)
        token = generate_account_sas(*key.named_key, ResourceTypes.from_string(levels), letters, **terms)
        return backend.service(AzureSasCredential(token), "blob")

    return client


@on_everything
async def test_an_operation_needs_its_level_and_its_letter(
    visitor: Any, home: str, container_name: str, blob_rejected: Any, name: str
) -> None:
    level, letter, call = OPERATIONS[name]
    letters = "".join(each for each in EVERYTHING if each not in ALSO.get(name, letter))
    async with blob_rejected(WRONG_LEVEL):
        await call(visitor("sco".replace(level, "")), home, container_name)
    async with blob_rejected(NOT_PERMITTED):
        await call(visitor("sco", letters), home, container_name)
    await call(visitor(level, letter), home, container_name)


async def test_no_signature_reaches_policies(visitor: Any, home: str, blob_rejected: Any) -> None:
    client = visitor().get_container_client(home)
    for call in (lambda: client.get_container_access_policy(), lambda: client.set_container_access_policy({})):
        async with blob_rejected(ServiceError(403)):
            await call()


async def test_a_signature_for_other_services_is_none(visitor: Any, home: str, blob_rejected: Any) -> None:
    async with blob_rejected(ServiceError(403)):
        await visitor(services=Services(queue=True)).create_container("other")


@SAS_ERRORS
@pytest.mark.parametrize(
    "terms", [{"expiry": now() - HOUR}, {"start": now() + HOUR, "expiry": now() + 2 * HOUR}], ids=["over", "early"]
)
async def test_a_signature_counts_in_its_time_only(
    visitor: Any, home: str, blob_rejected: Any, terms: dict[str, Any]
) -> None:
    async with blob_rejected(NOT_AUTHENTIC):
        await visitor(**terms).get_blob_client(home, "new").upload_blob(b"...")
