"""What the service refuses, as an exception that knows the service's code and text but no HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .texts import Answer


class Refusal(Exception):
    """A request that the service refuses; nothing has changed.

    >>> from tablepatterns.engine.texts import TABLE_NOT_FOUND
    >>> raise Refusal(TABLE_NOT_FOUND)
    Traceback (most recent call last):
        ...
    tablepatterns.engine.refusal.Refusal: TableNotFound: The table specified does not exist.

    :param answer: the service's code and text, from `texts`
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.code = answer.code
        self.message = answer.text
        super().__init__(f"{self.code}: {self.message}")


class TransactionRefusal(Refusal):
    """An entity group transaction that the service refuses; none of its operations was applied.

    `message` is the exact text, with the prefix `<index>:` in front where the service writes one: always, except for
    what the storage of a transaction of a single operation refuses.

    >>> from tablepatterns.engine.texts import ENTITY_ALREADY_EXISTS
    >>> TransactionRefusal(ENTITY_ALREADY_EXISTS, index=3, operations=4).message
    '3:The specified entity already exists.'
    >>> TransactionRefusal(ENTITY_ALREADY_EXISTS, index=0, operations=1).message
    'The specified entity already exists.'

    :param answer: the service's code and text, from `texts`
    :param index: the position of the operation that failed
    :param operations: the number of operations in the transaction
    """

    def __init__(self, answer: Answer, *, index: int, operations: int) -> None:
        super().__init__(answer)
        self.index = index
        self.prefixed = operations > 1 or not answer.storage
        if self.prefixed:
            self.message = f"{index}:{answer.text}"
