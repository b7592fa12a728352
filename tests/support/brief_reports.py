"""Report tests that pass briefly: with one message from a process, and one dot for many of them.

xdist sends six messages, which takes longer than most tests: about the start and the end of the test, and about the
set-up, the call and the tear-down.
"""

from __future__ import annotations

from itertools import count

import pytest

# Plugins that run a test again call it, too
from _pytest.runner import runtestprotocol

TESTS_PER_DOT = 50


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    # These ask how long each phase took, and when the test ended
    if is_worker and config.getoption("durations") is None and not config.getoption("xmlpath"):
        config.pluginmanager.register(BriefReports())
    elif not is_worker:
        config.pluginmanager.register(FewDots())


class FewDots:
    """Print a dot for many tests that passed or were skipped: one for each fills the screen many times."""

    def __init__(self) -> None:
        self._count = count(1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        is_pass = report.when == "call" and report.passed
        if hasattr(report, "wasxfail") or not (is_pass or report.skipped):
            return None
        return report.outcome, "" if next(self._count) % TESTS_PER_DOT else ".", report.outcome.upper()


class BriefReports:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.passed:
                report.keywords = {}
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True
