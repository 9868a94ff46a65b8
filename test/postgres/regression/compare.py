"""Which statements answer differently on the two sides. Rows are compared without their order."""

import re
from collections import Counter

__all__ = ["report"]

COPY_DATA = re.compile(r"\bcopy\b.*\bfrom\s+stdin\b.*;\s*$", re.IGNORECASE)
# Plans and psql's descriptions show shards and custom scans.
SHOWS_INSIDES = re.compile(r"\bexplain|^\\d|tableoid|relpages|pg_(relation|table)_size", re.IGNORECASE | re.MULTILINE)
ROWS_SHOWN = 8
LINES_BACK = 12
# How far a line of the script may be from the one before it in the output: data of COPY that failed is echoed.
FAR = 400


def report(scripts, tests, expected, found, errors):
    """Print the differences; returns 0. scripts, expected and found are folders."""
    total = 0
    for name in dict.fromkeys(tests):
        lines = script_lines(scripts / f"{name}.sql")
        plain = results(expected / f"{name}.out", lines)
        cluster = results(found / f"{name}.out", lines)
        if cluster is None or plain is None:
            print(f"{name}: no output")
            continue
        for index in range(len(lines)):
            left, right = plain.get(index, []), cluster.get(index, [])
            failed = [any(line.startswith("ERROR") for line in side) for side in (left, right)]
            statement = statement_at(lines, index)
            if Counter(left) == Counter(right) or SHOWS_INSIDES.search(statement) or (any(failed) and not errors):
                continue
            total += 1
            print(f"{name}: {statement}")
            show("-", Counter(left) - Counter(right))
            show("+", Counter(right) - Counter(left))
    print(f"{total} statements differ (-: on the plain server, +: on the cluster)")
    return 0


def show(sign, lines):
    """Print some of the lines that only one side has."""
    shown = list(lines)[:ROWS_SHOWN]
    for line in shown:
        print(f"  {sign} {line}")
    if len(lines) > len(shown):
        print(f"  {sign} and {len(lines) - len(shown)} more")


def script_lines(path):
    """A script's lines as psql echoes them: without COPY's data; and without blank ones, which results have as well."""
    lines, data = [], False
    for line in path.read_text(errors="replace").splitlines():
        if data:
            data = line.strip() != "\\."
            continue
        if line.strip():
            lines.append(line.rstrip())
        data = COPY_DATA.search(line) is not None
    return lines


def results(path, lines):
    """What follows each line of the script in an output: index of the line -> its result. None without a file."""
    if not path.exists():
        return None
    found, at = {}, -1
    for line in path.read_text(errors="replace").splitlines():
        line = line.rstrip()
        if at + 1 < len(lines) and line == lines[at + 1]:
            at += 1
        elif len(line) > 10 and line in lines[at + 1:at + FAR]:
            at = lines.index(line, at + 1)
        else:
            line = normalized(line)
            if line:
                found.setdefault(at, []).append(line)
    return found


def normalized(line):
    """A line of a result, or "" for what is not compared: rulers, and what goes with an error or stands in no order."""
    if re.match(r"(NOTICE|DETAIL|HINT|CONTEXT|LINE \d+):|\s*\^$|[-+]+$|drop cascades to ", line):
        return ""
    return " ".join(line.split())


def statement_at(lines, index):
    """The statement that ends in a line."""
    first = index
    while first > 0 and index - first < LINES_BACK and not re.search(r";\s*(--.*)?$|^\\|^--", lines[first - 1]):
        first -= 1
    return "\n    ".join(lines[first:index + 1])
