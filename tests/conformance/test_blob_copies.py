"""Copies within an account, and snapshots."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import ContentSettings, generate_blob_sas

from conformance.blob_errors import BLOB_EXISTS, NO_BLOB, NO_PENDING_COPY, SNAPSHOTS_PRESENT, SOURCE_UNMET, TARGET_UNMET
from conformance.deviations import BLOB_COPIES, BLOB_COPY_CONDITIONS, BLOB_FROM_URL, BLOB_SNAPSHOTS
from conformance.signatures import HOUR, now
from conformance.test_blob_blobs import text_of
from support.backends import Backend

OLD, NEW = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2001, 2100))
STALE = '"0x1"'


@pytest.fixture
def source(backend: Backend, container: Any) -> Any:
    """The SDK's client of a blob to be copied, to be awaited."""

    async def write() -> Any:
        settings = ContentSettings(content_type="image/jpeg", content_language="en")
        return await container.upload_blob(
            "source", b"text", metadata={"Owner": "Don"}, content_settings=settings, tags={"state": "raw"}
        )

    return backend.run(write())


@pytest.fixture
def target(container: Any) -> Any:
    """The SDK's client of a blob that is not there yet, to be awaited."""
    return container.get_blob_client("target")


@pytest.fixture
def readable(backend: Backend, container: Any, key: AzureNamedKeyCredential, source: Any) -> str:
    """The URL of the source, with a signature to read it."""
    name, secret = key.named_key
    token = generate_blob_sas(
        name, container.container_name, "source", account_key=secret, permission="r", expiry=now() + HOUR
    )
    return f"{source.url}?{token}"


# ------------------------------------------------------------------ copies


@pytest.mark.parametrize("sync", [None, True], ids=["started", "at once"])
async def test_a_copy_is_like_its_source(source: Any, readable: str, target: Any, sync: bool | None) -> None:
    answer = await target.start_copy_from_url(readable if sync else source.url, requires_sync=sync)
    assert answer["copy_status"] == "success"
    copied, original = await target.get_blob_properties(), await source.get_blob_properties()
    assert await text_of(target) == b"text"
    assert (copied.metadata, copied.content_settings.content_type) == ({"Owner": "Don"}, "image/jpeg")
    assert copied.content_settings.content_language == "en"
    assert (copied.etag, copied.etag != original.etag) == (answer["etag"], True)
    assert await target.get_blob_tags() == {}


async def test_a_copy_reports_its_source(source: Any, target: Any) -> None:
    answer = await target.start_copy_from_url(source.url)
    copy = (await target.get_blob_properties()).copy
    assert (copy.id, copy.status, copy.progress, copy.source) == (
        answer["copy_id"],
        "success",
        "4/4",
        source.url,
    )
    await target.upload_blob(b"new", overwrite=True)
    assert (await target.get_blob_properties()).copy.id is None


async def test_a_copy_may_have_its_own_metadata(source: Any, target: Any) -> None:
    await target.start_copy_from_url(source.url, metadata={"colour": "red"})
    assert (await target.get_blob_properties()).metadata == {"colour": "red"}


async def test_a_blob_is_copied_into_another_container(blob_service: Any, new_container_name: Any, source: Any) -> None:
    other = await blob_service.create_container(new_container_name())
    target = other.get_blob_client("target")
    await target.start_copy_from_url(source.url)
    assert await text_of(target) == b"text"


async def test_a_copy_does_not_change_with_its_source(source: Any, target: Any) -> None:
    await target.start_copy_from_url(source.url)
    await source.upload_blob(b"new", overwrite=True)
    assert await text_of(target) == b"text"
    await target.start_copy_from_url(source.url)
    assert await text_of(target) == b"new"


async def test_what_is_not_there_is_not_copied(container: Any, target: Any, blob_rejected: Any) -> None:
    async with blob_rejected(NO_BLOB):
        await target.start_copy_from_url(container.get_blob_client("missing").url)


@BLOB_COPY_CONDITIONS
@pytest.mark.parametrize(
    "unmet",
    [
        {"source_etag": STALE, "source_match_condition": MatchConditions.IfNotModified},
        {"source_if_modified_since": NEW},
        {"source_if_unmodified_since": OLD},
    ],
    ids=["other", "old", "new"],
)
async def test_a_copy_may_ask_for_a_version_of_its_source(
    source: Any, target: Any, blob_rejected: Any, unmet: dict[str, Any]
) -> None:
    async with blob_rejected(SOURCE_UNMET):
        await target.start_copy_from_url(source.url, **unmet)


@BLOB_COPY_CONDITIONS
async def test_a_copy_may_ask_for_a_version_of_what_it_replaces(source: Any, target: Any, blob_rejected: Any) -> None:
    await target.upload_blob(b"old")
    for unmet in (
        {"etag": STALE, "match_condition": MatchConditions.IfNotModified},
        {"if_modified_since": NEW},
        {"if_unmodified_since": OLD},
    ):
        async with blob_rejected(TARGET_UNMET):
            await target.start_copy_from_url(source.url, **unmet)
    etag = (await target.get_blob_properties()).etag
    await target.start_copy_from_url(source.url, etag=etag, match_condition=MatchConditions.IfNotModified)


async def test_a_copy_may_replace_nothing(source: Any, target: Any, blob_rejected: Any) -> None:
    await target.start_copy_from_url(source.url, match_condition=MatchConditions.IfMissing)
    async with blob_rejected(BLOB_EXISTS):
        await target.start_copy_from_url(source.url, match_condition=MatchConditions.IfMissing)


@BLOB_COPIES
async def test_a_finished_copy_is_not_aborted(source: Any, target: Any, blob_rejected: Any) -> None:
    answer = await target.start_copy_from_url(source.url)
    for copy_id in (answer["copy_id"], "00000000-0000-0000-0000-000000000000"):
        async with blob_rejected(NO_PENDING_COPY):
            await target.abort_copy(copy_id)


# ------------------------------------------------------------------ content from a URL


@BLOB_FROM_URL
async def test_a_blob_is_written_with_content_from_a_url(readable: str, target: Any) -> None:
    await target.upload_blob_from_url(readable, metadata={"colour": "red"})
    properties = await target.get_blob_properties()
    assert (await text_of(target), properties.metadata) == (b"text", {"colour": "red"})


async def test_a_block_is_a_part_of_another_blob(readable: str, target: Any) -> None:
    await target.stage_block_from_url("1", readable, source_offset=1, source_length=2)
    await target.stage_block("2", b"!")
    await target.commit_block_list(["1", "2"])
    assert await text_of(target) == b"ex!"


@BLOB_FROM_URL
async def test_so_is_what_is_appended(readable: str, target: Any) -> None:
    await target.create_append_blob()
    answer = await target.append_block_from_url(readable, source_offset=0, source_length=3, appendpos_condition=0)
    assert (answer["blob_append_offset"], await text_of(target)) == ("0", b"tex")


# ------------------------------------------------------------------ snapshots


async def test_a_snapshot_stays_as_it_is(container: Any, source: Any) -> None:
    etag = (await source.get_blob_properties()).etag
    answer = await source.create_snapshot()
    await source.upload_blob(b"new", overwrite=True)
    snapshot = container.get_blob_client("source", snapshot=answer["snapshot"])
    properties = await snapshot.get_blob_properties()
    assert await text_of(snapshot) == b"text"
    assert (properties.etag, properties.metadata) == (etag, {"Owner": "Don"})
    assert await text_of(source) == b"new"


async def test_a_snapshot_may_have_its_own_metadata(container: Any, source: Any) -> None:
    etag = (await source.get_blob_properties()).etag
    answer = await source.create_snapshot(metadata={"colour": "red"})
    snapshot = container.get_blob_client("source", snapshot=answer["snapshot"])
    assert (await snapshot.get_blob_properties()).metadata == {"colour": "red"}
    assert (await source.get_blob_properties()).etag == etag


async def test_a_snapshot_is_copied_over_its_blob(container: Any, source: Any) -> None:
    answer = await source.create_snapshot()
    await source.upload_blob(b"new", overwrite=True)
    await source.start_copy_from_url(container.get_blob_client("source", snapshot=answer["snapshot"]).url)
    assert await text_of(source) == b"text"
    assert len([each async for each in container.list_blobs(include=["snapshots"])]) == 2


@BLOB_SNAPSHOTS
async def test_a_blob_is_deleted_with_its_snapshots_or_not_at_all(
    container: Any, source: Any, blob_rejected: Any
) -> None:
    for _ in range(2):
        await source.create_snapshot()
    async with blob_rejected(SNAPSHOTS_PRESENT):
        await source.delete_blob()
    await source.delete_blob(delete_snapshots="include")
    assert [each async for each in container.list_blobs(include=["snapshots"])] == []


async def test_its_snapshots_are_deleted_alone_if_asked_for(container: Any, source: Any) -> None:
    first, second = [(await source.create_snapshot())["snapshot"] for _ in range(2)]
    await container.get_blob_client("source", snapshot=first).delete_blob()
    assert {each.snapshot async for each in container.list_blobs(include=["snapshots"])} == {second, None}
    await source.delete_blob(delete_snapshots="only")
    assert [each.snapshot async for each in container.list_blobs(include=["snapshots"])] == [None]


async def test_a_missing_snapshot_is_no_blob(container: Any, source: Any, blob_rejected: Any) -> None:
    missing = container.get_blob_client("source", snapshot="2001-01-01T00:00:00.0000000Z")
    for call in (lambda: text_of(missing), lambda: missing.delete_blob()):
        async with blob_rejected(NO_BLOB):
            await call()
