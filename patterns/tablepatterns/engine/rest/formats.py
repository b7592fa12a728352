"""Which of the three JSON formats an answer has."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final

from .. import texts
from ..refusal import Refusal


class Level(Enum):
    """How much metadata a JSON answer carries; the value is its content type."""

    NONE = "application/json;odata=nometadata;streaming=true;charset=utf-8"
    MINIMAL = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
    FULL = "application/json;odata=fullmetadata;streaming=true;charset=utf-8"


_LEVELS: Final = {
    "application/json": Level.MINIMAL,
    "application/json;odata=nometadata": Level.NONE,
    "application/json;odata=minimalmetadata": Level.MINIMAL,
    "application/json;odata=fullmetadata": Level.FULL,
    "application/*": Level.MINIMAL,
    "*/*": Level.MINIMAL,
    "": Level.MINIMAL,
}


@lru_cache(maxsize=256)
def negotiate(accept: str, option: str | None) -> Level:
    """Return the format that a client asks for; JSON is the only one since version 2015-12-11.

    :param accept: the Accept header
    :param option: the query option `$format`, which is stronger
    :raises Refusal: AtomFormatNotSupported for anything else
    """
    for wish in (accept if option is None else option).split(","):
        level = _LEVELS.get(_plain(wish))
        if level is not None:
            return level
    raise Refusal(texts.ATOM_NOT_SUPPORTED)


def refuse_atom(content_type: str) -> None:
    """Refuse a body in Atom, which the service took before version 2015-12-11.

    :raises Refusal: AtomFormatNotSupported
    """
    if "atom" in content_type.lower():
        raise Refusal(texts.ATOM_NOT_SUPPORTED)


def errors_in_xml(accept: str, option: str | None) -> bool:
    """Tell whether an error is answered in XML: wherever the client does not ask for JSON by name."""
    return "json" not in (accept if option is None else option).lower()


def _plain(wish: str) -> str:
    """Return a media range without blanks and without the parameters that say nothing about metadata."""
    media, *parameters = wish.lower().replace(" ", "").split(";")
    return ";".join([media, *(parameter for parameter in parameters if parameter.startswith("odata="))])
