"""COPY FROM STDIN through one session, with and without indexes."""

import time
from dataclasses import dataclass

import psycopg

import documents
import pgbench
import tables
from rounds import Result, Sample, interleave


def narrow(rows):
    """Rows of about 24 bytes, in chunks of text."""
    for first in range(1, rows + 1, 50_000):
        yield "".join(f"{number}\t{number * 7919 % 1_000_003}\ttag{number % 997}\n"
                      for number in range(first, min(first + 50_000, rows + 1))).encode()


@dataclass
class Stream:
    """What is copied, and into what."""

    text: str
    statements: tuple
    table: str
    key: str
    data: object  # a function of the number of rows that yields chunks of text
    share: int = 1  # the rows are the plan's divided by this
    extension: str = ""


NARROW = ("CREATE TABLE bench_narrow (id bigint, value integer, tag text)",)
NARROW_KEY = NARROW + ("ALTER TABLE bench_narrow ADD PRIMARY KEY (id)",)
# Building the index costs far more than the rows.
EVENTS = ("CREATE TABLE bench_events (event_id bigint PRIMARY KEY, data jsonb)",
          "CREATE INDEX bench_events_text ON bench_events USING gin "
          "((jsonb_path_query_array(data, '$.payload.commits[*].message')::text) gin_trgm_ops)")
# COPY sends a foreign table one row at a time before PostgreSQL 16: a tenth of the rows shows the rate as well.
FDW_SHARE = 10
STREAMS = {
    "narrow": Stream("rows, no index", NARROW, "bench_narrow", "id", narrow),
    "narrow-key": Stream("rows, primary key", NARROW_KEY, "bench_narrow", "id", narrow),
    "documents": Stream("documents, trigram index", EVENTS, "bench_events", "event_id", documents.events, 50, "pg_trgm"),
}


def copy(sides, plan, say):
    """COPY FROM STDIN through one session: narrow rows with and without a primary key, indexed JSON documents."""
    sides = [side for side in sides if side.form != "hop"]
    for name, stream in STREAMS.items():
        if plan.scripts and name not in plan.scripts:
            continue
        rows = plan.rows // stream.share
        data = {count: list(stream.data(count)) for count in (rows, rows // FDW_SHARE)}
        for side in sides:
            create(side, stream)
        result = Result("copy", f"{name}: {rows:,} {stream.text}", sides[0].name, unit="rows/s")
        yield interleave(result, sides, plan.copy_rounds, lambda side: measure(
            side, stream, data, rows // FDW_SHARE if side.form == "fdw" else rows))


def create_extension(side, name):
    """Make it on all servers of a side."""
    for dsn in (side.dsn, *side.others):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")


def create(side, stream):
    if stream.extension:
        create_extension(side, stream.extension)
    tables.create(side, stream.statements, ((stream.table, stream.key),))


def measure(side, stream, data, rows):
    """Copy so many rows into the emptied table."""
    side.run_on(pgbench.ALL_CPUS)
    with side.connect() as connection:
        connection.execute(f"TRUNCATE {stream.table}")
        before = side.cpu_seconds()
        started = time.monotonic()
        tables.copy_rows(connection, stream.table, data[rows])
        seconds = time.monotonic() - started
    return Sample(rate=rows / seconds, cpu=side.cpu_since(before, rows))
