"""Copies of the installed server with another version of the extension, to run beside the one that is tested."""

import os
import re
import shutil
import subprocess

from pomelo_cluster import host

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def default_version():
    """The version in citus.control, which the installed library has."""
    with open(os.path.join(ROOT, "citus.control"), encoding="utf-8") as control:
        return re.search(r"default_version = '(.*)'", control.read()).group(1)


def later_version():
    """One that is later than that, and as long."""
    head, last = default_version()[:-1], default_version()[-1]
    assert last in "012345678", "the next version is longer, and doesn't fit into the library"
    return head + str(int(last) + 1)


def later_tree(folder, script, library=True):
    """A server tree below the folder whose extension has a later version, to which the script updates.

    Its library differs in the version's number only; without `library` it is the tested one, as on a machine whose
    server has not been restarted. Returns the tree's folder of programs.
    """
    config = host.pg_config()
    places = {name: subprocess.run([config, "--" + name], check=True, capture_output=True, text=True).stdout.strip()
              for name in ("bindir", "pkglibdir", "sharedir")}
    old, new = default_version(), later_version()
    for name, place in places.items():
        _link(place, folder + place, copied=("citus.so", "citus_decoders", "extension") if name != "bindir" else None)
    extensions = os.path.join(places["sharedir"], "extension")
    os.makedirs(folder + extensions)
    for entry in os.listdir(extensions):
        if entry != "citus.control":
            os.symlink(os.path.join(extensions, entry), os.path.join(folder + extensions, entry))
    with open(os.path.join(extensions, "citus.control"), encoding="utf-8") as file:
        _write(folder + extensions, "citus.control", file.read().replace(old, new).encode())
    _write(folder + extensions, f"citus--{old}--{new}.sql", script.encode())
    with open(os.path.join(places["pkglibdir"], "citus.so"), "rb") as file:
        content = file.read()
    assert f"\0{old}\0".encode() in content
    _write(folder + places["pkglibdir"], "citus.so",
           content.replace(f"\0{old}\0".encode(), f"\0{new}\0".encode()) if library else content)
    os.makedirs(os.path.join(folder + places["pkglibdir"], "citus_decoders"))
    for name in ("pgoutput", "wal2json"):
        os.symlink("../citus.so", os.path.join(folder + places["pkglibdir"], "citus_decoders", name + ".so"))
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return folder + places["bindir"]


def _link(place, copy, copied):
    """A folder of symbolic links to what is in a place, but for some names; a copy if that is None: programs find the rest by their own path."""
    if copied is None:
        shutil.copytree(place, copy)
        return
    os.makedirs(copy)
    for entry in os.listdir(place):
        if entry not in copied:
            os.symlink(os.path.join(place, entry), os.path.join(copy, entry))


def _write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
