"""Runs PostgreSQL's own drivers, pg_regress and pg_isolation_regress, on a cluster.

Both compare what a script prints with a file in expected/. They come with the
server's development package; results and differences go to build/test/<area>/.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

from pomelo_cluster import Cluster, ClusterError, pg_config
from pomelo_cluster.host import clean_env

from . import FAST, unwind_when_terminated
from .areas import ROOT
from .failures import Failure, crashes, print_failures
from .sample import share_of

# "test name ... ok", "     name ... FAILED" and, since version 16, TAP.
LINE = re.compile(r"^(?:test|\s)\s+(\S+)\s+\.\.\. (ok|FAILED)|^(ok|not ok) \d+\s+[-+] (\S+)")


class Area:
    """An area of tests that a regression driver runs."""

    def __init__(self, name, driver, sources, suffix, first_port):
        self.name = name
        self.driver = driver            # below the server's pgxs/src/test
        self.sources = sources          # folder of the scripts
        self.suffix = suffix
        self.first_port = first_port
        self.folder = os.path.join(ROOT, "test", name)
        self.output = os.path.join(ROOT, "build", "test", name)
        self.passed = 0
        self.failures = []

    def main(self):
        """Runs the named tests, or those of the schedule; returns the exit status."""
        args = self.parser().parse_args()
        unwind_when_terminated()
        try:
            if args.port:
                self.run(args, args.port, args.tests or share_of(self.schedule()))
            else:
                self.run_on_servers(args)
        except ClusterError as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            return 2
        print_failures(self.failures)
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        return 1 if self.failures and not args.accept else 0

    def run_on_servers(self, args):
        """Runs the tests on a cluster, some from a worker too, and those that are for one server too also there."""
        tests = args.tests or share_of(self.schedule())
        if not args.plain:
            with Cluster.temporary(f"check-{self.name}", self.first_port, keep=args.keep,
                                   settings=FAST) as cluster:
                self.set_up(cluster.nodes[0], "setup.sql")
                self.run(args, cluster.nodes[0].start_gateway() if args.gateway else cluster.nodes[0].port, tests)
                on_worker = [name for name in tests if name in self.schedule("schedule.worker")]
                if on_worker and not args.accept:
                    self.run(args, cluster.nodes[1].port, on_worker)
                self.failures += crashes(cluster)
        tests = [name for name in tests if name in self.schedule("schedule.plain")]
        if tests and not (args.accept and not args.plain):
            with Cluster.temporary(f"check-{self.name}-plain", self.first_port, 1, keep=args.keep,
                                   settings=FAST, workers=0, kind="plain") as server:
                self.set_up(server.nodes[0], "setup.plain.sql")
                self.run(args, server.nodes[0].port, tests)

    def set_up(self, node, script):
        path = os.path.join(self.folder, script)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                node.sql(file.read())

    def parser(self):
        top = argparse.ArgumentParser(prog=f"test/{self.name}/run")
        top.add_argument("tests", nargs="*", help="names of tests (those in the schedule)")
        top.add_argument("--accept", action="store_true",
                         help="take what the tests print as what they should print")
        top.add_argument("--port", type=int, help="use the running coordinator on this port")
        top.add_argument("--gateway", action="store_true", help="ask the coordinator through its gateway")
        top.add_argument("--plain", action="store_true",
                         help="only on one plain server, the tests of schedule.plain")
        top.add_argument("--keep", action="store_true", help="leave the servers running")
        return top

    def run(self, args, port, wanted):
        """Runs tests on one server, with a report."""
        shutil.rmtree(self.output, ignore_errors=True)
        os.makedirs(self.output)
        self.supply_expected(wanted)
        command = [self.program(), "--use-existing", "--dbname=postgres", "--user=postgres",
                   "--host=127.0.0.1", f"--port={port}", f"--bindir={self.bindir()}",
                   f"--inputdir={self.folder}", f"--outputdir={self.output}"]
        command += [f"--schedule={self.folder}/schedule"] if wanted == self.schedule() else wanted
        passed, failed = self.drive(command)
        if args.accept:
            for name in failed:
                shutil.copy(f"{self.output}/results/{name}.out", f"{self.folder}/expected")
                print(f"accepted: {name}")
        else:
            self.report(wanted, passed, failed)

    def drive(self, command):
        """Runs the driver; returns the names of tests that passed and failed."""
        passed, failed = [], []
        process = subprocess.Popen(command, cwd=self.output, env=clean_env(), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
                found = LINE.match(line)
                if found:
                    good = found[2] == "ok" or found[3] == "ok"
                    (passed if good else failed).append(found[1] or found[4])
        except KeyboardInterrupt:
            process.terminate()
            raise
        process.wait()
        return passed, failed

    def report(self, wanted, passed, failed):
        differences = os.path.join(self.output, "regression.diffs")
        lines = []
        if failed and os.path.exists(differences):
            with open(differences, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
            print("\n".join(lines[:400]))
            if len(lines) > 400:
                print(f"... {len(lines) - 400} more lines in {differences}")
        for name in failed:
            self.failures.append(Failure(name, f"test/{self.name}/run {name}",
                                         first_differences(lines, name)))
        for name in wanted:
            if name not in passed and name not in failed:
                self.failures.append(Failure(name, f"test/{self.name}/run {name}",
                                             how="did not run"))
        self.passed += len(passed)

    def schedule(self, file_name="schedule"):
        """Names of the tests in a schedule; none if there is no such file."""
        names = []
        path = os.path.join(self.folder, file_name)
        if not os.path.exists(path):
            return names
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("test:"):
                    names += line[len("test:"):].split()
        return names

    def supply_expected(self, wanted):
        """Gives new tests an empty expectation: the drivers insist on a file."""
        os.makedirs(f"{self.folder}/expected", exist_ok=True)
        for name in wanted:
            script = f"{self.folder}/{self.sources}/{name}{self.suffix}"
            if not os.path.exists(script):
                raise ClusterError(f"there is no test {name} ({script})")
            path = f"{self.folder}/expected/{name}.out"
            if not os.path.exists(path):
                open(path, "w", encoding="utf-8").close()

    def program(self):
        pgxs = subprocess.run([pg_config(), "--pgxs"], check=True, capture_output=True,
                              text=True).stdout.strip()
        path = os.path.join(os.path.dirname(pgxs), "..", "test", self.driver)
        if not os.access(path, os.X_OK):
            raise ClusterError(f"{path} is missing: run tools/install-deps")
        return os.path.realpath(path)

    def bindir(self):
        return subprocess.run([pg_config(), "--bindir"], check=True, capture_output=True,
                              text=True).stdout.strip()


def first_differences(lines, name):
    """What is new, missing or in the way of what should have been printed, first things first."""
    found, mine = [], False
    for line in lines:
        if line.startswith("diff "):
            mine = f"/{name}.out" in line
        elif mine and line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- ")):
            found.append(line)
    return found
