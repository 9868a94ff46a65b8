"""A plugin of pytest, which writes each test's outcome as soon as it is known: what ends the run loses no other's."""

import json
import os

_worst = {}


def pytest_runtest_logreport(report):
    """Called for a test's setup, itself, and its teardown; the worst of the three counts."""
    kind, detail = _worst.get(report.nodeid, ("passed", ""))
    if report.failed:
        kind, detail = "failed", str(report.longrepr)[-4000:]
    elif report.skipped and kind == "passed":
        kind, detail = "skipped", str(report.longrepr)[-400:]
    _worst[report.nodeid] = kind, detail
    if report.when == "teardown":
        with open(os.environ["TELL_OUTCOMES_TO"], "a", encoding="utf-8") as told:
            told.write(json.dumps({"test": report.nodeid, "kind": kind, "detail": detail}) + "\n")
        del _worst[report.nodeid]
