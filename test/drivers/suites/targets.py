"""The kinds of servers that suites run on. Each run has a new one: a suite may leave what it likes."""

from contextlib import contextmanager
from dataclasses import dataclass

from pomelo_check import FAST
from pomelo_check.failures import crashes
from pomelo_cluster import Cluster
from pomelo_cluster.host import clean_env

PLAIN, COORDINATOR, GATEWAY = "plain server", "coordinator", "gateway"
TARGETS = [COORDINATOR, GATEWAY]        # those that are compared with the plain server
BASE_PORT = 21300
SETTINGS = {**FAST, "max_prepared_transactions": "400"}     # that of a cluster's servers


@dataclass
class Server:
    """Where a suite connects to."""
    cluster: Cluster
    port: int

    def environment(self):
        """Variables by which programs of libpq's kind find the server."""
        return {**clean_env(), "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "postgres", "PGDATABASE": "postgres",
                "PGPASSWORD": "unused", "PGTZ": "UTC"}

    def crashes(self):
        """A failure for each server that crashed."""
        return crashes(self.cluster)


@contextmanager
def server(target, setup):
    """A server of that kind, where the statements of the setup have been run, for the duration of a `with`."""
    options = {"count": 1, "workers": 0, "kind": "plain"} if target == PLAIN else {"workers": 2}
    with Cluster.temporary("check-suites", BASE_PORT, settings=SETTINGS, **options) as cluster:
        node = cluster.coordinator
        node.sql(setup)
        yield Server(cluster, node.start_gateway() if target == GATEWAY else node.port)
