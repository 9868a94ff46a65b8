"""pgx's suite: a module of Go with its tests, as the module proxy gives it."""

import json
import re
import shutil
import subprocess
from collections import defaultdict

from pomelo_cluster.host import clean_env

from .outcomes import FAILED, PASSED, SKIPPED, Outcome
from .source import SuiteMissing, command, once

__all__ = ["PGX"]

KINDS = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}
TEMPORARY = re.compile(r"(/Test\w*?)\d+(?=/\d+/)")       # a test's folder, in the name of a part of it
PATIENCE = "10m"            # for a package of tests
SETUP = """CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE DOMAIN uint64 AS numeric(20,0);
    CREATE ROLE " tricky, ' } "" \\ test user " SUPERUSER PASSWORD 'secret';
    CREATE ROLE pgx_md5 SUPERUSER LOGIN PASSWORD 'secret'; CREATE ROLE root SUPERUSER LOGIN"""


class GoSuite:
    """A module's tests."""

    def __init__(self, name, module, version, setup):
        self.name, self.module, self.version, self.setup = name, module, version, setup
        self.folder = None

    def prepare(self, place):
        """Fetches the module and compiles its tests, or raises SuiteMissing."""
        if shutil.which("go") is None:
            raise SuiteMissing("skipped, since there is no go here")
        self.folder = once(place / f"{self.name}-{self.version}", self.module, self.make)

    def make(self, folder):
        """Fills the folder."""
        print(f"drivers: fetching {self.name} {self.version}", flush=True)
        told = json.loads(command(self.name, "go", "mod", "download", "-json", f"{self.module}@{self.version}"))
        shutil.copytree(told["Dir"], folder / "suite")
        for path in [folder / "suite", *(folder / "suite").rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
        command(f"what {self.name} needs", "go", "mod", "download", cwd=folder / "suite")
        command(f"{self.name}'s tests", "go", "test", "-run", "^$", "./...", cwd=folder / "suite")

    def run(self, server, only=None):
        """Runs the tests, or the named ones; returns their outcomes."""
        outcomes = {}
        for package, tests in self.chosen(only).items():
            pattern = ["-run", f"^({'|'.join(sorted(tests))})$"] if tests else []
            outcomes.update(self.run_package(server, package, pattern))
        return {test: outcome for test, outcome in outcomes.items() if only is None or test in only}

    def chosen(self, only):
        """Packages, and the tests to run there; none: all. A test's name is PACKAGE:TEST/PART."""
        if only is None:
            return {"./...": []}
        found = defaultdict(set)
        for test in only:
            package, _, name = test.partition(":")
            found[f"./{package}"].add(re.escape(name.partition("/")[0]))
        return found

    def run_package(self, server, package, pattern):
        """The outcomes of a package's tests."""
        database = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"
        environment = {**clean_env(), "PGX_TEST_DATABASE": database, "PGX_TEST_TCP_CONN_STRING": database,
                       "PGX_TEST_PLAIN_PASSWORD_CONN_STRING": database, "PGTZ": "UTC"}
        done = subprocess.run(["go", "test", "-json", "-p", "1", "-count", "1", "-timeout", PATIENCE, *pattern, package],
                              cwd=self.folder / "suite", env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              errors="replace", check=False)
        outcomes, printed = {}, defaultdict(str)
        for line in done.stdout.splitlines():
            if not line.startswith("{"):
                continue
            event = json.loads(line)
            if "Test" not in event:
                continue
            name = TEMPORARY.sub(r"\1", event["Test"])
            test = f"{event['Package'].removeprefix(self.module).lstrip('/') or '.'}:{name}"
            if event["Action"] == "output":
                printed[test] = (printed[test] + event["Output"])[-4000:]
            elif event["Action"] in KINDS:
                outcomes[test] = Outcome(KINDS[event["Action"]], printed[test])
        return outcomes or {"(all)": Outcome(FAILED, done.stdout[-2000:] + done.stderr[-2000:])}


PGX = GoSuite("pgx", "github.com/jackc/pgx/v5", "v5.13.0", SETUP)
