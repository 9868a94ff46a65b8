"""A server that would give other answers than the nodes isn't added; nodes that differ are told."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until


def add(made, dbname="postgres"):
    with servers.connect(made.coordinator, dbname=dbname) as connection:
        connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [made.coordinator.port])
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [made.workers[0].port])


def refusal(made, dbname="postgres"):
    """The detail of the refusal to add the worker; nothing is changed by it."""
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="would give other answers") as caught:
        add(made, dbname)
    with servers.connect(made.coordinator, dbname=dbname) as connection:
        assert value(connection, "SELECT count(*) FROM pg_dist_node WHERE groupid <> 0") == 0
    return caught.value.diag.message_detail


@pytest.fixture(scope="module")
def empty():
    with servers.cluster(purpose="check-answers", workers=1, kind="empty") as made:
        yield made


@pytest.mark.parametrize("name, here, there, told", [
    ("collate", "LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'", "LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'",
     'LC_COLLATE is "C" there, and "C.UTF-8" here'),
    ("ctype", "LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'", "LC_COLLATE 'C' LC_CTYPE 'C'", 'LC_CTYPE is "C" there, and "C.UTF-8" here'),
    ("provider", "LOCALE_PROVIDER libc", "LOCALE_PROVIDER icu ICU_LOCALE 'und'", "locale provider is icu there, and libc here"),
    ("icu", "LOCALE_PROVIDER icu ICU_LOCALE 'und'", "LOCALE_PROVIDER icu ICU_LOCALE 'de'", "ICU locale is de there, and und here"),
    ("encoding", "ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'", "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'", "LATIN1")])
def test_other_database(empty, name, here, there, told):
    for node, how in zip(empty.nodes, (here, there)):
        node.sql(f"CREATE DATABASE other_{name} TEMPLATE template0 {how}")
        node.sql("CREATE EXTENSION citus", dbname=f"other_{name}")
    try:
        if name == "encoding":
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="has another encoding"):
                add(empty, f"other_{name}")
        else:
            assert told in refusal(empty, f"other_{name}")
    finally:
        for node in empty.nodes:
            node.sql(f"DROP DATABASE other_{name} WITH (FORCE)")


def test_spellings_of_one_locale(empty):
    for node, spelling in zip(empty.nodes, ("C.UTF-8", "C.utf8")):
        node.sql(f"CREATE DATABASE spelled TEMPLATE template0 LC_COLLATE '{spelling}' LC_CTYPE '{spelling}'")
        node.sql("CREATE EXTENSION citus", dbname="spelled")
    add(empty, "spelled")


def configure(node, settings):
    with servers.connect(node) as connection:
        for name, new in settings.items():
            connection.execute(f"ALTER SYSTEM SET {name} = {new}")
        connection.execute("SELECT pg_reload_conf()")
    for name, new in settings.items():
        wait_until(lambda name=name, new=new: new == "DEFAULT" or node.sql(f"SHOW {name}") == new.strip("'"), f"{name} to be {new}")


def test_settings(make_cluster):
    made = make_cluster(workers=1, kind="bare")
    worker = made.workers[0]
    configure(worker, {"timezone": "'Asia/Tokyo'", "standard_conforming_strings": "off"})
    told = refusal(made)
    assert 'TimeZone is "Asia/Tokyo" there, and "UTC" here' in told and "standard_conforming_strings is off there" in told
    configure(worker, {"timezone": "'Etc/UTC'", "standard_conforming_strings": "DEFAULT"})
    wait_until(lambda: worker.sql("SHOW standard_conforming_strings") == "on", "the default")
    made.coordinator.sql("ALTER DATABASE postgres SET intervalstyle = 'iso_8601'")     # the new node will get it
    add(made)
    assert worker.sql("SHOW intervalstyle") == "iso_8601"
    with servers.connect(made.coordinator) as connection:
        assert rows(connection, "SELECT DISTINCT result FROM citus_check_cluster_node_health()") == [(True,)]
        assert rows(connection, "SELECT * FROM citus_node_problems") == []

    configure(worker, {"default_transaction_isolation": "'serializable'"})
    with servers.connect(made.coordinator) as connection:
        notices = []
        connection.add_notice_handler(lambda notice: notices.append((notice.severity, notice.message_detail)))
        found = rows(connection, "SELECT from_nodeport, to_nodeport FROM citus_check_cluster_node_health() WHERE NOT result")
        ports = [node.port for node in made.nodes]
        assert sorted(found) == sorted([tuple(ports), tuple(reversed(ports))])
        told = 'The nodes give different answers: default_transaction_isolation is serializable there, and "read committed" here.'
        assert notices == [("WARNING", told)]
        assert value(connection, "SELECT problem FROM citus_node_problems WHERE from_nodeport = %s", [ports[0]]) == told
