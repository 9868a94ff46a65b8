"""Rows of stripes that are fetched one by one: what a scan of the table says they are, whatever their chunks look like."""

import random

import pytest

from harness.servers import context_bytes, rows, value
from pomelo_check.sample import SEED

ROWS = 4000
KEYS = 150
COLUMNS = {
    "one": "7",                                             # all equal: no bytes
    "byte": "i % 200",
    "short": "(i % 3000)::int2",
    "long": "i::bigint * 12345678901",
    "letter": "chr(65 + i % 20)::\"char\"",
    "flag": "i % 3 = 0",
    "ratio": "i / 7.0::float8",
    "money": "i / 100.0",
    "mixed": "CASE WHEN i % 5 = 0 THEN 'NaN' ELSE i / 7.0 END",
    "day": "date '2020-01-01' + i",
    "few": "'k' || i % 20",
    "text": "repeat(md5(i::text), 1 + i % 5)",
    "list": "ARRAY[i, i + 1]",
    "name": "('n' || i)::name",
    "uuid": "md5(i::text)::uuid",
    "dropped": "i",
}


@pytest.fixture(params=["none", "pglz", "lz4", "zstd"])
def table(request, schema, coordinator):
    """A table of many kinds of chunks, each without, with some and with NULLs only; sessions that fetch by its key."""
    columns = ", ".join(f"{text} AS {name}, CASE WHEN i % 7 <> 2 THEN {text} END AS {name}_some, CASE WHEN i < 0 THEN {text} END AS {name}_none"
                        for name, text in COLUMNS.items())
    coordinator.execute(f"CREATE TABLE {schema}.t (key) USING columnar WITH (columnar.compression = {request.param}, columnar.chunk_group_row_limit = 1000) "
                        f"AS SELECT i, {columns} FROM generate_series(1, {ROWS}) i")
    coordinator.execute(f"ALTER TABLE {schema}.t ADD PRIMARY KEY (key), ADD added text DEFAULT 'later', DROP dropped, DROP dropped_some")
    coordinator.execute(f"UPDATE {schema}.t SET few = 'new' WHERE key % 100 = 0")
    return f"{schema}.t"


def fetches(connection):
    """Has the session fetch rows by an index."""
    for setting in ("enable_seqscan", "enable_bitmapscan", "columnar.enable_custom_scan", "enable_hashjoin", "enable_mergejoin"):
        connection.execute(f"SET {setting} = off")


@pytest.mark.parametrize("cache", ["0", "32MB"])
def test_fetched_values(table, connect, cluster, cache):
    names = [name for name, in rows(connect(cluster.coordinator),
                                    "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped", [table])]
    choice = random.Random(SEED)
    keys = [choice.randint(1, ROWS) for _ in range(KEYS)]
    with connect(cluster.coordinator) as connection:
        expected = {row[0]: row for row in rows(connection, f"SELECT {', '.join(f'{name}::text' for name in names)} FROM {table}")}
        fetches(connection)
        connection.execute(f"SET columnar.chunk_cache_size = '{cache}'")
        for key in keys:
            wanted = choice.sample(range(len(names)), choice.choice([1, 2, len(names)]))
            text = f"SELECT {', '.join(f'{names[number]}::text' for number in wanted)} FROM {table} WHERE key = {key}"
            assert rows(connection, text) == [tuple(expected[str(key)][number] for number in wanted)], f"{text}, seed {SEED}"
        assert rows(connection, f"SELECT {', '.join(f'{name}::text' for name in names)} FROM {table} t ORDER BY t.key") == \
            sorted(expected.values(), key=lambda row: int(row[0]))


def test_columns_of_nodes_above(table, connect, cluster):
    """Nodes above take columns of whole rows that the scan returns, or others than its conditions are about."""
    statements = [
        "SELECT sum(money), max(text), count(few_some) FROM {t} WHERE key BETWEEN 900 AND 1100",
        "SELECT few, count(*), max(day_some) FROM {t} WHERE key BETWEEN 900 AND 1100 GROUP BY few ORDER BY few",
        "SELECT i, t.long, t.few FROM generate_series(5, 4000, 111) i JOIN {t} t ON t.key = i AND t.flag ORDER BY i",
        "SELECT a.key, b.text, c.long FROM {t} a JOIN {t} b ON b.key = a.short_some JOIN {t} c ON c.key = b.byte WHERE a.key BETWEEN 50 AND 90 ORDER BY a.key",
        "SELECT t FROM {t} t WHERE key IN (3, 2999) ORDER BY key",
        "SELECT (SELECT t.text FROM {t} t WHERE t.key = i AND t.few <> 'k3') FROM generate_series(1, 30) i",
        "SELECT count(*), count(t.key) FROM {t} t WHERE key BETWEEN 10 AND 3000",
        "SELECT ctid, xmin IS NOT NULL, tableoid::regclass, few FROM {t} WHERE key = 77",
        "SELECT key, ratio FROM {t} WHERE key > 3900 AND few = 'new' AND money_some IS NOT NULL ORDER BY key DESC FOR UPDATE"]
    with connect(cluster.coordinator) as connection:
        expected = [rows(connection, statement.format(t=table)) for statement in statements]
        fetches(connection)
        assert "Index Scan" in str(rows(connection, f"EXPLAIN {statements[0].format(t=table)}"))
        assert [rows(connection, statement.format(t=table)) for statement in statements] == expected


def test_whole_rows_are_written(table, connect, cluster):
    """An update that a scan of one column has found keeps the others, also after it has waited for another one."""
    with connect(cluster.coordinator) as connection:
        fetches(connection)
        before = value(connection, f"SELECT to_jsonb(t) - 'byte' FROM {table} t WHERE key = 1234")
        connection.execute(f"UPDATE {table} SET byte = -1 WHERE key = 1234")
        assert value(connection, f"SELECT to_jsonb(t) - 'byte' FROM {table} t WHERE key = 1234") == before
        assert value(connection, f"SELECT byte FROM {table} WHERE key = 1234") == -1


def test_cache_is_bounded(table, connect, cluster):
    with connect(cluster.coordinator) as connection:
        fetches(connection)
        connection.execute("SET columnar.chunk_cache_size = '200kB'")
        for key in range(1, ROWS, 250):
            rows(connection, f"SELECT * FROM {table} WHERE key = {key}")
        assert context_bytes(connection, "columnar chunk cache") < 600_000
        connection.execute("RESET columnar.chunk_cache_size")
        for key in range(1, ROWS, 250):
            rows(connection, f"SELECT * FROM {table} WHERE key = {key}")
        assert context_bytes(connection, "columnar chunk cache") > 1_000_000


def test_storage_that_is_given_out_again(schema, connect, cluster):
    """Rows of a stripe whose ctids another one has had, which was rolled back."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"CREATE TABLE {schema}.r (key int, v int) USING columnar")
        connection.execute(f"CREATE INDEX ON {schema}.r (key)")
        connection.execute("SET columnar.row_wise_limit = 0")
        fetches(connection)
        for round_number in range(4):
            for commits in (False, True):
                connection.execute("BEGIN")
                connection.execute(f"INSERT INTO {schema}.r SELECT i, {round_number} + i FROM generate_series(1, 1000) i")
                assert value(connection, f"SELECT max(v) FROM {schema}.r WHERE key = 10") == round_number + 10
                connection.execute("COMMIT" if commits else "ROLLBACK")
            assert value(connection, f"SELECT max(v) FROM {schema}.r WHERE key = 10") == round_number + 10
            connection.execute(f"TRUNCATE {schema}.r")
