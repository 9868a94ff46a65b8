"""Thousands of clients of a gateway, of which a hundred at a time are active: memory, sessions, latencies.

Every client has prepared the same SELECT by key.  So many statements as there shall be active clients are under
way at any time; when one is answered, the next is sent by another client, chosen at random.  What this is compared
with is the same with as many clients as are active.  All clients are one process, which speaks the protocol itself.
"""

import argparse
import random
import select
import socket
import struct
import sys
import time
from pathlib import Path

import psycopg

import servers
import tables

ROWS = 100_000
PATIENCE = 60  # seconds that an answer may take
LOGINS = 64  # clients that log in at the same time


def message(kind, payload=b""):
    return kind + struct.pack("!I", len(payload) + 4) + payload


PREPARE = message(b"P", b"s\0SELECT abalance FROM bench_accounts WHERE aid = $1\0" + struct.pack("!HI", 1, 23)) + message(b"S")


class Client:
    """A connection; `sent` is when it has sent what it waits for."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.input = b""
        self.sent = 0.0
        body = struct.pack("!I", 196608) + b"user\0postgres\0database\0postgres\0\0"
        self.send(struct.pack("!I", len(body) + 4) + body)

    def send(self, data):
        self.sent = time.monotonic()
        self.socket.sendall(data)

    def ask(self, key):
        value = str(key).encode()
        self.send(message(b"B", b"\0s\0" + struct.pack("!HHI", 0, 1, len(value)) + value + struct.pack("!H", 0))
                  + message(b"E", b"\0\0\0\0\0") + message(b"S"))

    def is_ready(self):
        """Reads what has come; whether it ends with ReadyForQuery. Raises OSError for an error of the server."""
        data = self.socket.recv(65536)
        if not data:
            raise OSError("connection closed")
        self.input += data
        at, kind = 0, b""
        while at + 5 <= len(self.input):
            kind, end = self.input[at:at + 1], at + 1 + struct.unpack_from("!I", self.input, at + 1)[0]
            if kind == b"E":
                raise OSError(self.input[at:end].decode(errors="replace"))
            if end > len(self.input):
                return False
            at = end
        if at < len(self.input) or kind != b"Z":
            return False
        self.input = b""
        return True


class Crowd:
    """Clients, and what they wait for."""

    def __init__(self, address):
        self.address = address
        self.clients = []
        self.poll = select.epoll()
        self.waiting = {}
        self.errors = []

    def answered(self):
        """Clients that have got their answers, and what those took in seconds; waits for one at least."""
        events = self.poll.poll(PATIENCE)
        if not events:
            raise OSError(f"no answer within {PATIENCE} s")
        for descriptor, _ in events:
            client = self.waiting[descriptor]
            if client.is_ready():
                del self.waiting[descriptor]
                self.poll.modify(descriptor, 0)
                yield client, time.monotonic() - client.sent

    def watch(self, client):
        self.waiting[client.socket.fileno()] = client
        self.poll.modify(client.socket.fileno(), select.EPOLLIN)

    def grow(self, count):
        """Has clients log in and prepare their statement until there are so many."""
        fresh = set()
        while len(self.clients) < count or self.waiting:
            while len(self.clients) < count and len(self.waiting) < LOGINS:
                client = Client(self.address)
                self.clients.append(client)
                fresh.add(client)
                self.poll.register(client.socket.fileno(), 0)
                self.watch(client)
            for client, _ in self.answered():
                if client in fresh:
                    fresh.remove(client)
                    client.send(PREPARE)
                    self.watch(client)

    def run(self, active, seconds):
        """Latencies in milliseconds, sorted, of so many statements at a time by clients at random."""
        end = time.monotonic() + seconds
        idle, taken = list(self.clients), []
        random.shuffle(idle)
        for _ in range(active):
            self.ask_one(idle)
        while self.waiting:
            for client, seconds_taken in self.answered():
                idle.append(client)
                taken.append(seconds_taken * 1000)
                if time.monotonic() < end:
                    self.ask_one(idle)
        return sorted(taken)

    def ask_one(self, idle):
        at = random.randrange(len(idle))
        idle[at], idle[-1] = idle[-1], idle[at]
        client = idle.pop()
        client.ask(random.randint(1, ROWS))
        self.watch(client)


def resident(pid):
    """MB of memory that a process has to itself."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private")) / 1024


def sessions(dsn):
    """Client backends of a server other than this one."""
    with psycopg.connect(dsn) as connection:
        return connection.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                                  "AND pid <> pg_backend_pid()").fetchone()[0]


def main():
    """Runs the benchmark; exits with 1 if a client got an error."""
    parser = argparse.ArgumentParser(prog="bench/crowd", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--active", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=10, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT)
    args = parser.parse_args()
    with servers.start("gateway", args.base_port) as (_, cluster, gateway, *_):
        tables.create_accounts(cluster, ROWS)
        address = psycopg.conninfo.conninfo_to_dict(gateway.dsn)
        few, many = (Crowd((address["host"], int(address["port"]))) for _ in range(2))
        few.grow(args.active)
        few.run(args.active, args.seconds)
        with gateway.connect() as connection:
            pids = [pid for pid, in connection.execute("SELECT pid FROM citus_stat_gateway").fetchall()]
        before = sum(map(resident, pids))
        began = time.monotonic()
        many.grow(args.clients - args.active)
        print(f"{args.clients} clients, logged in at {args.clients / (time.monotonic() - began):.0f} a second; gateway "
              f"{sum(map(resident, pids)):.1f} MB, with {args.active} clients {before:.1f} MB", flush=True)
        for _ in range(args.rounds):
            for name, crowd in (("few", few), ("many", many)):
                taken = crowd.run(args.active, args.seconds)
                print(f"{args.active} of {len(crowd.clients)} active: {len(taken) / args.seconds:.0f} statements a second, "
                      + ", ".join(f"{share} % within {taken[min(len(taken) * share // 100, len(taken) - 1)]:.1f} ms"
                                  for share in (50, 99))
                      + f", longest {taken[-1]:.1f} ms", flush=True)
        print(f"gateway {sum(map(resident, pids)):.1f} MB; sessions of the servers: "
              + ", ".join(str(sessions(dsn)) for dsn in (cluster.dsn, *cluster.others)))


if __name__ == "__main__":
    sys.exit(main())
