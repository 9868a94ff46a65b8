"""Fixtures: a cluster that all tests share, a schema per test, and clusters of a test's own."""

import random
import re
from collections import Counter

import pytest

from harness import servers
from harness.stopped import Stopped
from pomelo_check.sample import ALL, SEED, part_of, share_of, told


def pytest_configure(config):
    config.addinivalue_line("markers", "one_of(group): make check runs one test of each group, make check-all all of them")
    config.addinivalue_line("markers", "some(count): make check runs that many of a test's cases, or of a module's tests")


def groups_of(item):
    """The groups that a test is in, by its markers, with how many tests make check runs of them."""
    for node, marker in item.iter_markers_with_node("one_of"):
        yield (item.path, *marker.args), 1
    for node, marker in item.iter_markers_with_node("some"):
        yield (item.path, "some", item.originalname if node is item else ""), *marker.args


def sampled(config, items):
    """The sample that make check takes (see the markers), unless a test is named or all are wanted."""
    if ALL or any("::" in argument for argument in config.args):
        return items
    groups, choose = {}, random.Random(SEED)
    for item in items:
        for group, count in groups_of(item):
            groups.setdefault((group, count), []).append(item)
    left_out = {item for (_, count), members in groups.items()
                for item in choose.sample(members, max(len(members) - count, 0))}
    return [item for item in items if item not in left_out]


def pytest_collection_modifyitems(config, items):
    """Leaves the sample, and of that the files of the run's part."""
    sample = sampled(config, items)
    if len(sample) < len(items):
        print("\ncluster: " + told("tests", len(sample), len(items)))
    if not any("::" in argument for argument in config.args):
        shared = set(share_of(sorted({item.path for item in sample})))
        sample = [item for item in sample if item.path in shared]
    files = part_of(Counter(item.path for item in sample))
    kept = [item for item in sample if item.path in files]
    taken = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = kept


@pytest.fixture(autouse=True)
def let_go():
    """No process stands still when a test is over, whatever its end."""
    yield
    Stopped.let_all_go()


@pytest.fixture(scope="session")
def cluster():
    """The shared cluster: a coordinator and two workers. A test leaves it as it was."""
    with servers.cluster() as made:
        yield made


@pytest.fixture
def make_cluster(request):
    """Makes clusters that only this test uses, and so may damage."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        def make(**options):
            purpose = f"check-own{len(made)}"
            made.append(stack.enter_context(servers.cluster(purpose=purpose, **options)))
            return made[-1]

        made = []
        yield make


@pytest.fixture
def own_cluster(make_cluster):
    """One such cluster, a coordinator and two workers."""
    return make_cluster()


@pytest.fixture
def connect():
    """Opens connections that are closed after the test."""
    opened = []

    def open_one(node, **options):
        opened.append(servers.connect(node, **options))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def coordinator(cluster, connect):
    """A connection to the shared cluster's coordinator."""
    return connect(cluster.coordinator)


@pytest.fixture
def schema(request, cluster):
    """A schema for this test alone, in every new connection's search_path if asked for.

    It is dropped afterwards, and nothing may be left of it on any node.
    """
    name = re.sub(r"\W+", "_", request.node.name.lower())[:50].strip("_")
    with servers.connect(cluster.coordinator) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        connection.execute(f"CREATE SCHEMA {name}")
    yield name
    with servers.connect(cluster.coordinator) as connection:
        connection.execute("SET lock_timeout = '60s'")
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def functions(cluster, schema, coordinator):
    """Runs SQL that makes functions in the test's schema on every node; they, and what uses them, are dropped afterwards."""
    def make(text):
        for node in cluster.nodes:
            node.sql(f"SET citus.enable_ddl_propagation = off; CREATE SCHEMA IF NOT EXISTS {schema};" + text)

    yield make
    servers.wait_until_quiet(cluster)
    coordinator.execute(f"DROP SCHEMA {schema} CASCADE")
    for node in cluster.workers:
        node.sql(f"SET citus.enable_ddl_propagation = off; DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def table(schema, coordinator):
    """A distributed table with 100 rows, in the test's own schema."""
    name = f"{schema}.t"
    servers.fill(coordinator, name, 100)
    return name


@pytest.fixture
def session(cluster, connect):
    """Opens a session on the node of that number, in a transaction block from its first statement on."""
    opened = []

    def open_one(node):
        opened.append(connect(cluster.nodes[node], autocommit=False))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()
    servers.wait_until_quiet(cluster)
