"""Lists of blobs: order, prefixes, delimiters, pages, and the properties of each blob."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest

from conformance.blob_errors import NO_CONTAINER
from conformance.deviations import BLOB_PAGES, BLOB_PREFIXES, BLOB_SNAPSHOTS
from conformance.queue_errors import OUT_OF_RANGE
from conformance.raw import Raw
from conformance.table_errors import OUT_OF_RANGE as OUT_OF_RANGE_INPUT
from support.backends import Backend

NAMES = ["a", "a/b", "a/b/c", "a/c", "a0", "b", "c/d", "é"]


@pytest.fixture
def photos(backend: Backend, container: Any) -> Any:
    """The SDK's client of a container in which there are blobs of these names, to be awaited."""

    async def write() -> None:
        for name in reversed(NAMES):
            await container.upload_blob(name, name.encode())

    backend.run(write())
    return container


async def names(pager: Any) -> list[str]:
    return [each.name async for each in pager]


async def pages(pager: Any) -> list[list[str]]:
    return [await names(page) async for page in pager.by_page()]


def listed(text: str) -> list[str]:
    """Return the names in the XML of a list."""
    return re.findall("<Name>(.*?)</Name>", text)


async def test_blobs_are_listed_in_order(photos: Any) -> None:
    assert await names(photos.list_blobs()) == NAMES
    assert [name async for name in photos.list_blob_names()] == NAMES


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("prefix", ["a", "a/", "a/b", "a/b/c", "a0", "b", "é", "z"])
async def test_a_prefix_is_where_names_begin(photos: Any, prefix: str) -> None:
    assert await names(photos.list_blobs(name_starts_with=prefix)) == [
        name for name in NAMES if name.startswith(prefix)
    ]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9])
async def test_a_list_comes_in_pages(photos: Any, size: int) -> None:
    expected = [NAMES[start : start + size] for start in range(0, len(NAMES), size)]
    assert await pages(photos.list_blobs(results_per_page=size)) == expected


async def test_a_page_is_asked_for_by_its_marker(photos: Any) -> None:
    first = photos.list_blobs(results_per_page=3).by_page()
    page = await anext(first)
    assert await names(page) == NAMES[:3]
    rest = photos.list_blobs(results_per_page=3).by_page(first.continuation_token)
    assert await names(await anext(rest)) == NAMES[3:6]


async def test_concurrent_writes_neither_repeat_nor_hide_other_blobs(photos: Any) -> None:
    by_page = photos.list_blobs(results_per_page=3).by_page()
    found = await names(await anext(by_page))
    await photos.delete_blob(NAMES[3])
    await photos.upload_blob("A", b"before")
    await photos.upload_blob("a/z", b"behind")
    async for page in by_page:
        found += await names(page)
    assert found == sorted([*NAMES[:3], *NAMES[4:], "a/z"])


async def test_a_delimiter_groups_names_with_the_same_prefix(photos: Any) -> None:
    found = await names(photos.walk_blobs())
    assert sorted(found) == ["a", "a/", "a0", "b", "c/", "é"]
    found = await names(photos.walk_blobs(name_starts_with="a/"))
    assert sorted(found) == ["a/b", "a/b/", "a/c"]


@BLOB_PREFIXES
async def test_it_gathers_in_place(raw_blobs: Raw, photos: Any) -> None:
    # The SDK sorts what it is told
    path = f"/{photos.container_name}?restype=container&comp=list&delimiter=/"
    names = listed((await raw_blobs("GET", path)).text)
    assert names == ["a", "a/", "a0", "b", "c/", "é"]


async def test_what_is_gathered_counts_once_in_a_page(photos: Any) -> None:
    found = await pages(photos.walk_blobs(results_per_page=2))
    assert [sorted(page) for page in found] == [["a", "a/"], ["a0", "b"], ["c/", "é"]]


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_a_list_continues_after_a_group_of_names(photos: Any, size: int) -> None:
    found = await pages(photos.walk_blobs(results_per_page=size))
    assert [name for page in found for name in sorted(page)] == ["a", "a/", "a0", "b", "c/", "é"]
    assert {len(page) for page in found} == {size}


async def test_any_character_may_gather(photos: Any) -> None:
    assert sorted(await names(photos.walk_blobs(delimiter="0"))) == ["a", "a/b", "a/b/c", "a/c", "a0", "b", "c/d", "é"]
    assert sorted(await names(photos.walk_blobs(delimiter="b"))) == ["a", "a/b", "a/c", "a0", "b", "c/d", "é"]


async def test_what_is_gathered_is_walked_further(photos: Any) -> None:
    found: list[str] = []

    async def walk(prefix: str) -> None:
        async for each in photos.walk_blobs(name_starts_with=prefix):
            if each.name.endswith("/"):
                await walk(each.name)
            else:
                found.append(each.name)

    await walk("")
    assert sorted(found) == NAMES


async def test_more_is_listed_on_request(container: Any) -> None:
    await container.upload_blob("b", b"...", metadata={"Owner": "Don"}, tags={"state": "raw"})
    (plain,) = [each async for each in container.list_blobs()]
    assert (plain.size, plain.blob_type, plain.metadata or {}, plain.tags) == (3, "BlockBlob", {}, None)
    assert f'"{plain.etag}"' == (await container.get_blob_client("b").get_blob_properties()).etag
    (listed,) = [each async for each in container.list_blobs(include=["metadata", "tags"])]
    assert (listed.metadata, listed.tags) == ({"Owner": "Don"}, {"state": "raw"})


@BLOB_SNAPSHOTS
async def test_snapshots_come_before_their_blob_if_asked_for(container: Any) -> None:
    blob = await container.upload_blob("b", b"...")
    snapshots = [(await blob.create_snapshot())["snapshot"] for _ in range(2)]
    assert [each.snapshot async for each in container.list_blobs()] == [None]
    assert [each.snapshot async for each in container.list_blobs(include=["snapshots"])] == [*snapshots, None]


async def test_a_missing_container_has_no_list(blob_service: Any, container_name: str, blob_rejected: Any) -> None:
    async with blob_rejected(NO_CONTAINER):
        await names(blob_service.get_container_client(container_name).list_blobs())


@BLOB_PAGES
@pytest.mark.parametrize(
    ("options", "error"),
    [("maxresults=0", OUT_OF_RANGE), ("maxresults=-1", OUT_OF_RANGE), ("marker=%21", OUT_OF_RANGE_INPUT)],
)
async def test_a_page_that_cannot_be_is_rejected(
    raw_blobs: Raw, photos: Any, blob_rejected: Any, options: str, error: Any
) -> None:
    async with blob_rejected(error):
        await raw_blobs("GET", f"/{photos.container_name}?restype=container&comp=list&{options}")


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("startFrom=a/b", NAMES[1:]),
        ("startFrom=a/b/", NAMES[2:]),
        ("startFrom=0", NAMES),
        ("startFrom=z", NAMES[-1:]),
        ("startFrom=", NAMES),
        ("startFrom=a/c&prefix=a/", ["a/c"]),
        ("startFrom=b&prefix=a/", []),
        ("startFrom=0&prefix=c", ["c/d"]),
    ],
)
async def test_a_list_starts_from_a_name(raw_blobs: Raw, photos: Any, options: str, expected: list[str]) -> None:
    path = f"/{photos.container_name}?restype=container&comp=list"
    answer = await raw_blobs("GET", f"{path}&{options}", {"x-ms-version": "2026-02-06"})
    assert listed(answer.text) == expected


async def test_its_pages_go_on_from_their_markers(raw_blobs: Raw, photos: Any) -> None:
    path = f"/{photos.container_name}?restype=container&comp=list&maxresults=3&startFrom=a/b"
    marker, pages_of_names = "", list[list[str]]()
    for _ in range(3):
        answer = await raw_blobs("GET", f"{path}&marker={quote(marker)}", {"x-ms-version": "2026-02-06"})
        pages_of_names.append(listed(answer.text))
        (marker,) = re.findall("<NextMarker>(.*)</NextMarker>|<NextMarker ?/>", answer.text)
    assert (pages_of_names, marker) == ([NAMES[1:4], NAMES[4:7], NAMES[7:]], "")
