"""What the page shows: a query for each section, so that what fails leaves the others, and what psql answers to it."""

import json
import os
import subprocess

from pomelo_cluster import host

LIMIT = 20              # seconds that a query may take
MARK = "/* console */"  # begins the console's own statements, which it doesn't show
OPTIONS = {"default_transaction_read_only": "on", "statement_timeout": f"{LIMIT}s", "client_min_messages": "error",
           "citus.node_connection_timeout": "5s"}

# On the node of the connection string.
QUERIES = {
    "health": "SELECT * FROM citus_health(check_logins => false)",
    "nodes": "SELECT * FROM citus_stat_nodes",
    "tables": "SELECT table_name::text, citus_table_type AS type, shardid, nodename || ':' || nodeport AS node, shard_size AS bytes "
              "FROM citus_shards ORDER BY shard_size DESC NULLS LAST LIMIT 5000",
    "statements": "SELECT global_pid, nodeid, usename AS role, application_name AS application, state, "
                  "extract(epoch FROM clock_timestamp() - CASE state WHEN 'active' THEN query_start ELSE state_change END)::int AS seconds, "
                  "concat_ws(': ', wait_event_type, wait_event) AS waits_for, left(query, 300) AS query FROM citus_dist_stat_activity "
                  f"WHERE state <> 'idle' AND query NOT LIKE '{MARK}%' ORDER BY query_start LIMIT 50",
    "waits": "SELECT w.waiting_gpid, w.blocking_gpid, w.waiting_nodeid, w.blocking_nodeid, a.usename AS waiting_role, b.usename AS blocking_role, "
             "b.state AS blocking_state, left(w.blocked_statement, 200) AS waiting_statement, "
             "left(w.current_statement_in_blocking_process, 200) AS blocking_statement FROM citus_lock_waits w "
             "LEFT JOIN citus_dist_stat_activity a ON a.global_pid = w.waiting_gpid "
             "LEFT JOIN citus_dist_stat_activity b ON b.global_pid = w.blocking_gpid ORDER BY 1, 2 LIMIT 100",
    "tenants": "SELECT tenant_attribute AS tenant, sum(query_count_in_last_period) AS statements, round(sum(cpu_usage_in_last_period)::numeric, 2) AS cpu_seconds, "
               "sum(query_count_in_this_period) AS statements_now FROM citus_stat_tenants GROUP BY 1 ORDER BY 3 DESC, 4 DESC LIMIT 20",
}

# On the coordinator.
QUERIES_OF_COORDINATOR = {
    "moves": "SELECT table_name::text, shardid, operation_type AS operation, sourcename || ':' || sourceport AS source, "
             "targetname || ':' || targetport AS target, source_shard_size AS bytes, target_shard_size AS arrived, status FROM get_rebalance_progress() "
             "ORDER BY progress = 1 DESC, progress DESC LIMIT 40",
    "jobs": "SELECT j.job_id AS job, j.state, j.description, t.done, t.tasks, r.time_left::text, j.started_at, j.finished_at, t.message FROM citus_job_list() j "
            "LEFT JOIN citus_rebalance_progress r ON r.job_id = j.job_id, "
            "LATERAL (SELECT count(*) AS tasks, count(*) FILTER (WHERE status = 'done') AS done, max(message) FILTER (WHERE status = 'error') AS message "
            "FROM pg_dist_background_task b WHERE b.job_id = j.job_id) t ORDER BY j.job_id DESC LIMIT 10",
    "plan": "SELECT table_name::text, shardid, shard_size AS bytes, sourcename || ':' || sourceport AS source, targetname || ':' || targetport AS target "
            "FROM get_rebalance_table_shards_plan()",
}

# On each node.
QUERIES_OF_NODES = {
    "loads": "SELECT substring(relname, '[0-9]+$')::bigint AS shardid, seq_tup_read + coalesce(idx_tup_fetch, 0) + n_tup_ins + n_tup_upd + n_tup_del AS rows "
             "FROM pg_stat_user_tables WHERE schemaname = 'citus_data' AND relname ~ '_[0-9]{1,18}$'",
    "gateways": "SELECT pid, paused, clients, waiting, active, pools, sessions, transactions, routed, p99_wait_ms FROM citus_stat_gateway",
    "slow": "SELECT left(query, 300) AS query, calls, round(total_exec_time) AS total_ms, round(mean_exec_time::numeric, 2) AS mean_ms, "
            "round(max_exec_time::numeric, 1) AS longest_ms, rows FROM pg_stat_statements "
            f"WHERE query NOT LIKE '/*citus:%' AND query NOT LIKE '{MARK}%' AND query !~ 'citus_internal|^(EXECUTE|FETCH|BEGIN|COMMIT)' "
            "AND toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY total_exec_time DESC LIMIT 20",
}

WHERE = {**{name: "run_command_on_coordinator" for name in QUERIES_OF_COORDINATOR}, **{name: "run_command_on_all_nodes" for name in QUERIES_OF_NODES}}
NAMES = [*QUERIES, *WHERE]


def ask(dsn, name):
    """What a section shows: its `rows`, and the `errors` of nodes that have not answered; or the `error` instead."""
    if name not in WHERE:
        rows = psql(dsn, QUERIES[name])
        return {"error": rows} if isinstance(rows, str) else {"rows": rows}
    query = wrap({**QUERIES_OF_COORDINATOR, **QUERIES_OF_NODES}[name])
    answers = psql(dsn, f"SELECT * FROM {WHERE[name]}($q${query}$q$)")
    if isinstance(answers, str):
        return {"error": answers}
    return {"rows": [{"nodeid": answer["nodeid"], **row} for answer in answers if answer["success"] for row in json.loads(answer["result"])],
            "errors": [{"nodeid": answer["nodeid"], "error": answer["result"]} for answer in answers if not answer["success"]]}


def wrap(query):
    return f"{MARK} SELECT coalesce(json_agg(q), '[]') FROM ({query}) q"


def psql(dsn, query):
    """The rows of a query, as dictionaries, or a message about what is wrong."""
    options = " ".join(f"-c {name}={value}" for name, value in OPTIONS.items())
    try:
        done = subprocess.run([os.path.join(host.bin_dir(host.pg_config()), "psql"), "-XAtqw", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", wrap(query)],
                              capture_output=True, text=True, check=False, timeout=LIMIT + 10,
                              env={**host.clean_env(), "PGOPTIONS": options, "PGAPPNAME": "console", "PGCONNECT_TIMEOUT": "5", "PGCLIENTENCODING": "UTF8"})
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT + 10} s"
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()
