"""Random messages of a few clients, to a plain server and through the gateway: each answer is the same.

POMELO_SEQUENCES says how many rounds (20 by default), POMELO_RANDOM_SEED repeats a choice.
"""

import os
import random
import struct
from contextlib import ExitStack, closing

import pytest

from pomelo_check.sample import SEED

from harness import servers
from harness.gateways import Gateway
from harness.protocol_fuzz import message
from harness.raw_client import Direct, RawClient

ROUNDS = int(os.environ.get("POMELO_SEQUENCES", "20"))
BATCHES = 25        # of a round
CLIENTS = 3
HOLDERS = 3         # clients of the gateway that keep a session at times, so that others get another one
KEYS = 20

# {t} is the client's own table, {n} its number; with $1, the statement is sent by the extended protocol only.
STATEMENTS = [
    *["SELECT id, v FROM {t} WHERE id = $1::int", "UPDATE {t} SET v = v || 'u' WHERE id = $1::int RETURNING v"] * 4,
    "INSERT INTO {t} VALUES ($1::int, 'i')", "DELETE FROM {t} WHERE id = $1::int", "SELECT 10 / $1::int",
    "SELECT id, v FROM shared WHERE id = $1::int", "SELECT $1::text", "SELECT generate_series(1, $1::int)",
    "SELECT v FROM {t} WHERE id = 3", "SELECT v FROM {t} WHERE id = 7", "UPDATE {t} SET v = 'x' WHERE id = 9",
    "SELECT * FROM {t} ORDER BY id", "SELECT count(*) FROM {t}", "SELECT 1 / 0", "SELECT nothing", "", "SELECT 1; SELECT 2",
    *["BEGIN", "COMMIT", "ROLLBACK"] * 3, "COMMIT AND CHAIN", "START TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    *["SAVEPOINT s", "ROLLBACK TO s", "RELEASE s"] * 2, "SET search_path = pg_catalog, public", "SET LOCAL work_mem = '1MB'",
    "SHOW work_mem", "SHOW search_path", "SHOW application_name", "RESET ALL", "SET application_name = 'me'", "SET ROLE alice",
    "SET ROLE nobody", "RESET ROLE", "SET SESSION AUTHORIZATION alice", "RESET SESSION AUTHORIZATION", "SELECT current_user, session_user",
    "DISCARD ALL", "DEALLOCATE ALL", "DISCARD PLANS", "SET client_encoding = 'LATIN1'", "SET DateStyle = 'German'", "SELECT date '2026-01-02'",
    "DECLARE c CURSOR FOR SELECT generate_series(1, 5)", "DECLARE c CURSOR WITH HOLD FOR SELECT generate_series(1, 5)", "FETCH 2 FROM c",
    "CLOSE c", "CREATE TEMP TABLE tt (a int)", "CREATE TEMP TABLE tt (a int, b int) ON COMMIT DROP", "SELECT * FROM tt", "DROP TABLE tt",
    "PREPARE sq AS SELECT 5", "EXECUTE sq", "DEALLOCATE sq", "LISTEN l{n}", "NOTIFY l{n}", "UNLISTEN *", "SELECT pg_advisory_lock({n})",
    "SELECT pg_advisory_unlock_all()", "LOCK TABLE {t}", "COPY (SELECT * FROM {t} ORDER BY id) TO STDOUT", "COPY {t} FROM STDIN", "DO $$ BEGIN RAISE NOTICE 'n'; END $$",
    "SELECT set_config('work_mem', '2MB', true)", "BEGIN; SELECT 1; COMMIT", "SELECT 1; SELECT 1 / 0; SELECT 2", "SELECT 1; BEGIN",
    "ALTER TABLE {t} ADD COLUMN w int", "ALTER TABLE {t} DROP COLUMN IF EXISTS w",
]
# Those after which a pipeline may name any statement.
QUIET = [text for text in STATEMENTS if not text.endswith(" ALL") or text.startswith("RESET")]

# The answers to these are not in a batch.
SYNC = message(b"S", b"")
END = [message(b"f", b"end\0"), SYNC, *[message(b"Q", b"\0")] * 3]


class Batches:
    """Random messages of one client; they don't end in a COPY, or skipped."""

    def __init__(self, chosen, number):
        self.random, self.table = chosen, f"t{number}"

    def text(self, wanted=STATEMENTS):
        return self.random.choice(wanted).replace("{t}", self.table).replace("{n}", self.table[1:]).encode()

    def message(self):
        r = self.random
        kind = r.choices("PBDECHQFdcf", [5, 8, 3, 8, 1, 1, 3, .2, .3, .4, .2])[0]
        name, portal = r.choice([b"", b"", b"a", b"b", b"c"]), r.choice([b"", b"", b"", b"p"])
        if kind == "P":
            return [message(b"P", name + b"\0" + self.text(QUIET) + b"\0\0\0")]
        if kind == "B":
            value = str(r.choice([0, 1, 2, 3, 5, 8, 13, 100, "x"])).encode()
            values = [value] * r.choice([0, 1, 1, 1, 1, 1])
            return [message(b"B", portal + b"\0" + name + b"\0" + struct.pack("!HH", 0, len(values)) +
                            b"".join(struct.pack("!I", len(one)) + one for one in values) + b"\0\0")]
        if kind in "DC":
            return [message(kind.encode(), r.choice([b"S" + name, b"P" + portal]) + b"\0")]
        if kind == "E":
            return [message(b"E", portal + b"\0" + struct.pack("!I", r.choice([0, 0, 0, 1, 2])))]
        if kind == "Q":
            return [message(b"Q", (self.text(QUIET) or b"SELECT") + b"\0")]
        if kind == "F":
            return [message(b"F", struct.pack("!IHHH", 1, 0, 0, 0))]
        return [message(kind.encode(), {"d": b"55\tcopied\n", "f": b"why\0"}.get(kind, b""))]

    def statement(self):
        """As drivers send one."""
        r = self.random
        name, text = r.choice([b"", b"", b"d1", b"d2"]), self.text()
        value = str(r.choice([1, 2, 3, 5, 8, 13])).encode()
        values = [value] if b"$1" in text else []
        found = [message(b"P", name + b"\0" + text + b"\0\0\0")]
        if name:
            found.insert(0, message(b"C", b"S" + name + b"\0"))
        if r.random() < 0.3:
            found.append(message(b"D", b"S" + name + b"\0"))
        found += [message(b"B", b"\0" + name + b"\0" + struct.pack("!HH", 0, len(values)) +
                          b"".join(struct.pack("!I", len(one)) + one for one in values) + b"\0\0"),
                  message(b"D", b"P\0"), message(b"E", b"\0\0\0\0\0"), message(b"S", b"")]
        return found

    def batch(self):
        r = self.random
        made = []
        if r.random() < 0.5:
            for _ in range(r.choice([1, 2, 3])):
                made += self.statement()
        else:
            for _ in range(r.choice([1, 2, 4, 8])):
                made += self.message()
        return [*made, *END]


def told(kind, payload):
    """What a message says, without what servers may say otherwise."""
    if kind in b"EN":
        fields = {field[:1]: field[1:] for field in payload.split(b"\0") if field}
        return kind, fields.get(b"C"), fields.get(b"S"), *([fields.get(b"M")] if kind == b"N" else [])
    if kind == b"T":
        columns, at = [], 2
        for _ in range(struct.unpack("!H", payload[:2])[0]):
            end = payload.index(b"\0", at)
            columns.append((payload[at:end], payload[end + 7:end + 19]))
            at = end + 19
        return kind, columns
    return kind, payload[4:] if kind == b"A" else payload


def answers(client):
    """All that is said up to the end of the batch: the answers of a Sync and of empty queries, of which there are no others."""
    found, kinds = [], b""
    while True:
        try:
            head = client.input.read(5)
        except TimeoutError:
            return [*found, "waits"]
        if not head:
            found.append("ended")
            return found
        payload = client.input.read(struct.unpack("!I", head[1:])[0] - 4)
        found.append(told(head[:1], payload))
        kinds += head[:1]
        if kinds.endswith(b"ZIZIZIZ"):
            return found


CONTENTS = [f"TRUNCATE t{number}; ALTER TABLE t{number} DROP COLUMN IF EXISTS w; INSERT INTO t{number} SELECT g, 'v' "
            f"FROM generate_series(1, {KEYS}) g" for number in range(CLIENTS)]
PREPARE = """
    DROP ROLE IF EXISTS alice; CREATE ROLE alice;
    CREATE TABLE shared (id int PRIMARY KEY, v text); INSERT INTO shared SELECT g, 's' FROM generate_series(1, 20) g;
"""


@pytest.fixture(scope="module")
def both():
    """A plain server, and the gateway of a cluster, with the same tables."""
    with servers.cluster(purpose="check-random-plain", kind="plain") as plain, \
            servers.cluster(purpose="check-random-gateway") as made:
        for node, distribute in ((plain.coordinator, False), (made.coordinator, True)):
            node.sql(PREPARE)
            names = [f"t{number}" for number in range(CLIENTS)]
            for name in names:
                node.sql(f"CREATE TABLE {name} (id int PRIMARY KEY, v text);"
                         f"GRANT ALL ON {name} TO alice")
            for name in [*names, "shared"] if distribute else []:
                node.sql(f"SELECT create_distributed_table('{name}', 'id')")
        yield Direct(plain.coordinator), Gateway(made.coordinator, {"gateway_clean_blocks": 1, "gateway_pool_size": CLIENTS + HOLDERS + 1})


def lacks_statement(said, gateway):
    """The gateway may say that to a Describe in an aborted transaction block: its session can't parse the client's statement until the block has ended."""
    return said[0] == b"t" and gateway[:2] == (b"E", b"25P02")


def agree(said, gateway):
    """Whether the gateway may say that.

    A Bind with a wrong number of parameters in an aborted transaction block: the server, which has the statement, complains of the number
    (08P01). The block's session may not have the client's statement yet, and can't parse it until the block has ended (25P02).
    """
    return said == gateway or (said[:2], gateway[:2]) == ((b"E", b"08P01"), (b"E", b"25P02"))


def difference(both, chosen):
    """Some batches of clients that come anew; where the gateway answers otherwise than the server, or None."""
    makers = [Batches(chosen, number) for number in range(CLIENTS)]
    with ExitStack() as stack:
        clients = [[stack.enter_context(closing(RawClient(where))) for where in both] for _ in range(CLIENTS)]
        for client in clients[0]:
            for query in CONTENTS:
                assert client.ask(message(b"Q", query.encode() + b"\0")).endswith(b"CZ")
        holders = [stack.enter_context(closing(RawClient(both[1]))) for _ in range(HOLDERS)]
        for _ in range(BATCHES):
            if chosen.random() < 0.5:
                chosen.choice(holders).ask(message(b"Q", chosen.choice([b"BEGIN; SELECT 1\0", b"ROLLBACK\0"])))
            number = chosen.randrange(CLIENTS)
            batch = makers[number].batch()
            found = []
            for client in clients[number]:
                client.socket.sendall(b"".join(batch))
                found.append(answers(client))
            at = next((i for i, (one, other) in enumerate(zip(*found)) if not agree(one, other)), None)
            if {"ended", "waits"} & {found[0][-1], found[1][-1]}:
                clients[number] = [stack.enter_context(closing(RawClient(where))) for where in both]
            if at is not None and lacks_statement(found[0][at], found[1][at]):
                return None
            if at is not None or len(found[0]) != len(found[1]):
                return f"server {found[0][at:at + 3]}, gateway {found[1][at:at + 3]} after {found[0][:at]} for {batch}"
    return None


def parse(name, text):
    return message(b"P", name + b"\0" + text + b"\0\0\0")


def bind(name, *values):
    return message(b"B", b"\0" + name + b"\0" + struct.pack("!HH", 0, len(values)) +
                   b"".join(struct.pack("!I", len(value)) + value for value in values) + b"\0\0")


EXECUTE = message(b"E", b"\0\0\0\0\0")
WRONG = [parse(b"w", b"SELECT 1 / 0"), bind(b"w"), EXECUTE]


@pytest.mark.parametrize("batches", [
    # A query drops the statement without a name, if it is run; nobody gets that of others.
    [[parse(b"", b"SELECT 1"), SYNC, message(b"Q", b"SELECT 2\0"), bind(b""), EXECUTE], [message(b"D", b"S\0"), SYNC]],
    [[parse(b"", b"SELECT 1"), SYNC, message(b"Q", b"BEGIN\0"), bind(b""), EXECUTE, SYNC], [message(b"Q", b"ROLLBACK\0")]],
    [[parse(b"", b"SELECT 1"), *WRONG, message(b"Q", b"SELECT 2\0"), SYNC], [bind(b""), EXECUTE, SYNC]],
    [[parse(b"", b"SELECT 1"), SYNC, parse(b"", b"SELECT"), parse(b"", b"SELEC"), SYNC, bind(b""), EXECUTE]],
    [[parse(b"", b"DEALLOCATE ALL"), bind(b""), EXECUTE, SYNC], [bind(b""), EXECUTE, SYNC]],
    # Messages that are skipped leave the names as they were.
    [[parse(b"", b"SELECT 1"), *WRONG, parse(b"", b"SELECT 2"), SYNC], [bind(b""), EXECUTE, SYNC]],
    [[*WRONG, parse(b"x", b"SELECT 2"), message(b"C", b"Sx\0"), SYNC, parse(b"x", b"SELECT 3"), bind(b"x"), EXECUTE, SYNC]],
    [[parse(b"y", b"SELECT 1"), *WRONG, message(b"C", b"Sy\0"), parse(b"y", b"SELECT 2"), SYNC, parse(b"y", b"SELECT 3"), SYNC]],
    # A name that is in use, but not by what is skipped or dropped; errors of the text come first.
    [[parse(b"a", b"SELECT 1"), parse(b"a", b"SELECT 1; SELECT 2"), SYNC, parse(b"a", b"SELECT nothing"), SYNC, parse(b"a", b""), SYNC]],
    [[parse(b"b", b"SELECT 1"), parse(b"", b"DEALLOCATE ALL"), bind(b""), EXECUTE, parse(b"b", b"SELECT 2"), bind(b"b"), EXECUTE, SYNC]],
    [[*WRONG, parse(b"c", b"SELECT 1"), SYNC, parse(b"c", b"SELECT 2"), bind(b"c"), EXECUTE, SYNC]],
    [[parse(b"f", b"COPY t0 FROM STDIN"), parse(b"g", b""), SYNC], [bind(b"f"), EXECUTE, parse(b"g", b"SELECT 1"), SYNC]],
    # A name that is in use, for a text that names statements, in a block.
    [[parse(b"b", b"SELECT 1"), SYNC, parse(b"d", b"START TRANSACTION ISOLATION LEVEL REPEATABLE READ"), bind(b"d"), message(b"D", b"P\0"),
      EXECUTE, SYNC], [parse(b"b", b"DEALLOCATE sq")]],
    # Drivers drop statements by queries.
    [[parse(b"d", b"SELECT 1"), SYNC], [message(b"Q", b"DEALLOCATE D\0"), bind(b"d"), EXECUTE, SYNC], [parse(b"d", b"SELECT 2"), SYNC]],
    [[parse(b'D "d', b"SELECT 1"), SYNC], [message(b"Q", b" deallocate prepare \"D \"\"d\" ; \0"), bind(b'D "d'), EXECUTE, SYNC]],
    [[parse(b"d", b"SELECT 1"), parse(b"e", b"SELECT 1"), message(b"Q", b"BEGIN\0")], [message(b"Q", b"DEALLOCATE d\0")],
     [message(b"Q", b"ROLLBACK\0"), bind(b"e"), EXECUTE, SYNC, bind(b"d"), EXECUTE, SYNC], [message(b"Q", b"DEALLOCATE d\0")]],
    [[parse(b"d", b"SELECT 1"), message(b"Q", b"BEGIN; SELECT 1 / 0\0")], [message(b"Q", b"DEALLOCATE d\0")],
     [message(b"Q", b"ROLLBACK\0"), bind(b"d"), EXECUTE, SYNC]],
    [[parse(b"prepare", b"SELECT 1"), SYNC], [message(b"Q", b"DEALLOCATE prepare\0")], [message(b"Q", b"DEALLOCATE \"all\"\0")]],
    # BEGIN as a query leaves no portal; the end of a session is told once.
    [[message(b"Q", b"BEGIN\0"), EXECUTE, SYNC, message(b"Q", b"ROLLBACK\0")]],
    [[parse(b"", b"BEGIN"), bind(b""), EXECUTE, SYNC, EXECUTE, SYNC, message(b"Q", b"ROLLBACK\0")]],
    [[message(b"Q", b"COPY t0 FROM STDIN\0"), parse(b"", b"SELECT 1"), SYNC]],
])
def test_messages(both, batches):
    """What random messages have found."""
    found = []
    for where in both:
        with closing(RawClient(where)) as client:
            found.append([])
            for batch in batches:
                client.socket.sendall(b"".join([*batch, *END]))
                found[-1].append([kind for kind in answers(client) if kind != "waits"])
                if found[-1][-1][-1] == "ended":
                    break
    assert found[1] == found[0]


def test_random_messages_of_some_clients(both):
    print(f"POMELO_RANDOM_SEED={SEED}")
    differences = []
    for number in range(ROUNDS):
        difference_of_round = difference(both, random.Random(SEED * 10000 + number))
        if difference_of_round:
            differences.append(f"round {number}: {difference_of_round}")
    assert not differences, "\n\n".join(differences)
