"""What the application and a connection have in common: ASGI's three parts, and what ASGI leaves out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_EXTENSION: Final = "tablepatterns"


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a connection adds to a request, as an extension of its scope.

    :param names: the names of the headers as they were sent; ASGI has them in lower case
    :param say: gives the answer a reason phrase
    :param hang_up: breaks the connection, and drops what is not sent yet
    :param break_off: breaks the connection behind what is sent already
    """

    names: tuple[str, ...]
    say: Callable[[str], None]
    hang_up: Callable[[], None]
    break_off: Callable[[], None]

    @classmethod
    def of(cls, scope: Scope) -> Hooks:
        """Return the hooks of a request."""
        hooks: Hooks = scope["extensions"][_EXTENSION]
        return hooks

    def add_to(self, scope: Scope) -> None:
        """Give a request these hooks."""
        scope.setdefault("extensions", {})[_EXTENSION] = self
