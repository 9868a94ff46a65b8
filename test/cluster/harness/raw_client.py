"""A client of a gateway that speaks the protocol itself."""

import socket
import struct

from harness.protocol_fuzz import message


def packet(code, *texts):
    body = struct.pack("!i", code) + b"".join(text.encode() + b"\0" for text in texts) + (b"\0" if texts else b"")
    return struct.pack("!i", len(body) + 4) + body


def parse(text, name=""):
    return message(b"P", name.encode() + b"\0" + text.encode() + b"\0\0\0")


def bind(*values, name=""):
    return message(b"B", b"\0" + name.encode() + b"\0" + struct.pack("!HH", 0, len(values)) +
                   b"".join(struct.pack("!I", len(value)) + value.encode() for value in values) + b"\0\0")


def query(text):
    return message(b"Q", text.encode() + b"\0")


DESCRIBE = message(b"D", b"P\0")
EXECUTE = message(b"E", b"\0\0\0\0\0")
FLUSH = message(b"H", b"")
SYNC = message(b"S", b"")
TERMINATE = message(b"X", b"")


def error_fields(payload):
    return {field[:1].decode(): field[1:].decode() for field in payload.split(b"\0") if field}


class Direct:
    """What a RawClient connects to: the server itself."""

    def __init__(self, node):
        self.node = node

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.node.port), timeout=20)


def bearer_login(where, user, token):
    """How a login with an OAuth token ends: "" if the server then is ready, or the SQLSTATE of its error."""
    with where.socket() as sock, sock.makefile("rb") as answers:
        sock.sendall(packet(196608, "user", user, "database", "postgres"))
        while True:
            head = answers.read(5)
            payload = answers.read(struct.unpack("!I", head[1:])[0] - 4)
            if head[:1] == b"R" and payload[:4] == struct.pack("!I", 10):
                assert payload[4:] == b"OAUTHBEARER\0\0"
                first = b"n,,\1auth=Bearer " + token.encode() + b"\1\1"
                sock.sendall(message(b"p", b"OAUTHBEARER\0" + struct.pack("!I", len(first)) + first))
            elif head[:1] == b"R" and payload[:4] == struct.pack("!I", 11):
                assert b"openid-configuration" in payload       # where to get a token
                sock.sendall(message(b"p", b"\1"))
            elif head[:1] == b"E":
                return error_fields(payload)["C"]
            elif head[:1] == b"Z":
                return ""


def described_columns(payload):
    found, at = [], 2
    for _ in range(struct.unpack("!H", payload[:2])[0]):
        at = payload.index(b"\0", at) + 1
        found.append(struct.unpack("!IH", payload[at:at + 6]))
        at += 18
    return found


class RawClient:
    """A client that sends messages as a test writes them, and waits for no answer longer than PATIENCE."""

    def __init__(self, gateway, user="postgres", settings=(), version=196608):
        """settings: names and values in turn, as the startup packet has them."""
        self.socket = gateway.socket()
        self.input = self.socket.makefile("rb")
        self.row = None
        self.error = None
        self.key = None  # for cancel requests
        self.versions = None  # that the server negotiates
        self.columns = []  # table, and its column, of each column of the last row description
        self.notified = []  # process ids in notifications
        self.socket.sendall(packet(version, "user", user, "database", "postgres", *settings))
        assert self.answers_until(b"Z").endswith(b"KZ")

    def ask(self, *messages, until=b"Z"):
        self.socket.sendall(b"".join(messages))
        return self.answers_until(until)

    def answers_until(self, last):
        """Types of the messages that come, up to one of that type; b"": up to the end."""
        types = b""
        while True:
            head = self.input.read(5)
            if not head:
                assert last == b"", types
                return types
            payload = self.input.read(struct.unpack("!I", head[1:])[0] - 4)
            types += head[:1]
            if head[:1] == b"K":
                self.key = payload
            if head[:1] == b"D":
                self.row = payload
            if head[:1] == b"E":
                self.error = payload
            if head[:1] == b"v":
                self.versions = payload
            if head[:1] == b"T":
                self.columns = described_columns(payload)
            if head[:1] == b"A":
                self.notified.append(struct.unpack("!I", payload[:4])[0])
            if head[:1] == last:
                return types

    def value(self, text):
        """The first column, as text, of the last row of a query's answer."""
        assert self.ask(message(b"Q", text.encode() + b"\0")) == b"TDCZ"
        return self.row[6:6 + struct.unpack("!I", self.row[2:6])[0]].decode()

    @property
    def pid(self):
        """What the server has said at the start."""
        return struct.unpack("!I", self.key[:4])[0]

    def close(self):
        self.input.close()
        self.socket.close()
