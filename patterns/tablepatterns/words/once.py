"""Once: what is made when it is first asked for, such as an SDK client with all that it loads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A value that is made once, whichever thread asks first.

    >>> asked = Once(lambda: [print("made")])
    >>> asked.made is None
    True
    >>> asked() is asked()
    made
    True

    :param make: makes it
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.made: T | None = None
        """The value, or None as long as nobody asked."""

    def __call__(self) -> T:
        """Return the value."""
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made
