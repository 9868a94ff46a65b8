"""A statement whose commit stands still at a step."""

import os
import signal
import threading
from contextlib import suppress

import psycopg

from . import servers
from .servers import pid_of, wait_until


def commit_at(node, step, action, connection=None):
    """A connection, new if none is given, that does so (stop, kill, ..) when it comes to a step of the code."""
    connection = connection or servers.connect(node)
    connection.execute("SELECT set_config('citus.debug_points', %s, false)", [f"{step}={action}"])
    return connection


def is_stopped(pid):
    """Whether a process has been stopped; it may have ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Stopped:
    """Runs a statement up to a step; its error, if any, is kept."""

    standing = []   # those that nobody has let go on

    def __init__(self, node, step, statement, connection=None):
        self.connection = commit_at(node, step, "stop", connection)
        self.pid = pid_of(self.connection)
        self.error = None
        self.standing.append(self)
        self.thread = threading.Thread(target=self.run, args=[statement])
        self.thread.start()
        wait_until(lambda: is_stopped(self.pid), f"the backend to stop at {step}")

    def run(self, statement):
        try:
            self.connection.execute(statement)
        except psycopg.Error as error:
            self.error = error

    def go_on(self):
        """Lets it run to its end; returns the error."""
        os.kill(self.pid, signal.SIGCONT)
        return self.finish()

    @classmethod
    def let_all_go(cls):
        """After a test that has failed: what it has left standing would hold up all others."""
        while cls.standing:
            left = cls.standing.pop()
            if left.thread.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(left.pid, signal.SIGCONT)
                left.thread.join(servers.PATIENCE)

    def finish(self):
        """Waits for its end, in whatever way that comes."""
        self.thread.join(servers.PATIENCE)
        assert not self.thread.is_alive()
        self.connection.close()
        return self.error
