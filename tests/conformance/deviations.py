"""Differences between Azurite and the service: one mark for each, for the tests that it affects.

The numbers are those of issues at https://github.com/Azure/Azurite/issues.
"""

from __future__ import annotations

import pytest

_deviates = pytest.mark.azurite_deviates

TABLE_NAMES = _deviates("table names", "a rejected name has an empty code, and the same message for every reason")
TABLE_ENTRY = _deviates("one table of the list", "returns an empty list, whether or not the table exists")
HEADERS = _deviates(
    "headers", "omits Location, DataServiceId and Cache-Control; sends Preference-Applied without a Prefer header"
)
CRASHES = _deviates("500", "returns an internal error where the service rejects the request")
KEY_CHARACTERS = _deviates(
    "keys", "InvalidInput with one message, for forbidden characters and for more than 512 characters"
)
KEY_TYPES = _deviates("types of keys", "keys that are not strings give 500, or are stored")
PROPERTY_NAMES = _deviates("names of properties", "any name is stored; of duplicate names, the last is stored")
ENTITY_LIMITS = _deviates(
    "size of entities", "any number of properties is stored; the size of the request is checked, and not for inserts"
)
TYPES = _deviates("types", "a typed property is stored and returned unchanged, whatever its text")
DATETIMES = _deviates("DateTime", "the text is stored unchanged, whatever the time and the number of digits")
BOOLEANS = _deviates("Boolean", "only a lower-case string is read as a Boolean (issue 1947)")
NULLS = _deviates("null", "InvalidInput if a null has a type annotation")
TUNNELLED_PUT = _deviates("X-HTTP-Method", "ignores PUT in this header: the request becomes an insert")
ETAGS = _deviates("conditions", "ignores If-None-Match; a malformed If-Match of a merge has another code and message")
ACCEPT = _deviates("Accept", "415 if the client accepts any type")
ENTITY_SET_URL = _deviates(
    "odata.metadata", "describes a page of entities as one of tables, and never names the selected properties"
)
MEMBER_ORDER = _deviates("order of members", "the timestamp is last, and links and properties are in another order")
ERROR_STAMP = _deviates("time of an error", "the time has milliseconds; the code is also in a header")
XML_ERRORS = _deviates("errors in XML", "another document, without a namespace; 415 if the client accepts any type")
FILTER_TYPES = _deviates(
    "types in filters", "compares like JavaScript: across types, dates by the millisecond, GUIDs case-sensitively"
)
FILTER_GRAMMAR = _deviates(
    "grammar of filters", "accepts operators in any case, unknown words, and any number of comparisons (issue 2512)"
)
FILTER_TEXTS = _deviates("syntax errors", "one message for all errors")
NULL_LITERAL = _deviates("null in filters", "compares with null (issue 2471)")
TOKENS = _deviates("tokens", "tokens are keys in Base64; accepts one token of the two, and any text")
NO_ENTITIES = _deviates("$top=0", "returns an empty page with a token, which returns the same page")
PAGE_SIZES = _deviates("$top", "no error code if the size is not a number; accepts any size")
SELECT_MISSING = _deviates("$select", "omits a selected property that the entity lacks (issue 2535)")
SELECT_STAR = _deviates("$select=*", "selects nothing")
OPTIONS = _deviates("OData options", "ignores options that the service does not support")
BATCH_SINGLE = _deviates("single operation in a batch", "a failure has the index 0")
BATCH_TEXTS = _deviates("texts of batches", "other messages for an entity that appears twice and for forbidden keys")
BATCH_PARTITIONS = _deviates("partitions of a batch", "carries out operations in other partitions and other tables")
BATCH_TOO_MANY = _deviates("101 operations", "closes the connection")
BATCH_EMPTY = _deviates("empty transaction", "500")
BATCH_ECHO = _deviates("echo in a batch", "returns neither the body of an insert nor the Content-ID")
BATCH_HEADERS = _deviates("headers in a batch", "the same version of the protocol in every part, and no preference")
BATCH_QUERY = _deviates("query in a batch", "no blank line before the body of an entity; 501 for any other query")
TUNNELLED_IN_BATCH = _deviates("X-HTTP-Method in a batch", "ignores the header: the request becomes an insert")
BATCH_SECOND = _deviates("second part of a batch", "missing in the response")
BATCH_URLS = _deviates("URLs in a batch", "500 for a relative URL")
POLICIES = _deviates(
    "access policies", "400 without a code for an empty or partial policy, and for a body that is not XML"
)
POLICY_NAMES = _deviates("names of access policies", "accepts names of any length")
CORS = _deviates("rules of CORS", "400 for a rule without headers; accepts any number of rules")
RETENTION = _deviates("retention", "accepts any period; 500 or no code for a body that is not a list of properties")
TABLE_IN_URL = _deviates("account URL with a table", "415, 404 or 500")
SECONDARY = _deviates("secondary endpoint", "accepts writes, and rejects requests for statistics")
SAS_RANGES = _deviates("key ranges of a signature", "does not check the range")
SAS_ADDRESSES = _deviates("addresses of a signature", "does not check the address")
SAS_BATCH = _deviates("transaction with a signature", "403")
SAS_ERRORS = _deviates("errors of a signature", "AuthorizationFailure with one message, or none")
SIGNATURE_ERRORS = _deviates(
    "errors of the key", "AuthorizationFailure with one message, whether or not the request is signed"
)
SAS_UPSERTS = _deviates(
    "permissions of a signature",
    "an upsert needs only one of the two permissions; a query needs permission for the table",
)
SAS_DELETES_TABLE = _deviates("table with a signature", "deletes the table")
VERSION = _deviates("x-ms-version", "always returns its own newest version")
QUEUE_METADATA = _deviates("metadata of queues", "accepts any name and any size")
QUEUE_PAGES = _deviates(
    "pages of queues", "accepts any size and any marker; no code for a size of zero or one that is not a number"
)
QUEUE_CODES = _deviates(
    "errors of queues",
    "no code for zero messages, a time to live below -1, a missing option or a non-number; truncates fractions",
)
QUEUE_BODIES = _deviates(
    "bodies of messages", "no code for a body that is not XML; InvalidXmlDocument for missing text; no markup in text"
)
QUEUE_RECEIPTS = _deviates("pop receipts", "PopReceiptMismatch for a malformed pop receipt")
QUEUE_FORMATS = _deviates("documents about queues", "another XML declaration; times and markers have other formats")
SERVICE_PROPERTIES = _deviates(
    "properties of queues and blobs", "accepts any number of CORS rules and any retention period"
)
QUEUE_SAS_LEVELS = _deviates(
    "levels of a signature of queues", "updating, deleting and clearing messages need permission for the queue"
)
BLOB_METADATA = _deviates("metadata of containers and blobs", "accepts any size, and entries without a name")
BLOB_PAGES = _deviates("pages of containers and blobs", "accepts any marker; no code for a page size of zero")
BLOB_POLICIES = _deviates("access policies of containers", "no code for a sixth policy")
BLOB_CODES = _deviates("errors of blobs", "no code for missing or unknown values")
BLOB_STAGED = _deviates(
    "staged blocks",
    "a blob with only staged blocks counts as existing; writing a blob as a whole keeps its staged blocks",
)
BLOB_EMPTY_BLOCKS = _deviates("empty blocks", "stages them")
BLOB_BLOCK_LISTS = _deviates("list of blocks", "returns an ETag for a blob that is not committed")
BLOB_CONDITIONS = _deviates(
    "conditions of blobs",
    "412 if there is no blob; accepts If-None-Match: * for every write; only one ETag per header; ignored by snapshots",
)
BLOB_LEASES = _deviates(
    "leases of blobs",
    "accepts any ID, also if there is no blob; a copy overwrites a fixed-duration lease and keeps a broken one",
)
BLOB_LEASE_TEXTS = _deviates("errors of leases", "other messages")
BLOB_RANGES = _deviates(
    "ranges",
    "reads suffix ranges; hangs on malformed ranges; empty if a range starts at the end; an MD5 without a range",
)
BLOB_CHECKSUMS = _deviates(
    "checksums", "does not check an MD5 in every write, and rejects it with another message; no CRC64"
)
BLOB_PREFIXES = _deviates("prefixes in lists of blobs", "listed first, before all blobs")
BLOB_COPIES = _deviates("copies", "aborting with another ID gives CopyIdMismatch")
BLOB_COPY_CONDITIONS = _deviates("conditions of copies", "ConditionNotMet for source and target alike")
BLOB_SNAPSHOTS = _deviates("snapshots", "listed after their blob; another message if they prevent a deletion")
BLOB_FORMATS = _deviates(
    "documents about blobs", "another XML declaration; includes an empty prefix; omits some properties"
)
BLOB_SEALED_TEXT = _deviates("a write to a sealed blob", "another message")
BLOB_APPEND_CONTENT = _deviates("content of a new append blob", "InvalidOperation, with another message")
BLOB_SEALS = _deviates("seals", "seals at any append position")
BLOB_COPY_KINDS = _deviates("kinds of copies", "a copy replaces a blob of any type")
BLOB_FROM_URL = _deviates("content from elsewhere", "supported only for blocks")
BLOB_LITE = _deviates("SharedKeyLite of blobs", "not supported")
BLOB_BATCH_LINES = _deviates("lines of a batch of blobs", "may end with CR alone")
BLOB_SAS_OVERWRITES = _deviates("overwriting with a signature", "the create permission is enough")
