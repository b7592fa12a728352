"""Watch: how traffic gets to see the requests of an account: by the hooks that the SDK's clients call."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from ..edm import Ticks
from .seen import Moment, Seen
from .site import call_site, holding

_NOTE: Final = "tablepatterns.traffic"
"""Where the context of a call keeps what was seen of it last."""


class Recorder(Protocol):
    """Who wants to know of requests."""

    def wants(self, watch: Watch) -> bool:
        """Tell whether the requests that this watch sees are meant."""
        ...

    def take(self, seen: Seen) -> None:
        """Keep a request that was sent."""


blocks: ContextVar[tuple[Recorder, ...]] = ContextVar("blocks", default=())
"""The blocks of code that this thread or task is in, the outermost first."""
everywhere: Final[list[Recorder]] = []
"""Those who want the requests of all threads and tasks."""


class Watch:
    """Sees the requests of one connection to an account; it costs next to nothing while nobody wants to know.

    :param account: what connections to the same account have in common: its engine, or its address
    :param roots: the URL of each service
    :param now: the account's clock, by default that of this machine
    """

    def __init__(self, account: object, roots: Mapping[str, str], now: Callable[[], Ticks] | None = None) -> None:
        self.account = account
        self._roots = {service: urlsplit(url).path.rstrip("/") for service, url in roots.items()}
        self._now: Callable[[], Moment] = now or time.time

    def over(self, service: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of an SDK client by which its requests are seen; hooks that it has are called too.

        :param service: table, queue or blob
        :param options: the client's options
        """
        on_request, on_response = options.get("raw_request_hook"), options.get("raw_response_hook")

        def sent(request: Any) -> None:
            self._sent(service, request)
            if on_request is not None:
                on_request(request)

        return {**options, "raw_request_hook": sent, "raw_response_hook": _answered(self._now, on_response)}

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Let what threads and tasks do in this block count for the line that waits for them."""
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
        return [each for each in inside if each.wants(self)] if inside else []

    def _sent(self, service: str, request: Any) -> None:
        recorders = self._recorders()
        if not recorders:
            return
        context = request.context
        before: Seen | None = context.get(_NOTE)
        attempt = 1 if before is None else before.attempt + 1
        seen = Seen(service, self._roots[service], request.http_request, call_site(), self._now(), attempt)
        context[_NOTE] = seen
        # A hook given to the call takes the place of the client's
        theirs = context.options.get("raw_response_hook")
        if theirs is not None:
            context.options["raw_response_hook"] = _answered(self._now, theirs)
        for each in recorders:
            each.take(seen)


def _answered(now: Callable[[], Moment], then: Callable[[Any], object] | None) -> Callable[[Any], object]:
    def answered(response: Any) -> object:
        seen: Seen | None = response.context.get(_NOTE)
        if seen is not None and not seen.status:
            seen.end(response.http_response, now())
        return None if then is None else then(response)

    return answered
