"""Fetches what suites are made of, by the machine's own package clients, each version once."""

import shutil
import subprocess
import tarfile

from pomelo_cluster import ClusterError

__all__ = ["SuiteMissing", "command", "once", "unpack"]


class SuiteMissing(ClusterError):
    """A suite can't be had, or not be run, here."""


def command(what, *arguments, **options):
    """Runs a program that is needed for a suite; returns what it prints."""
    try:
        return subprocess.run(arguments, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options).stdout
    except FileNotFoundError:
        raise SuiteMissing(f"skipped, since there is no {arguments[0]} here") from None
    except subprocess.CalledProcessError as error:
        raise SuiteMissing(f"skipped, since {what} can't be had here:\n{(error.stderr or error.stdout).strip()[-2000:]}") from None


def once(folder, pins, make):
    """Has `make` fill a folder with what the pins say, unless that was done before; what a broken attempt left is removed first."""
    done = folder / "complete"
    if not done.exists() or done.read_text(encoding="utf-8") != str(pins):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        done.write_text(str(pins), encoding="utf-8")
    return folder


def unpack(archive, folder, names):
    """Unpacks the named files and folders of a source archive, without the folder that holds all."""
    with tarfile.open(archive) as tar:
        for member in tar:
            inner = member.name.partition("/")[2]
            if member.isfile() and any(inner == name or inner.startswith(f"{name}/") for name in names):
                path = folder / inner
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
