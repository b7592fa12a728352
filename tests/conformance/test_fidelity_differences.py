"""Deliberate differences between the in-memory engine and the service, as listed on the fidelity page."""

from __future__ import annotations

from typing import Any

import pytest
from azure.storage.blob import StandardBlobTier

from conformance.raw import Raw

# What Azurite does is another matter
pytestmark = pytest.mark.usefixtures("engine")


async def test_an_archived_blob_comes_back_at_once(container: Any) -> None:
    blob = await container.upload_blob("b", b"old")
    await blob.set_standard_blob_tier(StandardBlobTier.ARCHIVE)
    await blob.set_standard_blob_tier(StandardBlobTier.HOT)
    assert (await blob.get_blob_properties()).archive_status is None
    assert await (await blob.download_blob()).readall() == b"old"


async def test_a_copy_in_one_step_is_like_any_other(container: Any) -> None:
    await container.set_container_access_policy({}, public_access="blob")
    source = await container.upload_blob("a", b"old")
    target = container.get_blob_client("b")
    for options in ({"requires_sync": True}, {}):
        copied = await target.start_copy_from_url(source.url, **options)
        assert copied["copy_status"] == "success"
        assert await (await target.download_blob()).readall() == b"old"


async def test_no_versions_and_no_deleted_blobs_are_listed(container: Any) -> None:
    for name in ("a", "b"):
        await container.upload_blob(name, b"old")
        await container.upload_blob(name, b"new", overwrite=True)
    await container.delete_blob("a")
    found = [each async for each in container.list_blobs(include=["versions", "deleted"])]
    assert [(each.name, each.version_id, each.deleted) for each in found] == [("b", None, None)]


@pytest.mark.parametrize("date", ["Sat, 01 Jan 2000 00:00:00 GMT", "Wed, 01 Jan 2200 00:00:00 GMT"])
async def test_the_date_of_a_request_is_not_compared_with_the_clock(raw: Raw, date: str) -> None:
    assert (await raw("GET", "/Tables", {"x-ms-date": date})).status == 200


@pytest.mark.parametrize("timeout", ["0", "1"])
async def test_the_time_limit_of_a_request_is_not_looked_at(raw: Raw, raw_queues: Raw, timeout: str) -> None:
    assert (await raw("GET", f"/Tables?timeout={timeout}")).status == 200
    assert (await raw_queues("GET", f"/?comp=list&timeout={timeout}")).status == 200
