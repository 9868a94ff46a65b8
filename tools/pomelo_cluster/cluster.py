"""A named set of servers, and the file that remembers it between commands.

The state of a cluster is <state_dir>/<name>/cluster.json. It is written before
the servers exist, with "ready": false, so that a failed `up` can be repeated or
destroyed.
"""

import fcntl
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from . import host
from .host import ClusterError, PortInUse
from .node import BASE_SETTINGS, EXTENSION_SETTINGS, Node, port_is_free

DEFAULT_NAME = "pomelo"
DEFAULT_PORT = 9700
DEFAULT_WORKERS = 2
GATEWAY_PORT = "citus.gateway_port"
STANDBY = "standby"         # names of standbys begin so
AT_ONCE = 16                # servers that are made, started or stopped at the same time
CHECKOUT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Cluster:
    """Servers that belong together: a coordinator and workers, or one plain server."""

    def __init__(self, folder, spec):
        self.folder = folder
        self.spec = spec
        self.name = spec["name"]
        names = ["server"] if spec["kind"] == "plain" else \
            ["coordinator"] + [f"worker{i}" for i in range(1, spec["workers"] + 1)]
        self.nodes = [Node(name, spec["base_port"] + i, os.path.join(folder, name), spec["bindir"])
                      for i, name in enumerate(names)]

    @property
    def coordinator(self):
        return self.nodes[0]

    @property
    def workers(self):
        return self.nodes[1:]

    # -- finding

    @classmethod
    def load(cls, name=DEFAULT_NAME):
        """The cluster of that name, or a ClusterError when there is none."""
        cluster = cls.find(name)
        if cluster is None:
            raise ClusterError(f'there is no cluster "{name}": tools/cluster up --name {name}')
        return cluster

    @classmethod
    def find(cls, name):
        """The cluster of that name, or None."""
        folder = _folder(name)
        try:
            with open(os.path.join(folder, "cluster.json"), encoding="utf-8") as file:
                return cls(folder, json.load(file))
        except FileNotFoundError:
            return None

    @classmethod
    def all(cls):
        """Every cluster of this user."""
        names = sorted(os.listdir(host.state_dir()))
        return [c for c in (cls.find(n) for n in names if _valid(n)) if c is not None]

    # -- life cycle

    @classmethod
    def up(cls, name=DEFAULT_NAME, workers=DEFAULT_WORKERS, base_port=DEFAULT_PORT, settings=None,
           kind="cluster"):
        """Makes and starts a cluster, or starts an existing one, and returns it.

        kind: "cluster"; "bare", with the extension on each node but no node
        added; "empty", without the extension created; "plain", one server that
        knows nothing of the extension. Settings given for an existing cluster
        are added to its own, and running servers are restarted with them.
        """
        spec = {"name": name, "kind": kind, "workers": 0 if kind == "plain" else workers,
                "base_port": base_port, "settings": dict(settings or {}), "checkout": CHECKOUT,
                "bindir": host.bin_dir(host.pg_config()), "ready": False}
        with _locked(name):
            cluster = cls.find(name)
            if cluster is not None and not cluster.spec["ready"]:
                cluster._remove()
                cluster = None
            if cluster is None:
                cluster = cls(_folder(name), spec)
                cluster._create()
            else:
                cluster._resume(spec)
        return cluster

    @classmethod
    @contextmanager
    def temporary(cls, purpose, first_port, count=None, keep=False, **options):
        """A cluster for the duration of a `with`, on free ports from first_port on.

        Its name is <purpose>-<process>; what killed processes left behind under
        the same purpose is removed first. Other options as for `up`. keep: leave
        it running at the end. Moves don't fail because this machine's disk is nearly full.
        """
        options["settings"] = {"citus.check_available_space_before_move": "off", **(options.get("settings") or {})}
        for old in cls.all():
            pid = old.name[len(purpose) + 1:]
            if old.name.startswith(f"{purpose}-") and pid.isdigit() and \
                    not os.path.exists(f"/proc/{pid}"):
                old.destroy()
        needed = count or options.get("workers", DEFAULT_WORKERS) + 1
        name = f"{purpose}-{os.getpid()}"
        try:
            yield cls._up_on_free_ports(name, needed, first_port, options)
        finally:
            left = cls.find(name)
            if left is not None and not keep:
                left.destroy()

    @classmethod
    def _up_on_free_ports(cls, name, count, first_port, options):
        """`up` on ports from first_port on, trying again where somebody else is faster."""
        for _ in range(5):
            port = find_free_ports(count, first_port)
            try:
                return cls.up(name, base_port=port, **options)
            except PortInUse:
                first_port = port + count
        raise ClusterError(f"others keep taking the ports up to {first_port}")

    def start(self, nodes=None):
        """Starts the servers that aren't running."""
        _parallel(lambda node: node.start(), nodes or self.nodes)

    def down(self, mode="fast"):
        """Stops all servers; their data stays."""
        _parallel(lambda node: node.stop(mode), self.nodes)

    def destroy(self):
        """Stops all servers and deletes their data."""
        with _locked(self.name):
            self._remove()

    def node(self, which):
        """A node by its name or port."""
        for node in self.nodes:
            if which in (node.name, str(node.port)):
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise ClusterError(f'cluster "{self.name}" has no node "{which}": it has {known}')

    def add_standby(self, node, port):
        """A streaming standby of a node; not in `nodes`, but gone with the cluster."""
        return node.make_standby(port, self._settings(len(self.nodes) + len(self._standbys())), self._standby_folder())

    def add_copy(self, node, port):
        """A server with a copy of a stopped node's data, started; in its other ways like a standby."""
        return node.make_copy(port, self._settings(len(self.nodes) + len(self._standbys())), self._standby_folder())

    def replace(self, node, other):
        """Has another server, its promoted standby, take the place of a node in `nodes`."""
        self.nodes[self.nodes.index(node)] = other

    # -- internals

    def _standby_folder(self):
        return os.path.join(self.folder, f"{STANDBY}{len(self._standbys()) + 1}")

    def _standbys(self):
        """The standbys' servers, also those that another process has made."""
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        return [Node(name, 0, os.path.join(self.folder, name), self.spec["bindir"])
                for name in names if name.startswith(STANDBY)]

    def _create(self):
        for node in self.nodes:
            if not port_is_free(node.port):
                raise PortInUse(f"port {node.port} is in use by another program: "
                                "choose another --base-port")
        host.make_dir(self.folder)
        self._save()
        try:
            _parallel(lambda node: node.create(self._settings(self.nodes.index(node))), self.nodes)
            self.start()
            self._form()
        except BaseException:
            self._stop_quietly()
            raise
        self.spec["ready"] = True
        self._save()

    def _form(self):
        """Turns running servers into one database."""
        if self.spec["kind"] in ("plain", "empty"):
            return
        _parallel(lambda node: node.sql("CREATE EXTENSION citus"), self.nodes)
        if self.spec["kind"] == "bare":
            return
        statements = [f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port});"]
        statements += [f"SELECT citus_add_node('127.0.0.1', {node.port});" for node in self.workers]
        self.coordinator.sql("\n".join(statements))

    def _resume(self, spec):
        for key, option in (("kind", "--plain or --bare"), ("workers", "--workers"),
                            ("base_port", "--base-port"), ("checkout", "checkout"),
                            ("bindir", "PG_CONFIG")):
            if self.spec[key] != spec[key]:
                raise ClusterError(
                    f'cluster "{self.name}" exists with another {option} ({self.spec[key]}, not '
                    f"{spec[key]}): choose another --name, or destroy it first")
        before = self.spec["settings"]
        merged = {**before, **spec["settings"]}
        if merged == before:
            self.start()
            return
        try:
            self._restart_with(merged)
        except ClusterError:
            self._restart_with(before)
            raise

    def _restart_with(self, settings):
        """Changes the settings of all nodes; saved once the servers run with them."""
        self.spec["settings"] = settings
        self.down()
        for node in self.nodes:
            node.configure(self._settings(self.nodes.index(node)))
        self.start()
        self._save()

    def _settings(self, number):
        """The settings of a node. Each has a gateway port of its own: the one that is set, plus the node's number."""
        settings = dict(BASE_SETTINGS)
        if self.spec["kind"] != "plain":
            settings.update(EXTENSION_SETTINGS)
        settings.update(self.spec["settings"])
        if int(settings.get(GATEWAY_PORT, 0)) != 0:
            settings[GATEWAY_PORT] = int(settings[GATEWAY_PORT]) + number
        return settings

    def _save(self):
        path = os.path.join(self.folder, "cluster.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.spec, file, indent=2)
        host.give(path + ".new")
        os.replace(path + ".new", path)

    def _stop_quietly(self):
        for node in self.nodes:
            try:
                node.stop(mode="immediate")
            except ClusterError:
                pass

    def _remove(self):
        _parallel(lambda node: node.remove(), self.nodes + self._standbys())
        shutil.rmtree(self.folder, ignore_errors=True)


def find_free_ports(count, start):
    """The first port from `start` on with `count` in a row that are free.

    Ports of this user's clusters count as taken, also before their servers start.
    """
    taken = {node.port for cluster in Cluster.all() for node in cluster.nodes}
    port = start
    while port + count < 65536:
        busy = [p for p in range(port, port + count) if p in taken or not port_is_free(p)]
        if not busy:
            return port
        port = busy[-1] + 1
    raise ClusterError(f"no {count} free ports in a row from {start} on")


def _valid(name):
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name) is not None


def _folder(name):
    if not _valid(name):
        raise ClusterError(f'"{name}" is no name for a cluster: letters, digits, - and _ only')
    return os.path.join(host.state_dir(), name)


@contextmanager
def _locked(name):
    """Keeps two commands from making or removing the same cluster at once."""
    path = os.path.join(host.state_dir(), f".{name}.lock")
    _folder(name)
    with open(path, "w", encoding="utf-8") as file:
        host.give(path)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _parallel(action, nodes):
    """Runs the action for all nodes, AT_ONCE of them at the same time; raises the first node's error."""
    with ThreadPoolExecutor(max_workers=min(max(len(nodes), 1), AT_ONCE)) as pool:
        futures = [pool.submit(action, node) for node in nodes]
    for future in futures:
        future.result()
