"""The command line of tools/traces."""

import argparse
import json
import sys

from pomelo_backup.backup import query
from pomelo_cluster.host import ClusterError

from .formats import FORMATS

SPANS = "SELECT coalesce(json_agg(t ORDER BY start_us), '[]') FROM (" \
        "SELECT *, (extract(epoch FROM start_time) * 1000000)::int8 AS start_us FROM citus_traces) t"
NODES = "SELECT json_object_agg(nodeid, nodename || ':' || nodeport) FROM pg_dist_node WHERE noderole = 'primary'"


def parser():
    top = argparse.ArgumentParser(prog="tools/traces", description="Writes what citus_traces shows for other tools.")
    top.add_argument("dsn", help="connection string of any node")
    top.add_argument("--format", choices=sorted(FORMATS), default="otlp",
                     help="otlp: for a collector of OpenTelemetry (/v1/traces); chrome: for chrome://tracing or Perfetto")
    top.add_argument("--trace", metavar="ID", help="only this one")
    return top


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        spans = json.loads(query(options.dsn, SPANS))
        nodes = {int(nodeid): address for nodeid, address in json.loads(query(options.dsn, NODES)).items()}
    except ClusterError as error:
        print(f"tools/traces: {error}", file=sys.stderr)
        return 1
    wanted = [span for span in spans if options.trace in (None, span["trace_id"])]
    json.dump(FORMATS[options.format](wanted, nodes), sys.stdout)
    print()
    return 0
