"""Send entity group transactions through the SDK's pipeline, but not through its encoder and parser of transactions.

Those use the email package and start two thread pools for each transaction. Here, a table client of the library's own
calls `delete_entity`, and the first policy of its pipeline replaces the request by that of the transaction. Later
policies, such as signing, retries, hooks, logging and tracing, see an ordinary request. On the way back, the
policy takes the response. Why it is done this way: docs/decisions/0013-transactions-ride-on-a-one-row-call.md.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator import distributed_trace
from azure.core.tracing.decorator_async import distributed_trace_async
from azure.data.tables import TableTransactionError

from ..write_id import WriteIds
from .batch_body import Envelope, FailedPart, batch_body, etags_of
from .call import NO_CONTENT, Lazy, SimpleResponse, answered, settled
from .entity_json import NotEncodable
from .operation import ANY, Operation, sdk_operation

ETags: TypeAlias = list[str | None]
"""The new ETag of each operation of a transaction; None for a deletion."""

_OPTION: Final = "tablepatterns_batch"
"""The option of an SDK call that carries the transaction to the policy."""
_SPAN: Final = "TableClient.submit_transaction"
_ACCEPTED: Final = 202
_TOO_LARGE: Final = 413
_UNSUPPORTED: Final = frozenset({"pipeline", "policies", "location_mode"})
"""Options that change a client's policies or address."""
_NOT_ON_TABLES: Final = frozenset({"per_call_policies", "per_retry_policies"})
"""Options that the SDK ignores on table clients created by a service client."""


class Batches:
    """The entity group transactions of one account.

    :param client: the SDK's class of table clients, sync or async
    :param service: the URL of the account's Table service
    :param options: the options of the client; its `transport` is that of the account's other clients
    """

    def __init__(self, client: Any, service: str, options: Mapping[str, Any]) -> None:
        self._class = client
        self._is_possible = not _is_cosmos(service) and not options.keys() & _UNSUPPORTED
        used = {name: value for name, value in options.items() if name not in _NOT_ON_TABLES}
        self._client = Lazy(lambda: _client_of(client, service, used))

    async def submit(
        self, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds], **options: Any
    ) -> ETags | None:
        """Execute all operations or none; return None, without a request, if the SDK must send this transaction.

        The errors are those of the SDK's `submit_transaction`.

        :param table: the table's name
        :param ids: the write ids that each operation stores in its row
        :param options: the options of the SDK's call, such as its hooks
        """
        if not self._is_possible or not await is_supported(self._class):
            return None
        client = self._client()
        try:
            sent = _Batch(_request(client, table, operations, ids), len(operations))
        except NotEncodable:
            return None
        await answered(_sender(client), client, **options, **{_OPTION: sent})
        if isinstance(sent.outcome, TableTransactionError):
            raise sent.outcome
        if sent.outcome is None:
            return await _read_by_sdk(self._class, client, table, sent.response, operations, ids)
        return sent.outcome


class _Batch:
    """A transaction in the pipeline."""

    def __init__(self, request: HttpRequest, count: int) -> None:
        self.request = request
        self._count = count
        self.outcome: ETags | TableTransactionError | None = None
        """None before there is a response, and for a response that the SDK must read."""
        self.response: Any = None

    def take(self, response: PipelineResponse[Any, Any], content: bytes) -> None:
        """Read a response, and end the SDK call that carries it, unless that call raises the same error."""
        self.response = response.http_response
        status = self.response.status_code
        if status == _ACCEPTED:
            found = etags_of(content, self._count)
            self.outcome = _failure(found, self.request) if isinstance(found, FailedPart) else found
        elif status not in (_TOO_LARGE, NO_CONTENT) and b"message" in content.lower():
            return
        response.http_response = SimpleResponse(self.request, NO_CONTENT, "No Content", {}, b"")


class BatchPolicy(SansIOHTTPPolicy[Any, Any]):
    """A per-call policy that replaces the request of a call that carries a transaction."""

    def on_request(self, request: PipelineRequest[Any]) -> None:
        """Replace the call's request by that of the transaction."""
        batch = request.context.options.pop(_OPTION, None)
        if batch is not None:
            request.context[_OPTION] = batch
            # Like the SDK for transactions, so that its policies do not decode the response
            request.context.options["stream"] = True
            request.http_request = batch.request

    def on_response(self, request: PipelineRequest[Any], response: PipelineResponse[Any, Any]) -> Any:
        """Take the response to the transaction."""
        batch = request.context.get(_OPTION)
        if batch is not None:
            batch.take(response, _content(response.http_response))


class AioBatchPolicy(BatchPolicy):
    """The same for async clients."""

    async def on_response(self, request: PipelineRequest[Any], response: PipelineResponse[Any, Any]) -> None:
        """Take the response to the transaction."""
        batch = request.context.get(_OPTION)
        if batch is not None:
            batch.take(response, await settled(_content(response.http_response)))


def _content(response: Any) -> Any:
    return response.read() if hasattr(response, "read") else response.body()


def _client_of(kind: Any, service: str, options: Mapping[str, Any]) -> Any:
    policy = AioBatchPolicy() if _is_async(kind) else BatchPolicy()
    # Not a table: a transaction has its own
    return kind(service, "Transactions", **options, per_call_policies=[policy])


def _is_async(client: Any) -> bool:
    return hasattr(client, "__aenter__")


def _is_cosmos(service: str) -> bool:
    """Return whether the SDK considers a service to be Cosmos DB, to which it sends merges differently."""
    address = urlsplit(service)
    host = address.hostname or ""
    return ".table.cosmos" in host or (host == "localhost" and address.port != 10002)


def _request(client: Any, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds]) -> HttpRequest:
    service = str(client.url).partition("?")[0]
    envelope = Envelope(service, table, client.api_version, formatdate(usegmt=True))
    batch = f"batch_{uuid4()}"
    headers = {
        "x-ms-version": envelope.version,
        "DataServiceVersion": "3.0",
        "MaxDataServiceVersion": "3.0;NetFx",
        "Content-Type": f"multipart/mixed; boundary={batch}",
        "Accept": "application/json",
    }
    body = batch_body(envelope, operations, ids, batch=batch, changeset=f"changeset_{uuid4()}")
    return HttpRequest("POST", f"{service}/$batch", headers=headers, content=body)


@distributed_trace(name_of_span=_SPAN)
def _send(client: Any, **options: Any) -> None:
    client.delete_entity("", "", merge_span=True, **options)


@distributed_trace_async(name_of_span=_SPAN)
async def _aio_send(client: Any, **options: Any) -> None:
    await client.delete_entity("", "", merge_span=True, **options)


def _sender(client: Any) -> Any:
    return _aio_send if _is_async(client) else _send


def _failure(part: FailedPart, request: HttpRequest) -> Any:
    """Return the error that the SDK raises for a failed part."""
    response: Any = SimpleResponse(request, part.status, part.reason, part.headers, part.content)
    # Any, since the SDK documents its attributes but does not declare them
    error: Any = TableTransactionError(message=f"{part.message}\nErrorCode:{part.code}", response=response)
    error.error_code = part.code
    error.additional_info = {}
    return error


# ------------------------------------------------------------------ what only the SDK can read


class _Replay(HttpTransport[Any, Any]):
    """A transport that answers every request with one response."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self.sent: list[Any] = []

    def send(self, request: Any, **options: Any) -> Any:
        self.sent.append(request)
        # The SDK looks there for the requests of the parts
        self._response.request = request
        return self._response

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class _AioReplay(AsyncHttpTransport[Any, Any]):
    """The same for async clients."""

    def __init__(self, response: Any) -> None:
        self._replay = _Replay(response)
        self.sent = self._replay.sent

    async def send(self, request: Any, **options: Any) -> Any:
        return self._replay.send(request)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def __aexit__(self, *error: object) -> None: ...


def _replay(kind: Any, response: Any) -> Any:
    return _AioReplay(response) if _is_async(kind) else _Replay(response)


async def _read_by_sdk(
    kind: Any,
    client: Any,
    table: str,
    response: Any,
    operations: Sequence[Operation],
    ids: Sequence[WriteIds],
) -> ETags:
    """Let the SDK read an unknown kind of response, and raise its error."""
    service = str(client.url).partition("?")[0]
    reader = kind(
        service, table, credential=_NO_CREDENTIAL, transport=_replay(kind, response), retry_total=0, logger=_NO_LOG
    )
    calls = [sdk_operation(each, write_ids) for each, write_ids in zip(operations, ids, strict=True)]
    results = await answered(reader.submit_transaction, calls)
    return [result.get("etag") for result in results]


_NO_CREDENTIAL: Final = AzureNamedKeyCredential("nobody", "a2V5")
_NO_LOG: Final = logging.getLogger(f"{__name__}.none")
_NO_LOG.disabled = True


# ------------------------------------------------------------------ whether the installed SDK works this way

_supported: Final[dict[object, bool]] = {}
_TRIAL: Final = (Operation.delete("p", "1", ANY), Operation.delete("p", "2", "W/2"))
_TRIAL_RESPONSE: Final = b"--b\r\n\r\n--c\r\n\r\nHTTP/1.1 204 No Content\r\nETag: a\r\n\r\n\r\n--c--\r\n--b--\r\n"


async def is_supported(kind: Any) -> bool:
    """Return whether the installed SDK sends the policy's request; tested once, with a transport that sends nothing.

    :param kind: the SDK's class of table clients, sync or async
    """
    known = _supported.get(kind)
    if known is None:
        try:
            known = await _works(kind)
        except Exception:  # noqa: BLE001 - whatever is different in that version, its own call works
            known = False
        _supported[kind] = known
    return known


async def _works(kind: Any) -> bool:
    headers = {"Content-Type": "multipart/mixed; boundary=b"}
    transport = _replay(kind, SimpleResponse(None, _ACCEPTED, "Accepted", headers, _TRIAL_RESPONSE))
    service = "https://trial.table.core.windows.net"
    client = _client_of(kind, service, {"credential": _NO_CREDENTIAL, "transport": transport, "retry_total": 0})
    request = _request(client, "Trial", _TRIAL, [(), ()])
    batch = _Batch(request, 1)
    silent = {"logger": _NO_LOG, "tracing_options": {"enabled": False}}
    await settled(_sender(client)(client, **silent, **{_OPTION: batch}))
    (sent,) = transport.sent
    is_signed = "Authorization" in sent.headers and sent.headers["Content-Type"] == request.headers["Content-Type"]
    return sent.method == "POST" and sent.url == f"{service}/$batch" and is_signed and batch.outcome == ["a"]
