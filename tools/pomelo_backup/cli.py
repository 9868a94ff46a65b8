"""The command line of tools/backup."""

import argparse
import signal
import sys

from pomelo_cluster.host import ClusterError

from .backup import manifest_of, take
from .restore import finish, restore


def pair(kind):
    """An argument's type: KEY=VALUE, with a key of that kind."""
    def parse(text):
        key, separator, value = text.partition("=")
        if not separator:
            raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE")
        return kind(key), value

    return parse


def parser():
    top = argparse.ArgumentParser(prog="tools/backup", description="Consistent backups of all nodes of a cluster.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("take", help="back up all nodes, as of a restore point")
    command.add_argument("dsn", help="connection string of any node, for a superuser; host and port are replaced for the other nodes")
    command.add_argument("folder", help="a new folder")
    command.set_defaults(run=cmd_take)

    command = commands.add_parser("show", help="tell what a backup has")
    command.add_argument("folder")
    command.set_defaults(run=cmd_show)

    command = commands.add_parser("restore", help="make a node's data directory; to be run on each server")
    command.add_argument("folder")
    command.add_argument("nodeid", type=int)
    command.add_argument("data", help="the data directory, empty or not there")
    command.add_argument("--set", type=pair(str), action="append", default=[], metavar="NAME=VALUE", help="a setting of the restored server, such as port")
    command.set_defaults(run=cmd_restore)

    command = commands.add_parser("finish", help="after all servers have started: give nodes their new addresses, and end prepared transactions")
    command.add_argument("folder")
    command.add_argument("dsn", help="connection string of the restored coordinator")
    command.add_argument("addresses", type=pair(int), nargs="*", metavar="NODEID=HOST:PORT")
    command.set_defaults(run=cmd_finish)
    return top


def cmd_take(args):
    manifest = take(args.dsn, args.folder)
    print(f"{len(manifest['nodes'])} nodes, restore point \"{manifest['restore_point']}\"")


def cmd_show(args):
    manifest = manifest_of(args.folder)
    print(f"taken {manifest['taken']}, PostgreSQL {manifest['version']}, restore point \"{manifest['restore_point']}\"")
    for node in manifest["nodes"]:
        print(f"node {node['nodeid']}: {node['host']}:{node['port']}{', the coordinator' if node['groupid'] == 0 else ''}")


def cmd_restore(args):
    restore(args.folder, args.nodeid, args.data, dict(args.set))


def cmd_finish(args):
    print(finish(args.folder, args.dsn, dict(args.addresses)))


def ends(number, frame):
    """A signal ends the program as an error does: what runs on the nodes is cleaned up."""
    raise ClusterError(f"ended by {signal.Signals(number).name}")


def main(argv=None):
    args = parser().parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, ends)
    try:
        args.run(args)
    except ClusterError as error:
        print(f"backup: {error}", file=sys.stderr)
        return 1
    return 0
