"""The table of benchmarks, and how much of them a run measures."""

from dataclasses import dataclass, replace

import copying
import keyed

# name -> (function that yields a Result per configuration, what its second side is: a single server with the
# extension, or a cluster)
CASES = {
    "plain": (keyed.plain, "extension"),
    "keyed": (keyed.keyed, "cluster"),
    "owned": (keyed.owned, "cluster"),
    "copy": (copying.copy, "cluster"),
}


@dataclass
class Plan:
    """What to measure, and how long. Empty selections mean the case's own choice."""

    rounds: int
    seconds: int  # of a pgbench run
    copy_rounds: int
    quick: bool = False
    rows: int = 2_000_000
    scripts: tuple = ()
    protocols: tuple = ()
    clients: tuple = ()
    entries: tuple = ()


FULL = Plan(rounds=3, seconds=2, copy_rounds=5)
QUICK = Plan(rounds=3, seconds=1, copy_rounds=2, quick=True)


def make_plan(quick, rounds=None, seconds=None, **selection):
    """The plan of a full or a quick run, with what the user wants otherwise."""
    chosen = replace(QUICK if quick else FULL, **selection)
    if rounds:
        chosen = replace(chosen, rounds=rounds, copy_rounds=rounds)
    if seconds:
        chosen = replace(chosen, seconds=seconds)
    return chosen
