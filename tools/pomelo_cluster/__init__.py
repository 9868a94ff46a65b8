"""Local PostgreSQL clusters for trying out, testing and measuring the extension.

    from pomelo_cluster import Cluster
    cluster = Cluster.up("mine", workers=2, base_port=9700)
    cluster.coordinator.sql("SELECT citus_version()")
    cluster.destroy()

Only the standard library is used, so that the tool runs before anything else is
installed. `tools/cluster` is its command line.
"""

from .cluster import Cluster, DEFAULT_NAME, DEFAULT_PORT, find_free_ports
from .host import ClusterError, pg_config, server_user, state_dir
from .node import Node

__all__ = ["Cluster", "ClusterError", "DEFAULT_NAME", "DEFAULT_PORT", "Node",
           "find_free_ports", "pg_config", "server_user", "state_dir"]
