"""YCSB's core workloads A to F as pgbench scripts, with zipfian and uniform keys and rows of 1 KB.

Differences from the original tool: keys are integers; an update changes always the same one of the ten fields;
pgbench's zipfian distribution needs an exponent above 1, so it is 1.001 and not 0.99; and "the latest" rows of
workload D are those of the client itself. The short range scans of workload E are within one key: threads of
posts, as YCSB describes the workload, distributed by thread; a scan reads up to 100 posts of a thread in order.
"""

import tables
from keyed import Workload, run

FIELDS = "".join(f", field{number} text" for number in range(10))
USERS = (f"CREATE TABLE bench_usertable (ycsb_key bigint PRIMARY KEY{FIELDS})",)
POSTS = (f"CREATE TABLE bench_posts (thread bigint, post bigint{FIELDS}, PRIMARY KEY (thread, post))",)
POSTS_A_THREAD = 100
SHARE = 10

# workload -> its mix: (script, weight)
MIXES = {
    "a": (("ycsb-read", 50), ("ycsb-update", 50)),
    "b": (("ycsb-read", 95), ("ycsb-update", 5)),
    "c": (("ycsb-read", 100),),
    "d": (("ycsb-latest", 95), ("ycsb-insert", 5)),
    "e": (("ycsb-scan", 95), ("ycsb-post", 5)),
    "f": (("ycsb-read", 50), ("ycsb-modify", 50)),
}
QUICK = {"ycsb-a": (("prepared", 8),)}


def workloads():
    """All mixes with both distributions of keys: "ycsb-a" is zipfian, "ycsb-a-uniform" is not."""
    found = {}
    for letter, mix in MIXES.items():
        for suffix, zipfian in (("", 1), ("-uniform", 0)):
            name = f"ycsb-{letter}{suffix}"
            found[name] = Workload(mix, quick=QUICK.get(name, ()), variables={"zipfian": zipfian, "inserted": 0})
    return found


def ycsb(sides, plan, say):
    """YCSB A to F on rows of 1 KB, with zipfian and uniform keys."""
    sides = [side for side in sides if side.form != "hop"]
    for side in sides:
        say(f"  loading {plan.rows // SHARE:,} users and as many posts on {side.name}")
        variables = create(side, plan.rows)
    yield from run(sides, plan, "ycsb", workloads(), ("coordinator", "nodes"), variables)


def create(side, rows):
    """Make and load the tables, each with a tenth of the rows, since these are bigger; return scripts' variables."""
    rows //= SHARE
    threads = rows // POSTS_A_THREAD
    values = "".join("\t" + letter * 100 for letter in "abcdefghij") + "\n"
    tables.create(side, USERS, (("bench_usertable", "ycsb_key"),))
    tables.create(side, POSTS, (("bench_posts", "thread"),))
    tables.load(side, "bench_usertable", chunks((str(key) for key in range(1, rows + 1)), values))
    tables.load(side, "bench_posts", chunks(
        (f"{thread}\t{post}" for thread in range(1, threads + 1) for post in range(1, POSTS_A_THREAD + 1)), values))
    tables.warm(side, "bench_usertable")
    tables.warm(side, "bench_posts")
    return {"rows": rows, "threads": threads, "posts": POSTS_A_THREAD}


def chunks(keys, values):
    """Rows of these keys with the same values each, in chunks of text."""
    lines = []
    for key in keys:
        lines.append(key + values)
        if len(lines) == 1000:
            yield "".join(lines).encode()
            lines = []
    yield "".join(lines).encode()
