"""Format figures: one spelling for each count, size, rate, share, amount of money and time, wherever it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Final

_DAY: Final = 86_400
SECONDS_OF_A_MONTH: Final = 30.44 * _DAY
_SPANS: Final = (
    (1.0, "s", "a second"),
    (60.0, "min", "a minute"),
    (3_600.0, "h", "an hour"),
    (float(_DAY), "day", "a day"),
    (SECONDS_OF_A_MONTH, "month", "a month"),
)
# From where a number rounds to a whole unit, so that none is spelled "1,000 million"
_LARGE: Final = ((999.95e9, 1e12, "trillion"), (999.95e6, 1e9, "billion"), (999_999.5, 1e6, "million"))
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_MANY_TIMES: Final = 10


def count(value: int) -> str:
    """Return an exact count, such as of requests that were recorded: `1,234,567`."""
    return f"{value:,}"


def number(value: float) -> str:
    """Return an estimate or an average, with no more digits than are useful: `2.4`, `1,234`, `51.8 million`."""
    if isinf(value):
        return "∞"
    for least, unit, word in _LARGE:
        if abs(value) >= least:
            return f"{_one_decimal(value / unit)} {word}"
    if value and abs(value) < 1:
        return f"{value:.2g}" if abs(value) >= 0.0001 else "under 0.0001"
    return f"{value:,.0f}" if abs(value) >= 100 else _one_decimal(value)


def _one_decimal(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def plural(value: float, word: str) -> str:
    """Return a number of things: `1 note`, `1,200 partitions`."""
    return _things(number(value), word)


def counted(value: int, word: str) -> str:
    """Return an exact number of things: `1 query`, `1,234,567 transactions`."""
    return _things(count(value), word)


def _things(spelled: str, word: str) -> str:
    if spelled == "1":
        return f"1 {word}"
    ends_in_ies = word.endswith("y") and word[-2:-1] not in "aeiou"
    return f"{spelled} {word[:-1] + 'ies' if ends_in_ies else word + 's'}"


def size(value: float) -> str:
    """Return a number of bytes, in binary units: `400 B`, `1.9 MiB`."""
    remaining, units = float(value), iter(_UNITS)
    unit = next(units)
    while round(remaining, 1) >= 1024 and unit != _UNITS[-1]:
        remaining, unit = remaining / 1024, next(units)
    return f"{number(remaining) if unit == _UNITS[0] else _one_decimal(remaining)} {unit}"


def amount(value: float, limit: str) -> str:
    """Return how much of a limit is used: bytes as a size, everything else as a number."""
    return size(value) if limit.startswith("bytes") else number(value)


def rate(value: float) -> str:
    """Return how often something happens, in the shortest span in which it happens at least once: `30/min`."""
    if value <= 0:
        return "never"
    spelled, unit, _ = _per_span(value)
    return f"{spelled}/{unit}"


def often(value: float) -> str:
    """Return the same figure as `rate`, as a phrase in a sentence: `30 times a minute`."""
    if value <= 0:
        return "never"
    spelled, _, span = _per_span(value)
    return f"once {span}" if spelled == "1" else f"{spelled} times {span}"


def _per_span(value: float) -> tuple[str, str, str]:
    seconds, unit, span = next((entry for entry in _SPANS if value * entry[0] >= 0.9995), _SPANS[-1])
    times = value * seconds
    return number(round(times, 3) if times >= 0.9995 else times), unit, span


def share(value: float) -> str:
    """Return a part of a whole, or of a target that may be exceeded: `2.3%`, `314%`, `1,200 times`."""
    if value >= _MANY_TIMES:
        return f"{number(value)} times"
    if 0 < value < 0.001:
        return "under 0.1%"
    if value < 0.0995 or 0.995 <= value < 1:
        # 99.99% is not yet all of it
        return f"{_one_decimal(min(value * 100, 99.9))}%"
    return f"{value * 100:.0f}%"


def short_share(value: float) -> str:
    """Return a share where there is little room: `<0.1%`."""
    return share(value).replace("under ", "<")


def of_target(value: float) -> str:
    """Return a share of a target in words: `50% of its target`."""
    return f"{share(value)} {'' if value >= _MANY_TIMES else 'of '}its target"


def money(value: float, currency: str) -> str:
    """Return an amount of money with its currency: `1.50 USD`."""
    return f"{sum_of_money(value)} {currency}"


def sum_of_money(value: float) -> str:
    """Return an amount of money whose currency is named elsewhere, as in a column's heading."""
    if not value:
        return "0"
    if value < 0.01:
        return "under 0.01"
    return f"{value:.2f}" if value < 1_000 else number(round(value))


def time_of_day(seconds: float) -> str:
    """Return an instant of the simulated day: `10:13`."""
    minutes = int(seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def years_from_now(years: float) -> str:
    """Return when something is reached: `in 5 weeks`."""
    if years <= 0:
        return "now"
    if years < 1 / 6:
        return f"in {plural(max(round(years * 52), 1), 'week')}"
    return f"in {plural(round(years * 12), 'month') if years < 2 else plural(years, 'year')}"


def duration(seconds: float) -> str:
    """Return how long something took: `23.4 ms`."""
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Return names as a list in a sentence, shortened to the first `most` names: `Email and 2 more`."""
    shown_names = [*names[:most], f"{number(len(names) - most)} more"] if len(names) > most else list(names)
    *before, last = shown_names
    return f"{', '.join(before)} and {last}" if before else last
