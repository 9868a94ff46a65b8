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
    "nearest 10": ["SELECT id FROM fanout_words ORDER BY word <-> 'c4ca4238a0b923820dcc509a6f75849b' LIMIT 10"],
    "citext": ["SELECT id FROM fanout_words WHERE nick = 'C4CA4238A0B923820DCC509A6F75849B'"],
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
    load_words(side, rows // 20)


def load_words(side, rows):
    """Columns with operators of extensions: the distance of pg_trgm by an index, and citext."""
    with side.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        connection.execute("CREATE EXTENSION IF NOT EXISTS citext")
        connection.execute("DROP TABLE IF EXISTS fanout_words")
        connection.execute("CREATE TABLE fanout_words (id bigint, word text, nick citext)")
        if side.form == "cluster":
            connection.execute("SELECT create_distributed_table('fanout_words', 'id', shard_count => 32)")
        connection.execute(f"INSERT INTO fanout_words SELECT g, md5(g::text), md5(g::text) FROM generate_series(1, {rows}) g")
        connection.execute("CREATE INDEX ON fanout_words USING gist (word gist_trgm_ops)")
        connection.execute("CREATE INDEX ON fanout_words (nick)")
        connection.execute("ANALYZE fanout_words")


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
