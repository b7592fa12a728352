"""Text in keys: plain, or escaped.

The escape keeps the order. A character that a key may not hold is spelled as a leader and two hexadecimal digits, and
so are the leaders. A leader is the nearest allowed character below; under the control characters there is none, so
they share `!` with the space and all up to `#`.

Why the order is kept: every UTF-16 unit has one code, which is the unit itself or begins with its leader. The codes
sort as their units do, and no code begins another. At the first unit where two texts differ, their codes differ the
same way, and a text that begins another still does so when both are escaped.

No escaped text contains a space. So a space ends it wherever more follows, and sorts before all that could continue it.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

from ..limits import FORBIDDEN_IN_KEYS
from .format import Format
from .language import KEY_TEXT, Characters

FORBIDDEN: Final = re.compile(FORBIDDEN_IN_KEYS)
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_RUNS: Final = {
    "!": range(0x24),
    ".": range(0x2E, 0x30),
    ">": range(0x3E, 0x40),
    "[": range(0x5B, 0x5D),
    "~": range(0x7E, 0xA0),
}
_CODES: Final = {unit: f"{leader}{unit:02x}" for leader, run in _RUNS.items() for unit in run}
_ESCAPED: Final = KEY_TEXT.without(chr(unit) for unit in _CODES if chr(unit) not in _RUNS)
"""What an escaped text may hold: a character that has a code occurs only where it leads one."""
_CODE: Final = re.compile(r"[!.>\[~]([0-9a-f]{2})")


class Text(Format):
    """Plain text, kept as it is."""

    @property
    def characters(self) -> Characters:
        return KEY_TEXT

    def write(self, value: object) -> str:
        text = _checked(self, value)
        found = FORBIDDEN.search(text)
        if found:
            way_out = f"use the format {{{self.name}:escape}} or another value"
            raise self.refusal(value, f"a key may not contain {found[0]!r}", way_out)
        return text

    def read(self, text: str) -> str:
        return text


class Escaped(Format):
    """Any text, with what a key may not hold spelled out.

    >>> Escaped("Path").write("docs/a#1")
    'docs.2fa!231'
    """

    terminator: ClassVar[str] = " "

    @property
    def characters(self) -> Characters:
        return _ESCAPED

    def write(self, value: object) -> str:
        return _checked(self, value).translate(_CODES)

    def read(self, text: str) -> str:
        return _CODE.sub(lambda code: chr(int(code[1], 16)), text)


def _checked(field: Format, value: object) -> str:
    if not isinstance(value, str):
        raise field.refusal(value, f"text must be a str, not {type(value).__name__}", "convert it, or name its format")
    if _LONE_SURROGATE.search(value):
        raise field.refusal(value, "half of a surrogate pair is no character", "use valid Unicode text")
    return value
