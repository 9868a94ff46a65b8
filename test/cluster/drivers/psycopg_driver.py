"""psycopg 3, which prepares what it executes for the sixth time: `psycopg_driver.py PORT SSLMODE`."""

import sys
import threading
from contextlib import ExitStack

import psycopg

KEYS = range(1, 61)


def connect(**options):
    return psycopg.connect(f"postgresql://postgres@127.0.0.1:{sys.argv[1]}/postgres?sslmode={sys.argv[2]}", **options)


def reader(number, failures):
    try:
        with connect(autocommit=True) as connection:
            for key in KEYS:
                assert connection.execute("SELECT name FROM keyed WHERE id = %s", [key]).fetchone() == (f"n{key}",)
                connection.execute("UPDATE keyed SET amount = amount + %s WHERE id = %s", [1, key])
    except BaseException as error:
        failures.append((number, error))


def blocks(connection):
    with connection.cursor() as cursor:
        cursor.executemany("UPDATE keyed SET amount = amount + %s WHERE id = %s", [(1, key) for key in KEYS])
        cursor.executemany("INSERT INTO keyed VALUES (%s, %s) RETURNING id", [(1000 + key, "new") for key in KEYS], returning=True)
    connection.commit()
    try:
        with connection.transaction(), connection.transaction():
            connection.execute("DELETE FROM keyed WHERE id = %s", [1000 + KEYS[0]])
            connection.execute("SELECT 1 / 0")
    except psycopg.errors.DivisionByZero:
        pass
    with connection.cursor(name="on_the_server") as cursor:
        cursor.itersize = 7
        assert [key for key, in cursor.execute("SELECT id FROM keyed WHERE id > 1000 ORDER BY id")] == [1000 + key for key in KEYS]
    connection.rollback()


def transactions(connection):
    """Transactions about one key; nothing is changed in the end."""
    for key in KEYS:
        amount, = connection.execute("SELECT amount FROM keyed WHERE id = %s FOR UPDATE", [key]).fetchone()
        for change in (1, -1):
            connection.execute("UPDATE keyed SET amount = amount + %s WHERE id = %s", [change, key])
            assert connection.execute("SELECT amount FROM keyed WHERE id = %s FOR UPDATE", [key]).fetchone() == \
                (amount + (change + 1) // 2,)
        connection.commit()


def main():
    failures = []
    threads = [threading.Thread(target=reader, args=[number, failures]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    with ExitStack() as stack:
        connection, other = (stack.enter_context(connect()) for _ in range(2))
        blocks(connection)
        transactions(connection)
        assert other.execute("SELECT sum(amount) FROM keyed").fetchone() == (len(KEYS) * (len(threads) + 1),)
        with connection.cursor().copy("COPY keyed FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "int4"])
            copy.write_row((2000, "copied", 0))
        connection.commit()
        assert other.execute("SELECT name FROM keyed WHERE id = 2000").fetchone() == ("copied",)


main()
