"""INSERT .. SELECT of many rows: computed by the initiator, by the shards, or by other shards than store them."""

import time
from dataclasses import dataclass

import pgbench
import tables
from rounds import Result, Sample, interleave

TABLES = ("CREATE TABLE bench_source (id bigint, value integer, tag text)",
          "CREATE TABLE bench_target (id bigint, value integer, tag text)",
          "CREATE TABLE bench_sums (id bigint PRIMARY KEY, total bigint, n bigint)")
KEYS = (("bench_source", "id"), ("bench_target", "id"), ("bench_sums", "id"))


@dataclass
class Statement:
    text: str  # what it measures
    target: str
    select: str  # rows: how many


STATEMENTS = {
    "series": Statement("rows of generate_series", "bench_target",
                        "SELECT i, i % 1000, 'tag' || i % 997 FROM generate_series(1, {rows}) i"),
    "same-key": Statement("rows, stored where they are read", "bench_target", "SELECT * FROM bench_source"),
    "other-key": Statement("rows, stored elsewhere", "bench_target", "SELECT id + 1, value, tag FROM bench_source"),
    "grouped": Statement("rows, summed up by key", "bench_sums",
                         "SELECT id, sum(value), count(*) FROM bench_source GROUP BY id"),
}


def insert_select(sides, plan, say):
    """INSERT .. SELECT through one session."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides:
        tables.create(side, TABLES, KEYS)
        with side.connect() as connection:
            connection.execute("INSERT INTO bench_source " + STATEMENTS["series"].select.format(rows=plan.rows))
        tables.warm(side, "bench_source")
    for name, statement in STATEMENTS.items():
        if plan.scripts and name not in plan.scripts:
            continue
        result = Result("insert_select", f"{name}: {plan.rows:,} {statement.text}", sides[0].name, unit="rows/s")
        yield interleave(result, sides, plan.copy_rounds, lambda side, statement=statement: measure(
            side, statement, plan.rows))


def measure(side, statement, rows):
    """Run the statement with an empty target."""
    side.run_on(pgbench.ALL_CPUS)
    with side.connect() as connection:
        connection.execute(f"TRUNCATE {statement.target}")
        before = side.cpu_seconds()
        started = time.monotonic()
        connection.execute(f"INSERT INTO {statement.target} {statement.select.format(rows=rows)}")
        seconds = time.monotonic() - started
    return Sample(rate=rows / seconds, cpu=side.cpu_since(before, rows))
