"""citus_cluster_changes_block(): commits over several nodes wait while the disks are copied."""

import psycopg
import pytest

from harness import bank, servers
from harness.servers import value, wait_until

STATE = "SELECT state FROM citus_cluster_changes_block_status()"


@pytest.fixture(scope="module")
def blocked_bank():
    with servers.cluster(purpose="check-changes-block") as made:
        bank.create(made)
        yield made


@pytest.fixture
def two(blocked_bank):
    """A statement that writes on two nodes, and one that writes on one."""
    keys = [bank.keys_on(blocked_bank, node.port)[0] for node in blocked_bank.workers]
    return f"UPDATE account SET last = last + 1 WHERE id IN ({keys[0]}, {keys[1]})", \
        f"UPDATE account SET last = last + 1 WHERE id = {keys[0]}"


def test_holds_off_decisions(blocked_bank, two):
    """Commits over nodes, DDL and a second block wait or fail; writes on one node go on, from any node."""
    both, one = two
    with servers.connect(blocked_bank.coordinator) as admin, servers.connect(blocked_bank.workers[0]) as client:
        assert value(admin, STATE) == "inactive"
        assert value(admin, "SELECT citus_cluster_changes_block(timeout_ms => 60000)")
        assert admin.execute("SELECT state, requestor_pid = pg_backend_pid(), timeout_ms, node_count "
                             "FROM citus_cluster_changes_block_status()").fetchone() == ("blocked", True, 60000, 3)
        client.execute("SET lock_timeout = '200ms'")
        client.execute(one)
        for statement in (both, "CREATE TABLE held_off (); SELECT create_reference_table('held_off')"):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                client.execute(statement)
        with pytest.raises(psycopg.errors.ObjectInUse):
            admin.execute("SELECT citus_cluster_changes_block()")
        admin.close()
    with servers.connect(blocked_bank.coordinator) as admin, servers.connect(blocked_bank.workers[0]) as client:
        assert value(admin, "SELECT citus_cluster_changes_unblock()")
        assert value(admin, STATE) == "released"
        client.execute(both)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            admin.execute("SELECT citus_cluster_changes_unblock()")


def test_ends_by_itself(blocked_bank, two):
    """After the limit, commits go on, and unblocking says that the snapshots may not fit."""
    with servers.connect(blocked_bank.workers[1]) as admin:
        assert value(admin, "SELECT citus_cluster_changes_block(1)")
        wait_until(lambda: value(admin, STATE) == "timed out", "the block to end")
        admin.execute(two[0])
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="not blocked") as failure:
            admin.execute("SELECT citus_cluster_changes_unblock()")
        assert failure.value.diag.message_detail == "The block ended after its time limit of 1 ms."
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            admin.execute("SELECT citus_cluster_changes_block(0)")


def test_failures_are_told(blocked_bank, two):
    """A lost session on another node, or a worker that is terminated, ends the block with an error."""
    ends = [
        (blocked_bank.workers[0], "SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE mode = 'ExclusiveLock' "
                                  "AND relation = 'pg_dist_transaction'::regclass"),
        (blocked_bank.coordinator, "SELECT pg_terminate_backend(worker_pid) FROM citus_cluster_changes_block_status()")]
    for node, end in ends:
        with servers.connect(blocked_bank.coordinator) as admin, servers.connect(node) as killer:
            assert value(admin, "SELECT citus_cluster_changes_block()")
            assert value(killer, end)
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="not blocked"):
                admin.execute("SELECT citus_cluster_changes_unblock()")
            assert value(admin, STATE) == "failed"
            wait_until(lambda: value(admin, "SELECT count(*) FROM pg_stat_activity "
                                            "WHERE backend_type = 'citus changes block'") == 0, "the process to end")
            admin.execute(two[0])


def test_cancelled_while_it_waits(blocked_bank, two):
    """A session that is cancelled before the locks are held leaves no block."""
    with servers.connect(blocked_bank.coordinator) as decider, servers.connect(blocked_bank.coordinator) as admin:
        decider.execute("BEGIN; LOCK TABLE pg_dist_transaction IN ROW EXCLUSIVE MODE")
        admin.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            admin.execute("SELECT citus_cluster_changes_block()")
        admin.execute("RESET statement_timeout")
        wait_until(lambda: value(admin, STATE) == "failed", "the block to end")
        decider.execute("COMMIT")
        admin.execute(two[0])


def test_rights(blocked_bank):
    """Roles need EXECUTE; monitors see the state."""
    with servers.connect(blocked_bank.coordinator) as admin:
        admin.execute("CREATE ROLE watcher; GRANT pg_monitor TO watcher; SET ROLE watcher")
        assert value(admin, STATE) is not None
        for call in ("citus_cluster_changes_block()", "citus_cluster_changes_unblock()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                admin.execute(f"SELECT {call}")
        admin.execute("RESET ROLE; DROP ROLE watcher")
