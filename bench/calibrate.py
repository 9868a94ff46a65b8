"""The planner's cost constants (src/planner/dist_cost.c), measured on a cluster.

Each is a difference of times of two statements that differ in what it is the cost of, in the unit of the server's own
estimates: what a scan of a local table in memory takes, divided by its estimated cost.
`citus.row_lock_cost` is no time: it says how much dearer it is to make others wait.
"""

import argparse
import statistics
import time

import psycopg

import servers

SCHEMA = "calibrate"
ROWS = 300_000      # of the large tables
SENT = 50_000       # rows of a join's small side
FEW, MANY = 4, 512  # shards


def main():
    """Measures, and prints the settings."""
    parser = argparse.ArgumentParser(prog="bench/calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--dsn", help="the coordinator of a cluster (without: one that is made for it); a schema is made there and dropped")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    if args.dsn:
        report(args.dsn, args.rounds)
        return
    with servers.start("cluster", args.base_port) as (_, cluster):
        report(cluster.dsn, args.rounds)


def report(dsn, rounds):
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        try:
            make_tables(connection)
            costs = measure(connection, rounds)
        finally:
            connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        for name, cost in costs.items():
            now = connection.execute(f"SHOW citus.{name}").fetchone()[0]
            print(f"ALTER SYSTEM SET citus.{name} = {cost:.3g};  -- now {now}")


def make_tables(connection):
    connection.execute(f"CREATE SCHEMA {SCHEMA}; SET search_path = {SCHEMA}; SET max_parallel_workers_per_gather = 0")
    connection.execute(f"CREATE TABLE here (id int, v int); INSERT INTO here SELECT g, g FROM generate_series(1, {ROWS}) g")
    connection.execute(f"CREATE TABLE sent (id int, v int); INSERT INTO sent SELECT g, g FROM generate_series(1, {SENT}) g")
    for name, shards in ("single", 1), ("few", FEW), ("many", MANY), ("large", FEW), ("other", FEW):
        connection.execute(f"CREATE TABLE {name} (id int, v int)")
        connection.execute("SELECT create_distributed_table(%s, 'id', shard_count => %s, colocate_with => 'none')", [name, shards])
    connection.execute(f"INSERT INTO large SELECT g, g FROM generate_series(1, {ROWS}) g; CREATE INDEX ON large (v)")
    connection.execute("INSERT INTO other SELECT g, g FROM generate_series(1, 100) g")
    for name in "here", "sent", "single", "few", "many", "large", "other":
        connection.execute(f"VACUUM ANALYZE {name}")


def seconds(connection, statement, rounds, settings=()):
    """The median time of a statement with these settings, after two executions that don't count."""
    with connection.transaction(force_rollback=True):
        for setting in settings:
            connection.execute(f"SET LOCAL {setting}")
        times = []
        for _ in range(rounds + 2):
            started = time.perf_counter()
            connection.execute(statement, prepare=True).fetchall()
            times.append(time.perf_counter() - started)
    return statistics.median(times[2:])


def measure(connection, rounds):
    """The cost of each setting, by name."""
    def taken(statement, *settings):
        return seconds(connection, statement, rounds, settings)

    plan = connection.execute("EXPLAIN (FORMAT JSON) SELECT id, v FROM here").fetchone()[0][0]["Plan"]
    scan = taken("SELECT count(v) FROM here")
    unit = scan / plan["Total Cost"]
    nodes = connection.execute("SELECT count(DISTINCT groupid) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) "
                               "WHERE logicalrelid = 'large'::regclass").fetchone()[0]
    nothing = taken("SELECT 1")
    single = taken("SELECT count(*) FROM single") - nothing
    few = taken("SELECT count(*) FROM few") - nothing
    many = taken("SELECT count(*) FROM many") - nothing
    shard = (many - few) / (MANY - FEW)
    task = max(few - single - (FEW - 1) * shard, 0) / max(nodes - 1, 1)
    fetched = taken(f"SELECT id, v FROM large OFFSET {ROWS}")
    read = taken("SELECT count(v) FROM large")
    value = (taken("SELECT count(*) FROM sent JOIN other ON sent.id = other.v", "citus.tuple_transfer_cost = 1000000",
                   "citus.enable_repartition_joins = off")
             - taken("SELECT count(*) FROM sent WHERE id < 0")) / (SENT * nodes)
    found = taken("SELECT count(large.id) FROM sent JOIN large ON sent.id = large.v", "citus.tuple_transfer_cost = 1000000",
                  "enable_hashjoin = off", "enable_mergejoin = off", "citus.enable_repartition_joins = off")
    exchange = taken("SELECT count(*) FROM other a JOIN other b ON a.id = b.v", "citus.enable_broadcast_joins = off",
                     "citus.tuple_transfer_cost = 1000000") - few
    costs = {
        "round_trip_cost": single - task - shard,
        "task_cost": task,
        "shard_cost": shard,
        "tuple_transfer_cost": (fetched - read) / ROWS,
        "value_cost": value,
        "lookup_cost": found / (SENT * nodes) - value,
        "exchange_cost": exchange,
    }
    return {name: max(cost, 0) / unit for name, cost in costs.items()}


if __name__ == "__main__":
    main()
