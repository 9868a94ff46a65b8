"""A TCP proxy in front of a server, which loses, delays or breaks connections when a test says so."""

import selectors
import socket
import struct
import threading
import time

FAULTS = ["cut", "delay", "half_close_to_server", "half_close_to_client", "blackhole"]
DELAY = 0.03        # seconds before each piece of data, once `delay` has begun


class Link:
    """Two sockets: a client's, and ours to the server."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.tail = b""             # of what the client sent last, as a pattern may be split
        self.awaiting = None        # the fault that the next answer meets
        self.muted = set()          # sockets whose data isn't passed on any more

    def other(self, one):
        return self.server if one is self.client else self.client

    def close(self, hard=False):
        for one in (self.client, self.server):
            if hard:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()


class Proxy(threading.Thread):
    """Passes connections on to a port of this machine; `port` is its own."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.links = set()
        self.lock = threading.RLock()
        self.armed = None           # (fault, pattern, what): what is "request", "answer" or "connect"
        self.hit = threading.Event()
        self.unknown = b""          # a name that the server doesn't know, like one of an older build
        self.slow = self.silent = self.ended = False
        self.start()

    # -- for tests

    def arm(self, fault, pattern, what):
        """The next request with the pattern, its answer, or the next connection meets the fault."""
        with self.lock:
            self.armed = (fault, pattern, what)
            self.hit.clear()

    def heal(self):
        """The network works again; what it has lost meanwhile is lost, and both ends learn that."""
        with self.lock:
            was_silent = self.silent
            self.armed, self.slow, self.silent = None, False, False
            for link in list(self.links):
                if was_silent or link.muted:
                    self.drop(link, hard=True)

    def shut(self):
        self.ended = True
        self.join()
        for link in list(self.links):
            self.drop(link)
        self.listener.close()

    # -- the thread

    def run(self):
        while not self.ended:
            if self.silent:
                time.sleep(0.01)
                continue
            for key, _ in self.selector.select(0.05):
                with self.lock:
                    if self.silent:
                        break
                    if key.data is None:
                        self.accept()
                    elif key.data in self.links:
                        self.pass_on(key.data, key.fileobj)

    def accept(self):
        client, _ = self.listener.accept()
        if self.armed and self.armed[2] == "connect":
            fault = self.take()
            if fault == "blackhole":
                self.silent = True
            if fault != "delay":
                link = Link(client, socket.socket())
                self.links.add(link)
                if fault != "blackhole":
                    self.drop(link, hard=True)
                return
            self.slow = True
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(client, server)
        self.links.add(link)
        self.selector.register(client, selectors.EVENT_READ, link)
        self.selector.register(server, selectors.EVENT_READ, link)

    def pass_on(self, link, source):
        try:
            data = source.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.drop(link)
            return
        fault = self.fault_for(link, source, data)
        if fault:
            self.apply(fault, link)
        if link not in self.links or self.silent or source in link.muted:
            return
        if self.slow:
            time.sleep(DELAY)
        if self.unknown and source is link.client:
            data = data.replace(self.unknown, self.unknown[:-1] + b"X")
        try:
            link.other(source).sendall(data)
        except OSError:
            self.drop(link)

    def fault_for(self, link, source, data):
        """The fault that this piece of data meets, or None."""
        if source is link.server:
            fault, link.awaiting = link.awaiting, None
            return fault
        text, link.tail = link.tail + data, data[-64:]
        if not self.armed or self.armed[2] == "connect" or self.armed[1] not in text:
            return None
        what, fault = self.armed[2], self.take()
        if what == "request":
            return fault
        link.awaiting = fault
        return None

    def take(self):
        fault, self.armed = self.armed[0], None
        self.hit.set()
        return fault

    def apply(self, fault, link):
        if fault == "cut":
            self.drop(link, hard=True)
        elif fault == "delay":
            self.slow = True
        elif fault == "blackhole":
            self.silent = True
        elif fault == "half_close_to_server":
            link.muted.add(link.client)
            link.server.shutdown(socket.SHUT_WR)
        elif fault == "half_close_to_client":
            link.muted.add(link.server)
            link.client.shutdown(socket.SHUT_WR)

    def drop(self, link, hard=False):
        for one in (link.client, link.server):
            if one.fileno() in self.selector.get_map():
                self.selector.unregister(one)
        link.close(hard)
        self.links.discard(link)
