"""The gateway speaks the protocol as the server does: each client here sends its messages itself."""

import socket
import struct
from contextlib import closing

import pytest

from harness import servers
from harness.gateways import Gateway
from harness.protocol_fuzz import message
from harness.raw_client import DESCRIBE, EXECUTE, FLUSH, SYNC, TERMINATE, Direct, RawClient, bind, described_columns, error_fields, packet, parse, query

KEYS = 8


@pytest.fixture(scope="module")
def gateway():
    """A cluster's gateway, whose statements on a row of the table go to two nodes."""
    with servers.cluster(purpose="check-gateway-protocol", workers=2) as made:
        with servers.connect(made.coordinator) as connection:
            connection.execute("CREATE TABLE keyed (id int PRIMARY KEY, v text)")
            connection.execute("SELECT create_distributed_table('keyed', 'id', shard_count => 4)")
            connection.execute(f"INSERT INTO keyed SELECT g, 'v' || g FROM generate_series(1, {KEYS}) g")
        yield Gateway(made.coordinator, {"gateway_pool_size": 4})


@pytest.fixture
def both(gateway):
    """The server itself, and its gateway."""
    return Direct(gateway.node), gateway


def routed(gateway):
    with servers.connect(gateway.node) as server:
        return int(servers.value(server, "SELECT sum(routed) FROM citus_stat_gateway"))


def test_first_packets(gateway):
    with gateway.socket() as sock:
        sock.sendall(packet(80877103))
        assert sock.recv(1) == b"N"
    for garbage in (message(b"X", b""), b"\0\0\0\4", b"GET / HTTP/1.0\r\n\r\n", struct.pack("!ii", 20000, 196608)):
        with gateway.socket() as sock:
            sock.sendall(garbage)
            assert sock.recv(1) == b"", garbage
    for wrong in (packet(131072, "user", "x"), packet(196608, "database", "postgres"), packet(196608, "user", "postgres", "replication", "true"),
                  packet(196608, "user", "postgres", "citus.gateway_process", "0" * 64 + " session"),
                  struct.pack("!ii", 12, 196608) + b"user"):
        with gateway.socket() as sock:
            sock.sendall(wrong)
            answer = sock.recv(10000)
            assert answer[:1] == b"E" and b"FATAL" in answer, wrong
            assert sock.recv(1) == b""
    with gateway.socket() as sock:
        sock.sendall(struct.pack("!iiii", 16, 80877102, 1 << 24 | 1, 12345))
        assert sock.recv(1) == b""


@pytest.mark.parametrize("minor, options", [(0, ()), (2, ()), (9999, ()), (0, ("_pq_.new", "1")), (2, ("_pq_.new", "1"))])
def test_newer_protocols(both, minor, options):
    """The client learns the newest one that both know, and goes on with it."""
    found = []
    for where in both:
        with closing(RawClient(where, settings=options, version=196608 + minor)) as client:
            found.append(client.versions)
            assert client.value("SELECT 1") == "1"
    assert found[1] == found[0]


@pytest.mark.parametrize("messages", [
    [message(b"H", b"more"), parse("SELECT 1"), query("SELECT 1"), SYNC],
    [message(b"S", b"more"), SYNC],
    [parse("SELECT 1"), message(b"S", b"more"), bind(), EXECUTE, SYNC],
    [query("BEGIN"), message(b"S", b"more"), message(b"H", b"more"), SYNC, query("ROLLBACK")],
    [parse("SELECT 1/0"), bind(), EXECUTE, message(b"S", b"more"), parse("SELECT 1"), bind(), EXECUTE, SYNC],
    [message(b"P", b"name"), SYNC],
    [message(b"P", b""), query("SELECT 1"), SYNC],
    [message(b"P", b"name\0SELECT 1"), SYNC],
    [message(b"P", b"name\0SELECT 1\0\0\0more"), SYNC],
    [message(b"B", b""), SYNC],
    [message(b"B", b"portal"), SYNC],
    [message(b"B", b"portal\0statement"), SYNC],
    [parse("SELECT 1"), message(b"B", b"\0\0"), EXECUTE, SYNC],
    [parse("SELECT 1"), message(b"B", b"\0\0\0\0\0\1\0\0\0\7x"), EXECUTE, SYNC],
    [parse("SELECT 1", "mine"), message(b"D", b"Smine"), SYNC, message(b"D", b"Smine\0more"), SYNC, message(b"C", b"Smine\0more"), SYNC],
    [message(b"D", b""), SYNC, message(b"D", b"S"), SYNC, message(b"D", b"Q\0"), SYNC, message(b"C", b""), SYNC],
    [message(b"E", b""), SYNC, message(b"E", b"\0\0"), SYNC],
    [message(b"Q", b"SELECT 1"), message(b"Q", b""), message(b"F", b"\0")],
    [message(b"p", b"password\0")],
    [message(b"?", b"")],
    [b"Q\0\0\0\3"],
    [b"D\0\1\0\0"],
    [b"Q\x7f\xff\xff\xff"],
], ids=str)
def test_damaged_messages(both, messages):
    """They are an ERROR, a FATAL, or the end of the connection, as the server says."""
    found = []
    for where in both:
        with closing(RawClient(where)) as client:
            client.socket.sendall(b"".join(messages) + query("SELECT 'end'"))
            told = b""
            while not told.endswith(b"end") and (head := client.input.read(5)):
                payload = client.input.read(struct.unpack("!I", head[1:])[0] - 4)
                if head[:1] == b"E":
                    fields = error_fields(payload)
                    payload = repr([fields[key] for key in "SCM"]).encode()
                told += head[:1] + payload
            found.append(told)
    assert found[1] == found[0]


def test_tables_of_columns(gateway):
    """A row description names the table as the client's server knows it, or none."""
    with closing(RawClient(gateway)) as client:
        own = client.value("SELECT 'keyed'::regclass::oid::int")
        before, seen = routed(gateway), set()
        client.ask(parse("SELECT id, v FROM keyed WHERE id = $1", "s"), message(b"D", b"Ss\0"), SYNC)
        seen.update(client.columns)
        for number in range(40):
            key = str(number % KEYS + 1)
            assert client.ask(bind(key, name="s"), DESCRIBE, EXECUTE, SYNC) == b"2TDCZ"
            seen.update(client.columns)
            assert client.ask(query(f"SELECT id, v FROM keyed WHERE id = {key}")) == b"TDCZ"
            seen.update(client.columns)
        servers.wait_until(lambda: routed(gateway) > before, "statements to be routed")
        assert seen == {(int(own), 1), (int(own), 2), (0, 0)}


def test_address_of_the_server(gateway):
    """It is that of the client's connection, wherever the statement runs."""
    with closing(RawClient(gateway)) as client:
        for number in range(20):
            assert client.value("SELECT inet_server_port()") == str(gateway.port)
            assert client.value("SELECT host(inet_server_addr())") == "127.0.0.1"
            assert client.value(f"SELECT inet_server_port() FROM keyed WHERE id = {number % KEYS + 1}") == str(gateway.port)


def test_number_of_a_client(both):
    """It is the client's process id from its start to its end, whatever session it has."""
    _, gateway = both
    with closing(RawClient(gateway)) as client, closing(RawClient(gateway)) as other, closing(RawClient(gateway)) as third:
        for holder in (other, third):
            holder.ask(query("BEGIN; SELECT 1"))
            assert client.value("SELECT pg_backend_pid()") == str(client.pid)
            assert client.value("SELECT * FROM pg_backend_pid()") == str(client.pid)
            assert client.value(f"SELECT pg_backend_pid() FROM keyed WHERE id = {client.pid % KEYS + 1}") == str(client.pid)
            assert client.value("SELECT pid FROM pg_stat_activity WHERE query LIKE '%myself%'") == str(client.pid)
            assert client.value("SELECT pid FROM pg_stat_get_activity(pg_backend_pid())") == str(client.pid)
            assert client.value("SELECT DISTINCT pid FROM pg_locks WHERE relation = 'pg_locks'::regclass") == str(client.pid)
        assert third.value("SELECT pg_backend_pid()") == str(third.pid)
        assert third.value(f"SELECT count(*) FROM pg_stat_activity WHERE pid IN ({client.pid}, {other.pid})") == "2"
        assert third.value(f"SELECT state FROM pg_stat_activity WHERE pid = {client.pid}") == "idle"
        assert third.value(f"SELECT state FROM pg_stat_get_activity({other.pid})") == "idle in transaction"
        with servers.connect(gateway.node) as server:
            assert int(servers.value(server, "SELECT max(pid) FROM pg_stat_activity")) < third.pid


def test_who_blocks(gateway):
    with closing(RawClient(gateway)) as holder, closing(RawClient(gateway)) as waiter, closing(RawClient(gateway)) as observer:
        holder.ask(query("BEGIN; SELECT pg_advisory_xact_lock(29)"))
        waiter.socket.sendall(query("SELECT pg_advisory_xact_lock(29)"))
        servers.wait_until(lambda: observer.value(f"SELECT pg_blocking_pids({waiter.pid})") == f"{{{holder.pid}}}", "the lock to be waited for")
        assert observer.value("SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'advisory'") == str(waiter.pid)
        holder.ask(query("ROLLBACK"))
        assert waiter.answers_until(b"Z") == b"TDCZ"


def test_number_of_a_notifier(gateway):
    with closing(RawClient(gateway)) as listener, closing(RawClient(gateway)) as speaker:
        listener.ask(query("LISTEN news"))
        listener.ask(query("NOTIFY news, 'own'"))
        speaker.ask(query("NOTIFY news, 'hello'"))
        servers.wait_until(lambda: listener.ask(query("SELECT 1")) and len(listener.notified) == 2, "the notifications")
        assert listener.notified == [listener.pid, speaker.pid]


def wait_for_sleep(gateway):
    with servers.connect(gateway.node) as server:
        servers.wait_until(lambda: servers.value(server, "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(1000)' "
                                                         "AND state = 'active'"), "the statement to run")


@pytest.mark.parametrize("where", ["gateway", "server"])
def test_clients_ended_by_their_number(both, where):
    """Those that do nothing, those in a transaction, those that run or wait, and oneself; from any session of the server."""
    direct, gateway = both
    with closing(RawClient(gateway if where == "gateway" else direct)) as admin:
        for begin, messages in [("SELECT 1", b""), ("BEGIN", b""), ("BEGIN; SELECT 1", b""), ("LISTEN news", b""),
                                ("SELECT 1", query("SELECT pg_sleep(1000)"))]:
            victim = RawClient(gateway)
            victim.ask(query(begin))
            victim.socket.sendall(messages)
            if messages:
                wait_for_sleep(gateway)
            assert admin.value(f"SELECT pg_terminate_backend({victim.pid})") == "t"
            assert victim.answers_until(b"") == b"E"
            assert error_fields(victim.error)["C"] == "57P01"
            assert admin.ask(query(f"SELECT pg_terminate_backend({victim.pid})")) == b"TNDCZ"
            victim.close()
        victim = RawClient(gateway)
        assert admin.value(f"SELECT pg_terminate_backend({victim.pid}, 10000)") == "t"
        assert victim.answers_until(b"") == b"E"
        victim.close()
    itself = RawClient(gateway)
    assert itself.ask(query("SELECT pg_terminate_backend(pg_backend_pid())"), until=b"").endswith(b"E")
    assert error_fields(itself.error)["C"] == "57P01"
    itself.close()


@pytest.mark.parametrize("where", ["gateway", "server"])
def test_statements_cancelled_by_their_clients_number(both, where):
    direct, gateway = both
    with closing(RawClient(gateway if where == "gateway" else direct)) as admin, closing(RawClient(gateway)) as victim:
        assert admin.value(f"SELECT pg_cancel_backend({victim.pid})") == "t"
        assert victim.value("SELECT 1") == "1"
        victim.socket.sendall(query("SELECT pg_sleep(1000)"))
        wait_for_sleep(gateway)
        assert admin.value(f"SELECT pg_cancel_backend({victim.pid})") == "t"
        assert victim.answers_until(b"Z") == b"TEZ"
        assert error_fields(victim.error)["C"] == "57014"
        assert victim.ask(query("SELECT pg_cancel_backend(pg_backend_pid())"))[-2:] == b"EZ"


def test_who_may_end_clients(gateway):
    """Rights are those that the server asks for about sessions."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE ROLE ender LOGIN; CREATE ROLE other_ender LOGIN")
        try:
            with closing(RawClient(gateway, "ender")) as ender, closing(RawClient(gateway)) as super_client, \
                    closing(RawClient(gateway, "ender")) as own, closing(RawClient(gateway, "other_ender")) as other:
                for victim in (super_client, other):
                    for order in ("cancel", "terminate"):
                        assert ender.ask(query(f"SELECT pg_{order}_backend({victim.pid})")) == b"TEZ"
                        assert error_fields(ender.error)["C"] == "42501"
                    assert victim.value("SELECT 1") == "1"
                    assert ender.value(f"SELECT state IS NULL FROM pg_stat_activity WHERE pid = {victim.pid}") == "t"
                assert ender.value(f"SELECT pg_terminate_backend({own.pid}, 10000)") == "t"
        finally:
            server.execute("DROP ROLE ender, other_ender")


NO_SYNC = [
    ([], [parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE]),
    ([], [parse("selec")]),
    ([], [parse("SELECT 1"), bind(), DESCRIBE, EXECUTE, parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE]),
    ([], [parse("BEGIN"), bind(), EXECUTE, parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE]),
    ([], [parse("INSERT INTO keyed VALUES ($1, $2)"), bind("1", "double"), EXECUTE]),
    ([], [parse("SELECT v FROM keyed WHERE id = $1::int"), bind("x"), EXECUTE]),
    (["BEGIN"], [parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE]),
    (["BEGIN"], [parse("selec")]),
    (["BEGIN"], [parse("SELECT 1"), bind(), DESCRIBE, EXECUTE, FLUSH]),
    (["BEGIN"], [parse("INSERT INTO keyed VALUES ($1, $2)"), bind("1", "double"), EXECUTE]),
    (["BEGIN"], [parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE, query("SELECT 1")]),
    (["BEGIN", "SELECT 1"], [parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE]),
    (["BEGIN", "SELECT v FROM keyed WHERE id = 7"], [parse("INSERT INTO keyed VALUES ($1, $2)"), bind("7", "double"), EXECUTE]),
    (["BEGIN", "CREATE TEMP TABLE own (id int)"], [parse("SELECT 1/0"), bind(), DESCRIBE, EXECUTE]),
    (["BEGIN", "SELECT 1/0"], [parse("SELECT 1"), bind(), EXECUTE]),
]


@pytest.mark.parametrize("before, messages", NO_SYNC, ids=str)
def test_errors_without_sync(both, before, messages):
    """An error comes when the server has it, not when the client asks for answers; and all answers with a Flush."""
    found = []
    for where in both:
        for _ in range(3):
            with closing(RawClient(where)) as client:
                for text in before:
                    client.ask(query(text))
                answers = client.ask(*messages, until=b"C" if messages[-1] == FLUSH else b"E")
                found.append((answers, client.error, client.ask(SYNC)))
    assert [one[0] for one in found] == [found[0][0]] * 6
    assert [one[1] and error_fields(one[1])["C"] for one in found] == [found[0][1] and error_fields(found[0][1])["C"]] * 6
    assert [one[2] for one in found] == [found[0][2]] * 6


@pytest.fixture
def ended(gateway):
    with servers.connect(gateway.node) as server:
        server.execute("CREATE TABLE ended (id int)")
        yield server
        server.execute("DROP TABLE ended")


INSERT = [parse("INSERT INTO ended VALUES (1)"), bind(), EXECUTE]
BEGIN = [parse("BEGIN"), bind(), EXECUTE]
COMMIT = [parse("COMMIT"), bind(), EXECUTE]


@pytest.mark.parametrize("end", ["terminate", "shutdown", "close"])
@pytest.mark.parametrize("before, messages, kept", [
    (["BEGIN", "SELECT 1"], [*INSERT, *COMMIT], 1),
    (["BEGIN"], [*INSERT, *COMMIT], 1),
    ([], [*BEGIN, *INSERT, *COMMIT], 1),
    ([], [*BEGIN, SYNC, *INSERT, SYNC, *COMMIT, SYNC], 1),
    (["BEGIN", "INSERT INTO ended VALUES (1)"], [query("COMMIT")], 1),
    ([], [query("INSERT INTO ended VALUES (1)")], 1),
    ([], [*INSERT, SYNC, parse("SELECT 1")[:-3]], 1),
    ([], INSERT, 0),
    (["BEGIN"], [*INSERT, SYNC], 0),
    (["BEGIN", "SELECT v FROM keyed WHERE id = 7"], [*INSERT, query("COMMIT")], 1),
], ids=str)
def test_work_before_the_end(gateway, ended, end, before, messages, kept):
    """What a client has sent before it ends is done, as far as it has committed."""
    client = RawClient(gateway)
    for text in before:
        client.ask(query(text))
    client.socket.sendall(b"".join([*messages, *([TERMINATE] if end == "terminate" else [])]))
    if end == "shutdown":
        client.socket.shutdown(socket.SHUT_WR)
        client.answers_until(b"")
    client.close()
    if kept:
        servers.wait_until(lambda: servers.value(ended, "SELECT count(*) FROM ended") == 1, "the row")
    servers.wait_until(lambda: servers.value(ended, "SELECT sum(clients) FROM citus_stat_gateway") == 0, "the client to be gone")
    assert servers.value(ended, "SELECT count(*) FROM ended") == kept


def test_answers_after_the_end_of_the_input(gateway):
    """A client that has shut down its sending side only gets all of its answers."""
    client = RawClient(gateway)
    client.socket.sendall(query("SELECT repeat('x', 1000) FROM generate_series(1, 2000)"))
    client.socket.shutdown(socket.SHUT_WR)
    assert client.answers_until(b"") == b"T" + b"D" * 2000 + b"CZ"
    client.close()


def test_work_without_sync_begins(gateway):
    """It is done when it arrives; a client that has sent it doesn't idle."""
    with closing(RawClient(gateway)) as client, servers.connect(gateway.node) as server:
        client.ask(query("BEGIN"))
        client.ask(query("SET idle_in_transaction_session_timeout = '300ms'"))
        client.socket.sendall(parse("SELECT pg_advisory_lock(29)") + bind() + EXECUTE)
        servers.wait_until(lambda: servers.value(server, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 29"),
                           "the lock to be taken")
        assert servers.value(server, "SELECT pg_sleep(0.6)::text") == ""
        assert client.ask(SYNC) == b"12DCZ"
        assert client.ask(query("ROLLBACK"))[-1:] == b"Z"


STATEMENTS = "SELECT name, statement, parameter_types, from_sql FROM pg_prepared_statements ORDER BY from_sql, prepare_time"
LIST = query(STATEMENTS)
MINE = [parse("SELECT $1::int8 + 1", "mine"), SYNC]
OTHER = [parse("SELECT 'other'", 'Ot"her'), SYNC]


def extended(text, *values):
    return [parse(text), bind(*values), DESCRIBE, EXECUTE, SYNC]


@pytest.mark.parametrize("messages", [
    [LIST, *MINE, LIST, *OTHER, LIST, *MINE, LIST, message(b"C", b"Smine\0"), SYNC, LIST],
    [*MINE, *extended("SELECT 2"), *extended(STATEMENTS), *extended("SELECT count(*) FROM pg_prepared_statements")],
    [*MINE, query("EXECUTE mine(2)"), query("EXECUTE MINE (3)"), query("EXECUTE nobody"), query("EXPLAIN (COSTS OFF) EXECUTE mine(4)")],
    [*MINE, *extended("EXECUTE mine(2)"), *extended("EXECUTE mine($1)", "2"), *extended("EXECUTE nobody")],
    [*MINE, parse("EXECUTE mine(2)", "run"), SYNC, bind(name="run"), DESCRIBE, EXECUTE, SYNC, message(b"C", b"Smine\0"), SYNC,
     bind(name="run"), DESCRIBE, EXECUTE, SYNC],
    [*OTHER, query('EXECUTE "Ot""her"'), query('DEALLOCATE "Ot""her"'), LIST],
    [*MINE, query("DEALLOCATE mine"), LIST, query("DEALLOCATE mine"), *MINE, query("DEALLOCATE PREPARE mine"), bind("1", name="mine"), SYNC],
    [*MINE, *extended("DEALLOCATE mine"), LIST, bind("1", name="mine"), SYNC, *MINE, bind("1", name="mine"), EXECUTE, SYNC],
    [*MINE, query("DO $$ BEGIN EXECUTE 'DEALLOCATE mine'; END $$"), LIST],
    [*MINE, query("SELECT 1; DEALLOCATE mine; SELECT 2"), LIST],
    [*MINE, query("PREPARE mine AS SELECT 3"), query("PREPARE sql AS SELECT 3"), LIST, query("EXECUTE sql"), query("DEALLOCATE sql"), LIST],
    [*MINE, query("BEGIN"), query("EXECUTE mine(2)"), *OTHER, LIST, query("DEALLOCATE mine"), LIST, query("ROLLBACK"), LIST],
    [*MINE, query("BEGIN"), *extended("EXECUTE mine(2)"), query("SELECT 1/0"), query("EXECUTE mine(2)"), LIST, query("ROLLBACK"), LIST],
    [*MINE, parse("SELECT 1"), bind(), EXECUTE, parse("EXECUTE mine(5)"), bind(), EXECUTE, parse("DEALLOCATE mine"), bind(), EXECUTE,
     parse("EXECUTE mine(5)"), bind(), EXECUTE, SYNC, LIST],
    [*MINE, query("SELECT (pg_prepared_statement()).name"), query("SELECT count(pg_prepared_statement())")],
    [*MINE, *OTHER, query("DEALLOCATE ALL"), LIST, *MINE, query("DISCARD ALL"), LIST],
    [*MINE, bind("1", "2", name="mine"), SYNC, bind("x", name="mine"), EXECUTE, SYNC, query("DEALLOCATE nobody")],
    [parse("SELECT 1; SELECT 2", "two"), SYNC, parse("SELECT 1", "mine"), parse("SELECT 2", "mine"), SYNC, message(b"D", b"Stwo\0"), SYNC],
    [query("EXECUTE citus_gateway_1"), query("DEALLOCATE citus_gateway_1")],
], ids=str)
def test_prepared_statements_by_name(both, messages):
    """A client sees its statements under its names, and runs and drops them by SQL, whatever session it has."""
    found = []
    with closing(RawClient(both[1])) as stranger, closing(RawClient(both[1])) as holder:
        stranger.ask(parse("SELECT 'secret'", "theirs"), parse("SELECT 'secret too'", "mine"), SYNC)
        for where in both:
            with closing(RawClient(where)) as client:
                found.append([])
                for number, one in enumerate(messages):
                    client.socket.sendall(one)
                    if one[:1] not in b"QS":
                        continue
                    found[-1].append(told(client))
                    holder.ask(query("ROLLBACK" if number % 2 else "BEGIN; SELECT 1"))
    assert found[1] == found[0]


def told(client):
    """What comes up to the end of a statement."""
    found = []
    while not found or found[-1][0] != b"Z":
        head = client.input.read(5)
        payload = client.input.read(struct.unpack("!I", head[1:])[0] - 4)
        found.append((head[:1], [error_fields(payload)[key] for key in "SCM"] if head[:1] in b"EN" else
                      described_columns(payload) and b"" if head[:1] == b"T" else payload))
    return found


def test_names_of_others_stay_theirs(gateway):
    """A session that had names for one client has none of them for the next, nor for functions that look."""
    with servers.connect(gateway.node) as server:
        server.execute("CREATE FUNCTION looked() RETURNS bigint LANGUAGE plpgsql AS "
                       "$$ BEGIN RETURN (SELECT count(*) FROM pg_prepared_statements); END $$")
        try:
            with closing(RawClient(gateway)) as one, closing(RawClient(gateway)) as two:
                for _ in range(3):
                    one.ask(parse("SELECT 'secret'", "mine"), SYNC)
                    assert one.value("EXECUTE mine") == "secret"
                    assert two.value("SELECT looked()") == "0"
                    assert two.ask(query("EXECUTE mine")) == b"EZ"
                    one.ask(query("BEGIN"))
                    assert one.value("EXECUTE mine") == "secret"
                    one.ask(query("COMMIT"))
                    assert two.value("SELECT looked()") == "0"
                    assert one.ask(query("DEALLOCATE mine")) == b"CZ"
                dropped = [parse("SELECT 1 FROM gone", "of_gone"), SYNC]
                server.execute("CREATE TABLE gone (id int)")
                one.ask(*dropped)
                server.execute("DROP TABLE gone")
                assert one.ask(query("EXECUTE of_gone")) == b"EZ"
                assert one.ask(query("SELECT 1")) == b"TDCZ"
                assert one.ask(query("DEALLOCATE of_gone")) == b"CZ"
        finally:
            server.execute("DROP FUNCTION looked; DROP TABLE IF EXISTS gone")


def test_many_statements_before_a_sync(gateway):
    """Statements without a name that are sent at once leave nothing in the session."""
    count = 2500
    with closing(RawClient(gateway)) as client:
        one = parse("SELECT $1::int"), DESCRIBE, EXECUTE
        for before in ([], [query("BEGIN"), query("CREATE TEMP TABLE own ()")]):
            for message_before in before:
                client.ask(message_before)
            batch = b"".join(one[0] + bind(str(number)) + one[1] + one[2] for number in range(count))
            assert client.ask(batch, SYNC) == b"12TDC" * count + b"Z"
            assert client.row[6:] == str(count - 1).encode()
            assert client.ask(bind("7"), EXECUTE, SYNC) == b"2DCZ"
            assert client.ask(message(b"D", b"S\0"), SYNC) == b"tTZ"
            kept = client.value("SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource'")
            assert int(kept) < count / 10
        client.ask(query("ROLLBACK"))
        assert client.ask(bind("7"), EXECUTE, SYNC) == b"EZ"


@pytest.mark.parametrize("before", [[], ["BEGIN"], ["BEGIN", "CREATE TEMP TABLE own ()"]], ids=str)
@pytest.mark.parametrize("messages", [
    [parse("SELECT 1"), parse("SELECT 2"), bind(), EXECUTE, SYNC, bind(), EXECUTE, SYNC],
    [parse("SELECT 1"), parse("SELECT 2"), SYNC, message(b"C", b"S\0"), bind(), SYNC],
    [parse("SELECT 1"), parse("SELECT 2"), message(b"D", b"S\0"), message(b"C", b"S\0"), message(b"D", b"S\0"), SYNC],
    [parse("SELECT 1"), parse("SELECT 2"), parse("SELECT nothing"), SYNC, bind(), EXECUTE, SYNC],
    [parse("SELECT 1"), parse("SELECT 2"), bind(), EXECUTE, parse("SELECT 1/0"), bind(), EXECUTE, parse("SELECT 3"), SYNC, bind(), SYNC],
    [parse("SELECT 1"), parse("SELECT 2"), SYNC, query("SELECT 3"), bind(), SYNC],
    [parse("SELECT 1"), parse("SELECT 2"), SYNC, parse("SELECT 4", "named"), bind(name="named"), EXECUTE, SYNC, bind(), EXECUTE, SYNC,
     parse("SELECT 5", "named"), SYNC, bind(), EXECUTE, SYNC],
    [parse("SELECT 1"), parse("SET search_path = pg_catalog"), bind(), EXECUTE, parse("SELECT relname FROM pg_class WHERE oid = 1259"),
     SYNC, bind(), EXECUTE, SYNC],
], ids=str)
def test_statement_without_a_name(both, before, messages):
    """The last one of a client, whatever session it has then."""
    found = []
    with closing(RawClient(both[1])) as holder, closing(RawClient(both[1])) as other:
        for where in both:
            with closing(RawClient(where)) as client:
                for text in before:
                    client.ask(query(text))
                found.append([])
                for number, one in enumerate(messages):
                    client.socket.sendall(one)
                    if one[:1] in b"QS":
                        found[-1].append(told(client))
                        other.ask(parse("SELECT 'other'"), parse("SELECT 'another'"), SYNC)
                        holder.ask(query("ROLLBACK" if number % 2 else "BEGIN; SELECT 1"))
    assert found[1] == found[0]
