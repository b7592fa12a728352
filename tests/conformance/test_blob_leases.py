"""Leases of blobs: permitted and rejected writes, and the effect of each action."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from azure.core.exceptions import HttpResponseError

from conformance.blob_errors import ALREADY_LEASED, BAD_HEADER, INFINITE_REQUIRED, LEASE_MISSING, NO_LEASE, OTHER_LEASE
from conformance.deviations import BLOB_LEASE_TEXTS, BLOB_LEASES
from conformance.service_errors import ServiceError
from conformance.test_blob_blobs import text_of
from support.backends import Backend, awaited

A, B = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
MISMATCH = ServiceError(
    409, "LeaseIdMismatchWithLeaseOperation", "The lease ID specified did not match the lease ID for the blob."
)
ABSENT = ServiceError(409, "LeaseNotPresentWithLeaseOperation", "There is currently no lease on the blob.")
BROKEN = ServiceError(
    409,
    "LeaseIsBrokenAndCannotBeRenewed",
    "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.",
)
UNCHANGEABLE = ServiceError(
    409,
    "LeaseIsBreakingAndCannotBeChanged",
    "The lease ID matched, but the lease is currently in breaking state and cannot be changed.",
)
BREAKING = ServiceError(
    409,
    "LeaseIsBreakingAndCannotBeAcquired",
    "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.",
)
WRITES = {
    "put": lambda blob, lease: blob.upload_blob(b"new", overwrite=True, lease=lease),
    "stage": lambda blob, lease: blob.stage_block("1", b"new", lease=lease),
    "commit": lambda blob, lease: blob.commit_block_list([], lease=lease),
    "set metadata": lambda blob, lease: blob.set_blob_metadata({"a": "b"}, lease=lease),
    "set properties": lambda blob, lease: blob.set_http_headers(lease=lease),
    "delete": lambda blob, lease: blob.delete_blob(lease=lease),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


@pytest.fixture
def blob(backend: Backend, container: Any) -> Any:
    """The SDK's client of a blob, to be awaited."""

    async def write() -> Any:
        await container.upload_blob("b", b"old")
        return container.get_blob_client("b")

    return backend.run(write())


def lease_of(blob: Any, lease_id: str) -> Any:
    """Return the SDK's client of a lease that may not be there."""
    subject = getattr(blob, "_subject", blob)
    if ".aio." in type(subject).__module__:
        from azure.storage.blob.aio import BlobLeaseClient as AioLease

        return AioLease(subject, lease_id=lease_id)
    from azure.storage.blob import BlobLeaseClient

    return awaited(BlobLeaseClient(subject, lease_id=lease_id))


async def state_of(blob: Any) -> tuple[str, str, str | None]:
    lease = (await blob.get_blob_properties()).lease
    return lease.state, lease.status, lease.duration


# ------------------------------------------------------------------ using


@every_write
async def test_a_write_needs_the_lease_that_runs(blob: Any, blob_rejected: Any, write: Any) -> None:
    await blob.acquire_lease(15, lease_id=A)
    async with blob_rejected(LEASE_MISSING):
        await write(blob, None)
    async with blob_rejected(OTHER_LEASE):
        await write(blob, B)
    await write(blob, A)


@BLOB_LEASE_TEXTS
@every_write
async def test_a_write_under_a_lease_where_there_is_none_is_rejected(blob: Any, blob_rejected: Any, write: Any) -> None:
    async with blob_rejected(NO_LEASE):
        await write(blob, A)


async def test_a_read_needs_no_lease_but_may_name_it(blob: Any) -> None:
    await blob.acquire_lease(15, lease_id=A)
    assert await text_of(blob) == b"old"
    assert await (await blob.download_blob(lease=A)).readall() == b"old"
    with pytest.raises(HttpResponseError) as caught:
        await blob.download_blob(lease=B)
    assert (caught.value.status_code, caught.value.response.headers["x-ms-error-code"]) == (
        412,
        "LeaseIdMismatchWithBlobOperation",
    )


async def test_a_lease_makes_no_version_and_outlives_writes(blob: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    await blob.acquire_lease(-1, lease_id=A)
    assert (await blob.get_blob_properties()).etag == etag
    assert await state_of(blob) == ("leased", "locked", "infinite")
    await blob.upload_blob(b"new", overwrite=True, lease=A)
    assert await state_of(blob) == ("leased", "locked", "infinite")


@BLOB_LEASES
async def test_a_blob_cannot_be_created_with_a_lease_id(container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(NO_LEASE):
        await container.get_blob_client("other").upload_blob(b"...", lease=A)


@BLOB_LEASES
async def test_a_copy_replaces_only_a_blob_with_an_infinite_lease(
    container: Any, blob: Any, blob_rejected: Any
) -> None:
    await container.upload_blob("source", b"...")
    source = container.get_blob_client("source").url
    await blob.acquire_lease(15, lease_id=A)
    async with blob_rejected(LEASE_MISSING):
        await blob.start_copy_from_url(source)
    async with blob_rejected(INFINITE_REQUIRED):
        await blob.start_copy_from_url(source, destination_lease=A)
    await blob.acquire_lease(-1, lease_id=A)
    await blob.start_copy_from_url(source, destination_lease=A)


# ------------------------------------------------------------------ acting


async def test_a_lease_is_taken_once(blob: Any, blob_rejected: Any) -> None:
    lease = await blob.acquire_lease(60)
    assert await state_of(blob) == ("leased", "locked", "fixed")
    async with blob_rejected(ALREADY_LEASED):
        await blob.acquire_lease(60)
    async with blob_rejected(ALREADY_LEASED):
        await blob.acquire_lease(60, lease_id=str(uuid4()))
    again = await blob.acquire_lease(-1, lease_id=lease.id)
    assert again.id == lease.id
    assert await state_of(blob) == ("leased", "locked", "infinite")


async def test_a_released_lease_can_be_taken_by_others(blob: Any) -> None:
    lease = await blob.acquire_lease(60, lease_id=A)
    await lease.renew()
    await lease.release()
    assert await state_of(blob) == ("available", "unlocked", None)
    await blob.acquire_lease(60, lease_id=B)


@BLOB_LEASE_TEXTS
async def test_nothing_is_done_with_a_released_lease(blob: Any, blob_rejected: Any) -> None:
    await (await blob.acquire_lease(60, lease_id=A)).release()
    lease = lease_of(blob, A)
    for call in (lambda: lease.renew(), lambda: lease.release()):
        async with blob_rejected(MISMATCH):
            await call()
    for call in (lambda: lease.change(B), lambda: lease.break_lease()):
        async with blob_rejected(ABSENT):
            await call()


async def test_a_lease_gets_another_id(blob: Any) -> None:
    lease = await blob.acquire_lease(60, lease_id=A)
    await lease.change(B)
    assert lease.id == B
    await lease_of(blob, A).change(B)
    await lease.renew()


@BLOB_LEASE_TEXTS
async def test_the_id_that_it_had_is_of_no_more_use(blob: Any, blob_rejected: Any) -> None:
    await (await blob.acquire_lease(60, lease_id=A)).change(B)
    lease = lease_of(blob, A)
    for call in (lambda: lease.renew(), lambda: lease.release(), lambda: lease.change(A.replace("a", "c"))):
        async with blob_rejected(MISMATCH):
            await call()


async def test_a_lease_that_is_breaking_still_guards(blob: Any, blob_rejected: Any) -> None:
    lease = await blob.acquire_lease(60, lease_id=A)
    assert await lease.break_lease(50) == 50
    assert await state_of(blob) == ("breaking", "locked", None)
    async with blob_rejected(LEASE_MISSING):
        await blob.upload_blob(b"new", overwrite=True)
    await blob.set_blob_metadata({"a": "b"}, lease=A)
    async with blob_rejected(BROKEN):
        await lease.renew()
    async with blob_rejected(UNCHANGEABLE):
        await lease.change(B)
    async with blob_rejected(ALREADY_LEASED):
        await blob.acquire_lease(60)
    assert await lease.break_lease(40) == 40
    await lease.release()
    assert await state_of(blob) == ("available", "unlocked", None)


@BLOB_LEASE_TEXTS
async def test_a_lease_that_is_breaking_is_not_to_be_acquired_by_its_holder(blob: Any, blob_rejected: Any) -> None:
    lease = await blob.acquire_lease(60, lease_id=A)
    await lease.break_lease(50)
    async with blob_rejected(BREAKING):
        await blob.acquire_lease(60, lease_id=A)


async def test_a_broken_lease_guards_nothing(blob: Any, blob_rejected: Any) -> None:
    lease = await blob.acquire_lease(-1, lease_id=A)
    assert await lease.break_lease() == 0
    assert await state_of(blob) == ("broken", "unlocked", None)
    async with blob_rejected(BROKEN):
        await lease.renew()
    assert await lease.break_lease(30) == 0
    await blob.acquire_lease(15, lease_id=B)
    assert await state_of(blob) == ("leased", "locked", "fixed")


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("write", ["put", "commit", "set metadata", "set properties"])
async def test_a_write_makes_a_broken_lease_available(blob: Any, write: str) -> None:
    await (await blob.acquire_lease(-1, lease_id=A)).break_lease()
    await WRITES[write](blob, None)
    assert await state_of(blob) == ("available", "unlocked", None)


@BLOB_LEASES
async def test_a_copy_makes_a_broken_lease_available(container: Any, blob: Any, blob_rejected: Any) -> None:
    await container.upload_blob("source", b"...")
    lease = await blob.acquire_lease(-1, lease_id=A)
    await lease.break_lease()
    await blob.start_copy_from_url(container.get_blob_client("source").url)
    assert await state_of(blob) == ("available", "unlocked", None)
    async with blob_rejected(ABSENT):
        await lease.break_lease()


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("duration", [14, 61, 0, -2])
async def test_a_lease_is_for_15_to_60_seconds_or_infinite(blob: Any, blob_rejected: Any, duration: int) -> None:
    async with blob_rejected(BAD_HEADER):
        await blob.acquire_lease(duration)


@BLOB_LEASES
async def test_a_lease_has_a_guid(blob: Any, blob_rejected: Any) -> None:
    async with blob_rejected(BAD_HEADER):
        await blob.acquire_lease(15, lease_id="x")


@pytest.mark.parametrize("period", [-1, 61])
async def test_a_break_takes_up_to_60_seconds(blob: Any, blob_rejected: Any, period: int) -> None:
    lease = await blob.acquire_lease(60)
    async with blob_rejected(BAD_HEADER):
        await lease.break_lease(period)


async def test_an_expired_lease_guards_nothing_and_is_renewed_if_nothing_was_written(
    engine: Any, blob: Any, blob_rejected: Any
) -> None:
    lease = await blob.acquire_lease(15)
    engine.clock.advance(15)
    assert await state_of(blob) == ("expired", "unlocked", None)
    await lease.renew()
    engine.clock.advance(15)
    await blob.set_blob_metadata({"a": "b"})
    async with blob_rejected(MISMATCH):
        await lease.renew()
