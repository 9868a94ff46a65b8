"""Transaction blocks through the gateway whose messages come in odd orders, and what a block's move must not change."""

import socket
import struct
import threading

import psycopg
import pytest

from harness import servers
from harness.gateways import SESSION
from harness.protocol_fuzz import message
from harness.raw_client import RawClient
from harness.servers import rows, wait_until
from test_gateway_blocks import Client, cluster_of_gateway, contents, count, elsewhere, gateway, transfer  # noqa: F401

SYNC = message(b"S", b"")
BEGIN = b"BEGIN"


def parse(name, text):
    return message(b"P", name + b"\0" + text + b"\0\0\0")


def bind(name, *values, portal=b""):
    return message(b"B", portal + b"\0" + name + b"\0" + struct.pack("!HH", 0, len(values)) +
                   b"".join(struct.pack("!I", len(value)) + value for value in values) + b"\0\0")


def execute(portal=b""):
    return message(b"E", portal + b"\0" + struct.pack("!I", 0))


def query(text):
    return message(b"Q", text + b"\0")


@pytest.fixture
def raw(gateway):
    made = RawClient(gateway)
    yield made
    made.close()


def learn_by(gateway, block):
    """Until such a block runs on its node."""
    def on_node():
        before = count(gateway, "node_blocks - moved_blocks")
        block()
        return count(gateway, "node_blocks - moved_blocks") > before

    wait_until(on_node, "blocks to run on their node")


@pytest.mark.parametrize("messages, answer", [
    ([parse(b"", BEGIN), bind(b""), execute(), parse(b"s", b"SELECT $1::int"), message(b"D", b"Ss\0"), SYNC], b"12C1tTZ"),
    ([parse(b"", BEGIN), bind(b""), SYNC], b"12Z"),
    ([parse(b"", BEGIN), bind(b""), execute(), parse(b"q", b"SELEC nonsense"), SYNC], b"12CEZ"),
    ([parse(b"", BEGIN), bind(b""), execute(), message(b"F", struct.pack("!IHHH", 1, 0, 0, 0))], b"12CEZ"),
    ([parse(b"", BEGIN), bind(b""), execute(), execute(), SYNC], b"12CEZ"),
    ([parse(b"", BEGIN), bind(b""), execute(), parse(b"", b"SELECT length($1::text)"), bind(b"", b"x" * 200000), execute(), SYNC],
     b"12C12DCZ"),
    ([parse(b"", b"SELECT 1"), parse(b"b", BEGIN), bind(b"b"), execute(), bind(b""), execute(), SYNC], b"112C2DCZ"),
    ([parse(b"", BEGIN), message(b"C", b"S\0"), bind(b""), execute(), SYNC], b"13EZ"),
])
def test_units_with_a_begin(gateway, messages, answer):
    """They are answered as PostgreSQL answers them."""
    for node in (gateway.node, gateway):
        client = RawClient(gateway) if node is gateway else RawClient(OwnPort(node))
        found = client.ask(*messages)
        assert found == answer, node
        client.close()


class OwnPort:
    """A node's own port, as RawClient wants it."""

    def __init__(self, node):
        self.port = node.port

    def socket(self):

        return socket.create_connection(("127.0.0.1", self.port), timeout=servers.PATIENCE)


def test_damaged_parse(gateway, raw):
    """It fails, and disturbs no other client."""
    before = gateway.processes()
    damaged = RawClient(gateway)
    assert damaged.ask(parse(b"", BEGIN), bind(b""), execute(), message(b"P", b"abc"), SYNC).endswith(b"EZ")
    damaged.close()
    assert raw.value("SELECT 1") == "1"
    assert gateway.processes() == before


def test_names_that_get_other_texts(gateway, raw, elsewhere):
    """What is repeated when a block moves are the texts that it has used, not those that came later."""
    one, other = elsewhere[:2]

    def amounts():
        with servers.connect(gateway.node) as server:
            return [amount for amount, in rows(server, "SELECT amount FROM account WHERE id = ANY(%s) ORDER BY id", [[one, other]])]

    def block(name, last=None):
        raw.ask(parse(name, b"UPDATE account SET amount = amount + 1 WHERE id = $1"), SYNC)
        assert raw.ask(bind(b"begin"), execute(), SYNC) == b"2CZ"
        assert raw.ask(bind(name, str(one).encode()), execute(), SYNC) == b"2CZ"
        close = message(b"C", b"S" + name + b"\0")
        assert raw.ask(close, SYNC) == b"3Z"
        assert raw.ask(parse(name, b"UPDATE account SET amount = amount + 100 WHERE id = $1"),
                       bind(name, str(other).encode()), execute(), SYNC) == b"12CZ"
        if last:
            assert raw.ask(query(last)) == b"TDCZ"
        assert raw.ask(query(b"COMMIT")) == b"CZ"
        raw.ask(close, SYNC)

    raw.ask(parse(b"begin", BEGIN), SYNC)
    for name in (b"", b"named"):
        learn_by(gateway, lambda: block(name))
        before, moved = amounts(), count(gateway, "moved_blocks")
        block(name, b"SELECT count(*) FROM here")
        assert amounts() == [before[0] + 1, before[1] + 100]
        assert count(gateway, "moved_blocks") == moved + 1


def test_settings_are_not_sent_to_nodes(gateway, elsewhere):
    """A statement that makes a block move doesn't get the route of another one, even if nothing is known of it any more."""
    client = Client(gateway, "simple")

    def block(last=None):
        client.run("BEGIN")
        client.run("SELECT amount FROM account WHERE id = %s", elsewhere[0])
        if last:
            client.run(last)
        client.run("COMMIT")

    learn_by(gateway, block)
    block("SET vacuum_cost_limit = 77")
    block("SET vacuum_cost_limit = 77")
    with servers.connect(gateway.node) as server:
        server.execute("CREATE TABLE another (a int); DROP TABLE another")      # so that all is asked for once more
    learn_by(gateway, block)
    block("SET vacuum_cost_limit = 78")
    for number in range(601, 605):
        client.run(f"SET vacuum_cost_limit = {number}")
        assert client.run("SHOW vacuum_cost_limit") == [(str(number),)]
    client.close()


def test_cancel_and_then_a_timeout(gateway, elsewhere):
    """An error that looks like a cancelled statement's is told to its client, and nobody else notices."""
    id_, client = elsewhere[0], Client(gateway, "simple")
    client.run("SET statement_timeout = '2s'")

    def block():
        client.run("BEGIN")
        client.run("SELECT amount FROM account WHERE id = %s", id_)
        client.run("SAVEPOINT a")
        client.run("UPDATE account SET amount = 4 WHERE id = %s", id_)
        client.run("ROLLBACK TO a")
        client.run("COMMIT")

    learn_by(gateway, block)
    before = gateway.processes()
    with servers.connect(gateway.node, autocommit=False) as blocker:
        blocker.execute("UPDATE account SET amount = 3 WHERE id = %s", [id_])
        client.run("BEGIN")
        client.run("SELECT amount FROM account WHERE id = %s", id_)
        client.run("SAVEPOINT a")
        timer = threading.Timer(0.7, client.connection.cancel)
        timer.start()
        for _ in range(2):
            with pytest.raises(psycopg.errors.QueryCanceled):
                client.run("UPDATE account SET amount = 4 WHERE id = %s", id_)
            client.run("ROLLBACK TO a")
        timer.join()
        blocker.rollback()
    client.run("UPDATE account SET amount = 4 WHERE id = %s", id_)
    client.run("COMMIT")
    assert gateway.processes() == before
    client.close()


def test_more_blocks_than_sessions(gateway, elsewhere):
    """A burst of them doesn't open more sessions than there may be."""
    first = Client(gateway, "simple")
    learn_by(gateway, lambda: transfer(first, elsewhere[0]))
    clients = [Client(gateway, "simple") for _ in range(30)]
    start = threading.Barrier(len(clients))

    def work(client, id_):
        client.run("BEGIN")
        start.wait()
        client.run("SELECT amount FROM account WHERE id = %s", id_)
        client.run("COMMIT")

    threads = [threading.Thread(target=work, args=(client, elsewhere[number % len(elsewhere)]))
               for number, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(servers.PATIENCE)
    assert count(gateway, "node_sessions") <= 2 * (6 + 2)
    for client in (first, *clients):
        client.close()


def test_query_behind_an_error(gateway, raw, elsewhere):
    """The server skips it up to the Sync, so that is waited for."""
    id_ = str(elsewhere[0]).encode()
    insert = parse(b"", b"INSERT INTO account VALUES ($1)") + bind(b"", id_) + execute()
    read = query(b"SELECT amount FROM account WHERE id = " + id_)

    def block():
        raw.ask(query(BEGIN))
        assert raw.ask(read) == b"TDCZ"
        raw.ask(insert, SYNC)
        raw.ask(query(b"ROLLBACK"))

    learn_by(gateway, block)
    raw.ask(query(BEGIN))
    assert raw.ask(read) == b"TDCZ"
    assert raw.ask(insert, read, SYNC).endswith(b"EZ")
    assert raw.ask(query(b"ROLLBACK")) == b"CZ"


def test_failed_blocks_stay(gateway, elsewhere):
    """In a failed transaction nothing is done until its end, so that what needs this node moves nothing."""
    client, id_ = Client(gateway, "extended"), elsewhere[0]

    def block(last=None):
        client.run("BEGIN")
        client.run("UPDATE account SET amount = amount + 1 WHERE id = %s", id_)
        with pytest.raises(psycopg.errors.UniqueViolation):
            client.run("INSERT INTO account VALUES (%s)", id_)
        if last:
            with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                client.run(last)
        client.run("ROLLBACK")

    learn_by(gateway, block)
    moved = count(gateway, "moved_blocks")
    block("SELECT count(*) FROM here")
    assert count(gateway, "moved_blocks") == moved
    client.close()


def test_statements_prepared_first(gateway, elsewhere):
    """A driver that parses a statement by itself, first in its block, doesn't keep this from its node."""
    def transfer_of_a_new_client():
        client = Client(gateway, "extended")
        transfer(client, elsewhere[0])
        client.close()

    learn_by(gateway, transfer_of_a_new_client)


def test_an_end_that_is_executed_later(gateway, raw, elsewhere):
    """A COMMIT that is bound to a portal is not known when that is executed, so the block is not left on a node with it."""
    id_ = str(elsewhere[0]).encode()
    read = query(b"SELECT amount FROM account WHERE id = " + id_)
    write = query(b"UPDATE account SET amount = amount + 1 WHERE id = " + id_)

    def block():
        raw.ask(query(BEGIN))
        assert raw.ask(read) == b"TDCZ"
        assert raw.ask(write) == b"CZ"
        assert raw.ask(query(b"COMMIT")) == b"CZ"

    learn_by(gateway, block)
    before, moved = int(raw.value(f"SELECT amount FROM account WHERE id = {elsewhere[0]}")), count(gateway, "moved_blocks")
    raw.ask(query(BEGIN))
    assert raw.ask(read) == b"TDCZ"
    assert raw.ask(write) == b"CZ"
    assert raw.ask(parse(b"", b"COMMIT"), bind(b"", portal=b"end"), SYNC) == b"12Z"
    assert count(gateway, "moved_blocks") == moved + 1
    assert raw.ask(execute(b"end"), SYNC) == b"CZ"
    assert int(raw.value(f"SELECT amount FROM account WHERE id = {elsewhere[0]}")) == before + 1


def hold_session(gateway, pid):
    """Clients in transactions, one of them on the session of that process."""
    holders = []
    while not holders or holders[-1].value(SESSION) != pid:
        holders.append(RawClient(gateway))
        holders[-1].ask(query(BEGIN))
    return holders


@pytest.fixture
def strange_session(gateway, raw):
    """A client that has prepared statements of tables that were altered since, and gets a session that doesn't know them."""
    raw.ask(query(b"CREATE TABLE altered AS SELECT 1 AS id, 42::bigint AS v; CREATE TABLE indexed AS SELECT 1 AS id"))
    for name in (b"altered", b"indexed"):
        assert raw.ask(parse(name, b"SELECT * FROM " + name + b" WHERE id = $1::int"), bind(name, b"1"), message(b"D", b"P\0"), execute(),
                       SYNC) == b"12TDCZ"
    holders = hold_session(gateway, raw.value(SESSION))
    yield RawClient(gateway), raw
    for holder in holders:
        holder.close()
    with gateway.connect() as server:
        server.execute("DROP TABLE altered, indexed")


@pytest.mark.parametrize("messages, answer, code", [
    ([bind(b"altered", b"1"), execute(), SYNC], b"EZ", b"0A000"),
    ([message(b"D", b"Saltered\0"), SYNC], b"EZ", b"0A000"),
    ([parse(b"", BEGIN), bind(b""), execute(), bind(b"altered", b"1"), execute(), SYNC, query(b"ROLLBACK")], b"12CEZ", b"0A000"),
    ([bind(b"indexed", b"1"), execute(), bind(b"altered", b"1"), execute(), SYNC], b"2DCEZ", b"0A000"),
    ([parse(b"", b"SELECT 1/0"), bind(b""), execute(), bind(b"altered", b"1"), execute(), SYNC], b"1EZ", b"22012"),
    ([parse(b"new", b"SELECT * FROM altered WHERE id = $1::int"), bind(b"new", b"1"), execute(), SYNC], b"12DCZ", None),
])
def test_statements_whose_columns_have_changed(strange_session, messages, answer, code):
    """A client that knows the former ones, and how to read them, hears of it as of a cached plan, on whatever session."""
    other, client = strange_session
    other.ask(query(b"ALTER TABLE altered ALTER v TYPE float8; ALTER TABLE indexed ADD UNIQUE (id)"))
    other.close()
    assert client.ask(*messages) == answer
    if code is not None:
        assert b"\0C" + code + b"\0" in client.error
    if BEGIN in messages[0]:
        assert client.answers_until(b"Z") == b"CZ"
    for _ in range(2):
        assert client.ask(bind(b"altered", b"1"), execute(), SYNC) == b"EZ"
        assert b"\0C0A000\0" in client.error and b"cached plan must not change result type" in client.error
        assert client.ask(bind(b"indexed", b"1"), execute(), SYNC) == b"2DCZ"
    assert client.ask(parse(b"again", b"SELECT * FROM altered WHERE id = $1::int"), bind(b"again", b"1"), execute(), SYNC) == b"12DCZ"
    client.ask(query(b"DEALLOCATE ALL"))


@pytest.mark.parametrize("pin", [b"", b"CREATE TEMP TABLE pin ()"])
def test_columns_that_change_in_the_transaction(strange_session, pin):
    """Once that is rolled back, or undone, the statement is what it was, on whatever session."""
    other, client = strange_session
    client.ask(query(pin))
    client.ask(query(BEGIN))
    client.ask(query(b"ALTER TABLE altered ADD COLUMN w int"))
    assert client.ask(bind(b"indexed", b"1"), execute(), SYNC) == b"2DCZ"
    client.ask(query(b"SAVEPOINT s"))
    for refused in [bind(b"altered", b"1"), message(b"D", b"Saltered\0")]:
        assert client.ask(refused, SYNC) == b"EZ"
        assert b"\0C0A000\0" in client.error
        assert client.ask(refused, SYNC) == b"EZ"
        assert b"\0C25P02\0" in client.error
        client.ask(query(b"ROLLBACK TO s"))
    client.ask(query(b"ROLLBACK"))
    assert client.ask(bind(b"altered", b"1"), execute(), SYNC) == b"2DCZ"
    for change, answer in [(b"ADD COLUMN w int", b"EZ"), (b"DROP COLUMN w", b"2DCZ")]:
        other.ask(query(b"ALTER TABLE altered " + change))
        assert client.ask(bind(b"altered", b"1"), execute(), SYNC) == answer
    other.close()
    client.ask(query(b"DISCARD ALL"))


def test_columns_of_ddl_that_is_undone(gateway, raw):
    """What a statement has returned in a transaction with DDL, it returns on no session after its rollback."""
    raw.ask(query(b"BEGIN; ALTER TABLE here ADD COLUMN gone int"))
    for name in (b"all", b"one"):
        text = b"SELECT %s FROM here WHERE id = 1" % (b"*" if name == b"all" else b"id")
        assert raw.ask(parse(name, text), message(b"D", b"S" + name + b"\0"), SYNC) == b"1tTZ"
    pid = raw.value(SESSION)
    raw.ask(query(b"ROLLBACK"))
    for held in (True, False):
        holders = hold_session(gateway, pid) if held else []
        assert raw.ask(bind(b"all"), execute(), SYNC) == b"EZ" and b"\0C0A000\0" in raw.error
        assert raw.ask(bind(b"one"), execute(), SYNC) == b"2DCZ"
        for holder in holders:
            holder.close()


def test_statement_of_other_settings_in_a_pipeline(gateway, raw):
    """It neither commits what came before it, nor ends the skipping after an error."""
    raw.ask(query(b"SET work_mem = '1MB'"))
    assert raw.ask(parse(b"other", b"SELECT 1"), SYNC) == b"1Z"
    raw.ask(query(b"RESET ALL"))
    holders = hold_session(gateway, raw.value(SESSION))
    flush = message(b"H", b"")
    assert raw.ask(execute(b"nothing"), flush, until=b"E") == b"E"
    assert raw.ask(bind(b"other"), execute(), SYNC) == b"Z"
    insert = parse(b"", b"INSERT INTO here VALUES (77, 'written')"), bind(b""), execute(), flush
    assert raw.ask(*insert, until=b"C") == b"12C"
    assert raw.ask(bind(b"other"), execute(), parse(b"", b"SELECT nothing"), SYNC) == b"2DCEZ"
    assert raw.value("SELECT count(*) FROM here WHERE id = 77") == "0"
    for holder in holders:
        holder.close()
    assert raw.ask(bind(b"other"), execute(), SYNC) == b"2DCZ"


def test_columns_of_cursors(gateway, raw):
    """FETCH returns what its cursor does, whatever one of that name has returned before."""
    fetch = bind(b"fetch"), message(b"D", b"P\0"), execute(), SYNC
    raw.ask(query(b"BEGIN; DECLARE c CURSOR FOR SELECT 1"))
    assert raw.ask(parse(b"fetch", b"/* */ FETCH 1 FROM c"), *fetch) == b"12TDCZ"
    pid = raw.value(SESSION)
    raw.ask(query(b"COMMIT"))
    holders = hold_session(gateway, pid)
    raw.ask(query(b"BEGIN; CREATE TABLE fetched (); DECLARE c CURSOR FOR SELECT 1, 2"))
    assert raw.ask(*fetch) == b"2TDCZ"
    raw.ask(query(b"ROLLBACK"))
    for holder in holders:
        holder.close()


def test_known_statements_in_a_failed_transaction(raw):
    """They can't be prepared once more in it, and can afterwards."""
    text, ends = b"SELECT 'known'", b"ROLLBACK AND CHAIN"
    assert raw.ask(parse(b"a", text), parse(b"end", ends), SYNC) == b"11Z"
    raw.ask(query(BEGIN))
    raw.ask(query(b"SELECT 1 / 0"))
    for _ in range(2):
        assert raw.ask(parse(b"b", text), SYNC) == b"EZ" and b"\0C25P02\0" in raw.error
    assert raw.ask(parse(b"other end", ends), bind(b"other end"), execute(), SYNC) == b"12CZ"
    raw.ask(query(b"ROLLBACK"))
    assert raw.ask(bind(b"b"), execute(), SYNC) == b"EZ" and b"\0C26000\0" in raw.error
    for name in (b"a", b"b"):
        assert raw.ask(*([parse(b"b", text)] if name == b"b" else []), bind(name), execute(), SYNC)[-4:] == b"2DCZ"
