"""Real-time analytics: a dashboard's query by a trigram index and a transformation of raw events (the Citus
paper's figure 7), and averages of averages (its VeniceDB query)."""

import time
from dataclasses import dataclass

import documents
import pgbench
import tables
from copying import EVENTS, create_extension
from rounds import Result, Sample, interleave

MESSAGES = "jsonb_path_query_array(data, '$.payload.commits[*].message')::text"
COMMITS = "CREATE TABLE bench_commits (event_id bigint, number bigint, sha text, author text, message text)"
REPORTS = "CREATE TABLE bench_reports (device_id bigint, reported date, build integer, country integer, metric float8)"


@dataclass
class Statement:
    text: str  # what it measures
    sql: str
    target: str = ""  # is emptied before


STATEMENTS = {
    "dashboard": Statement(
        "documents, commits a day that name a word",
        f"""SELECT (data ->> 'created_at')::date, sum(jsonb_array_length(data -> 'payload' -> 'commits'))
            FROM bench_events WHERE {MESSAGES} ILIKE '%timeout #77%' GROUP BY 1 ORDER BY 1"""),
    "scan": Statement(
        "documents, commits a day",
        """SELECT (data ->> 'created_at')::date, sum(jsonb_array_length(data -> 'payload' -> 'commits'))
           FROM bench_events GROUP BY 1 ORDER BY 1"""),
    "transform": Statement(
        "documents, INSERT .. SELECT of their commits",
        """INSERT INTO bench_commits
           SELECT event_id, number, c ->> 'sha', c -> 'author' ->> 'name', c ->> 'message'
           FROM bench_events, jsonb_array_elements(data -> 'payload' -> 'commits') WITH ORDINALITY AS a(c, number)
           WHERE data ->> 'type' = 'PushEvent'""", "bench_commits"),
    "venice": Statement(
        "reports, averages of devices' averages",
        """SELECT reported, build, avg(device_avg) FROM (
               SELECT device_id, reported, build, avg(metric) AS device_avg
               FROM bench_reports WHERE country < 150 GROUP BY device_id, reported, build) per_device
           GROUP BY reported, build ORDER BY reported, build"""),
}
DOCUMENTS_SHARE = 20  # a document takes the place of so many reports


def realtime(sides, plan, say):
    """Queries and a transformation over events, one session."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides:
        load(side, plan.rows)
    for name, statement in STATEMENTS.items():
        if plan.scripts and name not in plan.scripts:
            continue
        rows = plan.rows if name == "venice" else plan.rows // DOCUMENTS_SHARE
        result = Result("realtime", f"{name}: {rows:,} {statement.text}", sides[0].name, unit="rows/s")
        yield interleave(result, sides, plan.copy_rounds, lambda side, statement=statement, rows=rows: measure(
            side, statement, rows))


def load(side, rows):
    """So many reports, each device's a few a day, and their part of documents."""
    create_extension(side, "pg_trgm")
    tables.create(side, (*EVENTS, COMMITS, REPORTS), (("bench_events", "event_id"), ("bench_commits", "event_id"),
                                                      ("bench_reports", "device_id")))
    tables.load(side, "bench_events", documents.events(rows // DOCUMENTS_SHARE))
    with side.connect() as connection:
        connection.execute(
            "INSERT INTO bench_reports SELECT mod(g, %s), date '2024-01-01' + mod(g, 7)::int, mod(g / 7, 5)::int, "
            "hashint8(g) & 255, (hashint8(g) & 65535) / 64.0 FROM generate_series(1, %s) g",
            [max(rows // 50, 1), rows])
    for table in ("bench_events", "bench_reports"):
        tables.warm(side, table)


def measure(side, statement, rows):
    """Run the statement, its target emptied."""
    side.run_on(pgbench.ALL_CPUS)
    with side.connect() as connection:
        if side.form == "plain":
            connection.execute("SET max_parallel_workers_per_gather = 0")
        if statement.target:
            connection.execute(f"TRUNCATE {statement.target}")
        before = side.cpu_seconds()
        started = time.monotonic()
        connection.execute(statement.sql)
        seconds = time.monotonic() - started
    return Sample(rate=rows / seconds, cpu=side.cpu_since(before, rows))
