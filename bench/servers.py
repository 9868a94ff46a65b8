"""The benchmarks' servers, through the code of tools/cluster. All are removed at the end."""

import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from pomelo_cluster import Cluster, ClusterError, find_free_ports  # noqa: E402

import fdw  # noqa: E402
from sides import Side  # noqa: E402

__all__ = ["BASE_PORT", "ClusterError", "SETTINGS", "start"]

BASE_PORT = 9720
WORKERS = 2
# Checkpoints and autovacuum would hit one side's round and not the other's.
SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "autovacuum": "off"}

# kind of the second side -> (its name in the output, number of workers, kind for tools/cluster)
KINDS = {
    "extension": ("extension", 0, "bare"),
    "cluster": ("cluster", WORKERS, "cluster"),
}


@contextmanager
def start(kind, base_port, with_fdw=False):
    """Start a plain server and the other side; yield their Sides, the plain one first.

    `with_fdw` adds a third: a plain server that reaches two others through postgres_fdw.
    """
    name, workers, form = KINDS[kind]
    fdw_names = [f"bench-fdw{number}" for number in range(WORKERS + 1)] if with_fdw else []
    names = ["bench-plain", f"bench-{kind}", *fdw_names]
    destroy(names)
    try:
        first = find_free_ports(workers + 2 + len(fdw_names), base_port)
        plain = Cluster.up(names[0], base_port=first, settings=SETTINGS, kind="plain")
        ours = Cluster.up(names[1], workers=workers, base_port=first + 1, settings=SETTINGS, kind=form)
        sides = [Side("plain", plain.coordinator.dsn),
                 Side(name, ours.coordinator.dsn, tuple(node.dsn for node in ours.workers), form)]
        if with_fdw:
            servers = [Cluster.up(other, base_port=first + workers + 2 + number, settings=SETTINGS, kind="plain")
                       for number, other in enumerate(fdw_names)]
            entry, *others = [server.coordinator.dsn for server in servers]
            sides.append(Side("fdw", entry, tuple(others), "fdw"))
            fdw.set_up(sides[-1])
        yield sides
    finally:
        destroy(names)


def destroy(names):
    for name in names:
        cluster = Cluster.find(name)
        if cluster is not None:
            cluster.destroy()
