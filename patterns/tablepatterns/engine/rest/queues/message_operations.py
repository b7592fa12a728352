"""Messages of a queue: put, get, peek, update, delete, clear."""

from __future__ import annotations

from typing import Final

from ....limits import DEFAULT_TIME_TO_LIVE, DEFAULT_VISIBILITY_TIMEOUT
from ..message import Response
from ..moments import http_date
from ..options import read_number, required
from .call import QueueCall
from .message_xml import read_text, write_peeked, write_put, write_received
from .needs import CLEAR, DELETE, GET, PEEK, PUT, UPDATE

_XML: Final = {"Content-Type": "application/xml"}
_FRESH_XML: Final = {**_XML, "Cache-Control": "no-cache", "Vary": "Origin"}
_TIME_TO_LIVE: Final = int(DEFAULT_TIME_TO_LIVE.total_seconds())
_VISIBILITY: Final = int(DEFAULT_VISIBILITY_TIMEOUT.total_seconds())


def put_message(call: QueueCall) -> Response:
    """Add a message."""
    call.begin("PutMessage", PUT)
    query = call.address.query
    visibility = read_number(query, "visibilitytimeout", 0)
    time_to_live = read_number(query, "messagettl", _TIME_TO_LIVE)
    text = read_text(call.request.body)
    message = call.queues.put(call.target.queue, text, visibility=visibility, time_to_live=time_to_live)
    call.notes.written = 1
    return Response(201, {**_XML}, write_put(message))


def get_messages(call: QueueCall) -> Response:
    """Receive messages, or look at them."""
    peeking = call.address.query.get("peekonly", "").lower() == "true"
    return _peek(call) if peeking else _get(call)


def _get(call: QueueCall) -> Response:
    call.begin("GetMessages", GET)
    query = call.address.query
    limit = read_number(query, "numofmessages", 1)
    messages = call.queues.get(call.target.queue, limit, read_number(query, "visibilitytimeout", _VISIBILITY))
    call.notes.examined = call.notes.returned = len(messages)
    return Response(200, {**_FRESH_XML}, write_received(messages))


def _peek(call: QueueCall) -> Response:
    call.begin("PeekMessages", PEEK)
    messages = call.queues.peek(call.target.queue, read_number(call.address.query, "numofmessages", 1))
    call.notes.examined = call.notes.returned = len(messages)
    return Response(200, {**_FRESH_XML}, write_peeked(messages))


def update_message(call: QueueCall) -> Response:
    """Hide a message anew; a body replaces its text."""
    call.begin("UpdateMessage", UPDATE)
    query, target, body = call.address.query, call.target, call.request.body
    receipt, visibility = required(query, "popreceipt"), read_number(query, "visibilitytimeout")
    text = read_text(body) if body else None
    message = call.queues.update(target.queue, target.message, receipt, visibility, text)
    call.notes.written = 1
    return Response(204, {"x-ms-popreceipt": message.receipt, "x-ms-time-next-visible": http_date(message.visible)})


def delete_message(call: QueueCall) -> Response:
    """Delete a message."""
    call.begin("DeleteMessage", DELETE)
    receipt = required(call.address.query, "popreceipt")
    call.queues.remove(call.target.queue, call.target.message, receipt)
    call.notes.written = 1
    return Response(204, {})


def clear_messages(call: QueueCall) -> Response:
    """Delete all messages of a queue."""
    call.begin("ClearMessages", CLEAR)
    call.queues.clear(call.target.queue)
    return Response(204, {})
