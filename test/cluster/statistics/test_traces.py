"""citus_traces: what sampled statements do on all nodes."""

import json
import os
import subprocess
import sys

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "traces")
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def comment(number, sampled=True):
    """A comment by which an application continues its trace."""
    return f"/*application='shop',traceparent='00-{TRACE[:-2]}{number:02x}-{PARENT}-{'01' if sampled else '00'}'*/"


def trace(connection, number):
    """The spans of that trace: (name, nodeid, span, parent, row)."""
    found = connection.execute("SELECT * FROM citus_traces WHERE trace_id = %s ORDER BY start_time", [f"{TRACE[:-2]}{number:02x}"])
    names = [column.name for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def named(spans, name):
    return [span for span in spans if span["name"] == name]


@pytest.fixture
def traced(coordinator, schema):
    """A table, and a session whose statements are traced."""
    coordinator.execute(f"CREATE TABLE {schema}.t (a int PRIMARY KEY, b int); SELECT create_distributed_table('{schema}.t', 'a'); "
                        f"INSERT INTO {schema}.t SELECT i, i FROM generate_series(1, 100) i; SET search_path = {schema}; "
                        "SET citus.trace_sample_rate = 0.0000001")
    yield coordinator
    coordinator.execute("RESET citus.trace_sample_rate; RESET search_path")


def check_tree(spans):
    """One statement, whose parent is the application's; all other spans lead to it; tasks have spans where they run."""
    by_id = {span["span_id"]: span for span in spans}
    statement, = named(spans, "statement")
    assert statement["parent_id"] == PARENT
    for span in spans:
        assert span is statement or by_id[span["parent_id"]]["name"] in ("statement", "execute", "task")
    for task in named(spans, "task"):
        runs = [span for span in named(spans, "execute") if span["parent_id"] == task["span_id"]]
        assert [run["nodeid"] for run in runs] == ([] if task["target_nodeid"] == task["nodeid"] else [task["target_nodeid"]])
        assert task["duration_ms"] <= statement["duration_ms"]
    return statement


def test_read_of_all_nodes(traced):
    """A statement, its planning, its tasks, and the tasks on their nodes, tied by their ids."""
    traced.execute("SELECT sum(b) FROM t " + comment(1))
    spans = trace(traced, 1)
    statement = check_tree(spans)
    assert statement["detail"].startswith("SELECT sum(b) FROM t /*application")
    assert len(named(spans, "task")) == 2
    assert {span["nodeid"] for span in named(spans, "plan")} == {span["nodeid"] for span in spans}
    assert all(span["amount"] == 1 for span in named(spans, "task")) and not any(span["failed"] for span in spans)


def test_phases_of_a_commit(traced):
    """A write over nodes has the phases in its span; in a block, they belong to COMMIT."""
    traced.execute("UPDATE t SET b = b + 1 " + comment(2))
    spans = trace(traced, 2)
    check_tree(spans)
    assert [named(spans, name)[0]["amount"] for name in ("prepare", "commit prepared")] == [2, 2]
    assert named(spans, "prepare")[0]["start_time"] < named(spans, "commit prepared")[0]["start_time"]
    with traced.transaction():
        traced.execute("UPDATE t SET b = b + 1 " + comment(3))
        assert check_tree(trace(traced, 3))
        traced.execute("SELECT 1")
        traced.execute("COMMIT " + comment(4))
        traced.execute("BEGIN")
    assert not named(trace(traced, 3), "prepare")
    assert named(trace(traced, 4), "prepare")


def test_ddl_and_copy(traced):
    """The commands of DDL to all nodes, and the rows that COPY sends to each, have spans below the statement's."""
    traced.execute("ALTER TABLE t ADD COLUMN c int " + comment(14))
    spans = trace(traced, 14)
    check_tree(spans)
    commands = [span for span in named(spans, "command") if "ADD COLUMN c" in span["detail"]]
    assert commands and {span["amount"] for span in commands} <= {2, None}
    assert named(spans, "prepare") and named(spans, "commit prepared")
    with traced.cursor().copy("COPY t (a, b) FROM STDIN " + comment(15)) as copy:
        for i in range(1000, 1100):
            copy.write_row((i, i))
    spans = trace(traced, 15)
    check_tree(spans)
    assert sum(span["amount"] for span in named(spans, "copy")) == 100 and {span["target_nodeid"] for span in named(spans, "copy")} == {2, 3}


def test_slow_tasks(traced, cluster):
    """citus.log_min_task_duration logs slow tasks with their node and the process id by which that node's log, with plans of auto_explain, names them."""
    gpid = value(traced, "SELECT citus_backend_gpid()")
    marks = {node: node.log_mark() for node in cluster.nodes}
    traced.execute("SELECT sum(b) AS quick FROM t")
    traced.execute("SET citus.log_min_task_duration = 0")
    traced.execute("SELECT sum(b) AS slow FROM t")
    traced.execute("SELECT b AS routed FROM t WHERE a = %s", [5])
    traced.execute("UPDATE t SET b = b WHERE a = 7")
    traced.execute("SET citus.log_min_task_duration = '1h'; SELECT sum(b) AS quick FROM t")
    traced.execute("RESET citus.log_min_task_duration")
    log = [line for line in cluster.coordinator.log_since(marks[cluster.coordinator]).splitlines() if "  task on node" in line]
    assert not [line for line in log if "quick" in line]
    for text in ("sum(b)", "routed", "UPDATE"):
        assert [line for line in log if text in line and f"(gpid {gpid})" in line and "duration: " in line], text
    assert {node.port for node in cluster.workers} == {node.port for node in cluster.workers if any(f"127.0.0.1:{node.port} " in line for line in log)}


def test_auto_explain(traced, cluster):
    """auto_explain on a node logs the plans of tasks under the process id of the client's session."""
    worker = cluster.workers[0]
    worker.sql("LOAD 'auto_explain'; ALTER SYSTEM SET session_preload_libraries = 'auto_explain'; ALTER SYSTEM SET auto_explain.log_min_duration = 0; SELECT pg_reload_conf()")
    try:
        worker.sql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE 'citus_internal%' AND state = 'idle'")
        with servers.connect(cluster.coordinator) as fresh:
            schema = value(traced, "SELECT current_schema()")
            gpid = value(fresh, "SELECT citus_backend_gpid()")
            mark = worker.log_mark()
            fresh.execute(f"SELECT max(b) FROM {schema}.t")
            servers.wait_until(lambda: f"citus_internal gpid={gpid}" in worker.log_since(mark) and "Seq Scan on t_" in worker.log_since(mark), "a plan")
    finally:
        worker.sql("LOAD 'auto_explain'; ALTER SYSTEM RESET session_preload_libraries; ALTER SYSTEM RESET auto_explain.log_min_duration; SELECT pg_reload_conf()")


def test_sampling(traced):
    """The flag of a traceparent decides; without one, the rate does; off, nothing is looked at; what functions execute isn't sampled by itself."""
    traced.execute("SELECT count(*) FROM t " + comment(5, sampled=False))
    traced.execute("SET citus.trace_sample_rate = 0")
    traced.execute("SELECT count(*) FROM t " + comment(6))
    assert not trace(traced, 5) + trace(traced, 6)
    mark = "SELECT count(*) FROM citus_traces WHERE name = 'statement' AND detail LIKE %s"
    traced.execute("SET citus.trace_sample_rate = 1")
    for damaged in ("00-xyz", "00-" + 32 * "0" + f"-{PARENT}-01", f"00-{TRACE}-{PARENT}-0", f"00-{TRACE.upper()}-{PARENT}-01"):
        traced.execute(f"SELECT a FROM t WHERE a = 1 /*traceparent='{damaged}'*/ -- damaged")
    traced.execute("DO $$ BEGIN FOR i IN 1..5 LOOP PERFORM b FROM t WHERE a = i; END LOOP; END $$ -- a block")
    traced.execute("SET citus.trace_sample_rate = 0.5")
    for prepare in (False, True):
        for i in range(200):
            traced.execute("SELECT b FROM t WHERE a = %s -- a half", [i], prepare=prepare)
    traced.execute("SET citus.trace_sample_rate = 0")
    assert value(traced, mark, ["%-- damaged"]) == 4
    assert value(traced, mark, ["DO%-- a block"]) == 1 and value(traced, mark, ["%PERFORM%"]) == 1
    assert 100 < value(traced, mark, ["%-- a half"]) < 300


def test_prepared_and_local(traced, cluster):
    """Statements that are executed with an older plan; tasks of the initiator's own shards."""
    traced.execute("PREPARE p AS SELECT sum(b) FROM t")
    for _ in range(8):
        traced.execute("EXECUTE p")
    traced.execute("EXECUTE p " + comment(7))
    assert len(named(trace(traced, 7), "task")) == 2 and check_tree(trace(traced, 7))
    with servers.connect(cluster.workers[0]) as worker:
        worker.execute(f"SET search_path = {value(traced, 'SELECT current_schema()')}; SET citus.trace_sample_rate = 0.0000001")
        worker.execute("SELECT sum(b) FROM t " + comment(8))
        spans = trace(worker, 8)
        check_tree(spans)
        assert {span["target_nodeid"] == span["nodeid"] for span in named(spans, "task")} == {True, False}


def test_failed(traced):
    """A statement that fails is shown so, on its node and where it failed."""
    with pytest.raises(psycopg.errors.DivisionByZero):
        traced.execute("SELECT sum(b / (b - 50)) FROM t " + comment(9))
    spans = trace(traced, 9)
    assert named(spans, "statement")[0]["failed"]
    traced.execute("SELECT 1 " + comment(10))
    assert not named(trace(traced, 10), "statement")[0]["failed"]


@pytest.fixture
def roles(traced, schema):
    """Two roles without rights."""
    names = [f"{schema}_one", f"{schema}_two"]
    for name in names:
        traced.execute(f"CREATE ROLE {name} LOGIN")
    yield names
    for name in names:
        traced.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_who_sees_what(traced, roles, connect, cluster):
    """A role sees its own spans, on all nodes; pg_monitor all; only superusers set the rate."""
    traced.execute(f"GRANT USAGE ON SCHEMA {value(traced, 'SELECT current_schema()')} TO public; GRANT SELECT ON t TO {roles[0]}")
    traced.execute("SELECT sum(b) FROM t " + comment(11))
    traced.execute(f"SET ROLE {roles[0]}; SELECT sum(b) FROM t " + comment(12))
    traced.execute("RESET ROLE")
    own = connect(cluster.coordinator, user=roles[0])
    assert {row[0] for row in rows(own, "SELECT usename FROM citus_traces")} <= {roles[0]}
    assert not trace(own, 11)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        own.execute("SET citus.trace_sample_rate = 1")
    traced.execute(f"GRANT pg_monitor TO {roles[1]}")
    assert trace(connect(cluster.coordinator, user=roles[1]), 11)


def test_tool(traced, cluster):
    """tools/traces writes what the view has, for OpenTelemetry and Chrome."""
    traced.execute("SELECT sum(b) FROM t " + comment(13))
    spans = trace(traced, 13)
    made = {}
    for name in ("otlp", "chrome"):
        dsn = f"host=127.0.0.1 port={cluster.coordinator.port} user=postgres dbname=postgres"
        done = subprocess.run([sys.executable, TOOL, "--format", name, "--trace", f"{TRACE[:-2]}0d", dsn], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        made[name] = json.loads(done.stdout)
    otlp = [span for resource in made["otlp"]["resourceSpans"] for span in resource["scopeSpans"][0]["spans"]]
    assert {span["spanId"]: span.get("parentSpanId") for span in otlp} == {span["span_id"]: span["parent_id"] for span in spans}
    assert all(len(span["traceId"]) == 32 and int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in otlp)
    events = [event for event in made["chrome"]["traceEvents"] if event["ph"] == "X"]
    assert {(event["pid"], event["name"]) for event in events} == {(span["nodeid"], span["name"]) for span in spans}


def test_commands_are_shown(traced, cluster):
    """citus.log_remote_commands and the like show what a session sends; citus.multi_task_query_log_level what is about several shards."""
    seen = []
    traced.add_notice_handler(lambda notice: seen.append((notice.severity, notice.message_primary, notice.message_detail)))

    def shown(statement, *settings):
        seen.clear()
        for setting in settings:
            traced.execute(f"SET {setting}")
        traced.execute(statement)
        for setting in settings:
            traced.execute(f"RESET {setting.split()[0]}")
        return [message for _, message, _ in seen]

    ports = [node.port for node in cluster.workers]
    on = "citus.log_remote_commands = on"
    messages = shown("SELECT sum(b) FROM t", on)
    assert len([message for message in messages if message.startswith("issuing") and "sum(b)" in message]) == 2
    assert not [message for message in messages if "citus_internal" in message.split("SELECT")[0]]
    assert {port for port in ports if any(f"127.0.0.1:{port}," in (detail or "") for _, _, detail in seen)} == set(ports)
    messages = shown("UPDATE t SET b = b", on)
    assert [message for message in messages if "PREPARE TRANSACTION" in message] and [message for message in messages if "COMMIT PREPARED" in message]
    assert all("UPDATE" in message for message in shown("UPDATE t SET b = b", on, "citus.grep_remote_commands = '%UPDATE%'"))
    messages = shown("ALTER TABLE t ALTER b SET DEFAULT 1", on)
    assert [message for message in messages if "SET DEFAULT 1" in message], messages
    assert shown("SELECT sum(b) FROM t") == []
    assert shown("SELECT sum(b) FROM t", "citus.multi_task_query_log_level = warning")[0].startswith("a statement reads or writes")
    assert seen[0][0] == "WARNING"
    assert shown("SELECT b FROM t WHERE a = 1", "citus.multi_task_query_log_level = warning") == []
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="a statement reads or writes"):
        shown("SELECT sum(b) FROM t", "citus.multi_task_query_log_level = error")
    traced.execute("RESET citus.multi_task_query_log_level")
    with servers.connect(cluster.workers[0]) as worker:
        local = []
        worker.add_notice_handler(lambda notice: local.append(notice.message_primary))
        worker.execute("SET citus.log_local_commands = on")
        worker.execute(f"SELECT sum(b) FROM {value(traced, 'SELECT current_schema()')}.t")
        assert len(local) == 1 and local[0].startswith("executing the command locally: ")
