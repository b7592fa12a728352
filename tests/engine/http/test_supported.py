"""Conditions and options: each operation honors or rejects every documented one, and ignores none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Final
from urllib.parse import parse_qsl, quote

import pytest

from support.documented_account import Account
from support.documented_operations import DOCUMENTED, Documented
from support.option_values import BEARER, IGNORED_IF_MALFORMED, OF_EVERY_OPERATION, OF_SERVICES, grammar_of
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.http.supported import BLOB_SUPPORT, QUEUE_SUPPORT, TABLE_SUPPORT, Support

SUPPORT: Final = {"blob": BLOB_SUPPORT, "queue": QUEUE_SUPPORT, "table": TABLE_SUPPORT}
OTHER: Final = "00000000-0000-0000-0000-00000000000f"
PAST, FUTURE = "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
CONDITIONS: Final = {
    **dict.fromkeys(("if-match", "if-none-match"), '"0x1"'),
    **dict.fromkeys(("if-modified-since", "if-unmodified-since"), PAST),
    "if-range": '"0x1"',
    "x-ms-if-tags": "\"team\" = 'IT'",
    "x-ms-lease-id": OTHER,
    "?snapshot": "2001-01-01T00:00:00.0000000Z",
    "?versionid": "2001-01-01T00:00:00.0000000Z",
}
# Values that nothing meets, that are of another kind, or that change the result
PROBES: Final = {
    **CONDITIONS,
    "if-none-match": "*",
    "if-modified-since": FUTURE,
    "x-ms-access-tier-if-modified-since": FUTURE,
    "x-ms-access-tier-if-unmodified-since": PAST,
    "x-ms-blob-condition-appendpos": "99",
    "x-ms-blob-condition-maxsize": "1",
    "x-ms-range": "bytes=1-1",
    "range": "bytes=1-1",
    "x-ms-range-get-content-md5": "true",
    "x-ms-range-get-content-crc64": "true",
    "x-ms-structured-body": "XSM/1.0; properties=crc64",
    "x-ms-structured-content-length": "99",
    "content-md5": "AAAAAAAAAAAAAAAAAAAAAA==",
    "x-ms-content-crc64": "AAAAAAAAAAA=",
    "x-ms-blob-content-md5": "AAAAAAAAAAAAAAAAAAAAAA==",
    "x-ms-source-content-md5": "AAAAAAAAAAAAAAAAAAAAAA==",
    "x-ms-source-content-crc64": "AAAAAAAAAAA=",
    "x-ms-source-range": "bytes=1-1",
    "x-ms-copy-source-authorization": "Bearer x",
    "x-ms-copy-source-tag-option": "COPY",
    "x-ms-copy-source-blob-properties": "false",
    "x-ms-seal-blob": "true",
    "x-ms-tags": "a=b",
    "x-ms-access-tier": "Cold",
    "x-ms-rehydrate-priority": "Soon",
    "x-ms-blob-public-access": "blob",
    "x-ms-delete-snapshots": "only",
    "x-ms-lease-duration": "5",
    "x-ms-lease-break-period": "5",
    "x-ms-proposed-lease-id": "x",
    "x-ms-deny-encryption-scope-override": "true",
    "x-ms-legal-hold": "true",
    "?prefix": "x",
    "?marker": "x",
    "?maxresults": "0",
    "?include": "metadata",
    "?delimiter": "e",
    "?blocklisttype": "uncommitted",
    "?visibilitytimeout": "7",
    "?messagettl": "7",
    "?numofmessages": "0",
    "?peekonly": "true",
    "?$select": "None",
    "?$filter": "A eq",
    "?$top": "0",
    "?$format": "application/json;odata=nometadata",
    "?NextTableName": "x",
    "?NextPartitionKey": "x",
    "?NextRowKey": "x",
    "prefer": "return-no-content",
    **dict.fromkeys(("x-ms-source-if-match", "x-ms-blob-if-match"), '"0x1"'),
    **dict.fromkeys(("x-ms-source-if-none-match", "x-ms-blob-if-none-match"), "*"),
    **dict.fromkeys(("x-ms-source-if-modified-since", "x-ms-blob-if-modified-since"), FUTURE),
    **dict.fromkeys(("x-ms-source-if-unmodified-since", "x-ms-blob-if-unmodified-since"), PAST),
    "x-ms-source-lease-id": OTHER,
    "x-ms-source-if-tags": "\"team\" = 'IT'",
}
EACH: Final = [(operation, option) for operation in DOCUMENTED for option in operation.options]


def is_rejected(operation: Documented, option: str) -> bool:
    headers, query = ({}, {option[1:]: "x"}) if option.startswith("?") else ({option: "x"}, {})
    try:
        SUPPORT[operation.service][operation.name].check(headers, query)
    except ServiceError:
        return True
    return False


def every(pairs: Iterable[tuple[Documented, str]]) -> pytest.MarkDecorator:
    """Return the mark of a test of an operation and some of its options."""
    options: defaultdict[int, list[str]] = defaultdict(list)
    for operation, option in pairs:
        options[DOCUMENTED.index(operation)].append(option)
    each = [pytest.param(DOCUMENTED[at], names, id=DOCUMENTED[at].name) for at, names in options.items()]
    return pytest.mark.parametrize(("operation", "options"), each)


every_operation = pytest.mark.parametrize("operation", DOCUMENTED, ids=[each.name for each in DOCUMENTED])


@cache
def unchanged_account() -> Account:
    """The account of the tests that change nothing."""
    return Account()


@every_operation
def test_each_request_is_carried_out_and_always_in_the_same_way(operation: Documented) -> None:
    accounts = [Account(), Account()]
    first, second = [account.seen(account.ask(operation, {})) for account in accounts]
    assert first[0] < 300
    assert first == second
    assert accounts[0].engine.ledger.records[-1].operation == operation.name


@every(pair for pair in EACH if is_rejected(*pair))
def test_what_the_engine_does_not_do_it_rejects(operation: Documented, options: list[str]) -> None:
    account = unchanged_account()
    before = account.state()
    for option in options:
        response = account.ask(operation, {option: PROBES.get(option, "x")})
        assert (option, response.status) == (option, 501)
    assert account.state() == before


@every(pair for pair in EACH if not is_rejected(*pair))
def test_an_option_that_is_honored_makes_a_difference(operation: Documented, options: list[str]) -> None:
    account = Account()
    without_options = account.seen(account.ask(operation, {}))
    for option in options:
        asked = Account()
        response = asked.ask(operation, {option: PROBES.get(option, "x")})
        assert response.status != 501 or option == "?$select", option
        assert asked.seen(response) != without_options, option


@every_operation
def test_no_operation_ignores_a_condition(operation: Documented) -> None:
    """Whether it is documented to have the condition or not: nothing is done if the condition is not met."""
    account = unchanged_account()
    before = account.state()
    for name in CONDITIONS:
        value = FUTURE if name == "if-modified-since" else '"0x1"' if name == "if-match" else PROBES[name]
        assert account.ask(operation, {name: value}).status >= 304, name
    assert account.state() == before


@pytest.mark.parametrize("name", ["ListContainers", "ListBlobs", "ListQueues"])
@pytest.mark.parametrize("include", ["everything", "metadata,everything"])
def test_a_list_is_not_asked_to_include_what_no_list_has(name: str, include: str) -> None:
    (operation,) = (each for each in DOCUMENTED if each.name == name)
    response = Account().ask(operation, {"?include": include})
    assert (response.status, response.headers["x-ms-error-code"]) == (400, "InvalidQueryParameterValue")


def test_every_operation_is_documented() -> None:
    for service, support in SUPPORT.items():
        known = {operation.name for operation in DOCUMENTED if operation.service == service}
        assert set(support) - known <= {
            *(f"Get{service.capitalize()}ServiceStats", "BlobBatch", "AbortCopyBlob", "Transaction", "QueryTable")
        }


@pytest.mark.parametrize("option", ["x-ms-source-range", "x-ms-copy-source-blob-properties", "x-ms-source-content-md5"])
def test_a_copy_does_not_ignore_the_options_of_others(option: str) -> None:
    for operation in DOCUMENTED:
        if operation.name == "CopyBlob" or (operation.name == "CopyBlobFromURL" and option not in operation.options):
            assert Account().ask(operation, {option: "true"}).status == 501


def test_what_is_asked_not_to_be_done_is_not_asked() -> None:
    support = Support("if-match", "x-ms-legal-hold")
    support.check({"x-ms-legal-hold": "false", "if-match": "*"}, {"versionid": ""})
    for asked in ({"x-ms-legal-hold": "true"}, {"if-none-match": "false"}):
        with pytest.raises(ServiceError, match="NotImplemented"):
            support.check(asked, {})


# ------------------------------------------------------------------ values


def own_options(operation: Documented) -> list[str]:
    """Return the options of an operation that have a grammar, the required ones included."""
    sent = [f"?{name}" for name, _ in parse_qsl(operation.path.partition("?")[2])] + [*operation.headers]
    options = dict.fromkeys([*sent, *operation.options])
    known = OF_SERVICES[operation.service]
    return [option for option in options if option in known and not is_rejected(operation, option)]


CELLS: Final = [(operation, option) for operation in DOCUMENTED for option in own_options(operation)]
CELLS_OF_ALL: Final = [(operation, option) for operation in DOCUMENTED for option in OF_EVERY_OPERATION]


def test_every_option_has_a_grammar() -> None:
    options = {
        option
        for operation in DOCUMENTED
        for option in operation.options
        if option not in OF_SERVICES[operation.service] and not is_rejected(operation, option)
    }
    assert options == IGNORED_IF_MALFORMED | BEARER


@every([*CELLS, *CELLS_OF_ALL])
def test_a_malformed_value_is_rejected(operation: Documented, options: list[str]) -> None:
    account = unchanged_account()
    before = account.state()
    for option in options:
        grammar = grammar_of(operation.service, operation.name, option)
        rejected = [(value, grammar.status, grammar.code) for value in grammar.malformed]
        rejected += [(value, 400, "OutOfRangeQueryParameterValue") for value in grammar.out_of_range]
        for value, status, error in rejected:
            response = account.ask(operation, {option: value})
            assert (response.status, account.engine.ledger.records[-1].error) == (status, error), (option, value)
    assert account.state() == before


@every(pair for pair in [*CELLS, *CELLS_OF_ALL] if pair[1].startswith("?") and pair[1] != "?include")
def test_no_option_is_given_twice(operation: Documented, options: list[str]) -> None:
    """Whichever of its values would be valid."""
    account = unchanged_account()
    before = account.state()
    for option in options:
        for value in {PROBES.get(option, "x"), *grammar_of(operation.service, operation.name, option).valid[:1]}:
            repeated = operation._replace(path=f"{operation.path}{'&' if '?' in operation.path else '?'}{option[1:]}=x")
            repeated = repeated._replace(path=f"{repeated.path}&{option[1:].replace('$', '%24')}={quote(value)}")
            response = account.ask(repeated, {})
            code = "InvalidInput" if option.startswith("?$") else "InvalidQueryParameterValue"
            assert (response.status, account.engine.ledger.records[-1].error) == (400, code), (option, value)
    assert account.state() == before


OFF: Final = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
LOGGING: Final = "<Version>1.0</Version><Read>true</Read><Write>true</Write><Delete>true</Delete>"
METRICS: Final = "<Version>1.0</Version><Enabled>false</Enabled>"
AGE: Final = "<MaxAgeInSeconds>5</MaxAgeInSeconds>"
RULE: Final = (
    "<AllowedMethods>GET</AllowedMethods><AllowedOrigins>*</AllowedOrigins><AllowedHeaders />"
    f"<ExposedHeaders></ExposedHeaders>{AGE}"
)


def rule(old: str = "", new: str = "") -> str:
    """Return a CORS rule with another text in one place."""
    return f"<CorsRule>{RULE.replace(old, new) if old else RULE}</CorsRule>"


def names(count: int, form: str = "name{}") -> str:
    return ",".join(form.format(number) for number in range(count))


DOCUMENT, VALUE, MISSING = "InvalidXmlDocument", "InvalidXmlNodeValue", "MissingRequiredXmlNode"
RULES: Final = {
    "": None,
    rule(): None,
    rule() * 5: None,
    rule() * 6: DOCUMENT,
    "<Rule />": DOCUMENT,
    "text": DOCUMENT,
    f"{rule()}text": DOCUMENT,
    rule(AGE, f"{AGE}<Origin>*</Origin>"): DOCUMENT,
    rule(AGE, f"{AGE}<AllowedMethods>PUT</AllowedMethods>"): DOCUMENT,
    rule(AGE, ""): MISSING,
    rule(AGE, "<MaxAgeInSeconds />"): MISSING,
    rule("5", "long"): DOCUMENT,
    rule("5", "2147483647"): None,
    rule("5", "2147483648"): DOCUMENT,
    rule("5", "-1"): VALUE,
    rule("GET", "LOOK"): VALUE,
    rule("GET", "GET,PUT"): None,
    rule("GET", ""): VALUE,
    rule("*", ""): VALUE,
    rule("*", "http://contoso.com,,"): VALUE,
    rule("*", names(64)): None,
    rule("*", names(65)): DOCUMENT,
    rule("*", "o" * 256): None,
    rule("*", "o" * 257): DOCUMENT,
    **dict.fromkeys(
        [
            rule("<AllowedMethods>GET</AllowedMethods>"),
            rule("<AllowedOrigins>*</AllowedOrigins>"),
            rule("<AllowedHeaders />"),
            rule("<ExposedHeaders></ExposedHeaders>"),
        ],
        MISSING,
    ),
}
for empty, header_list in (("<AllowedHeaders />", "AllowedHeaders"), ("<ExposedHeaders></", "ExposedHeaders")):
    for values, error in {
        names(64): None,
        f"{names(64)},a*,b*": None,
        names(65): DOCUMENT,
        "a*,b*,c*": DOCUMENT,
        "a" * 257: DOCUMENT,
    }.items():
        ending = "</" if empty.endswith("</") else f"</{header_list}>"
        RULES[rule(empty, f"<{header_list}>{values}{ending}")] = error


def metrics_of(metrics: str) -> dict[str, str | None]:
    """Return settings of one kind of metrics, and their errors."""
    return {
        f"<{metrics}>{METRICS}{OFF}</{metrics}>": None,
        f"<{metrics}>{METRICS.replace('false', 'true')}</{metrics}>": MISSING,
        f"<{metrics}>{METRICS.replace('false', 'true')}<IncludeAPIs>true</IncludeAPIs></{metrics}>": None,
        f"<{metrics}><Version>1.0</Version></{metrics}>": MISSING,
        f"<{metrics}><Enabled>false</Enabled></{metrics}>": MISSING,
        f"<{metrics}>{METRICS}<RetentionPolicy><Weeks>1</Weeks></RetentionPolicy></{metrics}>": DOCUMENT,
        f"<{metrics}>{METRICS}<RetentionPolicy><Days>1</Days></RetentionPolicy></{metrics}>": MISSING,
        f"<{metrics}>{METRICS}{OFF.replace('</Enabled>', '</Enabled><Days>9999999999</Days>')}</{metrics}>": DOCUMENT,
        f"<{metrics}>{METRICS}{OFF.replace('false</', 'true</')}</{metrics}>": DOCUMENT,
    }


PROPERTIES: Final = {
    "": None,
    **{f"<Cors>{rules}</Cors>": error for rules, error in RULES.items()},
    "<Tracing />": DOCUMENT,
    "text<Cors />": DOCUMENT,
    "<Cors /><Cors />": DOCUMENT,
    "<Cors>text</Cors>": DOCUMENT,
    f"<Logging>{LOGGING}{OFF}</Logging>": None,
    f"<Logging>{LOGGING}text</Logging>": DOCUMENT,
    f"<Logging>{LOGGING}<Color>red</Color></Logging>": DOCUMENT,
    f"<Logging>{LOGGING.replace('true', 'maybe', 1)}</Logging>": DOCUMENT,
    f"<Logging>{LOGGING.replace('1.0', 'x')}</Logging>": VALUE,
    "<Logging />": MISSING,
    **{
        f"<Logging>{LOGGING.replace(element, '')}</Logging>": MISSING
        for element in ("<Version>1.0</Version>", "<Read>true</Read>", "<Write>true</Write>", "<Delete>true</Delete>")
    },
    **metrics_of("HourMetrics"),
    **metrics_of("MinuteMetrics"),
}
OF_BLOBS_ONLY: Final = {
    "<DefaultServiceVersion>2019-02-02</DefaultServiceVersion>": None,
    "<StaticWebsite><Enabled>false</Enabled></StaticWebsite>": None,
    "<StaticWebsite />": MISSING,
    "<StaticWebsite>text</StaticWebsite>": DOCUMENT,
    "<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>": None,
    "<DeleteRetentionPolicy><Days>1</Days></DeleteRetentionPolicy>": MISSING,
    "<DeleteRetentionPolicy><Enabled>false</Enabled><Days>x</Days></DeleteRetentionPolicy>": DOCUMENT,
    "<DeleteRetentionPolicy><Enabled>false</Enabled><AllowPermanentDelete>x</AllowPermanentDelete>"
    "</DeleteRetentionPolicy>": DOCUMENT,
    "<DeleteRetentionPolicy><Enabled>false</Enabled><AllowPermanentDelete>true</AllowPermanentDelete>"
    "</DeleteRetentionPolicy>": "NotImplemented",
}


@pytest.mark.parametrize("content", [*PROPERTIES, *OF_BLOBS_ONLY])
@pytest.mark.parametrize("service", SUPPORT)
def test_properties_of_a_service_are_known_ones(service: str, content: str) -> None:
    account = Account()
    before = account.state()
    body = f"<StorageServiceProperties>{content}</StorageServiceProperties>".encode()
    status = account.wires[service].send("PUT", "/?restype=service&comp=properties", {}, body).status
    of_this_service = PROPERTIES | (OF_BLOBS_ONLY if service == "blob" else dict.fromkeys(OF_BLOBS_ONLY, DOCUMENT))
    code = of_this_service[content]
    expected = 202 if code is None else 501 if code == "NotImplemented" else 400
    assert (status, account.engine.ledger.records[-1].error) == (expected, code)
    assert code is None or account.state() == before


@pytest.mark.parametrize(
    "content",
    ["text", "<Policy />", "<SignedIdentifier><Name>a</Name></SignedIdentifier>"]
    + [
        f"<SignedIdentifier><Id>a</Id>{terms}</SignedIdentifier>"
        for terms in (
            "text",
            "<Id>b</Id>",
            "<AccessPolicy>text</AccessPolicy>",
            "<AccessPolicy><End /></AccessPolicy>",
            "<AccessPolicy><Start>x</Start></AccessPolicy>",
        )
    ],
)
@pytest.mark.parametrize("path", ["/Employees?comp=acl", "/orders?comp=acl", "/free?restype=container&comp=acl"])
def test_policies_are_known_ones(path: str, content: str) -> None:
    account = Account()
    before = account.state()
    service = next(
        operation.service for operation in DOCUMENTED if f"PUT {path}" == f"{operation.method} {operation.path}"
    )
    body = f"<SignedIdentifiers>{content}</SignedIdentifiers>".encode()
    assert account.wires[service].send("PUT", path, {}, body).status == 400
    assert account.engine.ledger.records[-1].error == "InvalidXmlDocument"
    assert account.state() == before


TAG: Final = "<Key>a</Key><Value>b</Value>"
BODIES: Final = {
    "PutMessage": ("text<MessageText>a</MessageText>", "<MessageText>a</MessageText><MessageText>b</MessageText>"),
    "UpdateMessage": ("<MessageText>a</MessageText><Priority>1</Priority>", "<MessageText>a</MessageText>text"),
    "PutBlockList": ("text", "<Uncommitted>YQ==</Uncommitted>text", "<Newest>YQ==</Newest>"),
    "SetBlobTags": (
        "text<TagSet />",
        "<TagSet>text</TagSet>",
        f"<TagSet><Tag>text{TAG}</Tag></TagSet>",
        f"<TagSet><Tag>{TAG}<Color>red</Color></Tag></TagSet>",
    ),
}
"""The content of bodies with elements or text that the document does not have."""


@pytest.mark.parametrize(("name", "content"), [(name, content) for name in BODIES for content in BODIES[name]])
def test_nothing_in_a_document_is_ignored(name: str, content: str) -> None:
    account = unchanged_account()
    before = account.state()
    operation = next(operation for operation in DOCUMENTED if operation.name == name)
    root = re.match(r"<(\w+)>", operation.body)
    assert root
    response = account.ask(operation._replace(body=f"<{root[1]}>{content}</{root[1]}>"), {})
    assert (response.status, account.engine.ledger.records[-1].error) == (400, DOCUMENT)
    assert account.state() == before


LISTS: Final = ("QueryTables", "QueryEntities")
NO_LISTS: Final = [
    operation for operation in DOCUMENTED if "accept" in operation.headers and operation.name not in LISTS
] + [operation for operation in DOCUMENTED if operation.name == "DeleteTable"]


@pytest.mark.parametrize("operation", NO_LISTS, ids=[operation.name for operation in NO_LISTS])
@pytest.mark.parametrize("option", ["?$top", "?$filter", "?$orderby", "?$skip", "?$expand", "?$bogus", "?$TOP"])
def test_what_is_no_list_has_no_options_of_lists(operation: Documented, option: str) -> None:
    account = unchanged_account()
    before = account.state()
    assert account.ask(operation, {option: "1"}).status == 501
    assert account.state() == before


@pytest.mark.parametrize("name", ["CreateTable", "InsertEntity", "MergeEntity"])
def test_a_type_needs_a_property(name: str) -> None:
    account = unchanged_account()
    before = account.state()
    operation = next(operation for operation in DOCUMENTED if operation.name == name)
    response = account.ask(operation._replace(body=operation.body[:-1] + ', "B@odata.type": "Edm.Int64"}'), {})
    assert (response.status, account.engine.ledger.records[-1].error) == (400, "InvalidInput")
    assert account.state() == before


def test_a_table_has_only_a_name() -> None:
    operation = next(operation for operation in DOCUMENTED if operation.name == "CreateTable")
    account = Account()
    assert account.ask(operation._replace(body='{"TableName": "New", "Color": "red"}'), {}).status == 400
    assert account.ask(operation._replace(body='{"TableName": "New", "odata.type": "Table"}'), {}).status == 201


@pytest.mark.parametrize("service", SUPPORT)
def test_no_service_issues_a_user_delegation_key(service: str) -> None:
    response = Account().wires[service].send("POST", "/?restype=service&comp=userdelegationkey", {}, b"<KeyInfo />")
    assert response.status == 501


@every([*CELLS, *CELLS_OF_ALL])
def test_a_valid_value_is_not(operation: Documented, options: list[str]) -> None:
    account = Account()
    before = account.state()
    for option in options:
        grammar = grammar_of(operation.service, operation.name, option)
        for value in grammar.valid:
            response = account.ask(operation, {option: value})
            assert response.status not in (501, 500, 415), (option, value)
            assert account.engine.ledger.records[-1].error != grammar.code, (option, value)
            if account.state() != before:
                account = Account()
                before = account.state()
