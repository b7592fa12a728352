"""An in-memory storage account: the Table, Queue and Blob services behind the REST interface that the Azure SDK uses.

Use it to test code that uses the Azure SDK, with or without the recipes of tablepatterns. Give a client an
`EngineTransport`, or let `patch_azure` answer the clients that your code creates:

>>> from azure.core.credentials import AzureNamedKeyCredential
>>> from azure.data.tables import TableServiceClient
>>> engine = Engine("contoso")
>>> client = TableServiceClient(
...     "https://contoso.table.core.windows.net",
...     credential=AzureNamedKeyCredential("contoso", engine.account_key),
...     transport=EngineTransport(engine),
... )
>>> with engine.faults.busy(operation="CreateTable", times=2), engine.ledger.span() as span:
...     _ = client.create_table("Employees")
>>> [record.status for record in span.records]
[503, 503, 201]

How it works, and what each file is for: docs/architecture.md.
"""

from .account import Engine
from .clock import Clock
from .faults import Fault, Faults, Rule, Where
from .ledger import Ledger, Record, Span, Totals
from .patching import patch_azure
from .targets import Targets
from .transport import AioEngineTransport, EngineTransport

__all__ = [
    "AioEngineTransport",
    "Clock",
    "Engine",
    "EngineTransport",
    "Fault",
    "Faults",
    "Ledger",
    "Record",
    "Rule",
    "Span",
    "Targets",
    "Totals",
    "Where",
    "patch_azure",
]
