"""Commands that show and empty the poison queues of a worker: `tablepatterns poison list app:worker`."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from ..errors import BadInput
from ..figures import counted
from ..limits import MAX_MESSAGES_PER_GET
from ..messages.poison import PoisonMessage
from ..recipe import bound_async
from ..recipes.worker import Worker
from .declared import load, run
from .maintenance import AsJson, Target
from .output import console, reporting_errors

poison = typer.Typer(help="Show, requeue or delete the messages that a worker could not process.")

Name = Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="The worker, such as app:worker.")]
QueueName = Annotated[str | None, typer.Option("--queue", help="One of the worker's queues; by default, all.")]
Count = Annotated[int, typer.Option(min=1, max=MAX_MESSAGES_PER_GET, help="The most messages of each queue.")]
_COLUMNS: Final = ("queue", "id", "error", "reason", "deliveries", "first", "last")


@poison.command("list")
@reporting_errors
def list_messages(
    name: Name, storage: Target = None, queue: QueueName = None, count: Count = 32, as_json: AsJson = False
) -> None:
    """List the messages of the poison queues, without their text."""
    found = _peeked(name, storage, queue, count)
    notes = [{column: getattr(each, column) for column in _COLUMNS} for each in found]
    if as_json:
        typer.echo(json.dumps(notes, indent=2))
        return
    out = Console(highlight=False, soft_wrap=True)
    for each in found:
        out.print(
            f"{each.queue} {each.id}: received {counted(each.deliveries, 'time')}, last at {each.last}", markup=False
        )
        out.print(f"  {each.error}: {each.reason}", markup=False)
    out.print(f"{counted(len(found), 'message')}")


@poison.command()
@reporting_errors
def show(
    name: Name,
    message: Annotated[str, typer.Argument(help="The id of the message, as `poison list` shows it.")],
    storage: Target = None,
    queue: QueueName = None,
) -> None:
    """Print one message with its text, which may hold personal data."""
    for each in _peeked(name, storage, queue, MAX_MESSAGES_PER_GET):
        if each.id == message:
            typer.echo(json.dumps(asdict(each), indent=2))
            return
    raise BadInput("message", message, "it is not among the first messages of the queue", "see `poison list`")


@poison.command()
@reporting_errors
def requeue(name: Name, storage: Target = None, queue: QueueName = None, count: Count = 32) -> None:
    """Send messages back to the queue they came from."""
    _each_queue(name, storage, queue, lambda bound, each: bound.requeue(each, count), "requeued")


@poison.command()
@reporting_errors
def drop(
    name: Name,
    storage: Target = None,
    queue: QueueName = None,
    count: Count = 32,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete messages from the poison queue; their work is lost."""
    if not yes:
        typer.confirm("Delete poison messages?", abort=True)
    _each_queue(name, storage, queue, lambda bound, each: bound.drop_poisoned(each, count), "deleted")


def _peeked(name: str, storage: str | None, queue: str | None, count: int) -> list[PoisonMessage]:
    worker: Worker[Any] = load(name, Worker, "worker", storage)
    bound: Any = bound_async(worker)

    async def work() -> list[PoisonMessage]:
        return [note for each in _queues(worker, queue) for note in await bound.poisoned(each, count)]

    return run(worker.account, work())


def _each_queue(
    name: str,
    storage: str | None,
    queue: str | None,
    call: Callable[[Any, str], Coroutine[Any, Any, int]],
    verb: str,
) -> None:
    worker: Worker[Any] = load(name, Worker, "worker", storage)
    bound = bound_async(worker)

    async def work() -> dict[str, int]:
        return {each: await call(bound, each) for each in _queues(worker, queue)}

    for each, messages in run(worker.account, work()).items():
        console().print(f"{each}: {counted(messages, 'message')} {verb}")


def _queues(worker: Worker[Any], queue: str | None) -> Iterable[str]:
    return worker.queues if queue is None else (queue,)
