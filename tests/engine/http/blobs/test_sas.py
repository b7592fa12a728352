"""Shared access signatures for blobs, made by the SDK: what they allow, where, when, and for whom."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from azure.storage.blob import (
    AccountSasPermissions,
    ContainerClient,
    ResourceTypes,
    Services,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)

from support import blob_states
from support.blob_requests import APPEND_BLOB, BLOCK_BLOB, BlobWire
from support.table_requests import sign
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.leases import Acquire
from tablepatterns_engine.blobs.state import PublicAccess
from tablepatterns_engine.transport import EngineTransport

NOW = datetime(2014, 8, 22, 0, 50, 32, 500_000, tzinfo=timezone.utc)
LATER = NOW + timedelta(hours=1)  # the SDK writes whole seconds: 01:50:32
FAILED = (403, "AuthenticationFailed")
UNAUTHORIZED = (403, "AuthorizationFailure")
NO_PERMISSION = (403, "AuthorizationPermissionMismatch")
NO_RESOURCE_TYPE = (403, "AuthorizationResourceTypeMismatch")
NO_CREDENTIAL = (401, "NoAuthenticationInformation")
ALL = "racwdxyltfmei"
LEASE = str(UUID(int=1))

# method, path, headers, body, the letters of which one will do
ON_BLOBS: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    "get": ("GET", "", {}, "", "r"),
    "get properties": ("HEAD", "", {}, "", "r"),
    "get metadata": ("GET", "?comp=metadata", {}, "", "r"),
    "get block list": ("GET", "?comp=blocklist", {}, "", "r"),
    "put": ("PUT", "", BLOCK_BLOB, "", "w"),
    "set metadata": ("PUT", "?comp=metadata", {}, "", "w"),
    "set properties": ("PUT", "?comp=properties", {}, "", "w"),
    "put block": ("PUT", "?comp=block&blockid=YQ==", {}, "x", "w"),
    "put block list": ("PUT", "?comp=blocklist", {}, "<BlockList />", "w"),
    "set tier": ("PUT", "?comp=tier", {"x-ms-access-tier": "Cool"}, "", "w"),
    "snapshot": ("PUT", "?comp=snapshot", {}, "", "wc"),
    "get tags": ("GET", "?comp=tags", {}, "", "t"),
    "set tags": ("PUT", "?comp=tags", {}, "<Tags><TagSet /></Tags>", "t"),
    "acquire": ("PUT", "?comp=lease", {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "15"}, "", "w"),
    "delete": ("DELETE", "", {}, "", "d"),
}
# the same on the log and on the leased blob
ON_OTHERS: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    "append": ("PUT", "/photos/log?comp=appendblock", {}, "x", "aw"),
    "seal": ("PUT", "/photos/log?comp=seal", {}, "", "aw"),
    "break": ("PUT", "/photos/leased?comp=lease", {"x-ms-lease-action": "break"}, "", "wd"),
    "create": ("PUT", "/photos/new", BLOCK_BLOB, "", "wc"),
}
# method, path, headers, level and letters of the account's signature
ON_CONTAINERS: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    "list": ("GET", "/photos?restype=container&comp=list", {}, "c", "l"),
    "get": ("GET", "/photos?restype=container", {}, "c", "r"),
    "get metadata": ("GET", "/photos?restype=container&comp=metadata", {}, "c", "r"),
    "set metadata": ("PUT", "/photos?restype=container&comp=metadata", {}, "c", "w"),
    "create": ("PUT", "/other?restype=container", {}, "c", "cw"),
    "drop": ("DELETE", "/photos?restype=container", {}, "c", "d"),
    "list containers": ("GET", "/?comp=list", {}, "s", "l"),
    "get properties": ("GET", "/?restype=service&comp=properties", {}, "s", "r"),
}


@pytest.fixture(autouse=True)
def blobs(engine: Engine, wire: BlobWire) -> None:
    for name, headers in (("b", BLOCK_BLOB), ("other", BLOCK_BLOB), ("leased", BLOCK_BLOB), ("log", APPEND_BLOB)):
        assert wire.send("PUT", f"/photos/{name}", headers).status == 201
    engine.blobs.lease("photos", "leased", Acquire(60, UUID(LEASE)))


def blob_sas(engine: Engine, permission: str | None = "r", name: str = "b", **options: Any) -> str:
    options = {"expiry": LATER, **options}
    return generate_blob_sas(
        engine.account_name, "photos", name, account_key=engine.account_key, permission=permission, **options
    )


def container_sas(engine: Engine, permission: str | None = "r", **options: Any) -> str:
    options = {"expiry": LATER, **options}
    return generate_container_sas(
        engine.account_name, "photos", account_key=engine.account_key, permission=permission, **options
    )


def account_sas(engine: Engine, levels: str = "sco", letters: str = "rwdlacup", **options: Any) -> str:
    options = {"expiry": LATER, "services": Services(blob=True), **options}
    permission = AccountSasPermissions.from_string(letters)
    types = ResourceTypes.from_string(levels)
    return generate_account_sas(engine.account_name, engine.account_key, types, permission, **options)


def ask(
    wire: BlobWire,
    sas: str,
    method: str = "GET",
    path: str = "/photos/b",
    headers: dict[str, str] | None = None,
    body: str = "",
    **options: Any,
) -> tuple[int, str] | None:
    """Send a request with a signature; return what it was rejected with, None if it was not."""
    url = path + ("&" if "?" in path else "?") + sas if sas else path
    response = wire.send(method, url, headers, body, signed=False, **options)
    return None if response.status < 300 else (response.status, response.headers["x-ms-error-code"])


def without(letters: str) -> str:
    return "".join(letter for letter in ALL if letter not in letters)


class TestPermissions:
    @pytest.mark.parametrize("make", [blob_sas, container_sas])
    @pytest.mark.parametrize("name", ON_BLOBS)
    def test_each_operation_on_a_blob_needs_one_of_its_letters(
        self, name: str, make: Any, engine: Engine, wire: BlobWire
    ) -> None:
        method, options, headers, body, letters = ON_BLOBS[name]
        path = f"/photos/b{options}"
        # Who may create but not write comes as far as the blob, which is there
        expected = (403, "UnauthorizedBlobOverwrite") if name in ("put", "put block list") else NO_PERMISSION
        assert ask(wire, make(engine, without(letters)), method, path, headers, body) == expected
        for letter in letters:
            assert ask(wire, make(engine, letter), method, path, headers, body) is None

    @pytest.mark.parametrize("name", ON_OTHERS)
    def test_so_do_those_on_other_kinds_of_blobs(self, name: str, engine: Engine, wire: BlobWire) -> None:
        method, path, headers, body, letters = ON_OTHERS[name]
        assert ask(wire, container_sas(engine, without(letters)), method, path, headers, body) == NO_PERMISSION
        assert ask(wire, container_sas(engine, letters[-1]), method, path, headers, body) is None

    def test_who_may_only_create_replaces_nothing(self, engine: Engine, wire: BlobWire) -> None:
        for sas in (container_sas(engine, "c"), account_sas(engine, "o", "c")):
            rejected = ask(wire, sas, "PUT", "/photos/b", BLOCK_BLOB)
            assert rejected == (403, "UnauthorizedBlobOverwrite")
            engine.blobs.get("photos", "b")
        source = {"x-ms-copy-source": f"{wire.base}/photos/other?{blob_sas(engine, 'r', 'other')}"}
        assert ask(wire, container_sas(engine, "c"), "PUT", "/photos/new", source) is None
        assert ask(wire, container_sas(engine, "c"), "PUT", "/photos/new", source) == (403, "UnauthorizedBlobOverwrite")

    @pytest.mark.parametrize("name", ON_CONTAINERS)
    def test_a_container_s_signature_lists_blobs_and_reaches_no_further(
        self, name: str, engine: Engine, wire: BlobWire
    ) -> None:
        method, path, headers, *_ = ON_CONTAINERS[name]
        rejected = ask(wire, container_sas(engine, ALL), method, path, headers)
        if name == "list":
            assert rejected is None
            assert ask(wire, container_sas(engine, "r"), method, path, headers) == NO_PERMISSION
        else:
            # The signature of a container is none at another one, nor at the service
            assert rejected == (UNAUTHORIZED if path.startswith("/photos") else FAILED)

    @pytest.mark.parametrize("name", ON_CONTAINERS)
    def test_a_blob_s_signature_is_for_that_blob_alone(self, name: str, engine: Engine, wire: BlobWire) -> None:
        method, path, headers, *_ = ON_CONTAINERS[name]
        assert ask(wire, blob_sas(engine, ALL), method, path, headers) == FAILED
        for other in ("other", "b/c", "bb", ""):
            assert ask(wire, blob_sas(engine, ALL), "GET", f"/photos/{other}") == FAILED

    @pytest.mark.parametrize("name", ON_CONTAINERS)
    def test_an_account_s_signature_needs_level_and_letter(self, name: str, engine: Engine, wire: BlobWire) -> None:
        method, path, headers, level, letters = ON_CONTAINERS[name]
        others = "".join(letter for letter in "rwdlacup" if letter not in letters)
        assert ask(wire, account_sas(engine, level, others), method, path, headers) == NO_PERMISSION
        other_levels = "sco".replace(level, "")
        assert ask(wire, account_sas(engine, other_levels, letters), method, path, headers) == NO_RESOURCE_TYPE
        assert ask(wire, account_sas(engine, level, letters[-1]), method, path, headers) is None

    @pytest.mark.parametrize("method", ["GET", "PUT"])
    def test_no_signature_reaches_access_policies(self, method: str, engine: Engine, wire: BlobWire) -> None:
        for sas in (account_sas(engine), container_sas(engine, ALL)):
            assert ask(wire, sas, method, "/photos?restype=container&comp=acl") == UNAUTHORIZED

    @pytest.mark.parametrize("letters", ["wr", "rr", "rz", "lr", "da"])
    def test_letters_out_of_order_or_unknown_are_no_permissions(
        self, letters: str, engine: Engine, wire: BlobWire
    ) -> None:
        assert ask(wire, blob_sas(engine, letters)) == FAILED

    def test_a_signature_for_other_services_is_none(self, engine: Engine, wire: BlobWire) -> None:
        sas = account_sas(engine, services=Services(queue=True))
        assert ask(wire, sas) == (403, "AuthorizationServiceMismatch")


class TestSnapshots:
    def test_a_blob_s_signature_is_none_for_its_snapshots(self, engine: Engine, wire: BlobWire) -> None:
        taken = snapshot_of(engine)
        assert ask(wire, blob_sas(engine), "GET", f"/photos/b?snapshot={taken}") == FAILED
        assert ask(wire, container_sas(engine), "GET", f"/photos/b?snapshot={taken}") is None

    def test_a_snapshot_has_a_signature_of_its_own(self, engine: Engine, wire: BlobWire) -> None:
        taken, other = snapshot_of(engine), snapshot_of(engine)
        sas = blob_sas(engine, snapshot=taken)
        assert ask(wire, sas, "GET", f"/photos/b?snapshot={taken}") is None
        assert ask(wire, sas, "GET", f"/photos/b?snapshot={other}") == FAILED
        assert ask(wire, sas, "GET", "/photos/b") == FAILED


def snapshot_of(engine: Engine) -> str:
    taken = engine.blobs.snapshot("photos", "b").snapshot
    assert taken is not None
    return taken.iso()


class TestHeaders:
    def test_the_answer_says_of_the_content_what_the_signature_wants(self, engine: Engine, wire: BlobWire) -> None:
        sas = blob_sas(
            engine,
            cache_control="no-store",
            content_disposition="attachment; filename=don.jpg",
            content_encoding="identity",
            content_language="en",
            content_type="image/jpeg",
        )
        for method in ("GET", "HEAD"):
            headers = wire.send(method, f"/photos/b?{sas}", signed=False).headers
            assert (headers["Cache-Control"], headers["Content-Type"]) == ("no-store", "image/jpeg")
            assert headers["Content-Disposition"] == "attachment; filename=don.jpg"
            assert (headers["Content-Encoding"], headers["Content-Language"]) == ("identity", "en")

    def test_a_signature_that_was_changed_is_rejected(self, engine: Engine, wire: BlobWire) -> None:
        assert ask(wire, f"{blob_sas(engine)}&rsct=text%2Fhtml") == FAILED

    def test_the_owner_s_requests_are_not_changed_by_such_options(self, wire: BlobWire) -> None:
        headers = wire.send("GET", "/photos/b?rsct=text%2Fhtml").headers
        assert headers["Content-Type"] == "application/octet-stream"


class TestVersions:
    @pytest.mark.parametrize("version", ["2015-04-05", "2018-03-28", "2018-11-09", "2020-08-04", "2020-12-06"])
    def test_each_version_signs_a_little_more(self, version: str, engine: Engine, wire: BlobWire) -> None:
        fields = {"sp": "r", "se": "2014-08-22T01:50:32Z", "sv": version, "sr": "b"}
        lines = [fields["sp"], "", fields["se"], "/blob/contoso/photos/b", "", "", "", version]
        lines += [*(["b", ""] if version >= "2018-11-09" else []), *([""] if version >= "2020-12-06" else [])]
        lines += [""] * 5
        signature = quote(sign(engine, "\n".join(lines)), safe="")
        sas = "&".join(f"{name}={value}" for name, value in fields.items())
        assert ask(wire, f"{sas}&sig={signature}") is None


class TestPublicContainers:
    @pytest.mark.parametrize(
        ("access", "reads", "lists"),
        [
            (PublicAccess.NONE, NO_CREDENTIAL, NO_CREDENTIAL),
            (PublicAccess.BLOBS, None, NO_CREDENTIAL),
            (PublicAccess.CONTAINER, None, None),
        ],
    )
    def test_a_public_container_is_read_without_credentials(
        self, access: PublicAccess, reads: Any, lists: Any, engine: Engine, wire: BlobWire
    ) -> None:
        engine.blobs.containers.set_access("photos", access, [])
        assert ask(wire, "", "GET", "/photos/b") == reads
        assert ask(wire, "", "HEAD", "/photos/b") == reads
        assert ask(wire, "", "GET", "/photos?restype=container&comp=list") == lists
        assert ask(wire, "", "GET", "/photos?restype=container") == lists

    @pytest.mark.parametrize("name", [name for name in ON_BLOBS if "get" not in name or "tags" in name])
    def test_writes_without_credentials_are_rejected(self, name: str, engine: Engine, wire: BlobWire) -> None:
        engine.blobs.containers.set_access("photos", PublicAccess.CONTAINER, [])
        method, options, headers, body, _ = ON_BLOBS[name]
        assert ask(wire, "", method, f"/photos/b{options}", headers, body) == NO_CREDENTIAL

    def test_the_sdk_needs_no_credential_there(self, engine: Engine) -> None:
        engine.blobs.containers.set_access("photos", PublicAccess.CONTAINER, [])
        url, transport = "https://contoso.blob.core.windows.net", EngineTransport(engine)
        client = ContainerClient(url, "photos", transport=transport)
        assert [blob.name for blob in client.list_blobs()] == ["b", "leased", "log", "other"]
        assert client.download_blob("b").readall() == b""


class TestSourcesOfCopies:
    """The account's key speaks for the source of a copy made later; other credentials are for what is written alone."""

    @pytest.mark.parametrize("headers", [{}, BLOCK_BLOB], ids=["copy", "put from URL"])
    def test_a_signature_for_what_is_written_is_none_for_the_source(
        self, headers: dict[str, str], engine: Engine, wire: BlobWire
    ) -> None:
        def copied_from(url: str) -> tuple[int, str] | None:
            return ask(wire, container_sas(engine, "rw"), "PUT", "/photos/new", {**headers, "x-ms-copy-source": url})

        source = f"{wire.base}/photos/b"
        assert copied_from(source) == (401, "CannotVerifyCopySource")
        assert copied_from(f"{source}?{blob_sas(engine, 'w')}") == (403, "CannotVerifyCopySource")
        assert copied_from(f"{source}?{blob_sas(engine, 'r', 'other')}") == (403, "CannotVerifyCopySource")
        assert copied_from(f"{source}?{blob_sas(engine, 'r')}") is None
        engine.blobs.containers.set_access("photos", PublicAccess.BLOBS, [])
        assert copied_from(source) is None

    def test_the_key_is_enough_for_a_copy_that_is_made_later(self, wire: BlobWire) -> None:
        assert wire.send("PUT", "/photos/new", {"x-ms-copy-source": f"{wire.base}/photos/b"}).status == 202

    @pytest.mark.parametrize(
        ("path", "headers"),
        [
            ("/photos/new", {"x-ms-requires-sync": "true"}),
            ("/photos/new", BLOCK_BLOB),
            ("/photos/new?comp=block&blockid=YQ==", {}),
            ("/photos/log?comp=appendblock", {}),
        ],
    )
    def test_content_that_is_taken_now_needs_a_credential_of_its_own(
        self, wire: BlobWire, path: str, headers: dict[str, str]
    ) -> None:
        before = blob_states.everything_in(wire.engine.blobs)
        response = wire.send("PUT", path, {**headers, "x-ms-copy-source": f"{wire.base}/photos/b"})
        assert (response.status, response.headers["x-ms-error-code"]) == (401, "CannotVerifyCopySource")
        assert response.headers["x-ms-copy-source-status-code"] == "401"
        assert response.headers["x-ms-copy-source-error-code"] == "NoAuthenticationInformation"
        assert blob_states.everything_in(wire.engine.blobs) == before

    def test_a_token_may_be_for_the_source_alone(self, engine: Engine) -> None:
        trusting = BlobWire(engine, trust_tokens=True)
        asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{trusting.base}/photos/b"}
        asked["x-ms-copy-source-authorization"] = "Bearer token"
        assert trusting.send("PUT", "/photos/new", asked).status == 201
        assert BlobWire(engine).error("PUT", "/photos/new", asked)[:2] == (401, "CannotVerifyCopySource")

    def test_tags_of_the_source_are_read_with_a_permission_of_their_own(self, engine: Engine, wire: BlobWire) -> None:
        asked = {**BLOCK_BLOB, "x-ms-copy-source-tag-option": "COPY"}
        for letters, status in (("r", 403), ("rt", 201)):
            source = f"{wire.base}/photos/b?{blob_sas(engine, letters)}"
            assert wire.send("PUT", "/photos/new", {**asked, "x-ms-copy-source": source}).status == status
