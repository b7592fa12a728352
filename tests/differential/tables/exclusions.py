"""Where Azurite answers otherwise about tables than the service.

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
from tablepatterns.engine.tables.entities import Entity
from tablepatterns.limits import DATETIME_MIN, FORBIDDEN_IN_KEYS, MAX_KEY_UNITS, MAX_TRANSACTION_OPERATIONS

Entities: TypeAlias = Mapping[Key, Entity]

EXCLUSIONS: Final = Exclusions()

_FIRST_INSTANT: Final = Ticks.of(DATETIME_MIN)
_FORBIDDEN: Final = re.compile(FORBIDDEN_IN_KEYS)


# ------------------------------------------------------------------ withheld


@EXCLUSIONS.withhold("the connection breaks", rejected=True)
def more_than_100_operations(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, Transaction) and len(operation.writes) > MAX_TRANSACTION_OPERATIONS


@EXCLUSIONS.withhold("operations in other partitions are carried out", rejected=True)
def transaction_over_partitions(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, Transaction) and not operation.in_one_partition


@EXCLUSIONS.withhold("instants before 1601 are stored", rejected=True)
def early_instant(operation: Operation, before: Entities | None) -> bool:
    values = [value for write in writes_of(operation) for value in write.properties.values()]
    return any(isinstance(value, Ticks) and value < _FIRST_INSTANT for value in values)


@EXCLUSIONS.withhold("a table that was made with capitals is not found in any other case", rejected=False)
def table_with_capitals(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, CreateTable) and before is None and not operation.table.islower()


@EXCLUSIONS.withhold(
    "a transaction that fails is not rolled back, where the table's name is in another case than it was", rejected=False
)
def transaction_with_capitals(operation: Operation, before: Entities | None) -> bool:
    return isinstance(operation, Transaction) and not operation.table.islower()


# ------------------------------------------------------------------ tables


@EXCLUSIONS.excuse("a rejected name has an empty code")
def code_of_a_table_name(case: Case) -> bool:
    names = isinstance(case.operation, (CreateTable, DeleteTable))
    return names and case.both_reject and case.engine.status == case.azurite.status == 400 and not case.azurite.code


# ------------------------------------------------------------------ writes


@EXCLUSIONS.excuse("a delete without If-Match is rejected without a code")
def code_of_a_delete(case: Case) -> bool:
    absent = isinstance(case.operation, RawWrite) and case.operation.write.condition == "absent"
    return absent and case.both_reject and case.engine.status == case.azurite.status == 400 and not case.azurite.code


@EXCLUSIONS.excuse("forbidden keys have other codes, or 404 or 500, in a write as in a read")
def forbidden_key(case: Case) -> bool:
    rejected = case.path == ("answers", 0) or case.path[:-1] == ("answers", 0, "parts")
    return rejected and case.both_reject and any(_is_forbidden(each) for key in keys_of(case.operation) for each in key)


@EXCLUSIONS.excuse("a value that is too large is noticed before the entity is looked for")
def order_of_checks(case: Case) -> bool:
    return case.both_reject and case.engine.status in (404, 409, 412) and case.azurite.code == "PropertyValueTooLarge"


@EXCLUSIONS.excuse("the sign of a zero is lost")
def negative_zero(case: Case) -> bool:
    return repr(case.engine) == "-0.0" and repr(case.azurite) == "0.0"


def _is_forbidden(key: str) -> bool:
    return bool(_FORBIDDEN.search(key)) or len(key) > MAX_KEY_UNITS


# ------------------------------------------------------------------ transactions


@EXCLUSIONS.excuse("the failure of a single operation has the index 0")
def index_of_a_single_operation(case: Case) -> bool:
    single = isinstance(case.operation, Transaction) and len(case.operation.writes) == 1
    return single and case.both_reject and case.engine._replace(number=0) == case.azurite


@EXCLUSIONS.excuse("an insert in a transaction is not echoed")
def echo_in_a_transaction(case: Case) -> bool:
    return "parts" in case.path and case.member in ("format", "more", "body") and case.azurite is MISSING


@EXCLUSIONS.excuse("of several things that are wrong in a transaction, another comes first")
def first_failure_of_a_transaction(case: Case) -> bool:
    several = isinstance(case.operation, Transaction) and len(case.operation.writes) > 1
    return several and case.both_reject and case.engine.code == "InvalidDuplicateRow"


# ------------------------------------------------------------------ reads


@EXCLUSIONS.excuse("a page of entities says that it is of tables")
def address_of_a_page(case: Case) -> bool:
    return case.member == "odata.metadata" and bool(case.azurite == "/$metadata#Tables/@Element")


@EXCLUSIONS.excuse("an address does not say which properties were selected")
def selection_in_an_address(case: Case) -> bool:
    return case.member == "odata.metadata" and str(case.engine).partition("&$select=")[0] == str(case.azurite)


@EXCLUSIONS.excuse("links are not percent-encoded, nor quotes in them doubled")
def encoding_of_links(case: Case) -> bool:
    is_link = case.member in ("odata.id", "odata.editLink")
    return is_link and unquote(case.engine).replace("'", "") == str(case.azurite).replace("'", "")


@EXCLUSIONS.excuse("an entity with an empty partition key has the type and the links of its table")
def links_of_an_empty_partition_key(case: Case) -> bool:
    is_link = case.member in ("odata.type", "odata.id", "odata.editLink")
    keys = [case.path[1]] if case.part == "rows" else keys_of(case.operation)
    return is_link and all(partition_key == "" for partition_key, _ in keys)


@EXCLUSIONS.excuse("a selected property that the entity lacks is left out (issue 2535)")
def selected_but_missing(case: Case) -> bool:
    names = case.operation.select if isinstance(case.operation, (Get, Query)) else None
    return case.member in (names or ()) and case.engine is None and case.azurite is MISSING


@EXCLUSIONS.excuse("a page of no entities has a token, which leads back to it")
def page_of_nothing(case: Case) -> bool:
    return isinstance(case.operation, Query) and case.operation.top == 0 and case.member == "more"


@EXCLUSIONS.excuse("a token is left out where nothing that follows matches; with it comes an empty last page")
def empty_last_page(case: Case) -> bool:
    if case.part == "sizes":
        return case.engine == 0 and case.azurite is MISSING
    if case.part == "pages" and case.member == "more":
        return case.engine is True and case.azurite is False
    return case.part == "pages" and len(case.path) == 2 and case.azurite is MISSING and not case.engine["more"]


@EXCLUSIONS.excuse("values are compared as JavaScript does: across types, at milliseconds, Guid and Binary as Base64")
def types_in_filters(case: Case) -> bool:
    if not isinstance(case.operation, Query) or case.operation.wanted is None or not case.before:
        return False
    wanted = case.operation.wanted
    if case.part == "rows" and len(case.path) == 2 and not case.operation.is_one_page:
        return case.member in case.before and is_uncertain(wanted, case.before[case.member])
    # A row that one of them leaves out lets another one into a page by itself
    rows = case.part == "rows" and len(case.path) == 2
    return (rows or case.part in ("sizes", "pages")) and any(is_uncertain(wanted, row) for row in case.before.values())


@EXCLUSIONS.excuse("comparing a literal of 64 bits with a number of another type is an internal error")
def long_literal(case: Case) -> bool:
    if not isinstance(case.operation, Query) or case.operation.wanted is None or case.path or not case.before:
        return False
    failed = case.azurite.get("answers") == [Rejected(500, None)]
    return failed and any(meets_another_number(case.operation.wanted, row) for row in case.before.values())


@EXCLUSIONS.excuse("a filter without a property is rejected, unless it is true or false alone")
def filter_without_a_property(case: Case) -> bool:
    constant = isinstance(case.operation, Query) and has_no_property(case.operation.wanted)
    return constant and case.path == () and case.azurite.get("answers") == [Rejected(400, "InvalidInput")]
