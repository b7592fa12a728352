"""What the operations of the Blob service ask of a shared access signature.

The own signature of a blob or a container reaches blobs, and of a container besides the list of its blobs.
"""

from __future__ import annotations

from typing import Final

from ..access import Need


def _on_blob(*choices: str) -> Need:
    return Need("o", choices, choices)


LIST_CONTAINERS: Final = Need("s", ("l",))
ACCOUNT: Final = Need("s", ("r", "w", "d", "l", "a", "c", "u", "p"), tuple("racwdxyltfmeopi"))
"""Whatever a signature of a container or a blob allows, it tells this too."""
CREATE_CONTAINER: Final = Need("c", ("c", "w"))
READ_CONTAINER: Final = Need("c", ("r",))
WRITE_CONTAINER: Final = Need("c", ("w",))
BREAK_CONTAINER_LEASE: Final = Need("c", ("w", "d"))
DELETE_CONTAINER: Final = Need("c", ("d",))
LIST_BLOBS: Final = Need("c", ("l",), ("l",))
READ: Final = _on_blob("r")
CREATE: Final = _on_blob("w", "c")
"""With "c" alone nothing is replaced."""
WRITE: Final = _on_blob("w")
ADD: Final = _on_blob("w", "a")
SNAPSHOT: Final = _on_blob("w", "c")
BREAK_LEASE: Final = _on_blob("w", "d")
DELETE: Final = _on_blob("d")
TAGS: Final = _on_blob("t")
