"""Each server's gateway has a port of its own."""

import psycopg

from harness import servers
from harness.servers import value, wait_until
from pomelo_cluster import find_free_ports


def served_by(port):
    """The port of the server whose gateway answers there."""
    with psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres", connect_timeout=servers.PATIENCE) as connection:
        return int(value(connection, "SELECT setting FROM pg_settings WHERE name = 'port'"))


def test_two_servers_claim_one_port(make_cluster):
    """The second one's gateway doesn't start, so no client comes to the wrong server; when the first has ended, it does."""
    port = find_free_ports(4, servers.FIRST_PORT + 60)
    made = make_cluster(workers=1, kind="bare", settings={"citus.gateway_port": port, "citus.gateway_processes": 2,
                                                          "citus.gateway_listen_addresses": "localhost, 127.0.0.1"})
    first, second = made.nodes
    for number, node in enumerate(made.nodes):      # as tools/cluster sets them
        node.wait_for_gateway(port + number)
        assert served_by(port + number) == node.port
    second.sql(f"ALTER SYSTEM SET citus.gateway_port = {port}; ALTER SYSTEM SET citus.gateway_listen_addresses = '*'")
    mark = second.log_mark()
    second.restart()
    wait_until(lambda: f"FATAL:  the gateway's port {port} is in use by another server" in second.log_since(mark), "the refusal")
    assert {served_by(port) for _ in range(40)} == {first.port}
    first.stop()
    second.wait_for_gateway(port)
    assert {served_by(port) for _ in range(10)} == {second.port}


def test_gateway_after_crash(make_cluster):
    """A server that has crashed gets its gateway's port back."""
    port = find_free_ports(2, servers.FIRST_PORT + 60)
    node = make_cluster(workers=0, kind="bare", settings={"citus.gateway_port": port}).coordinator
    node.wait_for_gateway(port)
    for end in (lambda: servers.kill_process(int(node.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"))), node.kill):
        end()
        node.start()
        wait_until(lambda: served_by(port) == node.port, "the gateway")
