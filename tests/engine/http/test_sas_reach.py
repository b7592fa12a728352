"""Shared access signatures from the SDK: the operations, tables and keys that they permit."""

from __future__ import annotations

import pytest
from azure.core.credentials import AzureSasCredential
from azure.data.tables import TableClient
from hypothesis import given
from hypothesis import strategies as st

from support.table_requests import JSON, Wire, attempt, entity_path
from support.table_signatures import FAILED, URL, ask, entity, table_sas
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

    @pytest.mark.parametrize("letters", ["ar", "rx", "dr", "rr"])
    def test_letters_out_of_order_or_unknown_are_no_permissions(self, letters: str, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, letters), "GET", "/Employees()")[:2] == FAILED


class TestKeyRanges:
    def test_a_row_needs_its_partition(self, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, start_rk="2"), "GET", "/Employees()")[:2] == FAILED
        assert ask(wire, table_sas(engine, end_rk="2"), "GET", "/Employees()")[:2] == FAILED


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
