"""All errors of two minutes, from a log of an hour that is kept in blobs."""

from datetime import datetime, timedelta, timezone

from tablepatterns import BlobLog, Storage, Traffic, connect

THREE = datetime(2014, 7, 31, 15, tzinfo=timezone.utc)
MINUTE = timedelta(minutes=1)


def main(storage: Storage) -> None:
    # -- declare
    log = BlobLog(storage, "logs", "queue")

    # -- write
    with Traffic(storage) as traffic:
        for number in range(60):
            level = "INFO" if number % 5 else "ERROR"
            log.append(level, f"minute {number}", at=THREE + number * MINUTE)
        print("appended by", len(traffic.requests), "requests")
    print("flushed:", log.flush())
    print_blobs(storage)

    # -- ask
    span = THREE + 4 * MINUTE, THREE + 16 * MINUTE
    with Traffic(storage) as traffic:
        for entry in log.between(*span, levels=["ERROR", "CRITICAL"]):
            print(f"{entry.at:%H:%M}", entry.level, entry.message)
    print(len(traffic.requests), "requests")

    # -- through
    with BlobLog(storage, "logs", "queue", write_through=True) as other:
        other.append("CRITICAL", "disk full", at=THREE + 5 * MINUTE)
        other.append("INFO", "an hour later", at=THREE + 65 * MINUTE)
    print_blobs(storage)

    # -- end


def print_blobs(storage: Storage) -> None:
    """Print the stored blobs."""
    logs = storage.blobs.get_container_client("logs")
    for blob in logs.list_blobs(include=["metadata"]):
        metadata = blob.metadata
        span = f"{metadata['first'][11:19]} to {metadata['last'][11:19]}"
        print(f"  {blob.name}  {span}  {metadata['levels']}")


if __name__ == "__main__":
    main(connect())
