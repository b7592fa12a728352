"""Small actors for tests of `explore`, on the SDK's aio clients."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeAlias

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError

from tablepatterns_explore import World

Make: TypeAlias = Callable[[World], list[Coroutine[Any, Any, Any]]]
KEYS = {"PartitionKey": "pages", "RowKey": "home"}


def stored(world: World) -> dict[str, dict[str, Any]]:
    """Return the properties of all entities, by row key."""
    return {entity.row_key: dict(entity.properties) for entity in world.engine.tables.query("Pages").entities}


def visits(world: World) -> Any:
    return stored(world)["home"]["Visits"]


async def prepare(table: Any, *entities: dict[str, Any]) -> None:
    await table.create_table()
    for entity in entities:
        await table.create_entity(entity)


def pages(world: World, *entities: dict[str, Any], **options: Any) -> Any:
    """Return the SDK's client of a new table, with some entities in it."""
    world.run(prepare(world.table_client("Pages"), *entities))
    return world.table_client("Pages", **options)


def counter(world: World) -> Any:
    return pages(world, {**KEYS, "Visits": 0})


async def visit(table: Any) -> None:
    """Add one unconditionally, which loses concurrent visits."""
    page = await table.get_entity(*KEYS.values())
    page["Visits"] += 1
    await table.update_entity(page, mode="replace")


async def visit_carefully(table: Any) -> int:
    """Add one conditionally, retry if another writer was faster, and return the number of attempts."""
    attempt = 0
    while True:
        attempt += 1
        page = await table.get_entity(*KEYS.values())
        page["Visits"] += 1
        unchanged = {"etag": page.metadata["etag"], "match_condition": MatchConditions.IfNotModified}
        try:
            await table.update_entity(page, mode="replace", **unchanged)
        except ResourceModifiedError:
            continue
        return attempt


async def write(table: Any, *rows: str) -> None:
    """Insert entities one after another."""
    for row in rows:
        await table.create_entity({"PartitionKey": "pages", "RowKey": row})


async def write_if_new(table: Any, row: str) -> bool:
    try:
        await write(table, row)
    except ResourceExistsError:
        return False
    return True


def writers(*rows: Iterable[str], **options: Any) -> Make:
    """Return a function that creates one actor for each series of rows, which writes them."""

    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        table = pages(world, **options)
        return [write(table, *each) for each in rows]

    return make


def two(visitor: Callable[[Any], Coroutine[Any, Any, Any]]) -> Make:
    """Return a function that creates two actors that visit the same page."""

    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        table = counter(world)
        return [visitor(table), visitor(table)]

    return make
