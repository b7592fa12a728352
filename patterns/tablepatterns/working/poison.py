"""Poison: what is kept of a message that nobody could work on, so that someone can look into it and send it again.

The note is an envelope like any other, of the kind `poison`. It holds the text as it came, letter by letter, and the
reason. Reasons go to logs too, so they name what was wrong and never show a value of the message.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from types import NoneType
from typing import Any, Final

from ..errors import BadInput, BadMessage, said
from ..limits import MAX_MESSAGE_BYTES
from ..words.queue import Message
from .envelope import Envelope

KIND: Final = "poison"
_LONGEST_REASON: Final = 1000
_SECRETS: Final = re.compile(
    r"(?i)(\bsig=|\bAccountKey=|\bSharedAccessSignature=|\bSharedKey(?:Lite)?\s+[^:\s]+:|\bBearer\s+)[^\s&;,'\"]+"
)


@dataclass(frozen=True)
class Reason:
    """Why a message could not be worked on.

    :param error: the name of the error's type
    :param text: what it says, without keys, signatures and values of the message
    """

    error: str
    text: str

    @classmethod
    def of(cls, error: BaseException) -> Reason:
        """Return the reason that an error tells.

        >>> Reason.of(ValueError("GET https://a.table.core.windows.net/T?sig=c2VjcmV0&se=2014 failed")).text
        'GET https://a.table.core.windows.net/T?sig=***&se=2014 failed'
        """
        text = f"{error.subject}: {error.rule}; {error.way_out}" if isinstance(error, BadInput) else said(error)
        # The SDK adds the answer's body, which says the same once more
        words = " ".join(text.partition("\nContent:")[0].split())
        return cls(type(error).__name__, _SECRETS.sub(r"\1***", words)[:_LONGEST_REASON])


@dataclass(frozen=True)
class Poisoned:
    """A message that went to poison.

    :param queue: the queue that it came from; None if nothing but the message is known
    :param text: its text as it was; None where it did not fit beside the reason, and is a message of its own
    :param id: the id that it had there
    :param error: the name of the error's type
    :param reason: what was wrong
    :param deliveries: how often it was received
    :param first: when it was sent, in ISO 8601
    :param last: when it went to poison
    """

    queue: str | None
    text: str | None
    id: str = ""
    error: str = ""
    reason: str = ""
    deliveries: int = 0
    first: str | None = None
    last: str | None = None

    @classmethod
    def of(cls, queue: str, message: Message, reason: Reason, now: datetime) -> Poisoned:
        """Return the note about a message that was received from a queue."""
        sent = message.inserted_at.isoformat() if message.inserted_at else None
        about = (message.id, reason.error, reason.text, message.deliveries, sent, now.isoformat())
        return cls(queue, message.text, *about)

    def texts(self, *, base64: bool = False) -> tuple[str, ...]:
        """Return the messages to send: the note, or where that is too long the text as it was, and then the note.

        >>> [len(text) for text in Poisoned("orders", "x" * 65_536).texts()]
        [65536, 132]
        """
        fields: dict[str, Any] = asdict(self)
        whole = Envelope(KIND, fields).text(base64=base64)
        if self.text is None or len(whole) <= MAX_MESSAGE_BYTES:
            return (whole,)
        return (self.text, Envelope(KIND, fields | {"text": None}).text(base64=base64))

    @classmethod
    def parse(cls, text: str) -> Poisoned:
        """Return what a message of a poison queue says; one that is no note stands for itself."""
        try:
            found = Envelope.parse(text)
        except BadMessage:
            return cls(None, text)
        if found.kind != KIND or found.body.keys() != cls.__dataclass_fields__.keys():
            return cls(None, text)
        note = cls(**found.body)
        # What is sent again, and where it is from: nobody wrote a note in which that is no text
        return note if all(isinstance(each, (str, NoneType)) for each in (note.queue, note.text)) else cls(None, text)
