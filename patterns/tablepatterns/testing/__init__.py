"""Test your own code on an in-memory account whose time, network and capacity the test controls.

With pytest, use the fixtures `azure_storage`, `azure_aio_storage`, `azure_clock`, `azure_faults` and `azure_traffic`
without importing anything; see "Testing your own code" in the documentation.

>>> from tablepatterns import connect
>>> engine = Engine()
>>> storage = connect(engine)
>>> with engine.faults.busy(operation="CreateTable", times=2), engine.ledger.span() as span:
...     _ = storage.tables.create_table("Employees")
>>> [record.status for record in span.records]
[503, 503, 201]
"""

from ..engine.account import Engine
from ..engine.clock import Clock
from ..engine.faults import Fault, Faults, Rule, Where
from ..engine.ledger import Ledger, Record, Span, Totals
from ..engine.targets import Targets
from .explore import Counterexample, Explored, World, explore, replay
from .patching import patch_azure
from .traffic import AccountTraffic

__all__ = [
    "AccountTraffic",
    "Clock",
    "Counterexample",
    "Engine",
    "Explored",
    "Fault",
    "Faults",
    "Ledger",
    "Record",
    "Rule",
    "Span",
    "Targets",
    "Totals",
    "Where",
    "World",
    "explore",
    "patch_azure",
    "replay",
]
