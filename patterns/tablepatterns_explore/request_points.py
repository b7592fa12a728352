"""Step a coroutine from one request to the next, without an event loop that waits, and describe its requests."""

# What asyncio documents for event loops, under "Extending", begins with an underscore; at run time, a loop may leave
# methods out
# pyright: reportPrivateUsage=false, reportAbstractUsage=false

from __future__ import annotations

import asyncio
import json
import re
import sys
from asyncio.tasks import _enter_task, _leave_task
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast
from urllib.parse import parse_qs, unquote, urlsplit

from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput
from tablepatterns_engine.http.message import Request, Response
from tablepatterns_engine.http.multipart import InnerRequest, read_parts, read_requests
from tablepatterns_engine.transport import AioEngineResponse, EngineResponse

from .digest import Strand

_ENTITY: Final = re.compile(r"(?P<table>\w+)\(PartitionKey='(?P<partition>.*)',\s*RowKey='(?P<row>.*)'\)", re.DOTALL)
_TABLE_ENTRY: Final = re.compile(r"Tables\('(?P<table>\w+)'\)")
_VOLATILE: Final = frozenset({"authorization", "date", "x-ms-date", "x-ms-client-request-id"})
_DATE: Final = re.compile(rb"^(x-ms-)?date:.*$", re.IGNORECASE | re.MULTILINE)
_WORDS: Final = {"GET": "get", "PUT": "replace", "PATCH": "merge", "MERGE": "merge", "DELETE": "delete"}


def describe_request(request: Request | InnerRequest) -> str:
    """Describe a request, such as "merge Employees('Sales', 'empid_000223')" or "PUT logs/1800.log (appendblock)"."""
    address = urlsplit(request.url)
    path = unquote(address.path).lstrip("/")
    if ".table." in address.netloc or not address.netloc:
        if path == "$batch":
            parts = list(_read_operations(request.headers.get("content-type", ""), request.body))
            return f"transaction of {len(parts)}: {', '.join(map(describe_request, parts))}"
        if description := _describe_table_request(request, path):
            return description
    components = parse_qs(address.query).get("comp")
    return f"{request.method} {path}" + (f" ({components[0]})" if components else "")


def may_write(request: Request) -> bool:
    """Return whether a request may write; receiving messages does, because it hides them."""
    if request.method in ("GET", "HEAD"):
        return ".queue." in request.url and "/messages" in request.url and "peekonly" not in request.url
    return True


def _read_operations(content_type: str, body: bytes) -> Iterator[InnerRequest]:
    for part in read_parts(body, content_type):
        if part.content_type.startswith("multipart/mixed"):
            yield from _read_operations(part.headers["content-type"], part.content)
        else:
            yield from read_requests([part])


def _describe_table_request(request: Request | InnerRequest, path: str) -> str | None:
    if match := _ENTITY.fullmatch(path):
        keys = (match[name].replace("''", "'") for name in ("partition", "row"))
        return f"{_word(request)} {match['table']}({', '.join(map(repr, keys))})"
    if match := _TABLE_ENTRY.fullmatch(path):
        return f"{_WORDS[request.method]} table {match['table']}"
    if request.method == "POST" and path == "Tables":
        return f"create table {_body_field(request, 'TableName')}"
    if request.method == "POST" and path.isalnum():
        return f"insert {path}({_body_field(request, 'PartitionKey')!r}, {_body_field(request, 'RowKey')!r})"
    if request.method == "GET" and path.endswith("()"):
        filters = parse_qs(urlsplit(request.url).query).get("$filter")
        return f"query {path[:-2]}" + (f" where {filters[0]}" if filters else "")
    return None


def _word(request: Request | InnerRequest) -> str:
    word = _WORDS[request.method]
    is_upsert = request.method in ("PUT", "PATCH", "MERGE") and "if-match" not in request.headers
    return f"insert or {word}" if is_upsert else word


def _body_field(request: Request | InnerRequest, name: str) -> Any:
    with suppress(ValueError, AttributeError):
        return json.loads(request.body).get(name)
    return None


class Crashed(BaseException):
    """The actor has crashed. Requests of its `finally` blocks are not sent."""


ResponseOrError: TypeAlias = Response | Exception
"""What an actor receives for a request: the response, or the error of the network in its place."""


class Point:
    """A place where a coroutine waits. Awaited, it yields itself in a tuple.

    The code that steps the coroutine settles the point, and resumes the coroutine.
    """

    def __init__(self) -> None:
        self.strand: Strand = ()
        """Which of the actor's concurrent calls waits here."""
        self._response: ResponseOrError | None = None

    def settle(self, response: ResponseOrError | None) -> None:
        self._response = response

    def __await__(self) -> Generator[tuple[Point, ...], object, Any]:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            rule = "it is made in a task of an event loop, which the schedule cannot step"
            hint = "await requests one after another, or use `gather` of the account"
            raise BadInput("request", "in a task", rule, hint)
        yield (self,)
        return self.result()

    def result(self) -> Any:
        return None


class Call(Point):
    """A request that is about to be sent; `since` is when it was made."""

    def __init__(
        self, request: Any, message: Request, exchange: Callable[[], Response], since: Ticks, *, is_sync: bool = False
    ) -> None:
        super().__init__()
        self._response_class: Any = EngineResponse if is_sync else AioEngineResponse
        self.request = request
        self.message = message
        self.since = since
        self.text = describe_request(message)
        self.may_write = may_write(message)
        self._exchange = exchange

    def content(self) -> str:
        """Return the request as text, without what the time and the credential make different each time."""
        headers = sorted(header for header in self.message.headers.items() if header[0].lower() not in _VOLATILE)
        # The parts of a transaction have headers of their own
        body = _DATE.sub(b"", self.message.body)
        return repr((self.strand, self.message.method, self.message.url, headers, body))

    def execute(self) -> ResponseOrError:
        try:
            return self._exchange()
        except Exception as error:  # noqa: BLE001 - any error of the network is for the sender
            return error

    def result(self) -> Any:
        if isinstance(self._response, Exception):
            # The same error may be received by several coroutines
            raise copy(self._response)
        assert self._response is not None  # noqa: S101 - a call is settled with a response or an error
        return self._response_class(self.request, self._response)

    def __repr__(self) -> str:
        return f"{self.strand} {self.text} since {int(self.since)}"


class Sleep(Point):
    def __init__(self, until: Ticks) -> None:
        super().__init__()
        self.until = until

    def __repr__(self) -> str:
        return f"{self.strand} until {int(self.until)}"


T = TypeVar("T")


@dataclass(frozen=True)
class Completion(Generic[T]):
    value: T


def advance(coroutine: Coroutine[Any, Any, T], point: Point | None = None) -> tuple[Point, ...] | Completion[T]:
    """Run a coroutine until it waits, and return the points any of which may be settled.

    Of an event loop it may await only futures that need nothing from outside: azure-core gathers the parts of a
    transaction in one, before it sends them. They are finished here. What the coroutine raises is raised.

    :param point: the point that it waited at; None to begin
    """
    value: Point | None = point
    while True:
        try:
            awaitable: Any = coroutine.send(value)
        except StopIteration as stop:
            return Completion(stop.value)
        if isinstance(awaitable, tuple):
            return cast("tuple[Point, ...]", awaitable)
        value = None
        # None is a mere pause: `asyncio.sleep(0)`
        if awaitable is not None:
            _finish(awaitable)


def _finish(awaitable: object) -> None:
    future: Any = awaitable
    hint = "use the account's `sleep` and `gather`, or the SDK's async clients"
    if not isinstance(awaitable, asyncio.Future):
        raise BadInput("actor", awaitable, "an actor may await only requests and its account's own functions", hint)
    # The coroutine hears of an error itself, when it goes on
    with suppress(Exception):
        future.get_loop().run_until_complete(future)
    if not future.done():
        raise BadInput("actor", future, "an actor may await only requests; this future waits for something else", hint)


class ReadyLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in the order in which they were scheduled, until a future has its result.

    It has no socket, no timer and no thread, and works inside a running loop.
    """

    def __init__(self) -> None:
        self._ready: deque[Callable[[], object]] = deque()

    def get_debug(self) -> bool:
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:  # type: ignore[override]
        return asyncio.Task(coro, loop=self, **options)

    def call_soon(  # type: ignore[override]  # the loop's own type takes variadic generics, which are Python 3.11's
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        context = context or copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(lambda: handle.cancelled() or context.run(callback, *args))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore an error: the code that waits for the result receives it."""

    def run_until_complete(self, future: Any) -> Any:
        """Run what is ready until the future has its result, and return it."""
        asyncio._set_running_loop(self)
        try:
            while self._ready and not future.done():
                self._ready.popleft()()
        finally:
            asyncio._set_running_loop(None)
        return future.result()


@contextmanager
def ready_loop() -> Generator[None, None, None]:
    """Make a `ReadyLoop` the current event loop, with no loop running, even if the caller runs in one."""
    try:
        running, task = asyncio.get_running_loop(), asyncio.current_task()
    except RuntimeError:
        running, task = None, None
    if running is not None and task is not None:
        _leave_task(running, task)
    # A running loop closes all generators at its end, and Python 3.10 cannot close those of actors that crashed
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    asyncio._set_running_loop(None)
    asyncio.set_event_loop(ReadyLoop())  # type: ignore[abstract]
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(*hooks)
        asyncio.set_event_loop(running)
        asyncio._set_running_loop(running)
        if running is not None and task is not None:
            _enter_task(running, task)
