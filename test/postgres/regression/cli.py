"""The command line: two servers, one run of the tests on each, and what differs."""

import argparse
import shutil
import sys
from pathlib import Path

from pomelo_cluster import Cluster, ClusterError
from pomelo_cluster.host import give, make_dir, run_server_program, state_dir

from . import compare
from .distribute import KINDS, set_up

BASE_PORT = 20900
DATABASE = "regression"
# A writer of a reference table waits for a prepared transaction that wrote it, which its own session would have to end.
SETTINGS = {"fsync": "off", "max_prepared_transactions": "50", "citus.shard_count": "4", "lock_timeout": "10s"}

# About the server's own insides, or roles and databases of the whole server: nothing is distributed there.
LEFT_OUT = """tablespace publication subscription event_trigger opr_sanity misc_sanity type_sanity sanity_check rules
    oidjoins largeobject database init_privs stats psql infinite_recurse guc sysviews""".split()


def main():
    """Run; returns the exit status: 0, or 2 when something is missing. Differences are to be read, not counted."""
    args = parser().parse_args()
    try:
        if args.initiator == "worker" and args.workers == 0:
            raise ClusterError("--initiator worker needs --workers")
        source = Path(args.source) / "src/test/regress"
        built = Path(args.build or args.source) / "src/test/regress"
        for path in (source / "sql", source / "parallel_schedule", built / "pg_regress", built / "regress.so"):
            if not path.exists():
                raise ClusterError(f"{path} is missing: give --source (and --build) of a PostgreSQL tree in which "
                                   "`make -C src/test/regress` has run")
        tests = args.tests or schedule(source)
        with Cluster.temporary("regression-plain", args.base_port, 1, settings=SETTINGS, workers=0,
                               kind="plain") as plain, \
                Cluster.temporary("regression", args.base_port, settings=SETTINGS, workers=args.workers) as cluster:
            expected = run_tests(plain, plain.coordinator, None, source, built, tests)
            initiator = cluster.workers[0] if args.initiator == "worker" else cluster.coordinator
            found = run_tests(cluster, initiator, args.tables, source, built, tests)
            return compare.report(source / "sql", tests, expected, found, args.errors)
    except ClusterError as error:
        print(f"postgres: {error}", file=sys.stderr)
        return 2


def parser():
    """The options."""
    top = argparse.ArgumentParser(
        prog="test/postgres/run",
        description="Runs PostgreSQL's regression tests on a plain server and on a cluster whose tables are "
                    "distributed as they are made, and shows statements that differ.")
    top.add_argument("--source", required=True, metavar="DIR", help="PostgreSQL's source tree")
    top.add_argument("--build", metavar="DIR", help="where it was built (the source tree)")
    top.add_argument("--tables", choices=sorted(KINDS), default="hash", help="what tables become (%(default)s)")
    top.add_argument("--workers", type=int, default=0, metavar="N",
                     help="number of workers (%(default)s: the coordinator has all shards)")
    top.add_argument("--initiator", choices=["coordinator", "worker"], default="coordinator",
                     help="the node that is asked (%(default)s)")
    top.add_argument("--errors", action="store_true", help="also show where only one side failed, or otherwise")
    top.add_argument("--base-port", type=int, default=BASE_PORT)
    top.add_argument("tests", nargs="*", metavar="TEST", help="names, in order; most need test_setup (all)")
    return top


def schedule(source):
    """Names of the tests, in PostgreSQL's order."""
    lines = (source / "parallel_schedule").read_text().splitlines()
    names = [name for line in lines if line.startswith("test:") for name in line.split()[1:]]
    return [name for name in names if name not in LEFT_OUT]


def run_tests(cluster, node, tables, source, built, tests):
    """Run the tests on a node; returns the folder with their outputs (name.out). Tables stay local if None."""
    folder = Path(state_dir()) / cluster.name / "tests"
    make_dir(folder)
    for part in ("sql", "expected", "data"):
        shutil.copytree(source / part, folder / part)
    for library in built.glob("*.so"):
        shutil.copy(library, folder)
    (folder / "schedule").write_text("".join(f"test: {name}\n" for name in tests))
    for path in (folder, *folder.rglob("*")):
        give(path)
    set_up(cluster, node, DATABASE, tables, source / "sql")
    print(f"postgres: {len(tests)} tests on {cluster.name}", flush=True)
    run_server_program([str(built / "pg_regress"), f"--inputdir={folder}", f"--outputdir={folder}",
                        f"--bindir={node.bindir}", f"--dlpath={folder}", "--host=127.0.0.1", f"--port={node.port}",
                        "--user=postgres", "--use-existing", f"--dbname={DATABASE}",
                        f"--schedule={folder / 'schedule'}"],
                       check=False, capture_output=True)
    return folder / "results"
