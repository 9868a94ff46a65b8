"""The demo's servers, through the code of tools/cluster: a cluster that stays, a plain server that goes."""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from pomelo_cluster import Cluster, ClusterError, find_free_ports, state_dir

__all__ = ["BASE_PORT", "ClusterError", "Servers", "how_to_use", "start", "state_dir"]

NAME = "demo"
PLAIN = "demo-plain"
BASE_PORT = 9710
WORKERS = 2
SETTINGS = {"shared_buffers": "256MB", "max_wal_size": "2GB"}


@dataclass
class Servers:
    nodes: list  # (role, connection string) of the cluster, the coordinator first
    plain: str  # connection string of the plain server


@contextmanager
def start(base_port):
    """Replace what an earlier run left, start all servers, and remove the plain one at the end."""
    for name in (NAME, PLAIN):
        destroy(name)
    first = find_free_ports(WORKERS + 2, base_port)
    cluster = Cluster.up(NAME, workers=WORKERS, base_port=first, settings=SETTINGS)
    try:
        plain = Cluster.up(PLAIN, base_port=first + WORKERS + 1, settings=SETTINGS, kind="plain")
        roles = ["coordinator"] + [f"worker {number}" for number in range(1, WORKERS + 1)]
        yield Servers([(role, node.dsn) for role, node in zip(roles, cluster.nodes)], plain.coordinator.dsn)
    finally:
        destroy(PLAIN)


def destroy(name):
    cluster = Cluster.find(name)
    if cluster is not None:
        cluster.destroy()


def how_to_use():
    """Lines that say how to connect to the cluster and how to stop it."""
    cluster = Cluster.load(NAME)
    return [
        f"Connect:  tools/cluster psql --name {NAME}            (the coordinator)",
        f"          tools/cluster psql --name {NAME} worker1    (every node answers the same)",
        f"          or any client: {cluster.coordinator.dsn}",
        "Look at:  SELECT * FROM citus_tables;  SELECT * FROM citus_nodes;",
        f"Stop:     tools/cluster down --name {NAME}            (tools/cluster start --name {NAME} resumes)",
        f"Remove:   tools/cluster destroy --name {NAME}",
    ]
