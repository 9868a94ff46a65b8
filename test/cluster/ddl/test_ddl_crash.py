"""DDL of all kinds in a transaction whose commit meets with the death of a worker: on all nodes, or on none."""

import re
from random import Random

import pytest

from pomelo_check.sample import SEED
from pomelo_cluster import host

from harness import servers
from harness.objects import MATRIX, SETUP, common_schema, split
from harness.servers import value, wait_until
from harness.stopped import Stopped

BEFORE = """
    CREATE SCHEMA {s}; CREATE TABLE {s}.t (k int PRIMARY KEY, v text, gone int); CREATE TABLE {s}.dropped (k int);
    CREATE TABLE {s}.r (id int PRIMARY KEY); CREATE TABLE {s}.back (k int); CREATE TYPE {s}.mood AS ENUM ('sad');
    SELECT create_distributed_table(c, 'k') FROM unnest('{{{s}.t,{s}.dropped,{s}.back}}'::regclass[]) c;
    SELECT create_reference_table('{s}.r'); INSERT INTO {s}.t SELECT g, 'v' || g, 1 FROM generate_series(1, 50) g
"""
ALL_KINDS = """
    BEGIN;
    CREATE ROLE {s}_role; CREATE TYPE {s}.pair AS (a int, b text); CREATE DOMAIN {s}.natural AS int CHECK (VALUE >= 0);
    CREATE FUNCTION {s}.f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1'; CREATE SEQUENCE {s}.numbers;
    CREATE OPERATOR {s}.@@@ (FUNCTION = {s}.f, RIGHTARG = int); CREATE COLLATION {s}.c (locale = 'C');
    CREATE AGGREGATE {s}.total(int) (SFUNC = int4pl, STYPE = int); ALTER TYPE {s}.mood ADD VALUE 'happy';
    CREATE TEXT SEARCH CONFIGURATION {s}.search (COPY = simple); CREATE PUBLICATION {s}_publication;
    ALTER TABLE {s}.t ADD COLUMN added int DEFAULT 7, DROP COLUMN gone, ADD CHECK (k > 0), ALTER COLUMN v SET DEFAULT 'x',
        ADD FOREIGN KEY (added) REFERENCES {s}.r NOT VALID;
    ALTER TABLE {s}.t ALTER COLUMN v TYPE varchar(9); ALTER TABLE {s}.t RENAME COLUMN v TO w; ALTER TABLE {s}.t RENAME TO u;
    CREATE INDEX by_w ON {s}.u (w); CREATE STATISTICS {s}.kw ON k, w FROM {s}.u; COMMENT ON TABLE {s}.u IS 'renamed';
    CREATE VIEW {s}.v AS SELECT w, count(*) FROM {s}.u GROUP BY w; ALTER TABLE {s}.u ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON {s}.u USING (w = current_user); GRANT SELECT ON {s}.u TO {s}_role; TRUNCATE {s}.r CASCADE;
    CREATE FUNCTION {s}.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER noted BEFORE INSERT ON {s}.u FOR EACH ROW EXECUTE FUNCTION {s}.note();
    CREATE TABLE {s}.made (k int, at date) PARTITION BY RANGE (at);
    CREATE TABLE {s}.part PARTITION OF {s}.made FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
    SELECT create_distributed_table('{s}.made', 'k'); SELECT undistribute_table('{s}.back'); DROP TABLE {s}.dropped;
    ALTER DEFAULT PRIVILEGES IN SCHEMA {s} GRANT SELECT ON TABLES TO {s}_role; ALTER TABLE {s}.r OWNER TO {s}_role;
    COMMIT
"""


@pytest.fixture(scope="module")
def own():
    with servers.cluster(purpose="check-ddl-crash") as made:
        yield made


def schema_of(node):
    """What pg_dump says of a node, but for its random tokens, and the table that undistribute_table leaves on one node."""
    done = host.run_server_program([node.program("pg_dump"), "--schema-only", "--exclude-table=*.back", "-d", node.dsn],
                                   capture_output=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\"))]


@pytest.mark.parametrize("point,expected", [("commit-before-prepare", [False]), ("commit-between-prepares", [False, True]),
                                            ("commit-after-prepare", [True]), ("commit-after-decision", [True])])
def test_a_worker_dies_at_commit(own, point, expected):
    """Between the prepares, the worker may be the one that has prepared."""
    name = point.replace("-", "_")
    worker = own.workers[0]
    with servers.connect(own.coordinator) as connection:
        connection.execute(BEFORE.format(s=name))
    before = schema_of(own.coordinator)
    stopped = Stopped(own.coordinator, point, ALL_KINDS.format(s=name))
    worker.kill()
    error = stopped.go_on()
    worker.start()
    with servers.connect(own.coordinator) as connection:
        wait_until(lambda: connection.execute("SELECT recover_prepared_transactions()") and
                   not value(connection, "SELECT count(*) FROM pg_prepared_xacts"), "recovery")
        after = schema_of(own.coordinator)
        committed = after != before
        assert committed in expected
        assert error is not None or committed, "the client was told of a commit"
        for node in own.workers:
            assert schema_of(node) == after
        table, column = ("u", "added") if committed else ("t", "gone")
        assert value(connection, f"SELECT count(*) FROM {name}.{table}") == (0 if committed else 50)
        connection.execute(f"DROP SCHEMA {name} CASCADE")
        if committed:
            connection.execute(f"DROP OWNED BY {name}_role; DROP ROLE {name}_role; DROP PUBLICATION {name}_publication")


def beginnings(random):
    """For each kind of object the first of its statements, up to one chosen at random; the kinds have names of their own."""
    statements = []
    for number, (kind, text) in enumerate(MATRIX.items()):
        if kind == "owned":     # would take what the other kinds have made
            continue
        own = re.sub(r"obj_(?!other)", f"obj{number}_", text).replace("thing", f"thing{number}").replace("renamed", f"renamed{number}")
        theirs = split(own.replace(" CONCURRENTLY", ""))
        statements += theirs[:random.randint(1, len(theirs))]
    return statements


@pytest.mark.parametrize("point", [pytest.param(point, marks=pytest.mark.one_of("matrix"))
                                   for point in ("commit-between-prepares", "commit-after-prepare", "commit-after-decision")])
def test_objects_of_all_kinds(point):
    """Each kind's statements up to one of them, in one transaction whose commit a worker doesn't live to see."""
    print("seed", SEED)
    with servers.cluster(purpose="check-ddl-crash-own") as own:
        with servers.connect(own.coordinator) as connection:
            for statement in split(SETUP):
                connection.execute(statement)
        before = common_schema(own.nodes)
        text = ";".join(["BEGIN", *beginnings(Random(f"{SEED} {point}")), "COMMIT"])
        stopped = Stopped(own.coordinator, point, text)
        own.workers[0].kill()
        error = stopped.go_on()
        own.workers[0].start()
        with servers.connect(own.coordinator) as connection:
            wait_until(lambda: connection.execute("SELECT recover_prepared_transactions()") and
                       not value(connection, "SELECT count(*) FROM pg_prepared_xacts"), "recovery")
        committed = common_schema(own.nodes) != before
        assert committed or (error is not None and point == "commit-between-prepares")
