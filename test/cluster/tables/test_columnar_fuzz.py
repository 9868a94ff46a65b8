"""Stripes with single bits flipped on disk: an error that says so, or the right rows; never others, and never a crash."""

import os
import random
import struct
from pathlib import Path

import psycopg

from harness import servers
from harness.servers import rows, value
from pomelo_check.sample import SEED

TABLES = 60
ROUNDS = int(os.environ.get("POMELO_COLUMNAR_FLIPS", "120")) // TABLES
PAGE = 8192
DAMAGED = {"XX001", "XX000", "0A000"}       # the last one: a stripe of an unknown format

MADE = """
    CREATE TABLE t{n} (a int, b text, c numeric, d timestamp, e float8, f int[]) USING columnar
        WITH (columnar.compression = {compression}, columnar.chunk_group_row_limit = 1000);
    INSERT INTO t{n} SELECT i, CASE WHEN i % 3 = 0 THEN NULL WHEN i % 2 = 0 THEN 'k' || i % 20 ELSE md5(i::text) END, i / 100.0,
        timestamp '2020-01-01' + i * interval '1 h', i * 1.5, ARRAY[i, {n}] FROM generate_series(1, 2500) i;
    CREATE INDEX ON t{n} (a);
    UPDATE t{n} SET e = -1 WHERE a % 500 = 0; DELETE FROM t{n} WHERE a % 333 = 0"""
QUERIES = [
    "SELECT count(*), sum(a), count(b), sum(c), max(d), sum(e) FROM t{n}",
    "SELECT md5(string_agg(t::text, ',' ORDER BY a)) FROM t{n} t",
    "SELECT b, count(*), sum(c * (1 + a)) FROM t{n} WHERE a > 1200 AND d < '2020-04-01' GROUP BY b ORDER BY b",
    "SELECT count(*) FROM t{n} WHERE c > 12.5 AND e <> 3 AND b LIKE 'k1%'"]
BY_INDEX = ["SELECT md5(string_agg(t::text, ',' ORDER BY a)) FROM (SELECT * FROM t{n} WHERE a BETWEEN 400 AND 520 ORDER BY a OFFSET 0) t",
            "SELECT b, c, f FROM t{n} WHERE a = 1777"]
SCANS = ["enable_seqscan", "enable_bitmapscan", "columnar.enable_custom_scan"]


def stored_bytes(content):
    """Where the bytes of a TOAST table's live rows are: (position, length)s in its file."""
    found = []
    for page in range(0, len(content), PAGE):
        lower, = struct.unpack_from("<H", content, page + 12)
        for item in range(page + 24, page + lower, 4):
            pointer, = struct.unpack_from("<I", content, item)
            offset, flags, length = pointer & 0x7FFF, pointer >> 15 & 3, pointer >> 17
            if flags == 1:
                start = page + offset + content[page + offset + 22]
                data = start + 8
                header = 1 if content[data] & 1 else 4
                found.append((data + header, page + offset + length - data - header))
    return found


def answers(connection, number):
    """What each query answers; None: that the table is damaged."""
    result = []
    for query in QUERIES + BY_INDEX:
        for setting in SCANS:
            connection.execute(f"SET {setting} = {'off' if query in BY_INDEX else 'on'}")
        try:
            result.append(rows(connection, query.format(n=number)))
        except psycopg.Error as error:
            assert error.sqlstate in DAMAGED, (query, error.sqlstate, error)
            assert "columnar table" in str(error), error
            result.append(None)
    return result


def test_flipped_bits(make_cluster):
    """POMELO_COLUMNAR_FLIPS=10000 flips so many."""
    made = make_cluster(workers=0, settings={"columnar.compaction_naptime": "-1", "autovacuum": "off", "columnar.row_wise_limit": "0"})
    node = made.coordinator
    choice = random.Random(SEED)
    with servers.connect(node) as connection:
        for number in range(TABLES):
            connection.execute(MADE.format(n=number, compression=["none", "zstd", "lz4", "pglz"][number % 4]))
        connection.execute("VACUUM")
        expected = [answers(connection, number) for number in range(TABLES)]
        assert all(None not in answer for answer in expected)
        data = Path(value(connection, "SHOW data_directory"))
        files = [data / value(connection, f"SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 't{number}'")
                 for number in range(TABLES)]
    node.stop()
    whole = [file.read_bytes() for file in files]
    places = [stored_bytes(content) for content in whole]
    noticed = 0
    for _ in range(ROUNDS):
        flips = []
        for file, content, parts in zip(files, whole, places):
            position, length = choice.choice(parts) if choice.random() < 0.5 else max(parts, key=lambda part: choice.random() * part[1])
            bit = choice.randrange(8 * length)
            changed = bytearray(content)
            changed[position + bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            flips.append((position, bit))
        node.start()
        with servers.connect(node) as connection:
            for number in range(TABLES):
                seen = answers(connection, number)
                noticed += None in seen
                for one, other in zip(seen, expected[number]):
                    assert one is None or one == other, f"t{number}, {flips[number]}, seed {SEED}"
        node.stop()
    assert noticed > TABLES * ROUNDS / 4
    for file, content in zip(files, whole):
        file.write_bytes(content)
    node.start()
    with servers.connect(node) as connection:
        assert [answers(connection, number) for number in range(TABLES)] == expected
