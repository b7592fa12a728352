"""What the requests to every service of one account share."""

from __future__ import annotations

from ..clock import Clock
from ..faults import Faults
from ..ledger import Ledger
from ..targets import Targets


class AccountContext:
    """An account's name and key, its clock, ledger, faults and scalability targets; not its services."""

    def __init__(self, name: str, key: str, clock: Clock, targets: Targets | None) -> None:
        self.account_name = name
        self.account_key = key
        self.clock = clock
        self.ledger = Ledger()
        self.faults = Faults()
        self.targets = targets
