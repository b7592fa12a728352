"""Keys and tokens: what is signed, and the errors."""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.data.tables import TableClient
from azure.data.tables.aio import TableClient as AioTableClient
from hypothesis import given
from hypothesis import strategies as st

from support.table_requests import JSON, Wire, canonical, sign
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.http.shared_key import Signer
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

DATE = "Fri, 22 Aug 2014 00:00:00 GMT"
URL = "https://contoso.table.core.windows.net"
FAILED = (
    403,
    "AuthenticationFailed",
    "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly "
    "including the signature.",
)
CHALLENGE = (
    "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize "
    "resource_id=https://storage.azure.com"
)


def authorized(wire: Wire, authorization: str, path: str = "/Tables", **headers: str) -> Any:
    asked = {**JSON, "x-ms-date": DATE, "authorization": authorization, **headers}
    return wire.send("GET", path, {name.replace("_", "-"): value for name, value in asked.items()}, signed=False)


class TestSharedKey:
    def test_verb_digest_type_date_and_resource_are_signed(self, wire: Wire) -> None:
        text = f"GET\nabc\ntext/plain\n{DATE}\n{canonical(wire.engine, URL + '/Tables')}"
        header = f"SharedKey contoso:{sign(wire.engine, text)}"
        signed = {"content_md5": "abc", "content_type": "text/plain"}
        assert authorized(wire, header, **signed).status == 200
        for change in ({"content_md5": "x"}, {"content_type": "x"}, {"x-ms-date": "x"}):
            assert authorized(wire, header, **{**signed, **change}).status == 403
        assert authorized(wire, header, "/Employees", **signed).status == 403

    def test_the_lite_form_signs_date_and_resource_only(self, wire: Wire) -> None:
        header = (
            f"SharedKeyLite contoso:{sign(wire.engine, f'{DATE}' + chr(10) + canonical(wire.engine, URL + '/Tables'))}"
        )
        assert authorized(wire, header, content_md5="anything").status == 200
        assert authorized(wire, header, "/Employees").status == 403

    def test_the_header_date_is_signed_where_there_is_no_other(self, wire: Wire) -> None:
        header = f"SharedKeyLite contoso:{sign(wire.engine, DATE + chr(10) + canonical(wire.engine, URL + '/Tables'))}"
        asked = {**JSON, "date": DATE, "authorization": header}
        assert wire.send("GET", "/Tables", asked, signed=False).status == 200
        del asked["date"]
        assert wire.error("GET", "/Tables", asked, signed=False) == FAILED

    @pytest.mark.parametrize(
        "authorization",
        [
            "SharedKey contoso:c2lnbmF0dXJl",
            "SharedKey contoso:é",
            "SharedKey contoso:\ud800",
            "SharedKey contoso",
            "SharedKey",
            "SharedKey fabrikam:x",
            "SharedKeyFoo contoso:x",
            "Basic Y29udG9zbzp4",
            "",
        ],
    )
    def test_anything_else_fails(self, authorization: str, wire: Wire) -> None:
        response = authorized(wire, authorization)
        assert (response.status, b"AuthenticationFailed" in response.body) == (403, True)

    @given(st.text(st.characters(exclude_characters="/\\#?", exclude_categories=("Cc", "Cs")), max_size=20))
    def test_the_aio_sdk_signs_a_tidied_path_and_is_understood(self, text: str) -> None:
        engine = Engine("contoso")
        engine.tables.create("Employees")
        key = AzureNamedKeyCredential(engine.account_name, engine.account_key)
        entity = {"PartitionKey": text, "RowKey": text}

        async def story() -> object:
            table = AioTableClient(URL, "Employees", credential=key, transport=AioEngineTransport(engine))
            await table.upsert_entity(entity)
            return await table.get_entity(text, text)

        with pytest.raises(StopIteration) as stop:
            story().send(None)
        assert stop.value.value == entity

    def test_a_tidied_path_is_the_same_resource_only(self, wire: Wire) -> None:
        path = "/Employees()?$filter=" + quote("RowKey eq 'a'")
        sent = "/Employees%28%29?$filter=" + quote("RowKey eq 'a'")
        header = f"SharedKeyLite contoso:{sign(wire.engine, DATE + chr(10) + canonical(wire.engine, URL + path))}"
        assert authorized(wire, header, sent).status == 200
        assert authorized(wire, header, "/Tables%28%29").status == 403

    @pytest.mark.parametrize("length", [1, 32, 63, 64, 65, 200])
    @pytest.mark.parametrize("text", ["", "GET\n", "Straße 🛫" * 40])
    def test_a_signature_is_the_hmac_of_the_text(self, length: int, text: str) -> None:
        key = bytes(range(length))
        signed = b64encode(hmac.digest(key, text.encode(), "sha256")).decode()
        signer = Signer("contoso", b64encode(key).decode())
        assert signer.signed(text, signed)
        assert signer.signed(text, signed)
        assert not signer.signed(text + "x", signed)

    def test_the_key_shows_in_no_text(self, engine: Engine) -> None:
        signer = Signer(engine.account_name, engine.account_key)
        transport = EngineTransport(engine)
        assert engine.account_key not in f"{signer!r}{transport!r}{engine!r}{vars(transport)}"


NOW = 1408668632  # What the clock of the engine says, in seconds


def jwt(claims: dict[str, object]) -> str:
    """Return a token with these claims and an invalid signature."""
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "typ": "JWT"}, claims)]
    return b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (*parts, b"signature")).decode()


class TestTokens:
    class Credential:
        def __init__(self) -> None:
            self.scopes: list[tuple[str, ...]] = []

        def get_token(self, *scopes: str, **options: Any) -> AccessToken:
            self.scopes.append(scopes)
            return AccessToken("token", 2**40)

    def test_without_any_credential_the_answer_is_a_challenge(self, wire: Wire) -> None:
        response: Response = wire.send("GET", "/Tables", signed=False)
        assert (response.status, response.headers["WWW-Authenticate"]) == (401, CHALLENGE)
        assert b'"NoAuthenticationInformation"' in response.body

    def test_a_token_is_rejected_with_a_challenge_that_the_sdk_follows(self, engine: Engine) -> None:
        credential = self.Credential()
        client: Any = TableClient(URL, "Employees", credential=credential, transport=EngineTransport(engine))
        with pytest.raises(ClientAuthenticationError, match="Server failed to authenticate the request"):
            list(client.list_entities())
        assert credential.scopes[-1] == ("https://storage.azure.com/.default",)
        assert engine.ledger.totals.errors == 2

    def test_an_engine_that_trusts_tokens_accepts_them_over_https_only(self, engine: Engine) -> None:
        transport = EngineTransport(engine, trust_tokens=True)
        client: Any = TableClient(URL, "Employees", credential=self.Credential(), transport=transport)
        assert list(client.list_entities()) == []
        wire = Wire(engine, trust_tokens=True)
        headers = {**JSON, "authorization": "Bearer token"}
        assert wire.send("GET", "/Tables", headers, signed=False).status == 200
        assert wire.error("GET", "/Tables", headers, base=URL.replace("https", "http"), signed=False) == FAILED

    @pytest.mark.parametrize(
        ("claims", "accepted"),
        [
            ({}, True),
            ({"aud": "https://storage.azure.com/"}, True),
            ({"aud": ["https://other", "https://contoso.table.core.windows.net"]}, True),
            ({"aud": "https://contoso.blob.core.windows.net"}, False),
            ({"aud": "https://management.azure.com"}, False),
            ({"aud": None}, False),
            ({"exp": NOW + 1}, True),
            ({"exp": NOW}, False),
            ({"exp": "never"}, False),
            ({"exp": None}, False),
            ({"nbf": NOW + 60}, False),
        ],
    )
    def test_a_token_that_is_checked_is_for_storage_and_has_not_expired(
        self, engine: Engine, claims: dict[str, object], accepted: bool
    ) -> None:
        token = jwt({"aud": "https://storage.azure.com", "exp": NOW + 3600, **claims})
        headers = {**JSON, "authorization": f"Bearer {token}"}
        response = Wire(engine, trust_tokens="checked").send("GET", "/Tables", headers, signed=False)
        assert response.status == (200 if accepted else 401)
        assert accepted or b'"InvalidAuthenticationInfo"' in response.body

    @pytest.mark.parametrize("token", ["token", "a.b.c", "..", "e30.e30.e30", "e30.W10.e30", "eyJ.eyJ", "é.é.é", ""])
    def test_a_token_that_is_checked_is_a_jwt(self, engine: Engine, token: str) -> None:
        headers = {**JSON, "authorization": f"Bearer {token}"}
        response = Wire(engine, trust_tokens="checked").send("GET", "/Tables", headers, signed=False)
        assert response.status == 401

    def test_an_aio_transport_trusts_tokens_on_request(self, engine: Engine) -> None:
        class Credential:
            async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
                return AccessToken("token", 2**40)

            async def close(self) -> None: ...

            async def __aexit__(self, *args: object) -> None: ...

        transport = AioEngineTransport(engine, trust_tokens=True)
        credential: Any = Credential()
        client: Any = AioTableClient(URL, "Employees", credential=credential, transport=transport)
        asyncio.run(client.upsert_entity({"PartitionKey": "a", "RowKey": "b"}))
        assert engine.tables.get("Employees", "a", "b").properties == {}
