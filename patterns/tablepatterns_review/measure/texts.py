"""Generate sample texts that a reader can tell apart, of a declared length and order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

_FILLING: Final = ("lake", "house", "near", "the", "old", "harbor", "with", "quiet", "rooms", "and", "small", "garden")
_WORD: Final = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DIGIT: Final = re.compile("[0-9]")
_LETTERS: Final = str.maketrans("0123456789", "abcdefghij")
_DOMAIN: Final = "@contoso.com"
_EMAIL: Final = re.compile(r"e_?mail", re.IGNORECASE)


@dataclass(frozen=True)
class SampleTexts:
    """The texts of a field, such as `city-03` or `user.03.lake@contoso.com`.

    Each has the number of its rank, sorts by it, and has at least the declared length.

    :param ranks: the highest rank
    :param separators: the texts that keys have between fields, which no text contains
    :param in_key: whether the texts are part of a key
    """

    name: str
    length: int
    ranks: int
    separators: Collection[str] = ()
    in_key: bool = False

    def of(self, rank: int) -> str:
        """Return the text of a rank, from 1 to `ranks`."""
        return self._spell(f"{rank:0{len(str(self.ranks))}d}")

    @cached_property
    def _spell(self) -> Callable[[str], str]:
        """The best spelling of a number in which no text contains a separator."""
        separators = [_DIGIT.sub("0", separator) for separator in self.separators if separator]
        for spell in self._spellings():
            text = _DIGIT.sub("0", spell("1" * len(str(self.ranks))))
            # A text that ends as a separator begins could not be read back either
            if not any((text + separator).find(separator) < len(text) for separator in separators):
                return spell
        return self._as_letters

    def _spellings(self) -> Iterator[Callable[[str], str]]:
        if _EMAIL.search(self.name) and self.length >= len(_DOMAIN) + len(str(self.ranks)):
            yield self._as_email
        words = _WORD.findall(self.name)
        if not self.in_key:
            yield partial(_labelled, self.length, " ".join(words).capitalize(), " ")
        for separator in "-.":
            yield partial(_labelled, self.length, separator.join(words).lower(), separator)
        yield self._as_digits

    def _as_email(self, number: str) -> str:
        return _labelled(self.length - len(_DOMAIN), "user", ".", number) + _DOMAIN

    def _as_digits(self, number: str) -> str:
        return number.ljust(self.length, "0")

    def _as_letters(self, number: str) -> str:
        return self._as_digits(number).translate(_LETTERS)


def _labelled(length: int, name: str, separator: str, number: str) -> str:
    """Return a name and a number, followed by words up to the length."""
    room = length - len(number) - len(separator)
    text = f"{name[:room]}{separator}{number}" if room > 0 and name else number
    words = separator.join(_FILLING * (1 + length // len(_FILLING)))
    return f"{text}{separator}{words}"[:length].rstrip(separator).ljust(length, "0") if len(text) < length else text
