"""Random messages of PostgreSQL's protocol, some right, many damaged."""

import os
import random
import socket
import ssl
import struct
import threading

from harness.servers import PATIENCE, wait_until
from pomelo_check.sample import ALL

TYPES = b"QPBDECSHXdcfFp"
NAMES = [b"", b"a", b"b", b"citus_gateway_1", b"citus_gateway_none", b"x" * 200]
TEXTS = [b"SELECT 1", b"SELECT $1::int", b"SELEC", b"", b"SELECT id FROM t WHERE id = $1", b"BEGIN", b"COMMIT", b"SELECT 1/0",
         b"SET work_mem = '5MB'", b"COPY fuzzed FROM STDIN", b"COPY fuzzed TO STDOUT", b"DISCARD ALL", b"SELECT 1; SELECT 2"]


def message(kind, payload, length=None):
    return kind + struct.pack("!I", (len(payload) + 4 if length is None else length) & 0xFFFFFFFF) + payload


class Fuzzer:
    """Sends messages made from a seed to one address, a part of its connections encrypted if the gateway can do that."""

    GREETING = [0.001, 0.2]     # how long it is waited for
    CUT = 0.05                  # how likely a message is not whole

    def __init__(self, address, seed, user="alice", encrypted=0.0):
        self.address = address
        self.random = random.Random(seed)
        self.user = user
        self.encrypted = encrypted
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.sent = 0

    def bind(self):
        r = self.random
        value = r.choice([b"1", b"7", struct.pack("!i", r.randrange(100)), b"", b"\xff\xfe", b"99999999999999"])
        formats = r.choice([[], [0], [1], [0, 1, 1], [7]])
        count = r.choice([0, 1, 1, 1, 2, 65535])
        length = r.choice([len(value)] * 6 + [-1, -2, 1 << 30])
        return (r.choice(NAMES) + b"\0" + r.choice(NAMES) + b"\0" + struct.pack("!H", len(formats))
                + b"".join(struct.pack("!H", f) for f in formats) + struct.pack("!Hi", count, length) + value
                + struct.pack("!H", 0))

    def payload(self, kind):
        r = self.random
        if kind == b"Q":
            return r.choice(TEXTS) + b"\0"
        if kind == b"P":
            return r.choice(NAMES) + b"\0" + r.choice(TEXTS) + b"\0" + struct.pack("!H", 0)
        if kind == b"B":
            return self.bind()
        if kind in b"DC":
            return r.choice([b"S", b"P", b"?"]) + r.choice(NAMES) + b"\0"
        if kind == b"E":
            return r.choice(NAMES[:3]) + b"\0" + struct.pack("!i", r.choice([0, 1, -1]))
        if kind in b"dfp":
            return r.randbytes(r.randrange(50))
        return b""

    def one(self):
        """One message; in one of ten something is wrong with it."""
        r = self.random
        kind = bytes([r.choice(TYPES)]) if r.random() < 0.95 else r.randbytes(1)
        if r.random() < 0.15:
            kind = b"S"
        payload = self.payload(kind)
        damage = r.random()
        if damage < 0.03:
            return message(kind, payload, r.choice([0, 3, 4, len(payload), len(payload) + 5, 1 << 31, 0xFFFFFFFF, 20000]))
        if damage < 0.06:
            return message(kind, payload[:r.randrange(len(payload) + 1)])
        if damage < 0.10 and payload:
            at = r.randrange(len(payload))
            return message(kind, payload[:at] + r.randbytes(1) + payload[at + 1:])
        return message(kind, payload)

    def first(self):
        """A startup packet, right in most cases."""
        r = self.random
        body = struct.pack("!i", r.choice([196608] * 9 + [80877103, 80877104, 131072, 0, -1]))
        body += b"user\0" + self.user.encode() + b"\0database\0postgres\0\0"
        if r.random() < 0.1:
            body = body[:r.randrange(len(body))]
        return struct.pack("!I", len(body) + 4 + r.choice([0] * 19 + [r.randrange(-4, 100)])) + body

    def encrypt(self, sock):
        """The socket, encrypted; in some cases, something is wrong with that, too."""
        r = self.random
        sock.settimeout(PATIENCE)
        early = self.first() if r.random() < 0.05 else b""
        sock.sendall(struct.pack("!II", 8, 80877103) + early)
        if sock.recv(1) != b"S":
            assert early, "no encryption"
            raise ConnectionError
        if r.random() < 0.1:
            sock.sendall(r.choice([b"\x16\x03\x01", b""]) + r.randbytes(r.randrange(600)))
            raise ConnectionError
        return self.context.wrap_socket(sock)

    def damage(self, sock):
        """Sends what is not encrypted on an encrypted connection."""
        os.write(sock.fileno(), self.random.randbytes(self.random.randrange(1, 100)))

    def connection(self, messages):
        """Opens a connection, sends so many messages in pieces, reads what there is, and vanishes."""
        sock = socket.create_connection(self.address, timeout=30)
        try:
            if self.random.random() < self.encrypted:
                sock = self.encrypt(sock)
            self.send(sock, messages)
        except OSError:
            pass
        finally:
            sock.close()

    def greeted(self, data):
        """What the gateway has sent after the first packet."""

    def reads(self):
        """How likely answers are read now."""
        return 0.1

    def listen(self, sock, pause=0.001):
        """Reads some; False at the end."""
        sock.settimeout(pause)
        try:
            return bool(sock.recv(100000))
        except TimeoutError:
            return True

    def send(self, sock, messages):
        r = self.random
        sock.sendall(self.first())
        if r.random() < 0.9:
            sock.settimeout(r.choice(self.GREETING))
            try:
                self.greeted(sock.recv(10000))
            except TimeoutError:
                pass
        for _ in range(messages):
            data = self.one()
            if r.random() < self.CUT:
                data = data[:r.randrange(len(data) + 1)]
            sock.settimeout(5)
            sock.sendall(data)
            self.sent += 1
            if isinstance(sock, ssl.SSLSocket) and r.random() < 0.002:
                self.damage(sock)
            if r.random() < self.reads() and not self.listen(sock):
                return
        if r.random() < 0.3:
            sock.shutdown(socket.SHUT_WR)


def extended(text, value=None, name=b"", end=b"S"):
    """The messages by which drivers send a statement."""
    values = b"" if value is None else struct.pack("!I", len(value)) + value
    return [message(b"P", name + b"\0" + text + b"\0\0\0"),
            message(b"B", b"\0" + name + b"\0" + struct.pack("!HH", 0, value is not None) + values + b"\0\0"),
            message(b"D", b"P\0"), message(b"E", b"\0\0\0\0\0"), message(end, b"")]


class SequenceFuzzer(Fuzzer):
    """Sends what takes a client from one state to the next, with random messages in between, others missing or cut off.

    The texts are of a distributed table `account` and a local one, `here`: routed statements, blocks on nodes, and blocks that move.
    """

    GREETING = [5]
    CUT = 0.003
    ROUTED = [b"UPDATE account SET note = 'u' WHERE id = $1", b"SELECT amount / 0 FROM account WHERE id = $1",
              *[b"SELECT note AS n%d FROM account WHERE id = $1" % i for i in range(9)]]
    LOCAL = [*[b"SELECT what FROM here WHERE id = $1"] * 8, b"SELECT set_config('work_mem', $1 || 'MB', false)",
             b"SELECT pg_sleep($1::int / 10000.0)"]

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.ahead = []
        self.key = None

    def statement(self, texts):
        r = self.random
        text, value = r.choice(texts), str(r.randrange(1, 60)).encode()
        if r.random() < 0.3:
            return [message(b"Q", text.replace(b"$1", b"'" + value + b"'" if b"||" in text else value) + b"\0")]
        return extended(text, value, r.choice([b"", b"", b"a", b"b"]), r.choice([b"S"] * 19 + [b"H"]))

    def command(self, text):
        return self.random.choice([[message(b"Q", text + b"\0")], extended(text)])

    def sequence(self):
        r = self.random
        made = []
        for _ in range(r.randrange(1, 4)):
            made += self.statement(self.ROUTED)
        if r.random() < 0.3:
            return made + self.statement(self.LOCAL)
        made += self.command(b"BEGIN")
        for _ in range(r.randrange(4)):
            made += self.statement(self.ROUTED) if r.random() < 0.8 else self.command(b"SAVEPOINT s")
        if r.random() < 0.15:
            made += self.statement(self.LOCAL)
        if r.random() < 0.05:
            made += [message(b"Q", b"COPY here FROM STDIN\0"), message(b"d", b"7\tcopied\n"), message(r.choice([b"c", b"f"]), b"why\0")]
        return made + self.command(r.choice([b"COMMIT", b"ROLLBACK"]))

    def one(self):
        r = self.random
        if r.random() < 0.006:
            return super().one()
        if not self.ahead:
            self.ahead = self.sequence()
        if r.random() < 0.006:
            self.ahead.pop(r.randrange(len(self.ahead)))
        if self.key is not None and r.random() < 0.01:
            self.cancel()
        unit = b""
        while self.ahead and (not unit or r.random() < 0.97):
            unit += (data := self.ahead.pop(0))
            if data[:1] in b"QSH":
                break
        return unit or message(b"S", b"")

    def cancel(self):
        with socket.create_connection(self.address, timeout=30) as sock:
            sock.sendall(struct.pack("!II", 8 + len(self.key), 80877102) + self.key)

    def first(self):
        self.ahead, self.key = [], None
        return super().first()

    def reads(self):
        return 0.02 if self.ahead else 0.8

    def listen(self, sock, pause=0.03):
        """At the end of a sequence, reads until nothing comes any more."""
        sock.settimeout(pause)
        try:
            while sock.recv(100000):
                if self.ahead:
                    return True
        except TimeoutError:
            return True
        return False

    def greeted(self, data):
        at = data.find(b"K\0\0\0\x0c")
        self.key = data[at + 5:at + 13] if at >= 0 else None


def descriptors(gateway):
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in gateway.processes())


def resident(gateway):
    """Kilobytes of the gateway's processes."""
    total = 0
    for pid in gateway.processes():
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            total += next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return total


def fuzz(gateway, witness, kind=Fuzzer, messages=20000, **options):
    """Sends so many messages, or POMELO_FUZZ_MESSAGES, from a seed that it prints, while witness() goes on.

    The gateway's processes live on, and have no more memory or sockets in the end.
    """
    seed = int(os.environ.get("POMELO_RANDOM_SEED", random.randrange(1 << 30)))
    wanted = int(os.environ.get("POMELO_FUZZ_MESSAGES", messages * 5 if ALL else messages))
    print(f"POMELO_RANDOM_SEED={seed}")
    witness()
    processes, sockets = gateway.processes(), descriptors(gateway)
    fuzzers = [kind(("127.0.0.1", gateway.port), seed + i, **options) for i in range(4)]

    def work(fuzzer):
        while fuzzer.sent < wanted / len(fuzzers):
            fuzzer.connection(fuzzer.random.randrange(200))

    threads = [threading.Thread(target=work, args=[fuzzer], daemon=True) for fuzzer in fuzzers]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        witness()
    assert gateway.processes() == processes
    wait_until(lambda: descriptors(gateway) <= sockets + 20, "the sockets of the fuzzers to be closed")
    assert resident(gateway) < 60_000, f"{resident(gateway)} kB"
    assert sum(fuzzer.sent for fuzzer in fuzzers) >= wanted
