"""The grammar of the options of all operations: values that are valid, and values that must be rejected.

The lists are those of the REST reference. An option is a header, or a query parameter after a question mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from support.blob_requests import BASE, LEASE


class Grammar(NamedTuple):
    """Valid values of an option, and those that are rejected: malformed ones, and those out of range."""

    valid: tuple[str, ...]
    malformed: tuple[str, ...]
    code: str = "InvalidHeaderValue"
    status: int = 400
    out_of_range: tuple[str, ...] = ()


_PARAMETER: Final = "InvalidQueryParameterValue"
_TOO_LONG: Final = ("2147483648", "-2147483649", "9" * 19)
"""Numbers of more than 32 bits."""
_NO_WORDS: Final = ("x", "metadata,x", "Metadata", ",", "metadata,", "metadata, metadata")
_DATE: Final = "Mon, 01 Jan 2001 00:00:00 GMT"
_MD5: Final = "AAAAAAAAAAAAAAAAAAAAAA=="
_CRC64: Final = "AAAAAAAAAAA="

ETAG: Final = Grammar(
    ('"0x1"', "0x1", 'W/"0x1"', "*"), ('"0x1', '0x1"', "a b", '"a"b"', "", '"0x1",', "*,*", '*, "0x1"', '"0x1"\n')
)
DATE: Final = Grammar(
    (_DATE, "Monday, 01-Jan-01 00:00:00 GMT", "Mon Jan  1 00:00:00 2001"),
    (
        *("yesterday", "2001-01-01T00:00:00Z", "0", "", "Mon, 32 Jan 2001 00:00:00 GMT"),
        *("Mon, 01 Jan 2001 25:00:00 GMT", "Mon, 01 Jan 99999 00:00:00 GMT", "Mon, 01 Jan 2001", f"{_DATE} x"),
        *("Tue, 01 Jan 2001 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "Mon Jan  1 00:00:00 0001"),
        *("Mon, 01 Foo 2001 00:00:00 GMT", "Mon, 01 Jan 2001 00:00 GMT", "Mon, 01 Jan 2001 00:00:00"),
    ),
)
TAGS: Final = Grammar(
    ("\"team\" = 'Sales'", "team <> 'IT' AND \"team\" >= 'A' or team = ''"),
    (
        *("", "x", '"team"', "team = Sales", "\"team\" == 'Sales'", "'Sales' = \"team\"", "\"team\" LIKE 'S'"),
        *("\"team\" = 'Sales' AND", "\"team\" = 'Sales' XOR team = ''", "\"team\" = 'Sales' x", "\"te$am\" = 'Sales'"),
        *(
            "\"team\" = 'S%'",
            "\"\" = 'Sales'",
            f"\"{'t' * 129}\" = ''",
            f"\"team\" = '{'S' * 257}'",
            "@container = 'a'",
        ),
    ),
)
ID: Final = Grammar(
    (LEASE, f"{{{LEASE}}}", f"({LEASE})", LEASE.replace("-", ""), LEASE.upper()),
    (
        *("x", "", LEASE[:-1], f"{LEASE}0", f"urn:uuid:{LEASE}", f"{{{LEASE}", f"{LEASE}}}", f"({LEASE}}}"),
        *(LEASE.replace("-", "", 1), LEASE.replace("0", "\uff10")),
    ),
)
FLAG: Final = Grammar(("true", "false", "True"), ("x", "", "1", "yes", "true,false"))
COUNT: Final = Grammar(("0", "99"), ("x", "", "-1", "1.5", "0x1", "1 2", "9" * 19))
TIER: Final = Grammar(("Hot", "Cool", "Cold", "Archive"), ("x", "", "Warm", "P10", "Hot,Cool"))
PRIORITY: Final = Grammar(("Standard", "High"), ("x", "", "Soon"))
RANGE: Final = Grammar(
    ("bytes=0-0", "bytes=1-", "bytes=0-99"),
    ("x", "", "bytes=", "bytes=-1", "bytes=2-1", "bytes=a-b", "0-1", "bytes=0-1,2-2", "items=0-1", "bytes=0-1x"),
)
MD5: Final = Grammar((_MD5,), ("x", "", "YQ==", _MD5[:-1], _MD5 + "=", "A" * 24), "InvalidMd5")
STORED_MD5: Final = Grammar((_MD5, "AAAA", ""), ("x", "%", "A", "AAA", _MD5[:-1]), "InvalidMd5")
"""One that is stored without the content is not checked."""
CRC64: Final = Grammar((_CRC64,), ("x", "", "YQ==", _CRC64[:-1], "A" * 12), "InvalidCrc64")
TEXT: Final = Grammar(("x", "a, b; c=d"), ())
"""Any text is a value."""
HEADER: Final = TEXT._replace(malformed=("a\x00b", "a\r\nb", "\x7f", "\ud800"))
METADATA: Final = HEADER._replace(code="InvalidMetadata")

OF_EVERY_OPERATION: Final[Mapping[str, Grammar]] = {
    "?timeout": Grammar(("0", "30"), ("x", "", "-1", "1.5", "30s", *_TOO_LONG), _PARAMETER),
    "?comp": Grammar((), ("x", "", "Metadata "), _PARAMETER),
    "?restype": Grammar((), ("x", "", "blob", "containers"), _PARAMETER),
    "x-ms-version": Grammar(("2021-12-02",), ("x", "2021-12-03", "2021-12", "latest", "2019-13-01")),
}
"""`comp` and `restype` choose the operation: any valid value is another operation."""

OF_BLOBS: Final[Mapping[str, Grammar]] = {
    **dict.fromkeys(
        [f"{prefix}if-{name}match" for prefix in ("", "x-ms-source-", "x-ms-blob-") for name in ("", "none-")], ETAG
    ),
    **dict.fromkeys(
        [
            f"{prefix}if-{name}modified-since"
            for prefix in ("", "x-ms-source-", "x-ms-blob-", "x-ms-access-tier-")
            for name in ("", "un")
        ],
        DATE,
    ),
    **dict.fromkeys(("x-ms-if-tags", "x-ms-source-if-tags"), TAGS),
    **dict.fromkeys(("x-ms-lease-id", "x-ms-source-lease-id", "x-ms-proposed-lease-id"), ID),
    **dict.fromkeys(("x-ms-seal-blob", "x-ms-copy-source-blob-properties", "x-ms-requires-sync"), FLAG),
    # "true" needs a range
    **dict.fromkeys([f"x-ms-range-get-content-{name}" for name in ("md5", "crc64")], FLAG._replace(valid=("false",))),
    **dict.fromkeys(("x-ms-blob-condition-appendpos", "x-ms-blob-condition-maxsize"), COUNT),
    "x-ms-access-tier": TIER,
    "x-ms-rehydrate-priority": PRIORITY,
    "x-ms-lease-action": Grammar((), ("x", "", "keep", "acquire,break")),
    "x-ms-lease-duration": Grammar(("15", "60", "-1"), ("x", "", "0", "14", "61", "-2", "15.5", "9" * 19)),
    "x-ms-lease-break-period": Grammar(("0", "60"), ("x", "", "-1", "61", "1.5")),
    "x-ms-blob-public-access": Grammar(("blob", "container"), ("x", "true", "private", "blob,container")),
    "x-ms-delete-snapshots": Grammar(("include", "only"), ("x", "", "all", "include,only")),
    "x-ms-blob-type": Grammar(("BlockBlob",), ("x", "", "blockblob", "Block")),
    "x-ms-source-range": RANGE,
    **dict.fromkeys(("content-md5", "x-ms-source-content-md5", "x-ms-blob-content-md5"), MD5),
    **dict.fromkeys(("x-ms-content-crc64", "x-ms-source-content-crc64"), CRC64),
    "x-ms-structured-body": Grammar((), ("x", "", "XSM/2.0; properties=crc64", "XSM/1.0")),
    "x-ms-structured-content-length": Grammar((), ("x", "", "-1", "99", "1.5")),
    "x-ms-copy-source": Grammar(
        (
            f"{BASE}/shared/source",
            *(f"{BASE}/shared/source?{name}=2001-01-01T00:00:00.0000000Z" for name in ("snapshot", "versionid")),
        ),
        (
            *("x", "", "/shared/source", "//contoso/shared/source", "ftp://contoso/shared/source", "https://", BASE),
            *(f"{BASE}/", f"{BASE}/shared/a b", f"{BASE}/shared/{'s' * 2048}", "https:///shared/source"),
        ),
    ),
    "x-ms-copy-source-tag-option": Grammar(("REPLACE", "COPY"), ("x", "", "copy", "MERGE", "COPY,REPLACE")),
    "x-ms-copy-action": Grammar(("abort",), ("x", "", "cancel")),
    "x-ms-tags": Grammar(
        ("", "a=b", "a=b&c=", "a%20b=c%2Fd"),
        (
            *("x", "&", "=b", "a=b&a=c", "a=b;c", "a=b&c", "a=%24", f"{'a' * 129}=b", f"a={'b' * 257}"),
            "&".join(f"a{number}=b" for number in range(11)),
        ),
        "InvalidTag",
    ),
    "x-ms-meta-a": METADATA,
    **dict.fromkeys([f"x-ms-blob-{name}" for name in ("cache-control", "content-type")], HEADER),
    **dict.fromkeys([f"x-ms-blob-content-{name}" for name in ("encoding", "language", "disposition")], HEADER),
    **dict.fromkeys(("?prefix", "?delimiter", "?startFrom"), TEXT),
    **dict.fromkeys(
        ("?snapshot", "?versionid"),
        Grammar(("2001-01-01T00:00:00.0000000Z",), ("x", "", "2001", "2001-13-01T00:00:00Z"), _PARAMETER),
    ),
    "?marker": Grammar((), ("x", "%", "AAAA"), "OutOfRangeInput"),
    "?maxresults": Grammar(("1", "5000", "5001"), ("x", "", "1.5", "1e3", *_TOO_LONG), _PARAMETER),
    "?include": Grammar(("metadata", "", "metadata,deleted"), _NO_WORDS, _PARAMETER),
    "?blocklisttype": Grammar(("committed", "uncommitted", "all"), ("x", "", "none", "all,all"), _PARAMETER),
    "?blockid": Grammar(("YQ==",), ("x", "", "Y!==", "Y" * 88), _PARAMETER),
    "?copyid": Grammar((LEASE,), ("x", "", LEASE[:-1]), _PARAMETER),
}
"""The grammar of each option, whichever operation has it."""

_PAGE_SIZE: Final = Grammar(
    ("1", "5000"), ("x", "", "1.5", "1e3", *_TOO_LONG), _PARAMETER, out_of_range=("0", "5001", "-1")
)
_SECONDS: Final = Grammar(("1", "60"), ("x", "", "1.5", *_TOO_LONG), _PARAMETER, out_of_range=("604801", "-1"))
OF_QUEUES: Final[Mapping[str, Grammar]] = {
    "x-ms-meta-a": METADATA,
    "?prefix": TEXT,
    "?marker": Grammar((), ("x", "/", "//", "/other/x", "/contoso/"), "InvalidMarker"),
    "?maxresults": _PAGE_SIZE,
    "?include": Grammar(("metadata", ""), _NO_WORDS, _PARAMETER),
    "?numofmessages": _PAGE_SIZE._replace(valid=("1", "32"), out_of_range=("0", "33", "-1")),
    "?visibilitytimeout": _SECONDS,
    "?messagettl": Grammar(
        ("-1", "1", "604800", "604801", "2147483647"), ("x", "", "0", "-2", "1.5", *_TOO_LONG), _PARAMETER
    ),
    "?peekonly": Grammar(("true", "false", "True"), ("x", "", "1", "yes", "true,false"), _PARAMETER),
    "?popreceipt": Grammar((), ("x", "%21", "AAA"), _PARAMETER),
}
_INPUT: Final = "InvalidInput"
_TOKEN: Final = Grammar(("1!4!cA--",), ("x", "", "1!3!cA--", "2!4!cA--", "1!4!c!--", "cA--"), _INPUT)
_TYPES: Final = ("application/json", "application/json;odata=nometadata", "application/json; charset=utf-8")
OF_TABLES: Final[Mapping[str, Grammar]] = {
    "?$filter": Grammar(
        ("", "A eq 1", "not (A gt 1L) and B lt 'x''y'", "PartitionKey eq 'p' or A le 1.5"),
        (
            "A eq",
            "A eq 1 and",
            "eq 1",
            "(A eq 1",
            "A eq 'x",
            "A = 1",
            "A eq 1x",
            "A EQ 1",
            "A eq null",
            "A eq guid'1'",
        ),
        _INPUT,
    ),
    "?$top": Grammar(("0", "1", "1000"), ("x", "", "-1", "1.5", "1001", "1e2"), _INPUT),
    "?$format": Grammar(_TYPES[:2], ("application/atom%2Bxml", "json", "text/plain"), "AtomFormatNotSupported", 415),
    "accept": Grammar((*_TYPES, "*/*"), ("application/atom+xml", "text/plain", "x"), "AtomFormatNotSupported", 415),
    "content-type": Grammar(
        (*_TYPES, "application/json;odata=fullmetadata"),
        ("text/plain", "application/xml", "x", "text/json", "application/jsonx", "multipart/mixed; boundary=b"),
        "MediaTypeNotSupported",
        415,
    ),
    "dataserviceversion": Grammar(("1.0", "2.0;", "3.0;NetFx", "3.0"), ("4.0", "x", "3", "3.0.1", "30"), _INPUT),
    "if-match": Grammar(
        ("*", "W/\"datetime'2014-08-22T00%3A00%3A00Z'\""), ("x", "", '"x', 'W/"a",W/"b"', "W/x"), _INPUT
    ),
    **dict.fromkeys(("?NextTableName", "?NextPartitionKey"), _TOKEN),
    # It needs the other one
    "?NextRowKey": _TOKEN._replace(valid=()),
}
OF_SERVICES: Final[Mapping[str, Mapping[str, Grammar]]] = {"blob": OF_BLOBS, "queue": OF_QUEUES, "table": OF_TABLES}

IGNORED_IF_MALFORMED: Final = frozenset({"range", "x-ms-range", "prefer", "?$select"})
"""As HTTP has it: the whole blob is returned, and a preference is a wish. Any text can be the name of a property."""
BEARER: Final = frozenset({"x-ms-copy-source-authorization"})
"""A credential that is wrong is another error."""


_WITHOUT_CONTENT: Final = frozenset({"SetBlobProperties", "PutBlockList", "PutBlobFromURL"})


def grammar_of(service: str, operation: str, option: str) -> Grammar:
    """Return the grammar of an option of an operation."""
    if option == "x-ms-blob-content-md5" and operation in _WITHOUT_CONTENT:
        return STORED_MD5
    grammar = OF_EVERY_OPERATION.get(option) or OF_SERVICES[service][option]
    if option == "?visibilitytimeout" and operation == "GetMessages":
        return grammar._replace(out_of_range=("0", *grammar.out_of_range))
    return grammar
