"""Shared access signatures from the SDK: account, time, address, and stored policies."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.data.tables import TableAccessPolicy, TableClient

from support.table_requests import Wire, sign
from support.table_signatures import FAILED, LATER, NO_PERMISSION, NOW, URL, account_sas, ask, entity, table_sas
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.service import Operation


@pytest.fixture(autouse=True)
def _held(engine: Engine) -> None:
    engine.tables.apply("Employees", Operation("insert", "p", "held"))


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
    def test_a_version_before_these_signatures_is_rejected(self, version: str, engine: Engine, wire: Wire) -> None:
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
