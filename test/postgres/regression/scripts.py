"""Runs one script after the other on both servers, which stay in step.

A statement that the cluster refuses would leave the two servers with different tables, and everything after it would differ. So the
plain server runs a script again from where it began, with an error of the same SQLSTATE in the place of each refused statement, until
no further refusal is found: what then differs is no consequence. Statements that fail on the cluster in another way than by a plain
refusal take their turn one after the other, as one may be the consequence of another.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pomelo_cluster.host import bin_dir, clean_env, give, make_dir, pg_config, state_dir

from .answers import difference, run_psql, unshown
from .contrib import contrib_scripts, module_of, read_script
from .distribute import local_tables, referenced_tables, set_up
from .script import split
from .source import build_library, source_of

__all__ = ["Runner"]

DATABASE, SAVED = "regression", "regression_saved"
ROUNDS = 40
SETTINGS = {"intervalstyle": "postgres_verbose", "bytea_output": "hex", "timezone_abbreviations": "Default",
            "lc_messages": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C"}


@dataclass
class Result:
    """What came of one script: its (entry, statement, difference)s, and how many statements were compared."""
    differences: list
    compared: int


class Runner:
    """Both servers' databases, with tables of one kind on the cluster."""

    def __init__(self, source, plain, cluster, initiator, kind, expected):
        self.plain, self.initiator, self.kind, self.expected = plain, initiator, kind, expected
        self.folder = Path(state_dir()) / cluster.name / "tests"
        make_dir(self.folder)
        for part in ("sql", "expected", "data"):
            shutil.copytree(source / part, self.folder / part)
        for script in contrib_scripts(source_of(source)):
            module = module_of(script)
            shutil.copytree(source_of(source) / module, self.folder / module)
        (self.folder / "results").mkdir()
        build_library(source, self.folder)
        for path in (self.folder, *self.folder.rglob("*")):
            give(path)
        plain.sql(f"CREATE DATABASE {DATABASE} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        set_up(cluster, initiator, DATABASE, kind)

    def run(self, test):
        """Run a script on the cluster once, and on the plain server as often as refusals are found."""
        statements = split(read_script(self.folder, test))
        local = {"regression.local": ",".join(local_tables(statements)),
                 "regression.referenced": ",".join(referenced_tables(statements))}
        cluster = self._psql(self.initiator, statements, {}, local)
        self._copy(DATABASE, SAVED)
        roles, tablespaces = self._roles(), self._tablespaces()
        refused = {}
        for _ in range(ROUNDS):
            plain = self._psql(self.plain, statements, refused, local)
            more = self._refused(plain, cluster)
            if not more:
                break
            refused |= more
            self._copy(SAVED, DATABASE)
            for role in self._roles() - roles:
                self.plain.sql(f'DROP ROLE "{role}"')
            for name in tablespaces - self._tablespaces():
                self.plain.sql(f"SET allow_in_place_tablespaces = on; CREATE TABLESPACE {name} LOCATION ''")
        return self._result(test, statements, plain, cluster, refused)

    def _refused(self, plain, cluster):
        """Statements (number -> SQLSTATE) that failed on the cluster only: those that are plain refusals, or else the first one."""
        failed = {number: cluster[number] for number, answer in sorted(plain.items())
                  if number in cluster and cluster[number].state and not answer.state}
        plainly = {number: answer for number, answer in failed.items()
                   if self.expected.refusal(self.kind, "refused", answer.state, answer.told)}
        return {number: answer.state for number, answer in (plainly or dict(list(failed.items())[:1])).items()}

    def _result(self, test, statements, plain, cluster, refused):
        differences, hidden = [], unshown(statements)
        for number, answer in sorted(plain.items()):
            if number in refused:
                answer.state = None
            found = difference(statements[number], answer, cluster.get(number), number not in hidden)
            if found:
                text = self.expected.entry(self.kind, test, statements[number], found)
                differences.append((text, statements[number], found))
            if number not in cluster:
                break
        return Result(differences, len(set(plain) & set(cluster)))

    def _roles(self):
        """The plain server's roles, which a script may leave behind in no database."""
        return set(self.plain.sql("SELECT rolname FROM pg_roles").splitlines())

    def _tablespaces(self):
        """The plain server's tablespaces, which a script may drop."""
        return set(self.plain.sql("SELECT spcname FROM pg_tablespace").splitlines())

    def _copy(self, source, target):
        """Makes one database of the plain server a copy of another."""
        for text in (f"DROP DATABASE IF EXISTS {target} WITH (FORCE)", f"CREATE DATABASE {target} TEMPLATE {source}"):
            self.plain.sql(text)

    def _psql(self, node, statements, failing, local):
        """Runs statements as pg_regress would."""
        options = " ".join(f"-c {name}={value}" for name, value in {**SETTINGS, **local}.items())
        env = clean_env() | {
            "PGHOST": "127.0.0.1", "PGPORT": str(node.port), "PGUSER": "postgres", "PGDATABASE": DATABASE, "PGAPPNAME": "pg_regress",
            "PGTZ": "America/Los_Angeles", "PGDATESTYLE": "Postgres, MDY", "PGOPTIONS": options, "PG_ABS_SRCDIR": str(self.folder),
            "PG_ABS_BUILDDIR": str(self.folder), "PG_LIBDIR": str(self.folder), "PG_DLSUFFIX": ".so"}
        args = [os.path.join(bin_dir(pg_config()), "psql"), "-X", "-q", "-v", "HIDE_TABLEAM=on", "-v", "HIDE_TOAST_COMPRESSION=on"]
        return run_psql(args, env, statements, failing)
