"""A node's gateway, for tests."""

import os
import socket
import subprocess

import psycopg

from harness import servers

# The process that serves a client of a gateway now; pg_backend_pid() is the client's own number.
SESSION = "SELECT citus_pid_for_gpid(citus_backend_gpid())"


class Gateway:
    """The gateway of a node, which is restarted to have one."""

    def __init__(self, node, settings=None, address="127.0.0.1"):
        self.node = node
        self.first_rules = None
        servers.gateway_ports.pop(node.port, None)  # such a test says itself what goes through it
        self.port = node.start_gateway({"gateway_listen_addresses": address, **(settings or {})})

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True

    def dsn(self, user="postgres", dbname="postgres"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{dbname}"

    def connect(self, user="postgres", dbname="postgres", autocommit=True, **options):
        return psycopg.connect(self.dsn(user, dbname), autocommit=autocommit,
                               connect_timeout=servers.PATIENCE, **options)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=servers.PATIENCE)

    def set_rules(self, text):
        """Puts rules of pg_hba.conf in front of those that were there at first."""
        path = os.path.join(self.node.data, "pg_hba.conf")
        if self.first_rules is None:
            with open(path, encoding="utf-8") as file:
                self.first_rules = file.read()
        rules = text + "\n" + self.first_rules
        with open(path, "w", encoding="utf-8") as file:
            file.write(rules)
        with servers.connect(self.node, "postgres") as server:
            server.execute("SELECT pg_reload_conf()")
            servers.wait_until(lambda: servers.value(server, "SELECT count(*) FROM pg_hba_file_rules") ==
                               sum(1 for line in rules.splitlines() if line and line[0] != "#"), "the rules to be read")

    def processes(self):
        """Process ids of those that serve clients."""
        listed = subprocess.run(["pgrep", "-f", f"postgres: {self.node.name}: citus gateway process"],
                                capture_output=True, text=True, check=False)
        return [pid for pid in map(int, listed.stdout.split()) if pid in self.node.processes()]

    def signal(self, number):
        for pid in self.processes():
            os.kill(pid, number)
