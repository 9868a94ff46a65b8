"""One server: its data directory, its settings, its process."""

import os
import shutil
import signal
import socket
import subprocess
import time

from . import host
from .host import ClusterError, PortInUse

LOG_LINES = 20

# Written to pomelo.conf, which postgresql.conf includes last.
BASE_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "log_line_prefix": "%m [%p] %q%u@%d %a ",
    "lc_messages": "C",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

EXTENSION_SETTINGS = {
    "shared_preload_libraries": "citus",
    "max_prepared_transactions": "400",
    "max_worker_processes": "64",
}

HBA = """\
# Trust, on this machine's loopback and the private socket directory only.
local all         postgres              trust
local all         all                   trust
host  all         all      127.0.0.1/32 trust
host  replication all      127.0.0.1/32 trust
"""


class Node:
    """A server of a cluster. `name` is coordinator, or worker1, worker2, ..."""

    def __init__(self, name, port, folder, bindir):
        self.name = name
        self.port = port
        self.folder = folder
        self.bindir = bindir
        self.data = os.path.join(folder, "data")
        self.log = os.path.join(folder, "server.log")

    def __repr__(self):
        return f"<Node {self.name} on port {self.port}>"

    @property
    def dsn(self):
        return self.dsn_for()

    def dsn_for(self, user="postgres", dbname="postgres"):
        """A connection URI for a user and a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{dbname}"

    def program(self, name):
        return os.path.join(self.bindir, name)

    # -- life cycle

    def create(self, settings, options=()):
        """Makes the data directory, with options of initdb; the server isn't started."""
        host.make_dir(self.folder)
        done = host.run_server_program(
            [self.program("initdb"), "-D", self.data, "-U", "postgres", "-E", "UTF8",
             "--locale=C.UTF-8", "-A", "trust", "--no-sync", "--no-instructions", *options],
            capture_output=True)
        if done.returncode != 0:
            raise ClusterError(f"{self.name}: initdb failed\n{done.stdout}{done.stderr}")
        self._write("pg_hba.conf", HBA)
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as conf:
            conf.write("\ninclude 'pomelo.conf'\n")
        self.configure(settings)

    def make_standby(self, port, settings, folder):
        """A streaming standby of this running server, in that folder, started."""
        standby = Node(os.path.basename(folder), port, folder, self.bindir)
        host.make_dir(folder)
        done = host.run_server_program(
            [self.program("pg_basebackup"), "-d", self.dsn + "?application_name=standby", "-D", standby.data,
             "-R", "-X", "stream", "-c", "fast", "--no-sync"], capture_output=True)
        if done.returncode != 0:
            raise ClusterError(f"{standby.name}: pg_basebackup failed\n{done.stderr}")
        standby.configure(settings)
        standby.start()
        return standby

    def make_copy(self, port, settings, folder):
        """A server with a copy of this one's data directory, which is stopped; started, in that folder."""
        copy = Node(os.path.basename(folder), port, folder, self.bindir)
        host.make_dir(folder)
        done = host.run_server_program(["cp", "-a", self.data, copy.data], capture_output=True)
        if done.returncode != 0:
            raise ClusterError(f"{copy.name}: the data were not copied\n{done.stderr}")
        with open(os.path.join(copy.data, "postgresql.auto.conf"), encoding="utf-8") as conf:
            kept = [line for line in conf if not line.startswith("citus.gateway_port")]      # start_gateway's is the original's
        copy._write("postgresql.auto.conf", "".join(kept))
        copy.configure(settings)
        copy.start()
        return copy

    def promote(self, timeout=60):
        """Ends a standby's recovery; returns when it takes writes."""
        done = host.run_server_program(
            [self.program("pg_ctl"), "-D", self.data, "-w", "-t", str(timeout), "promote"],
            capture_output=True)
        if done.returncode != 0:
            raise ClusterError(f"{self.name} was not promoted: {done.stderr.strip()}")

    def configure(self, settings):
        """Writes the settings; they count from the next start or reload."""
        everything = {"port": str(self.port), "cluster_name": self.name,
                      "unix_socket_directories": self.folder, **settings}
        lines = []
        for key, value in everything.items():
            quoted = str(value).replace("'", "''")
            lines.append(f"{key} = '{quoted}'\n")
        self._write("pomelo.conf", "".join(lines))

    def start(self, timeout=60):
        """Starts the server and waits until it accepts connections."""
        if self.pid():
            return
        self._check_port()
        self._clear_after_crash(timeout)
        mark = self.log_mark()
        done = host.run_server_program(
            [self.program("pg_ctl"), "-D", self.data, "-l", self.log, "-w",
             "-t", str(timeout), "start"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            said = self.tail(since=mark)
            kind = PortInUse if "Address already in use" in said else ClusterError
            raise kind(f"{self.name} did not start; the end of {self.log}:\n{said}")

    def stop(self, mode="fast", timeout=60):
        """Stops the server; harmless when it isn't running."""
        if not self.pid():
            return
        for how in (mode, "immediate"):
            done = host.run_server_program(
                [self.program("pg_ctl"), "-D", self.data, "-w", "-t", str(timeout),
                 "-m", how, "stop"], capture_output=True)
            if done.returncode == 0 or not self.pid():
                return
        raise ClusterError(f"{self.name} did not stop: {done.stderr.strip()}")

    def restart(self):
        self.stop()
        self.start()

    def start_gateway(self, settings=None, timeout=30):
        """Restarts the server with a gateway, which may have settings; returns the gateway's port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        values = {"gateway_port": port, "gateway_listen_addresses": "127.0.0.1", **(settings or {})}
        self.sql("".join(f"ALTER SYSTEM SET citus.{name} = '{value}';\n" for name, value in values.items()))
        self.restart()
        self.wait_for_gateway(port, timeout)
        return port

    def wait_for_gateway(self, port, timeout=30):
        """Waits until the gateway listens: after a start of the server, and after a crash, it does so a moment later."""
        deadline = time.monotonic() + timeout
        while not _accepts(port):
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.name}: its gateway does not listen on port {port}")
            time.sleep(0.05)

    def reload(self):
        """Makes the server read its settings again."""
        pid = self.pid()
        if pid:
            os.kill(pid, signal.SIGHUP)

    def kill(self):
        """Kills all processes of the server, as a crash of its machine would.

        `start` brings it back.
        """
        pid = self.pid()
        if not pid:
            return
        os.kill(pid, signal.SIGKILL)
        while alive(pid) or self.processes():
            for child in self.processes():
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)

    def remove(self):
        self.stop(mode="immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- state

    def pid(self):
        """The main process, or None when the server isn't running."""
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                pid = int(file.readline())
        except (OSError, ValueError):
            return None
        # After a crash of the machine the file may name somebody else's process.
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                arguments = file.read().split("\0")
        except OSError:
            return None
        return pid if alive(pid) and self.data in arguments else None

    def processes(self):
        """All processes of this server: those that work in its data directory."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if os.readlink(f"/proc/{entry}/cwd") == self.data and alive(int(entry)):
                        found.append(int(entry))
                except OSError:
                    pass
        return found

    def tail(self, lines=LOG_LINES, since=0):
        """The last lines of the server's log."""
        return "".join(self.log_since(since).splitlines(keepends=True)[-lines:])

    def log_since(self, offset):
        """The log from a position on; `log_mark` gives the position to start from."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                file.seek(offset)
                return file.read()
        except FileNotFoundError:
            return ""

    def log_mark(self):
        try:
            return os.path.getsize(self.log)
        except FileNotFoundError:
            return 0

    # -- SQL

    def psql_args(self, *more, user="postgres", dbname="postgres"):
        return [self.program("psql"), "-d", self.dsn_for(user, dbname), *more]

    def sql(self, text, user="postgres", dbname="postgres"):
        """Runs statements in one psql, unaligned; returns what it printed."""
        done = subprocess.run(
            self.psql_args("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-",
                           user=user, dbname=dbname),
            input=text, env=host.clean_env(), text=True, capture_output=True)
        if done.returncode != 0:
            raise ClusterError(f"{self.name}: {text.strip()}\n{done.stderr.strip()}")
        return done.stdout.rstrip("\n")

    # -- internals

    def _write(self, name, text):
        path = os.path.join(self.data, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        host.give(path)

    def _clear_after_crash(self, timeout):
        """Waits for a killed server's children, then drops its lock files.

        The server would do both, but takes a main process that nobody has
        reaped yet (a zombie, as containers without an init keep them) for a
        running one.
        """
        lock_file = os.path.join(self.data, "postmaster.pid")
        deadline = time.monotonic() + timeout
        while os.path.exists(lock_file):
            if not self.processes():
                for path in (f"{self.folder}/.s.PGSQL.{self.port}.lock", lock_file):
                    if os.path.exists(path):
                        os.unlink(path)
                return
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.name}: processes of the killed server remain: "
                                   f"{self.processes()}")
            time.sleep(0.02)

    def _check_port(self):
        if not port_is_free(self.port):
            raise PortInUse(f"{self.name}: port {self.port} is in use by another program")


def alive(pid):
    """True while the process exists and isn't a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _accepts(port):
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True
