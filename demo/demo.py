"""The demo: TPC-H on a cluster of three PostgreSQL servers, every answer compared with plain PostgreSQL.

Run it with `make demo`. It leaves the cluster running; its exit status is 1 when an answer differs.
"""

import argparse
import sys
import time
from pathlib import Path

import psycopg

import dataset
import keyed
import servers
import tpch
from answers import TIMED_OUT, ask, difference
from report import Report, milliseconds

HERE = Path(__file__).resolve().parent
CONTENTS = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM {} t"


def main():
    options = parse_options()
    report = Report(steps=8)
    report.begin(f"TPC-H data, scale {options.scale}")
    folder, made = dataset.generate(servers.state_dir(), options.scale)
    report.say(f"  {'generated in' if made else 'found in'} {folder}")

    report.begin("Servers: a coordinator, two workers, and one plain PostgreSQL to compare with")
    with servers.start(options.base_port) as pair:
        for role, dsn in (*pair.nodes, ("plain", pair.plain)):
            report.say(f"  {role:<12} {dsn}")
        nodes = [(role, connect(dsn, options)) for role, dsn in pair.nodes]
        plain = connect(pair.plain, options)
        show(options, report, nodes, plain, folder)
        for _, connection in (*nodes, ("plain", plain)):
            connection.close()
    finish(report)
    return 1 if report.differences else 0


def parse_options():
    parser = argparse.ArgumentParser(prog="demo/run", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="0.1", help="TPC-H scale factor (default 0.1)")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT,
                        help="port of the coordinator; the next three are used too (default %(default)s)")
    parser.add_argument("--timeout", type=int, default=60,
                        help="seconds that one statement may take (default 60; not for loading)")
    return parser.parse_args()


def connect(dsn, options):
    connection = psycopg.connect(dsn, autocommit=True)
    connection.execute("SELECT set_config('statement_timeout', %s, false)", (f"{options.timeout}s",))
    return connection


def show(options, report, nodes, plain, folder):
    """Everything between starting the servers and the closing words."""
    coordinator = nodes[0][1]
    report.begin("Tables: two reference tables, six distributed ones")
    for connection in (coordinator, plain):
        run_script(connection, "schema.sql")
    run_script(coordinator, "distribute.sql")

    report.begin("Load by COPY FROM STDIN")
    load(report, coordinator, plain, folder)

    report.begin("Indexes and statistics")
    for role, connection in (nodes[0], ("plain", plain)):
        started = time.monotonic()
        connection.execute("SET statement_timeout = 0")
        run_script(connection, "indexes.sql")
        connection.execute("ANALYZE")
        connection.execute("SELECT set_config('statement_timeout', %s, false)", (f"{options.timeout}s",))
        report.say(f"  {role:<12} {time.monotonic() - started:6.1f} s")

    report.begin("The 22 queries of TPC-H; times in ms")
    run_queries(report, tpch.load_queries(options.scale), nodes[:2], plain)

    report.begin("Single-key reads and writes, on each node; medians in ms")
    run_keyed(report, nodes, plain)

    report.begin("Contents of all tables after the writes")
    compare_contents(report, nodes, plain)


def run_script(connection, name):
    """Run the statements of a file of this folder one by one; none holds a semicolon inside."""
    text = "\n".join(line for line in (HERE / name).read_text().splitlines() if not line.startswith("--"))
    for statement in text.split(";"):
        if statement.strip():
            connection.execute(statement)


def load(report, coordinator, plain, folder):
    report.say(f"  {'table':<10} {'rows':>9} {'cluster':>9} {'plain':>9}   seconds")
    for connection in (coordinator, plain):
        connection.execute("SET statement_timeout = 0")
    for table in dataset.TABLES:
        rows, ours = dataset.load(coordinator, folder, table)
        expected, theirs = dataset.load(plain, folder, table)
        report.say(f"  {table:<10} {rows:>9,} {ours:>9.1f} {theirs:>9.1f}")
        if rows != expected:
            report.differ(f"COPY {table}", f"{rows} rows (expected {expected})")


def run_queries(report, queries, nodes, plain):
    """Ask the coordinator, a worker and the plain server each query; print a row for each."""
    report.say(f"  {'query':<38} {'rows':>6}  {'same':<6} {'coordinator':>11} {'worker':>10} {'plain':>9}")
    total = {}
    for query in queries:
        answers, whys = {}, []
        for role, connection in (("plain", plain), *nodes):
            report.waiting(f"  {query.name} on {role} ...")
            answers[role] = ask(connection, query.text)
            total[role] = total.get(role, 0) + answers[role].seconds
        for role, _ in nodes:
            why = difference(answers[role], answers["plain"], query.sorted_by)
            if answers["plain"].failed:
                why = f"nothing to compare with: on plain PostgreSQL {answers['plain'].brief()}"
            if why:
                whys.append(f"{role}: {why}")
                report.differ(query.name, whys[-1])
        report.say(f"  {query.name + ' ' + query.title:<38} {len(answers['plain'].rows):>6}  "
                   f"{'NO' if whys else 'yes':<6} " + times(answers, nodes))
        for why in whys:
            report.say(f"      {why}")
    report.say(f"  {'all':<38} {'':>6}  {'':<6} " + " ".join(
        f"{milliseconds(total[role]):>{width}}" for role, width in widths(nodes)))


def widths(nodes):
    return (nodes[0][0], 11), (nodes[1][0], 10), ("plain", 9)


def times(answers, nodes):
    cells = []
    for role, width in widths(nodes):
        answer = answers[role]
        cell = milliseconds(answer.seconds) if not answer.failed else \
            "timed out" if answer.sqlstate == TIMED_OUT else "error"
        cells.append(f"{cell:>{width}}")
    return " ".join(cells)


def run_keyed(report, nodes, plain):
    tally = keyed.run_all(nodes, plain, report)
    roles = [role for role, _ in nodes] + ["plain"]
    report.say(f"  {'what':<24} {'steps':>6}  {'same':<6} " + " ".join(f"{role:>12}" for role in roles))
    for kind, steps in tally.steps.items():
        wrong = tally.different[kind]
        report.say(f"  {kind:<24} {steps:>6}  {'yes' if not wrong else f'{wrong} NO':<6} "
                   + " ".join(f"{milliseconds(tally.median(kind, role)):>12}" for role in roles))
    report.say(f"  {'all':<24} {sum(tally.steps.values()):>6}")


def compare_contents(report, nodes, plain):
    """Count and hash every row of every table, through the coordinator and a worker, and on plain."""
    for table in dataset.TABLES:
        statement = CONTENTS.format(table)
        expected = ask(plain, statement)
        whys = [f"{role}: {why}" for role, connection in nodes[:2]
                if (why := difference(ask(connection, statement), expected))]
        for why in whys:
            report.differ(f"contents of {table}", why)
        rows = int(expected.rows[0][0]) if expected.rows else 0
        report.say(f"  {table:<10} {rows:>9,} rows   {'same' if not whys else 'NOT the same: ' + '; '.join(whys)}")


def finish(report):
    """Say what came out, how to connect, and how to stop the cluster."""
    report.say()
    if report.differences:
        report.say(f"{len(report.differences)} answers differ from plain PostgreSQL's:")
        for what, why in report.differences[:20]:
            report.say(f"  {what}: {why}")
        if len(report.differences) > 20:
            report.say(f"  and {len(report.differences) - 20} more")
    else:
        report.say("Every answer is the same as plain PostgreSQL's.")
    report.say(f"It took {report.elapsed():.0f} s. The cluster is running.")
    report.say()
    for line in servers.how_to_use():
        report.say(line)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (psycopg.Error, servers.ClusterError) as error:
        sys.exit(f"\ndemo: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
