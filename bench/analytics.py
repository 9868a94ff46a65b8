"""TPC-H's 22 queries on a plain server and on a cluster, in three layouts of the tables.

Data and queries are the demo's.  Servers run without parallel query, since all
share one machine: with `--parallel all` they use it, with `--parallel nodes`
only the cluster's; answers are compared, times are medians of the rounds.
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import psycopg

import servers

DEMO = Path(__file__).resolve().parent.parent / "demo"
sys.path.insert(0, str(DEMO))

import dataset  # noqa: E402
import tpch  # noqa: E402

# table -> distribution column; None is a reference table
LAYOUTS = {
    "colocated": {"orders": "o_orderkey", "lineitem": "l_orderkey", "region": None, "nation": None, "part": None,
                  "supplier": None, "partsupp": None, "customer": None},
    "by-key": {"orders": "o_orderkey", "lineitem": "l_orderkey", "region": None, "nation": None, "part": "p_partkey",
               "supplier": "s_suppkey", "partsupp": "ps_partkey", "customer": "c_custkey"},
    "unhelpful": {"orders": "o_custkey", "lineitem": "l_suppkey", "region": None, "nation": None, "part": "p_partkey",
                  "supplier": "s_suppkey", "partsupp": "ps_suppkey", "customer": "c_custkey"},
}


def schema_text(layout):
    """The tables; without primary keys, which a layout's distribution columns may not be part of."""
    text = (DEMO / "schema.sql").read_text(encoding="utf-8")
    if layout == "unhelpful":
        text = re.sub(r",\s*PRIMARY KEY \([^)]*\)", "", text).replace(" PRIMARY KEY", " NOT NULL")
    return text


def load(side, folder, layout, columnar=()):
    """Make and fill the tables in a schema of the layout's name; `columnar` names those that aren't heaps."""
    schema = layout or "plain"
    with side.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{schema}"')
        connection.execute(f'SET search_path = "{schema}"')
        connection.execute(schema_text(layout))
        for table in columnar:
            connection.execute(f"ALTER TABLE {table} SET ACCESS METHOD columnar")
        for table, column in LAYOUTS.get(layout, {}).items():
            if column is None:
                connection.execute("SELECT create_reference_table(%s)", (table,))
            else:
                connection.execute("SELECT create_distributed_table(%s, %s)", (table, column))
        for table in dataset.TABLES:
            dataset.load(connection, folder, table)
        connection.execute((DEMO / "indexes.sql").read_text(encoding="utf-8"))
        for table in dataset.TABLES:
            connection.execute(f"VACUUM ANALYZE {table}")


def add_parallel(parser):
    parser.add_argument("--parallel", choices=["none", "nodes", "all"], default="none",
                        help="which servers may use parallel query: none (default), the cluster's, all")


def limit_parallel(allowed, plain, cluster):
    """Has the servers that `--parallel` doesn't name do without parallel query."""
    for side in {"none": [plain, cluster], "nodes": [plain], "all": []}[allowed]:
        forbid_parallel(side)


def forbid_parallel(side):
    """Keep a side's servers from using more processes for a query than one each."""
    for dsn in (side.dsn, *side.others):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET max_parallel_workers_per_gather = 0")
            connection.execute("SELECT pg_reload_conf()")


def open_sides(plain, cluster, layouts, limit):
    """A connection for each name: plain, and each layout."""
    connections = {}
    for name, side in [("plain", plain), *((layout, cluster) for layout in layouts)]:
        connection = side.connect()
        connection.execute(f'SET search_path = "{name}"')
        connection.execute(f"SET statement_timeout = '{limit}s'")
        connections[name] = connection
    return connections


def comparable(rows):
    """Rows in an order of their own; floats and numerics to four digits, since sums of floats depend on their order."""
    def text(value):
        return f"{float(value):.4f}" if isinstance(value, (float, Decimal)) else str(value)

    return sorted(tuple(map(text, row)) for row in rows)


def elapsed(_):
    """A clock for run_query(): the time."""
    return time.monotonic()


def cpu_time(connection):
    """Another one: what the session's own process has used of a core, which a busy machine doesn't change much."""
    with open(f"/proc/{connection.info.backend_pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def servers_cpu_time(plain, cluster, connections):
    """Another one, for the connections of open_sides(): what all processes of a side's servers have used."""
    return lambda connection: (plain if connection is connections["plain"] else cluster).cpu_now()


def run_query(connection, text, clock=elapsed):
    """Seconds and rows of one execution; no rows if it ran into the limit."""
    started = clock(connection)
    try:
        rows = connection.execute(text).fetchall()
    except psycopg.errors.QueryCanceled:
        return clock(connection) - started, None
    return clock(connection) - started, comparable(rows)


def measure(connections, text, rounds, clock=elapsed):
    """Median seconds by name, and the names whose answer isn't plain PostgreSQL's."""
    seconds = {name: [] for name in connections}
    wrong = set()
    for number in range(rounds):
        names = list(connections) if number % 2 == 0 else list(reversed(connections))
        answers = {}
        for name in names:
            taken, answers[name] = run_query(connections[name], text, clock)
            seconds[name].append(taken)
        wrong |= {name for name, rows in answers.items() if rows is not None and rows != answers["plain"]}
    return {name: statistics.median(taken) for name, taken in seconds.items()}, wrong


def show(label, seconds, wrong):
    """A line: milliseconds of plain PostgreSQL, then of each layout with its ratio."""
    plain = seconds["plain"]
    cells = [f"{plain * 1000:9.0f} ms"]
    cells += [f"{taken * 1000:9.0f} ms {taken / plain:6.2f}{' WRONG' if name in wrong else ''}"
              for name, taken in seconds.items() if name != "plain"]
    print(f"{label:>5} {'  '.join(cells)}", flush=True)


def main():
    """Runs the benchmark; exits with 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="bench/analytics", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor (1)")
    parser.add_argument("--layout", action="append", choices=LAYOUTS, help="only these; may be repeated")
    parser.add_argument("--query", action="append", type=int, help="only these; may be repeated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=120, help="seconds for a query (120)")
    parser.add_argument("--columnar", action="store_true", help="the cluster's lineitem and orders are columnar tables")
    add_parallel(parser)
    parser.add_argument("--cpu", action="store_true", help="CPU time of all of a side's servers instead of elapsed time: for a busy machine")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    layouts = args.layout or list(LAYOUTS)
    folder, _ = dataset.generate(Path(tempfile.gettempdir()), args.scale)
    total = dict.fromkeys(["plain", *layouts], 0.0)
    failed = set()
    with servers.start("cluster", args.base_port) as (plain, cluster):
        load(plain, folder, None)
        for layout in layouts:
            load(cluster, folder, layout, ("lineitem", "orders") if args.columnar else ())
        limit_parallel(args.parallel, plain, cluster)
        connections = open_sides(plain, cluster, layouts, args.limit)
        clock = servers_cpu_time(plain, cluster, connections) if args.cpu else elapsed
        print("query plain  " + "  ".join(layouts))
        queries = {int(query.name[1:]): query.text for query in tpch.load_queries(args.scale)}
        for number in args.query or sorted(queries):
            text = queries[number]
            seconds, wrong = measure(connections, text, args.rounds, clock)
            failed |= {f"{number} {name}" for name in wrong}
            total = {name: taken + seconds[name] for name, taken in total.items()}
            show(str(number), seconds, wrong)
        show("sum", total, set())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
