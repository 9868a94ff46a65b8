"""Planning times, as EXPLAIN reports them, of TPC-H's queries and of statements of one shard group.

The statements run by turns on a plain server and on a cluster, in one session each; times are medians.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import analytics
import servers

LAYOUT = "colocated"

JOINED = "FROM orders JOIN lineitem ON l_orderkey = o_orderkey"
FIVE = """customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey JOIN nation ON n_nationkey = s_nationkey"""

# Of one shard group, which only the condition on the order's key decides.
ROUTED = {
    "by key": "SELECT * FROM orders WHERE o_orderkey = 7",
    "join": f"SELECT * {JOINED} WHERE o_orderkey = 7",
    "join, grouped": f"SELECT o_custkey, sum(l_quantity) {JOINED} WHERE o_orderkey = 7 GROUP BY o_custkey ORDER BY 2",
    "5-way join": f"SELECT n_name, sum(l_quantity) FROM {FIVE} WHERE o_orderkey = 7 GROUP BY n_name",
    "EXISTS": """SELECT * FROM orders WHERE o_orderkey = 7 AND EXISTS (
        SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_quantity > 5)""",
    "correlated sum": """SELECT *, (SELECT sum(l_quantity) FROM lineitem WHERE l_orderkey = o_orderkey)
        FROM orders WHERE o_orderkey = 7""",
    "outer join, grouped": """SELECT o_custkey, count(l_quantity) FROM orders LEFT JOIN lineitem ON l_orderkey = o_orderkey
        WHERE o_orderkey = 7 GROUP BY o_custkey""",
    "UPDATE with a join": "UPDATE orders SET o_comment = '' FROM lineitem WHERE l_orderkey = o_orderkey AND o_orderkey = 7",
}
SPREAD = {"5-way join of all": f"SELECT n_name, sum(l_quantity) FROM {FIVE} GROUP BY n_name"}


def planning_ms(connection, text):
    """EXPLAIN's planning time of one statement."""
    plan = connection.execute(f"EXPLAIN (SUMMARY, FORMAT JSON) {text}").fetchone()[0]
    return plan[0]["Planning Time"]


def main():
    """Prints a line for each statement: medians and their ratio."""
    parser = argparse.ArgumentParser(prog="bench/planning", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="0.05", help="TPC-H's scale factor (0.05)")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    folder, _ = analytics.dataset.generate(Path(tempfile.gettempdir()), args.scale)
    queries = {query.name: query.text for query in analytics.tpch.load_queries(args.scale)}
    with servers.start("cluster", args.base_port) as (plain, cluster):
        analytics.load(plain, folder, None)
        analytics.load(cluster, folder, LAYOUT)
        connections = analytics.open_sides(plain, cluster, [LAYOUT], 60)
        for name, text in {**ROUTED, **SPREAD, **queries}.items():
            taken = {side: [] for side in connections}
            for _ in range(args.rounds):
                for side, connection in connections.items():
                    taken[side].append(planning_ms(connection, text.rstrip().rstrip(";")))
            alone, ours = (statistics.median(taken[side]) for side in connections)
            print(f"{name:20} {alone:8.3f} ms {ours:8.3f} ms {ours / alone:6.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
