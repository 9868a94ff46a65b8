"""The upper bound: a C function in one backend that asks the plain server for a row, and does nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from pomelo_cluster import ClusterError, host

SOURCES = Path(__file__).resolve().parent / "hop"


def set_up(side, folder):
    """Build the function for the server of PG_CONFIG and create it on the entry server, which can read `folder`."""
    built = subprocess.run(["make", "-s", f"PG_CONFIG={host.pg_config()}"], cwd=SOURCES,
                           capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise ClusterError(f"could not build {SOURCES}: {built.stderr.strip()}")
    library = os.path.join(folder, "hop.so")
    shutil.copy(SOURCES / "hop.so", library)
    host.give(library)
    with side.connect() as connection:
        connection.execute(f"""
            CREATE FUNCTION bench_hop(port integer, key integer) RETURNS integer
            LANGUAGE C STRICT VOLATILE AS '{library}', 'bench_hop'""")


def variables(side):
    """pgbench's variables for the script that calls the function."""
    return {"port": conninfo_to_dict(side.others[0])["port"]}
