"""The benchmarks. To add one, write a function that yields Results and give it a row in CASES."""

import subprocess
import time
from dataclasses import dataclass, replace

import psycopg

import fdw
import pgbench
from rounds import Result, Sample, interleave

ACCOUNTS = (
    "CREATE TABLE bench_accounts (aid integer PRIMARY KEY, bid integer, abalance integer, filler char(84))",
    "CREATE TABLE bench_history (tid integer, bid integer, aid integer, delta integer, mtime timestamp)",
    "CREATE INDEX bench_history_aid ON bench_history (aid)")
NARROW = ("CREATE TABLE bench_narrow (id bigint, value integer, tag text)",)
NARROW_KEY = ("ALTER TABLE bench_narrow ADD PRIMARY KEY (id)",)


@dataclass
class Effort:
    """How long to measure."""

    plain_rounds: int
    plain_seconds: int
    rounds: int
    seconds: int
    copy_rounds: int
    rows: int = 2_000_000


FULL = Effort(plain_rounds=15, plain_seconds=3, rounds=5, seconds=5, copy_rounds=5)
QUICK = Effort(plain_rounds=3, plain_seconds=1, rounds=3, seconds=1, copy_rounds=2)


def effort(quick, rounds=None, seconds=None):
    """The effort of a full or a quick run, with what the user wants otherwise."""
    chosen = QUICK if quick else FULL
    if rounds:
        chosen = replace(chosen, plain_rounds=rounds, rounds=rounds, copy_rounds=rounds)
    if seconds:
        chosen = replace(chosen, plain_seconds=seconds, seconds=seconds)
    return chosen


def plain_tables(sides, effort, say):
    """What the extension costs a session that uses plain tables only: pgbench -S with and without it."""
    for side in sides:
        say(f"  loading pgbench's tables on {side.name}")
        pgbench_initialize(side)
    for clients in (1, 8):
        for protocol in ("simple", "extended", "prepared"):
            result = Result("plain tables", f"pgbench -S, {protocol}, {count(clients, 'client')}", sides[0].name)
            yield interleave(result, sides, effort.plain_rounds, lambda side: pgbench.measure(
                side, ["-S"], protocol, clients, effort.plain_seconds))


def pgbench_initialize(side):
    """pgbench's own tables at scale 10, vacuumed and in memory."""
    subprocess.run([pgbench.program(), "-i", "-q", "-s", "10", side.dsn], check=True, capture_output=True)
    warm(side, "pgbench_accounts")


def warm(side, table):
    """Settle hint bits and read the table and its first index into memory, on every shard."""
    for dsn in side.others if side.form == "fdw" else ():
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
    with side.connect() as connection:
        connection.execute(f"VACUUM ANALYZE {table}")
        connection.execute(f"SELECT count(*) FROM {table}")


def keyed(sides, effort, say):
    """Single-row statements by key on a distributed table, through the coordinator."""
    for side in sides:
        say(f"  loading {effort.rows:,} accounts on {side.name}")
        create(side, ACCOUNTS, (("bench_accounts", "aid"), ("bench_history", "aid")))
        copy_rows(side, "bench_accounts", accounts(effort.rows))
        warm(side, "bench_accounts")
    for name, clients, protocols in (("select", (1, 8), ("simple", "extended", "prepared")),
                                     ("update", (16,), ("simple", "prepared")),
                                     ("insert", (16,), ("simple", "prepared")),
                                     ("tenant", (8,), ("simple", "prepared"))):
        for number in clients:
            for protocol in protocols:
                result = Result("by key", f"{name}, {protocol}, {count(number, 'client')}", sides[0].name)
                yield interleave(result, sides, effort.rounds, lambda side: pgbench.measure(
                    side, pgbench.script(name, effort.rows), protocol, number, effort.seconds))


def copy(sides, effort, say):
    """COPY FROM STDIN of narrow rows through one session, with and without a primary key."""
    data = list(narrow(effort.rows))
    for label, statements in (("no index", NARROW), ("primary key", NARROW + NARROW_KEY)):
        for side in sides:
            create(side, statements, (("bench_narrow", "id"),))
        result = Result("copy", f"{effort.rows:,} rows, {label}", sides[0].name, unit="rows/s")
        yield interleave(result, sides, effort.copy_rounds, lambda side: measure_copy(side, data, effort.rows))


def measure_copy(side, data, rows):
    if side.form == "fdw":
        # COPY sends a foreign table one row at a time before PostgreSQL 16: a tenth shows the rate as well.
        data, rows = data[:len(data) // 10], rows // 10
    side.run_on(pgbench.ALL_CPUS)
    with side.connect() as connection:
        connection.execute("TRUNCATE bench_narrow")
    before = side.cpu_seconds()
    started = time.monotonic()
    copy_rows(side, "bench_narrow", data)
    seconds = time.monotonic() - started
    after = side.cpu_seconds()
    return Sample(rate=rows / seconds, server_cpu=(after[0] - before[0]) / rows * 1e6,
                  entry_cpu=(after[1] - before[1]) / rows * 1e6)


def create(side, statements, distribution):
    """(Re)create tables, distributed where the side has other servers."""
    if side.form == "fdw":
        fdw.create(side, statements, distribution)
        return
    with side.connect() as connection:
        for table, _ in distribution:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in statements:
            connection.execute(statement)
        if side.form == "cluster":
            for table, column in distribution:
                connection.execute("SELECT create_distributed_table(%s, %s)", (table, column))


def copy_rows(side, table, chunks):
    with side.connect() as connection, connection.cursor() as cursor:
        with cursor.copy(f"COPY {table} FROM STDIN") as stream:
            for chunk in chunks:
                stream.write(chunk)


def accounts(rows):
    """pgbench_accounts' rows, in chunks of text."""
    filler = " " * 84
    for first in range(1, rows + 1, 10_000):
        yield "".join(f"{aid}\t{aid // 100_000 + 1}\t0\t{filler}\n"
                      for aid in range(first, min(first + 10_000, rows + 1))).encode()


def narrow(rows):
    """Rows of about 24 bytes, in chunks of text."""
    for first in range(1, rows + 1, 50_000):
        yield "".join(f"{number}\t{number * 7919 % 1_000_003}\ttag{number % 997}\n"
                      for number in range(first, min(first + 50_000, rows + 1))).encode()


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


# name -> (function, what its second side is: a single server with the extension, or a cluster)
CASES = {
    "plain": (plain_tables, "extension"),
    "keyed": (keyed, "cluster"),
    "copy": (copy, "cluster"),
}
