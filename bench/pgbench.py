"""Runs pgbench for a few seconds against one side, through one or several of its servers."""

import itertools
import os
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from pomelo_cluster import host
from rounds import Sample

ALL_CPUS = os.sched_getaffinity(0)
WARM_UP = 1  # seconds
HERE = Path(__file__).resolve().parent
process_numbers = itertools.count(1)


@dataclass(frozen=True)
class Load:
    """How clients ask."""

    protocol: str  # simple, extended, prepared
    clients: int  # altogether
    entry: str  # coordinator, nodes, owner: see Side.entries

    def __str__(self):
        return f"{self.protocol}, {self.clients} client{'' if self.clients == 1 else 's'}, {ENTRIES[self.entry]}"


ENTRIES = {"coordinator": "by coordinator", "nodes": "by all nodes", "owner": "on the owner"}


def program():
    """pgbench of the server that PG_CONFIG names."""
    return str(Path(host.bin_dir(host.pg_config())) / "pgbench")


def measure(side, arguments, load, seconds):
    """Return a Sample of one run; a failed run ends the benchmark with pgbench's own words.

    The first WARM_UP seconds don't count: sessions connect to other nodes then, and prepare statements there.

    A single client shares one CPU with the servers: nothing runs in parallel then, and left alone, the
    scheduler's choice between one CPU and two makes the rate jump to double and back.

    A pooler's transactions get any of its sessions, so its clients parse their statements each time.
    """
    cpus = {min(ALL_CPUS)} if load.clients == 1 else ALL_CPUS
    side.run_on(cpus)
    if side.pooler and load.protocol == "prepared":
        load = replace(load, protocol="extended")
    running = start(side.entries(load.entry)[:load.clients], arguments, load, seconds, cpus)
    early = [first_progress(process) for process in running]
    before = side.cpu_seconds()
    outcomes = [outcome(process, warm, side) for process, warm in zip(running, early)]
    transactions = sum(done for done, _, _ in outcomes)
    return Sample(rate=sum(rate for _, rate, _ in outcomes), cpu=side.cpu_since(before, transactions),
                  failed=sum(failed for _, _, failed in outcomes))


def start(servers, arguments, load, seconds, cpus):
    """Start a pgbench for each of the servers, with its share of the clients."""
    running = []
    for number, dsn in enumerate(servers):
        clients = (load.clients + number) // len(servers)
        running.append(subprocess.Popen(
            [program(), "-n", "-M", load.protocol, "-c", str(clients), "-j", str(min(clients, 2)),
             "-T", str(WARM_UP + seconds), "-P", str(WARM_UP), "-D", f"process={next(process_numbers)}",
             *arguments, dsn],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus)))
    return running


def first_progress(process):
    """Wait for the end of a pgbench's warm-up; return (seconds, transactions) until then, and messages before it."""
    messages = ""
    for text in process.stderr:
        found = re.match(r"progress: ([0-9.]+) s, ([0-9.]+) tps", text)
        if found:
            seconds, rate = float(found.group(1)), float(found.group(2))
            return seconds, rate * seconds, messages
        messages += text
    return 0, 0, messages


def outcome(process, early, side):
    """Wait for a pgbench; return its transactions and its rate, both after the warm-up, and how many failed.

    Only serialization failures and deadlocks may fail.
    """
    output, errors = process.communicate()
    warm_seconds, warm_transactions, messages = early
    rate = re.search(r"^tps = ([0-9.]+)", output, re.M)
    count = re.search(r"transactions actually processed: (\d+)", output)
    if process.returncode != 0 or not rate or not count or int(count.group(1)) <= warm_transactions:
        raise RuntimeError(f"pgbench on {side.name} failed: {(messages + errors or output).strip()[-600:]}")
    seconds = int(count.group(1)) / float(rate.group(1))
    transactions = int(count.group(1)) - warm_transactions
    failed = re.search(r"failed transactions: (\d+)", output)
    return transactions, transactions / (seconds - warm_seconds), int(failed.group(1)) if failed else 0


def script(files, variables):
    """Arguments that run scripts of this folder. files: names, or (name, weight) pairs."""
    arguments = []
    for file in files:
        name, weight = (file, 1) if isinstance(file, str) else file
        arguments += ["-f", f"{HERE / 'scripts' / name}.sql@{weight}"]
    for name, value in variables.items():
        arguments += ["-D", f"{name}={value}"]
    return arguments
