"""Profiles the backends of one side with perf while pgbench runs, and prints where they spend their CPU time."""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psycopg

import servers  # first: it makes tools/ importable
import keyed
import pgbench
import tables
import ycsb
from sides import ROLES

SETTLE = 2  # seconds before the profile
FREQUENCY = 1999


def main():
    options = parse_options()
    check_perf()
    workload = {**keyed.ACCOUNTS, **ycsb.workloads()}[options.case]
    load = pgbench.Load(options.protocol, options.clients, "owner" if options.owner else options.entry)
    baselines = [options.side] if options.side in servers.BASELINES else []
    with servers.start("cluster", options.base_port, baselines) as sides:
        side = next(side for side in sides if side.name == options.side)
        for one in sides[:1] if side.form == "hop" else [side]:
            print(f"loading {options.rows:,} rows on {one.name}", flush=True)
            if options.case in keyed.ACCOUNTS:
                tables.create_accounts(one, options.rows, one_node=options.owner)
                variables = {"rows": options.rows, "branches": tables.branches_of(options.rows)}
            else:
                variables = ycsb.create(one, options.rows)
        arguments = keyed.arguments(side, workload, variables)
        print(f"{options.case}, {load}, {side.name}")
        for role, shares in profile(side, arguments, load, options.seconds).items():
            show(role, shares, options.top)
    return 0


def parse_options():
    parser = argparse.ArgumentParser(prog="bench/profile", description=__doc__)
    parser.add_argument("--case", choices=[*keyed.ACCOUNTS, *ycsb.workloads()], default="select", metavar="CASE",
                        help="a transaction of the groups keyed and ycsb (default %(default)s)")
    parser.add_argument("--side", choices=("plain", "cluster", *servers.BASELINES), default="cluster")
    parser.add_argument("--protocol", choices=keyed.PROTOCOLS, default="prepared")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--entry", choices=("coordinator", "nodes"), default="coordinator")
    parser.add_argument("--owner", action="store_true", help="all rows on one worker, which clients connect to")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--top", type=int, default=15, help="functions shown of each role (default %(default)s)")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    return parser.parse_args()


def check_perf():
    if shutil.which("perf") is None:
        raise servers.ClusterError("perf is missing: install the package linux-perf")


def profile(side, arguments, load, seconds):
    """Run pgbench and perf; return {role: Counter of (function, library) by CPU time}."""
    side.run_on(pgbench.ALL_CPUS)
    running = pgbench.start(side.entries(load.entry), arguments, load, SETTLE + seconds + 1, pgbench.ALL_CPUS)
    time.sleep(SETTLE)
    first, other = ROLES[side.form]
    found = {first: backends([side.dsn]), **({other: backends(side.others)} if other else {})}
    with tempfile.TemporaryDirectory() as folder:
        recording = {}
        for role, pids in found.items():
            if pids:
                data = f"{folder}/{role}"
                recording[role] = data, subprocess.Popen(
                    ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(FREQUENCY), "-o", data,
                     "-p", ",".join(map(str, pids)), "--", "sleep", str(seconds)],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        shares = {}
        for role, (data, perf) in recording.items():
            errors = perf.communicate()[1]
            if perf.returncode != 0:
                raise servers.ClusterError(f"perf failed: {errors.strip()}")
            shares[role] = read(data)
    for process in running:
        pgbench.outcome(process, (0, 0, ""), side)
    return shares


def backends(dsns):
    """Process ids of the backends that serve pgbench, or serve those that do."""
    found = []
    for dsn in dsns:
        with psycopg.connect(dsn) as connection:
            found += [pid for pid, in connection.execute("""
                SELECT pid FROM pg_stat_activity
                WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                  AND (application_name IN ('pgbench', 'bench_hop', 'postgres_fdw') OR application_name LIKE 'citus_internal%')""")]
    return found


def read(data):
    """The samples of a perf file: Counter of (function, library)."""
    listing = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym,dso"],
                             capture_output=True, text=True, check=True).stdout
    shares = Counter()
    for line in listing.splitlines():
        found = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
        if found:
            function, library = found.group(1), Path(found.group(2)).name
            library = "kernel" if library.startswith("[") else library
            shares[("(no name)" if function == "[unknown]" else function, library)] += 1
    return shares


def show(role, shares, top):
    total = sum(shares.values())
    libraries = Counter()
    for (_, library), samples in shares.items():
        libraries[library] += samples
    print(f"\n{role}: {total:,} samples; " + ", ".join(
        f"{library} {samples / total:.1%}" for library, samples in libraries.most_common(6)))
    for (function, library), samples in shares.most_common(top):
        print(f"  {samples / total:6.1%}  {function} ({library})")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except servers.ClusterError as error:
        sys.exit(f"profile: {error}")
