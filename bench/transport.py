"""Connections between nodes: each by itself (citus.transport = direct), or all over one (multiplexed)."""

import time

import psycopg

import hop
import pgbench
import tables
from keyed import Workload, loads
from rounds import Result, Sample, interleave

WIDE = ("CREATE TABLE bench_wide (id integer, text text)",)
MEGABYTE = b"".join(b"%d\t%s\n" % (number, b"x" * 1018) for number in range(1000, 2000))
ROWS_A_MEGABYTE = 1000
PINGS = Workload(("select",), clients=(1, 8, 64), quick=(("prepared", 1), ("prepared", 64)))
AGGREGATES = Workload(("aggregate",), clients=(1, 8), quick=(("prepared", 8),))


def transport(sides, plan, say):
    """Ratios are to `direct`: a row by key (`hop`: libpq from one server to another), sums over all shards, COPY both ways."""
    accounts = min(plan.rows, 200_000)
    bulk = [side for side in sides if side.form != "hop"]
    for side in sides[0], next(side for side in sides if side.form == "plain"):
        say(f"  loading {accounts:,} accounts on {side.name}")
        tables.create_accounts(side, accounts)
        tables.create(side, WIDE, (("bench_wide", "id"),))
    yield from statements("ping", PINGS, sides, plan, accounts)
    yield from statements("aggregate", AGGREGATES, bulk, plan, accounts)
    megabytes = plan.rows // 2000
    for name, function in (("copy in", copy_in), ("copy out", copy_out)):
        if not plan.scripts or name.split()[0] in plan.scripts:
            result = Result("transport", f"{name}: {megabytes:,} MB, rows of 1 KB", sides[0].name, unit="MB/s")
            yield interleave(result, bulk, plan.copy_rounds, lambda side, run=function: measure(side, run, megabytes))


def choose(side):
    """Has the coordinator's new connections take the side's way."""
    if side.gateways is None:
        return
    with side.connect() as connection:
        connection.execute("DELETE FROM pg_dist_poolinfo")
        for port, gateway in side.gateways.items():
            connection.execute("INSERT INTO pg_dist_poolinfo SELECT nodeid, %s FROM pg_dist_node WHERE nodeport = %s",
                               (f"host=127.0.0.1 port={gateway}", port))


def statements(name, workload, sides, plan, rows):
    """What pgbench's clients repeat."""
    if plan.scripts and name not in plan.scripts:
        return
    for load in loads(workload, plan, ("coordinator",)):
        if load.protocol == "prepared" or plan.protocols:
            yield interleave(Result("transport", f"{name}, {load}", sides[0].name), sides, plan.rounds,
                             lambda side, load=load: ask(side, workload, load, plan.seconds, rows))


def ask(side, workload, load, seconds, rows):
    choose(side)
    if side.form == "hop":
        arguments = pgbench.script(("hop",), {"rows": rows, **hop.variables(side)})
    else:
        arguments = pgbench.script(workload.scripts, {"rows": rows})
    return pgbench.measure(side, arguments, load, seconds)


def measure(side, run, megabytes):
    """Rate and CPU time, a megabyte, of one COPY."""
    choose(side)
    side.run_on(pgbench.ALL_CPUS)
    with side.connect() as connection:
        prepare(connection, run, megabytes)
        before = side.cpu_seconds()
        started = time.monotonic()
        run(connection, megabytes)
        seconds = time.monotonic() - started
    return Sample(rate=megabytes / seconds, cpu=side.cpu_since(before, megabytes))


def prepare(connection, run, megabytes):
    found = connection.execute("SELECT count(*) FROM bench_wide").fetchone()[0]
    if run is copy_in or found != megabytes * ROWS_A_MEGABYTE:
        connection.execute("TRUNCATE bench_wide")
        if run is copy_out:
            copy_in(connection, megabytes)


def copy_in(connection, megabytes):
    with connection.cursor() as cursor, cursor.copy("COPY bench_wide FROM STDIN") as stream:
        for _ in range(megabytes):
            stream.write(MEGABYTE)


def copy_out(connection, megabytes):
    with connection.cursor() as cursor, cursor.copy("COPY bench_wide TO STDOUT") as stream:
        taken = sum(len(block) for block in stream)
    if taken != megabytes * len(MEGABYTE):
        raise psycopg.DataError(f"{taken} bytes came back")
