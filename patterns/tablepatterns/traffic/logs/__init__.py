"""Read the Table service's resource logs, and report the requests of an application in production."""

from .summary import LogSummary, summarize

__all__ = ["LogSummary", "summarize"]
