"""What of a gateway needs no cluster: clients that come by TLS, and are authenticated as by the server; sizes of pools."""

import os
import signal
import socket
import ssl
import threading
import time
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import pq

from harness import servers
from harness.certificates import Authority
from harness.gateways import SESSION, Gateway
from harness.protocol_fuzz import fuzz
from harness.raw_client import packet
from harness.servers import kill_process, rows, value, wait_until

SSL_REQUEST = 80877103


@pytest.fixture(scope="module")
def gateway():
    with servers.cluster(purpose="check-gateway-one", workers=0, kind="bare") as made:
        node = made.coordinator
        authority = Authority(node.data)
        certificate, key = authority.issue("server", "localhost")
        node.sql(f"ALTER SYSTEM SET ssl = on; ALTER SYSTEM SET ssl_ca_file = '{authority.root}'; "
                 f"ALTER SYSTEM SET ssl_cert_file = '{certificate}'; ALTER SYSTEM SET ssl_key_file = '{key}'; "
                 "CREATE ROLE alice LOGIN PASSWORD 'secret'; CREATE ROLE bob LOGIN")
        made_gateway = Gateway(node, {"gateway_pool_size": 4, "gateway_min_pool_size": 2, "gateway_session_lifetime": "1s"})
        made_gateway.authority = authority
        yield made_gateway


@pytest.fixture
def rules(gateway):
    yield gateway.set_rules
    gateway.set_rules("")


def connect(gateway, user="postgres", **options):
    return gateway.connect(user, **{"sslmode": "require", **options})


def refused(gateway, user, **options):
    with pytest.raises(psycopg.OperationalError) as caught:
        connect(gateway, user, **options).close()
    return str(caught.value)


def test_all_that_goes_without_encryption(gateway):
    with connect(gateway) as client, connect(gateway, sslmode="disable") as other:
        assert client.pgconn.ssl_in_use and not other.pgconn.ssl_in_use
        long = "x" * 3_000_000
        assert value(client, "SELECT %s::text", [long]) == long
        assert len(rows(client, "SELECT g, repeat('y', 1000) FROM generate_series(1, 5000) g")) == 5000
        with client.pipeline():
            cursors = [client.execute("SELECT %s::int", [i]) for i in range(200)]
            assert [cursor.fetchone()[0] for cursor in cursors] == list(range(200))
        client.execute("CREATE TEMP TABLE copied (id int, text text)")
        with client.cursor().copy("COPY copied FROM STDIN") as copy:
            for i in range(20000):
                copy.write_row((i, "z" * 100))
        assert rows(client, "SELECT count(*), sum(id) FROM copied") == [(20000, 199990000)]
        assert value(other, "SELECT 1") == 1


@pytest.mark.parametrize("encoding", ["latin1", "sjis", "utf8"])
def test_settings_in_any_encoding(gateway, encoding):
    """They are the same on a session whose last client has had another encoding."""
    text = "\u8868\\'" if encoding == "sjis" else "h\u00e9\\'"
    with connect(gateway) as client:
        client.execute(f"SET client_encoding = {encoding}")
        client.execute("SELECT set_config('my.own', %s, false)", [text])
        own = value(client, SESSION)
        with ExitStack() as stack:
            for holder in (stack.enter_context(connect(gateway, autocommit=False)) for _ in range(3)):
                if value(holder, SESSION) == own:
                    break
            assert value(client, SESSION) != own
            assert rows(client, "SELECT current_setting('my.own'), current_setting('client_encoding')") == [(text, encoding.upper())]
    with connect(gateway, application_name="h\u00e9") as client:
        assert value(client, "SHOW application_name") == "h??"


def test_cancel(gateway):
    with connect(gateway) as client, connect(gateway) as observer:
        errors = []

        def sleep():
            with pytest.raises(psycopg.errors.QueryCanceled):
                client.execute("SELECT pg_sleep(60)")
            errors.append("canceled")

        thread = threading.Thread(target=sleep)
        thread.start()
        wait_until(lambda: value(observer, "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' "
                                           "AND state = 'active'") == 1, "it to sleep")
        client.cancel_safe()
        thread.join(servers.PATIENCE)
        assert errors == ["canceled"]


def test_cancel_that_comes_late(gateway):
    """A request that the server takes when its statement is over doesn't hit the client's next one."""
    with connect(gateway, sslmode="disable") as client:
        client.pgconn.send_query(b"SELECT pg_sleep(0.5)")
        kill_process(gateway.node.pid(), signal.SIGSTOP)
        try:
            client.cancel()
            assert client.pgconn.get_result().status == pq.ExecStatus.TUPLES_OK
            assert client.pgconn.get_result() is None
            client.pgconn.send_query(b"SELECT pg_sleep(0.5)")
            client.pgconn.flush()
            time.sleep(0.1)
        finally:
            kill_process(gateway.node.pid(), signal.SIGCONT)
        assert client.pgconn.get_result().status == pq.ExecStatus.TUPLES_OK
        assert client.pgconn.get_result() is None


def test_the_key_of_a_gateway(gateway):
    """The server itself takes no client for a gateway process that doesn't have its key."""
    for request in ("0" * 64 + " session", "0" * 64 + " login 0200 0200", "", "z" * 70):
        with socket.create_connection(("127.0.0.1", gateway.node.port)) as sock:
            sock.sendall(packet(196608, "user", "postgres", "citus.gateway_process", request))
            answer = sock.recv(10000)
            assert answer[:1] == b"E" and b"28000" in answer, request


def test_rules_for_encrypted_connections(gateway, rules):
    rules("hostssl all alice 127.0.0.1/32 reject\nhostnossl all bob 127.0.0.1/32 reject")
    assert "pg_hba.conf rejects connection" in refused(gateway, "alice")
    assert "SSL encryption" in refused(gateway, "alice")
    connect(gateway, "alice", sslmode="disable").close()
    assert "no encryption" in refused(gateway, "bob", sslmode="disable")
    with connect(gateway, "bob") as bob:
        assert value(bob, "SELECT session_user") == "bob"


def test_clients_that_stop_while_they_log_in(gateway, rules):
    """More of them than the server has connections for logins keep others waiting for moments only."""
    rules("host all alice 127.0.0.1/32 scram-sha-256")
    with ExitStack() as stack:
        with servers.connect(gateway.node) as server:
            connections = int(value(server, "SHOW max_connections"))
        silent = [stack.enter_context(gateway.socket()) for _ in range(connections // 4 + 20)]
        for sock in silent:
            sock.sendall(packet(196608, "user", "alice", "database", "postgres"))
        begun = time.monotonic()
        with gateway.connect() as client, servers.connect(gateway.node) as server:
            assert value(client, "SELECT 1") == 1
            assert value(server, "SELECT count(*) FROM pg_stat_activity") < connections // 2
        assert time.monotonic() - begun < 20
        assert any(b"canceling authentication due to timeout" in sock.recv(10000) for sock in silent)


def test_passwords_bound_to_the_certificate(gateway, rules):
    """Nobody in between can have asked: SCRAM's proof names the certificate that the client has seen."""
    rules("hostssl all alice 127.0.0.1/32 scram-sha-256\nlocal all alice scram-sha-256")
    for binding in ("require", "prefer", "disable"):
        with connect(gateway, "alice", password="secret", channel_binding=binding) as alice:
            assert value(alice, "SELECT session_user") == "alice"
    assert "password authentication failed" in refused(gateway, "alice", password="wrong", channel_binding="require")


def test_certificates_of_clients(gateway, rules):
    by_dn = "CN=bob,O=Tests"
    gateway.node.sql(f'CREATE ROLE "{by_dn}" LOGIN')
    rules(f'hostssl all alice 127.0.0.1/32 cert\nhostssl all "{by_dn}" 127.0.0.1/32 cert clientname=DN\n'
          "hostssl all postgres 127.0.0.1/32 trust clientcert=verify-ca")
    of_alice, of_bob = ([dict(zip(("sslcert", "sslkey"), gateway.authority.issue(name, name)))
                         for name in ("alice", "bob")])
    with connect(gateway, "alice", **of_alice) as alice:
        assert value(alice, "SELECT session_user") == "alice"
    assert "certificate authentication failed" in refused(gateway, "alice", **of_bob)
    assert "requires a valid client certificate" in refused(gateway, "alice")
    connect(gateway, by_dn, **of_bob).close()
    assert "certificate authentication failed" in refused(gateway, by_dn, **of_alice)
    connect(gateway, "postgres", **of_bob).close()
    assert "requires a valid client certificate" in refused(gateway, "postgres")
    elsewhere = os.path.join(gateway.node.folder, "other_authority")
    os.makedirs(elsewhere)
    stranger = dict(zip(("sslcert", "sslkey"), Authority(elsewhere).issue("alice", "alice")))
    assert "alert" in refused(gateway, "alice", **stranger)


def test_certificate_that_is_renewed(gateway):
    """Reloading the settings is enough, as it is for the server."""
    with connect(gateway) as before:
        seen = certificate_of(gateway)
        assert seen == certificate_in(gateway.authority.files("server")[0])
        gateway.authority.issue("server", "localhost")
        renewed = certificate_in(gateway.authority.files("server")[0])
        gateway.node.reload()
        wait_until(lambda: certificate_of(gateway) == renewed, "the gateway to have the new certificate")
        assert value(before, "SELECT 1") == 1
        with connect(gateway, sslmode="verify-full", host="localhost", hostaddr="127.0.0.1",
                     sslrootcert=gateway.authority.root) as after:
            assert value(after, "SELECT 1") == 1


def certificate_in(path):
    with open(path, encoding="ascii") as file:
        return ssl.PEM_cert_to_DER_cert(file.read())


def certificate_of(gateway):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with gateway.socket() as plain:
        plain.sendall(packet(SSL_REQUEST))
        assert plain.recv(1) == b"S"
        with context.wrap_socket(plain) as encrypted:
            return encrypted.getpeercert(binary_form=True)


def direct_context(*protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def test_handshake_without_a_request(gateway):
    """Clients may begin with TLS, as 17's libpq does with sslnegotiation=direct, if they name the protocol."""
    if pq.version() >= 170000:
        with connect(gateway, sslnegotiation="direct") as client:
            assert client.pgconn.ssl_in_use and value(client, "SELECT 1") == 1
            client.cancel_safe()
            assert value(client, "SELECT 2") == 2
    start = packet(196608, "user", "postgres")
    with direct_context("other", "postgresql").wrap_socket(gateway.socket()) as encrypted:
        assert encrypted.selected_alpn_protocol() == "postgresql"
        encrypted.sendall(start)
        assert encrypted.recv(1) == b"R"
    with direct_context().wrap_socket(gateway.socket()) as encrypted:
        encrypted.sendall(start)
        assert encrypted.recv(1) == b""
    with pytest.raises(ssl.SSLError), direct_context("http/1.1").wrap_socket(gateway.socket()) as encrypted:
        encrypted.recv(1)
    with gateway.socket() as garbage:
        garbage.sendall(b"\x16\x03\x01\x02\x00" + b"\0" * 600)
        assert garbage.makefile("rb").read()[:1] in (b"", b"\x15")


@pytest.mark.parametrize("size", [1, 3, 100])
def test_handshake_in_pieces(gateway, size):
    sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
    begun = direct_context("postgresql").wrap_bio(received, sent)
    with pytest.raises(ssl.SSLWantReadError):
        begun.do_handshake()
    hello = sent.read()
    with gateway.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(hello), size):
            sock.sendall(hello[at:at + size])
        done = False
        while not done:
            received.write(sock.recv(4096))
            try:
                begun.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                pass
            sock.sendall(sent.read())
        assert begun.selected_alpn_protocol() == "postgresql"


def test_handshakes_that_fail(gateway):
    """They end their own connection only."""
    with connect(gateway) as client:
        half = []
        for sent in (b"", b"\x16", b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.0\r\n\r\n", b"\x00" * 1000):
            sock = gateway.socket()
            sock.sendall(packet(SSL_REQUEST))
            assert sock.recv(1) == b"S"
            sock.sendall(sent)
            half.append(sock)
        assert value(client, "SELECT 1") == 1
        for sock in half[3:]:
            sock.settimeout(servers.PATIENCE)
            ended = b"more"
            try:
                while ended:
                    ended = sock.recv(1000)
            except ConnectionError:
                pass
        for sock in half:
            sock.close()
        with gateway.socket() as early:
            early.sendall(packet(SSL_REQUEST) + packet(196608, "user", "postgres"))
            assert b"unencrypted data" in early.makefile("rb").read()
        assert value(client, "SELECT 1") == 1
        with connect(gateway) as another:
            assert value(another, "SELECT 1") == 1


def test_random_messages(gateway):
    """On encrypted connections, and between those and others; some are cut off or damaged in the midst of the handshake."""
    with connect(gateway, "bob", prepare_threshold=0) as bob:
        def witness():
            for i in range(20):
                assert value(bob, "SELECT %s::int", [i]) == i

        fuzz(gateway, witness, encrypted=0.7)
    with servers.connect(gateway.node) as server:
        wait_until(lambda: value(server, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'alice' AND state <> 'idle'") == 0,
                   "no session of the fuzzers to be at work")


def test_sessions_that_are_kept_and_renewed(gateway):
    """A pool with clients has a minimum of sessions; an old one gives way to another, but not under its client."""
    with connect(gateway, "alice") as idle, connect(gateway, "alice", autocommit=False) as holder, \
            servers.connect(gateway.node) as server:
        def sessions():
            return {pid for pid, in rows(server, "SELECT pid FROM pg_stat_activity WHERE usename = 'alice'")}

        held = value(holder, SESSION)
        wait_until(lambda: len(sessions()) >= 2, "the minimum of sessions")
        first = sessions()
        wait_until(lambda: sessions() & first == {held} and len(sessions()) >= 2, "sessions to be renewed")
        assert value(holder, SESSION) == held
        holder.rollback()
        assert value(idle, "SELECT 1") == 1
        wait_until(lambda: held not in sessions(), "the last one to be renewed")


def test_clients_that_keep_their_session(gateway):
    """By a role's settings, or for as long as the client has asked for it."""
    gateway.node.sql("CREATE ROLE keeper LOGIN; "
                     "ALTER ROLE keeper SET citus.gateway_pool_mode = session; CREATE SEQUENCE kept_values; "
                     "GRANT USAGE ON SEQUENCE kept_values TO public")
    with gateway.connect("keeper") as one, gateway.connect("keeper") as two, gateway.connect("alice") as three:
        three.execute("SET citus.gateway_pool_mode = session")
        mine = [value(client, SESSION) for client in (one, two, three)]
        assert len(set(mine)) == 3
        for _ in range(2):
            for client in (one, two, three):
                assert value(client, "SELECT nextval('kept_values')")
                with gateway.connect("keeper") as other, gateway.connect("alice") as another:
                    assert value(other, SESSION) not in mine and value(another, SESSION) not in mine
        assert [value(client, "SELECT currval('kept_values')") for client in (one, two, three)] == [4, 5, 6]
        assert [value(client, SESSION) for client in (one, two, three)] == mine
        for client in (one, three):
            client.execute("SET citus.gateway_pool_mode = transaction")
        with gateway.connect("alice", autocommit=False) as holder:
            taken = value(holder, SESSION)
            assert value(three, "SELECT 1") == 1
            assert value(three, SESSION) != taken
    with servers.connect(gateway.node) as server:
        wait_until(lambda: not rows(server, "SELECT 1 FROM pg_stat_activity WHERE pid = %s", mine[1:2]),
                   "the session that was kept to end with its client")


def test_time_limit(gateway):
    """A client that never begins doesn't keep others from being served."""
    silent = [gateway.socket() for _ in range(50)]
    begun = time.monotonic()
    with gateway.connect() as connection:
        assert value(connection, "SELECT 1") == 1
    assert time.monotonic() - begun < 30
    for sock in silent:
        sock.close()


def test_logins_while_catalogs_change(gateway):
    """A login finds its role and database when the server's file of shared catalogs is just being replaced."""
    stop = threading.Event()

    def change():
        with servers.connect(gateway.node) as server:
            while not stop.is_set():
                server.execute("VACUUM pg_auth_members")

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(100):
            gateway.connect().close()
    finally:
        stop.set()
        changer.join()
