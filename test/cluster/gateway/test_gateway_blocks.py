"""Transaction blocks through the gateway that run on the node of their first statement, and move when they need this one."""

import random
import select
import socket
import threading

import psycopg
import pytest
from psycopg import pq

from harness import servers
from harness.gateways import SESSION, Gateway
from harness.load import Load
from harness.protocol_fuzz import SequenceFuzzer, fuzz
from harness.raw_client import DESCRIBE, EXECUTE, SYNC, RawClient, bind, parse, query
from harness.servers import rows, value, wait_until

BOTH = ["simple", "extended"]


@pytest.fixture(scope="module")
def cluster_of_gateway():
    with servers.cluster(purpose="check-gateway-blocks", workers=2) as made:
        yield made


@pytest.fixture(scope="module")
def gateway(cluster_of_gateway):
    made = Gateway(cluster_of_gateway.coordinator, {"gateway_pool_size": 6, "gateway_node_pool_size": 2,
                                                   "gateway_clean_blocks": 3})
    with servers.connect(made.node) as server:
        server.execute("""CREATE TABLE account (id int PRIMARY KEY, amount int NOT NULL DEFAULT 0, note text);
            SELECT create_distributed_table('account', 'id', shard_count => 16);
            CREATE TABLE rate (id int PRIMARY KEY, percent int);
            SELECT create_reference_table('rate');
            CREATE TABLE here (id int, what text);
            INSERT INTO here SELECT g, 'h' || g FROM generate_series(1, 9) g""")
    return made


@pytest.fixture(autouse=True)
def contents(gateway):
    with servers.connect(gateway.node) as server:
        server.execute("""TRUNCATE account, rate;
            INSERT INTO account SELECT g, 0, 'n' || g FROM generate_series(1, 200) g;
            INSERT INTO rate SELECT g, g * 10 FROM generate_series(1, 9) g""")


@pytest.fixture
def elsewhere(gateway, cluster_of_gateway):
    """Ids of accounts on the first worker."""
    with servers.connect(gateway.node) as server:
        return [id_ for id_, in rows(server, """
            SELECT id FROM account, pg_dist_node WHERE nodeport = %s AND groupid = (SELECT groupid FROM pg_dist_placement
                WHERE shardid = get_shard_id_for_distribution_column('account', id)) ORDER BY id""",
                                     [cluster_of_gateway.workers[0].port])]


def count(gateway, column):
    with servers.connect(gateway.node) as server:
        return value(server, f"SELECT sum({column}) FROM citus_stat_gateway")


class Client:
    """One that runs the same statements by either protocol, with the values of %s in the text or beside it."""

    def __init__(self, gateway, protocol, **options):
        self.connection = gateway.connect(prepare_threshold=0, **options)
        self.extended = protocol == "extended"

    def run(self, text, *values):
        cursor = self.connection.cursor() if self.extended else psycopg.ClientCursor(self.connection)
        cursor.execute(text, values)
        return cursor.fetchall() if cursor.description else cursor.rowcount

    @property
    def status(self):
        return self.connection.pgconn.transaction_status

    def close(self):
        self.connection.close()


@pytest.fixture(params=BOTH)
def client(request, gateway):
    made = Client(gateway, request.param)
    yield made
    made.close()


def transfer(client, id_, others=()):
    """A block about one account; others: statements in its midst."""
    client.run("BEGIN")
    assert client.status == pq.TransactionStatus.INTRANS
    (amount,), = client.run("SELECT amount FROM account WHERE id = %s", id_)
    assert client.run("UPDATE account SET amount = amount + 1 WHERE id = %s", id_) == 1
    found = [client.run(*statement) for statement in others]
    assert client.run("SELECT amount FROM account WHERE id = %s", id_) == [(amount + 1,)]
    client.run("COMMIT")
    assert client.status == pq.TransactionStatus.IDLE
    return found


def learn(gateway, client, id_, others=()):
    """Until blocks of this kind run on the account's node, each as a whole."""
    def on_node():
        before = count(gateway, "node_blocks - moved_blocks")
        transfer(client, id_, others)
        return count(gateway, "node_blocks - moved_blocks") > before

    wait_until(on_node, "blocks to run on their node")


def backend_of(gateway, cluster, text):
    """On which nodes a session in a transaction has last run such a text, other than for another node."""
    found = servers.on_every_node(cluster, """
        SELECT count(*) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()
          AND application_name NOT LIKE 'citus_internal%%'""", [text])
    return [name for name, ((sessions,),) in found.items() if sessions]


def test_blocks_run_on_their_node(gateway, cluster_of_gateway, client, elsewhere):
    """One session of the owner serves the whole block, which sees what it writes and is undone by ROLLBACK."""
    learn(gateway, client, elsewhere[0])
    client.run("BEGIN")
    client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1])
    assert backend_of(gateway, cluster_of_gateway, "%SELECT amount FROM account%") == ["worker1"]
    client.run("UPDATE account SET amount = amount + 1 WHERE id = %s", elsewhere[1])
    assert client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1]) == [(1,)]
    with servers.connect(gateway.node) as server:
        assert value(server, "SELECT amount FROM account WHERE id = %s", [elsewhere[1]]) == 0
    client.run("ROLLBACK")
    assert client.status == pq.TransactionStatus.IDLE
    assert client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1]) == [(0,)]


def test_statements_of_other_nodes(gateway, client, elsewhere):
    """A block on a node writes and reads what others have, all at once, and commits on all."""
    ids = [id_ for id_ in range(1, 30) if id_ != elsewhere[0]]
    others = [("UPDATE account SET amount = amount + 1 WHERE id = %s", id_) for id_ in ids[:4]]
    others.append(("SELECT sum(amount), count(*) FROM account, rate WHERE rate.id = 1",))
    learn(gateway, client, elsewhere[0], others)
    before = client.run("SELECT amount FROM account WHERE id = %s", ids[0])[0][0]
    moved = count(gateway, "moved_blocks")
    found = transfer(client, elsewhere[0], others)
    assert found[:4] == [1] * 4 and found[4][0][1] == 200
    assert client.run("SELECT amount FROM account WHERE id = %s", ids[0]) == [(before + 1,)]
    assert count(gateway, "moved_blocks") == moved


def test_notifications_of_all_nodes(gateway, cluster_of_gateway, client, elsewhere):
    """A client of a gateway hears sessions of other nodes, and is heard there, wherever its blocks run."""
    with gateway.connect() as near, servers.connect(cluster_of_gateway.workers[0]) as there:
        for listener in (near, there):
            listener.execute("LISTEN news")
        sent = []
        for number in range(6):
            client.run("BEGIN")
            client.run("UPDATE account SET amount = amount + 1 WHERE id = %s", elsewhere[0])
            client.run("SELECT pg_notify('news', %s)", f"{number}")
            client.run(f"NOTIFY news, '{number}!'")
            client.run("COMMIT")
            there.execute("SELECT pg_notify('news', %s)", [f"there {number}"])
            sent += [f"{number}", f"{number}!", f"there {number}"]
        for listener in (near, there):
            assert [notice.payload for notice in listener.notifies(timeout=servers.PATIENCE, stop_after=len(sent))] == sent


def test_serializable_on_one_node(gateway, client, elsewhere):
    """The client's setting for SERIALIZABLE over nodes holds wherever its blocks run."""
    with servers.connect(gateway.node) as server:
        other = value(server, """SELECT min(id) FROM account, pg_dist_placement, pg_dist_local_group AS here
            WHERE shardid = get_shard_id_for_distribution_column('account', id) AND pg_dist_placement.groupid <> here.groupid
              AND id <> ALL (%s)""", [elsewhere])
    client.run("SET citus.serializable_over_nodes = error")
    before = count(gateway, "node_blocks")
    for _ in range(8):
        client.run("BEGIN ISOLATION LEVEL SERIALIZABLE")
        client.run("SELECT amount FROM account WHERE id = %s", elsewhere[0])
        assert client.run("UPDATE account SET amount = amount + 1 WHERE id = %s", elsewhere[1]) == 1
        client.run("COMMIT")
        client.run("BEGIN ISOLATION LEVEL SERIALIZABLE")
        client.run("SELECT amount FROM account WHERE id = %s", elsewhere[0])
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="more than one node"):
            client.run("SELECT amount FROM account WHERE id = %s", other)
        client.run("ROLLBACK")
    assert count(gateway, "node_blocks") > before


@pytest.mark.some(3)
@pytest.mark.parametrize("statement, answer", [
    (("SELECT what FROM here WHERE id = %s", 3), [("h3",)]),
    (("SELECT count(*) FROM pg_dist_node",), [(3,)]),
    (("SET LOCAL work_mem = '7MB'",), -1),
    (("INSERT INTO here VALUES (%s, 'new')", 77), 1),
    (("SELECT set_config('x.y', 'z', true)",), [("z",)]),
])
def test_moves_for_what_needs_this_node(gateway, client, elsewhere, statement, answer):
    """Local tables, catalogs, settings: the block goes on here, and its client doesn't notice."""
    learn(gateway, client, elsewhere[0])
    moved = count(gateway, "moved_blocks")
    client.run("BEGIN")
    assert client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1]) == [(0,)]
    assert client.run("UPDATE account SET amount = amount + 1 WHERE id = %s", elsewhere[1]) == 1
    assert count(gateway, "moved_blocks") == moved
    assert client.run(*statement) == answer
    assert count(gateway, "moved_blocks") == moved + 1
    if statement[0] == "SET LOCAL work_mem = '7MB'":
        assert client.run("SHOW work_mem") == [("7MB",)]
    assert client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1]) == [(1,)]
    client.run("ROLLBACK")
    assert client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1]) == [(0,)]
    assert client.run("SELECT count(*) FROM here WHERE id = 77") == [(0,)]


def test_conflict_while_moving(gateway, client, elsewhere):
    """If another changes what a block has read in the moment when it moves, its client hears of it, and nothing is done."""
    id_ = elsewhere[0]
    learn(gateway, client, id_)
    client.run("BEGIN")
    assert client.run("SELECT amount FROM account WHERE id = %s", id_)[0][0] >= 0
    with servers.connect(gateway.node) as server:
        server.execute("UPDATE account SET amount = 1000 WHERE id = %s", [id_])
    with pytest.raises(psycopg.errors.SerializationFailure):
        client.run("INSERT INTO here VALUES (78, 'lost')")
    assert client.status == pq.TransactionStatus.INERROR
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        client.run("SELECT 1")
    client.run("ROLLBACK")
    assert client.run("SELECT amount FROM account WHERE id = %s", id_) == [(1000,)]
    with servers.connect(gateway.node) as server:
        assert value(server, "SELECT count(*) FROM here WHERE id = 78") == 0
        wait_until(lambda: value(server, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'") == 0,
                   "no session to be in a transaction")


def test_errors_and_savepoints(gateway, client, elsewhere):
    """As with PostgreSQL, wherever the block is."""
    id_ = elsewhere[0]
    learn(gateway, client, id_)
    for _ in range(4):
        client.run("BEGIN ISOLATION LEVEL READ COMMITTED")
        client.run("UPDATE account SET amount = 7 WHERE id = %s", id_)
        client.run("SAVEPOINT one")
        with pytest.raises(psycopg.errors.UniqueViolation):
            client.run("INSERT INTO account VALUES (%s)", id_)
        assert client.status == pq.TransactionStatus.INERROR
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            client.run("SELECT amount FROM account WHERE id = %s", id_)
        client.run("ROLLBACK TO one")
        assert client.status == pq.TransactionStatus.INTRANS
        assert client.run("SELECT amount FROM account WHERE id = %s", id_) == [(7,)]
        client.run("COMMIT")
        client.run("BEGIN")
        client.run("UPDATE account SET amount = 8 WHERE id = %s", id_)
        with pytest.raises(psycopg.errors.UniqueViolation):
            client.run("INSERT INTO account VALUES (%s)", id_)
        client.run("COMMIT")
        assert client.status == pq.TransactionStatus.IDLE
        assert client.run("SELECT amount FROM account WHERE id = %s", id_) == [(7,)]


def test_empty_blocks(client):
    for end in ("COMMIT", "ROLLBACK", "end", "ABORT;"):
        client.run("start transaction read only")
        client.run(end)
        assert client.status == pq.TransactionStatus.IDLE
    client.run("BEGIN READ ONLY")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        client.run("UPDATE account SET amount = 1 WHERE id = 1")
    client.run("ROLLBACK")
    client.run("BEGIN")
    client.run("BEGIN")
    client.run("ROLLBACK")
    assert client.status == pq.TransactionStatus.IDLE


def test_default_modes(gateway):
    """psycopg's blocks, with an isolation level, prepared statements and pipelines."""
    with gateway.connect(autocommit=False, prepare_threshold=1) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for id_ in list(range(1, 60)) * 2:
            connection.execute("UPDATE account SET amount = amount + 1 WHERE id = %s", [id_])
            assert value(connection, "SHOW transaction_isolation") == "repeatable read"
            connection.commit()
        connection.isolation_level = None
        for id_ in range(1, 60):
            with connection.pipeline():
                connection.execute("UPDATE account SET amount = amount + 1 WHERE id = %s", [id_])
                cursor = connection.execute("SELECT amount FROM account WHERE id = %s", [id_])
                connection.commit()
            assert cursor.fetchall() == [(3,)]


def test_temporary_tables_of_a_block(gateway, client):
    """Tables that the end of their block drops pin no client; others do."""
    for _ in range(2):
        for statement in ["BEGIN", "CREATE TEMP TABLE one (id serial PRIMARY KEY, text text) ON COMMIT DROP",
                          "CREATE TEMP TABLE two ON COMMIT DROP AS SELECT 1", "INSERT INTO one (text) VALUES ('a')"]:
            client.run(statement)
        wait_until(lambda: count(gateway, "active") == 1, "the client to have a session")
        client.run("COMMIT")
        wait_until(lambda: count(gateway, "active") == 0, "the client to have none")
    for statement in ["BEGIN", "CREATE TEMP TABLE one () ON COMMIT DROP", "CREATE TEMP TABLE two (id int) ON COMMIT DELETE ROWS",
                      "INSERT INTO two VALUES (1)", "COMMIT"]:
        client.run(statement)
    wait_until(lambda: count(gateway, "active") == 1, "the client to keep its session")
    assert client.run("SELECT count(*) FROM two") == [(0,)]


def test_clients_that_vanish(gateway, elsewhere):
    """In the midst of a block on a node, which is undone."""
    first = Client(gateway, "extended")
    learn(gateway, first, elsewhere[0])
    for _ in range(8):
        one = Client(gateway, "extended")
        one.run("BEGIN")
        one.run("UPDATE account SET amount = 99 WHERE id = %s", elsewhere[2])
        one.connection.pgconn.finish()
        assert first.run("UPDATE account SET amount = amount + 1 WHERE id = %s", elsewhere[2]) == 1
    assert first.run("SELECT amount FROM account WHERE id = %s", elsewhere[2]) == [(8,)]
    first.close()


def test_blocks_hold_up_nobody(gateway, elsewhere):
    """Clients that stay in their blocks on a node leave sessions of it for others."""
    first = Client(gateway, "extended")
    learn(gateway, first, elsewhere[0])
    holders = [Client(gateway, "extended") for _ in range(5)]
    for number, holder in enumerate(holders):
        holder.run("BEGIN")
        holder.run("UPDATE account SET amount = 1 WHERE id = %s", elsewhere[number])
    for _ in range(20):
        assert first.run("SELECT amount FROM account WHERE id = %s", elsewhere[6]) == [(0,)]
    for holder in holders:
        holder.run("COMMIT")
        holder.close()
    first.close()


def test_cancel_in_a_block(gateway, client, elsewhere):
    """The request hits the statement that waits, and an idle block not at all."""
    id_ = elsewhere[0]
    learn(gateway, client, id_)
    with servers.connect(gateway.node, autocommit=False) as blocker:
        blocker.execute("UPDATE account SET amount = 3 WHERE id = %s", [id_])
        client.run("BEGIN")
        client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1])
        client.connection.cancel()
        client.run("SELECT amount FROM account WHERE id = %s", elsewhere[1])
        done = threading.Event()

        def cancel():
            while not done.wait(0.1):
                client.connection.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.run("UPDATE account SET amount = 4 WHERE id = %s", id_)
        done.set()
        thread.join()
        assert client.status == pq.TransactionStatus.INERROR
        client.run("ROLLBACK")
        blocker.rollback()
    assert client.run("UPDATE account SET amount = 4 WHERE id = %s", id_) == 1


def test_deadlocks_and_transfers(gateway, cluster_of_gateway):
    """Money moves in blocks through the gateway; sums stay."""
    def transfer_money(connection):
        first, second = random.sample(range(1, 41), 2)
        try:
            with connection.transaction():
                connection.execute("UPDATE account SET amount = amount - 1 WHERE id = %s", [first])
                if random.random() < 0.1:
                    connection.execute("SELECT count(*) FROM here")
                connection.execute("UPDATE account SET amount = amount + 1 WHERE id = %s", [second])
        except psycopg.errors.DeadlockDetected:
            pass

    def check(connection):
        assert value(connection, "SELECT sum(amount) FROM account") == 0

    load = Load()
    made = [gateway.connect(prepare_threshold=threshold) for threshold in (None, 0, 2, 5)]
    for number, connection in enumerate(made):
        load.add(None, lambda _, connection=connection: transfer_money(connection), f"transfer{number}")
    load.add(gateway.node, check, "reader")
    before = count(gateway, "node_blocks")
    load.finish(seconds=6, enough=lambda: count(gateway, "node_blocks") > before + 20)
    for connection in made:
        connection.close()


def test_statements_after_those_that_are_dropped(gateway):
    """In the same transaction, or sent without waiting for an answer; drivers do so after ROLLBACK TO."""
    client = gateway.connect()
    pgconn = client.pgconn
    assert pgconn.prepare(b"old", b"SELECT 1").status == pq.ExecStatus.COMMAND_OK
    client.execute("BEGIN")
    client.execute("DEALLOCATE ALL")
    assert pgconn.prepare(b"new", b"SELECT 2").status == pq.ExecStatus.COMMAND_OK
    assert pgconn.exec_prepared(b"new", []).get_value(0, 0) == b"2"
    client.execute("COMMIT")
    assert pgconn.exec_prepared(b"new", []).get_value(0, 0) == b"2"
    assert pgconn.exec_prepared(b"old", []).error_field(pq.DiagnosticField.SQLSTATE) == b"26000"
    pgconn.enter_pipeline_mode()
    pgconn.send_query_params(b"DEALLOCATE ALL", None)
    pgconn.send_prepare(b"newer", b"SELECT 3")
    pgconn.send_query_prepared(b"newer", [])
    pgconn.pipeline_sync()
    found = [pgconn.get_result() for _ in range(7)]
    assert found[4].get_value(0, 0) == b"3"
    pgconn.exit_pipeline_mode()
    assert pgconn.exec_prepared(b"newer", []).get_value(0, 0) == b"3"
    client.close()


def test_statistics(gateway):
    """Bytes, waits, and why statements were not routed."""
    def unrouted():
        with servers.connect(gateway.node) as server:
            return dict(rows(server, "SELECT reason, statements FROM citus_stat_gateway_unrouted"))

    before = {column: count(gateway, column) for column in ("unrouted", "received", "sent")}
    reasons = unrouted()
    with gateway.connect(prepare_threshold=0) as connection:
        for _ in range(5):
            connection.execute("SELECT count(*), repeat('x', 20000) FROM account")
            connection.execute("SELECT length(%s)", ["y" * 10000])
            connection.execute("SELECT note FROM account WHERE id = %s + 1", [None])
        assert count(gateway, "sent") >= before["sent"] + 100000
        assert count(gateway, "received") >= before["received"] + 50000
        assert 0 <= count(gateway, "median_wait_ms") <= count(gateway, "p99_wait_ms") <= count(gateway, "max_wait_ms")
        found = unrouted()
        assert sum(found.values()) == count(gateway, "unrouted") > before["unrouted"]
        grown = {reason for reason in found if found[reason] > reasons[reason]}
        assert grown >= {"nothing is known of it yet", "no parameter or literal decides on one shard"}, grown


def test_what_a_failed_block_leaves(gateway):
    """It pins its client from the block's end on, although nothing is told within a failed one."""
    with gateway.connect() as pinned:
        pinned.execute("BEGIN")
        mine = value(pinned, SESSION)
        pinned.execute("SELECT pg_advisory_lock(16)")
        with pytest.raises(psycopg.errors.DivisionByZero):
            pinned.execute("SELECT 1 / 0")
        pinned.execute("ROLLBACK")
        for _ in range(3):
            with gateway.connect() as other:
                assert value(other, SESSION) != mine
        pinned.execute("SELECT pg_advisory_unlock(16)")


def test_whose_a_session_is(gateway):
    """A session that clients have by turns says each one's address, where it would say its own connection's."""
    with servers.connect(gateway.node) as observer:
        for client in [gateway.connect() for _ in range(8)] * 2:
            own = socket.fromfd(client.fileno(), socket.AF_INET, socket.SOCK_STREAM).getsockname()
            with client.transaction():
                found = client.execute(f"SELECT host(inet_client_addr()), inet_client_port(), ({SESSION}), count(*) FROM here "
                                       "GROUP BY 1, 2, 3").fetchone()
                assert found[:2] == own
                assert rows(observer, "SELECT host(client_addr), client_port FROM pg_stat_activity WHERE pid = %s", [found[2]]) == [own]
        assert value(observer, "SELECT sum(sessions) FROM citus_stat_gateway") < 8


def test_routed_statements_leave_no_settings(gateway):
    """What a function sets in a client's statement doesn't reach other clients of the node's session."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE FUNCTION set_zone(text) RETURNS text LANGUAGE plpgsql STABLE "
                       "AS $$ BEGIN RETURN set_config('TimeZone', $1, false); END $$")
    try:
        with gateway.connect(prepare_threshold=0) as one, gateway.connect(prepare_threshold=0) as other:
            zone = value(other, "SHOW TimeZone")
            before = count(gateway, "routed")
            for id_ in range(1, 41):
                assert value(one, "SELECT set_zone('Asia/Tokyo') FROM account WHERE id = %s", [id_]) == "Asia/Tokyo"
                assert value(other, "SELECT current_setting('TimeZone') FROM account WHERE id = %s", [id_]) == zone
            assert count(gateway, "routed") > before
    finally:
        with servers.connect(gateway.node) as server:
            server.execute("DROP FUNCTION set_zone")


@pytest.fixture
def idler(gateway):
    with servers.connect(gateway.node) as server:
        server.execute("CREATE ROLE idler LOGIN; GRANT SELECT ON account TO idler")
        yield server
        server.execute("DROP OWNED BY idler; DROP ROLE idler")


@pytest.mark.parametrize("how", ["startup", "role", "statement"])
@pytest.mark.parametrize("begun", [[], ["CREATE TEMP TABLE own (id int)"], ["BEGIN"], ["BEGIN", "SELECT FROM account WHERE id = 7"],
                                   ["BEGIN", "SELECT count(*) FROM account"]],
                         ids=["no block", "own session", "empty", "routed", "here"])
def test_time_limits_of_idle_clients(gateway, idler, begun, how):
    """They end a client as they end a session, and only the client that has them."""
    block = "BEGIN" in begun
    setting = "idle_in_transaction_session_timeout" if block else "idle_session_timeout"
    error = psycopg.errors.IdleInTransactionSessionTimeout if block else psycopg.errors.IdleSessionTimeout
    with gateway.connect("idler") as other:
        for statement in begun:
            other.execute(statement)
        for limit in (300, 3000, 30000):
            if how == "role":
                idler.execute(f"ALTER ROLE idler SET {setting} = {limit}")
            ending = gateway.connect("idler", options=f"-c {setting}={limit}" if how == "startup" else "")
            try:
                if how == "statement":
                    ending.execute(f"SET {setting} = {limit}")
                for statement in begun:
                    ending.execute(statement)
                break
            except error:
                pass  # ended before it had sent all of them: a longer limit
        assert select.select([ending.pgconn.socket], [], [], servers.PATIENCE)[0], "the client was not ended"
        with pytest.raises(error):
            ending.execute("SELECT 1")
        other.execute("SELECT 1")


def test_damaged_sequences(gateway, elsewhere):
    """Clients whose messages are damaged, cut off or cancelled in the middle of routed statements and blocks: others are served rightly."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE ROLE alice LOGIN; GRANT ALL ON account, here TO alice")
    one, other = Client(gateway, "extended"), Client(gateway, "simple", autocommit=False)
    before = count(gateway, "node_blocks")
    ids = [id_ for id_ in elsewhere if id_ > 100]
    warm = RawClient(gateway, "alice")
    for text in SequenceFuzzer.ROUTED:
        for _ in range(8):
            warm.ask(query("BEGIN"))
            warm.ask(parse(text.decode()), bind(str(elsewhere[0])), DESCRIBE, EXECUTE, SYNC)
            warm.ask(query("COMMIT"))
    warm.close()

    def witness():
        for id_ in ids[:8]:
            assert one.run("SELECT note FROM account WHERE id = %s", id_) == [(f"n{id_}",)]
            assert other.run("SELECT note, amount FROM account WHERE id = %s", id_) == [(f"n{id_}", 0)]
            assert other.run("SELECT what FROM here WHERE id = 3") == [("h3",)]
            other.connection.commit()

    assert count(gateway, "node_blocks") > before
    fuzz(gateway, witness, SequenceFuzzer, 4000)
    one.close()
    other.close()
