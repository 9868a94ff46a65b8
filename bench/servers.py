"""The benchmarks' servers, through the code of tools/cluster. All are removed at the end."""

import copy
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from pomelo_cluster import Cluster, ClusterError, pooler as pgbouncer

import fdw
import hop
from sides import Side

__all__ = ["BASE_PORT", "BASELINES", "ClusterError", "SETTINGS", "start"]

BASE_PORT = 9720
WORKERS = 2
# Checkpoints and autovacuum would hit one side's round and not the other's.
SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "autovacuum": "off",
            "max_connections": "500"}

# As many sessions as the gateway's default.
POOLER_SETTINGS = {"default_pool_size": 20}

# kind of the second side -> (its name in the output, number of workers, kind for tools/cluster)
KINDS = {
    "extension": ("extension", 0, "bare"),
    "cluster": ("cluster", WORKERS, "cluster"),
    "gateway": ("cluster", WORKERS, "cluster"),
    "transport": ("direct", WORKERS, "cluster"),
}
BASELINES = ("fdw", "hop")


def through(side, name, port, pooler=0):
    """The side with its clients connected to what stands in front of its entry server."""
    front = copy.copy(side)
    front.name, front.dsn, front.pooler = name, f"postgresql://postgres@127.0.0.1:{port}/postgres", pooler
    return front


def transports(direct, made):
    """The side, and the same with citus.transport = multiplexed."""
    ports = {node.port: node.start_gateway() for node in made.nodes}
    direct.gateways = {}
    direct.__post_init__()
    linked = copy.copy(direct)
    linked.name, linked.dsn = "multiplexed", f"{direct.dsn}?options=-c%20citus.transport%3Dmultiplexed"
    linked.gateways = {node.port: ports[node.port] for node in made.workers}
    return [direct, linked]


@contextmanager
def start(kind, base_port, baselines=()):
    """Start a plain server and the other side; yield their Sides, the plain one first.

    With a cluster come other baselines on request: `fdw`, a plain server that reaches two others through
    postgres_fdw; `hop`, a server whose one function asks the plain server for a row.
    """
    name, workers, form = KINDS[kind]
    with ExitStack() as running:
        def up(purpose, **options):
            return running.enter_context(Cluster.temporary(f"bench-{purpose}", base_port, settings=SETTINGS, **options))

        def poolers(*pairs):
            for side, node, called in pairs:
                pooler = running.enter_context(pgbouncer.pooler(node, settings=POOLER_SETTINGS))
                yield through(side, called, pooler.port, pooler.pid)

        alone = up("plain", kind="plain").coordinator
        plain = alone.dsn
        ours = up(kind, workers=workers, kind=form)
        port = ours.coordinator.start_gateway() if kind == "gateway" else None
        sides = [Side("plain", plain), Side(name, ours.coordinator.dsn, [node.dsn for node in ours.workers], form)]
        if kind == "gateway":
            sides.append(through(sides[1], "gateway", port))
            if pgbouncer.PROGRAM is not None:
                sides += poolers((sides[0], alone, "pgb-plain"), (sides[1], ours.coordinator, "pgbouncer"))
        if kind == "transport":
            sides = [*transports(sides[1], ours), sides[0]]
        elif "fdw" in baselines and workers:
            entry, *others = [up(f"fdw{number}", kind="plain").coordinator.dsn for number in range(WORKERS + 1)]
            sides.append(Side("fdw", entry, others, "fdw"))
            fdw.set_up(sides[-1])
        if kind == "transport" or ("hop" in baselines and workers):
            asking = up("hop", kind="plain")
            sides.append(Side("hop", asking.coordinator.dsn, [plain], "hop"))
            hop.set_up(sides[-1], asking.folder)
        yield sides
