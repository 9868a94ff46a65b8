"""A wide table of page views as a columnar table and as a heap: ClickBench's shape and what its 43 queries ask.

Rows are generated: users, addresses, pages and phrases are few for many rows, as on a web site.  Where a query of ClickBench leaves open
which of equal rows it returns, it is ordered by all of its columns here, so that answers can be compared.  Figures are medians of the
rounds, and their ratios to the heap of a server without the extension.  No side uses parallel query.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import analytics
import servers

# name -> (type, value); {0}, {1}, .. are pseudo-random numbers below 2^20 of the row
NAMED = {
    "watch_id": ("bigint", "g::bigint * 7919"), "event_time": ("timestamp", "timestamp '2013-07-01' + ({0} * 2.5) * interval '1 s'"),
    "event_date": ("date", "(timestamp '2013-07-01' + ({0} * 2.5) * interval '1 s')::date"), "user_id": ("bigint", "435090932899640449 + power({users}, {1} / 1048576::float8)::bigint * 1021"),
    "counter_id": ("int", "power(6000, {2} / 1048576::float8)::int"), "client_ip": ("int", "(power({users}, {1} / 1048576::float8)::int * 7) % 100000"),
    "region": ("int", "power(5000, {3} / 1048576::float8)::int"), "url": ("text", "'http://' || CASE {4} % 30 WHEN 0 THEN 'www.google.ru/' ELSE 'site' || {4} % 41 || '.ru/' END || 'page/' || power({pages}, {5} / 1048576::float8)::int"),
    "referer": ("text", "CASE WHEN {6} % 5 > 0 THEN 'https://' || CASE {6} % 3 WHEN 0 THEN 'www.' ELSE '' END || 'from' || {6} % 97 || '.com/' || power({pages}, {7} / 1048576::float8)::int ELSE '' END"),
    "title": ("text", "CASE {8} % 40 WHEN 0 THEN 'Google ' ELSE 'News of ' END || power({pages}, {5} / 1048576::float8)::int"),
    "search_phrase": ("text", "CASE WHEN {9} % 8 = 0 THEN 'how to ' || power({pages}, {10} / 1048576::float8)::int ELSE '' END"),
    "search_engine": ("smallint", "CASE WHEN {9} % 8 = 0 THEN 1 + {9} % 5 ELSE 0 END"), "adv_engine": ("smallint", "CASE WHEN {11} % 50 = 0 THEN 1 + {11} % 20 ELSE 0 END"),
    "resolution_width": ("smallint", "(ARRAY[1024, 1280, 1366, 1600, 1920])[1 + {12} % 5]"), "mobile_phone": ("smallint", "CASE WHEN {13} % 12 = 0 THEN {13} % 90 ELSE 0 END"),
    "mobile_model": ("text", "CASE WHEN {13} % 12 = 0 THEN 'model ' || {13} % 170 ELSE '' END"), "is_refresh": ("smallint", "({14} % 9 = 0)::int"),
    "dont_count": ("smallint", "({15} % 30 = 0)::int"), "is_link": ("smallint", "({16} % 4 = 0)::int"), "is_download": ("smallint", "({17} % 25 = 0)::int"),
    "traffic_source": ("smallint", "{18} % 11 - 1"), "url_hash": ("bigint", "hashint8extended(power({pages}, {5} / 1048576::float8)::int % 500, 1)"),
    "referer_hash": ("bigint", "hashint8extended({6} % 97, 2)"), "window_width": ("smallint", "600 + {19} % 40 * 32"), "window_height": ("smallint", "400 + {20} % 30 * 20"),
}
WIDTH = 100
COUNTED = "counter_id = 62 AND event_date BETWEEN '2013-07-01' AND '2013-07-31' AND dont_count = 0 AND is_refresh = 0"
QUERIES = [
    "SELECT count(*) FROM hits",
    "SELECT count(*) FROM hits WHERE adv_engine <> 0",
    "SELECT sum(adv_engine), count(*), avg(resolution_width) FROM hits",
    "SELECT avg(user_id) FROM hits",
    "SELECT count(DISTINCT user_id) FROM hits",
    "SELECT count(DISTINCT search_phrase) FROM hits",
    "SELECT min(event_date), max(event_date) FROM hits",
    "SELECT adv_engine, count(*) AS c FROM hits WHERE adv_engine <> 0 GROUP BY 1 ORDER BY c DESC, 1",
    "SELECT region, count(DISTINCT user_id) AS u FROM hits GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10",
    "SELECT region, sum(adv_engine), count(*) AS c, avg(resolution_width), count(DISTINCT user_id) FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    "SELECT mobile_model, count(DISTINCT user_id) AS u FROM hits WHERE mobile_model <> '' GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10",
    "SELECT mobile_phone, mobile_model, count(DISTINCT user_id) AS u FROM hits WHERE mobile_model <> '' GROUP BY 1, 2 ORDER BY u DESC, 1, 2 LIMIT 10",
    "SELECT search_phrase, count(*) AS c FROM hits WHERE search_phrase <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    "SELECT search_phrase, count(DISTINCT user_id) AS u FROM hits WHERE search_phrase <> '' GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10",
    "SELECT search_engine, search_phrase, count(*) AS c FROM hits WHERE search_phrase <> '' GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10",
    "SELECT user_id, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    "SELECT user_id, search_phrase, count(*) AS c FROM hits GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10",
    "SELECT count(*) FROM (SELECT user_id, search_phrase, count(*) FROM hits GROUP BY 1, 2 LIMIT 10) g",
    "SELECT user_id, extract(minute FROM event_time) AS m, search_phrase, count(*) AS c FROM hits GROUP BY 1, 2, 3 ORDER BY c DESC, 1, 2, 3 LIMIT 10",
    "SELECT user_id FROM hits WHERE user_id = 435090932899645554",
    "SELECT count(*) FROM hits WHERE url LIKE '%google%'",
    "SELECT search_phrase, min(url), count(*) AS c FROM hits WHERE url LIKE '%google%' AND search_phrase <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    "SELECT search_phrase, min(url), min(title), count(*) AS c, count(DISTINCT user_id) FROM hits WHERE title LIKE '%Google%' AND url NOT LIKE '%.google.%' "
    "AND search_phrase <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    "SELECT * FROM hits WHERE url LIKE '%google%' ORDER BY event_time, watch_id LIMIT 10",
    "SELECT search_phrase FROM hits WHERE search_phrase <> '' ORDER BY event_time, watch_id LIMIT 10",
    "SELECT search_phrase FROM hits WHERE search_phrase <> '' ORDER BY search_phrase LIMIT 10",
    "SELECT search_phrase FROM hits WHERE search_phrase <> '' ORDER BY event_time, search_phrase LIMIT 10",
    "SELECT counter_id, avg(length(url)) AS l, count(*) AS c FROM hits WHERE url <> '' GROUP BY 1 HAVING count(*) > {many} ORDER BY l DESC, 1 LIMIT 25",
    r"SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, avg(length(referer)) AS l, count(*) AS c, min(referer) FROM hits "
    "WHERE referer <> '' GROUP BY 1 HAVING count(*) > {many} ORDER BY l DESC, 1 LIMIT 25",
    "SELECT " + ", ".join(f"sum(resolution_width + {add})" for add in range(90)) + " FROM hits",
    "SELECT search_engine, client_ip, count(*) AS c, sum(is_refresh), avg(resolution_width) FROM hits WHERE search_phrase <> '' GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10",
    "SELECT watch_id, client_ip, count(*) AS c, sum(is_refresh), avg(resolution_width) FROM hits WHERE search_phrase <> '' GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10",
    "SELECT watch_id, client_ip, count(*) AS c, sum(is_refresh), avg(resolution_width) FROM hits GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10",
    "SELECT url, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    "SELECT 1, url, count(*) AS c FROM hits GROUP BY 1, 2 ORDER BY c DESC, 2 LIMIT 10",
    "SELECT client_ip, client_ip - 1, client_ip - 2, client_ip - 3, count(*) AS c FROM hits GROUP BY 1, 2, 3, 4 ORDER BY c DESC, 1 LIMIT 10",
    f"SELECT url, count(*) AS c FROM hits WHERE {COUNTED} AND url <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    f"SELECT title, count(*) AS c FROM hits WHERE {COUNTED} AND title <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10",
    f"SELECT url, count(*) AS c FROM hits WHERE {COUNTED} AND is_link <> 0 AND is_download = 0 GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10 OFFSET 100",
    "SELECT traffic_source, search_engine, adv_engine, CASE WHEN search_engine = 0 AND adv_engine = 0 THEN referer ELSE '' END AS src, url, count(*) AS c "
    f"FROM hits WHERE {COUNTED} GROUP BY 1, 2, 3, 4, 5 ORDER BY c DESC, 1, 2, 3, 4, 5 LIMIT 10 OFFSET 100",
    f"SELECT url_hash, event_date, count(*) AS c FROM hits WHERE {COUNTED} AND traffic_source IN (-1, 6) AND referer_hash = hashint8extended(77, 2) "
    "GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10 OFFSET 10",
    f"SELECT window_width, window_height, count(*) AS c FROM hits WHERE {COUNTED} AND url_hash = hashint8extended(1, 1) GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10 OFFSET 10",
    f"SELECT date_trunc('minute', event_time) AS m, count(*) AS c FROM hits WHERE {COUNTED} GROUP BY 1 ORDER BY m LIMIT 10 OFFSET 100",
]


def columns():
    """Name -> (type, value) of all columns: those that queries name, and others, most of which say little."""
    made = dict(NAMED)
    for number in range(WIDTH - len(NAMED)):
        seed = "{" + str(number % 21) + "}"
        kind = number % 5
        made[f"other_{number}"] = (("smallint", f"{seed} % {2 + number} / 2") if kind < 2 else ("int", f"CASE WHEN {seed} % 20 = 0 THEN {seed} ELSE 0 END") if kind == 2
                                   else ("bigint", f"hashint8extended({seed} % 1000, {number})") if kind == 3
                                   else ("text", f"CASE WHEN {seed} % 10 = 0 THEN 'value ' || {seed} % 300 ELSE '' END"))
    return made


def generate(side, count, file):
    """Writes the rows to a file, for both sides: they take ten times as long to compute as to store."""
    numbers = ", ".join(f"(hashint8extended(g, {100 + salt}) & 1048575)::int AS h{salt}" for salt in range(21))
    values = ", ".join(f"({value.format(*(f'h{salt}' for salt in range(21)), users=max(count // 6, 10), pages=max(count // 10, 10))})::{kind}" for kind, value in columns().values())
    with side.connect() as connection:
        connection.execute(f"COPY (SELECT {values} FROM (SELECT g, {numbers} FROM generate_series(1, {count}) g OFFSET 0) g) TO '{file}' (FORMAT binary)")


def fill(side, method, file, clock):
    """Seconds of the COPY, and the bytes of the table."""
    with side.connect() as connection:
        connection.execute(f"CREATE SCHEMA {method}_side; SET search_path = {method}_side; "
                           f"CREATE TABLE hits ({', '.join(f'{name} {kind} NOT NULL' for name, (kind, _) in columns().items())}) USING {method}")
        started = clock(connection)
        connection.execute(f"COPY hits FROM '{file}' (FORMAT binary)")
        taken = clock(connection) - started
        connection.execute("VACUUM ANALYZE hits")
        return taken, connection.execute("SELECT pg_total_relation_size('hits')").fetchone()[0]


def compare(count, rounds, numbers, limit, clock, base_port):
    """Prints a line for each figure; returns the ratios of the sizes and of all queries together, and the queries with wrong answers."""
    failed, total = [], {}
    with servers.start("extension", base_port) as (plain, ours):
        sides = {"plain": (plain, "heap"), "columnar": (ours, "columnar")}
        connections = {}
        for side in (plain, ours):
            analytics.forbid_parallel(side)
        print(" " * 6, "  ".join(f"{name:>12}" for name in sides))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o777)   # the server may run as another user
            generate(plain, count, f"{folder}/hits")
            filled = {name: fill(side, method, f"{folder}/hits", clock) for name, (side, method) in sides.items()}
        analytics.show("fill", {name: taken for name, (taken, _) in filled.items()}, ())
        size = filled["columnar"][1] / filled["plain"][1]
        print(" size  ", "  ".join(f"{size / 1024:9.0f} kB" for _, size in filled.values()), f"{size:6.3f}", flush=True)
        for name, (side, method) in sides.items():
            connections[name] = side.connect()
            connections[name].execute(f"SET search_path = {method}_side; SET statement_timeout = '{limit}s'")
        for number in numbers or range(1, len(QUERIES) + 1):
            text = QUERIES[number - 1].replace("{many}", str(count // 200))
            seconds, wrong = analytics.measure(connections, text, rounds, clock)
            analytics.show(str(number), seconds, wrong)
            failed += [number] if wrong else []
            for name, taken in seconds.items():
                total[name] = total.get(name, 0) + taken
        analytics.show("total", total, ())
    return size, total["columnar"] / total["plain"], failed


def main():
    """Runs the benchmark; exits with 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="bench/clickbench", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--query", type=int, action="append", help="only these, from 1; may be repeated")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a query (300)")
    parser.add_argument("--cpu", action="store_true", help="CPU time of the session's process instead of elapsed time: for a busy machine")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    _, _, failed = compare(args.rows, args.rounds, args.query, args.limit, analytics.cpu_time if args.cpu else analytics.elapsed, args.base_port)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
