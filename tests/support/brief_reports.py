"""Report a test that passed with one message: xdist sends six, which takes longer than most tests.

Its messages are about the start and the end of the test, and about the set-up, the call and the tear-down.
"""

from __future__ import annotations

import pytest

# Plugins that run a test again call it, too
from _pytest.runner import runtestprotocol


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    # These ask how long each phase took, and when the test ended
    if is_worker and config.getoption("durations") is None and not config.getoption("xmlpath"):
        config.pluginmanager.register(BriefReports())


class BriefReports:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.passed:
                report.keywords = {}
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True
