"""Runs pgbench for a few seconds against one side, through one or several of its servers."""

import itertools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rounds import Sample

ALL_CPUS = os.sched_getaffinity(0)
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
    config = os.environ.get("PG_CONFIG", "/usr/lib/postgresql/15/bin/pg_config")
    bindir = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    return str(Path(bindir) / "pgbench")


def measure(side, arguments, load, seconds):
    """Return a Sample of one run; a failed run ends the benchmark with pgbench's own words.

    A single client shares one CPU with the servers: nothing runs in parallel then, and left alone, the
    scheduler's choice between one CPU and two makes the rate jump to double and back.
    """
    cpus = {min(ALL_CPUS)} if load.clients == 1 else ALL_CPUS
    side.run_on(cpus)
    entries = side.entries(load.entry)[:load.clients]
    before = side.cpu_seconds()
    running = []
    for number, dsn in enumerate(entries):
        clients = (load.clients + number) // len(entries)
        threads = clients if len(entries) > 1 else min(clients, 2)
        running.append(subprocess.Popen(
            [program(), "-n", "-M", load.protocol, "-c", str(clients), "-j", str(min(threads, 2)), "-T", str(seconds),
             "-D", f"process={next(process_numbers)}", *arguments, dsn],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus)))
    outcomes = [outcome(process, side) for process in running]
    transactions = sum(done for done, _ in outcomes)
    return Sample(rate=sum(rate for _, rate in outcomes), cpu=side.cpu_since(before, transactions))


def outcome(process, side):
    """Wait for a pgbench; return (its transactions, its rate)."""
    output, errors = process.communicate()
    rate = re.search(r"^tps = ([0-9.]+)", output, re.M)
    count = re.search(r"transactions actually processed: (\d+)", output)
    if process.returncode != 0 or not rate or not count or int(count.group(1)) == 0:
        raise RuntimeError(f"pgbench on {side.name} failed: {(errors or output).strip()[-600:]}")
    return int(count.group(1)), float(rate.group(1))


def script(files, variables):
    """Arguments that run scripts of this folder. files: names, or (name, weight) pairs."""
    arguments = []
    for file in files:
        name, weight = (file, 1) if isinstance(file, str) else file
        arguments += ["-f", f"{HERE / 'scripts' / name}.sql@{weight}"]
    for name, value in variables.items():
        arguments += ["-D", f"{name}={value}"]
    return arguments
