"""What every service does with a request: it reads the URL, asks who sent it, carries it out, and writes it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Generic, TypeVar
from uuid import uuid4

from ...edm import Ticks
from ...limits import MAX_REQUEST_BYTES
from .. import errors
from ..account import Engine
from ..errors import ServiceError
from ..faults import Fault
from ..ledger import Record
from .authorization import CHALLENGE, Authorization
from .call import Call, Stopped
from .headers import http_date
from .message import Request, Response
from .versions import is_version

CallT = TypeVar("CallT", bound=Call)

_VERSION: Final = "2019-02-02"
"""What a request without a version is taken for."""
_READS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Service(Generic[CallT]):
    """What is peculiar to one service.

    :param name: as the names of its operations spell it: Table, Queue or Blob
    :param call: makes the call of a request
    :param handlers: the operations, by kind of URL and verb
    :param refuse: writes a refusal
    :param headers: those that an answer has unless it says otherwise
    :param max_body: how many bytes a request may bring
    """

    name: str
    call: Callable[[Engine, Request, str, Ticks], CallT]
    handlers: Mapping[tuple[str, str], Callable[[CallT], Response]]
    write_error: Callable[[CallT, ServiceError], Response]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    max_body: int = MAX_REQUEST_BYTES


class Api(Generic[CallT]):
    """Answer requests to one service of one account; threads may share it.

    Every request gets an answer: what is malformed, forbidden or unknown gets the service's refusal.

    :param engine: the account
    :param service: which of its services
    :param authorization: finds out what the sender of a request may do
    """

    def __init__(self, engine: Engine, service: Service[CallT], authorization: Authorization) -> None:
        self._engine = engine
        self._service = service
        self._authorization = authorization
        self._headers = {**service.headers, "Server": f"Windows-Azure-{service.name}/1.0 Microsoft-HTTPAPI/2.0"}
        self._series = str(uuid4())[:24]
        self._numbers = count(1)

    @property
    def max_body(self) -> int:
        """How many bytes a request may bring; one with more is refused."""
        return self._service.max_body

    def answer(self, request: Request) -> Response:
        """Return the service's answer to a request, whatever it says."""
        call = self._service.call(
            self._engine, request, f"{self._series}{next(self._numbers):012x}", self._engine.clock.now()
        )
        try:
            response = self._carry_out(call)
        except ServiceError as error:
            response = self._error_response(call, error)
        except Stopped:
            response = Response(0, {})
        if call.notes.fault:
            response = self._fail(call, call.notes.fault, response)
        if request.method == "HEAD":
            response.drop_body()
        response.headers = self._complete(call, response)
        self._record(call, response)
        return response

    def _carry_out(self, call: CallT) -> Response:
        call.locate()
        call.notes.table = call.resource
        _check_version(call.request.headers.get("x-ms-version"))
        call.permit = self._authorization.permit(call)
        if len(call.request.body) > self._service.max_body:
            raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)
        if call.address.secondary and call.method not in _READS:
            raise ServiceError(errors.WRITES_NOT_ALLOWED)
        handler = self._service.handlers.get((call.kind, call.method))
        if handler is None:
            raise ServiceError(errors.UNSUPPORTED_VERB)
        return handler(call)

    def _fail(self, call: CallT, fault: Fault, response: Response) -> Response:
        """Return what a fault leaves of an answer; what the network does to it is told to who carries it."""
        if fault.answer:
            response = self._error_response(call, ServiceError(fault.answer))
            response.headers.update(fault.headers)
        response.fault = fault
        return response

    def _error_response(self, call: CallT, error: ServiceError) -> Response:
        call.notes.error = error.code
        response = self._service.write_error(call, error)
        if response.status == 401:
            response.headers["WWW-Authenticate"] = CHALLENGE
        return response

    def _complete(self, call: CallT, response: Response) -> dict[str, str]:
        """Return the headers of an answer, those that every answer has included."""
        asked = call.request.headers
        headers = {**self._headers, **response.headers}
        if not response.size:
            headers.setdefault("Content-Length", "0")
        headers["x-ms-request-id"] = call.id
        headers["x-ms-version"] = asked.get("x-ms-version", self._default_version())
        if "x-ms-client-request-id" in asked:
            headers["x-ms-client-request-id"] = asked["x-ms-client-request-id"]
        headers["Date"] = http_date(call.now)
        return headers

    def _default_version(self) -> str:
        """Return what a request without a version is taken for."""
        return _VERSION

    def _record(self, call: CallT, response: Response) -> None:
        notes, fault = call.notes, call.notes.fault
        response.examined, response.returned = notes.examined, notes.returned
        self._engine.ledger.add(
            Record(
                service=self._service.name.lower(),
                operation=notes.operation,
                table=notes.table or None,
                partition=notes.partition,
                query_class=notes.query_class,
                examined=notes.examined,
                returned=notes.returned,
                bytes_in=len(call.request.body),
                bytes_out=response.size,
                status=response.status,
                error=notes.error,
                billable=1 if fault is None else int(fault.is_billed),
                moment=call.now,
                written=notes.written,
                fault=fault.name if fault else None,
            )
        )
        if self._engine.targets and notes.reached:
            touched = max(notes.examined, notes.returned, notes.written)
            self._engine.targets.count_entities(call.asked, self._engine.clock, touched)


def _check_version(version: str | None) -> None:
    if version is not None and not is_version(version):
        raise ServiceError(errors.INVALID_HEADER.with_details(HeaderName="x-ms-version", HeaderValue=version))
