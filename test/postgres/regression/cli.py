"""The command line: a plain server and a cluster, each script on both, and what differs from the committed list."""

import argparse
import sys
from pathlib import Path

from pomelo_check import unwind_when_terminated
from pomelo_check.failures import Failure, crashes, print_failures
from pomelo_check.sample import SHARE, part_of, sample, told
from pomelo_cluster import Cluster, ClusterError

from .distribute import KINDS
from .expected import Expected, script_of
from .isolation import ISOLATION_MODES, isolation_specs, run_isolation
from .scripts import Runner
from .source import SourceMissing, full_version, isolation_folder, regression_folder, schedule, with_needed

BASE_PORT = 20900
LISTS = Path(__file__).parent.parent
LISTED = ["hash", "last", "reference"]
ALONE = ["columnar", "keys"]        # with lists of their own
MODES = [*LISTED, *ALONE]
ONLY = {"keys": ["constraints", "create_index", "foreign_key", "insert_conflict"]}      # the scripts of a mode, of others all
HEAD = "# Differences from a plain server that are known, each below its reason. Made with the scripts of PostgreSQL {}; README.md explains the lines."
SAMPLE = 15                 # scripts that `make check` takes for each mode
# A writer of a reference table waits for a prepared transaction that wrote it, which its own session would have to end.
SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_prepared_transactions": "50",
            "citus.shard_count": "4", "lock_timeout": "10s", "statement_timeout": "60s", "citus.autoanalyze_naptime": "-1"}


def main():
    """Run; returns the exit status: 0 if all is as in the list, 1 if not, 2 when something is missing."""
    args = parser().parse_args()
    unwind_when_terminated()
    modes = ISOLATION_MODES if args.isolation else MODES
    lists = {name: Expected(LISTS / f"{name}.{full_version().partition('.')[0]}.txt", names)
             for name, names in (("isolation", ISOLATION_MODES), ("expected", LISTED), *((name, [name]) for name in ALONE))}
    used = {mode: lists["isolation" if args.isolation else mode if mode in ALONE else "expected"] for mode in args.tables or modes}
    if not args.tables and not args.update:
        used = {mode: expected for mode, expected in used.items() if expected.version is not None} or used
    version = next(iter(used.values())).version
    try:
        folder = regression_folder(args.source, None if args.update else version, args.update)
        passed, failures = 0, []
        for mode in args.tables or sorted(part_of(dict.fromkeys(used, 1)), key=modes.index):
            expected = used[mode]
            if args.isolation:
                specs = isolation_folder(folder)
                good, bad = run_isolation(mode, specs, isolation_specs(specs, args.tests), expected, args)
            else:
                good, bad = run_mode(mode, folder, tests_of(args, mode, folder), expected, args)
            passed += good
            failures += bad
    except SourceMissing as missing:
        print(f"postgres: {missing}\n0 passed, 0 failed, 1 skipped", flush=True)
        return 0 if not args.tests else 2
    except ClusterError as error:
        print(f"postgres: {error}", file=sys.stderr)
        return 2
    for expected in set(used.values()) if args.update else ():
        expected.head = expected.head or [HEAD.format(full_version())]
        expected.write()
    print_failures(failures)
    print(f"counted: {'permutations of isolation specs' if args.isolation else 'statements of the regression suite'} of PostgreSQL "
          "whose answers are compared")
    print(f"{passed} passed, {len(failures)} failed", flush=True)
    return 1 if failures and not args.update else 0


def parser():
    """The options."""
    top = argparse.ArgumentParser(
        prog="test/postgres/run",
        description="Runs PostgreSQL's regression suite on a plain server and on a cluster whose tables are distributed "
                    "as they are made, and compares what differs with the list of the server's version.")
    top.add_argument("--source", metavar="DIR", help="PostgreSQL's source tree (that of Debian's source package, fetched once)")
    top.add_argument("--tables", choices=sorted(KINDS), action="append", help=f"what tables become ({', '.join(MODES)})")
    top.add_argument("--isolation", action="store_true", help="run the isolation specs, or those named, instead of the scripts")
    top.add_argument("--workers", type=int, default=1, metavar="N", help="number of workers (%(default)s)")
    top.add_argument("--initiator", choices=["coordinator", "worker"], default="coordinator",
                     help="the node that is asked (%(default)s)")
    top.add_argument("--show", action="store_true", help="show every difference, known or not")
    top.add_argument("--all", action="store_true", help="run all scripts, as with POMELO_CHECK_ALL=1")
    top.add_argument("--update", action="store_true", help="write what differs into the list")
    top.add_argument("--base-port", type=int, default=BASE_PORT)
    top.add_argument("tests", nargs="*", metavar="TEST", help="scripts, with those that they depend on (a sample)")
    return top


def tests_of(args, mode, folder):
    """The scripts to run for a mode, in order; each mode has a part of the sample."""
    names = schedule(folder)
    if args.tests:
        unknown = set(args.tests) - set(names)
        if unknown:
            raise ClusterError(f"no such script: {' '.join(sorted(unknown))}")
        return with_needed(folder, args.tests)
    names = ONLY.get(mode, names)
    chosen = names if args.all or args.update else sample(names, 1 if mode in ONLY else SAMPLE * len(MODES) // SHARE)
    if len(chosen) < len(names) and mode not in ONLY:
        chosen = chosen[MODES.index(mode)::len(MODES)] if mode in MODES else chosen[::len(MODES)]
    print(f"postgres: {mode}: " + told("scripts", len(chosen), len(names)), flush=True)
    return with_needed(folder, chosen)


def run_mode(mode, folder, tests, expected, args):
    """Runs the scripts with tables of one kind; returns the number of statements as expected, and the failures."""
    with Cluster.temporary("regression-plain", args.base_port, 1, settings=SETTINGS, workers=0, kind="plain") as plain, \
            Cluster.temporary("regression", args.base_port, settings=SETTINGS, workers=args.workers) as cluster:
        initiator = cluster.workers[0] if args.initiator == "worker" and cluster.workers else cluster.coordinator
        runner = Runner(folder, plain.coordinator, cluster, initiator, mode, expected)
        found, statements, failures = set(), 0, []
        for test in tests:
            result = runner.run(test)
            statements += result.compared
            for text, statement, what in result.differences:
                found.add(text)
                failure = difference_failure(mode, test, text, statement, what)
                if text not in expected.entries[mode]:
                    failures.append(failure)
                if args.show:
                    print("\n".join(failure.show(60)), flush=True)
        failures += crashes(cluster)
    for text in expected.vanished(mode, tests, found):
        print(f"postgres: {mode}: no longer differs: {text}")
    if args.update:
        expected.update(mode, tests, found, set(tests) == set(schedule(folder)))
    print(f"postgres: {mode}: {statements} statements in {len(tests)} scripts, {len(found)} kinds of differences", flush=True)
    return statements - len(failures), failures


def difference_failure(mode, test, text, statement, what):
    """A difference as tools/check shows it."""
    prefix = f"{mode}: {test}: {what.kind}"
    return Failure(prefix, f"test/postgres/run --tables {mode} {script_of(text) or test}",
                   [f"entry: {text}", *what.detail.splitlines(), *statement.text.strip().splitlines()])
