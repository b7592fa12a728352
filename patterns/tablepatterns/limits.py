"""Every limit of the services, named once, with its source.

The names are the field's own. Where Microsoft's documents disagree, the comment says which reading is used here.
Units are in the name or the comment; sizes are binary (1 KiB = 1024 bytes) unless stated.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
TB: Final = 1000**4

# -- Account and table (Understanding the Table service data model)

ACCOUNT_CAPACITY_BYTES: Final = 500 * TB
TABLE_NAME_MIN_LENGTH: Final = 3
TABLE_NAME_MAX_LENGTH: Final = 63
TABLE_NAME_PATTERN: Final = r"[A-Za-z][A-Za-z0-9]{2,62}"
RESERVED_TABLE_NAMES: Final = frozenset({"tables"})
"""Compared in lower case."""

# -- Entity

MAX_PROPERTIES: Final = 255
"""All properties, the three system ones included."""
SYSTEM_PROPERTIES: Final = ("PartitionKey", "RowKey", "Timestamp")
MAX_CUSTOM_PROPERTIES: Final = MAX_PROPERTIES - len(SYSTEM_PROPERTIES)
MAX_PROPERTY_NAME_LENGTH: Final = 255
PROPERTY_NAME_PATTERN: Final = (
    "[A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u2c00-\u2fef\u3001-\ud7ff]"
    "[A-Z_a-z0-9\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u037f-\u1fff\u203f\u2040\u2c00-\u2fef\u3001-\ud7ff]*"
)
"""Where an XML name and an identifier agree; names travel in both."""
MAX_ENTITY_BYTES: Final = 1 * MIB
MAX_BINARY_BYTES: Final = 64 * KIB
MAX_STRING_BYTES: Final = 64 * KIB
"""Strings are kept as UTF-16: 32,768 code units; a character outside the BMP counts as two."""
MAX_STRING_UNITS: Final = MAX_STRING_BYTES // 2

# -- Keys

MAX_KEY_UNITS: Final = 512
"""UTF-16 code units: the documents say 1 KiB, 1 KB and 1024 characters; 512 units satisfy every one of them."""
MAX_KEY_UNITS_LOOSE: Final = 1024
"""The most generous reading of the documentation; no key may be longer."""
FORBIDDEN_IN_KEYS: Final = r"[/\\#?\u0000-\u001f\u007f-\u009f]"
"""A character class: what neither PartitionKey nor RowKey may contain."""

# -- Values

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
DATETIME_MIN: Final = datetime(1601, 1, 1, tzinfo=timezone.utc)

# -- Requests

MAX_TRANSACTION_OPERATIONS: Final = 100
MAX_TRANSACTION_BYTES: Final = 4_000_000
"""The guide says "less than 4 MB" and the service rejects more than 4 MiB; the stricter reading is checked."""
MAX_REQUEST_BYTES: Final = 4 * MIB
"""The service rejects more with 413 RequestBodyTooLarge."""
MAX_PAGE_ENTITIES: Final = 1000
MAX_QUERY_TIME: Final = timedelta(seconds=5)
MAX_FILTER_COMPARISONS: Final = 15
MAX_ACCESS_POLICIES: Final = 5
MAX_CORS_RULES: Final = 5
MAX_CORS_NAMES: Final = 64
MAX_CORS_PREFIXES: Final = 2
MAX_CORS_NAME_LENGTH: Final = 256
MAX_RETENTION_DAYS: Final = 365

# -- Queues (Naming queues and metadata; Put Message; Get Messages; List Queues)

QUEUE_NAME_MIN_LENGTH: Final = 3
QUEUE_NAME_MAX_LENGTH: Final = 63
MAX_MESSAGE_BYTES: Final = 64 * KIB
"""Of the UTF-8 text as sent: Base64 encoding counts, XML escapes do not."""
MAX_MESSAGES_PER_GET: Final = 32
MAX_VISIBILITY_TIMEOUT: Final = timedelta(days=7)
DEFAULT_VISIBILITY_TIMEOUT: Final = timedelta(seconds=30)
DEFAULT_TIME_TO_LIVE: Final = timedelta(days=7)
MAX_PAGE_QUEUES: Final = 5000

# -- Metadata of queues, containers and blobs

MAX_METADATA_BYTES: Final = 8 * KIB
"""Of all names and values together."""

# -- Blobs (Naming and referencing containers, blobs, and metadata; Put Blob; Put Block; Append Block; Lease Blob)

BLOB_NAME_MAX_LENGTH: Final = 1024
MAX_BLOCKS: Final = 50_000
"""Committed blocks of a block blob, and blocks of an append blob."""
MAX_UNCOMMITTED_BLOCKS: Final = 100_000
MAX_BLOCK_ID_BYTES: Final = 64
"""Before the encoding in Base64."""
UNCOMMITTED_BLOCKS_KEPT: Final = timedelta(days=7)
MAX_PUT_BLOB_BYTES: Final = 5000 * MIB
MAX_BLOCK_BYTES: Final = 4000 * MIB
MAX_APPEND_BYTES: Final = 100 * MIB
MAX_RANGE_WITH_MD5: Final = 4 * MIB
MAX_PAGE_BLOBS: Final = 5000
LEASE_MIN_DURATION: Final = 15
LEASE_MAX_DURATION: Final = 60
MAX_BREAK_PERIOD: Final = 60
"""All three in seconds."""
MAX_TAGS: Final = 10
MAX_TAG_NAME_LENGTH: Final = 128
MAX_TAG_VALUE_LENGTH: Final = 256

# -- Scalability targets (Scalability and performance targets for Table storage, and for Queue Storage)

ACCOUNT_TRANSACTIONS_PER_SECOND: Final = 20_000
PARTITION_ENTITIES_PER_SECOND: Final = 2_000
"""Both for entities of 1 KiB."""
QUEUE_MESSAGES_PER_SECOND: Final = 2_000
"""For messages of 1 KiB."""
