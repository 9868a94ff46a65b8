"""PgBouncer in transaction mode in front of a node."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager

from dataclasses import dataclass

from . import host

TIMEOUT = 90  # seconds
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAM = shutil.which("pgbouncer", path=os.path.join(ROOT, ".venv", "pgbouncer", "usr", "sbin") + ":/usr/sbin")

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
max_client_conn = 400
{settings}"""


@dataclass
class Pooler:
    """A running one: its port, and its process."""

    port: int
    pid: int


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_listening(process, port):
    deadline = time.monotonic() + TIMEOUT
    while True:
        if process.poll() is not None:
            raise host.ClusterError("pgbouncer has ended")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise host.ClusterError("pgbouncer does not listen") from None
            time.sleep(0.02)


@contextmanager
def pooler(node, users=("postgres",), settings=None):
    """A Pooler in front of the node, which lets these users in."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        files = {"pgbouncer.ini": CONFIG.format(
            node_port=node.port, port=port, folder=folder,
            settings="".join(f"{name} = {value}\n" for name, value in (settings or {}).items())),
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
                    yield Pooler(port, process.pid)
                finally:
                    process.terminate()
                    process.wait()
