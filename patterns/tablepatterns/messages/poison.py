"""Keep a message that could not be processed in a poison queue, for inspection and requeuing.

The note is an envelope of the kind `poison`, with the original text and the reason. Reasons are logged too, so they say
where the failure was, without the text of an exception: `int(body["Ssn"])` quotes the value in its text, and so do most
exceptions of the standard library, of the SDK and of this library.
"""

from __future__ import annotations

import os
import sysconfig
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import NoneType
from typing import Any, Final

from azure.core.exceptions import HttpResponseError

from ..errors import BadMessage, StepFailed, one_line
from ..limits import MAX_MESSAGE_BYTES
from ..sdk.errors import code_of
from ..sdk.queue import Message
from .lease import Envelope

KIND: Final = "poison"
_LONGEST_REASON: Final = 1000
_LIBRARIES: Final = (
    *(f"{sysconfig.get_path(path_name)}{os.sep}" for path_name in ("stdlib", "purelib", "platlib")),
    # All packages of the library
    str(Path(__file__).parents[1]),
)


@dataclass(frozen=True)
class Reason:
    """Why a message could not be processed.

    :param text: the service's status and code, and where the error was raised; for a `BadMessage` its text without the
        value, for a `StepFailed` the step
    """

    error: str
    text: str

    @classmethod
    def of(cls, error: BaseException) -> Reason:
        """Return the reason of an error, without the text of exceptions, which may quote the message.

        The text of a `BadMessage` is kept, without the value: it is raised to explain why the message is invalid.
        """
        if isinstance(error, BadMessage):
            text = one_line(f"{error.subject}: {error.rule}; {error.hint}")[:_LONGEST_REASON]
        elif isinstance(error, StepFailed):
            # Its text is the reason of its cause
            text = one_line(error.message)
        else:
            text = " ".join(filter(None, (_status(error), _place(error))))
        return cls(type(error).__name__, text)


def trace(error: BaseException) -> str:
    """Return the traceback of an error and its causes, without the texts of exceptions."""
    lines: list[str] = []
    error_ids: set[int] = set()
    chained_error: BaseException | None = error
    while chained_error is not None and id(chained_error) not in error_ids:
        error_ids.add(id(chained_error))
        frames = extract_tb(chained_error.__traceback__)
        lines.append(type(chained_error).__name__)
        lines += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        chained_error = chained_error.__cause__ or chained_error.__context__
    return "\n".join(lines)


def _status(error: BaseException) -> str:
    if not isinstance(error, HttpResponseError) or error.status_code is None:
        return ""
    return f"{error.status_code} {code_of(error)}".strip()


def _place(error: BaseException) -> str:
    """Return where an error was raised, and the last line of the caller's own code before that."""
    frames = extract_tb(error.__traceback__)
    if not frames:
        return "raised outside any function"
    own_frames = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    caller = f", from {_short(own_frames[-1])}" if own_frames and own_frames[-1] is not frames[-1] else ""
    return f"at {_short(frames[-1])}{caller}"


def _short(frame: FrameSummary) -> str:
    return f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"


@dataclass(frozen=True)
class PoisonMessage:
    """A message of a poison queue.

    :param queue: the queue that it came from; None if another program put it there
    :param text: its original text; None if it did not fit, and is in a message of its own
    :param id: the id that it had in that queue; of a message that another program put there, its own
    :param first: when it was sent, in ISO 8601
    :param last: when it was moved to the poison queue
    """

    queue: str | None
    text: str | None = field(repr=False)
    id: str = field(default="", compare=False)
    error: str = ""
    reason: str = ""
    deliveries: int = 0
    first: str | None = None
    last: str | None = None

    @classmethod
    def of(cls, queue: str, message: Message, reason: Reason, now: datetime) -> PoisonMessage:
        sent_at = message.inserted_at.isoformat() if message.inserted_at else None
        about = (message.id, reason.error, reason.text, message.deliveries, sent_at, now.isoformat())
        return cls(queue, message.text, *about)

    def texts(self, *, base64: bool = False) -> tuple[str, ...]:
        """Return the messages to send: the note, or if that is too long, the original text and then the note."""
        fields: dict[str, Any] = asdict(self)
        note_text = Envelope(KIND, fields).text(base64=base64)
        if self.text is None or len(note_text) <= MAX_MESSAGE_BYTES:
            return (note_text,)
        return (self.text, Envelope(KIND, fields | {"text": None}).text(base64=base64))

    @classmethod
    def parse(cls, text: str) -> PoisonMessage:
        """Return the note in a message of a poison queue; any other text is returned as the original text."""
        try:
            envelope = Envelope.parse(text)
        except BadMessage:
            return cls(None, text)
        if envelope.kind != KIND or envelope.body.keys() != cls.__dataclass_fields__.keys():
            return cls(None, text)
        note = cls(**envelope.body)
        # These two are used to requeue the message, so a note that another program wrote must have texts here
        return note if all(isinstance(text, (str, NoneType)) for text in (note.queue, note.text)) else cls(None, text)
