"""A deleted name stays reserved for a while, as on the service, if the in-memory account is set up so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError

from conformance.blob_errors import NO_CONTAINER
from conformance.entities import KEYS
from conformance.queue_errors import NO_QUEUE
from conformance.service_errors import ServiceError, service_error_in
from support.blob_requests import BlobWire
from support.table_requests import JSON, Wire
from tablepatterns.errors import BadInput
from tablepatterns_engine import errors as texts
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.faults import Fault
from tablepatterns_explore import World, explore

TABLE_BEING_DELETED = ServiceError(
    409, "TableBeingDeleted", "The specified table is being deleted. Try operation later."
)
QUEUE_BEING_DELETED = ServiceError(409, "QueueBeingDeleted", "The specified queue is being deleted.")
CONTAINER_BEING_DELETED = ServiceError(
    409, "ContainerBeingDeleted", "The specified container is being deleted. Try operation later."
)
SECONDS = 40

# Azurite deletes at once
pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def engine() -> Engine:
    """An account whose deletions take as long as those of the service, and whose clock stands still."""
    return Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc)), deletion_seconds=SECONDS)


@contextmanager
def rejected_with(*expected: ServiceError) -> Iterator[None]:
    """A block whose call is rejected in one of these words."""
    with pytest.raises(HttpResponseError) as caught:
        yield
    assert service_error_in(caught.value) in expected


# ------------------------------------------------------------------ tables


async def test_a_table_cannot_be_made_again_before_its_deletion_has_ended(
    engine: Engine, service: Any, new_name: Callable[..., str]
) -> None:
    name = new_name()
    table = await service.create_table(name)
    await table.create_entity(KEYS)
    await service.delete_table(name)
    for spelling in (name, name.upper()):
        with rejected_with(TABLE_BEING_DELETED):
            await service.create_table(spelling)
    engine.clock.advance(SECONDS - 1)
    with rejected_with(TABLE_BEING_DELETED):
        await service.create_table(name)
    engine.clock.advance(1)
    await service.create_table(name)
    assert [entity async for entity in table.list_entities()] == []


@pytest.mark.parametrize(
    "use",
    [
        lambda table: table.create_entity(KEYS),
        lambda table: table.upsert_entity(KEYS),
        lambda table: table.get_entity("Sales", "000223"),
        lambda table: table.submit_transaction([("upsert", KEYS)]),
        lambda table: table.get_table_access_policy(),
    ],
    ids=["insert", "upsert", "get", "transaction", "policies"],
)
async def test_nothing_is_done_with_a_table_that_is_being_deleted(service: Any, table: Any, use: Any) -> None:
    await service.delete_table(table.table_name)
    # The failure of a transaction has the number of the operation
    with rejected_with(TABLE_BEING_DELETED, TABLE_BEING_DELETED.at(0)):
        await use(table)
    assert [each.name async for each in service.list_tables()] == []


def test_the_entry_of_a_table_that_is_being_deleted_is_missing(engine: Engine) -> None:
    wire = Wire(engine)
    engine.tables.create("Employees")
    assert wire.send("DELETE", "/Tables('Employees')", JSON).status == 204
    for method in ("GET", "DELETE"):
        assert wire.error(method, "/Tables('Employees')", JSON)[:2] == (404, "ResourceNotFound")


def test_a_container_that_is_being_deleted_can_be_deleted_again(engine: Engine) -> None:
    wire = BlobWire(engine)
    wire.send("PUT", "/photos?restype=container")
    for status in (202, 202):
        assert wire.send("DELETE", "/photos?restype=container").status == status
    assert wire.error("GET", "/photos?restype=container")[:2] == (404, "ContainerNotFound")
    engine.clock.advance(SECONDS)
    assert wire.error("DELETE", "/photos?restype=container")[:2] == (404, "ContainerNotFound")


async def test_the_sdk_distinguishes_a_table_being_deleted_from_one_that_exists(service: Any, table: Any) -> None:
    await service.delete_table(table.table_name)
    for create in (service.create_table, service.create_table_if_not_exists):
        with pytest.raises(HttpResponseError) as caught:
            await create(table.table_name)
        assert not isinstance(caught.value, ResourceExistsError)


# ------------------------------------------------------------------ queues and containers


async def test_a_queue_cannot_be_made_again_before_its_deletion_has_ended(
    engine: Engine, queue_service: Any, queue: Any
) -> None:
    await queue.send_message("lost")
    await queue.delete_queue()
    with rejected_with(QUEUE_BEING_DELETED):
        await queue_service.create_queue(queue.queue_name)
    with rejected_with(NO_QUEUE):
        await queue.send_message("lost too")
    engine.clock.advance(SECONDS)
    await queue_service.create_queue(queue.queue_name)
    assert await queue.receive_message() is None


async def test_a_container_cannot_be_made_again_before_its_deletion_has_ended(
    engine: Engine, blob_service: Any, container: Any
) -> None:
    await container.upload_blob("b", b"old")
    await container.delete_container()
    with rejected_with(CONTAINER_BEING_DELETED):
        await blob_service.create_container(container.container_name)
    with rejected_with(NO_CONTAINER):
        await container.upload_blob("b", b"new")
    engine.clock.advance(SECONDS)
    await blob_service.create_container(container.container_name)
    assert [blob.name async for blob in container.list_blobs()] == []


# ------------------------------------------------------------------ in tests of code that makes tables again


async def test_a_fault_says_so_too(engine: Engine, service: Any, new_name: Callable[..., str]) -> None:
    being_deleted = Fault("being deleted", executed=False, error=texts.TABLE_BEING_DELETED)
    name = new_name()
    with engine.faults.add(being_deleted, operation="CreateTable", times=1) as rule:
        with rejected_with(TABLE_BEING_DELETED):
            await service.create_table(name)
        await service.create_table(name)
    assert rule.hits == 1


def test_schedules_meet_names_that_are_not_free() -> None:
    met = set()

    async def drop(world: World) -> None:
        await world.storage.tables.delete_table("Log")

    async def is_made(world: World) -> bool:
        try:
            await world.storage.tables.create_table("Log")
        except HttpResponseError as error:
            met.add(service_error_in(error).code)
            return False
        return True

    async def make_again(world: World) -> None:
        while not await is_made(world):
            await world.sleep(SECONDS / 2)

    def actors(world: World) -> dict[str, Any]:
        world.engine.deletion_seconds = SECONDS
        world.engine.tables.create("Log")
        return {"dropper": drop(world), "maker": make_again(world)}

    def is_there_again(world: World) -> bool:
        return world.engine.tables.names() == (["Log"], None)

    explore(actors, invariant=is_there_again, steps=30)
    assert met == {"TableAlreadyExists", "TableBeingDeleted"}


# ------------------------------------------------------------------ how long


async def test_by_default_a_name_is_free_at_once(engine: Engine, service: Any, table: Any) -> None:
    assert Engine().deletion_seconds == 0
    engine.deletion_seconds = 0
    await service.delete_table(table.table_name)
    await service.create_table(table.table_name)


async def test_a_deletion_that_has_begun_ends_as_it_was_to(engine: Engine, service: Any, table: Any) -> None:
    await service.delete_table(table.table_name)
    engine.deletion_seconds = 0
    with rejected_with(TABLE_BEING_DELETED):
        await service.create_table(table.table_name)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_a_deletion_takes_no_less_than_no_time(seconds: float) -> None:
    with pytest.raises(BadInput, match="a deletion takes 0 seconds or more"):
        Engine(deletion_seconds=seconds)
