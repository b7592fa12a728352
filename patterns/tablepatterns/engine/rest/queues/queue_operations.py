"""Queues: list, create, delete, and their metadata."""

from __future__ import annotations

from typing import Final

from ....limits import MAX_PAGE_QUEUES
from ..message import Response
from ..metadata import metadata_headers, read_metadata
from ..options import read_number, read_words
from .call import QueueCall
from .list_xml import read_marker, write_list
from .needs import CREATE_QUEUE, DELETE_QUEUE, LIST_QUEUES, READ_METADATA, WRITE_METADATA

_INCLUDES: Final = frozenset({"metadata"})
_FRESH: Final = {"Cache-Control": "no-cache"}


def list_queues(call: QueueCall) -> Response:
    """Return a page of the list of queues."""
    call.begin("ListQueues", LIST_QUEUES)
    query, account = call.address.query, call.engine.account_name
    read_words(query, "include", _INCLUDES)
    start = read_marker(query.get("marker", ""), account)
    limit = read_number(query, "maxresults", MAX_PAGE_QUEUES)
    queues, following = call.queues.page(query.get("prefix", ""), start, limit)
    call.notes.returned = len(queues)
    body = write_list(queues, call.address.base, query, account, following)
    return Response(200, {**_FRESH, "Content-Type": "application/xml"}, body)


def create_queue(call: QueueCall) -> Response:
    """Create a queue; one that is already as it is asked for is an answer of its own."""
    call.begin("CreateQueue", CREATE_QUEUE)
    made = call.queues.create(call.target.queue, read_metadata(call.request))
    return Response(201 if made else 204, {})


def delete_queue(call: QueueCall) -> Response:
    """Delete a queue."""
    call.begin("DeleteQueue", DELETE_QUEUE)
    call.queues.delete(call.target.queue)
    return Response(204, {})


def get_metadata(call: QueueCall) -> Response:
    """Return the metadata of a queue, and how many messages it holds."""
    call.begin("GetQueueMetadata", READ_METADATA)
    metadata = metadata_headers(call.queues.get_metadata(call.target.queue))
    count = call.queues.count(call.target.queue)
    return Response(200, {**_FRESH, "x-ms-approximate-messages-count": str(count), **metadata})


def set_metadata(call: QueueCall) -> Response:
    """Replace the metadata of a queue."""
    call.begin("SetQueueMetadata", WRITE_METADATA)
    call.queues.set_metadata(call.target.queue, read_metadata(call.request))
    return Response(204, {})
