"""Read the Table service's resource logs, and report the requests of an application in production."""

from .read import LogRecord, read_logs
from .summary import LogSummary, summarize

__all__ = ["LogRecord", "LogSummary", "read_logs", "summarize"]
