"""A row of the budget: a call of a recipe, and its cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from support.declared import import_declaring, is_declared
from tablepatterns import EntitySet, Key
from tablepatterns.cost import Cost

Call: TypeAlias = Callable[[], object]
Prepare: TypeAlias = Callable[[Any], Call]

BY_ID = Key("empid_{Department}", "empid_{EmployeeId:06d}")
ID = {"Department": "Sales", "EmployeeId": 223}


class Budget(NamedTuple):
    """A call and its cost.

    :param recipe: the recipe
    :param call: the call, as code
    :param cost: the storage transactions that the service bills, by service
    :param when: the case
    :param prepare: a function that prepares an account, and returns the call
    :param module: the module of the row
    """

    recipe: str
    call: str
    cost: Cost
    when: str
    prepare: Prepare
    module: str


BUDGETS: list[Budget] = []


def budget(
    recipe: str, call: str, cost: int | Cost, when: str = "", *, on: Callable[[Any], Any] | None = None
) -> Callable[[Prepare], Prepare]:
    """Register a row, with the function that prepares its call, or with the call itself.

    :param cost: the cost of the call; a number means table transactions
    :param on: a function that prepares on an account what the call takes; without it, the call is to be prepared
    """
    costs = cost if isinstance(cost, Cost) else Cost(table=cost)

    def add(function: Prepare) -> Prepare:
        if is_declared(function):
            prepare = (lambda account: partial(function, on(account))) if on else function
            BUDGETS.append(Budget(recipe, call, costs, when, prepare, function.__module__))
        return function

    return add


def all_budgets() -> list[Budget]:
    """Return the rows of the families in this folder, and of the recipes that have them in their own tests."""
    import_declaring("budget", "budgets")
    return BUDGETS


def measured(row: Budget, account: Any) -> Cost:
    """Return the measured cost of a call."""
    call = row.prepare(account)
    with account.engine.ledger.span() as span:
        call()
    return sum((Cost.of(each.service, each.operation, each.billable) for each in span.records), Cost())


def employee(number: int = 223, **changes: Any) -> dict[str, Any]:
    fields = {"Department": "Sales", "EmployeeId": number, "LastName": "Jones", "Age": 34, "Salary": 5000}
    return fields | {"Email": f"{number}@contoso.com"} | changes


def staff(account: Any, *derived: Any, numbers: tuple[int, ...] = (1, 2), **options: Any) -> Any:
    """Return a set with some employees."""
    entities = EntitySet(account, "Staff", options.pop("key", BY_ID), derived=derived, **options)
    for number in numbers:
        entities.insert(employee(number))
    return entities


def first(entities: Any) -> Any:
    """Read the employee with the number 1."""
    return entities.get(Department="Sales", EmployeeId=1)


def changing(entities: Any, **changes: Any) -> Call:
    """Return a replace of the first employee with some changes."""
    read = first(entities)
    read.update(changes)
    return lambda: entities.replace(read)
