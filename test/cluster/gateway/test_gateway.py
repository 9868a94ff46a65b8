"""The gateway: clients of its port get what they get of the server's."""

import os
import signal
import socket
import struct
import threading
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import pq

from harness import servers
from harness.gateways import SESSION, Gateway
from harness.protocol_fuzz import fuzz, message
from harness.raw_client import RawClient
from harness.servers import rows, value, wait_until

POOL = 4


@pytest.fixture(scope="module")
def cluster_of_gateway():
    with servers.cluster(purpose="check-gateway") as made:
        yield made


@pytest.fixture(scope="module")
def gateway(cluster_of_gateway):
    made = cluster_of_gateway
    for node in made.nodes:
        node.sql("SET citus.enable_ddl_propagation = off; CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN;")
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, owner text, payload int)")
        connection.execute("SELECT create_distributed_table('t', 'id', shard_count => 8)")
        connection.execute("INSERT INTO t SELECT g, (array['alice', 'bob'])[1 + g % 2], 0 FROM generate_series(1, 100) g")
        connection.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY own ON t USING (owner = current_user)")
        connection.execute("GRANT SELECT, UPDATE ON t TO alice, bob")
    elsewhere = Gateway(made.workers[0], {"gateway_pool_size": POOL})
    made_gateway = Gateway(made.coordinator, {"gateway_pool_size": POOL})
    made_gateway.elsewhere = elsewhere
    return made_gateway


@pytest.fixture
def client(gateway):
    with gateway.connect() as connection:
        yield connection


def backend(connection):
    return value(connection, SESSION)


def test_simple_and_extended(client):
    assert value(client, "SELECT 1") == 1
    assert rows(client, "SELECT id FROM t WHERE id = %s", [7]) == [(7,)]
    assert client.pgconn.exec_(b"SELECT 1; SELECT 2").get_value(0, 0) == b"2"
    with pytest.raises(psycopg.errors.DivisionByZero):
        client.execute("SELECT 1 / 0")
    assert value(client, "SELECT count(*) FROM t") == 100


def test_more_clients_than_sessions(gateway):
    """Clients that are idle hold no session; all of them are served."""
    clients = [gateway.connect() for _ in range(5 * POOL)]
    used = {backend(connection) for _ in range(3) for connection in clients}
    assert 1 <= len(used) <= POOL
    for connection in clients:
        connection.close()


def test_transactions_keep_their_session(gateway):
    with gateway.connect(autocommit=False) as one, gateway.connect(autocommit=False) as two:
        assert backend(one) != backend(two)
        one.execute("UPDATE t SET payload = 1 WHERE id = 1")
        assert value(two, "SELECT payload FROM t WHERE id = 1") == 0
        one.rollback()
        two.rollback()


def test_clients_wait_for_a_session(gateway):
    """A client that finds all sessions in transactions is served when one ends."""
    holders = [gateway.connect(autocommit=False) for _ in range(POOL)]
    for holder in holders:
        holder.execute("SELECT 1")
    answers = []

    def ask():
        with gateway.connect() as connection:
            answers.append(value(connection, "SELECT 5"))

    waiter = threading.Thread(target=ask)
    waiter.start()
    with servers.connect(gateway.node) as observer:
        wait_until(lambda: value(observer, "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'")
                   == POOL, "all sessions to be in transactions")
    assert not answers
    holders[0].commit()
    waiter.join(servers.PATIENCE)
    assert answers == [5]
    for holder in holders:
        holder.close()


def test_settings_go_with_their_client(gateway):
    clients = [gateway.connect(application_name=f"app{i}") for i in range(3 * POOL)]
    for i, connection in enumerate(clients):
        connection.execute(f"SET work_mem = '{2001 + i}kB'")
        connection.execute("SELECT set_config('search_path', %s, false)", [f"s{i}, public"])
        connection.execute(f"SET my.own = 'it''s {i}'")
    for i, connection in enumerate(clients):
        assert rows(connection, "SELECT current_setting('work_mem'), current_setting('search_path'), "
                                "current_setting('my.own'), current_setting('application_name')") == \
            [(f"{2001 + i}kB", f"s{i}, public", f"it's {i}", f"app{i}")]
    clients[0].execute("DISCARD ALL")
    assert value(clients[0], "SHOW work_mem") == "4MB"
    with clients[1].transaction():
        clients[1].execute("SET LOCAL work_mem = '9MB'")
    assert value(clients[1], "SHOW work_mem") == "2002kB"
    with pytest.raises(ZeroDivisionError), clients[2].transaction():
        clients[2].execute("SET work_mem = '9MB'")
        raise ZeroDivisionError
    assert value(clients[2], "SHOW work_mem") == "2003kB"
    for connection in clients:
        connection.close()


def test_reported_settings(gateway):
    with gateway.connect(options="-c DateStyle=German") as german, gateway.connect() as other:
        assert german.info.parameter_status("DateStyle").startswith("German")
        assert value(german, "SELECT '2020-02-01'::date::text") == "01.02.2020"
        other.execute("SET client_encoding = 'latin1'")
        assert other.info.parameter_status("client_encoding") == "LATIN1"
        assert value(other, "SELECT '2020-02-01'::date::text") == "2020-02-01"


def test_settings_of_roles_and_databases(gateway):
    """Clients that come after they were changed have the new ones, those of before the old ones, as in sessions of their own."""
    with servers.connect(gateway.node) as server, gateway.connect("alice") as before:
        assert value(before, "SHOW work_mem") == "4MB"
        for change, expected in (("ROLE alice SET work_mem = '7MB'", "7MB"), ("ROLE alice RESET work_mem", "4MB"),
                                 ("DATABASE postgres SET work_mem = '9MB'", "9MB"), ("DATABASE postgres RESET work_mem", "4MB")):
            server.execute(f"ALTER {change}")
            with gateway.connect("alice") as after:
                assert value(after, "SHOW work_mem") == expected
            assert value(before, "SHOW work_mem") == "4MB"


def test_rights_are_the_clients_own(gateway):
    with gateway.connect("alice") as alice, gateway.connect("bob") as bob:
        for _ in range(3):
            assert rows(alice, "SELECT session_user, current_user, (SELECT count(*) FROM t)") == [("alice", "alice", 50)]
            assert rows(bob, "SELECT session_user, current_user, (SELECT count(*) FROM t)") == [("bob", "bob", 50)]
        for command in ("SET SESSION AUTHORIZATION postgres", "SET ROLE postgres", "RESET SESSION AUTHORIZATION; SET ROLE bob",
                        "SELECT * FROM pg_authid", "SET citus.gateway_state = 1"):
            with pytest.raises(psycopg.Error):
                alice.execute(command)
        assert value(alice, "SELECT current_user") == "alice"


def test_roles_are_set_again(gateway):
    """SET ROLE holds for its client only, on whatever session it gets."""
    setters = [gateway.connect() for _ in range(2 * POOL)]
    for i, connection in enumerate(setters):
        connection.execute("SET ROLE alice" if i % 2 else "SET SESSION AUTHORIZATION bob")
    with gateway.connect() as plain:
        for i, connection in enumerate(setters):
            assert value(connection, "SELECT current_user") == ("alice" if i % 2 else "bob")
            assert value(plain, "SELECT current_user") == "postgres"
    for connection in setters:
        connection.close()


def test_a_role_that_is_gone_ends_its_client(gateway):
    """Its statements don't run with the rights of the user that has logged in."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE ROLE passing")
        connection = gateway.connect()
        connection.execute("SET ROLE passing")
        others = [gateway.connect(autocommit=False) for _ in range(POOL)]
        for other in others:
            other.execute("SELECT 1")       # takes the session that has the role, too
        server.execute("DROP ROLE passing")
        for other in others:
            other.close()
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="passing"):
            connection.execute("SELECT 1")
        assert connection.closed


def test_a_name_that_another_role_has_now(gateway):
    """Sessions of a role that was renamed are not for the one that has its name now."""
    with servers.connect(gateway.node) as server:
        server.execute("SET citus.enable_ddl_propagation = off")
        server.execute("CREATE ROLE first LOGIN; CREATE ROLE second LOGIN")
        before = gateway.connect("first")
        assert value(before, "SELECT current_user") == "first"
        server.execute("ALTER ROLE first RENAME TO other; ALTER ROLE second RENAME TO first")
        with gateway.connect("first") as after:
            assert value(after, "SELECT current_user") == "first"
            assert value(after, "SELECT current_user::regrole::oid") == value(server, "SELECT 'first'::regrole::oid")
            assert value(before, "SELECT current_user") == "other"
        before.close()
        server.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename IN ('first', 'other')")
        server.execute("DROP ROLE first, other")


def test_prepared_statements(gateway):
    """Each client's names are its own, and are found on every session."""
    clients = [gateway.connect(prepare_threshold=0) for _ in range(3 * POOL)]
    for round_ in range(3):
        for i, connection in enumerate(clients):
            assert value(connection, f"SELECT id + {i % 5} FROM t WHERE id = %s", [round_ + 1]) == round_ + 1 + i % 5
    pgconn = clients[0].pgconn
    assert pgconn.prepare(b"mine", b"SELECT 1").status == pq.ExecStatus.COMMAND_OK
    again = pgconn.prepare(b"mine", b"SELECT 2")
    assert again.error_field(pq.DiagnosticField.SQLSTATE) == b"42P05"
    assert b'"mine"' in again.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)
    assert pgconn.exec_prepared(b"mine", []).get_value(0, 0) == b"1"
    missing = clients[1].pgconn.exec_prepared(b"mine", [])
    assert missing.error_field(pq.DiagnosticField.SQLSTATE) == b"26000"
    wrong = pgconn.prepare(b"wrong", b"SELECT no_such_column")
    assert wrong.error_field(pq.DiagnosticField.SQLSTATE) == b"42703"
    assert pgconn.exec_prepared(b"wrong", []).error_field(pq.DiagnosticField.SQLSTATE) == b"26000"
    assert pgconn.describe_prepared(b"mine").nfields == 1
    clients[0].execute("DEALLOCATE ALL")
    assert pgconn.exec_prepared(b"mine", []).error_field(pq.DiagnosticField.SQLSTATE) == b"26000"
    assert value(clients[1], "SELECT id FROM t WHERE id = %s", [5]) == 5
    for connection in clients:
        connection.close()


def test_pipelines(client):
    with client.pipeline() as pipeline:
        cursors = [client.execute("SELECT %s::int", [i], prepare=True) for i in range(50)]
        pipeline.sync()
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(50))
    with pytest.raises(psycopg.errors.DivisionByZero), client.pipeline():
        client.execute("SELECT 1", prepare=True)
        client.execute("SELECT 1 / 0")
        client.execute("SELECT %s::text", ["skipped"], prepare=True)
    assert value(client, "SELECT %s::text", ["again"]) == "again"


def test_copy(client):
    client.execute("CREATE TABLE copied (id int, payload text)")
    client.execute("SELECT create_distributed_table('copied', 'id')")
    with client.cursor() as cursor:
        with cursor.copy("COPY copied FROM STDIN") as copy:
            for i in range(20000):
                copy.write_row((i, "x" * 50))
        assert cursor.rowcount == 20000
        with cursor.copy("COPY copied TO STDOUT") as copy:
            assert sum(1 for _ in copy.rows()) == 20000
        with pytest.raises(psycopg.errors.InvalidTextRepresentation), cursor.copy("COPY copied FROM STDIN") as copy:
            copy.write("wrong\n")
    assert value(client, "SELECT count(*) FROM copied") == 20000
    client.execute("DROP TABLE copied")


def test_large_values(client):
    text = "äß" * 3_000_000
    assert value(client, "SELECT %s::text", [text]) == text


def test_what_pins_a_client(gateway):
    """What can't be carried keeps its session; when it is gone, the session is given back."""
    cases = [
        ("CREATE TEMP TABLE pin (a int)", "SELECT count(*) FROM pin", "DROP TABLE pin"),
        ("LISTEN pin", "SELECT count(*) FROM pg_listening_channels()", "UNLISTEN *"),
        ("SELECT pg_advisory_lock(16)", "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'",
         "SELECT pg_advisory_unlock(16)"),
        ("BEGIN; DECLARE pin CURSOR WITH HOLD FOR SELECT 1; COMMIT", "SELECT count(*) FROM pg_cursors WHERE name = 'pin'",
         "CLOSE pin"),
        ("PREPARE pin AS SELECT 1", "SELECT count(*) FROM pg_prepared_statements WHERE from_sql", "DEALLOCATE pin"),
        ("SELECT log_all()", "SHOW log_statement", "RESET ALL"),
    ]
    gateway.node.sql("CREATE OR REPLACE FUNCTION log_all() RETURNS text LANGUAGE sql SECURITY DEFINER AS "
                     "$$ SELECT set_config('log_statement', 'all', false) $$")
    for make, look, drop in cases:
        user = "alice" if "log_all" in make else "postgres"
        with gateway.connect(user) as pinned:
            pinned.execute(make)
            mine = backend(pinned)
            seen = value(pinned, look)
            for _ in range(3):
                with gateway.connect(user) as other:
                    assert backend(other) != mine, make
                assert value(pinned, look) == seen, make
                assert backend(pinned) == mine, make
            pinned.execute(drop)
            with gateway.connect(user, autocommit=False) as other:
                other.execute("SELECT 1")
                pinned.execute("SELECT 1")
                other.rollback()
                assert {backend(other) for _ in range(2 * POOL)}, make
            assert value(pinned, "SELECT 1") == 1


def test_notifications(gateway):
    with gateway.connect() as listener, gateway.connect() as speaker:
        listener.execute("LISTEN news")
        speaker.execute("NOTIFY news, 'hello'")
        assert next(listener.notifies(timeout=servers.PATIENCE, stop_after=1)).payload == "hello"


def test_cancel(gateway):
    """A cancel request hits its own client's statement, and no other one's."""
    wait = "SELECT 'served' FROM pg_advisory_xact_lock(17)"
    with gateway.connect() as one, gateway.connect() as two, servers.connect(gateway.node, autocommit=False) as holder:
        holder.execute(wait)
        outcome = []

        def run(connection):
            try:
                outcome.append(value(connection, wait))
            except psycopg.errors.QueryCanceled:
                outcome.append("canceled")

        threads = [threading.Thread(target=run, args=[connection]) for connection in (one, two)]
        for thread in threads:
            thread.start()
        with servers.connect(gateway.node) as observer:
            wait_until(lambda: value(observer, "SELECT count(*) FROM pg_stat_activity WHERE query = %s "
                                               "AND wait_event = 'advisory'", [wait]) == 2, "both to wait")
        one.cancel()
        wait_until(lambda: outcome, "one to be cancelled")
        holder.rollback()
        for thread in threads:
            thread.join(servers.PATIENCE)
        assert outcome == ["canceled", "served"]
        one.cancel()
        assert value(one, "SELECT 1") == value(two, "SELECT 1") == 1


def test_cancel_before_a_session_is_free(gateway):
    """The request is kept for the statement that waits, and for no other."""
    with servers.connect(gateway.node) as server, ExitStack() as held:
        holders = [held.enter_context(gateway.connect(autocommit=False)).execute("SELECT 1").connection for _ in range(POOL)]
        with gateway.connect() as client:
            client.pgconn.send_query(b"SELECT pg_sleep(600)")
            wait_until(lambda: value(server, "SELECT sum(waiting) FROM citus_stat_gateway") == 1, "it to wait")
            client.cancel()
            holders[0].rollback()
            assert sqlstate(client.pgconn.get_result()) == b"57014"
            assert client.pgconn.get_result() is None
            assert value(client, "SELECT 1") == 1


@pytest.mark.parametrize("busy, minor", [(False, 0), (True, 0), (False, 2)])
def test_cancel_through_another_node(gateway, busy, minor):
    """The request comes to a gateway that doesn't have the client, with an idle session or none; with a long key, too (18)."""
    sleeper = RawClient(gateway, version=196608 + minor)
    with servers.connect(gateway.node) as server:
        assert len(sleeper.key) == (36 if minor and server.info.server_version >= 180000 else 8)
    sleeper.socket.sendall(message(b"Q", b"SELECT pg_sleep(600)\0"))
    with servers.connect(gateway.node) as observer, ExitStack() as stack:
        for _ in range(POOL if busy else 1):
            stack.enter_context(gateway.elsewhere.connect("alice", autocommit=not busy)).execute("SELECT 1")
        wait_until(lambda: value(observer, "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' "
                                           "AND state = 'active'") == 1, "it to sleep")
        with gateway.elsewhere.socket() as sock:
            sock.sendall(struct.pack("!ii", 8 + len(sleeper.key), 80877102) + sleeper.key[:-1] + bytes([sleeper.key[-1] ^ 1]))
        with gateway.elsewhere.socket() as sock:
            sock.sendall(struct.pack("!ii", 8 + len(sleeper.key), 80877102) + sleeper.key)
        sleeper.socket.settimeout(servers.PATIENCE)
        assert sleeper.answers_until(b"Z") in (b"TEZ", b"EZ")
        secret = str(struct.unpack("!i", sleeper.key[4:])[0]) if len(sleeper.key) == 8 else sleeper.key[4:].hex()
        for node in (gateway.node, gateway.elsewhere.node):
            assert secret not in node.sql("SELECT query FROM pg_stat_activity")
    assert sleeper.value("SELECT 1") == "1"
    sleeper.close()


def test_clients_that_vanish(gateway):
    """Their transactions are rolled back, their statements cancelled."""
    with servers.connect(gateway.node) as observer:
        idle = gateway.connect(autocommit=False)
        idle.execute("UPDATE t SET payload = 9 WHERE id = 1")
        busy = gateway.connect()
        busy.pgconn.send_query(b"SELECT pg_sleep(1000)")
        wait_until(lambda: value(observer, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)' "
                                           "AND state = 'active'"), "the statement to run")
        for connection in (idle, busy):
            socket.socket(fileno=os.dup(connection.pgconn.socket)).shutdown(socket.SHUT_RDWR)
        wait_until(lambda: value(observer, "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' "
                                           "AND backend_type = 'client backend' AND pid <> pg_backend_pid()") == 0,
                   "nothing of the two clients to be left")
        assert value(observer, "SELECT payload FROM t WHERE id = 1") == 0


def test_a_slow_client_holds_up_nobody(gateway):
    """It gets its rows when it reads them, and the gateway keeps few of them."""
    with gateway.connect() as slow:
        slow.pgconn.send_query(b"SELECT repeat('x', 1000) FROM generate_series(1, 200000)")
        with gateway.connect() as other:
            for _ in range(20):
                assert value(other, "SELECT 1") == 1
        for pid in gateway.processes():
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
            assert resident < 60_000, f"{resident} kB"
        assert slow.pgconn.get_result().ntuples == 200000
        assert slow.pgconn.get_result() is None


def test_killed_backend(gateway):
    """Its client is told; others, and clients without one, go on."""
    with gateway.connect() as idle, gateway.connect(autocommit=False) as victim, servers.connect(gateway.node) as server:
        idle.execute("SELECT 1")
        pid = backend(victim)
        server.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        with pytest.raises(psycopg.errors.AdminShutdown):
            victim.execute("SELECT 1")
        assert value(idle, "SELECT 1") == 1


def test_killed_gateway(gateway):
    """Clients lose their connections; the server and its sessions don't notice, and clients come back."""
    with servers.connect(gateway.node) as server:
        connection = gateway.connect()
        connection.execute("SELECT 1")
        before = gateway.processes()
        assert before
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        wait_until(lambda: gateway.processes() and gateway.answers(), "another gateway process")
        with gateway.connect() as again:
            assert value(again, "SELECT 1") == 1
        assert value(server, "SELECT 1") == 1
        assert not set(before) & set(gateway.processes())


@pytest.fixture
def rules(gateway):
    """Sets rules of pg_hba.conf in front of those that trust."""
    yield gateway.set_rules
    gateway.set_rules("")


def refused(gateway, user, **options):
    with pytest.raises(psycopg.OperationalError) as caught:
        gateway.connect(user, **options).close()
    return str(caught.value)


@pytest.mark.parametrize("stored", ["scram-sha-256", "md5"])
@pytest.mark.parametrize("method", ["scram-sha-256", "md5", "password"])
def test_passwords(gateway, rules, stored, method):
    with servers.connect(gateway.node) as server:
        server.execute("SET password_encryption = %s" % ("'" + stored + "'"))
        server.execute("SET citus.enable_ddl_propagation = off")
        server.execute("DROP ROLE IF EXISTS carol")
        server.execute("CREATE ROLE carol LOGIN PASSWORD 'secret'")
        rules(f"host all carol 127.0.0.1/32 {method}")
        assert "password authentication failed" in refused(gateway, "carol", password="wrong")
        assert "password" in refused(gateway, "carol")
        if (stored, method) == ("md5", "scram-sha-256"):
            assert "password authentication failed" in refused(gateway, "carol", password="secret")
        else:
            with gateway.connect("carol", password="secret") as carol:
                assert value(carol, "SELECT session_user") == "carol"
                assert value(carol, "SELECT session_user") == "carol"
        server.execute("ALTER ROLE carol NOLOGIN")
        if (stored, method) != ("md5", "scram-sha-256"):
            assert "not permitted to log in" in refused(gateway, "carol", password="secret")


def test_rejected_by_rules(gateway, rules):
    """It is the client's address, its user and its database that count."""
    rules("host all alice 127.0.0.1/32 reject\nlocal all bob reject")
    assert "pg_hba.conf rejects connection" in refused(gateway, "alice")
    assert "pg_hba.conf rejects connection" in refused(gateway, "bob")
    assert 'database "nowhere" does not exist' in refused(gateway, "postgres", dbname="nowhere")
    assert 'role "nobody" does not exist' in refused(gateway, "nobody")


def test_passwords_are_not_needed_for_the_gateways_own_connections(gateway, rules):
    """Where the server asks for a password everywhere, the client's proof logs in to the server, too."""
    with servers.connect(gateway.node) as server:
        server.execute("SET citus.enable_ddl_propagation = off")
        server.execute("CREATE ROLE dora LOGIN PASSWORD 'secret'")
        rules("local all dora scram-sha-256\nhost all dora 127.0.0.1/32 scram-sha-256")
        with gateway.connect("dora", password="secret") as dora:
            assert value(dora, "SELECT session_user") == "dora"
        assert "password authentication failed" in refused(gateway, "dora", password="wrong")
        rules("local all dora scram-sha-256\nhost all dora 127.0.0.1/32 trust")
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'dora'")
        with gateway.connect("dora") as dora:
            assert value(dora, "SELECT session_user") == "dora"
        server.execute("DROP ROLE dora")


@pytest.fixture
def keyed(gateway, cluster_of_gateway):
    with gateway.connect() as connection:
        connection.execute("CREATE TABLE keyed (id int PRIMARY KEY, name text, amount int DEFAULT 0)")
        connection.execute("SELECT create_distributed_table('keyed', 'id', shard_count => 16)")
        connection.execute("INSERT INTO keyed SELECT g, 'n' || g FROM generate_series(1, 400) g")
    yield cluster_of_gateway
    with servers.connect(gateway.node) as connection:
        connection.execute("DROP TABLE keyed")


@pytest.mark.parametrize("binary", [False, True])
def test_statements_of_one_shard_go_to_its_node(gateway, keyed, binary):
    """They run in sessions of their client on the workers, prepared there, with the same answers."""
    texts = {"read": "SELECT name, amount FROM keyed WHERE id = $1 AND 1 = 1",
             "write": "UPDATE keyed SET amount = amount + $2 WHERE id = $1",
             "add": "INSERT INTO keyed VALUES ($1, $2)"}
    with gateway.connect(prepare_threshold=0, application_name="routed") as connection:
        pgconn = connection.pgconn
        for name, text in texts.items():
            assert pgconn.prepare(name.encode(), text.encode()).status == pq.ExecStatus.COMMAND_OK

        def run(name, *values, form=0):
            as_bytes = [struct.pack("!i", v) if form and isinstance(v, int) else str(v).encode() for v in values]
            return pgconn.exec_prepared(name.encode(), as_bytes, [form if isinstance(v, int) else 0 for v in values])

        for id_ in range(1, 401):
            result = run("read", id_, form=int(binary))
            assert (result.get_value(0, 0), result.get_value(0, 1)) == (b"n%d" % id_, b"0")
            assert run("write", id_, 7, form=int(binary)).command_tuples == 1
            assert run("read", id_, form=int(binary)).get_value(0, 1) == b"7"
        for id_ in range(1000, 1100):
            assert run("add", id_, "new", form=int(binary)).status == pq.ExecStatus.COMMAND_OK
        for worker in keyed.workers:
            with servers.connect(worker) as observer:
                assert value(observer, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'routed'") > 0
        duplicate = run("add", 1000, "again", form=int(binary))
        assert duplicate.error_field(pq.DiagnosticField.SQLSTATE) == b"23505"
        assert b'"keyed_pkey"' in duplicate.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)
        assert value(connection, "SELECT sum(amount) FROM keyed") == 2800
        assert value(connection, "SELECT count(*) FROM keyed WHERE name = 'new'") == 100


def test_look_ups_by_a_global_key_go_to_its_node(gateway, keyed):
    """They are routed by the key, as others are by the distribution value; rows are found, written, or missing."""
    with gateway.connect(prepare_threshold=0) as connection, servers.connect(gateway.node) as server:
        connection.execute("CREATE TABLE found (tenant int, email text, name text)")
        connection.execute("SELECT create_distributed_table('found', 'tenant', shard_count => 16)")
        server.execute("SET citus.global_indexes = on; CREATE UNIQUE INDEX ON found (email)")
        server.execute("INSERT INTO found SELECT g, 'e' || g, 'n' FROM generate_series(1, 100) g")
        for round_ in (0, 1):
            unrouted = value(server, "SELECT coalesce(sum(statements), 0) FROM citus_stat_gateway_unrouted")
            for key in range(1, 101):
                assert rows(connection, "SELECT tenant, name FROM found WHERE email = %s", [f"e{key}"]) == [(key, f"n{'x' * round_}")]
                assert connection.execute("UPDATE found SET name = name || 'x' WHERE email = %s", [f"e{key}"]).rowcount == 1
                assert rows(connection, "SELECT name FROM found WHERE email = %s", [f"none{key}"]) == []
        assert value(server, "SELECT coalesce(sum(statements), 0) FROM citus_stat_gateway_unrouted") == unrouted


def test_routed_statements_have_their_clients_rights(gateway):
    """Row security, roles and settings are those of the client, on every node."""
    with gateway.connect("alice", prepare_threshold=0) as alice, gateway.connect(prepare_threshold=0) as other:
        other.execute("SET ROLE bob")
        for round_ in range(6):
            for id_ in range(1, 41):
                owner = ("alice", "bob")[id_ % 2]
                query = "SELECT owner, current_user::text FROM t WHERE id = %s"
                assert rows(alice, query, [id_]) == ([("alice", "alice")] if owner == "alice" else [])
                assert rows(other, query, [id_]) == ([("bob", "bob")] if owner == "bob" else [])
            alice.execute(f"SET DateStyle = {('German', 'ISO')[round_ % 2]}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            for id_ in range(1, 41):
                alice.execute("DELETE FROM t WHERE id = %s", [id_])


def test_blocks_are_not_split(gateway, keyed):
    """A transaction sees what it has written, and takes it back, although its statements alone would be routed."""
    with gateway.connect(autocommit=False, prepare_threshold=0) as connection:
        for id_ in range(1, 60):
            connection.execute("UPDATE keyed SET amount = 1 WHERE id = %s", [id_])
            assert value(connection, "SELECT amount FROM keyed WHERE id = %s", [id_]) == 1
            if id_ % 3 == 0:
                connection.rollback()
        connection.rollback()
        assert value(connection, "SELECT sum(amount) FROM keyed") == 0


def test_node_that_cannot_be_reached_directly(gateway, keyed):
    """Its statements take the ordinary way, with the error or the answer that this has."""
    worker = keyed.workers[0]
    with gateway.connect(prepare_threshold=0) as connection:
        query = "SELECT name FROM keyed WHERE id = %s"
        for id_ in range(1, 100):
            assert value(connection, query, [id_]) == f"n{id_}"
        worker.restart()
        answered = 0
        for id_ in range(1, 100):
            try:
                answered += value(connection, query, [id_]) == f"n{id_}"
            except psycopg.OperationalError:
                connection = gateway.connect(prepare_threshold=0)
        assert answered > 50
        assert value(connection, query, [1]) == "n1"


def test_random_messages(gateway):
    """Whatever clients send, the gateway lives on, other clients are served, and nothing is left of it."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE TABLE IF NOT EXISTS fuzzed (id int, name text)")
        server.execute("GRANT ALL ON fuzzed TO alice")
    bob = RawClient(gateway, "bob")

    def witness():
        for id_ in range(20):
            assert bob.value(f"SELECT {id_}") == str(id_)
            assert bob.ask(PARSE, BIND, EXECUTE, message(b"S", b"")) == b"12DCZ"

    fuzz(gateway, witness)
    after = [RawClient(gateway, "alice") for _ in range(POOL)]
    for client in after:
        assert client.ask(message(b"Q", b"BEGIN\0")) == b"CZ"
    for client in after:
        assert (client.value("SELECT current_user"), client.value("SHOW work_mem")) == ("alice", "4MB")
    for client in (bob, *after):
        client.close()
    with servers.connect(gateway.node) as server:
        wait_until(lambda: value(server, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'alice' AND state <> 'idle'") == 0,
                   "no session of the fuzzers to be at work")
        server.execute("DROP TABLE fuzzed")


def test_statistics(gateway, keyed):
    def stats(column):
        with servers.connect(gateway.node) as server:
            return value(server, f"SELECT sum({column}) FROM citus_stat_gateway")

    before = {column: stats(column) for column in ("logins", "transactions", "routed")}
    with gateway.connect(prepare_threshold=0) as connection, gateway.connect(autocommit=False) as block:
        block.execute("SELECT 1")
        for id_ in range(1, 101):
            connection.execute("SELECT name FROM keyed WHERE id = %s", [id_])
        assert stats("logins") == before["logins"] + 2
        assert stats("transactions") > before["transactions"]
        assert stats("routed") >= before["routed"] + 30
        wait_until(lambda: stats("active") == 1, "the client in a block to be counted")
        assert stats("clients") >= 2
        assert 1 <= stats("sessions") <= POOL * 10
    with pytest.raises(psycopg.errors.InsufficientPrivilege), servers.connect(gateway.node, "alice") as alice:
        alice.execute("SELECT citus_gateway_pause()")


def test_pause(gateway):
    """Clients end their transactions, then wait, until the gateway is resumed."""
    with servers.connect(gateway.node) as server, gateway.connect(autocommit=False) as block, gateway.connect() as other:
        block.execute("SELECT 1")
        other.execute("SELECT 1")
        server.execute("SELECT citus_gateway_pause()")
        assert value(block, "SELECT 2") == 2
        block.commit()
        wait_until(lambda: value(server, "SELECT sum(active) FROM citus_stat_gateway") == 0, "clients to have ended their work")
        answers = []
        asking = threading.Thread(target=lambda: answers.append(value(other, "SELECT 3")))
        asking.start()
        wait_until(lambda: value(server, "SELECT sum(waiting) FROM citus_stat_gateway") == 1, "the client to wait")
        assert not answers
        server.execute("SELECT citus_gateway_resume()")
        asking.join(servers.PATIENCE)
        assert answers == [3]


def test_statements_keep_their_meaning(gateway):
    """On whatever session, a statement means what it did when it was prepared, whatever the client has set since."""
    with gateway.connect() as client:
        client.execute("SET standard_conforming_strings = off")
        assert client.pgconn.prepare(b"old", rb"SELECT length('\\')").status == pq.ExecStatus.COMMAND_OK
        client.execute("SET standard_conforming_strings = on")
        holders = [gateway.connect(autocommit=False) for _ in range(POOL - 1)]
        for round_ in range(2 * POOL):
            holder = holders[round_ % len(holders)]
            holder.rollback()
            holder.execute("SELECT 1")
            assert client.pgconn.exec_prepared(b"old", []).get_value(0, 0) == b"1"
            assert value(client, r"SELECT length('\\')") == 2
        for holder in holders:
            holder.close()


class Statements:
    """A client that has prepared statements by key, and sends them without waiting for answers."""

    TEXTS = {b"read": b"SELECT name, amount FROM keyed WHERE id = $1",
             b"write": b"UPDATE keyed SET amount = amount + 1 WHERE id = $1",
             b"divide": b"SELECT 1 / (id - $1) FROM keyed WHERE id = $1",
             b"long": b"SELECT repeat(name, 40000) FROM keyed WHERE id = $1"}

    def __init__(self, gateway, **options):
        self.connection = gateway.connect(**options)
        self.pgconn = self.connection.pgconn
        for name, text in self.TEXTS.items():
            assert self.pgconn.prepare(name, text).status == pq.ExecStatus.COMMAND_OK

    def send(self, name, key):
        self.pgconn.send_query_prepared(name, [str(key).encode()])

    def answer(self):
        result = self.pgconn.get_result()
        while self.pgconn.get_result() is not None:
            pass
        return result

    def run(self, name, key):
        self.send(name, key)
        return self.answer()


def sqlstate(result):
    return result.error_field(pq.DiagnosticField.SQLSTATE)


def gateway_count(gateway, column):
    with servers.connect(gateway.node) as server:
        return value(server, f"SELECT sum({column}) FROM citus_stat_gateway")


@pytest.fixture
def crowd(gateway, keyed):
    """Clients whose statements are routed, and know to be short."""
    clients = [Statements(gateway) for _ in range(24)]
    for client in clients[:2]:
        for key in range(1, 120):
            assert client.run(b"read", key).ntuples == 1
            assert client.run(b"write", 200 + key).command_tuples == 1
            assert sqlstate(client.run(b"divide", key)) == b"22012"
            assert client.run(b"long", key).ntuples == 1
    yield clients
    for client in clients:
        client.connection.close()


def on_one_worker(keyed, count):
    """Keys whose rows are on the first worker."""
    with servers.connect(keyed.coordinator) as server:
        found = rows(server, "SELECT id FROM keyed, pg_dist_node WHERE nodeport = %s AND groupid = "
                             "(SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('keyed', id)) "
                             "ORDER BY id LIMIT %s", [keyed.workers[0].port, count])
    return [key for key, in found]


def test_statements_of_several_clients_share_a_session(gateway, crowd):
    """Each gets its own answer, whatever those before and behind it get."""
    before = gateway_count(gateway, "pipelined")
    rounds = 0
    while rounds < 40 or rounds % 5 > 0 or gateway_count(gateway, "pipelined") == before:
        assert rounds < 1000, "statements share no session"
        for number, client in enumerate(crowd):
            client.send((b"read", b"write", b"divide", b"read", b"long")[(number + rounds) % 5], 1 + number)
        for number, client in enumerate(crowd):
            kind = (number + rounds) % 5
            result = client.answer()
            if kind == 1:
                assert result.command_tuples == 1
            elif kind == 2:
                assert sqlstate(result) == b"22012"
            elif kind == 4:
                assert result.get_value(0, 0) == b"n%d" % (1 + number) * 40000
            else:
                assert result.get_value(0, 0) == b"n%d" % (1 + number)
        rounds += 1
    with servers.connect(gateway.node) as server:
        assert rows(server, "SELECT DISTINCT amount FROM keyed WHERE id <= %s", [len(crowd)]) == [(rounds // 5,)]


def test_nobody_waits_behind_a_lock(gateway, crowd, keyed):
    """Those behind a statement that waits are answered, and the statement is run once."""
    keys = on_one_worker(keyed, len(crowd))
    before = gateway_count(gateway, "resent")

    def wait_for_lock(outcome):
        with servers.connect(gateway.node, autocommit=False) as holder:
            holder.execute("UPDATE keyed SET amount = 100 WHERE id = %s", [keys[0]])
            for key in keys[1:20]:      # a text whose executions have taken long is sent alone
                crowd[1].run(b"write", key)
            gateway.signal(signal.SIGSTOP)
            crowd[0].send(b"write", keys[0])
            for client, key in zip(crowd[1:], keys[1:]):
                client.send(b"read", key)
            gateway.signal(signal.SIGCONT)
            if outcome == "is cancelled":
                crowd[0].connection.cancel()
            elif outcome == "vanishes":
                socket.socket(fileno=os.dup(crowd[0].pgconn.socket)).shutdown(socket.SHUT_RDWR)
            for client, key in zip(crowd[1:], keys[1:]):
                assert client.answer().get_value(0, 0) == b"n%d" % key
            if outcome == "is cancelled":
                assert sqlstate(crowd[0].answer()) == b"57014"
            holder.commit()

    def resent():
        """Whether some were behind it: not so while the machine is so busy that all statements take long."""
        wait_for_lock("runs")
        assert crowd[0].answer().command_tuples == 1
        assert crowd[0].run(b"read", keys[0]).get_value(0, 1) == b"101"
        return gateway_count(gateway, "resent") > before

    wait_until(resent, "the statement to be sent once more")
    wait_for_lock("is cancelled")
    assert crowd[0].run(b"read", keys[0]).get_value(0, 1) == b"100"
    wait_for_lock("vanishes")


def test_cancel_among_others(gateway, crowd, keyed):
    """Requests hit the statements of those who send them; all others are answered."""
    keys = on_one_worker(keyed, len(crowd))
    with servers.connect(gateway.node, autocommit=False) as holder:
        holder.execute("UPDATE keyed SET amount = 0 WHERE id = ANY (%s)", [keys[:3]])
        for number, (client, key) in enumerate(zip(crowd, keys)):
            client.send(b"write" if number < 3 else b"read", key)
        crowd[1].connection.cancel()
        assert sqlstate(crowd[1].answer()) == b"57014"
        for client, key in zip(crowd[3:], keys[3:]):
            assert client.answer().get_value(0, 0) == b"n%d" % key
        holder.rollback()
    for client in (crowd[0], crowd[2]):
        assert client.answer().command_tuples == 1


def test_sessions_that_end_under_several_clients(gateway, crowd, keyed):
    """No write that was acknowledged is lost, and none is done twice."""
    acknowledged, lost = 0, 0
    key = on_one_worker(keyed, 1)[0]
    waiting = ("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
               "WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE keyed%'")
    for _ in range(4):
        with servers.connect(gateway.node, autocommit=False) as holder, servers.connect(keyed.workers[0]) as worker:
            holder.execute("UPDATE keyed SET amount = 0 WHERE id = %s", [key])
            for client in crowd:
                client.send(b"write", key)
            wait_until(lambda: value(worker, waiting), "a session that waits to be ended")
            holder.rollback()
        for number, client in enumerate(crowd):
            result = client.answer()
            if result is not None and result.status == pq.ExecStatus.COMMAND_OK:
                acknowledged += 1
                continue
            lost += 1
            client.connection.close()
            crowd[number] = Statements(gateway)
    with servers.connect(gateway.node) as server:
        assert acknowledged <= value(server, "SELECT amount FROM keyed WHERE id = %s", [key]) <= acknowledged + lost
    assert 0 < lost < acknowledged


@pytest.mark.parametrize("text", [b"INSERT INTO unsynced VALUES (1)", b"SELECT 1 / 0"])
def test_clients_that_vanish_before_their_sync(gateway, text):
    """What they have begun isn't ended by the next client of the session."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE TABLE IF NOT EXISTS unsynced (id int)")
    for _ in range(2 * POOL):
        pgconn = gateway.connect().pgconn
        pgconn.enter_pipeline_mode()
        pgconn.send_query_params(text, None)
        pgconn.send_flush_request()
        pgconn.flush()
        assert pgconn.get_result().status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.FATAL_ERROR)
        socket.socket(fileno=os.dup(pgconn.socket)).shutdown(socket.SHUT_RDWR)
        pgconn.finish()
    with gateway.connect() as connection:
        for _ in range(POOL):
            assert value(connection, "SELECT count(*) FROM unsynced") == 0


PARSE = message(b"P", b"\0SELECT 1\0\0\0")
WRONG = message(b"P", b"\0SELEC\0\0\0")
BIND = message(b"B", b"\0\0\0\0\0\0\0\0")
EXECUTE = message(b"E", b"\0\0\0\0\0")
QUERY = message(b"Q", b"SELECT 1\0")
COPY = message(b"Q", b"COPY unsynced FROM STDIN\0")


@pytest.mark.parametrize("messages, until", [
    ((WRONG, QUERY), b"E"),                                     # the server skips the query, too
    ((PARSE, BIND, EXECUTE, QUERY, WRONG, QUERY), b"E"),
    ((message(b"H", b"more"), QUERY), b"E"),                    # and all that follows this
    ((message(b"S", b"more"),), b"Z"),
    ((PARSE, message(b"X", b"")), b""),                         # nothing of these is going to be answered
    ((COPY, message(b"X", b"")), b""),
], ids=["query", "two-queries", "flush", "sync", "terminate", "copy"])
def test_what_clients_leave_behind(gateway, messages, until):
    """No other client's messages are skipped, and no session stays with a client that has gone."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE TABLE IF NOT EXISTS unsynced (id int)")
    for _ in range(2 * POOL):
        client = RawClient(gateway)
        client.ask(*messages, until=until)
        client.close()
    others = [RawClient(gateway) for _ in range(POOL)]
    for other in others:
        assert other.ask(message(b"Q", b"BEGIN\0")) == b"CZ"
    for other in others:
        assert other.ask(QUERY) == b"TDCZ"
        other.close()


def test_texts_that_mean_local_tables_to_others(gateway, keyed):
    """A role's own search path decides what a text is about, whatever others with the text have learnt of it."""
    text = "SELECT name FROM keyed WHERE id = %s"
    for node in keyed.nodes:
        node.sql("SET citus.enable_ddl_propagation = off; CREATE ROLE searcher LOGIN; ALTER ROLE searcher SET search_path = own, public")
    with servers.connect(gateway.node) as server:
        server.execute("CREATE SCHEMA own; CREATE TABLE own.keyed (id int, name text)")
        server.execute("INSERT INTO own.keyed SELECT g, 'own' FROM generate_series(1, 50) g")
        server.execute("GRANT ALL ON SCHEMA own TO searcher; GRANT SELECT ON own.keyed TO searcher; GRANT SELECT ON keyed TO bob")
    with gateway.connect("bob", prepare_threshold=0) as bob, gateway.connect("searcher", prepare_threshold=0) as searcher:
        for id_ in range(1, 51):
            assert value(bob, text, [id_]) == f"n{id_}"
            assert value(searcher, text, [id_]) == "own"
    with servers.connect(gateway.node) as server:
        server.execute("DROP SCHEMA own CASCADE")


def test_local_table_in_front(gateway, keyed):
    """A local table that comes to stand in front of a distributed one in the search path is what the next statement reads."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE SCHEMA front")
    with gateway.connect(prepare_threshold=None, options="-c search_path=front,public") as connection:
        def names(text):
            if "{}" in text:
                results = [connection.pgconn.exec_(text.format(id_).encode()) for id_ in range(1, 51)]
                return {result.get_value(0, 0)[:1].decode() for result in results}
            return {value(connection, text, [id_])[0] for id_ in range(1, 51)}

        texts = ("SELECT name FROM keyed WHERE id = %s", "SELECT name FROM keyed WHERE id = {}")
        before = gateway_count(gateway, "routed")
        assert [names(text) for text in texts] == [{"n"}, {"n"}]
        assert gateway_count(gateway, "routed") > before
        with servers.connect(gateway.node) as server:
            server.execute("CREATE TABLE front.keyed AS SELECT g AS id, 'front' AS name FROM generate_series(1, 50) g")
        assert [names(text) for text in texts] == [{"f"}, {"f"}]
        with servers.connect(gateway.node) as server:
            server.execute("DROP SCHEMA front CASCADE")
        assert [names(text) for text in texts] == [{"n"}, {"n"}]


def test_tables_that_become_local(gateway, keyed):
    """A statement that its node can't run any more takes the ordinary way, and has no other error there."""
    with gateway.connect(prepare_threshold=0) as connection:
        connection.execute("CREATE TABLE passing (id int PRIMARY KEY, name text)")
        connection.execute("SELECT create_distributed_table('passing', 'id')")
        connection.execute("INSERT INTO passing SELECT g, 'n' || g FROM generate_series(1, 50) g")
        before = gateway_count(gateway, "routed")
        for id_ in range(1, 51):
            assert value(connection, "SELECT name FROM passing WHERE id = %s", [id_]) == f"n{id_}"
        assert gateway_count(gateway, "routed") > before
        with gateway.connect() as other:
            other.execute("SELECT undistribute_table('passing')")
        for id_ in range(1, 51):
            assert value(connection, "SELECT name FROM passing WHERE id = %s", [id_]) == f"n{id_}"
        with gateway.connect() as other:
            other.execute("DROP TABLE passing")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT name FROM passing WHERE id = %s", [1])


def test_queries_with_literals_go_to_their_node(gateway, keyed):
    """Of the simple protocol; they are answered there as they are, whatever their texts look like."""
    with gateway.connect() as connection:
        def ask(text):
            result = connection.pgconn.exec_(text.encode())
            assert result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK), result.error_message
            return [tuple(result.get_value(row, column) for column in range(result.nfields)) for row in range(result.ntuples)]

        before = gateway_count(gateway, "routed")
        table, = ask("SELECT 'keyed'::regclass::oid")
        for id_ in range(1, 101):
            name = b"n%d" % id_
            assert ask(f"SELECT tableoid FROM keyed WHERE id = {id_} AND tableoid <> 1") == [table]
            assert ask(f"SELECT 7, name, 'it' FROM keyed WHERE id = {id_} LIMIT 1") == [(b"7", name, b"it")]
            assert ask(f"UPDATE keyed SET amount = amount + {id_} WHERE id = {id_};") == []
            assert ask(f"INSERT INTO keyed (name, amount, id) VALUES ('x{id_}', {id_}, {1000 + id_})") == []
            assert ask(f"SELECT name, 'a''b', -{id_}, {id_}.5 FROM keyed WHERE id = {id_}") == \
                [(name, b"a'b", b"-%d" % id_, b"%d.5" % id_)]
            assert ask(f"SELECT name /* {id_} */ FROM keyed WHERE id = {id_} -- 5") == [(name,)]
            assert ask(f"SELECT 1; SELECT name FROM keyed WHERE id = {id_}") == [(name,)]
            assert ask(f"SELECT count(*) FROM keyed WHERE id IN ({id_}, {id_ + 1})") == [(b"2",)]
            assert ask(f"SELECT name FROM keyed WHERE id = -{id_}") == []
        assert gateway_count(gateway, "routed") >= before + 150
        assert ask("SELECT sum(amount), count(*) FROM keyed") == [(b"10100", b"500")]
        ask("BEGIN")
        ask("UPDATE keyed SET amount = 0 WHERE id = 5")
        assert ask("SELECT amount FROM keyed WHERE id = 5") == [(b"0",)]
        ask("ROLLBACK")
        assert ask("SELECT amount FROM keyed WHERE id = 5") == [(b"5",)]
        ask("CREATE TABLE named (id text, v int); SELECT create_distributed_table('named', 'id')")
        for id_ in range(1, 51):
            ask(f"INSERT INTO named VALUES ('k{id_}', {id_})")
            assert ask(f"SELECT v FROM named WHERE id = 'k{id_}'") == [(b"%d" % id_,)]
        ask("DROP TABLE named")
        result = connection.pgconn.exec_(b"SELECT v FROM named WHERE id = 'k1'")
        assert sqlstate(result) == b"42P01"
        result = connection.pgconn.exec_(b"SELECT 1 / (id - 3) FROM keyed WHERE id = 3")
        assert sqlstate(result) == b"22012"
