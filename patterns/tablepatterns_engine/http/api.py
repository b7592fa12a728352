"""Process a request to any service: parse the URL, authenticate the sender, execute the operation, record it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Generic, TypeVar
from uuid import uuid4

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_REQUEST_BYTES

from .. import errors
from ..errors import ServiceError
from ..ledger import Record
from ..resources import Settings, invalid_parameter
from ..versions import LAST_WITHOUT_SOME_HEADERS, drop_newer_headers, is_version
from .authorization import CHALLENGE, Authorization, SharedAccess, TrustTokens
from .call import AccountContext, AnyCall, Stopped
from .headers import http_date, read_number
from .message import Request, Response
from .permissions import Permit
from .service_properties import answer_preflight, cors_headers
from .shared_key import SignedTexts

CallT = TypeVar("CallT", bound=AnyCall)

_READS: Final = frozenset({"GET", "HEAD"})
# Drawn on import: an account that draws a random number on first use would disturb the explorer, which replays them
_REQUEST_SERIES: Final = str(uuid4())[:24]
_request_numbers: Final = count(1)


@dataclass(frozen=True, slots=True)
class Service(Generic[CallT]):
    """What distinguishes one service from the others.

    :param name: Table, Queue or Blob, as in the names of its operations
    :param handlers: the operations, by kind of URL and verb
    :param signed_texts: the texts of a request that a shared key may sign
    :param headers: the headers of every response, except for the kinds of URL in `bare_kinds`
    :param read_headers: the headers of every successful read
    :param max_body: the maximum size of a request body, in bytes
    :param writes: the operations that write one blob or message, which is noted for them
    """

    name: str
    call: Callable[[AccountContext, Any, Request, str, Ticks, Callable[[AnyCall], Permit]], CallT]
    handlers: Mapping[tuple[str, str], Callable[[CallT], Response]]
    write_error: Callable[[CallT, ServiceError], Response]
    access: type[SharedAccess]
    signed_texts: SignedTexts
    authorization: type[Authorization] = Authorization
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    bare_kinds: frozenset[str] = frozenset()
    read_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    max_body: int = MAX_REQUEST_BYTES
    writes: Set[str] = frozenset()


class Api(Generic[CallT]):
    """Process requests to one service of one account. Thread-safe.

    Every request gets a response: if it is malformed, forbidden or unknown, the service's error.
    """

    def __init__(
        self, context: AccountContext, settings: Settings, service: Service[CallT], *, trust_tokens: TrustTokens = False
    ) -> None:
        self._context = context
        self._settings = settings
        self._service = service
        self._authorization = service.authorization(
            context, service.access(context), service.signed_texts, trust_tokens=trust_tokens
        )
        self._bare_headers = {"Server": f"Windows-Azure-{service.name}/1.0 Microsoft-HTTPAPI/2.0"}
        self._headers = {**service.headers, **self._bare_headers}
        self._ledger_name = service.name.lower()

    def handle(self, request: Request) -> Response:
        service, context = self._service, self._context
        request_id = f"{_REQUEST_SERIES}{next(_request_numbers):012x}"
        call = service.call(
            context, self._settings, request, request_id, context.clock.now(), self._authorization.permit
        )
        try:
            response = self._execute(call)
        except ServiceError as error:
            response = self._error_response(call, error)
        except Stopped:
            response = Response(0, {})
        if fault := call.notes.fault:
            if fault.error:
                response = self._error_response(call, ServiceError(fault.error))
                response.headers.update(fault.headers)
            # The transport applies the part that concerns the network
            response.fault = fault
        if request.method == "HEAD":
            response.drop_body()
        self._complete(call, response)
        self._record(call, response)
        return response

    def _execute(self, call: CallT) -> Response:
        call.locate()
        service, target, request = self._service, call.target, call.request
        call.notes.table = target.resource
        version = request.headers.get("x-ms-version")
        if version is not None and not is_version(version):
            raise ServiceError(errors.INVALID_HEADER.with_details(HeaderName="x-ms-version", HeaderValue=version))
        if call.method == "OPTIONS":
            return answer_preflight(call)
        query = target.address.query
        if query and "timeout" in query and read_number(query, "timeout") < 0:
            raise invalid_parameter("timeout", query["timeout"])
        call.permit = call.authorize(call)
        target.address.check_options()
        if len(request.body) > service.max_body:
            raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)
        if target.address.secondary and call.method not in _READS:
            raise ServiceError(errors.WRITES_NOT_ALLOWED)
        handler = service.handlers.get((target.kind, call.method))
        if handler is None:
            raise ServiceError(errors.UNSUPPORTED_VERB)
        response = handler(call)
        if call.notes.operation in service.writes:
            call.notes.written = 1
        elif service.read_headers and call.method in _READS:
            response.headers.update(service.read_headers)
        return response

    def _error_response(self, call: CallT, error: ServiceError) -> Response:
        call.notes.error = error.code
        response = self._service.write_error(call, error)
        if call.method == "HEAD":
            # The Azure SDK for C++ parses the body that this header promises, and ends the process if there is none
            response.headers.pop("Content-Type", None)
        if response.status == 401:
            response.headers["WWW-Authenticate"] = CHALLENGE
        return response

    def _complete(self, call: CallT, response: Response) -> None:
        sent = call.request.headers
        is_bare = call.target.kind in self._service.bare_kinds
        response.headers = headers = {**(self._bare_headers if is_bare else self._headers), **response.headers}
        if not response.size:
            headers.setdefault("Content-Length", "0")
        headers["x-ms-request-id"] = call.id
        version = sent.get("x-ms-version")
        headers["x-ms-version"] = version = call.default_version if version is None else version
        if version <= LAST_WITHOUT_SOME_HEADERS:
            drop_newer_headers(headers, version)
        client_request_id = sent.get("x-ms-client-request-id")
        if client_request_id is not None:
            headers["x-ms-client-request-id"] = client_request_id
        rules = self._settings.get_service_properties().cors
        if rules and call.method != "OPTIONS":
            headers.update(cors_headers(call, rules, headers))
        headers["Date"] = http_date(call.now)

    def _record(self, call: CallT, response: Response) -> None:
        notes, fault = call.notes, call.notes.fault
        response.examined, response.returned = notes.examined, notes.returned
        # In the order of the fields; calling the class would take twice as long, for every request
        fields = (
            self._ledger_name,
            notes.operation,
            notes.table or None,
            notes.partition,
            notes.query_class,
            notes.examined,
            notes.returned,
            len(call.request.body),
            response.size,
            response.status,
            notes.error,
            1 if fault is None else int(fault.is_billed),
            call.now,
            notes.written,
            None if fault is None else fault.name,
        )
        self._context.ledger.add(Record._make(fields))
        if self._context.targets and notes.reached:
            touched = max(notes.examined, notes.returned, notes.written)
            self._context.targets.count_entities(call.info, self._context.clock, touched)
