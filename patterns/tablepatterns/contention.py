"""Trying again when another writer was faster: jittered exponential back-off, bounded, by the account's own clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from .errors import BadInput, EntityChanged, TooMuchContention
from .recipe import Account

T = TypeVar("T")

DEFAULT_ATTEMPTS = 16
_FIRST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 5


class Overtaken(Exception):
    """Another writer was faster, so the whole attempt must begin again with a read; never leaves this library."""


async def contended(account: Account, attempt: Callable[[], Awaitable[T]], attempts: int) -> T:
    """Return what `attempt` returns, beginning again whenever it raises `Overtaken`.

    :param attempts: how often to try in all, at least 1
    :raises TooMuchContention: every attempt was overtaken; the message counts them
    """
    if attempts < 1:
        raise BadInput("attempts", attempts, "there must be at least one", "give 1 or more")
    retrying = AsyncRetrying(
        sleep=account.sleep,
        stop=stop_after_attempt(attempts),
        wait=wait_random_exponential(multiplier=_FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
        retry=retry_if_exception_type(Overtaken),
    )
    try:
        return await retrying(attempt)
    except RetryError as exhausted:
        cause = exhausted.last_attempt.exception()
        reason = cause.__cause__ if cause else None
        text = f"another writer was faster at each of {attempts} attempts; spread the writes or allow more attempts"
        error = reason if isinstance(reason, EntityChanged) else None
        raise TooMuchContention(text, error) from reason
