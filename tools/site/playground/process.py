"""Processes that send one request at a time, each when the reader says so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress
from typing import Any

from azure.core.rest import AsyncHttpResponse, HttpRequest

from tablepatterns.aio import Storage
from tablepatterns.connection import in_memory
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Request
from tablepatterns_engine.transport import AioEngineResponse, AioEngineTransport
from tablepatterns_explore.request_points import describe_request

SEND, LOSE, TIME_OUT, KILL = "send", "lose", "time out", "kill"
_STEP = re.compile(r"(?P<actor>[A-Za-z_]\w*)(?:\.\d+)?(?P<fate>\*|\?|!|\+!)?")
_OF_QUEUES = (
    (re.compile(r"POST ([\w-]+)/messages.*"), r"send a message to \1"),
    (re.compile(r"GET ([\w-]+)/messages.*"), r"receive messages from \1"),
    (re.compile(r"PUT ([\w-]+)/messages/.*"), r"update the message in \1"),
    (re.compile(r"DELETE ([\w-]+)/messages/.*"), r"delete the message from \1"),
)


class Killed(BaseException):
    """The process has been killed: no code of it runs any more."""


class Process:
    """A process of an account. Before each request it waits for a decision.

    :param engine: the account
    :param work: creates the coroutine that it runs, from a storage account of its own
    """

    def __init__(self, name: str, title: str, engine: Engine, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:
        self.name, self.title = name, title
        self.engine = engine
        self.events: list[dict[str, str]] = []
        self.state = "running"
        self.result: Any = None
        self._waiting: list[tuple[str, asyncio.Future[str]]] = []
        self._moved = asyncio.Event()
        self._task = asyncio.ensure_future(self._run(work(StepStorage(self))))

    @property
    def pending(self) -> str | None:
        """The request that it sends next; None if it has ended."""
        return self._waiting[0][0] if self._waiting and self.state == "running" else None

    async def wait(self) -> None:
        """Wait until it has a request to send, or has ended."""
        while self.state == "running" and not self._waiting:
            self._moved.clear()
            await self._moved.wait()

    async def decide(self, decision: str) -> None:
        """Let the next request be sent, let its response be lost, or kill the process before it is sent."""
        await self.wait()
        if self.state != "running":
            return
        text, future = self._waiting.pop(0)
        if decision == KILL:
            self.events.append({"text": text, "outcome": "not sent"})
            self.kill()
        else:
            future.set_result(decision)
        await asyncio.sleep(0)
        await self.wait()

    async def finish(self) -> None:
        """Send all remaining requests."""
        while self.state == "running":
            await self.decide(SEND)

    def kill(self) -> None:
        """End the process at its current request."""
        if self.state == "running":
            self.state = "killed"
            self._task.cancel()
            self._moved.set()

    async def exchange(self, text: str, send: Callable[[], Any]) -> Any:
        """Wait for the decision about a request, send it, and record the outcome.

        :raises Killed: the process has been killed
        """
        if self.state == "killed":
            raise Killed
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append((text, future))
        self._moved.set()
        try:
            decision = await future
        except asyncio.CancelledError:
            raise Killed from None
        event = {"text": text, "outcome": "response lost"}
        self.events.append(event)
        faults = self.engine.faults
        if decision == LOSE:
            with faults.lose_response(times=1):
                return send()
        with faults.time_out(executed=True, times=1) if decision == TIME_OUT else nullcontext():
            response = send()
        event["outcome"] = "500, after it was executed" if decision == TIME_OUT else str(response.status)
        return response

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            self.result = await work
            state = "returned"
        except (Killed, asyncio.CancelledError):
            state = "killed"
        except Exception as error:  # noqa: BLE001 - the reader sees it
            self.result = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            state = "raised"
        if self.state == "running":
            self.state = state
        self._moved.set()

    async def close(self) -> None:
        """Kill it, and let it end."""
        self.kill()
        with suppress(BaseException):
            await self._task


class StepTransport(AioEngineTransport):
    """Carries the requests of one process."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.engine)
        self._process = process

    async def send(self, request: HttpRequest, **kwargs: Any) -> AsyncHttpResponse:
        """Return the response of the account, once the process may send the request."""
        message = await self.message(request)
        response = await self._process.exchange(_told(message), lambda: self.exchange(message, kwargs))
        return AioEngineResponse(request, response)


class StepStorage(Storage):
    """The account as one process sees it."""

    def __init__(self, process: Process) -> None:
        engine = process.engine
        target = in_memory(engine.account_name, engine.account_key)
        super().__init__(target, engine, {"transport": StepTransport(process)})

    async def _run_with_heartbeat(self, work: Coroutine[Any, Any, Any], heartbeat: Any, every: float) -> Any:
        # Readers take their time before each request, and heartbeats would be requests, too
        return await work


def _told(message: Request) -> str:
    """Return a description of a request."""
    text = describe_request(message)
    for form, words in _OF_QUEUES:
        text = form.sub(words, text)
    return text


def decisions_of(schedule: str) -> list[tuple[str, str]]:
    """Return the steps of a schedule of the explorer: the actor, and the decision.

    >>> decisions_of("ann bob? ann+!")
    [('ann', 'send'), ('bob', 'time out'), ('ann', 'send'), ('ann', 'kill')]
    """
    steps = []
    for found in map(_STEP.fullmatch, schedule.split()):
        if found is None:
            raise ValueError(f"the playground cannot show the schedule {schedule!r}")
        actor, fate = found["actor"], found["fate"] or ""
        if fate != "!":
            steps.append((actor, {"*": LOSE, "?": TIME_OUT}.get(fate, SEND)))
        if fate.endswith("!"):
            steps.append((actor, KILL))
    return steps
