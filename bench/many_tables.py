"""Thousands of distributed tables: how long one more takes, how long a new node takes, and what a session keeps of them.

Each table has a primary key and a second index. The first and the last of them are compared by medians of
`--sample` tables, so that a checkpoint or a neighbour doesn't decide.
"""

import argparse
import statistics
import sys
import time

import psycopg

import servers
import usage

TOUCHED = 50
SETTINGS = {**servers.SETTINGS, "fsync": "off", "max_locks_per_transaction": "1024"}


def seconds(connection, *statements):
    """How long they take, one after the other."""
    began = time.monotonic()
    for statement in statements:
        connection.execute(statement)
    return time.monotonic() - began


def make(connection, number, shards):
    """Makes one more table; how long each of its statements takes."""
    name = f"tables.t{number}"
    return (seconds(connection, f"CREATE TABLE {name} (id bigint PRIMARY KEY, owner int, note text)"),
            seconds(connection, f"SELECT create_distributed_table('{name}', 'id', shard_count => {shards})"),
            seconds(connection, f"CREATE INDEX ON {name} (owner)"))


def told(times):
    """Medians of the three statements in milliseconds, and of their sum."""
    parts = [statistics.median(column) * 1000 for column in zip(*times)]
    whole = statistics.median(sum(row) for row in times) * 1000
    return whole, f"{whole:.0f} ms (CREATE TABLE {parts[0]:.0f}, distribute {parts[1]:.0f}, index {parts[2]:.0f})"


def kept(dsn, count):
    """MB that a session has in all, and in contexts of the extension, once it has read that many tables by key."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number in range(count):
            connection.execute(f"SELECT note FROM tables.t{number} WHERE id = 1")
        return [float(size) / 1e6 for size in connection.execute("""
            SELECT sum(total_bytes), sum(total_bytes) FILTER (WHERE name LIKE 'citus%')
            FROM pg_backend_memory_contexts""").fetchone()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=600, help="no more tables are made after that time")
    parser.add_argument("--sample", type=int, default=20, help="tables that are compared, at the beginning and at the end")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    options = parser.parse_args()
    with servers.Cluster.temporary("bench-many", options.base_port, settings=SETTINGS) as cluster, \
            servers.Cluster.temporary("bench-new", options.base_port, kind="bare", workers=0, settings=SETTINGS) as new, \
            psycopg.connect(cluster.coordinator.dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA tables")
        times = []
        began = time.monotonic()
        for number in range(options.tables):
            if time.monotonic() - began > options.minutes * 60:
                break
            times.append(make(connection, number, options.shards))
            if number % 100 == 99:
                print(f"{number + 1:6} tables: {told(times[-options.sample:])[1]}", flush=True)
        first, first_told = told(times[1:1 + options.sample])       # the very first one loads caches
        last, last_told = told(times[-options.sample:])
        print(f"first tables   {first_told}\nlast tables    {last_told}: {last / first:.2f} times")
        for count in (min(TOUCHED, len(times)), len(times)):
            whole, ours = kept(cluster.coordinator.dsn, count)
            print(f"a session that has read {count} of them keeps {whole:.1f} MB, {ours:.1f} in contexts of the extension", flush=True)
        before = usage.cpu(cluster) + usage.cpu(new)
        took = seconds(connection, f"SELECT citus_add_node('127.0.0.1', {new.coordinator.port})")
        print(f"a node is added in {took:.1f} s, {(usage.cpu(cluster) + usage.cpu(new) - before) / 1000:.1f} s of CPU time", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
