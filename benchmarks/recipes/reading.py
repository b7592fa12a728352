"""Read a thousand keys, with point queries one after the other and several at a time.

An engine in the same process responds immediately, so concurrency gains nothing. Here every request first waits for two
milliseconds, as on a network; Azurite, if included, has its own latency.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from azure.core.rest import HttpRequest, HttpResponse

from tablepatterns import BulkLoad, EntitySet, Key, Storage, aio, connect
from tablepatterns.recipe import Account
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

from ..data import RecipeScale
from .runs import Run, Work

SECONDS: Final = 0.002
DISTANT: Final = "engine behind 2 ms"
ONE_BY_ONE: Final = "one by one"
MANY: Final = "get_many"
WIDE: Final = "get_many, limit=32"

_KEY: Final = Key("{Department}", "empid_{EmployeeId:06d}")
Keys = list[dict[str, Any]]


class Distant(EngineTransport):
    """The engine's transport, where each request waits in real time while other threads continue."""

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        time.sleep(SECONDS)
        return super().send(request, **kwargs)


def _wait() -> Any:
    return asyncio.sleep(SECONDS)


def readings(scale: RecipeScale, azurite: str | None) -> Iterator[Run]:
    """Yield the ways to read many keys, sync and async.

    :param azurite: the connection string of Azurite; None to leave it out
    """
    engine = Engine()
    yield from _at(
        DISTANT,
        scale,
        connect(engine),
        lambda: connect(engine, transport=Distant(engine)),
        lambda: aio.connect(engine, transport=AioEngineTransport(engine, _wait)),
    )
    if azurite is not None:
        yield from _at("Azurite", scale, connect(azurite), lambda: connect(azurite), lambda: aio.connect(azurite))


def _at(
    name: str,
    scale: RecipeScale,
    writer: Storage,
    blocking: Callable[[], Storage],
    awaiting: Callable[[], aio.Storage],
) -> Iterator[Run]:
    entities = [{"Department": f"D{n % 10}", "EmployeeId": n, "Name": f"Jones {n}"} for n in range(scale.keys)]
    BulkLoad(_employees(writer)).load(entities)
    keys = [{name: each[name] for name in ("Department", "EmployeeId")} for each in entities]

    def is_right(found: list[Any]) -> bool:
        return [dict(each) for each in found] == entities

    for contestant, limit in ((ONE_BY_ONE, 1), (MANY, 8), (WIDE, 32)):
        yield Run(f"{name}, sync", contestant, len(keys), _sync(blocking, keys, limit), is_right)
        yield Run(f"{name}, async", contestant, len(keys), _async(awaiting, keys, limit), is_right)


def _employees(storage: Any) -> EntitySet[Any]:
    return EntitySet[Account](storage, "Employees", _KEY)


def _sync(connected: Callable[[], Storage], keys: Keys, limit: int) -> Callable[[], Work]:
    def read() -> list[Any]:
        with connected() as storage:
            employees = _employees(storage)
            if limit == 1:
                return [employees.get(**each) for each in keys]
            found: list[Any] = employees.get_many(keys, max_concurrency=limit)
            return found

    return lambda: read


def _async(connected: Callable[[], aio.Storage], keys: Keys, limit: int) -> Callable[[], Work]:
    async def read() -> list[Any]:
        async with connected() as storage:
            employees = _employees(storage)
            if limit == 1:
                return [await employees.get(**each) for each in keys]
            found: list[Any] = await employees.get_many(keys, max_concurrency=limit)
            return found

    return lambda: lambda: asyncio.run(read())
