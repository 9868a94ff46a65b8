"""TPC-H data: generated once by tpchgen-cli, kept outside the checkout, loaded by COPY FROM STDIN."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Small tables first: a mistake in the set-up shows before the long loads.
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")

CHUNK = 1 << 20


def cache_dir(state_dir, scale):
    """Return the folder that holds the data of one scale factor."""
    return Path(state_dir) / f"tpch-{scale}"


def generate(state_dir, scale):
    """Make the data files unless they are there; return (folder, True if made now)."""
    folder = cache_dir(state_dir, scale)
    if folder.is_dir():
        return folder, False
    raw = folder.with_name(f"{folder.name}.{os.getpid()}.raw")
    ready = folder.with_name(f"{folder.name}.{os.getpid()}.ready")
    for scratch in (raw, ready):
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
    try:
        run_generator(raw, scale)
        for table in TABLES:
            strip_trailing_delimiter(raw / f"{table}.tbl", ready / f"{table}.tbl")
        try:
            ready.rename(folder)
        except OSError:
            # Another run finished first; its files are the same.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(raw, ignore_errors=True)
        shutil.rmtree(ready, ignore_errors=True)
    return folder, True


def run_generator(folder, scale):
    """Run tpchgen-cli of this Python environment; its default format is the benchmark's own .tbl."""
    program = Path(sys.prefix) / "bin" / "tpchgen-cli"
    command = [str(program) if program.exists() else "tpchgen-cli",
               "--scale-factor", str(scale), "--output-dir", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit("demo: tpchgen-cli is missing; run tools/install-deps") from None
    if done.returncode != 0:
        raise SystemExit(f"demo: {' '.join(command)} failed:\n{done.stderr}")


def strip_trailing_delimiter(source, target):
    """The .tbl format ends each line with a delimiter, which COPY would take for one more column."""
    with open(source, "rb") as lines, open(target, "wb") as out:
        out.writelines(line[:-2] + b"\n" for line in lines)


def load(connection, folder, table):
    """COPY one table's file in a transaction of its own; return (rows, seconds)."""
    started = time.monotonic()
    with connection.cursor() as cursor, open(folder / f"{table}.tbl", "rb") as data:
        with cursor.copy(f"COPY {table} FROM STDIN WITH (FORMAT text, DELIMITER '|')") as copy:
            while chunk := data.read(CHUNK):
                copy.write(chunk)
        rows = cursor.rowcount
    return rows, time.monotonic() - started
