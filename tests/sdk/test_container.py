"""Container: blob operations on every backend, and writes whose response is lost."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tablepatterns import connect
from tablepatterns.errors import BadInput, BlobChanged
from tablepatterns.sdk.container import ABSENT
from tablepatterns_engine.account import Engine
from tablepatterns_engine.content import Content

pytestmark = pytest.mark.both_sdks

MIB = 1024 * 1024


@pytest.fixture
def name(backend: Any, storage: Any) -> Iterator[str]:
    """The name of a container that does not exist yet."""
    given = f"c{uuid4().hex}"
    yield given
    if backend.kind != "memory":
        backend.run(storage.container(given).drop())


@pytest.fixture
def container(storage: Any, name: str) -> Any:
    return storage.container(name)


Fault = Callable[..., Any]


@pytest.fixture(params=["connection breaks", "timed out"])
def lose_response(request: pytest.FixtureRequest, engine: Engine) -> Fault:
    """A function by which the next answer to an operation is lost, once it is carried out."""

    def lose(operation: Any, **where: Any) -> Any:
        options = {"operation": operation, "times": 1} | where
        if request.param == "timed out":
            return engine.faults.time_out(executed=True, **options)
        return engine.faults.lose_response(**options)

    return lose


async def names(container: Any, *prefix: str, **options: Any) -> list[str]:
    return [each.name async for each in container.blobs(*prefix, **options)]


# ------------------------------------------------------------------ containers


async def test_a_container_is_made_once_and_dropped_once(container: Any) -> None:
    assert [await container.create(), await container.create()] == [True, False]
    await container.drop()
    await container.drop()


async def test_a_container_that_is_not_there_is_empty(container: Any) -> None:
    assert await names(container) == []
    assert await container.download("a") is None
    assert [chunk async for chunk in container.chunks("a")] == []
    assert await container.facts("a") is None
    assert not await container.delete("a")


async def test_the_first_write_makes_the_container(storage: Any, container: Any, name: str) -> None:
    await container.upload("a", b"1")
    await container.drop()
    other = storage.container(f"{name}x")
    assert await other.create_append("log")
    assert await names(other) == ["log"]
    await other.drop()


def test_a_name_that_the_service_rejects_is_rejected_before(engine: Engine) -> None:
    for wrong in ("ab", "Upper", "two--dashes", "a_b", "x" * 64):
        with pytest.raises(BadInput, match="name of a queue or container"):
            connect(engine).container(wrong)
    assert engine.ledger.totals.requests == 0


# ------------------------------------------------------------------ uploads


async def test_an_upload_is_read_back_with_what_is_known_of_it(container: Any) -> None:
    etag = await container.upload("a/b.txt", b"hello", metadata={"owner": "don"}, content_type="text/plain")
    assert await container.download("a/b.txt") == b"hello"
    found = await container.facts("a/b.txt")
    assert (found.name, found.size, found.etag, found.blocks) == ("a/b.txt", 5, etag, None)
    assert (found.metadata, found.content_type) == ({"owner": "don"}, "text/plain")
    (listed,) = [each async for each in container.blobs("a/")]
    assert (listed.name, listed.size, listed.metadata) == ("a/b.txt", 5, {"owner": "don"})
    assert listed.etag.strip('"') == etag.strip('"')


async def test_an_upload_overwrites_by_default(container: Any) -> None:
    first = await container.upload("a", b"1", metadata={"x": "1"})
    second = await container.upload("a", b"2")
    assert first != second
    assert (await container.download("a"), (await container.facts("a")).metadata) == (b"2", {})


async def test_an_upload_of_what_must_not_exist_is_rejected_where_it_does(container: Any) -> None:
    await container.upload("a", b"1", etag=ABSENT)
    with pytest.raises(BlobChanged, match="'a'"):
        await container.upload("a", b"2", etag=ABSENT)
    assert await container.download("a") == b"1"


async def test_an_upload_over_another_version_is_rejected(container: Any) -> None:
    old = await container.upload("a", b"1")
    new = await container.upload("a", b"2", etag=old)
    with pytest.raises(BlobChanged):
        await container.upload("a", b"3", etag=old)
    assert await container.download("a") == b"2"
    await container.upload("a", b"4", etag=new)


async def test_an_upload_over_a_version_that_is_gone_is_rejected(container: Any) -> None:
    old = await container.upload("a", b"1")
    await container.delete("a")
    with pytest.raises(BlobChanged):
        await container.upload("a", b"2", etag=old)
    assert await container.facts("a") is None


async def chunked() -> AsyncIterator[bytes]:
    for chunk in (b"one ", b"two ", b"three"):
        yield chunk


async def test_files_and_pieces_are_uploaded_whole(backend: Any, container: Any) -> None:
    await container.upload("file", io.BytesIO(b"from a file"))
    await container.upload("pieces", chunked() if backend.aio else iter([b"one ", b"two ", b"three"]))
    assert await container.download("file") == b"from a file"
    assert await container.download("pieces") == b"one two three"


async def test_an_upload_that_breaks_off_leaves_what_was_there(container: Any) -> None:
    def breaks_off() -> Iterator[bytes]:
        yield b"x" * 5 * MIB
        raise OSError("the disk is gone")

    await container.upload("a", b"old")
    with pytest.raises(OSError, match="the disk is gone"):
        await container.upload("a", breaks_off())
    assert await container.download("a") == b"old"


@pytest.mark.parametrize("etag", [None, ABSENT])
async def test_an_upload_whose_answer_is_lost_is_ours(container: Any, lose_response: Fault, etag: str | None) -> None:
    await container.create()
    lose_response("PutBlob")
    written = await container.upload("a", b"1", etag=etag)
    assert (await container.facts("a")).etag == written
    assert await container.download("a") == b"1"


async def test_a_conditional_upload_whose_answer_is_lost_is_ours(container: Any, lose_response: Fault) -> None:
    old = await container.upload("a", b"1")
    lose_response("PutBlob")
    written = await container.upload("a", b"2", etag=old)
    assert (await container.facts("a")).etag == written


async def test_an_equal_upload_of_another_is_not_taken_for_ours(container: Any, engine: Engine) -> None:
    await container.upload("a", b"1", etag=ABSENT)
    engine.faults.lose_request(operation="PutBlob", times=1)
    with pytest.raises(BlobChanged):
        await container.upload("a", b"1", etag=ABSENT)


# ------------------------------------------------------------------ downloads


async def test_a_part_is_downloaded_and_behind_the_end_there_is_nothing(container: Any) -> None:
    await container.upload("a", b"0123456789")
    parts = [(0, 4), (8, 100), (3, None), (10, 1), (99, None)]
    found = [await container.download("a", offset=offset, length=length) for offset, length in parts]
    assert found == [b"0123", b"89", b"3456789", b"", b""]


async def test_an_empty_blob_is_not_a_missing_one(container: Any) -> None:
    await container.upload("a", b"")
    assert await container.download("a") == b""
    assert await container.download("b") is None


async def test_a_download_of_another_version_is_rejected(container: Any) -> None:
    old = await container.upload("a", b"1")
    await container.upload("a", b"2")
    with pytest.raises(BlobChanged):
        await container.download("a", etag=old)
    with pytest.raises(BlobChanged):
        [chunk async for chunk in container.chunks("a", etag=old)]


async def test_a_large_blob_comes_piece_by_piece(container: Any, engine: Engine) -> None:
    content = bytes(range(256)) * 4 * 1024 * 33
    await container.upload("a", content)
    pieces = [piece async for piece in container.chunks("a")]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= 4 * MIB < len(content)


async def test_a_blob_that_is_overwritten_while_it_is_read_is_not_mixed(container: Any, engine: Engine) -> None:
    await container.upload("a", b"x" * 36 * MIB)

    async def read() -> None:
        async for _ in container.chunks("a"):
            await container.upload("a", b"y" * 36 * MIB)

    with pytest.raises(BlobChanged):
        await read()


# ------------------------------------------------------------------ appends


async def test_blocks_are_appended_where_the_blob_ends(container: Any) -> None:
    assert await container.create_append("log", metadata={"owner": "don"})
    assert [await container.append("log", b"one "), await container.append("log", b"two", position=4)] == [0, 4]
    found = await container.facts("log")
    assert (found.size, found.blocks, found.metadata) == (7, 2, {"owner": "don"})
    assert await container.download("log") == b"one two"


async def test_an_append_at_another_position_is_rejected(container: Any) -> None:
    await container.create_append("log")
    await container.append("log", b"one")
    for position in (0, 2, 4):
        with pytest.raises(BlobChanged, match=f"does not end at {position}"):
            await container.append("log", b"two", position=position)
    assert await container.download("log") == b"one"


@pytest.mark.parametrize("position", [None, 0])
async def test_an_append_to_what_is_not_there_is_rejected(container: Any, position: int | None) -> None:
    for _ in range(2):
        with pytest.raises(BlobChanged, match="does not exist"):
            await container.append("log", b"one", position=position)
        await container.create()


async def test_an_append_blob_is_made_once(container: Any) -> None:
    assert [await container.create_append("log"), await container.create_append("log")] == [True, False]
    await container.append("log", b"one")
    assert not await container.create_append("log")
    assert await container.download("log") == b"one"


async def test_an_append_blob_whose_answer_is_lost_is_ours(container: Any, lose_response: Fault) -> None:
    await container.create()
    lost = lose_response("PutBlob")
    assert await container.create_append("log")
    assert lost.hits == 1


async def test_an_append_blob_of_another_is_not_taken_for_ours(container: Any, engine: Engine) -> None:
    await container.create_append("log")
    engine.faults.lose_request(operation="PutBlob", times=1)
    assert not await container.create_append("log")


async def test_an_append_whose_response_is_lost_is_rejected_the_second_time(
    container: Any, lose_response: Fault
) -> None:
    await container.create_append("log")
    lose_response("AppendBlock")
    with pytest.raises(BlobChanged):
        await container.append("log", b"one", position=0)
    assert await container.download("log") == b"one"


async def test_without_a_position_a_lost_response_appends_twice(container: Any, lose_response: Fault) -> None:
    await container.create_append("log")
    lose_response("AppendBlock")
    assert await container.append("log", b"one") == 3
    assert await container.download("log") == b"oneone"


# ------------------------------------------------------------------ metadata and deletions


async def test_metadata_is_replaced_as_a_whole(container: Any) -> None:
    old = await container.upload("a", b"1", metadata={"x": "1", "y": "1"})
    new = await container.describe("a", {"x": "2"}, etag=old)
    found = await container.facts("a")
    assert (found.metadata, found.etag) == ({"x": "2"}, new)
    with pytest.raises(BlobChanged):
        await container.describe("a", {"x": "3"}, etag=old)
    assert (await container.facts("a")).metadata == {"x": "2"}


async def test_metadata_of_what_is_not_there_is_rejected(container: Any) -> None:
    for _ in range(2):
        with pytest.raises(BlobChanged, match="does not exist"):
            await container.describe("a", {"x": "1"})
        await container.create()


async def test_metadata_whose_answer_is_lost_is_ours(container: Any, lose_response: Fault) -> None:
    old = await container.upload("a", b"1")
    lose_response("SetBlobMetadata")
    new = await container.describe("a", {"x": "1"}, etag=old)
    assert ((await container.facts("a")).etag, (await container.facts("a")).metadata) == (new, {"x": "1"})


async def test_a_blob_is_deleted_once(container: Any) -> None:
    await container.upload("a", b"1")
    assert [await container.delete("a"), await container.delete("a")] == [True, False]


async def test_only_the_version_that_is_named_is_deleted(container: Any) -> None:
    old = await container.upload("a", b"1")
    new = await container.upload("a", b"2")
    with pytest.raises(BlobChanged):
        await container.delete("a", etag=old)
    assert await container.download("a") == b"2"
    assert await container.delete("a", etag=new)


# ------------------------------------------------------------------ lists


async def test_blobs_are_listed_by_prefix_in_the_order_of_their_names(container: Any) -> None:
    for each in ("b/2", "a/1", "b/10", "b/1", "c"):
        await container.upload(each, b"")
    assert await names(container) == ["a/1", "b/1", "b/10", "b/2", "c"]
    assert await names(container, "b/") == ["b/1", "b/10", "b/2"]
    assert await names(container, "d") == []


async def test_a_long_list_is_followed_to_its_end(
    container: Any, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns_engine.blobs.listing.MAX_PAGE_BLOBS", 50)
    monkeypatch.setattr("tablepatterns_engine.blobs.read_api.MAX_PAGE_BLOBS", 50)
    monkeypatch.setattr("tablepatterns_engine.blobs.container_api.MAX_PAGE_BLOBS", 50)
    await container.create()
    for number in range(101):
        engine.blobs.put(container.name, f"{number:05}", Content([b""]))
    with engine.ledger.span() as span:
        assert len(await names(container)) == 101
    assert span.totals.by_operation == {"ListBlobs": 3}


@pytest.mark.parametrize(
    ("operation", "budget"), [("PutBlob", 1), ("GetBlob", 1), ("AppendBlock", 1), ("SetBlobMetadata", 1)]
)
async def test_a_word_is_one_transaction(container: Any, engine: Engine, operation: str, budget: int) -> None:
    await container.create_append("log")
    await container.upload("a", b"1")
    words = {
        "PutBlob": lambda: container.upload("a", b"2"),
        "GetBlob": lambda: container.download("a"),
        "AppendBlock": lambda: container.append("log", b"1"),
        "SetBlobMetadata": lambda: container.describe("a", {"x": "1"}),
    }
    with engine.ledger.span() as span:
        await words[operation]()
    assert (span.totals.by_operation, span.totals.billable) == ({operation: budget}, budget)
