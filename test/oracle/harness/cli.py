"""The command line of test/oracle/run."""

import argparse
import glob
import os
import sys
import time
from collections import Counter
from dataclasses import replace

import psycopg

from pomelo_check import unwind_when_terminated
from pomelo_check.failures import crashes, print_failures
from pomelo_check.sample import SEED, SHARE, sample, share_of, told
from pomelo_cluster import Cluster, ClusterError

from .disturb import KINDS
from .generate import PREFIX
from .runner import Run, Servers, run_script
from .script import ScriptError, load, read

HERE = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
SCRIPTS = os.path.join(HERE, "scripts")
BASE_PORT = 20600
RANDOM_COUNT = 500
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
        "max_wal_size": "2GB", "checkpoint_timeout": "1h", "max_prepared_transactions": "400",
        "citus.autoanalyze_naptime": "-1", "columnar.row_wise_limit": "0"}

# Every initiator and protocol, then each rung switched off, then disturbed ones. `make check` takes the first and some
# others, `make check-all` all of them.
RUNGS = ["citus.enable_fast_path_router_planner", "citus.enable_router_execution"]
NODES = ["citus.enable_query_pushdown", "citus.enable_broadcast_joins", "citus.enable_repartition_joins", "citus.enable_node_tasks"]
RUNS = [
    Run("coordinator", "simple"),
    Run("worker", "simple"),
    Run("coordinator", "prepared"),
    Run("worker", "prepared"),
    Run("coordinator", "simple", dict.fromkeys(RUNGS, "off") | {"citus.insert_stream_threshold": "0", "geqo_threshold": "2"}),
    Run("worker", "simple", dict.fromkeys(RUNGS + NODES, "off") | {"citus.insert_stream_threshold": "0"}),
    Run("coordinator", "prepared", disturb="settings"),
    Run("worker", "prepared", disturb="role"),
    Run("gateway", "simple"),
    Run("gateway", "prepared"),
    Run("worker", "simple", disturb="moves"),
    Run("worker", "simple", apart=True),
    Run("coordinator", "simple", columnar=True),
]
SAMPLE = 3


def main(argv=None):
    """Runs the scripts; returns the exit status."""
    args = parser().parse_args(argv)
    unwind_when_terminated()
    try:
        paths = find_scripts(args.scripts)
        if args.show:
            print("\n".join(map(read, paths)))
            return 0
        scripts = [load(path) for path in paths]
    except (ScriptError, OSError) as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 2
    if args.count:
        return count(scripts)
    runs = choose_runs(args)
    try:
        with_servers = given_servers if args.node else own_servers
        return with_servers(args, lambda servers: run_all(scripts, runs, servers, args), runs)
    except ClusterError as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 2


def parser():
    top = argparse.ArgumentParser(
        prog="test/oracle/run",
        description="Runs SQL scripts on a plain server and on a cluster, and compares.")
    top.add_argument("scripts", nargs="*", metavar="SCRIPT",
                     help="a script's name or path, or random:SEED[:COUNT] (all of test/oracle/scripts, "
                          f"and {RANDOM_COUNT} random statements of a new seed)")
    top.add_argument("--initiator", choices=["coordinator", "worker", "gateway"], action="append",
                     help="which node is asked; gateway: the coordinator through its gateway")
    top.add_argument("--protocol", choices=["simple", "prepared"], action="append")
    top.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE",
                     help="a setting for the queries of each run; may be repeated")
    top.add_argument("--vary", action="append", default=[], metavar="K=V[,K=V...]",
                     help="one more run with these settings; may be repeated")
    top.add_argument("--disturb", choices=[*KINDS, "all"],
                     help="make something happen before each execution that must not change it")
    top.add_argument("--columnar", action="store_true", help="the cluster's tables are columnar")
    top.add_argument("--apart", action="store_true",
                     help="tables are distributed by columns outside of their keys, and none colocated: their keys are global")
    top.add_argument("--max-failures", type=int, default=20, metavar="N",
                     help="show N mismatches in detail (%(default)s; 0: all)")
    top.add_argument("--messages", action="store_true",
                     help="also show errors of the same class with another wording")
    top.add_argument("--errors", action="store_true",
                     help="also list the statements that fail on both sides, as they should")
    top.add_argument("--limit", type=int, default=60, metavar="SECONDS",
                     help="cancel a statement after that long (%(default)s)")
    top.add_argument("--count", action="store_true", help="only count the statements")
    top.add_argument("--show", action="store_true", help="only print the scripts, as for random ones")
    top.add_argument("--keep", action="store_true", help="leave the servers running")
    top.add_argument("--plain", metavar="DSN", help="use this plain server")
    top.add_argument("--node", action="append", metavar="DSN",
                     help="use this cluster: the coordinator, then a worker")
    top.add_argument("--gateway", action="store_true", help="ask the coordinator through its gateway in every run")
    top.add_argument("--base-port", type=int, default=BASE_PORT)
    return top


def find_scripts(names):
    if not names:
        written = sorted(glob.glob(os.path.join(SCRIPTS, "*.sql")))
        if SHARE > 1:
            return share_of(written)
        made = f"{PREFIX}{SEED}:{RANDOM_COUNT}"
        print(f"oracle: random statements: {made}", flush=True)
        return written + [made]
    found = []
    for name in names:
        path = name if os.path.exists(name) or name.startswith(PREFIX) else os.path.join(
            SCRIPTS, os.path.basename(name).removesuffix(".sql") + ".sql")
        found.append(path)
    return found


def choose_runs(args):
    """The runs that the options ask for; without options, a sample of the list, or all of it."""
    settings = dict(pair.split("=", 1) for pair in args.settings)
    if not (args.initiator or args.protocol or settings or args.vary or args.disturb or args.columnar or args.apart):
        runs = sample(RUNS, 1) if SHARE > 1 else RUNS[:1] + sample(RUNS[1:], SAMPLE - 1)
        print("oracle: " + told("modes", len(runs), len(RUNS)), flush=True)
        return runs
    runs = [Run(i, p, dict(settings), args.disturb, args.columnar, args.apart) for p in args.protocol or ["simple"]
            for i in args.initiator or ["coordinator"]]
    for text in args.vary:
        more = dict(pair.split("=", 1) for pair in text.split(","))
        runs += [replace(runs[0], settings={**settings, **more})]
    return runs


def count(scripts):
    total = 0
    for script in scripts:
        total += len(script.queries)
        print(f"{len(script.queries):5} {script.name}")
    print(f"{total:5} statements after their setups")
    return 0


def given_servers(args, action, _runs):
    return action(Servers(args.plain or args.node[0], args.node))


def own_servers(args, action, runs):
    """Starts a plain server and a cluster for the duration of the action."""
    with Cluster.temporary("check-oracle-plain", args.base_port, 1, keep=args.keep,
                           settings=FAST, workers=0, kind="plain") as plain, \
            Cluster.temporary("check-oracle", args.base_port, keep=args.keep,
                              settings=FAST) as cluster:
        nodes = [node.dsn for node in cluster.nodes]
        gateway = None
        if args.gateway or any(run.initiator == "gateway" for run in runs):
            gateway = f"postgresql://postgres@127.0.0.1:{cluster.coordinator.start_gateway()}/postgres"
        if args.gateway:
            nodes[0] = gateway
        servers = Servers(plain.nodes[0].dsn, nodes, gateway=gateway, cluster=cluster)
        if args.keep:
            print(f"oracle: clusters {plain.name} and {cluster.name} will be left running")
        return action(servers)


def lacks(script, run, version):
    """What the script or statement needs, and a run does not have, on servers of that version (150012)."""
    return [need for need in script.needs
            if (int(need) > version // 10000 if need.isdigit() else run.columnar if need == "heap" else run.apart if need == "colocation"
                else run.settings.get(need) == "off")]


def run_all(scripts, runs, servers, args):
    """All scripts in all runs, with a report; returns the exit status."""
    passed, limits, failures, messages, seconds = 0, 0, [], [], Counter()
    with psycopg.connect(servers.plain) as connection:
        version = connection.info.server_version
    for run in runs:
        started = time.monotonic()
        bad = good = moved = retried = 0
        left_out = [script for script in scripts if lacks(script, run, version)]
        for script in (script for script in scripts if script not in left_out):
            statements = [statement for statement in script.statements if not lacks(statement, run, version)]
            result = run_script(replace(script, statements=statements), run, servers, args.limit)
            good += result.passed
            limits += result.limits
            moved += result.moved
            retried += result.retried
            seconds[script.name] += result.seconds
            bad += len(result.failures)
            report(result, failures, args)
            if args.errors:
                list_errors(result)
            failures += result.failures
            messages += result.messages
        passed += good
        print(f"{str(run):60} {good} passed, {bad} failed, "
              f"{time.monotonic() - started:.1f} s" + (f", {moved} shards moved, {retried} statements failed for it" if moved else "")
              + "".join(f", {script.name} needs {' '.join(lacks(script, run, version))}" for script in left_out), flush=True)
    if args.messages:
        for failure in messages:
            print("\n".join(failure.show(alone(failure))))
    elif messages:
        print(f"{len(messages)} errors agree in class but not in wording (--messages)")
    if len(scripts) > 1:
        slow = ", ".join(f"{name} {spent:.1f} s" for name, spent in seconds.most_common(5))
        print(f"slowest: {slow}")
    if limits:
        print(f"{limits} refused on the cluster, a known limit (\"cluster fails\" in the scripts)")
    closing = [failure.closing(alone(failure)) for failure in failures]
    closing += crashes(servers.cluster) if servers.cluster else []
    print_failures(closing)
    print(f"counted: {sum(len(script.queries) for script in scripts)} statements, once for each of "
          f"{len(runs)} modes that their script runs in")
    print(f"{passed} passed, {len(closing)} failed")
    return 1 if closing or not passed else 0


def report(result, before, args):
    """Prints the mismatches of one script, in detail for the first ones only."""
    if result.failures:
        print(f"{result.script.name} ({result.run}): {result.passed} passed, "
              f"{len(result.failures)} failed")
    for number, failure in enumerate(result.failures, len(before)):
        if args.max_failures == 0 or number < args.max_failures:
            print("\n".join(failure.show(alone(failure))))
        else:
            print(f"{failure.statement.place}: {failure.reason}")
    sys.stdout.flush()


def list_errors(result):
    for error in result.errors:
        print(f"{error.statement.place}: {error.plain[0]}")


def alone(failure):
    name = os.path.splitext(os.path.basename(failure.statement.script))[0]
    return f"test/oracle/run {failure.run.options()} {name}"
