"""Run a worker, and show and empty its poison queues: `tablepatterns worker app:worker`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, TypeVar

import typer

from ..errors import BadInput
from ..figures import counted
from ..limits import MAX_MESSAGES_PER_GET
from ..messages.poison import PoisonMessage
from ..recipe import bound_async
from ..recipes.worker import Worker, stop_on_signals
from . import check_not_stopped
from .declared import load, run
from .output import DryRun, PrintableFormatter, Result, Yes, command, confirm, new_app
from .walks import Target, with_options

T = TypeVar("T")
app = new_app()
poison = new_app(name="poison", help="Show, requeue or delete the messages that a worker could not process.")
app.add_typer(poison)

Name = Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="The worker, such as app:worker.")]
MessageId = Annotated[str, typer.Argument(metavar="MESSAGE", help="The id of the message, as `poison list` shows it.")]
AnyMessageId = Annotated[
    str | None, typer.Argument(metavar="[MESSAGE]", help="The id of one message; by default, the first ones.")
]
QueueName = Annotated[str | None, typer.Option("--queue", help="One of the worker's queues; by default, all.")]
Count = Annotated[int, typer.Option(min=1, max=MAX_MESSAGES_PER_GET, help="The most messages of each queue.")]
_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_COLUMNS: Final = ("queue", "id", "error", "reason", "deliveries", "first", "last")


@command(app)
def worker(
    name: Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="The worker, such as package.module:worker.")],
    log_level: Annotated[str, typer.Option(help="The log level: DEBUG, INFO, WARNING or ERROR.")] = "INFO",
    as_json: bool = False,
) -> Result:
    """Run a worker until Ctrl+C or SIGTERM; messages being processed are finished first.

    MODULE is looked for in this folder, too. WORKER is a tablepatterns Worker in it, or a function that returns one.
    """
    # Before the module is loaded, which may take a while
    # Not the root logger: the SDK logs every request at INFO
    with stop_on_signals() as stopping, _logging_to_stderr(logging.getLogger("tablepatterns"), log_level):
        check_not_stopped()
        declared_worker: Worker[Any] = load(name, Worker, "worker")
        if getattr(declared_worker.account, "engine", None) is not None:
            rule = "its account is in memory, where no other process can send it a message"
            raise BadInput("worker", name, rule, "connect it to an account, or call run_once() in the same program")
        if not as_json:
            Result(None, (f"working on {', '.join(declared_worker.queues)}; stop with Ctrl+C",)).print(as_json=False)
        bound: Any = bound_async(declared_worker)
        report = run(bound.run(stopping), declared_worker.account)
    line = f"stopped: {report.handled} handled, {report.failed} failed, {report.poisoned} poisoned"
    return Result(asdict(report), (line,))


@contextmanager
def _logging_to_stderr(logger: logging.Logger, level: str) -> Generator[None, None, None]:
    if level not in _LEVELS:
        raise BadInput("--log-level", level, "there is no such level", f"give one of {', '.join(_LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@dataclass(frozen=True)
class _Queues:
    """The options that say which poison queues a command works on, and on how many messages of each."""

    storage: str | None
    queue: str | None
    count: int = MAX_MESSAGES_PER_GET

    def notes(self, name: str, message: str | None = None) -> list[PoisonMessage]:
        """Return the first messages of each queue of a worker; or one of them, by its id."""
        by_queue = self._over(name, lambda worker, queue: worker.poisoned(queue, self.count))
        notes = [note for notes in by_queue.values() for note in notes]
        return notes if message is None else [_known([note for note in notes if note.id == message], message)[0]]

    def change(self, verb: str, call: str, name: str, message: str | None, *, dry_run: bool) -> Result:
        """Call a method of the worker on one message, or on the first ones; a dry run lists them."""
        if dry_run:
            return _listed(self.notes(name, message))
        numbers = self._over(name, lambda worker, queue: getattr(worker, call)(queue, self.count, message))
        if message is not None:
            _known([number for number in numbers.values() if number], message)
        lines = (f"{queue}: {counted(number, 'message')} {verb}" for queue, number in numbers.items())
        return Result({verb: numbers}, lines)

    def _over(self, name: str, call: Callable[[Any, str], Coroutine[Any, Any, T]]) -> dict[str, T]:
        worker: Worker[Any] = load(name, Worker, "worker", self.storage)
        bound, queues = bound_async(worker), worker.queues if self.queue is None else (self.queue,)

        async def work() -> dict[str, T]:
            return {queue: await call(bound, queue) for queue in queues}

        return run(work(), worker.account)


def _known(values: list[T], message: str) -> list[T]:
    if not values:
        raise BadInput("message", message, "it is not among the first messages of the queue", "see `poison list`")
    return values


_OPTIONS: Final = (("storage", None, Target), ("queue", None, QueueName), ("count", MAX_MESSAGES_PER_GET, Count))
_on_queues = with_options("queues", _Queues, _OPTIONS)


@command(poison, "list")
@_on_queues
def list_messages(name: Name, *, queues: _Queues) -> Result:
    """List the messages of the poison queues, without their text."""
    return _listed(queues.notes(name))


@command(poison)
@with_options("queues", _Queues, _OPTIONS[:2])
def show(name: Name, message: MessageId, *, queues: _Queues) -> Result:
    """Print one message with its text, which may hold personal data."""
    (note,) = queues.notes(name, message)
    return Result(asdict(note), json.dumps(asdict(note), indent=2).splitlines())


@command(poison)
@_on_queues
def requeue(name: Name, message: AnyMessageId = None, dry_run: DryRun = False, *, queues: _Queues) -> Result:
    """Send messages back to the queue they came from."""
    return queues.change("requeued", "requeue", name, message, dry_run=dry_run)


@command(poison)
@_on_queues
def drop(
    name: Name, message: AnyMessageId = None, dry_run: DryRun = False, yes: Yes = False, *, queues: _Queues
) -> Result:
    """Delete messages from the poison queue; their work is lost."""
    if not dry_run:
        confirm(f"Delete {'poison messages' if message is None else f'the message {message}'}?", yes=yes)
    return queues.change("deleted", "drop_poisoned", name, message, dry_run=dry_run)


def _listed(notes: list[PoisonMessage]) -> Result:
    lines: list[str] = []
    for note in notes:
        received = f"received {counted(note.deliveries, 'time')}, last at {note.last}" if note.error else "not a note"
        lines += [f"{note.queue or 'another program'} {note.id}: {received}", f"  {note.error}: {note.reason}"]
    data = [{column: getattr(note, column) for column in _COLUMNS} for note in notes]
    return Result(data, [*lines, counted(len(notes), "message")])
