"""Handler for `logging`: the records of the standard library's loggers, kept in a blob log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager

from ...argument_types import checked
from ...errors import BadDesign
from ...recipe import BlockingAccount
from .blob_log import BlobLog
from .entry import is_level


class BlobLogHandler(logging.Handler):
    """Keep what loggers report in a blob log.

    A record's entry has its level's name (`Level 35` where a log takes no such name), its text as the handler's
    formatter gives it, tracebacks included, and the field `logger`. Its instant is that of the log's account.

    Guarantees: loggers in any threads may use it. `logging.shutdown`, which Python calls at exit, writes what is in the
    buffer. Records of the SDK (`azure` and below), and whatever is logged in a thread while the handler writes, are
    left out: to log them would make more of them. What goes wrong is told as `logging` does, by `handleError`, and
    never raised.

    Does not: keep a record whose write failed, except in the log's buffer; write in the background, so that a record
    below `flush_level` may wait for the next. Put a `logging.handlers.QueueHandler` in front of it where threads must
    not wait for the network.

    Cost: that of `BlobLog.append`, and of a flush at `flush_level` and above.

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

    :param log: where the entries go: a log on a sync account
    :param level: records below it are left out
    :param flush_level: a record of this level or above is written at once, with all that waits
    :raises BadDesign: the log's recipes must be awaited, which loggers do not do

    Guide: log data anti-pattern.
    """

    @checked
    def __init__(
        self, log: BlobLog[BlockingAccount], level: int | str = logging.NOTSET, *, flush_level: int = logging.ERROR
    ) -> None:
        if not log.account.is_sync:
            rule = "loggers do not await, and the recipes of this log must be awaited"
            raise BadDesign("log", log, rule, "give a log on a sync account")
        super().__init__(level)
        self.log = log
        self.flush_level = flush_level
        self._writing = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record's entry to the log."""
        if _is_of_the_sdk(record) or getattr(self._writing, "here", False):
            return
        try:
            with self._alone():
                self.log.append(_level_of(record), self.format(record), fields={"logger": record.name})
                if record.levelno >= self.flush_level:
                    self.log.flush()
        except Exception:  # noqa: BLE001 - whatever a formatter or the network raises, a logger raises nothing
            self.handleError(record)

    def flush(self) -> None:
        """Write what is in the buffer."""
        try:
            with self._alone():
                self.log.flush()
        except Exception:  # noqa: BLE001 - as in `emit`
            self.handleError(logging.makeLogRecord({"name": __name__, "msg": "the log could not be written"}))

    def close(self) -> None:
        """Write what is in the buffer, and close the log."""
        try:
            with self._alone():
                self.log.close()
        except Exception:  # noqa: BLE001 - as in `emit`
            self.handleError(logging.makeLogRecord({"name": __name__, "msg": "the log could not be closed"}))
        super().close()

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """Leave out what this thread logs meanwhile, such as what the SDK's own libraries report."""
        self._writing.here = True
        try:
            yield
        finally:
            self._writing.here = False


def _level_of(record: logging.LogRecord) -> str:
    return record.levelname if is_level(record.levelname) else f"Level {record.levelno}"


def _is_of_the_sdk(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == "azure"
