"""Containers: names, creation, deletion, lists, metadata, public access, and leases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import AccessPolicy, PublicAccess

from conformance.blob_errors import (
    ALREADY_LEASED,
    CONTAINER_EXISTS,
    CONTAINER_LEASE_MISSING,
    NO_CONTAINER,
    OTHER_CONTAINER_LEASE,
    UNMET,
)
from conformance.deviations import BLOB_METADATA, BLOB_PAGES, BLOB_POLICIES
from conformance.queue_errors import (
    BAD_XML,
    EMPTY_METADATA_KEY,
    INVALID_METADATA,
    METADATA_TOO_LARGE,
    NAME_CHARACTERS,
    NAME_LENGTH,
    OUT_OF_RANGE,
)
from conformance.raw import Raw
from conformance.table_errors import OUT_OF_RANGE as OUT_OF_RANGE_INPUT

OLD = datetime(2001, 1, 1, tzinfo=timezone.utc)


async def listed(service: Any, prefix: str, **options: Any) -> list[Any]:
    return [each async for each in service.list_containers(name_starts_with=prefix, **options)]


# ------------------------------------------------------------------ creation and deletion


async def test_a_container_is_there_from_its_creation_to_its_deletion(blob_service: Any, container_name: str) -> None:
    container = await blob_service.create_container(container_name)
    assert await container.exists()
    assert [found.name for found in await listed(blob_service, container_name)] == [container_name]
    await container.delete_container()
    assert await listed(blob_service, container_name) == []


async def test_a_container_is_made_once(container: Any, blob_service: Any, blob_rejected: Any) -> None:
    async with blob_rejected(CONTAINER_EXISTS):
        await blob_service.create_container(container.container_name)
    with pytest.raises(ResourceExistsError):
        await blob_service.create_container(container.container_name)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("tail", ["", "-1", "-a-b", "0"], ids=["letters", "digit", "hyphens", "zero"])
async def test_a_name_has_small_letters_digits_and_single_hyphens(
    blob_service: Any, container_names: list[str], new_container_name: Callable[..., str], tail: str
) -> None:
    container_names.append(new_container_name() + tail)
    await blob_service.create_container(container_names[-1])
    assert [found.name for found in await listed(blob_service, container_names[-1])] == [container_names[-1]]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("name", ["Abc", "-abc", "abc-", "a--b", "a_b", "a.b"])
async def test_a_name_has_no_other_characters(blob_service: Any, blob_rejected: Any, name: str) -> None:
    async with blob_rejected(NAME_CHARACTERS):
        await blob_service.create_container(name)


@pytest.mark.parametrize("name", ["ab", "a" * 64])
async def test_a_name_has_3_to_63_characters(blob_service: Any, blob_rejected: Any, name: str) -> None:
    async with blob_rejected(NAME_LENGTH):
        await blob_service.create_container(name)


async def test_what_is_asked_of_a_missing_container_is_rejected(
    blob_service: Any, blob_rejected: Any, container_name: str
) -> None:
    container = blob_service.get_container_client(container_name)
    assert not await container.exists()
    for call in (
        lambda: container.delete_container(),
        lambda: container.set_container_metadata({"a": "b"}),
        lambda: container.get_container_access_policy(),
        lambda: container.upload_blob("b", b"..."),
        lambda: container.acquire_lease(),
    ):
        async with blob_rejected(NO_CONTAINER):
            await call()
    with pytest.raises(ResourceNotFoundError):
        await container.get_container_properties()


async def test_a_container_takes_its_blobs_along(blob_service: Any, container: Any) -> None:
    await container.upload_blob("b", b"...")
    await container.delete_container()
    with pytest.raises(ResourceNotFoundError):
        await container.download_blob("b")


# ------------------------------------------------------------------ metadata


async def test_metadata_are_replaced_as_a_whole_and_make_a_version(blob_service: Any, container_name: str) -> None:
    container = await blob_service.create_container(container_name, metadata={"Owner": "Don", "colour": "red"})
    first = await container.get_container_properties()
    assert first.metadata == {"Owner": "Don", "colour": "red"}
    await container.set_container_metadata({"state": "raw"})
    second = await container.get_container_properties()
    assert (second.metadata, second.etag != first.etag) == ({"state": "raw"}, True)
    await container.set_container_metadata()
    assert (await container.get_container_properties()).metadata == {}


@pytest.mark.parametrize("name", ["a-b", "1a", "a.b"])
async def test_a_name_in_metadata_is_an_identifier(container: Any, blob_rejected: Any, name: str) -> None:
    async with blob_rejected(INVALID_METADATA):
        await container.set_container_metadata({name: "x"})
    await container.upload_blob("b", b"...")
    async with blob_rejected(INVALID_METADATA):
        await container.get_blob_client("b").set_blob_metadata({name: "x"})


@BLOB_METADATA
async def test_it_is_not_empty(container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(EMPTY_METADATA_KEY):
        await container.set_container_metadata({"": "x"})


async def test_metadata_may_have_8_kib_in_all(container: Any) -> None:
    # No single header may be so long with aiohttp
    halves = {"a": "x" * 4095, "b": "x" * 4095}
    await container.set_container_metadata(halves)
    assert (await container.get_container_properties()).metadata == halves


@BLOB_METADATA
async def test_metadata_may_not_have_more(container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(METADATA_TOO_LARGE):
        await container.set_container_metadata({"a": "x" * 4095, "b": "x" * 4096})


# ------------------------------------------------------------------ lists


async def test_containers_are_listed_in_order_and_in_pages(
    blob_service: Any, container_names: list[str], new_container_name: Callable[..., str]
) -> None:
    prefix = new_container_name("p") + "-"
    names = [f"{prefix}{letter}" for letter in "bca"]
    container_names.extend(names)
    for name in names:
        await blob_service.create_container(name, metadata={"Owner": "Don"})
    pages = blob_service.list_containers(name_starts_with=prefix, results_per_page=2).by_page()
    found = [[each.name async for each in page] async for page in pages]
    assert found == [sorted(names)[:2], sorted(names)[2:]]
    assert (await listed(blob_service, prefix))[0].metadata in (None, {})
    assert (await listed(blob_service, prefix, include_metadata=True))[0].metadata == {"Owner": "Don"}


@BLOB_PAGES
@pytest.mark.parametrize(("options", "error"), [("maxresults=0", OUT_OF_RANGE), ("marker=%21%21", OUT_OF_RANGE_INPUT)])
async def test_a_page_that_cannot_be_is_rejected(raw_blobs: Raw, blob_rejected: Any, options: str, error: Any) -> None:
    async with blob_rejected(error):
        await raw_blobs("GET", f"/?comp=list&{options}")


# ------------------------------------------------------------------ what is public, and policies


@pytest.mark.owns_account("an account may forbid that anything is public")
@pytest.mark.parametrize("access", [None, PublicAccess.BLOB, PublicAccess.CONTAINER])
async def test_public_access_is_reported(container: Any, access: Any) -> None:
    await container.set_container_access_policy({}, public_access=access)
    assert (await container.get_container_access_policy())["public_access"] == access
    assert (await container.get_container_properties()).public_access == access


async def test_policies_are_kept_and_replaced(container: Any) -> None:
    start, expiry = datetime(2030, 1, 1, tzinfo=timezone.utc), datetime(2031, 1, 1, tzinfo=timezone.utc)
    await container.set_container_access_policy({"readers": AccessPolicy("rl", expiry, start)})
    (policy,) = (await container.get_container_access_policy())["signed_identifiers"]
    assert (policy.id, policy.access_policy.permission) == ("readers", "rl")
    assert policy.access_policy.start.startswith("2030-01-01T00:00:00")
    await container.set_container_access_policy({})
    assert (await container.get_container_access_policy())["signed_identifiers"] == []


@BLOB_POLICIES
async def test_there_are_up_to_five_policies(raw_blobs: Raw, container: Any, blob_rejected: Any) -> None:
    path = f"/{container.container_name}?restype=container&comp=acl"

    def body(count: int) -> str:
        terms = "<AccessPolicy><Permission>r</Permission></AccessPolicy>"
        found = "".join(f"<SignedIdentifier><Id>{each}</Id>{terms}</SignedIdentifier>" for each in range(count))
        return f"<SignedIdentifiers>{found}</SignedIdentifiers>"

    await raw_blobs("PUT", path, body=body(5))
    async with blob_rejected(BAD_XML):
        await raw_blobs("PUT", path, body=body(6))


# ------------------------------------------------------------------ conditions and leases


async def test_a_container_is_deleted_under_conditions_of_time(container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(UNMET):
        await container.delete_container(if_unmodified_since=OLD)
    await container.delete_container(if_modified_since=OLD)


async def test_a_lease_guards_the_deletion_and_nothing_else(container: Any, blob_rejected: Any) -> None:
    lease = await container.acquire_lease(15)
    await container.set_container_metadata({"Owner": "Don"})
    await container.upload_blob("b", b"...")
    assert (await container.get_container_properties()).lease.state == "leased"
    async with blob_rejected(ALREADY_LEASED):
        await container.acquire_lease(15)
    async with blob_rejected(CONTAINER_LEASE_MISSING):
        await container.delete_container()
    async with blob_rejected(OTHER_CONTAINER_LEASE):
        await container.delete_container(lease=str(uuid4()))
    await container.delete_container(lease=lease)


async def test_a_released_lease_can_be_taken_by_others(container: Any) -> None:
    lease = await container.acquire_lease(60)
    await lease.release()
    again = await container.acquire_lease(-1, lease_id=(proposed := str(uuid4())))
    assert again.id == proposed
    assert await again.break_lease(0) == 0
    assert (await container.get_container_properties()).lease.state == "broken"
