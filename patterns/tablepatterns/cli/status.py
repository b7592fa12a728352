"""Show the state of the sets, workers, period tables and moves of a module: `tablepatterns status app`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from ..entity_set.entity_set import EntitySet
from ..errors import BadInput
from ..figures import counted, duration
from ..limits import MAX_MESSAGES_PER_GET
from ..recipe import Account, Pattern, bound_async
from ..recipes.period_tables.period_tables import PeriodTables
from ..recipes.rekey.rekey import Rekey
from ..recipes.worker import Worker
from .declared import module_of, run
from .output import FAILED, Result, command, new_app, printable

_KINDS: Final = (EntitySet, Worker, PeriodTables, Rekey)
app = new_app()


@command(app)
def status(
    name: Annotated[str, typer.Argument(metavar="MODULE", help="The module that declares the sets and workers.")],
) -> Result:
    """Show what a module declares: derived data of sets, waiting intents, poison, expired periods, moves to new keys.

    The exit status is 1 if there are poison messages. Cost: 2 queue transactions for each queue, 1 transaction for each
    series of period tables, and 3 for each move to new keys.
    """
    names: dict[str, Any] = vars(module_of(name))
    patterns: dict[str, Any] = {key: value for key, value in names.items() if issubclass(type(value), _KINDS)}
    if not patterns:
        raise BadInput("module", name, "it declares no set, worker or period tables", "name the module that does")
    states: dict[str, dict[str, Any]] = {}
    for account in {id(pattern.account): pattern.account for pattern in patterns.values()}.values():
        own = {key: pattern for key, pattern in patterns.items() if pattern.account is account}
        states |= run(_states(own), account)
    lines = [line for key, state in states.items() for line in _lines(key, state)]
    return Result(states, lines, FAILED if any(map(_poison, states.values())) else 0)


async def _states(patterns: Mapping[str, Pattern[Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {"kind": type(pattern).__name__, **await _state(bound_async(pattern))}
        for name, pattern in patterns.items()
    }


async def _state(pattern: Any) -> dict[str, Any]:
    if issubclass(type(pattern), EntitySet):
        is_eventual = any(kind.is_eventual for kind in pattern.derived)
        queue = pattern.reconciler().queue if is_eventual else None
        return {
            "derived": [{"name": kind.name, "is_eventual": kind.is_eventual} for kind in pattern.derived],
            "intents": {queue: await _queue(pattern.account, queue)} if queue else {},
        }
    if issubclass(type(pattern), Worker):
        queues = {queue: await _queue(pattern.account, queue) for queue in pattern.queues}
        for queue, state in queues.items():
            state["poison"] = len(await pattern.poisoned(queue))
        return {"queues": queues}
    if issubclass(type(pattern), Rekey):
        state = await pattern.status()
        return {
            "phase": state.phase.value,
            "primary": state.primary,
            "is_verified": state.is_verified,
            "writes_in_progress": state.waiting,
            "poison": state.poison,
        }
    return {"expired_periods": None if pattern.retention is None else len(await pattern.expired())}


async def _queue(account: Account, name: str) -> dict[str, Any]:
    queue = account.queue(name)
    oldest = await queue.peek()
    sent = oldest[0].inserted_at if oldest else None
    age = None if sent is None else (account.now() - sent).total_seconds()
    return {"messages": await queue.length(), "age_seconds": age}


def _poison(state: Mapping[str, Any]) -> int:
    """Return how many poison messages there are; a queue with 32 may have more."""
    queues: Mapping[str, Any] = state.get("queues", {})
    return int(state.get("poison", 0)) + sum(int(queue["poison"]) for queue in queues.values())


def _lines(name: str, state: Mapping[str, Any]) -> Iterator[str | Text]:
    yield Text(printable(f"{name} ({state['kind']})"), style="bold")
    for key, value in state.items():
        match key:
            case "kind":
                pass
            case "derived":
                names = (f"{kind['name']} (eventual)" if kind["is_eventual"] else kind["name"] for kind in value)
                yield f"  derived data: {', '.join(names) or 'none'}"
            case "intents":
                yield from (f"  waiting intents: {_waiting(queue)}" for queue in value.values())
            case "queues":
                for queue, of in value.items():
                    more = " or more" if of["poison"] == MAX_MESSAGES_PER_GET else ""
                    yield f"  {queue}: {_waiting(of)}; poison queue: {of['poison']}{more}"
            case "expired_periods":
                yield f"  expired periods: {'kept indefinitely' if value is None else value}"
            case _:
                yield f"  {key.removeprefix('is_').replace('_', ' ')}: {value}"


def _waiting(queue: Mapping[str, Any]) -> str:
    age = queue["age_seconds"]
    waiting = counted(queue["messages"], "message")
    return waiting if age is None else f"{waiting}, the next one sent {duration(age)} ago"
