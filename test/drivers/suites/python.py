"""Suites of Python's drivers, which pytest runs: the tests of a source archive with the driver of the same version."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from pomelo_check.debian_source import fetch_source

from .outcomes import FAILED, Outcome
from .source import SuiteMissing, command, once, unpack

__all__ = ["ASYNCPG", "PSYCOPG", "PSYCOPG2"]

PLUGIN = "tell_outcomes"        # a file in this folder
PATIENCE = 60                   # seconds for a test
RUN = 1800                      # seconds for a suite
TOOLS = ["pytest==8.4.2", "pytest-timeout==2.4.0"]


class PythonSuite:
    """A driver's tests."""

    def __init__(self, name, version, installed, files, variables=None, options=()):
        self.name, self.version = name, version
        self.installed = installed      # what is installed to run them
        self.files = files              # those of the archive that they need
        self.variables = variables or {}
        self.options = options          # of pytest
        self.folder, self.setup = None, ""

    def prepare(self, place):
        """Fetches the tests and makes an environment for them, or raises SuiteMissing."""
        self.folder = once(place / f"{self.name}-{self.version}", [*TOOLS, *self.installed], self.make)

    def make(self, folder):
        """Fills the folder."""
        print(f"drivers: fetching {self.name} {self.version}", flush=True)
        unpack(self.fetch(folder / "fetched"), folder / "suite", self.files)
        command("a Python environment", "/usr/bin/python3", "-m", "venv", str(folder / "venv"))
        command("its packages", self.python(folder), "-m", "pip", "install", "--quiet", *TOOLS, *self.installed)

    def fetch(self, folder):
        """The archive with the tests: the driver's source distribution."""
        command(f"{self.name}'s source", sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", self.name,
                "--dest", str(folder), f"{self.name}=={self.version}")
        return next(folder.iterdir())

    def python(self, folder):
        return str(folder / "venv/bin/python")

    def run(self, server, only=None):
        """Runs the tests, or the named ones, whatever became of earlier runs; returns their outcomes."""
        told = self.folder / "outcomes"
        told.unlink(missing_ok=True)
        environment = {**server.environment(), **self.variables, "PYTHONPATH": str(Path(__file__).parent), "TELL_OUTCOMES_TO": str(told)}
        output = ""
        try:
            done = subprocess.run([self.python(self.folder), "-B", "-m", "pytest", "-q", "-p", PLUGIN, "--cache-clear", "--continue-on-collection-errors",
                                   f"--timeout={PATIENCE}", "--timeout-method=signal", *self.options, *(only or [self.files[0]])],
                                  cwd=self.folder / "suite", env=environment, timeout=RUN, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, errors="replace", check=False)
            output = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            output = f"the suite did not end in {RUN} s"
        if not told.exists():
            return {"(all)": Outcome(FAILED, output)}
        outcomes = {}
        for line in told.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            outcomes[entry["test"]] = Outcome(entry["kind"], entry["detail"])
        return outcomes


class PackagedSuite(PythonSuite):
    """The tests of a driver whose source distribution has none: those of the source package of a distribution.

    The archive is known by its checksum, so that it doesn't matter who delivers it.
    """

    def __init__(self, *arguments, package, sources, checksum, **options):
        super().__init__(*arguments, **options)
        self.package, self.sources, self.checksum = package, sources, checksum

    def fetch(self, folder):
        folder.mkdir()
        try:
            archive = fetch_source(folder, self.package, self.version, self.sources)[0]
        except (OSError, subprocess.CalledProcessError) as error:
            detail = getattr(error, "stderr", "") or str(error)
            raise SuiteMissing(f"skipped, since the source package {self.package} can't be had here:\n{detail.strip()[-1000:]}") from None
        if hashlib.sha256(archive.read_bytes()).hexdigest() != self.checksum:
            raise SuiteMissing(f"skipped, since {archive.name} isn't the archive that the suite is known by")
        return archive


ASYNCPG = PythonSuite("asyncpg", "0.32.0", ["asyncpg==0.32.0", "distro==1.9.0"], ["tests", "pyproject.toml"])
PSYCOPG = PackagedSuite(
    "psycopg", "3.1.17", ["psycopg[binary,test]==3.1.17", "psycopg-pool==3.1.9"], ["tests", "pyproject.toml", "tox.ini"],
    {"PSYCOPG_IMPL": "binary", "PSYCOPG_TEST_DSN": "dbname=postgres"},
    ["-m", "not slow and not mypy and not refcount and not proxy", "-p", "no:randomly", "-W", "ignore::pytest.PytestRemovedIn9Warning"],
    package="psycopg3", sources="deb-src [trusted=yes] http://archive.ubuntu.com/ubuntu noble universe",
    checksum="f17f2fad7e4dc32433d0c77a9e143e537c820f66b4132cdc9f210742e07ba4e3")
PSYCOPG2 = PythonSuite("psycopg2", "2.9.13", ["psycopg2-binary==2.9.13"], ["tests"], {"PSYCOPG2_TESTDB": "postgres"})
