"""PostgreSQL's isolation specs on both servers: what concurrent sessions see, and where they wait.

A spec's tables are distributed as they are made, as those of the scripts are. Its output is compared by permutation: rows without their
order, and errors with their text. Notices aren't compared: functions in conditions give them, as often as a plan calls them; nor are plans.
"""

import difflib
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

from pomelo_check.failures import Failure, crashes
from pomelo_cluster import Cluster, ClusterError
from pomelo_cluster.host import clean_env

from .distribute import local_tables, referenced_tables, set_up
from .expected import checksum
from .source import config

__all__ = ["ISOLATION_MODES", "isolation_specs", "run_isolation"]

ISOLATION_MODES = ["hash"]
DATABASE = "isolation_regression"
AREA = Path(__file__).resolve().parents[2] / "isolation"
SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_prepared_transactions": "50",
            "citus.shard_count": "4", "citus.autoanalyze_naptime": "-1", "citus.serializable_over_nodes": "off"}
# Seconds after which a step that hangs is cancelled.
PATIENCE = 40

# Why a spec isn't run: what it is about has nothing to do with tables, or not with several nodes.
LEFT_OUT = {
    "about the server's own insides": """vacuum-conflict vacuum-no-cleanup-lock vacuum-skip-locked vacuum-concurrent-drop horizons stats
        truncate-conflict create-trigger lock-committed-update lock-committed-keyupdate tuplelock-movedto""",
    "about temporary tables, notifications or time limits": "temp-schema-cleanup async-notify timeouts timeouts-long",
    "reindexes and partitions concurrently, which README's limits describe": """reindex-concurrently reindex-concurrently-toast reindex-schema
        multiple-cic index-only-scan detach-partition-concurrently-1 detach-partition-concurrently-2 detach-partition-concurrently-3
        detach-partition-concurrently-4 partition-concurrent-attach cluster-conflict cluster-conflict-partition cluster-toast-vacuum-conflict""",
    "some hundred permutations, for minutes": "prepared-transactions prepared-transactions-cic two-ids total-cash receipt-report",
    "inheritance": "inherit-temp alter-table-4 aborted-keyrevoke",
    "about plans, parallel workers or locks of catalogs, in an order that isn't determined": """deadlock-parallel intra-grant-inplace
        intra-grant-inplace-db inplace-inval serializable-parallel serializable-parallel-2 serializable-parallel-3
        partition-drop-index-locking""",
    "conflicts of SERIALIZABLE transactions by pages of indexes, of which each shard has its own": "predicate-hash predicate-gist predicate-gin",
}


def isolation_specs(folder, chosen):
    """Names of the specs to run, of those in the folder of PostgreSQL's isolation tests."""
    lines = (folder / "isolation_schedule").read_text().splitlines()
    names = [name for line in lines if line.startswith("test:") for name in line.split()[1:]]
    unknown = set(chosen) - set(names)
    if unknown:
        raise ClusterError(f"no such spec: {' '.join(sorted(unknown))}")
    left_out = {name for text in LEFT_OUT.values() for name in text.split()}
    return [name for name in names if name in chosen or (not chosen and name not in left_out)]


def run_isolation(mode, folder, specs, expected, args):
    """Runs specs with tables of one kind; returns the number of permutations as expected, and the failures."""
    with Cluster.temporary("isolation-plain", args.base_port, 1, settings=SETTINGS, workers=0, kind="plain") as plain, \
            Cluster.temporary("isolation-specs", args.base_port, settings=SETTINGS, workers=args.workers) as cluster:
        plain.coordinator.sql(f"CREATE DATABASE {DATABASE} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        set_up(cluster, cluster.coordinator, DATABASE, mode)
        cluster.coordinator.sql((AREA / "setup.sql").read_text(), dbname=DATABASE)
        found, permutations, failures = set(), 0, []
        for spec in specs:
            text = (folder / "specs" / f"{spec}.spec").read_text()
            answers = [output(node, text) for node in (plain.coordinator, cluster.coordinator)]
            permutations += len(answers[0])
            lines = different_lines(*answers)
            if not lines:
                continue
            entry = f"{spec} | {checksum(chr(10).join(sorted(set(lines))))} | {lines[0][:80].rstrip().replace('|', '!')}"
            found.add(entry)
            failure = Failure(f"{mode}: {spec}: permutations differ", f"test/postgres/run --isolation --tables {mode} {spec}",
                              [f"entry: {entry}", *lines])
            if entry not in expected.entries[mode]:
                failures.append(failure)
            if args.show:
                print("\n".join(failure.show(200)), flush=True)
        failures += crashes(cluster)
    for text in expected.vanished(mode, specs, found):
        print(f"postgres: {mode}: no longer differs: {text}")
    if args.update:
        expected.update(mode, specs, found, False)
    print(f"postgres: {mode}: {permutations} permutations in {len(specs)} specs, {len(found)} specs differ", flush=True)
    return permutations - len(failures), failures


def output(node, text):
    """What isolationtester prints for a spec: the output of each permutation, in order."""
    tables = [SimpleNamespace(code=text)]
    options = f"-c regression.local={','.join(local_tables(tables))} -c regression.referenced={','.join(referenced_tables(tables))}"
    env = clean_env() | {"PGHOST": "127.0.0.1", "PGPORT": str(node.port), "PGUSER": "postgres", "PGTZ": "America/Los_Angeles",
                         "PGDATESTYLE": "Postgres, MDY", "PGISOLATIONTIMEOUT": str(PATIENCE), "PGOPTIONS": options,
                         "PG_TEST_TIMEOUT_DEFAULT": str(PATIENCE // 2)}     # since 16; isolationtester doubles it
    tester = Path(config("--pgxs")).parents[1] / "test/isolation/isolationtester"
    done = subprocess.run([os.fspath(tester), f"dbname={DATABASE}"], env=env, input=text, capture_output=True, text=True, check=False)
    return [sorted_rows(part) for part in re.split(r"(?m)^(?=starting permutation: )", done.stdout + done.stderr)]


def sorted_rows(text):
    """The lines, those of each table of rows in their order by text."""
    lines, table, is_plan = [], None, False
    for line in text.splitlines():
        if re.match(r"\w+: NOTICE:  ", line):
            continue
        if re.fullmatch(r"-[-+]*", line):
            is_plan = bool(lines) and lines[-1].strip() == "QUERY PLAN"
            table = []
            lines.append("-" if is_plan else line)
        elif table is not None and re.fullmatch(r"\(\d+ rows?\)", line):
            lines += [] if is_plan else [*sorted(table), line]
            table = None
        elif table is not None:
            table.append(line)
        else:
            lines.append(line.strip() if line.strip() == "QUERY PLAN" else line.rstrip())
    return lines + (table or [])


def different_lines(plain, cluster):
    """The lines that differ, each permutation's below its name."""
    result = []
    for number, expected in enumerate(plain):
        actual = cluster[number] if number < len(cluster) else []
        lines = [line for line in difflib.unified_diff(expected, actual, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))]
        if lines:
            result += [*([expected[0]] if expected else []), *lines]
    return result
