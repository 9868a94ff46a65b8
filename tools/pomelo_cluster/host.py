"""What the tool needs to know of the machine: binaries, users, folders.

PostgreSQL refuses to run as root, so when root calls the tool the servers (and
only they) run as an ordinary user: $POMELO_USER, or `postgres`, which Debian's
package creates. Data lies outside the checkout, in a folder that this user owns.
"""

import os
import pwd
import subprocess
import tempfile

PG_CONFIG_TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "pg-config")


class ClusterError(Exception):
    """Something the caller can read and act upon; printed without a traceback."""


class PortInUse(ClusterError):
    """Another program, perhaps a cluster just being made by another user, has the port."""


def pg_config():
    """Path of the pg_config whose server is used: $PG_CONFIG, or that of the newest server here (tools/pg-config)."""
    found = subprocess.run([PG_CONFIG_TOOL], capture_output=True, text=True)
    path = found.stdout.strip()
    if not path:
        raise ClusterError(found.stderr.strip())
    if not os.access(path, os.X_OK):
        raise ClusterError(f"PG_CONFIG is {path}, which can't be run")
    return path


def bin_dir(config):
    """The folder of the server's binaries, as pg_config tells it."""
    return subprocess.run([config, "--bindir"], check=True, capture_output=True,
                          text=True).stdout.strip()


def server_user():
    """The passwd entry of the user that servers run as."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    name = os.environ.get("POMELO_USER", "postgres")
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ClusterError(f'user "{name}" does not exist: run tools/install-deps, or set '
                           "POMELO_USER to an ordinary user") from None
    if entry.pw_uid == 0:
        raise ClusterError("PostgreSQL does not run as root: set POMELO_USER to an ordinary user")
    return entry


def state_dir():
    """The folder with all clusters of this user; made when missing."""
    path = os.environ.get("POMELO_STATE") or f"/var/tmp/pomelo-{server_user().pw_name}"
    make_dir(path)
    return path


def make_dir(path):
    """Makes a private folder that belongs to the server's user; several programs may make the same one at once."""
    try:
        if not os.path.exists(path):
            own = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))
            give(own)
            try:
                os.rename(own, path)
            except OSError:  # somebody else has made it, and used it
                os.rmdir(own)
        if os.stat(path).st_uid != server_user().pw_uid:
            raise ClusterError(f"{path} exists and belongs to another user") from None
    except OSError as error:
        raise ClusterError(f"could not create {path}: {error.strerror}") from None


def give(path):
    """Hands a file that root made to the server's user."""
    if os.geteuid() == 0:
        user = server_user()
        os.chown(path, user.pw_uid, user.pw_gid)


def clean_env():
    """The environment for servers and clients: no stray PG* settings, stable messages."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("PG") and not k.startswith("LC_") and k != "LANGUAGE"}
    env["LANG"] = "C.UTF-8"
    env["PGCONNECT_TIMEOUT"] = "10"
    env["PSQLRC"] = os.devnull
    return env


def run_server_program(args, **options):
    """Runs a program as the servers' user; returns the CompletedProcess."""
    if os.geteuid() == 0:
        user = server_user()
        options.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    env = clean_env()
    env["HOME"] = server_user().pw_dir
    return subprocess.run(args, cwd="/", env=env, text=True, stdin=subprocess.DEVNULL, **options)
