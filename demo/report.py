"""What the demo prints: steps as they begin, table rows as soon as they are known."""

import sys
import time


class Report:
    """Prints to stdout at once, and remembers what differed."""

    def __init__(self, steps):
        self.steps = steps
        self.step = 0
        self.started = time.monotonic()
        self.differences = []

    def begin(self, text):
        self.step += 1
        self.say(f"\n[{self.step}/{self.steps}] {text}  ({self.elapsed():.0f} s)")

    def say(self, text=""):
        print(text, flush=True)

    def elapsed(self):
        return time.monotonic() - self.started

    def differ(self, what, why):
        self.differences.append((what, why))

    def waiting(self, text):
        """Show what runs now, where a terminal can take it back."""
        if sys.stdout.isatty():
            print(f"{text}\r", end="", flush=True)


def milliseconds(seconds):
    return "-" if seconds is None else f"{seconds * 1000:,.1f}"
