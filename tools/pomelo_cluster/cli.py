"""The command line of tools/cluster."""

import argparse
import os
import sys

from .cluster import Cluster, DEFAULT_NAME, DEFAULT_PORT, DEFAULT_WORKERS
from .host import ClusterError


def main(argv=None):
    """Runs one command; returns the exit status."""
    own, for_psql = _split_psql(sys.argv[1:] if argv is None else argv)
    args = parser().parse_args(own)
    args.arguments = for_psql
    try:
        return args.command(args) or 0
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def parser():
    top = argparse.ArgumentParser(
        prog="tools/cluster", description="Local clusters: a coordinator and workers on 127.0.0.1.",
        epilog="Servers are those of PG_CONFIG; data is below POMELO_STATE "
               "(/var/tmp/pomelo-<user>); run by root, servers run as POMELO_USER (postgres).")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name, action, text, node=None):
        sub = commands.add_parser(name, help=text, description=text)
        sub.add_argument("--name", default=DEFAULT_NAME, help="the cluster's name (%(default)s)")
        if node:
            sub.add_argument("node", nargs=node, help="a node's name or port")
        sub.set_defaults(command=action)
        return sub

    up = command("up", cmd_up, "make and start a cluster, or start an existing one")
    up.add_argument("--workers", type=_count, default=DEFAULT_WORKERS, metavar="W",
                    help="number of workers (%(default)s)")
    up.add_argument("--base-port", type=_port, default=DEFAULT_PORT, metavar="P",
                    help="the coordinator's port; workers follow (%(default)s)")
    up.add_argument("--set", type=_setting, action="append", default=[], metavar="KEY=VALUE",
                    help="a setting for every node (citus.gateway_port: the coordinator's; workers follow); may be repeated")
    kind = up.add_mutually_exclusive_group()
    kind.add_argument("--plain", dest="kind", action="store_const", const="plain",
                      help="one ordinary server, without the extension")
    kind.add_argument("--bare", dest="kind", action="store_const", const="bare",
                      help="the extension on every node, but no nodes added")
    up.set_defaults(kind="cluster")

    command("start", cmd_start, "start all nodes, or the given ones (also after a crash)", "*")
    command("stop", cmd_stop, "stop the given nodes", "+")
    command("kill", cmd_kill, "kill the given nodes' servers, as a crash would", "+")
    command("down", cmd_down, "stop all nodes; data stays")
    command("destroy", cmd_destroy, "stop all nodes and delete their data")
    command("status", cmd_status, "show this cluster's nodes")
    command("list", cmd_list, "show all clusters of this user")
    command("psql", cmd_psql, "open psql on a node (the first); other options go to psql", "?")
    logs = command("logs", cmd_logs, "show the end of the servers' logs", "*")
    logs.add_argument("-n", type=_count, default=20, metavar="LINES", help="lines a node")
    logs.add_argument("-f", action="store_true", help="follow")
    return top


def _split_psql(argv):
    """Divides `psql [--name N] [node] ...` into our arguments and psql's."""
    if argv[:1] != ["psql"] or set(argv[1:]) & {"-h", "--help"}:
        return argv, []
    end = 1
    while end < len(argv) and argv[end].startswith("--name"):
        end += 1 if "=" in argv[end] else 2
    if end < len(argv) and not argv[end].startswith("-"):
        end += 1
    return argv[:end], argv[end + (argv[end:end + 1] == ["--"]):]


def _setting(text):
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f'"{text}" is not of the form key=value')
    return key.strip(), value


def _port(text):
    value = int(text)
    if not 1024 <= value <= 65000:
        raise argparse.ArgumentTypeError("a port is between 1024 and 65000")
    return value


def _count(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def cmd_up(args):
    cluster = Cluster.up(args.name, args.workers, args.base_port, dict(args.set), args.kind)
    for node in cluster.nodes:
        print(f"{node.name:12} {node.dsn}")


def cmd_start(args):
    cluster = Cluster.load(args.name)
    cluster.start([cluster.node(n) for n in args.node])


def cmd_stop(args):
    cluster = Cluster.load(args.name)
    for node in [cluster.node(n) for n in args.node]:
        node.stop()


def cmd_kill(args):
    cluster = Cluster.load(args.name)
    for node in [cluster.node(n) for n in args.node]:
        node.kill()


def cmd_down(args):
    Cluster.load(args.name).down()


def cmd_destroy(args):
    cluster = Cluster.find(args.name)
    if cluster is None:
        print(f'cluster: there is no cluster "{args.name}"; nothing to do')
        return
    cluster.destroy()


def cmd_status(args):
    """Prints each node's state, and what citus_health() finds; the exit status is 3 unless all are running."""
    cluster = Cluster.load(args.name)
    running = True
    for node in cluster.nodes:
        pid = node.pid()
        running = running and pid is not None
        state = f"running ({pid})" if pid else "down"
        print(f"{node.name:12} {state:18} {node.dsn}")
    print(f"{'data':12} {cluster.folder}")
    asked = next((node for node in cluster.nodes if node.pid()), None)
    if asked is not None and cluster.spec["kind"] != "plain":
        print(_health(asked))
    return 0 if running else 3


def _health(node):
    """Findings about the cluster, as a running node has them; some clusters are older than the function."""
    try:
        return node.sql("SELECT coalesce(string_agg(format('%-12s %s:%s %s %s', severity, nodename, nodeport, subject, finding), E'\\n'), "
                        "'healthy') FROM citus_health()")
    except ClusterError as error:
        return f"{'health':12} {error}"


def cmd_list(args):
    for cluster in Cluster.all():
        up = sum(1 for node in cluster.nodes if node.pid())
        print(f"{cluster.name:16} {cluster.spec['kind']:8} ports {cluster.nodes[0].port}-"
              f"{cluster.nodes[-1].port}  {up} of {len(cluster.nodes)} running  "
              f"{cluster.spec['checkout']}")


def cmd_psql(args):
    """Replaces this process by psql."""
    cluster = Cluster.load(args.name)
    node = cluster.node(args.node) if args.node else cluster.nodes[0]
    command = node.psql_args(*args.arguments)
    env = {**os.environ, "PGCONNECT_TIMEOUT": "10"}
    os.execve(command[0], command, env)


def cmd_logs(args):
    cluster = Cluster.load(args.name)
    nodes = [cluster.node(n) for n in args.node] or cluster.nodes
    if args.f:
        os.execvp("tail", ["tail", "-n", str(args.n), "-F", *[node.log for node in nodes]])
    for node in nodes:
        print(f"==> {node.name}: {node.log}")
        print(node.tail(args.n), end="")
