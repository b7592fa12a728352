"""Retry a read-modify-write that lost a race, with jittered exponential backoff within a time budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final, NoReturn, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from .errors import BadInput, EntityAlreadyExists, EntityChanged, EntityNotFound, ServiceError, TooMuchContention
from .recipe import Account, back_off

T = TypeVar("T")

RETRY_FOR: Final = 30.0
"""For how many seconds a call retries by default."""
_FIRST_WAIT_SECONDS: Final = 0.05
_LONGEST_WAIT_SECONDS: Final = 5


LOST_RACE: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound)
"""The errors of a conditional write after another writer was faster."""


class Overtaken(Exception):
    """Another writer was faster, so the attempt starts again with a read; internal to this library."""


@contextmanager
def overtaken_by(*errors: type[ServiceError]) -> Generator[None, None, None]:
    """Raise `Overtaken` in place of the errors of a write that lost a race."""
    try:
        yield
    except errors as error:
        raise Overtaken from error


async def contended(account: Account, attempt: Callable[[], Awaitable[T]], retry_for: float) -> T:
    """Return what `attempt` returns, and retry it with jittered exponential backoff whenever it raises `Overtaken`.

    A wait that would exceed the time budget is not started. The first attempt is always made.

    :param retry_for: the seconds to keep retrying, including waits; 0 for a single attempt
    """
    check_retry_for(retry_for)
    retrying = AsyncRetrying(
        sleep=partial(back_off, account),
        stop=lambda state: retry_for <= 0 or _seconds(state) + state.upcoming_sleep > retry_for,
        wait=wait_random_exponential(multiplier=_FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
        retry=retry_if_exception_type(Overtaken),
        retry_error_callback=_give_up,
    )
    return await retrying(attempt)


def check_retry_for(retry_for: float) -> None:
    if isinstance(retry_for, bool) or not isinstance(retry_for, (int, float)) or not retry_for >= 0:
        rule = "it is a number of seconds, at least 0"
        raise BadInput("retry_for", retry_for, rule, f"leave it out for {RETRY_FOR:.0f} seconds")


def _seconds(state: RetryCallState) -> float:
    # On the in-memory engine, waits move the clock, and those of other threads must not count here
    return max(state.idle_for, state.seconds_since_start or 0.0)


def _give_up(state: RetryCallState) -> NoReturn:
    last_error = state.outcome.exception() if state.outcome else None
    reason = last_error.__cause__ if last_error else None
    cause = reason if isinstance(reason, EntityChanged) else None
    raise TooMuchContention(state.attempt_number, _seconds(state), cause) from reason
