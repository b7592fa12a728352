"""Wording: figures as people read them. The same figure has the same words in every form of the report."""

from __future__ import annotations

import unicodedata
from math import isinf
from typing import Final

_DAY: Final = 86_400
_MONTH_DAYS: Final = 30.44
SECONDS_OF_A_MONTH: Final = _MONTH_DAYS * _DAY
_RATES: Final = ((1.0, "s"), (60.0, "min"), (3_600.0, "h"), (float(_DAY), "day"))
_LARGE: Final = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_SIZES: Final = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_MANY_TIMES: Final = 10
_BYTES: Final = "bytes"
_CONTROLS: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def plain(text: str) -> str:
    r"""Return a text from a design on one line, without what would command a terminal or reorder what is around it.

    >>> plain("Log\x1b[31m\nby hour")
    'Log\ufffd[31m by hour'
    """
    seen = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(each) in _CONTROLS else each for each in seen)


def shortened(text: str, most: int) -> str:
    """Return a text of no more characters than that, the middle left out where it is longer.

    >>> shortened("2014-08-22T18:05", 9)
    '2014…8:05'
    """
    text = plain(text)
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[head + 1 - most :]}"


def number(value: float) -> str:
    """Return a count or an average of counts.

    >>> from math import inf
    >>> [number(each) for each in (0, 3.0, 2.44, 0.15, 0.012, 1234.5, 20_000, 51_840_000, inf)]
    ['0', '3', '2.4', '0.15', '0.012', '1,234', '20,000', '51.8 million', '∞']
    """
    if isinf(value):
        return "∞"
    for least, word in _LARGE:
        if abs(value) >= least:
            return f"{value / least:,.1f}".removesuffix(".0") + f" {word}"
    if value and abs(value) < 1:
        return f"{value:.2g}" if abs(value) >= 0.0001 else "under 0.0001"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}".removesuffix(".0")


def rate(value: float) -> str:
    """Return how often something happens, in the unit in which it is no less than 1.

    >>> [rate(each) for each in (200, 0.5, 0.0005, 0)]
    ['200/s', '30/min', '1.8/h', 'never']
    """
    if value <= 0:
        return "never"
    for seconds, unit in _RATES:
        if value * seconds >= 0.9995:
            return f"{number(value * seconds)}/{unit}"
    return f"{number(value * SECONDS_OF_A_MONTH)}/month"


def share(value: float) -> str:
    """Return a part of a whole, or of a target that may be passed.

    >>> [share(each) for each in (0, 0.0004, 0.023, 0.616, 0.9999, 1.0, 3.14, 1200.0)]
    ['0%', 'under 0.1%', '2.3%', '62%', '99.9%', '100%', '314%', '1,200 times']
    """
    if value >= _MANY_TIMES:
        return f"{number(value)} times"
    if 0 < value < 0.001:
        return "under 0.1%"
    if value < 0.0995 or 0.995 <= value < 1:
        # 99.99% is not yet all of it
        return f"{min(value * 100, 99.9):.1f}".removesuffix(".0") + "%"
    return f"{value * 100:.0f}%"


def briefly(value: float) -> str:
    """Return a share where there is little room.

    >>> briefly(0.0004), briefly(0.023)
    ('<0.1%', '2.3%')
    """
    return share(value).replace("under ", "<")


def of_target(value: float) -> str:
    """Return a share of a target in words.

    >>> of_target(0.5), of_target(12)
    ('50% of its target', '12 times its target')
    """
    return f"{share(value)} {'' if value >= _MANY_TIMES else 'of '}its target"


def money(amount: float, currency: str) -> str:
    """Return an amount of money with its currency.

    >>> money(1.5, "USD")
    '1.50 USD'
    """
    return f"{sum_of_money(amount)} {plain(currency)}"


def sum_of_money(amount: float) -> str:
    """Return an amount of money, where the currency is told elsewhere.

    >>> [sum_of_money(each) for each in (0, 0.004, 1.5, 1234.56, 2_500_000)]
    ['0', 'under 0.01', '1.50', '1,235', '2.5 million']
    """
    if not amount:
        return "0"
    if amount < 0.01:
        return "under 0.01"
    return f"{amount:.2f}" if amount < 1_000 else number(round(amount))


def clock(seconds: float) -> str:
    """Return an instant of the simulated day.

    >>> clock(36_780)
    '10:13'
    """
    minutes = int(seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def amount(value: float, unit: str) -> str:
    """Return so much of something that is limited: bytes in their larger units, everything else as a number.

    >>> amount(65_536, "bytes of a string"), amount(252, "properties of an entity")
    ('64 KiB', '252')
    """
    if not unit.startswith(_BYTES):
        return number(value)
    for least, word in _SIZES:
        if value >= least:
            return f"{value / least:,.1f}".removesuffix(".0") + f" {word}"
    return f"{number(value)} B"


def years(value: float | None, horizon: float) -> str:
    """Return when a limit is reached.

    >>> years(None, 3), years(0.0, 3), years(0.1, 3), years(2.25, 3)
    ('not within 3 years', 'now', 'in 5 weeks', 'in 2.2 years')
    """
    if value is None:
        return f"not within {number(horizon)} {'year' if horizon == 1 else 'years'}"
    if value <= 0:
        return "now"
    if value < 0.9:
        return f"in {plural(max(round(value * 52), 1), 'week')}"
    return f"in {number(value)} {'year' if number(value) == '1' else 'years'}"


def plural(count: int, word: str) -> str:
    """Return so many of something.

    >>> plural(1, "note"), plural(2, "query"), plural(1_200, "partition")
    ('1 note', '2 queries', '1,200 partitions')
    """
    if count == 1:
        return f"1 {word}"
    return f"{number(count)} {word[:-1] + 'ies' if word.endswith('y') else word + 's'}"
