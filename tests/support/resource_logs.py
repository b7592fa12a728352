"""Write the requests of SDK clients in the format of Azure's resource logs of the Table service."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from tablepatterns.traffic.request import DISTINCTIVE_HEADERS, purpose_of

HOST: Final = "https://contoso.table.core.windows.net:443"
_ERRORS: Final = {404: "ResourceNotFound", 409: "EntityAlreadyExists", 412: "UpdateConditionNotSatisfied"}


class ResourceLog:
    """Resource logs of the requests of SDK clients; pass it to `connect` as `raw_response_hook`.

    :param now: the time of the next request
    :param step: the time between two requests
    """

    def __init__(self, now: datetime, step: timedelta = timedelta(0)) -> None:
        self.now, self._step = now, step
        self.records: list[dict[str, Any]] = []

    def __call__(self, response: Any) -> None:
        """Log one request and its response."""
        request, answer = response.http_request, response.http_response
        address = urlsplit(request.url)
        headers = {name: request.headers[name] for name in DISTINCTIVE_HEADERS["table"] if name in request.headers}
        operation = purpose_of("table", "", request.method, f"{HOST}{address.path}?{address.query}", headers).operation
        reads = request.method == "GET"
        self.records.append(
            {
                "time": f"{self.now:%Y-%m-%dT%H:%M:%S.%f}7Z",
                "category": "StorageRead" if reads else "StorageWrite",
                "operationName": "EntityGroupTransaction" if operation == "Transaction" else operation,
                "operationVersion": "2019-02-02",
                "schemaVersion": "1.0",
                "statusCode": answer.status_code,
                "statusText": _ERRORS.get(answer.status_code, "Success"),
                "durationMs": 9 if reads else 12,
                "callerIpAddress": "10.0.0.4:38208",
                "identity": {"type": "AccountKey"},
                "properties": {
                    "accountName": "contoso",
                    "userAgentHeader": request.headers["User-Agent"],
                    "serviceType": "table",
                    "serverLatencyMs": 7,
                    "responseBodySize": 900 if reads else 0,
                },
                "uri": f"{HOST}{address.path}" + (f"?{address.query}" if address.query else ""),
                "protocol": "HTTPS",
            }
        )
        self.now += self._step

    def json_lines(self) -> str:
        """Return the log in the format of a diagnostic setting."""
        return "".join(f"{json.dumps(each)}\n" for each in self.records)

    def workspace_rows(self) -> list[dict[str, Any]]:
        """Return the log as rows of StorageTableLogs in a Log Analytics workspace."""
        rows = []
        for each in self.records:
            flat = each | each["properties"]
            del flat["properties"], flat["identity"]
            rows.append({"TimeGenerated": flat.pop("time")} | {name[0].upper() + name[1:]: flat[name] for name in flat})
        return rows
