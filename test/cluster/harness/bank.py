"""A bank for tests that break things: accounts on all nodes, a reference table, and what must always hold."""

from contextlib import ExitStack

from harness import servers
from harness.servers import rows, value, wait_until

ACCOUNTS = 1000
RATES = 10          # rows of the reference table
START = 100

# What a crash could leave: prepared transactions, and locks of other sessions than the daemon's.
LEFT = """
    SELECT 'prepared', gid FROM pg_prepared_xacts
    UNION ALL
    SELECT 'locked', locktype || ' ' || mode || ' ' || coalesce(relation::regclass::text, '')
    FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
    WHERE pid IS DISTINCT FROM pg_backend_pid()
      AND coalesce(backend_type, 'client backend') = 'client backend'"""


def create(made):
    """Tables account (1,000 rows, on both workers) and rate (a reference table)."""
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance int, last int)")
        connection.execute("SELECT create_distributed_table('account', 'id', shard_count => 8)")
        connection.execute("CREATE TABLE rate (id int PRIMARY KEY, last int)")
        connection.execute("SELECT create_reference_table('rate')")
        connection.execute("INSERT INTO account SELECT g, %s, 0 FROM generate_series(1, %s) g",
                           [START, ACCOUNTS])
        connection.execute("INSERT INTO rate SELECT g, 0 FROM generate_series(1, %s) g", [RATES])


def keys_on(made, port):
    """Two accounts whose rows are on the node with that port."""
    with servers.connect(made.coordinator) as connection:
        return [row[0] for row in rows(connection, """
            SELECT id FROM account
            JOIN pg_dist_placement p
              ON p.shardid = get_shard_id_for_distribution_column('account', id)
            JOIN pg_dist_node n USING (groupid)
            WHERE nodeport = %s ORDER BY id LIMIT 2""", [port])]


def recover(made):
    """Ends, from each node, what failures have left unfinished."""
    for node in made.nodes:
        with servers.connect(node) as connection:
            connection.execute("SELECT recover_prepared_transactions()")


def nothing_is_left(nodes):
    """Whether all transactions have ended, once each node has ended what it can."""
    for node in nodes:
        node.execute("SELECT recover_prepared_transactions()")
    return not any(rows(node, LEFT) for node in nodes)


def check(made):
    """No money lost, replicas equal, nothing prepared, nothing locked; all nodes must be up."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(servers.connect(node)) for node in made.nodes]
        try:
            wait_until(lambda: nothing_is_left(nodes), "nothing to be left")
        except AssertionError as error:
            sessions = "SELECT pid, backend_type, state, wait_event, left(query, 100) FROM pg_stat_activity WHERE datname IS NOT NULL"
            raise AssertionError([(rows(node, LEFT), rows(node, sessions)) for node in nodes]) from error
        replicas = rows(nodes[0], "SELECT equal, nodeport, row_count FROM citus_check_reference_table('rate')")
        assert len(replicas) == len(nodes) and all(replica[0] for replica in replicas), replicas
        sums = [rows(node, "SELECT count(*), sum(balance) FROM account") for node in nodes]
        assert sums == [[(ACCOUNTS, ACCOUNTS * START)]] * len(nodes), sums
        writer = nodes[-1]
        writer.execute("SET lock_timeout = '10s'")
        writer.execute("UPDATE account SET balance = balance WHERE id % 10 = 0")
        writer.execute("UPDATE rate SET last = last")
        assert value(writer, "SELECT recover_prepared_transactions()") == 0
