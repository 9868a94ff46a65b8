"""Restores the nodes of a backup, each on its server, and gives them their new addresses."""

import json
import os
import shutil

from pomelo_cluster import host
from pomelo_cluster.host import ClusterError

from .backup import manifest_of, query

RECOVERY = ("restore_command", "recovery_target_name", "recovery_target_action")


def quoted(text):
    """A text as a setting's value in postgresql.conf."""
    return "'" + text.replace("'", "''") + "'"


def restore(folder, nodeid, data, settings):
    """Makes a data directory of a node's backup, which recovers up to the restore point when the server is started."""
    manifest = manifest_of(folder)
    if nodeid not in [node["nodeid"] for node in manifest["nodes"]]:
        raise ClusterError(f"the backup has no node {nodeid}")
    if os.path.exists(data) and os.listdir(data):
        raise ClusterError(f"{data} is not empty")
    part = os.path.join(folder, f"node{nodeid}")
    shutil.copytree(os.path.join(part, "base"), data, symlinks=True, dirs_exist_ok=True)
    wal = os.path.join(data, "restored_wal")        # the server's own, whose user may not read the backup
    shutil.copytree(os.path.join(part, "wal"), wal)
    lines = {"restore_command": f"cp {wal}/%f %p", "recovery_target_name": manifest["restore_point"], "recovery_target_action": "promote",
             "archive_mode": "off", "synchronous_standby_names": "", "primary_conninfo": "", "primary_slot_name": "", **settings}
    with open(os.path.join(data, "postgresql.auto.conf"), "a", encoding="utf-8") as file:
        file.writelines(f"{name} = {quoted(value)}\n" for name, value in lines.items())
    with open(os.path.join(data, "recovery.signal"), "w", encoding="utf-8"):
        pass
    os.chmod(data, 0o700)
    for path, folders, files in os.walk(data):
        for name in ("", *folders, *files):
            host.give(os.path.join(path, name))


def finish(folder, dsn, addresses):
    """After all servers have recovered: new addresses, if any (by nodeid), the end of what was prepared, and of settings of the recovery."""
    nodes = manifest_of(folder)["nodes"]
    changed = {f"{node['host']}:{node['port']}": addresses.get(node["nodeid"], f"{node['host']}:{node['port']}") for node in nodes}
    if addresses:
        query(dsn, f"SELECT citus_separate_copy({quoted(json.dumps(changed))})")
    # A standby that is made of a server later would stop at the same point, and couldn't be promoted.
    for command in (*(f"ALTER SYSTEM RESET {name}" for name in RECOVERY), "SELECT pg_reload_conf()", "SELECT recover_prepared_transactions()"):
        query(dsn, f"SELECT count(*) FROM run_command_on_all_nodes('{command}') WHERE success")
    return query(dsn, "SELECT coalesce(string_agg(format('%s: %s %s', severity, subject, finding), E'\\n'), 'healthy') FROM citus_health()")
