"""Exclusions from the comparison of tables, where Azurite differs from the service.

The numbers are those of issues at https://github.com/Azure/Azurite/issues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import unquote

from differential.answers import Rejected
from differential.differences import MISSING
from differential.exclusions import Case, Exclusions
from differential.tables.azurite_filters import has_no_property, is_uncertain, meets_another_number
from differential.tables.operations import (
    CreateTable,
    DeleteTable,
    Get,
    Key,
    Operation,
    Query,
    RawWrite,
    Transaction,
    keys_of,
    writes_of,
)
from tablepatterns import Ticks
from tablepatterns.limits import DATETIME_MIN, FORBIDDEN_IN_KEYS, MAX_KEY_UNITS, MAX_TRANSACTION_OPERATIONS
from tablepatterns_engine.tables.entities import Entity

Entities: TypeAlias = Mapping[Key, Entity]

EXCLUSIONS: Final = Exclusions()

_FIRST_INSTANT: Final = Ticks.of(DATETIME_MIN)
_FORBIDDEN: Final = re.compile(FORBIDDEN_IN_KEYS)


# ------------------------------------------------------------------ withheld


@EXCLUSIONS.withhold("closes the connection", rejected=True)
def more_than_100_operations(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, Transaction) and len(operation.writes) > MAX_TRANSACTION_OPERATIONS


@EXCLUSIONS.withhold("carries out operations in other partitions", rejected=True)
def transaction_over_partitions(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, Transaction) and not operation.in_one_partition


@EXCLUSIONS.withhold("stores times before 1601", rejected=True)
def early_instant(operation: Operation, before: Entities | None) -> bool:
    values = [value for write in writes_of(operation) for value in write.properties.values()]
    return any(isinstance(value, Ticks) and value < _FIRST_INSTANT for value in values)


@EXCLUSIONS.withhold("does not find a table created with capitals if its name is in another case", rejected=False)
def table_with_capitals(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, CreateTable) and before is None and not operation.table.islower()


@EXCLUSIONS.withhold("does not roll back a failed transaction if the table's name is in another case", rejected=False)
def transaction_with_capitals(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, Transaction) and not operation.table.islower()


# ------------------------------------------------------------------ tables


@EXCLUSIONS.excuse("rejects a table name with an empty code")
def code_of_a_table_name(case: Case) -> bool:
    names = isinstance(case.operation, (CreateTable, DeleteTable))
    return names and case.both_reject and case.engine.status == case.azurite.status == 400 and not case.azurite.code


# ------------------------------------------------------------------ writes


@EXCLUSIONS.excuse("rejects a delete without If-Match without a code")
def code_of_a_delete(case: Case) -> bool:
    absent = isinstance(case.operation, RawWrite) and case.operation.write.condition == "absent"
    return absent and case.both_reject and case.engine.status == case.azurite.status == 400 and not case.azurite.code


@EXCLUSIONS.excuse("returns other codes, 404 or 500 for forbidden keys, in writes and reads")
def forbidden_key(case: Case) -> bool:
    rejected = case.path == ("answers", 0) or case.path[:-1] == ("answers", 0, "parts")
    return rejected and case.both_reject and any(_is_forbidden(each) for key in keys_of(case.operation) for each in key)


@EXCLUSIONS.excuse("rejects a value that is too large before it looks for the entity")
def order_of_checks(case: Case) -> bool:
    return case.both_reject and case.engine.status in (404, 409, 412) and case.azurite.code == "PropertyValueTooLarge"


@EXCLUSIONS.excuse("loses the sign of a negative zero")
def negative_zero(case: Case) -> bool:
    return repr(case.engine) == "-0.0" and repr(case.azurite) == "0.0"


def _is_forbidden(key: str) -> bool:
    return bool(_FORBIDDEN.search(key)) or len(key) > MAX_KEY_UNITS


# ------------------------------------------------------------------ transactions


@EXCLUSIONS.excuse("returns the index 0 for the failure of a single operation")
def index_of_a_single_operation(case: Case) -> bool:
    single = isinstance(case.operation, Transaction) and len(case.operation.writes) == 1
    return single and case.both_reject and case.engine._replace(number=0) == case.azurite


@EXCLUSIONS.excuse("does not echo an insert in a transaction")
def echo_in_a_transaction(case: Case) -> bool:
    return "parts" in case.path and case.member in ("format", "more", "body") and case.azurite is MISSING


@EXCLUSIONS.excuse("reports another of several errors in a transaction first")
def first_failure_of_a_transaction(case: Case) -> bool:
    several = isinstance(case.operation, Transaction) and len(case.operation.writes) > 1
    return several and case.both_reject and case.engine.code == "InvalidDuplicateRow"


# ------------------------------------------------------------------ reads


@EXCLUSIONS.excuse("describes a page of entities as one of tables")
def address_of_a_page(case: Case) -> bool:
    return case.member == "odata.metadata" and bool(case.azurite == "/$metadata#Tables/@Element")


@EXCLUSIONS.excuse("omits the selected properties from odata.metadata")
def selection_in_an_address(case: Case) -> bool:
    return case.member == "odata.metadata" and str(case.engine).partition("&$select=")[0] == str(case.azurite)


@EXCLUSIONS.excuse("neither percent-encodes links nor doubles quotes in them")
def encoding_of_links(case: Case) -> bool:
    is_link = case.member in ("odata.id", "odata.editLink")
    return is_link and unquote(case.engine).replace("'", "") == str(case.azurite).replace("'", "")


@EXCLUSIONS.excuse("returns the type and the links of the table for an entity with an empty PartitionKey")
def links_of_an_empty_partition_key(case: Case) -> bool:
    is_link = case.member in ("odata.type", "odata.id", "odata.editLink")
    keys = [case.path[1]] if case.part == "rows" else keys_of(case.operation)
    return is_link and all(partition_key == "" for partition_key, _ in keys)


@EXCLUSIONS.excuse("omits a selected property that the entity lacks (issue 2535)")
def selected_but_missing(case: Case) -> bool:
    names = case.operation.select if isinstance(case.operation, (Get, Query)) else None
    return case.member in (names or ()) and case.engine is None and case.azurite is MISSING


@EXCLUSIONS.excuse("returns a token with a page of size zero, which returns the same page")
def page_of_nothing(case: Case) -> bool:
    return isinstance(case.operation, Query) and case.operation.top == 0 and case.member == "more"


@EXCLUSIONS.excuse("omits the token, and so the empty last page, if no later entity matches")
def empty_last_page(case: Case) -> bool:
    if case.part == "sizes":
        return case.engine == 0 and case.azurite is MISSING
    if case.part == "pages" and case.member == "more":
        return case.engine is True and case.azurite is False
    return case.part == "pages" and len(case.path) == 2 and case.azurite is MISSING and not case.engine["more"]


@EXCLUSIONS.excuse("compares values like JavaScript: across types, dates by the millisecond, Guid and Binary as Base64")
def types_in_filters(case: Case) -> bool:
    if not isinstance(case.operation, Query) or case.operation.wanted is None or not case.before:
        return False
    wanted = case.operation.wanted
    if case.part == "rows" and len(case.path) == 2 and not case.operation.is_one_page:
        return case.member in case.before and is_uncertain(wanted, case.before[case.member])
    # A row that one of them leaves out lets another one into a page by itself
    rows = case.part == "rows" and len(case.path) == 2
    return (rows or case.part in ("sizes", "pages")) and any(is_uncertain(wanted, row) for row in case.before.values())


@EXCLUSIONS.excuse("returns an internal error for comparing a 64-bit literal with a number of another type")
def long_literal(case: Case) -> bool:
    if not isinstance(case.operation, Query) or case.operation.wanted is None or case.path or not case.before:
        return False
    failed = case.azurite.get("answers") == [Rejected(500, None)]
    return failed and any(meets_another_number(case.operation.wanted, row) for row in case.before.values())


@EXCLUSIONS.excuse("rejects a filter without a property, unless it is only true or false")
def filter_without_a_property(case: Case) -> bool:
    constant = isinstance(case.operation, Query) and has_no_property(case.operation.wanted)
    return constant and case.path == () and case.azurite.get("answers") == [Rejected(400, "InvalidInput")]
