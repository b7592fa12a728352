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
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tablepatterns import BlobLog, BlobLogHandler, Storage, connect


def configuration(log: BlobLog[Storage]) -> dict[str, Any]:
    """Return what `dictConfig` takes: warnings on the console, everything in blobs."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "level": "WARNING", "formatter": "line"},
            # () names what makes the handler; the other words are its parameters
            "blobs": {"()": BlobLogHandler, "log": log, "flush_level": logging.ERROR},
        },
        "loggers": {"shop": {"level": "DEBUG", "handlers": ["console", "blobs"], "propagate": False}},
    }


@contextmanager
def logging_to(log: BlobLog[Storage]) -> Iterator[None]:
    """Have the logger `shop` write to the log, in a thread of its own, until the block ends."""
    logging.config.dictConfig(configuration(log))
    shop = logging.getLogger("shop")
    handlers, waiting = list(shop.handlers), queue.SimpleQueue[Any]()
    # Who logs puts the record into a queue and goes on; the listener's thread waits for the network
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
    """Log a few lines, and read the errors of the last hour back."""
    with connect(os.environ.get("STORAGE", "memory://")) as storage:
        log = BlobLog(storage, "logs", "shop")
        with logging_to(log):
            orders = logging.getLogger("shop.orders")
            orders.info("order 4711 has come")
            orders.warning("order 4711 waits for its payment")
            orders.error("order 4711 is lost")
        since = storage.now() - timedelta(hours=1)
        for entry in log.between(since, levels=["ERROR", "CRITICAL"]):
            print(entry.level, entry.fields["logger"], entry.message)


if __name__ == "__main__":
    main()
