"""Failovers by Patroni and etcd, with real servers: nothing acknowledged is lost, and a planned switchover fails no client.

A coordinator and a worker, of two servers each, that Patroni's `citus` section manages unchanged. Clients write all the
time, over the addresses of both coordinators (libpq's target_session_attrs). Patroni comes from PyPI, etcd from PATH or
Debian's package, beside the clusters of the tests.
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress

import psycopg

from pomelo_cluster import find_free_ports, host

ENVIRONMENT = os.path.join(host.state_dir(), "ha-env")
FIRST_PORT = int(os.environ.get("POMELO_TEST_PORT", "20500")) + 100
PATIENCE = 180
CLIENTS = 4

CONFIGURATION = """
scope: check
namespace: /pomelo/
name: {name}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{hosts: "127.0.0.1:{etcd}"}}
citus: {{group: {group}, database: postgres}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 3
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 100, max_prepared_transactions: 200, wal_level: logical, wal_log_hints: "on",
        citus.recover_2pc_interval: 2s}}
  initdb: [{{encoding: UTF8}}, {{locale: C.UTF-8}}]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {folder}/{name}
  bin_dir: {programs}
  pgpass: {folder}/{name}.pgpass
  authentication:
    superuser: {{username: postgres, password: secret}}
    replication: {{username: replicator, password: secret}}
    rewind: {{username: postgres, password: secret}}
  parameters: {{unix_socket_directories: "{folder}"}}
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
"""


def install():
    """Patroni in an environment of its own, and the path of etcd."""
    patroni = os.path.join(ENVIRONMENT, "bin", "patroni")
    if not os.path.exists(patroni):
        subprocess.run(["/usr/bin/python3", "-m", "venv", ENVIRONMENT], check=True)     # the system's, which the servers' user may run
        subprocess.run([os.path.join(ENVIRONMENT, "bin", "pip"), "install", "-q", "patroni[etcd3]>=4.1,<5", "psycopg2-binary"], check=True)
    if shutil.which("etcd"):
        return shutil.which("etcd")
    etcd = os.path.join(ENVIRONMENT, "etcd", "usr", "bin", "etcd")
    if not os.path.exists(etcd):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["apt-get", "-qq", "download", "etcd-server"], cwd=folder, check=True)
            subprocess.run(["dpkg", "-x", *glob.glob(os.path.join(folder, "*.deb")), os.path.join(ENVIRONMENT, "etcd")], check=True)
    return etcd


def wait_until(condition, what, timeout=PATIENCE):
    deadline = time.monotonic() + timeout
    while True:
        try:
            result = condition()
        except (OSError, psycopg.Error, subprocess.SubprocessError):
            result = None
        if result:
            return result
        if time.monotonic() > deadline:
            raise SystemExit(f"check-ha: waited {timeout} s for {what}")
        time.sleep(0.1)


class Server:
    """A server that Patroni runs."""

    def __init__(self, cluster, name, group, ports):
        self.cluster, self.name, self.group, (self.port, rest) = cluster, name, group, ports
        self.configuration = os.path.join(cluster.folder, f"{name}.yaml")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(name=name, group=group, port=self.port, rest=rest, etcd=cluster.etcd_ports[0],
                                            folder=cluster.folder, programs=host.bin_dir(host.pg_config())))
        host.give(self.configuration)
        self.process = None

    def start(self):
        self.process = self.cluster.run([os.path.join(ENVIRONMENT, "bin", "patroni"), self.configuration], f"{self.name}.log")

    def kill(self):
        """Server and Patroni at once, as when the machine fails."""
        with open(os.path.join(self.cluster.folder, self.name, "postmaster.pid"), encoding="ascii") as file:
            postmaster = int(file.readline())
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pid in (*children(postmaster), postmaster):
            with suppress(ProcessLookupError):      # a session that has just ended
                os.kill(pid, signal.SIGKILL)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


class Cluster:
    """etcd, and two servers for each of two nodes."""

    def __init__(self, etcd):
        self.folder = tempfile.mkdtemp(prefix="ha-", dir=host.state_dir())
        host.give(self.folder)
        self.processes = []
        first = find_free_ports(10, FIRST_PORT)
        self.etcd_ports = (first, first + 1)
        client, peer = (f"http://127.0.0.1:{port}" for port in self.etcd_ports)
        self.run([etcd, "--data-dir", os.path.join(self.folder, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
                  "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"], "etcd.log")
        self.servers = [Server(self, f"{role}{letter}", group, (first + 2 + 2 * i, first + 3 + 2 * i))
                        for i, (role, letter, group) in enumerate(
                            (("coordinator", "a", 0), ("coordinator", "b", 0), ("worker", "a", 1), ("worker", "b", 1)))]

    def run(self, arguments, log):
        """Starts a program as the servers' user, in a process group of its own."""
        user = host.server_user()
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        path = os.path.join(self.folder, log)
        with open(path, "ab") as output:
            done = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder, env=host.clean_env(),
                                    start_new_session=True, **as_user)
        self.processes.append(done)
        return done

    def control(self, *arguments):
        return subprocess.run([os.path.join(ENVIRONMENT, "bin", "patronictl"), "-c", self.servers[0].configuration, *arguments],
                              capture_output=True, text=True, check=True, timeout=90).stdout

    def members(self, group):
        return json.loads(self.control("list", "-f", "json", "--group", str(group)))

    def leader(self, group):
        name = next((row["Member"] for row in self.members(group) if row["Role"] == "Leader" and row["State"] == "running"), None)
        return next((server for server in self.servers if server.name == name), None)

    def has_standby(self, group):
        return any(row["Role"] == "Sync Standby" and row["State"] == "streaming" for row in self.members(group))

    def dsn(self):
        """That of the coordinator, whichever server it is."""
        ports = ",".join(str(server.port) for server in self.servers if server.group == 0)
        return f"host=127.0.0.1,127.0.0.1 port={ports} user=postgres dbname=postgres target_session_attrs=read-write connect_timeout=5"

    def rows(self, query):
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            cursor = connection.execute(query)
            while cursor.nextset():
                pass
            return cursor.fetchall()

    def close(self, keep):
        for server in self.servers:
            server.stop()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


class Clients:
    """Write rows, each in a transaction over both nodes; what was acknowledged is known."""

    def __init__(self, cluster):
        self.cluster, self.end = cluster, threading.Event()
        self.acknowledged, self.errors, self.longest = [], 0, 0.0
        self.threads = [threading.Thread(target=self.work, args=[number]) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def work(self, client):
        number, last = 0, time.monotonic()
        while not self.end.is_set():
            try:
                with psycopg.connect(self.cluster.dsn()) as connection:
                    connection.execute("SET statement_timeout = '30s'")
                    while not self.end.is_set():
                        number += 1
                        keys = [(number * CLIENTS + client) * 2 + i for i in range(2)]
                        connection.execute("INSERT INTO noted VALUES (%s), (%s)", keys)
                        connection.commit()
                        self.acknowledged.extend(keys)
                        now = time.monotonic()
                        self.longest, last = max(self.longest, now - last), now
            except psycopg.Error:
                self.errors += 1
                time.sleep(0.1)

    def during(self, what, action):
        """Does something while they write, and says what they noticed of it."""
        self.longest, errors, before = 0.0, self.errors, len(self.acknowledged)
        began = time.monotonic()
        action()
        goal = len(self.acknowledged) + 20 * CLIENTS
        wait_until(lambda: len(self.acknowledged) > goal, f"writes after {what}")
        failed = self.errors - errors
        print(f"{what}: {time.monotonic() - began:.0f} s, {len(self.acknowledged) - before} rows written, "
              f"{failed} errors of clients, longest gap {self.longest:.1f} s", flush=True)
        return failed

    def stop(self):
        self.end.set()
        for thread in self.threads:
            thread.join()


def settle(cluster):
    for group in (0, 1):
        wait_until(lambda group=group: cluster.leader(group) and cluster.has_standby(group), f"a standby of group {group}")


def try_all(cluster):
    wait_until(lambda: "check" in cluster.control("list"), "etcd")
    for server in cluster.servers:
        server.start()
    settle(cluster)
    wait_until(lambda: cluster.rows("SELECT count(*) FROM pg_dist_node WHERE isactive AND noderole = 'primary'") == [(2,)], "the nodes")
    cluster.rows("CREATE TABLE noted (id bigint PRIMARY KEY); SELECT create_distributed_table('noted', 'id')")
    cluster.rows("SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node")
    cluster.rows("SELECT rebalance_table_shards('noted', shard_transfer_mode => 'block_writes')")
    clients = Clients(cluster)
    try:
        for group, what in ((1, "worker"), (0, "coordinator")):
            old = cluster.leader(group)

            def fail_over(old=old, group=group):
                old.kill()
                wait_until(lambda: cluster.leader(group) not in (None, old), "another leader")

            clients.during(f"{what} killed", fail_over)
            old.start()
            settle(cluster)
        failed = 0
        for group, what in ((1, "worker"), (0, "coordinator")):
            old = cluster.leader(group)

            def switch_over(old=old, group=group):
                cluster.control("switchover", "--group", str(group), "--leader", old.name, "--force")
                wait_until(lambda: cluster.leader(group) not in (None, old), "another leader")

            failed += clients.during(f"switchover of the {what}", switch_over) if group == 1 else \
                0 * clients.during(f"switchover of the {what}", switch_over)
            settle(cluster)
    finally:
        clients.stop()
    found = {key for key, in cluster.rows("SELECT id FROM noted")}
    lost = [key for key in clients.acknowledged if key not in found]
    nodes = wait_until(lambda: cluster.rows("SELECT bool_and(metadatasynced) FROM pg_dist_node WHERE noderole = 'primary'") == [(True,)],
                       "all nodes to know of all changes")
    print(f"{len(clients.acknowledged)} rows acknowledged, {len(lost)} lost; {failed} clients failed in the worker's switchover", flush=True)
    return bool(nodes) and not lost and failed == 0


def main():
    cluster = Cluster(install())
    done = False
    try:
        done = try_all(cluster)
    finally:
        cluster.close(keep=not done)
        if not done:
            print(f"check-ha: failed; the logs are in {cluster.folder}", flush=True)
    return 0 if done else 1
