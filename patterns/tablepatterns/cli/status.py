"""Show the state of the sets, workers, period tables and moves of a module: `tablepatterns status app`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from ..entity_set.entity_set import EntitySet
from ..errors import BadInput
from ..figures import counted, duration
from ..limits import MAX_MESSAGES_PER_GET
from ..recipe import Account, Pattern, bound_async
from ..recipes.period_tables.period_tables import PeriodTables
from ..recipes.rekey.rekey import Rekey
from ..recipes.worker import Worker
from .declared import module_of, run
from .maintenance import AsJson
from .output import console, reporting_errors

_MOST: Final = 32
_KINDS: Final = (EntitySet, Worker, PeriodTables, Rekey)


@reporting_errors
def status(
    name: Annotated[str, typer.Argument(metavar="MODULE", help="The module that declares the sets and workers.")],
    as_json: AsJson = False,
) -> None:
    """Show what a module declares: derived data of sets, waiting intents, poison, expired periods, moves to new keys.

    Cost: 2 queue transactions for each queue, 1 transaction for each series of period tables, and 3 for each move to
    new keys.
    """
    names: dict[str, Any] = vars(module_of(name))
    patterns: dict[str, Any] = {key: each for key, each in names.items() if issubclass(type(each), _KINDS)}
    if not patterns:
        raise BadInput("module", name, "it declares no set, worker or period tables", "name the module that does")
    result: dict[str, dict[str, Any]] = {}
    for account in {id(each.account): each.account for each in patterns.values()}.values():
        own = {key: each for key, each in patterns.items() if each.account is account}
        result |= run(account, _states(own))
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    out = console()
    for each, state in result.items():
        out.print(f"{each} ({type(patterns[each]).__name__})", markup=False, style="bold")
        for key, value in state.items():
            out.print(f"  {key}: {value}", markup=False)


async def _states(patterns: Mapping[str, Pattern[Any]]) -> dict[str, dict[str, Any]]:
    return {name: await _state(bound_async(each)) for name, each in patterns.items()}


async def _state(pattern: Any) -> dict[str, Any]:
    if issubclass(type(pattern), EntitySet):
        return await _state_of_set(pattern)
    if issubclass(type(pattern), Worker):
        return await _state_of_worker(pattern)
    bound: Any = pattern
    if issubclass(type(pattern), Rekey):
        found = await bound.status()
        return {"phase": found.phase.value, "primary table": found.primary, "writes in progress": found.waiting}
    return {"expired periods": len(await bound.expired()) if bound.retention is not None else "kept indefinitely"}


async def _state_of_set(entities: EntitySet[Any]) -> dict[str, Any]:
    names = [f"{each.name} (eventual)" if each.is_eventual else each.name for each in entities.derived]
    state: dict[str, Any] = {"derived data": ", ".join(names) or "none"}
    if any(each.is_eventual for each in entities.derived):
        state["waiting intents"] = await _waiting(entities.account, entities.reconciler().queue)
    return state


async def _state_of_worker(worker: Worker[Any]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    bound: Any = worker
    for queue in worker.queues:
        poison = len(await bound.poisoned(queue))
        more = " or more" if poison == MAX_MESSAGES_PER_GET else ""
        state[queue] = f"{await _waiting(worker.account, queue)}; poison queue: {poison}{more}"
    return state


async def _waiting(account: Account, queue: str) -> str:
    """Return how many messages a queue has, and how long the next one has waited."""
    found = account.queue(queue)
    oldest = await found.peek()
    age = (account.now() - oldest[0].inserted_at).total_seconds() if oldest and oldest[0].inserted_at else None
    waiting = counted(await found.length(), "message")
    return waiting if age is None else f"{waiting}, the next one sent {duration(age)} ago"
