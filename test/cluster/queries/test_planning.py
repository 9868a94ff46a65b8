"""What plans cost: compilation, scans that run many times, and as many parameters as the protocol allows."""

from xml.etree import ElementTree

import psycopg
import pytest

from harness.servers import fill, rows, value


@pytest.fixture
def plan(coordinator):
    """The lines of EXPLAIN ANALYZE."""
    return lambda query: [line.strip() for line, in rows(coordinator, f"EXPLAIN (ANALYZE, COSTS OFF) {query}")]


def test_guessed_cost_is_no_reason_to_compile(coordinator, table, plan):
    """A table that was never analyzed passes for a large one."""
    coordinator.execute("SET jit_above_cost = 1000")
    assert value(coordinator, "SHOW jit") == "on"
    assert "JIT:" not in plan(f"SELECT count(*) FROM {table} a JOIN {table} b USING (id) JOIN {table} c USING (id)")


@pytest.mark.parametrize("options", ["", "ANALYZE, BUFFERS, ", "VERBOSE, "])
def test_plans_of_tasks_are_part_of_the_document(coordinator, table, options):
    """In JSON, XML and YAML tools find all nodes of the plan, those on other servers as well."""
    coordinator.execute("SET citus.explain_all_tasks = on")
    query = f"SELECT a.id, count(*) FROM {table} a JOIN {table} b USING (payload) WHERE b.id = 3 OR a.payload = 7 GROUP BY a.id"
    document = str(value(coordinator, f"EXPLAIN ({options}FORMAT JSON) {query}"))
    assert "'Remote Plan': [[{'Plan': {'Node Type': " in document and document.count("'Seq Scan'") > 1
    tree = ElementTree.fromstring(value(coordinator, f"EXPLAIN ({options}FORMAT XML) {query}"))
    name = "{http://www.postgresql.org/2009/explain}"
    assert len(tree.findall(f".//{name}Remote-Plan/{name}explain/{name}Query/{name}Plan")) > 1
    lines = value(coordinator, f"EXPLAIN ({options}FORMAT YAML) {query}").split("\n")
    at = [line.strip() for line in lines].index("Remote Plan:")
    assert lines[at + 1].startswith(" " * lines[at].index("R") + "  - Plan:")


@pytest.mark.parametrize("correlation", ["b.payload >= a.id", "b.id = a.payload + 1 AND random() < 2", "a.id > 7"])
def test_scan_that_runs_often_keeps_its_rows(table, plan, correlation):
    """However many rows a query has, a correlated subquery asks the nodes for its own only a few times.

    Rows that are the same for all runs are kept from the second run on.  OFFSET 0 keeps it from becoming a join.
    """
    query = f"SELECT id, (SELECT count(*) FROM {table} b WHERE {correlation} OFFSET 0) FROM {table} a WHERE id <= "
    assert "Rows Kept: true" in plan(query + "20")
    assert "Rows Kept: true" not in plan(query + "5")


def test_too_many_rows_are_not_kept(coordinator, schema, table, plan):
    coordinator.execute("SET citus.shard_count = 2")
    fill(coordinator, f"{schema}.large", 6000)
    lines = plan(f"SELECT id, (SELECT count(*) FROM {schema}.large b WHERE b.id BETWEEN a.id AND a.id OFFSET 0) FROM {table} a")
    assert "Rows Kept: true" not in lines


def test_more_rows_are_kept_if_they_are_found_by_a_hash_table(coordinator, schema, table, plan):
    """The newest row of each parent: not a query for each, but one for all if it takes no longer than those before."""
    coordinator.execute("SET citus.shard_count = 2")
    fill(coordinator, f"{schema}.large", 20000)
    query = f"SELECT id, (SELECT b.id FROM {schema}.large b WHERE b.payload = a.id ORDER BY b.id DESC LIMIT 1) FROM {table} a WHERE random() < 2"
    assert "Rows Kept: true" in plan(query)
    expected = dict(rows(coordinator, f"SELECT payload, max(id) FROM {schema}.large GROUP BY 1"))
    assert all(newest == expected.get(number) for number, newest in rows(coordinator, query))
    coordinator.execute("SET work_mem = '64kB'")
    assert "Rows Kept: true" not in plan(query)


@pytest.mark.parametrize("subquery", [
    "a.id, (SELECT b.id FROM {large} b WHERE b.payload = a.id ORDER BY b.id DESC LIMIT 1) FROM {table} a",
    "a.id, newest FROM {table} a LEFT JOIN LATERAL (SELECT b.id FROM {large} b WHERE b.payload = a.id ORDER BY b.id DESC LIMIT 1) x (newest) ON true"])
def test_rows_for_the_next_runs_are_fetched_together(coordinator, schema, table, plan, subquery):
    """However little memory there is for the rows of a table, the nodes are not asked for each parent."""
    coordinator.execute("SET citus.shard_count = 2; SET work_mem = '64kB'; SET hash_mem_multiplier = 1")
    fill(coordinator, f"{schema}.large", 20000)
    query = "SELECT " + subquery.format(table=table, large=f"{schema}.large")
    expected = dict(rows(coordinator, f"SELECT payload, max(id) FROM {schema}.large GROUP BY 1"))
    assert all(newest == expected.get(number) for number, newest in rows(coordinator, query))
    lines = plan(query)
    assert any("Custom Scan (LookAhead)" in line for line in lines) and any(line.startswith("Largest Batch: ") for line in lines)
    assert "Rows Kept: true" not in lines
    coordinator.execute("DECLARE backward SCROLL CURSOR WITH HOLD FOR " + query)
    coordinator.execute("FETCH LAST FROM backward; FETCH PRIOR FROM backward")


@pytest.mark.parametrize("query, waves", [
    ("SELECT id, (SELECT payload FROM {t} b WHERE b.id = a.id ORDER BY payload LIMIT 1) FROM {t} a", 1),
    ("SELECT sum((SELECT count(*) FROM {t} b WHERE b.id = a.id)) FROM {t} a", 1),
    ("SELECT id FROM {t} a WHERE payload < 3 OR EXISTS (SELECT FROM {t} b WHERE b.id = a.id AND b.payload > 90)", 1),
    ("SELECT id FROM {t} a WHERE payload IN (SELECT payload FROM {t} b WHERE b.id = a.id) ORDER BY id LIMIT 3", 1),
    ("SELECT a.id, l.payload FROM {t} a, LATERAL (SELECT payload FROM {t} b WHERE b.id = a.id LIMIT 1) l", 1),
    ("SELECT id, u FROM {t} a, generate_series(1, payload) u", 1),
    ("SELECT payload, v FROM {t} a, LATERAL (VALUES (id), (payload)) v (v)", 1),
    ("SELECT id, (SELECT count(*) FROM {t} b WHERE b.id = a.payload) FROM {t} a", 2),
])
def test_subqueries_run_with_their_rows(table, plan, query, waves):
    """A subquery that is tied to the distribution column of the row around it is part of the nodes' one query."""
    lines = plan(query.format(t=table))
    assert sum("DistributedScan" in line for line in lines) == waves, lines


def test_small_side_of_reduced_joins_is_computed_once(coordinator, schema, table, plan):
    """The nodes get it for each join, and each join here reads it: as many as there are joins of joins."""
    coordinator.execute("SET citus.value_cost = 0")
    coordinator.execute("SET citus.tuple_transfer_cost = 1000")
    coordinator.execute(f"CREATE TABLE {schema}.small AS SELECT g AS id, g % 7 AS k FROM generate_series(1, 30) g")
    coordinator.execute(f"ANALYZE {schema}.small")
    query = (f"SELECT id FROM {schema}.small s WHERE EXISTS (SELECT FROM {table} a WHERE a.payload = s.k AND a.id <> s.id)"
             f" AND NOT EXISTS (SELECT FROM {table} b WHERE b.payload = s.id AND b.id > 90 + s.k)")
    lines = plan(query)
    assert sum("(SharedRows)" in line for line in lines) == 4, lines
    assert sum("Seq Scan on small" in line for line in lines) == 1, lines
    assert sum("DistributedScan" in line for line in lines) == 2, lines
    assert len(rows(coordinator, query)) == float(lines[0].split("rows=")[1].split()[0])


def test_reduced_side_has_no_more_values_than_rows_that_meet_them(coordinator, schema):
    """However many rows are expected to meet them: so nodes return each value once."""
    coordinator.execute("SET citus.tuple_transfer_cost = 10")
    coordinator.execute(f"CREATE TABLE {schema}.few (k int)")
    coordinator.execute(f"CREATE TABLE {schema}.many (id int, k int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.many', 'id')")
    coordinator.execute(f"INSERT INTO {schema}.few SELECT generate_series(1, 20)")
    coordinator.execute(f"INSERT INTO {schema}.many SELECT g, g % 1000 FROM generate_series(1, 4000) g")
    coordinator.execute(f"ANALYZE {schema}.few, {schema}.many")
    query = f"SELECT k FROM {schema}.few WHERE NOT EXISTS (SELECT FROM {schema}.many WHERE many.k = few.k)"
    lines = [line for line, in rows(coordinator, f"EXPLAIN (VERBOSE, COSTS OFF) {query}")]
    assert any("GROUP BY many.k" in line for line in lines), lines


@pytest.mark.parametrize("unique", ["PRIMARY KEY (a, b)", "CHECK (a > 0)"])
def test_join_on_several_columns_expects_references_to_a_key(coordinator, schema, unique):
    """Columns of a key aren't independent of each other: PostgreSQL alone expects five rows."""
    coordinator.execute(f"CREATE TABLE {schema}.keys (a int, b int, {unique})")
    coordinator.execute(f"CREATE TABLE {schema}.refs (id int, a int, b int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.keys', 'a')")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.refs', 'a', colocate_with => '{schema}.keys')")
    coordinator.execute(f"INSERT INTO {schema}.keys SELECT g, g * 7 % 1000 FROM generate_series(1, 1000) g")
    coordinator.execute(f"INSERT INTO {schema}.refs SELECT g, a, b FROM {schema}.keys, generate_series(1, 5) g")
    coordinator.execute(f"ANALYZE {schema}.keys, {schema}.refs")
    query = f"SELECT * FROM {schema}.refs JOIN {schema}.keys USING (a, b)"
    assert value(coordinator, f"EXPLAIN (FORMAT JSON) {query}")[0]["Plan"]["Plan Rows"] > 2500
    assert value(coordinator, f"EXPLAIN (FORMAT JSON) {query} WHERE id = 3")[0]["Plan"]["Plan Rows"] in range(500, 2000)


@pytest.mark.parametrize("values, grouped", [
    ("count(*), count(f.payload), sum(f.payload), min(f.payload)", True),
    ("count(f.payload), sum(r.id)", False),
    ("count(DISTINCT f.payload)", False),
])
def test_inner_side_of_an_outer_join_is_grouped_by_nodes(coordinator, schema, table, values, grouped):
    """Where nodes can't compute the join, since all of them have the outer side."""
    coordinator.execute("SET citus.tuple_transfer_cost = 100")
    coordinator.execute(f"CREATE TABLE {schema}.everywhere (id int, k int)")
    coordinator.execute(f"SELECT create_reference_table('{schema}.everywhere')")
    coordinator.execute(f"INSERT INTO {schema}.everywhere SELECT g, g % 7 FROM generate_series(1, 10) g")
    coordinator.execute(f"ANALYZE {schema}.everywhere")
    query = f"SELECT r.id, {values} FROM {schema}.everywhere r LEFT JOIN {table} f ON f.payload = r.k GROUP BY r.id"
    lines = [line.strip() for line, in rows(coordinator, f"EXPLAIN (VERBOSE, COSTS OFF) {query}")]
    assert ("GROUP BY payload" in lines) == grouped, lines


def test_long_list_of_parameters_is_one_array(coordinator, table):
    """A task reads one parameter, however many the statement has, and its text is the same for other numbers of them."""
    coordinator.execute("SET plan_cache_mode = force_generic_plan")
    members = ", ".join(["$2", "$2 + 1", "NULL", *map(str, range(7, 30))])
    coordinator.execute(f"PREPARE listed (int, int) AS SELECT count(*) FROM {table} WHERE id = $1 AND payload IN ({members})")
    try:
        lines = "".join(line for line, in rows(coordinator, "EXPLAIN (VERBOSE, COSTS OFF) EXECUTE listed (4, 3)"))
        assert "(payload = ANY ($2))" in lines
        assert [value(coordinator, f"EXECUTE listed (4, {first})") for first in (0, -1, 1)] == [1, 1, 0]
    finally:
        coordinator.execute("DEALLOCATE listed")


MOST = 65535
LIST = ", ".join(f"${i}::int" for i in range(1, MOST + 1))
ROWS = ", ".join(f"(${i}::int, ${i + 1}::int)" for i in range(1, MOST - 1, 2))


@pytest.mark.some(4)
@pytest.mark.parametrize("text, answer", [
    # one shard, with a constant and a value to evaluate here besides
    ("SELECT count(*) FROM {t} WHERE id = 50 AND now() IS NOT NULL AND payload IN ({list})", (1,)),
    ("SELECT count(*) FROM {t} WHERE payload > 5 AND payload IN ({list})", (95,)),
    ("SELECT count(*) FROM {t} a JOIN {t} b USING (id) WHERE a.id = 5 AND b.payload IN ({list})", (1,)),
    ("UPDATE {t} SET payload = -7 WHERE id = 51 AND payload IN ({list}) RETURNING payload", (-7,)),
    ("WITH u AS (UPDATE {t} SET payload = payload + 1 WHERE payload IN ({list}) RETURNING 1) SELECT count(*) FROM u", (100,)),
    ("UPDATE {r} SET payload = -8 WHERE id = 51 AND payload IN ({list}) RETURNING payload", (-8,)),
    ("INSERT INTO {t} VALUES (500, coalesce({list})) ON CONFLICT (id) DO UPDATE SET payload = 0 RETURNING id", (500,)),
    ("INSERT INTO {t} VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET payload = greatest({list}) RETURNING payload", (MOST,)),
    ("INSERT INTO {t} SELECT 1, 2 ON CONFLICT (id) DO UPDATE SET payload = greatest(excluded.payload, {list})"
     " RETURNING payload", (MOST,)),
    ("WITH i AS (INSERT INTO {t} VALUES {rows} ON CONFLICT (id) DO UPDATE SET payload = excluded.payload RETURNING 1)"
     " SELECT count(*), ${most}::int FROM i", (MOST // 2, MOST)),
    ("WITH i AS (INSERT INTO {r} VALUES {rows} ON CONFLICT (id) DO UPDATE SET payload = excluded.payload RETURNING 1)"
     " SELECT count(*), ${most}::int FROM i", (MOST // 2, MOST)),
])
def test_most_parameters(cluster, connect, schema, table, coordinator, text, answer):
    """A task has no more than its statement may, and is planned in time that grows with their number alone."""
    coordinator.execute(f"CREATE TABLE {schema}.r (id int PRIMARY KEY, payload int)")
    coordinator.execute(f"SELECT create_reference_table('{schema}.r')")
    for name in (table, f"{schema}.r"):
        coordinator.execute(f"INSERT INTO {name} SELECT g, g FROM generate_series(1, 100) g"
                            " ON CONFLICT (id) DO UPDATE SET payload = excluded.payload")
    connection = connect(cluster.coordinator, cursor_factory=psycopg.RawCursor)
    connection.execute("SET statement_timeout = '60s'")
    query = text.format(t=table, r=f"{schema}.r", list=LIST, rows=ROWS, most=MOST)
    assert connection.execute(query, list(range(1, MOST + 1))).fetchall() == [answer]


@pytest.mark.parametrize("shards, custom, unprepared", [(256, 1, 0), (8, 5, 1)])
def test_generic_plans_of_tasks(coordinator, schema, shards, custom, unprepared):
    """A task of very many shards is prepared at once, and has a generic plan from its second execution on, others as on one server."""
    coordinator.execute(f"SET citus.shard_count = {shards}")
    coordinator.execute("SET citus.max_adaptive_executor_pool_size = 1")    # a further session would count for itself
    fill(coordinator, f"{schema}.wide", 1000)
    coordinator.execute(f"UPDATE {schema}.wide SET payload = id")
    coordinator.execute(f"CREATE INDEX ON {schema}.wide (payload)")
    coordinator.execute(f"ANALYZE {schema}.wide")
    # said to be immutable, it runs where its rows are; tells of the plans of its task
    coordinator.execute(f"""
        CREATE FUNCTION {schema}.plans(id bigint) RETURNS text IMMUTABLE LANGUAGE sql AS
            $$ SELECT custom_plans || ' ' || generic_plans FROM pg_prepared_statements
               WHERE statement LIKE '%%plans(%%' AND statement LIKE '%%{schema}.wide%%' $$""")
    query = f"SELECT count(*) FROM {schema}.wide WHERE payload = %s AND {schema}.plans(id) LIKE '%% 0'"
    found = [coordinator.execute(query, [payload], prepare=True).fetchone()[0] for payload in range(1, 12)]
    assert found == [0] * unprepared + [1] * custom + [0] * (11 - unprepared - custom)


@pytest.mark.parametrize("options", ["COSTS OFF", "ANALYZE, COSTS OFF", "VERBOSE, FORMAT JSON"])
@pytest.mark.parametrize("condition", ["payload = 3", "id = 3", "payload > 3 AND id < 90"])
def test_explain_of_functions_of_users(coordinator, schema, table, options, condition):
    """A node analyses such a task once more by exact names, also in EXPLAIN, where its constants are parameters."""
    coordinator.execute(f"CREATE FUNCTION {schema}.half(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1 / 2; END $$")
    lines = rows(coordinator, f"EXPLAIN ({options}) SELECT id FROM {table} WHERE {condition} AND {schema}.half(id) = 1")
    assert "half(" in str(lines) and "Computed Here" not in str(lines), lines


@pytest.mark.parametrize("condition", ["(id = {0} AND payload = {1})", "(id = {0} AND payload > {1})", "id = {0} AND payload IS NULL"])
def test_long_conditions_are_divided_among_the_shards(coordinator, table, plan, condition):
    """Each arm of an OR is planned for the shard that can have its rows, and not for all of them."""
    coordinator.execute("SET citus.explain_all_tasks = on")
    arms = [condition.format(i, i % 5) for i in range(60)]
    lines = [line for line in plan(f"SELECT * FROM {table} WHERE {' OR '.join(arms)}") if "Filter:" in line or "Cond:" in line]
    # once to find it in an index, once to check it again, once with the rest
    assert {sum(f"id = {i})" in line for line in lines) for i in range(60)} <= {1, 2, 3}


def test_long_arrays_are_divided_among_the_shards(coordinator, table, plan):
    """Neither elements of other shards nor, for another column, all elements are planned for each shard."""
    coordinator.execute("SET citus.explain_all_tasks = on")
    elements = ", ".join(map(str, range(1200)))
    lines = [line for line in plan(f"SELECT * FROM {table} WHERE id IN ({elements})") if "ANY ('{" in line]
    assert 1200 <= sum(line.count(",") + 1 for line in lines) <= 3 * 1200
    lines = plan(f"SELECT * FROM {table} WHERE payload IN ({elements})")
    assert [line for line in lines if "ANY ('{" in line] == [] and any("ProjectSet" in line for line in lines)


def test_groups_see_the_order_of_a_sorted_subquery(coordinator, table, plan):
    """A table that was never analyzed passes for a large one, whose rows would be sorted by group, each group in any order."""
    query = f"SELECT id % 3, array_agg(id) FROM (SELECT * FROM {table} ORDER BY id DESC) x GROUP BY 1"
    assert not any(line.startswith("Sort Key: ") and "%" in line for line in plan(query))
    groups = [ids for _, ids in rows(coordinator, query)]
    assert len(groups) == 3 and all(ids == sorted(ids, reverse=True) for ids in groups)


MANY_STATEMENTS = [
    "SELECT * FROM {t} WHERE owner = 7",
    "SELECT count(*), sum(owner), min(note) FROM {t} WHERE owner % 3 = 1",
    "SELECT a.id, b.note FROM {t} a JOIN {t} b ON b.id = a.id WHERE a.owner < 20",
    "SELECT a.id, b.note FROM {t} a LEFT JOIN {t} b ON b.id = a.id WHERE a.owner < 20",
    "SELECT a.id, b.id, b.note FROM {t} a LEFT JOIN {t} b ON b.id = a.owner AND b.note <> 'n5' WHERE a.id < 40",
    "SELECT a.id, b FROM {t} a LEFT JOIN {t} b ON b.id = a.id + 1 AND b.owner > 3 WHERE a.id < 20",
    "SELECT id, row_number() OVER (PARTITION BY owner % 5 ORDER BY id) FROM {t} WHERE id < 100",
    "SELECT t FROM {t} t WHERE t IS NOT NULL AND id < 10",
    "SELECT id FROM {t} a WHERE NOT EXISTS (SELECT FROM {t} b WHERE b.id = a.id AND b.owner > 5)",
    "SELECT id, (SELECT max(note) FROM {t} b WHERE b.id = a.id) FROM {t} a WHERE owner BETWEEN 3 AND 9",
    "SELECT owner % 7, count(DISTINCT note) FROM {t} GROUP BY 1",
    "SELECT id FROM {t} UNION ALL SELECT owner FROM {t} WHERE id < 3",
    "SELECT id, note FROM {t} ORDER BY owner DESC, id LIMIT 5",
]


def test_many_shards_are_one_append(coordinator, schema):
    """From 64 shards of a node on, their union is planned in groups; the plan is as flat as with few."""
    coordinator.execute("SET citus.shard_count = 200")
    for name in ("many", "plain"):
        coordinator.execute(f"CREATE TABLE {schema}.{name} (id int PRIMARY KEY, owner int, note text)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.many', 'id')")
    for name in ("many", "plain"):
        coordinator.execute(f"INSERT INTO {schema}.{name} SELECT i, i % 500, 'n' || i % 11 FROM generate_series(1, 3000) i")
    coordinator.execute(f"CREATE INDEX ON {schema}.many (owner, id)")
    coordinator.execute(f"ANALYZE {schema}.many")
    for statement in MANY_STATEMENTS:
        found, wanted = (sorted(map(str, rows(coordinator, statement.format(t=f"{schema}.{name}")))) for name in ("many", "plain"))
        assert found == [row.replace(f"{schema}.plain", f"{schema}.many") for row in wanted], statement

    def nodes(query):
        lines = [line for line, in rows(coordinator, f"EXPLAIN (COSTS OFF) {query.format(t=f'{schema}.many')}")]
        return [line.strip(" ->") for line in lines if "->" in line and " on " not in line]

    assert nodes("SELECT * FROM {t} WHERE owner = 7") == ["Append"]
    assert nodes(MANY_STATEMENTS[-1])[-1] == "Merge Append"
    assert "Custom Scan (ShardAppend)" in nodes(MANY_STATEMENTS[3])     # 18 knows the inner join of a table with itself to be a scan
