"""Connections between the gateways of nodes: which there are, and one that a test makes itself."""

import socket
import struct
from collections import Counter

from harness import servers
from harness.gateways import Gateway

OPEN, DATA, WINDOW, CLOSE, KEY, CANCEL, CANCELED = range(1, 8)
REQUEST = struct.pack("!III", 12, 1234 << 16 | 5702, 1)
ROOM = 1024 * 1024
SIZE = 64 * 1024


def give_gateways(made, settings=None):
    """Gives each node a gateway that its sessions use to get to others; returns the gateways."""
    gateways = [Gateway(node, {"transport": "multiplexed", **(settings or {})}) for node in made.nodes]
    name_gateways(made, gateways)
    return gateways


def name_gateways(made, gateways):
    """Tells each node of the others' gateways."""
    ports = ", ".join(f"({gateway.node.port}, {gateway.port})" for gateway in gateways)
    for node in made.nodes:
        with servers.connect(node) as connection:
            connection.execute(f"INSERT INTO pg_dist_poolinfo SELECT nodeid, 'host=127.0.0.1 port=' || port "
                               f"FROM pg_dist_node JOIN (VALUES {ports}) p(node, port) ON node = nodeport "
                               f"WHERE nodeport <> {node.port}")


def connections_to(gateways):
    """How many established TCP connections the gateways' ports have, by port."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        lines = [line.split() for line in file.readlines()[1:]]
    found = Counter(int(fields[2].split(":")[1], 16) for fields in lines if fields[3] == "01")
    return [found[gateway.port] for gateway in gateways]


def frame(channel, kind, data=b""):
    return struct.pack("!II", channel, kind << 24 | len(data)) + data


class RawLink:
    """A link to a gateway that sends frames as a test writes them."""

    def __init__(self, gateway):
        self.socket = gateway.socket()
        self.input = self.socket.makefile("rb")
        self.socket.sendall(REQUEST)
        assert self.input.read(1) == b"L"

    def send(self, *frames):
        """False if the other side has closed it."""
        try:
            self.socket.sendall(b"".join(frames))
        except OSError:
            return False
        return True

    def frames(self, last):
        """Frames that come, up to one for which last(channel, kind, data) is true; None at the end: it was closed."""
        while True:
            try:
                head = self.input.read(8)
            except ConnectionResetError:
                head = b""
            if len(head) < 8:
                yield None
                return
            channel, word = struct.unpack("!II", head)
            found = channel, word >> 24, self.input.read(word & 0xFFFFFF)
            yield found
            if last(*found):
                return

    def is_closed(self):
        self.socket.settimeout(servers.PATIENCE)
        return list(self.frames(lambda *_: False))[-1] is None

    def said(self, channel):
        """What the channel says up to its end."""
        found = self.frames(lambda number, kind, _: (number, kind) == (channel, CLOSE))
        return b"".join(item[2] for item in found if item is not None and item[:2] == (channel, DATA))

    def close(self):
        self.input.close()
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
