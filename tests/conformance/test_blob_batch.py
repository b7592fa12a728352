"""Batches: many deletes and tier changes in one request, each with its own response."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core import MatchConditions
from azure.storage.blob import PartialBatchErrorException, StandardBlobTier

from conformance.deviations import BLOB_BATCH_LINES
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from support.backends import Backend


@pytest.fixture
def names(backend: Backend, container: Any) -> list[str]:
    """The names of blobs that are there."""
    names = ["a", "b c", "é/d"]

    async def write() -> None:
        for name in names:
            await container.upload_blob(name, b"...")

    backend.run(write())
    return names


async def listed(container: Any) -> list[str]:
    return [each.name async for each in container.list_blobs()]


async def statuses(answers: Any) -> list[int]:
    found = await answers  # A list, or an iterator, or an async one
    if hasattr(found, "__aiter__"):
        return [answer.status_code async for answer in found]
    return [answer.status_code for answer in found]


async def test_blobs_are_deleted_together(container: Any, names: list[str]) -> None:
    assert await statuses(container.delete_blobs(*names)) == [202, 202, 202]
    assert await listed(container) == []


async def test_each_has_its_own_answer(container: Any, names: list[str]) -> None:
    with pytest.raises(PartialBatchErrorException) as caught:
        await container.delete_blobs("a", "missing", "b c")
    assert [part.status_code for part in caught.value.parts] == [202, 404, 202]
    assert await listed(container) == ["é/d"]


async def test_failures_may_be_left_to_the_caller(container: Any, names: list[str]) -> None:
    assert await statuses(container.delete_blobs("missing", "a", raise_on_any_failure=False)) == [404, 202]


async def test_each_may_have_its_own_condition(container: Any, names: list[str]) -> None:
    etag = (await container.get_blob_client("a").get_blob_properties()).etag
    answers = container.delete_blobs(
        {"name": "a", "etag": etag, "match_condition": MatchConditions.IfNotModified},
        {"name": "b c", "etag": etag, "match_condition": MatchConditions.IfNotModified},
        raise_on_any_failure=False,
    )
    assert await statuses(answers) == [202, 412]
    assert await listed(container) == ["b c", "é/d"]


async def test_tiers_are_set_together(container: Any, names: list[str]) -> None:
    await container.set_standard_blob_tier_blobs(StandardBlobTier.COOL, *names)
    assert {each.blob_tier async for each in container.list_blobs()} == {StandardBlobTier.COOL}


def one_deletion(raw_blobs: Raw, container: Any) -> list[str]:
    """Return the lines of a batch that deletes one blob, without a credential of its own."""
    path = f"/{raw_blobs.account}/{container.container_name}/a"
    part = ["--b", "Content-Type: application/http", "Content-ID: 0", ""]
    return [*part, f"DELETE {path} HTTP/1.1", "Content-Length: 0", "", "", "--b--", ""]


@BLOB_BATCH_LINES
async def test_a_line_does_not_end_with_cr_alone(
    raw_blobs: Raw, container: Any, names: list[str], blob_rejected: Any
) -> None:
    body = "\r".join(one_deletion(raw_blobs, container))
    async with blob_rejected(ServiceError(400, "InvalidInput")):
        await raw_blobs("POST", "/?comp=batch", {"Content-Type": "multipart/mixed; boundary=b"}, body)


@pytest.mark.parametrize("end", ["\r\n", "\n"])
async def test_a_line_may_end_with_lf_alone(raw_blobs: Raw, container: Any, names: list[str], end: str) -> None:
    body = end.join(one_deletion(raw_blobs, container))
    answer = await raw_blobs("POST", "/?comp=batch", {"Content-Type": "multipart/mixed; boundary=b"}, body)
    assert (answer.status, answer.text.count("HTTP/1.1 4")) == (202, 1)
