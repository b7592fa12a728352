"""Conditional requests on versions of a blob."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError

from conformance.blob_errors import BLOB_EXISTS, MANY_CONDITIONS, NO_BLOB, UNMET
from conformance.deviations import BLOB_CONDITIONS
from conformance.raw import Raw
from conformance.test_blob_blobs import text_of
from support.backends import Backend

OLD, NEW = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2001, 2100))
STALE = '"0x1"'
WRITES = {
    "put": lambda blob, **terms: blob.upload_blob(b"new", overwrite=True, **terms),
    "commit": lambda blob, **terms: blob.commit_block_list([], **terms),
    "set metadata": lambda blob, **terms: blob.set_blob_metadata({"a": "b"}, **terms),
    "set properties": lambda blob, **terms: blob.set_http_headers(**terms),
    "lease": lambda blob, **terms: blob.acquire_lease(15, **terms),
    "delete": lambda blob, **terms: blob.delete_blob(**terms),
}
READS = {
    "get": lambda blob, **terms: blob.download_blob(**terms),
    "get properties": lambda blob, **terms: blob.get_blob_properties(**terms),
}
CREATES = ["put", "commit"]
OTHERS = [name for name in WRITES if name not in CREATES]
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
every_creation = pytest.mark.parametrize("write", [WRITES[name] for name in CREATES], ids=CREATES)
other_writes = pytest.mark.parametrize("write", [WRITES[name] for name in OTHERS], ids=OTHERS)
every_read = pytest.mark.parametrize("read", READS.values(), ids=READS)
every_call = pytest.mark.parametrize("call", [*WRITES.values(), *READS.values()], ids=[*WRITES, *READS])


def if_still(etag: str) -> dict[str, Any]:
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def if_other(etag: str) -> dict[str, Any]:
    return {"etag": etag, "match_condition": MatchConditions.IfModified}


@pytest.fixture
def blob(backend: Backend, container: Any) -> Any:
    """The SDK's client of a blob, to be awaited."""

    async def write() -> Any:
        await container.upload_blob("b", b"old")
        return container.get_blob_client("b")

    return backend.run(write())


@pytest.mark.few_on_azurite
@every_write
@pytest.mark.parametrize(
    "unmet", [if_still(STALE), {"if_modified_since": NEW}, {"if_unmodified_since": OLD}], ids=["other", "old", "new"]
)
async def test_a_write_whose_condition_is_not_met_is_rejected(
    blob: Any, blob_rejected: Any, write: Any, unmet: dict[str, Any]
) -> None:
    async with blob_rejected(UNMET):
        await write(blob, **unmet)
    with pytest.raises(ResourceModifiedError):
        await write(blob, **unmet)


@every_write
async def test_a_write_of_another_version_than_that_is_rejected(blob: Any, blob_rejected: Any, write: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    async with blob_rejected(UNMET):
        await write(blob, **if_other(etag))


@every_call
async def test_what_meets_its_condition_is_carried_out(blob: Any, call: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    await call(blob, **if_still(etag))


@pytest.mark.few_on_azurite
@every_call
@pytest.mark.parametrize(
    "met", [if_other(STALE), {"if_modified_since": OLD}, {"if_unmodified_since": NEW}], ids=["other", "new", "old"]
)
async def test_so_it_is_where_the_version_is_another_or_the_time_is_right(
    blob: Any, call: Any, met: dict[str, Any]
) -> None:
    await call(blob, **met)


@pytest.mark.few_on_azurite
@every_read
@pytest.mark.parametrize("unmet", [if_still(STALE), {"if_unmodified_since": OLD}], ids=["other", "new"])
async def test_a_read_of_a_version_that_is_no_more_is_rejected(blob: Any, read: Any, unmet: dict[str, Any]) -> None:
    with pytest.raises(ResourceModifiedError) as caught:
        await read(blob, **unmet)
    assert (caught.value.status_code, caught.value.response.headers["x-ms-error-code"]) == (412, "ConditionNotMet")


@every_read
async def test_what_the_reader_has_is_not_sent_again(blob: Any, read: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    for unmet in (if_other(etag), {"if_modified_since": NEW}):
        with pytest.raises(HttpResponseError) as caught:
            await read(blob, **unmet)
        assert (caught.value.status_code, caught.value.response.headers["x-ms-error-code"]) == (
            304,
            "ConditionNotMet",
        )


async def test_a_read_may_combine_conditions(raw_blobs: Raw, container: Any, blob: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    since = "Sat, 01 Jan 2000 00:00:00 GMT"
    # Of these two, one is enough
    headers = {"If-None-Match": etag, "If-Modified-Since": since}
    assert (await raw_blobs("GET", f"/{container.container_name}/b", headers)).text == "old"


@BLOB_CONDITIONS
async def test_a_condition_may_name_several_versions(raw_blobs: Raw, container: Any, blob: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    headers = {"If-Match": f'"0x1", {etag}'}
    assert (await raw_blobs("GET", f"/{container.container_name}/b", headers)).text == "old"


@BLOB_CONDITIONS
async def test_a_snapshot_is_taken_under_conditions(blob: Any, blob_rejected: Any) -> None:
    etag = (await blob.get_blob_properties()).etag
    for unmet in (if_still(STALE), if_other(etag), {"if_modified_since": NEW}, {"if_unmodified_since": OLD}):
        async with blob_rejected(UNMET):
            await blob.create_snapshot(**unmet)
    for met in (if_still(etag), if_other(STALE), {"if_modified_since": OLD}, {"if_unmodified_since": NEW}):
        await blob.create_snapshot(**met)


async def test_a_write_may_not(raw_blobs: Raw, container: Any, blob: Any, blob_rejected: Any) -> None:
    path = f"/{container.container_name}/b?comp=metadata"
    since = "Sat, 01 Jan 2000 00:00:00 GMT"
    for headers in (
        {"If-Match": "*", "If-None-Match": '"0x1"'},
        {"If-Match": "*", "If-Modified-Since": since},
        {"If-Modified-Since": since, "If-Unmodified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"},
    ):
        async with blob_rejected(MANY_CONDITIONS):
            await raw_blobs("PUT", path, headers)


@every_creation
async def test_what_must_not_be_there_is_rejected_where_it_is(blob: Any, blob_rejected: Any, write: Any) -> None:
    async with blob_rejected(BLOB_EXISTS):
        await write(blob, match_condition=MatchConditions.IfMissing)
    assert await text_of(blob) == b"old"


@BLOB_CONDITIONS
@other_writes
async def test_so_are_writes_that_make_none(blob: Any, blob_rejected: Any, write: Any) -> None:
    async with blob_rejected(UNMET):
        await write(blob, match_condition=MatchConditions.IfMissing)


@every_creation
async def test_what_must_be_there_is_rejected_where_it_is_not(container: Any, blob_rejected: Any, write: Any) -> None:
    missing = container.get_blob_client("missing")
    for terms in ({"match_condition": MatchConditions.IfPresent}, if_still(STALE)):
        async with blob_rejected(UNMET):
            await write(missing, **terms)
    await write(missing, match_condition=MatchConditions.IfMissing)


@BLOB_CONDITIONS
@other_writes
async def test_other_writes_of_what_is_not_there_are_rejected_for_that(
    container: Any, blob_rejected: Any, write: Any
) -> None:
    async with blob_rejected(NO_BLOB):
        await write(container.get_blob_client("missing"), **if_still(STALE))


async def test_a_read_modify_write_loses_nothing(container: Any) -> None:
    counter = container.get_blob_client("counter")
    await counter.upload_blob(b"0")
    stream = await counter.download_blob()
    etag, count = stream.properties.etag, int(await stream.readall())
    await counter.upload_blob(b"7", overwrite=True)
    with pytest.raises(ResourceModifiedError):
        await counter.upload_blob(str(count + 1).encode(), overwrite=True, **if_still(etag))
    assert await text_of(counter) == b"7"
