"""Columnar tables against heaps: the size, COPY and queries of TPC-H's lineitem.

The sides have the same rows: a heap of a server without the extension; a heap
and a columnar table of one with it, the cluster's coordinator; and both
distributed on the cluster.
Answers are compared.  Figures are medians of the rounds, and their ratios to
the plain server's heap.  No side uses parallel query.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import analytics
import servers

QUERIES = {
    "filtered count": "SELECT count(*) FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_quantity < 24",
    "few rows": "SELECT * FROM lineitem WHERE l_partkey = 77 AND l_quantity > 20",
    "text": "SELECT count(*), max(l_shipdate) FROM lineitem WHERE l_shipmode IN ('AIR', 'RAIL') AND l_shipinstruct LIKE 'DELIVER%'",
    "sums": "SELECT count(*), sum(l_linenumber), min(l_shipdate), max(l_orderkey), avg(l_suppkey) FROM lineitem",
    "groups": """SELECT l_shipmode, count(*), sum(l_quantity), max(l_receiptdate) FROM lineitem
        WHERE l_discount > 0.02 GROUP BY l_shipmode""",
}
TPCH = [1, 6, 14]
# What DuckDB is asked; its char(n) has no blanks, so others' answers differ.
DUCKDB = ["1", "6"]


class DuckDB:
    """lineitem in a database in this process's memory, computed by one thread; as far as run_query() asks it, a connection."""

    def __init__(self, folder):
        import duckdb       # a package that only --duckdb needs

        self.database = duckdb.connect(":memory:", config={"threads": 1})
        self.info = SimpleNamespace(backend_pid=os.getpid())
        self.execute(analytics.schema_text("unhelpful"))
        self.execute(f"COPY lineitem FROM '{folder / 'lineitem.tbl'}' (DELIMITER '|', HEADER false)")

    def execute(self, text):
        """As psycopg's."""
        return self.database.execute(text)


def schema_name(method, distributed):
    """Where the side's tables are."""
    return f"{method}_{'distributed' if distributed else 'local'}"


def create(connection, method, distributed):
    """Make the table lineitem, TPC-H's without its primary key, and part, which is a heap."""
    connection.execute(f"CREATE SCHEMA {schema_name(method, distributed)}")
    connection.execute(f"SET search_path = {schema_name(method, distributed)}")
    connection.execute(f"SET default_table_access_method = {method}")
    connection.execute(analytics.schema_text("unhelpful"))
    connection.execute("ALTER TABLE part SET ACCESS METHOD heap")
    if distributed:
        connection.execute("SELECT create_reference_table('part')")
        connection.execute("SELECT create_distributed_table('lineitem', 'l_orderkey')")


def fill(side, folder, method, distributed, clock):
    """Seconds of COPY, and the bytes of the table."""
    with side.connect() as connection:
        create(connection, method, distributed)
        analytics.dataset.load(connection, folder, "part")
        started = clock(connection)
        analytics.dataset.load(connection, folder, "lineitem")
        taken = clock(connection) - started
        connection.execute("VACUUM ANALYZE lineitem")
        connection.execute("VACUUM ANALYZE part")
        size = "citus_total_relation_size" if distributed else "pg_total_relation_size"
        return taken, connection.execute(f"SELECT {size}('lineitem')").fetchone()[0]


def open_table(side, method, distributed, limit):
    """A session whose queries read the method's table."""
    connection = side.connect()
    connection.execute(f"SET search_path = {schema_name(method, distributed)}")
    connection.execute(f"SET statement_timeout = '{limit}s'")
    return connection


def show(label, figures, unit, wrong=()):
    """A line: the figure of the plain server's heap, then of each other with its ratio."""
    plain = figures["plain"]
    cells = [f"{plain:9.1f} {unit}"]
    cells += [f"{figure:9.1f} {unit} {figure / plain:6.3f}{' WRONG' if name in wrong else ''}"
              for name, figure in figures.items() if name != "plain"]
    print(f"{label:>15} {'  '.join(cells)}", flush=True)


def compare(scale, rounds, limit, clock, base_port, names=(), one_node=False, duckdb=False):
    """Prints a line for each figure; returns by line and side the ratio to the plain server's heap, and the lines with wrong answers."""
    folder, _ = analytics.dataset.generate(Path(tempfile.gettempdir()), scale)
    tpch = {str(int(query.name[1:])): query.text for query in analytics.tpch.load_queries(scale)}
    queries = {**QUERIES, **{str(number): tpch[str(number)] for number in TPCH}}
    ratios, failed = {}, []

    def tell(label, figures, unit, wrong=()):
        show(label, figures, unit, wrong)
        ratios[label] = {name: figure / figures["plain"] for name, figure in figures.items()}

    with servers.start("extension" if one_node else "cluster", base_port) as (plain, ours):
        sides = {"plain": (plain, "heap", False), "heap": (ours, "heap", False), "columnar": (ours, "columnar", False)}
        if not one_node:
            sides.update({f"cluster {method}": (ours, method, True) for method in ("heap", "columnar")})
        for side in (plain, ours):
            analytics.forbid_parallel(side)
        print(" " * 15, "  ".join([*sides, *(["duckdb"] if duckdb else [])]))
        filled = {name: fill(side, folder, method, distributed, clock) for name, (side, method, distributed) in sides.items()}
        tell("COPY", {name: taken * 1000 for name, (taken, _) in filled.items()}, "ms")
        tell("size", {name: size / 1024 for name, (_, size) in filled.items()}, "kB")
        connections = {name: open_table(side, method, distributed, limit)
                       for name, (side, method, distributed) in sides.items()}
        other = {"duckdb": DuckDB(folder)} if duckdb else {}
        for name in names or queries:
            text = queries[name].rstrip().rstrip(";")
            seconds, wrong = analytics.measure({**connections, **(other if name in DUCKDB else {})}, text, rounds, clock)
            failed += [name] if wrong else []
            tell(name, {side: taken * 1000 for side, taken in seconds.items()}, "ms", wrong)
    return ratios, failed


def main():
    """Runs the benchmark; exits with 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="bench/columnar", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor (1)")
    parser.add_argument("--query", action="append", help="only these: TPC-H's by number, or by name; may be repeated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=120, help="seconds for a query (120)")
    parser.add_argument("--one-node", action="store_true", help="without the cluster")
    parser.add_argument("--duckdb", action="store_true", help="queries 1 and 6 in DuckDB too, by one thread (.venv/bin/pip install duckdb)")
    parser.add_argument("--cpu", action="store_true", help="CPU time of the session's process instead of elapsed time: for --one-node on a busy machine")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    _, failed = compare(args.scale, args.rounds, args.limit, analytics.cpu_time if args.cpu else analytics.elapsed, args.base_port, args.query, args.one_node,
                        args.duckdb)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
