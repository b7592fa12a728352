"""Create the request sender of an account, if the installed SDK and the client's options allow one.

Otherwise the SDK's own calls are used, which are slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from ..filters import prop
from .call import NO_CONTENT, Lazy, SimpleResponse, settled
from .operation import ANY, Operation
from .page_token import PageQuery, Position
from .reads import prepared_entity, prepared_page, query_page, read_entity
from .request_sender import Prepared, RequestSender
from .short_pipeline import NO_CREDENTIAL, SILENT, replaying
from .writes import prepared_single, prepared_transaction, submit

_UNSUPPORTED: Final = frozenset({"pipeline", "policies", "location_mode"})
"""Options that change a client's policies or address."""
_NOT_ON_TABLES: Final = frozenset({"per_call_policies", "per_retry_policies"})
"""Options that the SDK ignores on table clients created by a service client."""


class AccountSender:
    """The request sender of one account, created on first use; `options` has the account's shared `transport`."""

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self._kind = kind
        self._is_possible = "transport" in options and not options.keys() & _UNSUPPORTED
        table_options = {name: value for name, value in options.items() if name not in _NOT_ON_TABLES}
        self._sender = Lazy(lambda: RequestSender(kind, service, table_options))

    read_entity = staticmethod(read_entity)
    query_page = staticmethod(query_page)
    submit = staticmethod(submit)

    async def get(self) -> RequestSender | None:
        """Return the sender; None if the SDK must send the requests."""
        if self._sender.value is None and self._is_possible and await is_supported(self._kind):
            await self._sender().shorten()
        return self._sender.value


# ------------------------------------------------------------------ whether the installed SDK works this way

_supported: Final[dict[object, bool]] = {}
_TRIAL: Final = "https://trial.table.core.windows.net"
_TABLE: Final = "Trial"
_KEYS: Final = {"PartitionKey": "it's", "RowKey": "1", "Age": 1}
_ONE: Final = (
    Operation.insert(_KEYS),
    Operation.merge(_KEYS, "W/1"),
    Operation.replace(_KEYS, ANY),
    Operation.insert_or_merge(_KEYS),
    Operation.delete("p", "1", "W/1"),
)
_TWO: Final = (Operation.delete("p", "1", ANY), Operation.delete("p", "2", "W/2"))
_SELECTED: Final = ("PartitionKey", "RowKey", "Age")
_QUERIES: Final = (
    PageQuery(None, 1000),
    PageQuery(prop("PartitionKey") == "it's", 10, Position("1!4!YQ--", "1!4!Yg--"), _SELECTED),
)
_ROW: Final = b'{"PartitionKey":"it\'s","RowKey":"1","Age":1}'
_WRITE_RESPONSE: Final = b"--c\r\n\r\nHTTP/1.1 204 No Content\r\nETag: a\r\n\r\n\r\n"
_VARIABLE: Final = frozenset({"x-ms-client-request-id", "x-ms-date", "date", "authorization"})
"""The headers that differ from request to request, in lower case."""


def _answer(status: int, content_type: str, content: bytes) -> SimpleResponse:
    return SimpleResponse(None, status, "", {"Content-Type": content_type}, content)


_OF_TRANSACTION: Final = _answer(202, "multipart/mixed; boundary=b", 2 * _WRITE_RESPONSE + b"--c--\r\n--b--\r\n")
_CALLS: Final[Sequence[tuple[SimpleResponse, Callable[[RequestSender], list[Prepared]]]]] = (
    (
        _answer(NO_CONTENT, "", b""),
        lambda sender: [prepared_single(sender, _TABLE, [operation], [()]) for operation in _ONE],
    ),
    (
        _answer(200, "application/json", _ROW),
        lambda sender: [prepared_entity(sender, _TABLE, "it's", "1", select) for select in (None, _SELECTED)],
    ),
    (
        _answer(200, "application/json", b'{"value":[%s]}' % _ROW),
        lambda sender: [prepared_page(sender, _TABLE, query) for query in _QUERIES],
    ),
)
"""The calls that are tried, and the response to each."""


async def is_supported(kind: Any) -> bool:
    """Return whether the SDK's class of table clients, sync or async, would send and read the same; tested once."""
    is_same = _supported.get(kind)
    if is_same is None:
        try:
            is_same = await _sends_transactions(kind) and all([await _sends_the_same(kind, *calls) for calls in _CALLS])
        except Exception:  # noqa: BLE001 - whatever is different in that version, its own call works
            is_same = False
        _supported[kind] = is_same
    return is_same


async def _sends_transactions(kind: Any) -> bool:
    sender, transport, _ = _trial(kind, _OF_TRANSACTION)
    prepared = prepared_transaction(sender, _TABLE, _TWO, [(), ()])
    etags = await sender.send(prepared, **SILENT)
    (request,) = transport.sent
    is_signed = (
        "Authorization" in request.headers
        and request.headers["Content-Type"] == prepared.request.headers["Content-Type"]
    )
    return request.method == "POST" and request.url == f"{_TRIAL}/$batch" and is_signed and etags == ["a", "a"]


async def _sends_the_same(
    kind: Any, answer: SimpleResponse, prepare: Callable[[RequestSender], list[Prepared]]
) -> bool:
    sender, transport, options = _trial(kind, answer)
    client = kind(_TRIAL, _TABLE, **options)
    calls = prepare(sender)
    await sender.shorten()
    for prepared in calls:
        theirs = await settled(prepared.by_sdk(client, **SILENT))
        # A copy, since the policies change the request
        for ours in (await sender.send_shortly(deepcopy(prepared)), await sender.send(prepared, **SILENT)):
            # The result of a write is only that it was made
            if ours is not True and ours != theirs:
                return False
    requests = [_comparable(request) for request in transport.sent]
    return len(requests) == 3 * len(calls) and requests[::3] == requests[1::3] == requests[2::3]


def _trial(kind: Any, response: Any) -> tuple[RequestSender, Any, dict[str, Any]]:
    transport = replaying(kind, response)
    options = {"credential": NO_CREDENTIAL, "transport": transport, "retry_total": 0}
    return RequestSender(kind, _TRIAL, options), transport, options


def _comparable(request: Any) -> tuple[object, ...]:
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in _VARIABLE}
    is_signed = "Authorization" in request.headers
    return request.method, request.url, headers, request.content, is_signed
