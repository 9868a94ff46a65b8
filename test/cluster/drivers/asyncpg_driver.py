"""asyncpg, which prepares all that it executes, with named statements and binary values: `asyncpg_driver.py PORT SSLMODE`."""

import asyncio
import sys

import asyncpg

KEYS = range(1, 61)
WHERE = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "postgres", "database": "postgres", "ssl": sys.argv[2]}


async def work(connection, number):
    for key in KEYS:
        row = await connection.fetchrow("SELECT name FROM keyed WHERE id = $1", key)
        assert row["name"] == f"n{key}", row
        assert await connection.execute("UPDATE keyed SET amount = amount + $2 WHERE id = $1", key, 1) == "UPDATE 1"
    async with connection.transaction():
        await connection.execute("INSERT INTO keyed VALUES ($1, $2)", 1000 + number, "new")
        try:
            async with connection.transaction():
                await connection.execute("SELECT 1 / 0")
        except asyncpg.DivisionByZeroError:
            pass
        cursor = connection.cursor("SELECT id FROM keyed WHERE id <= 100 ORDER BY id", prefetch=7)
        assert [row["id"] async for row in cursor] == list(range(1, 101))
    await transactions(connection)
    await connection.executemany("UPDATE keyed SET amount = amount + $2 WHERE id = $1", [(key, 1) for key in KEYS])


async def transactions(connection):
    """Transactions about one key; nothing is changed in the end."""
    for key in KEYS:
        async with connection.transaction():
            amount = await connection.fetchval("SELECT amount FROM keyed WHERE id = $1 FOR UPDATE", key)
            for change in (1, -1):
                await connection.execute("UPDATE keyed SET amount = amount + $2 WHERE id = $1", key, change)
                assert await connection.fetchval("SELECT amount FROM keyed WHERE id = $1 FOR UPDATE", key) == \
                    amount + (change + 1) // 2


async def notifications(listener, speaker):
    heard = asyncio.get_running_loop().create_future()
    await listener.add_listener("news", lambda *notice: heard.set_result(notice[-1]))
    await speaker.execute("NOTIFY news, 'hello'")
    assert await heard == "hello"


async def main():
    connections = await asyncio.gather(*(asyncpg.connect(**WHERE) for _ in range(12)))
    one, other = connections[:2]
    await asyncio.gather(*(work(connection, number) for number, connection in enumerate(connections)))
    assert await one.fetchval("SELECT sum(amount) FROM keyed") == len(connections) * 2 * len(KEYS)
    assert await one.copy_records_to_table("keyed", records=[(2000 + i, "copied", 0) for i in range(500)]) == "COPY 500"
    assert await other.fetchval("SELECT count(*) FROM keyed WHERE name = 'copied'") == 500
    await notifications(other, one)
    try:
        await one.execute("SELECT pg_sleep(600)", timeout=0.3)      # the driver sends a cancel request
        raise AssertionError("not cancelled")
    except TimeoutError:
        pass
    assert await one.fetchval("SELECT 1") == 1
    async with asyncpg.create_pool(**WHERE, min_size=3, max_size=6) as pool:
        names = await asyncio.gather(*(pool.fetchval("SELECT name FROM keyed WHERE id = $1", key) for key in KEYS))
        assert names == [f"n{key}" for key in KEYS]
    for connection in connections:
        await connection.close()


asyncio.run(main())
