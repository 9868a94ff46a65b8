"""CPU time, memory and sessions of a cluster's servers, from /proc."""

import os
import re
import time

TICK = os.sysconf("SC_CLK_TCK")


def process_times():
    """pid -> (parent, milliseconds of CPU time of its children that have ended)."""
    times = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        times[int(entry)] = (int(fields[1]), sum(int(field) for field in fields[13:15]) / TICK * 1000)
    return times


def cpu(made):
    """Milliseconds of CPU time that all servers of a cluster have used; those of processes that haven't ended to the nanosecond."""
    masters = {node.pid() for node in made.nodes}
    total = 0.0
    for pid, (parent, ended) in process_times().items():
        if pid in masters:
            total += ended
        elif parent not in masters:
            continue
        try:
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0]) / 1e6
        except OSError:
            pass
    return total


def used_by(made, work, settle):
    """Milliseconds of CPU time that work() costs a cluster, and seconds that it takes.

    Sessions on other nodes end a moment later, so it waits for `settle` seconds. What the servers use in as much time without
    work is subtracted: it grows with their number.
    """
    before, start = cpu(made), time.monotonic()
    work()
    took = time.monotonic() - start
    time.sleep(settle)
    used, before, whole = cpu(made) - before, cpu(made), time.monotonic() - start
    time.sleep(whole)
    return used - (cpu(made) - before), took


def title(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def backends(made):
    """How many sessions, those at rest included, the fullest node has."""
    masters = {node.pid(): 0 for node in made.nodes}
    for pid, (parent, _) in process_times().items():
        if parent in masters and re.search(r"\(\d+\)|\[local\]", title(pid)):
            masters[parent] += 1
    return max(masters.values())


def pss_of(made):
    """The main process of each server -> megabytes of memory of all of its processes, shared ones divided among those that share them."""
    memory = {node.pid(): 0.0 for node in made.nodes if node.pid()}
    for pid, (parent, _) in process_times().items():
        master = pid if pid in memory else parent
        if master in memory:
            try:
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                    memory[master] += sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
            except OSError:
                pass
    return memory


def pss(made):
    """Megabytes of memory of the largest server."""
    return max(pss_of(made).values())
