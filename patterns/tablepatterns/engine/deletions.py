"""What is deleted is gone at once, but on the service its name is not free before a while has passed."""

from __future__ import annotations

from ..edm import Ticks
from ..errors import BadInput
from .clock import SECOND, Clock
from .refusal import Refusal
from .texts import Answer


class Deletions:
    """The names of one service that are not free yet; it is not thread-safe by itself, the service's lock guards it.

    >>> from .texts import QUEUE_BEING_DELETED
    >>> clock = Clock()
    >>> deletions = Deletions(clock, QUEUE_BEING_DELETED)
    >>> deletions.seconds = 40
    >>> deletions.begin("orders")
    >>> deletions.check("orders")
    Traceback (most recent call last):
        ...
    tablepatterns.engine.refusal.Refusal: QueueBeingDeleted: The specified queue is being deleted.
    >>> clock.advance(40)
    >>> deletions.check("orders")

    :param clock: what the deletions go by
    :param answer: what whoever wants such a name is told
    """

    def __init__(self, clock: Clock, answer: Answer) -> None:
        self._clock = clock
        self._answer = answer
        self._free_at: dict[str, Ticks] = {}
        self._seconds: float = 0

    @property
    def seconds(self) -> float:
        """How long a deletion takes from now on; what has begun ends as it was to."""
        return self._seconds

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        if not seconds >= 0:
            raise BadInput("deletion_seconds", seconds, "a deletion takes 0 seconds or more", "give 0 to have none")
        self._seconds = seconds

    def begin(self, name: str) -> None:
        """Note that what had this name was deleted."""
        if self._seconds:
            now = self._clock.now()
            self._free_at = {each: moment for each, moment in self._free_at.items() if moment > now}
            self._free_at[name] = Ticks(now + round(self._seconds * SECOND))

    def check(self, name: str) -> None:
        """Refuse a name that is not free yet.

        :raises Refusal: the answer of the service for that
        """
        moment = self._free_at.get(name)
        if moment is not None and moment > self._clock.now():
            raise Refusal(self._answer)
