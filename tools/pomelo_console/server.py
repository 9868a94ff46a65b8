"""The web server: `/` is the page (page.html), `/data` what it shows, as JSON.

The database is asked once for all readers in SECONDS. Each section is a query of its own, so what fails leaves the others.
"""

import argparse
import json
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pomelo_cluster import host

SECONDS = 5
LIMIT = 20      # seconds that a query may take
PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "page.html")

SECTIONS = {
    "health": "SELECT * FROM citus_health(check_logins => false)",
    "nodes": "SELECT * FROM citus_stat_nodes",
    "tables": "SELECT table_name::text, citus_table_type, count(DISTINCT shardid) AS shards, sum(shard_size)::bigint AS bytes, "
              "max(shard_size)::bigint AS largest FROM citus_shards GROUP BY 1, 2 ORDER BY bytes DESC NULLS LAST LIMIT 100",
    "statements": "SELECT global_pid, nodeid, usename, application_name, state, extract(epoch FROM clock_timestamp() - query_start)::int AS seconds, "
                  "left(query, 300) AS query FROM citus_dist_stat_activity WHERE state <> 'idle' AND global_pid <> citus_backend_gpid() "
                  "ORDER BY query_start LIMIT 50",
    "waits": "SELECT waiting_gpid, blocking_gpid, left(blocked_statement, 200) AS blocked_statement, "
             "left(current_statement_in_blocking_process, 200) AS blocking_statement FROM citus_lock_waits LIMIT 50",
    "moves": "SELECT table_name::text, shardid, sourcename || ':' || sourceport AS source, targetname || ':' || targetport AS target, "
             "source_shard_size, target_shard_size, status FROM get_rebalance_progress()",
    "jobs": "SELECT job_id, state, job_type, description, started_at, finished_at FROM citus_job_list() ORDER BY job_id DESC LIMIT 10",
    "tenants": "SELECT tenant_attribute, sum(query_count_in_last_period) AS statements, round(sum(cpu_usage_in_last_period)::numeric, 2) AS cpu "
               "FROM citus_stat_tenants GROUP BY 1 ORDER BY 3 DESC LIMIT 20",
}


def read(dsn, query):
    """The rows of a query, as dictionaries, or a message about what is wrong."""
    wrapped = f"SELECT coalesce(json_agg(q), '[]') FROM ({query}) q"
    environment = {**host.clean_env(), "PGOPTIONS": f"-c default_transaction_read_only=on -c statement_timeout={LIMIT}s -c client_min_messages=error"}
    try:
        done = subprocess.run([os.path.join(host.bin_dir(host.pg_config()), "psql"), "-XAtqw", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", wrapped],
                              capture_output=True, text=True, check=False, timeout=LIMIT + 10, env=environment)
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT + 10} s"
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


class Source:
    """What the database has said last."""

    def __init__(self, dsn):
        self.dsn, self.lock, self.taken, self.text = dsn, threading.Lock(), 0.0, b""

    def data(self):
        with self.lock:
            if time.monotonic() - self.taken > SECONDS:
                found = {name: read(self.dsn, query) for name, query in SECTIONS.items()}
                self.text, self.taken = json.dumps(found).encode(), time.monotonic()
            return self.text


def handler(source):
    """The class that answers requests."""
    class Handler(BaseHTTPRequestHandler):
        """Two addresses, and only GET."""

        def do_GET(self):
            if self.path == "/":
                with open(PAGE, "rb") as file:
                    self.answer(200, "text/html; charset=utf-8", file.read())
            elif self.path == "/data":
                self.answer(200, "application/json", source.data())
            else:
                self.answer(404, "text/plain", b"not found\n")

        def answer(self, status, kind, body):
            self.send_response(status)
            for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Cache-Control", "no-store"),
                                ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
                                ("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def main(argv=None):
    parser = argparse.ArgumentParser(prog="tools/console", description="A web page that shows a cluster.")
    parser.add_argument("dsn", help="connection string of any node, for a member of pg_monitor")
    parser.add_argument("--listen", default="127.0.0.1", help="address (%(default)s): whoever reaches it sees all statements")
    parser.add_argument("--port", type=int, default=9780)
    args = parser.parse_args(argv)
    server = ThreadingHTTPServer((args.listen, args.port), handler(Source(args.dsn)))
    print(f"http://{args.listen}:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0
