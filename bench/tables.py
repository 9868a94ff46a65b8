"""The benchmarks' tables: making, distributing and loading them on any side."""

import psycopg

import fdw

ACCOUNTS = (
    "CREATE TABLE bench_accounts (aid integer PRIMARY KEY, bid integer, abalance integer, filler char(84))",
    "CREATE TABLE bench_history (tid integer, bid integer, aid integer, delta integer, mtime timestamp)",
    "CREATE INDEX bench_history_aid ON bench_history (aid)",
    "CREATE TABLE bench_tellers (tid integer PRIMARY KEY, bid integer, tbalance integer, filler char(84))",
    "CREATE TABLE bench_branches (bid integer PRIMARY KEY, bbalance integer, filler char(88))")
ACCOUNTS_KEYS = (("bench_accounts", "aid"), ("bench_history", "aid"), ("bench_tellers", "tid"),
                 ("bench_branches", "bid"))
ACCOUNTS_A_BRANCH = 100_000
TELLERS_A_BRANCH = 10


def create(side, statements, distribution, one_node=False):
    """(Re)create tables, distributed where the side has other servers; `one_node`: all shards on the first worker."""
    if side.form == "fdw":
        fdw.create(side, statements, distribution)
        return
    with side.connect() as connection:
        for table, _ in distribution:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in statements:
            connection.execute(statement)
        if side.form == "cluster":
            others = side.others[1:] if one_node else []
            take_shards(connection, others, False)
            for table, column in distribution:
                connection.execute("SELECT create_distributed_table(%s, %s)", (table, column))
            take_shards(connection, others, True)


def take_shards(connection, dsns, wanted):
    """Say whether nodes get shards of new tables."""
    for dsn in dsns:
        port = psycopg.conninfo.conninfo_to_dict(dsn)["port"]
        connection.execute("SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', %s)",
                           (int(port), wanted))


def create_accounts(side, rows, one_node=False):
    """The tables of pgbench under our names, with `rows` accounts."""
    create(side, ACCOUNTS, ACCOUNTS_KEYS, one_node)
    branches = branches_of(rows)
    load(side, "bench_accounts", accounts(rows))
    load(side, "bench_tellers", [b"".join(
        b"%d\t%d\t0\t\n" % (tid, (tid - 1) // TELLERS_A_BRANCH + 1)
        for tid in range(1, branches * TELLERS_A_BRANCH + 1))])
    load(side, "bench_branches", [b"".join(b"%d\t0\t\n" % bid for bid in range(1, branches + 1))])
    for table, _ in ACCOUNTS_KEYS:
        warm(side, table)


def branches_of(rows):
    return max(rows // ACCOUNTS_A_BRANCH, 1)


def load(side, table, chunks):
    """Fill a table as fast as the side can."""
    if side.form == "fdw":
        fdw.load(side, table, chunks)
    else:
        with side.connect() as connection:
            copy_rows(connection, table, chunks)


def copy_rows(connection, table, chunks):
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as stream:
        for chunk in chunks:
            stream.write(chunk)


def warm(side, table):
    """Settle hint bits and read the table and its first index into memory, on every shard."""
    for dsn in side.others if side.form == "fdw" else ():
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
    with side.connect() as connection:
        connection.execute(f"VACUUM ANALYZE {table}")
        connection.execute(f"SELECT count(*) FROM {table}")


def accounts(rows):
    """pgbench_accounts' rows, in chunks of text."""
    filler = " " * 84
    for first in range(1, rows + 1, 10_000):
        yield "".join(f"{aid}\t{(aid - 1) // ACCOUNTS_A_BRANCH + 1}\t0\t{filler}\n"
                      for aid in range(first, min(first + 10_000, rows + 1))).encode()
