"""Carry out a sequence of idempotent steps that one message asks for, even if processes crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from ..argument_types import check_has_run, checked, is_async
from ..errors import NOT_SHOWN, BadDesign, BadInput, BadMessage, LeaseLost, StepFailed
from ..messages.lease import Envelope, Lease
from ..messages.poison import Reason
from ..recipe import Account_co, Pattern, is_sync, recipe
from ..sdk.call import settled
from ..sdk.queue import check_length

Body: TypeAlias = Mapping[str, Any]
Step: TypeAlias = Callable[[Body], Awaitable[object] | object]
"""Performs one step, given the body of the message: a plain function, or on an async account an async one too."""

DONE: Final = "_done"
"""The field of a body with the names of the completed steps."""


class EventualTransaction(Pattern[Account_co]):
    """Make changes that no entity group transaction can hold: in several partitions, tables, accounts or systems.

    Use it for work in several places that must be completed, such as charging, shipping and indexing an order. A
    `Worker` runs the steps, one after another.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> from tablepatterns.recipes.worker import Worker
    >>> storage = connect()
    >>> by_id = EntitySet(storage, "EmployeesById", Key("{Department}", "{EmployeeId:06d}"))
    >>> by_name = EntitySet(storage, "EmployeesByName", Key("{LastName}", "{EmployeeId:06d}"))
    >>> hiring = EventualTransaction(
    ...     storage, "hiring", "hire", {"by id": by_id.insert_or_replace, "by name": by_name.insert_or_replace}
    ... )
    >>> _ = hiring.start({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"})
    >>> Worker(storage, [hiring]).run_once().handled
    1
    >>> [employee["EmployeeId"] for employee in by_name.range(LastName="Jones")]
    [223]

    Consistency: once `start` has returned, every step runs at least once, in this order, or the message goes to the
    poison queue with the step and the reason. Each step must be idempotent: it may run twice, even in two workers at
    once. Nothing is undone when a step fails for good. More: docs/workers.md.

    Cost: a worker takes two requests of the queue, to receive and to delete the message, and the cost of the steps;
    with `remember` another after each step but the last.

    :param account: where the queue is
    :param queue: the queue's name; the first message creates it
    :param kind: the kind of its messages, by which a worker finds this handler
    :param steps: functions of the body, in order: plain ones, and on an async account async ones too; a step's name is
        its `__name__`. Or a dict from names to functions
    :param remember: whether the message is rewritten after each step, so that completed steps are not repeated
    :param base64: whether to send messages in Base64, for clients that expect it; workers read both
    :raises BadDesign: there is no step, two have the same name, or one is async and the account is not

    Guide: eventually consistent transactions pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        queue: str,
        kind: str,
        steps: Iterable[Step] | Mapping[str, Step],
        *,
        remember: bool = False,
        base64: bool = False,
    ) -> None:
        super().__init__(account)
        self.queue = queue
        self.kind = kind
        self.steps = _by_name(steps)
        self.remember = remember
        self._base64 = base64
        self._messages = account.queue(queue)
        self._is_sync = is_sync(account)
        for name, step in self.steps.items():
            if self._is_sync and is_async(step):
                rule = "it is an async function, and the account is sync, so it cannot be awaited"
                raise BadDesign("step", name, rule, "write it with `def`, or connect with tablepatterns.aio")
        if not self.steps:
            raise BadDesign("steps", {}, "it needs at least one step", "give one")

    @recipe
    async def start(self, body: Body, *, delay: int = 0) -> str:
        """Queue a message that asks for the steps, and return its id.

        If the response is lost, the message is sent again, so the steps may be requested twice. Put the ids of what the
        steps create in the body: a step that generates an id generates another one when it is repeated.

        Cost: 1 queue transaction, equivalent to 11 table operations.

        :param body: the argument of each step: texts, numbers, booleans, None, lists and dicts of them
        :param delay: seconds until a worker can receive the message, 0 to 7 days
        :raises BadInput: the body cannot be written as JSON, or has a field `_done`
        :raises LimitExceeded: the message is over 64 KiB; with `remember`, including the names of the steps
        """
        if DONE in body:
            rule = "the names of completed steps are stored under this name"
            raise BadInput(DONE, NOT_SHOWN, rule, "rename the field")
        if self.remember:
            # The message must not outgrow the limit while steps are recorded
            *all_but_last, _ = self.steps
            check_length(Envelope(self.kind, {**body, DONE: all_but_last}).text(base64=self._base64))
        message = await self._messages.send(Envelope(self.kind, body).text(base64=self._base64), delay=delay)
        return message.id

    async def handle(self, lease: Lease) -> None:
        """Run the steps that a message asks for; a `Worker` calls this.

        :raises StepFailed: a step failed; its cause says how
        :raises BadMessage: a step reported that retrying will not help
        :raises LeaseLost: another worker received the message before the last step began
        """
        body = dict(lease.work.body)
        completed = _completed(body.pop(DONE, []))
        for name, step in self.steps.items():
            if name in completed:
                continue
            # After stalling for longer than the lease, another worker may have the message
            await lease.renew_if_due()
            await self._run(name, step, body)
            completed.append(name)
            if self.remember and name != next(reversed(self.steps)):
                await lease.rewrite(body | {DONE: completed})

    async def _run(self, name: str, step: Step, body: Body) -> None:
        try:
            result = step(dict(body))
            if not self._is_sync:
                result = await settled(result)
        except (BadMessage, LeaseLost):
            raise
        except Exception as error:
            reason = Reason.of(error)
            raise StepFailed(f"{self.kind}: the step {name!r} failed: {reason.error} {reason.text}") from error
        try:
            check_has_run("step", result)
        except BadInput as error:
            raise StepFailed(f"{self.kind}: the step {name!r} has not run: {error}") from error


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


def _completed(recorded: object) -> list[str]:
    names = cast("list[object]", recorded if isinstance(recorded, list) else [recorded])
    if not all(isinstance(name, str) for name in names):
        raise BadMessage(DONE, NOT_SHOWN, "it must be a list of step names", "leave it out to run all steps")
    return list(map(str, names))
