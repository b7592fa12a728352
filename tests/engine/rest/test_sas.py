"""Shared access signatures, made by the SDK: what they allow, where, when, and for whom."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.data.tables import (
    AccountSasPermissions,
    ResourceTypes,
    TableAccessPolicy,
    TableClient,
    TableServiceClient,
    generate_account_sas,
    generate_table_sas,
)
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns.engine.account import Engine
from tablepatterns.engine.clock import Clock
from tablepatterns.engine.refusal import Refusal
from tablepatterns.engine.rest.access import AccountPermit, Need, ResourcePermit
from tablepatterns.engine.scope import KeyScope
from tablepatterns.engine.tables import Operation
from tablepatterns.engine.transport import EngineTransport
from wire import JSON, Wire, attempt, batch, entity_path, sign

URL = "https://contoso.table.core.windows.net"
NOW = datetime(2014, 8, 22, 0, 50, 32, 500_000, tzinfo=timezone.utc)
LATER = NOW + timedelta(hours=1)  # the SDK writes whole seconds: 01:50:32
UNAUTHORIZED = (403, "AuthorizationFailure", "This request is not authorized to perform this operation.")
NO_PERMISSION = (
    403,
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
NO_RESOURCE_TYPE = (
    403,
    "AuthorizationResourceTypeMismatch",
    "This request is not authorized to perform this operation using this resource type.",
)
FAILED = (403, "AuthenticationFailed")


def owner(engine: Engine) -> AzureNamedKeyCredential:
    return AzureNamedKeyCredential(engine.account_name, engine.account_key)


def table_sas(engine: Engine, permission: str | None = "raud", expiry: datetime | None = LATER, **options: Any) -> str:
    return generate_table_sas(owner(engine), "Employees", permission=permission, expiry=expiry, **options)


def account_sas(engine: Engine, types: str = "sco", permission: Any = "rwdlacu", **options: Any) -> str:
    options = {"expiry": LATER, **options}
    return generate_account_sas(owner(engine), ResourceTypes.from_string(types), permission, **options)


def ask(wire: Wire, sas: str, method: str, path: str, body: object = b"", **options: Any) -> Any:
    """Send a request with a signature; return its status, or what it was refused with."""
    separator = "&" if "?" in path else "?"
    response = wire.send(
        method, f"{path}{separator}{sas}", {**JSON, **options.pop("headers", {})}, body, signed=False, **options
    )
    if response.status < 300:
        return response.status
    return wire.refusal(method, f"{path}{separator}{sas}", JSON, body, signed=False, **options)


def entity(row: str, partition: str = "p") -> dict[str, str]:
    return {"PartitionKey": partition, "RowKey": row}


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
        body: object = (
            {"TableName": "Payroll"} if method == "POST" else "<StorageServiceProperties />" if method == "PUT" else b""
        )

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


class TestSignatures:
    @pytest.mark.parametrize("make", [table_sas, account_sas])
    def test_a_changed_field_breaks_the_signature(self, make: Any, engine: Engine, wire: Wire) -> None:
        sas = make(engine, start=NOW - timedelta(days=1), ip_address_or_range="127.0.0.1", protocol="https,http")
        fields = dict(field.split("=", 1) for field in sas.split("&"))
        assert ask(wire, sas, "GET", "/Employees()") == 200
        for name in fields:
            changed = "&".join(f"{key}={value}{'0' if key == name else ''}" for key, value in fields.items())
            assert ask(wire, changed, "GET", "/Employees()")[0] == 403
            missing = "&".join(f"{key}={value}" for key, value in fields.items() if key != name)
            assert ask(wire, missing, "GET", "/Employees()")[0] in (401, 403)

    def test_another_table_has_another_signature(self, engine: Engine, wire: Wire) -> None:
        engine.tables.create("Payroll")
        sas = table_sas(engine).replace("tn=Employees", "tn=Payroll")
        assert ask(wire, sas, "GET", "/Payroll()")[:2] == FAILED

    @pytest.mark.parametrize("version", ["", "2014-02-14", "newest", "2019-02-0"])
    def test_a_version_before_these_signatures_is_refused(self, version: str, engine: Engine, wire: Wire) -> None:
        sas = table_sas(engine).replace("sv=2019-02-02", f"sv={version}")
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED

    def test_a_newer_version_signs_the_encryption_scope_too(self, engine: Engine, wire: Wire) -> None:
        fields = {
            "sp": "r",
            "ss": "t",
            "srt": "o",
            "st": "",
            "se": "2014-08-23",
            "sip": "",
            "spr": "https",
            "sv": "2020-12-06",
            "ses": "scope",
        }
        fields["sig"] = sign(engine, "\n".join(["contoso", *fields.values(), ""])).replace("+", "%2B")
        sas = "&".join(f"{name}={value}" for name, value in fields.items() if value)
        assert ask(wire, sas, "GET", "/Employees()") == 200
        assert ask(wire, sas.replace("ses=scope", "ses=other"), "GET", "/Employees()")[:2] == FAILED

    def test_an_account_signature_for_other_services_is_none_for_tables(self, engine: Engine, wire: Wire) -> None:
        fields = {
            "sp": "r",
            "ss": "bq",
            "srt": "o",
            "st": "",
            "se": "2014-08-23",
            "sip": "",
            "spr": "",
            "sv": "2019-02-02",
        }
        fields["sig"] = sign(engine, "\n".join(["contoso", *fields.values(), ""])).replace("+", "%2B")
        sas = "&".join(f"{name}={value}" for name, value in fields.items() if value)
        assert ask(wire, sas, "GET", "/Employees()")[:2] == (403, "AuthorizationServiceMismatch")


class TestTime:
    def test_a_signature_ends_by_the_engines_clock(self, engine: Engine, wire: Wire) -> None:
        sas = table_sas(engine)
        engine.clock.advance(3599.4)
        assert ask(wire, sas, "GET", "/Employees()") == 200
        engine.clock.advance(0.1)
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED

    def test_a_signature_begins_by_the_engines_clock(self, engine: Engine, wire: Wire) -> None:
        sas = account_sas(engine, start=NOW + timedelta(minutes=1))
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED
        engine.clock.advance(60)
        assert ask(wire, sas, "GET", "/Employees()") == 200

    @pytest.mark.parametrize(
        "expiry", ["2014-08-23", "2014-08-22T01:00Z", "2014-08-22T01:00:00Z", "2014-08-22T01:00:00.1234567Z"]
    )
    def test_a_moment_is_written_in_every_form_of_iso_8601_that_the_service_takes(
        self, expiry: Any, engine: Engine, wire: Wire
    ) -> None:
        assert ask(wire, table_sas(engine, expiry=expiry), "GET", "/Employees()") == 200

    @pytest.mark.parametrize("expiry", ["soon", "2014-02-30", None])
    def test_a_signature_needs_an_end(self, expiry: Any, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, expiry=expiry), "GET", "/Employees()")[:2] == FAILED


class TestTheWay:
    def test_a_signature_for_https_is_none_for_http(self, engine: Engine, wire: Wire) -> None:
        sas = table_sas(engine, protocol="https")
        assert ask(wire, sas, "GET", "/Employees()") == 200
        assert ask(wire, sas, "GET", "/Employees()", base=URL.replace("https", "http"))[:2] == (
            403,
            "AuthorizationProtocolMismatch",
        )

    def test_a_signature_for_http_alone_is_none(self, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, protocol="http"), "GET", "/Employees()")[:2] == FAILED

    @pytest.mark.parametrize(
        ("addresses", "client", "allowed"),
        [
            ("10.0.0.1", "10.0.0.1", True),
            ("10.0.0.1", "10.0.0.2", False),
            ("10.0.0.1-10.0.0.9", "10.0.0.9", True),
            ("10.0.0.1-10.0.0.9", "10.0.0.10", False),
            ("10.0.0.1-10.0.0.9", "10.0.0.0", False),
            ("10.0.0.1", "::1", False),
        ],
    )
    def test_a_signature_may_be_for_some_addresses(
        self, addresses: str, client: str, allowed: bool, engine: Engine, wire: Wire
    ) -> None:
        answer = ask(wire, table_sas(engine, ip_address_or_range=addresses), "GET", "/Employees()", client=client)
        assert answer == (
            200
            if allowed
            else (
                403,
                "AuthorizationSourceIPMismatch",
                f"This request is not authorized to perform this operation using this source IP {client}.",
            )
        )

    @pytest.mark.parametrize("addresses", ["somewhere", "10.0.0.1-", "10.0.0.1-10.0.0.2-10.0.0.3"])
    def test_what_is_no_address_is_no_restriction_that_can_be_met(
        self, addresses: str, engine: Engine, wire: Wire
    ) -> None:
        answer = ask(wire, table_sas(engine, ip_address_or_range=addresses), "GET", "/Employees()", client="10.0.0.5")
        assert answer[0] == 403


class TestStoredPolicies:
    @pytest.fixture
    def table(self, table: TableClient) -> TableClient:
        table.set_table_access_policy(
            {
                "all": TableAccessPolicy(start=NOW, expiry=LATER, permission="raud"),
                "letters": TableAccessPolicy(permission="r"),
            }
        )
        return table

    def test_what_the_signature_leaves_out_the_policy_says(
        self, table: TableClient, engine: Engine, wire: Wire
    ) -> None:
        sas = table_sas(engine, None, None, policy_id="all")
        assert ask(wire, sas, "POST", "/Employees", entity("new")) == 201
        assert ask(wire, table_sas(engine, None, LATER, policy_id="letters"), "GET", "/Employees()") == 200
        engine.clock.advance(3600)
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED

    def test_a_policy_that_is_changed_or_gone_changes_its_signatures(
        self, table: TableClient, engine: Engine, wire: Wire
    ) -> None:
        sas = table_sas(engine, None, None, policy_id="all")
        table.set_table_access_policy({"all": TableAccessPolicy(expiry=LATER, permission="r")})
        assert ask(wire, sas, "POST", "/Employees", entity("new")) == NO_PERMISSION
        table.set_table_access_policy({})
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED

    def test_signature_and_policy_may_not_both_say_it(self, table: TableClient, engine: Engine, wire: Wire) -> None:
        assert ask(wire, table_sas(engine, "r", None, policy_id="all"), "GET", "/Employees()")[:2] == FAILED
        assert ask(wire, table_sas(engine, None, LATER, policy_id="all"), "GET", "/Employees()")[:2] == FAILED

    def test_a_policy_of_no_name_or_of_no_table_is_none(self, table: TableClient, engine: Engine, wire: Wire) -> None:
        sas = table_sas(engine, None, None, policy_id="nobody")
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED
        engine.tables.delete("Employees")
        assert ask(wire, sas, "GET", "/Employees()")[:2] == FAILED


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

    def test_an_operation_of_a_transaction_outside_is_refused_with_its_index(self, engine: Engine, wire: Wire) -> None:
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
    assert isinstance(attempt(lambda: permit.check_keys(pk, rk)), Refusal) is not (begun and open_)


@given(st.text("rwdlacu"), st.text("sco"), st.sampled_from("sco"), st.lists(st.text("rwdlacu"), min_size=1))
def test_an_account_allows_what_any_of_the_choices_needs(
    letters: str, levels: str, level: str, choices: list[str]
) -> None:
    allowed = level in levels and any(set(choice) <= set(letters) for choice in choices)
    permit = AccountPermit(levels, frozenset(letters))
    assert isinstance(attempt(lambda: permit.check(Need(level, tuple(choices)))), Refusal) is not allowed


def test_a_running_clock_counts_too() -> None:
    engine = Engine("contoso", clock=Clock())
    engine.tables.create("Employees")
    wire = Wire(engine)
    assert (
        ask(wire, table_sas(engine, expiry=datetime.now(timezone.utc) + timedelta(minutes=5)), "GET", "/Employees()")
        == 200
    )
    engine.clock.advance(301)
    assert (
        ask(wire, table_sas(engine, expiry=datetime.now(timezone.utc) + timedelta(minutes=5)), "GET", "/Employees()")[
            :2
        ]
        == FAILED
    )
