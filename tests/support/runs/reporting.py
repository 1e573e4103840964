"""What a run reports besides its failures: its seed, and the figures in seconds that its tests have measured."""

from collections.abc import Iterator

import pytest

from tests.support.runs import figures, sampling
from tests.support.runs.seed import SEED


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # only one process of a run has it
    if reporter:
        sample = f" and SAMPLE={sampling.CASES}" if sampling.CASES else ""
        reporter.write_line(f"SEED={SEED}{sample} repeats what chance decides in this run")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A report has the figures that its test has measured; that of a failure also says how to repeat it."""
    item.user_properties += [("seconds", figure) for figure in figures.taken()]
    report = yield
    if report.failed:
        report.sections.append(("the seed", f"SEED={SEED} repeats what chance has decided"))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print each figure in seconds beside its limit."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    measured = [
        (report.nodeid, *figure)
        for report in reports
        if report.when == "call"
        for name, figure in report.user_properties
        if name == "seconds"
    ]
    if measured:
        terminalreporter.section("seconds" if figures.ASSERTED else "seconds, asserted only with ASSERT_SECONDS=1")
    for test, what, seconds, limit in measured:
        terminalreporter.write_line(f"{seconds:8.2f} of {limit:g}  {what}  {test}")
