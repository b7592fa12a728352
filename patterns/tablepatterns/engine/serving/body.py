"""The body of a request: how much of it is kept, and how long it may take."""

from __future__ import annotations

import asyncio
import time
from io import BytesIO
from typing import Final, NamedTuple

from ...limits import MIB
from .exchange import Receive

_DROPPED: Final = 16 * MIB
"""How much of a body that is too large is still read: most clients read no answer before all is sent."""
SECONDS_TO_BEGIN: Final = 30
_SLOWEST: Final = 16 * 1024
"""In bytes per second: a body that comes more slowly than this, the first seconds aside, is not waited for."""


class Gone(Exception):
    """The client has gone away before it had sent its request."""


class Body(NamedTuple):
    """What was read of a body.

    :param content: the bytes, at most one more than the service takes, so that it sees that they are too many
    :param whole: whether there is nothing of it left to be read
    """

    content: bytes
    whole: bool


async def read_body(receive: Receive, largest: int) -> Body:
    """Return the body of a request; it is held once, and for an instant by an eighth more.

    :param largest: how many bytes the service takes
    :raises Gone: the client went away
    :raises asyncio.TimeoutError: it came too slowly
    """
    began = time.monotonic()
    # A buffer gives its bytes away without a copy; pieces in a list would be held twice while they are joined
    kept = BytesIO()
    total = 0
    while total <= largest + _DROPPED:
        patience = began + SECONDS_TO_BEGIN + total / _SLOWEST - time.monotonic()
        message = await asyncio.wait_for(receive(), patience)
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message["body"]
        kept.write(piece[: max(largest + 1 - total, 0)])
        total += len(piece)
        if not message["more_body"]:
            return Body(kept.getvalue(), whole=True)
    return Body(kept.getvalue(), whole=False)
