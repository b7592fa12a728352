"""Paths that go on behind a table: what a client asks whose account URL ends with the name of a table."""

from __future__ import annotations

from typing import Final

from .. import texts
from ..refusal import Refusal
from .access import OWNER_ONLY
from .message import Response
from .table_call import TableCall
from .texts import KEY_COUNT

_ANSWERS: Final = {
    "GET": texts.NOT_IMPLEMENTED,
    # A body sent to a table is an entity to the service, here one without keys
    "POST": texts.PROPERTIES_NEED_VALUE,
}


def refuse_below_table(call: TableCall) -> Response:
    """Refuse it in the words that the service has for it, which the SDK explains to its user."""
    call.allow(OWNER_ONLY)
    if call.target.below == "$batch":
        raise Refusal(texts.MEDIA_TYPE_NOT_SUPPORTED)
    call.tables.table(call.target.table)
    raise Refusal(_ANSWERS.get(call.method, KEY_COUNT))
