"""What became of a suite's tests, and how two runs differ."""

from dataclasses import dataclass

PASSED, FAILED, SKIPPED, MISSING = "passed", "failed", "skipped", "not run"


@dataclass
class Outcome:
    """Of one test: what became of it, and the text that says why."""
    kind: str
    detail: str = ""


def differences(base, found):
    """The tests that passed in the first run and not in the second, with their outcome there.

    A test of which a part differs is told by that part alone.
    """
    differing = {test: found.get(test, Outcome(MISSING)) for test, outcome in base.items()
                 if outcome.kind == PASSED and (test not in found or found[test].kind != PASSED)}
    wholes = {test.rpartition("/")[0] for test in differing}
    return {test: outcome for test, outcome in differing.items() if test not in wholes}
