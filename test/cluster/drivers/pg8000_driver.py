"""pg8000, which parses an unnamed statement each time unless told to prepare: `pg8000_driver.py PORT SSLMODE`."""

import io
import ssl
import sys

import pg8000.dbapi
import pg8000.native

KEYS = range(1, 61)


def options():
    context = None
    if sys.argv[2] == "require":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return {"host": "127.0.0.1", "port": int(sys.argv[1]), "database": "postgres", "ssl_context": context}


def transactions(connection):
    """Transactions about one key; nothing is changed in the end."""
    cursor = connection.cursor()
    for key in KEYS:
        cursor.execute("SELECT amount FROM keyed WHERE id = %s FOR UPDATE", (key,))
        amount, = cursor.fetchone()
        for change in (1, -1):
            cursor.execute("UPDATE keyed SET amount = amount + %s WHERE id = %s", (change, key))
            cursor.execute("SELECT amount FROM keyed WHERE id = %s FOR UPDATE", (key,))
            assert cursor.fetchone() == [amount + (change + 1) // 2]
        connection.commit()


def main():
    connections = [pg8000.native.Connection("postgres", **options()) for _ in range(8)]
    prepared = [connection.prepare("UPDATE keyed SET amount = amount + 1 WHERE id = :id") for connection in connections]
    for key in KEYS:
        for connection, statement in zip(connections, prepared):
            assert connection.run("SELECT name FROM keyed WHERE id = :id", id=key) == [[f"n{key}"]]
            statement.run(id=key)
    for statement in prepared:
        statement.close()
    one, other = connections[:2]
    one.run("BEGIN")
    one.run("UPDATE keyed SET amount = 0 WHERE id = 1")
    one.run("ROLLBACK")
    assert other.run("SELECT sum(amount) FROM keyed") == [[len(connections) * len(KEYS)]]
    try:
        one.run("SELECT 1 / 0")
        raise AssertionError("no error")
    except pg8000.native.DatabaseError as error:
        assert error.args[0]["C"] == "22012"
    one.run("COPY keyed FROM STDIN", stream=io.StringIO("2000\tcopied\t0\n"))
    assert other.run("SELECT name FROM keyed WHERE id = 2000") == [["copied"]]
    by_dbapi = pg8000.dbapi.connect("postgres", **options())
    transactions(by_dbapi)
    cursor = by_dbapi.cursor()
    cursor.execute("UPDATE keyed SET amount = 5 WHERE id = %s", (7,))
    by_dbapi.rollback()
    cursor.executemany("UPDATE keyed SET amount = %s WHERE id = %s", [(1, 2), (3, 4)])
    by_dbapi.commit()
    cursor.execute("SELECT id, amount FROM keyed WHERE id IN (2, 4, 7) ORDER BY id")
    assert [list(row) for row in cursor.fetchall()] == [[2, 1], [4, 3], [7, len(connections)]]
    for connection in (by_dbapi, *connections):
        connection.close()


main()
