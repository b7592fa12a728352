"""What becomes of one request that does not go well: on the way there, in the service, or on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from .texts import OPERATION_TIMED_OUT, OVER_ACCOUNT_LIMIT, SERVER_BUSY, Answer

Loss: TypeAlias = Literal["connection", "request", "answer"]


class Asked(NamedTuple):
    """What a request asks, in the words of the ledger.

    :param service: table, queue or blob
    :param operation: the service's name of the operation
    :param name: the table, the queue or the container, "" where it is about none
    :param partition: the partition it goes to, None where it goes to several or to none
    """

    service: str
    operation: str
    name: str
    partition: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """What becomes of a request.

    :param name: as the ledger tells it
    :param carried_out: whether what it asks is done all the same
    :param answer: what the service says in place of its own answer
    :param headers: what goes with that answer
    :param loses: what the network loses: no answer comes at all
    :param cut_at: after how many bytes of the answer's body the connection breaks
    :param seconds: how late the answer comes
    """

    name: str
    carried_out: bool = True
    answer: Answer | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    loses: Loss | None = None
    cut_at: int | None = None
    seconds: float = 0

    @property
    def is_billed(self) -> bool:
        """Whether the service bills the request: not what it refused for want of capacity or time, or never saw."""
        return self.carried_out and self.answer is None


NO_CONNECTION: Final = Fault("no connection", carried_out=False, loses="connection")
REQUEST_LOST: Final = Fault("request lost", carried_out=False, loses="request")
ANSWER_LOST: Final = Fault("answer lost", loses="answer")
TIMED_OUT_BEFORE: Final = Fault("timed out before the commit", carried_out=False, answer=OPERATION_TIMED_OUT)
TIMED_OUT_AFTER: Final = Fault("timed out after the commit", answer=OPERATION_TIMED_OUT)
BUSY: Final = Fault("busy", carried_out=False, answer=SERVER_BUSY)
ACCOUNT_OVER_TARGET: Final = Fault("account over its target", carried_out=False, answer=OVER_ACCOUNT_LIMIT)
PARTITION_OVER_TARGET: Final = Fault("partition over its target", carried_out=False, answer=SERVER_BUSY)
