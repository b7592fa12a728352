"""Write entities with the same requests as the SDK, in a fraction of its time.

For a transaction, the SDK uses the email package and starts two thread pools. What cannot be sent here is left to the
SDK's own calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import formatdate
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from azure.core.rest import HttpRequest
from azure.data.tables import TableTransactionError

from ..write_id import WriteIds
from .call import NO_CONTENT, Lazy, SimpleResponse, answered, settled
from .entity_json import NotEncodable
from .operation import ANY, Operation, sdk_operation, sdk_word
from .request_sender import NO_CREDENTIAL, SILENT, Prepared, RequestSender, replaying, sending
from .write_body import Envelope, FailedPart, batch_body, entity_write, etags_of

ETags: TypeAlias = list[str | None]
"""The new ETag of each operation of a transaction; None for a deletion."""

_ACCEPTED: Final = 202
_CREATED: Final = 201
_UNSUPPORTED: Final = frozenset({"pipeline", "policies", "location_mode"})
"""Options that change a client's policies or address."""
_NOT_ON_TABLES: Final = frozenset({"per_call_policies", "per_retry_policies"})
"""Options that the SDK ignores on table clients created by a service client."""


class Writes:
    """The writes of one account.

    :param kind: the SDK's class of table clients, sync or async
    :param service: the URL of the account's Table service
    :param options: the options of the client; its `transport` is that of the account's other clients
    """

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self._kind = kind
        self._is_possible = not _is_cosmos(service) and not options.keys() & _UNSUPPORTED
        used = {name: value for name, value in options.items() if name not in _NOT_ON_TABLES}
        self._sender = Lazy(lambda: RequestSender(kind, service, used))

    async def submit(
        self, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds], **options: Any
    ) -> ETags | None:
        """Execute all operations or none; return None, without a request, if the SDK must send them.

        The errors are those of the SDK's `submit_transaction`, or of its call for one operation. The new ETag of one
        operation is left to the hook.

        :param table: the table's name
        :param operations: one, or those of a transaction
        :param ids: the write ids that each operation stores in its row
        :param options: the options of the SDK's call, such as its hooks
        """
        sender = self._sender.value or await self._new_sender()
        if sender is None:
            return None
        try:
            is_one = len(operations) == 1
            prepared = (_single if is_one else _transaction)(sender, table, operations, ids)
        except NotEncodable:
            return None
        found: Any = await answered(sending(prepared.method, is_async=sender.is_async), sender, prepared, **options)
        if is_one:
            return [None]
        # The SDK returns mappings, if it has read the response
        return found if found is prepared.found else [each.get("etag") for each in found]

    async def _new_sender(self) -> RequestSender | None:
        return self._sender() if self._is_possible and await is_supported(self._kind) else None


def _is_cosmos(service: str) -> bool:
    """Return whether the SDK considers a service to be Cosmos DB, to which it sends merges differently."""
    address = urlsplit(service)
    host = address.hostname or ""
    return ".table.cosmos" in host or (host == "localhost" and address.port != 10002)


# ------------------------------------------------------------------ one operation


def _single(sender: RequestSender, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds]) -> Prepared:
    (operation,), (write_ids,) = operations, ids
    method, url, headers, body = entity_write(f"{sender.service}/{table}", operation, write_ids)
    headers |= {"x-ms-version": sender.version, "DataServiceVersion": "3.0"}
    request = HttpRequest(method, url, headers=headers, content=body)

    def arguments() -> tuple[Any, Mapping[str, Any]]:
        _, entity, options = sdk_operation(operation, write_ids)
        return entity, options

    return Prepared(request, table, f"{sdk_word(operation)}_entity", arguments, _is_written)


def _is_written(status: int, content: bytes) -> bool | None:
    return True if status in (NO_CONTENT, _CREATED) else None


# ------------------------------------------------------------------ transactions


def _transaction(
    sender: RequestSender, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds]
) -> Prepared:
    envelope = Envelope(sender.service, table, sender.version, formatdate(usegmt=True))
    batch = f"batch_{uuid4()}"
    headers = {
        "x-ms-version": sender.version,
        "DataServiceVersion": "3.0",
        "MaxDataServiceVersion": "3.0;NetFx",
        "Content-Type": f"multipart/mixed; boundary={batch}",
        "Accept": "application/json",
    }
    body = batch_body(envelope, operations, ids, batch=batch, changeset=f"changeset_{uuid4()}")
    request = HttpRequest("POST", f"{sender.service}/$batch", headers=headers, content=body)

    def arguments() -> tuple[Any, Mapping[str, Any]]:
        return [sdk_operation(each, write_ids) for each, write_ids in zip(operations, ids, strict=True)], {}

    read = partial(_etags, request, len(operations))
    return Prepared(request, table, "submit_transaction", arguments, read, is_streamed=True)


def _etags(request: HttpRequest, count: int, status: int, content: bytes) -> ETags | TableTransactionError | None:
    found = etags_of(content, count) if status == _ACCEPTED else None
    return _failure(found, request) if isinstance(found, FailedPart) else found


def _failure(part: FailedPart, request: HttpRequest) -> Any:
    """Return the error that the SDK raises for a failed part."""
    response: Any = SimpleResponse(request, part.status, part.reason, part.headers, part.content)
    # Any, since the SDK documents its attributes but does not declare them
    error: Any = TableTransactionError(message=f"{part.message}\nErrorCode:{part.code}", response=response)
    error.error_code = part.code
    error.additional_info = {}
    return error


# ------------------------------------------------------------------ whether the installed SDK works this way

_supported: Final[dict[object, bool]] = {}
_TRIAL: Final = "https://trial.table.core.windows.net"
_KEYS: Final = {"PartitionKey": "it's", "RowKey": "1", "Age": 1}
_ONE: Final = (
    Operation.insert(_KEYS),
    Operation.merge(_KEYS, "W/1"),
    Operation.replace(_KEYS, ANY),
    Operation.insert_or_merge(_KEYS),
    Operation.delete("p", "1", "W/1"),
)
_TWO: Final = (Operation.delete("p", "1", ANY), Operation.delete("p", "2", "W/2"))
_WRITTEN: Final = b"--c\r\n\r\nHTTP/1.1 204 No Content\r\nETag: a\r\n\r\n\r\n"
_VARIABLE: Final = frozenset({"x-ms-client-request-id", "x-ms-date", "date", "authorization"})
"""The headers that differ from request to request, in lower case."""


async def is_supported(kind: Any) -> bool:
    """Return whether the installed SDK sends the prepared requests, and would send the same.

    It is tested once, with a transport that sends nothing.

    :param kind: the SDK's class of table clients, sync or async
    """
    known = _supported.get(kind)
    if known is None:
        try:
            known = await _sends_transactions(kind) and await _sends_the_same(kind)
        except Exception:  # noqa: BLE001 - whatever is different in that version, its own call works
            known = False
        _supported[kind] = known
    return known


async def _sends_transactions(kind: Any) -> bool:
    headers = {"Content-Type": "multipart/mixed; boundary=b"}
    sender, transport, _ = _trial(
        kind, SimpleResponse(None, _ACCEPTED, "Accepted", headers, 2 * _WRITTEN + b"--c--\r\n--b--\r\n")
    )
    prepared = _transaction(sender, "Trial", _TWO, [(), ()])
    found = await settled(sending(prepared.method, is_async=sender.is_async)(sender, prepared, **SILENT))
    (sent,) = transport.sent
    is_signed = (
        "Authorization" in sent.headers and sent.headers["Content-Type"] == prepared.request.headers["Content-Type"]
    )
    return sent.method == "POST" and sent.url == f"{_TRIAL}/$batch" and is_signed and found == ["a", "a"]


async def _sends_the_same(kind: Any) -> bool:
    sender, transport, options = _trial(kind, SimpleResponse(None, NO_CONTENT, "No Content", {"ETag": "a"}, b""))
    client = kind(_TRIAL, "Trial", **options)
    for operation in _ONE:
        word, entity, conditions = sdk_operation(operation, ())
        await settled(getattr(client, f"{word}_entity")(entity, **conditions, **SILENT))
        prepared = _single(sender, "Trial", [operation], [()])
        await settled(sending(prepared.method, is_async=sender.is_async)(sender, prepared, **SILENT))
    sent = [_comparable(request) for request in transport.sent]
    return len(sent) == 2 * len(_ONE) and sent[::2] == sent[1::2]


def _trial(kind: Any, response: Any) -> tuple[RequestSender, Any, dict[str, Any]]:
    transport = replaying(kind, response)
    options = {"credential": NO_CREDENTIAL, "transport": transport, "retry_total": 0}
    return RequestSender(kind, _TRIAL, options), transport, options


def _comparable(request: Any) -> tuple[object, ...]:
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in _VARIABLE}
    is_signed = "Authorization" in request.headers
    return request.method, request.url, headers, request.content, is_signed
