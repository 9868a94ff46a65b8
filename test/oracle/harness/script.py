"""A script: its statements, the markers in its comments, how its tables are distributed.

Markers are comment lines:

    -- distribute: t(col), u(col) with t, r reference, s single, l local
    -- setup ends                   what follows runs in the chosen protocol
    -- needs: setting               not for runs that switch this off
    -- needs: 17                    not for servers of earlier versions
    -- needs: heap                  not for columnar tables
    -- needs: colocation            not for tables that are apart
    -- distribute now               tables created above are distributed here, not at once
  and in front of one statement:
    -- on all nodes                 run it on every node (functions, sequences)
    -- both fail: 42P01             setup that fails on both sides, with that SQLSTATE
    -- ordered / -- unordered       compare rows in order, or as a multiset
    -- params: 1, 'two', NULL       one line an execution
    -- statement needs: colocation  left out on both sides in runs for which a script that needs this is
    -- cluster fails: 0A000         the cluster refuses this, by design
    -- cluster also: SELECT ...     afterwards, the cluster alone runs this
    -- save: name / -- feed: name   keep COPY's output / use it as COPY's input
    -- same schema                  afterwards, pg_dump says the same of the plain server and of all nodes
"""

import os
import re
from dataclasses import dataclass, field

from . import generate
from .lexer import ScriptError, split

NAME = r'(?:"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_$]*)'
CREATE_TABLE = re.compile(
    rf"CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?({NAME}(?:\.{NAME})?)",
    re.IGNORECASE)
SPEC = re.compile(
    rf"({NAME})\s*(?:\(\s*({NAME})\s*\)|(reference|single|local))"
    rf"((?:\s+with\s+{NAME})?)((?:\s+shards\s+\d+)?)$", re.IGNORECASE)
READS = {"select", "values", "table"}
WRITES = {"insert", "update", "delete", "merge"}
# Rows of these come in the order that the cursor gives them.
CURSOR_READS = {"fetch"}
STATEMENT_MARKERS = {"ordered", "unordered", "on all nodes", "same schema"}
VALUE_MARKERS = ("params:", "cluster fails:", "cluster also:", "both fail:", "save:", "feed:", "statement needs:")
SCRIPT_MARKERS = ("distribute:", "distribute now", "setup ends", "needs:")


@dataclass
class Placement:
    """How one table is distributed."""
    table: str              # as SQL writes it
    kind: str               # hash, single, reference
    column: str = None      # as SQL writes it
    colocate_with: str = None
    shards: int = None

    def command(self):
        """The statement that distributes the table."""
        table = literal(self.table)
        if self.kind == "reference":
            return f"SELECT create_reference_table({table})"
        options = ""
        if self.colocate_with:
            options += f", colocate_with => {literal(self.colocate_with)}"
        if self.shards:
            options += f", shard_count => {self.shards}"
        column = "NULL" if self.kind == "single" else literal(plain_name(self.column))
        return f"SELECT create_distributed_table({table}, {column}{options})"


@dataclass
class Statement:
    """One statement, with what its markers say."""
    script: str
    line: int
    text: str
    setup: bool
    reads: bool                     # may be executed again without changing anything
    writes: bool                    # changes rows
    ordered: bool
    params: list = field(default_factory=list)
    refused: str = None             # SQLSTATE that the cluster answers by design
    fails: str = None               # SQLSTATE that both sides answer
    also: str = None                # what the cluster runs after it
    save: str = None
    feed: str = None
    data: str = None                # for COPY FROM STDIN
    creates: str = None             # the table that a CREATE TABLE makes
    makes_placed: bool = False      # that is to be distributed
    everywhere: bool = False        # run on the other nodes too
    distributes: bool = False       # tables created above are distributed before this
    dumped: bool = False            # the schema is compared after it
    needs: tuple = ()               # as of a script; it is left out on both sides otherwise
    words: frozenset = frozenset()

    @property
    def place(self):
        return f"{self.script}:{self.line}"


@dataclass
class Script:
    path: str
    name: str
    placements: dict
    statements: list
    needs: list     # settings without which the cluster refuses what it does; the server's oldest version; "heap"

    @property
    def schema(self):
        return "o_" + re.sub(r"\W", "_", self.name)

    @property
    def queries(self):
        return [s for s in self.statements if not s.setup]


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def plain_name(name):
    """A column's name without quotes."""
    if name.startswith('"'):
        return name[1:-1].replace('""', '"')
    return name.lower()


def read(path):
    """The text of a script: of a file, or made for a path like random:SEED:COUNT."""
    if path.startswith(generate.PREFIX):
        numbers = path.removeprefix(generate.PREFIX)
        if not re.fullmatch(r"\d+(:\d+)?", numbers):
            raise ScriptError(f"{path} is not {generate.PREFIX}SEED[:COUNT]")
        return generate.script(*map(int, numbers.split(":")))
    with open(path, encoding="utf-8") as file:
        return file.read()


def load(path):
    """Reads a script; raises ScriptError with the place when it is malformed."""
    raw, rest = split(path, read(path))
    shown = os.path.relpath(path)
    placements, statements, needs = {}, [], []
    setup = any(text == "setup ends" for s in raw for _, text in s.comments)
    prepared_order = {}
    for one in raw:
        markers = {}
        for line, text in one.comments:
            if text.startswith("distribute:"):
                read_placements(text.partition(":")[2], placements, f"{shown}:{line}")
            elif text == "setup ends":
                setup = False
            elif text.startswith("needs:"):
                needs += text.partition(":")[2].split()
            elif text == "distribute now":
                markers[text] = True
            else:
                read_marker(text, markers)
        statements.append(make_statement(shown, one, markers, setup, prepared_order))
        statements[-1].makes_placed = statements[-1].creates in placements
    if any(text.startswith(SCRIPT_MARKERS) for _, text in rest):
        raise ScriptError(f"{shown}: a marker after the last statement")
    name = os.path.splitext(os.path.basename(path))[0]
    return Script(path, name, placements, statements, needs)


def read_marker(text, markers):
    if text in STATEMENT_MARKERS:
        markers[text] = True
    for key in VALUE_MARKERS:
        if text.startswith(key):
            markers.setdefault(key, []).append(text[len(key):].strip())


def read_placements(text, placements, place):
    for part in re.split(r",(?![^(]*\))", text):
        if not part.strip():
            continue
        match = SPEC.match(part.strip())
        if not match:
            raise ScriptError(f'{place}: can\'t read "{part.strip()}"')
        table, column, kind, colocation, shards = match.groups()
        if kind and kind.lower() == "local":
            continue
        placements[table] = Placement(
            table, kind.lower() if kind else "hash", column,
            colocation.split(None, 1)[1].strip() if colocation else None,
            int(shards.split()[1]) if shards else None)


def make_statement(shown, one, markers, setup, prepared_order):
    words = [t.text.lower() for t in one.tokens if t.kind == "word"]
    first = words[0] if words else ""
    writes = bool(WRITES & set(words))
    reads = (first in READS or (first == "with" and not writes)) and "into" not in words
    ordered = has_order(one.tokens)
    if first in ("insert", "update", "delete", "merge") or (first == "with" and writes):
        ordered = ordered and not {"insert", "update", "delete", "merge"} & {
            t.text.lower() for t in one.tokens if t.depth == 0}
    if first == "prepare":
        prepared_order[words[1]] = ordered
    if first == "execute":
        ordered = prepared_order.get(words[1], False)
    ordered = ordered or first in CURSOR_READS or first in ("explain", "show")
    if "ordered" in markers:
        ordered = True
    if "unordered" in markers:
        ordered = False
    created = CREATE_TABLE.match(one.text)
    return Statement(
        shown, one.line, one.text, setup, reads, first in WRITES or (first == "with" and writes), ordered,
        params=[read_params(p) for p in markers.get("params:", [])],
        refused=first_of(markers, "cluster fails:"), fails=first_of(markers, "both fail:"),
        also=first_of(markers, "cluster also:"), save=first_of(markers, "save:"),
        feed=first_of(markers, "feed:"), data=one.data,
        creates=created.group(1) if created else None,
        needs=tuple(word for text in markers.get("statement needs:", []) for word in text.split()),
        everywhere="on all nodes" in markers, distributes="distribute now" in markers, dumped="same schema" in markers,
        words=frozenset(plain_name(t.text) for t in one.tokens if t.kind in ("word", "ident")))


def first_of(markers, key):
    return markers[key][0] if key in markers else None


def has_order(tokens):
    """True when ORDER BY stands outside all parentheses."""
    top = [t.text.lower() for t in tokens if t.depth == 0]
    return any(a == "order" and b == "by" for a, b in zip(top, top[1:]))


def read_params(text):
    """Values of a params line: 'quoted' with doubled quotes, bare words, NULL."""
    values = []
    for match in re.finditer(r"\s*(?:'((?:[^']|'')*)'|([^,]*?))\s*(?:,|$)", text):
        if match.end() == match.start():
            break
        quoted, bare = match.groups()
        if quoted is not None:
            values.append(quoted.replace("''", "'"))
        else:
            values.append(None if bare.upper() == "NULL" else bare)
        if match.end() == len(text) and not text.endswith(","):
            break
    return values
