"""What a cluster costs as it grows: the same statements with two workers and with many, CPU time of all servers."""

import argparse
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import hundred
from pomelo_cluster import Cluster
from usage import backends, cpu, pss, used_by

FIRST_PORT = 9800
SETTINGS = {"shared_buffers": "16MB", "max_prepared_transactions": "120", "max_worker_processes": "16", "citus.shard_count": "64",
            "autovacuum_naptime": "10min"}      # many servers' autovacuum would be in every figure
ROWS = 100_000
SETTLE = 90
JOIN = "SELECT count(*) FROM r JOIN s ON r.other = s.other"

# name -> statement of a new session, psql's start not included
FIRST = {
    "SELECT count(*), first": "SELECT count(*) FROM r",
    "repartition join, first": JOIN,
    "two-phase commit of two rows": "UPDATE r SET filler = filler WHERE id IN ({keys[0]}, {keys[1]})",
    "routed SELECT": "SELECT * FROM r WHERE id = {keys[0]}",
    "ADD COLUMN": "ALTER TABLE s ADD COLUMN c{number} int",
}

# kind -> what a session of a crowd runs, of which each has a number
CROWDS = {
    "routed SELECT": "SELECT * FROM r WHERE id = {0}",
    "count(*)": "SELECT count(*) FROM r",
    "two-phase commit": "UPDATE r SET filler = filler WHERE id IN ({0}, {0} + 1000)",
    "rows for all shards": "INSERT INTO s SELECT g, -1, 'x' FROM generate_series(1, 1000) g",
}
JOINS = 3
SESSIONS = 20       # of a client that connects for each statement, one after the other


def connect(node):
    return psycopg.connect(node.dsn, autocommit=True)


def load(made):
    with connect(made.coordinator) as connection:
        for table in ("r", "s"):
            connection.execute(f"CREATE TABLE {table} (id bigint, other bigint, filler text)")
            if made.spec["kind"] != "plain":
                connection.execute("SELECT create_distributed_table(%s, 'id')", [table])
            connection.execute(f"INSERT INTO {table} SELECT g, g * 7, 'x' FROM generate_series(1, {ROWS}) g")
            connection.execute(f"ANALYZE {table}")


def keys_of_nodes(made):
    """Keys of r whose rows are on two nodes."""
    with connect(made.coordinator) as connection:
        return [key for key, in connection.execute("""
            SELECT (SELECT min(g) FROM generate_series(1, 1000) g
                    WHERE get_shard_id_for_distribution_column('r', g) = ANY (array_agg(shardid)))
            FROM citus_shards WHERE table_name = 'r'::regclass GROUP BY nodeport LIMIT 2""").fetchall()]


def in_new_sessions(made, statement, times):
    """CPU and wall milliseconds of a session that runs the statement once, medians; the first session doesn't count."""
    def session():
        with connect(made.coordinator) as connection:
            connection.execute(statement.format(number=len(samples), keys=keys))

    keys, samples = keys_of_nodes(made), []
    for _ in range(times + 1):
        samples.append(used_by(made, session, 0.5))
    used, took = (statistics.median(sample) for sample in zip(*samples[1:]))
    return used, took * 1000


def clients_that_connect(args):
    """CPU and wall milliseconds of a client that connects for one SELECT by key: of a plain server, of two workers; by turns, medians."""
    settings = {**SETTINGS, "max_connections": str(args.connections)}
    with Cluster.temporary("bench-nodes-plain", args.port, kind="plain", settings=SETTINGS) as plain, \
            Cluster.temporary("bench-nodes-few", args.port + 10, workers=2, settings=settings) as made:
        def work(server):
            for _ in range(SESSIONS):
                with connect(server.coordinator) as connection:
                    connection.execute("SELECT * FROM r WHERE id = 1")

        samples = {plain: [], made: []}
        for server in samples:
            load(server)
            with connect(server.coordinator) as connection:
                connection.execute("CREATE INDEX ON r (id)")
            work(server)
        for _ in range(args.times):
            for server, taken in samples.items():
                taken.append([figure / SESSIONS for figure in used_by(server, lambda server=server: work(server), 0.5)])
        return [(statistics.median(used), statistics.median(took) * 1000) for used, took in (zip(*taken) for taken in samples.values())]


def idle(made, seconds):
    """Percent of a core that the idle servers use together, when sessions at rest have ended."""
    time.sleep(SETTLE)
    before = cpu(made)
    time.sleep(seconds)
    return (cpu(made) - before) / seconds / 10


def crowd(made, statement, clients, nodes):
    """How many of some clients of each of the nodes fail; and the most sessions that a node had."""
    def run(node, number):
        try:
            with connect(node) as connection:
                connection.execute(statement.format(number))
            return 0
        except psycopg.Error as error:
            print(f"  {str(error).splitlines()[0]}", file=sys.stderr)
            return 1

    with ThreadPoolExecutor(clients * len(nodes)) as threads:
        work = [threads.submit(run, node, i * clients + j) for i, node in enumerate(nodes) for j in range(clients)]
        most = 0
        while not all(one.done() for one in work):
            most = max(most, backends(made))
            time.sleep(0.05)
        return sum(one.result() for one in work), most


def measure(workers, args):
    """name -> figure, of a cluster."""
    figures = {}
    settings = {**SETTINGS, "max_connections": str(args.connections), "citus.kept_connection_lifetime": args.kept}
    with Cluster.temporary(f"bench-nodes{workers}", args.port, workers=workers, settings=settings) as made:
        load(made)
        for name, statement in FIRST.items() if "costs" in args.parts else ():
            figures[f"{name}: CPU ms"], figures[f"{name}: ms"] = in_new_sessions(made, statement, args.times)
        if "idle" in args.parts:
            figures["idle: % of a core"] = idle(made, args.idle)
            figures["idle: MB of a node (PSS)"] = pss(made)
        for name, statement in CROWDS.items() if "crowds" in args.parts else ():
            figures[f"{name}, {args.clients} a node: failed"], figures[f"{name}: sessions of a node"] = \
                crowd(made, statement, args.clients, made.nodes)
        if "joins" in args.parts:
            figures[f"{JOINS} joins at once: failed"], figures["joins: sessions of a node"] = crowd(made, JOIN, JOINS, [made.coordinator])
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=24)
    parser.add_argument("--times", type=int, default=5, help="sessions per statement")
    parser.add_argument("--idle", type=int, default=120, help="seconds without statements")
    parser.add_argument("--clients", type=int, default=3, help="sessions of each node in a crowd")
    parser.add_argument("--parts", default="costs,idle,crowds,joins", help="what to measure (%(default)s); clients: those that connect for each statement, beside a plain server; or hundred: --workers servers, one after the other killed, added, drained")
    parser.add_argument("--connections", type=int, default=60, help="max_connections of a node")
    parser.add_argument("--few", type=int, default=2, help="workers to compare with; 0: none")
    parser.add_argument("--port", type=int, default=FIRST_PORT, help="of the first server")
    parser.add_argument("--kept", default="60s", help="citus.kept_connection_lifetime; 0: none is kept")
    args = parser.parse_args()
    if args.parts == "hundred":
        hundred.run(args)
        return
    if args.parts == "clients":
        plain, ours = clients_that_connect(args)
        print(f"{'a new client SELECT by key':42}{'plain':>10}{2:>10}     ratio")
        for name, one, other in zip(("CPU ms", "ms"), plain, ours):
            print(f"{name:42}{one:10.1f}{other:10.1f}{other / one:10.2f}")
        return
    few = measure(args.few, args) if args.few > 0 else {}
    many = measure(args.workers, args)
    print(f"{'':42}{args.few:>10}{args.workers:>10}     ratio")
    for name, figure in many.items():
        base = few.get(name, 0)
        print(f"{name:42}{base:10.1f}{figure:10.1f}{figure / base if base else 0:10.1f}")


if __name__ == "__main__":
    main()
