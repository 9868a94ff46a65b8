"""Global indexes: look-ups by a unique key that isn't the distribution column, and what such a key costs writers.

Look-ups stand beside a plain server's by the same index; their *bound* is two selects by distribution columns, of the
entry and of the row. Of writes, the figure that counts is the ratio to the same write of a table without the key, on the
same cluster, with that of a plain server beside it; the bound is what a second row in another table costs, which an
entry can't undercut: two plain INSERTs in a transaction, of tables that are distributed by different columns.
"""

import statistics
import tempfile
import time
from pathlib import Path

import pgbench
from pgbench import Load
from rounds import Figures, Result, interleave

INDEXES = "SET citus.global_indexes = on; "
KEYED = "CREATE TABLE {name} (tenant int, code bigint, name text, note int)"
# table -> its shards and its index; of the plain server, the index alone
LOOKED_UP = {
    "gi_32": (32, "CREATE UNIQUE INDEX ON gi_32 (code)"),
    "gi_1024": (1024, "CREATE UNIQUE INDEX ON gi_1024 (code)"),
    "gi_covering": (1024, "CREATE UNIQUE INDEX ON gi_covering (code) INCLUDE (name)"),
}
# table -> its distribution column and its index
WRITTEN = {
    "gi_with": ("tenant", "CREATE UNIQUE INDEX ON gi_with (code)"),
    "gi_without": ("tenant", "CREATE INDEX ON gi_without (code)"),
    "gi_entries": ("code", "CREATE UNIQUE INDEX ON gi_entries (code)"),
}
ONE_LOOKUP = "\\set code random(1, :rows)\nSELECT name FROM {table} WHERE code = :code;\n"
BOUND = "\\set code random(1, :rows)\nSELECT name FROM gi_32 WHERE tenant = :code;\nSELECT note FROM gi_without WHERE tenant = :code;\n"
ROW = "\\set code random(1, 1000000000000)\n\\set tenant random(1, 1000000)\n"
INSERT = "INSERT INTO {name} VALUES (:tenant, :code, 'name', 0);\n"
WRITES = {
    "insert": (ROW + INSERT.format(name="gi_with"), ROW + INSERT.format(name="gi_without")),
    "insert, bound": (ROW + "BEGIN;\n" + INSERT.format(name="gi_without") + INSERT.format(name="gi_entries") + "END;\n",
                      ROW + INSERT.format(name="gi_without")),
    "update of another column": tuple(
        f"\\set tenant random(1, :rows)\nUPDATE {name} SET note = note + 1 WHERE tenant = :tenant;\n"
        for name in ("gi_with", "gi_without")),
}


def global_index(sides, plan, say):
    """Look-ups on all sides, then writes with and without the key on the cluster."""
    rows = plan.rows // 10
    plain, cluster, *through = [side for side in sides if not side.pooler]
    for side in (plain, cluster):
        say(f"  loading {len(LOOKED_UP) + 2} x {rows:,} rows on {side.name}")
        load(side, rows)
    with tempfile.TemporaryDirectory() as folder:
        loads = ((Load("prepared", 8, "coordinator"), [plain, cluster]), (Load("prepared", 64, "coordinator"), [plain, *through]))
        for load_, measured in loads if chosen(plan, "look-up") else ():
            for table in LOOKED_UP:
                arguments = script(folder, ONE_LOOKUP.format(table=table), rows)
                yield interleave(Result("global_index", f"look-up, {table}, {load_}", plain.name), measured, plan.rounds,
                                 lambda side, load_=load_, arguments=arguments: pgbench.measure(side, arguments, load_, plan.seconds))
        if chosen(plan, "look-up"):
            bound = script(folder, BOUND, rows)
            one = script(folder, ONE_LOOKUP.format(table="gi_32"), rows)
            yield interleave(Result("global_index", "look-up, bound: two routed selects", plain.name), [plain, cluster], plan.rounds,
                             lambda side: pgbench.measure(side, one if side is plain else bound, Load("prepared", 8, "coordinator"), plan.seconds))
        if chosen(plan, "first"):
            yield Figures("global_index", "first statement of a session, 1,024 shards", "ms", {
                f"{side.name}, {what}": first_statement(side, column) for side in (plain, cluster)
                for what, column in (("look-up", "code"), ("routed", "tenant"))})
        for name, scripts in WRITES.items():
            if chosen(plan, name):
                yield ratios((plain, cluster), plan, name, [script(folder, text, rows) for text in scripts])
    if chosen(plan, "copy"):
        yield copies((plain, cluster), plan, rows)


def chosen(plan, name):
    """Whether --case names it by its first word."""
    return not plan.scripts or name.split(",")[0].split(" ")[0] in plan.scripts


def load(side, rows):
    with side.connect() as connection:
        for name, (shards, index) in LOOKED_UP.items():
            make(side, connection, name, index, f"'tenant', shard_count => {shards}")
        for name, (column, index) in WRITTEN.items():
            make(side, connection, name, index, f"'{column}'")
        for name in (*LOOKED_UP, "gi_with", "gi_without"):
            connection.execute(f"INSERT INTO {name} SELECT g, g, 'name ' || g, 0 FROM generate_series(1, {rows}) g")
            connection.execute(f"VACUUM ANALYZE {name}")


def make(side, connection, name, index, distribution):
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(KEYED.format(name=name))
    if side.form == "cluster":
        connection.execute(f"SELECT create_distributed_table('{name}', {distribution})")
    connection.execute(f"CREATE INDEX ON {name} (tenant)")
    connection.execute((INDEXES if side.form == "cluster" else "") + index)


def script(folder, text, rows):
    """Arguments that run a text."""
    path = Path(folder) / f"{abs(hash(text))}.sql"
    path.write_text(text)
    return ["-f", str(path), "-D", f"rows={rows}"]


def first_statement(side, column):
    """The median over new sessions."""
    times = []
    for number in range(15):
        with side.connect() as connection:
            began = time.perf_counter()
            connection.execute(f"SELECT name FROM gi_1024 WHERE {column} = {number + 1}").fetchall()
            times.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(times), 2)


def by_turns(sides, plan, measure):
    """For each side, the medians over the rounds of measure(side, 0) / measure(side, 1): tuples of numbers, by turns."""
    found = {side.name: [] for side in sides}
    for number in range(plan.rounds):
        for side in sides:
            measured = {which: measure(side, which) for which in ((0, 1) if number % 2 == 0 else (1, 0))}
            if all(value > 0 for value in measured[1]):
                found[side.name].append([ours / theirs for ours, theirs in zip(measured[0], measured[1])])
    return {name: [round(statistics.median(values), 3) for values in zip(*ratios)] for name, ratios in found.items()}


def ratios(sides, plan, name, pair):
    """The rate, and the CPU time, with the key, of those without, by 8 clients."""
    def measure(side, which):
        sample = pgbench.measure(side, pair[which], Load("prepared", 8, "coordinator"), plan.seconds)
        return sample.rate, sample.server_cpu

    return Figures("global_index", f"{name}, with the key / without", values={
        f"{side}, {what}": value for side, values in by_turns(sides, plan, measure).items() for what, value in zip(("rate", "CPU"), values)})


def copies(sides, plan, rows):
    """The same for a COPY of as many rows."""
    text = b"".join(b"%d\t%d\tname\t0\n" % (key, key) for key in range(rows + 1, 2 * rows + 1))

    def measure(side, which):
        name = ("gi_with", "gi_without")[which]
        with side.connect() as connection:
            connection.execute(f"TRUNCATE {name}")
            began = time.perf_counter()
            with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as stream:
                stream.write(text)
            return (rows / (time.perf_counter() - began),)

    return Figures("global_index", "copy, with the key / without", values={
        f"{side}, rate": values[0] for side, values in by_turns(sides, plan, measure).items()})
