"""Access policies, service properties and statistics: their XML, byte for byte, and invalid XML."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import (
    TableServiceClient,
)

from support.table_requests import Wire

ACL = "/Employees?comp=acl"
PROPERTIES = "/?restype=service&comp=properties"
STATS = "/?restype=service&comp=stats"
SECONDARY = "https://contoso-secondary.table.core.windows.net"
XML = {"accept": "application/xml"}
PROLOGUE = '\ufeff<?xml version="1.0" encoding="utf-8"?>'
OFF = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"


def set_acl(wire: Wire, *identifiers: str) -> int:
    return wire.status("PUT", ACL, XML, f"<SignedIdentifiers>{''.join(identifiers)}</SignedIdentifiers>")


class TestPolicies:
    def test_they_are_written_with_a_byte_order_mark_and_seven_digits(self, wire: Wire) -> None:
        policy = "<AccessPolicy><Start>2014-08-22</Start><Expiry>2014-08-23T01:02Z</Expiry></AccessPolicy>"
        assert set_acl(wire, f"<SignedIdentifier><Id>a&amp;b</Id>{policy}</SignedIdentifier>") == 204
        response = wire.send("GET", ACL, XML)
        assert (response.status, response.headers["Content-Type"]) == (200, "application/xml")
        assert response.body.decode() == (
            f"{PROLOGUE}<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
            "<Start>2014-08-22T00:00:00.0000000Z</Start><Expiry>2014-08-23T01:02:00.0000000Z</Expiry>"
            "</AccessPolicy></SignedIdentifier></SignedIdentifiers>"
        )

    @pytest.mark.parametrize(
        "body", [b"", b"<SignedIdentifiers />", b"\xef\xbb\xbf<SignedIdentifiers></SignedIdentifiers>"]
    )
    def test_an_empty_body_sets_none(self, body: bytes, wire: Wire) -> None:
        assert wire.status("PUT", ACL, XML, body) == 204
        assert wire.send("GET", ACL, XML).body.decode() == f"{PROLOGUE}<SignedIdentifiers />"

    @pytest.mark.parametrize(
        "identifier",
        [
            "<SignedIdentifier><AccessPolicy /></SignedIdentifier>",
            "<SignedIdentifier><Id>a</Id><AccessPolicy><Start>soon</Start></AccessPolicy></SignedIdentifier>",
            "<SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rx</Permission></AccessPolicy></SignedIdentifier>",
            f"<SignedIdentifier><Id>{'a' * 65}</Id></SignedIdentifier>",
            "<SignedIdentifier><Id>a</Id></SignedIdentifier><SignedIdentifier><Id>a</Id></SignedIdentifier>",
            "<SignedIdentifier>",
        ],
    )
    def test_what_is_no_policy_is_rejected_and_changes_nothing(self, identifier: str, wire: Wire) -> None:
        assert set_acl(wire, "<SignedIdentifier><Id>kept</Id></SignedIdentifier>") == 204
        assert set_acl(wire, identifier) == 400
        assert b"<Id>kept</Id>" in wire.send("GET", ACL, XML).body

    def test_a_missing_table_has_the_error_and_headers_of_these_resources(
        self, service: TableServiceClient, wire: Wire
    ) -> None:
        response = wire.send("GET", "/Nobody?comp=acl", XML)
        assert (response.status, response.reason) == (404, "The table specified does not exist.")
        assert (response.headers["x-ms-error-code"], response.headers["Content-Type"]) == (
            "TableNotFound",
            "application/xml",
        )
        assert response.body.decode() == (
            '<?xml version="1.0" encoding="utf-8"?>'
            '<m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">'
            '<m:code>TableNotFound</m:code><m:message xml:lang="en-US">The table specified does not exist.\n'
            f"RequestId:{response.headers['x-ms-request-id']}\nTime:2014-08-22T00:50:32.5000000Z</m:message></m:error>"
        )
        with pytest.raises(ResourceNotFoundError, match="The table specified does not exist"):
            service.get_table_client("Nobody").get_table_access_policy()


class TestProperties:
    def test_the_defaults_are_those_of_a_new_account(self, wire: Wire) -> None:
        response = wire.send("GET", PROPERTIES, XML)
        assert (response.status, response.headers["Content-Type"]) == (200, "application/xml")
        metrics = f"<Version>1.0</Version><Enabled>false</Enabled>{OFF}"
        assert response.body.decode() == (
            f"{PROLOGUE}<StorageServiceProperties><Logging><Version>1.0</Version><Read>false</Read><Write>false</Write>"
            f"<Delete>false</Delete>{OFF}</Logging><HourMetrics>{metrics}</HourMetrics>"
            f"<MinuteMetrics>{metrics}</MinuteMetrics><Cors /></StorageServiceProperties>"
        )

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{}",
            b"<a />",
            b"<StorageServiceProperties>",
            b"<StorageServiceProperties><Logging><Read>maybe</Read></Logging></StorageServiceProperties>",
            b"<StorageServiceProperties><Logging><Read><a />true</Read></Logging></StorageServiceProperties>",
            b"<StorageServiceProperties />",
            b"<StorageServiceProperties><Logging><RetentionPolicy><Days>1e1</Days></RetentionPolicy></Logging></StorageServiceProperties>",
            b'<!DOCTYPE a [<!ENTITY b "c">]><StorageServiceProperties>&b;</StorageServiceProperties>',
            b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><StorageServiceProperties />',
            b'<?xml version="1.0" encoding="nothing"?><StorageServiceProperties />',
        ],
    )
    def test_what_is_no_such_document_is_rejected(self, body: bytes, wire: Wire) -> None:
        before = wire.engine.tables.get_service_properties()
        response = wire.send("PUT", PROPERTIES, XML, body)
        assert (response.status, response.headers["x-ms-error-code"]) == (400, "InvalidXmlDocument")
        assert wire.engine.tables.get_service_properties() == before


class TestStatistics:
    def test_the_secondary_is_live_and_in_step(self, service: TableServiceClient, wire: Wire) -> None:
        stats: Any = service.get_service_stats()
        found = stats["geo_replication"]
        assert (found["status"], found["last_sync_time"]) == (
            "live",
            datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc),
        )
        assert wire.send("GET", STATS, XML, base=SECONDARY).body.decode() == (
            f"{PROLOGUE}<StorageServiceStats><GeoReplication><Status>live</Status>"
            "<LastSyncTime>Fri, 22 Aug 2014 00:50:32 GMT</LastSyncTime></GeoReplication></StorageServiceStats>"
        )

    def test_the_primary_knows_none(self, wire: Wire) -> None:
        response = wire.send("GET", STATS, XML)
        assert (response.status, response.headers["x-ms-error-code"]) == (400, "InvalidQueryParameterValue")
