"""Runs the areas of tests, two runners at a time, and adds up what they report.

An area that takes longer than all others together is run in parts.
"""

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
LANES = 2
PARTS = {"cluster": 3, "postgres": 3}

_printing = threading.Lock()
_running = []


class Result:
    """What an area, or a part of one, reported."""

    def __init__(self, name):
        self.name = name
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
    with ThreadPoolExecutor(max_workers=LANES) as pool:
        try:
            results = list(pool.map(lambda run: run_part(*run), runs(areas)))
        except KeyboardInterrupt:
            print("check: interrupted; the runners remove their servers", file=sys.stderr)
            for process in _running:
                process.terminate()
            return 130
    print()
    for result in results:
        print(f"{result.name:12} {result} ({result.seconds:.0f} s)")
        if result.counted:
            print(f"{'':12} {result.counted}")
    print_summary([failure for r in results for failure in r.failures])
    failed = sum(r.failed for r in results)
    print(f"{sum(r.passed for r in results)} passed, {failed} failed, "
          f"{sum(r.skipped for r in results)} skipped", flush=True)
    return 1 if failed else 0


def runner(area):
    return os.path.join(ROOT, "test", area, "run")


def runs(areas):
    """What is run, in turn: each area, with its part or None; the first parts come first."""
    order = [(part, place, area) for place, area in enumerate(areas) for part in range(PARTS.get(area, 1))]
    return [(area, f"{part + 1}/{PARTS[area]}" if area in PARTS else None) for part, _, area in sorted(order)]


def run_part(area, part):
    """Runs one area or a part of it, passing its lines on with its name in front."""
    result = Result(f"{area} {part}" if part else area)
    started = time.monotonic()
    process = subprocess.Popen([runner(area)], cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                               env={**os.environ, "POMELO_PART": part or ""})
    _running.append(process)
    closing, reader = None, Reader()
    for line in process.stdout:
        reader.read(line)
        closing = CLOSING.match(line) or closing
        with _printing:
            print(f"{result.name}: {line}", end="", flush=True)
    status = process.wait()
    result.seconds = time.monotonic() - started
    if closing:
        result.passed, result.failed, result.skipped = (int(n or 0) for n in closing.groups())
    result.failures, result.counted = reader.failures, reader.counted
    if closing is None or status != 0 and result.failed == 0:
        result.failures.append(Failure(f"{result.name} ended with status {status} before it was done",
                                       f"test/{area}/run", reader.last, at_end=True))
        result.failed = max(result.failed, 1)
    return result
