"""Takes a backup."""

import datetime
import json
import os
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from pomelo_cluster import host
from pomelo_cluster.host import ClusterError

MANIFEST = "backup.json"
NODES = "SELECT json_agg(json_build_object('nodeid', nodeid, 'groupid', groupid, 'host', nodename, 'port', nodeport) ORDER BY groupid) " \
        "FROM pg_dist_node WHERE noderole = 'primary' AND isactive"
PATIENCE = 300      # seconds until a node's log is received


def program(name):
    return os.path.join(host.bin_dir(host.pg_config()), name)


def query(dsn, sql):
    """The text of a query's only value."""
    done = subprocess.run([program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", sql], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise ClusterError(done.stderr.strip())
    return done.stdout.strip()


class NodeBackup:
    """One node's part of a backup."""

    def __init__(self, dsn, node, folder):
        self.node = node
        self.dsn = f"{dsn} host='{node['host']}' port={node['port']}"       # the last ones count
        self.folder = os.path.join(folder, f"node{node['nodeid']}")
        self.wal = os.path.join(self.folder, "wal")
        self.receiver = None
        self.copier = None
        self.slot = None        # by which the server keeps what is not received yet

    def receive(self):
        """Starts to receive the node's log; returns when what is written from now on is received."""
        os.makedirs(self.wal, mode=0o700)
        name = f"pomelo_backup_{socket.gethostname()}_{os.getpid()}".lower().replace("-", "_").replace(".", "_")[:63]
        query(self.dsn, f"SELECT pg_create_physical_replication_slot('{name}', true)")
        self.slot = name
        self.receiver = subprocess.Popen([program("pg_receivewal"), "-w", "-s", "1", "-D", self.wal, "-S", name, "-d", self.dsn],
                                         stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + PATIENCE
        while query(self.dsn, f"SELECT active FROM pg_replication_slots WHERE slot_name = '{name}'") != "t":
            self.check_receiver(deadline)

    def copy(self):
        self.copier = subprocess.Popen([program("pg_basebackup"), "-w", "-X", "none", "-c", "fast", "--no-manifest", "-D",
                                        os.path.join(self.folder, "base"), "-d", self.dsn], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        message = self.copier.communicate()[1]
        if self.copier.returncode != 0:
            raise ClusterError(f"node {self.address()}: {message.strip()}")

    def complete(self):
        """Waits until the log up to now, which is after the restore point, is here."""
        last = os.path.join(self.wal, query(self.dsn, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())"))
        query(self.dsn, "SELECT pg_switch_wal()")
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(last):
            self.check_receiver(deadline)

    def check_receiver(self, deadline):
        """An error if the log isn't received any more, or it takes too long; else waits for a moment."""
        if self.receiver.poll() is not None:
            raise ClusterError(f"node {self.address()}: {self.receiver.stderr.read().strip()}")
        if time.monotonic() > deadline:
            raise ClusterError(f"node {self.address()}: its write-ahead log was not received within {PATIENCE} s")
        time.sleep(0.1)

    def abandon(self):
        """Ends the programs that run, and so the steps that wait for them."""
        for process in (self.receiver, self.copier):
            if process is not None and process.poll() is None:
                process.terminate()

    def stop(self):
        if self.receiver is not None and self.receiver.poll() is None:
            self.receiver.terminate()
            self.receiver.wait()
        deadline = time.monotonic() + PATIENCE
        while self.slot is not None and time.monotonic() < deadline:
            if query(self.dsn, f"SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots "
                               f"WHERE slot_name = '{self.slot}' AND NOT active") == "1":
                self.slot = None

    def address(self):
        return f"{self.node['host']}:{self.node['port']}"


def take(dsn, folder):
    """Makes a backup of the cluster that dsn leads to, in a new folder; returns what its manifest says."""
    if os.path.exists(folder) and os.listdir(folder):
        raise ClusterError(f"{folder} is not empty")
    if "://" in dsn:
        raise ClusterError("give the connection string as host=.. dbname=..")
    nodes = json.loads(query(dsn, NODES) or "null")
    if not nodes:
        raise ClusterError("the server knows no nodes: back it up as any PostgreSQL server")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    point = f"backup {now:%Y-%m-%d %H:%M:%S.%f}"
    parts = [NodeBackup(dsn, node, folder) for node in nodes]
    try:
        for step in (NodeBackup.receive, NodeBackup.copy):
            in_parallel(step, parts)
        query(dsn, f"SELECT citus_create_restore_point('{point}')")
        in_parallel(NodeBackup.complete, parts)
    finally:
        for part in parts:
            part.stop()
    manifest = {"restore_point": point, "taken": now.isoformat(timespec="seconds"), "nodes": nodes,
                "version": query(dsn, "SHOW server_version")}
    with open(os.path.join(folder, MANIFEST), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
    return manifest


def in_parallel(step, parts):
    with ThreadPoolExecutor(len(parts)) as pool:
        try:
            list(pool.map(step, parts))
        except BaseException:       # also a signal
            for part in parts:
                part.abandon()
            raise


def manifest_of(folder):
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise ClusterError(f"{folder} is no complete backup: it has no {MANIFEST}") from None
