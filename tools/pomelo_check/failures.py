"""How runners tell of failed cases, and how tools/check repeats it in the end.

Whoever sees only the last lines of a run (CI shows no more) must know from them
what failed, in which way, and how to run it alone. A runner prints, before its
closing line, for each failure

    failed: NAME    alone: COMMAND
      | what was wrong

and, where its numbers are not numbers of tests, 'counted: WHAT'.
"""

import re
from dataclasses import dataclass, field

SHOWN = 10          # lines of a failure
ROOM = 20           # lines that the details of all failures have in the end
NAMED = 50          # failures that are only named there
WIDTH = 200

_HEAD = re.compile(r"(failed|did not run|broken off): (.*)")
_CRASH = re.compile(r"was terminated by signal|PANIC:|TRAP:")
_COUNTED = "counted: "
_MARK = "  | "


@dataclass
class Failure:
    """A case that failed: its name, the command for it alone, what was wrong."""
    name: str
    alone: str
    lines: list = field(default_factory=list)
    how: str = "failed"
    at_end: bool = False        # whether the last lines say most

    def show(self, count=SHOWN):
        """The lines that tell of it, with that many of what was wrong."""
        lines = [line.rstrip() for line in self.lines if line.strip()]
        yield f"{self.how}: {self.name}" + (f"    alone: {self.alone}" if self.alone else "")
        for line in lines[-count:] if self.at_end else lines[:count]:
            yield _MARK + line[:WIDTH]


def crashes(cluster):
    """A failure for each of a cluster's servers that crashed: its log vanishes with it."""
    found = []
    for node in cluster.nodes:
        lines = [line for line in node.log_since(0).splitlines() if _CRASH.search(line)]
        if lines:
            found.append(Failure(f"{node.name} crashed", "", lines))
    return found


class Reader:
    """Finds failures in the lines of a runner, and keeps its last lines."""

    def __init__(self):
        self.failures = []
        self.last = []
        self.counted = ""       # what the numbers of the closing line are numbers of

    def read(self, line):
        line = line.rstrip("\n")
        self.last = (self.last + [line])[-SHOWN:]
        head = _HEAD.fullmatch(line)
        if head:
            name, _, alone = head[2].partition("    alone: ")
            self.failures.append(Failure(name, alone, [], head[1]))
        elif line.startswith(_COUNTED):
            self.counted = line[len(_COUNTED):]
        elif line.startswith(_MARK) and self.failures:
            self.failures[-1].lines.append(line[len(_MARK):])


def print_failures(failures):
    """Prints each in full."""
    for failure in failures:
        print("\n".join(failure.show()))


def print_summary(failures):
    """Prints what the end of a log has room for: details of the first ones, after the names of others."""
    share = max(2, min(SHOWN, ROOM // max(len(failures), 1) - 1))
    first = ROOM // (share + 1)
    for failure in failures[first:first + NAMED]:
        print(next(failure.show()))
    if len(failures) > first + NAMED:
        print(f"... and {len(failures) - first - NAMED} more")
    for failure in failures[:first]:
        print("\n".join(failure.show(share)))
