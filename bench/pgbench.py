"""Runs pgbench for a few seconds against one side."""

import os
import re
import subprocess
from pathlib import Path

from rounds import Sample

ALL_CPUS = os.sched_getaffinity(0)
HERE = Path(__file__).resolve().parent


def program():
    """pgbench of the server that PG_CONFIG names."""
    config = os.environ.get("PG_CONFIG", "/usr/lib/postgresql/15/bin/pg_config")
    bindir = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    return str(Path(bindir) / "pgbench")


def measure(side, arguments, protocol, clients, seconds):
    """Return a Sample of one run; a failed run ends the benchmark with pgbench's own words.

    A single client shares one CPU with the servers: nothing runs in parallel then, and left alone, the
    scheduler's choice between one CPU and two makes the rate jump to double and back.
    """
    cpus = {min(ALL_CPUS)} if clients == 1 else ALL_CPUS
    side.run_on(cpus)
    before = side.cpu_seconds()
    done = subprocess.run(
        [program(), "-n", "-M", protocol, "-c", str(clients), "-j", str(min(clients, 2)), "-T", str(seconds),
         *arguments, side.dsn], capture_output=True, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    after = side.cpu_seconds()
    rate = re.search(r"^tps = ([0-9.]+)", done.stdout, re.M)
    count = re.search(r"transactions actually processed: (\d+)", done.stdout)
    if done.returncode != 0 or not rate or not count or int(count.group(1)) == 0:
        raise RuntimeError(f"pgbench on {side.name} failed: {(done.stderr or done.stdout).strip()[-600:]}")
    transactions = int(count.group(1))
    return Sample(rate=float(rate.group(1)),
                  server_cpu=(after[0] - before[0]) / transactions * 1e6,
                  entry_cpu=(after[1] - before[1]) / transactions * 1e6)


def script(name, rows):
    """Arguments that run a script of this folder."""
    return ["-f", str(HERE / "scripts" / f"{name}.sql"), "-D", f"rows={rows}"]
