"""Receive messages and process them at least once."""

from __future__ import annotations

import inspect
import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, cast

from azure.core.exceptions import AzureError, HttpResponseError

from .. import limits
from ..argument_types import check_has_run, checked, is_async
from ..errors import NOT_SHOWN, BadDesign, BadInput, BadMessage
from ..jobs.walk import WalkReport
from ..messages.delivery import Delivery, Handler, Observer, Outcome, ServedQueue, Settings, log
from ..messages.lease import Envelope, ExternalLease
from ..messages.poison import PoisonMessage, Reason
from ..recipe import Account_co, Pattern, bound_async, elapsed, is_sync, recipe, runs_in_turn
from ..sdk.call import CONNECTION_LOST
from ..sdk.queue import Message

_FIRST_WAIT: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})


ShouldStop: TypeAlias = Callable[[], bool]
"""Returns whether to stop; `threading.Event().is_set` is one."""


class StopSignal:
    """Whether the queues of a worker should stop: the caller asked for it, or one of them failed."""

    def __init__(self, should_stop: ShouldStop) -> None:
        self._should_stop = should_stop
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def __call__(self) -> bool:
        if self._is_set:
            return True
        answer = self._should_stop()
        check_has_run("stopping", answer)
        return answer


@contextmanager
def stop_on_signals() -> Generator[ShouldStop, None, None]:
    """Return a function that is true after the first SIGINT or SIGTERM; the second has its previous effect."""
    if threading.current_thread() is not threading.main_thread():
        rule = "without it the worker stops on signals, which only the main thread receives"
        raise BadInput("stopping", None, rule, "pass a function, such as threading.Event().is_set")
    signal_received = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(*_: object) -> None:
        signal_received.set()
        restore()

    for number in before:
        signal.signal(number, stop)
    try:
        yield signal_received.is_set
    finally:
        restore()


class QueueHandler(Handler, Protocol):
    """A handler that knows which queue its messages are on."""

    @property
    def queue(self) -> str: ...


@dataclass(frozen=True)
class Report(WalkReport):
    """How many messages a worker received, by result.

    :param failed: their handler failed, and they are delivered again
    :param lost: their lease ended before they were processed
    :param released: released unopened, because the worker is stopping
    """

    received: int = 0
    handled: int = 0
    failed: int = 0
    poisoned: int = 0
    lost: int = 0
    released: int = 0


class Worker(Pattern[Account_co]):
    """Process messages at least once, with as many workers as you like.

    Use it for work in several places that one message starts: if a process crashes on the way, a worker completes the
    work.

    >>> from tablepatterns import connect
    >>> from tablepatterns.recipes.eventual_transaction import EventualTransaction
    >>> storage = connect()
    >>> welcomed = []
    >>> welcome = EventualTransaction(storage, "welcome", "welcome", [lambda body: welcomed.append(body["Name"])])
    >>> _ = welcome.start({"Name": "Jones"})
    >>> Worker(storage, [welcome]).run_once()
    Report(received=1, handled=1, failed=0, poisoned=0, lost=0, released=0)
    >>> welcomed
    ['Jones']

    Consistency: a message is processed at least once, and is never lost. One that fails `max_deliveries` times is moved
    to the poison queue, with the reason. Handlers must be idempotent: messages may be processed twice, and out of
    order. Retries, leases, and how to run it: docs/workers.md.

    Cost: a check of an empty queue 1 queue transaction, equivalent to 11 table operations. A message takes two of the
    queue, to receive and to delete it, and its work: with two steps of one table transaction each `run_once` 2 table +
    2 queue transactions, equivalent to 24 table operations; with `remember` 2 table + 3 queue transactions, equivalent
    to 35 table operations. A message that is moved to the poison queue 3 queue transactions, equivalent to 33 table
    operations. Another of the queue to release a failed message, and for each renewal.

    :param account: where the queues are
    :param queues: the handlers of each queue by its name, or handlers that know their queue
    :param lease: the seconds that a received message stays hidden, up to 7 days
    :param max_deliveries: how often a message is received before it is moved to the poison queue
    :param poison: the name of a queue's poison queue; `{queue}` stands for the queue's name
    :param max_concurrency: how many messages of a queue are processed at a time, 1 to 32: in tasks, or in threads on a
        sync account, where handlers must then be thread-safe
    :param retry_after: the seconds until a failed message can be received again, doubled each time, at most an hour
    :param idle: the longest time in seconds between two checks of an empty queue
    :param base64: whether to write messages in Base64, for clients that expect it; both are read
    :param observer: is notified of what the worker does
    :raises BadDesign: the parameters cannot be combined; the error says why

    Guide: eventually consistent transactions pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        queues: Mapping[str, Iterable[Handler]] | Iterable[QueueHandler],
        *,
        lease: int = 30,
        max_deliveries: int = 5,
        poison: str = "{queue}-poison",
        max_concurrency: int = 1,
        retry_after: int = 10,
        idle: float = 10,
        base64: bool = False,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(account)
        longest = int(limits.MAX_VISIBILITY_TIMEOUT.total_seconds())
        _check("lease", lease, 1, longest)
        _check("max_deliveries", max_deliveries, 1, None)
        _check("max_concurrency", max_concurrency, 1, limits.MAX_MESSAGES_PER_GET)
        _check("retry_after", retry_after, 0, longest)
        _check("idle", idle, _FIRST_WAIT, None)
        self._settings = Settings(lease, max_deliveries, retry_after, base64, observer or Observer(), is_sync(account))
        for name in vars(Observer):
            if not name.startswith("_") and is_async(getattr(self._settings.observer, name)):
                rule = f"its method `{name}` is async, and is not awaited"
                raise BadDesign("observer", type(observer).__name__, rule, "write its methods without async")
        self._max_concurrency = max_concurrency
        self._idle = idle
        self._served = {name: self._serving(name, handlers, poison) for name, handlers in _by_queue(queues).items()}
        if not self._served:
            raise BadDesign("queues", {}, "a worker polls at least one queue", "pass handlers")

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the queues that it polls."""
        return tuple(self._served)

    def _check_handler(self, handler: Handler) -> None:
        """Reject a handler whose messages this worker would not receive, or that it could not await."""
        if isinstance(handler, Pattern):
            handler_account: object = handler.account
            own_account: object = self.account
            if is_sync(handler.account) != is_sync(self.account):
                rule = f"the handler of {handler.kind!r} is on a sync account and the worker is not, or the reverse"
                raise BadDesign("account", handler_account, rule, "connect to both in the same way")
            if handler_account is not own_account and _queues_of(handler_account) != _queues_of(own_account):
                rule = (
                    f"the handler of {handler.kind!r} is on another account, so the worker never receives its messages"
                )
                raise BadDesign("account", handler_account, rule, "create the worker with the handler's account")
        handle: object = handler.handle
        if inspect.isroutine(handle) and not inspect.iscoroutinefunction(handle):
            rule = f"`handle` of the handler of {handler.kind!r} is not declared with `async def`"
            raise BadDesign("handle", type(handler).__name__, rule, "write `async def handle(self, lease)`")

    def _serving(self, name: str, handlers: Iterable[Handler], poison: str) -> ServedQueue:
        by_kind: dict[str, Handler] = {}
        for handler in handlers:
            self._check_handler(handler)
            if handler.kind in by_kind:
                rule = f"two handlers of queue {name!r} process this kind"
                raise BadDesign("kind", handler.kind, rule, "give each its own kind")
            by_kind[handler.kind] = cast("Handler", bound_async(handler)) if isinstance(handler, Pattern) else handler
        if (poison_queue := poison.replace("{queue}", name)) == name:
            raise BadDesign("poison", poison, f"poison messages of {name!r} would return to it", "use another name")
        return ServedQueue(self.account.queue(name), self.account.queue(poison_queue), by_kind)

    @recipe
    async def run_once(self) -> Report:
        """Check each queue once, process what is there, and report.

        Cost: 1 queue transaction, equivalent to 11 table operations, for each queue, and the cost of the messages.

        :raises AzureError: a queue could not be reached; its messages are delivered again
        """
        return await self._once(StopSignal(lambda: False))

    @recipe
    async def drain(self) -> Report:
        """Process messages until no queue has one that can be received, and report; hidden messages are left.

        Cost: as for `run_once`, until all queues are found empty.

        :raises AzureError: a queue could not be reached; its messages are delivered again
        """
        total = Report()
        while (report := await self._once(StopSignal(lambda: False))).received:
            total += report
        return total

    @recipe
    async def run(self, stopping: ShouldStop | None = None) -> Report:
        """Process messages until `stopping` returns True, and report.

        Messages that are being processed are completed, and no others are started. If the service is busy or cannot be
        reached, the worker retries; any other error of a queue ends it.

        :param stopping: returns whether to stop, such as `threading.Event().is_set`; None to stop on SIGINT or SIGTERM,
            in the main thread
        :raises AzureError: the service rejected a request for a permanent reason
        :raises BadInput: there is no `stopping`, and signals cannot be received here
        """
        with stop_on_signals() if stopping is None else nullcontext(stopping) as should_stop:
            stop = StopSignal(should_stop)
            queues = list(self._served.values())
            shares = [queues] if runs_in_turn(self.account) else [[queue] for queue in queues]
            serving = (self._serve(share, stop) for share in shares)
            return sum(await self.account.gather(*serving, max_concurrency=len(shares), needs_threads=True), Report())

    @recipe
    async def handle_text(self, text: str) -> None:
        """Process a message that another program received, such as the queue trigger of an Azure Function.

        That program, such as the host of Azure Functions, renews and deletes the message, and handles failures. Cost:
        that of the handler.

        :param text: the message, plain or in Base64
        :raises BadMessage: it cannot be read, or there is not exactly one handler for it
        :raises Exception: an error that the handler raised
        """
        kind = Envelope.parse(text).kind
        serving_queues = [served_queue for served_queue in self._served.values() if kind in served_queue.handlers]
        if len(serving_queues) != 1:
            rule = f"{len(serving_queues)} handlers of this worker process it"
            raise BadMessage("kind", NOT_SHOWN, rule, "give the worker exactly one")
        lease = ExternalLease(self.account, serving_queues[0].queue, text, self._settings.lease)
        await serving_queues[0].handlers[kind].handle(lease)

    @recipe
    async def poisoned(self, queue: str, count: int = 32) -> list[PoisonMessage]:
        """Peek at up to `count` messages of the poison queue.

        Cost: 1 queue transaction, equivalent to 11 table operations.

        :param queue: the queue that they come from
        :param count: the maximum number, 1 to 32
        """
        return [_note(message) for message in await self._of(queue).poison.peek(count)]

    @recipe
    async def requeue(self, queue: str, count: int = 32, message_id: str | None = None) -> int:
        """Move up to `count` messages from the poison queue back to their queue, unchanged, and return how many.

        A message may be sent twice, and is never lost. Cost: with one message 3 queue transactions, equivalent to 33
        table operations; two more for each further one.

        :param queue: the queue that they come from, and go back to
        :param count: the maximum number, 1 to 32
        :param message_id: the `id` of the only message, among the first `count`; None for all
        """
        served_queue, sent_count = self._of(queue), 0
        for message in await self._receive_poison(served_queue, count, message_id):
            note = _note(message)
            if note.queue not in (None, queue):
                continue
            if note.text is not None:
                await served_queue.queue.send(note.text)
                sent_count += 1
            await served_queue.poison.delete(message)
        return sent_count

    @recipe
    async def drop_poisoned(self, queue: str, count: int = 32, message_id: str | None = None) -> int:
        """Delete up to `count` messages of the poison queue, and return how many; their work is lost.

        Cost: with one message 2 queue transactions, equivalent to 22 table operations; one more for each further one.

        The parameters are those of `requeue`.
        """
        served_queue = self._of(queue)
        messages = await self._receive_poison(served_queue, count, message_id)
        return sum([await served_queue.poison.delete(message) for message in messages])

    async def _receive_poison(self, served_queue: ServedQueue, count: int, message_id: str | None) -> list[Message]:
        """Receive messages of a poison queue, and release those with another id."""
        messages = await served_queue.poison.receive(count, lease=self._settings.lease)
        if message_id is None:
            return messages
        for message in messages:
            if _note(message).id != message_id:
                await served_queue.poison.renew(message, lease=0)
        return [message for message in messages if _note(message).id == message_id]

    def _of(self, queue: str) -> ServedQueue:
        if queue not in self._served:
            raise BadInput("queue", queue, f"this worker polls {', '.join(self._served)}", "pass one of them")
        return self._served[queue]

    async def _once(self, stop: StopSignal) -> Report:
        return sum([await self._round(served_queue, stop) for served_queue in self._served.values()], Report())

    async def _serve(self, queues: Sequence[ServedQueue], stop: StopSignal) -> Report:
        """Poll queues, one after the other, until the worker stops."""
        total, wait = Report(), _FIRST_WAIT
        try:
            while not stop():
                report = sum([await self._round_or_pause(served_queue, stop) for served_queue in queues], Report())
                total += report
                wait = _FIRST_WAIT if report.received else min(wait * 2, self._idle)
                if not report.received:
                    await self._pause(wait, stop)
        except BaseException:
            stop.set()
            raise
        return total

    async def _round_or_pause(self, served_queue: ServedQueue, stop: StopSignal) -> Report:
        try:
            return await self._round(served_queue, stop)
        except AzureError as error:
            if not _is_transient(error):
                raise
            reason = Reason.of(error)
            extra = {"queue": served_queue.queue.name, "error": reason.error}
            log.warning("%s cannot be reached; retrying: %s", served_queue.queue.name, reason.text, extra=extra)
            return Report()

    async def _round(self, served_queue: ServedQueue, stop: StopSignal) -> Report:
        """Receive as many messages as can be processed at once, and process them."""
        requested_at = elapsed(self.account)
        messages = await served_queue.queue.receive(self._max_concurrency, lease=self._settings.lease)
        if messages:
            self._settings.observer.received(served_queue.queue.name, len(messages))
            log.log(logging.DEBUG, "%s: received %d", served_queue.queue.name, len(messages))

        async def process(message: Message) -> Outcome:
            delivery = Delivery(self.account, served_queue, self._settings, message, requested_at)
            return await (delivery.release() if stop() else delivery.process())

        processing = map(process, messages)
        outcomes = await self.account.gather(*processing, max_concurrency=self._max_concurrency, needs_threads=True)
        return Report(len(outcomes), **Counter[str](outcomes))

    async def _pause(self, seconds: float, stop: StopSignal) -> None:
        """Wait, and check about once a second whether to stop."""
        while seconds > 0 and not stop():
            pause = min(seconds, _LONGEST_PAUSE)
            await self.account.sleep(pause)
            seconds -= pause


def _queues_of(account: object) -> tuple[object, object]:
    """Return what identifies the queues of a connection: the in-memory engine, or the address."""
    target = getattr(account, "target", None)
    return getattr(account, "engine", None), target and target.urls["queue"]


def _note(message: Message) -> PoisonMessage:
    """Return the note in a message; one that another program sent has the id of the message itself."""
    note = PoisonMessage.parse(message.text)
    return note if note.id else replace(note, id=message.id)


def _by_queue(handlers: Mapping[str, Iterable[Handler]] | Iterable[QueueHandler]) -> Mapping[str, Iterable[Handler]]:
    if isinstance(handlers, Mapping):
        return cast("Mapping[str, Iterable[Handler]]", handlers)
    by_queue: dict[str, list[Handler]] = {}
    for handler in handlers:
        by_queue.setdefault(handler.queue, []).append(handler)
    return by_queue


def _check(name: str, number: float, least: float, most: float | None) -> None:
    if number < least or (most is not None and number > most):
        rule = f"it is at least {least:g}" if most is None else f"it is {least:g} to {most:g}"
        raise BadDesign(name, number, rule, "pass a number in that range")


def _is_transient(error: AzureError) -> bool:
    if isinstance(error, HttpResponseError):
        return error.status_code in _TRANSIENT
    return isinstance(error, CONNECTION_LOST)
