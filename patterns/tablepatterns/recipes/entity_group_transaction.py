"""Entity group transaction: several changes in one partition, of several sets, all or none.

Status: ready
"""

from __future__ import annotations

from ..argument_types import checked
from ..entity import Entity
from ..entity_set.commit import Write, commit
from ..recipe import Account_co, Pattern, recipe
from ..retry import RETRY_FOR


class EntityGroupTransaction(Pattern[Account_co]):
    """Commit changes of several entities, of one type or many, as one atomic request.

    Goal: entities of several types that share a partition change together, such as a department's count of employees
    with each employee.

    Keys: all changes fall in one table and one PartitionKey; that is often the reason to keep several types in one
    table.

    Guarantees: all changes with all their derived rows are applied, or none is; each is conditional on the ETag of
    what the caller read. A refusal names the change that failed, and nothing has changed.

    Does not: reach across partitions or tables, hold more than 100 operations or 4 MB (both are refused before any
    request), or touch one entity twice.

    Cost: 1 storage transaction.

    >>> from tablepatterns import EntityGroupTransaction, EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> departments = EntitySet(storage, "Staff", Key("{Department}", "Department"))
    >>> sales = departments.insert({"Department": "Sales", "EmployeeCount": 0})
    >>> _ = EntityGroupTransaction(storage, "Staff").commit(
    ...     employees.inserting({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"}),
    ...     departments.merging(sales, {"EmployeeCount": 1}),
    ... )
    >>> departments.get(Department="Sales")["EmployeeCount"]
    1

    :param account: where the table is
    :param table: the table's name
    :raises BadTableName: the service would refuse the table's name

    Guide: entity group transactions.
    """

    @checked
    def __init__(self, account: Account_co, table: str) -> None:
        super().__init__(account)
        self.table = account.table(table)

    @property
    def location(self) -> str:
        """The table that errors name."""
        return f"table {self.table.name}"

    @recipe
    async def commit(self, *changes: Write, retry_for: float = RETRY_FOR) -> list[Entity]:
        """Apply all the changes or none, and return each entity with its new ETag. Cost: 1 transaction.

        :param changes: made by `inserting`, `replacing`, `merging` and `deleting` of sets on this table
        :param retry_for: for how many seconds to retry when others write rows that the changes share with them, such
            as totals and lists; not where an entity itself changed
        :raises BadInput: the changes are of several tables or partitions, or touch one entity twice
        :raises LimitExceeded: more than 100 operations or 4 MB, derived rows included
        :raises EntityChanged: an entity changed since it was read; `index` says which operation failed
        :raises EntityAlreadyExists: an entity to be inserted exists
        :raises EntityNotFound: an entity to be changed does not exist
        :raises TransactionFailed: the service refused for another reason

        Guide: entity group transactions.
        """
        return await commit(self.account, self.table, *changes, retry_for=retry_for)
