"""Stored access policies and service properties are stored unchanged, within the service's limits."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from support.table_states import Rejected
from tablepatterns.edm import Ticks
from tablepatterns_engine.resources import AccessPolicy, CorsRule, Logging, Metrics, Retention, ServiceProperties
from tablepatterns_engine.tables.service import Tables

NOT_VALID = ("InvalidXmlDocument", "XML specified is not syntactically valid.")
START = Ticks.of(datetime(2020, 8, 19, 21, 13, 7, tzinfo=timezone.utc))


def test_a_new_table_has_no_policies(tables: Tables) -> None:
    assert list(tables.get_policies("People")) == []


def test_policies_come_back_as_they_were_given_with_missing_parts_missing(tables: Tables) -> None:
    policies = [
        AccessPolicy("all", START, Ticks(START + 1), "raud"),
        AccessPolicy("only-letters", permission="r"),
        AccessPolicy("nothing"),
    ]
    tables.set_policies("people", policies)
    assert list(tables.get_policies("People")) == policies
    tables.set_policies("People", [])
    assert list(tables.get_policies("People")) == []


def test_a_table_has_5_policies_and_not_6(tables: Tables, rejected: Rejected) -> None:
    tables.set_policies("People", [AccessPolicy(str(n)) for n in range(5)])
    with rejected(*NOT_VALID):
        tables.set_policies("People", [AccessPolicy(str(n)) for n in range(6)])


def test_a_policy_name_has_64_characters_and_not_65(tables: Tables, rejected: Rejected) -> None:
    tables.set_policies("People", [AccessPolicy("a" * 64)])
    with rejected(*NOT_VALID):
        tables.set_policies("People", [AccessPolicy("a" * 65)])


@pytest.mark.parametrize(
    "policies", [[AccessPolicy("one"), AccessPolicy("one")], [AccessPolicy("one", permission="rw")]]
)
def test_a_name_twice_or_an_unknown_permission_is_rejected(
    tables: Tables, rejected: Rejected, policies: list[AccessPolicy]
) -> None:
    with rejected(*NOT_VALID):
        tables.set_policies("People", policies)


def test_policies_go_with_their_table(tables: Tables) -> None:
    tables.set_policies("People", [AccessPolicy("one")])
    tables.delete("People")
    tables.create("People")
    assert list(tables.get_policies("People")) == []


# -- Service properties

RULE = CorsRule(allowed_origins=("*",), allowed_methods=("GET",))


def test_a_new_service_logs_nothing_measures_nothing_and_lets_no_browser_in(tables: Tables) -> None:
    assert tables.get_service_properties() == ServiceProperties(
        Logging("1.0", read=False, write=False, delete=False, retention=Retention(enabled=False, days=None)),
        Metrics("1.0", enabled=False, include_apis=None, retention=Retention(enabled=False, days=None)),
        Metrics("1.0", enabled=False, include_apis=None, retention=Retention(enabled=False, days=None)),
        (),
    )


def test_properties_come_back_as_they_were_given(tables: Tables) -> None:
    given = ServiceProperties(
        Logging(read=True, retention=Retention(enabled=True, days=5)),
        Metrics(enabled=True, include_apis=True),
        cors=(RULE, CorsRule(("GET",), ("*",))),
    )
    tables.set_service_properties(given)
    assert tables.get_service_properties() == given


def test_a_service_has_5_cors_rules_and_not_6(tables: Tables, rejected: Rejected) -> None:
    tables.set_service_properties(ServiceProperties(cors=(RULE,) * 5))
    with rejected(*NOT_VALID):
        tables.set_service_properties(ServiceProperties(cors=(RULE,) * 6))


@pytest.mark.parametrize("days", [1, 365])
def test_a_retention_has_1_to_365_days(tables: Tables, days: int) -> None:
    tables.set_service_properties(ServiceProperties(Logging(retention=Retention(enabled=True, days=days))))


@pytest.mark.parametrize("days", [None, 0, 366])
def test_another_retention_is_rejected_in_every_setting(tables: Tables, rejected: Rejected, days: int | None) -> None:
    bad = Retention(enabled=True, days=days)
    for properties in (
        ServiceProperties(logging=Logging(retention=bad)),
        ServiceProperties(hour_metrics=Metrics(retention=bad)),
        ServiceProperties(minute_metrics=Metrics(retention=bad)),
    ):
        with rejected(*NOT_VALID):
            tables.set_service_properties(properties)
