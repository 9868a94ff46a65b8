"""A shard that is moved while clients on all nodes read and write it: how long they wait, and how fast it moves.

The load is YCSB's mix A (half reads, half updates of one row by key) with uniform keys; all rows are in one
shard.  What the move is compared with is a plain `COPY .. TO | COPY .. FROM` of the same rows into a
table with the same index, between the same servers, under the same load.
"""

import argparse
import random
import statistics
import sys
import threading
import time

import psycopg

import servers

ROW_BYTES = 1000
IDLE_SECONDS = 5


class Clients:
    """Clients on all nodes; for each statement when it began, how long it took and whether it was an update."""

    def __init__(self, dsns, count, rows):
        self.done = []
        self.errors = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(dsns[number % len(dsns)], rows))
                        for number in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, dsn, rows):
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=2) as connection:
            while not self.stop.is_set():
                key, update = random.randint(1, rows), random.random() < 0.5
                began = time.monotonic()
                try:
                    if update:
                        connection.execute("UPDATE moved SET field = %s WHERE id = %s", ["x" * ROW_BYTES, key])
                    else:
                        connection.execute("SELECT field FROM moved WHERE id = %s", [key]).fetchone()
                except psycopg.Error as error:
                    self.errors.append(error)
                self.done.append((began, time.monotonic() - began, update))

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def times(self, began, ended, update):
        """Milliseconds of the reads, or updates, that ended in a span of time, sorted."""
        return sorted(taken * 1000 for start, taken, is_update in list(self.done)
                      if is_update == update and began <= start + taken and start <= ended)


def percentile(times, share):
    return times[min(len(times) - 1, int(len(times) * share))] if times else float("nan")


def show(label, clients, began, ended):
    """A line: rate, and percentiles of reads and updates."""
    reads, updates = (clients.times(began, ended, update) for update in (False, True))
    rate = (len(reads) + len(updates)) / (ended - began)
    print(f"{label:>8} {ended - began:7.1f} s {rate:8.0f}/s  " + "  ".join(
        f"{name} p50 {percentile(times, 0.5):6.1f} p99 {percentile(times, 0.99):6.1f} max {percentile(times, 1):7.1f} ms"
        for name, times in (("reads", reads), ("updates", updates))), flush=True)
    return percentile(reads + updates, 1)


def copy_between(source, target, table):
    """Seconds of COPY .. TO | COPY .. FROM, binary, in one session each."""
    with psycopg.connect(source, autocommit=True) as reader, psycopg.connect(target, autocommit=True) as writer:
        writer.execute("SET citus.enable_ddl_propagation = off; DROP TABLE IF EXISTS plain_copy; "
                       "CREATE TABLE plain_copy (id bigint PRIMARY KEY, field text)")
        began = time.monotonic()
        with reader.cursor().copy(f"COPY {table} TO STDOUT (FORMAT binary)") as rows, \
                writer.cursor().copy("COPY plain_copy FROM STDIN (FORMAT binary)") as sink:
            for data in rows:
                sink.write(data)
        seconds = time.monotonic() - began
        writer.execute("SET citus.enable_ddl_propagation = off; DROP TABLE plain_copy")
    return seconds


def load(connection, rows):
    connection.execute("CREATE TABLE moved (id bigint PRIMARY KEY, field text)")
    connection.execute("SELECT create_distributed_table('moved', 'id', shard_count => 1)")
    connection.execute("INSERT INTO moved SELECT g, repeat(md5(g::text), %s) FROM generate_series(1, %s) g",
                       [ROW_BYTES // 32, rows])
    connection.execute("VACUUM ANALYZE moved")


def main():
    """Runs the benchmark; exits with 1 if a client got an error."""
    parser = argparse.ArgumentParser(prog="bench/moves", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the shard (1000)")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", default="force_logical", choices=["force_logical", "block_writes"])
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    rows = args.megabytes * 1024 * 1024 // (ROW_BYTES + 40)
    ratios, pauses = [], []
    with servers.start("cluster", args.base_port) as (_, cluster), cluster.connect() as connection:
        load(connection, rows)
        nodes = dict(connection.execute("SELECT nodeport, nodeid FROM pg_dist_node WHERE groupid > 0").fetchall())
        dsns = {psycopg.conninfo.conninfo_to_dict(dsn)["port"]: dsn for dsn in cluster.others}
        clients = Clients([cluster.dsn, *cluster.others], args.clients, rows)
        for _ in range(args.rounds):
            shard, name, port = connection.execute(
                "SELECT shardid, shard_name, nodeport FROM citus_shards WHERE table_name = 'moved'::regclass").fetchone()
            other = next(each for each in nodes if each != port)
            began = time.monotonic()
            time.sleep(IDLE_SECONDS)
            show("idle", clients, began, time.monotonic())
            began = time.monotonic()
            copied = copy_between(dsns[str(port)], dsns[str(other)], name)
            show("copy", clients, began, time.monotonic())
            began = time.monotonic()
            connection.execute("SELECT citus_move_shard_placement(%s, %s, %s, %s::citus.shard_transfer_mode)",
                               [shard, nodes[port], nodes[other], args.mode])
            ended = time.monotonic()
            pauses.append(show("move", clients, began, ended))
            ratios.append(copied / (ended - began))
            connection.execute("CALL citus_cleanup_orphaned_resources()")
        clients.finish()
    print(f"move / copy: {statistics.median(ratios):.2f} of the rate; longest statement {max(pauses):.0f} ms; "
          f"{len(clients.errors)} errors")
    return 1 if clients.errors else 0


if __name__ == "__main__":
    sys.exit(main())
