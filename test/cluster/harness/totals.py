"""A pytest plugin that counts, says how to run a failed test alone, and closes with the totals."""

import os


class Totals:
    """Counts tests; a test with several failing phases counts once."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.broken = set(), set(), set(), 0

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.skipped:
            self.skipped.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.broken += 1

    def close(self, status):
        """Prints the closing lines."""
        for name in sorted(self.failed):
            print(f"failed: {os.path.basename(name)}    alone: test/cluster/run '{name}'")
        failed = len(self.failed) + self.broken
        if status not in (0, 1) and failed == 0:
            failed = 1
        passed = len(self.passed - self.failed)
        print(f"{passed} passed, {failed} failed, {len(self.skipped - self.failed)} skipped",
              flush=True)
