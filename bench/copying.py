"""COPY FROM STDIN through one session, with and without indexes."""

import time

import pgbench
import tables
from rounds import Result, Sample, interleave

NARROW = ("CREATE TABLE bench_narrow (id bigint, value integer, tag text)",)
NARROW_KEY = ("ALTER TABLE bench_narrow ADD PRIMARY KEY (id)",)


def copy(sides, plan, say):
    """COPY FROM STDIN of narrow rows through one session, with and without a primary key."""
    sides = [side for side in sides if side.form != "hop"]
    data = list(narrow(plan.rows))
    for label, statements in (("no index", NARROW), ("primary key", NARROW + NARROW_KEY)):
        for side in sides:
            tables.create(side, statements, (("bench_narrow", "id"),))
        result = Result("copy", f"{plan.rows:,} rows, {label}", sides[0].name, unit="rows/s")
        yield interleave(result, sides, plan.copy_rounds, lambda side: measure_copy(side, data, plan.rows))


def measure_copy(side, data, rows):
    if side.form == "fdw":
        # COPY sends a foreign table one row at a time before PostgreSQL 16: a tenth shows the rate as well.
        data, rows = data[:len(data) // 10], rows // 10
    side.run_on(pgbench.ALL_CPUS)
    with side.connect() as connection:
        connection.execute("TRUNCATE bench_narrow")
        before = side.cpu_seconds()
        started = time.monotonic()
        tables.copy_rows(connection, "bench_narrow", data)
        seconds = time.monotonic() - started
    return Sample(rate=rows / seconds, cpu=side.cpu_since(before, rows))


def narrow(rows):
    """Rows of about 24 bytes, in chunks of text."""
    for first in range(1, rows + 1, 50_000):
        yield "".join(f"{number}\t{number * 7919 % 1_000_003}\ttag{number % 997}\n"
                      for number in range(first, min(first + 50_000, rows + 1))).encode()
