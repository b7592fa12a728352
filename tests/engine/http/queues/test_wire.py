"""Exact bodies, headers and statuses of queues."""

from __future__ import annotations

import pytest

from support.queue_requests import QueueWire
from tablepatterns.limits import MAX_MESSAGE_BYTES, MAX_REQUEST_BYTES
from tablepatterns_engine.account import Engine

BOM = b"\xef\xbb\xbf"
PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>'
INSERTED = "<InsertionTime>Fri, 22 Aug 2014 00:50:32 GMT</InsertionTime>"
EXPIRES = "<ExpirationTime>Fri, 29 Aug 2014 00:50:32 GMT</ExpirationTime>"


def text(content: str) -> str:
    return f"<QueueMessage><MessageText>{content}</MessageText></QueueMessage>"


def put(wire: QueueWire, content: str = "text", options: str = "") -> tuple[str, str]:
    """Put a message and return its id and its receipt."""
    message = wire.xml("POST", f"/orders/messages{options}", {}, text(content))[0]
    return message.findtext("MessageId") or "", message.findtext("PopReceipt") or ""


class TestMessages:
    def test_putting_returns_id_times_and_receipt(self, wire: QueueWire) -> None:
        response = wire.send("POST", "/orders/messages?visibilitytimeout=60", {}, text("text"))
        (message,) = wire.engine.queues._queue("orders")._messages.values()
        assert (response.status, response.headers["Content-Type"]) == (201, "application/xml")
        assert (
            response.body
            == BOM
            + (
                f"{PROLOGUE}<QueueMessagesList><QueueMessage><MessageId>{message.id}</MessageId>{INSERTED}{EXPIRES}"
                f"<PopReceipt>{message.receipt}</PopReceipt>"
                "<TimeNextVisible>Fri, 22 Aug 2014 00:51:32 GMT</TimeNextVisible></QueueMessage></QueueMessagesList>"
            ).encode()
        )

    def test_getting_returns_all_properties(self, wire: QueueWire) -> None:
        put(wire, "a&lt;b")
        response = wire.send("GET", "/orders/messages")
        (message,) = wire.engine.queues._queue("orders")._messages.values()
        assert (response.headers["Cache-Control"], response.headers["Vary"]) == ("no-cache", "Origin")
        assert (
            response.body
            == BOM
            + (
                f"{PROLOGUE}<QueueMessagesList><QueueMessage><MessageId>{message.id}</MessageId>{INSERTED}{EXPIRES}"
                f"<PopReceipt>{message.receipt}</PopReceipt>"
                "<TimeNextVisible>Fri, 22 Aug 2014 00:51:02 GMT</TimeNextVisible>"
                "<DequeueCount>1</DequeueCount><MessageText>a&lt;b</MessageText></QueueMessage></QueueMessagesList>"
            ).encode()
        )

    def test_peeking_returns_no_receipt(self, wire: QueueWire) -> None:
        message_id, _ = put(wire, "")
        assert (
            wire.send("GET", "/orders/messages?peekonly=TRUE").body
            == BOM
            + (
                f"{PROLOGUE}<QueueMessagesList><QueueMessage><MessageId>{message_id}</MessageId>{INSERTED}{EXPIRES}"
                "<DequeueCount>0</DequeueCount><MessageText /></QueueMessage></QueueMessagesList>"
            ).encode()
        )

    def test_updating_returns_the_new_receipt_in_headers(self, wire: QueueWire) -> None:
        message_id, receipt = put(wire)
        response = wire.send(
            "PUT", f"/orders/messages/{message_id}?popreceipt={receipt.replace('=', '%3d')}&visibilitytimeout=90"
        )
        (message,) = wire.engine.queues._queue("orders")._messages.values()
        assert (response.status, response.body, response.headers["Content-Length"]) == (204, b"", "0")
        assert response.headers["x-ms-popreceipt"] == message.receipt != receipt
        assert response.headers["x-ms-time-next-visible"] == "Fri, 22 Aug 2014 00:52:02 GMT"
        assert message.text == "text"

    def test_a_body_replaces_the_text_even_by_nothing(self, wire: QueueWire) -> None:
        message_id, receipt = put(wire)
        wire.send("PUT", f"/orders/messages/{message_id}?popreceipt={receipt}&visibilitytimeout=0", {}, text(""))
        assert wire.xml("GET", "/orders/messages")[0].findtext("MessageText") == ""

    @pytest.mark.parametrize(
        ("sent", "kept"),
        [
            ("a<b>c</b>d", "acd"),
            ("<![CDATA[<&>]]>", "<&>"),
            (" \n\t ", " \n\t "),
            ("a&#13;&#10;b", "a\r\nb"),
            ("&#x1F6EB;é", "\U0001f6ebé"),
        ],
    )
    def test_a_text_is_what_xml_makes_of_it(self, sent: str, kept: str, wire: QueueWire) -> None:
        put(wire, sent)
        assert wire.xml("GET", "/orders/messages")[0].findtext("MessageText") == kept

    def test_an_entity_of_xml_is_not_expanded(self, wire: QueueWire) -> None:
        body = '<!DOCTYPE a [<!ENTITY e "x">]><QueueMessage><MessageText>&e;</MessageText></QueueMessage>'
        assert wire.error("POST", "/orders/messages", {}, body)[:2] == (400, "InvalidXmlDocument")
        assert wire.engine.queues.count("orders") == 0

    def test_only_the_text_counts_for_its_size(self, wire: QueueWire) -> None:
        wire.send("POST", "/orders/messages", {}, text("&lt;" * MAX_MESSAGE_BYTES))
        assert wire.engine.queues.count("orders") == 1
        said = wire.error("POST", "/orders/messages", {}, text("&lt;" * (MAX_MESSAGE_BYTES + 1)))
        assert (said.status, said.code, said.details) == (413, "RequestBodyTooLarge", {"MaxLimit": "65536"})

    def test_a_body_over_4_mib_is_not_even_read(self, wire: QueueWire) -> None:
        assert wire.error("POST", "/orders/messages", {}, "x" * (MAX_REQUEST_BYTES + 1))[:2] == (
            413,
            "RequestBodyTooLarge",
        )

    @pytest.mark.parametrize("method", ["PUT", "DELETE"])
    def test_a_malformed_receipt_is_named(self, method: str, wire: QueueWire) -> None:
        said = wire.error(method, "/orders/messages/id?popreceipt=invalid&visibilitytimeout=0")
        assert said.details == {
            "QueryParameterName": "popreceipt",
            "QueryParameterValue": "invalid",
            "Reason": "Invalid pop receipt format",
        }


class TestQueues:
    def test_creating_reports_whether_the_queue_existed(self, wire: QueueWire) -> None:
        assert wire.send("PUT", "/bills", {"x-ms-meta-Colour": "red"}).status == 201
        assert wire.send("PUT", "/bills", {"x-ms-meta-colour": "red"}).status == 204
        assert wire.error("PUT", "/bills")[:3] == (409, "QueueAlreadyExists", "The specified queue already exists.")
        assert wire.send("DELETE", "/bills").status == 204
        assert wire.error("DELETE", "/bills")[:3] == (404, "QueueNotFound", "The specified queue does not exist.")

    def test_metadata_keep_the_spelling_of_their_names(self, wire: QueueWire) -> None:
        wire.send("PUT", "/orders?comp=metadata", {"X-MS-Meta-Colour": " red ", "x-ms-meta-a_1": "", "x-other": "no"})
        headers = wire.send("GET", "/orders?comp=metadata").headers
        assert {name: value for name, value in headers.items() if "meta" in name} == {
            "x-ms-meta-Colour": "red",
            "x-ms-meta-a_1": "",
        }
        assert (headers["x-ms-approximate-messages-count"], headers["Cache-Control"]) == ("0", "no-cache")

    def test_a_list_repeats_the_request_and_has_the_next_marker(self, wire: QueueWire) -> None:
        for name in ("order-1", "order-2"):
            wire.send("PUT", f"/{name}", {"x-ms-meta-Colour": "<red>"})
        path = "/?comp=list&prefix=order&maxresults=1&include=metadata"
        assert (
            wire.send("GET", path).body
            == BOM
            + (
                f'{PROLOGUE}<EnumerationResults ServiceEndpoint="https://contoso.queue.core.windows.net/">'
                "<Prefix>order</Prefix><MaxResults>1</MaxResults><Queues><Queue><Name>order-1</Name>"
                "<Metadata><Colour>&lt;red&gt;</Colour></Metadata></Queue></Queues>"
                "<NextMarker>/contoso/order-2</NextMarker></EnumerationResults>"
            ).encode()
        )
        assert (
            wire.send("GET", "/?comp=list&prefix=order&marker=/contoso/orders").body
            == BOM
            + (
                f'{PROLOGUE}<EnumerationResults ServiceEndpoint="https://contoso.queue.core.windows.net/">'
                "<Prefix>order</Prefix><Marker>/contoso/orders</Marker><Queues><Queue><Name>orders</Name></Queue></Queues>"
                "<NextMarker /></EnumerationResults>"
            ).encode()
        )

    def test_a_list_of_none_is_a_list(self, wire: QueueWire) -> None:
        assert b"<Queues /><NextMarker />" in wire.send("GET", "/?comp=list&prefix=none&marker=").body

    def test_an_endpoint_is_quoted(self, wire: QueueWire) -> None:
        found = wire.xml("GET", "/?comp=list", base='http://"<&>:10001/contoso')
        assert found.attrib == {"ServiceEndpoint": 'http://"<&>:10001/contoso/'}

    def test_policies_travel_as_those_of_tables_do(self, wire: QueueWire) -> None:
        body = (
            "<SignedIdentifiers><SignedIdentifier><Id>worker</Id><AccessPolicy>"
            "<Start>2020-08-19T21:13:07.0000000Z</Start><Permission>raup</Permission></AccessPolicy>"
            "</SignedIdentifier></SignedIdentifiers>"
        )
        assert wire.send("PUT", "/orders?comp=acl", {}, body).status == 204
        assert wire.send("GET", "/orders?comp=acl").body == BOM + (PROLOGUE + body).encode()
        assert wire.error("PUT", "/orders?comp=acl", {}, body.replace("raup", "raud"))[:2] == (
            400,
            "InvalidXmlDocument",
        )


class TestAnswers:
    def test_the_services_keep_their_properties_apart(self, engine: Engine, wire: QueueWire) -> None:
        body = "<StorageServiceProperties><Logging><Version>1.0</Version>"
        body += "<Read>true</Read><Write>true</Write><Delete>true</Delete></Logging></StorageServiceProperties>"
        assert wire.send("PUT", "/?restype=service&comp=properties", {}, body).status == 202
        assert b"<Read>true</Read>" in wire.send("GET", "/?restype=service&comp=properties").body
        assert not engine.tables.get_service_properties().logging.read
