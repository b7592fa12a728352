"""Write entities with the same requests as the SDK, in a fraction of its time.

For a transaction, the SDK uses the email package and starts two thread pools. What cannot be sent here is left to the
SDK's own calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from typing import Any, Final, TypeAlias, cast
from uuid import uuid4

from azure.core.exceptions import StreamConsumedError
from azure.core.pipeline import PipelineResponse
from azure.core.rest import HttpRequest
from azure.data.tables import TableTransactionError

from ..write_id import WriteIds
from .call import NO_CONTENT, AioEmptyResponse, CallHook, SimpleResponse, answered
from .entity_json import NotEncodable
from .errors import rejection
from .operation import Operation, sdk_operation, sdk_word
from .request_sender import SILENT, Prepared, RequestSender, new_reader
from .write_body import Envelope, FailedPart, batch_body, entity_write, etags_of

ETags: TypeAlias = list[str | None]
"""The new ETag of each operation of a transaction; None for a deletion."""

ACCEPTED: Final = 202
_CREATED: Final = 201


async def submit(
    client: Any,
    sender: RequestSender | None,
    operations: Sequence[Operation],
    ids: Sequence[WriteIds],
    hook: CallHook | None = None,
) -> ETags:
    """Execute all operations or none. The new ETag of a single operation is left to the hook.

    The errors are those of the SDK's `submit_transaction`, or of its call for one operation.

    :param client: the SDK's client of the table
    :param sender: sends the request; if it is None, the client does
    :param operations: one, or those of a transaction
    :param ids: the write ids that each operation stores in its row
    :param hook: the response hook of the SDK's call
    """
    hook = hook or CallHook(None)
    prepared: Prepared | None = None
    # The SDK sends merges to Cosmos DB in another way
    if sender is not None and not sender.is_cosmos:
        with suppress(NotEncodable):
            prepare = prepared_single if len(operations) == 1 else prepared_transaction
            prepared = prepare(sender, client.table_name, operations, ids)
    try:
        if sender is None or prepared is None:
            result: Any = await answered(submit_by_sdk, operations, ids, client, **hook.options)
        else:
            result = await answered(sender.send, prepared, **hook.options)
    except StreamConsumedError:
        # An async response without content cannot be read twice, as the SDK does for a transaction
        reader = new_reader(type(client), client.url, client.table_name, AioEmptyResponse(hook.response))
        result = await answered(submit_by_sdk, operations, ids, reader, **SILENT)
    if len(operations) == 1:
        return [None]
    # The SDK returns mappings, if it has read the response
    return [cast("Mapping[str, Any]", part).get("etag") if isinstance(part, Mapping) else part for part in result]


def submit_by_sdk(operations: Sequence[Operation], ids: Sequence[WriteIds], client: Any, **options: Any) -> Any:
    """Execute the operations by the SDK's own call."""
    calls = [sdk_operation(operation, write_ids) for operation, write_ids in zip(operations, ids, strict=True)]
    if len(calls) > 1:
        return client.submit_transaction(calls, **options)
    ((word, entity, conditions),) = calls
    return getattr(client, f"{word}_entity")(entity, **conditions, **options)


# ------------------------------------------------------------------ one operation


def prepared_single(
    sender: RequestSender, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds]
) -> Prepared:
    """Return the request of one operation.

    :raises NotEncodable: the SDK must send it
    """
    (operation,), (write_ids,) = operations, ids
    method, url, headers, body = entity_write(f"{sender.service}/{table}", operation, write_ids)
    request = HttpRequest(method, url, headers=headers | sender.headers, content=body)
    span = f"TableClient.{sdk_word(operation)}_entity"
    return Prepared(request, table, span, partial(submit_by_sdk, operations, ids), _is_written)


def _is_written(response: PipelineResponse[Any, Any], _: bytes) -> bool | None:
    return True if response.http_response.status_code in (NO_CONTENT, _CREATED) else None


# ------------------------------------------------------------------ transactions


def prepared_transaction(
    sender: RequestSender, table: str, operations: Sequence[Operation], ids: Sequence[WriteIds]
) -> Prepared:
    """Return the request of a transaction.

    :raises NotEncodable: the SDK must send it
    """
    envelope = Envelope(sender.service, table, sender.version, formatdate(usegmt=True))
    batch = f"batch_{uuid4()}"
    headers = {
        **sender.headers,
        "MaxDataServiceVersion": "3.0;NetFx",
        "Content-Type": f"multipart/mixed; boundary={batch}",
        "Accept": "application/json",
    }
    body = batch_body(envelope, operations, ids, batch=batch, changeset=f"changeset_{uuid4()}")
    request = HttpRequest("POST", f"{sender.service}/$batch", headers=headers, content=body)
    span = "TableClient.submit_transaction"
    read = partial(_etags, request, len(operations))
    return Prepared(request, table, span, partial(submit_by_sdk, operations, ids), read, is_streamed=True)


def _etags(
    request: HttpRequest, count: int, response: PipelineResponse[Any, Any], content: bytes
) -> ETags | TableTransactionError | None:
    etags = etags_of(content, count) if response.http_response.status_code == ACCEPTED else None
    return _failure(etags, request) if isinstance(etags, FailedPart) else etags


def _failure(part: FailedPart, request: HttpRequest) -> Any:
    """Return the error that the SDK raises for a failed part."""
    response: Any = SimpleResponse(request, part.status, part.reason, part.headers, part.content)
    return rejection(TableTransactionError, part.message, part.code, response)
