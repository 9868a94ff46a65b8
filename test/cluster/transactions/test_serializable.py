"""A SERIALIZABLE transaction that uses a second node says so: citus.serializable_over_nodes."""

import psycopg
import pytest

from harness.servers import value

SETUP = """
    CREATE TABLE account (id int PRIMARY KEY, amount int NOT NULL DEFAULT 0);
    SELECT create_distributed_table('account', 'id');
    INSERT INTO account SELECT g FROM generate_series(1, 100) g;
    CREATE TABLE rate (id int PRIMARY KEY);
    SELECT create_reference_table('rate');
    INSERT INTO rate SELECT g FROM generate_series(1, 100) g;
    CREATE TABLE here (id int);
"""


class Session:
    """A client's session, its warnings, and the ids of accounts on each worker."""

    def __init__(self, connection, cluster):
        self.connection = connection
        self.warnings = []
        connection.add_notice_handler(lambda notice: self.warnings.append(notice.message_primary))
        self.first, self.second = ([id_ for id_, in connection.execute("""
            SELECT id FROM account, pg_dist_node WHERE nodeport = %s AND groupid = (SELECT groupid FROM pg_dist_placement
                WHERE shardid = get_shard_id_for_distribution_column('account', id)) ORDER BY id LIMIT 3""",
                                                                   [worker.port])] for worker in cluster.workers)

    def run(self, *texts, level="SERIALIZABLE"):
        """How many warnings a transaction of these statements causes."""
        self.warnings.clear()
        self.connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        for text in texts:
            self.connection.execute(text.format(a=self.first[0], b=self.second[0]))
        self.connection.execute("COMMIT")
        assert set(self.warnings) <= {"a SERIALIZABLE transaction uses more than one node"}
        return len(self.warnings)

    def copy(self, table, ids):
        with self.connection.cursor().copy(f"COPY {table} (id) FROM STDIN") as copy:
            for id_ in ids:
                copy.write_row([id_])


@pytest.fixture(params=["coordinator", "worker"])
def session(request, schema, coordinator, cluster, connect):
    coordinator.execute(f"SET search_path = {schema}")
    coordinator.execute(SETUP)
    connection = connect(cluster.coordinator if request.param == "coordinator" else cluster.workers[0])
    connection.execute(f"SET search_path = {schema}")
    return Session(connection, cluster)


A, B = "SELECT amount FROM account WHERE id = {a}", "SELECT amount FROM account WHERE id = {b}"
BOTH = "SELECT sum(amount) FROM account"
WRITE_A = "UPDATE account SET amount = amount + 1 WHERE id = {a}"
JOIN_A = "SELECT account.id FROM account JOIN rate USING (id) WHERE id = {a}"


@pytest.mark.parametrize("texts,warnings", [
    ([A, A, WRITE_A, JOIN_A], 0),
    ([A, B], 1),
    ([WRITE_A, B, BOTH, WRITE_A], 1),
    ([BOTH, BOTH], 1),
    (["EXPLAIN " + BOTH, "CREATE TEMP TABLE mine ON COMMIT DROP AS SELECT 1", A, "SELECT * FROM citus_shards"], 0),
    (["EXPLAIN (ANALYZE) " + BOTH], 1),
    (["ALTER TABLE account ADD COLUMN more int DEFAULT 1", A, "ALTER TABLE account DROP COLUMN more"], 0),
    (["UPDATE rate SET id = id"], 1),
    (["INSERT INTO account SELECT max(id) + g FROM account, generate_series(1, 50) g GROUP BY g"], 1),
    (["DECLARE c CURSOR FOR " + BOTH, "FETCH c"], 1),
    (["PREPARE p AS " + BOTH, "EXECUTE p", "EXECUTE p", "DEALLOCATE p"], 1),
    (["SAVEPOINT s", A, "ROLLBACK TO s", B], 1),
    (["SET TRANSACTION READ ONLY, DEFERRABLE", BOTH], 1),
])
def test_once_per_transaction(session, texts, warnings):
    assert session.run(*texts) == warnings
    assert session.run(*texts) == warnings
    assert session.run(*texts, level="REPEATABLE READ") == 0
    session.connection.execute("SET citus.serializable_over_nodes = off")
    assert session.run(*texts) == 0


def test_local_tables(session, cluster):
    """A local table's rows, and those of the near copy of a reference table, are on a node as others are."""
    if value(session.connection, "SELECT to_regclass('here')") is None:
        session.connection.execute("CREATE TABLE here (id int)")
    near = value(session.connection, "SELECT groupid > 0 FROM pg_dist_local_group")
    assert session.run("INSERT INTO here VALUES (1)", "SELECT count(*) FROM here") == 0
    assert session.run("INSERT INTO here VALUES (1)", B) == 1
    assert session.run(B, "SELECT id FROM here") == 1
    assert session.run("SELECT id FROM here", A) == (0 if near else 1)
    assert session.run("SELECT id FROM rate LIMIT 1", B) == 1
    assert session.run("COPY here TO '/dev/null'", B) == 1
    if near:
        session.connection.execute("DROP TABLE here")


def test_copy(session):
    session.connection.execute("SET default_transaction_isolation = serializable")
    session.connection.execute(f"DELETE FROM account WHERE id IN ({session.first[0]})")
    session.warnings.clear()
    session.copy("account", session.first[:1])
    assert session.warnings == []
    session.copy("account", range(1000, 1100))
    assert len(session.warnings) == 1
    session.copy("rate", range(1000, 1100))
    assert len(session.warnings) == 2
    session.connection.execute("SET citus.serializable_over_nodes = error")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        session.copy("account", range(2000, 2100))
    assert value(session.connection, f"SELECT count(*) FROM account WHERE id = {session.first[0]}") == 1
    session.connection.execute("RESET default_transaction_isolation")
    assert value(session.connection, "SELECT count(*) FROM account WHERE id >= 2000") == 0


def test_error(session):
    """The statement that would use a second node is refused before it uses any; a savepoint survives it."""
    connection, (first, _, third) = session.connection, session.first
    connection.execute("SET citus.serializable_over_nodes = error")
    connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
    for _ in range(2):
        connection.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="more than one node") as refused:
            connection.execute("UPDATE account SET amount = 1")
        assert "citus.serializable_over_nodes" in refused.value.diag.message_hint
        connection.execute("ROLLBACK TO s")
    connection.execute("UPDATE account SET amount = 2 WHERE id = %s", [session.second[0]])
    connection.execute("SAVEPOINT s")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("SELECT amount FROM account WHERE id = %s", [first])
    connection.execute("ROLLBACK TO s")
    connection.execute("UPDATE account SET amount = amount + 2 WHERE id = %s", [session.second[1]])
    connection.execute("COMMIT")
    assert session.run(WRITE_A, f"UPDATE account SET amount = 3 WHERE id = {third}") == 0
    connection.execute("RESET citus.serializable_over_nodes")
    assert value(connection, "SELECT array_agg(amount ORDER BY amount) FROM account WHERE amount > 0") == [1, 2, 2, 3]


def test_function_in_a_task(session):
    """The client's setting also holds for a function that a task runs and that uses a third node."""
    session.connection.execute("""
        CREATE FUNCTION amount_of(wanted int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
            'BEGIN RETURN (SELECT amount FROM account WHERE id = wanted); END';
        SELECT create_distributed_function('amount_of(int)')""")
    asked = f"SELECT id FROM account WHERE id = {{a}} AND amount_of(id + {session.second[0] - session.first[0]}) = 0"
    assert session.run(asked) == 1
    session.connection.execute("SET citus.serializable_over_nodes = error")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        session.run(asked)
    session.connection.rollback()
    session.connection.execute("SET citus.serializable_over_nodes = off")
    assert session.run(asked) == 0
