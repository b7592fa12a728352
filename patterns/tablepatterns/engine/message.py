"""One version of a message of a queue, and the receipts that give power over it."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from struct import pack
from typing import Final, NamedTuple

from ..edm import Ticks
from ..limits import MAX_MESSAGE_BYTES
from . import texts
from .parameters import invalid_parameter
from .refusal import Refusal

_RECEIPT_NUMBERS: Final = 2**32


class Message(NamedTuple):
    """One version of a message; a change makes a new one, so a reader may keep it as long as it likes.

    :param number: which message of the account it is; among equal moments the lower number comes first
    :param expires: when it is gone; `Ticks.MAX` is never
    :param visible: when it can be seen again, or was first seen
    :param receipt: the one pop receipt that is good for this version
    :param dequeues: how often it was received
    """

    id: str
    number: int
    text: str
    inserted: Ticks
    expires: Ticks
    visible: Ticks
    receipt: str
    dequeues: int


def check_text(text: str) -> None:
    """Refuse a text of more than 64 KiB in UTF-8.

    :raises Refusal: RequestBodyTooLarge
    """
    # No character takes more than four bytes, so most texts need not be encoded to be measured
    if len(text) * 4 > MAX_MESSAGE_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
        raise Refusal(texts.REQUEST_BODY_TOO_LARGE.about(MaxLimit=MAX_MESSAGE_BYTES))


def new_receipt(visible: Ticks, number: int) -> str:
    """Return a pop receipt; no two of different numbers are the same.

    >>> new_receipt(Ticks.parse("2014-08-22T00:50:32Z"), 1)
    'AgAAAAMAAAABAAAAAPzfNbqL0Qg='
    """
    return b64encode(pack("<IIIq", 2, 3, number % _RECEIPT_NUMBERS, visible)).decode()


def check_receipt(receipt: str) -> None:
    """Refuse what has not even the form of a pop receipt.

    :raises Refusal: InvalidQueryParameterValue
    """
    try:
        b64decode(receipt, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid_parameter("popreceipt", receipt, "Invalid pop receipt format") from error
