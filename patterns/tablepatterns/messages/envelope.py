"""The format of all queue messages, so that workers of any version can identify them.

A message is JSON: its version, its kind, and its body. Base64 and plain text are both read, since clients in other
languages send Base64 by default; writers choose.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ..errors import NOT_SHOWN, BadInput, BadMessage

VERSION: Final = 1


@dataclass(frozen=True)
class Envelope:
    """The kind of a message, and a body of texts, numbers, booleans, None, lists and dicts of them."""

    kind: str
    body: Mapping[str, Any] = field(repr=False)

    def text(self, *, base64: bool = False) -> str:
        try:
            message = {"v": VERSION, "kind": self.kind, "body": self.body}
            text = json.dumps(message, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            rule = f"it cannot be written as JSON ({type(error).__name__})"
            raise BadInput("body", NOT_SHOWN, rule, "use texts and numbers") from error
        return b64encode(text.encode()).decode() if base64 else text

    @classmethod
    def parse(cls, text: str) -> Envelope:
        try:
            message = json.loads(text if text.lstrip().startswith("{") else b64decode(text, validate=True))
        except (ValueError, RecursionError):
            # Nesting that is too deep must not end the worker, which would receive the same message again
            rule = "it is neither JSON nor JSON in Base64"
            raise BadMessage("message", NOT_SHOWN, rule, "check which program sent it") from None
        fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        kind, body = fields.get("kind"), fields.get("body")
        if fields.get("v") != VERSION or not isinstance(kind, str) or not isinstance(body, dict):
            rule = f'it must have "v": {VERSION}, a text "kind" and an object "body"'
            raise BadMessage("message", NOT_SHOWN, rule, "read it with the version of the library that sent it")
        return cls(kind, cast("dict[str, Any]", body))
