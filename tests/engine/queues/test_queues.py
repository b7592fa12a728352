"""Queues themselves: names, creation and deletion, lists, metadata, policies."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given

from support.table_states import Rejected, service_error_of
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import Queues
from tablepatterns_engine.resources import AccessPolicy, CorsRule, ServiceProperties

LENGTH = ("OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
CHARACTERS = ("InvalidResourceName", "The specifed resource name contains invalid characters.")
NOT_FOUND = ("QueueNotFound", "The specified queue does not exist.")
EXISTS = ("QueueAlreadyExists", "The specified queue already exists.")


def names(queues: Queues) -> list[str]:
    return [listed.name for listed in queues.page()[0]]


class TestNames:
    @pytest.mark.parametrize("name", ["abc", "a" * 63, "0-a-1", "123"])
    def test_small_letters_digits_and_single_hyphens_make_a_name(self, queues: Queues, name: str) -> None:
        assert queues.create(name)
        assert name in names(queues)

    @pytest.mark.parametrize("name", ["", "ab", "a" * 64])
    def test_a_name_has_3_to_63_characters(self, queues: Queues, rejected: Rejected, name: str) -> None:
        with rejected(*LENGTH):
            queues.create(name)

    @pytest.mark.parametrize(
        "name", ["Orders", "-orders", "orders-", "or--ders", "or_ders", "or.ders", "örders", "or\n"]
    )
    def test_nothing_else_is_in_a_name(self, queues: Queues, rejected: Rejected, name: str) -> None:
        with rejected(*CHARACTERS):
            queues.create(name)

    def test_a_bad_name_is_rejected_by_every_method(self, queues: Queues, rejected: Rejected) -> None:
        for call in (queues.delete, queues.count, queues.get, queues.peek, queues.clear, queues.get_policies):
            with rejected(*CHARACTERS):
                call("Orders")


class TestCreationAndDeletion:
    def test_creating_a_queue_again_with_the_same_metadata_is_no_change(self, queues: Queues) -> None:
        assert queues.create("bills", {"Colour": "red"})
        queues.put("bills", "kept")
        assert not queues.create("bills", {"colour": "red"})
        assert queues.count("bills") == 1

    @pytest.mark.parametrize("metadata", [{}, {"colour": "blue"}, {"colour": "red", "size": "1"}])
    def test_creating_it_again_with_other_metadata_is_rejected(
        self, queues: Queues, rejected: Rejected, metadata: dict[str, str]
    ) -> None:
        queues.create("bills", {"colour": "red"})
        with rejected(*EXISTS):
            queues.create("bills", metadata)

    def test_a_deleted_queue_is_gone_with_its_messages_and_policies(self, queues: Queues) -> None:
        queues.put("orders", "text")
        queues.set_policies("orders", [AccessPolicy("one")])
        queues.delete("orders")
        assert names(queues) == []
        queues.create("orders")
        assert (queues.count("orders"), queues.get_policies("orders")) == (0, ())

    def test_a_missing_queue_is_rejected_by_every_method(self, queues: Queues, rejected: Rejected) -> None:
        receipt = queues.put("orders", "text").receipt
        calls: list[Callable[[], object]] = [
            lambda: queues.delete("bills"),
            lambda: queues.get_metadata("bills"),
            lambda: queues.set_metadata("bills", {}),
            lambda: queues.count("bills"),
            lambda: queues.put("bills", "text"),
            lambda: queues.get("bills"),
            lambda: queues.peek("bills"),
            lambda: queues.update("bills", "id", receipt, 0),
            lambda: queues.remove("bills", "id", receipt),
            lambda: queues.clear("bills"),
            lambda: queues.get_policies("bills"),
            lambda: queues.set_policies("bills", []),
        ]
        for call in calls:
            with rejected(*NOT_FOUND):
                call()


class TestLists:
    def test_queues_are_listed_in_the_order_of_their_names_with_their_metadata(self, queues: Queues) -> None:
        queues.create("bills", {"colour": "red"})
        assert queues.page() == ([("bills", {"colour": "red"}), ("orders", {})], None)

    def test_a_prefix_leaves_out_what_begins_otherwise(self, queues: Queues) -> None:
        for name in ("order", "orders-1", "p-orders"):
            queues.create(name)
        assert [listed.name for listed in queues.page("orders")[0]] == ["orders", "orders-1"]
        assert queues.page("none") == ([], None)

    def test_a_page_says_where_the_next_begins(self, queues: Queues) -> None:
        for name in ("orders-1", "orders-2", "other"):
            queues.create(name)
        page, start = queues.page("orders", limit=2)
        assert ([listed.name for listed in page], start) == (["orders", "orders-1"], "orders-2")
        assert queues.page("orders", "orders-2", 2) == ([("orders-2", {})], None)

    @pytest.mark.parametrize("limit", [0, -1, 5001])
    def test_a_page_has_1_to_5000_queues(self, queues: Queues, rejected: Rejected, limit: int) -> None:
        queues.page(limit=5000)
        with rejected("OutOfRangeQueryParameterValue"):
            queues.page(limit=limit)

    @given(
        made=st.sets(st.text("ab1", min_size=3, max_size=5)),
        prefix=st.text("ab1", max_size=3),
        limit=st.integers(1, 4),
    )
    def test_pages_laid_end_to_end_are_the_whole_list(self, made: set[str], prefix: str, limit: int) -> None:
        queues = Queues(Clock())
        for name in made:
            queues.create(name)
        found: list[str] = []
        start: str | None = ""
        while start is not None:
            page, start = queues.page(prefix, start, limit)
            assert len(page) <= limit
            found += [listed.name for listed in page]
        assert found == sorted(name for name in made if name.startswith(prefix))


class TestMetadata:
    def test_metadata_is_replaced_as_a_whole(self, queues: Queues) -> None:
        queues.set_metadata("orders", {"colour": "red", "Size": "1"})
        assert queues.get_metadata("orders") == {"colour": "red", "Size": "1"}
        queues.set_metadata("orders", {"_weight": ""})
        assert queues.get_metadata("orders") == {"_weight": ""}

    @pytest.mark.parametrize(
        ("name", "code"),
        [("", "EmptyMetadataKey"), ("1a", "InvalidMetadata"), ("a-b", "InvalidMetadata"), ("ä", "InvalidMetadata")],
    )
    def test_a_name_that_is_no_identifier_is_rejected(
        self, queues: Queues, rejected: Rejected, name: str, code: str
    ) -> None:
        with rejected(code):
            queues.set_metadata("orders", {name: "value"})
        with rejected(code):
            queues.create("bills", {name: "value"})

    def test_names_and_values_have_8_kib_together_and_no_byte_more(self, queues: Queues, rejected: Rejected) -> None:
        queues.set_metadata("orders", {"abcd": "x" * (8192 - 6 - 2), "ef": "é"})
        with rejected("MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB)."):
            queues.set_metadata("orders", {"abcd": "x" * (8192 - 6 - 1), "ef": "é"})

    def test_a_returned_queue_does_not_change(self, queues: Queues) -> None:
        given_metadata = {"colour": "red"}
        queues.set_metadata("orders", given_metadata)
        before = queues.get_metadata("orders")
        given_metadata["colour"] = "blue"
        queues.set_metadata("orders", {})
        assert before == {"colour": "red"}


class TestSettings:
    def test_policies_know_the_permissions_of_queues(self, queues: Queues, rejected: Rejected) -> None:
        policies = [AccessPolicy("worker", permission="raup"), AccessPolicy("nothing")]
        queues.set_policies("orders", policies)
        assert list(queues.get_policies("orders")) == policies
        with rejected("InvalidXmlDocument"):
            queues.set_policies("orders", [AccessPolicy("worker", permission="raud")])

    def test_a_queue_has_5_policies_and_not_6(self, queues: Queues, rejected: Rejected) -> None:
        queues.set_policies("orders", [AccessPolicy(str(n)) for n in range(5)])
        with rejected("InvalidXmlDocument"):
            queues.set_policies("orders", [AccessPolicy(str(n)) for n in range(6)])

    def test_the_properties_are_those_of_this_service(self, queues: Queues, rejected: Rejected) -> None:
        rule = CorsRule(("GET",), ("*",))
        queues.set_service_properties(ServiceProperties(cors=(rule,)))
        assert queues.get_service_properties().cors == (rule,)
        with rejected("InvalidXmlDocument"):
            queues.set_service_properties(ServiceProperties(cors=(rule,) * 6))


def test_accounts_share_no_queues() -> None:
    one, other = Queues(Clock()), Queues(Clock())
    one.create("orders")
    assert service_error_of(lambda: other.count("orders")) is not None
