"""The table of benchmarks, and how much of them a run measures."""

from dataclasses import dataclass, replace

import copying
import fanout
import global_index
import held
import insert_select
import keyed
import pool_sizes
import realtime
import tpcc
import transport
import two_keys
import ycsb

# name -> (function that yields a Result per configuration, what its second side is: a single server with the
# extension, or a cluster)
CASES = {
    "plain": (keyed.plain, "extension"),
    "keyed": (keyed.keyed, "cluster"),
    "owned": (keyed.owned, "cluster"),
    "ycsb": (ycsb.ycsb, "cluster"),
    "tpcc": (tpcc.tpcc, "cluster"),
    "two_keys": (two_keys.two_keys, "cluster"),
    "copy": (copying.copy, "cluster"),
    "insert_select": (insert_select.insert_select, "cluster"),
    "realtime": (realtime.realtime, "cluster"),
    "fanout": (fanout.fanout, "cluster"),
    "held": (held.held, "cluster"),
    "pool_sizes": (pool_sizes.pool_sizes, "cluster"),
    "global_index": (global_index.global_index, "gateway"),
    "gateway": (keyed.gateway, "gateway"),
    "transport": (transport.transport, "transport"),
}


@dataclass
class Plan:
    """What to measure, and how long. Empty selections mean the case's own choice."""

    rounds: int
    seconds: int  # of a pgbench run
    copy_rounds: int
    quick: bool = False
    rows: int = 2_000_000
    scripts: tuple = ()
    protocols: tuple = ()
    clients: tuple = ()
    entries: tuple = ()


FULL = Plan(rounds=3, seconds=2, copy_rounds=5)
QUICK = Plan(rounds=2, seconds=1, copy_rounds=2, quick=True, rows=500_000)


def make_plan(options):
    """The plan of a full or a quick run, with what the command line wants otherwise."""
    chosen = replace(QUICK if options.quick else FULL, scripts=options.case, protocols=options.protocol,
                     clients=options.clients, entries=options.entry)
    if options.rounds:
        chosen = replace(chosen, rounds=options.rounds, copy_rounds=options.rounds)
    if options.seconds:
        chosen = replace(chosen, seconds=options.seconds)
    if options.rows:
        chosen = replace(chosen, rows=options.rows)
    return chosen
