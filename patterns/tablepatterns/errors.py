"""The exception tree. Every error names what was wrong, the value, the table and the set, the rule, and what to do.

    TablePatternsError            AzureError
    ├── BadInput                  ValueError; refused before any request, nothing has changed
    │   ├── BadTarget             connect() does not know this account
    │   ├── BadTableName
    │   ├── BadKey                a value that cannot be, or would break, a key
    │   ├── BadProperty           a property's name or value
    │   ├── BadFilter             a $filter that cannot be built or parsed
    │   │   ├── FilterSyntaxError     it is not in the grammar (in `filters`)
    │   │   └── UnsupportedFilter     it is OData that the service does not carry out (in `filters`)
    │   ├── BadMessage            a queue message that nobody can tell what it asks for
    │   ├── BadToken              a continuation token of another query, or no token at all
    │   ├── BadDesign             a recipe that was put together in a way that cannot work
    │   ├── BadDesignFile         a design file for a review in which something is wrong (in `review`)
    │   ├── BadPriceTable         a price table for a review in which something is wrong (in `review`)
    │   ├── PeriodExpired         a write to a table whose period is kept no longer
    │   └── LimitExceeded         an entity or a transaction over a limit of the service
    ├── EntityNotFound            ResourceNotFoundError
    │   └── ReferenceNotFound     the entity to copy from is not there
    ├── EntityAlreadyExists       ResourceExistsError
    │   └── DuplicateIndexValue   an index row that must be unique exists already
    ├── EntityChanged             ResourceModifiedError; the ETag is stale, nothing has changed
    │   └── TooMuchContention     every attempt of a read-modify-write met another writer
    ├── DerivedDataMismatch       HttpResponseError; a copy was not as its primary says, nothing has changed
    ├── BlobChanged               ResourceModifiedError; the blob is not the one with that ETag, nothing has changed
    ├── OutcomeUnknown            HttpResponseError; an answer was lost, and what became of the write cannot be told
    ├── LeaseLost                 HttpResponseError; a message is not ours any more, it is delivered again
    ├── StepFailed                a step of an eventual transaction failed; it is tried again, and then poison
    ├── LoadInterrupted           HttpResponseError; a part of a bulk load is in the table, its `token` resumes it
    ├── TableBeingDeleted         ResourceExistsError; its name is not free yet, nothing has changed
    ├── DecryptionFailed          a stored value is not what was encrypted for this property of this entity
    │   └── UnknownKey            it was encrypted with a key that was not given
    ├── LargeValueMissing         ResourceNotFoundError; an entity has the address of a blob that is not there
    ├── UnrecognizedEntity        a stored entity is of no type that is known, or not as its type wants it
    └── TransactionFailed         TableTransactionError; any other refusal of an entity group transaction

`except` clauses written for azure-core keep working: each leaf is also the azure-core error it stands for.
"""

from __future__ import annotations

from collections.abc import Generator
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

__all__ = [
    "BadDesign",
    "BadFilter",
    "BadInput",
    "BadKey",
    "BadMessage",
    "BadProperty",
    "BadTableName",
    "BadTarget",
    "BadToken",
    "BlobChanged",
    "DecryptionFailed",
    "DerivedDataMismatch",
    "DuplicateIndexValue",
    "EntityAlreadyExists",
    "EntityChanged",
    "EntityNotFound",
    "LargeValueMissing",
    "LeaseLost",
    "LimitExceeded",
    "LoadInterrupted",
    "OutcomeUnknown",
    "PeriodExpired",
    "ReferenceNotFound",
    "StepFailed",
    "TableBeingDeleted",
    "TablePatternsError",
    "TooMuchContention",
    "TransactionFailed",
    "UnknownKey",
    "UnrecognizedEntity",
]

NOT_SHOWN = "(not shown)"
"""What an error has in place of a value that is to be kept secret."""
MISSING = "(missing)"
"""What stands for the value of a field that was not given."""
_SHOWN = 80


def shown(value: object) -> str:
    """Return the value as an error shows it: its repr, cut where it gets long.

    >>> shown("Sales")
    "'Sales'"
    >>> len(shown("x" * 1000))
    80
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Python writes no integer of more than some thousand digits
        text = f"a value of the type {type(value).__name__}, too large or too deep to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def said(error: BaseException) -> str:
    """Return what an error says, for the text of another one: without the table and the set, which that one names.

    >>> said(BadFilter("where", 1, "it is no filter", "build it with prop()"))
    'where = 1: it is no filter; build it with prop()'
    """
    return str(error.message) if isinstance(error, TablePatternsError) else str(error)


def one_line(text: str) -> str:
    r"""Return a text without line breaks, so that a line of a log holds all of it.

    >>> one_line("0:Forbidden.\nRequestId:1\u2028Time:2")
    '0:Forbidden. RequestId:1 Time:2'
    """
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


class TablePatternsError(AzureError):
    """The root of every error this library raises itself.

    `str(error)` is one line: the message, and the table and the set that it is about. `tablepatterns help BadKey`
    prints the section of the page on errors for a class.
    """

    location: str | None = None
    """The table and the set that the error is about, such as `table Employees, set {Department}/{EmployeeId}`."""

    @property
    def help(self) -> str:
        """The section of the page on errors that this one is in: what `tablepatterns help` is given."""
        own = __name__.partition(".")[0]
        return next(kind.__name__ for kind in type(self).__mro__ if kind.__module__.partition(".")[0] == own)

    def locate(self, location: str | None) -> None:
        """Name the table and the set, unless what raised the error has named its own."""
        self.location = self.location or location

    def __str__(self) -> str:
        text = one_line(str(self.message))
        return f"{text} [{self.location}]" if self.location else text


@contextmanager
def locating(location: str) -> Generator[None, None, None]:
    """Name a table and a set in the library's errors of a block.

    >>> with locating("table Employees"):
    ...     raise BadKey("Email", "a/b", "a key may not contain '/'", "use the format {Email:escape}")
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadKey: Email = 'a/b': a key may not contain '/'; use the format {Email:escape} \
[table Employees]
    """
    try:
        yield
    except TablePatternsError as error:
        error.locate(location)
        raise


class BadInput(TablePatternsError, ValueError):
    """Input that the library refuses before any request; nothing has changed.

    >>> raise BadKey("Email", "a/b", "a key may not contain '/'", "use the format {Email:escape}")
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadKey: Email = 'a/b': a key may not contain '/'; use the format {Email:escape}

    :param subject: what was wrong: a field, a property, a parameter
    :param value: the offending value, shown shortened; MISSING where there is none
    :param rule: the rule that it breaks
    :param hint: what to do instead
    """

    def __init__(self, subject: str, value: object, rule: str, hint: str) -> None:
        self.subject = subject
        self.value = value
        self.rule = rule
        self.hint = hint
        found = f"{subject} is missing" if value is MISSING else f"{subject} = {shown(value)}"
        super().__init__(f"{found}: {rule}; {hint}")


class BadTarget(BadInput):
    """An account that `connect()` does not know how to reach."""


class BadTableName(BadInput):
    """A table name the service would refuse."""


class BadKey(BadInput):
    """A value that cannot be a key, or that would break the key it is a part of."""


class BadProperty(BadInput):
    """A property whose name or value the service would refuse or change."""


class BadFilter(BadInput):
    """A filter that cannot be built or parsed."""


class BadToken(BadInput):
    """A continuation token that does not belong to this query."""


class BadMessage(BadInput):
    """A queue message of which nobody can tell what it asks for."""


class BadDesign(BadInput):
    """A recipe put together in a way that cannot work."""


class PeriodExpired(BadInput):
    """A write to a table whose period is kept no longer: it is, or will be, dropped."""


class LimitExceeded(BadInput):
    """An entity or a transaction over a limit of the service."""


class ServiceRefusal(TablePatternsError):
    """What the errors that stand for an answer of the service have in common; never raised itself.

    :param message: what happened, to which entity, and the way out
    :param cause: the SDK's error, whose response and error code are kept
    """

    error_code: Any = None
    index: Any = None
    """The position of the operation that failed in its transaction; None where the service did not say."""

    def __init__(self, message: str, cause: HttpResponseError | None = None, *, index: int | None = None) -> None:
        super().__init__(message=message, response=cause.response if cause else None)
        # The base classes put the service's text in front of ours, and 0 for an index that is not known
        self.message = message
        self.args = (message,)
        self.error_code = getattr(cause, "error_code", None)
        self.index = index


class EntityNotFound(ServiceRefusal, ResourceNotFoundError):
    """No entity has these keys."""


class ReferenceNotFound(EntityNotFound):
    """An entity would refer to one that is not there; nothing has changed."""


class EntityAlreadyExists(ServiceRefusal, ResourceExistsError):
    """An entity with these keys exists; nothing has changed."""


class DuplicateIndexValue(EntityAlreadyExists):
    """An index row that must be unique belongs to another entity; nothing has changed."""


class EntityChanged(ServiceRefusal, ResourceModifiedError):
    """The entity changed since it was read; nothing has changed by this call."""


class TooMuchContention(EntityChanged):
    """Another writer was faster at every attempt; nothing has changed by this call.

    :param attempts: how often the call tried in all
    :param seconds: for how long it tried, waits included
    :param cause: the last refusal
    """

    def __init__(self, attempts: int, seconds: float, cause: HttpResponseError | None = None) -> None:
        self.attempts = attempts
        self.seconds = seconds
        tried = f"each of {attempts} attempts in {seconds:.1f} seconds" if attempts > 1 else "the only attempt"
        hint = "spread the writes over several entities, or give a longer retry_for"
        super().__init__(f"another writer was faster at {tried}; {hint}", cause)


class DerivedDataMismatch(ServiceRefusal, HttpResponseError):
    """A row of derived data was not as its primary entity says; nothing has changed."""


class BlobChanged(ServiceRefusal, ResourceModifiedError):
    """The blob is not as it was read, or exists where it should not; nothing has changed by this call."""


class OutcomeUnknown(ServiceRefusal, HttpResponseError):
    """The answer to a write was lost, and others have overwritten the entity too often since to tell if it was made."""


class LeaseLost(ServiceRefusal, HttpResponseError):
    """A message was deleted, or its visibility timeout passed and it is, or will be, delivered again."""


class StepFailed(TablePatternsError):
    """A step of an eventual transaction raised an error, which is the cause of this one; the message tries it again."""


class LoadInterrupted(ServiceRefusal, HttpResponseError):
    """A bulk load stopped: some of its chunks are in the table as a whole, and of the others nothing.

    :param message: what stopped it, and where in the input
    :param cause: the SDK's error, if one was the reason
    :param token: what `BulkLoad.load` resumes from
    :param position: the entity of the input that stopped it, counted from 0; None where it was not a single one
    """

    def __init__(
        self, message: str, cause: HttpResponseError | None = None, *, token: str, position: int | None = None
    ) -> None:
        super().__init__(message, cause)
        self.token = token
        self.position = position


class TableBeingDeleted(ServiceRefusal, ResourceExistsError):
    """The table was deleted a moment ago, and the service does not let its name be used again yet."""


class DecryptionFailed(TablePatternsError):
    """A stored value is not what was encrypted for this property of this entity, or not with this key."""


class UnknownKey(DecryptionFailed):
    """A value was encrypted with a key that is not among those that were given."""


class LargeValueMissing(ServiceRefusal, ResourceNotFoundError):
    """An entity has the address of a blob that is not there, or not where its large values are kept."""


class UnrecognizedEntity(TablePatternsError):
    """A stored entity is of no type that is known, of a newer version of it, or not as its type wants it."""


class TransactionFailed(ServiceRefusal, TableTransactionError):
    """The service refused an entity group transaction; none of its operations was applied."""
