"""The cost of calls by service, relative to one table operation, at the prices of the package."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.statements import costs_in
from tablepatterns.cost import Cost
from tablepatterns_review import PriceTable

pytestmark = pytest.mark.both_sdks

COUNTS = st.integers(0, 2_000)
COSTS = st.builds(Cost, *[COUNTS] * 6)
PRICES = PriceTable.default().operations


def test_an_operation_of_each_service_costs_what_the_prices_of_the_package_say() -> None:
    one = PRICES["table_writes"]
    assert Cost(table=1).table_operations() == 1
    assert Cost(queue=1).table_operations() == pytest.approx(PRICES["queue_operations"] / one)
    assert Cost(blob_read=1).table_operations() == pytest.approx(PRICES["blob_reads"] / one)
    assert Cost(blob_write=1).table_operations() == pytest.approx(PRICES["blob_writes"] / one)


def test_all_operations_of_tables_have_one_price_which_is_what_others_are_compared_with() -> None:
    assert len({price for name, price in PRICES.items() if name.startswith("table_")}) == 1


@given(COSTS, COSTS)
def test_costs_add_up(one: Cost, other: Cost) -> None:
    both = one + other
    assert both.transactions == one.transactions + other.transactions
    assert both.table_operations() == pytest.approx(one.table_operations() + other.table_operations())


@given(COSTS)
def test_every_cost_is_written_so_that_it_can_be_found_in_a_text(cost: Cost) -> None:
    stated = f"Cost: `insert` {cost}, for each."
    assert costs_in(stated) == ([str(cost)] if cost.transactions else [])
    assert ("equivalent to" in str(cost)) == (cost.table != cost.transactions)


@pytest.mark.parametrize(
    ("service", "operation", "cost"),
    [
        ("table", "Transaction", Cost(table=1)),
        ("queue", "DeleteMessage", Cost(queue=1)),
        ("blob", "GetBlob", Cost(blob_read=1)),
        ("blob", "GetBlobProperties", Cost(blob_other=1)),
        ("blob", "SetBlobMetadata", Cost(blob_other=1)),
        ("blob", "AppendBlock", Cost(blob_write=1)),
        ("blob", "PutBlockList", Cost(blob_write=1)),
        ("blob", "ListBlobs", Cost(blob_list=1)),
        ("blob", "CreateContainer", Cost(blob_list=1)),
        ("blob", "DeleteBlob", Cost(blob_delete=1)),
    ],
)
def test_an_operation_is_of_the_category_that_azure_bills(service: str, operation: str, cost: Cost) -> None:
    assert Cost.of(service, operation) == cost


def test_prices_of_ones_own_are_taken_instead() -> None:
    prices = {"table_writes": 1.0, "queue_operations": 2.0, "blob_reads": 3.0, "blob_writes": 4.0}
    cost = Cost(1, 1, 1, 1, 1, 1, 1)
    assert cost.table_operations(prices) == 1 + 2 + 3 + 4 + 4 + 3
    assert cost.comparison(prices) == "17 table operations"


def test_where_tables_are_free_all_transactions_count_as_one() -> None:
    prices = {"table_writes": 0.0, "queue_operations": 2.0, "blob_reads": 3.0, "blob_writes": 4.0}
    assert Cost(table=1, queue=2).table_operations(prices) == 3
