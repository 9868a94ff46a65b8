"""PgBouncer in transaction mode in front of a node."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager

from pomelo_cluster import host

from harness.servers import PATIENCE

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PROGRAM = shutil.which("pgbouncer", path=os.path.join(ROOT, ".venv", "pgbouncer", "usr", "sbin") + ":/usr/sbin")

# Round robin: a client's next transaction is served by another session than its last one.
CONFIG = """\
[databases]
* = host=127.0.0.1 port={node_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 40
min_pool_size = 5
server_round_robin = 1
max_client_conn = 400
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_listening(process, port):
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, "pgbouncer has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "pgbouncer does not listen"
            time.sleep(0.02)


@contextmanager
def pooler(node, users=("postgres",)):
    """The port of a pooler in front of the node, which lets these users in."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        files = {"pgbouncer.ini": CONFIG.format(node_port=node.port, port=port, folder=folder),
                 "users": "".join(f'"{user}" ""\n' for user in users)}
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
            host.give(os.path.join(folder, name))
        # the servers' user may have no access to the checkout
        program = shutil.copy(PROGRAM, folder)
        host.give(folder)
        owner = {"user": host.server_user().pw_uid, "group": host.server_user().pw_gid} if os.geteuid() == 0 else {}
        with open(os.path.join(folder, "log"), "w", encoding="ascii") as log:
            with subprocess.Popen([program, "-q", os.path.join(folder, "pgbouncer.ini")], cwd="/",
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log, **owner) as process:
                try:
                    wait_until_listening(process, port)
                    yield port
                finally:
                    process.terminate()
                    process.wait()
