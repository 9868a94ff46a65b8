"""TPC-DS's 99 queries on a plain server and on a cluster, sales and returns distributed by item.

Data and queries are those of DuckDB's generator, two packages of the Python
Package Index.  Servers run without parallel query, but for those that
`--parallel` names; answers are compared, times are medians of the rounds.
Queries that take plain PostgreSQL longer than the limit are left out of the sum.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import analytics
import servers

LAYOUT = "by-item"
PACKAGES = "duckdb==1.4.4 duckdb-ext-tpcds==1.4.4.20260205"

# table -> distribution column; all others are reference tables
DISTRIBUTED = {"store_sales": "ss_item_sk", "store_returns": "sr_item_sk", "catalog_sales": "cs_item_sk",
               "catalog_returns": "cr_item_sk", "web_sales": "ws_item_sk", "web_returns": "wr_item_sk",
               "inventory": "inv_item_sk"}


def open_generator():
    """A DuckDB connection with TPC-DS's functions; ends the program if the packages are missing."""
    try:
        import duckdb
        import duckdb_ext
    except ImportError:
        raise SystemExit(f"bench: DuckDB is missing; run .venv/bin/pip install {PACKAGES}") from None
    found = [path for root in duckdb_ext.__path__ for path in Path(root).rglob("tpcds.duckdb_extension")]
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{found[0]}'")
    return connection


def generate(connection, scale, folder):
    """Tables as {name: [(column, type), ..]}; their rows are in the folder as CSV."""
    connection.execute(f"CALL dsdgen(sf={float(scale)})")
    tables = {}
    for name, column, kind in connection.execute("SELECT table_name, column_name, data_type FROM information_schema.columns "
                                                 "ORDER BY table_name, ordinal_position").fetchall():
        tables.setdefault(name, []).append((column, kind))
    for name in tables:
        connection.execute(f"COPY {name} TO '{folder}/{name}.csv' (FORMAT csv, HEADER false)")
    return tables


def load(side, tables, folder, schema):
    """Make and fill the tables; in the schema of the layout they are distributed."""
    with side.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{schema}"')
        connection.execute(f'SET search_path = "{schema}"')
        for name, columns in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(' '.join(column) for column in columns)})")
            if schema == LAYOUT and name in DISTRIBUTED:
                connection.execute("SELECT create_distributed_table(%s, %s)", (name, DISTRIBUTED[name]))
            elif schema == LAYOUT:
                connection.execute("SELECT create_reference_table(%s)", (name,))
            with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy, open(folder / f"{name}.csv", "rb") as rows:
                while block := rows.read(1 << 20):
                    copy.write(block)
            if name in DISTRIBUTED:
                connection.execute(f"CREATE INDEX ON {name} ({DISTRIBUTED[name]})")
            else:
                connection.execute(f"ALTER TABLE {name} ADD PRIMARY KEY ({columns[0][0]})")
            connection.execute(f"VACUUM ANALYZE {name}")


def main():
    """Runs the benchmark; exits with 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="bench/tpcds", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="0.1", help="TPC-DS's scale factor (0.1)")
    parser.add_argument("--query", action="append", type=int, help="only these; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=60, help="seconds for a query (60)")
    analytics.add_parallel(parser)
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    generator = open_generator()
    total = {"plain": 0.0, LAYOUT: 0.0}
    failed = False
    with tempfile.TemporaryDirectory() as name, servers.start("cluster", args.base_port) as (plain, cluster):
        tables = generate(generator, args.scale, Path(name))
        load(plain, tables, Path(name), "plain")
        load(cluster, tables, Path(name), LAYOUT)
        analytics.limit_parallel(args.parallel, plain, cluster)
        connections = analytics.open_sides(plain, cluster, [LAYOUT], args.limit)
        print(f"query plain  {LAYOUT}")
        for number, text in generator.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
            if args.query and number not in args.query:
                continue
            if analytics.run_query(connections["plain"], text)[1] is None:
                print(f"{number:>5} left out: plain PostgreSQL takes longer than {args.limit} s", flush=True)
                continue
            seconds, wrong = analytics.measure(connections, text, args.rounds)
            failed |= bool(wrong)
            total = {name: taken + seconds[name] for name, taken in total.items()}
            analytics.show(str(number), seconds, wrong)
        analytics.show("sum", total, set())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
