"""The committed list of expected differences.

    # PostgreSQL 15.18
    ## Reason, in one line
    hash last | 0A000: could not create rule ".."
    last | 55000: a local table's foreign key to distributed table ".." cannot be checked
    all | + WARNING: changes of distributed table ".." are not published
    reference | copy2 | rows 2f1c09aa | SELECT * FROM x
    all | rules | error 42P01: relation ".." does not exist | SELECT * FROM y

A refusal (0A000, and what the list has without a script), and an additional warning or notice, is told by its message without names
and numbers, in whatever script it comes. Every other difference is told by its script, its statement and its error, or a checksum of
the lines that differ: a known difference that changes is a new one.
"""

import re
import zlib
from collections import defaultdict
from pathlib import Path

from .answers import REFUSAL

__all__ = ["Expected", "script_of"]

LONG = 110
UNEXPLAINED = "TO BE EXPLAINED"


def checksum(text):
    return f"{zlib.crc32(text.encode('utf-8', 'surrogateescape')):08x}"


def script_of(text):
    """The script that an entry belongs to; None: any."""
    name, bar, _ = text.partition(" | ")
    return name if bar else None


class Expected:
    """The list: mode -> its entries."""

    def __init__(self, path, modes):
        self.path, self.modes = Path(path), modes
        self.entries = defaultdict(set)
        self.reasons = {}
        self.head = []
        reason = UNEXPLAINED
        for line in self.path.read_text(errors="surrogateescape").splitlines() if self.path.exists() else []:
            if line.startswith("## "):
                reason = line[3:]
            elif line.startswith("# "):
                self.head.append(line)
            elif line.strip():
                named, _, text = line.partition(" | ")
                self.reasons[text] = reason
                for mode in modes if named == "all" else named.split():
                    self.entries[mode].add(text)

    @property
    def version(self):
        """The version of PostgreSQL whose scripts the list is about, or None."""
        return next((found[1] for line in self.head if (found := re.search(r"PostgreSQL (\d+\.\d+)", line))), None)

    def refusal(self, mode, kind, state, text):
        """Whether this kind of difference, with this error, is a refusal wherever it comes."""
        return kind in ("refused", "error") and (state == REFUSAL or text in self.entries[mode])

    def entry(self, mode, test, statement, found):
        """What the list says, or would say, of a Difference."""
        if found.kind == "messages" or self.refusal(mode, found.kind, found.state, found.detail):
            return found.detail
        code = re.sub(r"\s+", " ", statement.code)[:LONG].replace("|", "!").strip()
        what = found.detail if found.kind in ("refused", "error", "accepted") else checksum(found.detail)
        return f"{test} | {found.kind} {what} | {code}"

    def vanished(self, mode, tests, found):
        """Entries of these tests that a run didn't find."""
        return sorted(text for text in self.entries[mode] - found if script_of(text) in tests)

    def update(self, mode, tests, found, every):
        """Makes the list say what a run of these tests, or of every one, found; new entries go below the first heading, to be explained."""
        kept = set() if every else {text for text in self.entries[mode] if script_of(text) not in tests}
        self.entries[mode] = kept | found

    def write(self):
        """Writes the list anew, in its order of reasons; entries without a reason come first."""
        by_reason = {UNEXPLAINED: [], **{reason: [] for reason in self.reasons.values()}}
        for text in sorted(set().union(*(self.entries[mode] for mode in self.modes)), key=lambda text: (script_of(text) or "", text)):
            by_reason[self.reasons.get(text, UNEXPLAINED)].append(text)
        lines = list(self.head)
        for reason, texts in by_reason.items():
            lines += ["", f"## {reason}"] if texts else []
            for text in texts:
                having = [mode for mode in self.modes if text in self.entries[mode]]
                lines.append(f"{'all' if having == self.modes else ' '.join(having)} | {text}")
        self.path.write_text("\n".join(lines).strip() + "\n", errors="surrogateescape")
