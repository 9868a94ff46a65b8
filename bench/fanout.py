"""Statements over all shards of a table, and look-ups by a column that isn't the distribution column."""

import time
from dataclasses import dataclass

import pgbench
from keyed import Workload, loads
from rounds import Result, Sample, interleave

LOOKUPS = [Workload((script,), clients=(1, 8), quick=(("prepared", 1), ("prepared", 8))) for script in ("lookup", "lookup_many")]

# name -> statements; those before the last are not measured
STATEMENTS = {
    "aggregate": ["SELECT count(*), sum(amount), avg(amount) FROM fanout"],
    "group": ["SELECT kind, count(*), sum(amount), avg(amount) FROM fanout GROUP BY kind"],
    "top 10": ["SELECT * FROM fanout ORDER BY kind DESC, id LIMIT 10"],
    "top 10 by an index": ["SELECT * FROM fanout ORDER BY amount DESC, id LIMIT 10"],
    "self-join": ["SELECT count(*), sum(a.amount + b.amount) FROM fanout a JOIN fanout b USING (id)"],
    "distinct": ["SELECT count(DISTINCT kind) FROM fanout"],
    "limit 10": ["SELECT * FROM fanout LIMIT 10"],
    "empty": ["SELECT count(*), sum(amount) FROM fanout_empty"],
    "insert": ["TRUNCATE fanout_copy", "INSERT INTO fanout_copy SELECT id, kind, amount FROM fanout"],
    "series": ["TRUNCATE fanout_copy", "INSERT INTO fanout_copy SELECT g, g % 1000, g FROM generate_series(1, {rows}) g"],
}


def fanout(sides, plan, say):
    """2,000,000 rows in 32 shards, both sides without parallel query; look-ups also in 1,024 shards."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides:
        say(f"  loading {plan.rows:,} rows on {side.name}")
        load(side, plan.rows)
    for name, statements in STATEMENTS.items():
        if not plan.scripts or name in plan.scripts:
            result = Result("fanout", name, sides[0].name, unit="1/s")
            texts = [statement.format(rows=plan.rows) for statement in statements]
            yield interleave(result, sides, plan.copy_rounds, lambda side, texts=texts: once(side, texts))
    if plan.scripts and "lookup" not in plan.scripts:
        return
    for workload in LOOKUPS:
        for chosen in loads(workload, plan, ("coordinator",)):
            result = Result("fanout", f"{workload.scripts[0]}, {chosen}", sides[0].name)
            arguments = pgbench.script(workload.scripts, {"rows": plan.rows})
            yield interleave(result, sides, plan.rounds,
                             lambda side, chosen=chosen, arguments=arguments: pgbench.measure(side, arguments, chosen, plan.seconds))


@dataclass
class Table:
    name: str
    shards: int
    filled: bool


def load(side, rows):
    for table in Table("fanout", 32, True), Table("fanout_many", 1024, True), Table("fanout_empty", 32, False), \
            Table("fanout_copy", 32, False):
        with side.connect() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {table.name}")
            connection.execute(f"CREATE TABLE {table.name} (id bigint, kind int, amount bigint)")
            if side.form == "cluster":
                connection.execute(f"SELECT create_distributed_table('{table.name}', 'id', shard_count => {table.shards})")
            if table.filled:
                connection.execute(f"INSERT INTO {table.name} SELECT g, g % 1000, g FROM generate_series(1, {rows}) g")
                connection.execute(f"CREATE INDEX ON {table.name} (amount)")
            connection.execute(f"ANALYZE {table.name}")


def once(side, statements):
    """Executions a second of the last statement, by one."""
    with side.connect() as connection:
        connection.execute("SET max_parallel_workers_per_gather = 0")
        for statement in statements[:-1] or statements:     # a query for the first time connects, and reads catalogs
            connection.execute(statement)
        before, started = side.cpu_seconds(), time.monotonic()
        connection.execute(statements[-1])
        seconds = time.monotonic() - started
    return Sample(rate=1 / seconds, cpu=side.cpu_since(before, 1))
