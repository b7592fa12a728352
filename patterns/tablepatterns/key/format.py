"""What every format of a key's field can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..errors import BadKey
from .language import Characters


@dataclass(frozen=True)
class Format(ABC):
    """How the values of one field are written into a key and read back, in the order of the values."""

    name: str

    terminator: ClassVar[str] = ""
    """What ends the text wherever more of the key follows; it sorts before all that could continue the text."""
    descending: ClassVar[bool] = False

    @property
    @abstractmethod
    def characters(self) -> Sequence[Characters] | Characters:
        """What each character of a text may be; one set for all of them where a text is as long as its value."""

    @cached_property
    def width(self) -> int | None:
        """The number of characters of every value's text, or None where a text is as long as its value."""
        return None if isinstance(self.characters, Characters) else len(self.characters)

    @abstractmethod
    def write(self, value: object) -> str:
        """Return the value as key text, or raise BadKey."""

    @abstractmethod
    def read(self, text: str) -> object:
        """Return the value of a key text; ValueError where it has none.

        Need not notice a text that `write` would have spelled otherwise: whoever reads writes again and compares.
        """

    def refusal(self, value: object, rule: str, way_out: str) -> BadKey:
        return BadKey(self.name, value, rule, way_out)
