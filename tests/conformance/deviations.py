"""Where Azurite answers otherwise than the service: one mark for each way, for the bodies that would notice.

The numbers are those of issues at https://github.com/Azure/Azurite/issues.
"""

from __future__ import annotations

import pytest

_deviates = pytest.mark.azurite_deviates

TABLE_NAMES = _deviates("table names", "a rejected name has an empty code, and one text for every reason")
TABLE_ENTRY = _deviates("one table of the list", "an empty list, whether the table exists or not")
HEADERS = _deviates("headers", "no Location, DataServiceId, Cache-Control; a Preference-Applied that nobody asked for")
CRASHES = _deviates("500", "an internal error where the service rejects")
KEY_CHARACTERS = _deviates("keys", "InvalidInput, and one text, for forbidden characters and for over 512 characters")
KEY_TYPES = _deviates("types of keys", "500 for keys that are no strings, or stored as they are")
PROPERTY_NAMES = _deviates("names of properties", "any name is stored, and of two alike the last")
ENTITY_LIMITS = _deviates(
    "size of entities", "any number of properties; the size is that of the request, and of an insert not looked at"
)
TYPES = _deviates("types", "whatever text a typed property has is stored and returned as it came")
DATETIMES = _deviates("DateTime", "the text is stored as it came, whatever the instant and the number of digits")
BOOLEANS = _deviates("Boolean", "a string is taken for a Boolean in lower case only (issue 1947)")
NULLS = _deviates("null", "InvalidInput where a null has a note of its type")
TUNNELLED_PUT = _deviates("X-HTTP-Method", "PUT in it is not seen: the request is taken for an insert")
ETAGS = _deviates("conditions", "If-None-Match is ignored; a malformed If-Match of a merge has another code and text")
ACCEPT = _deviates("Accept", "415 where the client takes anything")
ENTITY_SET_URL = _deviates(
    "odata.metadata", "a page of entities says that it is of tables, and never which were selected"
)
MEMBER_ORDER = _deviates("order of members", "the timestamp comes last, the links come in another order")
ERROR_STAMP = _deviates("time of an error", "in milliseconds; the code is in a header too")
XML_ERRORS = _deviates("errors in XML", "another document, without a namespace; 415 where the client takes anything")
FILTER_TYPES = _deviates(
    "types in filters", "compares as JavaScript does: across types, at milliseconds, Guids by case"
)
FILTER_GRAMMAR = _deviates(
    "grammar of filters", "takes any case of operators, unknown words, and any number of comparisons (issue 2512)"
)
FILTER_TEXTS = _deviates("syntax errors", "one text for all")
NULL_LITERAL = _deviates("null in filters", "compares with null (issue 2471)")
TOKENS = _deviates("tokens", "keys in Base64, of which half will do, and so will any text")
NO_ENTITIES = _deviates("$top=0", "an empty page with a token, which leads back to it")
PAGE_SIZES = _deviates("$top", "no code for a size that is no number; any size is taken")
SELECT_MISSING = _deviates("$select", "a selected property that the entity lacks is left out (issue 2535)")
SELECT_STAR = _deviates("$select=*", "nothing is selected")
OPTIONS = _deviates("OData options", "options that the service lacks are ignored")
BATCH_SINGLE = _deviates("single operation in a batch", "its failure has the index 0")
BATCH_TEXTS = _deviates("texts of batches", "other texts for an entity that appears twice and for forbidden keys")
BATCH_PARTITIONS = _deviates("partitions of a batch", "operations in other partitions and other tables are carried out")
BATCH_TOO_MANY = _deviates("101 operations", "the connection breaks")
BATCH_EMPTY = _deviates("empty transaction", "500")
BATCH_ECHO = _deviates("echo in a batch", "no body of an insert, and no Content-ID")
BATCH_QUERY = _deviates("query in a batch", "no blank line before the body of an entity; 501 for any other query")
TUNNELLED_IN_BATCH = _deviates("X-HTTP-Method in a batch", "not seen: the request is taken for an insert")
BATCH_SECOND = _deviates("second part of a batch", "left out of the answer")
BATCH_URLS = _deviates("URLs in a batch", "500 for one that is relative")
POLICIES = _deviates("access policies", "400 without a code for one that is empty or partial, and for no XML")
POLICY_NAMES = _deviates("names of access policies", "of any length")
CORS = _deviates("rules of CORS", "400 for one without headers; any number of them")
RETENTION = _deviates("retention", "of any time; no code, or 500, for what is no list of properties")
TABLE_IN_URL = _deviates("account URL with a table", "415, 404 or 500")
SECONDARY = _deviates("secondary endpoint", "takes writes, and rejects to give statistics")
SAS_RANGES = _deviates("key ranges of a signature", "not looked at")
SAS_ADDRESSES = _deviates("addresses of a signature", "not looked at")
SAS_BATCH = _deviates("transaction with a signature", "403")
SAS_ERRORS = _deviates("errors of a signature", "AuthorizationFailure and one text, or none")
SIGNATURE_ERRORS = _deviates("errors of the key", "AuthorizationFailure and one text, signed or not")
SAS_UPSERTS = _deviates(
    "permissions of a signature", "one of two is enough for an upsert; a query is of the table's level"
)
SAS_DELETES_TABLE = _deviates("table with a signature", "deleted")
VERSION = _deviates("x-ms-version", "its own newest, whatever was asked for")
QUEUE_METADATA = _deviates("metadata of queues", "of any name and any size")
QUEUE_PAGES = _deviates("pages of queues", "of any size; no code for none or for no number; any text is a marker")
QUEUE_CODES = _deviates(
    "errors of queues",
    "no code for no messages, for a time to live below -1, for a missing option, for no number; fractions are cut",
)
QUEUE_BODIES = _deviates("bodies of messages", "no code for what is no XML; InvalidXmlDocument for no text; no markup")
QUEUE_RECEIPTS = _deviates("pop receipts", "PopReceiptMismatch for what is none at all")
QUEUE_FORMATS = _deviates("documents about queues", "another prologue; times and markers are written otherwise")
QUEUE_PROPERTIES = _deviates("properties of queues", "any number of rules of CORS, retention of any time")
QUEUE_SAS_LEVELS = _deviates(
    "levels of a signature of queues", "updating, deleting and clearing messages are of the queue's level"
)
BLOB_METADATA = _deviates("metadata of containers and blobs", "of any size, and of no name")
BLOB_PAGES = _deviates("pages of containers and blobs", "any text is a marker; no code for a page of nothing")
BLOB_POLICIES = _deviates("access policies of containers", "no code for six")
BLOB_CODES = _deviates("errors of blobs", "no code for what is missing or unknown")
BLOB_CONTENT_TYPES = _deviates("content of no type", "no type is told")
BLOB_STAGED = _deviates("staged blocks", "count for a blob; a blob that is written as a whole leaves them")
BLOB_EMPTY_BLOCKS = _deviates("empty blocks", "staged")
BLOB_BLOCK_LISTS = _deviates("list of blocks", "tells a version of a blob that is not committed")
BLOB_CONDITIONS = _deviates(
    "conditions of blobs",
    "412 where nothing is there; If-None-Match: * of any write; one version only; a snapshot is taken at any time",
)
BLOB_LEASES = _deviates(
    "leases of blobs", "of any ID, and where no blob is; a copy replaces what is leased for some time"
)
BLOB_LEASE_TEXTS = _deviates("errors of leases", "other texts")
BLOB_RANGES = _deviates(
    "ranges",
    "the last bytes, and what has no numbers, which hang; what begins at the end is empty; the MD5 of no range is told",
)
BLOB_CHECKSUMS = _deviates("checksums", "an MD5 is not looked at in every write, and rejected in other words; no CRC64")
BLOB_PREFIXES = _deviates("prefixes in lists of blobs", "come first, whatever lies between them")
BLOB_COPIES = _deviates("copies", "aborted under another name: CopyIdMismatch")
BLOB_COPY_CONDITIONS = _deviates("conditions of copies", "ConditionNotMet for source and target alike")
BLOB_SNAPSHOTS = _deviates("snapshots", "listed after their blob; another text where they forbid a deletion")
BLOB_FORMATS = _deviates("documents about blobs", "another prologue; a prefix that nobody asked for; less is told")
BLOB_APPEND_CONTENT = _deviates("content of a new append blob", "InvalidOperation, and another text")
BLOB_SEALS = _deviates("seals", "at any position")
BLOB_COPY_KINDS = _deviates("kinds of copies", "a copy replaces a blob of any kind")
BLOB_FROM_URL = _deviates("content from elsewhere", "taken for a block only")
BLOB_LITE = _deviates("SharedKeyLite of blobs", "not taken")
BLOB_BATCH_LINES = _deviates("lines of a batch of blobs", "may end with CR alone")
BLOB_PROPERTIES = _deviates("properties of blobs", "any number of rules of CORS, retention of any time")
BLOB_SAS_OVERWRITES = _deviates("overwriting with a signature", "the permission to create is enough")
