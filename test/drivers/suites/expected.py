"""The committed list of a suite's tests that pass on a plain server only.

    # asyncpg 0.32.0
    ## Reason, in one line
    coordinator gateway | tests/test_listeners.py::TestListeners::test_listen_01
    gateway, at times | tests/test_pool.py::TestPool::test_pool_13

"At times" is for tests that depend on time: neither their passing nor their failing there is an error.
"""

from collections import defaultdict

from .targets import TARGETS

__all__ = ["Expected"]

UNEXPLAINED = "TO BE EXPLAINED"
AT_TIMES = ", at times"


class Expected:
    """The list: target -> its tests."""

    def __init__(self, path, title):
        self.path, self.title = path, title
        self.entries, self.at_times, self.reasons = defaultdict(set), set(), {}
        reason = UNEXPLAINED
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            if line.startswith("## "):
                reason = line[3:]
            elif line.strip() and not line.startswith("#"):
                named, _, test = line.partition(" | ")
                self.reasons[test] = reason
                if named.endswith(AT_TIMES):
                    self.at_times.add(test)
                for target in named.removesuffix(AT_TIMES).split():
                    self.entries[target].add(test)

    def always(self, target):
        """The tests that never pass on a target."""
        return self.entries[target] - self.at_times

    def update(self, target, found):
        """Makes the list say what a run found; new tests go below the first heading, to be explained."""
        self.entries[target] = found | (self.entries[target] & self.at_times)

    def write(self):
        """Writes the list anew, in its order of reasons; tests without one come first."""
        by_reason = {UNEXPLAINED: [], **{reason: [] for reason in self.reasons.values()}}
        for test in sorted(set().union(*self.entries.values())):
            by_reason[self.reasons.get(test, UNEXPLAINED)].append(test)
        lines = [f"# {self.title}"]
        for reason, tests in by_reason.items():
            lines += ["", f"## {reason}"] if tests else []
            for test in tests:
                named = " ".join(target for target in TARGETS if test in self.entries[target])
                lines.append(f"{named}{AT_TIMES if test in self.at_times else ''} | {test}")
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
