"""What clusters of up to 1,000 nodes would do: a simulation from measured costs, and their check against small clusters here.

A statement is a sequence of phases: its coordinator sends a message to each of some nodes at once, these work, flush their log if
the phase says so, and answer. Nodes have cores, for which work waits in line; messages take the network's latency. Costs are CPU
milliseconds (`COSTS`), calibrated on clusters of 2 to 24 workers; a new session takes connections that others have left. `--check 8`
makes a cluster, and compares what the model says of it with its CPU time, by the kernel's nanosecond counters, and its messages, by
those of the sockets.
"""

import argparse
import heapq
import itertools
import random
import re
import statistics
import subprocess
import time
from dataclasses import dataclass, field

import psycopg

import nodes
import usage

MOVED_ROWS, ROW_SIZE = 200_000, 12          # of the join
ROWS_PER_TARGET, MIN_TARGETS = 50_000, 2    # src/executor/repartition_run.c
PASSED_SIZE = 64 * 1024                     # rows that a source leaves to the statement's server, src/exchange/exchange_relay.h
STATEMENTS, EVENTS = 10_000, 100_000        # simulated ones, at most; but two of each client
SAMPLES = 5                                 # of a measured statement

# CPU milliseconds, fitted to 2, 4 and 24 workers; DDL to ALTER TABLE .. ADD COLUMN of a new session
COSTS = {
    "routed": 0.06, "routed, node": 0.06,
    "write": 0.06, "write, node": 0.09,
    "two-phase": 0.07, "two-phase, phase": 0.06, "two-phase, node": 0.05,       # of five phases; two nodes
    "all": 0.12, "all, for each node": 0.055, "all, node": 0.06, "all, rows": 3.3,
    "session": 2.7, "taken connection, coordinator": 0.2, "taken connection, node": 0.74, "first of one shard": 1.65, "first of all shards": 3.2,
    "exchange, rows": 76.0, "exchange, target": 3.6, "exchange, node": 1.4, "exchange, connection": 0.6,
    "DDL": 9.8, "DDL, node": 0.9,
}


@dataclass
class Phase:
    """What a statement does at once: messages to some nodes."""
    targets: list
    coordinator: float      # CPU for each target
    node: float
    flush: bool = False


@dataclass
class Node:
    cores: int
    busy: float = 0.0
    free_at: list = field(default_factory=list)     # of each core

    def work(self, now, cost):
        """When work that arrives now is done."""
        if not self.free_at:
            self.free_at = [0.0] * self.cores
        start = max(now, heapq.heappop(self.free_at))
        heapq.heappush(self.free_at, start + cost)
        self.busy += cost
        return start + cost


def targets_of_join(n):
    return min(n, max(MIN_TARGETS, MOVED_ROWS // ROWS_PER_TARGET))


def phases(kind, workers, rng):
    """The coordinator's own work, and the phases of a statement."""
    c, n = COSTS, len(workers)
    if kind == "routed":
        return c["routed"], [Phase([rng.choice(workers)], 0, c["routed, node"])]
    if kind == "write":
        return c["write"], [Phase([rng.choice(workers)], 0, c["write, node"], True)]
    if kind == "two-phase":
        two = rng.sample(workers, 2)
        one = c["two-phase, phase"], c["two-phase, node"]
        return c["two-phase"], [Phase(two[:1], *one), Phase(two[1:], *one), Phase(two, one[0] / 2, one[1], True), Phase(two, one[0] / 2, one[1], True)]
    if kind == "all":
        return c["all"], [Phase(workers, c["all, for each node"], c["all, node"] + c["all, rows"] / n)]
    if kind == "all, new session":
        return c["session"] + c["first of all shards"], [Phase(workers, c["taken connection, coordinator"], c["taken connection, node"] + c["all, rows"] / n)]
    if kind == "routed, new session":
        return c["session"] + c["first of one shard"], \
            [Phase([rng.choice(workers)], c["taken connection, coordinator"], c["taken connection, node"])]
    if kind == "join, new session":
        sent = targets_of_join(n)
        connections = 0 if MOVED_ROWS * ROW_SIZE / n / sent < PASSED_SIZE else n * sent - sent
        rows = c["exchange, rows"] + c["exchange, target"] * sent + c["exchange, connection"] * connections
        return c["session"], [Phase(workers, c["taken connection, coordinator"], c["exchange, node"] + rows / n)]
    if kind == "DDL":
        return c["DDL"], [Phase(workers, 0.5, c["DDL, node"], True), Phase(workers, 0.2, 0.2, True)]
    raise ValueError(kind)


def predicted(kind, n):
    """CPU milliseconds and messages of one statement on n workers."""
    own, parts = phases(kind, list(range(n)), random.Random(1))
    cpu = own + sum(len(part.targets) * (part.coordinator + part.node) for part in parts)
    return cpu, sum(2 * len(part.targets) for part in parts)


class Simulation:
    """Discrete events: (when, number, what to go on with)."""

    def __init__(self):
        self.now, self.number, self.events = 0.0, 0, []

    def at(self, when, process):
        self.number += 1
        heapq.heappush(self.events, (when, self.number, process))

    def run(self, ended):
        """Goes on until ended(); a process yields when it is to go on, or None if another one sees to that."""
        while not ended():
            self.now, _, process = heapq.heappop(self.events)
            when = next(process, None)
            if when is not None:
                self.at(when, process)


def simulate(kind, n, clients, cores, latency, flush, everywhere):
    """Statements a second, their mean latency, and the share of time that coordinators and workers are busy."""
    rng, simulation = random.Random(n), Simulation()
    cluster = [Node(cores) for _ in range(n + 1)]
    workers = list(range(1, n + 1))
    took = []

    def message(part, target, client):
        yield simulation.now + latency
        yield cluster[target].work(simulation.now, part.node)
        yield simulation.now + latency + (flush if part.flush else 0)
        client["outstanding"] -= 1
        if client["outstanding"] == 0:
            simulation.at(simulation.now, client["process"])

    def session(client):
        coordinator = cluster[client["number"] % (n + 1) if everywhere else 0]
        while True:
            start = simulation.now
            own, parts = phases(kind, workers, rng)
            yield coordinator.work(simulation.now, own)
            for part in parts:
                client["outstanding"] = len(part.targets)
                for target in part.targets:
                    if part.coordinator:
                        yield coordinator.work(simulation.now, part.coordinator)
                    simulation.at(simulation.now, message(part, target, client))
                yield None
            took.append(simulation.now - start)

    for number in range(clients):
        client = {"number": number}
        client["process"] = session(client)
        simulation.at(0, client["process"])
    limit = max(2 * clients, min(STATEMENTS, EVENTS // predicted(kind, n)[1]))
    simulation.run(lambda: len(took) >= limit)
    load = [min(1.0, node.busy / simulation.now / cores) for node in cluster]
    return len(took) / simulation.now * 1000, sum(took) / len(took), load[0], max(load[1:])


def table(args):
    kinds = ["routed", "write", "two-phase", "all", "all, new session", "join, new session", "DDL"]
    print(f"{'statement':20}{'nodes':>6}{'clients':>9}{'per second':>12}{'ms':>9}{'coordinator':>13}{'workers':>9}")
    for kind in kinds:
        for n in args.nodes:
            clients = 1 if kind == "DDL" else 8 * n if kind in ("routed", "write", "two-phase") else min(n, 64)
            rate, latency, own, theirs = simulate(kind, n, clients, args.cores, args.latency, args.flush, args.everywhere)
            print(f"{kind:20}{n:6}{clients:9}{rate:12.0f}{latency:9.2f}{own * 100:12.0f}%{theirs * 100:8.0f}%")


def messages(made):
    """TCP segments with data that the open connections to workers have carried."""
    ports = {str(node.port) for node in made.workers}
    lines = subprocess.run(["ss", "-tinH", "state", "established"], capture_output=True, text=True, check=True).stdout.split("\n")
    return sum(int(number) for address, counters in zip(lines[::2], lines[1::2])
               if address.split()[-1].rpartition(":")[2] in ports
               for number in re.findall(r"data_segs_(?:out|in):(\d+)", counters))


def measured(n, port):
    """kind -> CPU milliseconds and messages of a statement, medians, on a cluster of n workers."""
    found = {}
    with nodes.Cluster.temporary(f"bench-scale{n}", port, workers=n,
                                 settings={**nodes.SETTINGS, "max_connections": "60", "fsync": "off"}) as made:
        nodes.load(made)
        settle(made)
        with nodes.connect(made.coordinator) as session:
            keys = nodes.keys_of_nodes(made)
            warm = {"routed": "SELECT filler FROM r WHERE id = 1", "all": "SELECT count(*) FROM r WHERE id < 0",
                    "write": "UPDATE r SET filler = filler WHERE id = 1",
                    "two-phase": "BEGIN; " + "".join(f"UPDATE r SET filler = filler WHERE id = {key}; " for key in keys) + "COMMIT"}
            for kind, statement in warm.items():
                found[kind] = repeat(made, lambda sql=statement: session.execute(sql), 40)
        for kind, statement, times in (("routed, new session", warm["routed"], 12), ("all, new session", warm["all"], 12),
                                       ("join, new session", nodes.JOIN, 3), ("DDL", "ALTER TABLE s ADD COLUMN c{} int", 3)):
            def in_session(sql=statement, number=itertools.count()):
                with nodes.connect(made.coordinator) as connection:
                    connection.execute(sql.format(next(number)))
            found[kind] = repeat(made, in_session, times)[0], 0
    return found


def settle(made):
    """Waits until the servers have done what loading tables has left to them."""
    for _ in range(60):
        before = usage.cpu(made)
        time.sleep(2)
        if usage.cpu(made) - before < 5 * len(made.nodes):
            return


def repeat(made, run, times):
    """CPU milliseconds and messages of a run, medians."""
    def work():
        for _ in range(times):
            run()

    for _ in range(2):
        run()
    samples = []
    for _ in range(SAMPLES):
        sent = messages(made)
        used, _ = usage.used_by(made, work, 0.3)
        samples.append((used / times, (messages(made) - sent) / times))
    return tuple(statistics.median(sample) for sample in zip(*samples))


def check(sizes, port):
    print(f"{'statement':22}{'workers':>8}{'CPU ms':>10}{'predicted':>11}{'messages':>10}{'predicted':>11}")
    for n in sizes:
        for kind, (cpu, sent) in measured(n, port).items():
            model, model_sent = predicted(kind, n)
            known = f"{sent:10.1f}{model_sent:11}" if sent else ""
            print(f"{kind:22}{n:8}{cpu:10.2f}{model:11.2f}{known}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[3, 6, 12, 24, 100, 300, 1000], metavar="WORKERS", help="simulated clusters' workers")
    parser.add_argument("--cores", type=int, default=16, help="of each server")
    parser.add_argument("--latency", type=float, default=0.1, help="of a message, milliseconds")
    parser.add_argument("--flush", type=float, default=0.5, help="of the log, milliseconds")
    parser.add_argument("--everywhere", action="store_true", help="clients connect to all nodes, not only to the coordinator")
    parser.add_argument("--check", type=int, nargs="+", default=[], metavar="WORKERS", help="make clusters of so many workers and compare")
    parser.add_argument("--port", type=int, default=nodes.FIRST_PORT)
    args = parser.parse_args()
    if args.check:
        check(args.check, args.port)
    else:
        table(args)


if __name__ == "__main__":
    main()
