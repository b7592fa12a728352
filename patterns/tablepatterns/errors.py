"""The exceptions. Every error names what was wrong, the value, the table, the rule, and what to do.

`except` clauses written for azure-core keep working: each class is also the matching azure-core error.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import TableTransactionError

NOT_SHOWN = "(not shown)"
"""Shown in errors in place of a secret value."""
MISSING = "(missing)"
"""Stands for the value of a missing field."""
_SHOWN = 80


def short_repr(value: object) -> str:
    """Return the value as an error shows it: its repr, truncated."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Python limits the digits of an integer's repr
        text = f"a value of the type {type(value).__name__}, too large or too deep to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def message_of(error: BaseException) -> str:
    """Return the message of an error without its location, to use it in another error."""
    return str(error.message) if isinstance(error, TablePatternsError) else str(error)


def one_line(text: str) -> str:
    """Return a text without line breaks, for logs."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


class TablePatternsError(AzureError):
    """The base class of all errors of this library.

    `str(error)` is one line: the message, and the table. `tablepatterns help BadKey` explains an error.
    """

    location: str | None = None
    """The table, such as `table Employees`."""

    @property
    def help(self) -> str:
        """The argument of `tablepatterns help` for this error."""
        package = __name__.partition(".")[0]
        return next(kind.__name__ for kind in type(self).__mro__ if kind.__module__.startswith(package))

    def locate(self, location: str | None) -> None:
        """Set the location, unless it is set already."""
        self.location = self.location or location

    def __str__(self) -> str:
        return one_line(f"{self.message} ({self.location})" if self.location else str(self.message))


@contextmanager
def locating(location: str | None) -> Generator[None, None, None]:
    """Add a location to the errors of a block."""
    try:
        yield
    except TablePatternsError as error:
        error.locate(location)
        raise


class BadInput(TablePatternsError, ValueError):
    """An argument was rejected before any request; nothing has changed.

    >>> raise BadKey("Email", "a/b", "a key may not contain '/'", "use the format {Email:escape}")
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadKey: Email = 'a/b': a key may not contain '/'; use the format {Email:escape}

    :param subject: the name of the field, property or parameter
    :param value: the invalid value, which is truncated in the message; MISSING if there is none
    :param rule: the violated rule
    :param hint: what to do
    """

    def __init__(self, subject: str, value: object, rule: str, hint: str) -> None:
        self.subject = subject
        self.value = value
        self.rule = rule
        self.hint = hint
        statement = f"{subject} is missing" if value is MISSING else f"{subject} = {short_repr(value)}"
        super().__init__(f"{statement}: {rule}; {hint}")


class BadTarget(BadInput):
    """`connect()` does not recognize the target or its credential."""


class BadTableName(BadInput):
    """The service would reject the table's name."""


class BadKey(BadInput):
    """A value cannot be a key, or part of a key."""


class BadProperty(BadInput):
    """The service would reject or change a property's name or value."""


class BadFilter(BadInput):
    """A filter cannot be built or parsed, or would scan."""


class BadToken(BadInput):
    """A token does not belong to this query or operation."""


class BadMessage(BadInput):
    """A queue message cannot be understood."""


class BadDesign(BadInput):
    """A recipe's parameters cannot work together."""


class PeriodExpired(BadInput):
    """A write to a table whose period has expired."""


class LimitExceeded(BadInput):
    """An entity, a transaction or a message exceeds a limit of the service."""


class ServiceError(TablePatternsError):
    """The base class of errors that the service reported; not raised itself.

    :param message: what happened to which entity, and what to do
    :param cause: the SDK's error, whose response and error code are kept
    """

    error_code: Any = None
    index: Any = None
    """The index of the operation that failed in its transaction; None if unknown."""

    def __init__(self, message: str, cause: HttpResponseError | None = None, *, index: int | None = None) -> None:
        super().__init__(message=message, response=cause.response if cause else None)
        # The base classes prepend the service's text, and use 0 for an unknown index
        self.message = message
        self.args = (message,)
        self.error_code = getattr(cause, "error_code", None)
        self.index = index


class EntityNotFound(ServiceError, ResourceNotFoundError):
    """No entity has these keys."""


class ReferenceNotFound(EntityNotFound):
    """An entity refers to one that does not exist, or that is not copied there; nothing has changed."""


class EntityAlreadyExists(ServiceError, ResourceExistsError):
    """An entity with these keys exists; nothing has changed."""


class DuplicateIndexValue(EntityAlreadyExists):
    """An index row that must be unique belongs to another entity; nothing has changed."""


class EntityChanged(ServiceError, ResourceModifiedError):
    """The entity has changed since it was read; this call has changed nothing."""


class TooMuchContention(EntityChanged):
    """Another writer was faster at every attempt; this call has changed nothing.

    :param attempts: the number of attempts
    :param seconds: the total time, including waits
    :param cause: the error of the last attempt
    """

    def __init__(self, attempts: int, seconds: float, cause: HttpResponseError | None = None) -> None:
        self.attempts = attempts
        self.seconds = seconds
        effort = f"each of {attempts} attempts in {seconds:.1f} seconds" if attempts > 1 else "the only attempt"
        hint = "spread the writes over several entities, or give a longer retry_for"
        super().__init__(f"another writer was faster at {effort}; {hint}", cause)


class DerivedDataMismatch(ServiceError, HttpResponseError):
    """A derived row does not match its primary entity; nothing has changed."""


class BlobChanged(ServiceError, ResourceModifiedError):
    """The blob has changed since it was read, or exists already; this call has changed nothing."""


class OutcomeUnknown(ServiceError, HttpResponseError):
    """The response to a write was lost, and later writes have removed the evidence whether it succeeded."""


class RekeyNotReady(ServiceError, HttpResponseError):
    """A move to new keys cannot change its phase yet; writers continue in the phase before."""


class LeaseLost(ServiceError, HttpResponseError):
    """A message was deleted, or its visibility timeout has passed, so that it is delivered again."""


class StepFailed(TablePatternsError):
    """A step of an eventual transaction raised an error, which is the `__cause__`; the message will be retried."""


class LoadInterrupted(ServiceError, HttpResponseError):
    """A bulk load stopped; each chunk has been written completely or not at all.

    :param message: the reason, and the position in the input
    :param cause: the SDK's error, if one was the reason
    :param token: resumes the load
    :param position: the index of the entity that caused the error; None if it was not a single one
    """

    def __init__(
        self, message: str, cause: HttpResponseError | None = None, *, token: str, position: int | None = None
    ) -> None:
        super().__init__(message, cause)
        self.token = token
        self.position = position


class RangesFailed(TablePatternsError):
    """Some ranges of keys failed at every try; all others are done.

    :param errors: the last error of each range
    :param token: resumes the work, which is left to do on those ranges
    """

    def __init__(self, errors: Sequence[str], token: str) -> None:
        self.errors = tuple(errors)
        self.token = token
        ranges = "a range of keys" if len(errors) == 1 else f"{len(errors)} ranges of keys"
        hint = "all others are done, so resume with the token of this error"
        super().__init__(f"{ranges} failed at every try: {errors[0]}; {hint}")


class TableBeingDeleted(ServiceError, ResourceExistsError):
    """The service is still deleting a table with this name."""


class DecryptionFailed(TablePatternsError):
    """A stored value is not what was encrypted for this property of this entity, or not with this key."""


class UnknownKey(DecryptionFailed):
    """A value was encrypted with a key that is not among the given keys."""


class LargeValueMissing(ServiceError, ResourceNotFoundError):
    """An entity has the address of a blob that does not exist, or that belongs elsewhere."""


class UnrecognizedEntity(TablePatternsError):
    """A stored entity has an unknown type or a newer version, or does not fit its type.

    :param message: why
    :param key: the PartitionKey and the RowKey of the entity, if known
    """

    def __init__(self, message: str, key: tuple[str | None, str | None] | None = None) -> None:
        super().__init__(message)
        self.key = key


class TransactionFailed(ServiceError, TableTransactionError):
    """The service rejected an entity group transaction; none of its operations was applied."""
