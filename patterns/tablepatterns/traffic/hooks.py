"""Record requests through the SDK clients' hooks, without their secrets."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timezone
from json import loads
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from azure.core.exceptions import ResponseNotReadError

from ..edm import Ticks
from ..filters import Explanation, QueryClass
from .request import (
    DISTINCTIVE_HEADERS,
    Request,
    RequestPurpose,
    Site,
    call_site,
    holding,
    is_billed,
    plan_of,
    purpose_of,
)

_SIGNATURE: Final = re.compile(r"([?&])sig=[^&]*")
# A quote inside a value is escaped, so this finds names of properties only
_KEY: Final = re.compile(rb'"PartitionKey"\s*:\s*("(?:[^"\\]|\\.)*")')
_TABLE: Final = re.compile(rb'"TableName"\s*:\s*("(?:[^"\\]|\\.)*")')
_BATCH_ENTITY: Final = re.compile(rb"/([^/\s()?]+)\(PartitionKey='((?:[^'\s]|'')*)'")
_BATCH_INSERT: Final = re.compile(rb"POST \S+/([^/\s()?]+)(?:\(\))?(?:\?\S*)? HTTP/")
_BATCH_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3})")
_READS: Final = frozenset({"GET", "HEAD"})
_BATCH_ANSWER: Final = 202

Moment: TypeAlias = Ticks | float
"""By the clock of the in-memory engine, or in seconds by the machine's clock."""


class RequestAttempt:
    """One attempt of a request; `root` is the path of the account's endpoint, `attempt` counts from 1."""

    def __init__(
        self, service: str, root: str, http_request: Any, site: Site | None, moment: Moment, attempt: int
    ) -> None:
        self.service, self.site, self.moment, self.attempt = service, site, moment, attempt
        self.ended, self.status, self.bytes_out = moment, 0, 0
        self.examined: int | None = None
        self.returned: int | None = None
        self._root, self._method, url = root, http_request.method, http_request.url
        self._url: str = _SIGNATURE.sub(r"\1", url) if "sig=" in url else url
        self._headers: Mapping[str, str] = {}
        self._answer: Any = None
        self._purpose_and_plan: tuple[RequestPurpose, Explanation | None] | None = None
        self._place: tuple[str | None, str | None] = (None, None)
        self.bytes_in = 0
        # Bodies are not kept: they hold values of properties
        if self._method not in _READS:
            headers, content = http_request.headers, _content(http_request)
            self._headers = {
                name: _SIGNATURE.sub(r"\1", value) if "sig=" in value else value
                for name in DISTINCTIVE_HEADERS[service]
                if (value := headers.get(name)) is not None
            }
            self.bytes_in = len(content)
            if service == "table" and self._method == "POST":
                self._place = _place_in(content, url)

    def end(self, answer: Any, moment: Moment) -> None:
        """Record the response. The body of a transaction's is read later, once the SDK has read it."""
        self.status, self.ended = answer.status_code, moment
        # Only the in-memory engine reports them
        with suppress(AttributeError):
            self.examined, self.returned = answer.examined, answer.returned
        length = answer.headers.get("Content-Length")
        if length is not None:
            self.bytes_out = 0 if self._method == "HEAD" else int(length)
            if self.status != _BATCH_ANSWER:
                return
        self._answer = answer
        self._read_body()

    def _read_body(self) -> None:
        """Read the response's body and release it, as soon as the SDK has read it."""
        if self._answer is None:
            return
        try:
            content: bytes = self._answer.content
        except ResponseNotReadError:
            return
        self._answer = None
        self.bytes_out = self.bytes_out or len(content)
        if self.status == _BATCH_ANSWER:
            parts = [int(status) for status in _BATCH_STATUS.findall(content)]
            self.status = next((status for status in parts if status >= 400), self.status)

    def request(self, fallback: Site | None) -> Request:
        """Return the recorded request, with the fallback if its line of code is not known."""
        self._read_body()
        purpose, plan = self._purpose_and_plan or self._read()
        query_class = None if plan is None else plan.query_class
        if purpose.operation == "QueryEntity":
            query_class = QueryClass.POINT
        return Request(
            site=self.site or fallback,
            service=self.service,
            operation=purpose.operation,
            resource=purpose.resource,
            partition=purpose.partition,
            query_class=query_class,
            reason=plan.reason if plan else "",
            rewrite=plan.rewrite if plan else "",
            moment=_datetime(self.moment),
            seconds=(_datetime(self.ended) - _datetime(self.moment)).total_seconds(),
            status=self.status,
            transactions=int(is_billed(self.status)),
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            attempt=self.attempt,
            examined=self.examined,
            returned=self.returned,
        )

    def _read(self) -> tuple[RequestPurpose, Explanation | None]:
        purpose = purpose_of(self.service, self._root, self._method, self._url, self._headers)
        plan = None if purpose.filter is None else plan_of(purpose.filter)
        table, partition = purpose.resource or self._place[0], purpose.partition
        if partition is None:
            partition = self._place[1] if plan is None else plan.searched.partition
        self._purpose_and_plan = purpose._replace(resource=table, partition=partition, filter=None), plan
        self._url, self._headers = "", {}
        return self._purpose_and_plan


def _datetime(moment: Moment) -> datetime:
    return moment.datetime() if isinstance(moment, Ticks) else datetime.fromtimestamp(moment, timezone.utc)


def _content(http_request: Any) -> bytes:
    """Return a request's body; b"" if it can be read only once."""
    content = http_request.content if hasattr(http_request, "content") else http_request.body
    if isinstance(content, str):
        return content.encode()
    return content if isinstance(content, bytes) else b""


def _place_in(content: bytes, url: str) -> tuple[str | None, str | None]:
    """Return the table and the partition from the body of a POST to the Table service."""
    path = url.partition("?")[0]
    if path.endswith("/Tables"):
        return _text_at(_TABLE.search(content)), None
    if not path.endswith("/$batch"):
        return None, _text_at(_KEY.search(content))
    keyed = _BATCH_ENTITY.search(content)
    if keyed:
        return unquote(keyed[1].decode()), unquote(keyed[2].decode()).replace("''", "'")
    inserted = _BATCH_INSERT.search(content)
    return (unquote(inserted[1].decode()) if inserted else None), _text_at(_KEY.search(content))


def _text_at(match: re.Match[bytes] | None) -> str | None:
    return None if match is None else str(loads(match[1]))


_NOTE: Final = "tablepatterns.traffic"
"""The key in the context of a call for its last attempt."""


class Recorder:
    """Record the requests of a connection, or of all connections to its account.

    :param max_requests: how many requests to keep; older ones are only counted
    """

    def __init__(self, watch: Watch, max_requests: int, *, everywhere: bool) -> None:
        self.watch = watch
        self.everywhere = everywhere
        self.site: Site | None = None
        """The line of code of requests whose own line is not known."""
        self.count = 0
        self.missed = 0
        """Requests to the account, sent while a block was open, that are not recorded."""
        self.max_requests = max_requests
        self._lock = threading.Lock()
        self._attempts: deque[RequestAttempt] = deque(maxlen=max_requests)

    def records(self, watch: Watch) -> bool:
        return watch is self.watch or (self.everywhere and watch.account == self.watch.account)

    def record(self, attempt: RequestAttempt) -> None:
        with self._lock:
            self.count += 1
            self._attempts.append(attempt)

    def requests(self) -> list[Request]:
        """Return the requests that are kept, in the order in which they were sent."""
        with self._lock:
            attempts = list(self._attempts)
        return [attempt.request(self.site) for attempt in attempts]


blocks: ContextVar[tuple[Recorder, ...]] = ContextVar("blocks", default=())
"""The recorders of the enclosing blocks of this thread or task, the outermost first."""
everywhere: Final[list[Recorder]] = []
"""The recorders of all threads and tasks."""
opened: Final[list[Recorder]] = []
"""The recorders of all blocks that are open, in any thread or task."""


class Watch:
    """Observe the requests of one connection to an account; nearly free while nothing records them.

    :param account: what identifies the account: its engine, or its address
    :param roots: the URL of each service
    :param now: the account's clock; by default, the machine's
    """

    def __init__(self, account: object, roots: Mapping[str, str], now: Callable[[], Ticks] | None = None) -> None:
        self.account = account
        self._roots = {service: urlsplit(url).path.rstrip("/") for service, url in roots.items()}
        self._now: Callable[[], Moment] = now or time.time

    def over(self, service: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of an SDK client that let this object see its requests; its own hooks are called too."""
        on_request, on_response = options.get("raw_request_hook"), options.get("raw_response_hook")

        def on_sent(request: Any) -> None:
            self._record_request(service, request)
            if on_request is not None:
                on_request(request)

        return {**options, "raw_request_hook": on_sent, "raw_response_hook": _response_hook(self._now, on_response)}

    @contextmanager
    def attribute_to_caller(self) -> Generator[None, None, None]:
        """Attribute the requests of threads and tasks in this block to the line that waits for them."""
        if not self._recorders():
            yield
            return
        token = holding.set(call_site())
        try:
            yield
        finally:
            holding.reset(token)

    def _recorders(self) -> list[Recorder]:
        inside = blocks.get()
        if everywhere:
            inside = (*inside, *everywhere)
        return [recorder for recorder in inside if recorder.records(self)] if inside else []

    def _record_request(self, service: str, request: Any) -> None:
        recorders = self._recorders()
        if not recorders:
            # A request of another block is that block's own
            for recorder in opened:
                if recorder.watch.account == self.account:
                    recorder.missed += 1
            return
        context = request.context
        before: RequestAttempt | None = context.get(_NOTE)
        attempt = 1 if before is None else before.attempt + 1
        request_attempt = RequestAttempt(
            service, self._roots[service], request.http_request, call_site(), self._now(), attempt
        )
        context[_NOTE] = request_attempt
        # A hook passed to the call replaces the client's
        call_hook = context.options.get("raw_response_hook")
        if call_hook is not None:
            context.options["raw_response_hook"] = _response_hook(self._now, call_hook)
        for recorder in recorders:
            recorder.record(request_attempt)


def _response_hook(now: Callable[[], Moment], then: Callable[[Any], object] | None) -> Callable[[Any], object]:
    def on_response(response: Any) -> object:
        attempt: RequestAttempt | None = response.context.get(_NOTE)
        if attempt is not None and not attempt.status:
            attempt.end(response.http_response, now())
        return None if then is None else then(response)

    return on_response
