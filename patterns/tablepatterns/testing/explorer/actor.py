"""Run a named coroutine step by step, from one request to the next, without an event loop."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast
from urllib.parse import parse_qs, unquote, urlsplit

from ...edm import Ticks
from ...errors import BadInput
from .digest import digest_of

_ENTITY: Final = re.compile(r"(?P<table>\w+)\(PartitionKey='(?P<partition>.*)',\s*RowKey='(?P<row>.*)'\)", re.DOTALL)
_TABLE_ENTRY: Final = re.compile(r"Tables\('(?P<table>\w+)'\)")
_WORDS: Final = {"GET": "get", "PUT": "replace", "PATCH": "merge", "MERGE": "merge", "DELETE": "delete"}


def described(request: Any) -> str:
    """Return what a request of an SDK asks for.

    >>> from azure.core.rest import HttpRequest
    >>> url = "https://contoso.table.core.windows.net/Employees(PartitionKey='Sales',RowKey='empid_000223')"
    >>> described(HttpRequest("PATCH", url, headers={"If-Match": "*"}))
    "merge Employees('Sales', 'empid_000223')"
    >>> described(HttpRequest("PUT", "https://contoso.blob.core.windows.net/logs/2014/07/31/1800.log?comp=appendblock"))
    'PUT logs/2014/07/31/1800.log (appendblock)'
    """
    parts = list(_parts(request))
    if parts:
        return f"transaction of {len(parts)}: {', '.join(map(described, parts))}"
    address = urlsplit(str(request.url))
    path = unquote(address.path).lstrip("/")
    of_tables = ".table." in address.netloc or not address.netloc
    return (_of_tables(request, path) if of_tables else None) or f"{request.method} {path}{_component(address.query)}"


def changes(request: Any) -> bool:
    """Tell whether a request may change anything.

    Receiving messages does: it hides them.
    """
    if request.method in ("GET", "HEAD"):
        return ".queue." in request.url and "/messages" in request.url and "peekonly" not in request.url
    return True


def _parts(request: Any) -> Iterator[Any]:
    """Yield the requests of a transaction, which come in a changeset within the batch."""
    info = request.multipart_mixed_info
    for part in info[0] if info else ():
        yield from _parts(part) if part.multipart_mixed_info else (part,)


def _of_tables(request: Any, path: str) -> str | None:
    """Return the words for a request about tables or entities, None for any other."""
    if found := _ENTITY.fullmatch(path):
        keys = (found[name].replace("''", "'") for name in ("partition", "row"))
        return f"{_word(request)} {found['table']}({', '.join(map(repr, keys))})"
    if found := _TABLE_ENTRY.fullmatch(path):
        return f"{_WORDS[request.method]} table {found['table']}"
    if request.method == "POST" and path == "Tables":
        return f"create table {_given(request, 'TableName')}"
    if request.method == "POST" and path.isalnum():
        return f"insert {path}({_given(request, 'PartitionKey')!r}, {_given(request, 'RowKey')!r})"
    if request.method == "GET" and path.endswith("()"):
        wanted = parse_qs(urlsplit(str(request.url)).query).get("$filter")
        return f"query {path[:-2]}" + (f" where {wanted[0]}" if wanted else "")
    return None


def _component(query: str) -> str:
    """Return which part of a queue or a blob a request is about, or what it does with it; "" where none is said."""
    said = parse_qs(query).get("comp")
    return f" ({said[0]})" if said else ""


def _word(request: Any) -> str:
    word = _WORDS[request.method]
    is_upsert = request.method in ("PUT", "PATCH", "MERGE") and "If-Match" not in request.headers
    return f"insert or {word}" if is_upsert else word


def _given(request: Any, name: str) -> Any:
    """Return a field of what a request sends, None where there is none."""
    with suppress(ValueError, AttributeError):
        return json.loads(request.content).get(name)
    return None


class Point:
    """A place where a coroutine waits: awaited, it yields itself, in a tuple, to whoever steps the coroutine.

    It is settled, and then the coroutine is stepped on.
    """

    def __init__(self) -> None:
        self.strand: tuple[int, ...] = ()
        """Which of the calls that the actor makes together waits here; empty where it makes one at a time."""
        self._heard: Any = None

    def process_intents(self, heard: Any) -> None:
        """Let the coroutine go on with a result, or an error."""
        self._heard = heard

    def __await__(self) -> Generator[tuple[Point, ...], object, Any]:
        if in_event_loop():
            rule = "it is made in a task of an event loop, which the schedule cannot step"
            hint = "await requests one after another, or use `together` of the account"
            raise BadInput("request", "in a task", rule, hint)
        yield (self,)
        if isinstance(self._heard, Exception):
            raise self._heard
        return self._heard


class Call(Point):
    """A request that is about to be sent.

    :param request: the request, of an SDK
    :param send: sends it, and returns the response
    :param since: when it was made
    """

    def __init__(self, request: Any, send: Callable[[], Any], since: Ticks) -> None:
        super().__init__()
        self.request = request
        self.since = since
        self.text = described(request)
        """The request in words."""
        self._send = send

    def carry_out(self) -> Any:
        """Send the request, and return what is heard: the response, or the error that comes in its place."""
        try:
            return self._send()
        except Exception as error:  # noqa: BLE001 - whatever the network says, it is for the sender to hear
            return error


class Sleep(Point):
    """A wait for a moment."""

    def __init__(self, until: Ticks) -> None:
        super().__init__()
        self.until = until


def in_event_loop() -> bool:
    """Tell whether the code that asks is run by an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


T = TypeVar("T")


class Ended(Generic[T]):
    """The end of a coroutine.

    :param value: what it returned
    """

    def __init__(self, value: T) -> None:
        self.value = value


def advance(coroutine: Coroutine[Any, Any, T], settled: Point | None = None) -> tuple[Point, ...] | Ended[T]:
    """Step a coroutine to where it waits next, and return the points any of which may be settled there.

    Of an event loop it may await only futures that need nothing from outside: azure-core gathers the parts of a
    transaction in one, before it sends them. They are finished here. What the coroutine raises is raised.

    :param settled: the point that it waited at; None to begin
    """
    sent: Point | None = settled
    while True:
        try:
            waited: Any = coroutine.send(sent)
        except StopIteration as stop:
            return Ended(stop.value)
        if isinstance(waited, tuple):
            return cast("tuple[Point, ...]", waited)
        sent = None
        # None is a mere pause: `asyncio.sleep(0)`
        if waited is not None:
            _finish(waited)


def _finish(waited: Any) -> None:
    if not isinstance(waited, asyncio.Future):
        rule = "an actor awaits requests, and what its account lets it await"
        raise BadInput("actor", waited, rule, "use the account's `sleep` and `together`, or the SDK's aio clients")
    loop = waited.get_loop()
    # The coroutine hears of an error itself, when it goes on
    with suppress(Exception):
        loop.run_until_complete(cast("Any", waited))


State: TypeAlias = Literal["alive", "returned", "raised", "died"]

_SHOWN: Final = 40


class Died(BaseException):
    """The actor is dead: whatever its code would still send on its way out is not sent."""


class Actor:
    """One actor of a schedule.

    :param name: what schedules call it
    :param coroutine: its code
    """

    def __init__(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.name = name
        self.state: State = "alive"
        self.points: tuple[Point, ...] = ()
        """Where it waits; several only where it does something together."""
        self.result: Any = None
        self.error: Exception | None = None
        self.steps = 0
        self.lost = False
        """Whether the answer to one of its requests was lost."""
        self._coroutine = coroutine
        self._history = b""

    @property
    def calls(self) -> list[Call]:
        """The requests that it is about to send."""
        return [point for point in self.points if isinstance(point, Call)]

    @property
    def sleeps(self) -> list[Sleep]:
        """The moments that it waits for."""
        return [point for point in self.points if isinstance(point, Sleep)]

    def label(self, point: Point) -> str:
        """Return what schedules call a point of this actor: its name, and which of its calls together it is of."""
        return ".".join([self.name, *map(str, point.strand)])

    def learn(self, *what: object) -> None:
        """Take note of something that its code gets to know: what it does from now on depends on it."""
        self._history = digest_of(self._history, *what)

    def position(self) -> object:
        """Return all that its further doing depends on: what it learned, and where it waits."""
        waits = [
            (point.strand, point.text, point.since) if isinstance(point, Call) else (point.strand, point.until)
            for point in self.points
            if isinstance(point, (Call, Sleep))
        ]
        return self.name, self.state, self._history, waits

    def ending(self) -> str:
        """Return in words how it ended, if it did."""
        if self.state == "returned":
            result = repr(self.result)
            return f"{self.name} returned {result if len(result) <= _SHOWN else result[:_SHOWN] + '…'}"
        if self.error is not None:
            return f"{self.name} raised {type(self.error).__name__}"
        return f"{self.name} died" if self.state == "died" else f"{self.name} goes on"

    def go_on(self, settled: Point | None = None) -> None:
        """Let its code run from a point that is settled, or from its beginning, to where it waits next."""
        self.steps += 1
        self.points = ()
        try:
            reached = advance(self._coroutine, settled)
        except Exception as error:  # noqa: BLE001 - how an actor may end is not decided here
            self.state, self.error = "raised", error
            return
        if isinstance(reached, Ended):
            self.state, self.result = "returned", reached.value
        else:
            self.points = reached

    def die(self) -> None:
        """Stop its code where it is. What it does on its way out in this process is not seen by the account."""
        self.state, self.points = "died", ()
        with suppress(Died):
            self._coroutine.close()
