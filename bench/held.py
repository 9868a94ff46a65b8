"""Connections held open by many clients, most of them idle: memory of each, connections between nodes, release."""

import random
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg

import pgbench
import tables
from pgbench import Load
from rounds import Figures, Result, interleave

CLIENTS = 200
BUSY = 8  # of them
ROWS = 100_000
LIFETIME = 3  # seconds, of cached connections where their release is watched


def held(sides, plan, say):
    """200 open client connections: memory of an idle one, connections on each worker, rate of the 8 busy ones."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides:
        tables.create_accounts(side, ROWS)
    cluster = next(side for side in sides if side.form == "cluster")
    with ExitStack() as stack:
        idle = {side.name: [open_session(stack, side, number) for number in range(CLIENTS - BUSY)] for side in sides}
        yield memory(sides, idle)
        yield connections(cluster, idle[cluster.name])
        load = Load("prepared", BUSY, "coordinator")
        result = Result("held", f"select, {load}, {CLIENTS - BUSY} idle", sides[0].name)
        yield interleave(result, sides, plan.rounds, lambda side: pgbench.measure(
            side, pgbench.script(("select",), {"rows": ROWS}), load, plan.seconds))
    yield release(cluster)


def open_session(stack, side, number, options=""):
    """A client that has read and written a few rows and then falls idle."""
    session = stack.enter_context(psycopg.connect(side.dsn, autocommit=True, options=options))
    chance = random.Random(number)
    for _ in range(20):
        session.execute("SELECT abalance FROM bench_accounts WHERE aid = %s", (chance.randint(1, ROWS),), prepare=True)
    session.execute("UPDATE bench_accounts SET abalance = 1 WHERE aid = %s", (number + 1,), prepare=True)
    return session


def memory(sides, idle):
    """Proportional and private memory of the backends that serve idle clients, and of those behind them."""
    figures = Figures("held", "memory of an idle connection", unit="KiB")
    for side in sides:
        for measure in ("Pss", "Private"):
            figures.values[f"{side.name} {measure}"] = statistics.median(
                kib(session.info.backend_pid, measure) for session in idle[side.name])
        behind = [pid for dsn in side.others for pid in internal_processes(dsn)]
        if behind:
            figures.values["worker's connection Pss"] = statistics.median(kib(pid, "Pss") for pid in behind)
    figures.values["cluster - plain Pss"] = figures.values["cluster Pss"] - figures.values["plain Pss"]
    return figures


def kib(pid, measure):
    """A process's memory: "Pss", shared pages divided by their users, or "Private", pages of its own."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.split("_")[0].split(":")[0] == measure)


def connections(cluster, idle):
    """How many connections each worker has from other nodes, and how many one client holds there at most."""
    figures = Figures("held", f"connections behind {len(idle)} idle clients")
    for number, dsn in enumerate(cluster.others, 1):
        clients = list(internal_processes(dsn).values())
        figures.values[f"worker{number}"] = len(clients)
        figures.values[f"worker{number} most of one client"] = max(clients.count(client) for client in set(clients))
    return figures


def internal_processes(dsn):
    """On a worker, the backends that serve other nodes' clients: {process id: the client's session}."""
    with psycopg.connect(dsn) as connection:
        return dict(connection.execute("""
            SELECT pid, application_name FROM pg_stat_activity
            WHERE application_name LIKE 'citus_internal gpid=%' AND backend_type = 'client backend'"""))


def release(cluster):
    """How long idle clients hold connections to workers whose lifetime is over."""
    figures = Figures("held", f"release by idle clients, lifetime {LIFETIME} s")

    def count():
        return sum(len(internal_processes(dsn)) for dsn in cluster.others)

    with ExitStack() as stack:
        started = time.monotonic()
        before = count()
        for number in range(BUSY):
            open_session(stack, cluster, number, f"-c citus.max_cached_connection_lifetime={LIFETIME}s")
        figures.values["held at first"] = count() - before
        while count() > before and time.monotonic() - started < LIFETIME * 5:
            time.sleep(0.1)
        figures.values["held at last"] = count() - before
        figures.values["seconds"] = round(time.monotonic() - started, 1)
    return figures
