"""Eventual transaction: a sequence of idempotent steps that a message carries to its end, whoever dies on the way.

Status: ready
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from ..argument_types import checked
from ..errors import NOT_SHOWN, BadDesign, BadInput, BadMessage, LeaseLost, StepFailed
from ..messages.envelope import Envelope
from ..messages.lease import Lease
from ..messages.poison import Reason
from ..recipe import Account_co, Pattern, recipe
from ..sdk.call import settled
from ..sdk.queue import check_length

Body: TypeAlias = Mapping[str, Any]
Step: TypeAlias = Callable[[Body], Awaitable[object] | object]
"""Does one step, given the body of the message: a function, or on an async account an async one."""

DONE: Final = "_done"
"""The field of a body that names the steps which are done."""


class EventualTransaction(Pattern[Account_co]):
    """Make changes that no entity group transaction can hold: in several partitions, tables, accounts or systems.

    Goal: an order is paid for, shipped and put on the search index, or it is in a queue where someone sees that it
    was not. One message asks for all of it; a `Worker` takes the steps one after another.

    Guarantees: once `start` has returned, every step is done at least once, in this order, or the message is on the
    poison queue with the step and the reason. Whoever dies at whatever point, a worker begins again from the first
    step; or with `remember` after the last step that the message knows to be done.

    Does not: isolate. Who looks in between sees some steps done and others not; nothing is undone when a step fails
    for good. A step may be done twice, even by two workers at the same time after a stall, and by a message that was
    delivered twice: it must be idempotent, such as insert-or-replace and delete-if-exists are.

    Cost: `start` 1 queue transaction, as much as 11 table operations. The worker takes two more of the queue, to
    receive and to delete the message, and what the steps take; with `remember` another after each step but the last.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns.recipes.worker import Worker
    >>> storage = connect()
    >>> by_id = EntitySet(storage, "EmployeesById", Key("{Department}", "{EmployeeId:06d}"))
    >>> by_name = EntitySet(storage, "EmployeesByName", Key("{LastName}", "{EmployeeId:06d}"))
    >>> hiring = EventualTransaction(storage, "hiring", "hire", [by_id.insert_or_replace, by_name.insert_or_replace])
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadDesign: step = 'insert_or_replace': two steps have this name; give a dict of steps by name
    >>> hiring = EventualTransaction(
    ...     storage, "hiring", "hire", {"by id": by_id.insert_or_replace, "by name": by_name.insert_or_replace}
    ... )
    >>> _ = hiring.start({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"})
    >>> Worker(storage, [hiring]).run_once().handled
    1
    >>> [found["EmployeeId"] for found in by_name.range(LastName="Jones")]
    [223]

    :param account: where the queue is
    :param queue: the queue's name; it is made by the first message
    :param name: the kind of its messages, by which a worker knows whose they are
    :param steps: functions of the body, in order: plain ones, or on an async account async ones; their `__name__` is
        the step's name. Or the same by name, as a dict
    :param remember: whether the message is rewritten after each step, so that what is done is not done again
    :param base64: whether to send messages in Base64, for clients that expect it; workers read both
    :raises BadDesign: there is no step, or two have the same name

    Guide: eventually consistent transactions pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        queue: str,
        name: str,
        steps: Iterable[Step] | Mapping[str, Step],
        *,
        remember: bool = False,
        base64: bool = False,
    ) -> None:
        super().__init__(account)
        self.queue = queue
        self.kind = name
        self.steps = _by_name(steps)
        self.remember = remember
        self._base64 = base64
        self._messages = account.queue(queue)
        if not self.steps:
            raise BadDesign("steps", {}, "there must be something to do", "give at least one step")

    @recipe
    async def start(self, body: Body, *, delay: int = 0) -> str:
        """Ask for the steps to be done, and return the id of the message.

        Cost: 1 queue transaction, as much as 11 table operations.

        A request whose answer was lost is sent again, so that the steps may be asked for twice. What the body speaks
        of had better be named by it: a step that makes up an id makes up another one when it is repeated.

        :param body: what the steps are given: texts, numbers, booleans, None, lists and dicts of them
        :param delay: seconds until a worker can receive it, 0 to 7 days
        :raises BadInput: the body has no JSON form, or a field `_done`
        :raises LimitExceeded: it is over 64 KiB as a message; with `remember`, with the names of the steps
        """
        if DONE in body:
            raise BadInput(DONE, NOT_SHOWN, "the steps that are done are kept under this name", "use another name")
        if self.remember:
            # What was begun must not get too long on its way
            *done, _ = self.steps
            check_length(Envelope(self.kind, {**body, DONE: done}).text(base64=self._base64))
        sent = await self._messages.send(Envelope(self.kind, body).text(base64=self._base64), delay=delay)
        return sent.id

    async def handle(self, lease: Lease) -> None:
        """Take the steps that a message asks for; a `Worker` calls this.

        :raises StepFailed: a step failed; its cause says how
        :raises BadMessage: a step says that no repetition will help
        :raises LeaseLost: the message was not ours any more before the last step was begun
        """
        body = dict(lease.work.body)
        done = _names_done(body.pop(DONE, []))
        for name, step in self.steps.items():
            if name in done:
                continue
            # Who stalled for longer than the lease must not go on beside the one who has the message now
            await lease.keep()
            await self._take(name, step, body)
            done.append(name)
            if self.remember and name != next(reversed(self.steps)):
                await lease.rewrite(body | {DONE: done})

    async def _take(self, name: str, step: Step, body: Body) -> None:
        try:
            await settled(step(dict(body)))
        except (BadMessage, LeaseLost):
            raise
        except Exception as error:
            reason = Reason.of(error)
            raise StepFailed(f"{self.kind}: the step {name!r} failed: {reason.error} {reason.text}") from error


def _by_name(steps: Iterable[Step] | Mapping[str, Step]) -> dict[str, Step]:
    if isinstance(steps, Mapping):
        return dict(cast("Mapping[str, Step]", steps))
    by_name: dict[str, Step] = {}
    for step in steps:
        name = getattr(step, "__name__", repr(step))
        if name in by_name:
            raise BadDesign("step", name, "two steps have this name", "give a dict of steps by name")
        by_name[name] = step
    return by_name


def _names_done(found: object) -> list[str]:
    names = cast("list[object]", found if isinstance(found, list) else [found])
    if not all(isinstance(name, str) for name in names):
        raise BadMessage(DONE, NOT_SHOWN, "it lists the names of steps", "leave it out, and all steps are done")
    return list(map(str, names))
