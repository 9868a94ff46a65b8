"""Runs a script with psql, and compares the two servers' answers to a statement."""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from .script import MARKER, marked

__all__ = ["Answer", "Difference", "REFUSAL", "run_psql", "difference", "unshown"]

SECONDS = 600
REFUSAL = "0A000"           # the error by which the extension says that it can't do something
MARK = re.compile(rf"^{MARKER} (\d+) (\S+)$")
ERROR = re.compile(r"^(psql:.*?: )?(ERROR|FATAL|PANIC):  ")
UNKNOWN = "00000"           # what psql says of a COPY that fails before it takes data
# What goes with an error or a plan, and lists whose order is that of Oids.
BESIDE = re.compile(r"(DETAIL|HINT|CONTEXT|LINE \d+|QUERY|LOCATION|STATEMENT):|\s*\^$|[-+]+$|drop cascades to |"
                    r"(SQL|PL/pgSQL) (function|statement)|and \d+ other objects|while executing on node |"
                    r"(psql:.*?: )?WARNING:  did not get (bitmap indexscan|seqscan) plan")
# A ctid that none of the scripts' tables has: a distributed table's, with a number that depends on how many shards were made before.
SHARD_CTID = re.compile(r"\((\d+,\d{4,}|\d{6,},\d+)\)")
MESSAGE = re.compile(r"(WARNING|NOTICE|INFO):")
CLAUSES = re.compile(r"\b(limit|offset|fetch|for)\b", re.IGNORECASE)


@dataclass
class Answer:
    """What a server said to one statement."""
    lines: list = field(default_factory=list)
    state: str = None           # SQLSTATE if it failed

    @property
    def error(self):
        return next((ERROR.sub("", line) for line in self.lines if ERROR.match(line)), None)

    @property
    def told(self):
        """The error with its SQLSTATE, without the names and numbers in it."""
        return f"{self.state}: {nameless(self.error)}"


@dataclass
class Difference:
    """What differs: kind is "refused", "error", "accepted", "order", "rows", "messages" or "unanswered"."""
    kind: str
    detail: str         # the error with its SQLSTATE, or the rows
    state: str = None


def run_psql(args, env, statements, failing):
    """Runs the statements; returns number -> Answer, of those that psql came to."""
    text = marked(statements, failing)
    try:
        done = subprocess.run(args, input=text.encode("utf-8", "surrogateescape"), env=env, cwd="/", timeout=SECONDS, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    answers, current = {}, Answer()
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        found = MARK.match(line)
        if found:
            current.state = found[2] if current.error else None
            answers[int(found[1])] = current
            current = Answer()
        else:
            current.lines.append(line)
    return answers


def difference(statement, plain, cluster, shown=True):
    """The Difference of two answers, or None; if rows aren't shown, only of the SQLSTATEs."""
    if cluster is None:
        return Difference("unanswered", "the cluster ended the session, or took too long")
    if plain.state != cluster.state and not (plain.state and cluster.state and UNKNOWN in (plain.state, cluster.state)):
        kind = "accepted" if not cluster.state else "error" if plain.state else "refused"
        failed = cluster if cluster.state else plain
        return Difference(kind, failed.told, failed.state)
    left, right = (rows(plain), rows(cluster)) if shown else ([], [])
    if Counter(left) != Counter(right):
        lost, added = Counter(left) - Counter(right), Counter(right) - Counter(left)
        if not lost and all(MESSAGE.match(line) for line in added):
            return Difference("messages", " and ".join(sorted({f"+ {nameless(line)}" for line in added})))
        return Difference("rows", "\n".join([f"- {line}" for line in lost.elements()] + [f"+ {line}" for line in added.elements()]))
    if keys(statement, left) != keys(statement, right):
        return Difference("order", "\n".join([f"- {line}" for line in left] + [f"+ {line}" for line in right]))
    return None


def rows(answer):
    """The lines of an answer that are compared: errors are by their SQLSTATE."""
    lines = (" ".join(line.split()) for line in answer.lines if not BESIDE.match(line) and not ERROR.match(line))
    return [SHARD_CTID.sub("(ctid)", line) for line in lines if line]


def keys(statement, lines):
    """The values of each line by which the statement sorts them, as far as its ORDER BY names columns that it shows."""
    order = top_level(statement.code, "order by")
    if order is None or not re.match(r"(select|with|values|table|\()", statement.code, re.IGNORECASE) or not lines:
        return None
    titles = [title.strip() for title in lines[0].split("|")]
    columns = []
    for key in split_list(order):
        key = re.sub(r"(?i)\s+(asc|desc|using\s+\S+|nulls\s+(first|last))\b", "", key).strip()
        name = key.split(".")[-1].strip('"')
        if key.isdigit() and int(key) <= len(titles):
            columns.append(int(key) - 1)
        elif re.fullmatch(r"[\w.\"]+", key) and titles.count(name) == 1:
            columns.append(titles.index(name))
        else:
            break
    values = [line.split("|") for line in lines[1:]]
    return [[row[column].strip() for column in columns] for row in values if len(row) == len(titles)]


def top_level(code, words):
    """What follows these words outside of parentheses, up to the next clause; None if they aren't there."""
    flat, depth = [], 0
    for char in re.sub(r"'[^']*'", lambda found: "x" * len(found[0]), code):
        depth -= char == ")"
        flat.append(char.lower() if depth == 0 else "x")
        depth += char == "("
    text = "".join(flat)
    at = text.rfind(words)
    if at < 0:
        return None
    end = CLAUSES.search(text, at)
    return code[at + len(words):end.start() if end else len(code)].rstrip("; ")


def split_list(text):
    """The members of a list, by its commas outside of parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def nameless(message):
    """A message without the names and numbers in it."""
    return re.sub(r'"[^"]*"', '".."', re.sub(r"\d+", "N", message or ""))


def unshown(statements):
    """Numbers of the statements whose rows aren't compared: EXPLAIN, calls of the scripts' functions that show plans or are given
    an EXPLAIN, \\gexec of some, and the list of the system's views, which has the extension's."""
    shows, calls = set(), re.compile(r"\('explain\b", re.IGNORECASE)
    for statement in statements:
        made = re.match(r"create (?:or replace )?(?:function|procedure) ([\w.]+)", statement.code, re.IGNORECASE)
        if made and (re.search(r"\bexplain\b", statement.code, re.IGNORECASE) or calls.search(statement.code)):
            shows.add(made[1])
            calls = re.compile(r"\('explain\b|\b(" + "|".join(map(re.escape, sorted(shows))) + r")\s*\(", re.IGNORECASE)
    return {number for number, statement in enumerate(statements)
            if re.match(r"explain\b|select viewname, definition from pg_views where schemaname = 'pg_catalog'", statement.code,
                        re.IGNORECASE)
            or calls.search(statement.code)
            or statement.code == "\\gexec" and re.match(r"select 'explain\b", statements[number - 1].code)}
