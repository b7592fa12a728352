"""Describe the evidence for a behavior of the service."""

from __future__ import annotations

import re

DOCS = "https://learn.microsoft.com/rest/api/storageservices/"
AZURITE = "https://github.com/Azure/Azurite/issues/"

READ = frozenset(
    {
        "blob-service-error-codes",
        "common-rest-api-error-codes",
        "create-queue4",
        "create-service-sas",
        "delete-container",
        "delete-entity1",
        "delete-queue3",
        "delete-table",
        "get-messages",
        "insert-entity",
        "lease-blob",
        "payload-format-for-table-service-operations",
        "performing-entity-group-transactions",
        "put-message",
        "query-timeout-and-pagination",
        "querying-tables-and-entities",
        "queue-service-error-codes",
        "specifying-conditional-headers-for-blob-service-operations",
        "table-service-error-codes",
        "understanding-the-table-service-data-model",
        "update-message",
    }
)
"""Microsoft's pages that were read for this list; other linked pages were not."""

WORDS = {
    "recorded": "recorded",
    "sdk tests": "SDK's tests",
    "sdk source": "SDK's source",
    "stub": "CloudStub",
    "azurite source": "Azurite's source",
    "measured": "measured on Azurite",
    "common": "common knowledge",
    "inferred": "inferred",
}


def in_words(evidence: str) -> str:
    """Return evidence as text for the table.

    >>> in_words("docs:lease-blob")
    'documented https://learn.microsoft.com/rest/api/storageservices/lease-blob'
    >>> in_words("recorded:2017 and 2020")
    'recorded (2017 and 2020)'
    >>> in_words("azurite#1947")
    'an issue https://github.com/Azure/Azurite/issues/1947'

    :raises ValueError: the page does not explain this kind of evidence
    """
    if evidence in WORDS:
        return WORDS[evidence]
    if evidence.startswith("recorded:"):
        return f"recorded ({evidence.removeprefix('recorded:')})"
    if evidence.startswith("docs:"):
        slug = evidence.removeprefix("docs:")
        return f"{'documented' if slug in READ else 'documented?'} {DOCS}{slug}"
    if found := re.fullmatch(r"azurite#(\d+)", evidence):
        return f"an issue {AZURITE}{found[1]}"
    if found := re.fullmatch(r"([\w.-]+/[\w.-]+)#(\d+)", evidence):
        return f"an issue https://github.com/{found[1]}/issues/{found[2]}"
    raise ValueError(f"evidence of no known kind: {evidence!r}")
