"""Makes scripts of random statements over tables of every kind.

Statements are valid for PostgreSQL, but for a few that the server refuses for reasons which the grammar doesn't know,
and determined: exact arithmetic, aggregates that don't depend on the order of rows, and LIMIT only behind an ORDER BY
of all columns, or around a subquery that has one. There are partitions of several levels, equal rows, the first rows
for each of others, generated columns, a domain, conditions on ctid, xmin and tableoid, savepoints and blocks of
PL/pgSQL that catch errors. The same seed gives the same script.
"""

import random
import re

PREFIX = "random:"
DEFAULT_COUNT = 300

HEADER = """-- Random statements, seed {seed}.
--
-- distribute: a(k), b(k) with a, c(id) with none, o(label) with none, p(k) with a, d(k) with a, e reference, r reference
-- distribute: one single, l local

CREATE DOMAIN small AS int CHECK (VALUE < 1000000);
CREATE TABLE a (k int PRIMARY KEY, g int, x int, t text, n numeric, d date, f bool);
CREATE TABLE b (k int, i int, y int, u text, e date, PRIMARY KEY (k, i));
CREATE TABLE c (id bigint PRIMARY KEY, k int, z int, v text, m numeric);
CREATE TABLE o (label text, k int, w int);
CREATE TABLE p (k int, v int, kind text, day date) PARTITION BY LIST (kind);
CREATE TABLE p_one PARTITION OF p FOR VALUES IN ('t1', 't2') PARTITION BY RANGE (v);
CREATE TABLE p_one_low PARTITION OF p_one FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE p_one_high PARTITION OF p_one DEFAULT;
CREATE TABLE p_rest PARTITION OF p DEFAULT;
CREATE TABLE d (k int, x small, t text, y int GENERATED ALWAYS AS (k * 2 + 1) STORED);
CREATE TABLE e (x small, t text, y int GENERATED ALWAYS AS (x % 3) STORED);
CREATE TABLE r (id int PRIMARY KEY, label text, w int, q bool);
CREATE TABLE one (k int, h int, s text);
CREATE TABLE l (k int, y int, u text);

-- setup ends
INSERT INTO a SELECT n, n % 7, nullif(n % 5, 3), nullif('t' || n % 6, 't4'), nullif(n % 9, 8) * 1.25,
    date '2024-01-01' + n % 10, nullif(n % 3, 2) = 1 FROM generate_series(1, 40) n;
INSERT INTO b SELECT n % 25, n, nullif(n % 6, 5), nullif('t' || n % 7, 't5'), date '2024-01-01' + n % 13
    FROM generate_series(1, 50) n;
INSERT INTO c SELECT n * 3, nullif(n % 20, 0), n % 8, 't' || n % 5, (n % 4) / 2.0 FROM generate_series(1, 45) n;
INSERT INTO o SELECT 't' || n % 6, n % 30, nullif(n % 4, 1) FROM generate_series(1, 35) n;
INSERT INTO p SELECT n % 25, nullif(n % 7, 5), nullif('t' || n % 5, 't4'), date '2024-01-01' + n % 11 FROM generate_series(1, 40) n;
INSERT INTO d SELECT n % 6, nullif(n % 3, 2), nullif('t' || n % 2, 't1') FROM generate_series(1, 30) n;
INSERT INTO e SELECT nullif(n % 3, 2), 't' || n % 2 FROM generate_series(1, 15) n;
INSERT INTO r SELECT n, 't' || n, nullif(n % 4, 2), n % 2 = 0 FROM generate_series(0, 9) n;
INSERT INTO one SELECT n % 9, n % 4, 't' || n % 3 FROM generate_series(1, 20) n;
INSERT INTO l SELECT n % 15, n % 5, 't' || n % 4 FROM generate_series(1, 25) n;
"""
TABLES = {
    "a": {"k": "int", "g": "int", "x": "int", "t": "text", "n": "numeric", "d": "date", "f": "bool"},
    "b": {"k": "int", "i": "int", "y": "int", "u": "text", "e": "date"},
    "c": {"id": "bigint", "k": "int", "z": "int", "v": "text", "m": "numeric"},
    "o": {"label": "text", "k": "int", "w": "int"},
    "p": {"k": "int", "v": "int", "kind": "text", "day": "date"},
    "d": {"k": "int", "x": "int", "t": "text", "y": "int"},
    "e": {"x": "int", "t": "text", "y": "int"},
    "r": {"id": "int", "label": "text", "w": "int", "q": "bool"},
    "one": {"k": "int", "h": "int", "s": "text"},
    "l": {"k": "int", "y": "int", "u": "text"},
}
UNIQUE = {"a": ["k"], "b": ["k", "i"], "c": ["id"], "r": ["id"]}
DISTRIBUTED_BY = {"a": "k", "b": "k", "c": "id", "o": "label", "p": "k", "d": "k"}
GENERATED = {"d": ["y"], "e": ["y"]}
WRITABLE = ["a", "b", "c", "o", "p", "d", "e", "r", "one"]
READ_OFTEN = ["a", "a", "a", "b", "b", "c", "c", "o", "p", "p", "d", "e", "r", "r", "one", "l"]
WITH_CTID = ["a", "b", "c", "d"]        # of a partitioned table, one server's isn't unique
TABLEOID = "tableoid::regclass::text"   # read like a column
JOINS = ["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
SET_OPERATIONS = ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
VALUES = "(VALUES (1, 't1'), (2, 't2'), (3, NULL), (NULL, 't3'))"
WRITES = 0.15           # of all statements
BY_CTID = 0.15          # of all writes
NESTED = 0.3            # of all writes: several in a transaction, with savepoints
WITH_TABLEOID = 0.05    # of all tables that queries read
SORTED = 0.12           # of all queries: the first rows, or aggregates, of a subquery with ORDER BY
KEPT_WRITES = 0.2       # of all writes; the others are rolled back
WITH_PARAMETERS = 0.3   # of all queries
LIMITED = " ORDER BY q LIMIT 20"


def script(seed, count=DEFAULT_COUNT):
    """The text of a script with so many statements, blocks of a write counted as one."""
    return HEADER.format(seed=seed) + "\n".join(Generator(seed).statements(count)) + "\n"


def grows(write):
    """Whether a write could make a table so large that later joins of it take minutes."""
    return write.startswith("INSERT") and LIMITED not in write


class Generator:
    """Random SQL. A scope is a list of (alias, {column: type}), types are int, text, date and bool."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0          # of aliases in the statement
        self.ctes = []          # (name, columns) that its queries may read
        self.parameters = None      # types of the constants that are parameters, written $number::type; None: none may be

    def statements(self, count):
        """Yields the statements, with their semicolons."""
        for _ in range(count):
            self.count, self.ctes = 0, []
            if not self.chance(WRITES):
                yield from self._read()
                continue
            table = self.pick(WRITABLE)
            block = [self.write(table), f"SELECT * FROM {table}"]
            if self.chance(BY_CTID):
                table = self.pick(WITH_CTID)
                block = [self.write_by_ctid(table), f"SELECT * FROM {table}", self.read_by_ctid(table)]
            if self.chance(NESTED):
                block = self.nested(table)
            elif not self.chance(KEPT_WRITES) or grows(block[0]):
                block = ["BEGIN", *block, self.query(), "ROLLBACK"]
            yield "\n".join(f"{statement};" for statement in block)

    def _read(self):
        """Yields a query, sometimes behind the values of its parameters for several executions."""
        self.parameters = [] if self.chance(WITH_PARAMETERS) else None
        ordered, query = self.first_of_sorted() if self.chance(SORTED) else (False, self.query())
        used = sorted({int(number) for number in re.findall(r"\$(\d+)::", query)})
        query = re.sub(r"\$(\d+)::", lambda found: f"${used.index(int(found[1])) + 1}::", query)
        kinds = [self.parameters[number - 1] for number in used]
        self.parameters = None
        for _ in range(3 if kinds else 0):
            values = [self.pick([self.constant(kind).removeprefix("date ")] * 4 + ["NULL"]) for kind in kinds]
            yield f"-- params: {', '.join(values)}"
        if ordered:
            yield "-- ordered"
        yield f"{query};"

    # -- choices

    def pick(self, choices):
        return self.random.choice(list(choices))

    def chance(self, probability):
        return self.random.random() < probability

    def number(self, low, high):
        return self.random.randint(low, high)

    def alias(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    # -- expressions

    @staticmethod
    def columns(scope, *types):
        """The columns of these types, qualified."""
        return [f"{alias}.{name}" for alias, columns in scope for name, kind in columns.items() if kind in types]

    def constant(self, kind):
        if self.parameters is not None and self.chance(0.3):
            self.parameters.append(kind)
            return f"${len(self.parameters)}::{kind}"
        return {"int": str(self.number(-1, 9)), "text": f"'t{self.number(0, 6)}'",
                "date": f"date '2024-01-{self.number(1, 12):02}'", "bool": self.pick(["true", "false"])}[kind]

    def expression(self, scope, kind, depth=2):
        columns = self.columns(scope, kind)
        if columns and (depth <= 0 or self.chance(0.55)):
            return self.pick(columns)
        if kind == "bool" and scope:
            return f"({self.condition(scope, depth - 1)})"
        if depth <= 0 or self.chance(0.3):
            return self.constant(kind)
        return getattr(self, f"_{kind}")(scope, depth - 1)

    def _bool(self, scope, depth):
        return f"({self.expression(scope, 'int', depth)} > {self.number(0, 5)})"

    def _int(self, scope, depth):
        one, two = (self.expression(scope, "int", depth) for _ in range(2))
        return self.pick([
            f"({one} + {two})", f"({one} - {two})", f"({one} * {self.number(0, 4)})", f"greatest({one}, {two})",
            f"coalesce({one}, {self.number(0, 5)})", f"nullif({one}, {self.number(0, 4)})",
            f"length({self.expression(scope, 'text', depth)})",
            f"CASE WHEN {self.condition(scope, depth)} THEN {one} ELSE {two} END"])

    def _text(self, scope, depth):
        one, two = (self.expression(scope, "text", depth) for _ in range(2))
        return self.pick([f"({one} || {two})", f"upper({one})", f"coalesce({one}, 't1')",
                          f"substr({one}, 1, {self.number(1, 2)})",
                          f"({self.expression(scope, 'int', depth)})::text"])

    def _date(self, scope, depth):
        return f"({self.expression(scope, 'date', depth)} + {self.number(-2, 3)})"

    def condition(self, scope, depth=2):
        if depth <= 0 or self.chance(0.35):
            return self._comparison(scope)
        inner = depth - 1
        return self.pick([self._and, self._and, self._or, self._not, self._in, self._exists, self._scalar,
                          self._quantified])(scope, inner)

    def _comparison(self, scope):
        kind = self.pick(["int", "int", "int", "text", "date"])
        left = self.expression(scope, kind, 0)
        return self.pick([
            f"{left} {self.pick(['=', '=', '<', '>=', '<>'])} {self.expression(scope, kind, 0)}",
            f"{left} IS {self.pick(['', 'NOT '])}NULL", f"{left} IS DISTINCT FROM {self.constant(kind)}",
            f"{left} IN ({', '.join(self.constant(kind) for _ in range(self.number(1, 4)))})",
            f"{left} BETWEEN {self.constant(kind)} AND {self.constant(kind)}",
            self.pick(self.columns(scope, "bool") or [f"{left} = {self.constant(kind)}"])])

    def _and(self, scope, depth):
        return f"({self.condition(scope, depth)} AND {self.condition(scope, depth)})"

    def _or(self, scope, depth):
        return f"({self.condition(scope, depth)} OR {self.condition(scope, depth)})"

    def _not(self, scope, depth):
        return f"NOT ({self.condition(scope, depth)})"

    def _in(self, scope, depth):
        kind = self.pick(["int", "text"])
        return (f"{self.expression(scope, kind, 1)} {self.pick(['IN', 'IN', 'NOT IN'])} "
                f"({self.select(scope, [kind], depth)})")

    def _exists(self, scope, depth):
        return f"{self.pick(['', 'NOT '])}EXISTS ({self.select(scope, ['int'], depth)})"

    def _scalar(self, scope, depth):
        return f"{self.expression(scope, 'int', 1)} {self.pick(['=', '<', '>='])} ({self.scalar(scope, depth)})"

    def _quantified(self, scope, depth):
        return (f"{self.expression(scope, 'int', 1)} {self.pick(['=', '<', '>='])} {self.pick(['ANY', 'ALL'])} "
                f"({self.select(scope, ['int'], depth)})")

    def aggregate(self, scope, kind):
        """An aggregate that is an int or a text, or of any type (kind None)."""
        number = self.expression(scope, "int", 1)
        text = self.expression(scope, "text", 1)
        distinct = self.pick(["", "", "", "DISTINCT "])
        only = f" FILTER (WHERE {self._comparison(scope)})" if self.chance(0.15) else ""
        if kind == "text":
            return self.pick([f"min({text}){only}", f"max({text}){only}", f"string_agg({text}, ',' ORDER BY {text})"])
        if kind == "int":
            name = self.pick([f"count({distinct}", f"sum({distinct}", "min(", "max("])
            return f"{name}{number}){only}::int"
        return self.pick([
            f"count(*){only}", f"count({distinct}{number}){only}", f"sum({distinct}{number}){only}",
            f"round(avg({distinct}{number}){only}, 6)", f"round(stddev({number}){only}, 6)",
            f"bool_and({self._comparison(scope)}){only}", f"array_agg({distinct}{number} ORDER BY {number}){only}",
            f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {number})", f"mode() WITHIN GROUP (ORDER BY {number})"]
            + [f"sum({column}){only}" for column in self.columns(scope, "numeric")])

    def window(self, scope):
        one, two = (self.expression(scope, "int", 1) for _ in range(2))
        return self.pick([
            f"rank() OVER (PARTITION BY {one} ORDER BY {two})", f"dense_rank() OVER (ORDER BY {one})",
            f"sum({one}) OVER (PARTITION BY {two})", f"count(*) OVER (ORDER BY {one})", f"max({one}) OVER ()",
            f"sum({one}) OVER (PARTITION BY {two} ORDER BY {one} RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)"])

    # -- queries

    def first_rows(self, depth):
        """The first rows of partitions, by the value of a window function: a member of FROM."""
        text, scope = self.from_list([], depth - 1, most=1)
        keys = self.columns(scope, "int") or ["1"]
        key = self.pick([column for column in keys if column.endswith(".k")] * 3 + keys)
        order = self.expression(scope, "int", 1)
        value = self.pick([f"{name} OVER (PARTITION BY {key} ORDER BY {order}{self.pick(['', ' DESC'])})"
                           for name in ["rank()", "dense_rank()", "count(*)", f"count({self.expression(scope, 'int', 1)})"]])
        where = f" WHERE {self.condition(scope, 0)}" if self.chance(0.3) else ""
        first = f"{self.pick(['<=', '<=', '<', '='])} {self.number(1, 3)}"
        alias, inner = self.alias("q"), self.alias("w")
        return (f"(SELECT * FROM (SELECT {key}, {self.expression(scope, 'text')}, {value} FROM {text}{where}) {inner} (c0, c1, c2)"
                f" WHERE c2 {first}) {alias} (c0, c1, c2)", (alias, {"c0": "int", "c1": "text", "c2": "int"}))

    def item(self, outer, depth):
        """A member of FROM: (text, (alias, columns))."""
        if depth > 0 and self.chance(0.04):
            return self.first_rows(depth)
        if outer and self.chance(0.05):
            return self.top_rows(outer)
        if depth > 0 and self.chance(0.22):
            kinds = [self.pick(["int", "int", "text"]) for _ in range(self.number(1, 3))]
            alias = self.alias("q")
            lateral = bool(outer) and self.chance(0.3)
            query = self.select(outer if lateral else [], kinds, depth - 1)
            names = ", ".join(f"c{i}" for i in range(len(kinds)))
            return (f"{'LATERAL ' if lateral else ''}({query}) {alias} ({names})",
                    (alias, {f"c{i}": kind for i, kind in enumerate(kinds)}))
        if self.chance(0.05):
            return self.function(outer)
        if self.chance(0.04):
            alias = self.alias("v")
            return f"{VALUES} {alias} (c0, c1)", (alias, {"c0": "int", "c1": "text"})
        if self.ctes and self.chance(0.3):
            name, columns = self.pick(self.ctes)
        else:
            name = self.pick(READ_OFTEN)
            columns = TABLES[name] | ({TABLEOID: "text"} if self.chance(WITH_TABLEOID) else {})
        alias = self.alias(name[0])
        return f"{name} {alias}", (alias, columns)

    def top_rows(self, outer):
        """The first rows, by all columns, that a column of another member of FROM, or of an outer query, leads to."""
        name = self.pick(READ_OFTEN)
        inner, alias = self.alias("t"), self.alias("n")
        columns = {f"{inner}.{column}": kind for column, kind in TABLES[name].items() if kind in ("int", "text", "date")}
        item = (inner, TABLES[name])
        more = f" AND {self.condition([item], 0)}" if self.chance(0.3) else ""
        order = ", ".join(f"{place}{self.pick(['', '', ' DESC'])}" for place in range(1, len(columns) + 1))
        shown = {f"c{i}": kind for i, kind in enumerate(columns.values())}
        return (f"LATERAL (SELECT {', '.join(columns)} FROM {name} {inner} WHERE {self.equality(outer, item) or 'true'}{more} "
                f"ORDER BY {order} LIMIT {self.number(1, 3)}) {alias} ({', '.join(shown)})", (alias, shown))

    def function(self, outer):
        """A function, or VALUES, of constants or of columns of other members of FROM, or of outer queries."""
        one, two = (self.expression(outer, "int", 1) for _ in range(2))
        alias = self.alias("f")
        kind, text = self.pick([
            ("int", f"generate_series(least({one}, 3), least({two}, 5))"), ("int", f"unnest(ARRAY[{one}, {two}, 3])"),
            ("int", f"(VALUES ({one}), ({two}))"),
            ("text", f"string_to_table({self.expression(outer, 'text', 1)}, 't')"),
            ("text", f"jsonb_array_elements_text(jsonb_build_array({one}, {self.expression(outer, 'text', 1)}))")])
        return f"LATERAL {text} {alias} (c0)", (alias, {"c0": kind})

    def equality(self, scope, item):
        """A condition of a join, often on columns called k; None if there is none."""
        kind = self.pick(["int", "int", "int", "text"])
        left, right = self.columns(scope, kind), self.columns([item], kind)
        if not left or not right:
            return None
        if self.chance(0.6):
            left = [column for column in left if column.endswith(".k")] or left
            right = [column for column in right if column.endswith(".k")] or right
        return f"{self.pick(left)} = {self.pick(right)}"

    def from_list(self, outer, depth, most=2):
        """(text, scope) of up to so many joins."""
        text, item = self.item(outer, depth)
        scope = [item]
        for _ in range(self.pick([0, 0, 1, 1, 1, 2][:2 + 2 * most])):
            more, item = self.item(outer + scope, depth)
            join = self.pick(JOINS)
            on = self.equality(scope, item)
            if on is None or more.startswith("LATERAL"):
                join = self.pick(["JOIN", "LEFT JOIN"])
            if join != "FULL JOIN" and self.chance(0.3):
                on = " AND ".join(filter(None, [on, self.condition(scope + [item], min(depth, 1) - 1)]))
            text = f"{text} {join} {more} ON {on or 'true'}"
            scope = scope + [item]
        return text, scope

    def scalar(self, outer, depth):
        """A query of one row and one int."""
        text, scope = self.from_list(outer, depth, most=1)
        return (f"SELECT {self.aggregate(scope, 'int')} FROM {text} WHERE {self.condition(scope + outer, depth - 1)}"
                f"{self.correlation(outer, scope)}")

    def correlation(self, outer, scope):
        """Often a condition that ties a row to one of an outer query, by the columns that are good for joins."""
        on = self.equality(outer, self.pick(scope)) if outer and self.chance(0.5) else None
        return f" AND {on}" if on else ""

    def select(self, outer, kinds, depth, top=False):
        """A query of columns of these kinds, which may use those of outer queries."""
        if depth > 0 and self.chance(0.15):
            return (f"({self.select(outer, kinds, depth - 1)}) {self.pick(SET_OPERATIONS)} "
                    f"({self.select(outer, kinds, depth - 1)})")
        text, scope = self.from_list(outer, depth)
        if self.chance(0.75):
            text += f" WHERE {self.condition(scope + outer, depth)}{self.correlation(outer, scope)}"
        if self.chance(0.28):
            return self._grouped(text, scope, kinds, top)
        shown = [self.expression(scope if top else scope + outer, kind) for kind in kinds]
        if top and self.chance(0.2):
            shown.append(self.window(scope))
        if top and self.chance(0.25):
            shown.append(f"({self.scalar(scope, depth - 1)})")
        return f"SELECT {self.pick(['', '', '', '', 'DISTINCT '])}{', '.join(shown)} FROM {text}{self._order(len(shown))}"

    def _grouped(self, text, scope, kinds, top):
        """Grouped by all columns but the last; columns of outer queries would have to be grouped, too."""
        keys = [self.pick(self.columns(scope, kind) or [None]) for kind in kinds[:-1]]
        shown = [key or self.constant(kind) for key, kind in zip(keys, kinds)]
        last = kinds[-1] if kinds[-1] == "text" else "int"
        shown.append(self.aggregate(scope, last) + {"date": " + date '2024-01-01'", "bool": " > 3"}.get(kinds[-1], ""))
        if top:
            shown.append(self.aggregate(scope, None))
        keys = sorted(set(filter(None, keys)))
        if keys:
            sets = self.chance(0.3)
            text += f" GROUP BY {self._grouping_sets(keys) if sets else ', '.join(keys)}"
            if top and sets:
                shown.append(f"grouping({', '.join(keys)})")
        if self.chance(0.25):
            text += f" HAVING {self.aggregate(scope, 'int')} {self.pick(['>', '<', '<>'])} {self.number(0, 4)}"
        return f"SELECT {', '.join(shown)} FROM {text}"

    def _grouping_sets(self, keys):
        """What GROUP BY says so that keys are grouped in several ways."""
        names = ", ".join(keys)
        some = ", ".join(self.random.sample(keys, self.number(1, len(keys))))
        sets = ", ".join(self.random.sample([f"({names})", f"({keys[0]})", f"({some})", "()", f"ROLLUP ({some})"], 3))
        return self.pick([f"ROLLUP ({names})", f"CUBE ({names})", f"GROUPING SETS ({sets})", f"{keys[0]}, CUBE ({some})"])

    def _order(self, count):
        """Sometimes ORDER BY all columns, with or without LIMIT."""
        if not self.chance(0.15):
            return ""
        order = ", ".join(f"{i + 1}{self.pick(['', ' DESC', ' NULLS FIRST'])}" for i in range(count))
        limit = f" LIMIT {self.number(1, 12)} OFFSET {self.number(0, 3)}" if self.chance(0.8) else ""
        return f" ORDER BY {order}{limit}"

    def query(self):
        """A whole query."""
        parts = []
        for _ in range(self.pick([0, 0, 0, 0, 1, 2])):
            kinds = [self.pick(["int", "text"]) for _ in range(self.number(1, 3))]
            name = self.alias("cte")
            columns = {f"c{i}": kind for i, kind in enumerate(kinds)}
            how = self.pick(["", "MATERIALIZED ", "NOT MATERIALIZED "])
            parts.append(f"{name} ({', '.join(columns)}) AS {how}({self.select([], kinds, 1)})")
            self.ctes = self.ctes + [(name, columns)]
        kinds = [self.pick(["int", "int", "int", "text", "date", "bool"]) for _ in range(self.number(1, 4))]
        query = self.select([], kinds, self.pick([1, 2, 2, 3]), top=True)
        return f"WITH {', '.join(parts)} {query}" if parts else query

    # -- the order of subqueries

    def sorted_member(self):
        """A query with ORDER BY all its columns, the first one ascending, and the types of its columns c0, c1, .."""
        kinds = [self.pick(["int", "int", "text"]) for _ in range(self.number(1, 3))]
        columns = {f"c{i}": kind for i, kind in enumerate(kinds)}
        order = ", ".join(f"{i + 1}{self.pick(['', '', ' DESC', ' NULLS FIRST']) if i else ''}" for i in range(len(kinds)))
        if self.chance(0.5):
            return f"SELECT * FROM ({self.select([], kinds, 1)}) {self.alias('i')} ({', '.join(columns)}) ORDER BY {order}", columns
        text, scope = self.from_list([], 0, most=1)
        shown = [f"{self.expression(scope, kind)} AS c{i}" for i, kind in enumerate(kinds)]
        where = f" WHERE {self.condition(scope, 1)}" if self.chance(0.5) else ""
        return f"SELECT {', '.join(shown)} FROM {text}{where} ORDER BY {order}", columns

    def first_of_sorted(self):
        """(whether its rows have an order, a query whose answer depends on the order of a subquery's rows)."""
        query, columns = self.sorted_member()
        alias = self.alias("s")
        scope = [(alias, columns)]
        names = ", ".join(columns)
        source = f"({query}) {alias} ({names})"
        # without subqueries: joins with those may take the rows in any order
        where = f" WHERE {self._comparison(scope)}" if self.chance(0.3) else ""
        limit = self.pick([f" LIMIT {self.number(1, 9)}", f" OFFSET {self.number(1, 9)}", f" LIMIT {self.number(1, 9)} OFFSET {self.number(1, 9)}"])
        shown = ", ".join(self.expression(scope, self.pick(["int", "text"]), 1) for _ in range(self.number(1, 3)))
        last = list(columns)[-1]
        return self.pick([
            (True, f"SELECT {shown} FROM {source}{where}{limit}"),
            (True, f"SELECT * FROM {source}{where}{limit}"),
            (True, f"SELECT c0 FROM {source}{where} ORDER BY c0{limit}"),
            (True, f"WITH {alias} ({names}) AS {self.pick(['', 'MATERIALIZED '])}({query}) SELECT * FROM {alias}{where}{limit}"),
            (True, f"SELECT *, row_number() OVER (), first_value({last}) OVER () FROM {source}{where}{self.pick(['', limit])}"),
            (True, f"SELECT DISTINCT ON (c0) * FROM {source}{where}{self.pick(['', ' ORDER BY c0', ' ORDER BY c0' + limit])}"),
            (True, f"({query}) UNION ALL ({query}){limit}"),
            (False, f"SELECT array_agg({last}), string_agg({last}::text, ','), json_agg(c0) FROM {source}{where}"),
            (False, f"SELECT c0, array_agg({last}) FROM {source}{where} GROUP BY c0"),
            (False, f"SELECT ARRAY(SELECT {last} FROM {source}{where}{limit})"),
            (False, f"SELECT count(*), min({last}), max(c0) FROM (SELECT * FROM {source}{where}{limit}) {self.alias('z')}"),
            (False, f"SELECT count(*), min({last}) FROM {source}{where}"),
            (False, f"SELECT * FROM {self.pick(['a', 'b', 'p'])} WHERE k IN (SELECT length(c0::text) FROM {source}{where}{limit})")])

    # -- writes

    def chosen_by_ctid(self, table):
        """A condition that some rows satisfy, the first ones by all columns, so that equal rows can stand for each other."""
        alias = self.alias("t")
        scope = [(alias, TABLES[table])]
        order = ", ".join(f"{alias}.{name}" for name in TABLES[table])
        chosen = f"SELECT {alias}.ctid FROM {table} {alias} WHERE {self.condition(scope, 1)} ORDER BY {order} LIMIT {self.number(1, 6)}"
        return self.pick([f"{table}.ctid IN ({chosen})", f"{table}.ctid = ANY (ARRAY({chosen}))"])

    def write_by_ctid(self, table):
        """A write of as many rows as its LIMIT says, even if there are equal ones."""
        change = self.pick([name for name, kind in TABLES[table].items() if kind == "text"])
        what = self.pick([f"DELETE FROM {table}", f"UPDATE {table} SET {change} = {self.expression([(table, TABLES[table])], 'text', 1)}"])
        return f"{what} WHERE {self.chosen_by_ctid(table)}"

    def read_by_ctid(self, table):
        """A query that joins a table with itself by ctid or xmin, or looks for rows by ctid."""
        one, two = self.alias("t"), self.alias("t")
        key = " AND ".join(f"{two}.{name} = {one}.{name}" for name in UNIQUE.get(table, ["ctid"]))
        return self.pick([
            f"SELECT count(*) FROM {table} {one} JOIN {table} {two} ON {key} AND {two}.xmin = {one}.xmin "
            f"WHERE {self.condition([(one, TABLES[table])], 0)}",
            f"SELECT count(*), count(DISTINCT {one}.ctid) FROM {table} {one} JOIN {table} {two} ON {two}.ctid = {one}.ctid",
            f"SELECT {one}.* FROM {table} {one} WHERE EXISTS (SELECT FROM {table} {two} WHERE {two}.ctid = {one}.ctid "
            f"AND {self.condition([(two, TABLES[table])], 0)})", f"SELECT * FROM {table} WHERE {self.chosen_by_ctid(table)}"])

    def nested(self, table):
        """The statements of a transaction that writes a table in savepoints or blocks that catch errors, some of them undone."""
        block = ["BEGIN"]
        for _ in range(self.number(1, 3)):
            write = self.write(self.pick([table, table, *WRITABLE]))
            block += self.pick([
                ["SAVEPOINT s", write, self.pick(["ROLLBACK TO s", "RELEASE s"])],
                ["SAVEPOINT s", write, "SAVEPOINT s", self.write(table), "ROLLBACK TO s", f"SELECT * FROM {table}", "RELEASE s",
                 self.pick(["ROLLBACK TO s", "RELEASE s"])],
                [write, "SAVEPOINT s", "SELECT 1 / 0", "ROLLBACK TO s"],
                [self.caught(table)]])
            block.append(f"SELECT * FROM {table}")
        return [*block, self.query(), "ROLLBACK"]

    def caught(self, table):
        """A DO block that writes, and writes again in a block of its own that an error undoes, or that ends well."""
        first, second, third = (self.write(table, returning=False) for _ in range(3))
        error = self.pick(["RAISE 'undone';", "PERFORM 1 / 0;", ""])
        return f"DO $$ BEGIN {first}; BEGIN {second}; {error} EXCEPTION WHEN OTHERS THEN {third}; END; END $$"

    def write(self, table, returning=True):
        """A write whose outcome doesn't depend on the order of rows."""
        columns = TABLES[table]
        scope = [(table, columns)]
        free = [name for name in columns if name not in UNIQUE.get(table, []) + GENERATED.get(table, []) and
                name != DISTRIBUTED_BY.get(table)]
        returning = f" RETURNING {', '.join(f'{table}.{name}' for name in columns)}" if returning and self.chance(0.5) else ""
        kind = self.pick([self._update, self._update, self._update_from, self._delete, self._insert])
        return kind(table, scope, free) + returning

    def _update(self, table, scope, free):
        changes = []
        for name in self.random.sample(free, min(len(free), self.number(1, 2))):
            kind = {"numeric": "int"}.get(TABLES[table][name], TABLES[table][name])
            query = kind == "int" and self.chance(0.2)
            changes.append(f"{name} = " + (f"({self.scalar(scope, 1)})" if query else self.expression(scope, kind)))
        return f"UPDATE {table} SET {', '.join(changes)} WHERE {self.condition(scope)}"

    def _update_from(self, table, scope, free):
        """From a source with one row for each key."""
        number = next((name for name in free if TABLES[table][name] == "int"), None)
        source = self.pick([name for name in TABLES if name != table])
        numbers = [name for name, kind in TABLES[source].items() if kind == "int"]
        if number is None:
            return self._delete(table, scope, free)
        return (f"UPDATE {table} SET {number} = src.v FROM (SELECT {self.pick(numbers)} AS kk, max({self.pick(numbers)}) "
                f"AS v FROM {source} GROUP BY 1) src WHERE src.kk = {self.pick(self.columns(scope, 'int'))} "
                f"AND {self.condition(scope, 1)}")

    def _delete(self, table, scope, _free):
        if self.chance(0.5):
            return f"DELETE FROM {table} WHERE {self.condition(scope)}"
        text, source = self.from_list([], 1)
        return f"DELETE FROM {table} USING {text} WHERE {self.equality(scope, source[0]) or self.condition(scope, 1)}"

    def _insert(self, table, _scope, _free):
        """Columns of a key are numbered anew; a distribution column can't be null."""
        given = {name: kind for name, kind in TABLES[table].items() if name not in GENERATED.get(table, [])}
        kinds = [{"bigint": "int", "numeric": "int"}.get(kind, kind) for kind in given.values()]
        values = [f"{self.number(1000, 90000)} + row_number() OVER (ORDER BY q)" if name in UNIQUE.get(table, [])
                  else f"coalesce(q.c{i}, {self.constant(kinds[i])})" if name == DISTRIBUTED_BY.get(table) else f"q.c{i}"
                  for i, name in enumerate(given)]
        names = ", ".join(f"c{i}" for i in range(len(kinds)))
        limit = LIMITED if self.chance(0.5) else ""
        conflict = " ON CONFLICT DO NOTHING" if self.chance(0.2) else ""
        return (f"INSERT INTO {table} ({', '.join(given)}) SELECT {', '.join(values)} "
                f"FROM ({self.select([], kinds, 1)}) q ({names}){limit}{conflict}")
