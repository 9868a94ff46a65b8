"""A shard that is moved while clients on all nodes read and write it: how long they wait, and how fast it moves.

The load is YCSB's mix A (half reads, half updates of one row by key) with uniform or zipfian keys, by pgbench; all
rows are in one shard.  What the move is compared with is a plain `COPY .. TO | COPY .. FROM` of the same rows into a
table with the same index, between the same servers, under the same load.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

import pgbench
import servers
import ycsb

ROW_BYTES = 1040
WARM_UP = 3  # seconds
IDLE_SECONDS = 10
WORN_IN = 8  # GB
TABLE = "bench_usertable"
KINDS = ("reads", "updates", "all")


class Clients:
    """Clients on all nodes: a pgbench for each node, whose log says of each statement when it ended, and how long it took."""

    def __init__(self, dsns, count, rows, zipfian):
        self.folder = tempfile.TemporaryDirectory()
        self.running = [
            subprocess.Popen([pgbench.program(), "-n", "-M", "prepared", "-c", str((count + number) // len(dsns)), "-T", "100000",
                              "-l", f"--log-prefix={self.folder.name}/{number}",
                              *pgbench.script([name for name, _ in ycsb.MIXES["a"]], {"rows": rows, "zipfian": int(zipfian)}),
                              dsn], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for number, dsn in enumerate(dsns)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait()
        self.folder.cleanup()

    def finish(self):
        """Stop; return the clients' errors, and (ended, milliseconds, is an update) of all statements."""
        for process in self.running:
            process.terminate()
        errors = [line for process in self.running for line in process.communicate()[1].splitlines() if "error" in line]
        done = []
        for log in Path(self.folder.name).iterdir():
            for line in log.read_text().splitlines():
                fields = line.split()
                if len(fields) == 6:  # the last line may be cut off
                    done.append((float(f"{fields[4]}.{fields[5]:>06}"), int(fields[2]) / 1000, fields[3] == "1"))
        return errors, done


def percentile(times, share):
    return times[min(len(times) - 1, int(len(times) * share))] if times else float("nan")


def outside_pause(done):
    """The statements without those that began while the longest one waited."""
    ended, taken, _ = max(done, key=lambda each: each[1])
    return [each for each in done if not ended - taken / 1000 <= each[0] - each[1] / 1000 <= ended]


def times(done):
    """Milliseconds, sorted: of reads, of updates, of all."""
    return [sorted(taken for _, taken, is_update in done if is_update in kinds) for kinds in ((False,), (True,), (False, True))]


def show(label, found, seconds):
    """A line: the rate, and percentiles."""
    print(f"{label:>5} {seconds:6.1f} s {len(found[-1]) / seconds:6.0f}/s  " + "  ".join(
        f"{name} p50 {percentile(sample, 0.5):5.1f} p99 {percentile(sample, 0.99):5.1f} max {percentile(sample, 1):6.1f} ms"
        for name, sample in zip(KINDS, found)), flush=True)


def copy_between(source, target, table):
    """COPY .. TO | COPY .. FROM, binary, in one session each."""
    with psycopg.connect(source, autocommit=True) as reader, psycopg.connect(target, autocommit=True) as writer:
        writer.execute("SET citus.enable_ddl_propagation = off; DROP TABLE IF EXISTS plain_copy; "
                       f"CREATE TABLE plain_copy (ycsb_key bigint PRIMARY KEY{ycsb.FIELDS})")
        with reader.cursor().copy(f"COPY {table} TO STDOUT (FORMAT binary)") as rows, \
                writer.cursor().copy("COPY plain_copy FROM STDIN (FORMAT binary)") as sink:
            for data in rows:
                sink.write(data)
        writer.execute("SET citus.enable_ddl_propagation = off; DROP TABLE plain_copy")


def load(connection, rows):
    connection.execute(f"CREATE TABLE {TABLE} (ycsb_key bigint PRIMARY KEY{ycsb.FIELDS})")
    connection.execute(f"SELECT create_distributed_table('{TABLE}', 'ycsb_key', shard_count => 1)")
    values = ", ".join(f"repeat('{letter}', 100)" for letter in "abcdefghij")
    connection.execute(f"INSERT INTO {TABLE} SELECT g, {values} FROM generate_series(1, %s) g", [rows])
    connection.execute(f"VACUUM ANALYZE {TABLE}")


def wear_in(dsn):
    """Leave WAL files to be used again, as on a server that has run for a while: new ones are written twice."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET min_wal_size = '{WORN_IN}GB'")
        connection.execute("SELECT pg_reload_conf()")
        for _ in range(WORN_IN):
            connection.execute("SELECT count(pg_logical_emit_message(false, '', repeat('x', 1024 * 1024))) FROM generate_series(1, 1024)")
        connection.execute("CHECKPOINT")


def spans_of_round(connection, dsns, nodes, mode):
    """Idle, then the plain COPY, then the move; return (label, began, ended) of each."""
    spans = []

    def span(label, action, *arguments):
        began = time.time()
        action(*arguments)
        spans.append((label, began, time.time()))

    shard, name, port = connection.execute(
        "SELECT shardid, shard_name, nodeport FROM citus_shards WHERE table_name = %s::regclass", [TABLE]).fetchone()
    other = next(each for each in nodes if each != port)
    time.sleep(WARM_UP)
    span("idle", time.sleep, IDLE_SECONDS)
    span("copy", copy_between, dsns[str(port)], dsns[str(other)], name)
    span("move", connection.execute, "SELECT citus_move_shard_placement(%s, %s, %s, %s::citus.shard_transfer_mode)",
         [shard, nodes[port], nodes[other], mode])
    connection.execute("CALL citus_cleanup_orphaned_resources()")
    return spans


def report(rounds, errors, done):
    """Print a line for each span, and the medians of all rounds; return the exit status."""
    ratios, pauses, slower = [], [], []
    for spans in rounds:
        seconds = {label: ended - began for label, began, ended in spans}
        within = {label: [each for each in done if began <= each[0] <= ended] for label, began, ended in spans}
        pauses.append(max(taken for _, taken, _ in within["move"]))
        within["move"] = outside_pause(within["move"])
        found = {label: times(within[label]) for label in within}
        for label in found:
            show(label, found[label], seconds[label])
        ratios.append(seconds["copy"] / seconds["move"])
        slower.append([percentile(moved, 0.99) / percentile(idle, 0.99) for moved, idle in zip(found["move"], found["idle"])])
    print(f"move / copy: {statistics.median(ratios):.2f} of the rate; longest statement {max(pauses):.0f} ms; p99 / idle p99: "
          + ", ".join(f"{kind} {statistics.median(each):.2f}" for kind, each in zip(KINDS, zip(*slower)))
          + f"; {len(errors)} errors", *errors[:3], sep="\n")
    return 1 if errors else 0


def main():
    """Runs the benchmark; exits with 1 if a client got an error."""
    parser = argparse.ArgumentParser(prog="bench/moves", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the shard (1000)")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--zipfian", action="store_true", help="some keys more often than others")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", default="force_logical", choices=["force_logical", "block_writes"])
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    rows = args.megabytes * 1024 * 1024 // ROW_BYTES
    with servers.start("cluster", args.base_port) as (_, cluster), cluster.connect() as connection:
        load(connection, rows)
        nodes = dict(connection.execute("SELECT nodeport, nodeid FROM pg_dist_node WHERE groupid > 0").fetchall())
        dsns = {psycopg.conninfo.conninfo_to_dict(dsn)["port"]: dsn for dsn in cluster.others}
        for dsn in cluster.others:
            wear_in(dsn)
        with Clients([cluster.dsn, *cluster.others], args.clients, rows, args.zipfian) as clients:
            rounds = [spans_of_round(connection, dsns, nodes, args.mode) for _ in range(args.rounds)]
            time.sleep(WARM_UP)
            errors, done = clients.finish()
    return report(rounds, errors, done)


if __name__ == "__main__":
    sys.exit(main())
