"""Drivers, as their defaults have them, are clients of a gateway like libpq's, encrypted or not.

Each program of drivers/ is an application of one driver, and checks what it reads.
"""

import os
import shutil
import subprocess
import sys

import pytest

from harness import servers
from harness.certificates import Authority
from harness.gateways import Gateway
from harness.servers import value

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "drivers")
INSTALLED = os.path.join(sys.prefix, "drivers")
JAR = os.path.join(INSTALLED, "usr/share/java/postgresql.jar")
MODULES = os.path.join(INSTALLED, "node_modules")
DRIVERS = {
    "psycopg": [sys.executable, "psycopg_driver.py"],
    "asyncpg": [sys.executable, "asyncpg_driver.py"],
    "pg8000": [sys.executable, "pg8000_driver.py"],
    "node-postgres": ["node", "node_postgres.js"] if shutil.which("node") and os.path.exists(f"{MODULES}/pg") else None,
    "jdbc": ["java", "-cp", JAR, "Jdbc.java"] if shutil.which("javac") and os.path.exists(JAR) else None,
}


@pytest.fixture(scope="module")
def gateway():
    with servers.cluster(purpose="check-drivers") as made:
        authority = Authority(made.coordinator.data)
        certificate, key = authority.issue("server", "localhost")
        made.coordinator.sql(f"ALTER SYSTEM SET ssl = on; ALTER SYSTEM SET ssl_cert_file = '{certificate}'; "
                             f"ALTER SYSTEM SET ssl_key_file = '{key}'")
        yield Gateway(made.coordinator, {"gateway_pool_size": 6, "gateway_clean_blocks": 3})


@pytest.fixture
def keyed(gateway):
    with servers.connect(gateway.node) as connection:
        connection.execute("CREATE TABLE keyed (id int PRIMARY KEY, name text, amount int DEFAULT 0)")
        connection.execute("SELECT create_distributed_table('keyed', 'id', shard_count => 16)")
        connection.execute("INSERT INTO keyed SELECT g, 'n' || g FROM generate_series(1, 400) g")
        yield connection
        connection.execute("DROP TABLE keyed")


@pytest.mark.some(3)
@pytest.mark.parametrize("sslmode", ["disable", "require"])
@pytest.mark.parametrize("driver", [
    pytest.param(name, marks=pytest.mark.skipif(command is None, reason=f"{name} is not installed: tools/install-deps does it, "
                                                                        "where its language is"))
    for name, command in DRIVERS.items()])
def test_driver(gateway, keyed, driver, sslmode):
    """Its clients get right answers, most of them, and whole transactions, from the nodes that have the rows."""
    def counted(what):
        return value(keyed, f"SELECT sum({what}) FROM citus_stat_gateway")

    routed, blocks = counted("routed"), counted("node_blocks")
    done = subprocess.run([*DRIVERS[driver], str(gateway.port), sslmode], cwd=FOLDER, timeout=300, capture_output=True,
                          env=os.environ | {"NODE_PATH": MODULES}, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert counted("routed") >= routed + 200
    if driver != "pg8000":      # it binds a statement when it knows its columns, which a node must tell
        assert counted("node_blocks") >= blocks + 10
