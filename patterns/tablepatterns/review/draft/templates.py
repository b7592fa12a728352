"""Recognize the template of keys: literal text, and fields with the formats of `Key`.

The keys of one kind of rows are read from left to right. At each position all of them have the same literal text, or a
field in the same format, or text up to the same separator. Formats that values could have by chance are recognized only
if all values are plausible: an instant is between 1970 and 2100, and a signed number is small beside its digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from ...edm import Ticks
from ...key.formats import Escaped, Float, Format, escaped_braces, format_of
from ..design.model import FieldType

_SEPARATORS: Final = "_|~:;,=-"
_FIRST_YEAR, _LAST_YEAR = 1970, 2100
_MANY: Final = 10
_MOST_DIGITS: Final = 18
_INT32_DIGITS: Final = 9
_SMALLEST, _LARGEST = 1e-9, 1e15
_CODE: Final = re.compile(r"[!.>\[~][0-9a-f]{2}")
_DATES: Final = ("%Y-%m-%d", "%Y.%m.%d", "%Y_%m_%d", "%Y%m%d", "%Y-%m", "%Y%m")
_TIMES: Final = (
    *("T%H:%M:%S.%f", "T%H:%M:%S", "T%H:%M", "T%H", "T%H%M%S", "T%H%M"),
    *("%H%M%S", "%H%M", "%H", "-%H-%M-%S", "-%H-%M", "-%H", " %H:%M:%S", " %H:%M"),
)
_WORD: Final = re.compile("[A-Za-z]+")
_DIGIT_RUN: Final = re.compile("[0-9]+")


@dataclass(frozen=True)
class Slot:
    """A field of a template.

    :param spec: its format, empty for text and for numbers without padding
    :param texts: its text in each key
    :param type: the type of its values
    :param literal: the literal text in front of it
    :param is_guess: whether another format would fit as well
    """

    spec: str
    texts: tuple[str, ...]
    type: FieldType = "string"
    literal: str = ""
    is_guess: bool = False

    def value(self, text: str) -> object:
        """Return the value of a text in the key."""
        if not self.spec:
            return int(text) if self.type != "string" else text
        return format_of("value", self.spec).read(text)


Part: TypeAlias = str | Slot


def recognized(keys: Sequence[str]) -> list[Part]:
    """Return the parts of the template that keys were written with: literal texts and fields.

    >>> found = recognized(["id_007_2014-08-22", "id_123_2014-09-01"])
    >>> [part if isinstance(part, str) else part.spec for part in found]
    ['id_', '03d', '_', '%Y-%m-%d']

    :param keys: keys of one kind of rows, at least one
    """
    found: list[Part] = []
    rest = list(keys)
    while any(rest):
        part, rest = _next(rest)
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif isinstance(part, Slot) and found and isinstance(found[-1], str):
            found.append(replace(part, literal=found[-1]))
        else:
            found.append(part)
    return found


def _next(texts: Sequence[str]) -> tuple[Part, list[str]]:
    """Return the part that all texts begin with, and what is left of them."""
    for read in (_fixed, _constant, _literal, _number, _escaped):
        found = read(texts)
        if found is not None:
            return found
    return _text(texts)


Read: TypeAlias = tuple[Part, list[str]] | None


def _fixed(texts: Sequence[str]) -> Read:
    """Recognize a UUID, an instant, a date or a double, whose texts have a fixed width."""
    for each, width, kind in _fixed_formats():
        heads = [text[:width] for text in texts]
        if all(_ends_at(text, width) for text in texts) and _all_plausible(each, heads):
            spec = _SPECS.get(type(each), "") or getattr(each, "pattern", "")
            return Slot(spec, tuple(heads), kind), [text[width:] for text in texts]
    return None


def _ends_at(text: str, width: int) -> bool:
    """Whether text of a width is followed by something else than more of its digits."""
    return len(text) == width or (len(text) > width and not (text[width].isalnum() and text[width - 1].isalnum()))


_SPECS: Final[Mapping[type, str]] = {
    type(format_of("value", spec)): spec for spec in ("uuid", "ticks", "inverted", "float")
}


@lru_cache
def _fixed_formats() -> Sequence[tuple[Format, int, FieldType]]:
    kinds: dict[str, FieldType] = {"uuid": "guid", "ticks": "datetime", "inverted": "datetime"}
    patterns = [day + time for day, time in product(_DATES, ("", *_TIMES)) if not time or "%d" in day]
    kinds |= dict.fromkeys(sorted(patterns, key=lambda each: -_width(each)), "datetime")
    kinds["float"] = "double"
    return [(format_of("value", spec), _width(spec), kind) for spec, kind in kinds.items()]


def _width(spec: str) -> int:
    return format_of("value", spec).width or 0


def _all_plausible(form: Format, texts: Sequence[str]) -> bool:
    if isinstance(form, Float) and all(map(str.isdigit, texts)):
        return False  # A number of 16 digits
    return all(_is_plausible(form, text) for text in dict.fromkeys(texts))


def _is_plausible(form: Format, text: str) -> bool:
    try:
        value = form.read(text)
    except ValueError:
        return False
    if isinstance(value, Ticks):
        value = Ticks(int(value) // 10 * 10).datetime()
    if isinstance(value, (date, datetime)):
        return _FIRST_YEAR <= value.year <= _LAST_YEAR
    if isinstance(value, float):
        return math.isfinite(value) and (not value or _SMALLEST <= abs(value) <= _LARGEST)
    return True


def _constant(texts: Sequence[str]) -> Read:
    """Recognize text that is the same in all keys; a number only if there are many keys."""
    text = texts[0]
    is_word = len(texts) >= _MANY or not any(map(str.isdigit, text))
    return (text, [""] * len(texts)) if is_word and len(set(texts)) == 1 else None


def _literal(texts: Sequence[str]) -> Read:
    """Recognize literal text: what all have in common, up to a separator or the digits of a number."""
    common = _common(texts)
    ends = [at + 1 for at, each in enumerate(common) if each in _SEPARATORS]
    if len(texts) < _MANY:
        # Of a few keys even the numbers may be the same
        ends = [end for end in ends if not any(map(str.isdigit, common[:end]))]
    for end in ends:
        if _fixed([text[end:] for text in texts]) is not None:
            return common[:end], [text[end:] for text in texts]
    end = max(ends, default=0)
    word = _WORD.match(common, end)
    if word is not None and all(text[word.end() : word.end() + 1].isdigit() for text in texts):
        # A word in front of a number, such as `emp000123`
        end = word.end()
    return (common[:end], [text[end:] for text in texts]) if end else None


def _common(texts: Sequence[str]) -> str:
    """Return what all texts begin with."""
    first, last = min(texts), max(texts)
    same = next((at for at, (mine, other) in enumerate(zip(first, last, strict=False)) if mine != other), None)
    return first[:same] if same is not None else first[: len(last)]


def _number(texts: Sequence[str]) -> Read:
    runs = [found[0] if (found := _DIGIT_RUN.match(text)) else "" for text in texts]
    rest = [text[len(run) :] for text, run in zip(texts, runs, strict=True)]
    if not all(runs) or len({each[:1] for each in rest}) > 1 or rest[0][:1].isalpha():
        return None
    widths = {len(run) for run in runs}
    if len(widths) > 1:
        if any(run.startswith("0") and run != "0" for run in runs) or max(widths) > _MOST_DIGITS:
            return None
        return Slot("", tuple(runs), _integer(max(widths))), rest
    digits = widths.pop()
    if digits > _MOST_DIGITS + 1:
        return None
    if digits > 1 and _is_signed(runs):
        return Slot(f"+0{digits - 1}d", tuple(runs), _integer(digits - 1), is_guess=True), rest
    return Slot(f"0{digits}d", tuple(runs), _integer(digits)), rest


def _integer(digits: int) -> FieldType:
    return "int32" if digits <= _INT32_DIGITS else "int64"


def _is_signed(runs: Sequence[str]) -> bool:
    """Whether numbers have the signed format: 1 in front of those above zero, which have room, 0 and 9s below."""
    starts = {run[:2] for run in runs}
    return starts == {"09", "10"}


def _escaped(texts: Sequence[str]) -> Read:
    """Recognize text with escaped characters, which ends with a space if more of the key follows."""
    has_more = all(" " in text for text in texts)
    heads = [text.partition(" ")[0] if has_more else text for text in texts]
    form = Escaped("value")
    if not any(map(_CODE.search, heads)) and not (has_more and all(_follows_terminator(text) for text in texts)):
        return None
    if any(form.write(form.read(head)) != head for head in heads):
        return None
    return Slot("escape", tuple(heads)), [text[len(head) + 1 :] for text, head in zip(texts, heads, strict=True)]


def _follows_terminator(text: str) -> bool:
    return text.partition(" ")[2][:1] in _SEPARATORS


def _text(texts: Sequence[str]) -> tuple[Part, list[str]]:
    """Recognize text up to a separator that each key has as often, or to the end."""
    separators = sorted(_SEPARATORS, key=lambda each: _first(texts[0], each))
    for each in separators:
        counts = {text.count(each) for text in texts}
        heads = [text.partition(each)[0] for text in texts]
        if min(counts) and (len(counts) == 1 or _repeats(heads)) and all(heads):
            return Slot("", tuple(heads)), [text[len(head) :] for text, head in zip(texts, heads, strict=True)]
    return Slot("", tuple(texts)), [""] * len(texts)


def _first(text: str, separator: str) -> int:
    found = text.find(separator)
    return found if found >= 0 else len(text)


def _repeats(heads: Sequence[str]) -> bool:
    """Whether the same few texts occur again and again, as names of groups do."""
    return len(set(heads)) * 3 <= len(heads)


def template_of(parts: Sequence[Part], names: Sequence[str]) -> str:
    """Return the text of a template.

    :param names: the names of its fields, from left to right
    """
    left = iter(names)
    return "".join(_spelled(part, left) for part in parts)


def _spelled(part: Part, names: Iterator[str]) -> str:
    if isinstance(part, str):
        return escaped_braces(part)
    name = next(names)
    return f"{{{name}:{part.spec}}}" if part.spec else f"{{{name}}}"


def slots(parts: Sequence[Part]) -> list[Slot]:
    """Return the fields of a template."""
    return [part for part in parts if isinstance(part, Slot)]
