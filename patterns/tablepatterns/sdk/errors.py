"""Translate the SDK's errors into the library's, by the service's code and the index of the operation that failed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NoReturn, TypeGuard

from azure.core.exceptions import (
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import TableTransactionError

from ..errors import EntityAlreadyExists, EntityChanged, EntityNotFound, TransactionFailed
from .operation import Operation


def translated(error: HttpResponseError, operations: Sequence[Operation]) -> HttpResponseError:
    """Return the library's error for a rejection of these operations; the error itself if there is none."""
    index = _failed_index(error, operations)
    if index is None:
        return TransactionFailed(f"{error.message}; no operation was applied", error) if _of_batch(error) else error
    keys = "({!r}, {!r})".format(*operations[index].key)
    code = code_of(error)
    if code == "EntityAlreadyExists":
        text = f"an entity with the keys {keys} exists already; read it, or use insert_or_replace to overwrite it"
        return EntityAlreadyExists(text, error, index=index)
    if code in ("UpdateConditionNotSatisfied", "ConditionNotMet"):
        text = f"the entity {keys} changed since it was read; read it again and retry"
        return EntityChanged(text, error, index=index)
    if code == "TableNotFound" and operations[index].kind.startswith("insert"):
        return error
    if code in ("ResourceNotFound", "EntityNotFound", "TableNotFound"):
        return missing(operations[index], error, index)
    text = f"operation {index} on {keys}: {error.message}"
    return TransactionFailed(text, error, index=index) if _of_batch(error) else error


_KINDS: Final[Mapping[int, type[HttpResponseError]]] = {
    401: ClientAuthenticationError,
    404: ResourceNotFoundError,
    409: ResourceExistsError,
    412: ResourceModifiedError,
}


def raise_classified(error: HttpResponseError | UnicodeDecodeError, response: Any = None) -> NoReturn:
    """Raise an error of the SDK, or one of the class of its status if the response has none of the service's codes.

    The response of a proxy may have no body, or one that the SDK cannot decode. Its error may then lack the status.
    """
    if isinstance(error, HttpResponseError):
        response = error.response or response
        if response is None or type(error) not in (HttpResponseError, DecodeError) or code_of(error):
            raise error
    kind = _KINDS.get(response.status_code, HttpResponseError)
    if kind is HttpResponseError and isinstance(error, HttpResponseError) and error.response is not None:
        raise error
    failure: Any = kind(str(getattr(error, "message", error)), response=response)
    failure.error_code = None
    raise failure from error


def missing(operation: Operation, error: HttpResponseError | None = None, index: int = 0) -> EntityNotFound:
    keys = "({!r}, {!r})".format(*operation.key)
    return EntityNotFound(f"there is no entity {keys}; insert it, or use insert_or_replace", error, index=index)


def lacks_table(error: HttpResponseError, operations: Sequence[Operation]) -> bool:
    """Return whether the table must be created first, which only inserts need."""
    return code_of(error) == "TableNotFound" and any(operation.kind.startswith("insert") for operation in operations)


def code_of(error: HttpResponseError) -> str:
    """Return the service's code, or ""; `create_entity` leaves it in the response, other calls in `error_code`."""
    error_code: Any = getattr(error, "error_code", None)
    if error_code:
        return str(getattr(error_code, "value", error_code))
    answer: Any = error.response
    if answer is None:
        return ""
    return str(answer.headers.get("x-ms-error-code") or _code_in_body(answer))


class Ignored(AbstractContextManager[None]):
    """Suppresses the service's errors with one of some codes."""

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __exit__(self, *error: object) -> bool:
        return isinstance(error[1], HttpResponseError) and code_of(error[1]) in self._codes


def code_and_message(body: Any) -> tuple[str, str] | None:
    """Return the code and the message of an error's JSON; None if it has anything else, or another form."""
    try:
        error = body["odata.error"]
        code, message = error["code"], error["message"]["value"]
        is_known = error.keys() == {"code", "message"} and isinstance(code, str) and isinstance(message, str)
    except (KeyError, TypeError, AttributeError):
        return None
    return (code, message) if is_known else None


def rejection(kind: type[HttpResponseError], message: str, code: str, response: Any, error_code: Any = None) -> Any:
    # Any, since the SDK documents its attributes but does not declare them
    error: Any = kind(message=f"{message}\nErrorCode:{code}", response=response)
    error.error_code = error_code or code
    error.additional_info = {}
    return error


def _code_in_body(response: Any) -> str:
    try:
        return str(json.loads(response.text())["odata.error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def _of_batch(error: HttpResponseError) -> TypeGuard[TableTransactionError]:
    return isinstance(error, TableTransactionError)


def _failed_index(error: HttpResponseError, operations: Sequence[Operation]) -> int | None:
    if len(operations) == 1:
        return 0
    # The SDK's index is 0 too if the service gave none, so only the text shows the difference
    index_text = str(error.message).split(":", 1)[0].strip()
    is_index = _of_batch(error) and index_text.isdecimal() and int(index_text) < len(operations)
    return int(index_text) if is_index else None
