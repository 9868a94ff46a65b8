"""Writes of reference tables leave equal copies, whatever the physical order of each copy is, and do what they do to a plain table."""

import random

import psycopg
import pytest

from harness.servers import rows, value
from pomelo_check.sample import SEED

# Statements; those of which the second member is True have one right result.
KEYLESS = [
    ("UPDATE {t} SET v = nextval('{s}.sq')", False),
    ("UPDATE {t} SET f = random() WHERE v % 2 = 0", False),
    ("DELETE FROM {t} WHERE ctid IN (SELECT ctid FROM {t} LIMIT 2)", False),
    ("DELETE FROM {t} WHERE ctid = (SELECT max(ctid) FROM {t})", False),
    ("DELETE FROM {t} a USING {t} b WHERE a.ctid < b.ctid AND a.v = b.v AND a.w = b.w", False),
    ("UPDATE {t} SET f = (SELECT sum(x.f) FROM {t} x)", False),
    ("UPDATE {t} SET w = (SELECT string_agg(x.v::text, ',') FROM (SELECT v FROM {t} LIMIT 3) x)", False),
    ("UPDATE {t} SET v = n FROM (SELECT ctid AS place, row_number() OVER () AS n FROM {t}) x WHERE place = {t}.ctid", False),
    ("UPDATE {t} SET w = o.w FROM {t} o WHERE o.v = {t}.v", False),
    ("INSERT INTO {t} SELECT row_number() OVER (), f, w FROM {t} LIMIT 4", False),
    ("MERGE INTO {t} USING (SELECT v, count(*) AS n FROM {t} GROUP BY v) x ON x.v = {t}.v AND n > 1 "
     "WHEN MATCHED AND {t}.v % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = nextval('{s}.sq')", False),
    ("WITH gone AS (DELETE FROM {t} WHERE ctid IN (SELECT ctid FROM {t} LIMIT 3) RETURNING *) INSERT INTO {t} SELECT v + 50, f, w "
     "FROM gone", False),
    ("INSERT INTO {t} SELECT g % 3, 0.1, 'x' FROM generate_series(1, 6) g", True),
    ("UPDATE {t} SET v = v + 1, w = w || 'u' WHERE v % 3 = 1", True),
    ("UPDATE {t} SET v = (SELECT min(v) FROM {t}) WHERE v > 10", True),
    ("DELETE FROM {t} WHERE v = (SELECT max(v) FROM {t})", True),
]
KEYED = [
    ("UPDATE {t} SET v = n FROM (SELECT id, row_number() OVER (PARTITION BY v ORDER BY v) AS n FROM {t}) x WHERE x.id = {t}.id", False),
    ("UPDATE {t} SET w = o.id FROM {t} o WHERE o.v = {t}.v AND o.id <> {t}.id", False),
    ("INSERT INTO {t} SELECT id, 1, f, w FROM {t} ON CONFLICT (id) DO UPDATE SET v = nextval('{s}.sq')", False),
    ("UPDATE {t} SET v = v + 1 WHERE xmin = (SELECT xmin FROM {t} LIMIT 1)", False),
    ("DELETE FROM {t} WHERE id IN (SELECT id FROM {t} LIMIT 1)", False),
    ("INSERT INTO {t} SELECT g, g, g, 'new' FROM generate_series(1, 15) g ON CONFLICT DO NOTHING", True),
    ("INSERT INTO {t} SELECT g, g, g, 'new' FROM generate_series(10, 20) g ON CONFLICT (id) DO UPDATE SET v = {t}.v + excluded.v",
     True),
    ("UPDATE {t} SET id = id + 1000 WHERE id < 1000 AND v <= (SELECT avg(v) FROM {t})", True),
    ("UPDATE {t} SET id = id - 1000 WHERE id > 1000 AND v >= (SELECT avg(v) FROM {t})", True),
    ("UPDATE {t} SET w = w || id WHERE id % 2 = 0", True),
    ("DELETE FROM {t} WHERE id = (SELECT max(id) FROM {t})", True),
]


def disorder(cluster, connect, table, chosen):
    """Moves some rows of each worker's copy to its end."""
    for node in cluster.workers:
        with connect(node, options="-c citus.node_proof=superuser") as worker:
            worker.execute(f"/*citus:node*/ UPDATE {table} SET v = v WHERE v % 4 = {chosen.randrange(4)}")


def fails(connection, statement):
    """Runs a statement; whether it violates a unique constraint, as some changes of keys do."""
    try:
        connection.execute(statement)
    except psycopg.errors.UniqueViolation:
        return True
    return False


def write_at_random(cluster, connect, schema, statements, columns, number):
    """Runs each statement several times, in random order, on a reference table and on a plain one of the same rows."""
    chosen = random.Random(SEED + number)
    table, plain = f"{schema}.r", f"{schema}.plain"
    with connect(cluster.coordinator) as connection, connect(chosen.choice(cluster.nodes)) as writer:
        connection.execute(f"""CREATE SEQUENCE {schema}.sq;
            CREATE TABLE {table} ({columns}); SELECT create_reference_table('{table}'); CREATE TABLE {plain} (LIKE {table} INCLUDING ALL)""")
        for table_ in (table, plain):
            names = "id, v, f, w" if "id" in columns else "v, f, w"
            connection.execute(f"INSERT INTO {table_} ({names}) "
                               f"SELECT {'g, ' if 'id' in columns else ''}g % 5, 0.1 * (g % 3), 'x' FROM generate_series(1, 12) g")
        for statement, determined in chosen.choices(statements, k=30):
            disorder(cluster, connect, table, chosen)
            failed = fails(writer, statement.format(t=table, s=schema))
            checked = rows(connection, "SELECT equal FROM citus_check_reference_table(%s)", [table])
            assert checked == [(True,)] * 3, statement
            if determined:
                assert fails(connection, statement.format(t=plain, s=schema)) == failed, statement
                for left, right in ((table, plain), (plain, table)):
                    assert rows(connection, f"SELECT * FROM {left} EXCEPT ALL SELECT * FROM {right}") == [], statement
            else:
                connection.execute(f"DELETE FROM {plain}")
                connection.execute(f"INSERT INTO {plain} SELECT * FROM {table}")
            if value(connection, f"SELECT count(*) FROM {table}") < 4:
                for table_ in (table, plain):
                    connection.execute(f"TRUNCATE {table_}")
                    connection.execute(f"INSERT INTO {table_} ({names}) SELECT {'g, ' if 'id' in columns else ''}g % 5, 1, 'again' "
                                       "FROM generate_series(1, 12) g")


@pytest.mark.parametrize("number", range(3))
def test_without_a_key(cluster, connect, schema, number):
    write_at_random(cluster, connect, schema, KEYLESS, "v int, f float8, w text", number)


@pytest.mark.parametrize("number", range(3))
def test_with_a_key(cluster, connect, schema, number):
    write_at_random(cluster, connect, schema, KEYED, "id int PRIMARY KEY, v int, f float8, w text", number)


def test_equal_rows_have_their_own_fate(cluster, connect, schema):
    with connect(cluster.coordinator) as connection:
        connection.execute(f"""CREATE TABLE {schema}.r (v int); SELECT create_reference_table('{schema}.r');
            CREATE SEQUENCE {schema}.sq; INSERT INTO {schema}.r SELECT 1 FROM generate_series(1, 8)""")
        connection.execute(f"UPDATE {schema}.r SET v = nextval('{schema}.sq')")
        assert value(connection, f"SELECT count(DISTINCT v) FROM {schema}.r") == 8
        connection.execute(f"UPDATE {schema}.r SET v = 1")
        for left in (5, 2, 0, 0):
            connection.execute(f"DELETE FROM {schema}.r WHERE ctid IN (SELECT ctid FROM {schema}.r LIMIT 3)")
            assert value(connection, f"SELECT count(*) FROM {schema}.r") == left
        assert rows(connection, "SELECT equal FROM citus_check_reference_table(%s)", [f"{schema}.r"]) == [(True,)] * 3


@pytest.mark.parametrize("statement", [
    "WITH t AS (UPDATE {s}.r SET id = id + 10 RETURNING id) UPDATE {s}.d SET v = 1",
    "WITH x AS (UPDATE {s}.d SET v = 1) MERGE INTO {s}.r r USING (SELECT 1 AS id) s ON s.id = r.id WHEN MATCHED THEN DELETE",
    "WITH x AS (UPDATE {s}.d SET v = 1) DELETE FROM {s}.watched",
])
def test_actions_before_other_parts_are_refused(coordinator, schema, statement):
    """A foreign key's action that would write the table before another part of the statement does."""
    coordinator.execute(f"""
        CREATE TABLE {schema}.r (id int PRIMARY KEY);
        CREATE TABLE {schema}.watched (id int PRIMARY KEY);
        CREATE TABLE {schema}.d (k int PRIMARY KEY, v int, id int REFERENCES {schema}.r ON DELETE CASCADE ON UPDATE CASCADE,
            other int REFERENCES {schema}.watched ON DELETE SET NULL);
        SELECT create_reference_table('{schema}.r'), create_reference_table('{schema}.watched');
        SELECT create_distributed_table('{schema}.d', 'k');
        CREATE FUNCTION {schema}.watch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN old; END';
        CREATE TRIGGER watch BEFORE DELETE ON {schema}.watched FOR EACH ROW EXECUTE FUNCTION {schema}.watch();
        INSERT INTO {schema}.r VALUES (1);
        INSERT INTO {schema}.watched VALUES (1);
        INSERT INTO {schema}.d VALUES (1, 0, 1, 1)""")
    with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
        coordinator.execute(statement.format(s=schema))
    assert "separate statements" in refused.value.diag.message_hint
    assert rows(coordinator, f"SELECT * FROM {schema}.d") == [(1, 0, 1, 1)]
