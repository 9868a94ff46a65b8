"""A network that cuts, delays, half-closes or loses connections at each step of a transaction.

Every statement ends, with success or an error, within its timeouts; what the client was told is
true; and nothing stays locked or prepared once the network works again.
"""

import threading
import time

import psycopg
import pytest
import test_moves

from harness import bank, servers
from harness.proxy import FAULTS, Proxy
from harness.servers import prepared_transactions, rows, value, wait_until
from harness.statement import Statement

TIMEOUT = 0.3       # seconds: citus.node_connection_timeout
STATEMENT_TIMEOUT = 0.5
LIMIT = STATEMENT_TIMEOUT + 6 * TIMEOUT + 15   # what all of a transaction may take with the worst of faults

# What is on the wire at a step, between the initiator and a worker.
STATEMENT, PREPARE, FINISH = b"UPDATE", b"PREPARE TRANSACTION", b"COMMIT PREPARED"
COMMIT, ROLLBACK = b"\0COMMIT\0", b"\0ROLLBACK\0"

STEPS = [("single", "connect", b""), ("two", "connect", b"")] + [
    (kind, what, pattern)
    for kind, patterns in (("single", [STATEMENT, COMMIT]), ("two", [STATEMENT, PREPARE, FINISH]),
                           ("reference", [PREPARE, FINISH]), ("rollback", [ROLLBACK]),
                           ("lone", [STATEMENT]))
    for pattern in patterns for what in ("request", "answer")]


@pytest.fixture(scope="module")
def network():
    """A bank whose nodes reach each other through proxies only. No session leaves connections: each test's must connect."""
    with servers.cluster(purpose="check-network", kind="bare", settings={"citus.kept_connection_lifetime": 0}) as made:
        made.proxies = {node.name: Proxy(node.port) for node in made.nodes}
        with servers.connect(made.coordinator) as connection:
            connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)",
                               [made.proxies["coordinator"].port])
            for node in made.workers:
                connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [made.proxies[node.name].port])
        bank.create(made)
        with servers.connect(made.coordinator) as connection:
            made.keys = {name: bank.keys_on(made, proxy.port)
                         for name, proxy in made.proxies.items() if name != "coordinator"}
        made.number = 0
        yield made
        for proxy in made.proxies.values():
            proxy.shut()


def statements(made, kind):
    """A transaction's statements; each transaction leaves a number of its own behind."""
    if kind == "reference":
        return [f"UPDATE rate SET last = {made.number}"]
    first, second = made.keys["worker1"]
    if kind == "lone":
        return [f"UPDATE account SET last = {made.number} WHERE id = {first}"]
    payee = second if kind in ("single", "rollback") else made.keys["worker2"][0]
    return [f"UPDATE account SET balance = balance - 1, last = {made.number} WHERE id = {first}",
            f"UPDATE account SET balance = balance + 1, last = {made.number} WHERE id = {payee}"]


def run(made, kind):
    """Runs the transaction; True if it committed, False if not, None if the client can't know."""
    begin, end = "BEGIN", "ROLLBACK" if kind == "rollback" else "COMMIT"
    if kind == "lone":
        begin = end = ""
    with servers.connect(made.coordinator) as connection:
        connection.execute(f"SET statement_timeout = {int(STATEMENT_TIMEOUT * 1000)};"
                           f"SET citus.node_connection_timeout = {int(TIMEOUT * 1000)}")
        try:
            for statement in [begin, *statements(made, kind), end]:
                connection.execute(statement)
        except psycopg.Error as error:
            print("the client got:", error.sqlstate, error)
            connection.execute("ROLLBACK")
            return None if error.sqlstate == "08007" else False
    return kind != "rollback"


def happened(made, kind):
    """Whether the transaction left its number, on all nodes alike."""
    seen = set()
    for node in made.nodes:
        with servers.connect(node) as connection:
            if kind == "reference":
                seen.update(last == made.number for (last,) in rows(connection, "SELECT last FROM rate"))
            else:
                seen.add(value(connection, "SELECT count(*) FROM account WHERE last = %s", [made.number]))
    assert seen in ({True}, {False}, {0}, {2}) or kind == "lone" and seen == {1}, f"seen in part: {seen}"
    return bool(seen.pop())


def makes_sense(fault, what):
    """A delay, once begun, stays; and a direction is half-closed by what goes that way."""
    return what in {"delay": ["connect"], "half_close_to_server": ["connect", "request"],
                    "half_close_to_client": ["connect", "answer"]}.get(fault, [what])


def name_of(kind, what, pattern):
    return "-".join([kind, what, *pattern.strip(b"\0").decode().lower().split()])


@pytest.mark.parametrize("fault,kind,what,pattern", [
    pytest.param(fault, *step, id=f"{fault}-{name_of(*step)}", marks=pytest.mark.one_of(name_of(*step)))
    for fault in FAULTS for step in STEPS if makes_sense(fault, step[1])])
def test_fault(network, fault, kind, what, pattern):
    network.number += 1
    proxy = network.proxies["worker1"]
    proxy.arm(fault, pattern, what)
    outcome = []
    client = threading.Thread(target=lambda: outcome.append(run(network, kind)))
    begun = time.monotonic()
    client.start()
    client.join(servers.PATIENCE)
    took = time.monotonic() - begun
    hit = proxy.hit.is_set()
    proxy.heal()
    client.join(servers.PATIENCE)
    assert hit, "the fault was not met"
    assert took < LIMIT, f"took {took:.1f} s"
    assert outcome, "the client failed"
    bank.check(network)
    assert outcome[0] is None or happened(network, kind) == outcome[0]
    if fault == "delay":
        assert outcome[0] == (kind != "rollback")


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_lost_before_the_last_answer(network, level):
    """A connection that is lost before the end of the last statement's transaction is answered is replaced."""
    proxy = network.proxies["worker1"]
    total = "SELECT (SELECT sum(balance) FROM account), (SELECT count(*) FROM account)"     # too much for an offered time
    with servers.connect(network.coordinator) as connection:
        proxy.arm("blackhole", COMMIT, "request")
        connection.execute(total)
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        statement = Statement(connection, total)
        with servers.connect(network.coordinator) as observer:
            wait_until(lambda: value(observer, "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s",
                                     [connection.info.backend_pid]) == "Extension", "the statement to wait for the answer")
        assert statement.running
        proxy.heal()
        assert statement.finish() is None, statement.error
        assert statement.cursor.fetchall() == [(bank.ACCOUNTS * bank.START, bank.ACCOUNTS)]
        connection.execute("COMMIT")


def test_publisher_lost(network):
    """A move whose target loses the source when it subscribes fails so that a job tries it again, and leaves nothing."""
    one, two = (network.proxies[node.name].port for node in network.workers)
    with servers.connect(network.coordinator) as connection:
        shard, _ = test_moves.shard_of(connection, "account", network.keys["worker1"][0])
        network.proxies["worker1"].arm("cut", b"pg_catalog.pg_publication t WHERE", "request")
        with pytest.raises(psycopg.errors.ConnectionFailure, match="list of publications") as error:
            test_moves.move(connection, shard, one, two)
        assert "CONNECTION" not in error.value.diag.context     # it may have a password
    test_moves.check_clean(network)
    bank.check(network)


def test_recovery_from_a_silent_node(network):
    """Recovery gives a node up that says nothing, and does its work on the others."""
    network.number += 1
    with servers.connect(network.coordinator) as connection:
        connection.execute("SET citus.debug_points = 'commit-after-decision=error'")
        connection.execute("; ".join(["BEGIN", *statements(network, "two"), "COMMIT"]))
        network.proxies["worker1"].arm("blackhole", b"pg_prepared_xact()", "request")
        connection.execute(f"SET citus.node_connection_timeout = {int(TIMEOUT * 1000)}")
        silent, other = network.workers
        wait_until(lambda: value(connection, "SELECT recover_prepared_transactions()") is not None and
                   not prepared_transactions(other), "recovery on the other node")
        assert prepared_transactions(silent)
        network.proxies["worker1"].heal()
        wait_until(lambda: value(connection, "SELECT recover_prepared_transactions()") is not None and
                   not prepared_transactions(silent), "recovery on the silent node")
    bank.check(network)
    assert happened(network, "two")
