"""The requests of a run on a live account by price category, and their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

US_DOLLARS_PER_10_000: Final = {"table": 0.00036, "queue": 0.004, "blob reads": 0.004, "blob writes": 0.05}
"""The prices in some regions with the cheapest redundancy; others charge up to three times as much.

Deletes of blobs count as reads here, although they are free.
"""
EXPECTED: Final = Counter({"table": 53_000, "queue": 7_200, "blob reads": 7_000, "blob writes": 8_700})
"""The number of requests of a whole run, as counted on the in-memory engine."""


def charged_as(call: Any) -> str:
    """Return the price category of a request, as the SDK passes it to a hook.

    >>> from types import SimpleNamespace as Call
    >>> request = Call(method="GET", url="https://contoso.blob.core.windows.net/?comp=list")
    >>> charged_as(Call(http_request=request))
    'blob writes'
    """
    request = call.http_request
    address = urlsplit(request.url)
    service = address.netloc.split(".")[1] if ".core." in address.netloc else "table"
    if service != "blob":
        return service
    # Listing and creating a container cost as much as a write
    writes = request.method in ("PUT", "POST") or "comp=list" in address.query
    return "blob writes" if writes else "blob reads"


def bill(sent: Mapping[str, int]) -> str:
    """Return the cost of these requests as text.

    >>> bill({"table": 10_000, "blob writes": 1_000})
    '11,000 requests (10,000 table, 1,000 blob writes): some 0.5 US cents'
    """
    cents = sum(count * US_DOLLARS_PER_10_000[name] / 100 for name, count in sent.items())
    parts = ", ".join(f"{count:,} {name}" for name, count in sent.items())
    return f"{sum(sent.values()):,} requests ({parts}): some {cents:.1f} US cents"
