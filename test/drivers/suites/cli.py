"""The command line: each suite on each kind of server, and what differs from the committed lists."""

import argparse
import sys
from pathlib import Path

from pomelo_check import unwind_when_terminated
from pomelo_check.failures import Failure, print_failures
from pomelo_cluster import ClusterError
from pomelo_cluster.host import state_dir

from .expected import Expected
from .go import PGX
from .outcomes import PASSED, differences
from .python import ASYNCPG, PSYCOPG, PSYCOPG2
from .source import SuiteMissing
from .targets import PLAIN, TARGETS, server

SUITES = {suite.name: suite for suite in (ASYNCPG, PSYCOPG, PSYCOPG2, PGX)}
LISTS = Path(__file__).parent.parent / "expected"


def main():
    """Run; returns the exit status: 0 if all is as in the lists, 1 if not, 2 when something is missing."""
    args = parser().parse_args()
    unwind_when_terminated()
    place = Path(state_dir()) / "drivers"
    place.mkdir(exist_ok=True)
    passed, failures, skipped = 0, [], 0
    for name in args.suites or SUITES:
        try:
            SUITES[name].prepare(place)
            good, bad = run_suite(SUITES[name], args)
        except SuiteMissing as missing:
            print(f"drivers: {name}: {missing}", flush=True)
            skipped += 1
            continue
        except ClusterError as error:
            print(f"drivers: {error}", file=sys.stderr)
            return 2
        passed += good
        failures += bad
    print_failures(failures)
    print("counted: tests of drivers' suites that pass on a plain server, on each other kind")
    print(f"{passed} passed, {len(failures)} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failures and not args.update else 0


def parser():
    """The options."""
    top = argparse.ArgumentParser(
        prog="test/drivers/run",
        description="Runs the test suites that drivers publish on a plain server, on a coordinator and through its gateway, and "
                    "compares what differs with the lists in expected/.")
    top.add_argument("suites", nargs="*", metavar="SUITE", help=f"which ({', '.join(SUITES)}; all)")
    top.add_argument("--target", choices=TARGETS, action="append", help="compare the plain server with this only")
    top.add_argument("--only", metavar="TEST", action="append", help="this test of the suite alone")
    top.add_argument("--update", action="store_true", help="write what differs into the lists")
    return top


def run_suite(suite, args):
    """Runs one suite; returns how many tests passed where they should, and the failures."""
    expected = Expected(LISTS / f"{suite.name}.txt", f"{suite.name} {suite.version}")
    with server(PLAIN, suite.setup) as plain:
        base = suite.run(plain, args.only)
    report(suite, PLAIN, base)
    if not any(outcome.kind == PASSED for outcome in base.values()):
        lines = [line for outcome in base.values() for line in outcome.detail.splitlines()]
        return 0, [Failure(f"{suite.name}: no test passes on a plain server", f"test/drivers/run {suite.name}", lines)]
    passed, failures = 0, []
    for target in args.target or TARGETS:
        with server(target, suite.setup) as reached:
            found = suite.run(reached, args.only)
            report(suite, target, found)
            differing = differences(base, found)
            doubtful = sorted(set(differing) - expected.entries[target])
            if doubtful and not args.only:
                print(f"drivers: {suite.name}: {target}: once more: {', '.join(doubtful)}", flush=True)
                found.update(suite.run(reached, doubtful))
                differing = differences(base, found)
            passed += sum(found[test].kind == PASSED for test in base if test in found and base[test].kind == PASSED)
            crash = reached.crashes()
        failures += [failure_of(suite, target, test, differing[test])
                     for test in sorted(set(differing) - expected.entries[target])]
        failures += [Failure(f"{suite.name}: {target}: {test} passes, but is in the list", f"test/drivers/run {suite.name} --target "
                             f"{target} --only '{test}'")
                     for test in sorted(expected.always(target)) if test in found and found[test].kind == PASSED]
        failures += crash
        if args.update and not args.only:
            expected.update(target, set(differing))
    if args.update and not args.only:
        expected.write()
    return passed, failures


def report(suite, target, found):
    """A line about a run."""
    counts = {}
    for outcome in found.values():
        counts[outcome.kind] = counts.get(outcome.kind, 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"drivers: {suite.name} {suite.version}: {target}: {told}", flush=True)


def failure_of(suite, target, test, outcome):
    """A difference as tools/check shows it."""
    return Failure(f"{suite.name}: {target}: {test}", f"test/drivers/run {suite.name} --target {target} --only '{test}'",
                   [outcome.kind, *outcome.detail.splitlines()[-8:]])
