"""Create the request sender of an account, if the installed SDK and the client's options allow one.

Otherwise the SDK's own calls are used, which are slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ..filters import prop
from .call import NO_CONTENT, Lazy, SimpleResponse, settled
from .operation import ANY, Operation
from .page_token import PageQuery, Position
from .reads import prepared_entity, prepared_page, query_page, read_entity
from .request_sender import NO_CREDENTIAL, SILENT, Prepared, RequestSender, replaying
from .writes import prepared_single, prepared_transaction, submit

_SERVICE: Final = "https://trial.table.core.windows.net"
_NAME: Final = "trial"
_VARIABLE: Final = frozenset({"x-ms-client-request-id", "x-ms-date", "date", "authorization"})
"""The headers that differ from request to request, in lower case."""
_supported: Final[dict[object, bool]] = {}


def canned_answer(status: int, content_type: str, content: bytes) -> SimpleResponse:
    return SimpleResponse(None, status, "", {"Content-Type": content_type}, content)


@dataclass(frozen=True)
class Trial:
    """Some requests, and the response to each of them.

    :param result: what reading the response gives; None to compare it, and the request, with the SDK's own call
    """

    answer: SimpleResponse
    prepare: Callable[[Any, str], Sequence[Prepared]]
    result: Any = None


# ------------------------------------------------------------------ requests for entities

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
_TRIALS: Final = (
    Trial(
        canned_answer(NO_CONTENT, "", b""),
        lambda sender, table: [prepared_single(sender, table, [operation], [()]) for operation in _ONE],
    ),
    Trial(
        canned_answer(200, "application/json", _ROW),
        lambda sender, table: [prepared_entity(sender, table, "it's", "1", select) for select in (None, _SELECTED)],
    ),
    Trial(
        canned_answer(200, "application/json", b'{"value":[%s]}' % _ROW),
        lambda sender, table: [prepared_page(sender, table, query) for query in _QUERIES],
    ),
    Trial(
        canned_answer(202, "multipart/mixed; boundary=b", 2 * _WRITE_RESPONSE + b"--c--\r\n--b--\r\n"),
        lambda sender, table: [prepared_transaction(sender, table, _TWO, [(), ()])],
        # The SDK's own call would start threads, which is not possible everywhere
        ["a", "a"],
    ),
)


class AccountSender:
    """The request sender of one account, created on first use; `options` has the account's shared `transport`."""

    _sender_kind: ClassVar[type[RequestSender]] = RequestSender
    _trials: ClassVar[Sequence[Trial]] = _TRIALS
    _unsupported: ClassVar = frozenset({"pipeline", "policies", "location_mode"})
    """Options that change a client's policies or address."""
    _ignored: ClassVar = frozenset({"per_call_policies", "per_retry_policies"})
    """Options that the SDK ignores on table clients created by a service client."""

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self._kind = kind
        self._is_possible = "transport" in options and not options.keys() & self._unsupported
        used_options = {name: value for name, value in options.items() if name not in self._ignored}
        self._sender = Lazy(lambda: self._sender_kind(kind, service, used_options))

    read_entity = staticmethod(read_entity)
    query_page = staticmethod(query_page)
    submit = staticmethod(submit)

    async def get(self) -> RequestSender | None:
        """Return the sender; None if the SDK must send the requests."""
        if self._sender.value is None and self._is_possible and await self.is_supported(self._kind):
            self._sender()
        return self._sender.value

    @classmethod
    async def is_supported(cls, kind: Any) -> bool:
        """Return whether the SDK's class of clients, sync or async, would send and read the same; tested once."""
        is_same = _supported.get(kind)
        if is_same is None:
            try:
                is_same = all([await cls._sends_the_same(kind, trial) for trial in cls._trials])
            except Exception:  # noqa: BLE001 - whatever is different in that version, its own call works
                is_same = False
            _supported[kind] = is_same
        return is_same

    @classmethod
    async def _sends_the_same(cls, kind: Any, trial: Trial) -> bool:
        transport = replaying(kind, trial.answer)
        options = {"credential": NO_CREDENTIAL, "transport": transport, "retry_total": 0}
        sender, client = cls._sender_kind(kind, _SERVICE, options), kind(_SERVICE, _NAME, **options)
        for prepared in trial.prepare(sender, _NAME):
            method_and_url = prepared.request.method, prepared.request.url
            headers = dict(prepared.request.headers)
            result = trial.result or await settled(prepared.by_sdk(client, **SILENT))
            own_result = await sender.send(prepared, **SILENT)
            *by_sdk, request = map(_comparable, transport.sent)
            transport.sent.clear()
            is_sent = request[:2] == method_and_url and headers.items() <= prepared.request.headers.items()
            is_same = is_sent and by_sdk == ([] if trial.result else [request])
            # The result of a write is only that it was made
            if not is_same or "Authorization" not in prepared.request.headers or own_result not in (result, True):
                return False
        return True


def _comparable(request: Any) -> tuple[object, ...]:
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in _VARIABLE}
    content = request.content.encode() if isinstance(request.content, str) else request.content
    return request.method, request.url, headers, content, "Authorization" in request.headers
