"""Generate sample texts that a reader can tell apart, of a declared length and order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache, partial
from itertools import cycle
from typing import Final

_WORDS: Final = ("lake", "house", "near", "the", "old", "harbor", "with", "quiet", "rooms", "and", "small", "garden")
_BY_LENGTH: Final = ("", "", "by", "sea", "lake", "north", "harbor", "village", "mountain")
_SHORTEST_END, _LONGEST_END = 3, 9
"""The room of a last word with its separator."""
_WORD: Final = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DIGIT: Final = re.compile("[0-9]")
_LETTERS: Final = str.maketrans("0123456789", "abcdefghij")
_DOMAIN: Final = "@contoso.com"
_EMAIL: Final = re.compile(r"e_?mail", re.IGNORECASE)
_DAY: Final = re.compile(r"(day|date)$", re.IGNORECASE)
_ISO_DATE: Final = 10
_MOST_DAYS: Final = 10_000


@dataclass(frozen=True)
class SampleTexts:
    """The texts of a field, such as `city-03` or `user.03.lake@contoso.com`.

    Each has the number of its rank, sorts by it, and has at least the declared length.

    :param name: the field's name
    :param length: the number of characters
    :param ranks: the highest rank
    :param last_day: the day of the highest rank, if higher ranks are later; None if they are not
    :param separators: the texts that keys have between fields, which no text contains
    :param in_key: whether the texts are part of a key
    """

    name: str
    length: int
    ranks: int
    last_day: date | None = None
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
        if self.last_day and self.length == _ISO_DATE and self.ranks <= _MOST_DAYS and _DAY.search(self.name):
            yield partial(self._as_day, self.last_day)
        if _EMAIL.search(self.name) and self.length >= len(_DOMAIN) + len(str(self.ranks)):
            yield self._as_email
        words = _WORD.findall(self.name)
        if not self.in_key:
            yield partial(_labelled, self.length, " ".join(words).capitalize(), " ")
        for separator in "-.":
            yield partial(_labelled, self.length, separator.join(words).lower(), separator)
        yield self._as_digits

    def _as_day(self, last: date, number: str) -> str:
        return (last - timedelta(days=self.ranks - int(number))).isoformat()

    def _as_email(self, number: str) -> str:
        return _labelled(self.length - len(_DOMAIN), "user", ".", number) + _DOMAIN

    def _as_digits(self, number: str) -> str:
        return number.ljust(self.length, "0")

    def _as_letters(self, number: str) -> str:
        return self._as_digits(number).translate(_LETTERS)


def _labelled(length: int, name: str, separator: str, number: str) -> str:
    """Return a name and a number, followed by words up to the length."""
    room = length - len(number)
    words = name.split(separator)
    whole = (separator.join(words[:count]) + separator for count in range(len(words), 0, -1))
    shorter = (words[0], words[0][: max(0, room - 1)] + separator if room > 1 and name else "")
    text = next(words_text for words_text in (*whole, *shorter) if len(words_text) <= max(0, room)) + number
    room = length - len(text)
    return text + (_filling(room, separator) if room >= _SHORTEST_END else "0" * room)


@lru_cache(maxsize=256)
def _filling(room: int, separator: str) -> str:
    """Return words with a separator before each, so many characters in all."""
    found = list[str]()
    words = cycle(_WORDS)
    while room > _LONGEST_END:
        found.append(next(words))
        room -= len(separator) + len(found[-1])
    found.append(_BY_LENGTH[room - len(separator)])
    return "".join(separator + word for word in found)
