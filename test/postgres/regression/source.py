"""PostgreSQL's scripts and the library that they call, for the server that is tested."""

import fcntl
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from pomelo_check.debian_source import fetch_source
from pomelo_cluster import ClusterError
from pomelo_cluster.host import give, pg_config, state_dir

from .contrib import CONTRIB, MODULES, contrib_scripts

__all__ = ["SourceMissing", "config", "full_version", "regression_folder", "isolation_folder", "schedule", "source_of", "with_needed", "build_library"]

# About the server's own insides, or of a server without tables: nothing is distributed there.
LEFT_OUT = """subscription opr_sanity misc_sanity type_sanity sanity_check oidjoins database init_privs infinite_recurse
    sysviews""".split()
# They make the tables and indexes that all others use.
FIRST = ["test_setup", "create_index"]
# What contrib/spi has for the scripts.
LIBRARIES = ["refint.so", "autoinc.so"]
REGRESS = "src/test/regress"
ISOLATION = "src/test/isolation"
PARTS = [ISOLATION, REGRESS, *(f"{CONTRIB}/{module}" for module in MODULES)]


class SourceMissing(ClusterError):
    """PostgreSQL's scripts can't be had here."""


def config(option):
    return subprocess.run([pg_config(), option], check=True, capture_output=True, text=True).stdout.strip()


def full_version():
    """The server's version, such as 15.18."""
    return config("--version").split()[1]


def regression_folder(given, wanted, update):
    """src/test/regress of a source tree: the one given, or that of Debian's source package; wanted: the version that the list is about; None: there is no list."""
    if given:
        folder = Path(given) / REGRESS
        if not (folder / "parallel_schedule").exists():
            raise ClusterError(f"{folder} has no parallel_schedule: give --source a source tree of the server's version")
        return folder
    own = full_version()
    if wanted is None and not update:
        raise SourceMissing(f"there is no list of differences for PostgreSQL {own}")
    place = Path(state_dir()) / "postgres-source"
    place.mkdir(exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return fetched(place, own, wanted)


def fetched(place, own, wanted):
    """The folder of Debian's source package of the server's major version, fetched once into a place."""
    version = place / (wanted or own)
    if all((version / part).exists() for part in PARTS):
        return version / REGRESS
    try:
        return unpack(place, *fetch_source(place, f"postgresql-{own.partition('.')[0]}", wanted))
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", "") or str(error)
        raise SourceMissing("the server's source package can't be fetched with apt-get; give --source a source tree, which needn't be "
                            f"configured. It said:\n{detail.strip()}") from None


def unpack(place, archive, version):
    """Unpacks scripts and specs into the folder of their version; apt has checked the archive."""
    target = place / version
    shutil.rmtree(target, ignore_errors=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            inner = member.name.partition("/")[2]
            if member.isfile() and inner.startswith(tuple(f"{part}/" for part in PARTS)):
                path = target / "new" / inner
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
    for part in PARTS:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        (target / "new" / part).rename(target / part)
    return target / REGRESS


def source_of(regress):
    """The source tree whose scripts are in a folder."""
    return regress.parent.parent.parent


def isolation_folder(regress):
    """The folder of the isolation specs beside that of the scripts."""
    folder = regress.parent / Path(ISOLATION).name
    if not folder.exists():
        raise ClusterError(f"{folder} is missing")
    return folder


def schedule(folder):
    """Names of the tests, in PostgreSQL's order, and those of contrib modules."""
    lines = (folder / "parallel_schedule").read_text().splitlines()
    names = [name for line in lines if line.startswith("test:") for name in line.split()[1:]]
    return [name for name in names if name not in LEFT_OUT] + contrib_scripts(source_of(folder))


def with_needed(folder, chosen):
    """The chosen tests and those that they depend on, as the schedule's comments say, in PostgreSQL's order."""
    needs = dict(re.findall(r"(?m)^# (\w+) depends on (.+)$", (folder / "parallel_schedule").read_text()))
    needed, found = set(FIRST), set(chosen) - set(FIRST)
    while found:
        needed |= found
        found = {name for test in found for name in re.findall(r"\w+", needs.get(test, ""))} - needed
    return [name for name in schedule(folder) if name in needed]


def build_library(folder, target):
    """Compiles regress.c against the server's headers into a folder, with contrib's libraries beside it."""
    library = Path(target) / "regress.so"
    command = ["cc", "-O1", "-w", "-shared", "-fPIC", f"-I{folder}", f"-I{config('--includedir-server')}",
               str(folder / "regress.c"), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(command)} failed:\n{done.stderr}")
    for name in LIBRARIES:
        installed = Path(config("--pkglibdir")) / name
        if not installed.exists():
            raise ClusterError(f"{installed} is missing: install PostgreSQL's contrib modules")
        shutil.copy(installed, target)
    for path in Path(target).glob("*.so"):
        give(path)
