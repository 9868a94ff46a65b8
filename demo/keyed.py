"""A few hundred single-key reads and writes, as an application would send them.

A *step* is a list of statements that one client sends, alone or in a transaction. Every step runs on the
cluster and on plain PostgreSQL, in the same order, and each of its answers must be the same. Reads go to each
node; writes go to the nodes in turn. The steps are drawn with a fixed seed, so each run sends the same ones.
"""

import random
import statistics
from collections import defaultdict
from dataclasses import dataclass

from answers import ask, difference

SEED = 19
NEW_KEYS = 50_000_000  # above every generated key, for each table and scale in use

READ_ORDER = "SELECT * FROM orders WHERE o_orderkey = %s"
READ_LINES = "SELECT * FROM lineitem WHERE l_orderkey = %s ORDER BY l_linenumber"
READ_ORDER_WITH_LINES = """
    SELECT o_orderkey, o_orderstatus, count(*), sum(l_quantity), max(l_shipdate)
    FROM orders JOIN lineitem ON l_orderkey = o_orderkey
    WHERE o_orderkey = %s GROUP BY o_orderkey, o_orderstatus"""
READ_CUSTOMER = """
    SELECT c_custkey, c_name, c_acctbal, n_name
    FROM customer JOIN nation ON n_nationkey = c_nationkey WHERE c_custkey = %s"""
READ_PART = "SELECT p_name, p_brand, p_retailprice FROM part WHERE p_partkey = %s"
INSERT_ORDER = """
    INSERT INTO orders VALUES (%s, %s, 'O', %s, date '1998-09-01', '3-MEDIUM', 'Clerk#000000001', 0, %s)"""
INSERT_LINE = """
    INSERT INTO lineitem VALUES (%s, %s, %s, %s, %s, %s, 0.05, 0.02, 'N', 'O', date '1998-09-02',
        date '1998-09-20', date '1998-09-10', 'NONE', 'MAIL', 'by the demo')"""
PAY = "UPDATE customer SET c_acctbal = c_acctbal + %s WHERE c_custkey = %s RETURNING c_custkey, c_acctbal"
COMPLETE_ORDER = """
    UPDATE orders SET o_orderstatus = 'F', o_comment = left(o_comment, 70) || ' done'
    WHERE o_orderkey = %s RETURNING o_orderkey, o_orderstatus"""
STOCK_UPSERT = """
    INSERT INTO partsupp VALUES (%s, %s, %s, 99.50, 'by the demo')
    ON CONFLICT (ps_partkey, ps_suppkey)
    DO UPDATE SET ps_availqty = partsupp.ps_availqty + excluded.ps_availqty
    RETURNING ps_partkey, ps_suppkey, ps_availqty, ps_supplycost"""
DELETE_LINE = "DELETE FROM lineitem WHERE l_orderkey = %s AND l_linenumber = %s RETURNING l_partkey, l_quantity"
DELETE_ORDER = "DELETE FROM orders WHERE o_orderkey = %s"


@dataclass
class Step:
    kind: str
    statements: list  # (text, parameters)
    writes: bool
    fails: bool = False  # on plain PostgreSQL too


class Keys:
    """Draws keys: mostly of rows that exist, sometimes of rows that do not."""

    def __init__(self, connection):
        self.random = random.Random(SEED)
        self.orders = [row[0] for row in connection.execute(
            "SELECT o_orderkey FROM orders ORDER BY o_orderkey")]
        self.customers = connection.execute("SELECT max(c_custkey) FROM customer").fetchone()[0]
        self.parts = connection.execute("SELECT max(p_partkey) FROM part").fetchone()[0]
        self.suppliers = connection.execute("SELECT max(s_suppkey) FROM supplier").fetchone()[0]
        self.last_new = NEW_KEYS

    def order(self):
        return self.random.choice(self.orders) if self.random.random() < 0.95 else -1

    def new_order(self):
        self.last_new += self.random.randint(1, 1000)
        self.orders.append(self.last_new)
        return self.last_new

    def customer(self):
        return self.random.randint(1, self.customers + self.customers // 20)

    def part(self):
        return self.random.randint(1, self.parts)

    def supplier(self):
        return self.random.randint(1, self.suppliers)

    def amount(self):
        return f"{self.random.randint(1, 100000) / 100:.2f}"


def draw_reads(keys):
    """The reads, one statement a step."""
    steps = []
    for _ in range(40):
        steps.append(Step("read an order", [(READ_ORDER, (keys.order(),))], False))
        steps.append(Step("read an order's lines", [(READ_LINES, (keys.order(),))], False))
        steps.append(Step("join order and lines", [(READ_ORDER_WITH_LINES, (keys.order(),))], False))
        steps.append(Step("customer and nation", [(READ_CUSTOMER, (keys.customer(),))], False))
        steps.append(Step("read a part", [(READ_PART, (keys.part(),))], False))
    return steps


def draw_writes(keys):
    """The writes: single statements, transactions on one key, and transactions on several."""
    steps = []
    for turn in range(40):
        new = keys.new_order()
        steps.append(Step("insert", [(INSERT_ORDER, (new, keys.customer(), keys.amount(), "by the demo"))], True))
        steps.append(Step("update", [(PAY, (keys.amount(), keys.customer()))], True))
        steps.append(Step("update", [(COMPLETE_ORDER, (keys.order(),))], True))
        steps.append(Step("upsert", [(STOCK_UPSERT, (keys.part(), keys.supplier(), turn + 1))], True))
        steps.append(Step("delete", [(DELETE_LINE, (keys.order(), keys.random.randint(1, 4)))], True))
        if turn % 2 == 0:
            steps.append(Step("transaction, one key", transaction(one_key(keys)), True))
            steps.append(Step("transaction, two keys", transaction(two_keys(keys)), True))
        if turn % 4 == 0:
            steps.append(Step("rolled back", transaction(two_keys(keys), end="ROLLBACK"), True))
            steps.append(Step("savepoint", transaction(half_undone(keys)), True))
            steps.append(Step("duplicate key", [(INSERT_ORDER, (new, 1, "1.00", "again"))], True, fails=True))
    return steps


def transaction(statements, end="COMMIT"):
    return [("BEGIN", None), *statements, (end, None)]


def one_key(keys):
    """A new order with three lines, all in one shard group, read back before the commit."""
    new = keys.new_order()
    lines = [(INSERT_LINE, (new, keys.part(), keys.supplier(), n, n * 10, keys.amount())) for n in (1, 2, 3)]
    return [(INSERT_ORDER, (new, keys.customer(), keys.amount(), "one key")), *lines,
            (READ_ORDER_WITH_LINES, (new,))]


def two_keys(keys):
    """Money moves between two customers, mostly on two nodes."""
    amount, giver, taker = keys.amount(), keys.customer(), keys.customer()
    return [(PAY, ("-" + amount, giver)), (PAY, (amount, taker))]


def half_undone(keys):
    """What follows the savepoint is undone, what precedes it stays."""
    kept = keys.order()
    return [(COMPLETE_ORDER, (kept,)), ("SAVEPOINT half", None),
            (DELETE_LINE, (kept, 1)), (DELETE_ORDER, (kept,)),
            ("ROLLBACK TO SAVEPOINT half", None), (READ_ORDER, (kept,)), (READ_LINES, (kept,))]


def run_step(connection, step):
    """Send a step's statements; return their answers and the seconds for all of them."""
    answers = [ask(connection, text, parameters) for text, parameters in step.statements]
    if not connection.closed and connection.info.transaction_status.name != "IDLE":
        connection.rollback()
    return answers, sum(answer.seconds for answer in answers)


class Tally:
    """Per kind of step: how often it ran, how often it differed, and its times by node."""

    def __init__(self):
        self.steps = defaultdict(int)
        self.different = defaultdict(int)
        self.times = defaultdict(lambda: defaultdict(list))

    def add(self, kind, role, seconds):
        self.times[kind][role].append(seconds)

    def median(self, kind, role):
        times = self.times[kind][role]
        return statistics.median(times) if times else None


def run_all(nodes, plain, report):
    """Run every step on the cluster and on plain PostgreSQL.

    `nodes` lists (role, connection) of the cluster, the coordinator first. Returns the Tally; what differed is
    also told to the report.
    """
    keys = Keys(plain)
    steps = draw_reads(keys) + draw_writes(keys)
    tally = Tally()
    for step in steps:
        expected, seconds = run_step(plain, step)
        tally.add(step.kind, "plain", seconds)
        targets = [nodes[tally.steps[step.kind] % len(nodes)]] if step.writes else nodes
        tally.steps[step.kind] += 1
        why = "" if step.fails else unexpected_error(expected)
        for role, connection in targets:
            got, seconds = run_step(connection, step)
            tally.add(step.kind, role, seconds)
            why = why or compare(step, got, expected, role)
        if why:
            tally.different[step.kind] += 1
            report.differ(step.kind, why)
    return tally


def unexpected_error(expected):
    return next((f"plain: {answer.brief()}" for answer in expected if answer.failed), "")


def compare(step, got, expected, role):
    """Return the first difference among a step's answers, or an empty string."""
    for (text, parameters), ours, theirs in zip(step.statements, got, expected):
        why = difference(ours, theirs)
        if why:
            return f"{role}: {' '.join(text.split())} {parameters or ''}: {why}"
    return ""
