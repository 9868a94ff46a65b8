"""What columnar tables are to reach, in one run: speed, size, COPY, rates of small statements, size under updates.

All ratios are to a heap without parallel query, of a plain server; for rates and sizes under updates, to what is said.  Each part makes its
own servers, and ends with lines that name the goal.  With the defaults, on two quiet cores, it takes about an hour.
"""

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

import analytics
import clickbench
import columnar
import pgbench
import servers
from pomelo_cluster import Cluster

COLUMNAR = ("lineitem", "orders")
CLIENTS = 4     # that update at once
KEYED = """
    CREATE TABLE accounts (id int PRIMARY KEY, name text, balance numeric, at timestamp, region int) USING {method};
    INSERT INTO accounts SELECT i, md5(i::text), i / 7.0, timestamp '2024-01-01' + i * interval '1 s', i % 50 FROM generate_series(1, {rows}) i;
    CREATE TABLE events (id bigserial PRIMARY KEY, at timestamptz DEFAULT now(), device int, value numeric, note text) USING {method};
    VACUUM ANALYZE accounts"""
# name -> (a pgbench script, the least share of a heap's rate)
RATES = {
    "INSERT": ("\\set d random(1, 1000)\nINSERT INTO events (device, value, note) VALUES (:d, :d / 7.0, 'reading of ' || :d);", 0.9),
    "SELECT by key": ("\\set id random(1, {rows})\nSELECT * FROM accounts WHERE id = :id;", 0.5),
    "UPDATE by key": ("\\set id random(1, {rows})\nUPDATE accounts SET balance = balance + 1 WHERE id = :id;", 0.4),
}
# The daemon and autovacuum alone keep the table small.
UPDATE_SETTINGS = {"autovacuum_naptime": "10s", "columnar.compaction_naptime": "10s", "shared_buffers": "512MB", "max_wal_size": "16GB"}


def judge(label, value, goal, least=False):
    """A line: the figure, its goal, and whether that is reached."""
    reached = value >= goal if least else value <= goal
    print(f"GOAL {label}: {value:.3f}, {'at least' if least else 'at most'} {goal}: {'reached' if reached else 'missed'}", flush=True)


def tpch(args):
    """TPC-H's 22 queries, two tables of which are columnar, on a cluster of two workers."""
    folder, _ = analytics.dataset.generate(Path(tempfile.gettempdir()), args.scale)
    total, wrong_ones = {"plain": 0.0, "colocated": 0.0}, []
    with servers.start("cluster", args.base_port) as (plain, cluster):
        analytics.load(plain, folder, None)
        analytics.load(cluster, folder, "colocated", COLUMNAR)
        analytics.limit_parallel("none", plain, cluster)
        connections = analytics.open_sides(plain, cluster, ["colocated"], args.limit)
        for query in analytics.tpch.load_queries(args.scale):
            seconds, wrong = analytics.measure(connections, query.text, args.rounds)
            analytics.show(query.name, seconds, wrong)
            total = {name: taken + seconds[name] for name, taken in total.items()}
            wrong_ones += [query.name] if wrong else []
    analytics.show("sum", total, ())
    judge("TPC-H, all queries", total["colocated"] / total["plain"], 0.35)
    return wrong_ones


def lineitem(args):
    """lineitem alone, on one server: COPY, size, queries 1 and 6."""
    duckdb = importlib.util.find_spec("duckdb") is not None
    ratios, wrong = columnar.compare(args.scale, args.rounds, args.limit, analytics.elapsed, args.base_port, one_node=True, duckdb=duckdb)
    for label, goal in (("COPY", 1.3), ("size", 0.3), ("1", 0.15), ("6", 0.08)):
        judge(f"lineitem, {label}", ratios[label]["columnar"], goal)
        if duckdb and label in columnar.DUCKDB:
            judge(f"lineitem, {label}, times DuckDB", ratios[label]["columnar"] / ratios[label]["duckdb"], 4)
    return wrong


def wide(args):
    """ClickBench's shape and questions."""
    size, total, wrong = clickbench.compare(args.rows, min(args.rounds, 3), None, args.limit, analytics.elapsed, args.base_port)
    judge("100 columns, size", size, 0.2)
    judge("100 columns, 43 queries", total, 0.2)
    return wrong


def rates(args):
    """Single rows by 16 clients, by turns; CPU time is that of all processes of the server."""
    count = min(args.rows, 1_000_000)
    with servers.start("extension", args.base_port) as sides, tempfile.TemporaryDirectory() as folder:
        for side, method in zip(sides, ("heap", "columnar")):
            with side.connect() as connection:
                connection.execute(KEYED.format(method=method, rows=count).rsplit(";", 1)[0])
                connection.execute("VACUUM ANALYZE accounts")
        for name, (text, goal) in RATES.items():
            script = Path(folder) / "script.sql"
            script.write_text(text.format(rows=count), encoding="utf-8")
            rate, cpu = [], []
            for turn in range(args.rounds):
                ordered = sides if turn % 2 == 0 else sides[::-1]
                sample = {side.name: pgbench.measure(side, ["-f", str(script)], pgbench.Load("prepared", 16, "coordinator"), args.seconds) for side in ordered}
                heap, ours = (sample[side.name] for side in sides)
                rate.append(ours.rate / heap.rate)
                cpu.append(sum(ours.cpu.values()) / sum(heap.cpu.values()))
            print(f"{name}: rate {statistics.median(rate):.3f} ({min(rate):.3f} .. {max(rate):.3f}), CPU time {statistics.median(cpu):.3f} "
                  f"({min(cpu):.3f} .. {max(cpu):.3f}) of the heap's", flush=True)
            judge(f"{name}, rate", statistics.median(rate), goal, least=True)
    return []


def table_size(connection):
    """Bytes of the table accounts, and of its parts: rows, stripes, their index, the primary key."""
    return connection.execute("""SELECT pg_total_relation_size(c.oid), pg_relation_size(c.oid), pg_relation_size(reltoastrelid),
        pg_indexes_size(reltoastrelid), pg_indexes_size(c.oid) FROM pg_class c WHERE relname = 'accounts'""").fetchone()


def settled_size(connection, seconds):
    """The size when it hasn't changed for so long: background work is done."""
    seen, since = table_size(connection), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(1)
        now = table_size(connection)
        if now != seen:
            seen, since = now, time.monotonic()
    return seen


def updates(args):
    """Random updates of single rows, then only the daemon and autovacuum; compared with VACUUM FULL."""
    count = min(args.rows, 1_000_000)
    with Cluster.temporary("bench-updates", args.base_port, workers=0, settings=UPDATE_SETTINGS) as made, psycopg.connect(made.coordinator.dsn, autocommit=True) as connection:
        connection.execute(KEYED.format(method="columnar", rows=count).rsplit(";", 1)[0])
        print("bytes: all, rows, stripes, their index, primary key")
        print("filled", table_size(connection), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.sql"
            script.write_text(RATES["UPDATE by key"][0].format(rows=count), encoding="utf-8")
            for step in range(1, 6):
                subprocess.run([pgbench.program(), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-t", str(args.updates // 5 // CLIENTS), "-f", str(script),
                                made.coordinator.dsn], check=True, capture_output=True)
                print(args.updates * step // 5, table_size(connection), flush=True)
        left = settled_size(connection, 60)
        print("later ", left)
        connection.execute("VACUUM FULL accounts")
        compacted = table_size(connection)
        print("full  ", compacted)
    judge(f"size after {args.updates:,} updates of {count:,} rows", left[0] / compacted[0], 1.5)
    return []


PARTS = {"tpch": tpch, "lineitem": lineitem, "wide": wide, "rates": rates, "updates": updates}


def main():
    """Runs the parts; exits with 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="bench/warehouse", description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="only these; may be repeated")
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor (1)")
    parser.add_argument("--rows", type=int, default=5_000_000, help="of the wide table (5000000)")
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of a run of pgbench (5)")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a query (600)")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    failed = []
    for name in args.part or PARTS:
        started = time.monotonic()
        print(f"== {name}", flush=True)
        failed += [f"{name} {one}" for one in PARTS[name](args)]
        print(f"({name}: {(time.monotonic() - started) / 60:.1f} minutes)", flush=True)
    if failed:
        print("WRONG ANSWERS:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
