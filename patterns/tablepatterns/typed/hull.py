"""Hull: the least range of one partition that holds several ranges of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..edm import ordinal
from ..errors import BadInput
from ..key import KeyRange


def hull(ranges: Sequence[KeyRange]) -> KeyRange:
    """Return the least range that holds all rows of these.

    >>> departments, employees = (KeyRange.beginning_with("Sales", text) for text in ("DEPARTMENT", "EMPLOYEE_"))
    >>> hull([employees, departments])
    KeyRange(partition_key='Sales', lower='DEPARTMENT', lower_inclusive=True, upper='EMPLOYEE`', upper_inclusive=False)

    :param ranges: at least one
    :raises BadInput: they lie in several partitions
    """
    partitions = sorted({each.partition_key for each in ranges})
    if len(partitions) > 1:
        rule = "the types lie in several partitions, which no range query reads at once"
        raise BadInput("PartitionKey", partitions, rule, "ask for each type of its own")
    lowest = min(ranges, key=lambda each: (ordinal(each.lower or ""), not each.lower_inclusive))
    highest = max(ranges, key=lambda each: (each.upper is None, ordinal(each.upper or ""), each.upper_inclusive))
    return KeyRange(partitions[0], lowest.lower, lowest.lower_inclusive, highest.upper, highest.upper_inclusive)
