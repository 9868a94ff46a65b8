"""A side: what a benchmark measures against another. Its connections, and the CPU time of its servers."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

TICKS = os.sysconf("SC_CLK_TCK")

# form -> what its first server and its others are called
ROLES = {
    "plain": ("server", None),
    "bare": ("server", None),
    "cluster": ("coordinator", "workers"),
    "fdw": ("entry", "others"),
    "hop": ("entry", "others"),
}


@dataclass
class Side:
    name: str
    dsn: str  # where clients connect
    others: list = field(default_factory=list)  # connection strings of the side's other servers
    form: str = "plain"  # a key of ROLES: how it gets distributed tables
    postmasters: list = field(default_factory=list)  # process ids, the entry server's first
    gateways: dict = None  # port of a server -> of its gateway, through which the entry server is to reach it
    pooler: int = 0  # process id of what stands in front of the entry server; keeps no prepared statements

    def __post_init__(self):
        self.postmasters = [postmaster_of(dsn) for dsn in (self.dsn, *self.others)]

    def connect(self):
        return psycopg.connect(self.dsn, autocommit=True)

    def entries(self, entry):
        """The servers that clients connect to: through one, through all nodes, or on the node with the rows."""
        if self.form == "cluster" and entry == "nodes":
            return [self.dsn, *self.others]
        if self.form == "cluster" and entry == "owner":
            return self.others[:1]
        return [self.dsn]

    def cpu_seconds(self):
        """CPU seconds spent so far, by role: {"coordinator": s, "workers": s}."""
        first, other = ROLES[self.form]
        each = [server_cpu(pid) for pid in self.postmasters]
        each[0] += sum(proc_times(self.pooler)[:2]) / TICKS if self.pooler else 0
        return {first: each[0], **({other: sum(each[1:])} if other else {})}

    def cpu_now(self):
        """CPU seconds spent so far by all servers; of processes that run to the nanosecond, so that a short query can be measured."""
        reaped = sum(sum(proc_times(pid)[2:]) / TICKS for pid in self.postmasters)
        return reaped + sum(exact_time(pid) for postmaster in self.postmasters for pid in descendants_of(postmaster))

    def cpu_since(self, before, count):
        """Microseconds of CPU time by role since `before`, for each of `count` transactions or rows."""
        return {role: (now - before[role]) / count * 1e6 for role, now in self.cpu_seconds().items()}

    def run_on(self, cpus):
        """Keep the side's servers, and the backends that they start from now on, on these CPUs."""
        for postmaster in self.postmasters:
            for pid in (postmaster, *children_of(postmaster)):
                try:
                    os.sched_setaffinity(pid, cpus)
                except ProcessLookupError:
                    pass  # a backend that has just ended


def postmaster_of(dsn):
    """Return the process id of a local server's postmaster: the parent of any of its backends."""
    with psycopg.connect(dsn) as connection:
        backend = connection.info.backend_pid
        status = Path(f"/proc/{backend}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


def server_cpu(postmaster):
    """CPU seconds of a postmaster, of the processes below it, and of the children that it has reaped.

    Asked again while backends end: one of them could be missed, or counted twice.
    """
    for _ in range(50):
        children, own = descendants_of(postmaster), proc_times(postmaster)
        ticks = sum(own) + sum(sum(proc_times(pid)[:2]) for pid in children)
        if descendants_of(postmaster) == children and proc_times(postmaster)[2:] == own[2:]:
            break
        time.sleep(0.01)
    return ticks / TICKS


def proc_times(pid):
    """utime, stime, cutime, cstime in ticks; zeros for a process that has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0, 0, 0, 0
    return tuple(int(value) for value in fields[11:15])


def exact_time(pid):
    """CPU seconds of a process itself; 0 for one that has gone."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    except OSError:
        return 0.0


def descendants_of(pid):
    """Its children, and theirs, as a gateway's processes."""
    return [found for child in children_of(pid) for found in (child, *descendants_of(child))]


def children_of(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
