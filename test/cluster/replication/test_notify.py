"""NOTIFY reaches the listeners of all nodes: once, in order, when and only when the transaction commits."""

import itertools
import signal
import threading
import time

import psycopg
import pytest

from harness import servers
from harness.servers import value
from harness.stopped import Stopped

SETUP = """
    CREATE TABLE job (id int PRIMARY KEY, what text);
    SELECT create_distributed_table('job', 'id');
    CREATE TABLE here (id int);
    CREATE FUNCTION tell(what text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('ch', what); RETURN 1; END $$;
    CREATE FUNCTION tell_sql(what text) RETURNS void LANGUAGE sql AS $$ SELECT PG_NOTIFY('ch', what) $$;
    CREATE FUNCTION tell_standard(what text) RETURNS void LANGUAGE sql BEGIN ATOMIC SELECT pg_notify('ch', what); END;
    CREATE FUNCTION tell_of_row() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_notify('ch', new.what); RETURN new; END $$;
    CREATE TRIGGER tell AFTER INSERT ON job FOR EACH ROW EXECUTE FUNCTION tell_of_row();
    CREATE FUNCTION tell_delegated(key int) RETURNS void LANGUAGE plpgsql AS
        $$ BEGIN PERFORM FROM job WHERE id = key; NOTIFY ch, 'delegated'; PERFORM tell('told'); END $$;
    SELECT create_distributed_function('tell_delegated(int)', 'key', 'job');
"""


numbers = itertools.count()


def listen(connection, *channels):
    for channel in channels or ["ch"]:
        connection.execute(f"LISTEN {channel}")
    return connection


def heard(listener, speaker):
    """What has come before a last notification, which the speaker sends now: the payloads, with their channels if not ch."""
    last = f"last {next(numbers)}"
    speaker.execute(f"NOTIFY ch, '{last}'")
    found = []
    for notice in listener.notifies(timeout=servers.PATIENCE):
        if notice.payload == last:
            return found
        if not notice.payload.startswith("last "):
            found.append(notice.payload if notice.channel == "ch" else (notice.channel, notice.payload))
    raise AssertionError(f"the last notification has not come: {found}")


@pytest.fixture
def listeners(cluster, connect):
    return [listen(connect(node)) for node in cluster.nodes]


@pytest.fixture(params=["coordinator", "worker"])
def speaker(request, schema, coordinator, cluster, connect):
    coordinator.execute(f"SET search_path = {schema}")
    coordinator.execute(SETUP)
    connection = connect(cluster.coordinator if request.param == "coordinator" else cluster.workers[1])
    connection.execute(f"SET search_path = {schema}")
    return listen(connection)


@pytest.mark.parametrize("texts,payloads", [
    (["NOTIFY ch"], [""]),
    (["NOTIFY ch, 'it''s \\ \"{,}'", "SELECT pg_notify('ch', NULL)", "NOTIFY ch, E'two\\nlines ü'"],
     ["it's \\ \"{,}", "", "two\nlines ü"]),
    (["SELECT pg_notify('ch', g::text) FROM generate_series(1, 3) g"], ["1", "2", "3"]),
    (["INSERT INTO job VALUES (1, 'a'), (2, 'b'), (3, 'a')"], ["a", "b"]),
    (["INSERT INTO job VALUES (4, 'c')", "SELECT pg_notify('ch', what || '!') FROM job WHERE id = 4"], ["c", "c!"]),
    (["SELECT tell('x')", "SELECT tell_sql('y')", "SELECT tell_standard('z')", "SELECT * FROM tell_sql('f')"], ["x", "y", "z", "f"]),
    (["DO $$ BEGIN EXECUTE 'NOTIFY ch, ''done'''; PERFORM tell_sql('w'); END $$"], ["done", "w"]),
    (["PREPARE p AS SELECT pg_notify('ch', $1)", "EXECUTE p('1')", "EXECUTE p('2')", "DEALLOCATE p"], ["1", "2"]),
    (["SELECT tell_delegated(1)", "SELECT tell_delegated(2)"], ["delegated", "told"] * 2),
    (["CREATE RULE r AS ON INSERT TO here DO ALSO NOTIFY ch", "INSERT INTO here VALUES (1)", "DROP RULE r ON here"], [""]),
    (["BEGIN", "NOTIFY ch, 'a'", "NOTIFY ch, 'b'", "NOTIFY ch, 'a'", "COMMIT"], ["a", "b"]),
    (["BEGIN", "NOTIFY ch, 'a'", "UPDATE job SET what = what", "SAVEPOINT s", "NOTIFY ch, 'a'", "NOTIFY ch, 'lost'",
      "SAVEPOINT t", "NOTIFY ch, 'too'", "RELEASE t", "ROLLBACK TO s", "NOTIFY ch, 'b'", "SAVEPOINT t", "NOTIFY ch, 'lost'",
      "NOTIFY ch, 'c'", "RELEASE t", "COMMIT"], ["a", "b", "lost", "c"]),
    (["BEGIN", "NOTIFY ch, 'lost'", "ROLLBACK"], []),
    (["BEGIN", "NOTIFY ch, 'early'", "INSERT INTO job VALUES (5, '5')", "INSERT INTO job VALUES (6, '6')", "COMMIT"],
     ["early", "5", "6"]),
])
def test_reaches_all_nodes(speaker, listeners, schema, cluster, texts, payloads):
    if "here" in texts[0]:
        speaker.execute("CREATE TABLE IF NOT EXISTS here (id int)")
    for text in texts:
        speaker.execute(text)
    for listener in listeners:
        assert heard(listener, speaker) == payloads
    if "here" in texts[0] and value(speaker, "SELECT groupid > 0 FROM pg_dist_local_group"):
        speaker.execute("DROP TABLE here")


def test_channels_and_pids(speaker, cluster, connect):
    """Names as they are written; the speaker hears itself once, under its own process id."""
    names = ['"Mixed ""case"', '"q\'uote"', "plain"]
    listener = listen(connect(cluster.workers[0]), "ch", *names)
    for name in names:
        speaker.execute(f"NOTIFY {name}, 'p'")
    speaker.execute("SELECT pg_notify('Mixed \"case', 'f'), pg_notify('PLAIN', 'no')")
    assert heard(listener, speaker) == [('Mixed "case', "p"), ("q'uote", "p"), ("plain", "p"), ('Mixed "case', "f")]
    own = list(speaker.notifies(timeout=servers.PATIENCE, stop_after=1))
    assert [notice.pid for notice in own] == [speaker.info.backend_pid]


def test_errors_are_the_servers(speaker):
    for text in ["SELECT pg_notify('', 'x')", "SELECT pg_notify(NULL, 'x')", f"SELECT pg_notify('{'c' * 64}', 'x')",
                 f"NOTIFY ch, '{'x' * 8000}'"]:
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            speaker.execute(text)
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        speaker.execute("BEGIN; NOTIFY ch, 'lost'; PREPARE TRANSACTION 'notified'")
    speaker.execute("ROLLBACK")
    assert heard(speaker, speaker) == []


def test_rights_to_notify(coordinator, cluster, connect, schema):
    """A right to pg_notify() that PUBLIC hasn't is still asked for."""
    coordinator.execute("DROP ROLE IF EXISTS mute; CREATE ROLE mute LOGIN; REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC")
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="pg_notify"):
            connect(cluster.coordinator, user="mute").execute("SELECT pg_notify('ch', 'x')")
    finally:
        coordinator.execute("GRANT EXECUTE ON FUNCTION pg_notify TO PUBLIC; DROP ROLE mute")


def test_order_and_count(speaker, listeners):
    """Each session's notifications come in its order, whatever their transactions do."""
    count = 60
    for i in range(count):
        with speaker.transaction():
            speaker.execute("SELECT pg_notify('ch', %s)", [str(2 * i)])
            if i % 3 == 0:
                speaker.execute("UPDATE job SET what = what")
            speaker.execute("SELECT pg_notify('ch', %s)", [str(2 * i + 1)])
    for listener in listeners:
        assert heard(listener, speaker) == [str(i) for i in range(2 * count)]


def test_many_in_a_transaction(speaker, listeners):
    speaker.execute("SELECT pg_notify('ch', repeat('x', 500) || g % 20000) FROM generate_series(1, 40000) g")
    for listener in listeners:
        found = heard(listener, speaker)
        assert len(found) == 20000 and found[0] == "x" * 500 + "1" and found[-1] == "x" * 500 + "0"


def test_follows_the_commit_everywhere(speaker, listeners, cluster, connect, schema):
    """While other nodes have not committed, their listeners have not been told."""
    speaker.execute("INSERT INTO job SELECT g, 'new' FROM generate_series(1, 100) g")
    for listener in listeners:
        assert heard(listener, speaker) == ["new"]
    on_node = connect(cluster.workers[0])
    stopped = Stopped(cluster.coordinator, "commit-after-decision",
                      f"DO $$ BEGIN UPDATE {schema}.job SET what = 'done'; PERFORM pg_notify('ch', 'done'); END $$")
    assert heard(listeners[1], on_node) == []
    assert stopped.go_on() is None
    assert heard(listeners[1], on_node) == ["done"]


def test_at_the_same_time(cluster, connect, listeners):
    """Sessions of all nodes that notify each other's listeners at once don't wait for each other."""
    count = 100
    speakers = [connect(node) for node in cluster.nodes]
    warned = []
    for speaker in speakers:
        speaker.add_notice_handler(warned.append)
    started = time.monotonic()
    threads = [threading.Thread(target=lambda name=name, speaker=speaker: [
        speaker.execute(f"NOTIFY ch, '{name} {i}'") for i in range(count)]) for name, speaker in enumerate(speakers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(servers.PATIENCE)
    assert warned == [] and time.monotonic() - started < servers.PATIENCE / 2
    for listener in listeners:
        found = heard(listener, speakers[0])
        for name in range(len(speakers)):
            assert [payload for payload in found if payload.startswith(f"{name} ")] == [f"{name} {i}" for i in range(count)]


def test_local_only(speaker, listeners):
    speaker.execute("SET citus.notifications = local")
    speaker.execute("NOTIFY ch, 'near'")
    speaker.execute("SELECT pg_notify('ch', 'near too')")
    speaker.execute("RESET citus.notifications")
    near = [heard(listener, speaker) for listener in listeners]
    assert sorted(near) == [[], [], ["near", "near too"]]


@pytest.fixture
def broken(own_cluster, connect):
    """A speaker and a listener on the first two nodes, and the third, which the test will stop."""
    speaker = connect(own_cluster.coordinator)
    speaker.execute("SET citus.node_connection_timeout = '1s'")
    return speaker, listen(connect(own_cluster.workers[0])), own_cluster.workers[1]


def warnings_of(speaker, text):
    told = []

    def note(notice):
        told.append(notice.message_primary)

    speaker.add_notice_handler(note)
    try:
        started = time.monotonic()
        speaker.execute(text)
        assert time.monotonic() - started < servers.PATIENCE
    finally:
        speaker.remove_notice_handler(note)
    return told


def test_node_is_down(broken, connect):
    """The commit goes on without the node, says so, and the node's listeners are told again when it is back."""
    speaker, listener, node = broken
    speaker.execute("CREATE TABLE here (id int)")
    for crash in (True, False):
        speaker.execute("NOTIFY ch, 'before'")
        if crash:
            node.kill()
        else:
            node.stop()
        for text in ["NOTIFY ch, 'meanwhile'", "WITH w AS (INSERT INTO here VALUES (1)) SELECT pg_notify('ch', 'meanwhile')"]:
            assert warnings_of(speaker, text) == [f"could not notify listeners on node 127.0.0.1:{node.port}"]
        node.start()
        other = listen(connect(node))
        speaker.execute("NOTIFY ch, 'after'")
        assert heard(other, speaker) == ["after"]
        assert heard(listener, speaker)[:4] == ["before", "meanwhile", "meanwhile", "after"]
    assert value(speaker, "SELECT count(*) FROM here") == 2


def test_node_is_silent(broken):
    """A node that stands still costs the time limit, no more."""
    speaker, listener, node = broken
    speaker.execute("NOTIFY ch, 'before'")
    pids = node.processes()
    for pid in pids:
        servers.kill_process(pid, signal.SIGSTOP)
    try:
        for _ in range(2):
            assert warnings_of(speaker, "NOTIFY ch, 'meanwhile'") == [f"could not notify listeners on node 127.0.0.1:{node.port}"]
    finally:
        for pid in pids:
            servers.kill_process(pid, signal.SIGCONT)
    servers.wait_until(lambda: not warnings_of(speaker, "NOTIFY ch, 'after'"), "the node to be told again")
    assert heard(listener, speaker)[:4] == ["before", "meanwhile", "meanwhile", "after"]
