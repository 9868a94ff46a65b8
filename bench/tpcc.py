"""TPC-C's five transactions as functions, each called by one statement: the mix of the specification (version 5.11, clause 5.2.3).

The tables, columns and transactions are those of its clauses 1.3 and 2, with the lines of an order in arrays, as
HammerDB's TPROC-C has them for PostgreSQL. On the cluster all tables but `item` are distributed by the warehouse,
`item` is a reference table, and the functions are distributed by their first argument. One order line in a hundred
comes from another warehouse, and so do 15 of 100 payments' customers. Clients don't think, and each call takes any warehouse.
"""

import pgbench
import tables
from keyed import Workload, loads
from rounds import Result

WAREHOUSES = 8
DISTRICTS = 10
CUSTOMERS = 3000  # of a district
ITEMS = 100_000
FUNCTIONS = ("new_order(int,int,int)", "payment(int,int,int)", "order_status(int,int,int)", "delivery(int,int)",
             "stock_level(int,int,int)")
LOADS = Workload((), clients=(1, 4), quick=(("prepared", 4),))


def tpcc(sides, plan, say):
    """The mix, in transactions a second of all kinds."""
    sides = [side for side in sides if side.form in ("plain", "cluster")]
    for side in sides:
        say(f"  loading {WAREHOUSES} warehouses on {side.name}")
        load(side)
    arguments = ["-f", str(pgbench.HERE / "scripts" / "tpcc-call.sql"), "-D", f"warehouses={WAREHOUSES}"]
    for clients in loads(LOADS, plan, ("coordinator",)):
        result = Result("tpcc", f"mix, {clients}", sides[0].name, samples={side.name: [] for side in sides})
        for number in range(plan.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                result.samples[side.name].append(pgbench.measure(side, arguments, clients, plan.seconds))
        yield result


def load(side):
    """Makes tables, rows and functions."""
    with side.connect() as connection:
        connection.execute(text_of("tpcc-tables"))
        if side.form == "cluster":
            connection.execute("SELECT create_reference_table('item')")
            connection.execute("SELECT create_distributed_table('warehouse', 'w_id')")
            for name, column in TABLES:
                connection.execute(f"SELECT create_distributed_table('{name}', '{column}', colocate_with => 'warehouse')")
        for statement in rows():
            connection.execute(statement)
        connection.execute(text_of("tpcc-functions"))
        if side.form == "cluster":
            for function in FUNCTIONS:
                connection.execute("SELECT create_distributed_function(%s, '$1', 'warehouse')", [function])
    for name in ("warehouse", "item", *(name for name, _ in TABLES)):
        tables.warm(side, name)


TABLES = (("district", "d_w_id"), ("customer", "c_w_id"), ("history", "h_w_id"), ("orders", "o_w_id"),
          ("new_orders", "no_w_id"), ("order_line", "ol_w_id"), ("stock", "s_w_id"))


def text_of(name):
    return (pgbench.HERE / "scripts" / f"{name}.sql").read_text(encoding="utf-8")


def rows():
    """Statements that fill the tables: every customer has an order, of which the last 900 of a district are new."""
    every = (f"generate_series(1, {WAREHOUSES}) w, generate_series(1, {DISTRICTS}) d, "
             f"generate_series(1, {CUSTOMERS}) c")
    return (f"INSERT INTO item SELECT i, i % 10000, 'item ' || i, (i % 9900 + 100) / 100.0, 'data' FROM generate_series(1, {ITEMS}) i",
            f"INSERT INTO warehouse SELECT w, 'name', 'street', 'city', 0.1, 300000 FROM generate_series(1, {WAREHOUSES}) w",
            f"INSERT INTO district SELECT d, w, 'name', 'street', 'city', 0.1, 30000, {CUSTOMERS} + 1 "
            f"FROM generate_series(1, {WAREHOUSES}) w, generate_series(1, {DISTRICTS}) d",
            "INSERT INTO customer SELECT c, d, w, 'first', 'name ' || c % 1000, 'street', 'GC', 0.1, -10, 10, 1, 0, "
            f"repeat('data ', 60) FROM {every}",
            f"INSERT INTO stock SELECT i, w, 10 + i % 90, repeat('x', 24), 0, 0, 0, repeat('data ', 8) "
            f"FROM generate_series(1, {WAREHOUSES}) w, generate_series(1, {ITEMS}) i",
            "INSERT INTO orders SELECT c, d, w, c, now(), CASE WHEN c <= 2100 THEN 1 END, 10 FROM " + every,
            f"INSERT INTO new_orders SELECT c, d, w FROM {every} WHERE c > 2100",
            "INSERT INTO order_line SELECT c, d, w, n, (c * 37 + n * 101) % 100000 + 1, w, now(), 5, 10.0, 'dist' "
            f"FROM {every}, generate_series(1, 10) n",
            "VACUUM ANALYZE")
