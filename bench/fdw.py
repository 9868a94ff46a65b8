"""The second baseline: hash partitions on two other servers through postgres_fdw, without the extension."""

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict

PARTITIONS = 8


def set_up(side):
    """Make the other servers known to the entry server."""
    with side.connect() as connection:
        connection.execute("CREATE EXTENSION postgres_fdw")
        for number, dsn in enumerate(side.others):
            port = conninfo_to_dict(dsn)["port"]
            connection.execute(f"""
                CREATE SERVER other_{number} FOREIGN DATA WRAPPER postgres_fdw
                OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres', batch_size '1000')""")
            connection.execute(f"CREATE USER MAPPING FOR postgres SERVER other_{number} OPTIONS (user 'postgres')")


def create(side, statements, distribution):
    """Make tables with all their indexes on the other servers, and partitioned tables over them here."""
    names = "|".join(table for table, _ in distribution)
    others = [psycopg.connect(dsn, autocommit=True) for dsn in side.others]
    with side.connect() as entry:
        for table, column in distribution:
            entry.execute(f"DROP TABLE IF EXISTS {table}, {table}_model")
        for statement in statements:
            entry.execute(re.sub(rf"\b({names})", r"\1_model", statement))
        for table, column in distribution:
            entry.execute(f"CREATE TABLE {table} (LIKE {table}_model) PARTITION BY HASH ({column})")
        for part in range(PARTITIONS):
            number = part % len(others)
            for table, _ in distribution:
                others[number].execute(f"DROP TABLE IF EXISTS {table}_p{part}")
            for statement in statements:
                others[number].execute(re.sub(rf"\b({names})", rf"\1_p{part}", statement))
            for table, _ in distribution:
                entry.execute(f"""
                    CREATE FOREIGN TABLE {table}_p{part} PARTITION OF {table}
                    FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part}) SERVER other_{number}""")
    for connection in others:
        connection.close()


def load(side, table, chunks):
    """Fill a table: COPY sends a foreign table one row at a time before PostgreSQL 16, INSERT .. SELECT a batch."""
    with side.connect() as entry:
        with entry.cursor() as cursor, cursor.copy(f"COPY {table}_model FROM STDIN") as stream:
            for chunk in chunks:
                stream.write(chunk)
        entry.execute(f"INSERT INTO {table} SELECT * FROM {table}_model")
        entry.execute(f"TRUNCATE {table}_model")
