"""Fixtures of the conformance suite: raw requests, and expected errors that change nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from conformance.raw import Raw
from conformance.raw_storage import RawBlobs, RawQueues
from conformance.service_errors import ServiceError, service_error_in
from support import blob_states, queue_states, table_states
from support.backends import Backend, awaited


@pytest.fixture
def raw(backend: Backend) -> Iterator[Raw]:
    """A function that sends a request as it is given, signed with the account's key."""
    yield from _raw(Raw(backend), backend)


@pytest.fixture
def key(storage: Any) -> AzureNamedKeyCredential:
    """The name and the key of the account."""
    credential: AzureNamedKeyCredential = storage.target.credential
    return credential


@pytest.fixture
def own_names() -> list[str]:
    """The names that `new_name` gave to this test."""
    return []


@pytest.fixture
def new_name(new_name: Callable[..., str], own_names: list[str]) -> Callable[..., str]:
    """A function that returns unique table names; the tables are deleted after the test."""

    def name(prefix: str = "t") -> str:
        own_names.append(new_name(prefix))
        return own_names[-1]

    return name


@pytest.fixture
def unchanged(storage: Any, service: Any, own_names: list[str]) -> Callable[[], AbstractAsyncContextManager[None]]:
    """A block after which every table and every entity is as it was; outside of memory, those of this test."""

    async def state() -> Any:
        if engine := storage.engine:
            return table_states.everything_in(engine.tables)
        return {name: found for name in own_names if (found := await versions(name)) is not None}

    async def versions(name: str) -> list[tuple[str, dict[str, Any]]] | None:
        entities = service.get_table_client(name).list_entities()
        try:
            return [(entity.metadata["etag"], dict(entity)) async for entity in entities]
        except ResourceNotFoundError:
            return None

    return _unchanged(state)


@pytest.fixture
def rejected(
    unchanged: Callable[[], AbstractAsyncContextManager[None]],
) -> Callable[[ServiceError], AbstractAsyncContextManager[None]]:
    """A block whose call the service rejects in these words, and which changes nothing."""
    return _rejected(unchanged)


def _unchanged(state: Callable[[], Awaitable[Any]]) -> Callable[[], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def block() -> AsyncIterator[None]:
        before = await state()
        yield
        assert await state() == before

    return block


def _rejected(
    unchanged: Callable[[], AbstractAsyncContextManager[None]],
) -> Callable[[ServiceError], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def block(expected: ServiceError) -> AsyncIterator[None]:
        async with unchanged():
            with pytest.raises((HttpResponseError, ValueError)) as caught:
                yield
        assert service_error_in(caught.value) == expected

    return block


def _raw(raw: Raw, backend: Backend) -> Iterator[Raw]:
    yield raw
    closing = raw.close()
    if backend.aio:
        backend.run(closing)


def _names(backend: Backend, delete: Callable[[str], Awaitable[None]]) -> Iterator[list[str]]:
    names: list[str] = []
    yield names

    async def drop() -> None:
        for name in names:
            with suppress(ResourceNotFoundError):
                await delete(name)

    if backend.kind != "memory":
        backend.run(drop())


# ------------------------------------------------------------------ queues


@pytest.fixture
def raw_queues(backend: Backend) -> Iterator[Raw]:
    """A function that sends a request to the queues as it is given, signed with the account's key."""
    yield from _raw(RawQueues(backend), backend)


@pytest.fixture
def queue_service(storage: Any) -> Any:
    """The SDK's queue service client, to be awaited."""
    return awaited(storage.queues)


@pytest.fixture
def queue_names(backend: Backend, queue_service: Any) -> Iterator[list[str]]:
    """The names that `new_queue_name` gave to this test; the queues are deleted after it."""
    yield from _names(backend, queue_service.delete_queue)


@pytest.fixture
def new_queue_name(queue_names: list[str]) -> Callable[..., str]:
    """A function that returns unique queue names."""

    def name(prefix: str = "q") -> str:
        queue_names.append(f"{prefix}{uuid4().hex}")
        return queue_names[-1]

    return name


@pytest.fixture
def queue_name(new_queue_name: Callable[..., str]) -> str:
    """The name of a queue that does not exist yet."""
    return new_queue_name()


@pytest.fixture
def queue(backend: Backend, queue_service: Any, new_queue_name: Callable[..., str]) -> Any:
    """The SDK's client of an empty queue, to be awaited."""

    async def create() -> Any:
        return await queue_service.create_queue(new_queue_name())

    return backend.run(create())


@pytest.fixture
def queues_unchanged(
    storage: Any, queue_service: Any, queue_names: list[str]
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """A block after which the queues of this test are as they were, with what can be seen of their messages."""

    async def state() -> Any:
        if engine := storage.engine:
            return queue_states.everything_in(engine.queues)
        return {name: found for name in queue_names if (found := await content(name)) is not None}

    async def content(name: str) -> Any:
        queue = queue_service.get_queue_client(name)
        try:
            properties, messages = await queue.get_queue_properties(), await queue.peek_messages(32)
        except ResourceNotFoundError:
            return None
        seen = [(message.id, message.content, message.dequeue_count) for message in messages]
        return properties.metadata, properties.approximate_message_count, seen

    return _unchanged(state)


@pytest.fixture
def queue_rejected(
    queues_unchanged: Callable[[], AbstractAsyncContextManager[None]],
) -> Callable[[ServiceError], AbstractAsyncContextManager[None]]:
    """A block whose call the Queue service rejects in these words, and which changes nothing."""
    return _rejected(queues_unchanged)


# ------------------------------------------------------------------ blobs


@pytest.fixture
def raw_blobs(backend: Backend) -> Iterator[Raw]:
    """A function that sends a request to the blobs as it is given, signed with the account's key."""
    yield from _raw(RawBlobs(backend), backend)


@pytest.fixture
def blob_service(storage: Any) -> Any:
    """The SDK's blob service client, to be awaited."""
    return awaited(storage.blobs)


@pytest.fixture
def container_names(backend: Backend, blob_service: Any) -> Iterator[list[str]]:
    """The names that `new_container_name` gave to this test; the containers are deleted after it."""
    yield from _names(backend, blob_service.delete_container)


@pytest.fixture
def new_container_name(container_names: list[str]) -> Callable[..., str]:
    """A function that returns unique container names."""

    def name(prefix: str = "c") -> str:
        container_names.append(f"{prefix}{uuid4().hex}")
        return container_names[-1]

    return name


@pytest.fixture
def container_name(new_container_name: Callable[..., str]) -> str:
    """The name of a container that does not exist yet."""
    return new_container_name()


@pytest.fixture
def container(backend: Backend, blob_service: Any, new_container_name: Callable[..., str]) -> Any:
    """The SDK's client of an empty container, to be awaited."""

    async def create() -> Any:
        return await blob_service.create_container(new_container_name())

    return backend.run(create())


@pytest.fixture
def blobs_unchanged(
    storage: Any, blob_service: Any, container_names: list[str]
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """A block after which the containers and the blobs of this test are as they were."""
    include = ["metadata", "snapshots", "uncommittedblobs", "tags"]

    async def state() -> Any:
        if engine := storage.engine:
            return blob_states.everything_in(engine.blobs)
        listed = [each async for each in blob_service.list_containers(include_metadata=True)]
        return {each.name: (said_of(each), await content(each.name)) for each in listed if each.name in container_names}

    async def content(name: str) -> Any:
        container = blob_service.get_container_client(name)
        return [(each.name, each.snapshot, said_of(each)) async for each in container.list_blobs(include=include)]

    def said_of(each: Any) -> Any:
        return each.etag, each.metadata, each.lease.state, each.lease.status

    return _unchanged(state)


@pytest.fixture
def blob_rejected(
    blobs_unchanged: Callable[[], AbstractAsyncContextManager[None]],
) -> Callable[[ServiceError], AbstractAsyncContextManager[None]]:
    """A block whose call the Blob service rejects in these words, and which changes nothing."""
    return _rejected(blobs_unchanged)
