"""Runs scripts on both sides, statement by statement."""

import os
import time
from dataclasses import dataclass, field, replace

from pomelo_check import failures
from pomelo_cluster import host

from .compare import describe, difference, shorten
from .disturb import Disturber, idle
from .script import plain_name
from .session import Session, must_run

# Both protocols' plans are seen: five custom ones, then the generic one.
PREPARED_ROUNDS = 7
PREPARED_REPEATS = 2
RETRIES = 10
# What a CREATE answers when the object is there: of functions, tables, schemas, others.
DUPLICATE = ("42723", "42P07", "42P06", "42710")


@dataclass
class Run:
    """One way to run all scripts."""
    initiator: str = "coordinator"      # or worker, gateway (the coordinator's)
    protocol: str = "simple"            # or prepared
    settings: dict = field(default_factory=dict)
    disturb: str = None                 # what happens between executions: disturb.KINDS, all
    columnar: bool = False              # whether the cluster's tables are
    apart: bool = False                 # whether they are distributed by columns outside of their keys, and none colocated

    def __str__(self):
        settings = "".join(f" {k}={v}" for k, v in self.settings.items())
        disturb = f" disturbed by {self.disturb}" if self.disturb else ""
        return f"{self.initiator} {self.protocol}{settings}{disturb}{' columnar' if self.columnar else ''}{' apart' if self.apart else ''}"

    def options(self):
        """The command-line options that ask for this run."""
        settings = "".join(f" --set {k}={v}" for k, v in self.settings.items())
        disturb = f" --disturb {self.disturb}" if self.disturb else ""
        return f"--initiator {self.initiator} --protocol {self.protocol}{settings}{disturb}" \
            f"{' --columnar' if self.columnar else ''}{' --apart' if self.apart else ''}"


@dataclass
class Servers:
    """Where both sides are."""
    plain: str
    nodes: list             # the coordinator, then the workers
    gateway: str = None     # the coordinator's
    shard_count: int = 8
    cluster: object = None  # the Cluster, if it was made for this run

    def initiator(self, name):
        if name == "gateway":
            return self.gateway or self.nodes[0]
        return self.nodes[0] if name == "coordinator" else self.nodes[-1]


@dataclass
class Failure:
    statement: object
    run: Run
    reason: str
    plain: list
    cluster: list

    def show(self, alone):
        """The report of one mismatch, as lines."""
        yield f"{self.statement.place}: {self.reason} ({self.run})"
        yield "    " + shorten(" ".join(self.statement.text.split()))
        for side, lines in (("plain", self.plain), ("cluster", self.cluster)):
            for i, line in enumerate(lines):
                yield f"  {side + ':' if i == 0 else '':9}{line}"
        yield f"  alone:   {alone}"

    def closing(self, alone):
        """How it is told again at the end of the run."""
        what, text, *sides, _alone = self.show(alone)
        return failures.Failure(self.statement.place, alone, [what, *sides, text])


@dataclass
class Result:
    """What came of one script in one run."""
    script: object
    run: Run
    passed: int = 0
    limits: int = 0         # statements that the cluster refuses, as its script says
    seconds: float = 0.0
    moved: int = 0          # shards that were moved meanwhile
    retried: int = 0        # statements that such a move made fail
    failures: list = field(default_factory=list)
    messages: list = field(default_factory=list)    # same SQLSTATE, other wording
    errors: list = field(default_factory=list)      # both sides failed alike


class ScriptRun:
    """The state of one script in one run."""

    def __init__(self, script, run, servers, limit):
        self.script, self.run, self.servers, self.limit = script, run, servers, limit
        self.result = Result(script, run)
        self.saved = {}
        self.sessions = []
        self.pending = []       # tables to distribute at the next "distribute now"
        self.undone = False     # whether a transaction was, since a disturbance made it fail
        self.disturber = Disturber(run.disturb, script, servers) if run.disturb else None

    def execute(self):
        """Runs the whole script; returns the Result."""
        started = time.monotonic()
        statement = self.script.statements[0]
        try:
            self._prepare()
            queries = False
            self.waiting = sum(s.distributes for s in self.script.statements)
            for statement in self.script.statements:
                if not statement.setup and not queries:
                    self._open_query_sessions()
                    queries = True
                if statement.distributes:
                    self._distribute_pending(statement)
                self._statement(statement)
        except RuntimeError as error:
            self.result.failures.append(Failure(statement, self.run, f"the script ends here: {error}", [], []))
        finally:
            self._clean_up()
        self.result.seconds = time.monotonic() - started
        return self.result

    # -- before and after

    def _session(self, dsn, begin=()):
        session = Session(dsn, begin, self.limit)
        self.sessions.append(session)
        return session

    def _base_settings(self):
        return ["SET client_min_messages = warning", "SET TimeZone = 'UTC'",
                f"SET search_path = {self.script.schema}, public"]

    def _making_settings(self):
        """Of sessions of the cluster, which make its tables."""
        method = ["SET default_table_access_method = columnar"] if self.run.columnar else []
        keys = ["SET citus.global_indexes = on"] if self.run.apart else []
        return [f"SET citus.shard_count = {self.servers.shard_count}"] + method + keys

    def _cluster_settings(self):
        return [f"SET {key} = {quote(value)}" for key, value in self.run.settings.items()]

    def _prepare(self):
        make = [f"DROP SCHEMA IF EXISTS {self.script.schema} CASCADE",
                f"CREATE SCHEMA {self.script.schema}"]
        base = self._base_settings()
        self.plain = self._session(self.servers.plain, base)
        self.cluster = self._session(self.servers.initiator(self.run.initiator), base + self._making_settings())
        for session in (self.plain, self.cluster):
            for text in make:
                must_run(session, text)

    def _open_query_sessions(self):
        for session in (self.plain, self.cluster):
            session.close()
        begin = self._base_settings()
        shared = [f"SET {key} = {quote(value)}" for key, value in self.run.settings.items()
                  if not key.startswith("citus.")]
        self.plain = self._session(self.servers.plain, begin + shared)
        node = self.servers.initiator(self.run.initiator)
        self.cluster = self._session(node, begin + self._making_settings() + self._cluster_settings())

    def _clean_up(self):
        for session in self.sessions:
            session.close()
        if self.disturber:
            self._end_disturber()
        drop = f"DROP SCHEMA IF EXISTS {self.script.schema} CASCADE"
        begin = ["SET client_min_messages = warning"]
        for dsn in [self.servers.plain, self.servers.initiator(self.run.initiator)]:
            session = Session(dsn, begin, self.limit)
            answer = session.execute(drop)
            if answer.kind != "command":
                self.result.failures.append(Failure(
                    self.script.statements[-1], self.run, f"clean-up: {drop}",
                    [], describe(answer)))
            session.close()

    def _end_disturber(self):
        """Ends what disturbs; what went wrong there is a failure of the script."""
        try:
            self.disturber.close()
        except RuntimeError as error:
            self.result.failures.append(Failure(self.script.statements[-1], self.run, str(error), [], []))
        self.result.moved = self.disturber.moved

    # -- one statement

    def _statement(self, statement):
        for params in self._executions(statement):
            if not self._once(statement, params):
                return
        if statement.dumped and not self._same_schema(statement):
            return
        if statement.refused:
            self.result.limits += 1
        else:
            self.result.passed += 1

    def _executions(self, statement):
        """The parameters of each execution."""
        protocol = self._protocol(statement)
        if not statement.params:
            repeat = protocol == "prepared" and statement.reads
            return [None] * (PREPARED_REPEATS if repeat else 1)
        if protocol == "simple" or not statement.reads:
            return statement.params
        rounds = max(PREPARED_ROUNDS, len(statement.params))
        return [statement.params[i % len(statement.params)] for i in range(rounds)]

    def _protocol(self, statement):
        return "simple" if statement.setup else self.run.protocol

    def _once(self, statement, params):
        """One execution on both sides; returns whether they agree."""
        protocol = self._protocol(statement)
        data = self.saved.get(statement.feed) if statement.feed else statement.data
        if self.disturber and not statement.setup:
            self.disturber.before(self.plain, self.cluster, statement)
        plain = self.plain.execute(statement.text, protocol, params, data)
        cluster = self.cluster.execute(statement.text, protocol, params, data)
        if self.disturber and self.disturber.disturbed(cluster):
            if plain.kind != "error" and not idle(self.cluster):
                return self._give_up_transaction()
            cluster = self._again(statement, protocol, params, data, cluster)
        if statement.everywhere and cluster.kind == "command":
            self._run_elsewhere(statement)
        if statement.also and cluster.kind != "error":
            must_run(self.cluster, statement.also)
        if statement.save:
            self.saved[statement.save] = plain.raw
        reason = difference(plain, cluster, statement, self.undone)
        if reason is None and statement.creates:
            reason, cluster = self._distribute(statement, cluster)
        if reason is not None:
            if params is not None:
                reason += f", parameters {params}"
            self.result.failures.append(Failure(
                statement, self.run, reason, describe(plain, cluster), describe(cluster, plain)))
            return False
        if plain.kind == "error" and not statement.refused:
            agreed = Failure(statement, self.run, "both fail", describe(plain), describe(cluster))
            self.result.errors.append(agreed)
            if plain.message != cluster.message:
                self.result.messages.append(agreed)
        return True

    def _again(self, statement, protocol, params, data, cluster):
        """The answer to a statement that a disturbance has made fail, in the end."""
        for _ in range(RETRIES):
            if not self.disturber.disturbed(cluster):
                break
            self.result.retried += 1
            cluster = self.cluster.execute(statement.text, protocol, params, data)
        return cluster

    def _give_up_transaction(self):
        """Undoes, on both sides, a transaction that a disturbance has made fail; False: nothing is left to compare."""
        self.result.retried += 1
        self.undone = True
        for session in (self.plain, self.cluster):
            must_run(session, "ROLLBACK")
        return False

    def _run_elsewhere(self, statement):
        """Repeats a statement on the other nodes, unless it has come there by itself."""
        for dsn in self.servers.nodes:
            if dsn == self.servers.initiator(self.run.initiator) or self.run.initiator == "gateway" and dsn == self.servers.nodes[0]:
                continue
            session = Session(dsn, self._base_settings(), self.limit)
            must_run(session, f"CREATE SCHEMA IF NOT EXISTS {self.script.schema}")
            must_run(session, statement.text, DUPLICATE)
            session.close()

    def _same_schema(self, statement):
        """Whether all nodes have the plain server's schema."""
        plain = dump(self.servers.plain, self.script.schema)
        for node in self.servers.nodes:
            theirs = dump(node, self.script.schema)
            if theirs != plain:
                self.result.failures.append(Failure(
                    statement, self.run, f"the schema of {node}",
                    [line for line in plain if line not in theirs], [line for line in theirs if line not in plain]))
                return False
        return True

    def _distribute(self, statement, answer):
        """Distributes the table that was just created; (reason, answer) as for a statement."""
        placement = self.script.placements.get(statement.creates)
        if placement is None or answer.kind == "error":
            return None, answer
        if self.waiting:
            self.pending.append(placement)
            return None, answer
        placement, done = self._place(placement)
        return (None, answer) if done.kind == "rows" else (placement.command(), done)

    def _place(self, placement):
        """Distributes a table; returns how, and the answer."""
        others = self._columns_outside_keys(placement.table) if self.run.apart and placement.kind == "hash" else []
        for column in others:
            apart = replace(placement, column=quote_identifier(column), colocate_with="none")
            done = self.cluster.execute(apart.command())
            if done.kind == "rows":
                return apart, done
        if self.run.apart and placement.kind == "hash":
            placement = replace(placement, colocate_with="none")
        return placement, self.cluster.execute(placement.command())

    def _columns_outside_keys(self, table):
        """The columns of a table that are in none of its keys, the last first."""
        answer = self.cluster.execute(f"""
            SELECT attname FROM pg_attribute a WHERE attrelid = {quote(table)}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND (i.indisunique OR i.indisexclusion)
            AND a.attnum = ANY (i.indkey)) ORDER BY attnum DESC""")
        return [name for name, in answer.rows]

    def _distribute_pending(self, statement):
        """Distributes the tables made since the last marker, in the order of their creation."""
        self.waiting -= 1
        for placement in self.pending:
            placement, done = self._place(placement)
            if done.kind != "rows":
                self.result.failures.append(Failure(
                    statement, self.run, placement.command(), [], describe(done)))
        self.pending = []


def dump(dsn, schema):
    """The lines of pg_dump for a schema, but for its comments, random tokens, and whether tables are columnar."""
    done = host.run_server_program([os.path.join(host.bin_dir(host.pg_config()), "pg_dump"), "--schema-only", "--no-table-access-method",
                                    f"--schema={schema}", "-d", dsn], capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\"))]


def quote_identifier(name):
    return '"' + name.replace('"', '""') + '"'


def quote(value):
    return "'" + str(value).replace("'", "''") + "'"


def run_script(script, run, servers, limit=60):
    """Runs one script one way; returns its Result."""
    return ScriptRun(script, run, servers, limit).execute()


__all__ = ["Run", "Servers", "Result", "run_script", "plain_name"]
