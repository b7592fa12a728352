"""Every request to queues gets a response: none makes the service raise, or breaks the state."""

from __future__ import annotations

from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.queue_requests import QueueWire
from support.soundness import check_queues
from tablepatterns_engine.account import Engine

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
OWNER = {"authorization": "Bearer token"}
HOSTS = [
    "https://contoso.queue.core.windows.net",
    "https://contoso-secondary.queue.core.windows.net",
    "https://127.0.0.1:10001/contoso",
    "",
]
PATHS = [
    "",
    "/",
    "/orders",
    "/orders/",
    "/bills",
    "/orders/messages",
    "/orders/messages/id",
    "/%C3%A9",
    "/%ff",
    "/a/b/c",
]
OPTIONS = {
    "comp": ["list", "metadata", "acl", "properties", "stats"],
    "restype": ["service", "queue"],
    "visibilitytimeout": ["0", "1", "604800", "-1", "9" * 18, "9" * 19],
    "messagettl": ["-1", "1", "0", "9" * 18],
    "numofmessages": ["1", "32", "0", "x"],
    "peekonly": ["true", "false"],
    "popreceipt": ["AAAA", "invalid", "AgAAAAMAAAABAAAAQEcsNrqL0Qg="],
    "marker": ["/contoso/orders", "x"],
    "maxresults": ["1", "5000", "5001"],
    "include": ["metadata"],
    "prefix": ["o"],
    "sig": ["AAAA"],
    "sv": ["2020-12-06"],
    "si": ["worker"],
}
BODIES = [
    "",
    "<QueueMessage><MessageText>text</MessageText></QueueMessage>",
    "<QueueMessage><MessageText>" + "x" * 65_537 + "</MessageText></QueueMessage>",
    "<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>",
    "<StorageServiceProperties><Cors /></StorageServiceProperties>",
    '<!DOCTYPE a [<!ENTITY b "c">]><QueueMessage>&b;</QueueMessage>',
]
OPTION = st.sampled_from(sorted(OPTIONS)).flatmap(
    lambda name: st.builds("{}={}".format, st.just(name), st.one_of(st.sampled_from(OPTIONS[name]), ANY_TEXT))
)
PATH = st.builds(
    lambda path, options: f"{path}?{'&'.join(options)}",
    st.one_of(st.sampled_from(PATHS), ANY_TEXT),
    st.lists(OPTION, max_size=4),
)
HEADERS = st.dictionaries(
    st.sampled_from(["x-ms-meta-a", "X-MS-Meta-", "x-ms-meta-1", "x-ms-version", "x-ms-client-request-id", "sip"]),
    ANY_TEXT,
    max_size=3,
)


@examples(400)
@given(
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD", "MERGE", ""]),
    base=st.sampled_from(HOSTS),
    path=PATH,
    headers=HEADERS,
    body=st.one_of(st.sampled_from(BODIES).map(str.encode), st.binary(max_size=50)),
    sender=st.sampled_from([OWNER, OWNER, {}, {"authorization": "SharedKey contoso:AAAA"}]),
)
def test_every_request_is_answered(
    method: str, base: str, path: str, headers: dict[str, str], body: bytes, sender: dict[str, str]
) -> None:
    engine = Engine("contoso")
    engine.queues.create("orders")
    engine.queues.put("orders", "text")
    wire = QueueWire(engine, trust_tokens=True)
    response = wire.send(method, path, {**sender, **headers}, body, base=base, signed=False)
    assert 200 <= response.status < 500 or response.status == 501
    assert engine.ledger.records[-1].status == response.status
    if response.status >= 400:
        assert response.headers["x-ms-error-code"] == engine.ledger.records[-1].error
    if response.body:
        fromstring(response.body)
    check_queues(engine.queues)
