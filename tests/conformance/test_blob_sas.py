"""Shared access signatures of blobs and containers: what they allow, where, when, and what policies add to them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import AccessPolicy, generate_blob_sas, generate_container_sas

from conformance.blob_errors import OVERWRITES
from conformance.deviations import BLOB_SAS_OVERWRITES, SAS_ADDRESSES, SAS_ERRORS
from conformance.queue_errors import NOT_AUTHENTIC, NOT_PERMITTED
from conformance.service_errors import ServiceError
from conformance.signatures import HOUR, now
from conformance.test_blob_blobs import text_of
from support.backends import Backend

policies_take_effect = pytest.mark.owns_account("a stored policy takes up to 30 seconds until it is known everywhere")
OPERATIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "read": ("r", lambda home: home.download_blob("b")),
    "read blocks": ("r", lambda home: home.get_blob_client("b").get_block_list()),
    "append": ("a", lambda home: home.get_blob_client("log").append_block(b"...")),
    "create": ("c", lambda home: home.upload_blob("new", b"...")),
    "write": ("w", lambda home: home.upload_blob("b", b"...", overwrite=True)),
    "stage": ("w", lambda home: home.get_blob_client("b").stage_block("1", b"...")),
    "set metadata": ("w", lambda home: home.get_blob_client("b").set_blob_metadata({"a": "b"})),
    "lease": ("w", lambda home: home.get_blob_client("b").acquire_lease(15)),
    "delete": ("d", lambda home: home.delete_blob("b")),
    "set tags": ("t", lambda home: home.get_blob_client("b").set_blob_tags({"a": "b"})),
}
"""The permission that an operation needs, and how it is asked for."""
ALSO = {"append": "aw", "create": "cw"}
"""The permissions of which any will do, where there is more than one."""
BEYOND: dict[str, Callable[[Any], Any]] = {
    "drop": lambda home: home.delete_container(),
    "set metadata": lambda home: home.set_container_metadata({"a": "b"}),
    "get properties": lambda home: home.get_container_properties(),
    "get policies": lambda home: home.get_container_access_policy(),
    "set policies": lambda home: home.set_container_access_policy({}),
}
"""What no signature of a container allows."""
EVERYTHING = "racwdlt"


@pytest.fixture
def home(backend: Backend, container: Any) -> Any:
    """The SDK's client of a container with a block blob and an append blob, to be awaited."""

    async def write() -> Any:
        await container.upload_blob("b", b"text")
        await container.get_blob_client("log").create_append_blob()
        return container

    return backend.run(write())


@pytest.fixture
def holder(backend: Backend, home: Any, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the container's client of someone who has a signature of it with these terms."""

    def client(permission: str | None = EVERYTHING, change: Callable[[str], str] = str, **terms: Any) -> Any:
        if "policy_id" not in terms:
            terms = {"expiry": now() + HOUR, **terms}
        name, secret = key.named_key
        token = generate_container_sas(name, home.container_name, secret, permission=permission, **terms)
        return backend.service(AzureSasCredential(change(token)), "blob").get_container_client(home.container_name)

    return client


@pytest.fixture
def owner_of_one(backend: Backend, home: Any, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the container's client of someone who has a signature of one blob in it."""

    def client(blob: str = "b", permission: str = "r", **terms: Any) -> Any:
        terms = {"expiry": now() + HOUR, **terms}
        name, secret = key.named_key
        token = generate_blob_sas(name, home.container_name, blob, account_key=secret, permission=permission, **terms)
        return backend.service(AzureSasCredential(token), "blob").get_container_client(home.container_name)

    return client


def but_for(letters: str) -> str:
    return "".join(letter for letter in EVERYTHING if letter not in letters)


# ------------------------------------------------------------------ permissions


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "write"])
async def test_a_signature_allows_what_its_permissions_say_and_nothing_else(
    holder: Any, blob_rejected: Any, name: str
) -> None:
    letter, call = OPERATIONS[name]
    async with blob_rejected(NOT_PERMITTED):
        await call(holder(but_for(ALSO.get(name, letter))))
    await call(holder(letter))


@BLOB_SAS_OVERWRITES
async def test_who_may_only_create_replaces_nothing(holder: Any, blob_rejected: Any) -> None:
    async with blob_rejected(OVERWRITES):
        await OPERATIONS["write"][1](holder(but_for("w")))
    async with blob_rejected(OVERWRITES):
        await holder("c").get_blob_client("b").commit_block_list([])
    await OPERATIONS["write"][1](holder("w"))


async def test_a_list_needs_a_permission_of_its_own(holder: Any, blob_rejected: Any) -> None:
    assert [each.name async for each in holder("l").list_blobs()] == ["b", "log"]
    async with blob_rejected(NOT_PERMITTED):
        _ = [each async for each in holder(but_for("l")).list_blobs()]


@pytest.mark.parametrize("name", BEYOND)
async def test_a_signature_of_a_container_reaches_no_further(holder: Any, blob_rejected: Any, name: str) -> None:
    async with blob_rejected(ServiceError(403)):
        await BEYOND[name](holder())


async def test_a_signature_of_a_blob_is_for_that_blob_alone(owner_of_one: Any, blob_rejected: Any) -> None:
    assert await text_of(owner_of_one("b"), "b") == b"text"
    async with blob_rejected(NOT_PERMITTED):
        await owner_of_one("b").delete_blob("b")
    async with blob_rejected(ServiceError(403)):
        _ = [each async for each in owner_of_one("b", "r").list_blobs()]


@SAS_ERRORS
async def test_it_is_none_for_another(owner_of_one: Any, blob_rejected: Any) -> None:
    for call in (
        lambda: owner_of_one("log").download_blob("b"),
        lambda: owner_of_one("b", "rcw").upload_blob("b/c", b"..."),
    ):
        async with blob_rejected(NOT_AUTHENTIC):
            await call()


async def test_a_signature_makes_a_blob_with_any_name(owner_of_one: Any, home: Any) -> None:
    await owner_of_one("é/a b+c%", "c").upload_blob("é/a b+c%", b"...")
    assert await text_of(home, "é/a b+c%") == b"..."


# ------------------------------------------------------------------ terms


@SAS_ERRORS
async def test_a_changed_term_breaks_the_signature(holder: Any, blob_rejected: Any) -> None:
    def widened(token: str) -> str:
        return urlencode([(name, EVERYTHING if name == "sp" else value) for name, value in parse_qsl(token)])

    async with blob_rejected(NOT_AUTHENTIC):
        await holder("r", change=widened).upload_blob("new", b"...")


@SAS_ERRORS
@pytest.mark.parametrize(
    "terms", [{"expiry": now() - HOUR}, {"start": now() + HOUR, "expiry": now() + 2 * HOUR}], ids=["over", "early"]
)
async def test_a_signature_counts_in_its_time_only(holder: Any, blob_rejected: Any, terms: dict[str, Any]) -> None:
    async with blob_rejected(NOT_AUTHENTIC):
        await holder(**terms).upload_blob("new", b"...")


@SAS_ADDRESSES
async def test_a_signature_may_ask_for_an_address(holder: Any, blob_rejected: Any) -> None:
    async with blob_rejected(ServiceError(403, "AuthorizationSourceIPMismatch")):
        await holder(ip="10.0.0.1").upload_blob("new", b"...")


async def test_a_signature_says_how_the_content_is_shown(owner_of_one: Any) -> None:
    client = owner_of_one("b", content_type="text/csv", content_disposition="attachment", cache_control="no-store")
    stream = await client.download_blob("b")
    said = stream.properties.content_settings
    assert (said.content_type, said.content_disposition, said.cache_control) == ("text/csv", "attachment", "no-store")


# ------------------------------------------------------------------ policies


@policies_take_effect
async def test_a_policy_gives_what_the_signature_leaves_out_until_it_is_changed(
    home: Any, holder: Any, blob_rejected: Any
) -> None:
    policy = AccessPolicy(permission="r", start=now() - HOUR, expiry=now() + HOUR)
    await home.set_container_access_policy({"readers": policy})
    client = holder(None, policy_id="readers")
    assert await text_of(client, "b") == b"text"
    async with blob_rejected(NOT_PERMITTED):
        await client.delete_blob("b")
    await home.set_container_access_policy({})
    async with blob_rejected(ServiceError(403)):
        await client.delete_blob("b")


@policies_take_effect
async def test_a_policy_that_is_over_opens_nothing(home: Any, holder: Any) -> None:
    past = datetime(2020, 1, 1, tzinfo=timezone.utc)
    policy = AccessPolicy(permission="r", start=past, expiry=past + timedelta(days=1))
    await home.set_container_access_policy({"readers": policy})
    with pytest.raises(HttpResponseError) as caught:
        await holder(None, policy_id="readers").download_blob("b")
    assert caught.value.status_code == 403
