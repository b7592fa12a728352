"""Commit several changes in one partition, of one set or several, as one atomic request."""

from __future__ import annotations

from ..argument_types import checked
from ..entity_set.commit import E, Write, commit
from ..recipe import Account_co, Pattern, recipe
from ..retry import RETRY_FOR


class EntityGroupTransaction(Pattern[Account_co]):
    """Commit changes of several entities, of one type or many, as one atomic request.

    Use it if entities of one partition must change together, such as a department's count of employees with each
    employee. All changes must be in one table and one PartitionKey.

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

    Consistency: all changes with all their derived rows are applied, or none is. Each is conditional on the ETag that
    the caller read; an error names the change that failed. Values of unique indexes may pass from one entity to
    another.

    A transaction cannot hold more than 100 operations or 4 MB, or touch one entity twice. This is checked before any
    request.

    Cost: 1 storage transaction.

    :raises BadTableName: the service would reject the table's name

    The parameters are those of `EntitySet`. Guide: entity group transactions.
    """

    @checked
    def __init__(self, account: Account_co, table: str) -> None:
        super().__init__(account)
        self.table = account.table(table)

    @recipe
    async def commit(self, *changes: Write[E], retry_for: float = RETRY_FOR) -> list[E]:
        """Apply all the changes or none, and return each entity with its new ETag. Cost: 1 transaction.

        A change of a set with a model returns an instance.

        :param changes: made by `inserting`, `replacing`, `merging` and `deleting` of sets on this table
        :param retry_for: the seconds to keep retrying while others write rows that entities share, such as totals and
            lists; a change of an entity itself is not retried
        :raises BadInput: the changes are of several tables or partitions, or touch one entity twice
        :raises LimitExceeded: more than 100 operations or 4 MB, derived rows included
        :raises EntityChanged: an entity changed since it was read; `index` says which operation failed
        :raises EntityAlreadyExists: an entity to be inserted exists
        :raises EntityNotFound: an entity to be changed does not exist
        :raises DuplicateIndexValue: an entity outside the transaction, or two in it, have the same key in an index
        :raises TransactionFailed: the service rejected the transaction for another reason
        """
        entities = await commit(self.account, self.table, *changes, retry_for=retry_for)
        pairs = zip(changes, entities, strict=True)
        return [entity if write.convert is None else write.convert(entity) for write, entity in pairs]
