"""Which part of its largest tests a run takes: all for `make check-all`, a sample for `make check`.

A sample is another one each time, so that every case has its turn; its seed is printed and may be given again.
POMELO_PART=K/N takes the K-th of N parts of all, for runs side by side; POMELO_SHARE=N one of N tests, for another server.
"""

import os
import random

SEED = int(os.environ.get("POMELO_RANDOM_SEED") or random.randrange(10**6))
SHARE = int(os.environ.get("POMELO_SHARE") or 1)
ALL = bool(os.environ.get("POMELO_CHECK_ALL"))
PART, PARTS = map(int, (os.environ.get("POMELO_PART") or "1/1").split("/"))


def sample(cases, count):
    """That many of the cases, in their order."""
    if ALL or count >= len(cases):
        return list(cases)
    chosen = random.Random(SEED).sample(range(len(cases)), count)
    return [cases[number] for number in sorted(chosen)]


def share_of(names):
    """One of POMELO_SHARE names, by chance, in their order; said if it isn't all."""
    count = -(-len(names) // SHARE)
    chosen = sorted(random.Random(SEED).sample(range(len(names)), count))
    if SHARE > 1:
        print(f"a share: {count} of {len(names)}, seed {SEED} (POMELO_RANDOM_SEED), POMELO_SHARE={SHARE}", flush=True)
    return [names[number] for number in chosen]


def part_of(sizes):
    """Which of the groups with these sizes, by name, are in this run's part; all runs agree about it."""
    loads, taken = [0] * PARTS, set()
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        least = loads.index(min(loads))
        loads[least] += size
        if least == PART - 1:
            taken.add(name)
    return taken


def told(what, count, total):
    """A line for the report."""
    rest = "" if count == total else f", seed {SEED} (POMELO_RANDOM_SEED); all with POMELO_CHECK_ALL=1"
    return f"{what}: {count} of {total}{rest}"
