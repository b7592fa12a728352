"""An account with something for every documented operation to work on."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from support import blob_states, queue_states, table_states
from support.blob_requests import APPEND_BLOB, BLOCK_BLOB, LEASE, BlobWire
from support.documented_operations import Documented
from support.queue_requests import QueueWire
from support.table_requests import Wire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.tables.service import Operation


class Account:
    """An account with something for every operation to work on."""

    def __init__(self) -> None:
        clock = Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))
        self.engine = engine = Engine("contoso", clock=clock)
        self.wires: dict[str, Any] = {"blob": BlobWire(engine), "queue": QueueWire(engine), "table": Wire(engine)}
        self._fill_blobs(self.wires["blob"])
        engine.queues.create("orders", {"team": "Sales"})
        engine.queues.put("orders", "text", visibility=0, time_to_live=60)
        engine.queues.put("orders", "text", visibility=0, time_to_live=60)
        (message,) = engine.queues.get("orders", 1, 30)
        self.receipt = f"{message.id}?popreceipt={quote(message.receipt, safe='')}"
        engine.tables.create("Employees")
        engine.tables.apply("Employees", Operation("insert", "p", "r", {"A": 1}))

    def _fill_blobs(self, wire: BlobWire) -> None:
        lease = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1", "x-ms-proposed-lease-id": LEASE}
        said = {**BLOCK_BLOB, "x-ms-tags": "team=Sales", "x-ms-meta-m": "n", "x-ms-blob-content-type": "text/plain"}
        for name in ("photos", "leased", "free", "shared"):
            wire.send("PUT", f"/{name}?restype=container", {"x-ms-meta-m": "n"})
        wire.send("PUT", "/leased?restype=container&comp=lease", lease)
        wire.send("PUT", "/shared?restype=container&comp=acl", {"x-ms-blob-public-access": "blob"})
        for path in ("/photos/b", "/photos/leased", "/photos/free", "/shared/source"):
            wire.send("PUT", path, said, b"content")
        wire.send("PUT", "/photos/leased?comp=lease", lease)
        wire.send("PUT", "/photos/b?comp=block&blockid=YQ==", {}, b"staged")
        for path in ("/photos/log", "/shared/source/log"):
            wire.send("PUT", path, {**APPEND_BLOB, "x-ms-tags": "team=Sales"})
            wire.send("PUT", f"{path}?comp=appendblock", {}, b"one")

    def ask(self, operation: Documented, options: dict[str, str]) -> Response:
        path, headers = operation.path.replace("{receipt}", self.receipt), dict(operation.headers)
        for option, value in options.items():
            if option.startswith("?"):
                name = option[1:]
                path = re.sub(rf"(?<=[?&]){re.escape(name)}=[^&]*&?", "", path).rstrip("?&")
                path += f"{'&' if '?' in path else '?'}{name.replace('$', '%24')}={value.replace(' ', '%20')}"
            else:
                headers[option] = value
        body = operation.body.encode()
        found: Response = self.wires[operation.service].send(operation.method, path, headers, body)
        return found

    def seen(self, response: Response) -> tuple[int, str]:
        """Return what anyone can tell of an answer, and of the account after it, without ids that are random."""
        headers = {name: value for name, value in response.headers.items() if name not in ("Content-Length",)}
        text = f"{headers} {response.body!r} {self.state()!r}"
        text = re.sub(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", "ID", text)
        return response.status, re.sub(r"<PopReceipt>[^<]*|receipt='[^']*'|'x-ms-popreceipt': '[^']*'", "R", text)

    def state(self) -> Any:
        blobs = blob_states.everything_in(self.engine.blobs)
        contents = [bytes(blob.content) for *_, blob in self._versions(blobs[1])]
        return (
            blobs,
            contents,
            queue_states.everything_in(self.engine.queues),
            table_states.everything_in(self.engine.tables),
        )

    def _versions(self, slots: Any) -> Any:
        return [(name, blob) for name, (old, now, _) in slots.items() for blob in [*old, *([now] if now else [])]]
