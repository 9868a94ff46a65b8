"""Tables with single bits flipped on disk: an error that says so, or the right rows; never others, and never a crash.

The server's data checksums, where they are on, find flips in all pages. Without them, columnar.check_table() and queries find those in
all that stripes consist of.
"""

import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value
from pomelo_check.sample import ALL, SEED
from pomelo_cluster import host

TABLES = 60
FLIPS = int(os.environ.get("POMELO_COLUMNAR_FLIPS", 10_000 if ALL else 120))
PAGE = 8192
DAMAGED = {"XX001", "XX002", "XX000", "0A000", "23505"}     # 0A000: a stripe of an unknown format; 23505: REINDEX
SETTINGS = {"columnar.compaction_naptime": "-1", "jit": "off", "autovacuum": "off", "columnar.row_wise_limit": "0", "fsync": "off"}

MADE = """
    CREATE TABLE t{n} (a int PRIMARY KEY, b text, c numeric, d timestamp, e float8, f int[]) USING columnar
        WITH (columnar.compression = {compression}, columnar.chunk_group_row_limit = 1000, columnar.stripe_row_limit = 1000);
    INSERT INTO t{n} SELECT i, CASE WHEN i % 3 = 0 THEN NULL WHEN i % 2 = 0 THEN 'k' || i % 20 ELSE md5(i::text) END, i / 100.0,
        timestamp '2020-01-01' + i * interval '1 h', i * 1.5, ARRAY[i, {n}] FROM generate_series(1, 1200) i;
    UPDATE t{n} SET e = -1 WHERE a % 500 = 0; DELETE FROM t{n} WHERE a % 333 = 0"""
QUERIES = [
    "SELECT count(*), sum(a), count(b), sum(c), max(d), sum(e) FROM t{n}",
    "SELECT md5(string_agg(t::text, ',' ORDER BY a)) FROM t{n} t",
    "SELECT b, count(*), sum(c * (1 + a)) FROM t{n} WHERE a > 600 AND d < '2020-02-15' GROUP BY b ORDER BY b",
    "SELECT count(*) FROM t{n} WHERE c > 12.5 AND e <> 3 AND b LIKE 'k1%'"]
BY_INDEX = ["SELECT md5(string_agg(t::text, ',' ORDER BY a)) FROM (SELECT * FROM t{n} WHERE a BETWEEN 400 AND 520 ORDER BY a OFFSET 0) t",
            "SELECT b, c, f FROM t{n} WHERE a = 777"]
SCANS = ["enable_seqscan", "enable_bitmapscan", "columnar.enable_custom_scan"]
# None of these crashes or makes wrong rows, whether it fails or not.
MAINTENANCE = ["VACUUM t{n}", "REINDEX TABLE t{n}", "SELECT columnar.compact('t{n}')", "VACUUM FULL t{n}"]


def stored_bytes(content):
    """Where the bytes of a TOAST table's live rows are, with their numbers: (position, length)s in its file."""
    found = []
    for page in range(0, len(content), PAGE):
        lower, = struct.unpack_from("<H", content, page + 12)
        for item in range(page + 24, page + lower, 4):
            pointer, = struct.unpack_from("<I", content, item)
            offset, flags, length = pointer & 0x7FFF, pointer >> 15 & 3, pointer >> 17
            if flags == 1:
                number = page + offset + content[page + offset + 22] + 4
                header = 1 if content[number + 4] & 1 else 4
                found += [(number, 4), (number + 4 + header, page + offset + length - number - 4 - header)]
    return [part for part in found if part[1] > 0]


def answers(connection, number):
    """What each query answers; None: that the table is damaged."""
    result = []
    for queries, state in ((QUERIES, "on"), (BY_INDEX, "off")):
        connection.execute("; ".join(f"SET {setting} = {state}" for setting in SCANS))
        result += [answer(connection, query.format(n=number)) for query in queries]
    return result


def answer(connection, query):
    try:
        return connection.execute(query).fetchall() if "SELECT" in query or "RETURNING" in query else connection.execute(query)
    except psycopg.Error as error:
        assert error.sqlstate in DAMAGED, (query, error.sqlstate, error)
        return None


def make_tables(node):
    with servers.connect(node) as connection:
        for number in range(TABLES):
            connection.execute(MADE.format(n=number, compression=["none", "zstd", "lz4", "pglz"][number % 4]))
        connection.execute("VACUUM")
        expected = [answers(connection, number) for number in range(TABLES)]
        assert all(None not in seen for seen in expected)
        assert rows(connection, f"SELECT c.* FROM generate_series(0, {TABLES - 1}) n, columnar.check_table('t' || n) c") == []
    return expected


def files_of(node, expression):
    """Files of each table: those whose OIDs an expression over pg_class c gives."""
    with servers.connect(node) as connection:
        data = Path(value(connection, "SHOW data_directory"))
        return [[data / path for path, in rows(connection, f"SELECT pg_relation_filepath(r) FROM pg_class c, unnest({expression}) r "
                                               f"WHERE c.relname = 't{number}'")] for number in range(TABLES)]


def flip_a_bit(choice, places):
    """Of one of the files, by the parts of these that may be changed."""
    file = choice.choice(list(places))
    position, length = choice.choice(places[file]) if choice.random() < 0.5 else max(places[file], key=lambda part: choice.random() * part[1])
    bit = choice.randrange(8 * length)
    with open(file, "r+b") as changed:
        changed.seek(position + bit // 8)
        byte = changed.read(1)[0]
        changed.seek(position + bit // 8)
        changed.write(bytes([byte ^ 1 << bit % 8]))
    return file.name, position, bit


def look(connection, choice, number, expected, checksums, told):
    """Reads and changes a table after a flip; whether a query has noticed it."""
    seen = answers(connection, number)
    assert all(one in (None, other) for one, other in zip(seen, expected)), told
    problems = answer(connection, f"SELECT problem FROM columnar.check_table('t{number}')")
    assert problems or checksums or None not in seen, told
    connection.execute("BEGIN; SAVEPOINT s")
    for statement in ("UPDATE t{n} SET e = 7 WHERE a % 100 = 5 RETURNING a", "DELETE FROM t{n} WHERE a > 900 RETURNING a"):
        answer(connection, statement.format(n=number))
        connection.execute("ROLLBACK TO s")
    connection.execute("ROLLBACK")
    maintenance = choice.choice(MAINTENANCE)
    answer(connection, maintenance.format(n=number))
    after = answer(connection, QUERIES[1].format(n=number))
    # Without checksums, REINDEX believes what it reads, as of any heap.
    assert after in (None, expected[1]) or not checksums and maintenance.startswith("REINDEX"), (told, maintenance)
    return None in seen


@pytest.mark.parametrize("checksums", [False, True])
def test_flipped_bits(make_cluster, checksums):
    """POMELO_COLUMNAR_FLIPS=10000 flips so many; make check-all does."""
    node = make_cluster(workers=0, settings=SETTINGS).coordinator
    choice = random.Random(SEED)
    if checksums != (node.sql("SHOW data_checksums") == "on"):      # initdb's default depends on the version
        node.stop()
        host.run_server_program([node.program("pg_checksums"), "--enable" if checksums else "--disable", "--no-sync", "-D", node.data], check=True)
        node.start()
    expected = make_tables(node)
    files = files_of(node, "ARRAY[c.oid, c.reltoastrelid] || ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid IN (c.oid, c.reltoastrelid))"
                     if checksums else "ARRAY[c.reltoastrelid]")
    node.stop()
    kept = Path(node.folder) / "kept"
    subprocess.run(["cp", "-a", node.data, kept], check=True)
    content = {file: file.read_bytes() for table in files for file in table}
    places = {file: [(0, len(content))] if checksums else stored_bytes(content) for file, content in content.items()}
    noticed = 0
    for _ in range(max(FLIPS // TABLES // 2, 1)):
        shutil.rmtree(node.data)
        subprocess.run(["cp", "-a", kept, node.data], check=True)
        flips = [flip_a_bit(choice, {file: places[file] for file in table if content[file]}) for table in files]
        node.start()
        with servers.connect(node) as connection:
            for number in range(TABLES):
                noticed += look(connection, choice, number, expected[number], checksums, f"t{number}, {flips[number]}, seed {SEED}")
        node.stop()
    assert noticed > FLIPS / 2 / 4
