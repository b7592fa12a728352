"""Numbers in keys: padded, so that they sort as numbers do."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..edm import Ticks
from ..errors import BadKey
from .format import Format
from .language import DIGIT, HEX, Characters, one_of

_SIGN: Final = 2**63


def pad(number: int, width: int) -> str:
    """Return the number padded with zeros, so that keys sort as their numbers do.

    A negative number and one that is too wide are refused.

    >>> pad(123, 8)
    '00000123'

    :param number: the number, 0 or more
    :param width: the digits of the result
    :raises BadKey: where the number is negative or needs more digits

    Guide: sorting and padding.
    """
    return Padded("number", width).write(number)


def unpad(text: str) -> int:
    """Return the number of a padded text; anything but the digits 0 to 9 is refused.

    >>> unpad("00000123")
    123

    :param text: what `pad` returned
    :raises BadKey: where the text is not made of digits

    Guide: sorting and padding.
    """
    try:
        return _digits(text)
    except ValueError:
        raise BadKey("text", text, "a padded number is made of digits", "pass what pad() returned") from None


@dataclass(frozen=True)
class Padded(Format):
    """An integer of 0 or more, in a fixed number of digits."""

    digits: int

    @cached_property
    def characters(self) -> Sequence[Characters]:
        return [DIGIT] * self.digits

    def write(self, value: object) -> str:
        number = _integer(self, value)
        if number < 0:
            way_out = f"use the signed format {{{self.name}:+0{self.digits}d}}"
            raise self.refusal(value, "a padded number is not negative", way_out)
        if number >= _beyond(self.digits):
            raise self.refusal(value, f"it does not fit in {self.digits} digits", "use a wider format")
        return f"{number:0{self.digits}d}"

    def read(self, text: str) -> int:
        return _digits(text)


@dataclass(frozen=True)
class Signed(Format):
    """A signed integer: the digit 1 and its digits; below zero the digit 0 and their complement.

    >>> Signed("Balance", 6).write(123), Signed("Balance", 6).write(-1)
    ('1000123', '0999999')
    """

    digits: int

    @cached_property
    def characters(self) -> Sequence[Characters]:
        return [one_of("01"), *[DIGIT] * self.digits]

    def write(self, value: object) -> str:
        number = _integer(self, value)
        if abs(number) >= _beyond(self.digits):
            raise self.refusal(value, f"it does not fit in {self.digits} digits", "use a wider format")
        return f"{number + _beyond(self.digits):0{self.width}d}"

    def read(self, text: str) -> int:
        return _digits(text) - _beyond(self.digits)


class Float(Format):
    """A double: its bits as 16 hexadecimal digits, flipped so that they sort as the numbers do.

    >>> Float("Price").write(1.5)
    'bff8000000000000'
    """

    @cached_property
    def characters(self) -> Sequence[Characters]:
        return [HEX] * 16

    def write(self, value: object) -> str:
        if not isinstance(value, float):
            raise self.refusal(value, f"it must be a float, not {type(value).__name__}", "convert it")
        if math.isnan(value):
            raise self.refusal(value, "NaN has no place in any order", "use another value")
        # equal numbers must be one key: adding 0.0 makes 0.0 of -0.0
        (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))
        return f"{bits ^ _flips(negative=bits >= _SIGN):016x}"

    def read(self, text: str) -> float:
        if not re.fullmatch("[0-9a-f]{16}", text):
            raise ValueError(f"{text!r} is not 16 hexadecimal digits")
        bits = int(text, 16)
        (value,) = struct.unpack(">d", struct.pack(">Q", bits ^ _flips(negative=bits < _SIGN)))
        return float(value)


def _flips(*, negative: bool) -> int:
    """Every bit of a negative number turns, since the larger one is further from zero; else the sign alone."""
    return 2 * _SIGN - 1 if negative else _SIGN


def _integer(field: Format, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, (bool, Ticks)):
        raise field.refusal(value, f"it must be an int, not {type(value).__name__}", "convert it, or name its format")
    return int(value)


def _beyond(digits: int) -> int:
    """Return the first number that needs more digits."""
    return int(10**digits)


def _digits(text: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{text!r} is not made of digits")
    return int(text)
