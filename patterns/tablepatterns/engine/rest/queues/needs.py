"""What the operations of the Queue service ask of a shared access signature."""

from __future__ import annotations

from typing import Final

from ..access import Need, on_object

LIST_QUEUES: Final = Need("s", ("l",))
CREATE_QUEUE: Final = Need("c", ("c", "w"))
DELETE_QUEUE: Final = Need("c", ("d",))
READ_METADATA: Final = Need("c", ("r",), ("r",))
WRITE_METADATA: Final = Need("c", ("w",))
PUT: Final = on_object("a")
GET: Final = on_object("p")
PEEK: Final = on_object("r")
UPDATE: Final = on_object("u")
DELETE: Final = on_object("p")
CLEAR: Final = Need("o", ("d",))
"""Only an account's signature reaches it: no signature of a queue has the letter."""
