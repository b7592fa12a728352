"""Read gigabytes of resource logs: the rate, and the peak memory.

`python -m benchmarks.logs --gigabytes 10` writes chunks of a log to a temporary folder, one at a time, and reads each
as `tablepatterns traffic` does. Only the reading is timed, by the clock and by the processor, since other programs may
run.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import perf_counter, process_time

from tablepatterns.traffic.logs import summarize

from .environment import environment

RESULTS = Path(__file__).parent / "results"
CHUNK = 200_000_000
"""The approximate number of bytes of log that are on disk at a time."""
PART = 2_000
"""The number of records that are written at a time."""
START = datetime(2026, 11, 1, tzinfo=timezone.utc)
HOST = "https://contoso.table.core.windows.net:443"
LINE = (
    '{"time":"%sZ","category":"Storage%s","operationName":"%s","operationVersion":"2019-02-02","schemaVersion":"1.0",'
    '"statusCode":%d,"statusText":"%s","durationMs":%d,"callerIpAddress":"10.0.%d.%d:38208","correlationId":'
    '"%08x-d002-00b4-4d5c-8c7e2d000000","identity":{"type":"SAS","tokenHash":"key1(2A1BA0E4F4B5C4FC6AFF1F5A1C0D3A7E)"},'
    '"location":"westeurope","properties":{"accountName":"contoso","userAgentHeader":"%s","clientRequestId":'
    '"%08x-73d4-11ee-b962-0242ac120002","etag":"","serviceType":"table","objectKey":"/contoso/%s","metricResponseType":'
    '"Success","serverLatencyMs":%d,"requestHeaderSize":664,"requestBodySize":%d,"responseHeaderSize":260,'
    '"responseBodySize":%d,"tlsVersion":"TLS 1.3"},"uri":"%s","protocol":"HTTPS","resourceType":'
    '"Microsoft.Storage/storageAccounts/tableServices"}\n'
)
AGENTS = [f"azsdk-python-data-tables/12.{minor}.0 Python/3.11.7 (Linux)" for minor in range(4, 8)]


def line(number: int, draw: random.Random) -> str:
    """Return one record: point reads, ranges, scans, inserts and transactions of many partitions."""
    kind, customer, order = draw.random(), int(draw.paretovariate(0.8)) % 5_000_000, draw.randrange(10**9)
    key, path = f"customer_{customer:07d}", f"Orders(PartitionKey='customer_{customer:07d}',RowKey='order_{order:09d}')"
    reads = kind < 0.7
    if kind < 0.4:
        operation, uri = "QueryEntity", f"{HOST}/{path}"
    elif kind < 0.69:
        where = f"PartitionKey%20eq%20%27{key}%27%20and%20RowKey%20ge%20%27order_{order:09d}%27"
        operation, path = "QueryEntities", "Orders()"
        uri = f"{HOST}/Orders()?$filter={where}&$top=100"
    elif kind < 0.7:
        operation, path = "QueryEntities", "Orders()"
        uri = f"{HOST}/Orders()?$filter=Total%20gt%20{order % 1_000}"
    elif kind < 0.9:
        operation, path, uri = "InsertEntity", "Orders", f"{HOST}/Orders"
    elif kind < 0.97:
        operation, uri = "MergeEntity", f"{HOST}/{path}"
    else:
        operation, path, uri = "EntityGroupTransaction", "$batch", f"{HOST}/$batch"
    moment = (START + timedelta(milliseconds=2 * number)).isoformat(timespec="microseconds")[:26]
    status, text = (503, "ServerBusy") if draw.random() < 0.001 else (200 if reads else 204, "Success")
    took = draw.randrange(3, 40)
    return LINE % (
        moment,
        "Read" if reads else "Write",
        operation,
        status,
        text,
        took,
        number % 7,
        number % 250,
        number,
        AGENTS[number % len(AGENTS)],
        order,
        path.partition("(")[0],
        took - 2,
        0 if reads else 700,
        900 if reads else 0,
        uri,
    )


@dataclass
class Log:
    """A log that is written chunk by chunk.

    :param size: the total number of bytes
    :param folder: the folder of the chunks
    :param writing: the wall time of writing them, in seconds
    :param used: the CPU time of writing them, in seconds
    """

    size: int
    folder: Path
    written: int = 0
    records: int = 0
    writing: float = 0.0
    used: float = 0.0

    def chunks(self) -> Iterator[Path]:
        """Write and yield each chunk, and delete it afterwards.

        The parts of a chunk differ only in keys and times, so that new partitions keep appearing.
        """
        draw = random.Random(15)
        part = "".join(line(number, draw) for number in range(PART))
        number = 0
        while self.written < self.size:
            start, used = perf_counter(), process_time()
            path = self.folder / f"PT1H.{self.written}.json"
            with path.open("w", encoding="utf-8") as file:
                chunk = 0
                while chunk < min(CHUNK, self.size - self.written):
                    day = f"{START + timedelta(minutes=number // 10):%Y-%m-%dT%H:%M}"
                    text = part.replace("customer_", f"customer_{number // 10:05d}").replace("2026-11-01T00:00", day)
                    file.write(text)
                    chunk += len(text)
                    number += 1
            self.records = number * PART
            self.written += chunk
            self.writing += perf_counter() - start
            self.used += process_time() - used
            yield path
            path.unlink()


def main() -> None:
    """Read a log of the given size, and store the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/logs.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Log(int(given.gigabytes * 1e9), Path(folder))
        start, used = perf_counter(), process_time()
        found = summarize(log.chunks())
        seconds, used = perf_counter() - start - log.writing, process_time() - used - log.used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result = {
        "environment": environment(),
        "bytes": log.written,
        "records": log.records,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 1),
        "records_per_second": round(log.records / seconds),
        "records_per_processor_second": round(log.records / used),
        "megabytes_per_second": round(log.written / seconds / 1e6, 1),
        "peak_megabytes": round(peak / 1e6, 1),
        "requests": found.overall.requests,
        "scans": found.scans,
        "partitions_kept": len(found.partitions),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if given.store:
        (RESULTS / "logs.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
