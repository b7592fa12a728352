"""Log to blobs with the standard library: a dictConfig with `BlobLogHandler` behind a queue.

    python examples/logging_setup/shop.py

It runs in memory, or on the account that the environment variable STORAGE names: azurite, env, a connection string.
"""

from __future__ import annotations

import logging
import logging.config
import logging.handlers
import os
import queue
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tablepatterns import BlobLog, BlobLogHandler, Storage, connect


def configuration(log: BlobLog[Storage]) -> dict[str, Any]:
    """Return the configuration for `dictConfig`: warnings on the console, everything in blobs."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "level": "WARNING", "formatter": "line"},
            # "()" is the handler's class; the other entries are its parameters
            "blobs": {"()": BlobLogHandler, "log": log, "flush_level": logging.ERROR},
        },
        "loggers": {"shop": {"level": "DEBUG", "handlers": ["console", "blobs"], "propagate": False}},
    }


@contextmanager
def logging_to(log: BlobLog[Storage]) -> Generator[None, None, None]:
    """Write the records of the logger `shop` to the log from a separate thread, until the block ends."""
    logging.config.dictConfig(configuration(log))
    shop = logging.getLogger("shop")
    handlers, waiting = list(shop.handlers), queue.SimpleQueue[Any]()
    # The caller only puts the record into a queue; the listener's thread waits for the network
    listener = logging.handlers.QueueListener(waiting, *handlers, respect_handler_level=True)
    shop.handlers = [logging.handlers.QueueHandler(waiting)]
    listener.start()
    try:
        yield
    finally:
        listener.stop()
        for handler in handlers:
            handler.close()
        shop.handlers = []


def main() -> None:
    """Log a few lines, and read back the errors of the last hour."""
    with connect(os.environ.get("STORAGE", "memory://")) as storage:
        log = BlobLog(storage, "logs", "shop")
        with logging_to(log):
            orders = logging.getLogger("shop.orders")
            orders.info("order 4711 received")
            orders.warning("order 4711 is waiting for payment")
            orders.error("order 4711 was lost")
        since = storage.now() - timedelta(hours=1)
        for entry in log.between(since, levels=["ERROR", "CRITICAL"]):
            print(entry.level, entry.fields["logger"], entry.message)


if __name__ == "__main__":
    main()
