"""Call an SDK client, sync or async, note retried requests, and create clients on first use."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Mapping
from inspect import isawaitable
from typing import Any, Final, Generic, TypeVar

from azure.core.exceptions import HttpResponseError, IncompleteReadError, ServiceRequestError, ServiceResponseError

# Over aiohttp a connection that breaks after the request was carried out is told as one that was never made
CONNECTION_LOST = (ServiceRequestError, ServiceResponseError)


_MAYBE_CARRIED_OUT: Final = frozenset({408, 500, 502, 504})
"""What the service or a proxy answers when it does not know whether the request was carried out."""


class MaybeCarriedOut(Exception):
    """A response that does not say whether the request was carried out."""


class Exchange:
    """What became of one call: given to the SDK as its response hook, it sees whether the SDK sent the call again.

    :param hook: the hook whose place it takes
    :param sends_once: whether a request that may have been carried out must not be sent again
    """

    def __init__(self, hook: Callable[[Any], None] | None, *, sends_once: bool = False) -> None:
        self._hook = hook
        self._context: Mapping[str, Any] = {}
        self._sends_once = sends_once
        self.status: int | None = None

    def __call__(self, response: Any) -> None:
        self._context = response.context
        self.status = response.http_response.status_code
        if self._hook is not None:
            self._hook(response)
        if self._sends_once and self.status in _MAYBE_CARRIED_OUT:
            # The hook sees each response before the retry policy does, which would send the request again
            raise MaybeCarriedOut(f"the service answered {self.status}")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the SDK's call."""
        # A connection error over aiohttp may also be one after the request was carried out
        once = {"retry_read": 0, "retry_connect": 0} if self._sends_once else {}
        return {"raw_response_hook": self, **once}

    @property
    def was_repeated(self) -> bool:
        # The retry policy adds its history to the context once the call has ended, after the hook has run
        return bool(self._context.get("history"))


async def settled(result: Any) -> Any:
    """Return what an SDK call gave: at once from a sync client, awaited from an async one."""
    return await result if isawaitable(result) else result


async def answered(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call the SDK to write something, and return what it gave; an answer whose body broke off is a lost one.

    :raises ServiceResponseError: the answer broke off
    """
    try:
        result = call(*arguments, **options)
        return await result if isawaitable(result) else result
    except (AttributeError, OSError, HttpResponseError) as error:
        # The table clients look for the response of an error that has none, and so hide it
        hidden = error.__context__ if isinstance(error, AttributeError) else None
        if _has_broken_off(hidden or error):
            raise ServiceResponseError(f"the answer broke off: {hidden or error}") from error
        if isinstance(hidden, HttpResponseError):
            raise hidden from None
        raise


def _has_broken_off(error: BaseException | None) -> bool:
    """Tell whether an error says that the body of an answer did not come to its end.

    Not one of a credential that has nothing to do with an answer, and no answer of the service.
    """
    if isinstance(error, HttpResponseError):
        return type(error) in (HttpResponseError, IncompleteReadError) and error.response is None
    # Of a transaction the sync client hands on what its transport's library raises
    return isinstance(error, OSError) and type(error).__module__.startswith("requests.")


async def first_page(pages: Any) -> Any:
    """Return the first page of the SDK's pager; for a queue without messages it has none, and the answer is empty."""
    if not hasattr(pages, "__anext__"):
        return next(pages, ())
    try:
        # Not with a default: CPython then fails on the SDK's StopAsyncIteration, which carries a text
        return await anext(pages)
    except StopAsyncIteration:
        return ()


async def each(found: Any) -> AsyncIterator[Any]:
    """Iterate over what an SDK client gave, sync or async."""
    if hasattr(found, "__aiter__"):
        async for entity in found:
            yield entity
    else:
        for entity in found:
            yield entity


async def all_of(found: Any) -> list[Any]:
    """Return all of what an SDK client gave, sync or async."""
    return [each async for each in found] if hasattr(found, "__aiter__") else list(found)


T = TypeVar("T")


class Once(Generic[T]):
    """A value that is made once, whichever thread asks first.

    >>> asked = Once(lambda: [print("made")])
    >>> asked.made is None
    True
    >>> asked() is asked()
    made
    True

    :param make: makes it
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.made: T | None = None
        """The value, or None as long as nobody asked."""

    def __call__(self) -> T:
        """Return the value."""
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made
