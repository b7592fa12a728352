"""Batches: up to 256 deletions, or changes of tiers, each with a credential and an answer of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import uuid4

from ...refusal import Refusal
from ...texts import INVALID_INPUT
from ..message import Request, Response
from ..multipart import InnerRequest, read_parts, read_requests, write_parts
from ..refusals import Refusals
from ..routing import absolute
from .call import BlobCall
from .changes import delete_blob, set_tier

MAX_REQUESTS: Final = 256
_OPERATIONS: Final[dict[tuple[str, str], Callable[[BlobCall], Response]]] = {
    ("blob", "DELETE"): delete_blob,
    ("tier", "PUT"): set_tier,
}


def run_batch(call: BlobCall) -> Response:
    """Carry out the requests of a batch, one by one; one that is refused leaves the others alone.

    :raises Refusal: InvalidInput where it is no batch, is empty or too long
    """
    call.notes.operation = "BlobBatch"
    call.check_support("BlobBatch")
    call.reach_state()
    answers = [_part(number, request, _answer(call, request)) for number, request in enumerate(_requests(call))]
    call.notes.operation, call.notes.written = "BlobBatch", len(answers)
    boundary = f"batchresponse_{uuid4()}"
    return Response(202, {"Content-Type": f"multipart/mixed; boundary={boundary}"}, write_parts(boundary, answers))


def _requests(call: BlobCall) -> list[InnerRequest]:
    try:
        requests = list(read_requests(read_parts(call.request.body, call.request.headers.get("content-type", ""))))
    except ValueError as error:
        raise Refusal(INVALID_INPUT) from error
    if not 0 < len(requests) <= MAX_REQUESTS:
        raise Refusal(INVALID_INPUT)
    return requests


def _answer(call: BlobCall, request: InnerRequest) -> Response:
    url = absolute(request.url, call.address.base)
    try:
        inner = call.inner(Request(request.method, url, request.headers, request.body))
        operation = _OPERATIONS.get((inner.kind, inner.method))
        if operation is None:
            raise Refusal(INVALID_INPUT)
        return operation(inner)
    except Refusal as refusal:
        return Refusals(call.id, call.now).of_storage(refusal)


def _part(number: int, request: InnerRequest, response: Response) -> bytes:
    content_id = str(number) if request.content_id is None else request.content_id
    fields = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
    head = f"Content-Type: application/http\r\nContent-ID: {content_id}\r\n\r\n"
    return f"{head}HTTP/1.1 {response.status} {response.reason}\r\n{fields}\r\n".encode() + bytes(response.body)
