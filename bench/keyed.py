"""The benchmarks that run pgbench: plain tables, statements by key, the node that owns the row, YCSB."""

from dataclasses import dataclass, field
from itertools import product

import hop
import pgbench
import tables
from pgbench import Load
from rounds import Result, interleave

PROTOCOLS = ("simple", "extended", "prepared")
CLIENTS = (1, 8, 32)


@dataclass
class Workload:
    """A transaction that clients repeat."""

    scripts: tuple  # names of files in scripts/, or (name, weight) pairs
    clients: tuple = CLIENTS
    quick: tuple = ()  # (protocol, clients) pairs of a quick run
    variables: dict = field(default_factory=dict)


ACCOUNTS = {
    "select": Workload(("select",), quick=(("prepared", 8), ("simple", 8), ("prepared", 1))),
    "update": Workload(("update",), clients=(1, 8, 16, 32), quick=(("prepared", 16),)),
    "insert": Workload(("insert",), clients=(1, 8, 16, 32), quick=(("prepared", 16),)),
    "tenant": Workload(("tenant",), quick=(("prepared", 8),)),
    "tpcb": Workload(("tpcb",)),
}
MANY_CLIENTS = {
    "select": Workload(("select",), clients=(8, 64, 250), quick=(("prepared", 8), ("prepared", 64))),
    "update": Workload(("update",), clients=(16,), quick=(("prepared", 16),)),
    "insert": Workload(("insert",), clients=(16,), quick=(("prepared", 16),)),
    "tenant": Workload(("tenant",), clients=(8, 64), quick=(("prepared", 8),)),
    "tpcb": Workload(("tpcb",), clients=(8, 64)),
}
OWNED = {
    "select": Workload(("select",), quick=(("prepared", 8), ("simple", 8))),
}


def plain(sides, plan, say):
    """What the extension costs a session that uses plain tables only: pgbench's select on ordinary tables."""
    for side in sides:
        say(f"  loading {plan.rows:,} accounts on {side.name}")
        tables.create_accounts(side, plan.rows)
    workload = Workload(("select",), clients=(1, 8), quick=(("prepared", 8),))
    yield from run(sides, plan, "plain", {"select": workload}, ("coordinator",), {"rows": plan.rows})


def keyed(sides, plan, say):
    """Statements by key on distributed tables, and TPC-B, each table distributed by its own key."""
    for side in sides:
        if side.form != "hop":
            say(f"  loading {plan.rows:,} accounts on {side.name}")
            tables.create_accounts(side, plan.rows)
    yield from run(sides, plan, "keyed", ACCOUNTS, ("coordinator", "nodes"),
                   {"rows": plan.rows, "branches": tables.branches_of(plan.rows)})


def gateway(sides, plan, say):
    """Statements by key of many clients, by the coordinator, through its gateway, and through PgBouncer."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides[:2]:
        say(f"  loading {plan.rows:,} accounts on {side.name}")
        tables.create_accounts(side, plan.rows)
    yield from run(sides, plan, "gateway", MANY_CLIENTS, ("coordinator",),
                   {"rows": plan.rows, "branches": tables.branches_of(plan.rows)})


def owned(sides, plan, say):
    """Clients connected to the worker that owns all rows."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides:
        say(f"  loading {plan.rows:,} accounts on {side.name}, all on one node")
        tables.create_accounts(side, plan.rows, one_node=True)
    yield from run(sides, plan, "owned", OWNED, ("owner",), {"rows": plan.rows})


def run(sides, plan, case, workloads, entries, variables):
    """Measure every configuration of the workloads that the plan wants; yield a Result for each."""
    for name, workload in workloads.items():
        if plan.scripts and name not in plan.scripts:
            continue
        for load in loads(workload, plan, entries):
            result = Result(case, f"{name}, {load}", sides[0].name)
            yield interleave(result, [side for side in sides if takes_part(side, name, load)], plan.rounds,
                             lambda side: pgbench.measure(side, arguments(side, workload, variables),
                                                          load, plan.seconds))


def loads(workload, plan, entries):
    """The Loads to measure: all combinations, or the few of a quick run, or what the user asked for."""
    entries = [entry for entry in entries if not plan.entries or entry in plan.entries]
    if plan.quick and not (plan.protocols or plan.clients):
        return [Load(protocol, clients, entry)
                for (protocol, clients), entry in product(workload.quick, entries if plan.entries else entries[:1])]
    return [Load(protocol, clients, entry)
            for entry, clients, protocol in product(entries, plan.clients or workload.clients,
                                                    plan.protocols or PROTOCOLS)
            if entry != "nodes" or clients > 1]


def takes_part(side, name, load):
    """Whether a side can do it: the other baselines have one entry, and the bare hop one statement."""
    if side.form == "hop" and name != "select":
        return False
    return side.form in ("plain", "bare", "cluster") or load.entry == "coordinator"


def arguments(side, workload, variables):
    if side.form == "hop":
        return pgbench.script(("hop",), {**variables, **hop.variables(side)})
    return pgbench.script(workload.scripts, {**variables, **workload.variables})
