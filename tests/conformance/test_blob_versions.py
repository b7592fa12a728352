"""Versions of blobs, in an in-memory account that keeps them: creating, reading, listing and deleting them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    BlobBlock,
    ContainerClient,
    ContentSettings,
    PartialBatchErrorException,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)

from conformance.blob_errors import NO_BLOB, SNAPSHOTS_PRESENT, UNMET
from conformance.service_errors import ServiceError, service_error_in
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.serving import serving
from tablepatterns_engine.transport import EngineTransport

NOW = datetime(2023, 1, 27, 22, 16, 5, tzinfo=timezone.utc)
IS_CURRENT = ServiceError(403, "OperationNotAllowedOnRootBlob", "The specified operation is not allowed on root blob.")
NO_LEASE = ServiceError(412, "LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob.")
UNAUTHORIZED = ServiceError(
    403,
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
LEASE = "00000000-0000-0000-0000-000000000001"
NAMES = ["b", "a/b c", "é", "%2F", "a+b&c=d?e#f", "\U0001f600"]

# Azurite 3.37 keeps no versions
pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def engine() -> Engine:
    """An account that keeps versions, and whose clock stands still."""
    return Engine(clock=Clock(NOW), keep_blob_versions=True)


async def write(container: Any, *texts: str, name: str = "b") -> list[str]:
    """Write a blob several times; return the ids of its versions."""
    return [
        (await container.get_blob_client(name).upload_blob(text.encode(), overwrite=True))["version_id"]
        for text in texts
    ]


async def read(blob: Any, version: str | None = None) -> str:
    content: bytes = await (await blob.download_blob(version_id=version)).readall()
    return content.decode()


async def versions(container: Any, **options: Any) -> list[tuple[str, str, bool | None]]:
    """Return name, id and whether it is current of everything that a list of versions has."""
    listed = [blob async for blob in container.list_blobs(include=["versions"], **options)]
    return [(blob.name, blob.version_id, blob.is_current_version) for blob in listed]


async def stage_and_commit(blob: Any) -> Any:
    await blob.stage_block("YQ==", b"new")
    return await blob.commit_block_list([BlobBlock("YQ==")])


CREATING: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "Put Blob": lambda blob: blob.upload_blob(b"new", overwrite=True),
    "Put Blob of an append blob": lambda blob: blob.create_append_blob(),
    "Put Block List": stage_and_commit,
    "Copy Blob": lambda blob: blob.start_copy_from_url(blob.url.replace("/b", "/source")),
    "Set Blob Metadata": lambda blob: blob.set_blob_metadata({"Owner": "Don"}),
    "Snapshot Blob": lambda blob: blob.create_snapshot(),
}
OTHERS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "Put Block": lambda blob: blob.stage_block("YQ==", b"new"),
    "Set Blob Properties": lambda blob: blob.set_http_headers(ContentSettings("text/plain")),
    "Set Blob Tags": lambda blob: blob.set_blob_tags({"state": "raw"}),
    "Set Blob Tier": lambda blob: blob.set_standard_blob_tier("Cool"),
    "Lease Blob": lambda blob: blob.acquire_lease(),
    "Append Block": lambda blob: blob.append_block(b"new"),
    "Append Blob Seal": lambda blob: blob.seal_append_blob(),
}


@pytest.mark.parametrize("change", CREATING.values(), ids=CREATING)
async def test_a_write_creates_a_version(container: Any, change: Any) -> None:
    await write(container, "source", name="source")
    (first,) = await write(container, "old")
    blob = container.get_blob_client("b")
    second = (await change(blob))["version_id"]
    assert re.fullmatch(r"2023-01-27T22:16:05\.\d{7}Z", second)
    assert second > first
    assert await versions(container, name_starts_with="b") == [("b", first, None), ("b", second, True)]
    assert await read(blob, first) == "old"
    properties = await blob.get_blob_properties()
    assert (properties.version_id, properties.is_current_version) == (second, True)


@pytest.mark.parametrize("name", OTHERS)
async def test_other_changes_keep_the_version(container: Any, name: str) -> None:
    blob = container.get_blob_client("b")
    created = await (blob.create_append_blob() if name.startswith("Append") else blob.upload_blob(b"old"))
    version = created["version_id"]
    result = await OTHERS[name](blob)
    assert not isinstance(result, dict) or result.get("version_id") is None
    assert await versions(container) == [("b", version, True)]


@pytest.mark.parametrize("name", NAMES)
async def test_a_deleted_blob_has_its_versions(container: Any, blob_rejected: Any, name: str) -> None:
    blob = container.get_blob_client(name)
    ids = await write(container, "1", "2", name=name)
    await blob.delete_blob()
    async with blob_rejected(NO_BLOB):
        await blob.download_blob()
    async with blob_rejected(NO_BLOB):
        await blob.delete_blob()
    assert [each.name async for each in container.list_blobs()] == []
    assert [await read(blob, version) for version in ids] == ["1", "2"]
    (deleted,) = [each async for each in container.list_blobs(include=["deletedwithversions"])]
    assert (deleted.name, deleted.version_id, deleted.has_versions_only) == (name, ids[1], True)
    ids += await write(container, "3", name=name)
    assert await versions(container) == [(name, version, True if version == ids[2] else None) for version in ids]
    assert [each async for each in container.list_blobs(include=["deletedwithversions"])] != []


async def test_a_version_is_deleted_by_its_id_and_the_current_one_is_not(container: Any, blob_rejected: Any) -> None:
    blob = container.get_blob_client("b")
    first, second = await write(container, "1", "2")
    async with blob_rejected(IS_CURRENT):
        await blob.delete_blob(version_id=second)
    for words, text in (("include", first), ("only", second)):
        with pytest.raises(HttpResponseError, match="Version id should not be provided"):
            await blob.delete_blob(version_id=text, delete_snapshots=words)
    await blob.delete_blob(version_id=first)
    async with blob_rejected(NO_BLOB):
        await blob.delete_blob(version_id=first)
    assert await read(blob) == "2"
    await blob.delete_blob()
    await blob.delete_blob(version_id=second)
    assert await versions(container) == []
    assert [each async for each in container.list_blobs(include=["deletedwithversions"])] == []


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_copy_makes_a_version_current_again(container: Any, is_deleted: bool) -> None:
    blob = container.get_blob_client("b")
    await blob.upload_blob(b"1", metadata={"Owner": "Don"}, tags={"state": "raw"})
    first = (await blob.get_blob_properties()).version_id
    (second,) = await write(container, "2")
    if is_deleted:
        await blob.delete_blob()
    third = (await blob.start_copy_from_url(f"{blob.url}?versionid={first}"))["version_id"]
    assert (await read(blob), (await blob.get_blob_properties()).metadata) == ("1", {"Owner": "Don"})
    assert [version for _, version, _ in await versions(container)] == [first, second, third]


async def test_a_snapshot_is_no_version(container: Any, blob_rejected: Any) -> None:
    blob = container.get_blob_client("b")
    (first,) = await write(container, "1")
    taken = await blob.create_snapshot(metadata={"Owner": "Don"})
    properties = await container.get_blob_client("b", snapshot=taken["snapshot"]).get_blob_properties()
    assert (properties.version_id, properties.metadata) == (None, {"Owner": "Don"})
    assert await versions(container) == [("b", first, None), ("b", taken["version_id"], True)]
    listed = [each async for each in container.list_blobs(include=["snapshots"])]
    assert [(each.snapshot, each.version_id) for each in listed] == [
        (taken["snapshot"], None),
        (None, taken["version_id"]),
    ]
    assert [each.snapshot async for each in container.list_blobs(include=["snapshots", "versions"])] == [None, None]
    async with blob_rejected(SNAPSHOTS_PRESENT):
        await blob.delete_blob()
    await blob.delete_blob(delete_snapshots="only")
    assert await versions(container) == [("b", first, None), ("b", taken["version_id"], True)]
    await blob.delete_blob()
    assert await versions(container) == [("b", first, None), ("b", taken["version_id"], None)]


async def test_conditions_and_leases_are_those_of_the_version(container: Any, blob_rejected: Any) -> None:
    blob = container.get_blob_client("b")
    (first,) = await write(container, "1")
    etag = (await blob.get_blob_properties()).etag
    (second,) = await write(container, "2")
    async with blob_rejected(UNMET):
        await blob.download_blob(etag=etag, match_condition=MatchConditions.IfNotModified)
    of_version = {"version_id": first, "etag": etag}
    assert (await blob.get_blob_properties(**of_version, match_condition=MatchConditions.IfNotModified)).etag == etag
    with pytest.raises(HttpResponseError) as caught:
        await blob.get_blob_properties(**of_version, match_condition=MatchConditions.IfModified)
    assert caught.value.status_code == 304
    await blob.acquire_lease(lease_id=LEASE)
    assert (await blob.get_blob_properties()).lease.state == "leased"
    for version in (first, second):
        assert (await blob.get_blob_properties(version_id=version)).lease.state is None
    async with blob_rejected(NO_LEASE):
        await blob.download_blob(version_id=first, lease=LEASE)
    third = (await blob.upload_blob(b"3", overwrite=True, lease=LEASE))["version_id"]
    assert (await blob.get_blob_properties()).lease.state == "leased"
    await blob.delete_blob(version_id=first)
    assert [version for _, version, _ in await versions(container)] == [second, third]


async def test_tags_and_tiers_are_those_of_the_version(container: Any) -> None:
    blob = container.get_blob_client("b")
    first, second = await write(container, "1", "2")
    await blob.set_blob_tags({"state": "raw"}, version_id=first)
    await blob.set_standard_blob_tier("Archive", version_id=first)
    assert [await blob.get_blob_tags(version_id=version) for version in (first, second)] == [{"state": "raw"}, {}]
    listed = {each.version_id: each.blob_tier async for each in container.list_blobs(include=["versions"])}
    assert listed == {first: "Archive", second: "Hot"}
    with pytest.raises(HttpResponseError, match="BlobArchived"):
        await read(blob, first)
    assert await read(blob) == "2"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_pages_end_between_versions(container: Any, size: int) -> None:
    ids = [version for name in ("a", "b", "c") for version in await write(container, "1", "2", name=name)]
    await container.get_blob_client("b").delete_blob()
    pages = container.list_blobs(include=["versions"], results_per_page=size).by_page()
    listed = [[each.version_id async for each in page] async for page in pages]
    assert [version for page in listed for version in page] == ids
    assert {len(page) for page in listed[:-1]} <= {size}
    walked = [each.name async for each in container.walk_blobs(include=["versions"], delimiter="/")]
    assert walked == ["a", "a", "b", "b", "c", "c"]


async def test_a_batch_deletes_versions(container: Any) -> None:
    first, second, third = await write(container, "1", "2", "3")
    blobs = [{"name": "b", "version_id": version} for version in (first, second)]
    assert [part.status_code async for part in await container.delete_blobs(*blobs)] == [202, 202]
    with pytest.raises(PartialBatchErrorException) as caught:
        await container.delete_blobs({"name": "b", "version_id": first}, {"name": "b", "version_id": third})
    assert [part.status_code for part in caught.value.parts] == [404, 403]
    assert await versions(container) == [("b", third, True)]


async def test_a_blob_of_before_becomes_a_version_once_versions_are_kept(container: Any, engine: Engine) -> None:
    blob = container.get_blob_client("b")
    engine.keep_blob_versions = False
    assert await write(container, "1") == [None]
    engine.keep_blob_versions = True
    assert [version for _, version, _ in await versions(container)] == [None]
    (second,) = await write(container, "2")
    (first, is_current), (same, _) = [(version, current) for _, version, current in await versions(container)]
    assert (is_current, same, await read(blob, first)) == (None, second, "1")
    engine.keep_blob_versions = False
    assert await write(container, "3", "4") == [None, None]
    assert [version for _, version, _ in await versions(container)] == [first, second, None]
    assert await read(blob, second) == "2"
    await blob.delete_blob()
    assert [version for _, version, _ in await versions(container)] == [first, second]


# ------------------------------------------------------------------ signatures


def client(engine: Engine, sas: str) -> Any:
    url = f"https://{engine.account_name}.blob.core.windows.net/photos"
    return ContainerClient.from_container_url(f"{url}?{sas}", transport=EngineTransport(engine)).get_blob_client("b")


def error_of(call: Callable[[], Any]) -> ServiceError | None:
    try:
        call()
    except HttpResponseError as error:
        return service_error_in(error)
    return None


@pytest.fixture
def ids(engine: Engine) -> list[str]:
    """The ids of three versions of a blob."""
    text = (
        f"DefaultEndpointsProtocol=https;AccountName={engine.account_name};AccountKey={engine.account_key};"
        "EndpointSuffix=core.windows.net"
    )
    owner = ContainerClient.from_connection_string(text, "photos", transport=EngineTransport(engine))
    owner.create_container()
    return [upload(owner, content) for content in (b"1", b"2", b"3")]


def upload(container: ContainerClient, content: bytes) -> str:
    version: str | None = container.upload_blob("b", content, overwrite=True).get_blob_properties().version_id
    assert version is not None
    return version


def test_a_signature_of_a_version_is_for_that_version(engine: Engine, ids: list[str]) -> None:
    key, name, (first, second, _) = engine.account_key, engine.account_name, ids
    options: dict[str, Any] = {"permission": "rx", "expiry": NOW + timedelta(hours=1)}
    of_version = client(engine, generate_blob_sas(name, "photos", "b", account_key=key, version_id=first, **options))
    of_blob = client(engine, generate_blob_sas(name, "photos", "b", account_key=key, **options))
    of_container = client(engine, generate_container_sas(name, "photos", account_key=key, **options))
    assert error_of(lambda: of_version.download_blob(version_id=first)) is None
    assert error_of(lambda: of_container.download_blob(version_id=first)) is None
    for call in (
        lambda: of_version.download_blob(version_id=second),
        lambda: of_version.download_blob(),
        lambda: of_blob.download_blob(version_id=first),
    ):
        error = error_of(call)
        assert error is not None
        assert error.code == "AuthenticationFailed"
    assert error_of(lambda: of_container.delete_blob()) == UNAUTHORIZED
    assert error_of(lambda: of_version.delete_blob(version_id=first)) is None
    assert error_of(lambda: of_container.delete_blob(version_id=second)) is None


@pytest.mark.parametrize(("letters", "is_allowed"), [("d", False), ("x", True), ("dx", True)])
def test_deleting_a_version_needs_a_permission_of_its_own(
    engine: Engine, ids: list[str], letters: str, is_allowed: bool
) -> None:
    expiry = NOW + timedelta(hours=1)
    sas = generate_account_sas(engine.account_name, engine.account_key, "o", letters, expiry)
    error = error_of(lambda: client(engine, sas).delete_blob(version_id=ids[0]))
    assert error == (None if is_allowed else UNAUTHORIZED)


def test_a_served_account_keeps_versions() -> None:
    with serving(Engine(keep_blob_versions=True)) as text:
        container = ContainerClient.from_connection_string(text, "photos")
        container.create_container()
        first, second = [upload(container, content) for content in (b"1", b"2")]
        blob = container.get_blob_client("b")
        assert [blob.download_blob(version_id=version).readall() for version in (first, second)] == [b"1", b"2"]
        assert [each.version_id for each in container.list_blobs(include=["versions"])] == [first, second]
