"""How many connections to a node a statement may open: the default beside fixed numbers."""

import copy

import pgbench
from keyed import Workload, loads
from rounds import Result, interleave

SETTING = "citus.max_adaptive_executor_pool_size"
SIZES = (1, 2, 4, 16)
ROWS = {"bench_orders": 400, "bench_items": 200}
JOINS = Workload(("small_join",), clients=(1, 4, 100), quick=(("prepared", 4), ("prepared", 100)))


def pool_sizes(sides, plan, say):
    """A join of 400 by 200 rows over 32 shards; ratios are to the default setting."""
    cluster = next(side for side in sides if side.form == "cluster")
    with cluster.connect() as connection:
        for table, rows in ROWS.items():
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(f"CREATE TABLE {table} (id int, amount int)")
            connection.execute(f"SELECT create_distributed_table('{table}', 'id', shard_count => 32)")
            connection.execute(f"INSERT INTO {table} SELECT g, g % 10 FROM generate_series(1, {rows}) g")
            connection.execute(f"ANALYZE {table}")
    choices = []
    for name in ("default", *(f"at most {size}" for size in SIZES)):
        choices.append(copy.copy(cluster))
        choices[-1].name = name
    for load in loads(JOINS, plan, ("coordinator",)):
        result = Result("pool_sizes", f"small join, {load}", "default")
        yield interleave(result, choices, plan.rounds,
                         lambda side, load=load: ask(side, load, plan.seconds))
    with cluster.connect() as connection:
        set_size(connection, "default")


def set_size(connection, name):
    size = name.rpartition(" ")[2]
    connection.execute(f"ALTER SYSTEM RESET {SETTING}" if name == "default" else f"ALTER SYSTEM SET {SETTING} = {size}")
    connection.execute("SELECT pg_reload_conf()")


def ask(side, load, seconds):
    with side.connect() as connection:
        set_size(connection, side.name)
    return pgbench.measure(side, pgbench.script(JOINS.scripts, {}), load, seconds)
