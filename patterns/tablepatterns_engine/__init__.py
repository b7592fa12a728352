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

What a request passes, in order:

    transport    hands the SDK's requests to the engine, in place of the network
    serving      the same over loopback HTTP; `server` has its connections and listeners
    dispatch     picks the service that a request is for
    http         what the three services share: messages, authorization, errors, XML
    tables, queues, blobs
                 one package per service, with the same files in each

Each service has these files:

    call         one request: what its URL names, and the permissions that its operations require (of queues, in `api`)
    api          the operations as REST requests and responses (also in modules that end in `_api`), and the service's
                 shared access signatures
    json, xml    request and response bodies (those of queues are in `api`)
    service      the rules: one method per operation, each atomic under one lock
    state        the data that the rules work on

Tables have `entities` and `query` besides; blobs have `blob`, `containers`, `listing`, `conditions`
and `leases`, and `headers`, `body` and `crc64` of their requests.

`service` and `state` know nothing about HTTP, JSON or XML. `service` checks every change in full before it makes it.

The account:

    account      Engine: the three services with their clock, faults, targets and ledger; `http.call` knows it without
                 the services, as an `AccountContext`
    clock        the virtual clock
    faults       Faults: rules that make requests fail
    targets      Targets: the request rates above which the account responds with ServerBusy
    ledger       Ledger: every request, what it read, and what it cost
    errors       the error messages of the services, word for word
    resources    rules that the services share: names, metadata, access policies, service properties
    versions     the versions of the services
    key_range    a range of a table in key order
    collections  a dictionary in the order of its keys
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
