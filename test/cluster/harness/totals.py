"""A pytest plugin that counts, says how to run a failed test alone, and closes with the totals."""

import os

from pomelo_check.failures import Failure, print_failures

RUNNER = os.environ.get("POMELO_RUNNER", "test/cluster/run")    # what was called, if it calls ours


class Totals:
    """Counts tests; a test with several failing phases counts once."""

    def __init__(self):
        self.passed, self.skipped = set(), set()
        self.failed = {}            # name of the test: Failure

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.fail(report)
        elif report.skipped:
            self.skipped.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.fail(report)

    def fail(self, report):
        """Notes a failed phase of a test, with what was wrong in the first one."""
        lines = ["in its clean-up:"] if getattr(report, "when", "") == "teardown" else []
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            lines += places(report.longrepr) + crash.message.splitlines()
        else:
            lines += report.longreprtext.splitlines()
        self.failed.setdefault(report.nodeid, Failure(
            os.path.basename(report.nodeid), f"{RUNNER} '{report.nodeid}'", lines))

    def close(self, status):
        """Prints the closing lines."""
        print_failures(self.failed.values())
        failed = len(self.failed)
        if status not in (0, 1) and failed == 0:
            failed = 1
        passed = len(self.passed - set(self.failed))
        print(f"{passed} passed, {failed} failed, {len(self.skipped - set(self.failed))} skipped",
              flush=True)


def places(longrepr):
    """Where in our own code the exception came by: "file:line" of each, as one line."""
    entries = [getattr(entry, "reprfileloc", None) for entry in longrepr.reprtraceback.reprentries]
    ours = [f"{os.path.basename(at.path)}:{at.lineno}" for at in entries
            if at is not None and "site-packages" not in at.path]
    return [" > ".join(ours)] if ours else []
