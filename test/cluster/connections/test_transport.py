"""citus.transport = multiplexed: sessions reach other nodes over one connection between two gateways."""

import os
import random
import signal
import socket
import stat
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest

from pomelo_check.sample import SEED

from harness import servers
from harness.certificates import Authority
from harness.gateways import Gateway
from harness.links import (CANCEL, CANCELED, CLOSE, DATA, KEY, OPEN, REQUEST, ROOM, SIZE, WINDOW, RawLink, connections_to,
                           frame, give_gateways)
from harness.protocol_fuzz import message
from harness.raw_client import packet
from harness.servers import SLOW, rows, value, wait_until, wait_until_quiet, wait_until_slow
from harness.statement import Statement

PROCESSES = 2       # of the coordinator's gateway
MAX_CLIENTS = 500
SESSIONS = 64
WIDTH = 1000
ROWS = 30000        # more bytes than all windows and buffers take


@pytest.fixture(scope="module")
def linked():
    """A cluster whose nodes reach each other by gateways, and these."""
    with servers.cluster(purpose="check-transport") as made:
        for node in made.nodes:
            node.sql(f"ALTER SYSTEM SET citus.gateway_processes = 1; ALTER SYSTEM SET citus.gateway_max_clients = {MAX_CLIENTS}")
        made.coordinator.sql(f"ALTER SYSTEM SET citus.gateway_processes = {PROCESSES}")
        gateways = give_gateways(made)
        with servers.connect(made.coordinator) as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY, text text)")
            connection.execute("SELECT create_distributed_table('t', 'id', shard_count => 8)")
            connection.execute("INSERT INTO t SELECT g, 'first' FROM generate_series(1, 100) g")
            connection.execute("CREATE TABLE wide (id int PRIMARY KEY, text text)")
            connection.execute("SELECT create_distributed_table('wide', 'id', colocate_with => 't')")
        yield made, gateways


@pytest.fixture
def client(linked):
    with servers.connect(linked[0].coordinator) as connection:
        yield connection


@pytest.fixture
def wide(client):
    """The rows of `wide`, which other tests leave empty."""
    client.execute(f"INSERT INTO wide SELECT g, repeat('w', {WIDTH}) FROM generate_series(1, {ROWS}) g")
    yield ROWS * WIDTH
    client.execute("TRUNCATE wide")


def internal_sessions(node):
    """How the sessions that other nodes have opened have come: (by TCP, through the gateway)."""
    with servers.connect(node) as connection:
        return rows(connection, "SELECT count(client_addr), count(*) - count(client_addr) FROM pg_stat_activity "
                    "WHERE backend_type = 'client backend' AND application_name LIKE 'citus_internal%'")[0]


def test_reads_writes_and_transactions(linked, client):
    made, _ = linked
    assert value(client, "SELECT count(*) FROM t") == 100
    for key in range(1, 20):
        assert rows(client, "SELECT id FROM t WHERE id = %s", [key]) == [(key,)]
    with client.transaction():
        client.execute("UPDATE t SET text = 'second' WHERE id <= 50")
        client.execute("SAVEPOINT a")
        with pytest.raises(psycopg.errors.DivisionByZero):
            client.execute("UPDATE t SET text = (1 / (id - 7))::text")
        client.execute("ROLLBACK TO a")
        client.execute("UPDATE t SET text = 'third' WHERE id = 7")
    assert rows(client, "SELECT text, count(*) FROM t GROUP BY 1 ORDER BY 1") == [("first", 50), ("second", 49), ("third", 1)]
    with client.transaction(force_rollback=True):
        client.execute("DELETE FROM t")
        assert value(client, "SELECT count(*) FROM t") == 0
    client.execute("UPDATE t SET text = 'first'")
    assert [servers.prepared_transactions(node) for node in made.nodes] == [[], [], []]
    with servers.connect(made.workers[0]) as worker:
        assert value(worker, "SELECT count(*) FROM t WHERE text = 'first'") == 100


def test_sessions_are_those_of_one_connection(linked, client):
    """They come through the gateway, and keep what a session keeps: what is prepared, and process ids."""
    made, _ = linked
    for _ in range(10):
        assert value(client, "SELECT count(*) FROM t WHERE text = 'first'", []) == 100
    assert [internal_sessions(node)[1] > 0 for node in made.workers] == [True, True]
    by_tcp, tunneled = internal_sessions(made.workers[0])
    assert tunneled > by_tcp


def keys_by_node(connection):
    """A row's key of each node, by the node's port."""
    return dict(rows(connection, "SELECT nodeport, min(id) FROM t, LATERAL (SELECT nodeport FROM pg_dist_shard_placement "
                     "WHERE shardid = get_shard_id_for_distribution_column('t', id)) p GROUP BY 1"))


def test_deadlock_over_two_nodes_is_found(linked):
    """Deadlock detection needs the process ids of sessions on other nodes."""
    made, _ = linked
    with servers.connect(made.coordinator) as connection:
        one, two = list(keys_by_node(connection).values())[:2]
    with servers.connect(made.coordinator, autocommit=False) as first, servers.connect(made.coordinator, autocommit=False) as second:
        first.execute("UPDATE t SET text = text WHERE id = %s", [one])
        second.execute("UPDATE t SET text = text WHERE id = %s", [two])
        waiting = [Statement(first, f"UPDATE t SET text = text WHERE id = {two}"),
                   Statement(second, f"UPDATE t SET text = text WHERE id = {one}")]
        errors = []
        for statement, connection in zip(waiting, (first, second)):
            errors.append(statement.finish())
            connection.rollback()
        assert sum(isinstance(error, psycopg.errors.DeadlockDetected) for error in errors) == 1, errors


def test_copy_of_more_than_the_windows(client):
    text = "x" * WIDTH
    with client.cursor() as cursor:
        with cursor.copy("COPY wide FROM STDIN") as copy:
            for key in range(ROWS):
                copy.write_row((key, text))
        assert value(client, "SELECT sum(length(text)) FROM wide") == ROWS * WIDTH
        with cursor.copy("COPY wide TO STDOUT") as copy:
            assert sum(len(block) for block in copy) > ROWS * WIDTH
    client.execute("TRUNCATE wide")


def test_copy_that_fails(client):
    with pytest.raises(psycopg.errors.UniqueViolation), client.cursor() as cursor:
        with cursor.copy("COPY wide FROM STDIN") as copy:
            for key in range(ROWS):
                copy.write_row((key % 20000, "x" * 100))
    assert value(client, "SELECT count(*) FROM wide") == 0


def memory_of(gateway):
    """Kilobytes that the gateway's processes have."""
    total = 0
    for pid in gateway.processes():
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon", "VmSwap")))
    return total


def test_who_reads_slowly_holds_up_nobody(linked, client, wide):
    """A client that stops reading leaves its answer with the servers, and others' statements pass it."""
    made, gateways = linked
    before = [memory_of(gateway) for gateway in gateways]
    with ExitStack() as stack:
        slow = [stack.enter_context(servers.connect(made.coordinator)) for _ in range(6)]
        for connection in slow:
            connection.pgconn.send_query(b"COPY wide TO STDOUT")
            connection.pgconn.flush()
        for _ in range(20):
            with servers.connect(made.coordinator) as other:
                assert value(other, "SELECT count(*) FROM t") == 100
                assert value(other, "SELECT count(*) FROM wide WHERE text > ''") == ROWS
        grown = [memory_of(gateway) - old for gateway, old in zip(gateways, before)]
        assert max(grown) * 1024 < 12 * 2 * ROOM + 4_000_000, grown
        for connection in slow:
            connection.close()
    assert wide == ROWS * WIDTH
    wait_until_quiet(made)


def test_cancel(linked):
    made, _ = linked
    with servers.connect(made.coordinator) as connection:
        for _ in range(3):
            slow = Statement(connection, f"SELECT count(*) FROM t AS s(payload) WHERE {SLOW}")
            wait_until_slow(made)
            connection.cancel_safe()
            assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
            wait_until_quiet(made)
            assert value(connection, "SELECT count(*) FROM t") == 100


def test_a_session_that_is_terminated_tells_why(linked, client):
    made, _ = linked
    client.execute("BEGIN")
    client.execute("UPDATE t SET text = text")
    with servers.connect(made.workers[0]) as worker:
        assert value(worker, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE state = 'idle in transaction' "
                             "AND application_name LIKE 'citus_internal%'") > 0
    with pytest.raises(psycopg.Error, match="terminating connection|connection"):
        client.execute("UPDATE t SET text = text")
    client.execute("ROLLBACK")
    assert value(client, "SELECT count(*) FROM t") == 100


def test_one_connection_for_many_sessions(linked):
    made, gateways = linked
    with ExitStack() as stack, ThreadPoolExecutor(SESSIONS) as threads:
        clients = [stack.enter_context(servers.connect(made.coordinator)) for _ in range(SESSIONS)]
        assert list(threads.map(lambda each: value(each, "SELECT count(*) FROM t"), clients)) == [100] * SESSIONS
        assert [internal_sessions(node)[1] >= SESSIONS for node in made.workers] == [True, True]

        # each has some from the coordinator's processes, and some from the other worker's one
        assert [0 < count <= PROCESSES + 1 for count in connections_to(gateways[1:])] == [True, True]


def work(made, stop, failures):
    while not stop.is_set():
        try:
            with servers.connect(made.coordinator) as connection:
                while not stop.is_set():
                    assert value(connection, "SELECT count(*) FROM t") == 100
                    connection.execute("UPDATE t SET text = text WHERE id % 10 = %s", [random.randrange(10)])
        except psycopg.Error as error:
            failures.append(error)


def test_gateways_that_are_killed(linked):
    """Under load: statements fail, sessions go on, and what was under way is settled."""
    made, gateways = linked
    stop, failures = threading.Event(), []
    workers = [threading.Thread(target=work, args=(made, stop, failures), daemon=True) for _ in range(6)]
    for thread in workers:
        thread.start()
    try:
        for gateway in (gateways[1], gateways[0], gateways[2]):
            before = len(failures)
            gateway.signal(signal.SIGKILL)
            wait_until(lambda: len(failures) > before, "statements to fail")
            wait_until(gateway.processes, "the gateway to start again")
    finally:
        stop.set()
        for thread in workers:
            thread.join(servers.PATIENCE)
    assert all(error.sqlstate in (None, "08000", "08006", "08007", "57P01", "40P01") for error in failures), failures
    wait_until(lambda: connect_works(made), "the nodes to be reached")
    with servers.connect(made.coordinator) as connection:
        wait_until(lambda: [value(connection, "SELECT recover_prepared_transactions()"),
                            *(servers.prepared_transactions(node) for node in made.nodes)][1:] == [[], [], []],
                   "prepared transactions to be ended")
        assert value(connection, "SELECT count(*) FROM t WHERE text = 'first'") == 100


def connect_works(made):
    try:
        with servers.connect(made.coordinator) as connection:
            return value(connection, "SELECT count(*) FROM t") == 100
    except psycopg.Error:
        return False


def test_a_gateway_that_is_not_there(linked):
    """What can't be reached is told with the reason."""
    made, gateways = linked
    with servers.connect(made.coordinator) as connection, connection.transaction(force_rollback=True):
        connection.execute("UPDATE pg_dist_poolinfo SET poolinfo = 'host=127.0.0.1 port=1'")
        with servers.connect(made.coordinator) as other:
            assert value(other, "SELECT count(*) FROM t") == 100
        with pytest.raises(psycopg.OperationalError) as caught:
            with connection.transaction():
                connection.execute("SELECT count(*) FROM t")
        assert "gateway" in caught.value.diag.message_detail, caught.value.diag.message_detail
        connection.execute("UPDATE pg_dist_poolinfo SET poolinfo = 'host=127.0.0.1 port=' || %s", [made.workers[0].port])
        with pytest.raises(psycopg.OperationalError) as caught:
            with connection.transaction():
                connection.execute("SELECT count(*) FROM t")
        assert "is no gateway" in caught.value.diag.message_detail, caught.value.diag.message_detail
    assert gateways[1].answers()


def test_clients_are_not_led_on(linked):
    """Neither by the gateway's port, nor by the sockets of its own server's sessions."""
    made, gateways = linked
    entrances = [os.path.join(made.coordinator.data, "pg_stat_tmp", f".s.PGSQL.{number + 1}") for number in range(PROCESSES)]
    for path in entrances:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    request = f"127.0.0.1\n{gateways[1].port}\ndisable\n\n".encode().hex() + ".0200" + gateways[1].port.to_bytes(2).hex() + \
        "7f000001" + "00" * 8
    before = connections_to(gateways)
    try:
        with gateways[0].connect(options=f"-c citus.gateway_tunnel={request}") as connection:
            assert value(connection, "SHOW port") == str(made.coordinator.port)
    except psycopg.OperationalError as error:
        assert "citus.gateway_tunnel" in str(error)
    assert connections_to(gateways) == before
    if os.geteuid() == os.stat(entrances[0]).st_uid:
        return      # whoever runs the tests is whom the server runs as
    with socket.socket(socket.AF_UNIX) as entrance:
        entrance.settimeout(servers.PATIENCE)
        entrance.connect(entrances[0])
        assert entrance.recv(1) == b""


def startup(user="postgres"):
    return packet(196608, "user", user, "database", "postgres")


def test_a_channel_is_authenticated(linked):
    """A link gives no rights: its channels are clients as any other."""
    _, gateways = linked
    gateways[1].set_rules("host all nobody 127.0.0.1/32 reject")
    try:
        with closing(RawLink(gateways[1])) as link:
            link.send(frame(1, OPEN), frame(1, DATA, startup("nobody")))
            assert b"pg_hba.conf rejects connection" in link.said(1)
            link.send(frame(2, OPEN), frame(2, DATA, packet(196608, "user", "postgres", "citus.gateway_process", "0")))
            assert b"can't be a gateway process" in link.said(2)
            link.send(frame(3, OPEN), frame(3, DATA, startup()))
            assert next(link.frames(lambda *_: True))[:2] in ((3, DATA), (3, 5))
    finally:
        gateways[1].set_rules("")


WRONG = {
    "kind": frame(1, 0), "kind 8": frame(1, 8), "kind 255": frame(1, 255), "not opened": frame(1, DATA, b"x"),
    "open with data": frame(1, OPEN, b"x"), "open 0": frame(0, OPEN), "room for nobody": frame(7, WINDOW, b"1234"),
    "open twice": frame(1, OPEN) + frame(1, OPEN), "too much room": frame(1, OPEN) + frame(1, WINDOW, b"1234"),
    "short window": frame(1, OPEN) + frame(1, WINDOW, b"1"), "long cancel": frame(1, OPEN) + frame(1, CANCEL, b"12345"),
    "short key": frame(1, OPEN) + frame(1, KEY, b"1"), "too long": frame(1, DATA, b"x" * (SIZE + 1)), "noise": b"\xff" * 100,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_frames_end_the_link(linked, wrong):
    made, gateways = linked
    before = gateways[1].processes()
    with closing(RawLink(gateways[1])) as link:
        link.send(WRONG[wrong])
        assert link.is_closed()
    assert gateways[1].processes() == before
    assert connect_works(made)


def test_frames_of_channels_that_have_ended(linked):
    """They may have been under way, so they are no reason to end the link."""
    _, gateways = linked
    with closing(RawLink(gateways[1])) as link:
        link.send(frame(1, OPEN), frame(1, CLOSE), frame(1, DATA, b"x" * 100), frame(1, WINDOW, b"\0\0\0\1"), frame(1, CLOSE),
                  frame(2, OPEN), frame(2, DATA, startup("nobody-at-all")))
        assert b"nobody-at-all" in link.said(2)


def test_random_frames(linked):
    made, gateways = linked
    before = gateways[1].processes()
    source = random.Random(SEED)
    for _ in range(100):
        with closing(RawLink(gateways[1])) as link:
            for number in range(1, 30):
                if not link.send(frame(source.randrange(1, number + 1), OPEN),
                                 frame(source.randrange(1, number + 1), source.choice([DATA, DATA, DATA, CLOSE, CANCEL, OPEN]),
                                       source.choice([b"", b"abcd", startup(), startup("x"), source.randbytes(50)]))):
                    break
    assert gateways[1].processes() == before
    assert connect_works(made)


def test_a_link_that_does_not_read(linked):
    """Requests whose answers nobody takes end the link instead of filling the gateway's memory."""
    _, gateways = linked
    before = memory_of(gateways[1])
    with closing(RawLink(gateways[1])) as link:
        link.socket.settimeout(servers.PATIENCE)
        assert link.send(frame(1, OPEN))
        cancels = frame(1, CANCEL, b"1234") * 10000
        started = time.monotonic()
        while link.send(cancels) and time.monotonic() - started < servers.PATIENCE:
            assert memory_of(gateways[1]) - before < 50_000
    assert gateways[1].answers()


def test_more_than_there_is_room_for(linked):
    """Data that the other side hasn't asked for, for a session that doesn't read."""
    _, gateways = linked
    with closing(RawLink(gateways[1])) as link:
        link.send(frame(1, OPEN), frame(1, DATA, startup()))
        assert any(b"Z\0\0\0\5I" in found[2] for found in link.frames(lambda _, kind, data: b"Z\0\0\0\5I" in data))
        link.send(frame(1, DATA, message(b"Q", b"SELECT pg_sleep(100)\0")))
        while link.send(frame(1, DATA, b"x" * SIZE)):
            pass
        assert link.is_closed()
    with servers.connect(gateways[1].node) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)'")


def test_windows(linked):
    """A channel gets as much as it has room for, and then others go on; with more room, it gets the rest."""
    _, gateways = linked
    with closing(RawLink(gateways[1])) as link:
        for channel in (1, 2):
            link.send(frame(channel, OPEN), frame(channel, DATA, startup()))
        taken = {1: b"", 2: b""}

        def read_until(condition):
            for found in link.frames(lambda *_: condition()):
                assert found is not None and len(found[2]) <= SIZE
                if found[1] == DATA:
                    taken[found[0]] += found[2]
                if condition():
                    return

        read_until(lambda: all(text.endswith(b"Z\0\0\0\5I") for text in taken.values()))
        room = ROOM - len(taken[1])
        taken.update({1: b"", 2: b""})
        link.send(frame(1, DATA, message(b"Q", b"SELECT repeat('x', 3000000)\0")))
        read_until(lambda: len(taken[1]) == room)
        link.send(frame(2, DATA, message(b"Q", b"SELECT 1\0")))
        read_until(lambda: taken[2].endswith(b"Z\0\0\0\5I"))
        assert len(taken[1]) == room
        while not taken[1].endswith(b"Z\0\0\0\5I"):
            before = len(taken[1])
            link.send(frame(1, WINDOW, struct.pack("!I", SIZE)))
            read_until(lambda: len(taken[1]) == before + SIZE or taken[1].endswith(b"Z\0\0\0\5I"))
        assert taken[1].count(b"x") >= 3000000


def session_on(link, channel, name):
    """Opens a channel, and logs in with an application's name; returns how many bytes were said."""
    link.send(frame(channel, OPEN), frame(channel, DATA, packet(196608, "user", "postgres", "database", "postgres",
                                                                "application_name", name)))
    found = link.frames(lambda _, __, data: data.endswith(b"Z\0\0\0\5I"))
    said = b"".join(item[2] for item in found if item is not None and item[1] == DATA)
    assert said.endswith(b"Z\0\0\0\5I")
    return len(said)


def cpu_seconds(gateway):
    total = 0
    for pid in gateway.processes():
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            total += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def test_a_session_that_has_ended_before_its_answer_is_taken(linked):
    """The gateway waits for the reader without work, and then passes all of the answer."""
    _, gateways = linked
    size = ROOM + 250_000       # more than what the gateway takes; the rest is in the socket
    with closing(RawLink(gateways[1])) as link, servers.connect(gateways[1].node) as server:
        taken = session_on(link, 1, "left")
        link.send(frame(1, DATA, message(b"Q", b"SELECT repeat('x', %d)\0" % size) + message(b"X", b"")))
        text = b""
        while len(text) < ROOM - taken:
            text += next(link.frames(lambda *_: True))[2]
        wait_until(lambda: value(server, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'left'") == 0,
                   "the session to end")
        before = cpu_seconds(gateways[1])
        server.execute("SELECT pg_sleep(0.6)")
        assert cpu_seconds(gateways[1]) - before < 0.3
        link.send(frame(1, WINDOW, struct.pack("!I", ROOM)))
        for found in link.frames(lambda _, kind, __: kind == CLOSE):
            assert found is not None
            if found[1] == DATA:
                text += found[2]
        assert text.count(b"x") == size


def test_what_a_session_says_to_nobody_takes_no_memory(linked):
    """A session that answers, and doesn't read, and whose channel has been closed."""
    _, gateways = linked
    before = memory_of(gateways[1])
    with closing(RawLink(gateways[1])) as link, servers.connect(gateways[1].node) as server:
        session_on(link, 1, "unheard")
        link.send(frame(1, DATA, message(b"Q", b"SELECT pg_sleep(1); COPY (SELECT repeat('x', 10000), "
                                               b"generate_series(1, 100000000)) TO STDOUT\0")))
        for _ in range(200):        # more than its socket takes
            link.send(frame(1, DATA, message(b"Q", b"SELECT 1" + b" " * (SIZE - 100) + b"\0")))
        link.send(frame(1, CLOSE))
        seen = [0]

        def waits_or_has_said_much():
            found = value(server, "SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy")
            seen.append(found)
            return found >= 20000 or 0 < found == seen[-2]

        try:
            wait_until(waits_or_has_said_much, "the session to say something")
            assert memory_of(gateways[1]) - before < 50_000
        finally:
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'unheard'")


def sockets_of(gateway):
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in gateway.processes())


def test_channels_that_are_not_let_in_have_an_end(linked):
    """Of those that nobody listens to, there are no more than there may be clients."""
    _, gateways = linked
    most, last = 0, 0
    with closing(RawLink(gateways[2])) as link:
        link.socket.settimeout(servers.PATIENCE)
        while last < 100_000:
            frames = [frame(number, OPEN) + frame(number, DATA, b"\0\0\0\1") for number in range(last + 1, last + 500)]
            if not link.send(*frames):
                break
            last += 499
            most = max(most, sockets_of(gateways[2]))
        assert most < 2 * MAX_CLIENTS + 200
    assert gateways[2].answers()


def test_links_have_a_limit(linked):
    """They are made by whoever comes, as clients' connections are."""
    _, gateways = linked
    with ExitStack() as stack:
        for _ in range(MAX_CLIENTS + 10):
            try:
                stack.enter_context(closing(RawLink(gateways[2])))
            except AssertionError:
                break
        else:
            pytest.fail("there are more links than there may be clients")
    wait_until(lambda: sockets_of(gateways[2]) < MAX_CLIENTS // 2, "the links to be closed")
    with closing(RawLink(gateways[2])) as link:
        session_on(link, 1, "one of few")


@contextmanager
def server_user(node):
    """Sockets are connected by the server's user, if this one may do so."""
    own, other = os.geteuid(), os.stat(node.data).st_uid
    if own != other:
        os.seteuid(other)
    try:
        yield
    finally:
        os.seteuid(own)


def enter(node):
    """A connection to the socket of the first process of a node's gateway, as one of its sessions."""
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(servers.PATIENCE)
    with server_user(node):
        made.connect(os.path.join(node.data, "pg_stat_tmp", ".s.PGSQL.1"))
    return made


def tunnel_to(port, sslmode):
    """What a session says to get to a gateway."""
    request = f"127.0.0.1\n{port}\n{sslmode}\n\n\n".encode().hex() + ".0200" + port.to_bytes(2).hex() + "7f000001" + "00" * 8
    return packet(196608, "user", "postgres", "options", f"-c citus.gateway_tunnel={request}")


def test_encryption_that_is_agreed_but_does_not_begin(linked):
    """The gateway waits without work, and no longer because others want to get there, too, and give up."""
    _, gateways = linked
    node = gateways[1].node
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(servers.PATIENCE)
        port = listener.getsockname()[1]
        session = stack.enter_context(enter(node))
        session.sendall(tunnel_to(port, "require"))
        peer = stack.enter_context(listener.accept()[0])
        peer.settimeout(servers.PATIENCE)
        assert peer.recv(8, socket.MSG_WAITALL)[4:] == struct.pack("!I", 1234 << 16 | 5679)
        peer.sendall(b"S")
        assert peer.recv(1) == b"\x16"
        before = cpu_seconds(gateways[1])
        with servers.connect(node) as server:
            server.execute("SELECT pg_sleep(0.6)")
        assert cpu_seconds(gateways[1]) - before < 0.3
        started = time.monotonic()
        session.setblocking(False)
        while time.monotonic() - started < 20:
            with closing(enter(node)) as other:
                other.sendall(tunnel_to(port, "require"))
                time.sleep(0.1)
            try:
                assert b"timeout" in session.recv(10000)
                break
            except BlockingIOError:
                pass
        else:
            pytest.fail("the link is not given up")


def test_only_who_was_asked_tells_that_a_request_is_taken(linked):
    """Not what has made a link itself: until the node's server has a request to cancel, its connection is open."""
    _, gateways = linked
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(servers.PATIENCE)
        port = listener.getsockname()[1]
        session = stack.enter_context(enter(gateways[1].node))
        session.sendall(tunnel_to(port, "disable"))
        peer = stack.enter_context(listener.accept()[0])
        peer.settimeout(servers.PATIENCE)
        assert peer.recv(12, socket.MSG_WAITALL) == REQUEST
        peer.sendall(b"L" + frame(1, KEY, struct.pack("!II", 77, 88)) + frame(1, DATA, b"known"))
        assert session.recv(5, socket.MSG_WAITALL) == b"known"
        cancel = stack.enter_context(enter(gateways[1].node))
        cancel.sendall(struct.pack("!IIII", 16, 1234 << 16 | 5678, 77, 88))
        said = b""
        while len(said) < 12 or said[-12:-4] != struct.pack("!II", 1, CANCEL << 24 | 4):
            said += peer.recv(1000)
        stranger = stack.enter_context(closing(RawLink(gateways[1])))
        stranger.send(frame(1, OPEN), *(frame(1, CANCELED, struct.pack("!I", number)) for number in range(100)),
                      frame(1, DATA, startup("nobody-at-all")))
        assert b"nobody-at-all" in stranger.said(1)
        cancel.setblocking(False)
        with pytest.raises(BlockingIOError):
            cancel.recv(1)
        cancel.settimeout(servers.PATIENCE)
        peer.sendall(frame(1, CANCELED, said[-4:]))
        assert cancel.recv(1) == b""


def test_a_gateway_that_ends_after_its_server_has_restarted(linked):
    """If the server restarts without waiting for it, the successor begins when it has ended, and its socket stays."""
    made, gateways = linked
    entrance = os.path.join(gateways[2].node.data, "pg_stat_tmp", ".s.PGSQL.1")
    old, = gateways[2].processes()
    mark = gateways[2].node.log_mark()
    with open(f"/proc/{old}/stat", encoding="ascii") as file:
        supervisor = int(file.read().rpartition(")")[2].split()[1])
    os.kill(old, signal.SIGSTOP)
    try:
        os.kill(supervisor, signal.SIGKILL)
        wait_until(lambda: "ready to accept connections" in gateways[2].node.log_since(mark), "the server to restart")
        assert gateways[2].processes() == [old]
    finally:
        os.kill(old, signal.SIGCONT)
    wait_until(lambda: not os.path.exists(f"/proc/{old}"), "the old process to end")
    wait_until(lambda: gateways[2].processes() not in ([], [old]) and os.path.exists(entrance), "its successor's socket")
    wait_until(lambda: connect_works(made), "the nodes to be reached")


def test_a_cancel_request_for_nobody(linked):
    """One with zeros hits no session that is about to be connected, and none of its bytes get between."""
    _, gateways = linked
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(servers.PATIENCE)
        session = stack.enter_context(enter(gateways[1].node))
        session.sendall(tunnel_to(listener.getsockname()[1], "disable"))
        peer = stack.enter_context(listener.accept()[0])
        peer.settimeout(servers.PATIENCE)
        assert peer.recv(12, socket.MSG_WAITALL) == REQUEST
        cancel = stack.enter_context(enter(gateways[1].node))
        cancel.sendall(struct.pack("!IIII", 16, 1234 << 16 | 5678, 0, 0))
        assert cancel.recv(1) == b""
        peer.sendall(b"L")
        assert peer.recv(8, socket.MSG_WAITALL) == frame(1, OPEN)


@pytest.fixture(scope="module")
def encrypted():
    """A cluster with TLS and passwords, the second worker without a gateway of its own."""
    with servers.cluster(purpose="check-transport-tls") as made:
        authority = Authority(made.coordinator.data)
        for node in made.nodes:
            certificate, key = authority.issue(node.name, "localhost")
            node.sql(f"ALTER SYSTEM SET ssl = on; ALTER SYSTEM SET ssl_cert_file = '{certificate}'; "
                     f"ALTER SYSTEM SET ssl_key_file = '{key}'; ALTER SYSTEM SET citus.transport = multiplexed; "
                     f"ALTER SYSTEM SET citus.node_conninfo = 'sslmode=verify-ca sslrootcert={authority.root}'; "
                     "SET citus.enable_ddl_propagation = off; CREATE ROLE alice LOGIN PASSWORD 'secret'")
        gateways = [Gateway(node) for node in made.nodes[:2]]
        made.workers[1].restart()
        for gateway in gateways:
            gateway.set_rules("hostssl all alice 127.0.0.1/32 scram-sha-256\nhost all alice 127.0.0.1/32 reject")
        with servers.connect(made.coordinator) as connection:
            connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
            connection.execute("SELECT create_distributed_table('t', 'id')")
            connection.execute("INSERT INTO t SELECT generate_series(1, 100)")
            connection.execute("GRANT SELECT ON t TO alice")
        yield made, gateways, authority


@contextmanager
def poolinfo(made, gateway, host="localhost"):
    """The coordinator reaches the first worker by its gateway."""
    with servers.connect(made.coordinator) as connection:
        connection.execute("INSERT INTO pg_dist_poolinfo SELECT nodeid, %s FROM pg_dist_node WHERE nodeport = %s",
                           [f"host={host} port={gateway.port}", gateway.node.port])
        try:
            yield connection
        finally:
            connection.execute("DELETE FROM pg_dist_poolinfo")


def set_conninfo(connection, text):
    connection.execute(f"ALTER SYSTEM SET citus.node_conninfo = '{text}'")
    connection.execute("SELECT pg_reload_conf()")
    wait_until(lambda: value(connection, "SHOW citus.node_conninfo") == text, "the setting to be read")


def test_links_are_encrypted_and_verified(encrypted):
    made, gateways, authority = encrypted
    with servers.connect(made.coordinator) as connection:
        query = f"SELECT id FROM t WHERE id = {keys_by_node(connection)[made.workers[0].port]}"
    with poolinfo(made, gateways[1], "127.0.0.1") as connection:
        with servers.connect(made.coordinator) as client:
            assert value(client, "SELECT count(*) FROM t") == 100
            assert internal_sessions(made.workers[0])[1] > 0
            assert connections_to(gateways)[1] == 1
        set_conninfo(connection, f"sslmode=verify-full sslrootcert={authority.root}")
        with servers.connect(made.coordinator) as client:
            with pytest.raises(psycopg.OperationalError, match="could not connect to node"):
                client.execute(query)   # the certificate is for another name
        connection.execute("UPDATE pg_dist_poolinfo SET poolinfo = replace(poolinfo, '127.0.0.1', 'localhost')")
        with servers.connect(made.coordinator) as client:
            assert len(rows(client, query)) == 1
        set_conninfo(connection, f"sslmode=verify-ca sslrootcert={authority.root}")


def test_much_goes_through_an_encrypted_link(encrypted):
    made, gateways, _ = encrypted
    with poolinfo(made, gateways[1]), servers.connect(made.coordinator) as client:
        client.execute("CREATE TABLE wide (id int, text text)")
        client.execute("SELECT create_distributed_table('wide', 'id')")
        with client.cursor() as cursor:
            with cursor.copy("COPY wide FROM STDIN") as copy:
                for key in range(ROWS // 3):
                    copy.write_row((key, f"{key:01000}"))
            with cursor.copy("COPY wide TO STDOUT") as copy:
                found = sum(int(line.split(b"\t")[1]) for line in b"".join(copy).splitlines())
        assert found == sum(range(ROWS // 3))
        assert internal_sessions(made.workers[0])[1] > 0
        client.execute("DROP TABLE wide")


def test_passwords_go_through(encrypted):
    """A role that the other node asks for a password, by TLS only."""
    made, gateways, _ = encrypted
    alice = {"user": "alice", "password": "secret", "sslmode": "require"}
    with poolinfo(made, gateways[1]) as connection:
        with servers.connect(made.coordinator, **alice) as client:
            with pytest.raises(psycopg.OperationalError) as caught:
                client.execute("SELECT count(*) FROM t")
            assert "no password supplied" in caught.value.diag.message_detail
        connection.execute("INSERT INTO pg_dist_authinfo VALUES (0, 'alice', 'password=wrong')")
        with servers.connect(made.coordinator, **alice) as client:
            with pytest.raises(psycopg.OperationalError) as caught:
                client.execute("SELECT count(*) FROM t")
            assert "password authentication failed" in caught.value.diag.message_detail
        connection.execute("UPDATE pg_dist_authinfo SET authinfo = 'password=secret'")
        with servers.connect(made.coordinator, **alice) as client:
            assert value(client, "SELECT count(*) FROM t") == 100
            with servers.connect(made.workers[0]) as worker:
                assert rows(worker, "SELECT DISTINCT client_addr FROM pg_stat_activity WHERE usename = 'alice' "
                            "AND application_name LIKE 'citus_internal%'") == [(None,)]


def test_a_session_that_the_gateway_can_not_log_in(encrypted):
    """The client has been authenticated, but the server asks the gateway for more: the reason is told."""
    made, gateways, _ = encrypted
    gateways[1].set_rules("local all bob md5\nhostssl all bob 127.0.0.1/32 trust")
    for node in made.nodes:
        node.sql("SET citus.enable_ddl_propagation = off; CREATE ROLE bob LOGIN")
    with poolinfo(made, gateways[1]) as connection:
        connection.execute("GRANT SELECT ON t TO bob")
        with servers.connect(made.coordinator, "bob") as client:
            with pytest.raises(psycopg.OperationalError) as caught:
                client.execute("SELECT count(*) FROM t")
            assert "could not log in to the server as user \"bob\"" in caught.value.diag.message_detail
    gateways[1].set_rules("hostssl all alice 127.0.0.1/32 scram-sha-256\nhost all alice 127.0.0.1/32 reject")


def test_encryption_that_is_required_but_not_there(encrypted):
    """Neither a link without it, nor a direct connection, is made instead."""
    made, gateways, _ = encrypted
    with servers.connect(made.workers[0]) as worker:
        worker.execute("ALTER SYSTEM SET ssl = off")
    made.workers[0].restart()
    try:
        wait_until(gateways[1].answers, "the gateway to start")
        with poolinfo(made, gateways[1]), servers.connect(made.coordinator) as client:
            with pytest.raises(psycopg.OperationalError) as caught:
                client.execute("SELECT count(*) FROM t")
            assert "SSL was required" in caught.value.diag.message_detail
    finally:
        with servers.connect(made.workers[0]) as worker:
            worker.execute("ALTER SYSTEM SET ssl = on")
        made.workers[0].restart()
        wait_until(gateways[1].answers, "the gateway to start")


def test_a_node_without_a_gateway(encrypted):
    """It takes the others' for poolers, as with citus.transport = direct."""
    made, gateways, _ = encrypted
    with servers.connect(made.workers[1]) as worker:
        worker.execute("INSERT INTO pg_dist_poolinfo SELECT nodeid, %s FROM pg_dist_node WHERE nodeport = %s",
                       [f"host=localhost port={gateways[1].port}", gateways[1].node.port])
        with servers.connect(made.workers[1]) as client:
            assert value(client, "SELECT count(*) FROM t") == 100
            assert connections_to(gateways)[1] == 1
        worker.execute("DELETE FROM pg_dist_poolinfo")
