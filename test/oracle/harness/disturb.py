"""What a run can make happen between the executions of a script's statements.

None of it may change an answer: either both sides get the same (a role, settings), or it
concerns only how a server does its work (DDL that leaves a table as it was, lost
connections between nodes, shards that move). What needs the session's transaction to be over waits for that.
"""

import os
import time
from itertools import cycle

from psycopg import pq

from .moves import GONE, Mover
from .session import Session, must_run

# What happens, by the names that --disturb knows; "all" takes turns, with little of what is slow.
KINDS = ("ddl", "role", "settings", "connections", "moves")
TURNS = ("settings", "role", "connections", "settings", "role", "connections", "settings", "ddl")

ROLE = "oracle_reader_and_writer"
BUNDLES = (
    {"DateStyle": "German", "IntervalStyle": "iso_8601", "TimeZone": "Asia/Kolkata",
     "extra_float_digits": "-3", "bytea_output": "escape"},
    {"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "TimeZone": "America/New_York",
     "extra_float_digits": "0", "transform_null_equals": "on", "row_security": "off"},
    {"DateStyle": "Postgres, MDY", "IntervalStyle": "postgres_verbose", "TimeZone": "UTC",
     "standard_conforming_strings": "off", "escape_string_warning": "off"},
    {"DateStyle": "ISO, MDY", "IntervalStyle": "postgres", "TimeZone": "Pacific/Chatham",
     "extra_float_digits": "3", "quote_all_identifiers": "on", "array_nulls": "off"},
    {"DateStyle": "ISO, YMD", "default_text_search_config": "pg_catalog.english",
     "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off",
     "jit": "off"},  # what must scan all the same costs so much that each run would be compiled
)
# Tables that scripts make must still come into their schema.
PATHS = ("{schema}, public", "{schema}", "{schema}, pg_catalog, public")
TERMINATE = ("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
             "AND application_name LIKE 'citus_internal%' AND pg_terminate_backend(pid)")
PATIENCE = 10
REFUSED = ("25P02", "42501")
# What a statement beside a move may end with: a serialization failure, a deadlock.
RETRY = ("40001", "40P01")
# Forms of DDL after which a table is as before.
DDL = (
    "ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS {number}",
    "ALTER TABLE {table} ADD COLUMN oracle_extra text DEFAULT 'x'; "
    "ALTER TABLE {table} DROP COLUMN oracle_extra",
    "CREATE INDEX oracle_extra ON {table} ({column}); DROP INDEX {schema}.oracle_extra",
    "ANALYZE {table}",
)


class Disturber:
    """Does the things of one kind, in turn, for one script."""

    def __init__(self, kind, script, servers):
        self.script, self.servers = script, servers
        self.turns = cycle(TURNS if kind == "all" else [kind])
        self.sides = {}
        self.bundles = cycle(BUNDLES)
        self.paths = cycle(PATHS)
        self.roles = cycle((ROLE, "none"))
        self.ddl = cycle(DDL)
        self.tables = cycle(self._tables() or [None])
        self.changed = set()
        self.count = 0
        self.mover = None
        if kind == "moves":
            self.mover = Mover(servers.nodes[0], script.schema)
            self.mover.start()

    def before(self, plain, cluster, statement):
        """Disturbs the two sessions before they execute the statement."""
        self.count += 1
        getattr(self, "_" + next(self.turns))(plain, cluster, statement)

    def close(self):
        """Ends what goes on, and removes what it made."""
        if self.mover:
            self.mover.stop()
        if ROLE in self.changed:
            for what in (f"DROP OWNED BY {ROLE}", f"DROP ROLE IF EXISTS {ROLE}"):
                for dsn in self._all():
                    must_run(self.sides[dsn], what)
        for session in self.sides.values():
            session.close()

    @property
    def moved(self):
        """How many shards were moved."""
        return self.mover.moved if self.mover else 0

    def disturbed(self, answer):
        """Whether an answer is the error of what may be tried again since it was disturbed."""
        return self.mover is not None and answer.kind == "error" and \
            (answer.sqlstate in RETRY or GONE.search(answer.message))

    # -- the kinds

    def _settings(self, plain, cluster, _statement):
        wanted = dict(next(self.bundles), search_path=next(self.paths))
        for name in sorted({n for bundle in BUNDLES for n in bundle}):
            self._both(plain, cluster, f"SET {name} = '{wanted[name]}'" if name in wanted
                       else f"RESET {name}")
        path = wanted["search_path"].format(schema=self.script.schema)
        self._both(plain, cluster, f"SET search_path = {path}")

    def _role(self, plain, cluster, statement):
        if ROLE not in self.changed:
            self.changed.add(ROLE)
            for dsn in self._all():
                self._side(dsn, f"DROP ROLE IF EXISTS {ROLE}")
                for text in (f"CREATE ROLE {ROLE}", f"GRANT pg_read_all_data, pg_write_all_data TO {ROLE}"):
                    must_run(self.sides[dsn], text)
        only_data = statement.reads or statement.writes
        self._both(plain, cluster, f"SET ROLE {next(self.roles) if only_data else 'none'}")

    def _ddl(self, plain, cluster, _statement):
        placement = next(self.tables)
        if placement is None or not idle(plain) or not idle(cluster):
            return
        table = f"{self.script.schema}.{placement.table}"
        commands = next(self.ddl).format(
            table=table, column=placement.column or "ctid", schema=self.script.schema,
            number=self.count % 100)
        for command in commands.split("; "):
            for dsn in (self.servers.plain, self.servers.nodes[0]):
                self._side(dsn, command)

    def _connections(self, _plain, cluster, _statement):
        if not idle(cluster):
            return
        pids = [pid for dsn in self.servers.nodes for pid, in self._side(dsn, TERMINATE).rows]
        deadline = time.monotonic() + PATIENCE
        while any(map(exists, pids)) and time.monotonic() < deadline:
            time.sleep(0.001)

    def _moves(self, _plain, _cluster, _statement):
        """Goes on all the time."""

    # -- means

    def _tables(self):
        return [p for p in self.script.placements.values() if p.column]

    def _all(self):
        return [self.servers.plain, *self.servers.nodes]

    def _both(self, plain, cluster, text):
        """Runs a statement in both sessions; only an aborted transaction, or a role of the script, may refuse it."""
        for session in (plain, cluster):
            must_run(session, text, REFUSED)

    def _side(self, dsn, text):
        """Runs a statement on a server, apart from the script; it may fail (a table that is gone)."""
        if dsn not in self.sides:
            self.sides[dsn] = Session(dsn, ["SET client_min_messages = error",
                                            "SET lock_timeout = '5s'"])
        return self.sides[dsn].execute(text)


def exists(pid):
    """Whether a process of this machine has not ended."""
    return os.path.exists(f"/proc/{pid}")


def idle(session):
    """Whether the session is between transactions."""
    return session.conn is None or session.conn.transaction_status == pq.TransactionStatus.IDLE
