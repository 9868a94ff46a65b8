"""Runs the areas of tests, two at a time, and adds up what they report."""

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import unwind_when_terminated
from .failures import Failure, Reader, print_summary

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CLOSING = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")

_printing = threading.Lock()
_running = []


class Result:
    """What one area reported."""

    def __init__(self, area):
        self.area = area
        self.passed = self.failed = self.skipped = 0
        self.seconds = 0.0
        self.failures = []
        self.counted = ""

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def main():
    """Exit status 1 unless every area ran and passed."""
    areas = sys.argv[1:]
    missing = [a for a in areas if not os.access(runner(a), os.X_OK)]
    if missing or not areas:
        print(f"check: no such area of tests: {' '.join(missing) or '(none named)'}",
              file=sys.stderr)
        return 2
    unwind_when_terminated()
    with ThreadPoolExecutor(max_workers=1 if len(areas) == 1 else 2) as pool:
        try:
            results = list(pool.map(run_area, areas))
        except KeyboardInterrupt:
            print("check: interrupted; the runners remove their servers", file=sys.stderr)
            for process in _running:
                process.terminate()
            return 130
    print()
    for result in results:
        print(f"{result.area:12} {result} ({result.seconds:.0f} s)")
        if result.counted:
            print(f"{'':12} {result.counted}")
    print_summary([failure for r in results for failure in r.failures])
    failed = sum(r.failed for r in results)
    print(f"{sum(r.passed for r in results)} passed, {failed} failed, "
          f"{sum(r.skipped for r in results)} skipped", flush=True)
    return 1 if failed else 0


def runner(area):
    return os.path.join(ROOT, "test", area, "run")


def run_area(area):
    """Runs one area, passing its lines on with its name in front."""
    result = Result(area)
    started = time.monotonic()
    process = subprocess.Popen([runner(area)], cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    _running.append(process)
    closing, reader = None, Reader()
    for line in process.stdout:
        reader.read(line)
        closing = CLOSING.match(line) or closing
        with _printing:
            print(f"{area}: {line}", end="", flush=True)
    status = process.wait()
    result.seconds = time.monotonic() - started
    if closing:
        result.passed, result.failed, result.skipped = (int(n or 0) for n in closing.groups())
    result.failures, result.counted = reader.failures, reader.counted
    if closing is None or status != 0 and result.failed == 0:
        result.failures.append(Failure(f"{area} ended with status {status} before it was done",
                                       f"test/{area}/run", reader.last))
        result.failed = max(result.failed, 1)
    return result
