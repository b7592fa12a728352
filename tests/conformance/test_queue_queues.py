"""Queues: names, creation, deletion, lists, metadata and the count of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import ResourceExistsError

from conformance.deviations import QUEUE_METADATA, QUEUE_PAGES
from conformance.queue_errors import (
    BAD_OPTION,
    EMPTY_METADATA_KEY,
    INVALID_MARKER,
    INVALID_METADATA,
    METADATA_TOO_LARGE,
    NAME_CHARACTERS,
    NAME_LENGTH,
    NO_QUEUE,
    OUT_OF_RANGE,
    QUEUE_EXISTS,
)
from conformance.raw import Raw


async def listed(service: Any, prefix: str, **options: Any) -> list[Any]:
    return [queue async for queue in service.list_queues(prefix, **options)]


# ------------------------------------------------------------------ creation and deletion


async def test_a_queue_is_there_from_its_creation_to_its_deletion(queue_service: Any, queue_name: str) -> None:
    queue = await queue_service.create_queue(queue_name)
    assert [found.name for found in await listed(queue_service, queue_name)] == [queue_name]
    await queue.delete_queue()
    assert await listed(queue_service, queue_name) == []


@pytest.mark.parametrize("metadata", [{}, {"colour": "red"}], ids=["none", "some"])
async def test_creating_a_queue_as_it_is_changes_nothing(
    queue_service: Any, queue_name: str, queues_unchanged: Any, metadata: dict[str, str]
) -> None:
    queue = await queue_service.create_queue(queue_name, metadata=metadata)
    await queue.send_message("kept")
    async with queues_unchanged():
        with pytest.raises(ResourceExistsError) as caught:
            await queue_service.create_queue(queue_name, metadata=metadata)
    # The service says that all is well; it is the SDK that takes this for an error
    assert caught.value.status_code == 204


@pytest.mark.parametrize("metadata", [{}, {"colour": "blue"}, {"colour": "red", "size": "1"}])
async def test_creating_it_with_other_metadata_is_rejected(
    queue_service: Any, queue_name: str, queue_rejected: Any, metadata: dict[str, str]
) -> None:
    await queue_service.create_queue(queue_name, metadata={"colour": "red"})
    async with queue_rejected(QUEUE_EXISTS):
        await queue_service.create_queue(queue_name, metadata=metadata)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("tail", ["", "-1", "-a-b", "0"], ids=["letters", "digit", "hyphens", "zero"])
async def test_a_name_has_small_letters_digits_and_single_hyphens(
    queue_service: Any, queue_names: list[str], new_queue_name: Callable[..., str], tail: str
) -> None:
    queue_names.append(new_queue_name() + tail)
    await queue_service.create_queue(queue_names[-1])
    assert [found.name for found in await listed(queue_service, queue_names[-1])] == [queue_names[-1]]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("name", ["ABC", "a-", "-a1", "a--b", "a_b", "a.b"])
async def test_a_name_has_nothing_else(queue_service: Any, queue_rejected: Any, name: str) -> None:
    async with queue_rejected(NAME_CHARACTERS if len(name) > 2 else NAME_LENGTH):
        await queue_service.create_queue(name)


@pytest.mark.parametrize("name", ["ab", "a" * 64])
async def test_a_name_has_3_to_63_characters(queue_service: Any, queue_rejected: Any, name: str) -> None:
    async with queue_rejected(NAME_LENGTH):
        await queue_service.create_queue(name)


async def test_a_name_of_63_characters_is_accepted(queue_service: Any, queue_names: list[str], queue_name: str) -> None:
    queue_names.append(queue_name.ljust(63, "x"))
    await queue_service.create_queue(queue_names[-1])


async def test_a_missing_queue_is_rejected(queue_service: Any, queue_rejected: Any, queue_name: str) -> None:
    queue = queue_service.get_queue_client(queue_name)
    calls: list[Callable[[], Any]] = [
        queue.delete_queue,
        queue.get_queue_properties,
        lambda: queue.set_queue_metadata({"colour": "red"}),
        queue.get_queue_access_policy,
        lambda: queue.set_queue_access_policy({}),
        lambda: queue.send_message("text"),
        queue.receive_message,
        queue.peek_messages,
        queue.clear_messages,
    ]
    for call in calls:
        async with queue_rejected(NO_QUEUE):
            await call()


# ------------------------------------------------------------------ lists


async def test_queues_are_listed_by_name_under_a_prefix(queue_service: Any, new_queue_name: Callable[..., str]) -> None:
    family = new_queue_name()
    names = [f"{family}-{tail}" for tail in ("b", "10", "9", "a-b", "a")]
    for name in names:
        await queue_service.create_queue(name)
    assert [queue.name for queue in await listed(queue_service, f"{family}-")] == sorted(names)
    assert [queue.name for queue in await listed(queue_service, f"{family}-a")] == [f"{family}-a", f"{family}-a-b"]
    for name in names:
        await queue_service.delete_queue(name)


async def test_a_list_comes_in_pages(queue_service: Any, new_queue_name: Callable[..., str]) -> None:
    family = new_queue_name()
    names = [f"{family}-{number}" for number in range(5)]
    for name in names:
        await queue_service.create_queue(name)
    pages = queue_service.list_queues(family, results_per_page=2).by_page()
    assert [[queue.name async for queue in page] async for page in pages] == [names[:2], names[2:4], names[4:]]
    for name in names:
        await queue_service.delete_queue(name)


async def test_metadata_are_listed_only_if_asked_for(queue_service: Any, queue_name: str) -> None:
    await queue_service.create_queue(queue_name, metadata={"colour": "<red>"})
    assert [queue.metadata for queue in await listed(queue_service, queue_name)] == [None]
    (queue,) = await listed(queue_service, queue_name, include_metadata=True)
    assert queue.metadata == {"colour": "<red>"}


@QUEUE_PAGES
@pytest.mark.parametrize("size", ["0", "5001"])
async def test_a_page_has_1_to_5000_queues(raw_queues: Raw, queue_rejected: Any, size: str) -> None:
    await raw_queues("GET", "/?comp=list&maxresults=5000")
    async with queue_rejected(OUT_OF_RANGE):
        await raw_queues("GET", f"/?comp=list&maxresults={size}")


@QUEUE_PAGES
async def test_a_size_that_is_no_number_is_rejected(raw_queues: Raw, queue_rejected: Any) -> None:
    async with queue_rejected(BAD_OPTION):
        await raw_queues("GET", "/?comp=list&maxresults=ten")


@QUEUE_PAGES
async def test_a_marker_that_the_service_did_not_give_is_rejected(raw_queues: Raw, queue_rejected: Any) -> None:
    async with queue_rejected(INVALID_MARKER):
        await raw_queues("GET", "/?comp=list&marker=nonsense")


# ------------------------------------------------------------------ metadata and count


async def test_metadata_are_replaced_as_a_whole(queue: Any) -> None:
    await queue.set_queue_metadata({"colour": "red", "Size": "1"})
    assert (await queue.get_queue_properties()).metadata == {"colour": "red", "Size": "1"}
    await queue.set_queue_metadata({"weight_2": "a, b"})
    assert (await queue.get_queue_properties()).metadata == {"weight_2": "a, b"}
    await queue.set_queue_metadata({})
    assert (await queue.get_queue_properties()).metadata == {}


@QUEUE_METADATA
@pytest.mark.parametrize("name", ["1a", "a-b"])
async def test_a_name_of_metadata_is_an_identifier(
    queue: Any, queue_service: Any, queue_rejected: Any, queue_name: str, name: str
) -> None:
    async with queue_rejected(INVALID_METADATA):
        await queue.set_queue_metadata({name: "value"})
    async with queue_rejected(INVALID_METADATA):
        await queue_service.create_queue(queue_name, metadata={name: "value"})


@QUEUE_METADATA
async def test_a_name_of_metadata_is_not_empty(queue: Any, queue_rejected: Any) -> None:
    async with queue_rejected(EMPTY_METADATA_KEY):
        await queue.set_queue_metadata({"": "value"})


@QUEUE_METADATA
async def test_metadata_have_8_kib(queue: Any, queue_rejected: Any) -> None:
    names = [f"n{number}" for number in range(8)]
    await queue.set_queue_metadata(dict.fromkeys(names, "x" * 1022))
    async with queue_rejected(METADATA_TOO_LARGE):
        await queue.set_queue_metadata({**dict.fromkeys(names, "x" * 1022), "n0": "x" * 1023})


async def test_the_count_is_of_hidden_messages_too(queue: Any) -> None:
    assert (await queue.get_queue_properties()).approximate_message_count == 0
    for text in "abc":
        await queue.send_message(text)
    await queue.send_message("hidden", visibility_timeout=60)
    await queue.receive_message()
    assert (await queue.get_queue_properties()).approximate_message_count == 4
    await queue.clear_messages()
    assert (await queue.get_queue_properties()).approximate_message_count == 0


async def test_deleting_a_queue_deletes_its_messages(queue: Any, queue_service: Any, queue_name: str) -> None:
    doomed = await queue_service.create_queue(queue_name)
    await doomed.send_message("text")
    await queue.send_message("kept")
    await doomed.delete_queue()
    assert [message.content for message in await queue.peek_messages(32)] == ["kept"]
