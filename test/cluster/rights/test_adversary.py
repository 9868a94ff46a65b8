"""An ordinary role tries on every node at once to do harm, while others work: nothing of theirs changes.

POMELO_ADVERSARY_SECONDS says how long (20 by default), POMELO_RANDOM_SEED repeats the choice of attacks.
"""

import os
import random
import re
import threading
import time
from collections import Counter
from contextlib import ExitStack

import psycopg
import pytest

from pomelo_check.sample import SEED

from harness import bank, servers
from harness.adversary import ROLE, TRAP_TABLES, TRAPS, VICTIM, Adversary
from harness.servers import footprint, on_every_node, rows, value

SECONDS = float(os.environ.get("POMELO_ADVERSARY_SECONDS", "20"))
CLIENTS = 4
LATENCY = 20        # seconds that a statement of the others may take

# What a role may do and what code there is, of all but the adversary's own.
RIGHTS = """
    SELECT 'role' AS kind, rolname::text AS object, (to_jsonb(r) - 'oid')::text AS rights FROM pg_roles r
    UNION ALL SELECT 'member', roleid::regrole::text, member::regrole::text FROM pg_auth_members
    UNION ALL SELECT 'setting', setrole::regrole::text, concat_ws(' ', setdatabase, setconfig) FROM pg_db_role_setting
    UNION ALL SELECT 'default', defaclrole::regrole::text, defaclacl::text FROM pg_default_acl
    UNION ALL SELECT 'database', datname, concat_ws(' ', datdba::regrole, datacl) FROM pg_database
    UNION ALL SELECT 'schema', nspname, concat_ws(' ', nspowner::regrole, nspacl) FROM pg_namespace WHERE nspname !~ '^pg_(toast|temp)'
    UNION ALL SELECT 'class', oid::regclass::text,
        concat_ws(' ', relowner::regrole, relacl, relkind, relhastriggers, relhasrules, relrowsecurity, relnatts, obj_description(oid, 'pg_class'))
        FROM pg_class WHERE relnamespace::regnamespace::text !~ '^pg_(toast|temp)'
    UNION ALL SELECT 'function', oid::regprocedure::text, concat_ws(' ', proowner::regrole, proacl, md5(prosrc), probin, proconfig) FROM pg_proc
    UNION ALL SELECT 'type', oid::regtype::text, concat_ws(' ', typowner::regrole, typacl) FROM pg_type WHERE typtype IN ('b', 'd', 'e', 'r')
        AND typnamespace::regnamespace::text !~ '^pg_(toast|temp)'
    UNION ALL SELECT 'extension', extname, concat_ws(' ', extversion, (SELECT count(*) FROM pg_depend d WHERE d.refobjid = e.oid)) FROM pg_extension e
    UNION ALL SELECT 'file', name, setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'
    ORDER BY 1, 2, 3"""

METADATA = {table: f"SELECT t::text FROM {table} t ORDER BY 1" for table in
            ("pg_dist_partition", "pg_dist_shard", "pg_dist_placement", "pg_dist_node", "pg_dist_node_secret", "pg_dist_authinfo",
             "pg_dist_object", "pg_dist_node_metadata")}
# Of the groups those with tables; check_groups looks at the others, which may stay when somebody was about to join them.
METADATA["pg_dist_colocation"] = """SELECT g::text FROM pg_dist_colocation g
    WHERE EXISTS (SELECT FROM pg_dist_partition p WHERE p.colocationid = g.colocationid) ORDER BY 1"""

PLANS = ["SELECT * FROM bank.account WHERE id = 7", "SELECT sum(balance) FROM bank.account", "UPDATE bank.account SET balance = 1 WHERE id = 7",
         "SELECT count(*) FROM bank.account JOIN bank.rate ON rate.id = 1 + account.id % 10", "UPDATE bank.rate SET last = last + 1"]

# Hours that a clock was moved by; the clock is in microseconds since 2000.
CLOCK = "SELECT citus_internal.snapshot_begin() / 3.6e9 - extract(epoch FROM clock_timestamp() - timestamptz '2000-01-01 00:00:00+00') / 3600"


class Client(threading.Thread):
    """Somebody at work on one node after the other, to whom nothing may happen."""

    user = VICTIM

    def __init__(self, cluster, number, stop):
        super().__init__(name=f"{type(self).__name__} {number}")
        self.nodes, self.stop = cluster.nodes, stop
        self.random = random.Random(SEED * 100 + number)
        self.done = Counter()
        self.slowest = (0, "")
        self.failure = None

    def run(self):
        try:
            while not self.stop.is_set():
                with servers.connect(self.random.choice(self.nodes), user=self.user) as connection:
                    self.execute(connection, f"SET statement_timeout = '{LATENCY}s'")
                    for _ in range(self.random.randrange(5, 60)):
                        if self.stop.is_set():
                            break
                        action = self.random.choice(self.actions())
                        action(connection)
                        self.done[action.__name__] += 1
        except Exception as error:  # pylint: disable=broad-except
            self.failure = f"{self.name}: {error!r}"

    def execute(self, connection, query, parameters=None):
        start = time.monotonic()
        try:
            return connection.execute(query, parameters)
        except psycopg.Error as error:
            raise AssertionError(f"{query} on {connection.info.port}: {error.sqlstate} {error}") from error
        finally:
            self.slowest = max(self.slowest, (time.monotonic() - start, query))

    def actions(self):
        return [self.transfer, self.transfer, self.read, self.total, self.rate, self.rated]

    def transfer(self, connection):
        """Between two accounts, in an order in which transfers don't block each other."""
        first, second = sorted(self.random.sample(range(1, bank.ACCOUNTS + 1), 2))
        amount = self.random.randrange(-20, 20)
        with connection.transaction():
            for key, change in ((first, amount), (second, -amount)):
                assert self.execute(connection, "UPDATE bank.account SET balance = balance + %s::int WHERE id = %s::int", [change, key]).rowcount == 1

    def read(self, connection):
        key = self.random.randrange(1, bank.ACCOUNTS + 1)
        assert self.execute(connection, "SELECT id, last FROM bank.account WHERE id = %s::int", [key]).fetchall() == [(key, 0)]

    def total(self, connection):
        query = self.random.choice(["SELECT pg_catalog.sum(balance), pg_catalog.count(*) FROM bank.account", "SELECT * FROM bank.total"])
        assert self.execute(connection, query).fetchall() == [(bank.ACCOUNTS * bank.START, bank.ACCOUNTS)]

    def rate(self, connection):
        assert self.execute(connection, "UPDATE bank.rate SET last = last + 1 WHERE id = %s::int", [self.random.randrange(1, bank.RATES + 1)]).rowcount == 1

    def rated(self, connection):
        query = "SELECT pg_catalog.count(*) FROM bank.account a JOIN bank.rate r ON r.id = 1 + a.id % 10"
        assert self.execute(connection, query).fetchall() == [(bank.ACCOUNTS,)]


class Maker(Client):
    """Makes tables and views, and drops them."""

    def __init__(self, cluster, number, stop):
        super().__init__(cluster, number, stop)
        self.nodes = [cluster.coordinator]      # tables are distributed there

    def actions(self):
        return [self.make, self.read]

    def make(self, connection):
        kind = self.random.choice(["pg_catalog.create_distributed_table('bank.t'::regclass, 'id'::text)",
                                   "pg_catalog.create_distributed_table('bank.t'::regclass, NULL::text)",
                                   "pg_catalog.create_reference_table('bank.t'::regclass)"])
        for statement in ("CREATE TABLE bank.t (id int PRIMARY KEY, payload text DEFAULT 'x')", f"SELECT {kind}",
                          "INSERT INTO bank.t SELECT g FROM pg_catalog.generate_series(1, 100) g", "CREATE VIEW bank.v AS SELECT * FROM bank.t",
                          "CREATE INDEX ON bank.t (payload)", "ALTER TABLE bank.t ADD COLUMN more int DEFAULT 3"):
            self.execute(connection, statement)
        assert self.execute(connection, "SELECT pg_catalog.sum(id) FROM bank.v").fetchall() == [(5050,)]
        self.execute(connection, "DROP VIEW bank.v")
        self.execute(connection, "DROP TABLE bank.t")


class Admin(Client):
    """A superuser, whose commands meet the adversary's objects."""

    user = "postgres"

    def actions(self):
        return [self.analyze, self.trapped, self.monitor, self.total]

    def analyze(self, connection):
        self.execute(connection, self.random.choice(["ANALYZE bank.account", "VACUUM ANALYZE bank.rate"]))

    def trapped(self, connection):
        """Runs the adversary's code, with its rights only, unless it has made its table a local one of another node."""
        try:
            self.execute(connection, self.random.choice(["ANALYZE public.trap", "VACUUM ANALYZE public.trap"]))
        except AssertionError as failure:
            error = failure.__cause__
            if not isinstance(error, psycopg.errors.UndefinedTable) or 'relation "public.trap" does not exist' not in str(error):
                raise

    def monitor(self, connection):
        self.execute(connection, self.random.choice([
            "SELECT count(*) FROM citus_stat_activity", "SELECT count(*) FROM citus_lock_waits", "SELECT recover_prepared_transactions()",
            "SELECT count(*) FROM citus_tables WHERE table_name = 'bank.account'::regclass", "SELECT count(*) FROM citus_check_cluster_node_health()"]))


@pytest.fixture
def town():
    """A cluster with the victim's bank and the adversary's role."""
    with servers.cluster(purpose="check-adversary", settings={"citus.recover_2pc_interval": "2s", "citus.autoanalyze_naptime": "1s"}) as made:
        for node in made.nodes:
            node.sql(f"SET citus.enable_ddl_propagation = off; CREATE ROLE {VICTIM} LOGIN; CREATE ROLE {ROLE} LOGIN;"
                     f"GRANT CREATE ON SCHEMA public TO {ROLE}; CREATE SCHEMA bank; GRANT USAGE, CREATE ON SCHEMA bank TO {VICTIM};"
                     f"GRANT USAGE ON SCHEMA bank TO {ROLE}")
        made.coordinator.sql(f"""
            SET ROLE {VICTIM};
            CREATE TABLE bank.account (id int PRIMARY KEY, balance int, last int);
            SELECT create_distributed_table('bank.account', 'id', shard_count => 8);
            CREATE TABLE bank.rate (id int PRIMARY KEY, last int);
            SELECT create_reference_table('bank.rate');
            INSERT INTO bank.account SELECT g, {bank.START}, 0 FROM generate_series(1, {bank.ACCOUNTS}) g;
            INSERT INTO bank.rate SELECT g, 0 FROM generate_series(1, {bank.RATES}) g;
            GRANT SELECT ON bank.rate TO {ROLE};
            RESET ROLE;
            ANALYZE bank.account, bank.rate""")
        made.coordinator.sql("CREATE VIEW bank.total AS SELECT sum(balance), count(*) FROM bank.account", user=VICTIM)
        yield made


def state(cluster):
    """What may not change: rights, metadata, plans and the objects that there are; it runs while nobody works."""
    plans = {}
    for node in cluster.nodes:
        with servers.connect(node, user=VICTIM) as connection:
            plans[node.name] = [rows(connection, f"EXPLAIN (COSTS OFF) {query}") for query in PLANS]
    return {"rights": on_every_node(cluster, RIGHTS), "plans": plans, "objects": footprint(cluster),
            **{table: on_every_node(cluster, query) for table, query in METADATA.items()}}


def differences(before, after):
    """What is in one of two states only, as lines."""
    found = []
    for part, nodes in before.items():
        for node, old in nodes.items():
            new = after[part][node]
            found += [f"{part} {node} - {row}" for row in old if row not in new]
            found += [f"{part} {node} + {row}" for row in new if row not in old]
    return found


def forget(cluster):
    """Drops what the adversary owns, by itself on each node in the end."""
    for node in cluster.nodes:
        with servers.connect(node) as connection:
            for (gid,) in rows(connection, f"SELECT gid FROM pg_prepared_xacts WHERE owner = '{ROLE}' AND gid !~ '^citus_'"):
                connection.execute(f"ROLLBACK PREPARED '{gid}'")
    servers.wait_until_quiet(cluster)
    cluster.coordinator.sql(f"DROP OWNED BY {ROLE} CASCADE")
    for node in cluster.nodes:
        node.sql(f"SET citus.enable_ddl_propagation = off; DROP OWNED BY {ROLE} CASCADE;"
                 f"GRANT CREATE ON SCHEMA public TO {ROLE}; GRANT USAGE ON SCHEMA bank TO {ROLE}")
    with servers.connect(cluster.coordinator, user=VICTIM) as connection:
        connection.execute(f"GRANT SELECT ON bank.rate TO {ROLE}")


def check_data(cluster):
    """No money lost, each row where its key says, replicas equal, nothing in the logical tables."""
    with ExitStack() as stack:
        for node in cluster.nodes:
            connection = stack.enter_context(servers.connect(node))
            assert rows(connection, "SELECT * FROM bank.total") == [(bank.ACCOUNTS * bank.START, bank.ACCOUNTS)]
            routed = [value(connection, "SELECT balance FROM bank.account WHERE id = %s", [key]) for key in range(1, bank.ACCOUNTS + 1)]
            assert sum(routed) == bank.ACCOUNTS * bank.START
            connection.execute("SET citus.sum_over_shards = off")
            assert rows(connection, "SELECT pg_relation_size('bank.account')") == [(0,)]
            assert rows(connection, "SELECT id FROM bank.rate ORDER BY 1") == [(key,) for key in range(1, bank.RATES + 1)]
            assert abs(value(connection, CLOCK)) < 1 / 60, "a clock was moved"
            assert value(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = %s", [ROLE]) is False
            replicas = rows(connection, "SELECT equal, nodeport, row_count FROM citus_check_reference_table('bank.rate')")
            assert len(replicas) == len(cluster.nodes) and all(replica[0] for replica in replicas), replicas


def check_groups(cluster):
    """No two nodes mean different groups by a number, each could be a table's, and new tables find theirs from any node.

    A node may have kept an empty one that others have deleted: its owner may drop a table on one node alone.
    """
    groups = set().union(*on_every_node(cluster, "SELECT * FROM pg_dist_colocation").values())
    assert len({group[0] for group in groups}) == len(groups), groups
    for colocationid, shardcount, replicationfactor, *_ in groups:
        assert 0 < colocationid < 2**31 and 0 < shardcount <= 64000 and replicationfactor in (1, -1), groups
    maker = Maker(cluster, 52, None)
    for node in cluster.nodes:
        with servers.connect(node, user=VICTIM) as connection:
            maker.make(connection)


def check_logs(cluster, marks):
    for node, mark in marks.items():
        trouble = [line for line in node.log_since(mark).splitlines()
                   if re.search(r"terminated by signal|PANIC|TRAP:|server process .* exited|pg_dist_node_secret.*\\x|crash of another", line)]
        assert not trouble, trouble[:5]


def report(adversaries, clients):
    for name in sorted(set().union(*(adversary.done.keys() | adversary.refused.keys() for adversary in adversaries))):
        print("attack", name, "executed", sum(a.done[name] for a in adversaries), "refused", sum(a.refused[name] for a in adversaries))
    done = Counter()
    for client in clients:
        done += client.done
    print("work", dict(done), "slowest {:.2f} s: {}".format(*max(client.slowest for client in clients)))
    return done


def test_nobody_is_harmed(town):
    print(f"POMELO_RANDOM_SEED={SEED}")
    before = state(town)
    for node in town.nodes:
        node.sql(TRAPS, user=ROLE)
    town.coordinator.sql(TRAP_TABLES, user=ROLE)
    marks = {node: node.log_mark() for node in town.nodes}
    stop = threading.Event()
    clients = [Client(town, number, stop) for number in range(CLIENTS)] + [Maker(town, 50, stop), Admin(town, 51, stop)]
    adversaries = [Adversary(node, SEED, stop) for node in town.nodes]
    end = time.monotonic() + SECONDS
    for thread in clients + adversaries:
        thread.start()
    try:
        while time.monotonic() < end and not any(thread.failure for thread in clients + adversaries):
            stop.wait(0.2)
    finally:
        stop.set()
        for thread in clients + adversaries:
            thread.join(2 * LATENCY)
    done = report(adversaries, clients)
    failures = [str(thread.failure) for thread in clients + adversaries if thread.failure]
    assert not failures, "\n".join(failures)
    assert not any(thread.is_alive() for thread in clients + adversaries), "a session hangs"
    check_logs(town, marks)
    check_data(town)
    forget(town)
    assert not any(servers.prepared_transactions(node) for node in town.nodes)
    changed = differences(before, state(town))
    assert not changed, "\n".join(changed)
    check_groups(town)
    check_data(town)
    for action in ("transfer", "read", "total", "rate", "rated", "make", "analyze", "trapped", "monitor"):
        assert done[action] > 0, f"no {action} went through"
    internal = {message: statements for adversary in adversaries for message, statements in adversary.internal.items()}
    for message, statements in internal.items():
        print("internal error", message, statements)
    assert not internal, "a client can provoke internal errors"
