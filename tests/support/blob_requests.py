"""Raw requests to the Blob service of an engine, signed without the SDK, and bodies that the SDK never sends."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from uuid import UUID

from support.queue_requests import QueueWire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.api import BLOBS
from tablepatterns_engine.blobs.crc64 import crc64
from tablepatterns_engine.http.api import Api
from tablepatterns_engine.http.authorization import TrustTokens

STRUCTURED = {"x-ms-structured-body": "XSM/1.0; properties=crc64"}
BLOCK_BLOB = {"x-ms-blob-type": "BlockBlob"}
APPEND_BLOB = {"x-ms-blob-type": "AppendBlob"}

LEASE = str(UUID(int=1))
BASE = "https://contoso.blob.core.windows.net"


class BlobWire(QueueWire):
    """Sends raw requests to the Blob service of an engine, by default signed with the account key."""

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        super().__init__(engine)
        self.base = f"https://{engine.account_name}.blob.core.windows.net"
        self._api = Api(engine, engine.blobs, BLOBS, trust_tokens=trust_tokens)


def structured(parts: Sequence[bytes], *, flags: int = 1) -> bytes:
    """Return a structured body of segments."""
    checked = flags & 1
    body = b""
    for number, part in enumerate(parts, 1):
        body += struct.pack("<HQ", number, len(part)) + part + (checksum([part]) if checked else b"")
    body += checksum(parts) if checked else b""
    return struct.pack("<BQHH", 1, 13 + len(body), flags, len(parts)) + body


def checksum(parts: Sequence[bytes]) -> bytes:
    return crc64(parts).to_bytes(8, "little")


def etag(engine: Engine, name: str = "b") -> str:
    return engine.blobs.get("photos", name).etag
