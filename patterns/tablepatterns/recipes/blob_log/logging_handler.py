"""Write the records of the standard library's `logging` to a blob log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager

from ...argument_types import checked
from ...errors import BadDesign
from ...recipe import BlockingAccount, is_sync
from .blob_log import BlobLog
from .entry import is_level


class BlobLogHandler(logging.Handler):
    """Write the records of Python loggers to a blob log.

    >>> from tablepatterns import connect
    >>> log = BlobLog(connect(), "logs", "shop")
    >>> logger = logging.getLogger("shop.orders")
    >>> logger.propagate = False
    >>> handler = BlobLogHandler(log)
    >>> logger.addHandler(handler)
    >>> start = log.account.now()
    >>> logger.warning("order %d is late", 4711)
    >>> logger.error("order %d is lost", 4712)
    >>> [(entry.level, entry.message) for entry in log.between(start)]
    [('WARNING', 'order 4711 is late'), ('ERROR', 'order 4712 is lost')]
    >>> logger.removeHandler(handler)

    An entry has the record's level name (or `Level 35` if the name is not valid in a log), the text that the handler's
    formatter returns, tracebacks included, and the field `logger`. Its instant comes from the clock of the log's
    account.

    The handler is thread-safe. `logging.shutdown`, which Python calls at exit, writes the buffer. Records of the Azure
    SDK (`azure` and below), and records that a thread logs while the handler writes, are left out, since logging them
    would produce more of them. Errors go to `handleError`, as in `logging`, and are never raised.

    Nothing is written in the background, so a record below `flush_level`, and those of a failed write, wait in the
    buffer for the next one. If threads must not wait for the network, put a `logging.handlers.QueueHandler` in front.

    Cost: that of `BlobLog.append`, and of a flush at `flush_level` and above.

    :param log: a log on a sync account
    :param level: the lowest level to log
    :param flush_level: a record of this level or above is written at once, with the whole buffer
    :raises BadDesign: the log is on an async account

    Guide: log data anti-pattern.
    """

    @checked
    def __init__(
        self, log: BlobLog[BlockingAccount], level: int | str = logging.NOTSET, *, flush_level: int = logging.ERROR
    ) -> None:
        if not is_sync(log.account):
            raise BadDesign("log", log, "logging is not async, and this log is", "pass a log on a sync account")
        super().__init__(level)
        self.log = log
        self.flush_level = flush_level
        self._writing = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Append a record to the log."""
        if record.name.partition(".")[0] == "azure" or getattr(self._writing, "here", False):
            return
        with self._handling_errors(record):
            level = record.levelname if is_level(record.levelname) else f"Level {record.levelno}"
            self.log.append(level, self.format(record), fields={"logger": record.name})
            if record.levelno >= self.flush_level:
                self.log.flush()

    def flush(self) -> None:
        """Write the buffer."""
        with self._handling_errors(logging.makeLogRecord({"name": __name__, "msg": "the log could not be written"})):
            self.log.flush()

    def close(self) -> None:
        """Write the buffer, and close the log."""
        with self._handling_errors(logging.makeLogRecord({"name": __name__, "msg": "the log could not be closed"})):
            self.log.close()
        super().close()

    @contextmanager
    def _handling_errors(self, record: logging.LogRecord) -> Generator[None, None, None]:
        """Report errors of a record, and ignore records that libraries log in this thread until then."""
        self._writing.here = True
        try:
            yield
        except Exception:  # noqa: BLE001 - logging must not raise, whether a formatter or the network fails
            self.handleError(record)
        finally:
            self._writing.here = False
