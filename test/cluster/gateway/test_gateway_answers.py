"""Sessions that send the answers to several clients' statements together, as a gateway has them do."""

import socket
import time
from contextlib import closing

import pytest

from harness.protocol_fuzz import message
from harness.raw_client import Direct, RawClient
from harness.servers import connect, value, wait_until


def query(text):
    return message(b"Q", text.encode() + b"\0")


@pytest.fixture
def session(cluster):
    with closing(RawClient(Direct(cluster.coordinator), settings=("citus.answers_together", "on"))) as client:
        yield client


def ready_to_read(client):
    """Whether anything has come."""
    client.socket.setblocking(False)
    try:
        return client.socket.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return False
    finally:
        client.socket.settimeout(60)


def wait_for_statement(connection, text):
    """Until a session runs it, with all before it answered."""
    wait_until(lambda: value(connection, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = %s",
                             [text]), f"{text} to run")


@pytest.mark.parametrize("together", [True, False])
def test_answers_are_sent_together(cluster, together):
    """The first is sent with the second, or by itself in a session that a gateway doesn't share."""
    settings = ("citus.answers_together", "on") if together else ()
    with closing(RawClient(Direct(cluster.coordinator), settings=settings)) as client, connect(cluster.coordinator) as other:
        other.execute("SELECT pg_advisory_lock(4711)")
        client.socket.sendall(query("SELECT 1") + query("SELECT pg_advisory_lock(4711)"))
        wait_for_statement(other, "SELECT pg_advisory_lock(4711)")
        if not together:
            assert client.answers_until(b"Z") == b"TDCZ"
        assert not ready_to_read(client)
        other.execute("SELECT pg_advisory_unlock(4711)")
        for _ in range(2 if together else 1):
            assert client.answers_until(b"Z") == b"TDCZ"
        assert not ready_to_read(client)


def test_held_answers_are_not_lost(cluster, session):
    """Behind errors, at the end of the session, when it is terminated, and if they are longer than the server's buffer."""
    assert session.ask(query("SELECT 1"), query("SELECT 1 / 0"), query("SELECT 2")) == b"TDCZ"
    assert session.answers_until(b"Z") == b"EZ"
    assert session.answers_until(b"Z") == b"TDCZ"
    assert session.ask(query("SELECT repeat('x', 100000)"), query("SELECT 3")) == b"TDCZ"
    assert session.answers_until(b"Z") == b"TDCZ"
    with connect(cluster.coordinator) as other:
        other.execute("SELECT pg_advisory_lock(4711)")
        session.socket.sendall(query("SELECT 1") + query("SELECT pg_advisory_lock(4711)"))
        wait_for_statement(other, "SELECT pg_advisory_lock(4711)")
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_advisory_lock(4711)'")
        assert session.answers_until(b"Z") == b"TDCZ"
        assert session.answers_until(b"") == b"TE"
    with closing(RawClient(Direct(cluster.coordinator), settings=("citus.answers_together", "on"))) as ending:
        assert ending.ask(query("SELECT 1"), message(b"X", b""), until=b"") == b"TDCZ"


def test_answers_are_not_held_for_long(session):
    """That of a statement that takes longer than HOLD_TIME is sent with what was held before."""
    session.socket.sendall(query("SELECT 1") + query("SELECT pg_sleep(0.1)") + query("SELECT pg_sleep(5)"))
    began = time.monotonic()
    for _ in range(2):
        assert session.answers_until(b"Z") == b"TDCZ"
    assert time.monotonic() - began < 5
    assert session.answers_until(b"Z") == b"TDCZ"


def test_copy_is_answered_before_its_rows_come(session):
    """CopyInResponse isn't held, although a Sync is behind it."""
    extended = [message(b"P", b"\0COPY (SELECT 1) TO STDOUT\0\0\0"), message(b"B", b"\0\0\0\0\0\0\0\0"),
                message(b"E", b"\0\0\0\0\0"), message(b"S", b"")]
    assert session.ask(query("SELECT 1"), *extended) == b"TDCZ"
    assert session.answers_until(b"Z") == b"12HdcCZ"
    assert session.ask(query("CREATE TEMP TABLE rows (id int)"), query("COPY rows FROM STDIN"), until=b"G") == b"CZG"
    assert session.ask(message(b"d", b"1\n"), message(b"c", b""), query("SELECT count(*) FROM rows")) == b"CZ"
    assert session.answers_until(b"Z") == b"TDCZ"
