"""Blobs and buckets with steps in another order, or without information for later readers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any
from unittest.mock import patch

from recipes import test_blob_log_schedules as logging
from recipes import test_large_values_schedules as large
from schedules.schedule import schedule
from support.blob_logs import log_of
from tablepatterns import EntitySet, Key
from tablepatterns.recipes.large_properties import large_properties as recipe
from tablepatterns.recipes.partition_spread.partition_spread import Buckets
from tablepatterns.sdk.container import Container
from tablepatterns_explore import World, explore
from tablepatterns_explore.world import SteppedStorage

Actors = dict[str, Coroutine[Any, Any, Any]]


@schedule("large_properties")
def the_address_before_its_blob() -> object:
    """The entity is written before its photo."""

    def make(world: World) -> Actors:
        staff = EntitySet(world.storage, large.TABLE, large.BY_ID)
        photos = world.storage.container(large.CONTAINER)
        world.run(staff.create_table())
        world.run(photos.create())

        async def insert() -> None:
            await staff.insert({**large.JONES, "Photo": photos.blob_url("jones.jpg")})
            await photos.upload("jones.jpg", b"photo")

        return {"ann": insert()}

    return explore(make, invariant=large.no_address_is_without_its_blob, crashes=1)


@schedule("large_properties-one_name")
def one_blob_for_all_writes() -> object:
    """Each photo of an employee has the same blob name, and overwrites the previous one."""

    class Same:
        hex = "0" * 32

    def make(world: World) -> Actors:
        made = large.actors({"b": large.merge}, reads=True)(world)
        return {"ann": made["b"], "reader": made["reader"]}

    with patch.object(recipe, "uuid4", Same):
        return explore(make)


@schedule("partition_spread")
def other_numbers_of_buckets() -> object:
    """Two versions of a program spread the same events over different numbers of buckets, which are not stored."""
    key = Key("log", "{EventId:06d}")
    spread = Key("{Bucket:02d}_log", "{EventId:06d}")

    def make(world: World) -> Actors:
        events = EntitySet(world.storage, "Events", spread)
        world.run(events.create_table())

        def insert(count: int) -> Coroutine[Any, Any, Any]:
            event = {"EventId": 1}
            return events.insert({**event, "Bucket": Buckets(key, count, ["EventId"]).of(event)})

        return {"four": insert(4), "nine": insert(9)}

    def is_found_by_all(world: World) -> None:
        places = [row.partition_key for row in world.engine.tables.query("Events").entities]
        assert len(places) == 1, f"one event is in {' and in '.join(places)}"

    return explore(make, invariant=is_found_by_all)


def _kept(container: type[Container], make: Callable[[World], Actors], **options: Any) -> object:
    """Explore writers of a log with a modified container."""

    def opened(world: SteppedStorage, name: str) -> Container:
        return container(world.blobs.get_container_client(name))

    with patch.object(SteppedStorage, "container", opened):
        return explore(make, **options)


def _writes(*batches: Sequence[float]) -> Callable[[World], Actors]:
    def make(world: World) -> Actors:
        log = log_of(world.storage, "logs", ahead=logging.EXACT)
        world.run(log.container.create())
        return {"ann": logging.write_batches(log, *(tuple(batch) for batch in batches))}

    return make


@schedule("blob_log")
def appended_wherever_the_blob_ends() -> object:
    """A block is appended again after its response was lost."""
    return _kept(logging.Unpositioned, _writes([1, 3]), invariant=logging.nothing_is_stored_twice, lost_responses=1)


@schedule("blob_log-told_late")
def told_of_when_it_is_there() -> object:
    """The metadata is updated only after entries are in the blob."""

    def is_opened(world: World) -> None:
        for blob in logging.blobs(world):
            last = datetime.fromisoformat(blob.metadata["last"].replace("Z", "+00:00"))
            for entry in logging.entries_in(blob):
                assert entry.at <= last, f"an entry of {entry.at:%H:%M} is in a blob that says it ends at {last:%H:%M}"

    return _kept(logging.Late, _writes([1, 3], [5]), invariant=is_opened, crashes=1)
