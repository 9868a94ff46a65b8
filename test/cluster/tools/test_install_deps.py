"""What tools/install-deps says on a machine that lacks something; programs that it calls are made up."""

import os
import shutil
import subprocess

import pytest

from harness.server_trees import ROOT

# What it takes from the machine as it is.
PROGRAMS = "bash sh env sed awk grep head sort ls cat cut date dirname mktemp rm mkdir touch true ldd".split()

# A machine of Debian's without any package.
MACHINE = {
    "id": "echo ${FAKE_UID:-0}",
    "dpkg-query": "exit 1",
    "apt-cache": 'case $1 in depends) [ -z "${FAKE_SERVER:-}" ] || echo "  Depends: postgresql-$FAKE_SERVER" ;; esac',
    "apt-get": '[ -z "${FAKE_UPDATE:-}" ] || { echo "E: $FAKE_UPDATE"; exit 100; }',
}


@pytest.fixture
def install(tmp_path):
    """Runs a copy of the tool with programs that a test names, and settings; returns its status and what it says."""
    shutil.copytree(os.path.join(ROOT, "tools"), tmp_path / "checkout/tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        os.symlink(shutil.which(name), tmp_path / "bin" / name)

    def run(programs=None, **settings):
        for name, text in {**MACHINE, **(programs or {})}.items():
            path = tmp_path / "bin" / name
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(f"#!/bin/sh\n{text}\n")
                path.chmod(0o755)
        config = "/usr/lib/postgresql/99/bin/pg_config"     # which isn't there: a package of Debian's would have it
        done = subprocess.run([tmp_path / "checkout/tools/install-deps"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env={"PATH": str(tmp_path / "bin"), "PG_CONFIG": config, **settings})
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("programs, settings, messages", [
    ({}, {"FAKE_UID": "1000"}, ["not root and has no sudo: run as root", "tools/install-deps"]),
    ({"sudo": "exit 1"}, {"FAKE_UID": "1000"}, ["may not use sudo (or not without a terminal): run as root"]),
    ({"dpkg-query": None}, {}, ["this is no Debian: install gcc, make", "set PG_CONFIG, and run make install"]),
    ({}, {"FAKE_UPDATE": "Release file for http://m/InRelease is expired (invalid since 3d)."},
     ["invalid since 3d", "have expired, or its clock is wrong", "Acquire::Check-Valid-Until=false"]),
    ({}, {"FAKE_UPDATE": "Cannot initiate the connection to m:80 (2a04::644). - connect (101: Network is unreachable)"},
     ["2a04::644", "Acquire::ForceIPv4=true", "no package source of this machine has gcc"]),
    ({}, {}, ["no package source of this machine has gcc", "apt.postgresql.org"]),
    ({}, {"PG_CONFIG": "/opt/none/bin/pg_config"}, ["PG_CONFIG is /opt/none/bin/pg_config, which can't be run"]),
    ({"ls": "true"}, {"PG_CONFIG": ""}, ["no package \"postgresql\"", "set PG_CONFIG, or mend them"]),
], ids=["no-sudo", "sudo-refused", "no-debian", "expired", "no-ipv6", "no-package", "no-server", "no-sources"])
def test_machine_lacks(install, programs, settings, messages):
    """It fails with what is missing and what to do, and shows no shell's complaint."""
    status, text = install(programs, **settings)
    assert status == 1 and all(message in text for message in messages), text
    assert "line " not in text and "not found" not in text, text
