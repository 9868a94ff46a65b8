"""Versions of the extension: updates of its objects, and nodes of two versions in one cluster."""

import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager

import psycopg
import pytest

from harness import bank, servers
from harness.server_trees import ROOT, default_version, later_tree, later_version
from harness.servers import rows, value, wait_until
from pomelo_cluster import ClusterError, host

SCRIPT = """
    CREATE FUNCTION pg_catalog.citus_added() RETURNS int LANGUAGE sql AS 'SELECT 7';
    COMMENT ON FUNCTION pg_catalog.citus_added() IS 'a test''s';
"""

VERSION = "SELECT extversion FROM pg_extension WHERE extname = 'citus'"

# All objects of the extension, and what there is of each.
OBJECTS = """
    WITH member AS (
        SELECT classid, objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
        WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'citus')
    SELECT pg_describe_object(classid, objid, 0), coalesce(obj_description(objid, classid::regclass::name), ''),
        CASE classid
            WHEN 'pg_proc'::regclass THEN (SELECT concat_ws(E'\\n', CASE prokind WHEN 'a' THEN
                    (SELECT (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggkind, a.agginitval)::text FROM pg_aggregate a WHERE aggfnoid = p.oid)
                ELSE pg_get_functiondef(p.oid) END, proacl) FROM pg_proc p WHERE p.oid = objid)
            WHEN 'pg_class'::regclass THEN (SELECT concat_ws(E'\\n', relkind, relacl, reloptions, pg_get_viewdef(c.oid),
                (SELECT string_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull, attacl), ', ' ORDER BY attnum)
                    FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
                (SELECT string_agg(pg_get_indexdef(indexrelid), ', ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = c.oid),
                (SELECT string_agg(pg_get_constraintdef(k.oid), ', ' ORDER BY conname) FROM pg_constraint k WHERE conrelid = c.oid),
                (SELECT string_agg(pg_get_triggerdef(t.oid), ', ' ORDER BY tgname) FROM pg_trigger t WHERE tgrelid = c.oid AND NOT tgisinternal))
                FROM pg_class c WHERE c.oid = objid)
            ELSE '' END
    FROM member ORDER BY 1
"""


@pytest.fixture
def trees(tmp_path_factory):
    """Makes server trees with a later version."""
    made = []

    def make(**options):
        made.append(tempfile.mkdtemp(prefix="pomelo-tree.", dir="/var/tmp"))
        return later_tree(made[-1], SCRIPT, **options)

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


def move_to(node, bindir):
    """Restarts a node with the programs and the library of another tree."""
    node.stop()
    node.bindir = bindir
    node.start()


def earlier_versions():
    """The versions from which a script in sql/ leads on."""
    names = [re.fullmatch(r"citus--(.*)--(.*)\.sql", name) for name in os.listdir(os.path.join(ROOT, "sql"))]
    return sorted({name.group(1) for name in names if name})


def transfer(connection, chance):
    """Moves money between two accounts."""
    source, target = chance.sample(range(1, bank.ACCOUNTS + 1), 2)
    connection.execute("UPDATE account SET balance = balance - 1, last = last + 1 WHERE id = %s", [source])
    connection.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", [target])


@contextmanager
def load(made, transaction=transfer):
    """Transactions from all nodes; yields what clients saw of errors, by SQLSTATE, and a function that waits for more commits."""
    errors, commits, stop = {}, [0] * len(made.nodes), threading.Event()

    def client(place, node):
        connection, chance = None, random.Random(place)
        while not stop.is_set():
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(node.dsn, autocommit=True, connect_timeout=30)
                with connection.transaction():
                    transaction(connection, chance)
                commits[place] += 1
            except psycopg.Error as error:
                errors.setdefault(error.sqlstate or "connection", str(error))
                if connection is not None and connection.info.transaction_status == psycopg.pq.TransactionStatus.UNKNOWN:
                    connection.close()

    def wait_for_commits():
        before = list(commits)
        wait_until(lambda: all(now > then + 3 for now, then in zip(commits, before)), "commits from all nodes")

    threads = [threading.Thread(target=client, args=(place, node)) for place, node in enumerate(made.nodes)]
    for thread in threads:
        thread.start()
    try:
        yield errors, wait_for_commits
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# A client repeats a transaction that fails with one of these: its server, or another node, went or was not there.
RETRYABLE = re.compile("connection|08...|57P0.|40...|53300")


def test_node_by_node(make_cluster, trees):
    """Under load the nodes get a later library one by one, and then all of them the extension's later version."""
    made = make_cluster()
    old, new = default_version(), later_version()
    bank.create(made)
    bindir = trees()
    with load(made) as (errors, wait_for_commits):
        wait_for_commits()
        for node in reversed(made.nodes):
            move_to(node, bindir)
            assert node.sql("SHOW citus.library_version") == new and node.sql(VERSION) == old
            wait_for_commits()
            if node is made.workers[0]:
                with pytest.raises(ClusterError, match="library that this server has loaded is older|no update path"):
                    node.sql("ALTER EXTENSION citus UPDATE")
        assert [other.sql(VERSION) for other in made.nodes] == [old] * 3
        made.workers[0].sql("ALTER EXTENSION citus UPDATE")
        assert [other.sql(VERSION) for other in made.nodes] == [new] * 3
        assert [other.sql("SELECT citus_added()") for other in made.nodes] == ["7"] * 3
        wait_for_commits()
    assert not [state for state in errors if not RETRYABLE.fullmatch(state)], errors
    bank.check(made)

    with servers.connect(made.coordinator) as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="no update path"):
            connection.execute(f"ALTER EXTENSION citus UPDATE TO '{old}'")


# pgbench's tables at scale 10, of fewer accounts.
TPCB = """
    CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL DEFAULT 0, filler text DEFAULT repeat('x', 84));
    CREATE TABLE tellers (id int PRIMARY KEY, balance int NOT NULL DEFAULT 0);
    CREATE TABLE branches (id int PRIMARY KEY, balance int NOT NULL DEFAULT 0);
    CREATE TABLE history (account int, teller int, branch int, delta int, at timestamptz DEFAULT now());
    SELECT create_distributed_table('accounts', 'id', shard_count => 8), create_distributed_table('tellers', 'id', colocate_with => 'accounts'),
        create_distributed_table('branches', 'id', colocate_with => 'accounts'), create_distributed_table('history', 'account', colocate_with => 'accounts');
    INSERT INTO accounts (id) SELECT generate_series(1, 10000);
    INSERT INTO tellers (id) SELECT generate_series(1, 100);
    INSERT INTO branches (id) SELECT generate_series(1, 10);
"""

# Each transaction adds the same amount to all of these.
SUMS = """
    SELECT (SELECT sum(balance) FROM accounts), (SELECT sum(balance) FROM tellers), (SELECT sum(balance) FROM branches),
        (SELECT sum(delta) FROM history), (SELECT count(*) FROM history)
"""


def tpcb(connection, chance):
    """pgbench's transaction: each table by a key of its own, so mostly on several nodes."""
    account, teller, branch, delta = (chance.randint(*limits) for limits in ((1, 10000), (1, 100), (1, 10), (-5000, 5000)))
    connection.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", [delta, account])
    connection.execute("SELECT balance FROM accounts WHERE id = %s", [account])
    connection.execute("UPDATE tellers SET balance = balance + %s WHERE id = %s", [delta, teller])
    connection.execute("UPDATE branches SET balance = balance + %s WHERE id = %s", [delta, branch])
    connection.execute("INSERT INTO history VALUES (%s, %s, %s, %s)", [account, teller, branch, delta])


def check_sums(made):
    """All nodes tell the same sums of all tables; returns how many transactions there were."""
    for node in made.nodes:
        with servers.connect(node) as connection:
            connection.execute("SELECT recover_prepared_transactions()")
    answers = []
    for node in made.nodes:
        with servers.connect(node) as connection:
            answers += rows(connection, SUMS)
    assert len(set(answers)) == 1 and len(set(answers[0][:4])) == 1, answers
    return answers[0][4]


@pytest.mark.skipif("POMELO_PREVIOUS_SERVER" not in os.environ,
                    reason="POMELO_PREVIOUS_SERVER, the programs of a server with the previous release, is not set")
def test_previous_release(make_cluster, trees, monkeypatch):
    """Under TPC-B the nodes of a cluster of the previous release get this checkout's library, one of them goes back once, and then all are updated."""
    with monkeypatch.context() as patch:
        patch.setenv("PG_CONFIG", os.path.join(os.environ["POMELO_PREVIOUS_SERVER"], "pg_config"))
        made = make_cluster()
    previous, old = made.coordinator.bindir, made.coordinator.sql(VERSION)
    if old == default_version():    # as before the first change of SQL objects
        bindir, new = trees(), later_version()
    else:
        bindir, new = host.bin_dir(host.pg_config()), default_version()
    with servers.connect(made.coordinator) as connection:
        connection.execute(TPCB)
    with load(made, tpcb) as (errors, wait_for_commits):
        wait_for_commits()
        for node in reversed(made.nodes):
            move_to(node, bindir)
            wait_for_commits()
            if node is made.workers[-1]:
                move_to(node, previous)
                assert node.sql("SHOW citus.library_version") == old
                wait_for_commits()
                move_to(node, bindir)
                wait_for_commits()
        assert [node.sql("SHOW citus.library_version") for node in made.nodes] == [new] * 3
        made.workers[0].sql("ALTER EXTENSION citus UPDATE")
        assert [node.sql(VERSION) for node in made.nodes] == [new] * 3
        wait_for_commits()
    assert not [state for state in errors if not RETRYABLE.fullmatch(state)], errors
    transactions = check_sums(made)
    print(f"{old} to {new}: {transactions} transactions; errors that clients repeated a transaction upon: {sorted(errors)}")
    assert transactions >= 12


def test_older_library(make_cluster, trees):
    """A server whose library is older than the extension says so, itself and to other nodes; the later library mends it."""
    made = make_cluster()
    first = made.coordinator.bindir
    bindir = trees()
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE t (id int); SELECT create_distributed_table('t', 'id'); INSERT INTO t SELECT generate_series(1, 100)")
    for node in made.nodes:
        move_to(node, bindir)
    made.coordinator.sql("ALTER EXTENSION citus UPDATE")
    worker = made.workers[0]
    move_to(worker, first)
    with servers.connect(worker) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as caught:
            connection.execute("SELECT count(*) FROM t")
        assert later_version() in caught.value.diag.message_primary and default_version() in caught.value.diag.message_detail
        assert "restart the server" in caught.value.diag.message_hint
        assert value(connection, VERSION) == later_version()
    with servers.connect(made.coordinator) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as caught:
            connection.execute("SELECT count(*) FROM t")
        assert "library of this node is older" in caught.value.diag.message_primary
    move_to(worker, bindir)
    assert [node.sql("SELECT count(*) FROM t") for node in made.nodes] == ["100"] * 3


def test_files_before_restart(make_cluster, trees):
    """Files of a later version are installed, but the server has the library of before: no update, and no new extension."""
    made = make_cluster(workers=0)
    bindir = trees(library=False)
    move_to(made.coordinator, bindir)
    with servers.connect(made.coordinator) as connection:
        for statement in ("ALTER EXTENSION citus UPDATE", f"ALTER EXTENSION citus UPDATE TO '{later_version()}'"):
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as caught:
                connection.execute(statement)
            assert "restart the servers" in caught.value.diag.message_hint
        assert value(connection, VERSION) == default_version()


def test_scripts(make_cluster):
    """The extension of each earlier version, updated with a table's rows there, has the objects of a new one."""
    made = make_cluster(workers=0)
    node = made.coordinator
    with servers.connect(node) as connection:
        fresh = rows(connection, OBJECTS)
    assert len(fresh) > 300
    for number, version in enumerate([default_version()] + earlier_versions()):
        node.sql(f"CREATE DATABASE v{number}")
        with servers.connect(node, dbname=f"v{number}") as connection:
            connection.execute(f"CREATE EXTENSION citus VERSION '{version}'")
            connection.execute("CREATE TABLE t (id int PRIMARY KEY); SELECT create_distributed_table('t', 'id')")
            connection.execute("INSERT INTO t SELECT generate_series(1, 100)")
            connection.execute("ALTER EXTENSION citus UPDATE")
            assert value(connection, VERSION) == default_version()
            assert rows(connection, OBJECTS) == fresh
            assert value(connection, "SELECT count(*) FROM t") == 100


def test_extension_with_temporary_tables(make_cluster, trees):
    """An extension whose script makes temporary tables can't be created in a two-phase commit; the error says how it can, and it is usable then."""
    made = make_cluster(workers=1)
    bindir = trees(library=False)
    share = subprocess.run([os.path.join(bindir, "pg_config"), "--sharedir"], check=True, capture_output=True, text=True).stdout.strip()
    for name, text in (("with_temp.control", "default_version = '1'"),
                       ("with_temp--1.sql", "CREATE TEMP TABLE scratch (id int); CREATE FUNCTION two() RETURNS int LANGUAGE sql AS 'SELECT 2'; "
                                            "DROP TABLE scratch;")):
        with open(os.path.join(share, "extension", name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o644)
    for node in made.nodes:
        move_to(node, bindir)
    with servers.connect(made.coordinator) as connection:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="has used temporary objects on one of them") as refused:
            connection.execute("CREATE EXTENSION with_temp")
        command = re.search(r"run (SELECT .*\))\.$", refused.value.diag.message_hint).group(1)
        assert rows(connection, command.replace("...", "with_temp").replace("*", "DISTINCT success")) == [(True,)]
        connection.execute("CREATE TABLE t (id int DEFAULT two())")
        connection.execute("SELECT create_distributed_table('t', 'id')")
        connection.execute("INSERT INTO t DEFAULT VALUES")
        assert value(connection, "SELECT id FROM t") == 2
