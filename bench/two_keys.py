"""What two-phase commit costs: two updates of two colocated tables, by the same key or by different ones.

With the same key both rows are on one node, which commits by itself; different keys are on different nodes as
often as there are other nodes, and the transaction commits in two phases then. The figure that counts is the ratio
of the two rates on the cluster; the plain server's shows what the second row costs anyway.
"""

import statistics

import pgbench
import tables
from keyed import Workload, loads
from rounds import Figures, Result

TABLES = tuple(f"CREATE TABLE bench_{name} (key integer PRIMARY KEY, v bigint)" for name in ("a1", "a2"))
KEYS = (("bench_a1", "key"), ("bench_a2", "key"))
SCRIPTS = {"same key": "same-key", "different keys": "different-keys"}
LOADS = Workload((), clients=(1, 8, 32), quick=(("prepared", 32),))


def two_keys(sides, plan, say):
    """Two updates in a transaction, by the same key or by different keys."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    rows = plan.rows // 2
    for side in sides:
        say(f"  loading 2 x {rows:,} rows on {side.name}")
        tables.create(side, TABLES, KEYS)
        for table, _ in KEYS:
            tables.load(side, table, [b"".join(b"%d\t0\n" % key for key in range(1, rows + 1))])
            tables.warm(side, table)
    for load in loads(LOADS, plan, ("coordinator", "nodes")):
        results = measure(sides, load, plan, rows)
        yield from results.values()
        yield Figures("two_keys", f"different keys / same key, {load}", values={
            side.name: ratio(results, side) for side in sides})


def measure(sides, load, plan, rows):
    """Both transactions on all sides in each round, in turning order: name -> Result."""
    results = {name: Result("two_keys", f"{name}, {load}", sides[0].name,
                            samples={side.name: [] for side in sides}) for name in SCRIPTS}
    turns = [(name, side) for side in sides for name in SCRIPTS]
    for number in range(plan.rounds):
        for name, side in turns if number % 2 == 0 else reversed(turns):
            results[name].samples[side.name].append(
                pgbench.measure(side, pgbench.script((SCRIPTS[name],), {"rows": rows}), load, plan.seconds))
    return results


def ratio(results, side):
    """The median over the rounds."""
    same, different = (results[name].rates(side.name) for name in SCRIPTS)
    return round(statistics.median(two / one for one, two in zip(same, different)), 3)
