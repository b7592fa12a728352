"""Shared access signatures from the SDK: the operations, tables and keys that they permit."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.credentials import AzureSasCredential
from azure.data.tables import AccountSasPermissions, TableClient, TableServiceClient
from hypothesis import given
from hypothesis import strategies as st

from support.table_requests import JSON, Wire, attempt, batch, entity_path
from support.table_signatures import FAILED, UNAUTHORIZED, URL, account_sas, ask, entity, table_sas
from tablepatterns_engine.account import Engine
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.http.permissions import AccountPermit, Need, ResourcePermit
from tablepatterns_engine.key_range import KeyScope
from tablepatterns_engine.tables.service import Operation
from tablepatterns_engine.transport import EngineTransport

REQUESTS: dict[str, tuple[str, str, object, dict[str, str]]] = {
    "get": ("GET", entity_path("p", "held"), b"", {}),
    "query": ("GET", "/Employees()", b"", {}),
    "insert": ("POST", "/Employees", entity("new"), {}),
    "update": ("PUT", entity_path("p", "held"), {}, {"if-match": "*"}),
    "merge": ("MERGE", entity_path("p", "held"), {}, {"if-match": "*"}),
    "upsert": ("PUT", entity_path("p", "held"), {}, {}),
    "insert or merge": ("PATCH", entity_path("p", "other"), {}, {}),
    "delete": ("DELETE", entity_path("p", "held"), b"", {"if-match": "*"}),
}
NEEDS = {
    "get": "r",
    "query": "r",
    "insert": "a",
    "update": "u",
    "merge": "u",
    "upsert": "au",
    "insert or merge": "au",
    "delete": "d",
}
LETTERS = ["", "r", "a", "u", "d", "ra", "au", "ud", "raud"]


@pytest.fixture(autouse=True)
def _held(engine: Engine) -> None:
    engine.tables.apply("Employees", Operation("insert", "p", "held"))


class TestPermissions:
    @pytest.mark.parametrize("letters", LETTERS[1:])
    @pytest.mark.parametrize("name", REQUESTS)
    def test_each_operation_needs_its_letters_of_a_table(
        self, name: str, letters: str, engine: Engine, wire: Wire
    ) -> None:
        method, path, body, headers = REQUESTS[name]
        response = wire.send(method, f"{path}?{table_sas(engine, letters)}", {**JSON, **headers}, body, signed=False)
        assert (response.status < 300) is (set(NEEDS[name]) <= set(letters))
        assert response.status < 300 or b"AuthorizationPermissionMismatch" in response.body

    @pytest.mark.parametrize("letters", ["rwdlacu", "r", "a", "u", "d", "au"])
    @pytest.mark.parametrize("name", REQUESTS)
    def test_and_of_an_account(self, name: str, letters: str, engine: Engine, wire: Wire) -> None:
        method, path, body, headers = REQUESTS[name]
        response = wire.send(
            method, f"{path}?{account_sas(engine, 'o', letters)}", {**JSON, **headers}, body, signed=False
        )
        assert (response.status < 300) is (set(NEEDS[name]) <= set(letters))

    @pytest.mark.parametrize(
        ("method", "path", "kind", "letter"),
        [
            ("GET", "/Tables", "c", "l"),
            ("GET", "/Tables('Employees')", "c", "l"),
            ("POST", "/Tables", "c", "c"),
            ("POST", "/Tables", "c", "w"),
            ("DELETE", "/Tables('Employees')", "c", "d"),
            ("GET", "/?restype=service&comp=properties", "s", "r"),
            ("PUT", "/?restype=service&comp=properties", "s", "w"),
        ],
    )
    def test_an_account_signature_reaches_what_its_types_and_letters_say(
        self, method: str, path: str, kind: str, letter: str, engine: Engine, wire: Wire
    ) -> None:
        bodies = {"POST": {"TableName": "Payroll"}, "PUT": "<StorageServiceProperties> </StorageServiceProperties>"}
        body: object = bodies.get(method, b"")

        def status(types: str, letters: str) -> tuple[int, str | None]:
            url = path + ("&" if "?" in path else "?") + account_sas(engine, types, letters)
            response = wire.send(method, url, JSON, body, signed=False)
            return response.status, engine.ledger.records[-1].error

        other = "a"
        assert status(kind, other) == (403, "AuthorizationPermissionMismatch")
        assert status("sco".replace(kind, ""), letter) == (403, "AuthorizationResourceTypeMismatch")
        assert status(kind, letter)[0] < 300

    @pytest.mark.parametrize(
        "path", ["/Tables", "/Nobody()", "/Employees?comp=acl", "/?restype=service&comp=properties", "/"]
    )
    def test_a_table_signature_reaches_nothing_but_the_entities_of_its_table(
        self, path: str, engine: Engine, wire: Wire
    ) -> None:
        engine.tables.create("Payroll")
        wire.send("GET", path + ("&" if "?" in path else "?") + table_sas(engine), JSON, signed=False)
        assert engine.ledger.records[-1].error == "AuthorizationFailure"

    @pytest.mark.parametrize("method", ["GET", "PUT"])
    def test_no_signature_reaches_access_policies(self, method: str, engine: Engine, wire: Wire) -> None:
        response = wire.send(method, f"/Employees?comp=acl&{account_sas(engine)}", JSON, signed=False)
        assert (response.status, response.headers["x-ms-error-code"]) == UNAUTHORIZED[:2]

    def test_the_case_of_the_table_does_not_matter(self, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine), "GET", "/EMPLOYEES()") == 200

    @pytest.mark.parametrize("letters", ["ar", "rx", "dr", "rr"])
    def test_letters_out_of_order_or_unknown_are_no_permissions(self, letters: str, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, letters), "GET", "/Employees()")[:2] == FAILED


RANGE: dict[str, Any] = {"start_pk": "b", "start_rk": "2", "end_pk": "d", "end_rk": "5"}
ROWS = [("a", "9"), ("b", "1"), ("b", "2"), ("b", "9"), ("c", "0"), ("c", "9"), ("d", "5"), ("d", "50"), ("e", "0")]
INSIDE = ROWS[2:7]


class TestKeyRanges:
    @pytest.mark.parametrize("keys", ROWS)
    def test_a_point_inside_is_reached_and_one_outside_is_not(
        self, keys: tuple[str, str], engine: Engine, wire: Wire
    ) -> None:
        sas = table_sas(engine, **RANGE)
        inside = keys in INSIDE
        assert ask(wire, sas, "POST", "/Employees", entity(keys[1], keys[0])) == (201 if inside else UNAUTHORIZED)
        assert ask(wire, sas, "GET", entity_path(*keys)) == (200 if inside else UNAUTHORIZED)
        assert ask(wire, sas, "PUT", entity_path(*keys), {}) == (204 if inside else UNAUTHORIZED)

    def test_a_query_sees_the_range_only(self, engine: Engine) -> None:
        for partition, row in ROWS:
            engine.tables.apply("Employees", Operation("insert", partition, row))
        sas = AzureSasCredential(table_sas(engine, **RANGE))
        table = TableClient(URL, "Employees", credential=sas, transport=EngineTransport(engine))
        for size in (1, 3, 1000):
            found = [(each["PartitionKey"], each["RowKey"]) for each in table.list_entities(results_per_page=size)]
            assert found == INSIDE

    def test_a_row_needs_its_partition(self, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, start_rk="2"), "GET", "/Employees()")[:2] == FAILED
        assert ask(wire, table_sas(engine, end_rk="2"), "GET", "/Employees()")[:2] == FAILED

    def test_an_operation_of_a_transaction_outside_is_rejected_with_its_index(self, engine: Engine, wire: Wire) -> None:
        headers, body = batch(
            ("POST", "/Employees", JSON, entity("2", "b")), ("POST", "/Employees", JSON, entity("1", "b"))
        )
        response = wire.send("POST", f"/$batch?{table_sas(engine, **RANGE)}", headers, body, signed=False)
        assert (response.status, b"1:This request is not authorized" in response.body) == (202, True)
        assert engine.tables.query("Employees").entities[0].row_key == "held"


class TestTransactions:
    def test_a_table_signature_covers_a_transaction_on_its_table(self, engine: Engine) -> None:
        sas = AzureSasCredential(table_sas(engine))
        table = TableClient(URL, "Employees", credential=sas, transport=EngineTransport(engine))
        operations = [
            ("create", entity("a")),
            ("upsert", entity("b")),
            ("update", entity("held")),
            ("delete", entity("c")),
        ]
        table.create_entity(entity("c"))
        assert len(table.submit_transaction(operations)) == 4

    def test_every_operation_needs_its_letters_and_its_table(self, engine: Engine, wire: Wire) -> None:
        engine.tables.create("Payroll")
        for sas, url, code in (
            (table_sas(engine, "r"), "/Employees", b"AuthorizationPermissionMismatch"),
            (table_sas(engine), "/Payroll", b"AuthorizationFailure"),
            (account_sas(engine, "sc"), "/Employees", b"AuthorizationResourceTypeMismatch"),
        ):
            response = wire.send("POST", f"/$batch?{sas}", *batch(("POST", url, JSON, entity("a"))), signed=False)
            assert (response.status, code in response.body) == (202, True)


def test_the_sdk_uses_an_account_signature_for_everything_it_reaches(engine: Engine) -> None:
    credential = AzureSasCredential(account_sas(engine, permission=AccountSasPermissions.from_string("rwdlacu")))
    service = TableServiceClient(URL, credential=credential, transport=EngineTransport(engine))
    table = service.create_table("Payroll")
    table.upsert_entity(entity("1"))
    assert [found.name for found in service.list_tables()] == ["Employees", "Payroll"]
    stats: Any = service.get_service_stats()
    assert stats["geo_replication"]["status"] == "live"
    service.delete_table("Payroll")


KEY = st.text("abc", max_size=2)
BOUND = st.none() | KEY


@given(KEY, KEY, BOUND, BOUND, BOUND, BOUND)
def test_a_range_is_what_the_documents_say(
    pk: str, rk: str, spk: str | None, srk: str | None, epk: str | None, erk: str | None
) -> None:
    srk, erk = srk if spk else None, erk if epk else None
    begun = spk is None or (pk >= spk if srk is None else pk > spk or (pk == spk and rk >= srk))
    open_ = epk is None or (pk <= epk if erk is None else pk < epk or (pk == epk and rk <= erk))
    permit = ResourcePermit("employees", frozenset("r"), KeyScope(spk, srk, epk, erk))
    assert isinstance(attempt(lambda: permit.check_keys(pk, rk)), ServiceError) is not (begun and open_)


@given(st.text("rwdlacu"), st.text("sco"), st.sampled_from("sco"), st.lists(st.text("rwdlacu"), min_size=1))
def test_an_account_allows_what_any_of_the_choices_needs(
    letters: str, levels: str, level: str, choices: list[str]
) -> None:
    allowed = level in levels and any(set(choice) <= set(letters) for choice in choices)
    permit = AccountPermit(levels, frozenset(letters))
    assert isinstance(attempt(lambda: permit.check(Need(level, tuple(choices)))), ServiceError) is not allowed
