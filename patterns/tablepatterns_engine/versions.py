"""Versions of the services: those that a request may ask for, and the headers that came with each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Final

_VERSION: Final = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])", re.ASCII)
_LIST: Final = """
    2009-04-14 2009-07-17 2009-09-19 2011-08-18 2012-02-12 2012-09-19 2013-08-15 2014-02-14 2015-02-21
    2015-04-05 2015-07-08 2015-12-11 2016-05-31 2016-10-16 2017-04-17 2017-07-29 2017-11-09 2018-03-28
    2018-06-17 2018-11-09 2019-02-02 2019-07-07 2019-10-10 2019-12-12 2020-02-10 2020-04-08 2020-06-12
    2020-08-04 2020-10-02 2020-12-06 2021-02-12 2021-04-10 2021-06-08 2021-08-06 2021-10-04 2021-12-02
    2022-11-02 2023-01-03 2023-05-03 2023-08-03 2023-11-03 2024-02-04 2024-05-04 2024-08-04 2024-11-04
"""
_KNOWN: Final = frozenset(_LIST.split())
_LATEST: Final = max(_KNOWN)
FIRST_WITH_CRC64: Final = "2019-02-02"
"""The first version whose writes return a CRC64; earlier ones return an MD5."""
FIRST_WITH_BOTH_CHECKSUMS: Final = "2026-10-06"
"""The first version whose writes with an MD5 return a CRC64, too, and whose Get Blob returns the tier."""
_FIRST_VERSIONS: Final[Mapping[str, str]] = {
    "x-ms-error-code": "2017-07-29",
    "x-ms-delete-type-permanent": "2017-07-29",
    "x-ms-creation-time": "2017-11-09",
    "x-ms-has-immutability-policy": "2017-11-09",
    "x-ms-has-legal-hold": "2017-11-09",
    "x-ms-default-encryption-scope": "2019-02-02",
    "x-ms-deny-encryption-scope-override": "2019-02-02",
    "x-ms-immutable-storage-with-versioning-enabled": "2020-10-02",
}
LAST_WITHOUT_SOME_HEADERS: Final = "2017-07-29"


def drop_newer_headers(headers: dict[str, str], version: str) -> None:
    if version in _KNOWN:
        for name, first in _FIRST_VERSIONS.items():
            if version < first:
                headers.pop(name, None)


def is_version(text: str) -> bool:
    """Return whether a version exists; later ones than the known are accepted up to next year's, for future SDKs.

    >>> is_version("2019-02-02"), is_version("2019-02-03"), is_version("2026-10-06"), is_version("2099-11-05")
    (True, False, True, False)
    """
    is_later = _LATEST < text < f"{date.today().year + 2}"
    return text in _KNOWN or (is_later and _VERSION.fullmatch(text) is not None)
