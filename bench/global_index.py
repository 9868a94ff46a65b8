"""Global indexes: look-ups by a unique key that isn't the distribution column, and what such a key costs writers.

Look-ups stand beside a plain server's by the same index. Of writes, the figure that counts is the ratio to the same
write of a table without the key, on the same cluster; the *bound* is what a second row in another table costs, which
an entry can't undercut: two plain INSERTs in a transaction, of tables that are distributed by different columns.
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
                arguments = script(folder, f"\\set code random(1, :rows)\nSELECT name FROM {table} WHERE code = :code;\n", rows)
                yield interleave(Result("global_index", f"look-up, {table}, {load_}", plain.name), measured, plan.rounds,
                                 lambda side, load_=load_, arguments=arguments: pgbench.measure(side, arguments, load_, plan.seconds))
        if chosen(plan, "first"):
            yield Figures("global_index", "first look-up of a session, 1,024 shards", "ms", {
                side.name: first_lookup(side) for side in (plain, cluster)})
        for name, scripts in WRITES.items():
            if chosen(plan, name):
                yield ratios(cluster, plan, name, [script(folder, text, rows) for text in scripts])
    if chosen(plan, "copy"):
        yield copies(cluster, plan, rows)


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


def first_lookup(side):
    """The median over new sessions."""
    times = []
    for number in range(15):
        with side.connect() as connection:
            began = time.perf_counter()
            connection.execute(f"SELECT name FROM gi_1024 WHERE code = {number + 1}").fetchall()
            times.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(times), 2)


def ratios(side, plan, name, pair):
    """The rate with the key, of the one without: the median over the rounds, by 8 clients."""
    found = []
    for number in range(plan.rounds):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        rates = {which: pgbench.measure(side, pair[which], Load("prepared", 8, "coordinator"), plan.seconds) for which in order}
        if rates[1].rate > 0 and rates[1].server_cpu > 0:
            found.append((rates[0].rate / rates[1].rate, rates[0].server_cpu / rates[1].server_cpu))
    return Figures("global_index", f"{name}, with the key / without", values={
        "rate": round(statistics.median(rate for rate, _ in found), 3),
        "CPU": round(statistics.median(cpu for _, cpu in found), 3)})


def copies(side, plan, rows):
    """The same for a COPY of as many rows."""
    text = b"".join(b"%d\t%d\tname\t0\n" % (key, key) for key in range(rows + 1, 2 * rows + 1))
    found = []
    for number in range(plan.rounds):
        rates = {}
        for name in ("gi_with", "gi_without") if number % 2 == 0 else ("gi_without", "gi_with"):
            with side.connect() as connection:
                connection.execute(f"TRUNCATE {name}")
                began = time.perf_counter()
                with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as stream:
                    stream.write(text)
                rates[name] = rows / (time.perf_counter() - began)
        found.append(rates["gi_with"] / rates["gi_without"])
    return Figures("global_index", "copy, with the key / without", values={"rate": round(statistics.median(found), 3)})
