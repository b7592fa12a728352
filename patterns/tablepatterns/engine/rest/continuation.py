"""Continuation tokens: the key of the next entity, in letters that fit a header."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from typing import Final

from ..refusal import Refusal
from ..texts import INVALID_INPUT

_TOKEN: Final = re.compile(r"1!(\d{1,6})!([A-Za-z0-9+/-]*)", re.ASCII)


def write_token(key: str) -> str:
    """Return the token of a key.

    >>> write_token("pk801016e8")
    '1!16!cGs4MDEwMTZlOA--'
    """
    text = b64encode(key.encode("utf-8", "surrogatepass")).decode().replace("=", "-")
    return f"1!{len(text)}!{text}"


def read_token(token: str) -> str:
    """Return the key in a token.

    :raises Refusal: InvalidInput where it is no token of this service
    """
    found = _TOKEN.fullmatch(token)
    if not found or len(found[2]) != int(found[1]):
        raise Refusal(INVALID_INPUT)
    try:
        return b64decode(found[2].replace("-", "="), validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Refusal(INVALID_INPUT) from error
